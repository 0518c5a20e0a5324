"""Follows a car round a circuit: its place in the lap, frame by frame."""

import math
from functools import lru_cache
from typing import Final, NamedTuple

from runtime.bridge.laps.geometry import METRES_PER_DEGREE, Line
from runtime.bridge.laps.progress import LOST_M, ON_LINE_M
from runtime.bridge.tracks.model import Track

NULL_ISLAND_DEG: Final = 1e-6
PAUSE_S: Final = 1.0
"""After a longer pause the whole line is searched."""
STEPS: Final = 30
"""How far along the line, in its points, the next place is looked for: 150 m."""
RECKONED_M: Final = 300.0
"""So far a distance that was reckoned from the speed is believed: it is then off by 10 m."""
ANEW: Final = 0.05
"""Share of the lap within which a counter of the lap begins anew."""


class _Path:
    """The reference line as plain numbers: one lookup is then faster than by array."""

    def __init__(self, line: Line) -> None:
        ring, plane = line.ring, line.plane
        self.ring = ring
        self.lat, self.lon = plane.lat, plane.lon
        self.east = max(math.cos(math.radians(plane.lat)), 1e-9) * METRES_PER_DEGREE
        self.x: list[float] = ring.x.tolist()
        self.y: list[float] = ring.y.tolist()

    def xy(self, lat: float, lon: float) -> tuple[float, float]:
        """Metres from the origin of the line's plane."""
        east = (lon - self.lon + 180.0) % 360.0 - 180.0
        return east * self.east, (lat - self.lat) * METRES_PER_DEGREE

    def square(self, i: int, x: float, y: float) -> float:
        """Of the distance to a point of the line."""
        return (self.x[i] - x) ** 2 + (self.y[i] - y) ** 2

    def walk(self, i: int, x: float, y: float) -> int:
        """The nearest point near *i*: along the line for as long as it comes nearer."""
        count, best = len(self.x), self.square(i, x, y)
        for step in (1, -1):
            moved = i
            for _ in range(STEPS):
                ahead = (moved + step) % count
                square = self.square(ahead, x, y)
                if square >= best:
                    break
                moved, best = ahead, square
            if moved != i:
                return moved
        return i

    def search(self, x: float, y: float) -> int:
        """The nearest point of all."""
        ring = self.ring
        return int(((ring.x - x) ** 2 + (ring.y - y) ** 2).argmin())

    def along(self, i: int, x: float, y: float) -> tuple[float, float]:
        """Metres along the line of the place nearest to (x, y) beside point *i*, and how far."""
        count, found = len(self.x), (math.inf, 0.0)
        for begin in ((i - 1) % count, i):
            end = (begin + 1) % count
            dx, dy = self.x[end] - self.x[begin], self.y[end] - self.y[begin]
            px, py = x - self.x[begin], y - self.y[begin]
            length = dx * dx + dy * dy
            share = min(max((px * dx + py * dy) / length, 0.0), 1.0) if length > 0 else 0.0
            away = math.hypot(px - share * dx, py - share * dy)
            found = min(found, (away, begin + share))
        step = self.ring.step
        return found[1] * step % self.ring.length_m, found[0]


@lru_cache(maxsize=16)
def _path(line: Line) -> _Path:
    return _Path(line)


class Told(NamedTuple):
    """What a device says of where its car is; NaN: nothing."""

    lat: float
    lon: float
    counter_m: float = math.nan
    """A distance that counts from start/finish, over laps or anew in each."""


class Counter:
    """Whether a distance that nobody vouches for counts the metres of a lap.

    It does where it was seen to begin anew at the length of the lap; an odometer never does.
    """

    def __init__(self, length_m: float) -> None:
        self._length_m = length_m
        self._last = math.nan
        self._proved = False

    def told(self, counter_m: float) -> float:
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


class Locator:
    """The place of one car on one track.

    By position on the reference line where there is one within 30 m; a car that is elsewhere has
    no place. Without positions the counter of the device goes on from the last place found, or
    counts from start/finish. A distance that was only reckoned, from the speed, drifts: it goes on
    for a short way from a place that was found, and makes none by itself.
    """

    def __init__(self, track: Track) -> None:
        self.track = track
        usable = track.line is not None and len(track.line) > 2
        self._path = _path(track.line) if track.line is not None and usable else None
        self._near: int | None = None
        self._found: tuple[float, float] | None = None
        """Progress and counter when the car was last seen on the line."""
        self._last: tuple[float, float] | None = None
        """Progress and reckoned distance when its place was last known."""
        self._t = -math.inf
        self.elsewhere = False
        """Whether it was last seen off the line."""

    def locate(self, t: float, told: Told, reckoned_m: float) -> float | None:
        """Metres from start/finish at a moment; None where it is not known."""
        paused = t - self._t > PAUSE_S
        self._t = t
        if paused:
            self._last = None
        if self._path is not None and _is_fix(told.lat, told.lon):
            found = self._by_fix(self._path, told, paused=paused)
        elif math.isfinite(told.counter_m):
            progress, counter = self._found or (0.0, 0.0)
            found = (progress + told.counter_m - counter) % self.track.length_m
        else:
            return self._reckoned(reckoned_m)
        known = found is not None and math.isfinite(reckoned_m)
        self._last = (found, reckoned_m) if found is not None and known else None
        return found

    def _reckoned(self, reckoned_m: float) -> float | None:
        if self._last is None or not math.isfinite(reckoned_m):
            return None
        progress, before = self._last
        way = reckoned_m - before
        return (progress + way) % self.track.length_m if 0.0 <= way <= RECKONED_M else None

    def _by_fix(self, path: _Path, told: Told, *, paused: bool) -> float | None:
        x, y = path.xy(told.lat, told.lon)
        near = self._near
        if near is None or paused:
            near = path.search(x, y)
        else:
            near = path.walk(near, x, y)
            if path.square(near, x, y) > LOST_M**2:
                near = path.search(x, y)
        self._near = near
        progress, away = path.along(near, x, y)
        self.elsewhere = away > ON_LINE_M
        if self.elsewhere:
            self._near = self._found = None
            return None
        self._found = (progress, told.counter_m) if math.isfinite(told.counter_m) else None
        return progress


def _is_fix(lat: float, lon: float) -> bool:
    if not (abs(lat) <= 90.0 and abs(lon) <= 180.0):  # so NaN is none
        return False
    return abs(lat) > NULL_ISLAND_DEG or abs(lon) > NULL_ISLAND_DEG
