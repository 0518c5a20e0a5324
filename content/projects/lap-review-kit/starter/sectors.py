"""Computes sector times by distance, the ideal lap and the repeatable loss."""

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


def sector_times(
    samples: list[Sample], lap: Lap, fractions: list[float]
) -> list[float]:
    """Time of each sector; fractions of the lap distance mark the borders.

    The distance is the integral of the speed from the first crossing to the last.
    """
    raise NotImplementedError("stage 3")


def ideal_lap(table: list[list[float]]) -> Ideal:
    """Best time of each sector over all laps; the table has one row a lap."""
    raise NotImplementedError("stage 3")


def largest_loss(table: list[list[float]]) -> Loss:
    """Sector, counted from 1, with the largest median loss against its own best."""
    raise NotImplementedError("stage 3")
