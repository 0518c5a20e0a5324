// The lap clock, the delta, the last and the best lap, the sectors: on the pit wall and on phones.

import { byId, el, replace, write } from "./dom.js";
import { clock, kmh, lapTime, number, signed } from "./format.js";

const CUES = 12;
const FLASH_MS = 5000;
const FLASH_SHARE = 0.2; // of a lap: one that is replayed fast has its clock back before the next
const FULL_DELTA_S = 1;
const LONG_DELTA_S = 9.995; // from here on, hundredths have no room and no meaning
const RATINGS = { best: "best", own: "quicker", slower: "slower" };

/** Shows into the elements of the page that are there; those of ``parts`` by id. */
export class Timing {
  #laps = new Map();
  #sectors = new Map();
  #lap = null;
  #shown = { until: 0, lap_time_s: 0 }; // the lap that stands in the place of the clock
  #reference = null;
  #against = "best";
  #count;

  /** So many *sectors* have a place before anything is known of them. */
  constructor(sectors = 0) { this.#count = sectors; }

  /** Hold what comes against a lap of one's choice, called *against*; for null, against the lap that
   *  the bridge chooses. */
  refer(reference, against = "best") {
    this.#reference = reference;
    this.#against = against;
    for (const sector of this.#sectors.keys()) this.#sectors.set(sector, { sector });
    this.#showSectors();
  }

  /** Draw a frame of the telemetry stream. */
  frame(told) {
    const frame = this.#reference?.frame(told) ?? told;
    const { lap, lap_time_s: running, delta_s: delta, predicted_s: predicted } = frame;
    if (lap !== this.#lap) this.#begin(lap);
    const { until, lap_time_s: before } = this.#shown;
    if (performance.now() >= until || running > FLASH_SHARE * before) this.#running(lap, running);
    write(byId("delta"), signed(delta, Math.abs(delta) < LONG_DELTA_S ? 2 : 1));
    byId("delta").className = `figure ${tone(delta)}`;
    const share = Math.max(-1, Math.min(1, (delta ?? 0) / FULL_DELTA_S));
    byId("balance").style.setProperty("--share", share.toFixed(3));
    byId("balance").className = tone(delta);
    write(byId("predicted"), lapTime(predicted));
    write(byId("speed"), kmh(frame.speed_ms));
  }

  /** A lap has ended: shown for some seconds in the place of the clock. */
  lap(told) {
    const event = this.#reference?.lap(told) ?? told;
    this.#laps.set(event.lap_number, event);
    this.#shown = { until: performance.now() + FLASH_MS, lap_time_s: event.lap_time_s };
    const box = byId("clock");
    box.classList.remove("flash", "record");
    void box.offsetWidth; // so that a lap right after another flashes again
    box.classList.add("flash");
    box.classList.toggle("record", Boolean(event.is_best));
    byId("lap-name").textContent = `Lap ${event.lap_number} finished`;
    byId("lap-time").textContent = lapTime(event.lap_time_s);
    byId("lap-note").textContent = event.is_best ? "Best lap" : Number.isFinite(event.delta_s) ? `${signed(event.delta_s)} to ${this.#against}` : "";
    byId("lap-note").className = `under ${event.is_best ? "best" : tone(event.delta_s)}`;
    for (const { sector, time_s } of event.sectors ?? []) { // more exact than they were told at once
      const shown = this.#sectors.get(sector);
      if (shown?.lap_number === event.lap_number) this.#sectors.set(sector, { ...shown, time_s });
    }
    this.#showSectors();
    this.#times();
  }

  /** A sector has ended. */
  sector(told) {
    const event = this.#reference?.sector(told) ?? told;
    if (event.sector === 1) for (const sector of this.#sectors.keys()) this.#sectors.set(sector, { sector });
    this.#makeSectors(event.sector - 1);
    this.#sectors.set(event.sector, event);
    this.#showSectors();
  }

  /** Laps that are stored, with what their events would have told. */
  stored(laps) {
    for (const lap of laps) if (!this.#laps.has(lap.lap_number)) this.#laps.set(lap.lap_number, lap);
    this.#makeSectors(Math.max(0, ...laps.map((lap) => lap.sectors?.length ?? 0)));
    this.#showSectors();
    this.#times();
  }

  clear() {
    this.#laps.clear();
    this.#sectors.clear();
    this.#makeSectors(this.#count);
    this.#lap = null;
    this.#shown = { until: 0, lap_time_s: 0 };
    this.#times();
    this.#showSectors();
    this.frame({});
  }

  /** The laps in the order they were driven. */
  get laps() { return [...this.#laps.values()].sort((a, b) => a.lap_number - b.lap_number); }

  #makeSectors(count) {
    for (let sector = 1; sector <= count; sector += 1) {
      if (!this.#sectors.has(sector)) this.#sectors.set(sector, { sector });
    }
  }

  #begin(lap) {
    this.#lap = lap;
    for (const sector of this.#sectors.keys()) {
      const told = this.#sectors.get(sector);
      if (told.lap_number !== undefined && ![lap - 1, lap].includes(told.lap_number)) this.#sectors.set(sector, { sector });
    }
  }

  #running(lap, running) {
    byId("clock").classList.remove("flash", "record");
    write(byId("lap-name"), Number.isFinite(lap) ? `Lap ${lap}` : "Out lap");
    write(byId("lap-time"), clock(running));
    write(byId("lap-note"), Number.isFinite(lap) ? "" : "The clock starts at the line");
    byId("lap-note").className = "under";
  }

  #times() {
    const laps = this.laps.filter((lap) => lap.valid !== false);
    const times = laps.map((lap) => lap.lap_time_s).filter(Number.isFinite);
    byId("last").textContent = lapTime(laps.at(-1)?.lap_time_s);
    byId("best").textContent = lapTime(times.length ? Math.min(...times) : null);
  }

  #showSectors() {
    const list = byId("sectors");
    if (!list) return;
    replace(list, ...[...this.#sectors.values()].sort((a, b) => a.sector - b.sector).map(cell));
  }
}

/** Put a cue of the coach on top of its list; *lesson* is a link to what explains it. */
export function showCue({ text, corner, priority = 1 }, lesson = null) {
  if (!text) return;
  const list = byId("cues"), newest = list.firstElementChild;
  const times = newest?.dataset.text === text ? Number(newest.dataset.times) + 1 : 1;
  if (times > 1) newest.remove(); // the same once more
  list.prepend(el("li", { className: `p${priority}`, "data-text": text, "data-times": times },
    corner ? el("span", { className: "kind", textContent: corner }) : null,
    el("p", { textContent: text }, times > 1 ? el("span", { className: "fine", textContent: ` ${times} times` }) : null),
    lesson ? el("p", { className: "fine" }, "Lesson: ", lesson) : null));
  while (list.children.length > CUES) list.lastChild.remove();
}

/** A gain, a loss, or neither. */
export const tone = (delta) => (!Number.isFinite(delta) || Math.abs(delta) < 0.005 ? "" : delta < 0 ? "gain" : "loss");

function cell({ sector, time_s: time, delta_s: delta, rating }) {
  const words = rating ? RATINGS[rating] : "";
  return el("li", { className: `sector ${rating ?? ""}` },
    el("span", { textContent: `S${sector}` }),
    el("b", { className: "figure", textContent: number(time, 2) }),
    el("span", { className: "word", textContent: Number.isFinite(delta) && rating !== "best" ? signed(delta, 2) : words, title: words }));
}
