"""Opens the database: chooses the engine, keeps others out, mends what broke, loads the state."""

import contextlib
import importlib.util
import logging
import os
import platform
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Final, NamedTuple

from runtime.bridge.storage import registry, salvage, schema, sqlite
from runtime.bridge.storage.backend import Connection, Engine
from runtime.bridge.storage.errors import Damaged, StoreFull, StoreUnusable
from runtime.bridge.storage.reading import count_telemetry
from runtime.bridge.storage.state import Session, State
from runtime.bridge.storage.transaction import SESSION_COLUMNS, Transaction, restored
from runtime.bridge.storage.values import Backend, Choice, SignalRow
from runtime.bridge.storage.writer import Write
from runtime.bridge.storage.writes import note_opening
from runtime.web import instance

log = logging.getLogger(__name__)

SETTING: Final = "BRIDGE_DB"
_LITTLE_MEMORY: Final = 4 << 30
_ARM: Final = ("aarch64", "arm64", "armv7l", "armv6l", "armv8l")
_SQLITE_ENDS: Final = (sqlite.WAL, "-shm")
_DUCK_WAL: Final = ".wal"
_DUCK_MAGIC: Final = b"DUCK"


class Loaded(NamedTuple):
    """What a database has, see `Opened`."""

    state: State
    staged: list[int]
    owed: Write | None


@dataclass(slots=True)
class Opened:
    """An open database and what was found in it."""

    engine: Engine
    state: State
    lock: IO[str]
    recovered_from: str | None
    staged: list[int]
    """Keys of imports that did not come to their end."""
    owed: Write | None = None
    """What could not be written yet for want of room."""

    def close(self) -> None:
        """Close the database, then let others in."""
        try:
            self.engine.close()
        finally:
            self.lock.close()


def open_database(
    path: Path,
    choice: Choice,
    seed: Sequence[SignalRow],
    steps: tuple[schema.Step, ...] = schema.STEPS,
) -> Opened:
    """Open or make the database at *path*; blocks.

    A second process is kept out by a lock beside it. A damaged file is kept under another name, and
    what can be saved of its log is saved. Raises `AlreadyRunning`, `StoreUnusable`, `SchemaTooNew`.
    """
    _refuse_devices(path)
    try:
        lock = instance.claim(path.with_name(path.name + ".lock"), SETTING)
    except OSError as error:
        reason = error.strerror or "it cannot be written"
        raise StoreUnusable(f"the folder of {SETTING} cannot be used: {reason}") from error
    try:
        backend = chosen(path, choice)
        engine, aside = _mended(path, backend, steps)
        try:
            registry.forget_unused(engine)
            found = loaded(engine, seed)
        except Exception as error:
            broken = isinstance(engine.translated(error), Damaged)
            engine.close()
            if not broken:
                raise
            log.exception("the database cannot be read")
            aside = salvage.set_aside(path, _ends(backend))
            engine = _engine(path, backend, steps)
            found = loaded(engine, seed)
    except BaseException:
        lock.close()
        raise
    return Opened(engine, found.state, lock, aside, found.staged, found.owed)


def check(path: Path, choice: Choice) -> list[str]:
    """What opening the database would do that one may not expect, a sentence each.

    Nothing is changed. Raises `StoreUnusable` and `SchemaTooNew` where it could not be opened or
    made, and `AlreadyRunning`.
    """
    _refuse_devices(path)
    backend = chosen(path, choice)
    lock = path.with_name(path.name + ".lock")
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
        if path.exists():
            path.open("r+b").close()
        if lock.exists():
            instance.claim(lock, SETTING).close()
    except OSError as error:
        reason = error.strerror or "it cannot be written"
        raise StoreUnusable(f"the folder of {SETTING} cannot be used: {reason}") from error
    return _foreseen(path, backend)


def _foreseen(path: Path, backend: Backend) -> list[str]:
    """What will be done with a file that cannot be used as it is."""
    if not path.exists():
        return []
    kept = f"the start would keep it as {path.name}.corrupt-<time>"
    if _kind(path) is None:
        if not _worth_keeping(path, backend):
            return []
        return [f"{path} is no database, or its beginning is damaged: {kept} and begin a new one"]
    try:
        if backend == "lightweight":
            sqlite.peek(path)
        else:
            from runtime.bridge.storage import duck  # where it is not installed SQLite serves

            duck.peek(path)
    except Damaged:
        return [f"the database {path} is damaged: {kept} and save what can be read"]
    return []


def _refuse_devices(path: Path) -> None:
    """A file that is no database is kept under another name: nothing else may be."""
    if path.exists() and not path.is_file():
        raise StoreUnusable(f"{SETTING} must be a file or a folder")


def chosen(path: Path, choice: Choice) -> Backend:
    """The engine for *path*: that of the file that is there, else the one that fits the machine.

    Raises `StoreUnusable` where the file is another engine's, or its engine is not installed.
    """
    installed = importlib.util.find_spec("duckdb") is not None
    there = _kind(path)
    if choice != "auto" and there is not None and there != choice:
        raise StoreUnusable(
            f"the database of {SETTING} is {there}, and BRIDGE_DB_BACKEND asks for {choice}"
        )
    wanted = there or (choice if choice != "auto" else None)
    if wanted == "analytical" and not installed:
        raise StoreUnusable(
            "the analytical database needs the package duckdb, which is not installed here:"
            f" set BRIDGE_DB_BACKEND to lightweight and {SETTING} to another file"
        )
    if wanted is not None:
        return wanted
    small = platform.machine().lower() in _ARM and _memory() < _LITTLE_MEMORY
    return "lightweight" if small or not installed else "analytical"


def _kind(path: Path) -> Backend | None:
    """Whose file it is; None: nobody's, or there is none."""
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreUnusable(f"the file of {SETTING} cannot be read: {error.strerror}") from error
    if head == sqlite.MAGIC:
        return "lightweight"
    return "analytical" if head[8:12] == _DUCK_MAGIC else None


def _ends(backend: Backend) -> tuple[str, ...]:
    return _SQLITE_ENDS if backend == "lightweight" else (_DUCK_WAL,)


def _worth_keeping(path: Path, backend: Backend) -> bool:
    """Whether there is anything in a file that is no database, or in its log."""
    logged = any(path.with_name(path.name + end).exists() for end in _ends(backend))
    return logged or path.stat().st_size > 0


def _engine(path: Path, backend: Backend, steps: tuple[schema.Step, ...]) -> Engine:
    if backend == "lightweight":
        return sqlite.Sqlite(path, steps)
    from runtime.bridge.storage.duck import Duck  # where DuckDB is not installed SQLite serves

    return Duck(path, steps)


def _mended(
    path: Path, backend: Backend, steps: tuple[schema.Step, ...]
) -> tuple[Engine, str | None]:
    """The open engine, and the name under which a damaged file was kept."""
    aside = None
    if path.exists() and _kind(path) is None:
        if _worth_keeping(path, backend):
            aside = salvage.set_aside(path, _ends(backend))
        else:
            path.unlink()  # somebody made an empty file, which DuckDB would refuse
    try:
        if backend == "lightweight":
            engine, lost = _sqlite(path, steps)
            return engine, aside or lost
        return _engine(path, backend, steps), aside
    except Damaged as error:
        if backend == "analytical" and (engine_and_copy := _shortened(path, str(error), steps)):
            return engine_and_copy
        aside = salvage.set_aside(path, _ends(backend))
        return _engine(path, backend, steps), aside


def _sqlite(path: Path, steps: tuple[schema.Step, ...]) -> tuple[Engine, str | None]:
    """SQLite, and the copy of its log if it silently dropped commits out of it."""
    wal = path.with_name(path.name + sqlite.WAL)
    expected = salvage.logged_pages(wal)
    valid = sqlite.logged(path) if expected else None
    if valid is None or valid >= expected:
        return sqlite.Sqlite(path, steps), None
    copy = salvage.keep_copy(wal)
    engine = sqlite.Sqlite(path, steps)
    log.error("the log of the database was damaged; it was kept as %s", copy)
    return engine, copy


def _shortened(
    path: Path, message: str, steps: tuple[schema.Step, ...]
) -> tuple[Engine, str] | None:
    """DuckDB with the sound beginning of its log; None: the log is not what is broken."""
    from runtime.bridge.storage.duck import opens

    wal = path.with_name(path.name + _DUCK_WAL)
    if not wal.exists():
        return None

    copies = [salvage.keep_copy(path), salvage.keep_copy(wal)]
    length = salvage.longest_log(wal, message, lambda: opens(path))
    try:
        engine = _engine(path, "analytical", steps)
    except Damaged:
        wal.unlink(missing_ok=True)
        path.with_name(copies[1]).rename(wal)
        path.with_name(copies[0]).unlink()
        return None
    engine.checkpoint()
    log.error("the log of the database was damaged after byte %d; kept as %s", length, copies)
    return engine, copies[1]


def loaded(engine: Engine, seed: Sequence[SignalRow]) -> Loaded:
    """The state as the database has it; what a crash left uncounted is counted.

    On a full disk nothing is written: that is then owed.
    """
    connection = engine.writer
    state = State()
    for row in connection.rows(f"SELECT {registry.COLUMNS} FROM signal_registry"):  # noqa: S608 - constants
        state.learn(registry.entry(row))
    found = connection.rows(f"SELECT {SESSION_COLUMNS} FROM sessions")  # noqa: S608 - constants
    sessions = [restored(row) for row in found]
    staged = [int(key) for (key,) in connection.rows("SELECT session_key FROM staged")]
    state.boots = int(connection.rows("SELECT max(boots) FROM schema_version")[0][0] or 0) + 1
    state.counters = {
        "signal_id": max(state.names, default=0),
        "session_key": max([*(session.key for session in sessions), *staged], default=0),
        "activation": max((session.activation for session in sessions), default=0),
    }
    state.sessions = {
        session.session_id: _recounted(connection, session, state) if session.dirty else session
        for session in sessions
    }
    first = partial(note_opening, boots=state.boots, seed=tuple(seed))
    try:
        _write(connection, state, first)
    except Exception as error:
        if not isinstance(engine.translated(error), StoreFull):
            raise
        log.warning("the disk is full: what is stored can be read, and nothing can be written")
        engine.revive(error)
        return Loaded(state, staged, first)
    return Loaded(state, staged, None)


def reloaded(engine: Engine) -> tuple[State, Write | None]:
    """The state of a database that was opened anew, and what is owed to it."""
    found = loaded(engine, ())
    return found.state, found.owed


def _write(connection: Connection, state: State, first: Write) -> None:
    try:
        connection.begin(write=True)
        tx = Transaction(connection, state)
        first(tx)
        tx.flush()
        connection.commit()
    except BaseException:
        with contextlib.suppress(Exception):
            connection.rollback()
        raise
    tx.apply()


def _recounted(connection: Connection, session: Session, state: State) -> Session:
    counted = count_telemetry(connection, session.key, state.wide)
    return replace(
        session.spread(counted.spans or {}),
        n_frames=counted.n_frames,
        distance_m=counted.distance_m,
        odometer=counted.odometer,
        version=state.boots << 32,  # above every version that was ever given out
    )


def _memory() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return _LITTLE_MEMORY
