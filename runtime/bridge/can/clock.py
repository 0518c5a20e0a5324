"""Stamps for what a bus brings: seconds since the epoch that never run backwards."""

import time
from collections.abc import Callable
from typing import Final

DRIFT: Final = 1e-4
"""How much faster or slower than ours the clock of an adapter may go."""


class EpochClock:
    """The monotonic clock, put on the wall clock once: a step of that one folds no lap."""

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._monotonic = monotonic
        self._wall = wall
        self._offset = wall() - monotonic()

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._monotonic() + self._offset

    def at_wall(self, stamp: float) -> float:
        """The stamp of something that the wall clock stamped less than a second ago."""
        return self.now() - min(max(self._wall() - stamp, 0.0), 1.0)

    def anchor(self) -> None:
        """Put it on the wall clock again, as between two sessions."""
        self._offset = self._wall() - self._monotonic()


class Aligner:
    """Puts the stamps of an adapter's own clock, which counts from anywhere, on ours.

    What arrived fastest says how the clocks stand to each other, so the time that others spent
    under way does not show in their stamps.
    """

    def __init__(self) -> None:
        self._offset: float | None = None
        self._last = 0.0

    def align(self, stamp: float, now: float) -> float:
        """The stamp by our clock, at which it is *now*; never later than that."""
        offset = now - stamp
        if self._offset is not None:
            drifted = self._offset + DRIFT * max(now - self._last, 0.0)
            offset = min(offset, drifted)
        self._offset, self._last = offset, now
        return stamp + offset


class Spread:
    """Stamps for frames that one read brings together.

    They are spread over the time in which they can have come, each a little after the one before.
    """

    STEP: Final = 2e-6
    """More than the resolution of a stamp."""

    def __init__(self) -> None:
        self._last = 0.0

    def over(self, begin: float, end: float, n: int) -> list[float]:
        """*n* stamps after *begin*, up to *end*, or later where others were there before."""
        if not n:
            return []
        first = max(begin, self._last) if self._last < end + 1.0 else begin
        step = max((end - first) / n, self.STEP)
        stamps = [first + step * place for place in range(1, n + 1)]
        self._last = stamps[-1]
        return stamps
