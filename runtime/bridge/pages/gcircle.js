// The friction circle on a canvas: where the last seconds lay, and the g of this moment.

import { colour, labelFont } from "./colours.js";
import { Layers } from "./layers.js";

const TRAIL_S = 6;
const SHADES = 4;
const APART_S = 0.06; // between two dots of the trail, at least
const LEAST_G = 1.5;
const MARGIN = 22;

export class GripCircle extends Layers {
  #trail = [];
  #now = null;
  #reach = LEAST_G;

  /** A moment: seconds, lateral and longitudinal g. */
  push(t, lateral, longitudinal) {
    if (this.#now && t < this.#now.t) this.#trail = [];
    this.#now = { t, x: lateral, y: longitudinal };
    if (!(t - this.#trail.at(-1)?.t < APART_S)) this.#trail.push(this.#now);
    while (this.#trail[0].t < t - TRAIL_S) this.#trail.shift();
    this.#widen(Math.ceil(Math.hypot(lateral, longitudinal) * 2) / 2);
    this.draw();
  }

  clear() {
    this.#trail = [];
    this.#now = null;
    this.#reach = LEAST_G;
    this.changeGround();
  }

  #widen(reach) {
    if (reach <= this.#reach) return;
    this.#reach = reach;
    this.changeGround();
  }

  paint(pen) {
    const now = this.#now;
    if (!now) return;
    pen.fillStyle = colour("--accent");
    for (let shade = 1; shade <= SHADES; shade += 1) {
      pen.globalAlpha = 0.12 + 0.5 * shade / SHADES;
      pen.beginPath();
      for (const { t, x, y } of this.#trail) {
        if (Math.ceil(SHADES * (1 - (now.t - t) / TRAIL_S)) === shade) addDot(pen, this.#place(x, y), 2);
      }
      pen.fill();
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = colour("--sheet");
    pen.lineWidth = 2;
    pen.beginPath();
    addDot(pen, this.#place(now.x, now.y), 7);
    pen.fill();
    pen.stroke();
  }

  /** The rings of even g, and a cross through them. */
  paintGround(pen) {
    const step = this.#reach > 3 ? 1 : 0.5, radius = this.#radius, [x, y] = this.#place(0, 0);
    pen.strokeStyle = colour("--line");
    pen.fillStyle = colour("--soft");
    pen.font = labelFont();
    pen.textAlign = "left";
    pen.textBaseline = "bottom";
    pen.lineWidth = 1;
    pen.beginPath();
    for (let g = step; g <= this.#reach + 1e-9; g += step) {
      pen.moveTo(x + g / this.#reach * radius, y);
      pen.arc(x, y, g / this.#reach * radius, 0, 2 * Math.PI);
      const aside = g / this.#reach * radius * Math.SQRT1_2 + 2;
      if (Number.isInteger(g)) pen.fillText(`${g} g`, x + aside, y - aside);
    }
    pen.moveTo(x - radius, y);
    pen.lineTo(x + radius, y);
    pen.moveTo(x, y - radius);
    pen.lineTo(x, y + radius);
    pen.stroke();
  }

  get #radius() { return Math.max(10, Math.min(this.width, this.height) / 2 - MARGIN); }

  /** Where so much g lies on the canvas. */
  #place(lateral, longitudinal) {
    const scale = this.#radius / this.#reach;
    return [this.width / 2 + lateral * scale, this.height / 2 - longitudinal * scale];
  }
}

function addDot(pen, [x, y], radius) {
  pen.moveTo(x + radius, y);
  pen.arc(x, y, radius, 0, 2 * Math.PI);
}
