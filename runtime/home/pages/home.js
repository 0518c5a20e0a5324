// The home page of a demo: where the parts are, and how the car is.

import { call } from "./api.js";
import { byId, copy, write } from "./dom.js";
import { lapTime, number } from "./format.js";
import { watch } from "./ticker.js";

const SEARCH = {
  off: "As soon as its model is there: python -m runtime.llm pull minilm.",
  loading: "In a moment: the model for it is on its way, 90 MB the first time.",
  ready: "Try “How do I brake later?”",
  failed: "The model for it could not be brought. Everything else works.",
};
const CHAT = {
  loading: "Its model is being loaded",
  ready: "Running",
  failed: "Its engine does not start",
};
const AGAIN_S = 2;
const COPIED_MS = 1500;

async function look() {
  const { course, llm, bridge, ready, chat, search, car } = await call("/status");
  write(byId("base"), `${llm}/v1`);
  write(byId("frames"), `curl -N '${bridge}/telemetry/stream?session_id=SIM'`);
  write(byId("lessons"), `curl ${course}/api/v1/catalog.json`);
  write(byId("search"), SEARCH[search]);
  show("course", ready, "Running");
  show("llm", ready && chat === "ready", CHAT[chat]);
  show("bridge", Boolean(car?.frames_per_s), car ? carWords(car) : "The bridge does not answer");
  function show(part, on, words) {
    write(byId(`${part}-state`), ready ? words : "Starting");
    byId(`${part}-state`).className = `state ${on ? "running" : ""}`;
  }
}

function carWords({ frames_per_s: rate, laps, best_lap_s: best }) {
  if (!rate) return "No car drives now";
  if (!laps) return `On its first lap, ${number(rate)} CAN frames/s`;
  return `${laps} ${laps === 1 ? "lap" : "laps"}, best ${lapTime(best)}`;
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const done = await copy(byId(button.dataset.copy).textContent);
    button.textContent = done ? "Copied" : "Select it";
    setTimeout(() => { button.textContent = "Copy"; }, COPIED_MS);
  });
}
watch(look, AGAIN_S);
