// The circuit on a canvas: its outline, where time is won and lost, and dots for cars.

import { colour, labelFont } from "./colours.js";
import { Layers } from "./layers.js";

const PADDING = 30;
const ROAD = 9;
const DOT = 6.5;
const LEVELS = 6;
const REACH = 12; // points on either side of a corner that say which side is its outside
const OFFSET = 17; // from a corner to its name
const NEAR = 40; // a click so many pixels from the line still means the line

export class TrackMap extends Layers {
  #points = [];
  #closed = true;
  #corners = [];
  #values = null;
  #dots = [];
  #path = [];
  #place = null;

  /** *onPick* hears the index of the point of the outline that was clicked. */
  constructor(canvas, { onPick = null } = {}) {
    super(canvas);
    if (onPick) canvas.addEventListener("pointerdown", (event) => this.#pick(canvas, event, onPick));
  }

  /** The line as [latitude, longitude] in degrees; null ends a stretch. *values*, one a point: from
   *  −1, the most won, to 1, the most lost. */
  setOutline(points, { closed = true, corners = [], values = null } = {}) {
    this.#points = points;
    this.#closed = closed;
    this.#corners = corners;
    this.#values = values;
    this.changeGround();
  }

  /** Cars: latitude, longitude, a colour or the name of its token, and a label. */
  setDots(dots) {
    this.#dots = dots.filter((dot) => Number.isFinite(dot.lat) && Number.isFinite(dot.lon));
    this.draw();
  }

  clear() {
    this.#dots = [];
    this.setOutline([]);
  }

  paint(pen) {
    if (!this.#path.some(Boolean)) return;
    for (const dot of this.#dots) this.#paintDot(pen, dot);
  }

  paintGround(pen) {
    this.#place = projection(this.#points, this.width, this.height);
    this.#path = this.#points.map((point) => point && this.#place(point));
    if (!this.#path.some(Boolean)) return;
    pen.lineJoin = pen.lineCap = "round";
    this.#stroke(pen, colour("--line"), ROAD, () => true);
    if (this.#values) this.#paintValues(pen);
    this.#paintStart(pen);
    for (const corner of this.#corners) this.#paintName(pen, corner);
  }

  /** Draw the parts of the line whose first point *wanted* takes. */
  #stroke(pen, style, width, wanted) {
    const path = this.#path;
    pen.strokeStyle = style;
    pen.lineWidth = width;
    pen.beginPath();
    let open = false;
    const last = this.#closed ? path.length : path.length - 1;
    for (let i = 0; i < last; i += 1) {
      const from = path[i], to = path[(i + 1) % path.length];
      if (!from || !to || !wanted(i)) { open = false; continue; }
      if (!open) pen.moveTo(...from);
      pen.lineTo(...to);
      open = true;
    }
    pen.stroke();
  }

  #paintValues(pen) {
    const levels = this.#values.map((value) => Math.round(Math.max(-1, Math.min(1, value ?? 0)) * LEVELS));
    for (let level = 1; level <= LEVELS; level += 1) {
      pen.globalAlpha = 0.25 + 0.75 * level / LEVELS;
      this.#stroke(pen, colour("--gain"), ROAD, (i) => levels[i] === -level);
      this.#stroke(pen, colour("--loss"), ROAD, (i) => levels[i] === level);
    }
    pen.globalAlpha = 1;
  }

  /** A line across the road where the lap begins. */
  #paintStart(pen) {
    const [start, next] = this.#path.filter(Boolean);
    if (!next) return;
    const [x, y] = unit(next[0] - start[0], next[1] - start[1]);
    pen.strokeStyle = colour("--ink");
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(start[0] - y * ROAD, start[1] + x * ROAD);
    pen.lineTo(start[0] + y * ROAD, start[1] - x * ROAD);
    pen.stroke();
  }

  /** The name of a corner, on its outside. */
  #paintName(pen, { name, lat, lon }) {
    if (!Number.isFinite(lat) || !Number.isFinite(lon)) return;
    const at = this.#place([lat, lon]), path = this.#path;
    const i = nearest(path, at).index, n = path.length;
    const before = path[(i - REACH + n) % n] ?? at, after = path[(i + REACH) % n] ?? at;
    const [x, y] = unit(at[0] - (before[0] + after[0]) / 2, at[1] - (before[1] + after[1]) / 2);
    pen.font = labelFont(600);
    pen.textAlign = "center";
    pen.textBaseline = "middle";
    pen.fillStyle = colour("--soft");
    pen.fillText(shortName(name), at[0] + x * OFFSET, at[1] + y * OFFSET);
  }

  #paintDot(pen, { lat, lon, colour: name, label }) {
    const [x, y] = this.#place([lat, lon]);
    pen.beginPath();
    pen.arc(x, y, DOT, 0, 2 * Math.PI);
    pen.fillStyle = colour(name);
    pen.fill();
    pen.lineWidth = 2;
    pen.strokeStyle = colour("--sheet");
    pen.stroke();
    if (!label) return;
    pen.font = labelFont(600);
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    pen.fillStyle = colour("--ink");
    pen.fillText(label, x + DOT + 5, y);
  }

  #pick(canvas, event, onPick) {
    const box = canvas.getBoundingClientRect();
    const { index, distance } = nearest(this.#path, [event.clientX - box.left, event.clientY - box.top]);
    if (distance <= NEAR) onPick(index);
  }
}

/** "Turn 7" is long for a map: "7". */
export const shortName = (name) => name.replace(/^Turn\s+(?=\S)/, "");

/** From degrees to pixels: north up, the same scale both ways, centred. */
function projection(points, width, height) {
  const given = points.filter(Boolean);
  if (!given.length) return () => [0, 0];
  const [lat0, lon0] = given[0], narrow = Math.cos(lat0 * Math.PI / 180);
  const flat = ([lat, lon]) => [(((lon - lon0 + 540) % 360) - 180) * narrow, lat0 - lat];
  const flats = given.map(flat);
  const xs = flats.map(([x]) => x), ys = flats.map(([, y]) => y);
  const left = Math.min(...xs), top = Math.min(...ys);
  const wide = Math.max(...xs) - left || 1e-9, tall = Math.max(...ys) - top || 1e-9;
  const scale = Math.min((width - 2 * PADDING) / wide, (height - 2 * PADDING) / tall);
  return (point) => {
    const [x, y] = flat(point);
    return [width / 2 + (x - left - wide / 2) * scale, height / 2 + (y - top - tall / 2) * scale];
  };
}

function unit(x, y) {
  const length = Math.hypot(x, y);
  return length ? [x / length, y / length] : [0, -1];
}

/** The point of *path* that is nearest to a place, and how far it is. */
function nearest(path, [x, y]) {
  let index = 0, distance = Infinity;
  path.forEach((point, i) => {
    if (!point) return;
    const away = Math.hypot(point[0] - x, point[1] - y);
    if (away < distance) { index = i; distance = away; }
  });
  return { index, distance };
}
