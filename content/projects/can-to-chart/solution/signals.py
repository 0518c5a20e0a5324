"""Describes the three signals of the sample log."""

from typing import NamedTuple


class Signal(NamedTuple):
    """Where a signal sits in its frame and what its number means.

    Bits are numbered as in DBC files: bit 0 is the lowest of byte 0, bit 8 the
    lowest of byte 1. The start bit is the lowest bit of a little-endian signal
    and the highest bit of a big-endian one.
    """

    name: str
    unit: str
    frame_id: int
    start: int
    length: int
    big_endian: bool = False
    signed: bool = False
    scale: float = 1.0
    offset: float = 0.0
    state: bool = False  # held between samples, never interpolated


SPEED = Signal("speed", "km/h", 0x120, start=16, length=16, scale=0.01)
BRAKE = Signal(
    "brake", "bar", 0x1B0, start=7, length=16, big_endian=True, signed=True, scale=0.1
)
GEAR = Signal("gear", "1", 0x2C0, start=12, length=4, state=True)
