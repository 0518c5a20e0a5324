"""The reader threads, each with its own connection; they never wait for the writer."""

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
"""Most reads that wait or run; further ones are refused."""
CHECKED_BYTES: Final = 256 << 20
"""Largest file that is checked at the start: 100 MB take 75 ms of one core."""


class Readers:
    """Runs reads in threads, each in its own transaction, which sees whole commits."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._pool = ThreadPoolExecutor(THREADS, "bridge-reader")
        self._mine = threading.local()
        self._connections: list[Connection] = []
        self._waiting = 0
        self.damaged = False
        """Whether a read has found damage to the file."""

    async def read(self, work: Callable[[Connection], T]) -> T:
        """Run *work* in a transaction. Raises `StoreBusy`, `StoreFailed`, and its `ApiError`s."""
        return await self.run(lambda: self._in_transaction(work))

    async def run(self, work: Callable[[], T]) -> T:
        """Run *work* on one of the threads. Cancelling the caller does not stop it."""
        if self._waiting >= MOST_WAITING:
            raise StoreBusy
        self._waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._pool, self._run_guarded, work)
        future.add_done_callback(self._done)
        return await asyncio.shield(future)

    def open(self) -> Connection:
        """Open another connection for a reader's thread; the caller closes it."""
        return self._engine.reader()

    async def look_over(self) -> None:
        """Check the page structure of a SQLite file in advance.

        DuckDB has checksums on its pages; a large file would take too long.
        """
        if self._engine.kind != "lightweight":
            return
        with contextlib.suppress(ApiError):  # the read has logged it
            if (fault := await self.read(_find_fault)) is not None:
                log.error("the database file is damaged: %s", fault)
                self.damaged = True

    async def close(self) -> None:
        """Finish the running reads, close the connections."""
        await asyncio.to_thread(self._pool.shutdown, cancel_futures=True)
        for connection in self._connections:
            connection.close()

    def _done(self, future: "asyncio.Future[T]") -> None:
        self._waiting -= 1
        if not future.cancelled():
            future.exception()  # retrieved even if its caller was cancelled

    def _run_guarded(self, work: Callable[[], T]) -> T:
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


def _find_fault(connection: Connection) -> str | None:
    """Check a SQLite file; None: no fault found, or the file is too large to check."""
    size = "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"
    if int(connection.rows(size)[0][0]) > CHECKED_BYTES:
        return None
    verdict = str(connection.rows("PRAGMA quick_check(1)")[0][0])
    return None if verdict == "ok" else verdict
