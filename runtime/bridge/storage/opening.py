"""Opens the database: chooses the engine, locks the file, repairs damage, loads the state."""

import contextlib
import importlib.util
import logging
import platform
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import IO, Final

from runtime.bridge.storage import salvage, sessions, sqlite, telemetry, transaction
from runtime.bridge.storage.backend import Connection, Engine, find_memory
from runtime.bridge.storage.errors import Damaged, StoreFull, StoreUnusable
from runtime.bridge.storage.records import DISCOVERED, Backend, Choice, SignalRow
from runtime.bridge.storage.transaction import SESSION_COLUMNS, Session, State, Transaction, select
from runtime.bridge.storage.writer import Write
from runtime.web import instance

log = logging.getLogger(__name__)

SETTING: Final = "BRIDGE_DB"
_LITTLE_MEMORY: Final = 4 << 30
_ARM: Final = ("aarch64", "arm64", "armv7l", "armv6l", "armv8l")
_DUCK_WAL: Final = ".wal"
_ENDS: Final[Mapping[Backend, tuple[str, ...]]] = {
    "lightweight": (sqlite.WAL, "-shm"),
    "analytical": (_DUCK_WAL,),
}
"""Suffixes of the files next to the database."""
_DUCK_MAGIC: Final = b"DUCK"


@dataclass(slots=True)
class Opened:
    """An open database and its state."""

    engine: Engine
    state: State
    lock: IO[str]
    recovered_from: str | None
    owed: Write | None
    """A write that is outstanding because the disk was full."""
    acknowledged: salvage.FrameCount

    def close(self) -> None:
        """Close the database, then release the lock."""
        try:
            self.engine.close()
        finally:
            self.acknowledged.close()
            self.lock.close()


def open_database(path: Path, choice: Choice, seed: Sequence[SignalRow]) -> Opened:
    """Open or create the database at *path*; blocks.

    A lock file keeps other processes out. A damaged file is kept under another name, and as much of
    its log as possible is saved. Raises `AlreadyRunning`, `StoreUnusable`, `SchemaTooNew`.
    """
    _refuse_devices(path)
    with _check_folder():
        lock = instance.claim(path.with_name(path.name + ".lock"), SETTING)
    try:
        backend = choose_backend(path, choice)
        acknowledged = salvage.FrameCount(path)
        engine, aside = _open_repaired(path, backend)
        try:
            _forget_unused(engine)
            state, owed = load_state(engine, seed)
        except Exception as error:
            broken = isinstance(engine.translate_error(error), Damaged)
            engine.close()
            if not broken:
                raise
            log.exception("the database cannot be read")
            aside = salvage.set_aside(path, _ENDS[backend])
            engine = _open_engine(path, backend)
            state, owed = load_state(engine, seed)
        if (missing := acknowledged.read() - state.n_frames) > 0:
            log.error(
                "the database lacks %d frames that were acknowledged:"
                " its log was emptied or truncated, or it is an older copy",
                missing,
            )
            kept = acknowledged.set_aside()
            aside = aside or kept
        acknowledged.write(state.n_frames)
    except BaseException:
        lock.close()
        raise
    return Opened(engine, state, lock, aside, owed, acknowledged)


@contextlib.contextmanager
def _check_folder() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or "it cannot be written"
        raise StoreUnusable(f"the folder of {SETTING} cannot be used: {reason}") from error


def check(path: Path, choice: Choice) -> list[str]:
    """List unexpected actions that opening the database would take, a sentence each.

    Nothing is changed. Raises `StoreUnusable` and `SchemaTooNew` if it could not be opened or
    created, and `AlreadyRunning`.
    """
    _refuse_devices(path)
    backend = choose_backend(path, choice)
    lock = path.with_name(path.name + ".lock")
    folder = path.parent
    while not folder.exists():
        folder = folder.parent
    with _check_folder():
        tempfile.TemporaryFile(dir=folder).close()
        if path.exists():
            path.open("r+b").close()
        if lock.exists():
            instance.claim(lock, SETTING).close()
    return _foresee_repairs(path, backend)


def _foresee_repairs(path: Path, backend: Backend) -> list[str]:
    """List the repairs of a file that cannot be used as it is."""
    if not path.exists():
        return []
    kept = f"the start would keep it as {path.name}.corrupt-<time>"
    if _find_kind(path) is None:
        if not _has_content(path, backend):
            return []
        return [f"{path} is not a database, or its header is damaged: {kept} and start a new one"]
    try:
        if backend == "lightweight":
            sqlite.peek(path)
        else:
            from runtime.bridge.storage import duck  # without DuckDB, SQLite is used

            duck.peek(path)
    except Damaged:
        return [f"the database {path} is damaged: {kept} and save all readable data"]
    return []


def _refuse_devices(path: Path) -> None:
    """Refuse paths other than files, since a file that is not a database would be renamed."""
    if path.exists() and not path.is_file():
        raise StoreUnusable(f"{SETTING} must be a file or a folder")


def choose_backend(path: Path, choice: Choice) -> Backend:
    """Choose the engine for *path*: that of an existing file, else the one that fits the machine.

    Raises `StoreUnusable` if the file belongs to another engine, or its engine is not installed.
    """
    installed = importlib.util.find_spec("duckdb") is not None
    existing = _find_kind(path)
    if choice != "auto" and existing is not None and existing != choice:
        raise StoreUnusable(
            f"the database of {SETTING} is {existing}, but BRIDGE_DB_BACKEND asks for {choice}"
        )
    wanted = existing or (choice if choice != "auto" else None)
    if wanted == "analytical" and not installed:
        raise StoreUnusable(
            "the analytical database needs the package duckdb, which is not installed here:"
            f" set BRIDGE_DB_BACKEND to lightweight and {SETTING} to another file"
        )
    if wanted is not None:
        return wanted
    small = platform.machine().lower() in _ARM and find_memory() < _LITTLE_MEMORY
    return "lightweight" if small or not installed else "analytical"


def _find_kind(path: Path) -> Backend | None:
    """Recognise the engine of a file; None: no database, or no file."""
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


def _has_content(path: Path, backend: Backend) -> bool:
    """Whether a file that is not a database, or its log, contains anything."""
    has_log = any(path.with_name(path.name + end).exists() for end in _ENDS[backend])
    return has_log or path.stat().st_size > 0


def _open_engine(path: Path, backend: Backend) -> Engine:
    if backend == "lightweight":
        return sqlite.Sqlite(path)
    from runtime.bridge.storage.duck import Duck  # without DuckDB, SQLite is used

    return Duck(path)


def _open_repaired(path: Path, backend: Backend) -> tuple[Engine, str | None]:
    """Open the engine, repairing damage. Return it and the new name of a damaged file."""
    aside = None
    if path.exists() and _find_kind(path) is None:
        if _has_content(path, backend):
            aside = salvage.set_aside(path, _ENDS[backend])
        else:
            path.unlink()  # an empty file, which DuckDB would refuse
    try:
        if backend == "lightweight":
            aside = _copy_of_broken_log(path) or aside
        return _open_engine(path, backend), aside
    except Damaged as error:
        if backend == "analytical" and (engine_and_copy := _truncate_log(path, str(error))):
            return engine_and_copy
        aside = salvage.set_aside(path, _ENDS[backend])
        return _open_engine(path, backend), aside


def _copy_of_broken_log(path: Path) -> str | None:
    """Copy SQLite's log if SQLite would silently drop commits from it. Return the copy's name."""
    wal = path.with_name(path.name + sqlite.WAL)
    expected = salvage.count_logged_pages(wal)
    valid = sqlite.count_valid_pages(path) if expected else None
    if valid is None or valid >= expected:
        return None
    copy = salvage.keep_copy(wal)
    log.error("the database log is damaged; it was kept as %s", copy)
    return copy


def _truncate_log(path: Path, message: str) -> tuple[Engine, str] | None:
    """Open DuckDB with the valid beginning of its log; None: the damage is not in the log."""
    from runtime.bridge.storage.duck import opens

    wal = path.with_name(path.name + _DUCK_WAL)
    if not wal.exists():
        return None

    copies = [salvage.keep_copy(path), salvage.keep_copy(wal)]
    length = salvage.truncate_to_valid(wal, message, lambda: opens(path))
    try:
        engine = _open_engine(path, "analytical")
    except Damaged:
        wal.unlink(missing_ok=True)
        path.with_name(copies[1]).rename(wal)
        path.with_name(copies[0]).unlink()
        return None
    engine.checkpoint()
    log.error("the database log was damaged after byte %d; kept as %s", length, copies)
    return engine, copies[1]


def _forget_unused(engine: Engine) -> None:
    """Remove discovered names without samples from a catalogue that is half full.

    The last entry stays, since new ids continue from it.
    """
    counted = "SELECT count(*) FROM signal_registry WHERE "
    discovered = f"discovery = '{DISCOVERED}'"
    rows = engine.writer.rows(counted + discovered)
    if int(rows[0][0]) <= transaction.MOST_DISCOVERED // 2:
        return
    blocks = ("signal_blocks",) if engine.kind == "lightweight" else ()
    # Leftovers of an aborted import do not count.
    used = " UNION ".join(
        f"SELECT signal_id FROM {table} WHERE session_key NOT IN (SELECT session_key FROM staged)"  # noqa: S608 - our tables
        for table in ("session_capabilities", "telemetry_signals", *blocks)
    )
    last = "SELECT max(signal_id) FROM signal_registry"
    unused = f"{discovered} AND signal_id < ({last}) AND signal_id NOT IN ({used})"
    count = int(engine.writer.rows(counted + unused)[0][0])
    forget = f"DELETE FROM signal_registry WHERE {unused}"  # noqa: S608 - constants
    if count and _commit(engine, State(), lambda tx: tx.run(forget)):
        log.info("removed %d unused signal names", count)


def load_state(engine: Engine, seed: Sequence[SignalRow] = ()) -> tuple[State, Write | None]:
    """Load the state from the database, counting what a crash left uncounted.

    On a full disk nothing is written, and the outstanding write is returned too.
    """
    connection = engine.writer
    signals = {row.name: row for row in select(connection, SignalRow)}
    columns = ", ".join(SESSION_COLUMNS)
    rows = connection.rows(f"SELECT {columns} FROM sessions")  # noqa: S608 - constants
    stored = [Session.from_row(row) for row in rows]
    staged = [int(key) for (key,) in connection.rows("SELECT session_key FROM staged")]
    state = State(
        signals=signals,
        counters={
            "signal_id": max((signal.signal_id for signal in signals.values()), default=0),
            "session_key": max([*(session.key for session in stored), *staged], default=0),
            "activation": max((session.activation for session in stored), default=0),
        },
        boots=int(connection.rows("SELECT max(boots) FROM schema_version")[0][0] or 0) + 1,
        staged=staged,
    )
    state.sessions = {
        session.session_id: _recount(connection, session, state) if session.dirty else session
        for session in stored
    }
    state.n_frames = sum(session.n_frames for session in state.sessions.values())
    first = partial(sessions.note_opening, boots=state.boots, seed=tuple(seed))
    if _commit(engine, state, first):
        return state, None
    log.warning("the disk is full: stored data can be read, but nothing can be written")
    return state, first


def _commit(engine: Engine, state: State, write: Write) -> bool:
    """Commit *write*. Return False if the disk is full and nothing was changed."""
    tx = Transaction(engine.writer, state)
    try:
        engine.writer.begin(write=True)
        write(tx)
        tx.flush()
        engine.writer.commit()
    except Exception as error:
        with contextlib.suppress(Exception):
            engine.writer.rollback()
        if not isinstance(engine.translate_error(error), StoreFull):
            raise
        engine.reopen(error)
        return False
    tx.apply()
    return True


def _recount(connection: Connection, session: Session, state: State) -> Session:
    counted = telemetry.count_telemetry(connection, session.key, state.wide)
    return replace(
        session.with_counted(counted),
        version=state.boots << 32,  # above every version issued before
    )
