// The friction circle on a canvas: where the last seconds lay, and the g of this moment.

import { colour, onScheme } from "./colours.js";

const TRAIL_S = 6;
const SHADES = 4;
const LEAST_G = 1.5;
const MARGIN = 22;

export class GripCircle {
  #canvas;
  #pen;
  #trail = [];
  #reach = LEAST_G;

  constructor(canvas) {
    this.#canvas = canvas;
    this.#pen = canvas.getContext("2d");
    new ResizeObserver(() => this.draw()).observe(canvas);
    onScheme(() => this.draw());
  }

  /** A moment: seconds, lateral and longitudinal g. */
  push(t, lateral, longitudinal) {
    const last = this.#trail.at(-1);
    if (last && (t < last.t || t - last.t > TRAIL_S)) this.#trail = [];
    this.#trail.push({ t, x: lateral, y: longitudinal });
    while (this.#trail[0].t < t - TRAIL_S) this.#trail.shift();
    this.#reach = Math.max(this.#reach, Math.ceil(Math.hypot(lateral, longitudinal) * 2) / 2);
  }

  clear() {
    this.#trail = [];
    this.#reach = LEAST_G;
    this.draw();
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const scale = window.devicePixelRatio || 1, pen = this.#pen;
    const [wide, tall] = [Math.round(width * scale), Math.round(height * scale)];
    if (this.#canvas.width !== wide) this.#canvas.width = wide;
    if (this.#canvas.height !== tall) this.#canvas.height = tall;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    const radius = Math.max(10, Math.min(width, height) / 2 - MARGIN);
    const place = (x, y) => [width / 2 + x / this.#reach * radius, height / 2 - y / this.#reach * radius];
    this.#rings(width / 2, height / 2, radius);
    const now = this.#trail.at(-1);
    if (!now) return;
    pen.fillStyle = colour("--accent");
    for (const { t, x, y } of this.#trail) {
      pen.globalAlpha = 0.12 + 0.5 * Math.ceil(SHADES * (1 - (now.t - t) / TRAIL_S)) / SHADES;
      dot(pen, place(x, y), 2);
    }
    pen.globalAlpha = 1;
    pen.strokeStyle = colour("--sheet");
    pen.lineWidth = 2;
    dot(pen, place(now.x, now.y), 7);
    pen.stroke();
  }

  #rings(x, y, radius) {
    const pen = this.#pen, step = this.#reach > 3 ? 1 : 0.5;
    pen.strokeStyle = colour("--line");
    pen.fillStyle = colour("--soft");
    pen.font = `12px ${getComputedStyle(this.#canvas).fontFamily}`;
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
}

function dot(pen, [x, y], radius) {
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}
