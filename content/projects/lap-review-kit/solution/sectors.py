"""Computes sector times by distance, the ideal lap and the repeatable loss."""

from bisect import bisect_left, bisect_right
from statistics import median
from typing import NamedTuple

from laps import Lap
from session_file import Sample


class Ideal(NamedTuple):
    """The sum of the best sector times, and the lap that each came from."""

    time_s: float
    lap_numbers: list[int]


class Loss(NamedTuple):
    """The sector that costs most in the middle of all laps."""

    sector: int
    seconds: float


def interpolate(x: float, xs: list[float], ys: list[float]) -> float:
    """Value at x on the line through the two neighbours; held outside."""
    right = bisect_left(xs, x)
    if right == 0:
        return ys[0]
    if right == len(xs):
        return ys[-1]
    part = (x - xs[right - 1]) / (xs[right] - xs[right - 1])
    return ys[right - 1] + part * (ys[right] - ys[right - 1])


def distances(samples: list[Sample], lap: Lap) -> tuple[list[float], list[float]]:
    """Times and driven metres of one lap, both ends exactly on the line."""
    all_t = [one.t_s for one in samples]
    speeds = [one.speed_ms for one in samples]
    inside = slice(bisect_right(all_t, lap.start_s), bisect_left(all_t, lap.end_s))
    t = [lap.start_s, *all_t[inside], lap.end_s]
    v = [
        interpolate(lap.start_s, all_t, speeds),
        *speeds[inside],
        interpolate(lap.end_s, all_t, speeds),
    ]
    metres = [0.0]
    for i in range(1, len(t)):
        metres.append(metres[-1] + (v[i - 1] + v[i]) / 2 * (t[i] - t[i - 1]))
    return t, metres


def sector_times(
    samples: list[Sample], lap: Lap, fractions: list[float]
) -> list[float]:
    """Time of each sector; fractions of the lap distance mark the borders."""
    t, metres = distances(samples, lap)
    inner = [interpolate(part * metres[-1], metres, t) for part in fractions]
    marks = [lap.start_s, *inner, lap.end_s]
    return [marks[i + 1] - marks[i] for i in range(len(marks) - 1)]


def ideal_lap(table: list[list[float]]) -> Ideal:
    """Best time of each sector over all laps; the table has one row a lap."""
    columns = list(zip(*table, strict=True))
    best = [min(column) for column in columns]
    numbers = [column.index(low) + 1 for column, low in zip(columns, best, strict=True)]
    return Ideal(sum(best), numbers)


def largest_loss(table: list[list[float]]) -> Loss:
    """Sector with the largest median loss against its own best."""
    columns = list(zip(*table, strict=True))
    losses = [median(column) - min(column) for column in columns]
    worst = max(range(len(losses)), key=losses.__getitem__)
    return Loss(worst + 1, losses[worst])
