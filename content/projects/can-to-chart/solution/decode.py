"""Reads log lines into frames and takes signals out of their bytes."""

import re
from typing import NamedTuple

from signals import Signal

LINE = re.compile(r"\((\d+\.\d+)\) \S+ ([0-9A-Fa-f]{3,8})#((?:[0-9A-Fa-f]{2})*)")


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
    """All frames; raises ValueError with the number of a line it cannot read."""
    frames: list[Frame] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        found = LINE.fullmatch(line.strip())
        if found is None:
            raise ValueError(f"line {number} is not a frame")
        stamp, frame_id, data = found.groups()
        frames.append(Frame(float(stamp), int(frame_id, 16), bytes.fromhex(data)))
    return frames


def decode(signal: Signal, data: bytes) -> float:
    """Physical value; raises ValueError when the frame is too short for it."""
    bits = 8 * len(data)
    if signal.big_endian:
        from_left = signal.start // 8 * 8 + 7 - signal.start % 8
        shift = bits - from_left - signal.length
        raw = int.from_bytes(data, "big")
    else:
        shift = signal.start
        raw = int.from_bytes(data, "little")
    if shift < 0 or shift + signal.length > bits:
        raise ValueError(f"{signal.name} does not fit into {len(data)} bytes")
    raw = raw >> shift & (1 << signal.length) - 1
    if signal.signed and raw >> signal.length - 1:
        raw -= 1 << signal.length
    return raw * signal.scale + signal.offset


def series(frames: list[Frame], signal: Signal) -> Series:
    """Samples of one signal from all frames that carry it."""
    own = [frame for frame in frames if frame.frame_id == signal.frame_id]
    times = [frame.t_s - frames[0].t_s for frame in own]
    return Series(times, [decode(signal, frame.data) for frame in own])
