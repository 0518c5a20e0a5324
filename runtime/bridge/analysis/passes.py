"""How each lap took each corner."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive, once_per_drive
from runtime.bridge.analysis.windows import first_in, known_in, largest_in, last_in, total_in
from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.laps import Segment
from runtime.bridge.session.progress import unwrap
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Flags, Series
from runtime.bridge.session.units import KMH

LEAST_FRAMES: Final = 3
APPROACH_M: Final = 200.0
"""So far before a corner its braking is looked for, but not before the apex of the last corner:
what was braked there was braked for that one."""
LIFT_M: Final = 50.0
"""So far before a corner the time on no pedal is looked for."""
BRAKING_BAR: Final = 5.0
RELEASED_BAR: Final = 2.0
COASTING_PCT: Final = 10.0
STEERED_DEG: Final = 3.0


class Pass(NamedTuple):
    """One lap through one corner; None where a channel was not recorded there."""

    corner: str
    lap: int
    approach: int
    """The first frame of the approach: the 200 m before the entry, or from the last apex on."""
    first: int
    """Frames of the series from *first* to before *last* lie inside the window."""
    last: int
    apex_frame: int
    """The frame nearest to the apex."""
    t_entry: float
    """Seconds of the session's clock, interpolated, as is *t_exit*."""
    t_exit: float
    entry_speed_kmh: float | None
    """At the entry, between the frames around it; the exit likewise."""
    apex_speed_kmh: float | None
    """Of the frame nearest to the apex."""
    exit_speed_kmh: float | None
    min_speed_kmh: float | None
    """In the window."""
    peak_brake_bar: float | None
    """From the approach to the exit."""
    brake_point_m: float | None
    """Metres before the entry where the brake first exceeded 5 bar, from the approach on;
    negative inside the window; None where it never did."""
    brake_release_m: float | None
    """Metres behind the entry where it fell below 2 bar for good; None where it was not pressed."""
    trail_brake_bar_at_apex: float | None
    throttle_at_exit_pct: float | None
    """Of the last frame in the window."""
    max_g_lat: float | None
    """Without sign."""
    max_combo_g: float | None
    coast_seconds: float | None
    """With throttle below 10 % and brake below 2 bar; a null of a pedal that is recorded is up."""
    steering_corrections: int | None
    """Changes of the steering's side with 3 degrees or more on both."""
    nothing_time_s: float | None
    """From the last brake above 2 bar to the first throttle above 10 %; 0 where they overlap, and
    without either. Looked for from 50 m before the entry to the exit."""

    @property
    def corner_time_s(self) -> float:
        """From entry to exit, seconds."""
        return self.t_exit - self.t_entry

    @property
    def frames(self) -> slice:
        """The frames inside the window."""
        return slice(self.first, self.last)


@once_per_drive
def passes_of(drive: Drive) -> dict[str, tuple[Pass, ...]]:
    """The passes of every corner, by its name in lap order; empty where no lap passed it whole.

    A pass belongs to the lap that holds its apex. A window over start/finish reaches into the
    neighbouring lap. A pass during which recording paused, or of fewer than 3 frames, is left
    out. Raises `NoGeometry`.
    """
    corners = drive.corners
    found: dict[str, list[Pass]] = {corner.name: [] for corner in corners}
    way = unwrap(drive.progress.p, drive.length_m)
    places = _places(drive)
    pauses = np.flatnonzero(drive.series.gap)
    parts = [
        _windows(pauses, way, lap, places + base) for lap, base in _laps(drive, way) if corners
    ]
    if parts:
        windows = _Windows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
        names = [corner.name for corner in corners]
        for passage in _measured(drive.series, way, names, windows):
            found[passage.corner].append(passage)
    return {name: tuple(passes) for name, passes in found.items()}


class _Windows(NamedTuple):
    """Where the passes lie, one entry each; frames are indices of the series."""

    corner: Indices
    lap: Indices
    approach: Indices
    lift: Indices
    first: Indices
    last: Indices
    apex: Indices
    entry_m: Numbers
    """Metres of the unwrapped way, as is *exit_m*."""
    exit_m: Numbers


def _places(drive: Drive) -> Numbers:
    """Begin of the approach, entry, apex and exit of the corners (rows) in metres.

    The apex is the one in [0, length).
    """
    length = drive.length_m
    apexes = [corner.apex.distance_m % length for corner in drive.corners]
    rows = []
    for corner, apex in zip(drive.corners, apexes, strict=True):
        entry = apex - (apex - corner.entry.distance_m) % length
        leave = apex + (corner.exit.distance_m - apex) % length
        since = min(((apex - other) % length for other in apexes if other != apex), default=length)
        begin = max(entry - APPROACH_M, min(apex - since, entry))
        rows.append((begin, entry, apex, leave))
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


def _laps(drive: Drive, way: Numbers) -> Iterator[tuple[Segment, float]]:
    """The laps with the place of their start; a whole session may start and end anywhere."""
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


def _windows(pauses: Indices, way: Numbers, lap: Segment, places: Numbers) -> _Windows:
    """The corners that a lap passed whole; *places* as `_places` gives them, for this lap.

    Recording paused after each of the frames *pauses*.
    """
    begin, entry, apex, leave = places.T
    # From the last frame before the first place to the first one behind the last place.
    earlier = np.flatnonzero(way[: lap.first] < begin.min())
    lo = int(earlier[-1]) if len(earlier) else 0
    end = min(lap.last + 1, len(way))
    later = np.flatnonzero(way[max(end - 1, 0) :] >= leave.max())
    hi = max(end, max(end - 1, 0) + int(later[0]) + 1) if len(later) else len(way)
    reached = np.maximum.accumulate(way[lo:hi])
    first, last, near = (lo + np.searchsorted(reached, place) for place in (entry, leave, apex))
    inner = (first > lo) & (last < hi) & (last - first >= LEAST_FRAMES)
    before = np.searchsorted(pauses, first - 1)
    whole = before == np.searchsorted(pauses, last)
    near = np.clip(near, 1, len(way) - 1)
    near -= np.abs(way[near - 1] - apex) <= np.abs(way[near] - apex)
    resumed = np.concatenate([[0], pauses + 1])[before]  # an approach begins behind a pause
    approach, lift = (
        np.maximum(lo + np.searchsorted(reached, place), resumed)
        for place in (begin, np.maximum(begin, entry - LIFT_M))
    )
    number = np.full(len(entry), lap.number or 0)
    columns = (np.arange(len(entry)), number, approach, lift, first, last)
    apexes = np.clip(near, first, np.maximum(last - 1, first))
    kept = inner & whole
    return _Windows(*(each[kept] for each in (*columns, apexes, entry, leave)))


def _measured(series: Series, way: Numbers, names: list[str], at: _Windows) -> Iterator[Pass]:
    """The numbers of every pass; each channel is gone through once."""
    speed, brake, throttle = series["speed_ms"], series["brake_bar"], series["throttle_pct"]
    t_entry, entry = _crossing(series, way, at.first, at.entry_m)
    t_exit, leave = _crossing(series, way, at.last, at.exit_m)
    point, release = _braking(brake, way, at)
    columns = (
        np.array(names, dtype=object)[at.corner].tolist(),
        *(each.tolist() for each in (at.lap, at.approach, at.first, at.last, at.apex)),
        t_entry.tolist(),
        t_exit.tolist(),
        _listed(entry),
        _listed(speed[at.apex] * KMH),
        _listed(leave),
        _listed(-largest_in(-speed, at.first, at.last) * KMH),
        _listed(largest_in(brake, at.approach, at.last)),
        _listed(point),
        _listed(release),
        _listed(brake[at.apex]),
        _listed(throttle[at.last - 1]),
        _listed(largest_in(np.abs(series["g_lat"]), at.first, at.last)),
        _listed(largest_in(series.combo_g, at.first, at.last)),
        _listed(_coasting(series, at)),
        [None if count is None else int(count) for count in _listed(_corrections(series, at))],
        _listed(_nothing(series, at)),
    )
    for values in zip(*columns, strict=True):
        one = Pass(*values)
        if one.t_entry < one.t_exit:
            yield one


def _listed(values: Numbers) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]


def _crossing(series: Series, way: Numbers, i: Indices, place: Numbers) -> tuple[Numbers, Numbers]:
    """Times and speeds (km/h) at places between frames *i* and those before."""
    width = way[i] - way[i - 1]
    share = np.divide(place - way[i - 1], width, out=np.ones(len(i)), where=width > 0)
    share = np.clip(share, 0.0, 1.0)
    t, speed = series.t, series["speed_ms"]
    between = speed[i - 1] + share * (speed[i] - speed[i - 1])
    known = np.where(np.isnan(between), np.fmax(speed[i - 1], speed[i]), between)
    return t[i - 1] + share * (t[i] - t[i - 1]), known * KMH


def _braking(brake: Numbers, way: Numbers, at: _Windows) -> tuple[Numbers, Numbers]:
    """Where braking began, metres before the entry, and where it ended, metres behind it."""
    pressed = np.flatnonzero(brake > BRAKING_BAR)
    begun = first_in(pressed, at.approach, at.last)
    ended = last_in(pressed, at.approach, at.last)
    free = first_in(np.flatnonzero(brake < RELEASED_BAR), ended + 1, at.last)
    point = np.where(begun >= 0, at.entry_m - way[begun], np.nan)
    release = np.where((ended >= 0) & (free >= 0), way[free] - at.entry_m, np.nan)
    return point, release


def coasting(series: Series) -> Flags:
    """The frames with the brake off (under 2 bar) and the throttle under 10 %; a null of a pedal
    that is recorded is up."""
    throttle, brake = series["throttle_pct"], series["brake_bar"]
    idle: Flags = (np.nan_to_num(throttle) < COASTING_PCT) & (np.nan_to_num(brake) < RELEASED_BAR)
    return idle


def _coasting(series: Series, at: _Windows) -> Numbers:
    """Seconds on no pedal; NaN where a pedal was not recorded at all."""
    throttle, brake = series["throttle_pct"], series["brake_bar"]
    known = known_in(throttle, at.first, at.last) & known_in(brake, at.first, at.last)
    seconds = total_in(np.where(coasting(series), series.weight, 0.0), at.first, at.last)
    return np.where(known, seconds, np.nan)


def _corrections(series: Series, at: _Windows) -> Numbers:
    steering = series["steering_deg"]
    steered = np.flatnonzero(np.abs(steering) >= STEERED_DEG)
    changes = np.zeros(len(steered) + 1)
    changes[2:] = np.cumsum(np.diff(np.sign(steering[steered])) != 0)
    begin, end = np.searchsorted(steered, at.first), np.searchsorted(steered, at.last)
    count = np.where(end > begin, changes[end] - changes[np.minimum(begin + 1, end)], 0.0)
    return np.where(known_in(steering, at.first, at.last), count, np.nan)


def _nothing(series: Series, at: _Windows) -> Numbers:
    """Seconds between the pedals; NaN where a pedal was not recorded at all."""
    throttle, brake, t = series["throttle_pct"], series["brake_bar"], series.t
    braked = last_in(np.flatnonzero(brake > RELEASED_BAR), at.lift, at.last)
    pushed = first_in(np.flatnonzero(throttle > COASTING_PCT), np.maximum(braked, 0), at.last)
    seconds = np.where((braked >= 0) & (pushed >= 0), t[pushed] - t[braked], 0.0)
    known = known_in(throttle, at.lift, at.last) & known_in(brake, at.lift, at.last)
    return np.where(known, seconds, np.nan)


def mean_of(values: Sequence[float | None]) -> float | None:
    """The mean of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def difference(own: float | None, target: float | None) -> float | None:
    """By how much the own value is above another; None where either is not known."""
    return own - target if own is not None and target is not None else None
