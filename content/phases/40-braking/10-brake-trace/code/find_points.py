from itertools import pairwise
from typing import NamedTuple


class BrakeEvent(NamedTuple):
    """Times in seconds from the start of the log."""

    start_s: float
    full_s: float
    release_s: float
    end_s: float
    peak_bar: float


def crossings(values: list[float], level: float, rising: bool) -> list[float]:
    """Times at which the trace passes a level, interpolated between samples."""
    found = []
    for i, (before, after) in enumerate(pairwise(values)):
        hit = before <= level < after if rising else before > level >= after
        if hit:
            found.append((i + (level - before) / (after - before)) * STEP_S)
    return found


def brake_event(bar: list[float]) -> BrakeEvent:
    """Mark the four points of the one braking event in a trace."""
    peak = max(bar)
    return BrakeEvent(
        start_s=crossings(bar, 5.0, rising=True)[0],
        full_s=crossings(bar, 0.9 * peak, rising=True)[0],
        release_s=crossings(bar, 0.9 * peak, rising=False)[-1],
        end_s=crossings(bar, 2.0, rising=False)[-1],
        peak_bar=peak,
    )


print("lap  start  full  release   end | ramp  hold  release  peak")
for name, bar in brake_bar.items():
    e = brake_event(bar)
    print(
        f"{name:>3} {e.start_s:6.2f} {e.full_s:5.2f} {e.release_s:8.2f} {e.end_s:5.2f}"
        f" | {e.full_s - e.start_s:4.2f} {e.release_s - e.full_s:5.2f}"
        f" {e.end_s - e.release_s:8.2f} {e.peak_bar:5.1f}"
    )
