"""Reads a VBO logger file into samples with SI units."""

from typing import NamedTuple


class Sample(NamedTuple):
    """One row of the file; east and north are positive."""

    t_s: float
    lat_deg: float
    lon_deg: float
    speed_ms: float


class Session(NamedTuple):
    """The usable samples in time order, and how many rows were not usable."""

    samples: list[Sample]
    dropped: int


def read_vbo(text: str) -> Session:
    """Read a whole file; raises ValueError when a needed column is missing.

    Needed are time (hhmmss.ss), lat and long (minutes of arc, west positive) and
    velocity (km/h). A row is dropped when it is cut short, cannot be read as
    numbers, has no satellites (the low six bits of sats), or is not later than
    the row before.
    """
    raise NotImplementedError("stage 1")
