"""Sends the frames of a drive on a bus, paced by the wall clock and by who reads them."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from runtime.bridge.can.values import CanFrame, Source, SourceLost
from runtime.bridge.simulator.pacing import Backpressure, Pacer, Reached
from runtime.bridge.simulator.schedule import Schedule

log = logging.getLogger(__name__)

BATCH: Final = 256
SHORTEST_S: Final = 0.002
"""Of a pause: at 100 times the speed one frame is due every 40 µs."""
LONGEST_S: Final = 0.1
BACK_OFF_S: Final = (1.0, 2.0, 5.0, 10.0)
STOP_S: Final = 1.0

Send = Callable[[Sequence[CanFrame]], None]
"""Puts frames on a bus. May block a while. Raises `SourceLost`."""


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
    of the bus has taken so far; no more than `pacing.WINDOW` are ever on their way to it, and while
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
        self._reached = Reached(speed)
        self._told_short = False
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
        """End the drive within a second, even where the bus does not let go; blocks so long."""
        self._ending.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(STOP_S)
            if self._thread.is_alive():
                log.warning("the simulator's bus does not let go of a frame; left behind")

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
        self._reached = Reached(self._speed)
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
            pacer.held_at(now, self._ahead())
            if self._reached.come(now, min(pacer.due(now), self._ahead())):
                self._falls_short()
            if len(batch) < most or not most:
                ending.wait(self._pause(pacer))

    def _falls_short(self) -> None:
        """Say once that the clock is slower than it was asked to be."""
        if not self._told_short:
            log.warning(
                "the synthetic car is to drive %g times as fast as the clock; %.1f are reached",
                self._speed,
                self._reached.factor or 0.0,
            )
        self._told_short = True

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
