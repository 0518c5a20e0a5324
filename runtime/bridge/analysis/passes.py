"""How each lap took each corner."""

from collections.abc import Iterable, Iterator, Sequence
from statistics import median
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive, once_per_drive
from runtime.bridge.analysis.stats import highest, lowest, nan_to_none
from runtime.bridge.session.definitions import (
    CLOSED_PCT,
    has_brake_reading,
    has_coasting_readings,
    is_coasting,
    is_full_throttle,
    is_on_brake,
    list_brakings,
)
from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.progress import unwrap
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Series
from runtime.bridge.session.units import KMH
from runtime.bridge.track.model import is_inside

LEAST_FRAMES: Final = 3
AFTER_S: Final = 5.0
"""Full throttle is searched this long after the exit."""
APPROACH_M: Final = 200.0
"""The braking for a corner is searched from this far before it, but not before the apex of the last
corner: braking there was for that one. Braking already under way counts from where it began."""
STEERED_DEG: Final = 3.0
USUAL_LAPS: Final = 3
"""From this number of laps on, there is a usual one."""
FIGURES: Final = tuple(
    "entry_speed_kmh apex_speed_kmh exit_speed_kmh apex_place_speed_kmh peak_brake_bar"
    " brake_point_m brake_release_m trail_brake_bar_at_apex throttle_at_exit_pct max_g_lat"
    " max_combo_g coast_seconds nothing_time_s".split()
)
"""The fields of a pass that have a usual value."""


class Pass(NamedTuple):
    """One lap through one corner; None where a channel was not recorded there."""

    corner: str
    lap: int
    approach: int
    """The first frame of the 200 m before the entry, or after the last apex."""
    start: int
    """The first frame of the approach, where the corner's time begins (`measure_approaches`)."""
    first: int
    """Frames of the series from *first* to before *last* lie inside the window."""
    last: int
    apex_frame: int
    """The frame nearest to the apex."""
    t_start: float
    """The start of the approach: seconds of the session's clock, interpolated, like *t_entry* and
    *t_exit*."""
    t_entry: float
    t_exit: float
    entry_speed_kmh: float | None
    """At the entry, interpolated; the same for the exit."""
    apex_speed_kmh: float | None
    """The smallest in the window: what drivers call the speed at the apex."""
    exit_speed_kmh: float | None
    apex_place_speed_kmh: float | None
    """Of the frame nearest to the place of the corner's apex on the circuit."""
    peak_brake_bar: float | None
    """From the approach to the exit."""
    brake_point_m: float | None
    """Metres before the entry where the braking that reaches the corner began: 5 bar or more, and
    not under 2 bar until the last time before the entry; negative if it began inside the window;
    None without braking."""
    brake_release_m: float | None
    """Metres after the entry where it fell below 2 bar for good; None if it was not pressed."""
    trail_brake_bar_at_apex: float | None
    throttle_at_exit_pct: float | None
    """Of the last frame in the window."""
    max_g_lat: float | None
    """Without sign."""
    max_combo_g: float | None
    coast_seconds: float | None
    """Coasting from the start of the approach, or from a lift before it that leads into the
    braking, to the exit; see `is_coasting`."""
    steering_corrections: int | None
    """Changes of the steering's side, with 3 degrees or more on both sides."""
    nothing_time_s: float | None
    """From the last brake of 2 bar or more to the first throttle of 5 % or more; 0 if they overlap,
    and without either. Searched from 200 m before the entry to the exit."""
    full_point_m: float | None
    """Metres after the apex where the throttle is fully open again; None if it never closed, or did
    not open within `AFTER_S` of the exit."""

    @property
    def min_speed_kmh(self) -> float | None:
        """The same as *apex_speed_kmh*."""
        return self.apex_speed_kmh

    @property
    def corner_time_s(self) -> float:
        """From the start of the approach to the exit, seconds."""
        return self.t_exit - self.t_start

    @property
    def frames(self) -> slice:
        """The frames inside the window."""
        return slice(self.first, self.last)


@once_per_drive
def list_passes(drive: Drive) -> dict[str, tuple[Pass, ...]]:
    """Return the passes of every corner, by name in lap order; empty if no lap passed it whole.

    A pass belongs to the lap that contains its apex. A window over start/finish reaches into the
    neighbouring lap, and so may an approach. A pass that was not fully recorded, including the
    approach, or that has fewer than 3 frames, is left out. Raises `NoCorners`.
    """
    corners = drive.corners
    passes_by_corner: dict[str, list[Pass]] = {corner.name: [] for corner in corners}
    way = unwrap(drive.progress.p, drive.length_m)
    lengths = measure_approaches(drive)
    meter = _Meter(drive.series, way)
    for at in _list_windows(drive, way, np.array([lengths[corner.name] for corner in corners])):
        passage = meter.measure(corners[at.corner].name, at)
        if passage.t_entry < passage.t_exit:
            passes_by_corner[passage.corner].append(passage)
    return {name: tuple(passes) for name, passes in passes_by_corner.items()}


def measure_approaches(drive: Drive) -> dict[str, float]:
    """Return the metres before its entry from which each corner is timed, by name.

    That is where braking for it began on the lap of the session that braked earliest, or where the
    throttle usually closes for it if that is earlier, so that the time an early brake or lift costs
    counts for its corner and not for the straight before; not before the exit of the last corner.
    0 if no lap slowed before the entry. It does not depend on the laps considered. Raises
    `NoCorners`.
    """
    return _approaches(drive.whole or drive)


@once_per_drive
def _approaches(drive: Drive) -> dict[str, float]:
    way, corners, length = unwrap(drive.progress.p, drive.length_m), drive.corners, drive.length_m
    meter, brakings = _Meter(drive.series, way), [[0.0] for _ in corners]
    lifts: list[list[float]] = [[] for _ in corners]
    for at in _list_windows(drive, way, np.zeros(len(corners))):
        begun = meter.braking(at)[0]
        brakings[at.corner].append(begun or 0.0)
        closed = meter.find_lift(at, begun)
        lifts[at.corner] += [at.entry_m - float(way[closed])] if closed > at.since else []
    lengths = {}
    for corner, points, ahead in zip(corners, brakings, lifts, strict=True):
        point = max(*points, median(ahead) if ahead else 0.0)
        entry = corner.entry.distance_m
        rooms = (
            0.0
            if is_inside(entry, other.entry.distance_m, other.exit.distance_m, length)
            else (entry - other.exit.distance_m) % length
            for other in corners
            if other is not corner
        )
        lengths[corner.name] = min(point, APPROACH_M, *rooms)
    return lengths


class _Window(NamedTuple):
    """The position of a pass; frames are indices of the series."""

    corner: int
    lap: int
    since: int
    """The first frame after the last apex."""
    approach: int
    start: int
    first: int
    last: int
    apex: int
    start_m: float
    """Metres of the unwrapped way, like *entry_m* and *exit_m*."""
    entry_m: float
    exit_m: float
    apex_m: float


def _place_corners(drive: Drive, lengths: Numbers) -> Numbers:
    """Return the places of the corners (rows) in metres: the last apex, the start of the search for
    their braking, the start of the approach, entry, apex and exit.

    The apex lies in [0, length). *lengths* are those of the approaches.
    """
    length = drive.length_m
    apexes = [corner.apex.distance_m % length for corner in drive.corners]
    rows = []
    for corner, apex, ahead in zip(drive.corners, apexes, lengths.tolist(), strict=True):
        entry = apex - (apex - corner.entry.distance_m) % length
        leave = apex + (corner.exit.distance_m - apex) % length
        since = min(((apex - other) % length for other in apexes if other != apex), default=length)
        last = min(apex - since, entry)
        rows.append((last, max(entry - APPROACH_M, last), entry - ahead, entry, apex, leave))
    return np.array(rows, dtype=np.float64).reshape(-1, 6)


def _list_windows(drive: Drive, way: Numbers, lengths: Numbers) -> Iterator[_Window]:
    """Yield all fully recorded passes, by lap."""
    places, pauses = _place_corners(drive, lengths), np.flatnonzero(drive.series.gap)
    for lap, base in _list_laps(drive, way) if len(places) else ():
        yield from _find_passes(pauses, way, lap, places + base)


def _list_laps(drive: Drive, way: Numbers) -> Iterator[tuple[Segment, float]]:
    """Yield the laps with the place of their start; a whole session may start and end anywhere."""
    length = drive.length_m
    for lap in drive.counted:
        if lap.last - lap.first < LEAST_FRAMES:
            continue
        if not drive.partial:
            yield lap, round(float(way[lap.first]) / length) * length
            continue
        inside = way[lap.frames]
        turns = np.floor(np.array([np.nanmin(inside), np.nanmax(inside)]) / length)
        for turn in range(int(turns[0]) - 1, int(turns[1]) + 2):
            yield lap, turn * length


def _find_passes(pauses: Indices, way: Numbers, lap: Segment, places: Numbers) -> Iterator[_Window]:
    """Yield the corners that a lap passed whole; *places* from `_place_corners`, for this lap.

    Recording paused after each of the frames *pauses*.
    """
    since, begin, start, entry, apex, leave = places.T
    # From the last frame before the first place to the first frame after the last place.
    earlier = way[: lap.first] < since.min()
    lo = lap.first - 1 - int(earlier[::-1].argmax()) if earlier.any() else 0
    end = min(lap.last + 1, len(way))
    later = way[max(end - 1, 0) :] >= leave.max()
    hi = max(end, max(end - 1, 0) + int(later.argmax()) + 1) if later.any() else len(way)
    reached = np.maximum.accumulate(way[lo:hi])
    begun, first, last, near = (
        lo + np.searchsorted(reached, place) for place in (start, entry, leave, apex)
    )
    inner = (begun > lo) & (last < hi) & (last - first >= LEAST_FRAMES)
    before = np.searchsorted(pauses, begun - 1)
    whole = before == np.searchsorted(pauses, last)
    near = np.clip(near, 1, len(way) - 1)
    near -= np.abs(way[near - 1] - apex) <= np.abs(way[near] - apex)
    # Frames before a pause do not belong to the approach.
    resumed = np.concatenate([[0], pauses + 1])[np.searchsorted(pauses, first - 1)]
    behind, approach = (
        np.maximum(lo + np.searchsorted(reached, place), resumed) for place in (since, begin)
    )
    apexes = np.clip(near, first, np.maximum(last - 1, first))
    frames = np.column_stack([behind, approach, begun, first, last, apexes])
    metres = np.column_stack([start, entry, leave, apex])
    for at in np.flatnonzero(inner & whole).tolist():
        yield _Window(at, lap.number or 0, *frames[at].tolist(), *metres[at].tolist())


class _Meter:
    """Measures the passes of a session; *way* is unwrapped."""

    def __init__(self, series: Series, way: Numbers) -> None:
        self._series, self._way = series, way
        self._begins, self._ends = list_brakings(series)
        self._brake_told, self._on_brake = has_brake_reading(series), is_on_brake(series)
        self._full = is_full_throttle(series)
        self._coasting_told, self._coasting = has_coasting_readings(series), is_coasting(series)

    def measure(self, corner: str, at: _Window) -> Pass:
        """Measure a pass."""
        series, inside, reach = self._series, slice(at.first, at.last), slice(at.approach, at.last)
        speed, brake = series["speed_ms"], series["brake_bar"]
        t_start, _ = self._crossing(at.start, at.start_m)
        t_entry, entry = self._crossing(at.first, at.entry_m)
        t_exit, leave = self._crossing(at.last, at.exit_m)
        point, release = self.braking(at)
        return Pass(
            *(corner, at.lap, at.approach, at.start, at.first, at.last, at.apex),
            *(t_start, t_entry, t_exit),
            entry_speed_kmh=entry,
            apex_speed_kmh=lowest(speed[inside] * KMH),
            exit_speed_kmh=leave,
            apex_place_speed_kmh=nan_to_none(speed[at.apex] * KMH),
            peak_brake_bar=highest(brake[reach]),
            brake_point_m=point,
            brake_release_m=release,
            trail_brake_bar_at_apex=nan_to_none(brake[at.apex]),
            throttle_at_exit_pct=nan_to_none(series["throttle_pct"][at.last - 1]),
            max_g_lat=highest(np.abs(series["g_lat"][inside])),
            max_combo_g=highest(series.combo_g[inside]),
            coast_seconds=self._measure_coasting(slice(self.find_lift(at, point), at.last)),
            steering_corrections=_count_corrections(series["steering_deg"][inside]),
            nothing_time_s=self._measure_nothing_time(reach),
            full_point_m=self._find_full_throttle(at),
        )

    def braking(self, at: _Window) -> tuple[float | None, float | None]:
        """Return where the braking that reaches the corner began, metres before the entry, and
        where the last braking up to the exit ended, metres after the entry."""
        before, final = np.searchsorted(self._begins, [at.first, at.last]).tolist()
        # The last braking that began before the entry, unless it ended before the approach.
        if before and self._ends[before - 1] > at.approach:
            begun = max(int(self._begins[before - 1]), at.since)
        elif before < final:
            begun = int(self._begins[before])
        else:
            return None, None
        point, ended = at.entry_m - float(self._way[begun]), int(self._ends[final - 1])
        return point, float(self._way[ended]) - at.entry_m if ended < at.last else None

    def find_lift(self, at: _Window, point: float | None) -> int:
        """Return the frame in which the throttle closed for the braking that began *point* metres
        before the entry, or for the corner itself; not after the start of the approach."""
        before = at.entry_m - max(point or 0.0, 0.0)
        begun = int(np.searchsorted(self._way[at.since : at.first], before)) + at.since
        pushed = np.flatnonzero(~(self._series["throttle_pct"][at.since : begun] < CLOSED_PCT))
        closed = at.since + int(pushed[-1]) + 1 if len(pushed) else at.since
        return min(closed, at.start)

    def _find_full_throttle(self, at: _Window) -> float | None:
        closed = np.flatnonzero(~self._full[at.start : at.last])
        if not len(closed):
            return None
        since, t = at.start + int(closed[-1]), self._series.t
        opened = np.flatnonzero(self._full[since : np.searchsorted(t, t[at.last - 1] + AFTER_S)])
        return float(self._way[since + opened[0]]) - at.apex_m if len(opened) else None

    def _crossing(self, i: int, place: float) -> tuple[float, float | None]:
        """Return time and speed (km/h) at a place between frame *i* and the one before."""
        before, after = self._way[i - 1], self._way[i]
        share = (place - before) / (after - before) if after > before else 1.0
        share = min(max(float(share), 0.0), 1.0)
        t, speed = self._series.t, self._series["speed_ms"]
        between = speed[i - 1] + share * (speed[i] - speed[i - 1])
        nearest = np.fmax(speed[i - 1], speed[i]) if np.isnan(between) else between
        return float(t[i - 1] + share * (t[i] - t[i - 1])), nan_to_none(nearest * KMH)

    def _measure_coasting(self, frames: slice) -> float | None:
        """Return the seconds of coasting; None without readings."""
        seconds = float(self._series.weight[frames][self._coasting[frames]].sum())
        return seconds if self._coasting_told[frames].any() else None

    def _measure_nothing_time(self, frames: slice) -> float | None:
        """Return the seconds between the pedals; None if a pedal was not recorded."""
        throttle, t = self._series["throttle_pct"][frames], self._series.t[frames]
        if np.isnan(throttle).all() or not self._brake_told[frames].any():
            return None
        braked = np.flatnonzero(self._on_brake[frames])
        pushed = np.flatnonzero(throttle >= CLOSED_PCT)
        pushed = pushed[pushed >= braked[-1]] if len(braked) else pushed[:0]
        return float(t[pushed[0]] - t[braked[-1]]) if len(pushed) else 0.0


def _count_corrections(steering: Numbers) -> int | None:
    if np.isnan(steering).all():
        return None
    steered = steering[np.abs(steering) >= STEERED_DEG]
    return int(np.count_nonzero(np.diff(np.sign(steered))))


def sort_by_time(passes: Iterable[Pass]) -> list[Pass]:
    """Sort passes, quickest first; of equal ones the earlier first."""
    return sorted(passes, key=lambda passage: (passage.corner_time_s, passage.t_start))


def choose_usual(ranked: Sequence[Pass]) -> Pass:
    """Return the middle pass of *ranked* (quickest first, not empty), the slower of two middle
    ones. From three passes on, its figures are the medians of all."""
    usual = ranked[len(ranked) // 2]
    if len(ranked) < USUAL_LAPS:
        return usual
    columns = {name: [getattr(passage, name) for passage in ranked] for name in FIGURES}
    recorded = {name: [v for v in row if v is not None] for name, row in columns.items()}
    return usual._replace(**{name: median(row) for name, row in recorded.items() if row})


def mean_of(values: Sequence[float | None]) -> float | None:
    """Return the mean of the known values; None if there are none."""
    numbers = [value for value in values if value is not None]
    return sum(numbers) / len(numbers) if numbers else None


def subtract(own: float | None, target: float | None) -> float | None:
    """Return how much the own value is above another; None if either is unknown."""
    return own - target if own is not None and target is not None else None
