"""The command ``export``: writes sessions to a lake of parquet files, with or without a bridge."""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple
from urllib.parse import quote

import pyarrow as pa  # type: ignore[import-untyped]

from runtime.bridge.commands.flags import make_parser, parse_place, read_line, run_work, write_line
from runtime.bridge.commands.sessions import CannotMake, connect, open_store, read_circuits
from runtime.bridge.settings import PROGRAM, BridgeSettings
from runtime.bridge.storage.errors import StoreUnusable
from runtime.bridge.storage.lake.layout import Lake, folder_of, stamp_of
from runtime.bridge.storage.lake.tables import pack_session
from runtime.bridge.storage.lapbook import LapBook
from runtime.bridge.track.model import TrackError
from runtime.web.errors import ApiError

LONGEST_S: Final = 900.0
SHOWN: Final = frozenset("config data_dir db db_backend port track".split())
"""Settings of the server that an export uses."""
EXAMPLES: Final = f"""examples:
  {PROGRAM} export --all --lake season
  {PROGRAM} export monday tuesday --lake season
  {PROGRAM} export --all --lake s3://bucket/season

Each session becomes season=YEAR/car=CAR/session=ID with telemetry, signals, laps and session
(.parquet). Unchanged sessions are skipped. While a bridge has the database open, the sessions are
read through it, otherwise directly."""


class Session(NamedTuple):
    """A session to export."""

    id: str
    folder: str
    stamp: str


class Source(NamedTuple):
    """The source of sessions."""

    sessions: Sequence[Session]
    """All sessions with telemetry."""
    read: Callable[[Session], Awaitable[bytes]]
    """Packs the files of a session into an archive. Raises `CannotMake`."""


def main(argv: Sequence[str]) -> int:
    """0: all sessions are exported; 1: not all; 2: wrong use. A failure does not stop others."""
    parser = _parser()
    chosen, settings = read_line(parser, argv, SHOWN)
    if bool(chosen.sessions) == chosen.all:
        parser.error("name sessions or give --all")

    def export() -> int:
        return asyncio.run(_export(chosen, settings, Lake.open(chosen.lake)))

    problems = (StoreUnusable, CannotMake, TrackError, ApiError, OSError, pa.ArrowException)
    return run_work("export", export, *problems)


async def _export(chosen: argparse.Namespace, settings: BridgeSettings, target: Lake) -> int:
    stamps = await asyncio.to_thread(target.stamps)
    failed = 0
    async with _open_source(settings) as source:
        sessions = {session.id: session for session in source.sessions}
        wanted = list(sessions) if chosen.all else list(dict.fromkeys(chosen.sessions))
        for name in wanted:
            session = sessions.get(name)
            try:
                if session is None:
                    raise CannotMake("no such session, or it has no telemetry")
                if stamps.get(session.folder) == session.stamp:
                    write_line(f"{name}: unchanged")
                    continue
                await asyncio.to_thread(target.write, session.folder, await source.read(session))
                for folder in _find_duplicates(session, stamps):  # its car was corrected
                    await asyncio.to_thread(target.remove, folder)
            except (CannotMake, ApiError) as problem:
                failed += 1
                sys.stderr.write(f"{name}: {problem}\n")
            else:
                write_line(f"{name}: {session.folder}")
    return 1 if failed else 0


def _find_duplicates(session: Session, folders: Iterable[str]) -> list[str]:
    """Find folders of the same session under another season or car."""
    own = session.folder.rpartition("/")[2]
    return [name for name in folders if name.endswith(f"/{own}") and name != session.folder]


@asynccontextmanager
async def _open_source(settings: BridgeSettings) -> AsyncIterator[Source]:
    """Open the database, or the bridge that has it open."""
    if not settings.database.exists():
        raise CannotMake(f"there is no database in {settings.database}")
    async with open_store(settings) as store:
        if isinstance(store, str):
            yield await asyncio.to_thread(_connect_source, store)
            return
        library = read_circuits(settings)
        book = LapBook(store, library)
        rows = {row.session_id: row for row in store.sessions() if row.n_frames}
        sessions = [
            Session(name, folder_of(row), stamp_of(row, library.digest))
            for name, row in rows.items()
        ]
        yield Source(sessions, lambda s: pack_session(store, book, rows[s.id], s.stamp))


def _connect_source(url: str) -> Source:
    """List the sessions of a running bridge."""
    with connect(url) as bridge:
        rows = bridge.get("/lake")["sessions"]
    sessions = [Session(row["session_id"], row["folder"], row["stamp"]) for row in rows]

    def read(session: Session) -> bytes:
        with connect(url, LONGEST_S) as bridge:
            return bridge.read(f"/session/{quote(session.id, safe='')}/lake.zip")

    return Source(sessions, lambda session: asyncio.to_thread(read, session))


def _parser() -> argparse.ArgumentParser:
    about = "Write sessions as parquet files that can be read together as one table."
    parser = make_parser("export", about, EXAMPLES)
    parser.add_argument("sessions", nargs="*", metavar="SESSION")
    parser.add_argument("--all", action="store_true", help="every session with telemetry")
    place = "folder, or address of an object store"
    parser.add_argument("--lake", type=parse_place, required=True, metavar="PLACE", help=place)
    return parser
