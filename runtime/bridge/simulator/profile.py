"""One flying lap on paper: how far and how fast at each moment, again and again the same."""

from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.values import Numbers
from runtime.bridge.track.car import Car, run
from runtime.bridge.track.drive import GRID_M, line_curvature
from runtime.bridge.track.model import Track, TrackError

MPH: Final = 0.44704
"""m/s."""
SLOWEST_MS: Final = 28.0 * MPH
FASTEST_MS: Final = 135.0 * MPH
MARGIN: Final = 0.02
"""Room that the programme leaves to either bound, for laps that differ a little."""
USED_GRIP: Final = 0.92
KNOTS: Final = 4000
# Of half a lap of the programme.
BRAKED: Final = 0.20
TURNED: Final = 0.35


@dataclass(frozen=True, eq=False)
class Lap:
    """A lap whose end is the beginning of the next one; acceleration is even between knots."""

    t: Numbers
    """Seconds, from 0 to the lap time."""
    s: Numbers
    """Metres, from 0 to the length."""
    speed: Numbers
    """m/s; the last is the first."""

    @property
    def seconds(self) -> float:
        """The lap time."""
        return float(self.t[-1])

    @property
    def length_m(self) -> float:
        """The way that is driven in a lap."""
        return float(self.s[-1])

    def at(self, t: Numbers) -> tuple[Numbers, Numbers]:
        """Metres and m/s at moments within the lap."""
        i = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 2)
        rest = t - self.t[i]
        gain = (self.speed[i + 1] - self.speed[i]) / (self.t[i + 1] - self.t[i])
        return self.s[i] + rest * (self.speed[i] + rest * gain / 2), self.speed[i] + rest * gain


class OnLine(NamedTuple):
    """A lap of a reference line, and the car that can drive it in that time."""

    lap: Lap
    car: Car
    curvature: Numbers
    """1/m at even steps of the lap, positive to the right."""


def on_line(track: Track, seconds: float | None = None) -> OnLine:
    """The lap of a touring car at its limit, quickened or slowed as a whole to *seconds*.

    A lap that is k times as fast takes k² times the grip and k³ times the power: the car gets them,
    so that the pedals stay what they are. On a slower lap the usual car is driven more gently.
    Without *seconds* it is as it is. Raises `TrackError` without a line.
    """
    if track.line is None:
        raise TrackError("the circuit has no reference line to drive on")
    car = Car()
    around = max(100, round(track.length_m / GRID_M))
    curvature = line_curvature(track.line, track.length_m, around)
    s: Numbers = np.arange(3 * around + 1, dtype=np.float64) * (track.length_m / around)
    bend = curvature[np.arange(len(s)) % around]
    whole = run(car, s, bend, np.full(len(s), USED_GRIP), car.top_ms, car.top_ms)
    speed = whole.speed[around : 2 * around + 1].copy()  # of the middle one: a flying lap
    speed[-1] = speed[0]
    s = s[: around + 1]
    t = np.concatenate([[0.0], np.cumsum(2 * np.diff(s) / (speed[1:] + speed[:-1]))])
    if seconds is None:
        return OnLine(Lap(t, s, speed), car, curvature)
    factor = float(t[-1]) / seconds
    t = t / factor
    t[-1] = seconds
    return OnLine(Lap(t, s, speed * factor), _stronger(car, max(factor, 1.0)), curvature)


def natural_seconds(track: Track) -> float:
    """The lap time of the usual car at its limit, to the tenth. Raises `TrackError`: no line."""
    return round(on_line(track).lap.seconds, 1)


def _stronger(car: Car, factor: float) -> Car:
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


def by_programme(seconds: float, length_m: float | None = None) -> Lap:
    """Twice braking, corner and acceleration between 28 and 135 mph.

    With a length the whole is quickened or slowed within these bounds until the lap is as long;
    where no speed between them makes it so, the time counts and the bounds do not.
    """
    t = np.linspace(0.0, seconds, KNOTS + 1)
    half = np.mod(t, seconds / 2) / (seconds / 2)
    low, high = SLOWEST_MS * (1 + MARGIN), FASTEST_MS * (1 - MARGIN)
    speed = np.interp(half, [0.0, BRAKED, TURNED, 1.0], [high, low, low, high])
    if length_m is not None:
        speed = _as_long(speed, length_m / seconds, low, high)
    speed[-1] = speed[0]
    s = np.concatenate([[0.0], np.cumsum((speed[1:] + speed[:-1]) / 2 * np.diff(t))])
    if length_m is not None:
        s, speed = s * (length_m / s[-1]), speed * (length_m / s[-1])
    return Lap(t, s, speed)


def _as_long(speed: Numbers, mean: float, low: float, high: float) -> Numbers:
    """The speeds times one factor, held within bounds, with that mean."""
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
