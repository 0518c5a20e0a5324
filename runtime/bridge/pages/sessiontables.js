// The tables of a session: its laps, where the time goes corner by corner, and the charts in numbers.

import { reading } from "./chart.js";
import { MOST_LAPS } from "./comparison.js";
import { el, replace } from "./dom.js";
import { lapTime, number, signed } from "./format.js";

const ROWS = 25; // of the charts in numbers

const cell = (text, className = "right") => el("td", { textContent: text, className });
const head = (text, className = "right") => el("th", { textContent: text, className, scope: "col" });

/** A square in the colour of a lap. */
export function swatch({ colour }) {
  const mark = el("i", { className: "swatch" });
  mark.style.setProperty("--of-lap", `var(${colour})`);
  return mark;
}

/** The laps of *groups*, one a session: {title, prefix, table, ideal}. *shown* are the refs on the
 *  charts with the reference first; *colours* maps a ref to its colour. */
export function drawLaps(host, groups, { shown, colours, onShow, onReference }) {
  const sectors = Math.max(...groups.map(({ table }) => table.laps[0]?.sectors.length ?? 0));
  const names = Array.from({ length: sectors }, (_, i) => head(`S${i + 1}`));
  replace(host, el("table", { className: "laps" },
    el("thead", {}, el("tr", {}, head("Lap", ""), head("Ref.", ""), ...names, head("Time"), head("Gap"))),
    ...groups.map((group) => el("tbody", {},
      groups.length > 1 ? el("tr", {}, el("th", { scope: "rowgroup", className: "group",
        colSpan: sectors + 4, textContent: group.title })) : null,
      ...group.table.laps.map((lap) => lapRow(lap, group, { sectors, shown, colours, onShow, onReference })),
      group.ideal?.ideal_lap_s ? idealRow(group, { sectors, shown, colours, onShow, onReference }) : null))));
}

function lapRow(lap, group, { sectors, shown, ...rest }) {
  const ref = `${group.prefix}:${lap.lap_number}`;
  return el("tr", { className: shown.includes(ref) ? "on" : "" },
    ...choices(ref, `lap ${lap.lap_number} of ${group.title}`, { shown, ...rest },
      el("span", { className: "hidden", textContent: "Show lap " }), String(lap.lap_number),
      lap.valid ? null : el("span", { className: "fine", textContent: " invalid" })),
    ...Array.from({ length: sectors }, (_, i) => lap.sectors[i]).map((sector) =>
      cell(number(sector?.time_s, 3), sector?.is_best ? "right best" : "right")),
    cell(lapTime(lap.lap_time_s), lap.is_best ? "right best" : "right"),
    cell(lap.is_best ? "" : signed(lap.delta_to_best_s, 3)));
}

/** The best of each sector, from whichever lap it was driven in. */
function idealRow(group, { sectors, shown, ...rest }) {
  const { ideal, table, prefix } = group, ref = `${prefix}:ideal`;
  const whole = ideal.ideal_lap_s;
  return el("tr", { className: shown.includes(ref) ? "ideal on" : "ideal" },
    ...choices(ref, `ideal lap of ${group.title}`, { shown, ...rest },
      el("span", { className: "hidden", textContent: "Show the ideal lap" }),
      el("span", { "aria-hidden": "true", textContent: "Ideal" })),
    ...Array.from({ length: sectors }, (_, i) => cell(number(ideal.best_sectors[i]?.time_s, 3))),
    cell(lapTime(whole)), cell(signed(whole - table.best_lap_s, 3)));
}

/** The cells in which a lap is put on the charts, and made the reference. */
function choices(ref, title, { shown, colours, onShow, onReference }, ...words) {
  const on = shown.includes(ref), colour = colours.get(ref);
  const show = el("input", { type: "checkbox", checked: on, "data-ref": ref,
    disabled: !on && shown.length >= MOST_LAPS || on && shown.length === 1,
    onchange: () => onShow(ref, show.checked) });
  if (colour) show.style.setProperty("--of-lap", `var(${colour})`);
  const choose = el("input", { type: "radio", name: "reference", checked: shown[0] === ref,
    "aria-label": `Compare with ${title}`, onchange: () => onReference(ref) });
  return [el("td", {}, el("label", { className: "pick" }, show, ...words)), el("td", {}, choose)];
}

/** The corners with the seconds that one lap loses there, as `lossesByCorner` gives them. */
export function drawCorners(host, losses, onCorner) {
  const most = Math.max(0.001, ...losses.map(({ lost_s: lost }) => Math.abs(lost)));
  replace(host, el("table", { className: "corners" },
    el("thead", {}, el("tr", {}, head("Corner", ""), head("Lost, s"), el("td", { className: "bars" }),
      head("Slowest, km/h"), head("Reference"))),
    el("tbody", {}, ...losses.map(({ corner, lost_s: lost, slowest, reference }) => {
      const bar = el("i", { className: lost > 0 ? "bar lost" : "bar won" });
      bar.style.setProperty("--part", Math.abs(lost) / most);
      return el("tr", {},
        el("th", { scope: "row" }, el("button", { type: "button", className: "go",
          textContent: corner.name, onclick: () => onCorner(corner) })),
        cell(signed(lost, 2), `right ${colourOf(lost)}`), el("td", { className: "bars" }, bar),
        cell(number(slowest, 0)), cell(number(reference, 0)));
    }))));
}

const colourOf = (lost) => (Math.abs(lost) < 0.005 ? "" : lost > 0 ? "lost" : "won");

/** The charts between two places in numbers. */
export function drawNumbers(host, { axis_m: axis, axis: unit, laps }, channels, [from, to]) {
  const step = Math.max(1, Math.ceil((to - from) / ROWS));
  const columns = channels.flatMap((channel) => laps.map((lap) => ({ channel, lap })))
    .filter(({ channel, lap }) => lap.channels[channel.name])
    .filter(({ channel, lap }) => channel.name !== "delta_s" || lap !== laps[0]);
  const places = [];
  for (let i = from; i <= to; i += step) places.push(i);
  replace(host, el("table", {},
    el("thead", {}, el("tr", {}, head(unit.name, ""), ...columns.map(({ channel, lap }) =>
      head(`${channel.title}${channel.unit ? `, ${channel.unit}` : ""}, ${lap.name}`)))),
    el("tbody", {}, ...places.map((i) => el("tr", {},
      el("th", { scope: "row", textContent: unit.row(axis[i]) }),
      ...columns.map(({ channel, lap }) => cell(reading(channel, lap.channels[channel.name][i]))))))));
}
