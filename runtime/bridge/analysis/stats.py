"""A session in a few numbers, and how fast each straight was driven."""

from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Flags, Series
from runtime.bridge.track.model import Straight

FULL_THROTTLE_PCT: Final = 95.0
ON_TRACK_MS: Final = 5.0


class Stats(NamedTuple):
    """Numbers of the frames looked at; None where the channel was not recorded."""

    top_speed_ms: float | None
    average_speed_ms: float | None
    """Over time: each frame weighs as long as it lasted."""
    max_combo_g: float | None
    max_g_lat: float | None
    """Without sign."""
    max_accel_g: float | None
    max_decel_g: float | None
    """The lowest longitudinal acceleration, negative under braking."""
    max_brake_bar: float | None
    longest_full_throttle_s: float | None
    """The longest run of frames with the throttle at 95 % or more; a pause ends it."""
    time_on_track_s: float | None
    """Faster than 5 m/s."""
    n_frames: int
    duration_s: float
    distance_m: float
    n_laps: int
    best_lap_s: float
    sample_rate_hz: float | None
    """From the median period."""
    n_gaps: int
    """Pauses of the recording."""


def stats(drive: Drive) -> Stats:
    """The session in numbers, or its chosen lap."""
    series, frames = drive.series, drive.frames
    whole = drive.counted[0] if drive.chosen is not None else drive.laps.full
    speed, weight = series["speed_ms"][frames], series.weight[frames]
    g_long, brake = series["g_long"][frames], series["brake_bar"][frames]
    return Stats(
        top_speed_ms=highest(speed),
        average_speed_ms=_mean(speed, weight),
        max_combo_g=highest(series.combo_g[frames]),
        max_g_lat=highest(np.abs(series["g_lat"][frames])),
        max_accel_g=highest(g_long),
        max_decel_g=lowest(g_long),
        max_brake_bar=highest(brake),
        longest_full_throttle_s=_longest(series, frames),
        time_on_track_s=None
        if np.isnan(speed).all()
        else min(float(weight[np.flatnonzero(speed > ON_TRACK_MS)].sum()), whole.duration_s),
        n_frames=len(speed),
        duration_s=whole.duration_s,
        distance_m=whole.distance_m,
        n_laps=len(drive.counted),
        best_lap_s=drive.best.duration_s,
        sample_rate_hz=1.0 / series.nominal_s if series.nominal_s > 0 else None,
        n_gaps=int(series.gap[frames.start : max(frames.stop - 1, frames.start)].sum()),
    )


def highest(values: Numbers) -> float | None:
    """The largest of what is known."""
    found = float(np.fmax.reduce(values, initial=np.nan))
    return None if np.isnan(found) else found


def lowest(values: Numbers) -> float | None:
    """The smallest of what is known."""
    found = highest(-values)
    return None if found is None else 0.0 - found


def _mean(values: Numbers, weight: Numbers) -> float | None:
    known = ~np.isnan(values)
    if not known.all():
        values, weight = values[known], weight[known]
    total = float(weight.sum())
    if total <= 0:
        return highest(values)
    return float(np.dot(values, weight)) / total


def _longest(series: Series, frames: slice) -> float | None:
    throttle, t = series["throttle_pct"][frames], series.t[frames]
    if np.isnan(throttle).all():
        return None
    full: Flags = throttle >= FULL_THROTTLE_PCT
    together = full[:-1] & full[1:] & ~series.gap[frames][: len(full) - 1]
    begins = np.flatnonzero(full & ~np.concatenate([[False], together]))
    if not len(begins):
        return 0.0
    ends = np.flatnonzero(full & ~np.append(together, False))
    # The last frame lasts until the next one; before a pause nobody knows how long.
    following = np.minimum(ends + 1, len(t) - 1)
    pause = np.append(series.gap, True)[frames][ends]
    until = np.where(pause, t[ends], t[following])
    return float((until - t[begins]).max())


class LapTop(NamedTuple):
    """A lap's top speed on a straight."""

    lap: int
    speed_ms: float


class StraightSpeed(NamedTuple):
    """A straight and the speeds reached on it."""

    straight: Straight
    top_ms: float | None
    """Of all frames on it; None where none has a speed."""
    from_lap: int | None
    """The complete lap that holds that frame; None: on the way out or in."""
    laps: tuple[LapTop, ...]
    """The complete laps with a reading there, in time order."""

    @property
    def average_top_ms(self) -> float | None:
        """Mean of the laps' top speeds."""
        return sum(one.speed_ms for one in self.laps) / len(self.laps) if self.laps else None


class StraightSpeeds(NamedTuple):
    """The straights in lap order."""

    length_m: float
    """Of the lap."""
    straights: tuple[StraightSpeed, ...]


def straight_line_speed(drive: Drive) -> StraightSpeeds:
    """Top speeds on the straights, which are those of the track file, else of its corners.

    Where a straight goes over start/finish, each lap has a part of it at either end.
    """
    speed = drive.series["speed_ms"][drive.frames]
    place = drive.progress.p[drive.frames]
    return StraightSpeeds(
        drive.length_m, tuple(_on(drive, one, speed, place) for one in drive.straights)
    )


def _on(drive: Drive, straight: Straight, speed: Numbers, place: Numbers) -> StraightSpeed:
    begun, not_ended = place >= straight.start_m, place <= straight.end_m
    over_line = straight.start_m > straight.end_m
    here = np.flatnonzero(begun | not_ended if over_line else begun & not_ended)
    here = here[~np.isnan(speed[here])]
    if not len(here):
        return StraightSpeed(straight, None, None, ())
    speeds, frames = speed[here], here + drive.frames.start
    fastest = int(frames[speeds.argmax()])
    laps, owner = [], None
    for lap in drive.counted:
        first, last = np.searchsorted(frames, [lap.first, lap.last]).tolist()
        if first < last:
            laps.append(LapTop(lap.number or 0, float(speeds[first:last].max())))
        if lap.first <= fastest < lap.last:
            owner = lap.number
    return StraightSpeed(straight, float(speeds.max()), owner, tuple(laps))
