"""Small differences: from lap to lap in pace and line, from moment to moment in a sensor."""

from functools import lru_cache
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np

from runtime.bridge.session.values import Numbers

PACE: Final = 0.012
"""Largest share by which one place of a lap is driven faster or slower than in another lap."""
ASIDE_M: Final = 0.8
"""Largest distance of the way from the reference line."""
WAVES: Final = 3


class Mood(NamedTuple):
    """How one lap differs from the ideal one: amplitudes of waves over the lap."""

    pace: tuple[float, ...]
    aside: tuple[float, ...]


@lru_cache(maxsize=64)
def mood(seed: int, lap: int) -> Mood:
    """The same for the same seed and lap; *lap* from -1, the way to the line."""
    chance = np.random.default_rng([seed, lap + 1])
    pace, aside = chance.uniform(-1.0, 1.0, (2, WAVES)).tolist()
    return Mood(tuple(pace), tuple(aside))


def paced(seed: int, lap: Numbers, t: Numbers, seconds: float) -> tuple[Numbers, Numbers]:
    """The moments of the ideal lap at moments of these laps, and how fast they go by.

    Begins and ends with the lap and at its pace, whatever happens between: lap times stay.
    """
    moved, rate = t.copy(), np.ones(len(t))
    for number in np.unique(lap).tolist():
        mine = lap == number
        for wave, size in enumerate(mood(seed, int(number)).pace, start=1):
            turns = 2 * np.pi * wave / seconds
            angle = turns * t[mine]
            moved[mine] += PACE / WAVES * size / turns * (1.0 - np.cos(angle))
            rate[mine] += PACE / WAVES * size * np.sin(angle)
    return moved, rate


def aside(seed: int, lap: Numbers, share: Numbers) -> Numbers:
    """Metres to the right of the line at shares of laps; none where a lap begins."""
    metres = np.zeros(len(lap))
    for number in np.unique(lap).tolist():
        mine = lap == number
        for wave, size in enumerate(mood(seed, int(number)).aside, start=1):
            ripple = 1.0 - np.cos(2 * np.pi * wave * share[mine])
            metres[mine] += ASIDE_M / (2 * WAVES) * size * ripple
    return metres


@lru_cache(maxsize=256)
def _tones(seed: int, name: str) -> tuple[tuple[float, float], ...]:
    chance = np.random.default_rng([seed, crc32(name.encode())])
    return tuple(zip(chance.uniform(0.5, 9.0, 3), chance.uniform(0.0, 2 * np.pi, 3), strict=True))


def hum(seed: int, name: str, t: Numbers) -> Numbers:
    """Restlessness of a sensor, between -1 and 1; a function of the time, however it is cut."""
    total = np.zeros(len(t))
    for turns, phase in _tones(seed, name):
        total += np.sin(turns * t + phase)
    return total / 3.0
