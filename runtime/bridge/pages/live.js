// The pit wall: one stream, drawn once a screen refresh.

import { call } from "./api.js";
import { byId, confirmed, el, problem, replace, write } from "./dom.js";
import { amount, clock, date, lapTime, number, signed, time, toKmh } from "./format.js";
import { GripCircle } from "./gcircle.js";
import { bridgeHead } from "./head.js";
import { lessonLink } from "./lessons.js";
import { Recent } from "./recent.js";
import { Reference } from "./reference.js";
import { share } from "./share.js";
import { speaker } from "./speech.js";
import { follow } from "./stream.js";
import { watch } from "./ticker.js";
import { Timing, showCue } from "./timing.js";
import { TrackMap } from "./trackmap.js";
import { Traces, WINDOW_S } from "./traces.js";

const ACTIVE = "SIM";
const HZ = 50;
const QUIET_MS = 3000;
const READ_MS = 100; // numbers change ten times a second, as the tenths of the clock do
const WHOLE = new Set(["lap", "track"]); // outlines that do not grow any more
const MOST_DAYS = 200; // sessions that are looked at for laps of other days
const CHANNELS = [
  { name: "speed_kmh", label: "Speed", unit: "km/h", digits: 0, colour: "--speed", least: [0, 100] },
  { name: "throttle_pct", label: "Throttle", unit: "%", digits: 0, colour: "--throttle", least: [0, 100] },
  { name: "brake_bar", label: "Brake", unit: "bar", digits: 0, colour: "--brake", least: [0, 40] },
  { name: "g_lat", label: "Lateral", unit: "g", digits: 2, colour: "--steer", least: [-1, 1] },
];
const GAUGES = [
  ["water_temp_c", "Water", "°C", 0], ["oil_temp_c", "Oil", "°C", 0], ["oil_press_bar", "Oil pressure", "bar", 1],
  ["tire_temp_fl_c", "Tyre FL", "°C", 0], ["tire_temp_fr_c", "Tyre FR", "°C", 0],
  ["tire_temp_rl_c", "Tyre RL", "°C", 0], ["tire_temp_rr_c", "Tyre RR", "°C", 0],
  ["battery_v", "Battery", "V", 1], ["fuel_level_l", "Fuel", "l", 1], ["rpm", "Engine", "rpm", 0],
];
const SIGNALS = ["replay_id", "speed_ms", "throttle_pct", "brake_bar", "g_lat", "g_long", "lat", "lon", "distance_m", "gear_position",
  "lap", "lap_time_s", "lap_distance_m", "delta_s", "predicted_s", ...GAUGES.map(([name]) => name)];

const CURVES = ["speed_ms", ...CHANNELS.map(({ name }) => name).filter((name) => name !== "speed_kmh")];
const BEFORE_HZ = 20; // of the curves before the first frame

const withSpeed = (frame) => ({ ...frame, speed_kmh: toKmh(frame.speed_ms) });
const asked = new URLSearchParams(location.search);
const timing = new Timing();
const recent = new Recent();
const speak = speaker(byId("speak"));
const map = new TrackMap(byId("map"));
const circle = new GripCircle(byId("circle"));
const traces = new Traces(byId("traces"), CHANNELS, (absent) => {
  byId("traces-absent").textContent = absent.length ? `Not recorded: ${absent.join(", ").toLowerCase()}` : "";
});
const lessons = new Map(); // of a concept, by its name
let chosen = asked.get("session") || ACTIVE;
let followed = ""; // session that is replayed, where whatever drives is shown
let session = "";
let replayed = "";
let recorded = { lap_count: 0 }; // what is stored of the session that is replayed
let newest = null;
let heardAt = 0;
let due = false;
let seeking = false;
let grips = false;
let outlined = "";
let placed = ""; // session whose circuit, and so its other days, are known

// The stream

const stream = follow({ query: query(), onLink: link, on: {
  hello({ known, silent }) {
    showSilent(silent);
    if (known === false && chosen !== ACTIVE) blank("This session is not known here. It may begin any moment.");
  },
  telemetry: take,
  lap(event) {
    if (recent.holds("lap", event)) return;
    timing.lap(event);
    showLaps(event.mean5_s);
    offerOwn();
  },
  sector(event) { if (!recent.holds("sector", event)) timing.sector(event); },
  cue(cue) {
    if (recent.holds("cue", cue)) return;
    show(cue);
    speak(cue);
  },
  state({ silent, connected }) {
    if (silent !== undefined) showSilent(silent);
    if (connected === false) feed("The car is not connected", "");
  },
  loop: restart,
  end() { feed("The replay has ended", ""); },
} });

function query() {
  return { session_id: followed || chosen, topics: "telemetry,timing,cues", recent: true, hz: HZ, signals: SIGNALS.join() };
}

/** A cue, with the lesson that it is about. */
function show(cue) {
  const lesson = lessons.get(cue.concept);
  showCue(cue, lesson ? lessonLink(lesson, cue.session_id, cue.corner) : null);
}

function take(frame) {
  if (frame.session_id !== session || (frame.replay_id ?? "") !== replayed) enter(frame);
  recent.release(frame, { timing, onCue: show });
  newest = frame;
  heardAt = performance.now();
  feed(frame.replay_id ? "Replay" : "Live", "running");
  byId("blank").hidden = true;
  const t = frame.timestamp;
  traces.push(t, withSpeed(frame));
  if (Number.isFinite(frame.g_lat) && Number.isFinite(frame.g_long)) {
    grips = true;
    circle.push(t, frame.g_lat, frame.g_long);
  }
  map.setDots([{ lat: frame.lat, lon: frame.lon, colour: "--accent" }]);
  if (!due) { due = true; setTimeout(tell, READ_MS); }
}

/** Write the numbers of the newest frame. */
function tell() {
  due = false;
  traces.tell();
  timing.frame(newest);
}

function link(state) {
  if (state === "connecting") recent.begin();
  if (state === "open") feed("Connected, waiting for the car", "");
  if (state === "lost") feed("Connection lost, trying again", "");
}

function feed(words, kind) {
  write(byId("feed"), words);
  byId("feed").className = `state ${kind}`;
}

// A session

/** Another session has begun to drive: nothing of the one before stays. */
async function enter({ session_id: id, replay_id: replay = "", timestamp: now }) {
  if (id !== session) forgetReferences();
  session = id;
  replayed = replay ?? "";
  restart();
  byId("cues").replaceChildren();
  byId("share").disabled = false;
  const path = `/session/${encodeURIComponent(id)}`;
  if (replayed) { // its laps are still to come
    recorded = await call(path).catch(() => ({ lap_count: 0 }));
    showLaps();
    return;
  }
  showBefore(path, now).catch(() => {}); // a bridge without a database knows nothing of it
  if (await showStored(id)) offerOwn();
}

/** The laps that are stored of a session; whether the page is still about it. */
async function showStored(id) {
  const path = `/session/${encodeURIComponent(id)}`, about = session + chosen;
  const { lap_count: count } = await call(path).catch(() => ({ lap_count: 0 }));
  const { laps } = count ? await call(`${path}/lap_time_table`).catch(() => ({ laps: [] })) : { laps: [] };
  if (about !== session + chosen) return false;
  timing.stored(laps);
  showLaps();
  return true;
}

/** The curves up to the first frame that came. */
async function showBefore(path, now) {
  const query = new URLSearchParams({ names: CURVES.join(), rate_hz: BEFORE_HZ, t_from: now - WINDOW_S, t_to: now });
  const { rows } = await call(`${path}/signals?${query}`);
  traces.before(rows.map(withSpeed));
}

function restart() {
  timing.clear();
  traces.clear();
  circle.clear();
  map.clear();
  outlined = "";
  grips = false;
  showLaps();
  showMap();
}

/** The circuit as far as it is known; asked for again until it is whole. */
async function showMap() {
  const id = session;
  if (!id) return;
  const answer = await call(`/session/${encodeURIComponent(id)}/map`).catch(() => null);
  if (!answer || id !== session) return;
  const { centerline, corners, basis, track } = answer;
  map.setOutline(centerline, { closed: basis !== "driven", corners });
  outlined = basis;
  byId("track-title").textContent = track || "Track";
  if (WHOLE.has(basis) && placed !== id) offerOthers(id).catch(() => {});
}

function showLaps(mean) {
  const laps = timing.laps, timed = laps.filter((lap) => Number.isFinite(lap.lap_time_s) && lap.valid !== false);
  const lastFive = timed.slice(-5).map((lap) => lap.lap_time_s);
  const average = mean ?? (lastFive.length ? lastFive.reduce((a, b) => a + b) / lastFive.length : null);
  byId("mean").textContent = average ? `Mean of the last ${Math.min(5, lastFive.length) || 5}: ${lapTime(average)}` : "";
  if (!laps.length) {
    const { lap_count: count, best_lap_s: bestLap } = recorded;
    const words = replayed && count ? `No lap of the replay yet. The session has ${amount(count, "lap")}, the best in ${lapTime(bestLap)}.`
      : "No lap yet: the first one counts from the line.";
    replace(byId("laps"), el("p", { className: "fine", textContent: words }));
    return;
  }
  const best = Math.min(...timed.map((lap) => lap.lap_time_s));
  const sectors = Math.max(0, ...laps.map((lap) => lap.sectors?.length ?? 0));
  const names = Array.from({ length: sectors }, (_, i) => i + 1);
  const bests = names.map((name) => Math.min(...timed.map((lap) => sectorOf(lap, name)).filter(Number.isFinite)));
  const rows = [...laps].reverse().map((lap) => el("tr", { className: lap.valid === false ? "invalid" : "" },
    el("th", { scope: "row", textContent: lap.lap_number }),
    ...names.map((name, i) => timeCell(sectorOf(lap, name), bests[i], 2)),
    timeCell(lap.lap_time_s, best, 3),
    el("td", { className: "right", textContent: lap.lap_time_s === best ? "best" : signed(lap.lap_time_s - best, 2) })));
  replace(byId("laps"), el("table", {},
    el("thead", {}, el("tr", {}, ...["Lap", ...names.map((name) => `S${name}`), "Time", "Gap"].map((name, i) =>
      el("th", { scope: "col", className: i ? "right" : "", textContent: name })))),
    el("tbody", {}, ...rows)));
}

const sectorOf = (lap, name) => lap.sectors?.[name - 1]?.time_s;

function timeCell(value, best, digits) {
  const text = digits === 3 ? lapTime(value) : number(value, digits);
  return el("td", { className: `right ${value === best ? "best" : ""}`, textContent: text });
}

// The lap that the delta refers to

function forgetReferences() {
  placed = "";
  for (const id of ["against-own", "against-others"]) fill(byId(id), []);
  byId("against").value = "";
  timing.refer(null);
}

/** The laps of this session that have ended. */
function offerOwn() {
  const group = byId("against-own"), offered = new Set([...group.children].map(({ value }) => value));
  const laps = timing.laps.map(({ lap_number: lap, lap_time_s: time }) => option(`${session}:${lap}`, `lap ${lap}`, time));
  group.append(...laps.filter(({ value }) => !offered.has(value))); // those that are there stay: the list may be open
  group.hidden = !group.children.length;
}

/** The best lap of each other session on the same circuit. */
async function offerOthers(id) {
  const { session: { track_id: circuit } } = await call(`/session/${encodeURIComponent(id)}`);
  if (!circuit) return;
  const { sessions } = await call(`/sessions?track=${encodeURIComponent(circuit)}&limit=${MOST_DAYS}`);
  if (id !== session) return;
  placed = id;
  const others = sessions.filter((other) => other.session_id !== id && other.lap_count);
  fill(byId("against-others"), others.map(({ session_id: other, driver, started_at: at, best_lap_s: best }) =>
    option(`${other}:best`, `${driver || "Unknown driver"}, ${date(at)}`, best)));
}

const option = (value, name, time) => el("option", { value, "data-name": name, textContent: `${name} · ${lapTime(time)}` });

function fill(group, options) {
  replace(group, ...options);
  group.hidden = !options.length;
}

byId("against").addEventListener("change", async ({ target }) => {
  const { value } = target;
  replace(byId("against-trouble"));
  try {
    const reference = value ? await Reference.read(value) : null;
    if (target.value === value) timing.refer(reference, target.selectedOptions[0].dataset.name);
    if (newest) tell();
  } catch (error) {
    if (target.value !== value) return; // another one has been chosen meanwhile
    target.value = "";
    timing.refer(null);
    replace(byId("against-trouble"), problem(error));
  }
});

// The coach

function showSilent(why) {
  byId("silent").textContent = why ? `Silent: ${why}.` : "";
}

// What changes slowly

function describe() {
  if (!newest) return;
  if (performance.now() - heardAt > QUIET_MS) feed(`No data for ${Math.round((performance.now() - heardAt) / 1000)} s`, "");
  const { lap_distance_m: at, g_lat: lateral, g_long: long, gear_position: gear } = newest;
  byId("place").textContent = Number.isFinite(at) ? `${number(at)} m into the lap` : Number.isFinite(newest.lat) ? "" : "No positions recorded";
  byId("g-words").textContent = grips ? `lateral ${signed(lateral, 1)}, long. ${signed(long, 1)}` : "";
  byId("circle").hidden = !grips;
  byId("circle-absent").hidden = grips;
  byId("gear").textContent = Number.isFinite(gear) ? (gear > 0 ? `Gear ${gear}` : "Neutral") : "";
  const gauges = GAUGES.filter(([name]) => Number.isFinite(newest[name]));
  byId("gauges-panel").hidden = !gauges.length;
  replace(byId("gauges"), ...gauges.map(([name, label, unit, digits]) => el("div", {},
    el("dt", { textContent: label }), el("dd", { className: "figure" }, number(newest[name], digits), el("span", { className: "unit", textContent: ` ${unit}` })))));
}

async function look() {
  const { can, replay } = await call("/health");
  const load = Number.isFinite(can.bus_load_pct) ? ` · ${number(can.bus_load_pct)} % load` : "";
  const unknown = can.frames_unknown ? ` · ${can.frames_unknown} unknown` : "";
  byId("bus").textContent = can.connected ? `CAN ${number(can.fps)} frames/s${load}${unknown}` : "CAN off";
  byId("bus").hidden = replay.running; // it stands aside
  byId("replay").hidden = !replay.running;
  const { source_session_id: source = "" } = replay.running ? await showReplay() : {};
  const next = chosen === ACTIVE ? source : "";
  if (next === followed) return;
  followed = next;
  stream.restart(query());
}

// Replay

async function showReplay() {
  const now = await call("/session/replay/status");
  byId("pause").textContent = now.paused ? "Go on" : "Pause";
  byId("pause").setAttribute("aria-pressed", String(Boolean(now.paused)));
  if (!seeking && Number.isFinite(now.duration_s)) {
    byId("seek").max = now.duration_s;
    byId("seek").value = now.t_s ?? 0;
    byId("replayed").textContent = `${clock(now.t_s, 0)} / ${clock(now.duration_s, 0)}`;
  }
  return now;
}

const order = (path, body = {}) => call(`/session/replay/${path}`, { method: "POST", body }).then(look, () => {});

byId("pause").addEventListener("click", () => order("pause", { paused: byId("pause").getAttribute("aria-pressed") !== "true" }));
byId("stop-replay").addEventListener("click", () => order("stop"));
byId("seek").addEventListener("input", () => { seeking = true; byId("replayed").textContent = clock(Number(byId("seek").value), 0); });
byId("seek").addEventListener("change", async () => {
  await order("seek", { t_s: Number(byId("seek").value) });
  seeking = false;
});

// Choice of session

async function offer() {
  const { sessions } = await call("/sessions?limit=50");
  const options = sessions.map((row) => el("option", { value: row.session_id,
    textContent: [`${date(row.started_at)} ${time(row.started_at)}`, row.track, row.driver].filter(Boolean).join(" · ") }));
  replace(byId("session"), el("option", { value: ACTIVE, textContent: "Whatever drives now" }), ...options);
  byId("session").value = chosen;
  if (byId("session").value !== chosen) byId("session").append(el("option", { value: chosen, textContent: chosen, selected: true }));
}

byId("session").addEventListener("change", ({ target }) => {
  chosen = target.value;
  session = followed = "";
  newest = null;
  forgetReferences();
  byId("share").disabled = chosen === ACTIVE;
  history.replaceState(null, "", chosen === ACTIVE ? "/ui/live" : `/ui/live?session=${encodeURIComponent(chosen)}`);
  restart();
  stream.restart(query());
  wait();
});

function blank(words, ...actions) {
  replace(byId("blank"), el("p", { textContent: words }), ...actions);
  byId("blank").hidden = false;
}

/** Say what is waited for, and show what is stored of a session that was chosen. */
function wait() {
  if (chosen === ACTIVE) {
    blank("Waiting for a car, a replay or the simulator: as soon as one drives, it is here.");
    return;
  }
  const button = el("button", { type: "button", className: "button", textContent: "Replay it", onclick: () => startReplay(false) });
  blank("Nothing comes in for this session now.", button);
  showStored(chosen);
}

/** Replay the session; before a recording is interrupted for it, that is asked. */
async function startReplay(interrupt) {
  try {
    await call("/session/replay/start", { method: "POST", body: { source_session_id: chosen, interrupt } });
    await look();
  } catch (error) {
    if (error.answer?.code !== "session_in_use") replace(byId("blank"), problem(error));
    else if (await confirmed("Stop recording the car?",
      "A car is on the bus. Until the replay ends, nothing of it is recorded.", "Replay all the same", "Keep recording")) startReplay(true);
  }
}

bridgeHead("live", document.querySelector(".source"));
byId("share").addEventListener("click", () => share(session || chosen));
byId("share").disabled = chosen === ACTIVE; // until something drives
restart();
wait();
offer().catch(() => {});
call("/coach/concepts").then(({ concepts }) => {
  for (const { id, lesson } of concepts) if (lesson?.url) lessons.set(id, lesson);
}, () => {});
watch(describe, 1);
watch(() => (newest && Number.isFinite(newest.lat) && !WHOLE.has(outlined) ? showMap() : null), 3);
watch(look, 2);
