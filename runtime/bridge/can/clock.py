"""Time stamps for frames: seconds since the epoch that never run backwards."""

import time
from collections.abc import Callable
from typing import Final

DRIFT: Final = 1e-4
"""Largest relative drift between the clock of an adapter and ours."""


class EpochClock:
    """The monotonic clock, aligned to the wall clock once, so steps of the latter do no harm."""

    def __init__(
        self, monotonic: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time
    ) -> None:
        self._monotonic = monotonic
        self._wall = wall
        self._offset = wall() - monotonic()

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._monotonic() + self._offset

    def convert_wall(self, stamp: float) -> float:
        """Convert a stamp of the wall clock from less than a second ago."""
        return self.now() - min(max(self._wall() - stamp, 0.0), 1.0)

    def realign(self) -> None:
        """Align to the wall clock again, between two sessions."""
        self._offset = self._wall() - self._monotonic()


class Aligner:
    """Converts stamps of an adapter's clock, with an unknown start, to our clock.

    The fastest arrivals give the offset between the clocks, so the delay of slower ones does not
    show in their stamps.
    """

    def __init__(self) -> None:
        self._offset: float | None = None
        self._last = 0.0

    def align(self, stamp: float, now: float) -> float:
        """Convert a stamp that arrived at *now* by our clock; the result is never later."""
        offset = now - stamp
        if self._offset is not None:
            drifted = self._offset + DRIFT * max(now - self._last, 0.0)
            offset = min(offset, drifted)
        self._offset, self._last = offset, now
        return stamp + offset


class Spread:
    """Stamps for frames that arrive in one read.

    They are spread over the time in which the frames can have arrived, in rising order.
    """

    STEP: Final = 2e-6
    """More than the resolution of a stamp."""

    def __init__(self) -> None:
        self._last = 0.0

    def spread(self, begin: float, end: float, n: int) -> list[float]:
        """Return *n* stamps after *begin* up to *end*, or later if earlier stamps require it."""
        if not n:
            return []
        first = max(begin, self._last) if self._last < end + 1.0 else begin
        step = max((end - first) / n, self.STEP)
        stamps = [first + step * place for place in range(1, n + 1)]
        self._last = stamps[-1]
        return stamps
