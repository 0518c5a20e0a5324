"""The line that a session drives: the median of its laps, and how fast it is usually driven."""

import math
from dataclasses import dataclass
from typing import Final, NamedTuple, cast

import numpy as np

from runtime.bridge.session.geometry import Indices, Line, Plane, build_ring
from runtime.bridge.session.laps import Laps, Segment
from runtime.bridge.session.progress import Progress, measure_progress, unwrap
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Flags

STEP_M: Final = 4.0
THIN_M: Final = 2.0
"""Points closer than this are left out: their course would be noise."""
SHORTEST_M: Final = 200.0
LONGEST_M: Final = 50_000.0
LEAST_FIXES: Final = 20
QUICK: Final = 1.07
"""Laps up to 107 % of the best show how the circuit is driven; slower ones had another purpose."""
GRID_S: Final = 0.1
BETWEEN_M: Final = 1e-6
"""A position this close to the line between its neighbours was interpolated."""
LEAST_MS: Final = 3.0
"""A slower car counts as this fast, or one place would take most of the lap."""
SPEED_S: Final = 1.0
SHORTEST_S: Final = 0.8
LONGEST_S: Final = 3.0
"""The least and the most time over which a path is smoothed."""
NOISE_MS2: Final = 1.0
"""The lateral acceleration that noise may add to a smoothed path, m/s²."""
FOURTH: Final = math.sqrt(70.0)
"""The fourth difference of white noise is this many times the noise."""
NORMAL: Final = 1.4826
"""Standard deviation of normal noise in multiples of its median size."""
FIT: Final = 1800.0
"""Variance of the acceleration of a local fit: this x noise² x step / window⁵ (measured)."""


class Fit(NamedTuple):
    """Parabolas fitted to the values around each point of an even periodic grid."""

    value: Numbers
    slope: Numbers


def fit_locally(values: Numbers, step: float, window: float) -> Fit:
    """Fit a parabola around each value with tricube weights (LOESS); *window* is its full width.

    Narrower than three points, the parabola runs through the point and its neighbours.
    """
    reach = min(max(1, round(window / step / 2)), (len(values) - 1) // 2)
    at = np.arange(-reach, reach + 1) * step
    weight = (1 - (np.abs(at) / (step * (reach + 1))) ** 3) ** 3
    s0, s2, s4 = (float((weight * at**power).sum()) for power in (0, 2, 4))
    padded = np.concatenate([values[-reach:], values, values[:reach]])
    kernels = weight * (s4 - s2 * at**2) / (s0 * s4 - s2 * s2), weight * at / s2
    return Fit(*(np.convolve(padded, kernel[::-1], mode="valid") for kernel in kernels))


def smooth(x: Numbers, y: Numbers, step: float) -> tuple[Numbers, Numbers]:
    """Smooth a closed path at even steps of time, by parabolas fitted over a long enough window.

    White noise of n metres leaves √(1800 n² step / window⁵) in the parabolas' acceleration, which
    may be 1 m/s²; n is the median size of the fourth difference. In time rather than in metres,
    since a kart's hairpin of 8 m radius lasts as long as a fast bend of 80 m.
    """
    fourth = [np.diff(np.append(values, values[:4]), 4) for values in (x, y)]
    noise = NORMAL * float(np.median(np.abs(fourth))) / FOURTH
    window = (FIT * noise**2 * step / NOISE_MS2**2) ** 0.2
    window = min(max(window, SHORTEST_S), LONGEST_S)
    return fit_locally(x, step, window).value, fit_locally(y, step, window).value


@dataclass(frozen=True, eq=False)
class DrivenLine:
    """The median of a session's quick laps, and the place of every frame on it."""

    line: Line
    """From start/finish in even steps; no heights."""
    laps: tuple[Segment, ...]
    """The laps it is the median of, in time order."""
    progress: Progress
    speed_ms: Numbers
    """The usual speed at each of its points."""

    def usual(self, values: Numbers) -> Numbers | None:
        """Return the median over the laps at each point; *values*: one for each frame."""
        return usual_values(self.progress, self.laps, values, self.line)


def find_session_line(laps: Laps) -> DrivenLine | None:
    """Find the line that a session drives; None without a complete lap with good positions.

    Of the complete laps within 107 % of the best (those without a gap, if there are any) the one
    of median time is smoothed, moved by the median offset of all of them, and smoothed again.
    """
    if find_session_line.__name__ not in laps.memo:
        laps.memo[find_session_line.__name__] = _find_line(laps)
    return cast("DrivenLine | None", laps.memo[find_session_line.__name__])


def _find_line(laps: Laps) -> DrivenLine | None:
    whole = [lap for lap in laps.complete if lap.gap_s == 0] or list(laps.complete)
    if not whole or not laps.series.gps_usable:
        return None
    best = min(lap.duration_s for lap in whole)
    quick = tuple(lap for lap in whole if lap.duration_s <= QUICK * best)
    middle = sorted(quick, key=lambda lap: lap.duration_s)[(len(quick) - 1) // 2]
    rough = _smooth_lap(laps, middle)
    driven = _place_on_line(laps, quick, rough) if rough is not None else None
    if driven is None:
        return None
    line = _median_line(driven)
    return _place_on_line(laps, quick, line) if line is not None else None


def draw_line(plane: Plane, x: Numbers, y: Numbers, altitude: Numbers | None = None) -> Line | None:
    """Draw a closed line through points in the plane, in even steps; None if it is not a circuit.

    A circuit is 200 m to 50 km long. *altitude* is in metres at the points.
    """
    kept = _thin(x, y)
    x, y = x[kept], y[kept]
    steps = np.hypot(np.diff(x, append=x[0]), np.diff(y, append=y[0]))
    length = float(steps.sum())
    if len(kept) < 3 or not SHORTEST_M <= length <= LONGEST_M:
        return None
    distance = np.concatenate([[0.0], np.cumsum(steps[:-1])])
    path = build_ring(x, y, distance, length, STEP_M)
    drawn = np.hypot(*path.chords)
    heights = np.full(len(path), np.nan)
    if altitude is not None:
        heights = np.interp(path.places, distance, altitude[kept], period=length)
    along = np.concatenate([[0.0], np.cumsum(drawn[:-1])])
    return Line(along, *plane.latlon(path.x, path.y), heights, float(drawn.sum()))


def _thin(x: Numbers, y: Numbers) -> list[int]:
    """Keep the points that are a few metres from the last kept point, and from the first."""
    kept = [0]
    last = float(x[0]), float(y[0])
    for i, (px, py) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        if (px - last[0]) ** 2 + (py - last[1]) ** 2 >= THIN_M**2:
            kept.append(i)
            last = px, py
    while len(kept) > 1 and np.hypot(x[kept[-1]] - x[0], y[kept[-1]] - y[0]) < THIN_M / 2:
        kept.pop()
    return kept


def _smooth_lap(laps: Laps, lap: Segment) -> Line | None:
    """Smooth a lap; the offset between its end and its start is spread over it."""
    series = laps.series
    fixes = np.flatnonzero(series.fixed)
    t = series.t[fixes]
    plane = Plane(float(series["lat"][fixes[0]]), float(series["lon"][fixes[0]]))
    x, y = plane.xy(series["lat"][fixes], series["lon"][fixes])
    own = np.append(True, np.append(_is_measured(t, x, y), True))
    own &= (t >= lap.t_start) & (t <= lap.t_end)
    if own.sum() < LEAST_FIXES:
        return None
    period = max(GRID_S, float(np.median(np.diff(t[own]))))
    count = round(lap.duration_s / period)
    if count < LEAST_FIXES:
        return None
    knots = np.concatenate([[lap.t_start], t[own], [lap.t_end]])
    x, y = np.interp(knots, t, x), np.interp(knots, t, y)
    share = (knots - lap.t_start) / lap.duration_s
    x, y = x - share * (x[-1] - x[0]), y - share * (y[-1] - y[0])
    bins = np.minimum((share * count + 0.5).astype(np.intp), count)
    at, x, y = (_average_bins(bins, values) for values in (share, x, y))
    even = np.arange(count) / count
    x, y = np.interp(even, at, x), np.interp(even, at, y)
    return draw_line(plane, *smooth(x, y, lap.duration_s / count))


def _is_measured(t: Numbers, x: Numbers, y: Numbers) -> Flags:
    """Flag the inner points that do not lie exactly on the line between their neighbours."""
    share = (t[1:-1] - t[:-2]) / (t[2:] - t[:-2])
    beside = (np.abs(v[1:-1] - v[:-2] - share * (v[2:] - v[:-2])) for v in (x, y))
    measured: Flags = np.maximum(*beside) > BETWEEN_M
    return measured


def _average_bins(bins: Indices, values: Numbers) -> Numbers:
    """Return the mean of each bin that has a value."""
    count = np.bincount(bins)
    mean: Numbers = np.bincount(bins, values)[count > 0] / count[count > 0]
    return mean


def _place_on_line(laps: Laps, quick: tuple[Segment, ...], line: Line) -> DrivenLine | None:
    """Place the session on a line that it drove."""
    progress = measure_progress(laps, line)
    if progress is None or progress.basis != "line":
        return None
    speed = usual_values(progress, quick, laps.series["speed_ms"], line)
    if speed is None:
        speed = usual_values(progress, quick, _measure_speed_along(laps.series.t, progress), line)
    if speed is None:
        return None
    return DrivenLine(line, quick, progress, np.maximum(speed, LEAST_MS))


def _measure_speed_along(t: Numbers, progress: Progress) -> Numbers:
    """Measure the speed along the line, over a second around each frame."""
    way, (begin, end) = unwrap(progress.p, progress.length_m), (t - SPEED_S / 2, t + SPEED_S / 2)
    begin, end = np.maximum(begin, t[0]), np.minimum(end, t[-1])
    speed: Numbers = (np.interp(end, t, way) - np.interp(begin, t, way)) / (end - begin)
    return speed


def usual_values(
    progress: Progress, laps: tuple[Segment, ...], values: Numbers, line: Line
) -> Numbers | None:
    """Return the median over the laps, at each point of a line; *values*: one for each frame.

    Interpolated between frames. None if less than half of every lap is known.
    """
    count, length = len(line), line.length_m
    rows = []
    for lap in laps:
        p, value = progress.p[lap.frames], values[lap.frames]
        is_known = ~np.isnan(value)
        if is_known.sum() * 2 < len(value) or is_known.sum() < LEAST_FIXES:
            continue
        p, value = p[is_known], value[is_known]
        bins = np.minimum((p / length * count).astype(np.intp), count - 1)
        at, mean = _average_bins(bins, p), _average_bins(bins, value)
        rows.append(np.interp(line.distance, at, mean, period=length))
    return np.median(rows, axis=0) if rows else None


def _median_line(driven: DrivenLine) -> Line | None:
    """Move the line by the median offset of the laps, and smooth it."""
    line = driven.line
    beside = driven.usual(driven.progress.offset)
    if beside is None:
        return None
    x, y = line.plane.xy(line.lat, line.lon)
    ux, uy = (np.roll(v, -1) - np.roll(v, 1) for v in (x, y))
    away = beside / np.maximum(np.hypot(ux, uy), BETWEEN_M)
    x, y = x + away * uy, y - away * ux
    t, lap_s = pass_times(line.distance, line.length_m, driven.speed_ms)
    even = build_ring(x, y, t, lap_s, GRID_S)
    return draw_line(line.plane, *smooth(even.x, even.y, even.step))


def pass_times(places: Numbers, length_m: float, speed: Numbers) -> tuple[Numbers, float]:
    """Return seconds from the first place of a closed line to each of them, and for a lap.

    *speed* is in m/s at the places.
    """
    steps = 2 * np.diff(places, append=length_m) / (speed + np.roll(speed, -1))
    t = np.concatenate([[0.0], np.cumsum(steps)])
    return t[:-1], float(t[-1])
