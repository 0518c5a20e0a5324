"""The command ``export``: sessions go into a lake of parquet files, with or without a bridge."""

import argparse
import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final, NamedTuple
from urllib.parse import quote

import pyarrow as pa  # type: ignore[import-untyped]

from runtime.bridge.commands.flags import (
    lake_place,
    make_parser,
    read_line,
    run_work,
    write_line,
)
from runtime.bridge.commands.sessions import CannotMake, asking, circuits, open_store
from runtime.bridge.settings import PROGRAM, BridgeSettings
from runtime.bridge.storage.errors import StoreUnusable
from runtime.bridge.storage.lake.layout import Lake, folder_of, stamp_of
from runtime.bridge.storage.lake.tables import packed
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
(.parquet). What is there and has not changed is left alone. While a bridge runs on the database
the sessions are read through it, otherwise directly."""


class Session(NamedTuple):
    """A session that may be exported."""

    id: str
    folder: str
    stamp: str


class Source(NamedTuple):
    """Where sessions come from."""

    sessions: Sequence[Session]
    """All that have telemetry."""
    read: Callable[[Session], Awaitable[bytes]]
    """The archive with the files of one. Raises `CannotMake`."""


def main(argv: Sequence[str]) -> int:
    """0: all are there; 1: not all; 2: wrong use; the others go on where one fails."""
    parser = _parser()
    chosen, settings = read_line(parser, argv, SHOWN)
    if bool(chosen.sessions) == chosen.all:
        parser.error("name sessions, or give --all")

    def export() -> int:
        return asyncio.run(_export(chosen, settings, Lake.open(chosen.lake)))

    problems = (StoreUnusable, CannotMake, TrackError, ApiError, OSError, pa.ArrowException)
    return run_work("export", export, *problems)


async def _export(chosen: argparse.Namespace, settings: BridgeSettings, target: Lake) -> int:
    there = await asyncio.to_thread(target.stamps)
    failed = 0
    async with _source(settings) as source:
        known = {session.id: session for session in source.sessions}
        wanted = list(known) if chosen.all else list(dict.fromkeys(chosen.sessions))
        for name in wanted:
            session = known.get(name)
            try:
                if session is None:
                    raise CannotMake("there is no such session, or it has no telemetry")
                if there.get(session.folder) == session.stamp:
                    write_line(f"{name}: unchanged")
                    continue
                await asyncio.to_thread(target.write, session.folder, await source.read(session))
                for folder in _elsewhere(session, there):  # its car was corrected
                    await asyncio.to_thread(target.remove, folder)
            except (CannotMake, ApiError) as problem:
                failed += 1
                sys.stderr.write(f"{name}: {problem}\n")
            else:
                write_line(f"{name}: {session.folder}")
    return 1 if failed else 0


def _elsewhere(session: Session, folders: Iterable[str]) -> list[str]:
    """Folders of the same session under another season or car."""
    own = session.folder.rpartition("/")[2]
    return [name for name in folders if name.endswith(f"/{own}") and name != session.folder]


@asynccontextmanager
async def _source(settings: BridgeSettings) -> AsyncIterator[Source]:
    """The database itself, or the bridge that has it open."""
    if not settings.database.exists():
        raise CannotMake(f"there is no database in {settings.database}")
    async with open_store(settings) as store:
        if isinstance(store, str):
            yield await asyncio.to_thread(_through, store)
            return
        library = circuits(settings)
        book = LapBook(store, library)
        rows = {row.session_id: row for row in store.sessions() if row.n_frames}
        sessions = [
            Session(name, folder_of(row), stamp_of(row, library.digest))
            for name, row in rows.items()
        ]
        yield Source(sessions, lambda one: packed(store, book, rows[one.id], one.stamp))


def _through(url: str) -> Source:
    """The sessions of a running bridge."""
    with asking(url) as bridge:
        listed = bridge.get("/lake")["sessions"]
    sessions = [Session(one["session_id"], one["folder"], one["stamp"]) for one in listed]

    def read(session: Session) -> bytes:
        with asking(url, LONGEST_S) as bridge:
            return bridge.read(f"/session/{quote(session.id, safe='')}/lake.zip")

    return Source(sessions, lambda one: asyncio.to_thread(read, one))


def _parser() -> argparse.ArgumentParser:
    about = "Write sessions as parquet files that are read together as one table."
    parser = make_parser("export", about, EXAMPLES)
    parser.add_argument("sessions", nargs="*", metavar="SESSION")
    parser.add_argument("--all", action="store_true", help="every session that has telemetry")
    place = "folder, or address of an object store"
    parser.add_argument("--lake", type=lake_place, required=True, metavar="PLACE", help=place)
    return parser
