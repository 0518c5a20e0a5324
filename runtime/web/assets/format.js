// Numbers, times and sizes as people read them.

const NONE = "–";

const given = (value) => value !== null && value !== undefined && Number.isFinite(Number(value));

/** A lap time, as 1:51.800; a dash where there is none. */
export const lapTime = (seconds) => clock(seconds, 3);

/** A running time, as 1:38.3. */
export function clock(seconds, digits = 1) {
  if (!given(seconds)) return NONE;
  const scale = 10 ** digits, whole = Math.round(Math.abs(seconds) * scale) / scale;
  const minutes = Math.floor(whole / 60);
  const rest = (whole - 60 * minutes).toFixed(digits).padStart(digits ? digits + 3 : 2, "0");
  return `${seconds < 0 ? "−" : ""}${minutes}:${rest}`;
}

/** A difference with its sign, as +0.123 and −0.045. */
export function signed(value, digits = 3) {
  if (!given(value)) return NONE;
  const text = Math.abs(value).toFixed(digits);
  if (Number(text) === 0) return `±${text}`;
  return `${value < 0 ? "−" : "+"}${text}`;
}

/** A number with so many digits behind the point. */
export function number(value, digits = 0) {
  if (!given(value)) return NONE;
  return Number(value).toFixed(digits).replace("-", "−");
}

/** Metres a second in km/h; null where there is none. */
export const toKmh = (ms) => (given(ms) ? ms * 3.6 : null);

/** Metres a second as whole km/h. */
export const kmh = (ms) => number(toKmh(ms));

/** A day, as Fri 27 Nov 2026. */
export const date = (ms) => new Date(ms).toLocaleDateString("en-GB",
  { weekday: "short", day: "numeric", month: "short", year: "numeric" });

/** A time of day, as 14:05. */
export const time = (ms) => new Date(ms).toLocaleTimeString("en-GB",
  { hour: "2-digit", minute: "2-digit" });

/** Seconds with the digits that matter. */
export function seconds(ms) {
  if (ms < 995) return `${(ms / 1000).toFixed(2)} s`;
  return ms < 59_500 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 60_000)} min`;
}

/** A length of time in words that stay short: 40 s, 12 min, 3 h, 2 days. */
export function span(total) {
  if (total < 90) return `${Math.round(total)} s`;
  if (total < 5400) return `${Math.round(total / 60)} min`;
  return total < 172_800 ? `${Math.round(total / 3600)} h` : `${Math.round(total / 86_400)} days`;
}

export const count = (number) => number.toLocaleString("en-GB");

/** "1 chunk", "2 chunks". */
export const amount = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;

export function bytes(size) {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let value = size, unit = 0;
  while (value >= 999.5 && unit < units.length - 1) { value /= 1000; unit += 1; }
  return `${value < 10 && unit ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** 2.3 M, 1.4 B: the number of a model's parameters. */
export function parameters(number) {
  const [value, unit] = number >= 1e9 ? [number / 1e9, "B"] : [number / 1e6, "M"];
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${unit}`;
}
