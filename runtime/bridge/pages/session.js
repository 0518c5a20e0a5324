// A session that explains itself: laps over distance and on the map, what to fix, the coach.

import { Failure, call } from "./api.js";
import { LapCharts } from "./chart.js";
import * as laps from "./comparison.js";
import { byId, el, problem, replace } from "./dom.js";
import { clock, date, lapTime, number, signed } from "./format.js";
import { bridgeHead } from "./head.js";
import { startPlaying } from "./playback.js";
import { lessonLink } from "./lessons.js";
import { startAsking } from "./sessionask.js";
import { drawCorners, drawLaps, drawNumbers, swatch } from "./sessiontables.js";
import { TrackMap } from "./trackmap.js";
import { WholeRun } from "./wholerun.js";

const AROUND = 90; // metres shown on either side of a corner
const QUESTIONS = ["Where do I lose the most time?", "What should I work on first?", "How even are my laps?"];

const page = {
  session: null,
  groups: [], // of laps, one a session: {title, prefix, table, ideal}
  refs: [], // laps on the charts; the first is the reference
  comparison: null,
  channels: [],
  focus: null, // the lap whose losses the map and the corners show
  index: 0, // of the cursor, on the axis
  range: null, // metres shown; null: the whole lap
  loading: null,
};

const map = new TrackMap(byId("map"), { onPick: (index) => moveTo(index) });
const charts = new LapCharts(byId("charts"), { onCursor: moveTo, onZoom: zoom });
const player = startPlaying({
  button: byId("play"),
  lap: () => page.focus,
  index: () => page.index,
  onMoment: (index, seconds) => { moveTo(index); drawDots(seconds); },
});

async function start() {
  const words = new URLSearchParams(location.search);
  const id = words.get("session") ?? await newest();
  const [{ session }, table] = await Promise.all([
    call(pathOf(id)),
    call(`${pathOf(id)}/lap_time_table`).catch(withoutLaps),
  ]);
  page.session = session;
  drawTitle(session, table);
  startAsking(session, QUESTIONS, {
    onFact: showFact,
    onClick: async (fact) => { await showFact(fact); bringIntoView(); },
  });
  byId("data").hidden = false;
  if (table.trouble) {
    await showRun(table.trouble);
    return;
  }
  page.groups = [{ title: nameOf(session), prefix: session.session_id, table, ideal: null }];
  byId("things").hidden = false;
  await showFirst(words.get("laps"), usualLaps(session, table));
  if (words.has("corner")) showPlace({ corner: words.get("corner") });
  // The rest may come later: the charts do not wait for it.
  loadFocus();
  loadIdeal(page.groups[0]);
  loadOthers();
}

/** Show all of the recording over time; *trouble* says why there is no lap of it. */
async function showRun(trouble) {
  const parts = byId("data").classList;
  parts.add("no-laps");
  const run = await WholeRun.read(pathOf(page.session.session_id)).catch(withoutLaps);
  if (!run.channels?.length) throw trouble;
  const draw = async () => {
    const { comparison, shown } = await run.comparison();
    page.comparison = comparison;
    [page.focus] = comparison.laps;
    drawCharts(shown);
  };
  await draw();
  parts.replace("no-laps", "whole-run");
  byId("about").parentElement.before(el("p", { id: "run", textContent: "No complete lap: the whole run is shown." }));
  byId("charts-title").textContent = "The run over time";
  byId("whole").textContent = "Whole run";
  byId("laps-title").textContent = "Recorded channels";
  run.drawChannels(byId("laps"), () => draw().catch(showTrouble));
  const { track } = await call(`${pathOf(page.session.session_id)}/map`).catch(() => ({}));
  if (track) nameCircuit(track);
}

/** Show the laps that the address asks for, separated by commas; without any the *usual* ones. A
 *  lap without a session is one of this session. */
async function showFirst(asked, usual) {
  if (asked) {
    const own = page.session.session_id;
    page.refs = asked.split(",").slice(0, laps.MOST_LAPS).map((lap) => (lap.includes(":") ? lap : `${own}:${lap}`));
    const others = new Set(page.refs.map(sessionOf));
    others.delete(own);
    try {
      await Promise.all([...others].map(addGroup));
      await show();
      return;
    } catch (error) {
      showTrouble(error);
    }
  }
  page.refs = usual;
  await show();
}

async function newest() {
  const { sessions } = await call("/sessions?limit=1");
  if (!sessions.length) throw new Failure("No session has been recorded yet.");
  return sessions[0].session_id;
}

/** A session without a complete lap, or without telemetry, has no table of laps. */
function withoutLaps(error) {
  if (!error.status || error.status >= 500) throw error;
  return { laps: [], trouble: error };
}

function showTrouble(error) {
  replace(byId("trouble"), problem(error));
  if (!(error instanceof Failure)) throw error;
}

/** The best lap, and the one in the middle: the usual lap. */
function usualLaps(session, { laps: all, best_lap_number: best }) {
  const timed = all.filter((lap) => lap.valid).sort((a, b) => a.lap_time_s - b.lap_time_s);
  const others = timed.filter((lap) => lap.lap_number !== best);
  const usual = others[Math.floor((others.length - 1) / 2)];
  return [best, usual?.lap_number].filter(Boolean).map((lap) => `${session.session_id}:${lap}`);
}

/** A ref is "session:lap"; ids of sessions may have colons, laps do not. */
const sessionOf = (ref) => ref.slice(0, ref.lastIndexOf(":"));
const dayOf = (session) => date(Date.parse(session.started_at));
const nameOf = (session) => `${session.driver || "Unknown driver"}, ${dayOf(session)}`;
const pathOf = (id) => `/session/${encodeURIComponent(id)}`;

// The title and what to fix

function drawTitle(session, table) {
  nameCircuit(session.track || "Unknown circuit");
  byId("about").textContent = [session.driver, session.car, dayOf(session),
    table.laps.length ? `${table.laps.length} ${table.laps.length === 1 ? "lap" : "laps"}` : "", session.note]
    .filter(Boolean).join(" · ");
  for (const [id, file] of [["export", "export.parquet"], ["archive", "lake.zip"]]) {
    byId(id).hidden = false;
    byId(id).href = `${pathOf(session.session_id)}/${file}`;
  }
  drawBests(table, null);
}

function nameCircuit(name) {
  document.title = `${name} · Paddock`;
  byId("title").textContent = name;
}

function drawBests(table, ideal) {
  if (!table.laps.length) return;
  const best = (name, value, about) => el("div", {}, el("dt", { textContent: name }),
    el("dd", {}, value, el("span", { className: "fine", textContent: about })));
  const whole = ideal?.ideal_lap_s;
  const gain = whole - table.best_lap_s;
  replace(byId("bests"), best("Best lap", lapTime(table.best_lap_s), ` lap ${table.best_lap_number}`),
    gain < 0 ? best("Ideal lap", lapTime(whole), ` ${signed(gain, 3)} s`) : null);
}

async function loadFocus() {
  const { focus, track } = await call(`${pathOf(page.session.session_id)}/focus`)
    .catch(() => ({ focus: [] }));
  if (track) nameCircuit(track); // until here it may have been the id of its file
  byId("things").hidden = !focus.length;
  byId("things").removeAttribute("aria-busy");
  byId("things-title").textContent =
    ["", "One thing to fix", "Two things to fix", "Three things to fix"][focus.length];
  const show = (thing) => { showPlace(thing); bringIntoView(); };
  replace(byId("focus"), ...focus.map((thing) => el("li", {},
    el("button", { type: "button", className: "thing", onclick: () => show(thing) },
      el("span", { className: "seconds",
        textContent: thing.gain_s === null ? "" : `${number(thing.gain_s, 2)} s` }),
      el("span", { className: "what", textContent: thing.corner })),
    el("p", { textContent: withoutName(thing.tip) }),
    el("p", { className: "lesson" }, "Lesson: ", lessonLink(thing.lesson, page.session.session_id, thing.corner)))));
}

/** The tip begins with the name of its corner, which stands above it already. */
function withoutName(tip) {
  const rest = tip.replace(/^[^:.]{1,40}: /, "");
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}

async function loadIdeal(group) {
  group.ideal = await call(`${pathOf(group.prefix)}/ideal_lap`).catch(() => null);
  if (group === page.groups[0]) drawBests(group.table, group.ideal);
  drawLapTable();
}

// Laps

/** Compare the laps of the page and draw everything anew. */
async function show() {
  page.loading?.abort();
  page.loading = new AbortController();
  byId("data").setAttribute("aria-busy", "true");
  const keep = page.focus?.name;
  try {
    page.comparison = await laps.compare(page.refs, { signal: page.loading.signal });
  } catch (error) {
    if (error.name !== "AbortError") throw error;
    return;
  } finally {
    byId("data").removeAttribute("aria-busy");
  }
  const { laps: shown } = page.comparison;
  for (const lap of shown) lap.name = lapName(lap);
  page.refs = shown.map((lap) => (lap.kind === "ideal" ? lap.ref : `${lap.session_id}:${lap.lap_number}`));
  page.focus = shown.find((lap, i) => i > 0 && lap.name === keep) ?? shown[1] ?? shown[0];
  const { shown: channels, missing } = laps.recorded(page.comparison);
  drawMissing(channels, missing);
  drawCharts(channels);
  drawLapTable();
  const words = new URLSearchParams(location.search);
  words.set("session", page.session.session_id);
  words.set("laps", page.refs.join(","));
  words.delete("corner"); // shown once
  history.replaceState(null, "", `?${words}`);
}

/** The *channels* of the comparison on charts and map, as far as the part goes that is shown. */
function drawCharts(channels) {
  page.channels = channels;
  charts.show(page.comparison, channels);
  byId("place").max = page.comparison.axis_m.length - 1;
  drawFocus();
  if (page.range) charts.zoom(...page.range);
  moveTo(page.index);
}

function lapName({ kind, ref, session_id: id, lap_number: lap, driver }) {
  if (kind !== "ideal") return id === page.session.session_id ? `Lap ${lap}` : `${driver || id}, lap ${lap}`;
  const group = page.groups.find(({ prefix }) => prefix === sessionOf(ref));
  return group === page.groups[0] ? "Ideal lap" : `${group.title}, ideal lap`;
}

/** Whether there is no lap, so that all is shown over time. */
const isRun = () => page.comparison.axis === laps.SECONDS;

/** The name of a lap inside a sentence. */
const within = (name) => name.replace(/^(Lap|Ideal) /, (word) => word.toLowerCase());

function drawMissing(channels, missing) {
  const some = channels.flatMap(({ name, title }) => page.comparison.laps
    .filter((lap) => !lap.channels[name])
    .map((lap) => `${title.toLowerCase()} in ${within(lap.name)}`));
  const texts = [...missing.map(({ title }) => title.toLowerCase()), ...some];
  byId("missing").textContent = texts.length
    ? `Not recorded, so without a chart or a line: ${texts.join(", ")}.` : "";
}

function drawLegend() {
  replace(byId("legend"), ...page.comparison.laps.map((lap, i) => el("li", {},
    el("button", { type: "button", className: "lap", "aria-pressed": String(lap === page.focus),
      disabled: i === 0, onclick: () => { page.focus = lap; drawFocus(); moveTo(page.index); } },
    swatch(lap), el("b", { textContent: lap.name }),
    el("span", { className: "time", textContent: lapTime(lap.lap_time_s) }),
    el("span", { textContent: i === 0 ? "reference"
      : signed(lap.lap_time_s - page.comparison.laps[0].lap_time_s, 3) })))));
}

/** The map, the corners and the legend for the lap in focus. */
function drawFocus() {
  const { comparison, focus } = page, [first] = comparison.laps;
  drawLegend();
  const points = comparison.axis_m.map((_, i) => laps.positionAt(first, i) ?? laps.positionAt(focus, i));
  const placed = points.some(Boolean);
  const corners = comparison.corners.map(({ name, apex_m: apex }) => {
    const [lat, lon] = points[laps.indexAt(comparison, apex)] ?? [];
    return { name, lat, lon };
  });
  byId("map").hidden = !placed;
  byId("map-title").textContent = focus === first ? "Map" : "Where the time goes";
  byId("map-about").textContent = !placed ? "No map: the session did not record positions."
    : focus === first ? "" : `${focus.name} against ${within(first.name)}: red loses, green gains.`;
  map.setOutline(points, { closed: !isRun(), corners, values: laps.losses(focus, first) });
  byId("by-corner").hidden = focus === first || !comparison.corners.length;
  if (focus !== first) drawCorners(byId("corners"), laps.lossesByCorner(comparison, focus),
    (corner) => { showCorner(corner); bringIntoView(); });
}

function drawLapTable() {
  const colours = new Map(page.comparison?.laps.map((lap, i) => [page.refs[i], lap.colour]));
  drawLaps(byId("laps"), page.groups, { shown: page.refs, colours, onShow, onReference });
}

function onShow(ref, on) {
  const refs = on ? [...page.refs, ref] : page.refs.filter((other) => other !== ref);
  change(refs, `[data-ref="${CSS.escape(ref)}"]`);
}

function onReference(ref) {
  const others = page.refs.filter((other) => other !== ref);
  change([ref, ...others].slice(0, laps.MOST_LAPS), "[name=reference]:checked");
}

/** Show other laps; where that fails, the page stays as it was. The focus goes where it was. */
async function change(refs, selector = "") {
  const before = page.refs;
  page.refs = refs;
  replace(byId("trouble"));
  try {
    await show();
  } catch (error) {
    page.refs = before;
    drawLapTable();
    showTrouble(error);
  }
  if (selector) byId("laps").querySelector(selector)?.focus();
}

async function loadOthers() {
  const { session } = page;
  const place = session.track_id || session.track;
  if (!place) return;
  const { sessions } = await call(`/sessions?track=${encodeURIComponent(place)}&limit=200`)
    .catch(() => ({ sessions: [] }));
  const known = sessions.filter((other) => other.session_id !== session.session_id && other.lap_count);
  byId("others").append(...known.map((other) => el("option", { value: other.session_id,
    textContent: `${nameOf(other)}, ${lapTime(other.best_lap_s)}` })));
  byId("others").parentElement.hidden = !known.length;
  byId("others").addEventListener("change", async ({ target }) => {
    const id = target.value;
    target.value = "";
    if (!id) return;
    try {
      const table = await addGroup(id);
      const ref = `${id}:${table.best_lap_number}`;
      if (!page.refs.includes(ref)) await change([...page.refs.slice(0, laps.MOST_LAPS - 1), ref]);
    } catch (error) {
      showTrouble(error);
    }
  });
}

/** The laps of another session below those of this one. */
async function addGroup(id) {
  const known = page.groups.find(({ prefix }) => prefix === id);
  if (known) return known.table;
  const path = pathOf(id);
  const [{ session }, table] = await Promise.all([call(path), call(`${path}/lap_time_table`)]);
  page.groups.push({ title: nameOf(session), prefix: id, table, ideal: null });
  loadIdeal(page.groups.at(-1));
  return table;
}

// The cursor

/** Put the cursor of charts, map and read-out on a place of the axis. */
function moveTo(index) {
  const { comparison } = page;
  if (!comparison) return;
  page.index = Math.max(0, Math.min(comparison.axis_m.length - 1, index));
  charts.moveTo(page.index);
  const place = comparison.axis_m[page.index], corner = laps.cornerAt(comparison, place);
  const moment = clock(page.focus.channels.time_s?.[page.index], 2);
  const text = [isRun() ? null : comparison.axis.write(place), moment, corner?.name].filter(Boolean).join(" · ");
  byId("where").textContent = text;
  byId("place").value = page.index;
  byId("place").setAttribute("aria-valuetext", text);
  drawDots(null);
}

/** A dot for each lap: at the cursor, or *seconds* after its start. */
function drawDots(seconds) {
  map.setDots(page.comparison.laps.map((lap) => {
    const index = seconds === null ? page.index : laps.indexAfter(lap, seconds);
    const [lat, lon] = laps.positionAt(lap, index) ?? [];
    return { lat, lon, colour: lap.colour };
  }));
}

/** Show a part of the lap in metres; null: all of it. */
function zoom(range) {
  const { length_m: length } = page.comparison;
  page.range = range && [Math.max(0, range[0]), Math.min(length, range[1])];
  byId("whole").disabled = !page.range;
  charts.zoom(...(page.range ?? [0, length]));
  if (byId("numbers").open) drawTable();
}

/** Scroll to the charts where their upper end is not on the screen. */
function bringIntoView() {
  const { top } = byId("charts").getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2) byId("over-distance").scrollIntoView();
}

/** A corner over start/finish is shown to the end of the lap. */
function showCorner({ start_m: start, apex_m: apex, end_m: end }) {
  zoom([start - AROUND / 3, start <= end ? end + AROUND : page.comparison.length_m]);
  moveTo(laps.indexAt(page.comparison, apex));
}

/** Show a place that the coach speaks of: its corner, or the metres it names. */
function showPlace({ corner, start_m: start, end_m: end }) {
  const known = page.comparison?.corners.find(({ name }) => name === corner);
  if (known) showCorner(known);
  else if (page.comparison && Number.isFinite(start)) {
    zoom([start - AROUND, (end ?? start) + AROUND]);
    moveTo(laps.indexAt(page.comparison, start));
  }
}

/** A fact of an answer: its place, and its laps where they are not on the charts. */
async function showFact({ place, laps: numbers }) {
  if (!page.comparison || isRun()) return; // what facts name are metres
  const refs = numbers.map((lap) => `${page.session.session_id}:${lap}`)
    .filter((ref) => !page.refs.includes(ref));
  if (refs.length && page.refs.length + refs.length <= laps.MOST_LAPS) await change([...page.refs, ...refs]);
  showPlace(place);
}

function drawTable() {
  const { comparison, channels, range } = page;
  const places = (range ?? [0, comparison.length_m]).map((metres) => laps.indexAt(comparison, metres));
  drawNumbers(byId("numbers").querySelector(".table"), comparison, channels, places);
}

byId("place").addEventListener("input", ({ target }) => { player.stop(); moveTo(Number(target.value)); });
byId("whole").addEventListener("click", () => zoom(null));
byId("numbers").addEventListener("toggle", ({ target }) => {
  if (target.open && page.comparison) drawTable();
});
addEventListener("keydown", (event) => {
  if (!page.comparison || event.altKey || event.ctrlKey || event.metaKey) return;
  if (event.target.closest("input, select, textarea, button, a, summary")) return;
  const steps = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (steps) {
    player.stop();
    moveTo(page.index + steps * (event.shiftKey ? 10 : 1));
  } else if (event.key === " ") player.toggle();
  else if (event.key === "Escape") zoom(null);
  else return;
  event.preventDefault();
});

bridgeHead("session");
await start().catch(showTrouble);
byId("main").dataset.state = "ready";
performance.mark("ready");
