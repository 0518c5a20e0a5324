"""The database at run time: one writer, readers that never wait for it, and room on the disk."""

import asyncio
import contextlib
import errno
import logging
import os
import shutil
import sqlite3
import sys
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context
from io import RawIOBase
from pathlib import Path
from typing import Concatenate, Final, NamedTuple, ParamSpec, Self, TypeVar

from runtime.llm.documents import rows, schema
from runtime.llm.documents.document import StoreFailed, StoreFull
from runtime.llm.documents.rows import Commit, Edit
from runtime.web.errors import ApiError, TooMany

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

MAX_WRITES: Final = 256
"""Writes that wait or run at a time; further ones are refused."""
GROUP_BYTES: Final = 4 << 20
"""Writes that wait share a commit, up to about this much on disk."""
LONGEST_PAUSE_S: Final = 0.01
"""A commit waits no longer for the next writes of those whom the last one answered."""
SPARE_FILE: Final = "room-to-delete"
SPARE_SHARE: Final = 16
"""Of a small disk the spare file takes one part in this many."""
_FAILURES: Final = (sqlite3.Error, OSError, MemoryError, ValueError)
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)
_ZEROS: Final = bytes(1 << 20)


class Threads:
    """A few threads that each have a connection of their own."""

    def __init__(
        self,
        name: str,
        count: int,
        connect: Callable[[], sqlite3.Connection],
        background: bool = False,
    ) -> None:
        self._executor = ThreadPoolExecutor(
            count, thread_name_prefix=name, initializer=_lower_priority if background else None
        )
        self._connect = connect
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []

    async def run(
        self,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The result of *work* on a thread's connection. Raises what *work* raises.

        A transaction is one such function, so a cancelled caller never leaves half of one behind.
        """
        try:
            future = self._executor.submit(
                self._work, lambda connection: work(connection, *args, **kwargs)
            )
        except RuntimeError as error:  # after `close`
            raise StoreFailed("the document store is closed") from error
        return await asyncio.wrap_future(future)

    async def close(self) -> None:
        """Wait for what runs, drop what waits, close the connections."""
        await asyncio.to_thread(self._executor.shutdown, wait=True, cancel_futures=True)
        while self._connections:
            self._connections.pop().close()

    def _work(self, work: Callable[[sqlite3.Connection], T]) -> T:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect()
            self._connections.append(connection)
        return work(connection)


def _lower_priority() -> None:
    if sys.platform == "linux":  # where the priority of a process is that of one thread
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


class Spare:
    """A file that reserves room: it is removed for a delete, and made again afterwards.

    A delete writes about as many bytes to the log as it removes, since what is deleted is
    overwritten. Room that is merely left free would be taken by other programs. All methods
    block on the disk.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self._path = folder / SPARE_FILE
        self._wanted = size
        self.missing = size
        """Bytes that the file should hold and does not, as last checked."""

    def keep(self, *, leave: int = 0) -> None:
        """Make the file unless it is there or the disk has no room; *leave* times its size stays.

        Nothing depends on success: `missing` tells.
        """
        with contextlib.suppress(OSError):
            disk = shutil.disk_usage(self._path.parent)
            self.missing = min(self._wanted, disk.total // SPARE_SHARE)
            if self._size() == self.missing:
                self.missing = 0
            elif disk.free >= (1 + leave) * self.missing:
                self._make()

    def give_up(self) -> bool:
        """Free the room for a delete; False: there is none."""
        try:
            size = self._size()
            self._path.unlink()
        except OSError:  # somebody else removed it
            size = 0
        self.missing = self.missing or size or self._wanted
        return size > 0

    def _make(self) -> None:
        try:
            self._path.unlink(missing_ok=True)  # also a link, whose target is not ours
            with self._path.open("xb", buffering=0) as file:
                _allocate(file, self.missing)
        except OSError:
            self._path.unlink(missing_ok=True)
        else:
            self.missing = 0

    def _size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0


class Write(NamedTuple):
    """An edit that waits to be committed, alone or with others."""

    edit: Edit
    adds: int
    """About how many bytes it takes on disk; 0 for a delete, which may use the spare room."""
    done: "asyncio.Future[int]"


class Database:
    """Runs reads at once and writes one after another; knows how much is stored.

    Writes that come while another one is under way share the next commit: the disk is waited for
    once. So do those that come right after it, as clients that write one document after the other
    ask again as soon as they are answered: else they would part into two groups, each of which
    waits for the commit of the other. Each write is all or nothing by itself, and is answered
    after the commit.
    """

    def __init__(
        self, folder: Path, writer: sqlite3.Connection, recovered_from: str | None, spare: Spare
    ) -> None:
        self._folder = folder
        self.path = folder / schema.DATABASE
        """The database file."""
        self._log_path = folder / f"{schema.DATABASE}-wal"
        self._spare = spare
        self._writer = Threads("document-writer", 1, lambda: writer)
        self._reader = Threads("document-reader", 1, self.connect)
        self._lock = asyncio.Lock()
        self._waiting: deque[Write] = deque()
        self._unfinished = 0
        """Writes that wait or are under way."""
        self._expected = 0
        """Writes that the last commit answered, and those that came meanwhile."""
        self._pause_s = 0.0
        """What the last commit took, up to `LONGEST_PAUSE_S`."""
        self._complete = asyncio.Event()
        """Set once as many writes wait as are expected."""
        self._working: asyncio.Task[None] | None = None
        self._chore: asyncio.Task[None] | None = None
        self._closing = False
        self._old_text = False
        """Whether the log may still hold deleted text."""
        self._refused: set[bool] = set()
        self.recovered_from = recovered_from
        """Name of a damaged database that was put aside at the start; None: none was."""
        self.totals = rows.Totals(0, 0, 0)
        """As of the last committed write."""
        self.refusals = 0
        """Writes that found no room, deletes included."""
        self.follow: Callable[[Commit], Awaitable[None]] = _nobody
        """Awaited after each commit and before it is answered."""

    @classmethod
    async def open(cls, folder: Path, spare_bytes: int) -> Self:
        """Open, make or repair the database of *folder*. Raises `StoreUnusable`.

        A file keeps *spare_bytes* of the disk, less of a small one, for deletes.
        """
        writer, aside = await asyncio.to_thread(schema.open_database, folder)
        spare = Spare(folder, spare_bytes)
        database = cls(folder, writer, aside, spare)
        try:
            await asyncio.to_thread(spare.keep, leave=1)
            database.totals = await database._writer.run(rows.totals)
        except BaseException:
            await database._writer.close()
            writer.close()
            raise
        return database

    @property
    def full(self) -> bool:
        """Whether the last document, or the last delete, found no room on the disk."""
        return bool(self._refused)

    def connect(self) -> sqlite3.Connection:
        """A new connection for reads."""
        return schema.open_for_reading(self.path)

    async def read(
        self,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The result of *work*, which must be short, on the reader. Raises `StoreFailed`."""
        async with self.translating_errors():
            return await self._reader.run(work, *args, **kwargs)

    async def write(self, edit: Edit, *, adds: int) -> int:
        """Commit an edit, await `follow`, then see that no deleted text is left in the log.

        How many chunks it removed. *adds* is about how many bytes it takes on disk; 0 for a delete,
        which may use the spare room. A cancelled caller does not stop it. Raises `StoreFull`,
        `StoreLimit`, `StoreFailed`, and `TooMany` while `MAX_WRITES` others are under way; nothing
        has changed after any of them.
        """
        if self._closing:
            raise StoreFailed("the document store is closed")
        if self._unfinished >= MAX_WRITES:
            raise TooMany("too many writes are waiting", headers={"Retry-After": "1"})
        write = Write(edit, adds, asyncio.get_running_loop().create_future())
        self._waiting.append(write)
        self._unfinished += 1
        if len(self._waiting) >= self._expected:
            self._complete.set()
        if self._working is None:  # of no request, whose id its log lines would have
            self._working = asyncio.create_task(self._work_off(), context=Context())
        return await write.done

    @contextlib.asynccontextmanager
    async def exclusive(self) -> AsyncIterator[Threads]:
        """The writer's thread, while no write is under way."""
        async with self._lock:
            yield self._writer

    @contextlib.asynccontextmanager
    async def translating_errors(self) -> AsyncIterator[None]:
        """Turn failures of the disk and of SQLite into errors for a client, and log them."""
        try:
            yield
        except _FAILURES as error:
            raise await asyncio.to_thread(_translate, error, self._folder) from error

    def tidy(self) -> None:
        """Soon try again to empty the log, if a reader was in the way after a delete."""
        if self._old_text and not self._closing and self._chore is None:
            self._chore = asyncio.create_task(self._tidy())

    async def nbytes(self) -> int:
        """What the database takes on disk, its log included."""
        files = [self.path, self._log_path, self.path.with_name(f"{self.path.name}-shm")]
        return await asyncio.to_thread(lambda: sum(map(_size_of, files)))

    async def drain(self) -> None:
        """Refuse further writes and finish those under way."""
        self._closing = True
        if self._working:
            await asyncio.wait({self._working})
        if self._chore:
            await asyncio.wait({self._chore})

    async def close(self) -> None:
        """Finish the writes under way, leave no deleted text, close."""
        await self.drain()
        await self._reader.close()
        if self._old_text:
            await self._scrub()
            self._old_text = False
        await self._writer.close()

    async def _work_off(self) -> None:
        """Commit what waits, group by group, until nothing does."""
        try:
            while self._waiting:
                await self._gather()
                async with self._lock:
                    group = self._next_group()
                    began = time.monotonic()
                    try:
                        await self._write_group(group)
                    except Exception as error:  # noqa: BLE001 - whoever waits must be answered
                        for write in group:
                            if not write.done.done():
                                write.done.set_exception(error)
                    finally:
                        self._unfinished -= len(group)
                        self._expected = len(group) + len(self._waiting)
                        self._pause_s = min(time.monotonic() - began, LONGEST_PAUSE_S)
        finally:
            self._working = None

    async def _gather(self) -> None:
        """Wait a moment for the writes that are expected."""
        self._complete.clear()
        if len(self._waiting) < self._expected and not self._closing:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pause_s):
                    await self._complete.wait()

    def _next_group(self) -> list[Write]:
        """Those that wait longest and are about different documents, or one about a tenant."""
        group: list[Write] = []
        places: set[object] = set()
        size = 0
        while self._waiting and None not in places:
            edit, adds, _ = self._waiting[0]
            size += adds
            apart = edit.place is None or edit.place in places or size > GROUP_BYTES
            if group and apart:
                break
            places.add(edit.place)
            group.append(self._waiting.popleft())
        return group

    async def _write_group(self, group: list[Write]) -> None:
        """Commit and answer: all together, or one by one where that fails."""
        try:
            commit = await self._writer.run(self._commit_together, group)
        except _FAILURES:  # whose fault it is, shows when each is alone
            commit = None
        if commit is not None:
            await self._finish(group, commit)
            return
        for write in group:
            try:
                await self._finish([write], await self._commit(write))
            except ApiError as error:
                if isinstance(error, StoreFull):
                    self.refusals += 1
                    self._refused.add(write.adds > 0)
                _answer(write, error)

    def _commit_together(
        self, connection: sqlite3.Connection, group: Sequence[Write]
    ) -> Commit | None:
        """None: there is no room beside what is kept for deletes."""
        if adds := sum(write.adds for write in group):
            needed = adds + self._spare.missing
            if self._room(connection, needed) < needed:
                return None
        return rows.commit(connection, [write.edit for write in group])

    async def _finish(self, group: Sequence[Write], commit: Commit) -> None:
        """Let others follow what is committed, empty the log of deleted text, then answer."""
        self.totals = commit.totals
        await self.follow(commit)
        removed = any(change.removed or change.gone for change in commit.changes)
        if removed or self._old_text or self._spare.missing:
            await self._scrub()
        await self._keep_spare()
        for write, result in zip(group, commit.results, strict=True):
            if isinstance(result, int) and (
                write.adds or result
            ):  # a write of nothing proves no room
                self._refused -= {False, write.adds > 0}
            _answer(write, result)

    async def _commit(self, write: Write) -> Commit:
        """Commit one by itself, after making room where there is none."""
        adds = write.adds
        if adds and await self._shortage(adds):
            await self._scrub()  # the room of the log may do
            await self._keep_spare()
            if shortage := await self._shortage(adds):
                log.error("no document is added: the disk is full")
                raise shortage
        try:
            return await self._attempt(write)
        except StoreFull:
            await self._scrub()
        try:
            return await self._attempt(write)
        except StoreFull:
            # What fits into free pages of the database gives the room of its log back, too.
            fits = not adds or await self._writer.run(_free_pages) >= adds
            if not fits or not await asyncio.to_thread(self._spare.give_up):
                raise
        log.warning("the disk is full: the room reserved for deletes is used")
        try:
            return await self._attempt(write)
        except StoreFull:
            await self._scrub()  # empty the log, so that the spare fits again
            await self._keep_spare()
            raise

    async def _attempt(self, write: Write) -> Commit:
        async with self.translating_errors():
            return await self._writer.run(rows.commit, [write.edit])

    async def _shortage(self, adds: int) -> StoreFull | None:
        """The error for adding so many bytes; None: there is room."""
        kept = self._spare.missing
        async with self.translating_errors():
            free = await self._writer.run(self._room, adds + kept)
        return None if free >= adds + kept else StoreFull(adds, free, kept)

    def _room(self, connection: sqlite3.Connection, needed: int) -> int:
        """Bytes that the disk has free, and those of the database itself where they are needed."""
        free = shutil.disk_usage(self._folder).free - _size_of(self._log_path)
        if free >= needed:  # what is in the log has yet to find room in the database
            return free
        return free + _free_pages(connection)

    async def _keep_spare(self) -> None:
        if self._spare.missing:
            await asyncio.to_thread(self._spare.keep)

    async def _tidy(self) -> None:
        async with self._lock:
            await self._scrub()
        self._chore = None

    async def _scrub(self) -> None:
        """Empty the log; under the lock. After a failure the next write or `close` tries again."""
        try:
            self._old_text = not await self._writer.run(rows.scrub)
        except sqlite3.Error:
            self._old_text = True
            log.warning("the log of the document database cannot be emptied now", exc_info=True)


async def _nobody(_commit: Commit) -> None:
    """Nobody follows."""


def _answer(write: Write, result: int | ApiError) -> None:
    if write.done.done():  # its caller has gone
        return
    if isinstance(result, ApiError):
        write.done.set_exception(result)
    else:
        write.done.set_result(result)


def _translate(error: Exception, folder: Path) -> ApiError:
    """The error for the client of a failed read or write; the log has the rest. Blocks."""
    if isinstance(error, ApiError):
        return error
    if _is_disk_full(error, folder):
        log.error("the disk of the document store is full")
        free = None
        with contextlib.suppress(OSError):
            free = shutil.disk_usage(folder).free
        return StoreFull(free=free)
    log.error("the document store failed", exc_info=error)
    return StoreFailed()


def _is_disk_full(error: Exception, folder: Path) -> bool:
    if isinstance(error, OSError):
        return error.errno in _NO_SPACE
    if not isinstance(error, sqlite3.Error):
        return False
    code = schema.primary_code(error)
    if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        return _cannot_grow(folder)  # a quota, or a file beside the database that could not grow
    return code == sqlite3.SQLITE_FULL


def _cannot_grow(folder: Path) -> bool:
    """Try to write 256 KiB."""
    probe = folder / "room.tmp"
    try:
        descriptor = os.open(probe, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, _ZEROS[: 256 << 10])
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            probe.unlink(missing_ok=True)
    except OSError as error:
        return error.errno in _NO_SPACE
    return False


def _allocate(file: RawIOBase, size: int) -> None:
    reserve = getattr(os, "posix_fallocate", None)
    if reserve is not None:
        reserve(file.fileno(), 0, size)
        return
    left = size
    while left > 0:
        left -= file.write(_ZEROS[:left]) or 0


def _free_pages(connection: sqlite3.Connection) -> int:
    """Bytes of the database that it uses before it grows."""
    (pages,) = connection.execute("PRAGMA freelist_count").fetchone()
    return int(pages) * schema.PAGE_BYTES


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
