"""Follows a car round a circuit: its place in the lap, frame by frame."""

import math
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.geometry import Line
from runtime.bridge.session.progress import ON_LINE_M
from runtime.bridge.session.series import FROZEN_S, LONGEST_STEP_S, MOVING_MS, NULL_ISLAND_DEG
from runtime.bridge.track.model import Track

PAUSE_S: Final = 3.0
"""After a longer pause the place of the car is unknown; devices that send every other second pause
for less."""
STEP_S: Final = 1.0
"""After a longer step the previous place alone does not help to find the next."""
DRIFT_M: Final = 300.0
"""A distance computed from the speed is trusted this far: it is then off by 10 m."""
RESET_SHARE: Final = 0.05
"""The share of the lap within which a lap counter resets."""
AWAY_S: Final = 2.0
"""The previous place is kept for this long while fixes are off the line: they may be errors."""
LAPS: Final = 3.0
"""A counter that is this many laps away from any possible value counts something else."""
FASTEST_MS: Final = 100.0


class Report(NamedTuple):
    """A device's report on the place of its car; NaN: nothing."""

    lat: float
    lon: float
    counter_m: float = math.nan
    """A distance from start/finish, cumulative or reset each lap."""
    speed_ms: float = math.nan


class Counter:
    """Checks whether an unverified distance counts the metres of a lap.

    It does once it resets at the length of the lap; an odometer never does.
    """

    def __init__(self, length_m: float) -> None:
        self._length_m = length_m
        self._last = math.nan
        self._proved = False

    def update(self, counter_m: float) -> float:
        """Return the distance; NaN until it is proved."""
        if math.isfinite(counter_m):
            last, self._last = self._last, counter_m
            near = RESET_SHARE * self._length_m
            if counter_m < last - near:
                self._proved = abs(last - self._length_m) < near and abs(counter_m) < near
        return counter_m if self._proved else math.nan

    def pause(self) -> None:
        """Forget the last value: the counter may have changed meanwhile."""
        self._last = math.nan


class CounterCheck:
    """Checks whether a distance can count from start/finish.

    It cannot if its first value is laps away from 0, or a later one further than the fastest car
    could have driven since: then it is an odometer, which gives distances but no places.
    """

    def __init__(self, length_m: float) -> None:
        self._room_m = LAPS * length_m
        self._t, self._last = math.nan, 0.0
        self.plausible = True

    def update(self, t: float, counter_m: float) -> bool:
        """Take a value; return whether the counter jumped to it, which no car does."""
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
    """Adds to a computed distance what it leaves out of the longer steps between two frames."""

    def __init__(self) -> None:
        self._before = (math.nan, math.nan, math.nan)
        self._missed = 0.0

    def update(self, t: float, speed_ms: float, distance_m: float) -> float:
        """Return metres since the beginning; NaN without a computed distance."""
        then, speed, way = self._before
        self._before = t, speed_ms, distance_m
        if LONGEST_STEP_S < t - then <= PAUSE_S:
            due = (speed + speed_ms) / 2.0 * (t - then)
            if 0.0 <= distance_m - way < due:
                self._missed += due - (distance_m - way)
        return distance_m + self._missed


class Locator:
    """The place of one car on one track.

    By position if it is within 30 m of the reference line; a car that is elsewhere has no place.
    Without positions the counter of the device continues from the last known place, or counts from
    start/finish if it can. A distance computed from the speed drifts: it continues from a known
    place for a short way, and gives no place by itself. A fix repeated to the last digit is not
    new.
    """

    def __init__(self, track: Track) -> None:
        self.track = track
        self._line = track.line if track.line is not None and len(track.line) > 2 else None
        self._near: int | None = None
        self._on_line: tuple[float, float] | None = None
        """Progress and counter when the car was last seen on the line."""
        self._last: tuple[float, float] | None = None
        """Progress and computed distance when its place was last known."""
        self._t = self._seen = -math.inf
        self._fix: tuple[float, float, float] | None = None
        """Time, latitude and longitude of the last fix that was not a repetition."""
        self._at: float | None = None
        """Progress there."""
        self._check, self._way = CounterCheck(track.length_m), GapFiller()
        self.elsewhere = False
        """Whether it was last seen off the line."""

    def locate(self, t: float, report: Report, distance_m: float) -> float | None:
        """Return metres from start/finish at a moment; None if unknown."""
        step, self._t = t - self._t, t
        if self._check.update(t, report.counter_m):
            self._on_line = None
        way = self._way.update(t, report.speed_ms, distance_m)
        if not 0.0 <= step <= PAUSE_S:
            self._last = self._fix = None
        if self._line is not None and _is_fix(report.lat, report.lon):
            if self._fix is not None and self._fix[1:] == (report.lat, report.lon):
                return self._locate_repeated(t, report, way)
            self._fix = (t, report.lat, report.lon)
            self._at = self._locate_by_fix(self._line, t, report, way, near=0.0 <= step <= STEP_S)
            return self._remember(self._at, way)
        if (place := self._locate_by_counter(report.counter_m)) is not None:
            return self._remember(place, way)
        return self._locate_by_distance(way)

    def _remember(self, progress: float | None, way: float) -> float | None:
        if progress is not None:
            self._last = (progress, way) if math.isfinite(way) else None
        return progress

    def _locate_repeated(self, t: float, report: Report, way: float) -> float | None:
        """Locate by a repeated fix: the device has no new one yet, or has lost its satellites."""
        if self._at is None or self._fix is None:
            return None
        place = self._locate_by_counter(report.counter_m) if self._on_line is not None else None
        if place is not None:
            return self._remember(place, way)
        if (place := self._locate_by_distance(way)) is not None:
            return place
        frozen = t - self._fix[0] > FROZEN_S and report.speed_ms > MOVING_MS
        return None if frozen else self._at

    def _locate_by_counter(self, counter_m: float) -> float | None:
        if not math.isfinite(counter_m):
            return None
        if self._on_line is None:
            return counter_m % self.track.length_m if self._check.plausible else None
        progress, counter = self._on_line
        return (progress + counter_m - counter) % self.track.length_m

    def _locate_by_distance(self, way: float) -> float | None:
        if self._last is None or not math.isfinite(way):
            return None
        progress, before = self._last
        gone = way - before
        return (progress + gone) % self.track.length_m if 0.0 <= gone <= DRIFT_M else None

    def _locate_by_fix(
        self, line: Line, t: float, report: Report, way: float, *, near: bool
    ) -> float | None:
        """Locate by a fix on the line, searched first where the car should be, then everywhere."""
        ring = line.ring
        x, y = line.plane.xy(np.array([report.lat]), np.array([report.lon]))
        begin = self._near if near else None
        if (expected := self._locate_by_distance(way)) is not None:
            begin = int(expected / ring.step) % len(ring)
        if begin is None:
            points, away = ring.nearest(x, y)
        else:
            points, away = ring.follow(x, y, np.array([begin]), ON_LINE_M)
        self.elsewhere = bool(away[0] > ON_LINE_M)
        if self.elsewhere:
            self._near = None
            if not 0.0 <= t - self._seen <= AWAY_S:
                self._on_line = self._last = None
            return None
        self._near, self._seen = int(points[0]), t
        progress = float(ring.project(x, y, points).distance[0])
        self._on_line = (progress, report.counter_m) if math.isfinite(report.counter_m) else None
        return progress


def _is_fix(lat: float, lon: float) -> bool:
    if not (abs(lat) <= 90.0 and abs(lon) <= 180.0):  # also NaN
        return False
    return abs(lat) > NULL_ISLAND_DEG or abs(lon) > NULL_ISLAND_DEG
