"""Reads log lines into frames and takes signals out of their bytes."""

from typing import NamedTuple

from signals import Signal


class Frame(NamedTuple):
    """One frame with its time stamp."""

    t_s: float
    frame_id: int
    data: bytes


class Series(NamedTuple):
    """Samples of one signal; times count from the first frame of the log."""

    times_s: list[float]
    values: list[float]


def read_log(text: str) -> list[Frame]:
    """All frames; raises ValueError with the number of a line it cannot read.

    A line looks like this: (1763600000.020000) can0 120#0000703A00
    """
    raise NotImplementedError("stage 1")


def decode(signal: Signal, data: bytes) -> float:
    """Physical value; raises ValueError when the frame is too short for it."""
    raise NotImplementedError("stage 1")


def series(frames: list[Frame], signal: Signal) -> Series:
    """Samples of one signal from all frames that carry it."""
    raise NotImplementedError("stage 1")
