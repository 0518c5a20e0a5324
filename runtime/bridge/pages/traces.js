// Curves of the last seconds, one below the other on one clock; a channel that never came has none.

import { colour, labelFont, onScheme } from "./colours.js";
import { el, write } from "./dom.js";
import { number } from "./format.js";
import uPlot from "./vendor/uplot/uPlot.esm.js";

const WINDOW_S = 30;
const ENOUGH = 75; // frames after which a channel that never came counts as not recorded
const AXIS = 44;
const LEAST = 44; // pixels of a curve's height

/** *channels*: name, label, unit, digits, colour (a token), the range it has at least. */
export class Traces {
  #parent;
  #rows;
  #times = [];
  #frames = 0;
  #absent;
  #known = "";

  /** *onAbsent* hears the labels of the channels that are not recorded. */
  constructor(parent, channels, onAbsent) {
    this.#parent = parent;
    this.#absent = onAbsent;
    this.#rows = channels.map((channel) => this.#row(channel));
    new ResizeObserver(() => this.#resize()).observe(parent);
    onScheme(() => this.#build());
    this.#build();
  }

  /** A moment: seconds, and the value of each channel by name. */
  push(t, values) {
    const last = this.#times.at(-1);
    if (last !== undefined && (t < last || t - last > WINDOW_S)) this.clear();
    this.#times.push(t);
    this.#frames += 1;
    for (const row of this.#rows) {
      const value = values[row.channel.name];
      row.values.push(Number.isFinite(value) ? value : null);
      if (Number.isFinite(value)) row.seen = true;
    }
    let old = 0;
    while (this.#times[old] < t - WINDOW_S) old += 1;
    if (!old) return;
    this.#times.splice(0, old);
    for (const row of this.#rows) row.values.splice(0, old);
  }

  clear() {
    this.#times = [];
    this.#frames = 0;
    for (const row of this.#rows) Object.assign(row, { values: [], seen: false });
  }

  draw() {
    this.#choose();
    const now = this.#times.at(-1) ?? 0;
    const ago = this.#times.map((t) => t - now);
    for (const { plot, box, values, value, channel } of this.#rows) {
      if (box.hidden) continue;
      write(value, number(values.at(-1), channel.digits));
      plot.setData([ago, values]);
    }
  }

  /** Tell what was not recorded, and give its room to the others. */
  #choose() {
    const judged = this.#frames >= ENOUGH;
    const absent = this.#rows.filter((row) => judged && !row.seen).map((row) => row.channel.label);
    if (absent.join() === this.#known) return;
    this.#known = absent.join();
    for (const row of this.#rows) row.box.hidden = absent.includes(row.channel.label);
    this.#absent(absent);
    this.#build();
  }

  #row(channel) {
    const value = el("b", { className: "figure", textContent: "–" });
    const plot = el("div", { className: "plot", role: "img", "aria-label": `${channel.label}, last ${WINDOW_S} seconds` });
    const box = el("div", { className: "trace" },
      el("p", {}, el("span", { textContent: channel.label }), value, el("span", { className: "fine", textContent: channel.unit })),
      plot);
    this.#parent.append(box);
    return { channel, box, value, holder: plot, plot: null, values: [], seen: false };
  }

  #build() {
    const shown = this.#rows.filter((row) => !row.box.hidden);
    for (const row of this.#rows) {
      row.plot?.destroy();
      row.plot = null;
    }
    for (const row of shown) {
      row.plot = new uPlot(options(row.channel, row === shown.at(-1)), [[], []], row.holder);
    }
    this.#resize();
  }

  #resize() {
    const shown = this.#rows.filter((row) => row.plot);
    for (const row of shown) {
      const { clientWidth: width, clientHeight: height } = row.holder;
      if (width) row.plot.setSize({ width, height: Math.max(LEAST, height) });
    }
  }
}

function options({ colour: token, least }, last) {
  const axis = { stroke: colour("--soft"), font: labelFont(), ticks: { show: false }, grid: { stroke: colour("--line"), width: 1 } };
  const [low, high] = least;
  return {
    width: 300, height: LEAST, padding: [8, 16, last ? 0 : 8, 0],
    legend: { show: false }, cursor: { show: false },
    scales: {
      x: { time: false, range: () => [-WINDOW_S, 0] },
      y: { range: (_plot, from, to) => [Math.min(low, from ?? low), Math.max(high, to ?? high)] },
    },
    axes: [
      { ...axis, show: last, size: 24, gap: 2, incrs: [5, 10, 30], values: (_plot, splits) => splits.map((s) => (s ? `${number(s)} s` : "now")) },
      { ...axis, size: AXIS, gap: 4, space: 22 },
    ],
    series: [{}, { stroke: colour(token), width: 2, points: { show: false } }],
  };
}
