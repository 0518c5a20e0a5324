// The sessions by day, what drives now, and the way to add, change and delete a recording.

import { call } from "./api.js";
import { byId, confirmed, el, problem, replace } from "./dom.js";
import { amount, bytes, date, lapTime, time } from "./format.js";
import { bridgeHead } from "./head.js";
import { watch } from "./ticker.js";

const MOST = 200;
const LOOK_S = 5;
const MANY = 5; // sessions from which on one may want to search
const DETAILS = {
  driver: { label: "Driver", tag: "input", most: 256 },
  car: { label: "Car", tag: "input", most: 256 },
  track: { label: "Track", tag: "input", most: 256 },
  note: { label: "Note", tag: "textarea", most: 2000 },
};
const CAN_LOG = /\.(log|asc|blf|trc|mf4)$/i;
const DBC_ENDS = ".dbc";
const DBC = /\.dbc$/i;
let shown = "", sessions = [], circuits = null;

async function look() {
  const health = await call("/health");
  await list();
  showNow(health);
}

/** The sessions, drawn anew only where something has changed: a focus must not get lost. */
async function list() {
  circuits ??= new Map((await call("/tracks")).tracks.map(({ id, name }) => [id, name]));
  const words = byId("wanted").value.trim();
  const { sessions: found } = await call(`/sessions?limit=${MOST}&q=${encodeURIComponent(words)}`);
  if (words !== byId("wanted").value.trim()) return; // a later question is on its way
  sessions = found;
  if (!words) byId("find").hidden = sessions.length < MANY;
  const state = JSON.stringify([words, sessions]);
  if (state === shown || document.querySelector("dialog[open]")) return;
  shown = state;
  const days = Map.groupBy?.(sessions, dayOf) ?? grouped(sessions);
  replace(byId("days"), ...(days.size ? [...days].map(section) : [words ? none(words) : empty()]));
}

const circuitOf = ({ track, track_id: id }) => circuits.get(id) ?? (track || "Unknown circuit");

const dayOf = (session) => date(session.started_at);

function grouped(sessions) {
  const days = new Map();
  for (const session of sessions) days.set(dayOf(session), [...days.get(dayOf(session)) ?? [], session]);
  return days;
}

const empty = () => el("p", { className: "lede none", textContent: "Nothing recorded yet. Add a file above, or connect the car: a session appears here by itself." });

const none = (words) => el("p", { className: "lede none", textContent: `No session says “${words}”.` });

function section([day, sessions]) {
  return el("section", { className: "day", "aria-label": day },
    el("h2", { textContent: day }),
    el("ul", { className: "rows" }, ...sessions.map(row)));
}

function row(session) {
  const { session_id: id, started_at: at } = session;
  const title = circuitOf(session);
  const about = [time(at), session.driver, session.car, session.note].filter(Boolean).join(" · ");
  const open = el("a", { className: "open", href: `/ui/session?session=${encodeURIComponent(id)}` },
    el("strong", { textContent: title }), el("span", { className: "about", textContent: about }));
  return el("li", { "data-session": id }, open,
    el("span", { className: "laps", textContent: session.lap_count ? amount(session.lap_count, "lap") : "No lap" }),
    el("span", { className: "figure time", textContent: lapTime(session.best_lap_s) }),
    el("span", { className: "acts" },
      act("Edit", title, () => change(session)),
      act("Delete", title, () => remove(session, title))));
}

function act(verb, title, onclick) {
  return el("button", { type: "button", className: "plain", textContent: verb, onclick, "aria-label": `${verb} ${title}` });
}

/** Ask for new details of a session and keep them. */
function change(session) {
  const fields = Object.entries(DETAILS).map(([name, { label, tag, most }]) =>
    el("label", { className: "field" }, label,
      el(tag, { name, value: session[name] ?? "", autocomplete: "off", maxLength: most })));
  const wrong = el("div");
  const form = el("form", {},
    el("h2", { id: "details-title", textContent: "Details of the session" }), ...fields, wrong,
    el("div", { className: "row" },
      el("button", { className: "button", textContent: "Keep changes" }),
      el("button", { type: "button", className: "button quiet", textContent: "Cancel", onclick: () => dialog.close() })));
  const dialog = el("dialog", { "aria-labelledby": "details-title", onclose: () => dialog.remove() }, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const body = Object.fromEntries([...new FormData(form)].filter(([name, value]) => value !== (session[name] ?? "")));
    try {
      if (Object.keys(body).length) await call(pathOf(session), { method: "PATCH", body });
      dialog.close();
      await list();
    } catch (error) {
      replace(wrong, problem(error));
    }
  });
  document.body.append(dialog);
  dialog.showModal();
}

async function remove(session, title) {
  const when = [title, session.driver, `${date(session.started_at)} ${time(session.started_at)}`].filter(Boolean).join(", ");
  if (!(await confirmed("Delete this session?", `${when}: its laps, signals, video and notes go with it. This cannot be undone.`, "Delete"))) return;
  try {
    await call(pathOf(session), { method: "DELETE" });
    await list();
  } catch (error) {
    note(problem(error));
  }
}

const pathOf = (session) => `/session/${encodeURIComponent(session.session_id)}`;

/** What drives at this moment. */
function showNow({ active_session_id: active, can, simulator, replay }) {
  const source = replay.running ? "Replay" : simulator.running ? "Simulator" : can.connected ? "Car" : active ? "Session" : "";
  byId("now").hidden = !source;
  const session = sessions.find(({ session_id: id }) => id === active);
  byId("now-name").textContent = session ? [circuitOf(session), session.driver].filter(Boolean).join(" · ") : active;
  byId("now-state").textContent = source === "Replay" ? "Replay runs" : `Live now: ${source.toLowerCase()}`;
}

const note = (...parts) => {
  const line = el("li", {}, ...parts);
  byId("log").prepend(line);
  return line;
};

/** Send files one after the other, CAN logs with the DBC files among them; each has its line in the log. */
async function add(files) {
  const dbc = files.filter(({ name }) => DBC.test(name)), others = files.filter(({ name }) => !DBC.test(name));
  if (!others.length) note(`A DBC file tells how a CAN log is read: choose it together with the log.`);
  for (const file of others) {
    const line = note(`Reading ${file.name}, ${bytes(file.size)} …`, el("progress", { "aria-label": file.name }));
    try {
      const raw = new FormData();
      raw.append("file", file);
      for (const one of CAN_LOG.test(file.name) ? dbc : []) raw.append("dbc", one);
      const filename = encodeURIComponent(file.name); // one that cannot be read is refused at once
      const answer = await call(`/session/upload?filename=${filename}`, { method: "POST", raw });
      const link = linkTo(answer.session_id, file.name);
      const told = [amount(answer.n_laps, "lap"), answer.best_lap_s ? `best ${lapTime(answer.best_lap_s)}` : null, ...answer.warnings.map(({ detail }) => detail)];
      replace(line, link, `: ${told.filter(Boolean).join(" · ")}`);
      await list();
    } catch (error) {
      const { code, session_id: there } = error.answer ?? {};
      const again = el("button", { type: "button", className: "button quiet", textContent: "Choose its DBC file",
        onclick: () => choose(DBC_ENDS, (chosen) => { line.remove(); add([file, ...chosen]); }) });
      const acts = [code === "session_exists" ? linkTo(there, "Open the session") : null, code === "bus_not_found" ? again : null];
      replace(line, problem({ message: `${file.name}: ${error.message}`, steps: error.steps }, ...acts.filter(Boolean)));
    }
  }
}

const linkTo = (session, textContent) => el("a", { href: `/ui/session?session=${encodeURIComponent(session)}`, textContent });

/** Let files that end in *ends* be chosen. */
function choose(ends, onChosen) {
  const field = el("input", { type: "file", multiple: true, accept: ends, className: "hidden",
    onchange: () => { field.remove(); onChosen([...field.files]); }, oncancel: () => field.remove() });
  document.body.append(field);
  field.click();
}

const drop = byId("drop");
for (const name of ["dragenter", "dragover"]) {
  drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
}
for (const name of ["dragleave", "drop"]) drop.addEventListener(name, () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => { event.preventDefault(); add([...event.dataTransfer.files]); });
byId("files").addEventListener("change", ({ target }) => { add([...target.files]); target.value = ""; });

byId("wanted").addEventListener("input", () => list().catch(() => {}));

bridgeHead("sessions");
watch(() => look().catch((error) => { if (!shown) replace(byId("days"), problem(error)); }), LOOK_S);
