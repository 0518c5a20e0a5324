"""Where on the lap each frame is: projected on the reference line, else by distance."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal, NamedTuple

import numpy as np

from runtime.bridge.session.gates import find_crossings
from runtime.bridge.session.geometry import Indices, Line, Ring
from runtime.bridge.session.laps import Laps, Segment
from runtime.bridge.session.recording import Gate, Numbers
from runtime.bridge.session.series import Series

ON_LINE_M: Final = 30.0
LOST_M: Final = 60.0
ANCHOR_S: Final = 1.0
SAMPLED: Final = 1000

OVER_S: Final = 5.0
"""The differences between both distances are averaged this long before and after each frame."""
APART_M: Final = 3.0
"""If the fixes of a second differ by more (a locked wheel), they count."""
SOON_S: Final = 1.0
PAUSE_PERIODS: Final = 5.0


class Progress(NamedTuple):
    """Lap progress of each frame of a series."""

    p: Numbers
    """Metres from start/finish, in [0, length)."""
    length_m: float
    basis: Literal["line", "distance"]
    offset: Numbers
    """Metres from the reference line, positive to the right; NaN where unknown."""


def measure_progress(laps: Laps, line: Line | None = None) -> Progress | None:
    """Return where each frame is; None if neither a line nor the length of a lap is known.

    The line is used if positions are good and their median distance to it is at most 30 m.
    """
    if line is not None and len(line) > 2 and laps.series.gps_usable:
        starts = [s.t_start for s in laps.segments if s.kind == "lap"]
        progress = project_on_line(laps.series, line, starts, laps.travelled)
        if progress is not None:
            return progress
    length = laps.length_m
    if length is None:
        return None
    return Progress(
        _measure_by_distance(laps, length), length, "distance", np.full(len(laps.series), np.nan)
    )


def unwrap(p: Numbers, length: float) -> Numbers:
    """Unwrap places of a closed path so that no step is longer than half a lap."""
    turns = np.zeros(len(p))
    np.cumsum(np.round(np.diff(p) / length), out=turns[1:])
    return p - turns * length


def unwrap_lap(progress: Progress, lap: Segment) -> Numbers:
    """Make the progress of a lap's frames continuous: from about 0 to about the length.

    It may be slightly below 0 or above the length, as positions have errors.
    """
    p, length = progress.p[lap.frames], progress.length_m
    if not len(p):
        return p
    straight = unwrap(p, length)
    level: Numbers = straight - np.round(straight[0] / length) * length
    return level


def time_crossings(series: Series, progress: Progress, lap: Segment, places: Numbers) -> Numbers:
    """Return when a lap first reached each of the places (metres, 0 to length), interpolated.

    0 and the length are the ends of the lap. NaN for a place that was not reached, or that was
    passed while nothing was recorded.
    """
    p, length = unwrap_lap(progress, lap), progress.length_m
    after = np.searchsorted(np.maximum.accumulate(p), places)
    # The ends of the lap surround its frames: the frame after a place has index *after* + 1.
    way = np.concatenate([[0.0], p, [length]])
    t = np.concatenate([[lap.t_start], series.t[lap.frames], [lap.t_end]])
    begin, end = way[after], way[after + 1]
    paused = np.append(series.gap, False)[lap.first + after - 1]  # nothing before the first frame
    passed = (begin <= places) & (places <= end) & (begin < end) & ~paused
    share = np.divide(places - begin, end - begin, out=np.full(len(places), np.nan), where=passed)
    times = t[after] + share * (t[after + 1] - t[after])
    ends = np.where(places <= 0, lap.t_start, lap.t_end)
    return np.where((places <= 0) | (places >= length), ends, times)


def _measure_by_distance(laps: Laps, length: float) -> Numbers:
    """Stretch the distance of each lap to the length; elsewhere take it modulo the length."""
    way, t = laps.travelled, laps.series.t
    counted = [s for s in laps.segments if s.kind == "lap"]
    if not counted:
        return way % length
    bounds = sorted({moment for lap in counted for moment in (lap.t_start, lap.t_end)})
    at = np.interp(bounds, t, way)
    begin = np.maximum(np.searchsorted(bounds, t, side="right") - 1, 0)
    p = (way - at[begin]) % length
    for lap in counted:
        start, end = np.interp([lap.t_start, lap.t_end], t, way)
        if end > start:
            p[lap.frames] = (way[lap.frames] - start) / (end - start) * length
    return np.where(p < length, p, 0.0)


def project_on_line(
    series: Series, line: Line, starts: Sequence[float], travelled: Numbers
) -> Progress | None:
    """Project the frames on a line; None if they are not on it.

    *starts* are moments at which the whole line is searched; frames without a fix are placed by
    the metres *travelled*.
    """
    path = line.ring
    frames = np.flatnonzero(series.fixed)
    x, y = line.plane.xy(series["lat"][frames], series["lon"][frames])
    if not _is_on_line(path, x, y):
        return None
    t = series.t[frames]
    anchors, fresh = _choose_anchors(t, starts)
    at = _follow(path, x[anchors], y[anchors], fresh)
    near = np.interp(t, t[anchors], unwrap(at.astype(np.float64), len(path)))
    projected = path.project(x, y, np.round(near).astype(np.intp))
    p, offset = np.full(len(series), np.nan), np.full(len(series), np.nan)
    p[frames], offset[frames] = projected
    rolled = series.rolled
    if rolled is not None and len(frames) > 1:
        way = unwrap(projected.distance, line.length_m)
        p[frames] = smooth_progress(way, rolled[frames], t, series.nominal_s) % line.length_m
    if len(frames) < len(series):
        p = _fill_gaps(p, frames, travelled, line.length_m)
    return Progress(p, line.length_m, "line", offset)


def _is_on_line(path: Ring, x: Numbers, y: Numbers) -> bool:
    step = max(1, len(x) // SAMPLED)
    _, distance = path.nearest(x[::step], y[::step])
    return bool(np.median(distance) <= ON_LINE_M)


def _choose_anchors(t: Numbers, starts: Sequence[float]) -> tuple[Indices, Indices]:
    """Choose fixes about a second apart, and those that must search the whole line.

    These are the first, those after a pause, and those at the start of a lap.
    """
    regular = np.flatnonzero(np.diff(np.floor((t - t[0]) / ANCHOR_S)) > 0) + 1
    pauses = np.flatnonzero(np.diff(t) > ANCHOR_S)
    begins = np.searchsorted(t, np.array(starts))
    fresh = np.concatenate([[0], pauses + 1, begins])
    fresh = np.unique(fresh[fresh < len(t)])
    places = np.concatenate([regular, fresh, fresh - 1, [len(t) - 1]])
    anchors = np.unique(places[(places >= 0) & (places < len(t))]).astype(np.intp)
    return anchors, np.searchsorted(anchors, fresh)


def _follow(path: Ring, x: Numbers, y: Numbers, fresh: Indices) -> Indices:
    """Return the nearest point of the path to each place, close to that of the place before.

    A new sequence starts at each of the *fresh* places, the first included. All sequences advance
    together, step by step.
    """
    points = np.empty(len(x), dtype=np.intp)
    ends, at = np.append(fresh[1:], len(x)), fresh
    points[at], _ = path.nearest(x[at], y[at])
    while True:
        goes_on = at + 1 < ends
        at, ends = at[goes_on] + 1, ends[goes_on]
        if not len(at):
            return points
        points[at], _ = path.follow(x[at], y[at], points[at - 1], LOST_M)


def _fill_gaps(p: Numbers, frames: Indices, way: Numbers, length: float) -> Numbers:
    """Interpolate the progress of frames without a fix by distance."""
    fixed = unwrap(p[frames], length)
    after = np.searchsorted(frames, np.arange(len(p)))
    low, high = np.maximum(after - 1, 0), np.minimum(after, len(frames) - 1)
    begin, span = way[frames[low]], way[frames[high]] - way[frames[low]]
    share = np.divide(way - begin, span, out=np.zeros(len(p)), where=span > 0)
    return np.where(np.isnan(p), fixed[low] + share * (fixed[high] - fixed[low]), p) % length


def smooth_progress(place: Numbers, rolled: Numbers, t: Numbers, period_s: float) -> Numbers:
    """Combine fixes and speed to progress (metres, unwrapped) that is smooth and does not drift.

    *place* comes from position fixes: right on average, each off by a metre or two. *rolled* is
    the integral of speed: smooth, but it drifts, and is longer or shorter than the reference line.
    Their difference changes slowly; its mean under a triangle of `OVER_S` to each side is added to
    *rolled* (a complementary filter without lag: an even drift passes unchanged). At 13 m/s an
    error of 1.5 m alone is 0.1 s of a corner's time. The cost: where the driven line begins to
    leave the reference line, the place is off by up to a metre, by the same on each lap.
    """
    width = round(OVER_S / period_s) if period_s > 0 else 0
    if width < 2:
        return place
    apart = place - rolled
    pauses = np.flatnonzero(np.diff(t) > PAUSE_PERIODS * period_s) + 1
    parts = np.split(apart, pauses)
    even = np.concatenate([_smooth(part, width) for part in parts])
    soon = np.concatenate([_smooth(part, round(SOON_S / period_s)) for part in parts])
    return np.where(np.abs(even - soon) <= APART_M, rolled + even, place)


def _smooth(values: Numbers, width: int) -> Numbers:
    """Average under a triangle of *width* to each side; too few values stay as they are."""
    if width < 2 or len(values) <= 2 * width:
        return values
    middle = values.mean()
    # Odd reflection at both ends, so that an even drift continues beyond them.
    longer = np.pad(values - middle, width - 1, mode="reflect", reflect_type="odd")
    for _ in range(2):
        total = np.concatenate([[0.0], np.cumsum(longer)])
        longer = (total[width:] - total[:-width]) / width
    averaged: Numbers = longer + middle
    return averaged


class Span(NamedTuple):
    """A part of the lap, in metres from start/finish."""

    name: str
    start_m: float
    end_m: float


def divide_in_thirds(length_m: float) -> tuple[Span, ...]:
    """Divide a circuit without known sectors."""
    return tuple(
        Span(f"Sector {i + 1}", length_m * i / 3, length_m * (i + 1) / 3) for i in range(3)
    )


def find_own_sectors(laps: Laps, progress: Progress) -> tuple[Span, ...]:
    """Return three sectors for a track without any: between the session's two splits, else thirds.

    Thirds, too, if no lap passes one of the splits.
    """
    places = [_locate_gate(laps, progress, gate) for gate in laps.splits]
    inner = sorted(place for place in places if place is not None)
    if not len(inner) == len(places) == 2:
        return divide_in_thirds(progress.length_m)
    bounds = pairwise([0.0, *inner, progress.length_m])
    return tuple(Span(f"Sector {i}", begin, end) for i, (begin, end) in enumerate(bounds, 1))


def _locate_gate(laps: Laps, progress: Progress, gate: Gate) -> float | None:
    """Return where on the lap a gate lies: the median of where the complete laps cross it."""
    crossings = find_crossings(laps.series, gate)
    places = []
    for lap in laps.complete:
        inside = crossings[(crossings > lap.t_start) & (crossings < lap.t_end)]
        if len(inside):
            p = unwrap_lap(progress, lap)
            places.append(float(np.interp(inside[0], laps.series.t[lap.frames], p)))
    place = float(np.median(places)) if places else 0.0
    return place if 0.0 < place < progress.length_m else None


def time_sectors(
    laps: Laps, progress: Progress, lap: Segment, sectors: Sequence[Span]
) -> list[float | None]:
    """Return the seconds in each of a lap's sectors, in order; they add up to the lap time.

    None for a sector during which recording paused, or whose ends the lap did not pass in order.
    *sectors* follow each other from 0 to the length.
    """
    inner = np.array([sector.end_m for sector in sectors[:-1]])
    bounds = [
        lap.t_start,
        *time_crossings(laps.series, progress, lap, inner).tolist(),
        lap.t_end,
    ]
    times: list[float | None] = []
    for begin, end in pairwise(bounds):
        is_known = end > begin and not laps.series.gap_time(begin, end) > 0  # False for NaN
        times.append(end - begin if is_known else None)
    return times
