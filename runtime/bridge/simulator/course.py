"""Where the synthetic car drives: along a reference line, or around an ellipse by a programme."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple, Protocol

import numpy as np

from runtime.bridge.session.geometry import Line, Plane
from runtime.bridge.session.values import Gate, Numbers
from runtime.bridge.simulator.profile import (
    BRAKED,
    FASTEST_MS,
    SLOWEST_MS,
    TURNED,
    Lap,
    OnLine,
    by_programme,
    on_line,
)
from runtime.bridge.track.car import signals
from runtime.bridge.track.model import Track

LEAD_S: Final = 5.0
LONGEST_LEAD: Final = 0.25
"""Of a lap."""
LAT_DEG: Final = 0.005
LON_DEG: Final = 0.0065
BAR_PER_PSI: Final = 0.0689476
PSI_PER_PCT: Final = 8.0
LEAST_RPM: Final = 900.0
MOST_RPM: Final = 7800.0
CHANGE_UP_RPM: Final = 3600.0


class Controls(NamedTuple):
    """What the driver does and what the car makes of it; signs as in a frame of telemetry."""

    g_lat: Numbers
    g_long: Numbers
    brake_bar: Numbers
    throttle_pct: Numbers
    steering_deg: Numbers
    rpm: Numbers


class Course(Protocol):
    """A lap that can be driven again and again."""

    @property
    def lap(self) -> Lap:
        """Time, way and speed."""

    @property
    def lead_s(self) -> float:
        """How long before start/finish the drive begins, flying."""

    def controls(self, t: Numbers, lap_t: Numbers, speed: Numbers, g_long: Numbers) -> Controls:
        """At moments *t* of the drive and *lap_t* of the lap; *g_long* as the speed changes."""

    def place(self, s: Numbers, aside: Numbers) -> tuple[Numbers, Numbers]:
        """Latitude and longitude at distances, and so far to the right."""


@dataclass(frozen=True)
class Gearbox:
    """From wheels to engine."""

    ratios: tuple[float, ...] = (4.35, 2.50, 1.66, 1.24, 1.00, 0.85)
    final_drive: float = 3.07
    tyre_m: float = 1.97
    """Circumference."""

    def rpm(self, speed: Numbers) -> Numbers:
        """1/min in the highest gear that keeps the engine above 3600."""
        ratios = np.array(sorted(self.ratios, reverse=True)) * self.final_drive
        by_gear = ratios[:, None] * (speed * 60.0 / self.tyre_m)
        gear = np.maximum((by_gear >= CHANGE_UP_RPM).sum(axis=0) - 1, 0)
        rpm: Numbers = np.clip(by_gear[gear, np.arange(len(speed))], LEAST_RPM, MOST_RPM)
        return rpm


@dataclass(frozen=True, eq=False)
class LineCourse:
    """Along the reference line of a circuit."""

    line: Line
    driven: OnLine
    gearbox: Gearbox

    @property
    def lap(self) -> Lap:
        """See `Course`."""
        return self.driven.lap

    @property
    def lead_s(self) -> float:
        """See `Course`."""
        return min(LEAD_S, LONGEST_LEAD * self.lap.seconds)

    def controls(self, t: Numbers, lap_t: Numbers, speed: Numbers, g_long: Numbers) -> Controls:
        """See `Course`."""
        s, _ = self.lap.at(lap_t)
        bend = np.interp(s, *self._bends)
        seen = signals(self.driven.car, speed, bend, g_long)
        return Controls(
            seen.g_lat,
            g_long,
            seen.brake_bar,
            seen.throttle_pct,
            seen.steering_deg,
            self.gearbox.rpm(speed),
        )

    def place(self, s: Numbers, aside: Numbers) -> tuple[Numbers, Numbers]:
        """See `Course`."""
        ring = self.line.ring
        x, y = ring.at(s)
        ahead, behind = ring.at(s + ring.step / 2), ring.at(s - ring.step / 2)
        dx, dy = ahead[0] - behind[0], ahead[1] - behind[1]
        width = np.maximum(np.hypot(dx, dy), 1e-9)
        return self.line.plane.latlon(x + aside * dy / width, y - aside * dx / width)

    @cached_property
    def _bends(self) -> tuple[Numbers, Numbers]:
        """Distances from line to line, and the curvature there."""
        bend = self.driven.curvature
        return np.linspace(0.0, self.lap.length_m, len(bend) + 1), np.append(bend, bend[0])


@dataclass(frozen=True, eq=False)
class EllipseCourse:
    """Clockwise around an ellipse that goes through start/finish in its direction.

    Its sides are as 1.3 degrees of longitude to one of latitude; it is as large as the lap is
    long. Without a circuit its middle lies at 0, 0.
    """

    lap: Lap
    start: Gate | None = None

    @property
    def lead_s(self) -> float:
        """See `Course`; from the slow corner on, so that the line is met while accelerating."""
        return (1.0 - TURNED) * self.lap.seconds / 2

    def controls(self, t: Numbers, lap_t: Numbers, speed: Numbers, g_long: Numbers) -> Controls:
        """See `Course`; accelerations are those of the programme, whatever the speed does."""
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
        """See `Course`; it has no width."""
        plane, way, x, y = self._path
        share = np.mod(s, self.lap.length_m)
        return plane.latlon(np.interp(share, way, x), np.interp(share, way, y))

    @cached_property
    def _path(self) -> tuple[Plane, Numbers, Numbers, Numbers]:
        """The map, and the metres and points of a lap on it."""
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


def course_of(track: Track | None, seconds: float, gearbox: Gearbox | None = None) -> Course:
    """The lap to drive in *seconds*: the circuit's line where it has one."""
    if track is None:
        return EllipseCourse(by_programme(seconds))
    if track.line is None:
        return EllipseCourse(by_programme(seconds, track.length_m), track.start)
    return LineCourse(track.line, on_line(track, seconds), gearbox or Gearbox())
