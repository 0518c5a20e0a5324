"""The synthetic car as a CAN adapter: reading it returns the frames that its drive has sent."""

import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Self

from runtime.bridge.can.clock import EpochClock
from runtime.bridge.can.frames import CanFrame, Received, Source
from runtime.bridge.can.settings import CanSettings
from runtime.bridge.simulator.schedule import Schedule

LARGEST_LAG_S: Final = 0.5
"""Wall time that is caught up; the drive ignores a longer stop."""
REACHED_OVER_S: Final = 5.0
"""Wall time over which the reached speed is averaged."""
MARK_S: Final = 0.25
MOST: Final = 2000
"""Frames of one read."""
SHORTEST_S: Final = 0.005
"""Shortest pause between reads: fewer, larger reads without visible delay."""


class SpeedMeter:
    """Measures how fast a drive ran in the last seconds, relative to the wall clock."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, float]] = deque()
        self.factor: float | None = None
        """None: unknown so far."""

    def update(self, now: float, moment: float) -> None:
        """Note that the drive has reached *moment* at wall time *now*."""
        if self._marks and now - self._marks[-1][0] < MARK_S:
            return
        self._marks.append((now, moment))
        while len(self._marks) > 2 and now - self._marks[1][0] >= REACHED_OVER_S:
            self._marks.popleft()
        since, begin = self._marks[0]
        if now - since >= 4 * MARK_S:
            self.factor = (moment - begin) / (now - since)


class SimulatorState(NamedTuple):
    """The state of the synthetic car."""

    running: bool
    lap_seconds: float
    speed_x: float
    """As requested."""
    reached_x: float | None
    """Over the last seconds; None while unknown or not driving."""
    laps: int
    """Complete laps."""


class Simulator:
    """A `Source` that drives while it is read, and continues where it was when it is reopened.

    Frames carry the time of the drive's clock, which starts at the schedule's anchor, so they are
    the same at any speed. Frames are also sent on the adapter *outside*, which is opened with the
    simulator; its errors are raised.
    """

    def __init__(
        self,
        schedule: Schedule,
        speed: float = 1.0,
        outside: Callable[[], Source] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 0.1 <= speed <= 100.0:
            raise ValueError("speed from 0.1 to 100")
        self._schedule = schedule
        self._speed = speed
        self._open_outside = outside
        self._outside: Source | None = None
        self._clock = clock
        self._waiting: deque[CanFrame] = deque()
        self._second = 0
        self._drive_s = 0.0
        self._running = self._is_behind = False
        self._begun = (0.0, 0.0)
        """A time on the wall clock, and the time of the drive that was due then."""
        self._reached = SpeedMeter()

    def open(self, _settings: CanSettings, _clock: EpochClock) -> Self:
        """Start or continue the drive; see `can.reader.Open`. Raises `SourceLost`."""
        if self._open_outside is not None:
            self._outside = self._open_outside()
        self._begun = (self._clock(), self._drive_s)
        self._reached = SpeedMeter()
        self._running = True
        return self

    def read(self, timeout_s: float) -> Received:
        """Return the due frames; wait for them at most *timeout_s*. Raises `SourceLost`."""
        if not self._is_behind:
            pause_s = (self._ahead() - self._due(self._clock())) / self._speed
            time.sleep(min(max(pause_s, SHORTEST_S), timeout_s))
        now, ahead = self._clock(), self._ahead()
        if self._due(now) - ahead > LARGEST_LAG_S * self._speed:
            self._begun = (now, ahead)
        frames = self._take(self._due(now))
        self._is_behind = len(frames) == MOST
        if (outside := self._outside) is not None:
            for frame in frames:
                outside.send(frame)
        now = self._clock()
        self._reached.update(now, min(self._due(now), self._ahead()))
        return Received(frames)

    def send(self, frame: CanFrame) -> None:
        """Ignore the frame: nothing listens to this bus."""

    def close(self) -> None:
        """Pause the drive."""
        self._running = False
        outside, self._outside = self._outside, None
        if outside is not None:
            outside.close()

    def state(self) -> SimulatorState:
        """Return the current state; cheap, from any thread."""
        return SimulatorState(
            running=self._running,
            lap_seconds=self._schedule.drive.lap_seconds,
            speed_x=self._speed,
            reached_x=self._reached.factor if self._running else None,
            laps=self._schedule.drive.laps_at(self._drive_s),
        )

    def _due(self, now: float) -> float:
        """Return the seconds of the drive that are due by *now*."""
        wall, drive = self._begun
        return drive + (now - wall) * self._speed

    def _take(self, until_s: float) -> list[CanFrame]:
        """Take the next frames up to *until_s* of the drive."""
        anchor = self._schedule.anchor_s
        frames: list[CanFrame] = []
        while len(frames) < MOST:
            if not self._waiting:
                if self._second > until_s:
                    break
                self._waiting.extend(self._schedule.second(self._second))
                self._second += 1
                continue
            if self._waiting[0].t - anchor > until_s:
                break
            frames.append(self._waiting.popleft())
        if frames:
            self._drive_s = frames[-1].t - anchor
        return frames

    def _ahead(self) -> float:
        """Return the time of the next frame of the drive."""
        if self._waiting:
            return self._waiting[0].t - self._schedule.anchor_s
        return float(self._second)
