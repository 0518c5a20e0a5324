"""Follows a car round a circuit: its place in the lap, frame by frame."""

import math
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.geometry import Line
from runtime.bridge.session.progress import ON_LINE_M
from runtime.bridge.session.series import FROZEN_S, LONGEST_STEP_S, MOVING_MS, NULL_ISLAND_DEG
from runtime.bridge.track.model import Track

PAUSE_S: Final = 3.0
"""After a longer pause nobody knows where the car went; devices that send every other second have
shorter ones."""
STEP_S: Final = 1.0
"""After a longer one the place before is no help by itself in finding the next."""
RECKONED_M: Final = 300.0
"""So far a distance that was reckoned from the speed is believed: it is then off by 10 m."""
ANEW: Final = 0.05
"""Share of the lap within which a counter of the lap begins anew."""
AWAY_S: Final = 2.0
"""So long the place before outlives fixes off the line, which may be errors."""
LAPS: Final = 3.0
"""A counter that is so many laps from where it can be counts something else."""
FASTEST_MS: Final = 100.0


class Report(NamedTuple):
    """What a device says of where its car is; NaN: nothing."""

    lat: float
    lon: float
    counter_m: float = math.nan
    """A distance that counts from start/finish, over laps or anew in each."""
    speed_ms: float = math.nan


class Counter:
    """Whether an unverified distance counts the metres of a lap.

    It does where it was seen to begin anew at the length of the lap; an odometer never does.
    """

    def __init__(self, length_m: float) -> None:
        self._length_m = length_m
        self._last = math.nan
        self._proved = False

    def update(self, counter_m: float) -> float:
        """The distance; NaN until it has proved itself."""
        if math.isfinite(counter_m):
            last, self._last = self._last, counter_m
            near = ANEW * self._length_m
            if counter_m < last - near:
                self._proved = abs(last - self._length_m) < near and abs(counter_m) < near
        return counter_m if self._proved else math.nan

    def pause(self) -> None:
        """What it did meanwhile is not known."""
        self._last = math.nan


class CounterCheck:
    """Whether a distance that was sent as one can count from start/finish.

    It cannot where it is laps away from 0 when it is first heard, or from where the fastest car
    would have brought it since: then it is an odometer, which tells ways but no places.
    """

    def __init__(self, length_m: float) -> None:
        self._room_m = LAPS * length_m
        self._t, self._last = math.nan, 0.0
        self.plausible = True

    def update(self, t: float, counter_m: float) -> bool:
        """It said so; whether it leapt to there, which no car does."""
        if not math.isfinite(counter_m):
            return False
        passed = max(t - self._t, 0.0) if math.isfinite(self._t) else 0.0
        leapt = abs(counter_m - self._last) > self._room_m + FASTEST_MS * passed
        if abs(counter_m) <= self._room_m:
            self.plausible = True
        elif leapt:
            self.plausible = False
        self._t, self._last = t, counter_m
        return leapt


class GapFiller:
    """A reckoned distance with what it leaves out of the longer steps between two frames."""

    def __init__(self) -> None:
        self._before = (math.nan, math.nan, math.nan)
        self._missed = 0.0

    def update(self, t: float, speed_ms: float, reckoned_m: float) -> float:
        """Metres from where it began; NaN where none was reckoned."""
        then, speed, way = self._before
        self._before = t, speed_ms, reckoned_m
        if LONGEST_STEP_S < t - then <= PAUSE_S:
            due = (speed + speed_ms) / 2.0 * (t - then)
            if 0.0 <= reckoned_m - way < due:
                self._missed += due - (reckoned_m - way)
        return reckoned_m + self._missed


class Locator:
    """The place of one car on one track.

    By position on the reference line where there is one within 30 m; a car that is elsewhere has
    no place. Without positions the counter of the device goes on from the last place found, or
    counts from start/finish where it can. A distance that was only reckoned, from the speed,
    drifts: it goes on for a short way from a place that was found, and makes none by itself. A fix
    that is repeated to the last digit tells nothing new.
    """

    def __init__(self, track: Track) -> None:
        self.track = track
        self._line = track.line if track.line is not None and len(track.line) > 2 else None
        self._near: int | None = None
        self._found: tuple[float, float] | None = None
        """Progress and counter when the car was last seen on the line."""
        self._last: tuple[float, float] | None = None
        """Progress and reckoned distance when its place was last known."""
        self._t = self._seen = -math.inf
        self._fix: tuple[float, float, float] | None = None
        """Time, latitude and longitude of the last fix that was not a repetition."""
        self._at: float | None = None
        """Progress there."""
        self._check, self._way = CounterCheck(track.length_m), GapFiller()
        self.elsewhere = False
        """Whether it was last seen off the line."""

    def locate(self, t: float, told: Report, reckoned_m: float) -> float | None:
        """Metres from start/finish at a moment; None where it is not known."""
        step, self._t = t - self._t, t
        if self._check.update(t, told.counter_m):
            self._found = None
        way = self._way.update(t, told.speed_ms, reckoned_m)
        if not 0.0 <= step <= PAUSE_S:
            self._last = self._fix = None
        if self._line is not None and _is_fix(told.lat, told.lon):
            if self._fix is not None and self._fix[1:] == (told.lat, told.lon):
                return self._held(t, told, way)
            self._fix = (t, told.lat, told.lon)
            self._at = self._by_fix(self._line, t, told, way, near=0.0 <= step <= STEP_S)
            return self._known(self._at, way)
        if (counted := self._counted(told.counter_m)) is not None:
            return self._known(counted, way)
        return self._reckoned(way)

    def _known(self, progress: float | None, way: float) -> float | None:
        if progress is not None:
            self._last = (progress, way) if math.isfinite(way) else None
        return progress

    def _held(self, t: float, told: Report, way: float) -> float | None:
        """By a fix that was told before: a device may repeat it until the next, or has lost it."""
        if self._at is None or self._fix is None:
            return None
        if self._found is not None and (counted := self._counted(told.counter_m)) is not None:
            return self._known(counted, way)
        if (reckoned := self._reckoned(way)) is not None:
            return reckoned
        frozen = t - self._fix[0] > FROZEN_S and told.speed_ms > MOVING_MS
        return None if frozen else self._at

    def _counted(self, counter_m: float) -> float | None:
        if not math.isfinite(counter_m):
            return None
        if self._found is None:
            return counter_m % self.track.length_m if self._check.plausible else None
        progress, counter = self._found
        return (progress + counter_m - counter) % self.track.length_m

    def _reckoned(self, way: float) -> float | None:
        if self._last is None or not math.isfinite(way):
            return None
        progress, before = self._last
        gone = way - before
        return (progress + gone) % self.track.length_m if 0.0 <= gone <= RECKONED_M else None

    def _by_fix(
        self, line: Line, t: float, told: Report, way: float, *, near: bool
    ) -> float | None:
        """By a fix on the line; it is looked for where the car should be, then everywhere."""
        ring = line.ring
        x, y = line.plane.xy(np.array([told.lat]), np.array([told.lon]))
        begin = self._near if near else None
        if (expected := self._reckoned(way)) is not None:
            begin = int(expected / ring.step) % len(ring)
        if begin is None:
            points, away = ring.nearest(x, y)
        else:
            points, away = ring.follow(x, y, np.array([begin]), ON_LINE_M)
        self.elsewhere = bool(away[0] > ON_LINE_M)
        if self.elsewhere:
            self._near = None
            if not 0.0 <= t - self._seen <= AWAY_S:
                self._found = self._last = None
            return None
        self._near, self._seen = int(points[0]), t
        progress = float(ring.project(x, y, points).distance[0])
        self._found = (progress, told.counter_m) if math.isfinite(told.counter_m) else None
        return progress


def _is_fix(lat: float, lon: float) -> bool:
    if not (abs(lat) <= 90.0 and abs(lon) <= 180.0):  # so NaN is none
        return False
    return abs(lat) > NULL_ISLAND_DEG or abs(lon) > NULL_ISLAND_DEG
