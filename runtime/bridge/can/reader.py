"""Reads a CAN bus in its own thread and survives any failure of the adapter."""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.can.adapters import open_source
from runtime.bridge.can.assembler import Assembler, Flush
from runtime.bridge.can.clock import EpochClock
from runtime.bridge.can.decoder import Decoder
from runtime.bridge.can.frames import CanFrame, Source, SourceLost
from runtime.bridge.can.settings import CanSettings
from runtime.bridge.can.statistics import NO_COUNTS, BusCounts, BusStatistics

State: TypeAlias = Literal[
    "off", "starting", "running", "reconnecting", "stopped_for_replay", "failed"
]
Open: TypeAlias = Callable[[CanSettings, EpochClock], Source]
Wait: TypeAlias = Callable[[threading.Event, float], bool]
"""Waits for the event, at most this many seconds; returns whether it was set."""

RETRY_S: Final = (1.0, 2.0, 5.0, 10.0)
"""Pauses between attempts to open the adapter; the last one repeats for ever."""
SILENT_S: Final = 5.0
"""A bus that is silent for this long is reopened."""
POLL_S: Final = 0.1
"""Longest wait of a read for the first frame, and so for noticing a stop."""
PAUSED_S: Final = 0.5
"""Silence after which a partial row is emitted if no clock of ours applies."""
JOIN_S: Final = 0.8
log = logging.getLogger(__name__)


class CanSnapshot(NamedTuple):
    """The state of the bus reader."""

    loaded: bool
    connected: bool
    """A frame came within the last five seconds."""
    state: State
    interface: str | None
    channel: str | None
    bitrate: int | None
    """Bit/s."""
    counts: BusCounts
    """`errors` counts undecodable frames and error frames of the bus."""
    last_error: str | None
    last_error_at: float | None
    """Unix seconds (UTC)."""
    reconnects: int
    next_retry_in_s: float | None
    faults: int
    """Own faults while building or delivering rows."""


NO_READER: Final = CanSnapshot(
    False, False, "off", None, None, None, NO_COUNTS, None, None, 0, None, 0
)
"""Without a configured bus."""


class _Run:
    """The state of one run of the thread, so that a stopped run cannot change the next."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.state: State = "starting"
        self.retry_at: float | None = None
        self.opened = 0
        self.tries = 0
        self.last_error = ""
        """The last logged error: hours without an adapter give one line."""
        self.is_abandoned = False
        """The thread hangs and was abandoned; it must not touch anything."""
        self.thread: threading.Thread | None = None


class CanReader:
    """Passes rows and samples of a bus from its own thread to *deliver*, which must not block.

    `start`, `stop`, `pause` and `resume` may be called from any thread and take up to a second, so
    not from the event loop. All other methods are quick.
    """

    def __init__(
        self,
        settings: CanSettings,
        decoder: Decoder,
        assembler_factory: Callable[[], Assembler],
        deliver: Callable[[list[Flush]], None],
        statistics: BusStatistics,
        clock: EpochClock | None = None,
        *,
        opening: Open = open_source,
        wait: Wait = threading.Event.wait,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self.statistics = statistics
        self.faults: Counter[str] = Counter()
        """Exceptions that the thread survived, by kind."""
        self._faults = 0
        self._decoder = decoder
        self._assembler_factory = assembler_factory
        self._assembler = assembler_factory()
        self._deliver = deliver
        self._clock = clock or EpochClock()
        self._opening = opening
        self._wait = wait
        self._monotonic = monotonic
        self._turn = threading.Lock()
        self._run: _Run | None = None
        self._idle: State = "off"
        self._anew = False
        self._reconnects = 0
        self._error: tuple[str, float] | None = None

    @property
    def state(self) -> State:
        """The current state of the reader."""
        run = self._run
        return self._idle if run is None else run.state

    @property
    def connected(self) -> bool:
        """Whether it runs and a frame came within the last five seconds."""
        age = self.statistics.last_frame_age_s
        return self.state == "running" and age is not None and age < SILENT_S

    def start(self) -> None:
        """Begin to read; what was read before belongs to another drive. Harmless when repeated."""
        with self._turn:
            if self._run is None:
                self.begin_session()
                self._launch()

    def stop(self) -> None:
        """Leave the bus; returns within a second even where a driver hangs."""
        with self._turn:
            self._halt("off")

    def pause(self) -> None:
        """Leave the bus during a replay; no effect while nothing is read."""
        with self._turn:
            if self._run is not None:
                self._halt("stopped_for_replay")

    def resume(self) -> None:
        """Continue after `pause`, with distance and clock."""
        with self._turn:
            if self._run is None and self._idle == "stopped_for_replay":
                self._launch()

    def begin_session(self) -> None:
        """Restart the distance at 0 and realign the clock with the next frame."""
        self._anew = True

    def snapshot(self) -> CanSnapshot:
        """Return the state; takes a millisecond with a thousand ids."""
        run, error = self._run, self._error
        counts = self.statistics.snapshot()
        retry_at = run.retry_at if run else None
        return CanSnapshot(
            loaded=True,
            connected=self.connected,
            state=self.state,
            interface=self.settings.interface,
            channel=self.settings.channel,
            bitrate=self.settings.bitrate,
            counts=counts._replace(errors=counts.errors + self._decoder.unknown_multiplexer),
            last_error=error[0] if error else None,
            last_error_at=error[1] if error else None,
            reconnects=self._reconnects,
            next_retry_in_s=None if retry_at is None else max(retry_at - self._monotonic(), 0.0),
            faults=self._faults,
        )

    def _launch(self) -> None:
        run = self._run = _Run()
        run.thread = threading.Thread(
            target=self._main, args=(run,), name="can-reader", daemon=True
        )
        run.thread.start()

    def _halt(self, state: State) -> None:
        run, self._run, self._idle = self._run, None, state
        if run is None or run.thread is None:
            return
        run.stop.set()
        run.thread.join(JOIN_S)
        if run.thread.is_alive():
            run.is_abandoned = True
            log.warning("the driver of the CAN adapter does not answer; its thread is left behind")

    def _main(self, run: _Run) -> None:
        while not run.stop.is_set():
            try:
                self._connect(run)
            except SourceLost as lost:
                self._report(run, str(lost))
            except ValueError as error:
                self._report(run, str(error))
                run.state = "failed"
                return
            except Exception as error:  # noqa: BLE001 - a driver may raise anything; we go on
                self._count_fault("driver", error)
                self._report(run, f"the CAN driver failed: {type(error).__name__}")
            if run.stop.is_set():
                return
            pause = RETRY_S[min(run.tries, len(RETRY_S) - 1)]
            run.tries += 1
            run.retry_at = self._monotonic() + pause
            run.state = "reconnecting"
            self._wait(run.stop, pause)
            run.retry_at = None
            if not self.settings.keep_stamps:
                self._deliver_rows(run, self._tick)

    def _connect(self, run: _Run) -> None:
        """Open the adapter and read it until it is lost or the run ends."""
        source = self._opening(self.settings, self._clock)
        try:
            if run.stop.is_set():
                return
            self._reconnects += run.opened > 0
            run.opened += 1
            run.state = "running"
            run.last_error = ""
            self._read(run, source)
        finally:
            source.close()
            self._deliver_rows(run, self._finish)

    def _read(self, run: _Run, source: Source) -> None:
        heard: float | None = None
        paused = False
        while not run.stop.is_set():
            received = source.read(POLL_S)
            now = self._monotonic()
            if received.frames or received.errors or received.malformed:
                self.statistics.add(received)
            if received.frames:
                heard, paused, run.tries = now, False, 0
                self._deliver_rows(run, partial(self._feed, received.frames))
            elif heard is not None:
                if now - heard >= SILENT_S:
                    raise SourceLost(f"no frame for {SILENT_S:.0f} s")
                if not self.settings.keep_stamps:
                    self._deliver_rows(run, self._tick)
                elif now - heard >= PAUSED_S and not paused:
                    paused = True
                    self._deliver_rows(run, self._finish)

    def _feed(self, frames: Sequence[CanFrame]) -> list[Flush]:
        if self._anew:
            self._anew = False
            self._clock.realign()
            self._assembler = self._assembler_factory()
        return self._assembler.feed(frames)

    def _tick(self) -> list[Flush]:
        return self._assembler.tick(self._clock.now())

    def _finish(self) -> list[Flush]:
        return self._assembler.finish()

    def _deliver_rows(self, run: _Run, make: Callable[[], list[Flush]]) -> None:
        """Deliver the result of *make*; a fault costs these rows, not the thread."""
        if run.is_abandoned:
            return
        kind = "rows"
        try:
            flushes = make()
            kind = "delivery"
            if flushes:
                self._deliver(flushes)
        except Exception as error:  # noqa: BLE001 - only a stop ends the loop
            self._count_fault(kind, error)

    def _report(self, run: _Run, why: str) -> None:
        if run.stop.is_set():
            return
        self._error = (why, time.time())
        if why != run.last_error:
            log.warning("CAN: %s", why)
            run.last_error = why

    def _count_fault(self, kind: str, error: Exception) -> None:
        name = f"{kind}: {type(error).__name__}"
        self._faults += 1
        self.faults[name] += 1
        if self.faults[name] == 1:
            log.error("the CAN reader went on after a fault (%s)", name, exc_info=error)
