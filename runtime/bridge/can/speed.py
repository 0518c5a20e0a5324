"""Chooses the speed among what a bus tells, best first: the car file's, the wheels', GPS."""

import math
import statistics
from collections.abc import Mapping
from typing import Final

STALE_S: Final = 1.0
"""A signal is gone once it was silent for this long …"""
USUAL: Final = 2.5
"""… and for so many times its usual pause."""
LONGEST_PAUSE_S: Final = 2.0
"""The longest pause that counts as usual."""
HANDOVER_S: Final = 0.25
"""So long before a signal is given up the next best one takes its place: no row is without."""
_KMH: Final = 1 / 3.6
_MPH: Final = 0.44704
SPEED: Final = "speed_ms"
WHEELS: Final[Mapping[str, float]] = {
    f"wheel_speed_{wheel}_{unit}": factor
    for wheel in ("fl", "fr", "rl", "rr")
    for unit, factor in (("kmh", _KMH), ("ms", 1.0), ("mph", _MPH))
}
OTHERS: Final[Mapping[str, float]] = {
    "gps_speed_ms": 1.0,
    "gps_speed_kmh": _KMH,
    "gps_speed_mph": _MPH,
    "vehicle_speed_kmh": _KMH,
    "speed_kmh": _KMH,
    "speed_mph": _MPH,
}
SPEEDS: Final = frozenset((SPEED, *WHEELS, *OTHERS))
"""Every name that a speed may have."""


class SpeedChoice:
    """The speed over ground by the best signal that is not silent."""

    def __init__(self) -> None:
        self._wheels: dict[str, tuple[float, float]] = {}
        self._t = -math.inf
        self._pause = 0.0
        self._value = math.nan
        self._rank = len(OTHERS) + 2

    def measured(self, t: float, signals: Mapping[str, float]) -> float | None:
        """The speed that a frame tells, in m/s; None while a better signal tells it."""
        found = self._found(t, signals)
        if found is None:
            return None
        rank, value = found
        if rank > self._rank and self._is_fresh(t + HANDOVER_S):
            return None
        self._pause = t - self._t if rank == self._rank else 0.0
        self._rank, self._t, self._value = rank, t, abs(value)
        return self._value

    def at(self, t: float) -> float:
        """The speed last told, NaN once that is too long ago."""
        return self._value if self._is_fresh(t) else math.nan

    def _is_fresh(self, t: float) -> bool:
        return t - self._t <= max(STALE_S, USUAL * min(self._pause, LONGEST_PAUSE_S))

    def _found(self, t: float, signals: Mapping[str, float]) -> tuple[int, float] | None:
        if SPEED in signals:
            return 0, signals[SPEED]
        told = {name: value * WHEELS[name] for name, value in signals.items() if name in WHEELS}
        if told:
            for name, value in told.items():
                self._wheels[name.rsplit("_", 1)[0]] = t, value
            turning = [speed for at, speed in self._wheels.values() if t - at <= STALE_S]
            return 1, statistics.median(turning)
        for rank, name in enumerate(OTHERS, 2):
            if name in signals:
                return rank, signals[name] * OTHERS[name]
        return None
