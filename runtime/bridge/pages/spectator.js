// A session for those who watch along, behind a token of its address.

import { call } from "./api.js";
import { byId, el, write } from "./dom.js";
import { Recent } from "./recent.js";
import { speaker } from "./speech.js";
import { follow } from "./stream.js";
import { watch } from "./ticker.js";
import { Timing, showCue } from "./timing.js";
import { TrackMap } from "./trackmap.js";

const HZ = 20;
const QUIET_MS = 3000;
const REFUSED = 401;
const SECTORS = 3; // of every circuit that has any
const SIGNALS = ["replay_id", "speed_ms", "lat", "lon", "lap", "lap_time_s", "delta_s", "predicted_s"];

const sid = decodeURIComponent(location.pathname.split("/").pop());
const path = `/session/${encodeURIComponent(sid)}`;
const timing = new Timing(SECTORS);
const recent = new Recent();
const speak = speaker(byId("speak"));
const map = new TrackMap(byId("map"));
let newest = null;
let replayed = "";
let heardAt = 0;
let due = false;
let whole = false;

const query = { session_id: sid, topics: "telemetry,timing,cues", recent: true, hz: HZ, signals: SIGNALS.join() };
follow({ query, onLink: link, on: {
  hello({ silent }) { showSilent(silent); },
  telemetry(frame) {
    if ((frame.replay_id ?? "") !== replayed) { // the laps of a replay are still to come
      replayed = frame.replay_id ?? "";
      timing.clear();
    }
    recent.release(frame, { timing, onCue: showCue });
    newest = frame;
    heardAt = performance.now();
    say("Live", "running");
    map.setDots([{ lat: frame.lat, lon: frame.lon, colour: "--accent" }]);
    if (!due) { due = true; requestAnimationFrame(draw); }
  },
  loop() { timing.clear(); },
  lap(event) {
    if (recent.holds("lap", event)) return;
    timing.lap(event);
    showMap();
  },
  sector(event) { if (!recent.holds("sector", event)) timing.sector(event); },
  cue(cue) {
    if (recent.holds("cue", cue)) return;
    showCue(cue);
    speak(cue);
  },
  state({ silent }) { if (silent !== undefined) showSilent(silent); },
  end() { newest = null; say("The replay has ended"); },
} });

function draw() {
  due = false;
  if (!newest) return;
  timing.frame(newest);
}

function link(state) {
  if (state === "connecting") recent.begin();
  if (state === "open") say("Connected, waiting for the car");
  if (state === "lost") say("Connection lost, trying again");
  if (state === "refused") say("This link is no longer good", "over");
}

function say(words, kind = "") {
  write(byId("state"), words);
  byId("state").className = `state ${kind}`;
}

function showSilent(why) {
  byId("silent").textContent = why ? `Silent: ${why}.` : "";
}

async function begin() {
  const [{ session }, { laps }] = await Promise.all([call(path), call(`${path}/laps`)]);
  byId("session").textContent = document.title = session.track || sid;
  byId("about").textContent = [session.driver, session.car, sid].filter(Boolean).join(" · ");
  timing.stored(laps.filter(({ kind }) => kind === "lap")
    .map((lap) => ({ lap_number: lap.lap_number, lap_time_s: lap.duration_s, valid: lap.valid })));
}

async function showMap() {
  const { centerline, corners, basis, track } = await call(`${path}/map`);
  map.setOutline(centerline, { closed: basis !== "driven", corners });
  byId("track-title").textContent = track || "Track";
  whole = basis === "lap" || basis === "track";
}

/** What a phone needs to keep this page on its home screen, and the code for the next one. */
function offerMore() {
  const file = (name) => `${location.pathname}/${name}${location.search}`;
  document.head.append(el("link", { rel: "manifest", href: file("app.webmanifest") }));
  const code = byId("code");
  document.querySelector(".others").addEventListener("toggle", () => {
    if (!code.src) code.src = file("code.svg");
    code.hidden = false;
  });
}

byId("session").textContent = document.title = sid;
timing.clear();
offerMore();
begin().catch(() => {});
watch(() => {
  const quiet = performance.now() - heardAt;
  if (newest && quiet > QUIET_MS) say(`No data for ${Math.round(quiet / 1000)} s`);
  return whole ? null : showMap().catch(({ status }) => { whole = status === REFUSED; });
}, 2);
