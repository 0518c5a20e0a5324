"""A session on its circuit: the input of every analytic."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import Literal, TypeVar, cast

import numpy as np

from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.laps import TIE_S, Laps, Segment
from runtime.bridge.session.progress import (
    Progress,
    Span,
    divide_in_thirds,
    find_own_sectors,
    measure_progress,
)
from runtime.bridge.session.series import Series
from runtime.bridge.track.corners import find_corners, find_straights, scale_corner
from runtime.bridge.track.driven import DrivenLine, find_session_line, usual_values
from runtime.bridge.track.model import Corner, Straight, Track

T = TypeVar("T")


class NoLaps(ValueError):
    """The session has frames, but not one complete lap."""


class NoSuchLap(ValueError):
    """No complete lap has this number."""


class NoCorners(ValueError):
    """The corners are unknown, without a track file and usable positions, or it is unknown where on
    the circuit the laps begin."""


@dataclass(frozen=True, eq=False)
class Drive:
    """Laps, circuit and places; every distance is lap progress in metres, in [0, length)."""

    laps: Laps
    counted: tuple[Segment, ...]
    """The complete laps that an analytic considers, in time order."""
    progress: Progress
    track: Track | None = None
    driven: DrivenLine | None = None
    """The line that the session drives, if no track file has one."""
    words: str = ""
    """The name of the place if there is no track."""
    partial: bool = False
    """Whether the whole session counts as one lap."""
    chosen: int | None = None
    """Number of the only lap considered."""
    whole: "Drive | None" = None
    """The drive that this is a lap of."""
    memo: dict[str, object] = field(default_factory=dict)
    """Cached results that several analytics use."""

    @property
    def place(self) -> str:
        """Name of the circuit; empty if unknown."""
        return self.track.name if self.track is not None else self.words

    @property
    def series(self) -> Series:
        """The frames of the session."""
        return self.laps.series

    @property
    def length_m(self) -> float:
        """Of a lap."""
        return self.progress.length_m

    @property
    def best(self) -> Segment:
        """The fastest of the counted laps; of equal ones the earliest."""
        least = min(lap.duration_s for lap in self.counted)
        return next(lap for lap in self.counted if lap.duration_s <= least + TIE_S)

    def lap(self, number: int | None) -> Segment:
        """Return the lap of this number, the best one for None. Raises `NoSuchLap`."""
        if number is None:
            return self.best
        for lap in self.counted:
            if lap.number == number:
                return lap
        raise NoSuchLap

    @cached_property
    def frames(self) -> slice:
        """The frames considered: all, or those of the chosen lap."""
        return self.counted[0].frames if self.chosen is not None else slice(0, len(self.series))

    @cached_property
    def lap_of(self) -> Indices:
        """Number of the counted lap that each frame of the series belongs to; 0 outside."""
        numbers = np.zeros(len(self.series), dtype=np.intp)
        for lap in self.counted:
            numbers[lap.frames] = lap.number or 0
        return numbers

    @cached_property
    def sectors(self) -> tuple[Span, ...]:
        """Three, from 0 to the length."""
        return choose_sectors(self.laps, self.progress, self.track)

    @property
    def geometry(self) -> Literal["track", "detected"] | None:
        """The source of the corners; None if they are unknown."""
        if self.track is not None and self.track.corners:
            return "track"
        return "detected" if self.detected is not None else None

    @property
    def corners(self) -> tuple[Corner, ...]:
        """In lap order; none on a circuit that bends everywhere. Raises `NoCorners`."""
        if self.track is not None and self.track.corners:
            return tuple(self.track.in_lap_order())
        if self.detected is None:
            raise NoCorners
        return self.detected

    def corner(self, name: str) -> Corner:
        """Return the corner of this name, which must exist. Raises `NoCorners`."""
        return next(corner for corner in self.corners if corner.name == name)

    def behind_apex_m(self, name: str, frame: int) -> float:
        """Return how far after the apex of a corner a frame lies, metres; negative before it."""
        away, half = self.progress.p[frame] - self.corner(name).apex.distance_m, self.length_m / 2
        return float((away + half) % self.length_m - half)

    @cached_property
    def straights(self) -> tuple[Straight, ...]:
        """Those of the track file, else the stretches outside all corners."""
        if self.track is not None and self.track.straights:
            return self.track.straights
        return find_straights(self.corners, self.length_m) if self.geometry else ()

    @cached_property
    def detected(self) -> tuple[Corner, ...] | None:
        """Corners detected on the circuit's line, else on the driven one; None without either."""
        if self.whole is not None:  # the corners do not depend on the chosen lap
            return self.whole.detected
        if self.track is not None and self.track.line is not None:
            line, speed = self.track.line, self.series["speed_ms"]
            bends = find_corners(line, usual_values(self.progress, self.counted, speed, line))
        elif self.driven is not None:
            bends = find_corners(self.driven.line, self.driven.speed_ms)
            scale = self.length_m / self.driven.line.length_m
            bends = [scale_corner(bend, scale) for bend in bends]
        else:
            return None
        return tuple(bends)


def once_per_drive(compute: Callable[[Drive], T]) -> Callable[[Drive], T]:
    """Cache the result of *compute* for each drive."""

    @wraps(compute)
    def remember(drive: Drive) -> T:
        if compute.__qualname__ not in drive.memo:
            drive.memo[compute.__qualname__] = compute(drive)
        return cast(T, drive.memo[compute.__qualname__])

    return remember


def drive_of(
    laps: Laps,
    track: Track | None = None,
    *,
    words: str = "",
    partial: bool = False,
    lap: int | None = None,
) -> Drive:
    """Build the drive of detected *laps* on *track*; *lap* restricts it to that complete lap.

    *words*: the name of the place if there is no track. With *partial*, a session without a
    complete lap counts as one. Raises `NoLaps` and `NoSuchLap`.
    """
    complete = laps.complete
    whole = partial and not complete
    if whole and laps.full.duration_s > 0:
        complete = (laps.full._replace(kind="lap", number=1, valid=True, best=True),)
    if not complete:
        raise NoLaps
    words = track.name if track is not None else words
    track = keep_aligned_track(laps, track)
    progress, driven = place_laps(laps, track)
    drive = Drive(
        laps, complete, progress or _along(laps), track, driven, words=words, partial=whole
    )
    return drive if lap is None else restrict_to_lap(drive, lap)


def keep_aligned_track(laps: Laps, track: Track | None) -> Track | None:
    """Return *track* if it is known where on it the laps begin; otherwise its corners are wrong."""
    return track if laps.start != "unknown" else None


def place_laps(laps: Laps, track: Track | None) -> tuple[Progress | None, DrivenLine | None]:
    """Return where each frame is, and the line that the session drives if *track* has none.

    Without a track the places are on the driven line, else by distance.
    """
    line = track.line if track is not None else None
    driven = find_session_line(laps) if line is None else None
    if track is not None or driven is None:
        return measure_progress(laps, line), driven
    nowhere = np.full(len(laps.series), np.nan)  # no lap is off its own line
    return driven.progress._replace(offset=nowhere), driven


def choose_sectors(laps: Laps, progress: Progress, track: Track | None) -> tuple[Span, ...]:
    """Return three sectors: those of the circuit, else between the two splits, else thirds."""
    if track is None:
        return find_own_sectors(laps, progress)
    return circuit_sectors(track, progress.length_m)


def circuit_sectors(track: Track, length_m: float) -> tuple[Span, ...]:
    """Return the three sectors of a circuit, or thirds, scaled to a lap of this length."""
    scale = length_m / track.length_m
    own = tuple(Span(s.name, s.start_m * scale, s.end_m * scale) for s in track.sectors)
    return own if len(own) == 3 else divide_in_thirds(length_m)


def restrict_to_lap(drive: Drive, lap: int) -> Drive:
    """Restrict a drive to one complete lap, on the same circuit. Raises `NoSuchLap`."""
    return replace(drive, counted=(drive.lap(lap),), chosen=lap, whole=drive, memo={})


def _along(laps: Laps) -> Progress:
    """Treat the session as one lap of the driven length."""
    length = max(laps.full.distance_m, 1.0)
    p = np.minimum(laps.travelled, np.nextafter(length, 0.0))
    return Progress(p, length, "distance", np.full(len(laps.series), np.nan))
