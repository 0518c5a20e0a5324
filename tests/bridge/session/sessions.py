"""Sessions built from formulas, for the tests of laps."""

import math
from typing import Final

import numpy as np

from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, Gate, Numbers
from runtime.bridge.session.series import Flags

METRES: Final = 111_320.0


def frames(t: Numbers | list[float], **columns: Numbers | list[float] | float) -> Frames:
    """Frames with the given columns; the others are null."""
    times = np.asarray(t, dtype=np.float64)
    made = {name: np.full(len(times), np.nan) for name in WIDE}
    for name, values in columns.items():
        made[name] = np.broadcast_to(np.asarray(values, dtype=np.float64), times.shape).copy()
    made[TIMESTAMP] = times
    return Frames(made)


def at(x: Numbers, y: Numbers, lat0: float = 0.0, lon0: float = 10.0) -> dict[str, Numbers]:
    """Degrees of metres to the east and north of a place."""
    scale = METRES * math.cos(math.radians(lat0))
    return {"lat": lat0 + np.asarray(y) / METRES, "lon": lon0 + np.asarray(x) / scale}


def circle(
    seconds: float,
    *,
    lap_s: float = 40.0,
    length_m: float = 1000.0,
    hz: float = 10.0,
    begin_m: float = -200.0,
    lat0: float = 0.0,
) -> Frames:
    """Even driving to the right on a circle, from *begin_m* before its northernmost point.

    The gate is there: `circle_gate`. Distance adds up from the first frame.
    """
    t = np.arange(0.0, seconds, 1 / hz)
    speed = length_m / lap_s
    radius = length_m / (2 * math.pi)
    angle = (begin_m + speed * t) / radius
    place = at(radius * np.sin(angle), radius * np.cos(angle) - radius, lat0)
    return frames(t, distance_m=speed * t, speed_ms=speed, **place)


def circle_gate(lat0: float = 0.0) -> Gate:
    """The line that `circle` crosses going east."""
    return Gate(lat0, 10.0, 90.0)


def change(source: Frames, **columns: Numbers | float) -> Frames:
    """The same frames with other columns."""
    made = dict(source.columns)
    for name, values in columns.items():
        made[name] = np.broadcast_to(np.asarray(values, dtype=np.float64), len(source)).copy()
    return Frames(made)


def keep(source: Frames, which: Flags) -> Frames:
    """Some of the frames."""
    return Frames({name: values[which] for name, values in source.columns.items()})
