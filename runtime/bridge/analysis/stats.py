"""The key figures of a session, and the speeds on each straight."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.session.definitions import is_full_throttle, is_recorded
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Flags, Series
from runtime.bridge.session.units import KMH, Bar, Gravity, Hertz, Kmh, Metres, Seconds, Tenths
from runtime.bridge.track.model import Straight

ON_TRACK_MS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Stats:
    """Figures of the frames considered; None if the channel was not recorded."""

    top_speed_kmh: Kmh | None
    """km/h: largest speed"""
    average_speed_kmh: Kmh | None
    """km/h: mean over time"""
    max_combo_g: Gravity | None
    """g: largest combined acceleration"""
    max_g_lat: Gravity | None
    """g: largest lateral acceleration, without sign"""
    max_yaw_rate_dps: Tenths | None
    """°/s: largest rate of turning, without sign"""
    max_accel_g: Gravity | None
    """g: largest longitudinal acceleration"""
    max_decel_g: Gravity | None
    """g: lowest longitudinal one, negative in braking"""
    max_brake_bar: Bar | None
    """bar: largest brake pressure"""
    longest_full_throttle_s: Seconds | None
    """s: longest run of frames with the throttle at 95 % or more; a pause ends it"""
    time_on_track_s: Seconds | None
    """s: faster than 5 m/s, within session_duration_s"""
    n_frames: int
    """frames whose time moves forward"""
    session_duration_s: Seconds
    """s: from the first frame to the last, or of the chosen lap; samples of signals before and
    after are not counted"""
    distance_m: Metres | None
    """m: driven in that time"""
    n_laps: int
    """complete laps"""
    best_lap_s: Seconds
    """s: the fastest of them"""
    sample_rate_hz: Hertz | None
    """Hz: frames a second while the recording ran; a burst of rows is one frame"""
    n_gaps: int
    """pauses of the recording (longer than 0.5 s and than 5 median periods), and setbacks of its
    clock"""
    derived: tuple[str, ...] = ()
    """The accelerations that no sensor measured (`Series.derived`)."""


def compute_stats(drive: Drive) -> Stats:
    """Compute the figures of the session, or of its chosen lap."""
    series, frames = drive.series, drive.frames
    whole = drive.counted[0] if drive.chosen is not None else drive.laps.full
    speed, weight = series["speed_ms"][frames], series.weight[frames]
    g_long, brake = series["g_long"][frames], series["brake_bar"][frames]
    return Stats(
        top_speed_kmh=highest(speed * KMH),
        average_speed_kmh=_mean(speed * KMH, weight),
        max_combo_g=highest(series.combo_g[frames]),
        max_g_lat=highest(np.abs(series["g_lat"][frames])),
        max_yaw_rate_dps=highest(np.abs(series.yaw_rate[frames])),
        max_accel_g=highest(g_long),
        max_decel_g=lowest(g_long),
        max_brake_bar=highest(brake),
        longest_full_throttle_s=_longest(series, frames),
        time_on_track_s=None
        if np.isnan(speed).all()
        else min(float(weight[np.flatnonzero(speed > ON_TRACK_MS)].sum()), whole.duration_s),
        n_frames=len(speed),
        session_duration_s=whole.duration_s,
        distance_m=whole.distance_m if _has_distance(series) else None,
        n_laps=len(drive.counted),
        best_lap_s=drive.best.duration_s,
        sample_rate_hz=series.rate_hz,
        n_gaps=int(series.gap[frames.start : max(frames.stop - 1, frames.start)].sum()),
        derived=tuple(sorted(series.derived)),
    )


def _has_distance(series: Series) -> bool:
    """Whether a distance is known: from speed, distance or positions."""
    return any(is_recorded(series[name]) for name in ("speed_ms", "distance_m", "lat"))


def nan_to_none(value: float) -> float | None:
    """Replace NaN by None."""
    return None if np.isnan(value) else float(value)


def find_runs(flags: Flags, broken: Flags | None = None) -> list[tuple[int, int]]:
    """Return first and last index of each stretch of True.

    *broken*, one element shorter, ends a stretch after each index that is True.
    """
    change = np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8))
    begins, ends = np.flatnonzero(change > 0), np.flatnonzero(change < 0) - 1
    if broken is not None and len(flags) > 1:
        cuts = np.flatnonzero(broken & flags[1:] & flags[:-1]) + 1
        begins, ends = np.sort(np.append(begins, cuts)), np.sort(np.append(ends, cuts - 1))
    return list(zip(begins.tolist(), ends.tolist(), strict=True))


def highest(values: Numbers) -> float | None:
    """Return the largest known value."""
    extreme = float(np.fmax.reduce(values, initial=np.nan))
    return None if np.isnan(extreme) else extreme


def lowest(values: Numbers) -> float | None:
    """Return the smallest known value."""
    extreme = highest(-values)
    return None if extreme is None else 0.0 - extreme


def _mean(values: Numbers, weight: Numbers) -> float | None:
    is_known = ~np.isnan(values)
    if not is_known.all():
        values, weight = values[is_known], weight[is_known]
    total = float(weight.sum())
    if total <= 0:
        return highest(values)
    return float(np.dot(values, weight)) / total


def _longest(series: Series, frames: slice) -> float | None:
    t = series.t[frames]
    if not is_recorded(series["throttle_pct"][frames]):
        return None
    pause = np.append(series.gap, True)[frames]
    longest = 0.0
    for first, last in find_runs(is_full_throttle(series)[frames], pause[:-1]):
        # A frame lasts until the next one; before a pause its duration is unknown.
        until = t[last] if pause[last] or last + 1 == len(t) else t[last + 1]
        longest = max(longest, float(until - t[first]))
    return longest


@dataclass(frozen=True, slots=True)
class LapTopSpeed:
    """A lap's top speed on the straight."""

    lap_number: int
    top_speed_kmh: Kmh
    """km/h"""


@dataclass(frozen=True, slots=True)
class StraightRecord:
    """One straight."""

    name: str
    start_m: Metres
    """m of lap progress; above end_m: crosses start/finish"""
    end_m: Metres
    """m of lap progress"""
    top_speed_kmh: Kmh | None
    """km/h: of all passes from end to end, and all frames on it of complete laps"""
    from_lap: int | None
    """complete lap with that frame; null: out or in lap"""
    average_top_kmh: Kmh | None
    """km/h: mean of the laps' top speeds"""
    per_lap: tuple[LapTopSpeed, ...]
    """complete laps in time order"""


def measure_straights(drive: Drive) -> tuple[StraightRecord, ...]:
    """Measure top speeds on the straights of the track file, else between the corners.

    In lap order. If a straight crosses start/finish, each lap has a part of it at either end. Out
    and in laps count on straights that they drove from end to end.
    """
    speed = drive.series["speed_ms"][drive.frames] * KMH
    return tuple(_speeds_on(drive, straight, speed) for straight in drive.straights)


def _passes(drive: Drive, straight: Straight) -> Flags:
    """Flag the frames on *straight*, except those of out and in laps that drove only part of it."""
    place = drive.progress.p[drive.frames]
    pause = drive.series.gap[drive.frames][: len(place) - 1]
    begun, not_ended = place >= straight.start_m, place <= straight.end_m
    here = begun | not_ended if straight.start_m > straight.end_m else begun & not_ended
    cut = np.concatenate([[True], pause, [True]])  # before each frame, and after the last
    driven = drive.lap_of[drive.frames] > 0
    for first, last in find_runs(here, pause):
        driven[first : last + 1] |= not (cut[first] or cut[last + 1])
    return here & driven


def _speeds_on(drive: Drive, straight: Straight, speed: Numbers) -> StraightRecord:
    name, start, end = straight.name, straight.start_m, straight.end_m
    here = np.flatnonzero(_passes(drive, straight) & ~np.isnan(speed))
    if not len(here):
        return StraightRecord(name, start, end, None, None, None, ())
    speeds, frames = speed[here], here + drive.frames.start
    fastest = int(frames[speeds.argmax()])
    laps, owner = [], None
    for lap in drive.counted:
        first, last = np.searchsorted(frames, [lap.first, lap.last]).tolist()
        if first < last:
            laps.append(LapTopSpeed(lap.number or 0, float(speeds[first:last].max())))
        if lap.first <= fastest < lap.last:
            owner = lap.number
    average = sum(lap.top_speed_kmh for lap in laps) / len(laps) if laps else None
    return StraightRecord(name, start, end, float(speeds.max()), owner, average, tuple(laps))
