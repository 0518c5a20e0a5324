// Driving a lap again: time goes on, and the cursor with it.

import { indexAfter } from "./comparison.js";

/** Let *button* start and stop. *lap* and *index* give the lap that is driven and where the cursor
 *  is; *onMoment* hears the index that the lap has reached, and the seconds since its start. */
export function startPlaying({ button, lap, index, onMoment }) {
  let frame = 0;

  function start() {
    const { time_s: times } = lap()?.channels ?? {};
    if (!times) return;
    const end = times.findLast((seconds) => seconds !== null);
    const from = times[index()] ?? 0;
    const shift = from >= end ? 0 : from, began = performance.now();
    button.textContent = "Pause";
    button.setAttribute("aria-pressed", "true");
    const step = (now) => {
      const seconds = Math.min(end, shift + Math.max(0, now - began) / 1000);
      onMoment(indexAfter(lap(), seconds), seconds);
      if (seconds < end) frame = requestAnimationFrame(step);
      else stop();
    };
    frame = requestAnimationFrame(step);
  }

  function stop() {
    cancelAnimationFrame(frame);
    frame = 0;
    button.textContent = "Play";
    button.setAttribute("aria-pressed", "false");
  }

  const toggle = () => (frame ? stop() : start());
  button.addEventListener("click", toggle);
  return { toggle, stop };
}
