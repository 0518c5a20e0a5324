"""The synthetic car as an adapter of a CAN bus: reading it brings what its drive sends by now."""

import time
from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple, Self

from runtime.bridge.can.clock import EpochClock
from runtime.bridge.can.frames import CanFrame, Received, Source
from runtime.bridge.can.settings import CanSettings
from runtime.bridge.simulator.schedule import Schedule

LARGEST_LAG_S: Final = 0.5
"""Wall time that is caught up on; of a longer stop the drive knows nothing."""
REACHED_OVER_S: Final = 5.0
"""Wall time over which the reached speed is told."""
MARK_S: Final = 0.25
MOST: Final = 2000
"""Frames of one read."""
SHORTEST_S: Final = 0.005
"""Of a pause between reads: fewer, larger reads at no delay that anyone sees."""


class SpeedMeter:
    """How many times as fast as the wall clock a drive really was in the last seconds."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, float]] = deque()
        self.factor: float | None = None
        """None: not known yet."""

    def update(self, now: float, moment: float) -> None:
        """Tell how far the drive has come."""
        if self._marks and now - self._marks[-1][0] < MARK_S:
            return
        self._marks.append((now, moment))
        while len(self._marks) > 2 and now - self._marks[1][0] >= REACHED_OVER_S:
            self._marks.popleft()
        since, begin = self._marks[0]
        if now - since >= 4 * MARK_S:
            self.factor = (moment - begin) / (now - since)


class SimulatorState(NamedTuple):
    """The synthetic car in one look."""

    running: bool
    lap_seconds: float
    speed_x: float
    """As it was asked for."""
    reached_x: float | None
    """As it was over the last seconds; None while it is not known, or nothing drives."""
    laps: int
    """Complete ones."""


class Simulator:
    """A `Source` that drives while it is read, and goes on where it was when it is opened again.

    Frames are stamped with the drive's clock, which begins at the schedule's anchor: at a hundred
    times the speed they are the same as at the usual one. What is read goes out on the adapter
    *outside*, too, which is opened with it; what that one refuses is not read either.
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
        """A moment on the wall clock, and that of the drive which was due then."""
        self._reached = SpeedMeter()

    def open(self, _settings: CanSettings, _clock: EpochClock) -> Self:
        """Begin the drive, or go on with it; see `can.reader.Open`. Raises `SourceLost`."""
        if self._open_outside is not None:
            self._outside = self._open_outside()
        self._begun = (self._clock(), self._drive_s)
        self._reached = SpeedMeter()
        self._running = True
        return self

    def read(self, timeout_s: float) -> Received:
        """The frames that are due; waits for them at most *timeout_s*. Raises `SourceLost`."""
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
        """Nobody hears what is sent to a synthetic car."""

    def close(self) -> None:
        """Stop the car where it is."""
        self._running = False
        outside, self._outside = self._outside, None
        if outside is not None:
            outside.close()

    def state(self) -> SimulatorState:
        """Cheap, from any thread."""
        return SimulatorState(
            running=self._running,
            lap_seconds=self._schedule.drive.lap_seconds,
            speed_x=self._speed,
            reached_x=self._reached.factor if self._running else None,
            laps=self._schedule.drive.laps_at(self._drive_s),
        )

    def _due(self, now: float) -> float:
        """Seconds of the drive that should have been sent by *now*."""
        wall, drive = self._begun
        return drive + (now - wall) * self._speed

    def _take(self, until_s: float) -> list[CanFrame]:
        """The next frames that are due by then."""
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
        """The moment of the drive that comes next."""
        if self._waiting:
            return self._waiting[0].t - self._schedule.anchor_s
        return float(self._second)
