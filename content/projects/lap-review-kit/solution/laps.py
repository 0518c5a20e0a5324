"""Cuts a session into laps at a start line."""

from itertools import pairwise
from math import cos, radians
from typing import NamedTuple

from session_file import Sample

METRES_PER_DEGREE = 111_194.93


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


def metres(lat: float, lon: float, line: Line) -> tuple[float, float]:
    """Metres east and north of the first end of the line."""
    east = (lon - line.lon_1) * METRES_PER_DEGREE * cos(radians(line.lat_1))
    return east, (lat - line.lat_1) * METRES_PER_DEGREE


def crossings(samples: list[Sample], line: Line) -> list[float]:
    """Times at which the line is crossed in the driving direction."""
    end_x, end_y = metres(line.lat_2, line.lon_2, line)
    length_sq = end_x**2 + end_y**2
    times: list[float] = []
    before: tuple[float, float, float] | None = None
    for one in samples:
        x, y = metres(one.lat_deg, one.lon_deg, line)
        side = end_x * y - end_y * x  # positive on the left of the line
        along = (end_x * x + end_y * y) / length_sq  # 0 to 1 between the ends
        if before is not None and before[1] < 0 <= side:
            part = before[1] / (before[1] - side)
            if 0 <= before[2] + part * (along - before[2]) <= 1:
                times.append(before[0] + part * (one.t_s - before[0]))
        before = (one.t_s, side, along)
    return times


def cut_laps(samples: list[Sample], line: Line) -> list[Lap]:
    """All complete laps; what lies before the first crossing is left out."""
    times = crossings(samples, line)
    pairs = enumerate(pairwise(times), start=1)
    return [Lap(number, start, end) for number, (start, end) in pairs]
