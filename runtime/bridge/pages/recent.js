// What a stream tells first is from before: it waits for the frame that says where the car is now.

export class Recent {
  #held = [];
  #told = 0; // when the newest cue was given

  /** A stream is opened: what comes first is from before. */
  begin() { this.#held = []; }

  /** Take an event called *name*; whether it waits. */
  holds(name, event) {
    this.#held?.push([name, event]);
    return Boolean(this.#held);
  }

  /** The first *frame* has come: hand on what belongs to its session. A replay has nothing before it. */
  release({ session_id: session, replay_id: replay, lap: now }, { timing, onCue }) {
    const held = replay ? [] : this.#held ?? [];
    this.#held = null;
    for (const [name, event] of held.filter((one) => one[1].session_id === session)) {
      if (name === "lap") timing.stored([event]);
      else if (name === "sector" && event.lap_number >= now - 1) timing.sector(event);
      else if (name === "cue" && event.ts > this.#told) {
        this.#told = event.ts;
        onCue(event);
      }
    }
  }
}
