"""The database at run time: one writer, readers that never wait for it, and disk space."""

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

from runtime.llm.documents import schema, sql
from runtime.llm.documents.document import StoreFailed, StoreFull
from runtime.llm.documents.sql import Commit, Edit
from runtime.web.errors import ApiError, TooMany

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

MAX_WRITES: Final = 256
"""Maximum running and waiting writes; further ones are refused."""
GROUP_BYTES: Final = 4 << 20
"""Waiting writes share a commit up to about this many bytes on disk."""
LONGEST_PAUSE_S: Final = 0.01
"""Longest wait of a commit for the next writes of clients that were just answered."""
SPARE_FILE: Final = "room-to-delete"
SPARE_SHARE: Final = 16
"""The spare file takes at most one in this many bytes of a disk."""
_FAILURES: Final = (sqlite3.Error, OSError, MemoryError, ValueError)
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)
_ZEROS: Final = bytes(1 << 20)


class Threads:
    """A few threads, each with its own connection."""

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
        """Run *work* on a thread's connection and return its result. Raises what *work* raises.

        Each transaction is a single such function, so a cancelled caller never leaves half of one.
        """
        try:
            future = self._executor.submit(
                self._work, lambda connection: work(connection, *args, **kwargs)
            )
        except RuntimeError as error:  # after `close`
            raise StoreFailed("the document store is closed") from error
        return await asyncio.wrap_future(future)

    async def close(self) -> None:
        """Wait for running work, drop queued work and close the connections."""
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
    if sys.platform == "linux":  # where a priority applies to a single thread
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)


class Spare:
    """A file that reserves disk space: it is removed for a delete and created again afterwards.

    A delete writes about as many bytes to the log as it removes, because deleted content is
    overwritten. Space that is merely left free would be taken by other programs. All methods block
    on the disk.
    """

    def __init__(self, folder: Path, size: int) -> None:
        self._path = folder / SPARE_FILE
        self._wanted = size
        self.missing = size
        """Bytes that the file should have but does not, as last checked."""

    def keep(self, *, leave: int = 0) -> None:
        """Create the file if it is missing and the disk keeps *leave* times its size free.

        Failure is tolerated and shows in `missing`.
        """
        with contextlib.suppress(OSError):
            disk = shutil.disk_usage(self._path.parent)
            self.missing = min(self._wanted, disk.total // SPARE_SHARE)
            if self._size() == self.missing:
                self.missing = 0
            elif disk.free >= (1 + leave) * self.missing:
                self._make()

    def give_up(self) -> bool:
        """Free the reserved space for a delete; return False if there is none."""
        try:
            size = self._size()
            self._path.unlink()
        except OSError:  # something else removed it
            size = 0
        self.missing = self.missing or size or self._wanted
        return size > 0

    def _make(self) -> None:
        try:
            self._path.unlink(missing_ok=True)  # even a link, whose target is not ours
            with self._path.open("xb", buffering=0) as file:
                _allocate(file, self.missing)
        except OSError:
            self._path.unlink(missing_ok=True)
        else:
            self.missing = 0

    def _size(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0


class Write(NamedTuple):
    """An edit that waits for its commit, alone or in a group."""

    edit: Edit
    adds: int
    """Estimated bytes on disk; 0 for a delete, which may use the spare space."""
    done: "asyncio.Future[int]"


class Database:
    """Runs reads at once and writes one after another, and counts what is stored.

    Writes that arrive during a commit share the next one, so that they wait for the disk once. So
    do writes that arrive right after it, because clients that write one document after another
    return as soon as they are answered; otherwise they would split into two groups that wait for
    each other. Each write is atomic by itself and is answered after the commit.
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
        """Number of waiting and running writes."""
        self._expected = 0
        """Number of writes that the last commit answered or that arrived during it."""
        self._pause_s = 0.0
        """Duration of the last commit, capped at `LONGEST_PAUSE_S`."""
        self._complete = asyncio.Event()
        """Set when the expected number of writes is waiting."""
        self._working: asyncio.Task[None] | None = None
        self._chore: asyncio.Task[None] | None = None
        self._closing = False
        self._old_text = False
        """Whether the log may still contain deleted text."""
        self._refused: set[bool] = set()
        self.recovered_from = recovered_from
        """Name of a damaged database that was set aside at the start, or None."""
        self.totals = sql.Totals(0, 0, 0)
        """As of the last committed write."""
        self.refusals = 0
        """Writes and deletes that found no room."""
        self.follow: Callable[[Commit], Awaitable[None]] = _do_nothing
        """Awaited after each commit, before its writes are answered."""

    @classmethod
    async def open(cls, folder: Path, spare_bytes: int) -> Self:
        """Open, create or repair the database in *folder*. Raises `StoreUnusable`.

        A file reserves *spare_bytes* of the disk, less on a small disk, for deletes.
        """
        writer, aside = await asyncio.to_thread(schema.open_database, folder)
        spare = Spare(folder, spare_bytes)
        database = cls(folder, writer, aside, spare)
        try:
            await asyncio.to_thread(spare.keep, leave=1)
            database.totals = await database._writer.run(sql.read_totals)
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
        """Open a connection for reads."""
        return schema.open_for_reading(self.path)

    async def read(
        self,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Run *work*, which must be short, on the reader's thread. Raises `StoreFailed`."""
        async with self.translating_errors():
            return await self._reader.run(work, *args, **kwargs)

    async def write(self, edit: Edit, *, adds: int) -> int:
        """Commit an edit, await `follow`, clear deleted text; return the number of removed chunks.

        *adds* estimates its bytes on disk; 0 for a delete, which may use the spare space. A
        cancelled caller does not stop it. Raises `StoreFull`, `StoreLimit`, `StoreFailed`, and
        `TooMany` while `MAX_WRITES` others are unfinished; then nothing has changed.
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
        if self._working is None:  # its log lines belong to no request
            self._working = asyncio.create_task(self._work_off(), context=Context())
        return await write.done

    @contextlib.asynccontextmanager
    async def exclusive(self) -> AsyncIterator[Threads]:
        """Hold the writer's thread while no write is running."""
        async with self._lock:
            yield self._writer

    @contextlib.asynccontextmanager
    async def translating_errors(self) -> AsyncIterator[None]:
        """Log failures of the disk and SQLite and turn them into errors for a client."""
        try:
            yield
        except _FAILURES as error:
            raise await asyncio.to_thread(_translate, error, self._folder) from error

    def tidy(self) -> None:
        """Schedule another attempt to empty the log if a reader prevented it after a delete."""
        if self._old_text and not self._closing and self._chore is None:
            self._chore = asyncio.create_task(self._tidy())

    async def nbytes(self) -> int:
        """Bytes of the database on disk, including its log."""
        files = [self.path, self._log_path, self.path.with_name(f"{self.path.name}-shm")]
        return await asyncio.to_thread(lambda: sum(map(_size_of, files)))

    async def drain(self) -> None:
        """Refuse new writes and finish running ones."""
        self._closing = True
        if self._working:
            await asyncio.wait({self._working})
        if self._chore:
            await asyncio.wait({self._chore})

    async def close(self) -> None:
        """Finish running writes, remove deleted text from the log and close."""
        await self.drain()
        await self._reader.close()
        if self._old_text:
            await self._scrub()
            self._old_text = False
        await self._writer.close()

    async def _work_off(self) -> None:
        """Commit the waiting writes, group by group."""
        try:
            while self._waiting:
                await self._gather()
                async with self._lock:
                    group = self._next_group()
                    began = time.monotonic()
                    try:
                        await self._write_group(group)
                    except Exception as error:  # noqa: BLE001 - every write must be answered
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
        """Wait a moment for the expected writes."""
        self._complete.clear()
        if len(self._waiting) < self._expected and not self._closing:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._pause_s):
                    await self._complete.wait()

    def _next_group(self) -> list[Write]:
        """Take the oldest writes to different documents, or a single one to a tenant."""
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
        """Commit and answer all writes together, or one by one if that fails."""
        try:
            commit = await self._writer.run(self._commit_together, group)
        except _FAILURES:  # committed one by one, only the faulty ones fail
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
        """Commit the group; None if there is no room apart from the reserve for deletes."""
        if adds := sum(write.adds for write in group):
            needed = adds + self._spare.missing
            if self._room(connection, needed) < needed:
                return None
        return sql.commit(connection, [write.edit for write in group])

    async def _finish(self, group: Sequence[Write], commit: Commit) -> None:
        """Notify `follow`, remove deleted text from the log, then answer."""
        self.totals = commit.totals
        await self.follow(commit)
        removed = any(change.removed or change.gone for change in commit.changes)
        if removed or self._old_text or self._spare.missing:
            await self._scrub()
        await self._keep_spare()
        for write, result in zip(group, commit.results, strict=True):
            if isinstance(result, int) and (
                write.adds or result
            ):  # an empty write does not prove that there is room
                self._refused -= {False, write.adds > 0}
            _answer(write, result)

    async def _commit(self, write: Write) -> Commit:
        """Commit a single write, after making room if there is none."""
        adds = write.adds
        if adds and await self._shortage(adds):
            await self._scrub()  # the space of the log may suffice
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
            # A write that fits into free pages of the database also returns the space of its log.
            fits = not adds or await self._writer.run(_free_pages) >= adds
            if not fits or not await asyncio.to_thread(self._spare.give_up):
                raise
        log.warning("the disk is full: the space reserved for deletes is used")
        try:
            return await self._attempt(write)
        except StoreFull:
            await self._scrub()  # empty the log, so that the spare fits again
            await self._keep_spare()
            raise

    async def _attempt(self, write: Write) -> Commit:
        async with self.translating_errors():
            return await self._writer.run(sql.commit, [write.edit])

    async def _shortage(self, adds: int) -> StoreFull | None:
        """The error for adding this many bytes; None if there is room."""
        kept = self._spare.missing
        async with self.translating_errors():
            free = await self._writer.run(self._room, adds + kept)
        return None if free >= adds + kept else StoreFull(adds, free, kept)

    def _room(self, connection: sqlite3.Connection, needed: int) -> int:
        """Free bytes of the disk, and of the database's own pages if they are needed."""
        free = shutil.disk_usage(self._folder).free - _size_of(self._log_path)
        if free >= needed:  # the log's content will need room in the database too
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
        """Empty the log, under the lock. After a failure, the next write or `close` retries."""
        try:
            self._old_text = not await self._writer.run(sql.scrub)
        except sqlite3.Error:
            self._old_text = True
            log.warning("the log of the document database cannot be emptied now", exc_info=True)


async def _do_nothing(_commit: Commit) -> None:
    """Do nothing after a commit."""


def _answer(write: Write, result: int | ApiError) -> None:
    if write.done.done():  # its caller is gone
        return
    if isinstance(result, ApiError):
        write.done.set_exception(result)
    else:
        write.done.set_result(result)


def _translate(error: Exception, folder: Path) -> ApiError:
    """Log a failed read or write and return the error for the client. Blocks."""
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
        return _cannot_grow(folder)  # a quota, or a file next to the database that could not grow
    return code == sqlite3.SQLITE_FULL


def _cannot_grow(folder: Path) -> bool:
    """Whether writing 256 KiB fails for lack of space."""
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
    """Bytes of unused pages in the database."""
    (pages,) = connection.execute("PRAGMA freelist_count").fetchone()
    return int(pages) * schema.PAGE_BYTES


def _size_of(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0
