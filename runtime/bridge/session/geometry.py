"""Flat geometry of a circuit: the local plane, and the closed line that laps are measured on."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import Numbers

Indices = npt.NDArray[np.intp]
Terms: TypeAlias = tuple[Numbers, Numbers, Numbers]
"""Coefficients of x, y and 1, at each point of a path."""

METRES_PER_DEGREE: Final = 111_320.0
RING_STEP_M: Final = 5.0
REACH_M: Final = 150.0
"""A car is searched for this far to each side of where it was."""
PAIRS: Final = 1 << 18
"""Distances that are computed together."""


class Plane(NamedTuple):
    """A flat map in metres, x to the east and y to the north, exact enough for 50 km around."""

    lat: float
    lon: float

    def xy(self, lat: Numbers, lon: Numbers) -> tuple[Numbers, Numbers]:
        """Return metres from the origin, without a jump at the date line."""
        east = lon - self.lon
        if len(east) and np.fmax.reduce(np.abs(east)) > 180.0:
            east = (east + 180.0) % 360.0 - 180.0
        return east * self._per_degree_of_longitude, (lat - self.lat) * METRES_PER_DEGREE

    def latlon(self, x: Numbers, y: Numbers) -> tuple[Numbers, Numbers]:
        """Return latitude and longitude of points of the map."""
        lon = self.lon + x / self._per_degree_of_longitude
        return self.lat + y / METRES_PER_DEGREE, (lon + 180.0) % 360.0 - 180.0

    @property
    def _per_degree_of_longitude(self) -> float:
        # The floor keeps the map invertible at the poles.
        return max(math.cos(math.radians(self.lat)), 1e-9) * METRES_PER_DEGREE


def metres_between(lat: float, lon: float, other_lat: float, other_lon: float) -> float:
    """Return the distance of two places on the map around the first."""
    x, y = Plane(lat, lon).xy(np.array([other_lat]), np.array([other_lon]))
    return float(np.hypot(x[0], y[0]))


@dataclass(frozen=True, eq=False)
class Line:
    """The reference line of a circuit: once around, from start/finish, not repeating its start."""

    distance: Numbers
    """Metres from start/finish; rising, from 0 up to less than the length."""
    lat: Numbers
    lon: Numbers
    altitude: Numbers
    """Metres; NaN where unknown."""
    length_m: float

    def __len__(self) -> int:
        return len(self.distance)

    @cached_property
    def plane(self) -> Plane:
        """The map whose origin is the first point."""
        return Plane(float(self.lat[0]), float(self.lon[0]))

    @cached_property
    def ring(self) -> "Ring":
        """The line in its plane, one point about every 5 m."""
        return build_ring(*self.plane.xy(self.lat, self.lon), self.distance, self.length_m)

    def place(self, distance_m: float) -> tuple[float, float]:
        """Return latitude and longitude at a distance."""
        x, y = self.ring.at(np.array([distance_m]))
        lat, lon = self.plane.latlon(x, y)
        return float(lat[0]), float(lon[0])


class Projection(NamedTuple):
    """The positions of points relative to a line."""

    distance: Numbers
    """Metres along the line, in [0, length)."""
    offset: Numbers
    """Metres from the line, positive to the right of travel."""


@dataclass(frozen=True, eq=False)
class Ring:
    """A closed path of evenly spaced points in a plane."""

    x: Numbers
    y: Numbers
    length_m: float

    def __len__(self) -> int:
        return len(self.x)

    @property
    def step(self) -> float:
        """Metres along the path from a point to the next."""
        return self.length_m / len(self.x)

    @property
    def places(self) -> Numbers:
        """Metres along the path of each point."""
        return np.arange(len(self.x), dtype=np.float64) * self.step

    @cached_property
    def chords(self) -> tuple[Numbers, Numbers]:
        """The vector from each point to the next."""
        return np.roll(self.x, -1) - self.x, np.roll(self.y, -1) - self.y

    @cached_property
    def curvature(self) -> Numbers:
        """Degrees of heading a metre at each point, positive to the right."""
        dx, dy = self.chords
        heading = np.arctan2(dx, dy)
        turn = heading - np.roll(heading, 1)
        return np.degrees((turn + np.pi) % (2 * np.pi) - np.pi) / self.step

    def at(self, distance: Numbers) -> tuple[Numbers, Numbers]:
        """Return points of the path at any distances: the path is closed."""
        position = distance / self.step
        whole = np.floor(position)
        i = whole.astype(np.intp) % len(self)
        dx, dy = self.chords
        return self.x[i] + (position - whole) * dx[i], self.y[i] + (position - whole) * dy[i]

    def heading(self, distance_m: float) -> float:
        """Return the direction of travel at a distance in degrees, 0 north, clockwise."""
        x, y = self.at(np.array([distance_m - self.step / 2, distance_m + self.step / 2]))
        return math.degrees(math.atan2(x[1] - x[0], y[1] - y[0])) % 360.0

    def follow(
        self, x: Numbers, y: Numbers, near: Indices, within_m: float
    ) -> tuple[Indices, Numbers]:
        """Return the nearest point to each place, and its distance.

        Searched 150 m to each side of the points *near*, and on the whole path if it may lie
        further away or if nothing is within *within_m* metres.
        """
        i = (near[:, None] + self._window) % len(self)
        squares = (self.x[i] - x[:, None]) ** 2 + (self.y[i] - y[:, None]) ** 2
        best, row = squares.argmin(axis=1), np.arange(len(x))
        point, away = i[row, best], np.sqrt(squares[row, best])
        lost = (away > within_m) | (best == 0) | (best == len(self._window) - 1)
        if lost.any():
            point[lost], away[lost] = self.nearest(x[lost], y[lost])
        return point, away

    @cached_property
    def _window(self) -> Indices:
        reach = min(max(1, round(REACH_M / self.step)), len(self) // 2)
        return np.arange(-reach, reach + 1)

    def nearest(self, x: Numbers, y: Numbers) -> tuple[Indices, Numbers]:
        """Return the nearest of all points to each place, and its distance."""
        best, away = np.empty(len(x), dtype=np.intp), np.empty(len(x))
        rows = max(1, PAIRS // len(self))
        for begin in range(0, len(x), rows):  # all pairs at once take much memory on a long path
            part = slice(begin, begin + rows)
            squares = (x[part, None] - self.x) ** 2 + (y[part, None] - self.y) ** 2
            best[part] = np.argmin(squares, axis=1)
            away[part] = np.sqrt(squares.min(axis=1))
        return best, away

    def project(self, x: Numbers, y: Numbers, near: Indices) -> Projection:
        """Return the nearest place of the path, up to two steps from the points *near*.

        In two passes: the first, on the infinite tangent at the point, finds the segment.
        """
        i, (along, across) = near % len(self), self._tangents
        for least in (-2, -1):
            way = _evaluate(along, x, y, i)
            i = i + np.clip(np.floor(way), least, 1).astype(np.intp)
        steps = np.asarray(i + np.clip(_evaluate(along, x, y, i), 0.0, 1.0), np.float64)
        return Projection(steps * self.step % self.length_m, _evaluate(across, x, y, i))

    @cached_property
    def _tangents(self) -> tuple[Terms, Terms]:
        """Terms of the tangent at each point: how far along it a place is from the point, in
        steps, and how far to the right of it, in metres."""
        dx, dy = self.chords
        length = np.maximum(np.hypot(dx, dy), 1e-9)
        ux, uy = dx / length, dy / length
        along = ux / length, uy / length, -(self.x * ux + self.y * uy) / length
        return along, (uy, -ux, self.y * ux - self.x * uy)


def _evaluate(terms: Terms, x: Numbers, y: Numbers, i: Indices) -> Numbers:
    """Evaluate the *terms* of the points *i* of a closed path at places."""
    a, b, c = (term.take(i, mode="wrap") for term in terms)
    value: Numbers = a * x + b * y + c
    return value


def build_ring(
    x: Numbers, y: Numbers, distance: Numbers, length_m: float, step_m: float = RING_STEP_M
) -> Ring:
    """Build evenly spaced points of a smooth closed curve through at least three points.

    *distance* rises from 0 to less than *length_m*; the curve goes on from the last point to the
    first.
    """
    count = max(8, round(length_m / step_m))
    wanted = np.arange(count) * (length_m / count)
    i = np.searchsorted(distance, wanted, side="right") - 1
    knots = np.append(distance, length_m)
    width = np.diff(knots)
    share = (wanted - distance[i]) / width[i]
    return Ring(_hermite(x, width, i, share), _hermite(y, width, i, share), length_m)


def _hermite(value: Numbers, width: Numbers, i: Indices, share: Numbers) -> Numbers:
    """Interpolate by cubics with the slopes of the parabolas through neighbouring points."""
    following = np.roll(value, -1)
    secant = (following - value) / width
    before, width_before = np.roll(secant, 1), np.roll(width, 1)
    slope = (secant * width_before + before * width) / (width + width_before)
    s2, s3 = share**2, share**3
    points = value[i] * (2 * s3 - 3 * s2 + 1) + following[i] * (3 * s2 - 2 * s3)
    slopes = slope[i] * (s3 - 2 * s2 + share) + np.roll(slope, -1)[i] * (s3 - s2)
    return points + slopes * width[i]
