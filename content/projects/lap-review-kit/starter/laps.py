"""Cuts a session into laps at a start line."""

from typing import NamedTuple

from session_file import Sample


class Line(NamedTuple):
    """The two ends of the start line; the car crosses it from right to left,
    seen from the first end towards the second."""

    lat_1: float
    lon_1: float
    lat_2: float
    lon_2: float


class Lap(NamedTuple):
    """One complete lap, from crossing to crossing."""

    number: int
    start_s: float
    end_s: float

    @property
    def time_s(self) -> float:
        """Lap time."""
        return self.end_s - self.start_s


def crossings(samples: list[Sample], line: Line) -> list[float]:
    """Times at which the line is crossed in the driving direction.

    One degree of latitude is 111,194.93 m; a degree of longitude is that times
    the cosine of the latitude. Interpolate between the samples on either side.
    """
    raise NotImplementedError("stage 2")


def cut_laps(samples: list[Sample], line: Line) -> list[Lap]:
    """All complete laps, numbered from 1."""
    raise NotImplementedError("stage 2")
