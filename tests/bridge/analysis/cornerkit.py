"""Drives whose corners are known in closed form: a ring of arcs with given speeds and pedals."""

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from runtime.bridge.analysis.drive import Drive, drive_of
from runtime.bridge.analysis.passes import Pass
from runtime.bridge.session.geometry import Line
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import Frames, Gate, Numbers
from runtime.bridge.track.model import Corner, Spot, Track
from tests.bridge.session.sessions import METRES, change, frames

LENGTH: Final = 1000.0
RADIUS: Final = LENGTH / (2 * math.pi)
LAT0: Final = 46.0
Curve = Callable[[Numbers], Numbers | float]
"""A channel from the way in metres since the first crossing of start/finish."""


def corner(name: str, number: int, entry: float, apex: float, leave: float) -> Corner:
    """A corner of the ring."""
    return Corner(name, number, "right", 3, Spot(entry), Spot(apex), Spot(leave))


TWO: Final = (corner("Turn 1", 1, 200, 250, 300), corner("Turn 2", 2, 600, 660, 700))


def ring_track(
    corners: tuple[Corner, ...] = TWO, *, line: bool = True, track_id: str = "ring"
) -> Track:
    """A circle of 1000 m, driven clockwise from its northernmost point."""
    distance = np.arange(0.0, LENGTH, 5.0)
    lat, lon = place(distance)
    drawn = Line(distance, lat, lon, np.full(len(distance), np.nan), LENGTH)
    return Track(
        id=track_id,
        name="Ring",
        length_m=LENGTH,
        start=Gate(LAT0, 7.0, 90.0),
        line=drawn if line else None,
        corners=corners,
    )


def place(distance: Numbers) -> tuple[Numbers, Numbers]:
    """Latitude and longitude on the ring."""
    angle = np.asarray(distance) / RADIUS
    x, y = RADIUS * np.sin(angle), RADIUS * np.cos(angle) - RADIUS
    return LAT0 + y / METRES, 7.0 + x / (METRES * math.cos(math.radians(LAT0)))


def ring_frames(
    laps: float,
    *,
    speed: float = 25.0,
    hz: float = 10.0,
    begin_m: float = -400.0,
    t0: float = 0.0,
    **curves: Curve | float,
) -> Frames:
    """Even driving round the ring, from *begin_m* to the end of *laps* laps and 100 m.

    Further columns are numbers or functions of the way.
    """
    t = np.arange(0.0, (laps * LENGTH + 100.0 - begin_m) / speed, 1 / hz)
    return _frames(t0 + t, begin_m + speed * t, np.full(len(t), speed), curves)


def _frames(t: Numbers, way: Numbers, speed: Numbers, curves: dict[str, Curve | float]) -> Frames:
    lat, lon = place(way)
    made = {
        name: np.asarray(curve(way) if callable(curve) else curve, dtype=np.float64)
        for name, curve in curves.items()
    }
    return frames(t, **{"speed_ms": speed, "lat": lat, "lon": lon, **made})


def pace_frames(
    pace: Callable[[Numbers], Numbers],
    laps: int,
    *,
    hz: float = 10.0,
    begin_m: float = -400.0,
    **curves: Curve | float,
) -> Frames:
    """Driving round the ring with a speed in m/s that is a function of the way."""
    fine = np.arange(begin_m, laps * LENGTH + 100.0, 0.1)
    seconds = np.concatenate([[0.0], np.cumsum(0.1 / pace(fine[:-1] + 0.05))])
    t = np.arange(0.0, seconds[-1], 1 / hz)
    way = np.interp(t, seconds, fine)
    return _frames(t, way, pace(way), curves)


def drive_on(
    session: Frames, track: Track | None = None, *, partial: bool = False, lap: int | None = None
) -> Drive:
    """The drive of a session on a circuit."""
    if track is None:
        return drive_of(detect(session), partial=partial, lap=lap)
    laps = detect(session, gate=track.start, track_length_m=track.length_m)
    return drive_of(laps, track, partial=partial, lap=lap)


def without(session: Frames, *names: str) -> Frames:
    """The same frames, some channels of which were not recorded."""
    return change(session, **dict.fromkeys(names, np.nan))


def between(way: Numbers, begin: float, end: float) -> Numbers:
    """1 where a place of the lap lies between two others, which may straddle start/finish."""
    inside: Numbers = ((way - begin) % LENGTH < (end - begin) % LENGTH).astype(np.float64)
    return inside


def take_pass(**changes: Any) -> Pass:
    """A pass of a corner without a fault; *changes* replace fields."""
    made = Pass(
        corner="Turn 1",
        lap=1,
        approach=0,
        start=10,
        first=10,
        last=50,
        apex_frame=30,
        t_start=1.0,
        t_entry=1.0,
        t_exit=5.0,
        entry_speed_kmh=100.0,
        apex_speed_kmh=80.0,
        exit_speed_kmh=100.0,
        apex_place_speed_kmh=80.0,
        peak_brake_bar=40.0,
        brake_point_m=80.0,
        brake_release_m=20.0,
        trail_brake_bar_at_apex=4.0,
        throttle_at_exit_pct=100.0,
        max_g_lat=1.2,
        max_combo_g=1.3,
        coast_seconds=0.0,
        steering_corrections=0,
        nothing_time_s=0.0,
        full_point_m=10.0,
    )
    return made._replace(**changes)
