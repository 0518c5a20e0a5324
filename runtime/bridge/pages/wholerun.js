// A recording without a complete lap: all of it over time, as if it were one lap.

import { call } from "./api.js";
import { AXIS_POINTS, CHANNELS, SECONDS } from "./comparison.js";
import { el, replace } from "./dom.js";
import { number, toKmh } from "./format.js";

const FEW = 6; // channels of its own that a recording without the usual ones begins with
const DIGITS = 4; // of a value that is read out, where it is less than a thousand
const PLACE = ["lat", "lon"];
/** Of what is recorded: in other words in the charts, or of no use there. */
const APART = new Set([...PLACE, "speed_ms", "distance_m", "combo_g"]);

/** The recording of one session, and which of its channels are on the charts. */
export class WholeRun {
  #path;
  #from;
  #seconds;
  #recorded;
  #columns = new Map(); // what was read, by the name it is recorded under

  constructor(path, { signals, duration_s: seconds }) {
    this.#path = path;
    this.#from = Math.min(...signals.map(({ t_start: start }) => start));
    this.#seconds = seconds;
    this.#recorded = new Map(signals.map((signal) => [signal.name, signal]));
    const usual = CHANNELS.filter((channel) => this.#recorded.has(sourceOf(channel)));
    const known = new Set(CHANNELS.map(({ name }) => name));
    const own = signals.filter(({ name }) => !APART.has(name) && !known.has(name))
      .map(({ name, units }) => ({ name, title: name, unit: units ?? "" }));
    this.channels = [...usual, ...own];
    this.shown = new Set((usual.length ? usual : own.slice(0, FEW)).map(({ name }) => name));
  }

  /** The run of the session at *path*. */
  static async read(path) {
    return new WholeRun(path, await call(`${path}/capabilities`));
  }

  /** The run as a comparison has a lap, with the channels on the charts, and those channels. */
  async comparison() {
    const chosen = this.channels.filter(({ name }) => this.shown.has(name));
    await this.#fetch([...PLACE, ...chosen.map(sourceOf)]);
    const axis = this.#columns.get("t") ?? [];
    const channels = Object.fromEntries(chosen.map((channel) => [channel.name, this.#valuesOf(channel)]));
    for (const name of PLACE) channels[name] = this.#columns.get(name);
    const run = { name: "Whole run", colour: "--line-1", lap_time_s: this.#seconds,
      channels: { ...channels, time_s: axis } };
    return { comparison: { axis_m: axis, length_m: axis.at(-1) ?? 0, axis: SECONDS, laps: [run], corners: [], sectors: [] },
      shown: chosen.map((channel) => ({ ...channel, digits: channel.digits ?? digitsOf(channels[channel.name]) })) };
  }

  /** The table of what was recorded; *onChange* hears that other channels are chosen. */
  drawChannels(host, onChange) {
    replace(host, el("table", { className: "recorded" },
      el("thead", {}, el("tr", {}, ...["Channel", "Unit", "Values a second"].map((text, i) =>
        el("th", { scope: "col", className: i === 2 ? "right" : "", textContent: text })))),
      el("tbody", {}, ...this.channels.map((channel) => {
        const show = el("input", { type: "checkbox", "data-channel": channel.name,
          checked: this.shown.has(channel.name), onchange: () => {
            if (show.checked) this.shown.add(channel.name);
            else this.shown.delete(channel.name);
            onChange();
          } });
        const { mean_hz: hz } = this.#recorded.get(sourceOf(channel));
        return el("tr", {},
          el("td", {}, el("label", { className: "pick" }, show, channel.title)),
          el("td", { textContent: channel.unit }),
          el("td", { className: "right", textContent: number(hz, hz < 10 ? 1 : 0) }));
      }))));
  }

  /** Read what is not known yet of *names*, on the axis of the charts. */
  async #fetch(names) {
    const wanted = names.filter((name) => this.#recorded.has(name) && !this.#columns.has(name));
    if (!wanted.length || !this.#seconds) return;
    const query = new URLSearchParams({ names: wanted.join(","), interp: "linear",
      rate_hz: Math.min(1000, (AXIS_POINTS - 1) / this.#seconds), t_from: this.#from, t_to: this.#from + this.#seconds });
    const { rows } = await call(`${this.#path}/signals?${query}`);
    this.#columns.set("t", rows.map(({ t }) => t - this.#from));
    for (const name of wanted) this.#columns.set(name, rows.map((row) => row[name]));
  }

  #valuesOf(channel) {
    const values = this.#columns.get(sourceOf(channel));
    return channel.name === "speed_kmh" ? values?.map(toKmh) : values;
  }
}

/** The name under which a channel of the charts is recorded. */
const sourceOf = ({ name }) => (name === "speed_kmh" ? "speed_ms" : name);

function digitsOf(values) {
  const most = Math.max(1, ...(values ?? []).map((value) => Math.abs(value ?? 0)));
  return (values ?? []).every((value) => Number.isInteger(value ?? 0)) ? 0 : Math.max(0, DIGITS - 1 - Math.floor(Math.log10(most)));
}
