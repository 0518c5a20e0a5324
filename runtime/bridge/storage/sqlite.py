"""The lightweight engine: SQLite, from the standard library alone.

Only one copy of SQLite may have the file open in this process: two copies do not see each other's
locks, and a reader of the one then sees half of a commit of the other.
"""

import contextlib
import errno
import sqlite3
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

from runtime.bridge.storage import schema
from runtime.bridge.storage.backend import Columns, Row
from runtime.bridge.storage.blocks import Blocks
from runtime.bridge.storage.errors import Damaged, StoreFailed, StoreFull, StoreUnusable
from runtime.bridge.storage.values import Backend

T = TypeVar("T")

MAGIC: Final = b"SQLite format 3\0"
WAL: Final = "-wal"
_BUSY_MS: Final = 5_000
_CACHE_KB: Final = 16_384
_LOG_BYTES: Final = 16 << 20
"""To which the log is cut after a checkpoint."""
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NO_TEXT: Final = "Could not decode to UTF-8"
"""What Python says of a text with other bytes in it than were written."""
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)
SPARE: Final = ".spare"
_SPARE_BYTES: Final = 64 << 10
"""SQLite cannot even read without the 32 KiB of its index of the log."""
_LAST_PAGE: Final = slice(16, 20)
"""Of the index: the number of the last page that is valid."""

DIALECT: Final = schema.Dialect(
    {"int": "INTEGER", "real": "REAL", "text": "TEXT", "blob": "BLOB"},
    keyed=True,
    extra=schema.BLOCKS,
)


class SqliteConnection(Blocks):
    """See `backend.Connection`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        super().__init__(connection)
        self.inner = connection

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        """See `Connection`."""
        return self._connection.execute(sql, tuple(values)).fetchall()

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        """See `Connection`."""
        self._connection.execute(sql, tuple(values))

    def insert(self, table: str, columns: Columns) -> None:
        """See `Connection`; SQLite itself takes NaN for null."""
        names = ", ".join(f'"{name}"' for name in columns)
        marks = ", ".join("?" * len(columns))
        self._connection.executemany(
            f"INSERT INTO {table} ({names}) VALUES ({marks})",  # noqa: S608 - our own names
            zip(*(column.tolist() for column in columns.values()), strict=True),
        )

    def begin(self, *, write: bool = False) -> None:
        """See `Connection`."""
        if write:
            self.inner.execute("BEGIN IMMEDIATE")
            return
        self.inner.execute("BEGIN")
        self.inner.execute("SELECT version FROM schema_version LIMIT 1").fetchone()

    def commit(self) -> None:
        """See `Connection`."""
        self._connection.execute("COMMIT")

    def rollback(self) -> None:
        """See `Connection`."""
        self.forget()
        if self.inner.in_transaction:
            self.inner.execute("ROLLBACK")

    def close(self) -> None:
        """See `Connection`."""
        self.inner.close()


class Sqlite:
    """See `backend.Engine`."""

    kind: Backend = "lightweight"

    def __init__(self, path: Path, steps: tuple[schema.Step, ...] = schema.STEPS) -> None:
        """Open or make the database. Raises `Damaged`, `StoreUnusable`."""
        self._path = path
        with _opening(path):
            plain = _sparing(path, lambda: _prepared(path, steps))
        _spare(path)
        self.writer = SqliteConnection(plain)

    def reader(self) -> SqliteConnection:
        """See `Engine`."""
        plain = _connect(self._path)
        plain.execute("PRAGMA query_only = ON")
        return SqliteConnection(plain)

    def checkpoint(self) -> None:
        """See `Engine`; also empties the log where no reader needs it."""
        with contextlib.suppress(sqlite3.OperationalError):
            self.writer.inner.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def tend(self) -> None:
        """See `Engine`; SQLite does it by itself."""

    def revive(self, error: Exception) -> bool:
        """See `Engine`; there is nothing that SQLite would not come back from."""
        return False

    def translated(self, error: Exception) -> Exception:
        """See `Engine`."""
        return _translated(error, self._path)

    def close(self) -> None:
        """See `Engine`."""
        self.writer.close()


def peek(path: Path) -> None:
    """Raise what opening the database would, see `Sqlite`; nothing is changed."""
    # Without a log there is nothing in it to look for, and no index of it need be made.
    how = "mode=ro" if path.with_name(path.name + WAL).exists() else "immutable=1"
    with (
        _opening(path),
        contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)) as plain,
    ):
        plain.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        schema.version_of(lambda sql: plain.execute(sql).fetchall(), _tables(plain))


def logged(path: Path) -> int | None:
    """How many pages of the log SQLite takes for valid; neither log nor database are changed.

    None: it cannot say, as the database cannot be read now.
    """
    try:
        return _sparing(path, lambda: _logged(path))
    except sqlite3.OperationalError:
        return None
    except sqlite3.DatabaseError:
        return 0


def _logged(path: Path) -> int:
    # One that only reads leaves the log alone, also when it closes as the last.
    plain = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    with contextlib.closing(plain):
        plain.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        plain.execute("SELECT count(*) FROM sqlite_master").fetchone()
        index = path.with_name(path.name + "-shm").read_bytes()
    return int.from_bytes(index[_LAST_PAGE], sys.byteorder)


def no_room(path: Path) -> bool:
    """Whether a small file cannot be written beside *path* for want of space."""
    probe = path.with_name(path.name + ".room")
    try:
        probe.write_bytes(bytes(256 << 10))
    except OSError as error:
        return error.errno in _NO_SPACE
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)
    return False


def _spare(path: Path) -> None:
    """Keep a little room, so that a disk that others have filled can be read after a restart."""
    spare = path.with_name(path.name + SPARE)
    if spare.exists():
        return
    try:
        spare.write_bytes(bytes(_SPARE_BYTES))
    except OSError:
        spare.unlink(missing_ok=True)


def _sparing(path: Path, work: Callable[[], T]) -> T:
    """The result of *work*; the room that was kept is given up where it needs some."""
    try:
        return work()
    except sqlite3.OperationalError:
        spare = path.with_name(path.name + SPARE)
        if not spare.exists() or not no_room(path):
            raise
        spare.unlink()
        return work()


def _prepared(path: Path, steps: tuple[schema.Step, ...]) -> sqlite3.Connection:
    plain = _connect(path)
    try:
        _prepare(plain, steps)
    except BaseException:
        plain.close()
        raise
    return plain


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
    return connection


def _prepare(plain: sqlite3.Connection, steps: tuple[schema.Step, ...]) -> None:
    """Tables of the newest version, and a log that is synced at each commit."""
    connection = SqliteConnection(plain)
    tables = _tables(plain)
    if not tables:
        plain.execute("PRAGMA journal_mode = WAL")
    try:
        schema.migrate(connection, DIALECT, tables, steps)
    except BaseException:
        connection.rollback()
        raise
    mode = plain.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise StoreUnusable(
            "SQLite cannot keep a log beside the file; use a local disk (BRIDGE_DB)"
        )
    plain.execute("PRAGMA synchronous = FULL")
    plain.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")


def _tables(plain: sqlite3.Connection) -> list[str]:
    found = plain.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return [str(name) for (name,) in found]


def _translated(error: Exception, path: Path) -> Exception:
    """What an error of the database at *path* means."""
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            return StoreFull()
        if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and no_room(path):
            return StoreFull()
        if code in _DAMAGED or str(error).startswith(_NO_TEXT):
            return Damaged(str(error))
    if isinstance(error, OSError) and error.errno in _NO_SPACE:
        return StoreFull()
    return StoreFailed()


@contextlib.contextmanager
def _opening(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        known = _translated(error, path)
        if isinstance(known, Damaged):
            raise known from error
        if isinstance(known, StoreFull):
            raise StoreUnusable(
                "the disk of the database of BRIDGE_DB is full: make room"
            ) from error
        raise StoreUnusable(f"the database of BRIDGE_DB cannot be opened: {error}") from error
