"""A point-mass car: how fast it can drive along a line, and what its sensors show."""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.geometry import Line, build_ring
from runtime.bridge.session.recording import Numbers

G: Final = 9.80665
GRID_M: Final = 1.0
SMOOTH: Final = 7
"""Cells to each side over which curvature is averaged, twice: the drawn line has knots."""
LEAST_RPM: Final = 900.0
MOST_RPM: Final = 7800.0
CHANGE_UP_RPM: Final = 3600.0


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


@dataclass(frozen=True)
class Car:
    """A light touring car on good tyres."""

    grip: float = 1.15
    """Friction coefficient: acceleration stays within the circle of grip x g."""
    brake_g: float = 0.95
    """Hardest braking of the driver."""
    drive_g: float = 0.55
    """Largest acceleration that the driven wheels transmit."""
    power: float = 135.0
    """W/kg at the wheels."""
    drag: float = 0.00055
    """Deceleration by air, 1/m: times the square of the speed."""
    rolling: float = 0.15
    """Deceleration by tyres, m/s2."""
    top_ms: float = 62.0
    bar_per_g: float = 62.0
    """Brake line pressure for one g."""
    wheelbase_m: float = 2.55
    steering_ratio: float = 14.5
    understeer: float = 0.4
    """Degrees at the front wheels for one g."""


class Motion(NamedTuple):
    """A drive along a grid of distances."""

    s: Numbers
    t: Numbers
    speed: Numbers
    g_long: Numbers
    """Of the step that begins at the point."""


class Controls(NamedTuple):
    """The driver's inputs and the car's response; signs as in a telemetry frame."""

    g_lat: Numbers
    g_long: Numbers
    brake_bar: Numbers
    throttle_pct: Numbers
    steering_deg: Numbers
    rpm: Numbers


def corner_limit(car: Car, curvature: Numbers, grip: Numbers) -> Numbers:
    """Return the highest speed in m/s at each point; *curvature* in 1/m, *grip* a share."""
    tightest = np.maximum(np.abs(curvature), 1e-9)
    return np.minimum(np.sqrt(car.grip * grip * G / tightest), car.top_ms)


def push(car: Car, speed: float) -> float:
    """Return the acceleration in m/s2 at full throttle, before drag."""
    return min(car.power / max(speed, 1.0), car.drive_g * G)


def resistance(car: Car, speed: float) -> float:
    """Return the deceleration in m/s2 without any pedal."""
    return car.drag * speed * speed + car.rolling


def run(
    car: Car, s: Numbers, curvature: Numbers, grip: Numbers, first: float, last: float
) -> Motion:
    """Compute the fastest drive along *s* that starts and ends at *first* and *last* m/s."""
    limit = corner_limit(car, curvature, grip)
    limit[0], limit[-1] = min(limit[0], first), min(limit[-1], last)
    circle = np.square(car.grip * grip * G).tolist()
    bend = np.abs(curvature).tolist()
    steps = np.diff(s).tolist()
    squares = np.square(limit).tolist()
    for i in range(len(squares) - 2, -1, -1):  # backwards: what can still be braked away
        square = squares[i + 1]
        room = max(circle[i] - (square * bend[i + 1]) ** 2, 0.0) ** 0.5
        slower = min(car.brake_g * G, room) + resistance(car, square**0.5)
        squares[i] = min(squares[i], square + 2 * steps[i] * slower)
    for i in range(len(squares) - 1):  # forwards: what the engine can reach
        square = squares[i]
        speed = square**0.5
        room = max(circle[i] - (square * bend[i]) ** 2, 0.0) ** 0.5
        faster = min(push(car, speed), room) - resistance(car, speed)
        squares[i + 1] = min(squares[i + 1], max(square + 2 * steps[i] * faster, 1e-6))
    square = np.array(squares)
    speed = np.sqrt(square)
    width = np.diff(s)
    t = np.concatenate([[0.0], np.cumsum(2 * width / (speed[1:] + speed[:-1]))])
    g_long = np.append(np.diff(square) / (2 * width) / G, 0.0)
    return Motion(s, t, speed, g_long)


def controls(
    car: Car, gearbox: Gearbox, speed: Numbers, curvature: Numbers, g_long: Numbers
) -> Controls:
    """Compute the controls along a drive; *curvature* in 1/m, positive to the right."""
    g_lat = speed**2 * curvature / G
    demand = g_long + (car.drag * speed**2 + car.rolling) / G
    brake = np.where(demand < -0.02, -demand * car.bar_per_g, 0.0)
    most = np.minimum(car.power / np.maximum(speed, 1.0) / G, car.drive_g)
    throttle = np.clip(np.where(demand > 0, demand / most, 0.0), 0.0, 1.0) * 100.0
    wheel = np.degrees(np.arctan(car.wheelbase_m * curvature)) + car.understeer * g_lat
    steering = wheel * car.steering_ratio
    return Controls(g_lat, g_long, brake, throttle, steering, gearbox.rpm(speed))


def line_curvature(line: Line, length_m: float, around: int) -> Numbers:
    """Return 1/m at *around* places of a lap, averaged twice over 15 of them."""
    x, y = line.plane.xy(line.lat, line.lon)
    fine = build_ring(x, y, line.distance, length_m, length_m / around).curvature
    once = np.full(2 * SMOOTH + 1, 1.0 / (2 * SMOOTH + 1))
    padded = np.concatenate([fine[-2 * SMOOTH :], fine, fine[: 2 * SMOOTH]])
    degrees: Numbers = np.convolve(padded, np.convolve(once, once), mode="valid")
    return np.radians(degrees)
