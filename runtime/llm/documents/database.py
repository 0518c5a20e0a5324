"""The database of the store at run time: one writer, a reader that never waits for it, the disk."""

import asyncio
import contextlib
import logging
import shutil
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, Self, TypeVar

from runtime.llm.documents import changes, rows, schema
from runtime.llm.documents.changes import Done
from runtime.llm.documents.connection import Connection
from runtime.llm.documents.errors import StoreFailed, StoreFull, translated
from runtime.llm.documents.spare import Spare
from runtime.web.errors import TooMany

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

MOST_WRITES: Final = 256
"""Writes that wait or run at a time; further ones are refused."""
_FAILURES: Final = (sqlite3.Error, OSError, MemoryError, ValueError)


class Database:
    """Runs reads at once and writes one after another; knows how much is stored."""

    def __init__(
        self,
        folder: Path,
        writer: Connection,
        reader: Connection,
        aside: str | None,
        spare: Spare,
    ) -> None:
        self._folder = folder
        self._spare = spare
        self._writer = writer
        self._reader = reader
        self._lock = asyncio.Lock()
        self._writes: set[asyncio.Task[Done]] = set()
        self._chore: asyncio.Task[None] | None = None
        self._closing = False
        self._old_text = False
        self.recovered_from = aside
        """Name of a damaged database that was put aside at the start; None: none was."""
        self.totals = rows.Totals(0, 0, 0)
        """As of the last committed write."""
        self._refused: set[bool] = set()
        self.found_full = 0
        """Writes that found no room, deletes included."""

    @classmethod
    async def open(cls, folder: Path, spare_bytes: int) -> Self:
        """Open, make or repair the database of *folder*. Raises `StoreUnusable`.

        A file keeps *spare_bytes* of the disk, less of a small one, for deletes.
        """
        made, aside = await asyncio.to_thread(schema.opened, folder)
        path = folder / schema.DATABASE
        writer = Connection(lambda: made)
        reader = Connection(lambda: schema.readable(path))
        try:
            await writer
            await reader
            spare = Spare(folder, spare_bytes)
            await asyncio.to_thread(spare.keep, leave=1)
            database = cls(folder, writer, reader, aside, spare)
            database.totals = await database.read(rows.totals)
        except BaseException:
            await reader.close()
            await writer.close()
            raise
        return database

    @property
    def path(self) -> Path:
        """The database file."""
        return self._folder / schema.DATABASE

    @property
    def full(self) -> bool:
        """Whether the last document, or the last delete, found no room on the disk."""
        return bool(self._refused)

    async def read(
        self,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The result of *work*, which must be short, on the reader. Raises `StoreFailed`."""
        async with self.reported():
            return await self._reader.run(work, *args, **kwargs)

    async def write(
        self,
        work: Callable[[sqlite3.Connection], Done],
        follow: Callable[[Done], Awaitable[None]],
        *,
        adds: int,
    ) -> Done:
        """Commit *work*, then let memory *follow*, then see that no deleted text is left.

        *adds* is about how many bytes the write takes on disk; 0 for a delete, which may use the
        spare room. A cancelled caller does not stop it. Raises `StoreFull`, `StoreLimit`,
        `StoreFailed`, and `TooMany` while `MOST_WRITES` others are under way; nothing has changed
        after any of them.
        """
        if self._closing:
            raise StoreFailed("the document store is closed")
        if len(self._writes) >= MOST_WRITES:
            raise TooMany("too many writes are waiting", headers={"Retry-After": "1"})
        task = asyncio.create_task(self._commit(work, follow, adds))
        self._writes.add(task)
        task.add_done_callback(self._written)
        return await asyncio.shield(task)

    @contextlib.asynccontextmanager
    async def alone(self) -> AsyncIterator[Connection]:
        """The writer's connection, while no write is under way."""
        async with self._lock:
            yield self._writer

    @contextlib.asynccontextmanager
    async def reported(self) -> AsyncIterator[None]:
        """Turns failures of the disk and of SQLite into errors for a client; the log has them."""
        try:
            yield
        except _FAILURES as error:
            raise await asyncio.to_thread(translated, error, self._folder) from error

    def tidy(self) -> None:
        """Soon try again to empty the log, if a reader was in the way after a delete."""
        if self._old_text and not self._closing and self._chore is None:
            self._chore = asyncio.create_task(self._tidy())

    async def nbytes(self) -> int:
        """What the database takes on disk, its log included."""
        return await asyncio.to_thread(_size, self.path)

    async def drain(self) -> None:
        """Refuse further writes and finish those under way."""
        self._closing = True
        if self._writes:
            await asyncio.wait(set(self._writes))
        if self._chore:
            await asyncio.wait({self._chore})

    async def close(self) -> None:
        """Finish the writes under way, leave no deleted text, close."""
        await self.drain()
        await self._reader.close()
        if self._old_text:
            await self._scrub()
        await self._writer.close()

    async def _commit(
        self,
        work: Callable[[sqlite3.Connection], Done],
        follow: Callable[[Done], Awaitable[None]],
        adds: int,
    ) -> Done:
        async with self._lock:
            try:
                done = await self._done(work, adds)
            except StoreFull:
                self.found_full += 1
                self._refused.add(adds > 0)
                raise
            if adds or done.removed:  # what wrote nothing found no room either
                self._refused -= {False, adds > 0}
            self.totals = done.totals
            await follow(done)
            if done.removed or self._old_text or self._spare.missing:
                await self._scrub()
            await self._keep_spare()
            return done

    async def _done(self, work: Callable[[sqlite3.Connection], Done], adds: int) -> Done:
        """Commit, after making room where there is none."""
        if adds and await self._lacks(adds):
            await self._scrub()  # the room of the log may do
            await self._keep_spare()
            if lack := await self._lacks(adds):
                log.error("no document is added: the disk is full")
                raise lack
        try:
            return await self._attempt(work)
        except StoreFull:
            await self._scrub()
        try:
            return await self._attempt(work)
        except StoreFull:
            # What fits into free pages of the database gives the room of its log back, too.
            fits = not adds or await self._writer.run(_free_pages) >= adds
            if not fits or not await asyncio.to_thread(self._spare.give_up):
                raise
        log.warning("the disk is full: what is kept for deletes is used")
        try:
            return await self._attempt(work)
        except StoreFull:
            await self._scrub()  # what was written to the log goes, so that the spare fits again
            await self._keep_spare()
            raise

    async def _attempt(self, work: Callable[[sqlite3.Connection], Done]) -> Done:
        async with self.reported():
            return await self._writer.run(work)

    async def _lacks(self, adds: int) -> StoreFull | None:
        """What is wrong with adding so many bytes; None: there is room."""
        kept = self._spare.missing
        async with self.reported():
            free = await self._writer.run(_room, self.path, adds + kept)
        return None if free >= adds + kept else StoreFull(adds, free, kept)

    async def _keep_spare(self) -> None:
        if self._spare.missing:
            await asyncio.to_thread(self._spare.keep)

    async def _tidy(self) -> None:
        async with self._lock:
            await self._scrub()
        self._chore = None

    async def _scrub(self) -> None:
        """Empty the log; under the lock. A failure is mended by the next write or at close."""
        try:
            self._old_text = not await self._writer.run(changes.scrub)
        except sqlite3.Error:
            self._old_text = True
            log.warning("the log of the document database cannot be emptied now", exc_info=True)

    def _written(self, task: asyncio.Task[Done]) -> None:
        """Forget a write; its failure is seen even if its caller has gone."""
        self._writes.discard(task)
        if not task.cancelled():
            task.exception()


def _room(connection: sqlite3.Connection, path: Path, needed: int) -> int:
    """Bytes that the disk has free, and those of the database itself where they are needed."""
    free = shutil.disk_usage(path.parent).free - _bytes_of(path.with_name(path.name + "-wal"))
    if free >= needed:  # what is in the log has yet to find room in the database
        return free
    return free + _free_pages(connection)


def _free_pages(connection: sqlite3.Connection) -> int:
    """Bytes of the database that it uses before it grows."""
    (pages,) = connection.execute("PRAGMA freelist_count").fetchone()
    return int(pages) * schema.PAGE_BYTES


def _size(path: Path) -> int:
    return sum(_bytes_of(path.with_name(path.name + end)) for end in ("", "-wal", "-shm"))


def _bytes_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
