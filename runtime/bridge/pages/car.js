// The bus and what it carries: messages with their rate, signals with their last value.

import { call } from "./api.js";
import { byId, el, problem, replace } from "./dom.js";
import { amount, count, number } from "./format.js";
import { bridgeHead } from "./head.js";
import { follow } from "./stream.js";
import { watch } from "./ticker.js";

const LOOK_S = 2;
const RATE_HZ = 2;
const LATE = 0.5; // a message that comes at less than this share of its rate is late
const NOT_SIGNALS = new Set(["timestamp", "session_id", "frame_idx", "source", "replay_id", "dropped"]);
const UNITS = { C: "°C", deg: "°", "deg/s": "°/s", kmh: "km/h" }; // as people write them
const STATES = { running: "The bus is running", off: "No bus is connected" };

let values = {}, units = new Map(), session = "";

async function look() {
  const can = await call("/diagnostics/can");
  replace(byId("trouble"));
  byId("bus").textContent = can.connected
    ? `${STATES.running}: ${number(can.frames_per_second)} frames a second` : can.loaded ? `The bus is ${can.state}` : STATES.off;
  showFacts(can);
  showMessages(can);
}

function showFacts(can) {
  const facts = [
    ["Interface", can.interface === "virtual" ? "virtual" : [can.interface, can.channel].filter(Boolean).join(" · ")],
    ["Bit rate", can.bitrate ? `${count(can.bitrate / 1000)} kbit/s` : ""],
    ["Load", can.bus_load_pct === null ? "" : `${number(can.bus_load_pct, 1)} %`],
    ["Car", can.car_id], ["DBC", can.dbc_files.join(", ")],
    ["Errors", can.loaded ? count(can.frames_error + can.malformed) : ""],
    ["Reconnected", can.reconnects ? amount(can.reconnects, "time") : ""],
    ["Last error", can.last_error],
    ["Plugged in", can.usb_devices.map((device) => device.model ?? device.description ?? device.device).join(", ")],
  ].filter(([, value]) => value);
  replace(byId("facts"), ...facts.map(([name, value]) =>
    el("div", {}, el("dt", { textContent: name }), el("dd", { textContent: value }))));
  byId("facts").hidden = !facts.length;
}

function showMessages({ ids, unknown_ids: unknown }) {
  if (!ids.length && !unknown.length) {
    replace(byId("messages"), el("p", { className: "fine", textContent: "Nothing has come over a bus yet." }));
    return;
  }
  const rows = [...ids, ...unknown.map((id) => ({ ...id, message: null }))];
  replace(byId("messages"), table(["Id", "Message", "Rate", "Expected", "Seen"], rows.map((row) => {
    const late = row.expected_hz && row.hz < LATE * row.expected_hz;
    return el("tr", {},
      el("th", { scope: "row" }, el("code", { textContent: row.can_id })),
      el("td", { textContent: row.message ?? "not in a DBC file", className: row.message ? "" : "old" }),
      el("td", { className: `right ${late ? "late" : ""}`, textContent: `${number(row.hz, 1)} Hz${late ? ", late" : ""}` }),
      el("td", { className: "right", textContent: row.expected_hz ? `${number(row.expected_hz)} Hz` : "" }),
      el("td", { className: "right", textContent: count(row.count) }));
  })));
}

function table(names, rows) {
  return el("table", {},
    el("thead", {}, el("tr", {}, ...names.map((name, i) => el("th", { scope: "col", className: i > 1 ? "right" : "", textContent: name })))),
    el("tbody", {}, ...rows));
}

function showSignals() {
  const words = byId("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const rows = Object.entries(values).filter(([name, value]) => !NOT_SIGNALS.has(name) && Number.isFinite(value)
    && words.every((word) => name.includes(word))).sort(([a], [b]) => a.localeCompare(b));
  const silent = Object.values(values).length === 0;
  byId("signals-about").textContent = silent ? "No frame has come yet." : `${amount(rows.length, "signal")} in the last frame`;
  replace(byId("signals"), silent ? null : table(["Signal", "Unit", "Value"], rows.map(([name, value]) => el("tr", {},
    el("th", { scope: "row" }, el("code", { textContent: name })),
    el("td", { className: "old", textContent: UNITS[units.get(name)] ?? units.get(name) ?? "" }),
    el("td", { className: "right", textContent: number(value, Math.abs(value) >= 100 ? 1 : 3) })))));
}

/** What the coach can do with the signals of this session, and what it lacks for the rest. */
async function showAbilities() {
  const { coaches_available: can, coaches_disabled: cannot } = await call(`/session/${encodeURIComponent(session)}/capabilities`);
  replace(byId("abilities"),
    ...can.map((name) => el("li", {}, el("strong", { textContent: inWords(name) }), el("span", { className: "state on", textContent: "Ready" }))),
    ...cannot.map((coach) => el("li", {},
      el("div", {}, el("strong", { textContent: coach.name }), el("p", { textContent: coach.reasons.join("; ") || coach.reason })),
      el("span", { className: "state", textContent: "Not possible" }))));
}

/** "base_pace_note" as "Base pace note". */
const inWords = (name) => (name.charAt(0).toUpperCase() + name.slice(1)).replaceAll("_", " ");

bridgeHead("car");
showSignals();
byId("find").addEventListener("input", showSignals);
call("/signals/registry").then(({ signals }) => { units = new Map(signals.map((signal) => [signal.name, signal.units])); }, () => {});
follow({ query: { session_id: "SIM", topics: "telemetry", hz: RATE_HZ }, on: {
  telemetry(frame) {
    values = frame;
    if (frame.session_id !== session) {
      session = frame.session_id;
      showAbilities().catch(() => {});
    }
    showSignals();
  },
} });
watch(() => look().catch((error) => replace(byId("trouble"), problem(error))), LOOK_S);
