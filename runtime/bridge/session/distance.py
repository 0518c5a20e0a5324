"""Distance travelled, integrated from the speed where a recording does not say it."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.values import Numbers

FASTEST_MS: Final = 1000.0
"""A higher speed is a fault of a sensor, and adds nothing."""
LONGEST_STEP_S: Final = 1.0
"""A longer step between two frames counts for this long only: nobody knows what happened in it."""
_NAN: Final = float("nan")


class Odometer(NamedTuple):
    """The last frame whose distance is known; all NaN before there was one."""

    t: float = _NAN
    """Seconds."""
    speed_ms: float = _NAN
    distance_m: float = _NAN


def integrated(
    t: Numbers, speed_ms: Numbers, distance_m: Numbers, last: Odometer
) -> tuple[Numbers, Odometer]:
    """The distances with those that were null filled in, and the odometer behind the last frame.

    The trapezoidal rule goes on from *last*; the first frame of a session starts at 0 m. A frame
    that has neither distance nor a speed that can be keeps its null, and the next one is reckoned
    from the frame before it. Time that runs backwards adds nothing. How a session is cut into
    calls does not change a single bit of the result.
    """
    if not len(t):
        return distance_m, last
    if not np.isnan(distance_m).any():
        return distance_m, Odometer(float(t[-1]), float(speed_ms[-1]), float(distance_m[-1]))
    filled, odometer = reckoned(t.tolist(), speed_ms.tolist(), distance_m.tolist(), last)
    return np.array(filled), odometer


def reckoned(
    t: Sequence[float], speed_ms: Sequence[float], distance_m: Sequence[float], last: Odometer
) -> tuple[list[float], Odometer]:
    """The same for few frames."""
    filled: list[float] = []
    at, speed, reached = last
    for now, fast, stated in zip(t, speed_ms, distance_m, strict=True):
        if stated != stated:  # NaN
            if not -FASTEST_MS < fast < FASTEST_MS:  # nor NaN
                filled.append(stated)
                continue
            stated = 0.0
            if reached == reached:
                step = min(max(now - at, 0.0), LONGEST_STEP_S)
                before = speed if -FASTEST_MS < speed < FASTEST_MS else fast
                stated = reached + (before + fast) / 2.0 * step
        filled.append(stated)
        at, speed, reached = now, fast, stated
    return filled, Odometer(at, speed, reached)
