"""The threads that read, each with a connection of its own; they never wait for the writer."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from runtime.bridge.storage.backend import Connection, Engine
from runtime.bridge.storage.errors import Damaged, StoreBusy, StoreDamaged
from runtime.web.errors import ApiError

log = logging.getLogger(__name__)

T = TypeVar("T")

THREADS: Final = 2
MOST_WAITING: Final = 256
"""Reads that wait or run; further ones are refused."""
LOOKED_OVER_BYTES: Final = 256 << 20
"""Of a file that is looked over at the start: 100 MB take 75 ms of one core."""


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
            reason = self._engine.translate_error(error)
            log.error("a read failed: %s", reason, exc_info=error)
            if isinstance(reason, Damaged):
                self.damaged = True
                raise StoreDamaged from error
            raise reason from error

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
    verdict = str(connection.rows("PRAGMA quick_check(1)")[0][0])
    return None if verdict == "ok" else verdict
