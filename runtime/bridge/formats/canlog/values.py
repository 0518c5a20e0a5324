"""The values between a reader of CAN logs, the decoder and a recording."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import Numbers

Bytes: TypeAlias = npt.NDArray[np.uint8]
Keys: TypeAlias = npt.NDArray[np.int64]
Rows: TypeAlias = npt.NDArray[np.intp]

CHUNK: Final = 65_536
"""Frames that are decoded at once: fewer cost more each, more do not fit the processor's cache."""
CLASSIC: Final = 8
LONGEST: Final = 64
LARGEST_ID: Final = (1 << 29) - 1


class Batch(NamedTuple):
    """Data frames of a bus, in the order of the log."""

    t: Numbers
    """Seconds, finite, by the clock of the log."""
    key: Keys
    """Arbitration id, with `catalog.dbc.EXTENDED` for one of 29 bits."""
    length: Bytes
    """Bytes of each payload."""
    data: Bytes
    """A row a frame, of 8 or 64 bytes; those beyond the payload are 0."""

    def __len__(self) -> int:
        return len(self.t)


@dataclass
class Tally:
    """What a reader met."""

    malformed: int = 0
    """Lines or objects that are no frame."""
    errors: int = 0
    """Error frames of the bus."""
    remote: int = 0
    """Remote frames, which carry no data."""
    others: int = 0
    """Frames of channels that were not asked for."""
    channels: Counter[str] = field(default_factory=Counter)
    """Data frames by the channel's name in the log."""
    created: float | None = None
    """Unix seconds at which the log was begun, where it says so."""
    notes: dict[str, str] = field(default_factory=dict)
    """What was decided while reading."""
    doubts: list[tuple[str, str]] = field(default_factory=list)
    """Code and sentence of what else is odd."""


class LogReader(Protocol):
    """An open log."""

    tally: Tally

    def __iter__(self) -> Iterator[Batch]:
        """Blocks of frames; raises `UnreadableRecording` where the file is no such log at all."""


def empty_batch() -> Batch:
    """A batch without frames."""
    return Batch(
        np.empty(0), np.empty(0, np.int64), np.empty(0, np.uint8), np.empty((0, CLASSIC), np.uint8)
    )
