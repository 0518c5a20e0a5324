"""Moments when something went wrong, or nearly did: spins, stops, leaving the line."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grip import find_usual_peak
from runtime.bridge.analysis.stats import find_runs, nan_to_none
from runtime.bridge.session.geometry import Indices, Plane, Ring
from runtime.bridge.session.motion import STANDARD_GRAVITY
from runtime.bridge.session.progress import unwrap
from runtime.bridge.session.recording import Numbers, Samples
from runtime.bridge.session.series import DAY_S, Flags, Series, longest_step_s
from runtime.bridge.session.units import KMH, Gravity, Kmh, Metres, Seconds

TURNED_DEG: Final = 120.0
WITHIN_S: Final = 2.0
SLOWED: Final = 0.7
"""The speed after a spin is less than this share of the speed before."""
OWN_DEG: Final = 60.0
"""The course of a spin turns by this much more than the road between the same places."""
ON_ROAD_M: Final = 15.0
"""Further from the road, its bends explain nothing."""
STEP_S: Final = 0.25
"""The course is measured over this time, but at least one period of the recording."""
LEAST_MS: Final = 3.0
"""Below this speed the course is noise, and the last known course counts."""
DRIVING_MS: Final = 5.0
"""A slower car does not spin; the positions of a car that stands wander."""
EDGE: Final = 2
"""Steps of a pause that are kept at each of its ends."""
MOST_MS: Final = 150.0
"""Above this speed the position jumped, not the car."""
Kind: TypeAlias = Literal[
    "over_g", "off_line", "spin", "stopped", "hard_deceleration", "abs_active", "tc_active"
]
Severity: TypeAlias = Literal["high", "medium", "low"]
OVER_G: Final = 2.0
"""The limit without a usual lap to show what the car can do."""
OVER_USUAL: Final = 1.4
"""An alarm needs this many times the peak of a usual lap, and at least `LEAST_G`."""
LEAST_G: Final = 1.0
OFF_LINE_M: Final = 8.0
OFF_LINE_S: Final = 0.5
MOVING_MS: Final = 5.0
STANDING_MS: Final = 2.0
STANDING_S: Final = 3.0
HARD_G: Final = 1.5
ASSIST_S: Final = 0.3
ASSIST_ON: Final = 0.5
HELD_S: Final = 1.0
"""A sample of an assistance signal holds for at most this long."""
MERGED_S: Final = 5.0
ASSISTS: Final[tuple[Kind, ...]] = ("abs_active", "tc_active")
"""Signals outside the frames that show an assistance system at work."""
_SEVERITY: Final[dict[Kind, Severity]] = {
    "over_g": "high",
    "off_line": "high",
    "spin": "high",
    "stopped": "high",
    "hard_deceleration": "high",
    "abs_active": "low",
    "tc_active": "low",
}


class Spin(NamedTuple):
    """The frames of the series during which a car spun, and how far its course turned."""

    first: int
    last: int
    turned_deg: float


class Road(NamedTuple):
    """The line that the frames of a series follow, and the place of each on it."""

    path: Ring
    progress: Numbers
    """Metres, in [0, length)."""
    offset: Numbers
    """Metres from the line; NaN where unknown."""


def find_spins(series: Series, road: Road | None = None) -> list[Spin]:
    """Find stretches in which the course turned by more than 120 degrees within 2 s, and the speed
    fell by more than 30 %.

    A hairpin is not a spin: near the *road* the course must turn by 60 degrees more or less than
    the road; elsewhere faster than any tyre allows, with 2 g or more. Empty if positions are not
    good enough, or if the recording is so slow that the turn between two fixes may be half a
    circle.
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
    spun &= ~_is_paused(series, t, (reach + 1) * step)[: len(spun)]
    if spun.any():
        way = np.convolve(speed * np.diff(number) * step, np.ones(reach), mode="valid")
        lateral = np.radians(turned) * way[: len(turned)] / WITHIN_S**2
        unexplained = lateral > OVER_G * STANDARD_GRAVITY
        if road is not None:
            bends = _bends(series, road, t)
            own = np.abs(turns - (bends[reach:] - bends[:-reach])) > OWN_DEG
            near = np.abs(np.interp(t, series.t, road.offset))[: len(own)] <= ON_ROAD_M
            unexplained = np.where(near, own, unexplained)
        spun &= unexplained
    result = []
    for begin, end in find_runs(spun):
        bounds = np.searchsorted(series.t, [t[begin], t[end] + WITHIN_S])
        first, last = np.minimum(bounds, len(series) - 1).tolist()
        result.append(Spin(first, last, float(turned[begin : end + 1].max())))
    return result


def _steps(series: Series, step: float) -> Indices:
    """Return the numbers of the time steps at which something was recorded, rising from 0.

    Pauses of the recording are left out except for their edges: a clock may jump by years, and a
    turn across a pause is not a spin (`_is_paused`).
    """
    pauses = np.flatnonzero(series.gap)
    first = np.append(0, pauses + 1)
    last = np.append(pauses, len(series) - 1)
    since = (series.t - series.t[0]) / step
    begins = np.maximum(np.floor(since[first]) - EDGE, 0.0).astype(np.int64)
    # The last step lies before the last frame.
    ends = np.minimum(np.floor(since[last]) + EDGE + 1, np.ceil(since[-1])).astype(np.int64)
    begins = np.maximum(begins, np.append(0, ends[:-1]))
    counts = np.maximum(ends - begins, 0)
    before = np.cumsum(counts) - counts
    numbers: Indices = np.arange(int(counts.sum())) + np.repeat(begins - before, counts)
    return numbers


def _course(series: Series, t: Numbers, apart: Numbers) -> tuple[Numbers, Numbers]:
    """Return the cumulative course in degrees and the speed in m/s between moments.

    The moments are *apart* seconds from each other.
    """
    fixed = series.fixed
    lat, lon = series["lat"][fixed], series["lon"][fixed]
    x, y = Plane(float(lat[0]), float(lon[0])).xy(lat, lon)
    dx, dy = (np.diff(_smooth(np.interp(t, series.t[fixed], axis))) for axis in (x, y))
    way = np.hypot(dx, dy)
    recorded = series["speed_ms"]
    has_speed = ~np.isnan(recorded)
    is_recorded = has_speed.sum() * 2 >= len(has_speed)
    speed = way / apart
    if is_recorded:
        speed = np.interp(t[:-1], series.t[has_speed], recorded[has_speed])
    moving = (np.minimum(way / apart, speed) >= LEAST_MS) & (way <= MOST_MS * apart)
    heading = np.degrees(np.arctan2(dx, dy))
    # An unknown course is the one before it; before the first, the first.
    latest = np.maximum.accumulate(np.where(moving, np.arange(len(way)), 0))
    turns = np.diff(heading[latest], prepend=heading[latest[0]])
    course = np.cumsum((turns + 180.0) % 360.0 - 180.0)
    return course, speed


def _smooth(place: Numbers) -> Numbers:
    """Smooth places at even time steps with their neighbours, against the noise of fixes."""
    padded = np.pad(place, 1, mode="edge")
    even: Numbers = (padded[:-2] + 2 * place + padded[2:]) / 4
    return even


def _bends(series: Series, road: Road, t: Numbers) -> Numbers:
    """Return the cumulative turn of the road in degrees between moments."""
    path = road.path
    turned = np.concatenate([[0.0], np.cumsum(path.curvature)]) * path.step
    at = np.interp(t, series.t, unwrap(road.progress, path.length_m))
    # The sum up to a point is the heading in the middle of the step that begins there.
    ends = np.arange(len(path) + 1) * path.step - path.step / 2
    laps = np.floor((at - ends[0]) / path.length_m)
    within = np.interp(at - laps * path.length_m, ends, turned)
    heading = within + laps * turned[-1]
    between: Numbers = (heading[:-1] + heading[1:]) / 2
    return between


def _is_paused(series: Series, t: Numbers, window_s: float) -> Flags:
    """Whether recording or positions paused within the window after each moment."""
    fixes = series.t[series.fixed]
    wide = np.diff(fixes) > longest_step_s(series.nominal_s)
    before = np.searchsorted(fixes[1:][wide], t)
    begun = np.searchsorted(fixes[:-1][wide], t + window_s)
    paused: Flags = begun > before
    return paused


class Active(NamedTuple):
    """A stretch with an assistance system at work; seconds of the session's clock."""

    kind: Kind
    t_start: float
    t_end: float


@dataclass(frozen=True, slots=True)
class IncidentRecord:
    """An event, or several of a kind less than 5 s apart; values are those of its worst frame."""

    timestamp: Seconds
    """s of the session's clock, of the worst frame"""
    distance_m: Metres | None
    """m of the lap; null: unknown"""
    speed_kmh: Kmh | None
    """km/h"""
    combo_g: Gravity | None
    """g, combined acceleration"""
    reason: str
    """a sentence"""
    frame_idx: int
    """index of the stored frame"""
    kind: Kind
    """over_g: combo_g 1.4 times as large as the peak of a usual lap (the median of three laps or
    more) and 1 g at least, above 2 g with fewer laps; off_line: farther from the reference line
    than half the track and 8 m for 0.5 s, faster than 5 m/s; spin: course turned by over 120
    degrees in 2 s, 60 of them not with the line (without one, with more than 2 g), and speed down
    by over 30 %; stopped: slower than 2 m/s for 3 s; hard_deceleration: off the brake, by its
    pressure (5 bar), pedal or switch, so much more deceleration than in a usual lap (with fewer
    than three laps, over 1.5 g); abs_active, tc_active: that signal above 0.5 for 0.3 s. off_line
    and stopped in complete laps only; over_g and hard_deceleration only of measured
    accelerations"""
    lap: int | None
    """complete lap; null: outside"""
    t_start: Seconds
    """s of the session's clock"""
    t_end: Seconds
    """s of the session's clock"""
    severity: Severity


@dataclass(frozen=True, slots=True)
class Incident(IncidentRecord):
    """An incident, and its place in the series."""

    frame: int
    """The worst frame of the series."""
    magnitude: float
    """The worst value in multiples of the limit."""


class _Event(NamedTuple):
    kind: Kind
    first: int
    last: int
    """The last frame of it."""
    frame: int
    magnitude: float
    reason: str


def detect_incidents(drive: Drive, active: Sequence[Active] = ()) -> tuple[Incident, ...]:
    """Find the incidents in the frames considered, by time, then by kind.

    *active*: when assistance systems worked. Kinds whose channels were not recorded are skipped;
    leaving the line and standing still count only in complete laps, because the way through the
    pits is neither.
    """
    events = [
        *_find_over_g(drive),
        *_find_off_line(drive),
        *_find_spins(drive),
        *_find_stops(drive),
        *_find_hard_deceleration(drive),
        *_find_assistance(drive, active),
    ]
    begin, end = drive.frames.start, drive.frames.stop
    return tuple(_merge_events(drive, [event for event in events if begin <= event.frame < end]))


def find_activity(samples: dict[str, Samples]) -> tuple[Active, ...]:
    """Find when assistance systems worked: their signal above 0.5 for 0.3 s or longer.

    A sample holds until the next one, for a second at most. By kind, then by time.
    """
    stretches = []
    for kind in ASSISTS:
        if kind not in samples or not len(samples[kind].t):
            continue
        t, value = samples[kind]
        until = np.append(np.minimum(t[1:], t[:-1] + HELD_S), t[-1] + HELD_S)
        silent = t[1:] - t[:-1] > HELD_S
        for first, last in find_runs(value > ASSIST_ON, silent):
            begin, end = float(t[first]), float(until[last])
            if end - begin >= ASSIST_S:
                stretches.append(Active(kind, begin, end))
    return tuple(stretches)


def _peaks(
    kind: Kind,
    stretches: Iterable[tuple[int, int]],
    badness: Numbers,
    limit: float,
    reason: str,
) -> Iterator[_Event]:
    """Yield an event for each stretch, rated by its worst frame; *reason* formats that value."""
    for first, last in stretches:
        worst = first + int(badness[first : last + 1].argmax())
        most = float(badness[worst])
        yield _Event(kind, first, last, worst, most / limit, reason.format(most))


def _limit(drive: Drive, values: Numbers, fixed: float) -> float:
    """Return the alarm limit for *values*, in g: far above a usual lap, else *fixed*."""
    usual = find_usual_peak(drive, values)
    return fixed if usual is None else max(OVER_USUAL * usual, LEAST_G)


def _find_over_g(drive: Drive) -> Iterator[_Event]:
    series = drive.series
    combo = series.combo_g
    limit = _limit(drive, combo, OVER_G)
    over = (combo > limit) & ("combo_g" not in series.derived)
    reason = "combined acceleration reached {:.2f} g"
    return _peaks("over_g", find_runs(over, series.gap), combo, limit, reason)


def _find_off_line(drive: Drive) -> Iterator[_Event]:
    offset = np.abs(drive.progress.offset)
    half_width = drive.track.half_width_m if drive.track is not None else 0.0
    limit = max(half_width, OFF_LINE_M)
    off = (offset > limit) & (drive.series["speed_ms"] > MOVING_MS) & (drive.lap_of > 0)
    reason = "the car was {:.1f} m off the line"
    return _peaks("off_line", _find_lasting(drive, off, OFF_LINE_S), offset, limit, reason)


def _find_stops(drive: Drive) -> Iterator[_Event]:
    standing = (drive.series["speed_ms"] < STANDING_MS) & (drive.lap_of > 0)
    for first, last in _find_lasting(drive, standing, STANDING_S):
        seconds = float(drive.series.t[last] - drive.series.t[first])
        reason = f"the car stood for {seconds:.1f} s in a lap"
        yield _Event("stopped", first, last, first, seconds / STANDING_S, reason)


def _find_hard_deceleration(drive: Drive) -> Iterator[_Event]:
    series = drive.series
    slowing, braking = -series["g_long"], series.braking
    if "g_long" in series.derived or braking is None or braking.basis == "deceleration":
        return iter(())
    limit = _limit(drive, slowing, HARD_G)
    hard = (slowing > limit) & braking.measured & ~braking.flags
    reason = "the car slowed at {:.2f} g with hardly any brakes"
    return _peaks("hard_deceleration", find_runs(hard, series.gap), slowing, limit, reason)


def _find_spins(drive: Drive) -> Iterator[_Event]:
    for spin in find_spins(drive.series, _road(drive)):
        reason = f"the course turned by {spin.turned_deg:.0f} degrees while the speed fell"
        magnitude = spin.turned_deg / TURNED_DEG
        yield _Event("spin", spin.first, spin.last, spin.first, magnitude, reason)


def _road(drive: Drive) -> Road | None:
    """Return the line that the session drives, else that of the track file if it follows that."""
    if drive.driven is not None:
        line, progress = drive.driven.line, drive.driven.progress
    elif drive.track is not None and drive.track.line is not None:
        line, progress = drive.track.line, drive.progress
    else:
        return None
    on_line = progress.basis == "line"
    return Road(line.ring, progress.p, progress.offset) if on_line else None


def _find_assistance(drive: Drive, active: Sequence[Active]) -> Iterator[_Event]:
    t = drive.series.t
    for work in active:
        # The series runs on after midnight; other signals do not.
        day = DAY_S if work.t_end < t[0] - DAY_S / 2 else 0.0
        first, last = _nearest(t, np.array([work.t_start, work.t_end]) + day).tolist()
        seconds = work.t_end - work.t_start
        name = "anti-lock brakes" if work.kind == "abs_active" else "traction control"
        reason = f"{name} worked for {seconds:.1f} s"
        yield _Event(work.kind, first, last, first, seconds / ASSIST_S, reason)


def _nearest(t: Numbers, moments: Numbers) -> Indices:
    after = np.clip(np.searchsorted(t, moments), 1, max(len(t) - 1, 1))
    after -= moments - t[after - 1] <= t[np.minimum(after, len(t) - 1)] - moments
    return after


def _find_lasting(drive: Drive, flags: Flags, seconds: float) -> Iterator[tuple[int, int]]:
    """Yield the stretches that last at least *seconds*."""
    t = drive.series.t
    for first, last in find_runs(flags, drive.series.gap):
        if t[last] - t[first] >= seconds:
            yield first, last


def _merge_events(drive: Drive, events: list[_Event]) -> Iterator[Incident]:
    """Merge events of a kind less than 5 s apart into one, rated by the worst."""
    t = drive.series.t
    groups: list[list[_Event]] = []
    for event in sorted(events, key=lambda part: (part.kind, part.first)):
        if groups and groups[-1][-1].kind == event.kind:
            ended = max(t[part.last] for part in groups[-1])
            if t[event.first] - ended < MERGED_S:
                groups[-1].append(event)
                continue
        groups.append([event])
    for group in sorted(groups, key=lambda group: (group[0].first, group[0].kind)):
        worst = max(group, key=lambda part: part.magnitude)
        yield Incident(
            timestamp=float(t[worst.frame]),
            distance_m=nan_to_none(drive.progress.p[worst.frame]),
            speed_kmh=nan_to_none(drive.series["speed_ms"][worst.frame] * KMH),
            combo_g=nan_to_none(drive.series.combo_g[worst.frame]),
            reason=f"{worst.reason[:1].upper()}{worst.reason[1:]}.",
            frame_idx=int(drive.series.index[worst.frame]),
            kind=worst.kind,
            lap=int(drive.lap_of[worst.frame]) or None,
            t_start=float(t[group[0].first]),
            t_end=float(max(t[part.last] for part in group)),
            severity=_SEVERITY[worst.kind],
            frame=worst.frame,
            magnitude=worst.magnitude,
        )
