"""The values between an adapter, the decoder and whoever stores telemetry."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class CanFrame(NamedTuple):
    """One data frame of a bus."""

    t: float
    """Seconds since the epoch by a clock that never steps back."""
    key: int
    """Arbitration id, with `catalog.dbc.EXTENDED` for one of 29 bits."""
    data: bytes
    """Up to 64 bytes."""


class Received(NamedTuple):
    """What one read of an adapter brought."""

    frames: Sequence[CanFrame]
    errors: int = 0
    """Error frames of the bus."""
    malformed: int = 0
    """Lines or frames that are none: noise, halves."""


class SourceLost(Exception):
    """The adapter cannot be opened or is gone; the text says why and is shown to users."""


class Source(Protocol):
    """An open adapter; used by one thread."""

    def read(self, timeout_s: float) -> Received:
        """What has come; waits for the first frame at most *timeout_s*. Raises `SourceLost`."""

    def send(self, frame: CanFrame) -> None:
        """Put a frame on the bus. Raises `SourceLost`, also where it only listens."""

    def close(self) -> None:
        """Release the adapter; never raises, harmless when repeated."""
