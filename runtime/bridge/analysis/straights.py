"""How fast each straight was driven."""

from typing import NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.session.recording import Numbers
from runtime.bridge.track.model import Straight


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
