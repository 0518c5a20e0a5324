"""The threads that read, each with a connection of its own, and the reads that take more than SQL.

Readers never wait for the writer.
"""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

import numpy as np

from runtime.bridge.session.recording import TIMESTAMP, WIDE, Samples
from runtime.bridge.storage.backend import Connection, Engine, Window
from runtime.bridge.storage.canonical import nearest
from runtime.bridge.storage.errors import Damaged, StoreBusy, StoreDamaged
from runtime.bridge.storage.state import Session, Span, Spans
from runtime.bridge.storage.writes import Fill
from runtime.web.errors import ApiError

log = logging.getLogger(__name__)

T = TypeVar("T")

THREADS: Final = 2
MOST_WAITING: Final = 256
"""Reads that wait or run; further ones are refused."""
LOOKED_OVER_BYTES: Final = 256 << 20
"""Of a file that is looked over at the start: 100 MB take 75 ms of one core."""
_AT_ONCE: Final = 65_536
"""Frames that are counted at a time."""


class Readers:
    """Runs reads in threads, each in a transaction of its own, which sees whole commits."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pool = ThreadPoolExecutor(THREADS, "bridge-reader")
        self._mine = threading.local()
        self._connections: list[Connection] = []
        self._waiting = 0
        self.damaged = False
        """Whether a read has met a broken place of the file."""

    async def read(self, work: Callable[[Connection], T]) -> T:
        """The result of *work*. Raises `StoreBusy`, `StoreFailed`, and the `ApiError` of *work*."""
        return await self.run(lambda: self._in_transaction(work))

    async def run(self, work: Callable[[], T]) -> T:
        """*work* on one of the threads. A caller that goes away does not stop it."""
        if self._waiting >= MOST_WAITING:
            raise StoreBusy
        self._waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, self._guarded, work)
        future.add_done_callback(self._done)
        return await asyncio.shield(future)

    def open(self) -> Connection:
        """A further connection, which the caller closes; for a reader's thread."""
        return self._engine.reader()

    async def look_over(self) -> None:
        """Find out whether the pages of a file of SQLite hang together, before one is needed.

        DuckDB has a checksum on each of its own, and a large file would be read for too long.
        """
        if self._engine.kind != "lightweight":
            return
        with contextlib.suppress(ApiError):  # which the read has noted
            if (fault := await self.read(_fault)) is not None:
                log.error("the file of the database is damaged: %s", fault)
                self.damaged = True

    async def close(self) -> None:
        """Finish the reads under way, close the connections."""
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
        for connection in self._connections:
            connection.close()

    def _done(self, future: "asyncio.Future[T]") -> None:
        self._waiting -= 1
        if not future.cancelled():
            future.exception()  # seen even if its caller has gone

    def _guarded(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except ApiError:
            raise
        except Exception as error:
            known = self._engine.translated(error)
            log.error("a read failed: %s", known, exc_info=error)
            if isinstance(known, Damaged):
                self.damaged = True
                raise StoreDamaged from error
            raise known from error

    def _in_transaction(self, work: Callable[[Connection], T]) -> T:
        connection: Connection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = self._mine.connection = self._engine.reader()
            self._connections.append(connection)
        connection.begin()
        try:
            return work(connection)
        finally:
            connection.rollback()


def _fault(connection: Connection) -> str | None:
    """What is wrong with a file of SQLite; None: nothing, or it is large."""
    size = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    if int(connection.rows(size)[0][0]) > LOOKED_OVER_BYTES:
        return None
    found = str(connection.rows("PRAGMA quick_check(1)")[0][0])
    return None if found == "ok" else found


def count_telemetry(connection: Connection, key: int, wide: Mapping[str, int]) -> Session:
    """Number of frames, odometer and spans of a session, counted from what is stored."""
    session = Session.begun(key, "", 0)
    while True:
        window = Window(session.n_frames, session.n_frames + _AT_ONCE)
        columns = connection.frames(key, WIDE, window)
        numbers = np.stack([columns[name] for name in WIDE])
        if not numbers.shape[1]:
            break
        session = session.travelled(numbers, wide)
    spans: dict[int, Span] = dict(session.spans or {})
    for signal in sorted(connection.signals(key)):
        t = connection.samples(key, [signal])[signal].t
        spans[signal] = Span(len(t), float(t[0]), float(t[-1]))
    return session.spread(spans)


def sample_counts(connection: Connection, live: Mapping[int, Spans]) -> dict[int, int]:
    """How many samples of each signal all sessions have together, by signal id.

    *live*: the spans that are in memory, by session key; they count in place of the settled ones.
    """
    rows = connection.rows("SELECT session_key, signal_id, n_samples FROM session_capabilities")
    counted = {(key, signal): n for key, signal, n in rows}
    counted |= {
        (key, signal): n for key, spans in live.items() for signal, (n, *_) in spans.items()
    }
    total: dict[int, int] = {}
    for (_, signal), n in counted.items():
        total[signal] = total.get(signal, 0) + n
    return total


def fills_of(connection: Connection, key: int, wide: Mapping[str, Samples]) -> list[Fill]:
    """The frames that samples of wide columns, in canonical form, belong to.

    Samples that belong to none are left out.
    """
    t = connection.frames(key, (TIMESTAMP,), Window())[TIMESTAMP]
    found = []
    for name, samples in wide.items():
        at = nearest(t, samples.t)
        near = at >= 0
        if near.any():
            chosen = at[near]
            found.append(Fill(name, chosen, t[chosen], samples.value[near], samples.t[near]))
    return found
