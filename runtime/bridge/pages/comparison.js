// Laps on one axis, as the bridge compares them, and what the page reads from that.

import { call } from "./api.js";
import { clock } from "./format.js";

export const MOST_LAPS = 6;
export const AXIS_POINTS = 1000;
const WINDOW = 6; // points on either side over which a loss of time is spread
const FULL = 0.9; // of all losses on the lap; a stronger one has the same colour

/** What can be shown over the distance, in this order. */
export const CHANNELS = [
  { name: "speed_kmh", title: "Speed", unit: "km/h", digits: 0, tall: true },
  { name: "delta_s", title: "Delta", unit: "s", digits: 3, signed: true },
  { name: "throttle_pct", title: "Throttle", unit: "%", digits: 0, range: [0, 100] },
  { name: "brake_bar", title: "Brake", unit: "bar", digits: 0, zero: true },
  { name: "steering_deg", title: "Steering", unit: "°", digits: 0, signed: true, zero: true },
  { name: "g_lat", title: "Lateral", unit: "g", digits: 2, signed: true, zero: true },
  { name: "g_long", title: "Longitudinal", unit: "g", digits: 2, signed: true, zero: true },
  { name: "gear_position", title: "Gear", unit: "", digits: 0, stepped: true },
  { name: "rpm", title: "Engine", unit: "rpm", digits: 0 },
];

/** What the axis counts: how a place on it is written, and the name of its column in the table. */
const METRES = { name: "m", write: (metres) => `${metres.toFixed(0)} m`, row: (metres) => metres.toFixed(0) };
export const SECONDS = { name: "Time", write: (seconds) => clock(seconds, Number.isInteger(seconds) ? 0 : 1),
  row: (seconds) => clock(seconds, 1) };

/** The laps of *refs*, "session:number" each; the first is what the others are compared with.
 *  *channels* are all that are wanted, separated by commas; without them all that were recorded. */
export async function compare(refs, { signal, channels = "" } = {}) {
  const asked = refs.length > 1 ? refs : [refs[0], refs[0]];
  const query = new URLSearchParams({ laps: asked.join(","), points: AXIS_POINTS, channels });
  const answer = await call(`/compare?${query}`, { signal });
  const laps = answer.laps.slice(0, refs.length);
  laps.forEach((lap, i) => { lap.colour = `--line-${i + 1}`; });
  return { ...answer, laps, axis: METRES };
}

/** The channels that at least one of the laps has, and the names of the others. */
export function recorded({ laps }) {
  const has = ({ name }) => laps.some((lap) => lap.channels[name]?.some((value) => value !== null));
  const shown = CHANNELS.filter((channel) => has(channel) && (channel.name !== "delta_s" || laps.length > 1));
  const missing = CHANNELS.filter((channel) => !has(channel) && channel.name !== "delta_s");
  return { shown, missing };
}

/** Index of the place on the axis nearest to *metres*. */
export function indexAt({ axis_m: axis, length_m: length }, metres) {
  return Math.max(0, Math.min(axis.length - 1, Math.round(metres / length * (axis.length - 1))));
}

/** Seconds after its start at which a lap has reached *metres*; NaN where nobody knows. */
export function timeAt({ length_m: length }, { channels }, metres) {
  const times = channels.time_s ?? [], last = times.length - 1;
  const place = Math.max(0, Math.min(1, metres / length)) * last, before = Math.floor(place);
  const [begin, end] = [times[before], times[Math.min(before + 1, last)]];
  return Number.isFinite(metres) && Number.isFinite(begin) && Number.isFinite(end)
    ? begin + (place - before) * (end - begin) : NaN;
}

/** Index of the place that a lap has reached *seconds* after its start. */
export function indexAfter(lap, seconds) {
  const times = lap.channels.time_s ?? [];
  let low = 0, high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((times[middle] ?? Infinity) <= seconds) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Where a lap is at a place of the axis; null without positions. */
export function positionAt({ channels }, index) {
  const lat = channels.lat?.[index], lon = channels.lon?.[index];
  return Number.isFinite(lat) && Number.isFinite(lon) ? [lat, lon] : null;
}

/** How much a lap loses at each place, from −1 (won) to 1 (lost); null for the reference. */
export function losses(lap, first) {
  const delta = lap.channels.delta_s;
  if (!delta || lap === first) return null;
  const last = delta.length - 1;
  const rates = delta.map((_, i) => {
    const from = delta[Math.max(0, i - WINDOW)], to = delta[Math.min(last, i + WINDOW)];
    return from === null || to === null ? 0 : to - from;
  });
  const sorted = rates.map(Math.abs).sort((a, b) => a - b);
  const full = sorted[Math.floor(FULL * last)] || 1;
  return rates.map((rate) => rate / full);
}

/** The corner at a place, its approach included. */
export function cornerAt({ corners }, metres) {
  return corners.find(({ start_m: start, end_m: end }) =>
    start <= end ? metres >= start && metres <= end : metres >= start || metres <= end) ?? null;
}

/** The seconds that a lap loses in each corner, most first. As the coach counts it, from the begin of
 *  the approach to that of the next corner: what a bad exit costs on the straight is in it. */
export function lossesByCorner(comparison, lap) {
  const { corners, length_m: length } = comparison, at = comparison.laps.indexOf(lap);
  const delta = (metres) => lap.channels.delta_s?.[indexAt(comparison, metres)] ?? NaN;
  return corners.map((corner, i) => {
    const next = corners[(i + 1) % corners.length];
    const around = next.start_m > corner.start_m ? 0 : delta(length) - delta(0);
    return { corner, lost_s: delta(next.start_m) - delta(corner.start_m) + around,
      slowest: corner.laps[at].min_speed_kmh, reference: corner.laps[0].min_speed_kmh };
  }).filter(({ lost_s: lost }) => Number.isFinite(lost)).sort((a, b) => b.lost_s - a.lost_s);
}
