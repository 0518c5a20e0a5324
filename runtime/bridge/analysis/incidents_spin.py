"""Finds spins in the positions: the course turns far while the speed falls."""

from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.windows import runs
from runtime.bridge.session.geometry import Indices, Plane, Ring
from runtime.bridge.session.progress import unwrap
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Flags, Series

TURNED_DEG: Final = 120.0
WITHIN_S: Final = 2.0
SLOWED: Final = 0.7
"""The speed behind is less than this share of the one before."""
OWN_DEG: Final = 60.0
"""By so much more than the road did between the same places the course of a spin has turned."""
STEP_S: Final = 0.25
"""The course is taken over so long, or a period of the recording where that is longer."""
LEAST_MS: Final = 2.0
"""Slower than this the course is noise, and the last one known stands."""
DRIVING_MS: Final = 5.0
"""A car that begins more slowly does not spin; of one that stands the positions wander."""
EDGE: Final = 2
"""Steps of a pause that are kept on each side of it."""
MOST_MS: Final = 150.0
"""Faster than this it is the position that jumped, not the car."""


class Spin(NamedTuple):
    """The frames of the series in which a car spun, and how far its course turned."""

    first: int
    last: int
    turned_deg: float
    limit_deg: float = TURNED_DEG


class Road(NamedTuple):
    """The line that the frames of a series follow, and where on it each of them is."""

    path: Ring
    progress: Numbers
    """Metres, in [0, length)."""


def spins(series: Series, road: Road | None = None) -> list[Spin]:
    """Stretches in which the course turned by more than 120 degrees within 2 s, and the speed
    fell by more than 30 %.

    Where the *road* is known, the course has turned by 60 degrees more or less than it: who
    drives a hairpin fast does not spin. Nothing where positions are not good enough, or where the
    recording is so slow that the turn between two fixes may be half a circle.
    """
    step = max(STEP_S, series.nominal_s)
    if not series.gps_usable or 2 * step > WITHIN_S or len(series) < 3:
        return []
    number = _steps(series, step)
    t = series.t[0] + number * step
    reach = round(WITHIN_S / step)
    if len(t) <= reach + 1:
        return []
    course, speed = _course(series, t, np.diff(number) * step)
    turns = course[reach:] - course[:-reach]
    turned = np.abs(turns)
    before, behind = speed[: len(turned)], speed[reach : reach + len(turned)]
    spun = (turned > TURNED_DEG) & (behind < SLOWED * before) & (before >= DRIVING_MS)
    spun &= ~_paused(series, t, (reach + 1) * step)[: len(spun)]
    if road is not None and spun.any():
        bends = _bends(series, road, t)
        spun &= np.abs(turns - (bends[reach:] - bends[:-reach])) > OWN_DEG
    found = []
    for begin, end in zip(*runs(spun), strict=True):
        bounds = np.searchsorted(series.t, [t[begin], t[end - 1] + WITHIN_S])
        first, last = np.minimum(bounds, len(series) - 1).tolist()
        found.append(Spin(first, last, float(turned[begin:end].max())))
    return found


def _steps(series: Series, step: float) -> Indices:
    """The numbers of the steps of time at which something was recorded, rising from 0.

    A pause of the recording is left out but for its edges, however long it is: a clock may jump by
    years, and what spans a pause is no spin (`_paused`).
    """
    pauses = np.flatnonzero(series.gap)
    first = np.append(0, pauses + 1)
    last = np.append(pauses, len(series) - 1)
    since = (series.t - series.t[0]) / step
    begins = np.maximum(np.floor(since[first]) - EDGE, 0.0).astype(np.int64)
    # The last moment of all lies before the last frame.
    ends = np.minimum(np.floor(since[last]) + EDGE + 1, np.ceil(since[-1])).astype(np.int64)
    begins = np.maximum(begins, np.append(0, ends[:-1]))
    counts = np.maximum(ends - begins, 0)
    before = np.cumsum(counts) - counts
    numbers: Indices = np.arange(int(counts.sum())) + np.repeat(begins - before, counts)
    return numbers


def _course(series: Series, t: Numbers, apart: Numbers) -> tuple[Numbers, Numbers]:
    """Course in degrees, added up over the turns, between each two moments, and speed in m/s.

    The moments are *apart* by so many seconds.
    """
    fixed = series.fixed
    lat, lon = series["lat"][fixed], series["lon"][fixed]
    x, y = Plane(float(lat[0]), float(lon[0])).xy(lat, lon)
    dx, dy = (np.diff(np.interp(t, series.t[fixed], each)) for each in (x, y))
    way = np.hypot(dx, dy)
    moving = (way >= LEAST_MS * apart) & (way <= MOST_MS * apart)
    heading = np.degrees(np.arctan2(dx, dy))
    # A course that is not known is the one before it; before the first, the first.
    latest = np.maximum.accumulate(np.where(moving, np.arange(len(way)), 0))
    turns = np.diff(heading[latest], prepend=heading[latest[0]])
    course = np.cumsum((turns + 180.0) % 360.0 - 180.0)
    recorded = series["speed_ms"]
    known = ~np.isnan(recorded)
    if known.sum() * 2 < len(known):
        return course, way / apart
    return course, np.interp(t[:-1], series.t[known], recorded[known])


def _bends(series: Series, road: Road, t: Numbers) -> Numbers:
    """Degrees that the road has turned, added up, between each two moments."""
    path = road.path
    turned = np.concatenate([[0.0], np.cumsum(path.curvature)]) * path.step
    at = np.interp(t, series.t, unwrap(road.progress, path.length_m))
    # What is added up to a point is the heading of the step that begins there, in its middle.
    ends = np.arange(len(path) + 1) * path.step - path.step / 2
    laps = np.floor((at - ends[0]) / path.length_m)
    within = np.interp(at - laps * path.length_m, ends, turned)
    heading = within + laps * turned[-1]
    between: Numbers = (heading[:-1] + heading[1:]) / 2
    return between


def _paused(series: Series, t: Numbers, window_s: float) -> Flags:
    """Whether nothing was recorded, or no position, at some time of the window from each moment."""
    fixes = series.t[series.fixed]
    wide = np.diff(fixes) > max(0.5, 5 * series.nominal_s)
    before = np.searchsorted(fixes[1:][wide], t)
    begun = np.searchsorted(fixes[:-1][wide], t + window_s)
    paused: Flags = begun > before
    return paused
