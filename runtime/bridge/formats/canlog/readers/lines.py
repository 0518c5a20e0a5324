"""What the readers of text logs share: whole lines in blocks, frames put together one by one."""

import math
from collections.abc import Iterator
from typing import BinaryIO, Final

import numpy as np

from runtime.bridge.can.dbc import EXTENDED
from runtime.bridge.formats.canlog.values import CLASSIC, LARGEST_ID, LONGEST, Batch, Tally

BLOCK: Final = 2_097_152
LONGEST_LINE: Final = 4096
MOST_CHANNELS: Final = 64
LATEST: Final = 1e11
"""Seconds; a later time is noise."""
UNIX: Final = 1e8
"""Seconds; a log that begins earlier does not count from 1970."""
OTHER: Final = "other"


def line_blocks(stream: BinaryIO, tally: Tally, size: int = BLOCK) -> Iterator[bytes]:
    """The rest of a file in pieces of whole lines; a line that is too long is counted as none."""
    rest = b""
    skipping = False
    while read := stream.read(size):
        if skipping:
            cut = read.find(b"\n") + 1
            if not cut:
                continue
            read, skipping = read[cut:], False
        cut = read.rfind(b"\n") + 1
        if cut:
            yield rest + read[:cut]
            rest = read[cut:]
        else:
            rest += read
        if len(rest) > LONGEST_LINE and b"\n" not in rest:
            tally.malformed += 1
            rest, skipping = b"", True
    if rest:
        yield rest


class Frames:
    """Collects frames one after the other until they are taken as a batch."""

    def __init__(self, tally: Tally, channel: str | None) -> None:
        self._tally = tally
        self._channel = channel
        self._t: list[float] = []
        self._key: list[int] = []
        self._payloads: list[bytes] = []
        self._longest = 0

    def __len__(self) -> int:
        return len(self._t)

    def add(self, t: float, can_id: int, data: bytes, channel: str, *, extended: bool) -> None:
        """Take a data frame in, if it is one and of the channel that is wanted."""
        if (
            not (math.isfinite(t) and abs(t) < LATEST)
            or not 0 <= can_id <= (LARGEST_ID if extended else 0x7FF)
            or len(data) > LONGEST
        ):
            self._tally.malformed += 1
            return
        if not wanted(self._tally, self._channel, channel, 1):
            return
        self._t.append(t)
        self._key.append(can_id | EXTENDED if extended else can_id)
        self._payloads.append(data)
        self._longest = max(self._longest, len(data))

    def take(self) -> Batch:
        """The frames so far, which are forgotten here."""
        width = CLASSIC if self._longest <= CLASSIC else LONGEST
        joined = b"".join([data.ljust(width, b"\0") for data in self._payloads])
        batch = Batch(
            np.array(self._t, np.float64),
            np.array(self._key, np.int64),
            np.array([len(data) for data in self._payloads], np.uint8),
            np.frombuffer(joined, np.uint8).reshape(-1, width),
        )
        self._t, self._key, self._payloads, self._longest = [], [], [], 0
        return batch


def wanted(tally: Tally, channel: str | None, name: str, frames: int) -> bool:
    """Count frames of a channel, and say whether they are to be taken."""
    known = name if name in tally.channels or len(tally.channels) < MOST_CHANNELS else OTHER
    tally.channels[known] += frames
    if channel is None or name == channel:
        return True
    tally.others += frames
    return False
