"""Throttle and brake: their states, where braking ends, how hard the car slows and pulls away."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import Pass, list_passes, mean_of
from runtime.bridge.analysis.reference import NONE, References, find_aims
from runtime.bridge.analysis.stats import find_runs
from runtime.bridge.session.definitions import (
    POWER_PCT,
    RELEASED_BAR,
    has_brake_reading,
    is_full_throttle,
    is_off_brake,
    is_on_brake,
    is_recorded,
    measure_share,
)
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Series
from runtime.bridge.session.stats import box_plot
from runtime.bridge.session.units import (
    KMH,
    Bar,
    FinePercent,
    Gravity,
    Kmh,
    Metres,
    Percent,
    Quality,
    Seconds,
    Seconds4,
    Share,
    Tenths,
    round_to_sum,
)
from runtime.bridge.track.model import Corner

THROTTLE_PCT: Final = 5.0
BRAKE_BAR: Final = 1.0
STATES: Final = ((True, False), (False, True), (True, True), (False, False))
"""Throttle and brake of the four states, in the order of `PedalStates`."""
STEP_M: Final = 50.0
MOST_STEPS: Final = 2000
"""100 km. A longer lap, from a faulty distance, has longer steps."""
RISING_PCT_S: Final = 5.0
TURNING_G: Final = 0.5
SLOWER_KMH: Final = 1.0
APART_S: Final = 0.5
RISE_S: Final = 0.1
"""The time over which the throttle's rate is measured, but at least one period."""
HALF_PCT: Final = 50.0
OPENING_PCT_S: Final = 10.0
"""A throttle that opens no faster than this is held."""
BEHIND_S: Final = 3.0
"""A throttle that opens up to this long after the exit belongs to the corner."""
HELD_S: Final = 0.3
"""A throttle that is open for less than this was only brushed."""
HELD_SHARE: Final = 0.9
"""The brake is held at its peak down to this share of it."""
HARD_BAR: Final = 25.0
AHEAD_M: Final = 400.0
PUSHED_PCT: Final = 50.0
TRAIL_PEAK_BAR: Final = 10.0
TRAIL_APEX_BAR: Final = 1.0


@dataclass(frozen=True, slots=True)
class PedalState:
    """How often the pedals were in one state; nulls if a pedal was never recorded."""

    frames: int | None
    pct: Percent | None
    """% of the time in which both pedals were recorded; the four states add up to 100"""
    time_s: Tenths | None
    """s: the time from each of these frames to the next"""


@dataclass(frozen=True, slots=True)
class PedalStates:
    """Every frame in which both pedals were recorded is in one of four states."""

    throttle_only: PedalState
    brake_only: PedalState
    trail_brake: PedalState
    """both pedals down"""
    coast: PedalState
    """neither pedal down, by the thresholds of this answer and at any speed"""


@dataclass(frozen=True, slots=True)
class PedalsRecorded:
    """Whether there are readings; without those of both pedals the states are unknown."""

    throttle: bool
    brake: bool


@dataclass(frozen=True, slots=True)
class Pedals:
    """The use of the pedals over the frames considered."""

    frame_count: int
    """frames considered; the states have fewer where a reading is missing"""
    frame_dt_s: Seconds4
    """s: median period"""
    states: PedalStates
    recorded: PedalsRecorded


def measure_pedals(
    drive: Drive, throttle_th: float = THROTTLE_PCT, brake_th: float = BRAKE_BAR
) -> Pedals:
    """Measure the states of the pedals; a pedal is down strictly above its threshold (%, bar)."""
    series, frames = drive.series, drive.frames
    throttle, braking = series["throttle_pct"], series.braking
    has_brake = has_brake_reading(series)
    measured = np.zeros(len(series), dtype=np.bool_)
    measured[frames] = (has_brake & ~np.isnan(throttle))[frames]
    gas, stop = throttle > throttle_th, measured & False
    if braking is not None:
        stop = braking.is_pressed(brake_th)
    states = [measured & (gas == pressed) & (stop == braked) for pressed, braked in STATES]
    shares = [measure_share(series.weight, state, measured) for state in states]
    percentages = [100.0 * share for share in shares if share is not None]
    rounded_pcts = round_to_sum(percentages, 100.0, 1) if percentages else [None] * len(STATES)
    return Pedals(
        len(throttle[frames]),
        series.nominal_s,
        PedalStates(
            *(
                PedalState(int(state.sum()), pct, float(series.weight[state].sum()))
                if pct is not None
                else PedalState(None, None, None)
                for state, pct in zip(states, rounded_pcts, strict=True)
            )
        ),
        PedalsRecorded(is_recorded(throttle[frames]), bool(has_brake[frames].any())),
    )


@dataclass(frozen=True, slots=True)
class HustleStretch:
    """50 m of the lap."""

    start_m: Metres
    """m of lap progress from start/finish"""
    end_m: Metres
    """m of lap progress; the last stretch ends with the lap"""
    hustle_pct: Percent | None
    """% of the time with the throttle at 95 % or more, over the complete laps; null without a
    reading of the throttle"""
    fraction: Share | None
    """the same from 0 to 1"""
    n_frames: int
    """frames with a reading of the throttle"""


def measure_hustle(drive: Drive) -> tuple[HustleStretch, ...]:
    """Measure full throttle in steps of 50 m, from start/finish."""
    series, length = drive.series, drive.length_m
    step = max(STEP_M, length / MOST_STEPS)
    count = max(1, math.ceil(length / step))
    time, full, frames = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64)
    for lap in drive.counted:
        throttle = series["throttle_pct"][lap.frames]
        has_reading = ~np.isnan(throttle)
        p = drive.progress.p[lap.frames][has_reading]
        at = np.minimum(p // step, count - 1).astype(np.intp)
        weight = series.weight[lap.frames][has_reading]
        open_ = np.where(is_full_throttle(series)[lap.frames][has_reading], weight, 0.0)
        time += np.bincount(at, weight, minlength=count)
        full += np.bincount(at, open_, minlength=count)
        frames += np.bincount(at, minlength=count)
    share = np.divide(full, time, out=np.full(count, np.nan), where=time > 0)
    return tuple(
        HustleStretch(
            start_m=i * step,
            end_m=min((i + 1) * step, length),
            hustle_pct=None if np.isnan(part) else 100.0 * part,
            fraction=None if np.isnan(part) else part,
            n_frames=n,
        )
        for i, (part, n) in enumerate(zip(share.tolist(), frames.tolist(), strict=True))
    )


def _find_rise(series: Series, first: int) -> int:
    """Return the frame from which a throttle that opens in frame *first* rises to half: *first*,
    unless it is held below half for a while."""
    throttle = series["throttle_pct"][first:]
    at = first + int(np.argmax(throttle >= HALF_PCT))
    steps = np.diff(throttle[: at - first + 1]) / np.diff(series.t[first : at + 1])
    still = np.flatnonzero(steps <= OPENING_PCT_S)
    rise = first + int(still[-1]) + 1 if len(still) else first
    return rise if series.t[rise] - series.t[first] >= HELD_S else first


def find_opening(drive: Drive, passage: Pass) -> float | None:
    """Return where the throttle opens in a pass, metres after the apex, negative before it: after
    the last braking it goes to 20 % or more and stays there for 0.3 s, or to the exit, and rises to
    50 % before it closes again; if it is held below that, where it rises from there. If it does not
    rise that far until 3 s after the exit, the first part counts. None if it does not open.
    Raises `NoCorners`."""
    series = drive.series
    throttle, braking = series["throttle_pct"], is_on_brake(series)
    braked = np.flatnonzero(braking[passage.approach : passage.last])
    begin = passage.approach + int(braked[-1]) if len(braked) else passage.first
    stop = int(np.searchsorted(series.t, passage.t_exit + BEHIND_S))
    again = np.flatnonzero(braking[passage.last : stop])
    stop = passage.last + int(again[0]) if len(again) else max(stop, passage.last)
    open_runs = find_runs(throttle[begin:stop] >= POWER_PCT)
    opened = [(begin + first, begin + last + 1) for first, last in open_runs]
    held = [
        (first, end)
        for first, end in opened
        if first < passage.last <= end
        or series.t[min(end, len(series) - 1)] - series.t[first] >= HELD_S
    ]
    at = next((_find_rise(series, a) for a, b in held if throttle[a:b].max() >= HALF_PCT), None)
    at = at if at is not None else next((a for a, _ in held if a < passage.last), None)
    if at is None:
        return None
    return drive.behind_apex_m(passage.corner, at)


@dataclass(frozen=True, slots=True)
class ThrottleBoxRecord:
    """The throttle of every frame in a corner, in percent; null without samples."""

    name: str
    n_passes: int
    n_samples: int
    """frames in which the throttle was recorded"""
    min_pct: FinePercent | None
    q1_pct: FinePercent | None
    """quartile, interpolated linearly"""
    median_pct: FinePercent | None
    q3_pct: FinePercent | None
    max_pct: FinePercent | None
    mean_pct: FinePercent | None
    whisker_low_pct: FinePercent | None
    """smallest value within 1.5 interquartile ranges of the lower quartile"""
    whisker_high_pct: FinePercent | None
    """largest value likewise"""


def summarise_throttle(drive: Drive) -> tuple[ThrottleBoxRecord, ...]:
    """Summarise the throttle in each corner's window, in lap order. Raises `NoCorners`."""
    return tuple(_summarise(drive, name, passes) for name, passes in list_passes(drive).items())


def _summarise(drive: Drive, name: str, passes: tuple[Pass, ...]) -> ThrottleBoxRecord:
    throttle = drive.series["throttle_pct"]
    samples = np.concatenate([np.empty(0), *(throttle[passage.frames] for passage in passes)])
    readings = samples[~np.isnan(samples)]
    box = box_plot(readings)
    if box is None:
        return ThrottleBoxRecord(name, len(passes), 0, *(None,) * 8)
    return ThrottleBoxRecord(
        name=name,
        n_passes=len(passes),
        n_samples=len(readings),
        min_pct=float(readings.min()),
        q1_pct=box.q1,
        median_pct=box.median,
        q3_pct=box.q3,
        max_pct=float(readings.max()),
        mean_pct=float(readings.mean()),
        whisker_low_pct=box.low,
        whisker_high_pct=box.high,
    )


@dataclass(frozen=True, slots=True)
class ChangeOfSpeedRecord:
    """Throttle added in a corner where the car is slower than the reference."""

    timestamp: Seconds
    """s of the session's clock"""
    distance_m: Metres
    """m of the lap"""
    corner: str
    speed_kmh: Kmh
    reference_kmh: Kmh
    """at the entry of the corner"""
    g_lat: Gravity
    throttle_dot: Percent
    """percent a second"""


def find_throttle_changes(
    drive: Drive, references: References = NONE
) -> tuple[ChangeOfSpeedRecord, ...]:
    """List moments in corners with the throttle rising by 5 %/s or more at 0.5 g lateral or more,
    more than 1 km/h slower than the reference's entry; at least half a second apart, by time.

    Raises `NoCorners`.
    """
    rate = _measure_rate(drive.series)
    compared = find_aims(drive, references)
    events: list[ChangeOfSpeedRecord] = []
    for name, passes in list_passes(drive).items():
        usual = compared[name].target.entry_speed_kmh if name in compared else None
        if usual is not None:
            events += [
                event for passage in passes for event in _find_changes(drive, rate, passage, usual)
            ]
    return _space_out(sorted(events, key=lambda loss: (loss.timestamp, loss.corner)))


def _measure_rate(series: Series) -> Numbers:
    """Measure how fast the throttle opens, percent a second."""
    throttle = series["throttle_pct"]
    lag = max(1, round(RISE_S / series.nominal_s)) if series.nominal_s > 0 else 1
    rate = np.full(len(series), np.nan)
    rate[lag:] = (throttle[lag:] - throttle[:-lag]) / (series.t[lag:] - series.t[:-lag])
    return rate


def _find_changes(
    drive: Drive, rate: Numbers, passage: Pass, usual: float
) -> Iterator[ChangeOfSpeedRecord]:
    series, frames = drive.series, passage.frames
    speed, g_lat = series["speed_ms"][frames] * KMH, series["g_lat"][frames]
    rises = (rate[frames] >= RISING_PCT_S) & (np.abs(g_lat) >= TURNING_G)
    last = -np.inf
    for at in np.flatnonzero(rises & (speed < usual - SLOWER_KMH)).tolist():
        frame = passage.first + at
        if series.t[frame] - last < APART_S:
            continue
        last = float(series.t[frame])
        yield ChangeOfSpeedRecord(
            timestamp=float(series.t[frame]),
            distance_m=float(drive.progress.p[frame]),
            corner=passage.corner,
            speed_kmh=float(speed[at]),
            reference_kmh=usual,
            g_lat=float(g_lat[at]),
            throttle_dot=float(rate[frame]),
        )


def _space_out(events: list[ChangeOfSpeedRecord]) -> tuple[ChangeOfSpeedRecord, ...]:
    """Keep events at least half a second after the last kept one; windows may overlap."""
    kept: list[ChangeOfSpeedRecord] = []
    for event in events:
        if not kept or event.timestamp - kept[-1].timestamp >= APART_S:
            kept.append(event)
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class BrakeEndRecord:
    """The end of a corner's braking: means over its passes, null where unknown."""

    corner: str
    n_passes: int
    brake_release_m: Metres | None
    """m after the entry where the brake falls below 2 bar"""
    release_rate_bar_s: Bar | None
    """bar/s: peak less 2 bar by the time from the peak to below 2 bar"""
    bar_at_apex: Bar | None
    """bar of the frame nearest to the apex"""
    nothing_time_s: Seconds | None
    """s, of the passes that have any"""


@dataclass(frozen=True, slots=True)
class BrakeEndSummary:
    """Time on neither pedal: from the last brake of 2 bar to the first throttle of 5 %."""

    average_nothing_time_s: Seconds | None
    """s: mean of the passes that have any; 0: none has; null: a pedal is missing"""
    worst_corner: str | None
    """with the largest mean"""
    per_corner_avg_s: dict[str, Seconds]
    """s, of the corners that have any, in lap order"""
    corners: tuple[BrakeEndRecord, ...]
    """every corner in lap order"""


def measure_brake_ends(drive: Drive) -> BrakeEndSummary:
    """Measure the time between brake and throttle, and the brake release. Raises `NoCorners`."""
    passes = list_passes(drive)
    corners = tuple(_measure_brake_end(drive.series, name, row) for name, row in passes.items())
    times = {corner.corner: corner.nothing_time_s for corner in corners}
    means = {name: seconds for name, seconds in times.items() if seconds is not None}
    pauses = [passage.nothing_time_s for row in passes.values() for passage in row]
    average = mean_of([seconds or None for seconds in pauses])
    if average is None and any(seconds is not None for seconds in pauses):
        average = 0.0
    return BrakeEndSummary(
        average_nothing_time_s=average,
        worst_corner=max(means, key=lambda name: means[name]) if means else None,
        per_corner_avg_s=means,
        corners=corners,
    )


def _measure_brake_end(series: Series, name: str, passes: Sequence[Pass]) -> BrakeEndRecord:
    return BrakeEndRecord(
        corner=name,
        n_passes=len(passes),
        brake_release_m=mean_of([passage.brake_release_m for passage in passes]),
        release_rate_bar_s=mean_of([measure_release(series, passage) for passage in passes]),
        bar_at_apex=mean_of([passage.trail_brake_bar_at_apex for passage in passes]),
        nothing_time_s=mean_of([passage.nothing_time_s or None for passage in passes]),
    )


def measure_release(series: Series, passage: Pass) -> float | None:
    """Measure how fast a pass released the brake: bar a second from the last time at 90 % of the
    peak, where the release begins however long the pressure was held, to below 2 bar.

    None if it did not brake above 2 bar, or did not release the brake before the exit.
    """
    brake = series["brake_bar"][passage.approach : passage.last]
    if passage.peak_brake_bar is None or passage.peak_brake_bar <= RELEASED_BAR:
        return None
    held = int(np.flatnonzero(brake >= HELD_SHARE * passage.peak_brake_bar)[-1])
    free = np.flatnonzero(is_off_brake(series)[passage.approach + held : passage.last])
    if not len(free):
        return None
    t = series.t[passage.approach + held : passage.approach + held + int(free[0]) + 1]
    return (float(brake[held]) - RELEASED_BAR) / float(t[-1] - t[0])


@dataclass(frozen=True, slots=True)
class BrakeZoneRecord:
    """The hard braking before a corner: the brake above 25 bar without a break."""

    corner: str
    """whose apex comes next, within 400 m of the zone's middle"""
    max_decel_g: Gravity | None
    """g, negative: mean over the zones of the strongest deceleration"""
    duration_s: Seconds
    """s: mean time from first to last frame"""
    n_passes: int
    """zones"""


@dataclass(frozen=True, slots=True)
class CornerExitRecord:
    """The acceleration out of a corner."""

    corner: str
    max_long_accel_g: Gravity | None
    """g: largest of any pass from apex to exit with throttle above 50 %"""
    exit_speed_kmh: Kmh | None
    """km/h: mean over the passes"""
    n_passes: int


@dataclass(frozen=True, slots=True)
class BrakeAcceleration:
    """Corners in lap order; those without a zone, or without a pass, are left out."""

    brake_zones: tuple[BrakeZoneRecord, ...]
    corner_exits: tuple[CornerExitRecord, ...]


def measure_brake_acceleration(drive: Drive) -> BrakeAcceleration:
    """Measure how hard the car brakes for the corners and accelerates out. Raises `NoCorners`.

    A zone is a stretch of a complete lap with the brake above 25 bar; it belongs to the corner
    whose apex comes next, if that is within 400 m of the zone's middle.
    """
    zones: dict[str, list[tuple[float, float]]] = {corner.name: [] for corner in drive.corners}
    for corner, peak, seconds in _find_zones(drive):
        zones[corner].append((peak, seconds))
    return BrakeAcceleration(
        brake_zones=tuple(
            BrakeZoneRecord(
                corner=name,
                max_decel_g=mean_of([None if np.isnan(peak) else peak for peak, _ in corner_zones]),
                duration_s=sum(seconds for _, seconds in corner_zones) / len(corner_zones),
                n_passes=len(corner_zones),
            )
            for name, corner_zones in zones.items()
            if corner_zones
        ),
        corner_exits=tuple(
            CornerExitRecord(
                corner=name,
                max_long_accel_g=_find_strongest_pull(drive.series, passes),
                exit_speed_kmh=mean_of([passage.exit_speed_kmh for passage in passes]),
                n_passes=len(passes),
            )
            for name, passes in list_passes(drive).items()
            if passes
        ),
    )


def _find_zones(drive: Drive) -> Iterator[tuple[str, float, float]]:
    """Yield corner, strongest deceleration in g and seconds of each zone of hard braking."""
    series, corners = drive.series, drive.corners
    if series.braking is None:
        return
    hard = series.braking.is_pressed(HARD_BAR) & (drive.lap_of > 0)
    p, g_long = drive.progress.p, series["g_long"]
    for first, last in find_runs(hard, series.gap):
        way = (p[last] - p[first]) % drive.length_m
        middle = float(p[first] + way / 2)
        corner = _find_next_corner(corners, middle, drive.length_m)
        if corner is not None:
            peak = float(np.fmin.reduce(g_long[first : last + 1]))
            yield corner.name, peak, float(series.t[last] - series.t[first])


def _find_next_corner(corners: Sequence[Corner], place: float, length: float) -> Corner | None:
    """Find the corner whose apex comes next, if it is near."""
    ways = [((corner.apex.distance_m - place) % length, at) for at, corner in enumerate(corners)]
    close = min((way for way in ways if way[0] <= AHEAD_M), default=None)
    return corners[close[1]] if close is not None else None


def _find_strongest_pull(series: Series, passes: Sequence[Pass]) -> float | None:
    strongest, g_long = np.nan, series["g_long"]
    for passage in passes:
        frames = slice(passage.apex_frame, passage.last)
        pushed = series["throttle_pct"][frames] > PUSHED_PCT
        strongest = np.fmax(strongest, np.fmax.reduce(g_long[frames][pushed], initial=np.nan))
    return None if np.isnan(strongest) else float(strongest)


@dataclass(frozen=True, slots=True)
class TrailBrakeRecord:
    """A pass that braked into the corner, and how close to ideal the pressure at the apex was."""

    lap: int
    corner: str
    peak_bar: Bar
    apex_bar: Bar
    quality: Quality
    """0 to 1, 1 at a tenth of the peak (3 bar at least), falling to 0 a fifth of the peak (5 bar at
    least) away from it"""


def rate_trail_braking(drive: Drive) -> tuple[TrailBrakeRecord, ...]:
    """List passes with 10 bar or more, and 1 bar or more left at the apex, by corner and lap.

    Raises `NoCorners`.
    """
    records = []
    for name, passes in list_passes(drive).items():
        for passage in passes:
            peak, apex = passage.peak_brake_bar, passage.trail_brake_bar_at_apex
            if peak is None or apex is None or peak < TRAIL_PEAK_BAR or apex < TRAIL_APEX_BAR:
                continue
            away = abs(apex - max(0.10 * peak, 3.0)) / max(0.20 * peak, 5.0)
            records.append(TrailBrakeRecord(passage.lap, name, peak, apex, max(0.0, 1.0 - away)))
    return tuple(records)
