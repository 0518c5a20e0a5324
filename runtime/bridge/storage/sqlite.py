"""The lightweight engine: SQLite, from the standard library.

Only one copy of the SQLite library may open the file in this process: two copies do not see each
other's locks, so a reader of one could see half of a commit of the other.

SQLite takes microseconds to read a row, and a session of an hour has hundreds of thousands. So only
the newest telemetry is stored as rows. Once a session, or one of its signals, has enough rows, they
are packed into a block, one value, in the same transaction as the last of them. A block of frames
has the rows of `WIDE` as little-endian doubles, a block of samples the times and then the values.
"""

import contextlib
import errno
import functools
import itertools
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import WIDE, Numbers, Samples
from runtime.bridge.storage import schema
from runtime.bridge.storage.backend import Columns, FrameRun, Row, Run, sort_run
from runtime.bridge.storage.errors import Damaged, StoreFailed, StoreFull, StoreUnusable
from runtime.bridge.storage.records import Backend

T = TypeVar("T")

MAGIC: Final = b"SQLite format 3\0"
WAL: Final = "-wal"
LOOSE: Final = 2048
"""Rows are packed at each multiple of this many frames or samples of a signal."""
AT_ONCE: Final = 128
"""Writes of at least this many frames or samples become blocks directly."""
BLOCK: Final = 8192
"""Most frames or samples of a block."""
AT_ONCE_ROWS: Final = 32
"""Most rows of a statement. Each statement releases the interpreter lock and may wait to get it
back: with a busy thread, one statement per row takes many times as long."""
SPARE: Final = ".spare"
_SPARE_BYTES: Final = 64 << 10
"""SQLite cannot even read without the 32 KiB of its index of the log."""
_BUSY_MS: Final = 5_000
_CACHE_KB: Final = 16_384
_LOG_BYTES: Final = 16 << 20
"""Size to which the log is truncated after a checkpoint."""
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_NO_TEXT: Final = "Could not decode to UTF-8"
"""Python's message for a text with corrupted bytes."""
_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_LAST_PAGE: Final = slice(16, 20)
"""Bytes of the index with the number of the last valid page."""
# SQLite has no NaN; infinities are never stored, so one of them can stand for null on the way out.
_NULL: Final = "9e999"
_DOUBLE: Final = np.dtype("<f8")

DIALECT: Final = schema.Dialect(
    {"int": "INTEGER", "real": "REAL", "text": "TEXT", "blob": "BLOB"},
    keyed=True,
    extra=schema.BLOCKS,
)


class SqliteConnection:
    """See `backend.Connection`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.inner = connection

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        return self.inner.execute(sql, tuple(values)).fetchall()

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        self.inner.execute(sql, tuple(values))

    def insert(self, table: str, columns: Columns) -> None:
        names = ", ".join(f'"{name}"' for name in columns)
        marks = ", ".join("?" * len(columns))
        self.inner.executemany(  # SQLite itself takes NaN for null
            f"INSERT INTO {table} ({names}) VALUES ({marks})",  # noqa: S608 - our own names
            zip(*(column.tolist() for column in columns.values()), strict=True),
        )

    def begin(self, *, write: bool = False) -> None:
        self.inner.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        if not write:
            self.inner.execute("SELECT version FROM schema_version LIMIT 1").fetchone()

    def commit(self) -> None:
        self.inner.execute("COMMIT")

    def rollback(self) -> None:
        if self.inner.in_transaction:
            self.inner.execute("ROLLBACK")

    def close(self) -> None:
        self.inner.close()

    # frames

    def insert_frames(self, runs: Sequence[FrameRun]) -> None:
        rows: list[Row] = []
        full: list[int] = []
        for run in runs:
            if run.behind - run.first >= AT_ONCE:
                self._pack_frames(*run)
                continue
            index = range(run.first, run.behind)
            rows += zip([run.key] * len(index), index, *run.numbers.tolist(), strict=True)
            if run.behind // LOOSE > run.first // LOOSE:
                full.append(run.key)
        for at in range(0, len(rows), AT_ONCE_ROWS):
            some = rows[at : at + AT_ONCE_ROWS]
            self.inner.execute(_write_insert(len(some)), tuple(itertools.chain(*some)))
        for key in full:
            self._tidy_frames(key)

    def frames(self, key: int, first: int = 0, behind: int | None = None) -> Numbers:
        behind = sys.maxsize if behind is None else behind
        parts = []
        for at, block in self._frame_blocks(key, first, behind):
            start = max(first - at, 0)
            part = block[:, start : behind - at]
            parts.append((np.arange(part.shape[1]) + at + start, part))
        parts.append(self._frame_rows(key, first, behind))
        index = np.concatenate([part for part, _ in parts])
        numbers = np.concatenate([part for _, part in parts], axis=1)
        if not (np.diff(index) > 0).all():
            numbers = np.ascontiguousarray(numbers[:, np.argsort(index, kind="stable")])
        return numbers

    def fill(self, key: int, name: str, index: npt.NDArray[np.int64], value: Numbers) -> None:
        self.inner.executemany(
            f"UPDATE telemetry SET {name} = ? WHERE session_key = ? AND frame_idx = ?",  # noqa: S608 - a name out of WIDE
            (
                (number, key, frame)
                for frame, number in zip(index.tolist(), value.tolist(), strict=True)
            ),
        )
        for first, block in list(self._frame_blocks(key, int(index.min()), int(index.max()) + 1)):
            inside = (index >= first) & (index < first + block.shape[1])
            if inside.any():
                changed = block.copy()
                changed[WIDE.index(name), index[inside] - first] = value[inside]
                self.inner.execute(
                    "UPDATE telemetry_blocks SET data = ? WHERE session_key = ? AND first_idx = ?",
                    (_pack(changed), key, first),
                )

    def _tidy_frames(self, key: int) -> None:
        """Pack the rows; runs of consecutive indices become blocks."""
        index, numbers = self._frame_rows(key, 0, sys.maxsize)
        for run in np.split(np.arange(len(index)), np.flatnonzero(np.diff(index) != 1) + 1):
            if len(run):
                self._pack_frames(key, int(index[run[0]]), numbers[:, run[0] : run[-1] + 1])
        if len(index):
            self.inner.execute("DELETE FROM telemetry WHERE session_key = ?", (key,))

    def _pack_frames(self, key: int, first: int, numbers: Numbers) -> None:
        for start in range(0, numbers.shape[1], BLOCK):
            part = numbers[:, start : start + BLOCK]
            t = part[0]
            self.inner.execute(
                "INSERT INTO telemetry_blocks VALUES (?, ?, ?, ?, ?, ?)",
                (key, first + start, len(t), float(t.min()), float(t.max()), _pack(part)),
            )

    def _frame_blocks(self, key: int, first: int, behind: int) -> Iterator[tuple[int, Numbers]]:
        """Read the blocks with any of these frames, and the index of each block's first frame."""
        blocks = self.inner.execute(
            "SELECT first_idx, n, data FROM telemetry_blocks WHERE session_key = ?"
            " AND first_idx + n > ? AND first_idx < ? ORDER BY first_idx",
            (key, first, behind),
        )
        for at, count, data in blocks:
            yield at, np.frombuffer(data, _DOUBLE).reshape(len(WIDE), count)

    def _frame_rows(
        self, key: int, first: int, behind: int
    ) -> tuple[npt.NDArray[np.int64], Numbers]:
        nullable = ", ".join(f"ifnull({name}, {_NULL})" for name in WIDE[1:])
        rows = self.inner.execute(
            f"SELECT frame_idx, timestamp, {nullable} FROM telemetry WHERE session_key = ?"  # noqa: S608 - names out of WIDE
            " AND frame_idx >= ? AND frame_idx < ? ORDER BY frame_idx",
            (key, first, behind),
        )
        table = _make_columns(rows, 1 + len(WIDE))
        return table[0].astype(np.int64), np.where(np.isinf(table[1:]), np.nan, table[1:])

    # samples

    def insert_samples(self, runs: Sequence[Run]) -> None:
        few = [run for run in runs if len(run.samples.t) < AT_ONCE]
        self.inner.executemany(
            "INSERT INTO telemetry_signals VALUES (?, ?, ?, ?)",
            (
                (run.key, run.signal, t, value)
                for run in few
                for t, value in zip(*(part.tolist() for part in run.samples), strict=True)
            ),
        )
        for run in runs:
            if len(run.samples.t) >= AT_ONCE:
                self._pack_samples(run.key, run.signal, run.samples)
            elif (run.stored + len(run.samples.t)) // LOOSE > run.stored // LOOSE:
                self._tidy_samples(run.key, run.signal)

    def delete_samples(self, key: int, signal: int, t: Numbers) -> int:
        deleted = self.inner.executemany(
            "DELETE FROM telemetry_signals WHERE session_key = ? AND signal_id = ? AND t = ?",
            ((key, signal, at) for at in t.tolist()),
        ).rowcount
        blocks = self.rows(
            "SELECT id, data FROM signal_blocks WHERE session_key = ? AND signal_id = ?"
            " AND t_min <= ? AND t_max >= ?",
            (key, signal, float(t.max()), float(t.min())),
        )
        for block, data in blocks:
            samples = _unpack(data)
            stays = ~np.isin(samples.t, t)
            if stays.all():
                continue
            deleted += int((~stays).sum())
            self.inner.execute("DELETE FROM signal_blocks WHERE id = ?", (block,))
            if stays.any():
                self._pack_samples(key, signal, Samples(samples.t[stays], samples.value[stays]))
        return deleted

    def samples(self, key: int, signals: Sequence[int]) -> dict[int, Samples]:
        samples = {}
        for signal in signals:
            blocks = self.inner.execute(
                "SELECT data FROM signal_blocks WHERE session_key = ? AND signal_id = ?"
                " ORDER BY t_min",
                (key, signal),
            )
            parts = [*(_unpack(data) for (data,) in blocks), self._sample_rows(key, signal)]
            joined = sort_run(*(np.concatenate(part) for part in zip(*parts, strict=True)))
            if len(joined.t):
                samples[signal] = joined
        return samples

    def signals(self, key: int) -> dict[int, int]:
        rows = self.rows(
            "SELECT signal_id, sum(n) FROM (SELECT signal_id, count(*) AS n FROM telemetry_signals"
            " WHERE session_key = ?1 GROUP BY signal_id UNION ALL SELECT signal_id, sum(n)"
            " FROM signal_blocks WHERE session_key = ?1 GROUP BY signal_id) GROUP BY signal_id",
            (key,),
        )
        return dict(rows)

    def _tidy_samples(self, key: int, signal: int) -> None:
        """Pack the rows of a signal."""
        samples = self._sample_rows(key, signal)
        if len(samples.t):
            self._pack_samples(key, signal, samples)
            self.inner.execute(
                "DELETE FROM telemetry_signals WHERE session_key = ? AND signal_id = ?",
                (key, signal),
            )

    def _pack_samples(self, key: int, signal: int, samples: Samples) -> None:
        for start in range(0, len(samples.t), BLOCK):
            t, value = (part[start : start + BLOCK] for part in samples)
            self.inner.execute(
                "INSERT INTO signal_blocks (session_key, signal_id, n, t_min, t_max, data)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (key, signal, len(t), float(t[0]), float(t[-1]), _pack(np.stack((t, value)))),
            )

    def _sample_rows(self, key: int, signal: int) -> Samples:
        rows = self.inner.execute(
            "SELECT t, value FROM telemetry_signals WHERE session_key = ? AND signal_id = ?"
            " ORDER BY t",
            (key, signal),
        )
        return Samples(*_make_columns(rows, 2))

    # both

    def tidy(self, key: int) -> None:
        self._tidy_frames(key)
        signals = "SELECT DISTINCT signal_id FROM telemetry_signals WHERE session_key = ?"
        for (signal,) in self.rows(signals, (key,)):
            self._tidy_samples(key, signal)

    def drop(self, key: int, most: int) -> bool:
        done = True
        for table, column, limit in (
            ("telemetry_blocks", "first_idx", max(1, most // BLOCK)),
            ("signal_blocks", "id", max(1, most // BLOCK)),
            ("telemetry", "frame_idx", most),
        ):
            deleted = self.inner.execute(
                f"DELETE FROM {table} WHERE session_key = ?1 AND {column} IN (SELECT {column}"  # noqa: S608 - words of this loop
                f" FROM {table} WHERE session_key = ?1 LIMIT ?2)",
                (key, limit),
            )
            done = done and deleted.rowcount < limit
        # A signal has few rows: delete them all, one signal at a time.
        deleted = self.inner.execute(
            "DELETE FROM telemetry_signals WHERE session_key = ?1 AND signal_id ="
            " (SELECT signal_id FROM telemetry_signals WHERE session_key = ?1 LIMIT 1)",
            (key,),
        )
        return done and not deleted.rowcount


class Sqlite:
    """See `backend.Engine`."""

    kind: Backend = "lightweight"

    def __init__(self, path: Path) -> None:
        """Open or create the database. Raises `Damaged`, `StoreUnusable`."""
        self._path = path
        with _opening(path):
            plain = _retry_with_spare(path, lambda: _connect_writer(path))
        _reserve_space(path)
        self.writer = SqliteConnection(plain)

    def reader(self) -> SqliteConnection:
        plain = _connect(self._path)
        plain.execute("PRAGMA query_only = ON")
        return SqliteConnection(plain)

    def checkpoint(self) -> None:
        with contextlib.suppress(sqlite3.OperationalError):  # also empties an unneeded log
            self.writer.inner.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def maintain(self) -> None:
        """Nothing to do: SQLite checkpoints by itself."""

    def reopen(self, error: Exception) -> bool:
        """Return False: SQLite recovers from every error."""
        return False

    def translate_error(self, error: Exception) -> Exception:
        return _translate_error(error, self._path)

    def close(self) -> None:
        self.writer.close()


def peek(path: Path) -> None:
    """Raise the errors of opening the database, see `Sqlite`, without changing it."""
    # Without a log no index of it is needed.
    how = "mode=ro" if path.with_name(path.name + WAL).exists() else "immutable=1"
    with _opening(path), _open_readonly(path, how) as plain:
        schema.find_version(lambda sql: plain.execute(sql).fetchall(), _list_tables(plain))


def count_valid_pages(path: Path) -> int | None:
    """Count the pages of the log that SQLite accepts, without changing log or database.

    None: the database cannot be read now.
    """

    def look() -> int:
        # A read-only connection leaves the log alone, even if it is the last to close.
        with _open_readonly(path, "mode=ro") as plain:
            plain.execute("SELECT count(*) FROM sqlite_master").fetchone()
            index = path.with_name(path.name + "-shm").read_bytes()
        return int.from_bytes(index[_LAST_PAGE], sys.byteorder)

    try:
        return _retry_with_spare(path, look)
    except sqlite3.OperationalError:
        return None
    except sqlite3.DatabaseError:
        return 0


@contextlib.contextmanager
def _open_readonly(path: Path, how: str) -> Iterator[sqlite3.Connection]:
    plain = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)
    with contextlib.closing(plain):
        plain.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        yield plain


def is_disk_full(path: Path) -> bool:
    """Whether *path* or its log cannot grow, or nothing can be written next to them."""
    if any(_is_full(path.with_name(path.name + end)) for end in ("", WAL)):
        return True
    probe = path.with_name(path.name + ".room")
    try:
        probe.write_bytes(bytes(256 << 10))
    except OSError as error:
        return error.errno in _NO_SPACE
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)
    return False


def _is_full(file: Path) -> bool:
    """Whether *file* has the largest size allowed to this process (``ulimit -f``)."""
    try:
        import resource  # absent on Windows
    except ImportError:
        return False
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return most != resource.RLIM_INFINITY and file.exists() and file.stat().st_size >= most


def _reserve_space(path: Path) -> None:
    """Reserve a little space, so that the database can be read after a restart on a full disk."""
    spare = path.with_name(path.name + SPARE)
    if spare.exists():
        return
    try:
        spare.write_bytes(bytes(_SPARE_BYTES))
    except OSError:
        spare.unlink(missing_ok=True)


def _retry_with_spare(path: Path, work: Callable[[], T]) -> T:
    """Call *work*; if the disk is full, free the reserved space and call it again."""
    try:
        return work()
    except sqlite3.OperationalError:
        spare = path.with_name(path.name + SPARE)
        if not spare.exists() or not is_disk_full(path):
            raise
        spare.unlink()
        return work()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KB}")
    return connection


def _connect_writer(path: Path) -> sqlite3.Connection:
    """Open a connection, migrate the tables, and have the log synced at each commit."""
    plain = _connect(path)
    try:
        tables = _list_tables(plain)
        if not tables:
            plain.execute("PRAGMA journal_mode = WAL")
        schema.migrate(SqliteConnection(plain), DIALECT, tables)
        mode = plain.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        if mode != "wal":
            raise StoreUnusable(
                "SQLite cannot keep a log next to the file; use a local disk (BRIDGE_DB)"
            )
        plain.execute("PRAGMA synchronous = FULL")
        plain.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}")
    except BaseException:
        plain.close()  # rolls back
        raise
    return plain


def _list_tables(plain: sqlite3.Connection) -> list[str]:
    rows = plain.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    return [str(name) for (name,) in rows]


def _translate_error(error: Exception, path: Path) -> Exception:
    """Translate an error of the database at *path*."""
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL:
            return StoreFull()
        if code in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN) and is_disk_full(path):
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
        reason = _translate_error(error, path)
        if isinstance(reason, Damaged):
            raise reason from error
        if isinstance(reason, StoreFull):
            raise StoreUnusable(
                "the disk of the database of BRIDGE_DB is full: free some space"
            ) from error
        raise StoreUnusable(f"the database of BRIDGE_DB cannot be opened: {error}") from error


@functools.cache
def _write_insert(rows: int) -> str:
    """Write the statement for this many frames."""
    marks = f"({', '.join('?' * (2 + len(WIDE)))})"
    return f"INSERT INTO telemetry VALUES {', '.join([marks] * rows)}"  # noqa: S608 - constants


def _make_columns(rows: Iterable[Sequence[float]], width: int) -> Numbers:
    """Convert rows of numbers, none of them null, to columns."""
    numbers = np.fromiter(itertools.chain.from_iterable(rows), np.float64)
    return np.ascontiguousarray(numbers.reshape(-1, width).T)


def _pack(numbers: Numbers) -> bytes:
    return numbers.astype(_DOUBLE, copy=False).tobytes()


def _unpack(data: bytes) -> Samples:
    t, value = np.frombuffer(data, _DOUBLE).reshape(2, -1)
    return Samples(t, value)
