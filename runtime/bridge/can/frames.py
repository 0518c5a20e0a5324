"""CAN frames as adapters, logs and the decoder exchange them."""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import Numbers

Bytes: TypeAlias = npt.NDArray[np.uint8]
Keys: TypeAlias = npt.NDArray[np.int64]
Rows: TypeAlias = npt.NDArray[np.intp]
Flags: TypeAlias = npt.NDArray[np.bool_]

EXTENDED: Final = 1 << 31
"""Set in the key of a message with a 29-bit id, as in a DBC."""
LARGEST_ID: Final = (1 << 29) - 1
CLASSIC: Final = 8
"""Bytes of the longest payload of a classic frame …"""
LONGEST: Final = 64
"""… and of a CAN FD frame."""
LATEST: Final = 1e11
"""Seconds; later times in a log are noise."""


class CanFrame(NamedTuple):
    """One data frame of a bus."""

    t: float
    """Seconds since the epoch by a clock that never steps back."""
    key: int
    """Arbitration id, with `EXTENDED` for one of 29 bits."""
    data: bytes
    """Up to 64 bytes."""


class Batch(NamedTuple):
    """Data frames of a bus as columns, in order of arrival."""

    t: Numbers
    """Seconds, finite."""
    key: Keys
    """Arbitration id, with `EXTENDED` for one of 29 bits."""
    length: Bytes
    """Bytes of each payload."""
    data: Bytes
    """One row of 8 or 64 bytes per frame, zero beyond the payload."""

    def __len__(self) -> int:
        return len(self.t)


def to_batch(t: Sequence[float] | Numbers, keys: Sequence[int], data: Sequence[bytes]) -> Batch:
    """Convert frames to columns."""
    length = np.array([len(payload) for payload in data], np.uint8)
    width = CLASSIC if length.max(initial=0) <= CLASSIC else LONGEST
    joined = b"".join([payload.ljust(width, b"\0") for payload in data])
    table = np.frombuffer(joined, np.uint8).reshape(-1, width)
    return Batch(np.asarray(t, np.float64), np.array(keys, np.int64), length, table)


class Received(NamedTuple):
    """The result of one read of an adapter."""

    frames: Sequence[CanFrame]
    errors: int = 0
    """Error frames of the bus."""
    malformed: int = 0
    """Invalid lines or frames: noise, fragments."""


class SourceLost(Exception):
    """The adapter cannot be opened or is gone; the text says why and is shown to users."""


class Source(Protocol):
    """An open adapter; used by one thread."""

    def read(self, timeout_s: float) -> Received:
        """Return the arrived frames; wait up to *timeout_s* for the first. Raises `SourceLost`."""

    def send(self, frame: CanFrame) -> None:
        """Send a frame. Raises `SourceLost`, also in listen-only mode."""

    def close(self) -> None:
        """Release the adapter; never raises, harmless when repeated."""
