// The lap that the delta of the pit wall refers to, where somebody has chosen one.

import { compare, timeAt } from "./comparison.js";

/** A lap as time over place, which frames, sectors and laps of another one are held against. */
export class Reference {
  #comparison;
  #lap;

  constructor(comparison) {
    this.#comparison = comparison;
    this.#lap = comparison.laps[0];
  }

  /** The lap of *ref*, "session:number" or "session:best". */
  static async read(ref) {
    return new Reference(await compare([ref], { channels: "time_s" }));
  }

  /** A frame with the delta to this lap, and the lap time if the rest goes as in it. */
  frame(frame) {
    const delta = less(frame.lap_time_s, timeAt(this.#comparison, this.#lap, frame.lap_distance_m));
    return { ...frame, delta_s: delta, predicted_s: delta === null ? null : this.#lap.lap_time_s + delta };
  }

  /** A lap that has ended. */
  lap(event) {
    return { ...event, delta_s: less(event.lap_time_s, this.#lap.lap_time_s) };
  }

  /** A sector that has ended; one that is the best known stays that. */
  sector(event) {
    const own = this.#comparison.sectors[event.sector - 1]?.laps[0].time_s;
    const delta = less(event.time_s, own);
    const rating = delta !== null && delta <= 0 ? "own" : "slower";
    return { ...event, delta_s: delta, rating: event.rating === "best" ? "best" : rating };
  }
}

const less = (value, other) => (Number.isFinite(value) && Number.isFinite(other) ? value - other : null);
