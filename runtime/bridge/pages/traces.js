// Curves of the last seconds, one below the other on one clock; a channel that never came has none.

import { colour, labelFont } from "./colours.js";
import { el, write } from "./dom.js";
import { number } from "./format.js";
import { Layers } from "./layers.js";

export const WINDOW_S = 30;
const MARK_S = 10;
const ENOUGH = 75; // frames after which a channel that never came counts as not recorded
const SCALE = 44; // pixels of the values on the left
const CLOCK = 24; // pixels of the seconds below the last curve
const EDGE = 8;
const RIGHT = 16;
const SPACE = 18; // pixels between two values of a scale, at least
const FINE = 1; // pixels between two points of a curve, at least

/** *channels*: name, label, unit, digits, colour (a token), the range it has at least. */
export class Traces extends Layers {
  #rows;
  #times = [];
  #frames = 0;
  #painted = null; // the moment that is drawn
  #absent;
  #known = "";

  /** *onAbsent* hears the labels of the channels that are not recorded. */
  constructor(parent, channels, onAbsent) {
    const canvas = el("canvas", { id: "curves", "aria-hidden": "true" });
    super(canvas);
    this.#absent = onAbsent;
    this.#rows = channels.map((channel) => makeRow(channel));
    parent.append(canvas, ...this.#rows.map(({ box }) => box));
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
    if (old) {
      this.#times.splice(0, old);
      for (const row of this.#rows) row.values.splice(0, old);
    }
    const pixel = WINDOW_S / Math.max(1, this.#shown[0]?.place.width ?? 1);
    if (!(t - this.#painted < pixel)) this.draw(); // the curves move by whole pixels
  }

  /** Moments from before the first one: the values of each by name, with the seconds as *t*. */
  before(moments) {
    const [first = Infinity] = this.#times;
    const earlier = moments.filter(({ t }) => t < first);
    this.#times.unshift(...earlier.map(({ t }) => t));
    for (const row of this.#rows) {
      const values = earlier.map((moment) => moment[row.channel.name] ?? null);
      row.values.unshift(...values);
      row.seen ||= values.some((value) => value !== null);
    }
    this.draw();
  }

  clear() {
    this.#times = [];
    this.#painted = null;
    this.#frames = 0;
    for (const row of this.#rows) Object.assign(row, { values: [], seen: false });
    this.draw();
  }

  /** Write the newest values beside their curves, and what was not recorded. */
  tell() {
    const judged = this.#frames >= ENOUGH;
    for (const { value, values, channel } of this.#rows) write(value, number(values.at(-1), channel.digits));
    const absent = this.#rows.filter((row) => judged && !row.seen).map((row) => row.channel.label);
    if (absent.join() === this.#known) return;
    this.#known = absent.join();
    for (const row of this.#rows) row.box.hidden = absent.includes(row.channel.label);
    this.#absent(absent);
    this.changeGround();
  }

  paint(pen) {
    const now = this.#times.at(-1) ?? 0;
    this.#painted = now;
    let grown = false;
    pen.lineWidth = 2;
    pen.lineJoin = "bevel";
    for (const row of this.#shown) {
      grown = fitRange(row) || grown;
      const { left, top, width, height } = row.place;
      pen.strokeStyle = colour(row.channel.colour);
      pen.beginPath();
      let before = null;
      row.values.forEach((value, i) => {
        const x = left + width * (1 + (this.#times[i] - now) / WINDOW_S);
        if (value === null) before = null;
        else if (before === null || x - before >= FINE) {
          const y = top + height * (row.high - value) / (row.high - row.low);
          if (before === null) pen.moveTo(x, y);
          else pen.lineTo(x, y);
          before = x;
        }
      });
      pen.stroke();
    }
    if (grown) this.changeGround();
  }

  /** The lines and values of each scale, and the seconds below the last curve. */
  paintGround(pen) {
    const shown = this.#shown;
    pen.strokeStyle = colour("--line");
    pen.fillStyle = colour("--soft");
    pen.font = labelFont();
    pen.lineWidth = 1;
    pen.beginPath();
    for (const row of shown) {
      const last = row === shown.at(-1), { offsetTop, clientHeight } = row.holder;
      row.place = { left: SCALE, top: offsetTop + EDGE,
        width: this.width - SCALE - RIGHT, height: clientHeight - EDGE - (last ? CLOCK : EDGE) };
      const { left, top, width, height } = row.place;
      const step = stepOf((row.high - row.low) * SPACE / height);
      pen.textAlign = "right";
      pen.textBaseline = "middle";
      for (let mark = Math.ceil(row.low / step) * step; mark <= row.high + step / 1e6; mark += step) {
        const y = Math.round(top + height * (row.high - mark) / (row.high - row.low)) + 0.5;
        pen.moveTo(left, y);
        pen.lineTo(left + width, y);
        pen.fillText(number(mark, step < 1 ? 1 : 0), left - 4, y);
      }
      pen.textAlign = "center";
      pen.textBaseline = "top";
      for (let ago = 0; ago <= WINDOW_S; ago += MARK_S) {
        const x = Math.round(left + width * (1 - ago / WINDOW_S)) - 0.5;
        pen.moveTo(x, top);
        pen.lineTo(x, top + height);
        if (last) pen.fillText(ago ? `${number(-ago)} s` : "now", x, top + height + EDGE);
      }
    }
    pen.stroke();
  }

  get #shown() { return this.#rows.filter((row) => !row.box.hidden); }
}

function makeRow(channel) {
  const value = el("b", { className: "figure", textContent: "–" });
  const holder = el("div", { className: "plot", role: "img", "aria-label": `${channel.label}, last ${WINDOW_S} seconds` });
  const box = el("div", { className: "trace" },
    el("p", {}, el("span", { textContent: channel.label }), value, el("span", { className: "fine", textContent: channel.unit })),
    holder);
  const [low, high] = channel.least;
  const place = { left: 0, top: 0, width: 0, height: 0 };
  return { channel, box, value, holder, place, low, high, values: [], seen: false };
}

/** Give *row* the range of its values, in whole steps; whether it has changed. */
function fitRange(row) {
  let [low, high] = row.channel.least;
  const step = stepOf((high - low) / 5);
  for (const value of row.values) {
    if (value === null) continue;
    if (value < low) low = Math.floor(value / step) * step;
    else if (value > high) high = Math.ceil(value / step) * step;
  }
  const changed = low !== row.low || high !== row.high;
  row.low = low;
  row.high = high;
  return changed;
}

/** The smallest of 1, 2 and 5, and of their multiples by ten, that is not below *least*. */
function stepOf(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((digit) => digit * power >= least * (1 - 1e-9)) ?? 10);
}
