"""Circuits of real shape: straights and eased bends that close, without any code of the bridge."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]

GRAVITY: Final = 9.81
STEP_M: Final = 1.0
EASED: Final = 0.4
"""This share of a bend's turn is spread over its two ramps of curvature."""


class Bend(NamedTuple):
    """A bend; its curvature rises and falls evenly, with a round part between."""

    turn_deg: float
    """Positive to the right."""
    radius_m: float


class Car(NamedTuple):
    """What limits the speed."""

    grip_g: float
    top_ms: float
    power_w_kg: float


KART: Final = Car(1.6, 24.0, 110.0)
"""Goes round a hairpin of 7.5 m at 39 km/h."""
ROAD_CAR: Final = Car(1.0, 58.0, 120.0)
RACING_CAR: Final = Car(2.0, 78.0, 330.0)


class Corner(NamedTuple):
    """A place where the car needs its grip to go round, in metres from the line."""

    begin_m: float
    end_m: float


@dataclass(frozen=True, eq=False)
class Circuit:
    """A closed path from the start line, a point about every metre."""

    x: Numbers
    """Metres east of the line."""
    y: Numbers
    """Metres north of it."""
    heading: Numbers
    """Radians, 0 north and clockwise."""
    curvature: Numbers
    """1/m, positive to the right."""
    step_m: float

    @cached_property
    def length_m(self) -> float:
        """Once around."""
        return len(self.x) * self.step_m

    def at(self, station: Numbers, beside: Numbers) -> tuple[Numbers, Numbers]:
        """Places at metres from the line, any number of times around, and metres to the right."""
        i = station / self.step_m
        heading = self._between(np.unwrap(self.heading), i, self._turn)
        x = self._between(self.x, i, 0.0) + beside * np.cos(heading)
        y = self._between(self.y, i, 0.0) - beside * np.sin(heading)
        return x, y

    def bend_at(self, station: Numbers) -> Numbers:
        """Curvature at metres from the line."""
        return self._between(self.curvature, station / self.step_m, 0.0)

    @cached_property
    def _turn(self) -> float:
        whole: float = np.round(np.sum(self.curvature) * self.step_m / (2 * np.pi)) * 2 * np.pi
        return whole

    def _between(self, values: Numbers, i: Numbers, rise: float) -> Numbers:
        count = len(values)
        closed = np.append(values, values[0] + rise)
        mean: Numbers = np.interp(i % count, np.arange(count + 1), closed)
        return mean


def lay_out(straights: Sequence[float], bends: Sequence[Bend], north_deg: float = 0.0) -> Circuit:
    """A circuit: half the first straight, a bend, a straight, …, the first straight's other half.

    The turns add up to a multiple of a full circle. The straights are lengthened and shortened,
    each in proportion and all as little as possible, so that the path closes.
    """
    chords, starts, heading = [], [], np.radians(north_deg)
    for bend in bends:
        starts.append(heading)
        curvature = _curvature(bend)
        angle = heading + _cumulate(curvature)
        chords.append([np.sin(angle).sum() * STEP_M, np.cos(angle).sum() * STEP_M])
        heading += np.radians(bend.turn_deg)
    nominal = np.array(straights)
    along = np.array([np.sin(starts), np.cos(starts)])
    missing = -np.sum(chords, axis=0) - along @ nominal
    lengths = nominal + nominal * np.linalg.lstsq(along * nominal, missing, rcond=None)[0]
    if lengths.min() <= 0:
        raise ValueError(f"these bends do not close: {lengths.round()}")
    parts = []
    for length, bend in zip(lengths, bends, strict=True):
        parts += [np.zeros(max(1, round(length / STEP_M))), _curvature(bend)]
    half = len(parts[0]) // 2
    curvature = np.concatenate([parts[0][half:], *parts[1:], parts[0][:half]])
    angle = np.radians(north_deg) + _cumulate(curvature)
    x = np.concatenate([[0.0], np.cumsum(np.sin(angle) * STEP_M)])
    y = np.concatenate([[0.0], np.cumsum(np.cos(angle) * STEP_M)])
    # Rounding the straights to whole steps left a metre or less: it is spread over the lap.
    share = np.linspace(0.0, 1.0, len(x))
    x, y = (x - share * x[-1])[:-1], (y - share * y[-1])[:-1]
    return Circuit(x, y, angle - curvature * STEP_M / 2, curvature, STEP_M)


def _curvature(bend: Bend) -> Numbers:
    turn = np.radians(abs(bend.turn_deg))
    ramp = EASED * turn * bend.radius_m
    length = turn * bend.radius_m + ramp
    count = max(2, round(length / STEP_M))
    place = (np.arange(count) + 0.5) * length / count
    shape = np.clip(np.minimum(place, length - place) / ramp, 0.0, 1.0)
    made: Numbers = np.sign(bend.turn_deg) * turn * shape / (shape.sum() * STEP_M)
    return made


def _cumulate(curvature: Numbers) -> Numbers:
    """The heading in the middle of each step."""
    angle: Numbers = (np.cumsum(curvature) - curvature / 2) * STEP_M
    return angle


def drive_speed(limit: Numbers, step_m: float, car: Car, begin_ms: float, end_ms: float) -> Numbers:
    """Speed along a way: below *limit*, by the power to accelerate and the grip to brake."""
    speed = limit.copy()
    speed[0] = min(speed[0], begin_ms)
    push, brake = 0.5 * car.grip_g * GRAVITY, 0.9 * car.grip_g * GRAVITY
    for i in range(1, len(speed)):
        accel = min(push, car.power_w_kg / max(speed[i - 1], 1.0))
        speed[i] = min(speed[i], (speed[i - 1] ** 2 + 2 * accel * step_m) ** 0.5)
    speed[-1] = min(speed[-1], end_ms)
    for i in range(len(speed) - 2, -1, -1):
        speed[i] = min(speed[i], (speed[i + 1] ** 2 + 2 * brake * step_m) ** 0.5)
    return speed


def corner_limit(curvature: Numbers, car: Car) -> Numbers:
    """The speed at which a bend takes all the grip, no more than the car's top speed."""
    radius = 1.0 / np.maximum(np.abs(curvature), 1e-9)
    limit: Numbers = np.minimum(np.sqrt(car.grip_g * GRAVITY * radius), car.top_ms)
    return limit


def find_corners(circuit: Circuit, car: Car, share: float = 0.4) -> list[Corner]:
    """Where a flying lap takes more than a share of the car's grip sideways, one direction each."""
    count = len(circuit.x)
    limit = np.tile(corner_limit(circuit.curvature, car), 3)
    speed = drive_speed(limit, circuit.step_m, car, car.top_ms, car.top_ms)[count : 2 * count]
    sideways = speed**2 * circuit.curvature / (car.grip_g * GRAVITY)
    state = np.where(np.abs(sideways) > share, np.sign(sideways), 0.0)
    edges = np.flatnonzero(state != np.roll(state, 1))
    corners = []
    for i, begin in enumerate(edges):
        end = edges[(i + 1) % len(edges)] + (count if i + 1 == len(edges) else 0)
        if state[begin]:
            corners.append(Corner(begin * circuit.step_m, end * circuit.step_m))
    return corners
