"""How far a drive has come by the wall clock, and how much of it a reader can still take."""

import math
from collections import deque
from typing import Final, NamedTuple

LARGEST_LAG_S: Final = 0.5
"""Wall time that is caught up on; of a longer stop the drive knows nothing."""
WINDOW: Final = 2000
"""So many frames may be on their way to the reader."""
PATIENCE_S: Final = 1.0
"""After so long without any sign of the reader one more frame asks for one."""
FIRST_PATIENCE_S: Final = 0.05
"""The same until there was a first sign: the reader is about to open the bus."""


REACHED_OVER_S: Final = 5.0
"""Wall time over which the reached speed is told."""
MARK_S: Final = 0.25
SHORT: Final = 0.8
"""Below this share of the speed that was asked for, the machine does not follow …"""
SHORT_S: Final = 10.0
"""… and after so long of it somebody is told."""


class Pacer:
    """The drive's clock: runs *speed* times as fast as the wall clock, and stands while held up."""

    def __init__(self, speed: float, now: float) -> None:
        self._speed = speed
        self._wall = now
        self._drive = 0.0

    def due(self, now: float) -> float:
        """Seconds of the drive that should have been sent by *now*."""
        return self._drive + (now - self._wall) * self._speed

    def wait_s(self, now: float, moment: float) -> float:
        """Wall time until a moment of the drive is due; 0 where it is."""
        return max(0.0, (moment - self.due(now)) / self._speed)

    def held_at(self, now: float, moment: float) -> None:
        """Tell that *moment* of the drive comes next; a long stop is not caught up on."""
        if self.due(now) - moment > LARGEST_LAG_S * self._speed:
            self._drive, self._wall = moment, now


class Reached:
    """How many times as fast as the wall clock a drive really was in the last seconds."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._marks: deque[tuple[float, float]] = deque()
        self._short_since: float | None = None
        self.factor: float | None = None
        """None: not known yet."""

    def come(self, now: float, moment: float) -> bool:
        """Tell how far the drive has come; whether it has been too slow for long."""
        if self._marks and now - self._marks[-1][0] < MARK_S:
            return False
        self._marks.append((now, moment))
        while len(self._marks) > 2 and now - self._marks[1][0] >= REACHED_OVER_S:
            self._marks.popleft()
        since, begin = self._marks[0]
        if now - since < 4 * MARK_S:
            return False
        self.factor = (moment - begin) / (now - since)
        if self.factor >= SHORT * self._speed:
            self._short_since = None
        elif self._short_since is None:
            self._short_since = now
        return self._short_since is not None and now - self._short_since >= SHORT_S


class Room(NamedTuple):
    """Whether frames may be sent."""

    frames: int
    probing: bool = False


class Backpressure:
    """Never lets more than `WINDOW` frames be on their way, as counted by the reader.

    A single frame asks whether anybody reads; the rest waits for the count to move. What a reader
    that was away has missed never arrives: after `PATIENCE_S` of silence a single frame goes out
    again, and once the count moves, what was on its way before is forgotten.
    """

    def __init__(self, taken: int, window: int = WINDOW) -> None:
        self._window = window
        self._sent = window
        self._taken = taken
        self._lost = True
        self._patience_s = FIRST_PATIENCE_S
        self._moved_at = -math.inf

    def room(self, taken: int, now: float) -> Room:
        """How many frames may go out, *taken* being what the reader has counted so far."""
        if taken != self._taken:
            moved = max(0, taken - self._taken)
            self._sent = 0 if self._lost else max(0, self._sent - moved)
            self._taken, self._moved_at, self._lost = taken, now, False
            self._patience_s = PATIENCE_S
        free = self._window - self._sent
        if free > 0:
            return Room(free)
        if now - self._moved_at < self._patience_s:
            return Room(0)
        return Room(1, probing=True)

    def sent(self, frames: int, now: float, *, probing: bool = False) -> None:
        """Count what went out."""
        self._sent = min(self._sent + frames, self._window)
        if probing:
            self._lost, self._moved_at = True, now
