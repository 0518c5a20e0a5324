// Charts over the distance of a lap: one below the other, one cursor, one zoom, bands for corners.

import uPlot from "./vendor/uplot/uPlot.esm.js";
import { colour, labelFont, onScheme } from "./colours.js";
import { el, replace } from "./dom.js";
import { number, signed } from "./format.js";
import { shortName } from "./trackmap.js";

const TALL = 220;
const LOW = 88;
const LINE = 19; // of the values beside a chart, below its title
const AXIS = 26; // pixels of the distances below the last chart
const SCALE = 46; // pixels of the values on the left
const LEAST = 4; // a narrower selection is a click
const BAND = 0.42; // of a corner, in the colour of the lines

/** A value of a channel as it is read out. */
export const reading = (channel, value) =>
  (channel.signed ? signed : number)(value, channel.digits);

export class LapCharts {
  #host;
  #plots = [];
  #channels = [];
  #comparison = null;
  #index = 0;
  #onCursor;
  #onZoom;

  /** *onCursor* hears the index on the axis; *onZoom* the metres shown, or null for the whole lap. */
  constructor(host, { onCursor, onZoom }) {
    this.#host = host;
    this.#onCursor = onCursor;
    this.#onZoom = onZoom;
    new ResizeObserver(() => this.#resize()).observe(host);
    onScheme(() => { for (const { plot } of this.#plots) plot.redraw(false); });
  }

  /** Draw the *channels* of a comparison, a chart each. */
  show(comparison, channels) {
    for (const { plot } of this.#plots) plot.destroy();
    this.#comparison = comparison;
    this.#channels = channels;
    const rows = channels.map((channel) => el("div", { className: "chart" },
      el("div", { className: "plot" }), el("div", { className: "values" })));
    replace(this.#host, ...rows);
    this.#plots = channels.map((channel, i) => this.#plot(channel, rows[i], i));
    this.moveTo(this.#index);
  }

  /** Put the cursor of all charts on a place of the axis. */
  moveTo(index) {
    this.#index = index;
    for (const { plot, channel, values } of this.#plots) {
      if (plot.status) this.#place(plot);
      values.forEach(({ lap, node }) => {
        node.textContent = reading(channel, lap.channels[channel.name]?.[index]);
      });
    }
  }

  /** Show the metres from *min* to *max* in all charts. */
  zoom(min, max) {
    for (const { plot } of this.#plots) plot.setScale("x", { min, max });
  }

  #place(plot) {
    const left = plot.valToPos(this.#comparison.axis_m[this.#index], "x");
    const inside = left >= 0 && left <= plot.over.clientWidth;
    plot.setCursor({ left: inside ? left : -10, top: 0 }, false);
  }

  #plot(channel, row, order) {
    const { axis_m: axis, laps } = this.#comparison;
    const [host, side] = row.children;
    const shown = laps.filter((lap, i) => channel.name !== "delta_s" || i > 0);
    const values = shown.map((lap) => {
      const node = el("span", { className: "value" });
      const mark = el("i", { className: "swatch" });
      mark.style.setProperty("--of-lap", `var(${lap.colour})`);
      return { lap, node, line: el("p", {}, mark, node) };
    });
    replace(side, el("h3", { textContent: channel.title },
      channel.unit ? el("span", { className: "unit", textContent: ` ${channel.unit}` }) : null),
    ...values.map(({ line }) => line));
    const last = order === this.#channels.length - 1;
    const columns = shown.map((lap) => lap.channels[channel.name] ?? axis.map(() => null));
    const plot = new uPlot(this.#options(channel, shown, order === 0, last, host), [axis, ...columns], host);
    this.#followPointer(plot);
    return { plot, channel, host, values, last };
  }

  #options(channel, laps, first, last, host) {
    const { axis: unit } = this.#comparison;
    const soft = () => colour("--soft"), line = () => colour("--line");
    return {
      width: host.clientWidth || 300,
      height: (channel.tall ? TALL : Math.max(LOW, LINE * (laps.length + 1.5))) + (last ? AXIS : 0),
      legend: { show: false },
      padding: [first ? 18 : 7, 28, last ? 0 : 7, 0],
      scales: { x: { time: false }, y: { range: (_, low, high) => limits(channel, low, high) } },
      axes: [
        { show: last, size: AXIS, font: labelFont(), stroke: soft, gap: 4, grid: { show: false },
          ticks: { stroke: line, width: 1, size: 4 }, space: 70,
          values: (_, marks) => marks.map(unit.write) },
        { size: SCALE, font: labelFont(), stroke: soft, gap: 6, space: channel.tall ? 34 : 24,
          grid: { stroke: line, width: 1 }, ticks: { show: false },
          values: (_, marks) => marks.map((mark) => String(mark).replace("-", "−")) },
      ],
      series: [{}, ...laps.map((lap) => ({
        stroke: () => colour(lap.colour), width: 1.6, points: { show: false },
        paths: channel.stepped ? uPlot.paths.stepped({ align: 1 }) : undefined,
      }))],
      cursor: {
        y: false, points: { size: 7, width: 0, fill: (_, i) => colour(laps[i - 1].colour) },
        drag: { x: true, y: false, setScale: false },
        bind: { mouseleave: () => null, dblclick: () => () => { this.#onZoom(null); } },
      },
      hooks: {
        drawClear: [(plot) => this.#paintCorners(plot, first)],
        draw: [(plot) => this.#place(plot)],
        setSelect: [(plot) => this.#select(plot)],
      },
    };
  }

  /** A band for each corner; the first chart has their names. */
  #paintCorners(plot, named) {
    const pen = plot.ctx, scale = uPlot.pxRatio, { left, top, width, height } = plot.bbox;
    pen.save();
    let written = left; // up to here there are names already
    for (const { name, entry_m: entry, apex_m: apex, end_m: end } of this.#comparison.corners) {
      for (const [from, to] of entry <= end ? [[entry, end]] : [[entry, Infinity], [-Infinity, end]]) {
        const start = Math.max(left, plot.valToPos(from, "x", true));
        const stop = Math.min(left + width, plot.valToPos(to, "x", true));
        pen.fillStyle = colour("--line");
        pen.globalAlpha = BAND;
        if (stop > start) pen.fillRect(start, top, stop - start, height);
        pen.globalAlpha = 1;
      }
      const at = plot.valToPos(apex, "x", true);
      if (!named || at > left + width) continue;
      pen.font = `600 ${12 * scale}px system-ui, sans-serif`;
      const half = pen.measureText(shortName(name)).width / 2;
      if (at - half < written) continue;
      written = at + half + 4 * scale;
      pen.fillStyle = colour("--soft");
      pen.textAlign = "center";
      pen.textBaseline = "alphabetic";
      pen.fillText(shortName(name), at, top - 5 * scale);
    }
    if (plot.scales.y.min < 0 && plot.scales.y.max > 0) {
      pen.fillStyle = colour("--edge");
      pen.fillRect(left, Math.round(plot.valToPos(0, "y", true)), width, scale);
    }
    pen.restore();
  }

  #select(plot) {
    const { left, width } = plot.select;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    if (width >= LEAST) this.#onZoom([plot.posToVal(left, "x"), plot.posToVal(left + width, "x")]);
  }

  /** A mouse moves the cursor; a finger too, sideways, while it moves the page up and down. */
  #followPointer({ over, posToIdx }) {
    const follow = (event) => {
      const left = event.clientX - over.getBoundingClientRect().left;
      this.#onCursor(posToIdx(Math.max(0, Math.min(over.clientWidth, left))));
    };
    over.addEventListener("pointerdown", follow);
    over.addEventListener("pointermove", follow);
  }

  #resize() {
    for (const { plot, host } of this.#plots) {
      if (host.clientWidth && host.clientWidth !== plot.width) {
        plot.setSize({ width: host.clientWidth, height: plot.height });
      }
    }
  }
}

/** The values that a chart shows: those of the lap with some room, and zero where it says much. */
function limits(channel, low, high) {
  if (channel.range) return [channel.range[0] - 4, channel.range[1] + 4];
  if (low === null || high === null) return [0, 1];
  const bottom = channel.zero ? Math.min(low, 0) : low, top = channel.zero ? Math.max(high, 0) : high;
  const room = (top - bottom) * 0.06 || 1;
  return [bottom - room, top + room];
}
