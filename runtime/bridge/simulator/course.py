"""The lap that the synthetic car drives: along a reference line, or around an ellipse."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.session.geometry import Line, Plane
from runtime.bridge.session.recording import Gate, Numbers
from runtime.bridge.simulator.car import (
    GRID_M,
    LEAST_RPM,
    MOST_RPM,
    Car,
    Controls,
    Gearbox,
    controls,
    line_curvature,
    run,
)
from runtime.bridge.track.model import Track, TrackError

MPH: Final = 0.44704
"""m/s."""
SLOWEST_MS: Final = 28.0 * MPH
FASTEST_MS: Final = 135.0 * MPH
MARGIN: Final = 0.02
"""Share that the programme keeps free at either bound, for laps that vary a little."""
USED_GRIP: Final = 0.92
KNOTS: Final = 4000
# Of half a lap of the programme.
BRAKED: Final = 0.20
TURNED: Final = 0.35

LEAD_S: Final = 5.0
LONGEST_LEAD: Final = 0.25
"""Share of a lap."""
LAT_DEG: Final = 0.005
LON_DEG: Final = 0.0065
BAR_PER_PSI: Final = 0.0689476
PSI_PER_PCT: Final = 8.0


@dataclass(frozen=True, eq=False)
class Lap:
    """A lap that ends as the next one starts; acceleration is constant between knots."""

    t: Numbers
    """Seconds, from 0 to the lap time."""
    s: Numbers
    """Metres, from 0 to the length."""
    speed: Numbers
    """m/s; the last equals the first."""

    @property
    def seconds(self) -> float:
        """The lap time."""
        return float(self.t[-1])

    @property
    def length_m(self) -> float:
        """The distance driven in a lap."""
        return float(self.s[-1])

    def at(self, t: Numbers) -> tuple[Numbers, Numbers]:
        """Return metres and m/s at times within the lap."""
        i = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 2)
        rest = t - self.t[i]
        gain = (self.speed[i + 1] - self.speed[i]) / (self.t[i + 1] - self.t[i])
        return self.s[i] + rest * (self.speed[i] + rest * gain / 2), self.speed[i] + rest * gain


class LineLap(NamedTuple):
    """A lap of a reference line, and a car that can drive it in that time."""

    lap: Lap
    car: Car
    curvature: Numbers
    """1/m at even steps of the lap, positive to the right."""


def make_line_lap(track: Track, seconds: float | None = None) -> LineLap:
    """Make the lap of a touring car at its limit, scaled as a whole to *seconds* if given.

    A lap k times as fast takes k² times the grip and k³ times the power, which the car gets, so
    that the pedals stay the same. On a slower lap the default car is driven more gently. Raises
    `TrackError` without a line.
    """
    if track.line is None:
        raise TrackError("the circuit has no reference line to drive on")
    car = Car()
    around = max(100, round(track.length_m / GRID_M))
    curvature = line_curvature(track.line, track.length_m, around)
    s: Numbers = np.arange(3 * around + 1, dtype=np.float64) * (track.length_m / around)
    bend = curvature[np.arange(len(s)) % around]
    whole = run(car, s, bend, np.full(len(s), USED_GRIP), car.top_ms, car.top_ms)
    speed = whole.speed[around : 2 * around + 1].copy()  # the middle lap: a flying one
    speed[-1] = speed[0]
    s = s[: around + 1]
    t = np.concatenate([[0.0], np.cumsum(2 * np.diff(s) / (speed[1:] + speed[:-1]))])
    if seconds is None:
        return LineLap(Lap(t, s, speed), car, curvature)
    factor = float(t[-1]) / seconds
    t = t / factor
    t[-1] = seconds
    return LineLap(Lap(t, s, speed * factor), _strengthen(car, max(factor, 1.0)), curvature)


def find_natural_seconds(track: Track) -> float:
    """Return the default car's lap time to 0.1 s. Raises `TrackError` without a line."""
    return round(make_line_lap(track).lap.seconds, 1)


def _strengthen(car: Car, factor: float) -> Car:
    square = factor * factor
    return replace(
        car,
        grip=car.grip * square,
        brake_g=car.brake_g * square,
        drive_g=car.drive_g * square,
        power=car.power * square * factor,
        rolling=car.rolling * square,
        top_ms=car.top_ms * factor,
        bar_per_g=car.bar_per_g / square,
        understeer=car.understeer / square,
    )


def make_programme_lap(seconds: float, length_m: float | None = None) -> Lap:
    """Make a lap of two times braking, cornering and accelerating, between 28 and 135 mph.

    With a length, all speeds are scaled within these bounds until the lap has that length; if that
    is impossible, the lap time holds and the bounds do not.
    """
    t = np.linspace(0.0, seconds, KNOTS + 1)
    half = np.mod(t, seconds / 2) / (seconds / 2)
    low, high = SLOWEST_MS * (1 + MARGIN), FASTEST_MS * (1 - MARGIN)
    speed = np.interp(half, [0.0, BRAKED, TURNED, 1.0], [high, low, low, high])
    if length_m is not None:
        speed = _scale_to_mean(speed, length_m / seconds, low, high)
    speed[-1] = speed[0]
    s = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 2 * np.diff(t))])
    if length_m is not None:
        s, speed = s * (length_m / s[-1]), speed * (length_m / s[-1])
    return Lap(t, s, speed)


def _scale_to_mean(speed: Numbers, mean: float, low: float, high: float) -> Numbers:
    """Scale the speeds by one factor, clipped to the bounds, so that they have that mean."""
    if not low <= mean <= high:
        return np.asarray(speed * (mean / speed.mean()), np.float64)
    least, most = low / speed.max(), high / speed.min()
    for _ in range(60):
        middle = (least + most) / 2
        if np.clip(speed * middle, low, high).mean() < mean:
            least = middle
        else:
            most = middle
    return np.asarray(np.clip(speed * least, low, high), np.float64)


@dataclass(frozen=True, eq=False)
class LineCourse:
    """A course along the reference line of a circuit."""

    line: Line
    driven: LineLap
    gearbox: Gearbox

    @property
    def lap(self) -> Lap:
        """Time, distance and speed of the lap."""
        return self.driven.lap

    @property
    def lead_s(self) -> float:
        """Seconds before start/finish at which the drive starts, at speed."""
        return min(LEAD_S, LONGEST_LEAD * self.lap.seconds)

    def controls(self, t: Numbers, lap_t: Numbers, speed: Numbers, g_long: Numbers) -> Controls:
        """Compute the controls at times *t* of the drive and *lap_t* of the lap."""
        s, _ = self.lap.at(lap_t)
        bend = np.interp(s, *self._bends)
        return controls(self.driven.car, self.gearbox, speed, bend, g_long)

    def place(self, s: Numbers, aside: Numbers) -> tuple[Numbers, Numbers]:
        """Return latitude and longitude at distances, *aside* metres to the right."""
        ring = self.line.ring
        x, y = ring.at(s)
        ahead, behind = ring.at(s + ring.step / 2), ring.at(s - ring.step / 2)
        dx, dy = ahead[0] - behind[0], ahead[1] - behind[1]
        width = np.maximum(np.hypot(dx, dy), 1e-9)
        return self.line.plane.latlon(x + aside * dy / width, y - aside * dx / width)

    @cached_property
    def _bends(self) -> tuple[Numbers, Numbers]:
        """Distances over one lap, and the curvature there."""
        bend = self.driven.curvature
        return np.linspace(0.0, self.lap.length_m, len(bend) + 1), np.append(bend, bend[0])


@dataclass(frozen=True, eq=False)
class EllipseCourse:
    """A clockwise ellipse through start/finish in its direction, as long as the lap.

    Its axes are as 1.3 degrees of longitude to one of latitude. Without a circuit its centre is
    at 0, 0.
    """

    lap: Lap
    start: Gate | None = None

    @property
    def lead_s(self) -> float:
        """From the slow corner on, so that the line is crossed while accelerating."""
        return (1.0 - TURNED) * self.lap.seconds / 2

    def controls(self, t: Numbers, lap_t: Numbers, speed: Numbers, g_long: Numbers) -> Controls:
        """Compute the controls; accelerations are those of the programme, not of the speed."""
        seconds = self.lap.seconds
        half = np.mod(lap_t, seconds / 2) / (seconds / 2)
        side = np.where(lap_t < seconds / 2, 1.0, -1.0)
        braking, corner = half < BRAKED, (half >= BRAKED) & (half < TURNED)
        into = half / BRAKED
        through = (half - BRAKED) / (TURNED - BRAKED)
        out = (half - TURNED) / (1.0 - TURNED)
        phases = [braking, corner]
        g_lat = np.select(phases, [0.4 * into, 1.3 * np.sin(np.pi * through)], 1.0 - out)
        along = np.select(phases, [-into, -0.2 + 0.4 * through], 0.7 - 0.35 * out)
        brake_pct = np.select(phases, [75.0 * into, 15.0 * (1.0 - through)], 0.0)
        throttle = np.select(phases, [np.zeros(len(t)), 8.0 + 15.0 * through], 30.0 + 70.0 * out)
        pace = (speed - SLOWEST_MS) / (FASTEST_MS - SLOWEST_MS)
        return Controls(
            side * g_lat + 0.03 * np.sin(11.0 * t + 1.0),
            along + 0.05 * np.sin(7.0 * t),
            brake_pct * PSI_PER_PCT * BAR_PER_PSI,
            throttle,
            side * 75.0 * g_lat / 1.3,
            np.clip(LEAST_RPM + (MOST_RPM - LEAST_RPM) * pace, LEAST_RPM, MOST_RPM),
        )

    def place(self, s: Numbers, aside: Numbers) -> tuple[Numbers, Numbers]:
        """Return latitude and longitude at distances; the course has no width."""
        plane, way, x, y = self._path
        share = np.mod(s, self.lap.length_m)
        return plane.latlon(np.interp(share, way, x), np.interp(share, way, y))

    @cached_property
    def _path(self) -> tuple[Plane, Numbers, Numbers, Numbers]:
        """The plane, and the distances and points of a lap on it."""
        lat = self.start.lat if self.start else 0.0
        a, b = LON_DEG * math.cos(math.radians(lat)), LAT_DEG
        course = math.radians(self.start.heading if self.start else 0.0)
        begin = math.atan2(-math.cos(course) / b, math.sin(course) / a)
        angle = begin + np.linspace(0.0, 2 * np.pi, 7201)
        x, y = a * np.sin(angle), b * np.cos(angle)
        way = np.concatenate([[0.0], np.cumsum(np.hypot(np.diff(x), np.diff(y)))])
        size = self.lap.length_m / way[-1]
        x, y, way = x * size, y * size, way * size
        if self.start is None:
            return Plane(0.0, 0.0), way, x, y
        return Plane(self.start.lat, self.start.lon), way, x - x[0], y - y[0]


Course: TypeAlias = LineCourse | EllipseCourse
"""A lap that can be repeated."""


def choose_course(track: Track | None, seconds: float, gearbox: Gearbox | None = None) -> Course:
    """Choose the lap to drive in *seconds*: along the circuit's line if it has one."""
    if track is None:
        return EllipseCourse(make_programme_lap(seconds))
    if track.line is None:
        return EllipseCourse(make_programme_lap(seconds, track.length_m), track.start)
    return LineCourse(track.line, make_line_lap(track, seconds), gearbox or Gearbox())
