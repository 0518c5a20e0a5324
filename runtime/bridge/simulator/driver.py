"""The driver of the synthetic car: habits that cost time and fade, and occasional slips."""

import math
import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.session.recording import Numbers
from runtime.bridge.simulator.course import Course, LineCourse

Habit: TypeAlias = Literal["brakes_early", "crawls", "waits"]
"""Brakes early and rolls to the corner; slows down too much; waits with the throttle."""
Slip: TypeAlias = Literal["brakes_late", "early_throttle", "misses_apex"]
HABITS: Final[tuple[Habit, ...]] = ("brakes_early", "crawls", "waits")
SLIPS: Final[tuple[Slip, ...]] = ("brakes_late", "early_throttle", "misses_apex")

LEARNS: Final = 0.85
"""Share of a habit that remains from lap to lap."""
LEAST: Final = 0.15
"""Share of it that never fades."""
SLIP_CHANCE: Final = 0.5
"""Probability of a slip in a lap."""
UNEVEN: Final = 0.004
"""Largest share by which the middle of a lap is driven more slowly."""
KNOTS: Final = 2000
"""Of a lap."""

STEP_M: Final = 5.0
AROUND_M: Final = 100.0
"""The slowest place within this distance on each side is the apex of a bend."""
BRAKING_M: Final = 200.0
DROP: Final = 1.25
"""Ratio of the speed before a bend to that at its apex from which it needs the brake."""
CLEAR_M: Final = 60.0
"""Distance from start/finish within which no fault begins."""
CARRIED_M: Final = 250.0
"""Distance after the apex over which lost exit speed is regained."""


class Bend(NamedTuple):
    """A bend that the car brakes for; metres from start/finish."""

    brake_m: float
    apex_m: float
    outside: float
    """1: to the right of the line; -1: to the left."""


class Fault(NamedTuple):
    """A driving fault at a bend."""

    kind: Habit | Slip
    bend: Bend
    size: float
    """1: the worst."""


def find_bends(course: Course) -> tuple[Bend, ...]:
    """Find the bends of a clean lap, away from start/finish."""
    lap = course.lap
    count = max(int(lap.length_m / STEP_M), 8)
    s = np.arange(count) * (lap.length_m / count)
    speed = np.interp(s, lap.s, lap.speed)
    reach = max(1, min(round(AROUND_M / STEP_M), count // 20))
    back = max(1, min(round(BRAKING_M / STEP_M), count // 4))
    bends: list[Bend] = []
    for at in range(back, count - reach):
        # Of several equally slow places the last is the apex.
        if (
            speed[at] > speed[at - reach : at].min()
            or speed[at] >= speed[at + 1 : at + reach].min()
        ):
            continue
        before = speed[at - back : at]
        brake = at - back + int(before.argmax())
        if before.max() < DROP * speed[at] or s[brake] < CLEAR_M:
            continue
        if s[at] + CARRIED_M > lap.length_m - CLEAR_M:
            continue
        bends.append(Bend(float(s[brake]), float(s[at]), _outside(course, float(s[at]))))
    return tuple(bends)


def _outside(course: Course, s: float) -> float:
    if not isinstance(course, LineCourse):
        return 0.0
    curvature = course.driven.curvature
    return -math.copysign(1.0, curvature[int(s / course.lap.length_m * len(curvature))])


def slow_down(fault: Fault, s: Numbers) -> Numbers:
    """Return the share of the clean lap's speed at places of the lap."""
    brake, apex = fault.bend.brake_m, fault.bend.apex_m
    middle = (brake + apex) / 2
    marks, shares = {
        "brakes_early": ([brake - 50, brake - 10, middle, apex], [0.0, -0.25, -0.2, 0.0]),
        "crawls": ([middle, apex - 15, apex + 15, apex + 60], [0.0, -0.2, -0.2, 0.0]),
        "waits": ([apex, apex + 50, apex + CARRIED_M], [0.0, -0.12, 0.0]),
        "brakes_late": (
            [brake - 20, middle, apex, apex + 60, apex + CARRIED_M],
            [0.0, 0.08, -0.12, -0.08, 0.0],
        ),
        "early_throttle": (
            [apex - 20, apex + 15, apex + 50, apex + CARRIED_M],
            [0.0, 0.05, -0.1, 0.0],
        ),
        "misses_apex": ([apex - 60, apex, apex + 80], [0.0, -0.08, 0.0]),
    }[fault.kind]
    change = np.interp(s, marks, shares, left=0.0, right=0.0)
    return np.asarray(1.0 + fault.size * change, np.float64)


def run_wide(fault: Fault, s: Numbers) -> Numbers:
    """Return the metres to the right of the line; only slips leave it."""
    if fault.kind not in SLIPS:
        return np.zeros(len(s))
    apex = fault.bend.apex_m
    marks = [apex - 60, apex, apex + 40, apex + 120]
    metres = np.interp(s, marks, [0.0, 2.5, 3.0, 0.0], left=0.0, right=0.0)
    return np.asarray(fault.bend.outside * fault.size * metres, np.float64)


class DrivenLap(NamedTuple):
    """One lap as the driver drives it."""

    t: Numbers
    """Seconds since start/finish, rising."""
    clean_t: Numbers
    """Seconds of the clean lap that is driven then."""
    pace: Numbers
    """How fast these pass."""
    faults: tuple[Fault, ...]

    @property
    def seconds(self) -> float:
        """The lap time."""
        return float(self.t[-1])


@dataclass(eq=False)
class Driver:
    """Drives lap after lap; the same for the same course and seed.

    Habits at up to three bends fade from lap to lap; slips happen at others. Thread-safe.
    """

    course: Course
    seed: int = 0
    _laps: list[DrivenLap] = field(default_factory=list)
    _starts: list[float] = field(default_factory=lambda: [0.0])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lap(self, number: int) -> DrivenLap:
        """Return a lap, counted from 0."""
        self._drive_to(laps=number + 1)
        return self._laps[number]

    def start(self, number: int) -> float:
        """Return the seconds from the first crossing of start/finish to the start of a lap."""
        self._drive_to(laps=number)
        return self._starts[number]

    def laps_at(self, seconds: Numbers) -> Numbers:
        """Return the lap at each time since the first crossing; -1 before it."""
        self._drive_to(seconds=float(seconds.max(initial=0.0)))
        return np.asarray(np.searchsorted(self._starts, seconds, side="right") - 1.0, np.float64)

    def _drive_to(self, *, laps: int = 0, seconds: float = -1.0) -> None:
        with self._lock:
            while len(self._laps) < laps or self._starts[-1] <= seconds:
                lap = self._make(len(self._laps))
                self._laps.append(lap)
                self._starts.append(self._starts[-1] + lap.seconds)

    @cached_property
    def bends(self) -> tuple[Bend, ...]:
        """The bends where faults may happen."""
        return find_bends(self.course)

    @cached_property
    def habits(self) -> tuple[Fault, ...]:
        """The faults of every lap, at their initial size."""
        chance = np.random.default_rng([self.seed, 1])
        places = chance.permutation(len(self.bends))[: len(HABITS)].tolist()
        # On a course without width the driver never drops below its slowest speed.
        waits: tuple[Habit, ...] = ("waits", "waits", "waits")
        kinds = HABITS if isinstance(self.course, LineCourse) else waits
        return tuple(
            Fault(kind, self.bends[place], 1.0) for kind, place in zip(kinds, places, strict=False)
        )

    def _faults(self, number: int, chance: np.random.Generator) -> tuple[Fault, ...]:
        left = max(LEARNS**number, LEAST)
        faults = [
            habit._replace(size=left * float(chance.uniform(0.85, 1.0))) for habit in self.habits
        ]
        taken = [habit.bend for habit in self.habits]
        others = [bend for bend in self.bends if bend not in taken]
        if others and isinstance(self.course, LineCourse) and chance.random() < SLIP_CHANCE:
            bend = others[int(chance.integers(len(others)))]
            kind = SLIPS[int(chance.integers(len(SLIPS)))]
            faults.append(Fault(kind, bend, float(chance.uniform(0.3, 1.0))))
        return tuple(faults)

    def _make(self, number: int) -> DrivenLap:
        chance = np.random.default_rng([self.seed, 2, number])
        clean_t = np.linspace(0.0, self.course.lap.seconds, KNOTS + 1)
        s, _ = self.course.lap.at(clean_t)
        faults = self._faults(number, chance)
        middle = 1.0 - np.cos(2 * np.pi * clean_t / clean_t[-1])
        pace = 1.0 - UNEVEN / 2 * chance.random() * middle
        for fault in faults:
            pace = pace * slow_down(fault, s)
        steps = np.diff(clean_t) * (1.0 / pace[1:] + 1.0 / pace[:-1]) / 2
        return DrivenLap(np.concatenate([[0.0], np.cumsum(steps)]), clean_t, pace, faults)
