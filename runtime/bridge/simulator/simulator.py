"""Sends the frames of a drive on a bus, paced by the wall clock and by who reads them."""

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from runtime.bridge.can.values import CanFrame, Source, SourceLost
from runtime.bridge.simulator.schedule import Schedule

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

log = logging.getLogger(__name__)
BATCH: Final = 256
SHORTEST_S: Final = 0.002
"""Of a pause: at 100 times the speed one frame is due every 40 µs."""
LONGEST_S: Final = 0.1
BACK_OFF_S: Final = (1.0, 2.0, 5.0, 10.0)
STOP_S: Final = 1.0
Send = Callable[[Sequence[CanFrame]], None]
"""Puts frames on a bus. May block a while. Raises `SourceLost`."""


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

    def limit_lag(self, now: float, moment: float) -> None:
        """Tell that *moment* of the drive comes next; a long stop is not caught up on."""
        if self.due(now) - moment > LARGEST_LAG_S * self._speed:
            self._drive, self._wall = moment, now


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
    drive_s: float
    """How far the drive has come, on its own clock."""
    frames_sent: int
    held_up: bool
    """Whether it stands because nobody takes its frames."""
    last_error: str | None


class Simulator:
    """Drives until it is stopped, in a thread of its own.

    Frames are stamped with the drive's clock, which begins at the schedule's anchor: at a hundred
    times the speed they are the same as at the usual one. *taken* tells how many frames the reader
    of the bus has taken so far; no more than `WINDOW` are ever on their way to it, and while
    it takes none the drive's clock stands. Without *taken* the bus itself has to hold *send* up.
    """

    def __init__(
        self,
        send: Send,
        schedule: Schedule,
        speed: float = 1.0,
        *,
        taken: Callable[[], int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 0.1 <= speed <= 100.0:
            raise ValueError("speed from 0.1 to 100")
        self._send = send
        self._schedule = schedule
        self._speed = speed
        self._reader = taken
        self._clock = clock
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None
        self._waiting: deque[CanFrame] = deque()
        self._second = 0
        self._drive_s = 0.0
        self._sent = 0
        self._held_up = False
        self._reached = SpeedMeter()
        self._error: str | None = None

    def start(self) -> None:
        """Begin the drive, or go on with it where it was stopped; harmless when repeated."""
        if self._thread is not None and self._thread.is_alive():
            return
        self._ending = threading.Event()
        self._thread = threading.Thread(
            target=self._run, args=(self._ending,), name="simulator", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the drive within a second, even where the bus does not let go; blocks until then."""
        self._ending.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(STOP_S)
            if self._thread.is_alive():
                log.warning("the simulator's bus blocked while sending; its thread was abandoned")

    def state(self) -> SimulatorState:
        """Cheap, from any thread."""
        thread = self._thread
        running = thread is not None and thread.is_alive() and not self._ending.is_set()
        return SimulatorState(
            running=running,
            lap_seconds=self._schedule.drive.lap_seconds,
            speed_x=self._speed,
            reached_x=self._reached.factor if running else None,
            laps=self._schedule.drive.laps_at(self._drive_s),
            drive_s=self._drive_s,
            frames_sent=self._sent,
            held_up=self._held_up,
            last_error=self._error,
        )

    def _run(self, ending: threading.Event) -> None:
        failures = 0
        while not ending.is_set():
            before = self._sent
            try:
                self._drive(ending)
            except SourceLost as lost:
                self._failed(str(lost))
            except Exception:
                log.exception("the simulator stumbled")
                self._failed("the simulator stumbled; the log says how")
            else:
                return
            failures = 0 if self._sent > before else min(failures + 1, len(BACK_OFF_S) - 1)
            ending.wait(BACK_OFF_S[failures])

    def _failed(self, why: str) -> None:
        if why != self._error:
            log.warning("simulator: %s", why)
        self._error = why

    def _drive(self, ending: threading.Event) -> None:
        """Until the end, or until the bus is lost."""
        now = self._clock()
        pacer = Pacer(self._speed, now - self._drive_s / self._speed)
        pressure = Backpressure(self._reader()) if self._reader else None
        self._reached = SpeedMeter()
        while not ending.is_set():
            now = self._clock()
            room = pressure.room(self._reader(), now) if pressure and self._reader else None
            most = min(BATCH, room.frames) if room else BATCH
            batch = self._take(pacer.due(now), most)
            self._held_up = most == 0
            if batch:
                self._send(batch)
                self._error = None
                self._sent += len(batch)
                if pressure and room:
                    pressure.sent(len(batch), now, probing=room.probing)
            now = self._clock()
            pacer.limit_lag(now, self._ahead())
            self._reached.update(now, min(pacer.due(now), self._ahead()))
            if len(batch) < most or not most:
                ending.wait(self._pause(pacer))

    def _take(self, until_s: float, most: int) -> list[CanFrame]:
        """The next frames that are due by then."""
        anchor = self._schedule.anchor_s
        batch: list[CanFrame] = []
        while len(batch) < most:
            if not self._waiting:
                if self._second > until_s:
                    break
                self._waiting.extend(self._schedule.second(self._second))
                self._second += 1
                continue
            if self._waiting[0].t - anchor > until_s:
                break
            batch.append(self._waiting.popleft())
        if batch:
            self._drive_s = batch[-1].t - anchor
        return batch

    def _pause(self, pacer: Pacer) -> float:
        if self._held_up:
            return SHORTEST_S
        return min(max(pacer.wait_s(self._clock(), self._ahead()), SHORTEST_S), LONGEST_S)

    def _ahead(self) -> float:
        """The moment of the drive that comes next."""
        if self._waiting:
            return self._waiting[0].t - self._schedule.anchor_s
        return float(self._second)


class SourceSend:
    """Sends through a `Source` that is opened when the first frame comes, anew after a loss."""

    def __init__(self, open_source: Callable[[], Source]) -> None:
        self._open = open_source
        self._source: Source | None = None

    def __call__(self, frames: Sequence[CanFrame]) -> None:
        """See `Send`."""
        if self._source is None:
            self._source = self._open()
        try:
            for frame in frames:
                self._source.send(frame)
        except SourceLost:
            self.close()
            raise

    def close(self) -> None:
        """Let go of the bus; when the simulator has stopped."""
        source, self._source = self._source, None
        if source is not None:
            source.close()
