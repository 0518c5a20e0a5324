"""The analytical engine: DuckDB."""

import contextlib
import shutil
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import WIDE, Numbers, Samples
from runtime.bridge.storage import schema
from runtime.bridge.storage.backend import (
    Column,
    Columns,
    FrameRun,
    Row,
    Run,
    find_memory,
    sort_run,
)
from runtime.bridge.storage.errors import Damaged, StoreFailed, StoreFull, StoreUnusable
from runtime.bridge.storage.records import Backend
from runtime.bridge.storage.sqlite import is_disk_full

WAL: Final = ".wal"
LOG_BYTES: Final = 4 << 20
"""Growth of the log after which it is moved into the main file."""
SCANNED: Final = 1000
"""From this many rows on, DuckDB scans the arrays itself; below, its appender is faster (100 rows
of telemetry and their commit: 1.8 ms against 3.9), above much slower (32,000: 200 against 30)."""
_APPENDED: Final = ("telemetry", "telemetry_signals", "session_capabilities")
"""Tables whose columns always come completely and in order."""
_TABLES: Final = "SELECT table_name FROM duckdb_tables()"
_NAN: Final = "'NaN'::DOUBLE"
SLICE: Final = 16_384
"""Frames read at a time: DuckDB holds the interpreter lock while it converts a result to arrays, 20
ms for an hour at 100 Hz, which would block everything live."""
_COLUMNS: Final = ", ".join(f"coalesce({name}, {_NAN}) AS {name}" for name in WIDE)
_FRAMES: Final = (
    f"SELECT frame_idx, {_COLUMNS} FROM telemetry WHERE session_key = ?"  # noqa: S608 - names out of WIDE
    " AND frame_idx >= ? AND frame_idx < ?"
)
_DAMAGE: Final = (
    "corrupt",
    "not a valid duckdb database file",
    "could not read enough bytes",
    "checksum",
    "failure while replaying wal",
    "serialization error",
    "internal error",
    "failed to deserialize",
)

DIALECT: Final = schema.Dialect(
    {"int": "BIGINT", "real": "DOUBLE", "text": "VARCHAR", "blob": "BLOB"}, keyed=False
)


class DuckConnection:
    """See `backend.Connection`. Small inserts wait until the next other statement."""

    def __init__(self, engine: "Duck", connection: duckdb.DuckDBPyConnection) -> None:
        self.inner = connection
        self._engine = engine
        self._generation = engine.generation
        self._open = False
        self._appenders: dict[str, Any] = {}
        self._appended: set[str] = set()
        """Tables whose appender has rows."""

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[Row]:
        return self._execute(sql, values).fetchall()

    def run(self, sql: str, values: Sequence[object] = ()) -> None:
        self._execute(sql, values)

    def insert(self, table: str, columns: Columns) -> None:
        count = len(next(iter(columns.values())))
        if table in _APPENDED and count < SCANNED:
            if table not in self._appenders:
                self._appenders[table] = self.inner.appender(table)
            self._appended.add(table)
            cells = (_cells(column) for column in columns.values())
            self._appenders[table].append_rows(list(zip(*cells, strict=True)))
            return
        names = ", ".join(f'"{name}"' for name in columns)
        chosen = ", ".join(
            f'nullif("{name}", {_NAN})' if column.dtype == np.float64 else f'"{name}"'
            for name, column in columns.items()
        )
        with self._register(columns):
            self.run(f"INSERT INTO {table} ({names}) SELECT {chosen} FROM incoming")  # noqa: S608 - our own names

    def begin(self, *, write: bool = False) -> None:
        if self._generation != self._engine.generation:
            self._generation = self._engine.generation
            if self is not self._engine.writer:
                self.inner = self._engine.writer.inner.cursor()
        self.inner.execute("BEGIN TRANSACTION")
        self._open = True
        if not write:
            self.inner.execute("SELECT version FROM schema_version LIMIT 1").fetchone()

    def commit(self) -> None:
        self._execute("COMMIT")
        self._open = False

    def rollback(self) -> None:
        for table in self._appended:
            self._appenders.pop(table).clear()  # its rows must never come back
        self._appended.clear()
        if self._open:
            self._open = False
            with contextlib.suppress(duckdb.Error):  # a failed commit ended it
                self.inner.execute("ROLLBACK")

    def insert_frames(self, runs: Sequence[FrameRun]) -> None:
        lengths = [run.numbers.shape[1] for run in runs]
        numbers = np.concatenate([run.numbers for run in runs], axis=1)
        self.insert(
            "telemetry",
            {
                "session_key": np.repeat([run.key for run in runs], lengths),
                "frame_idx": np.concatenate([np.arange(run.first, run.behind) for run in runs]),
                **dict(zip(WIDE, numbers, strict=True)),
            },
        )

    def frames(self, key: int, first: int = 0, behind: int | None = None) -> Numbers:
        parts = []
        while behind is None or first < behind:
            end = first + SLICE if behind is None else min(first + SLICE, behind)
            columns = self._execute(_FRAMES, (key, first, end)).fetchnumpy()
            part = np.stack([np.asarray(column) for column in columns.values()])
            parts.append(part)
            first += SLICE
            if part.shape[1] < SLICE:
                break
        numbers = np.concatenate([np.empty((1 + len(WIDE), 0)), *parts], axis=1)
        # Sorting in DuckDB costs more than reading, and rows come in order of insertion.
        if not (np.diff(numbers[0]) > 0).all():
            numbers = numbers[:, np.argsort(numbers[0], kind="stable")]
        return numbers[1:]

    def fill(self, key: int, name: str, index: npt.NDArray[np.int64], value: Numbers) -> None:
        with self._register({"at": index, "value": value}):
            self.run(
                f"UPDATE telemetry SET {name} = incoming.value FROM incoming"  # noqa: S608 - a name out of WIDE
                " WHERE session_key = ? AND frame_idx = incoming.at",
                (key,),
            )

    def insert_samples(self, runs: Sequence[Run]) -> None:
        if not runs:
            return
        lengths = [len(run.samples.t) for run in runs]
        self.insert(
            "telemetry_signals",
            {
                "session_key": np.repeat([run.key for run in runs], lengths),
                "signal_id": np.repeat([run.signal for run in runs], lengths),
                "t": np.concatenate([run.samples.t for run in runs]),
                "value": np.concatenate([run.samples.value for run in runs]),
            },
        )

    def delete_samples(self, key: int, signal: int, t: Numbers) -> int:
        with self._register({"at": t}):
            deleted = self.rows(
                "DELETE FROM telemetry_signals USING incoming WHERE session_key = ?"
                " AND signal_id = ? AND t = incoming.at",
                (key, signal),
            )
        return int(deleted[0][0])

    def samples(self, key: int, signals: Sequence[int]) -> dict[int, Samples]:
        wanted = ", ".join(str(int(signal)) for signal in signals) or "NULL"
        columns = self._execute(
            "SELECT signal_id, t, value FROM telemetry_signals WHERE session_key = ?"  # noqa: S608 - whole numbers
            f" AND signal_id IN ({wanted})",
            (key,),
        ).fetchnumpy()
        ids, t, value = (np.asarray(column) for column in columns.values())
        return {
            signal: sort_run(t[mine], value[mine])
            for signal in signals
            if (mine := ids == signal).any()
        }

    def signals(self, key: int) -> dict[int, int]:
        return dict(
            self.rows(
                "SELECT signal_id, count(*) FROM telemetry_signals WHERE session_key = ?"
                " GROUP BY signal_id",
                (key,),
            )
        )

    def drop(self, key: int, most: int) -> bool:
        """Delete everything at once, as DuckDB only marks rows."""
        self.run("DELETE FROM telemetry WHERE session_key = ?", (key,))
        self.run("DELETE FROM telemetry_signals WHERE session_key = ?", (key,))
        return True

    def tidy(self, key: int) -> None:
        """Nothing to do: the columns are in order already."""

    def close(self) -> None:
        self._appenders.clear()
        self.inner.close()

    def _execute(self, sql: str, values: Sequence[object] = ()) -> duckdb.DuckDBPyConnection:
        """Run a statement after inserting the waiting rows."""
        while self._appended:
            table = next(iter(self._appended))
            self._appenders[table].flush()
            self._appended.discard(table)
        return self.inner.execute(sql, list(values))

    @contextlib.contextmanager
    def _register(self, columns: Columns) -> Iterator[None]:
        """Register the columns as the table *incoming*; replacement scans are off."""
        self.inner.register("incoming", dict(columns))
        try:
            yield
        finally:
            with contextlib.suppress(duckdb.Error):  # the transaction was aborted
                self.inner.unregister("incoming")


class Duck:
    """See `backend.Engine`."""

    kind: Backend = "analytical"

    def __init__(self, path: Path) -> None:
        """Open or create the database. Raises `Damaged`, `StoreUnusable`."""
        self._path = path
        self._log = path.with_name(path.name + WAL)
        self._checkpoint_at = LOG_BYTES
        self._readers: weakref.WeakSet[DuckConnection] = weakref.WeakSet()
        self.generation = 0
        """How often the database was reopened."""
        with _opening():
            plain = duckdb.connect(str(path), config=make_settings())
            self.writer = DuckConnection(self, plain)
            try:
                tables = plain.execute(_TABLES).fetchall()
                if schema.migrate(self.writer, DIALECT, [str(name) for (name,) in tables]):
                    plain.execute("CHECKPOINT")
                self._lock()
            except BaseException:
                self.writer.rollback()
                plain.close()
                raise

    def reader(self) -> DuckConnection:
        connection = DuckConnection(self, self.writer.inner.cursor())
        self._readers.add(connection)
        return connection

    def checkpoint(self) -> None:
        """Move the log into the main file, unless the disk may lack the space."""
        if shutil.disk_usage(self._path.parent).free < 2 * self._measure_log() + LOG_BYTES:
            return
        with contextlib.suppress(duckdb.TransactionException):
            self.writer.inner.execute("CHECKPOINT")

    def maintain(self) -> None:
        if self._measure_log() >= self._checkpoint_at:
            self.checkpoint()
            self._checkpoint_at = self._measure_log() + LOG_BYTES

    def reopen(self, error: Exception) -> bool:
        """Reopen after a fatal error of DuckDB, which breaks all connections to the file."""
        if not isinstance(error, duckdb.FatalException):
            return False
        for connection in [*self._readers, self.writer]:
            connection.close()
        with _opening():
            self.writer.inner = duckdb.connect(str(self._path), config=make_settings())
            self._lock()
        self.generation += 1
        return True

    def _lock(self) -> None:
        self.writer.inner.execute("PRAGMA disable_checkpoint_on_shutdown")
        self.writer.inner.execute("SET lock_configuration = true")

    def _measure_log(self) -> int:
        return self._log.stat().st_size if self._log.exists() else 0

    def translate_error(self, error: Exception) -> Exception:
        text = str(error).lower()
        if "no space left" in text or "disk quota" in text or "could not write" in text:
            return StoreFull()
        if isinstance(error, duckdb.Error | OSError) and is_disk_full(self._path):
            return StoreFull()
        if isinstance(error, duckdb.Error) and is_damage(error):
            return Damaged(str(error))
        return StoreFailed()

    def close(self) -> None:
        with contextlib.suppress(duckdb.Error):
            self.checkpoint()
        self.writer.close()


def _cells(column: Column) -> Sequence[Any]:
    """Convert a column to values, with None for NaN."""
    cells: list[Any] = column.tolist()
    if column.dtype == np.float64 and np.isnan(column).any():
        return [None if cell != cell else cell for cell in cells]
    return cells


def make_settings(*, read_only: bool = False) -> dict[str, str | bool | int | float | list[str]]:
    """Return the settings of a connection, which may touch no file but the database."""
    memory_mb = max(256, min(1024, find_memory() // 4 >> 20))
    common: dict[str, str | bool | int | float | list[str]] = {
        "threads": "2",
        "memory_limit": f"{memory_mb}MB",
        "enable_external_access": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    # A checkpoint on a full disk makes the whole instance unusable, so none runs automatically.
    return common if read_only else {**common, "checkpoint_threshold": "1TB"}


def opens(path: Path) -> bool:
    """Whether the database and its log can be read; neither is changed."""
    try:  # read-only, it replays the log without moving it into the main file
        duckdb.connect(str(path), read_only=True, config=make_settings(read_only=True)).close()
    except duckdb.Error as error:
        if is_damage(error):
            return False
        raise StoreUnusable("the database of BRIDGE_DB cannot be opened") from error
    return True


def peek(path: Path) -> None:
    """Raise the errors of opening the database, see `Duck`, without changing it."""
    with (
        _opening(),
        duckdb.connect(str(path), read_only=True, config=make_settings(read_only=True)) as plain,
    ):
        tables = plain.execute(_TABLES).fetchall()
        schema.find_version(
            lambda sql: plain.execute(sql).fetchall(), [str(name) for (name,) in tables]
        )


def is_damage(error: duckdb.Error) -> bool:
    """Whether the error means a damaged file, not one that is in use or forbidden."""
    text = str(error).lower()
    return any(words in text for words in _DAMAGE)


@contextlib.contextmanager
def _opening() -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        if is_damage(error):
            raise Damaged(str(error)) from error
        reason = str(error).splitlines()[0]
        raise StoreUnusable(f"the database of BRIDGE_DB cannot be opened: {reason}") from error
