// A driver over time: best laps, what to work on, the place on the leaderboard.

import { call } from "./api.js";
import { colour, labelFont, onScheme } from "./colours.js";
import { byId, el, problem, replace } from "./dom.js";
import { amount, date, lapTime, number, signed } from "./format.js";
import { bridgeHead } from "./head.js";
import { lessonLink } from "./lessons.js";
import uPlot from "./vendor/uplot/uPlot.esm.js";

const MOST = 1000;
const PLACES = 10;
/** What is told of a session, where at least one has it. */
const COLUMNS = [
  { name: "Laps", of: (step) => step.lap_count, write: number },
  { name: "Best", of: (step) => step.best_lap_s, write: lapTime },
  { name: "Median", of: (step) => step.median_lap_s, write: lapTime },
  ...["S1", "S2", "S3"].map((name) => ({ name, of: (step) => step.sector_pbs?.[name.toLowerCase()], write: (seconds) => number(seconds, 2) })),
];
const asked = new URLSearchParams(location.search);
let plot = null, steps = [], sessions = [], circuits = new Map();

/** What tells the track of a session: its circuit, else what the driver called it. */
const trackOf = ({ track, track_id: id }) => id ?? track;

/** A name regardless of case, as the bridge takes it. */
const folded = (name) => name.trim().toLowerCase();

/** Drivers by name, with their tracks; the one who drove last comes first. */
async function offer() {
  const [stored, { tracks }] = await Promise.all([call(`/sessions?limit=${MOST}`), call("/tracks")]);
  sessions = stored.sessions;
  circuits = new Map(tracks.map(({ id, name }) => [id, name]));
  const drivers = new Map();
  for (const session of sessions) {
    const { driver } = session, track = trackOf(session);
    if (!driver || !track) continue;
    const name = [...drivers.keys()].find((known) => folded(known) === folded(driver)) ?? driver;
    drivers.set(name, (drivers.get(name) ?? new Set()).add(track));
  }
  if (!drivers.size) {
    byId("choose").hidden = true;
    replace(byId("trouble"), el("p", { className: "lede", textContent: "No session names a driver and a track yet. “Edit” in the list of sessions sets them." }));
    return;
  }
  const wanted = asked.get("driver") ?? "", known = [...drivers.keys()].find((name) => folded(name) === folded(wanted));
  fill(byId("driver"), [...drivers.keys()], known);
  const chosen = () => fill(byId("track"), [...drivers.get(byId("driver").value)], asked.get("track"));
  byId("driver").addEventListener("change", () => { chosen(); show(); });
  byId("track").addEventListener("change", show);
  chosen();
  await show();
  if (wanted && !known) replace(byId("trouble"), problem({ message: `No session names the driver “${wanted}” and a track.` }));
}

function fill(select, names, wanted) {
  replace(select, ...names.map((name) => el("option", { value: name, textContent: circuits.get(name) ?? name })));
  if (names.includes(wanted)) select.value = wanted;
}

async function show() {
  const driver = byId("driver").value, track = byId("track").value;
  history.replaceState(null, "", `?${new URLSearchParams({ driver, track })}`);
  document.title = `${driver} · Paddock`;
  byId("title").textContent = driver;
  const words = new URLSearchParams({ track }), both = new URLSearchParams({ driver, track });
  try {
    const [evolution, { insights }, { entries }] = await Promise.all([
      call(`/driver/${encodeURIComponent(driver)}/evolution?${words}`),
      call(`/insights?${both}`),
      call(`/leaderboard?${words}&limit=${PLACES}`)]);
    replace(byId("trouble"));
    byId("parts").hidden = false;
    steps = (evolution?.evolution ?? driven(driver, track)).filter((step) => step.best_lap_s !== null);
    showSteps();
    showFocus(insights);
    showBoard(entries, driver);
  } catch (error) {
    byId("parts").hidden = true;
    replace(byId("trouble"), problem(error));
  }
}

/** The sessions as they are stored, oldest first: there is no series of fewer than five. */
const driven = (driver, track) => sessions.filter((row) => folded(row.driver) === folded(driver) && trackOf(row) === track).reverse();

function showSteps() {
  const first = steps.at(0)?.best_lap_s, last = steps.at(-1)?.best_lap_s;
  byId("gained").textContent = steps.length > 1 ? `${signed(last - first)} s from the first session to the last` : amount(steps.length, "session");
  draw();
  const best = Math.min(...steps.map((step) => step.best_lap_s));
  if (!steps.length) {
    replace(byId("steps"), el("p", { className: "fine", textContent: "No complete lap on this track yet." }));
    return;
  }
  const columns = COLUMNS.filter(({ of }) => steps.some((step) => Number.isFinite(of(step))));
  replace(byId("steps"), table(["Session", ...columns.map(({ name }) => name)], [...steps].reverse().map((step) => el("tr", {},
    el("th", { scope: "row" }, el("a", { href: `/ui/session?session=${encodeURIComponent(step.session_id)}`, textContent: date(step.started_at) })),
    ...columns.map(({ of, write }) => cell(write(of(step)), of(step) === best ? "right best" : "right"))))));
}

const cell = (text, className = "right") => el("td", { className, textContent: text });

/** *words* are the names of columns that hold text. */
const table = (names, rows, words = []) => el("table", {},
  el("thead", {}, el("tr", {}, ...names.map((name, i) => el("th", { scope: "col", className: i && !words.includes(name) ? "right" : "", textContent: name })))),
  el("tbody", {}, ...rows));

/** Best and median over the sessions in their order: days without driving take no room. */
function draw() {
  plot?.destroy();
  const box = byId("chart");
  box.hidden = steps.length < 2;
  if (box.hidden) return;
  const axis = { stroke: colour("--soft"), font: labelFont(), ticks: { show: false }, grid: { stroke: colour("--line"), width: 1 } };
  const day = (index) => (Number.isInteger(index) && steps[index]
    ? new Date(steps[index].started_at).toLocaleDateString("en-GB", { day: "numeric", month: "short" }) : "");
  plot = new uPlot({
    width: box.clientWidth, height: box.clientHeight, padding: [12, 32, 0, 0],
    legend: { show: false }, cursor: { show: false },
    scales: { x: { time: false, range: () => [-0.2, steps.length - 0.8] } },
    axes: [{ ...axis, size: 28, incrs: [1, 2, 5, 10, 20, 50], values: (_plot, splits) => splits.map(day) },
      { ...axis, size: 76, values: (_plot, splits) => splits.map((s) => lapTime(s)) }],
    series: [{},
      { stroke: colour("--best"), width: 2, points: { show: true, size: 8, fill: colour("--best") } },
      { stroke: colour("--soft"), width: 1.5, dash: [4, 4], points: { show: false } }],
  }, [steps.map((_step, i) => i), steps.map((step) => step.best_lap_s), steps.map((step) => step.median_lap_s)], box);
}

function showFocus(insights) {
  const byGain = [...insights].sort((a, b) => (b.est_gain_s ?? 0) - (a.est_gain_s ?? 0));
  const items = byGain.map(({ title, detail, est_gain_s: gain, lesson }) => el("li", {},
    el("strong", {}, title, el("span", { className: "gain", textContent: gain ? `about ${number(gain, 2)} s a lap` : "" })),
    el("p", { textContent: detail }),
    el("p", {}, "Lesson: ", lessonLink(lesson))));
  replace(byId("focus"), ...items.length ? items : [el("p", { className: "fine", textContent: "Nothing stands out: more complete laps may show something." })]);
}

function showBoard(entries, driver) {
  replace(byId("board"), entries.length ? table(["Place", "Driver", "Car", "Time"], entries.map((entry) =>
    el("tr", { className: folded(entry.driver ?? "") === folded(driver) ? "mine" : "" },
      el("th", { scope: "row", textContent: entry.rank }), cell(entry.driver || "–", ""), cell(entry.car || "–", ""), cell(lapTime(entry.lap_time_s)))), ["Driver", "Car"])
    : el("p", { className: "fine", textContent: "No lap on this track yet." }));
}

bridgeHead("driver");
new ResizeObserver(() => { if (plot) plot.setSize({ width: byId("chart").clientWidth, height: byId("chart").clientHeight }); }).observe(byId("main"));
onScheme(draw);
offer().catch((error) => replace(byId("trouble"), problem(error)));
