"""A stored session for commands: out of the database, or from the bridge that has it open."""

import json
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple

from runtime.bridge.session.laps import Laps
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.storage.derived import LapBook
from runtime.bridge.storage.errors import StoreUnusable
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import SessionRow
from runtime.bridge.track.library import Library, read_track
from runtime.bridge.track.model import Track
from runtime.web.instance import address_of

WAIT_S: Final = 30.0
LARGEST: Final = 16 * 1024 * 1024


class CannotMake(Exception):
    """What was asked for cannot be made; the text says why."""


class Stored(NamedTuple):
    """A session with its laps, as the routes see them."""

    store: Store
    row: SessionRow
    laps: Laps
    track: Track | None


@asynccontextmanager
async def stored(settings: BridgeSettings, session: str) -> AsyncIterator[Stored]:
    """The session out of the database, which stays open within.

    Raises `CannotMake`, `TrackError`, and `AlreadyRunning` where a bridge has the database open.
    """
    if not settings.database.exists():
        raise CannotMake(f"there is no database in {settings.database}")
    library, active = _circuits(settings)
    try:
        store = await Store.open(settings.database, settings.db_backend, ())
    except StoreUnusable as error:
        raise CannotMake(str(error)) from error
    try:
        row = store.session(session)
        if row is None or not row.n_frames:
            raise CannotMake("there is no such session, or it has no telemetry")
        book = LapBook(store, library, active)
        yield Stored(store, row, *await book.found(row))
    finally:
        await store.close()


def _circuits(settings: BridgeSettings) -> tuple[Library, Track | None]:
    """All circuits, and the active one, as the bridge has them."""
    library, wanted = Library.read(settings.tracks_dir), settings.track.strip()
    active = library.by_id(wanted)
    if active is None and wanted.endswith(".json"):
        active, _ = read_track(Path(wanted))
        library = replace(library, tracks={**library.tracks, active.id: active})
    return library, active


def address(settings: BridgeSettings) -> str:
    """Where the bridge that has the database open is asked."""
    db = settings.database
    told = address_of(db.with_name(f"{db.name}.lock"))
    return told or f"http://{settings.host}:{settings.port}"


def asked(url: str, path: str) -> str:
    """The text that a running bridge answers. Raises `CannotMake`."""
    if not url.startswith(("http://", "https://")):
        raise CannotMake("the address must begin with http:// or https://")
    address = f"{url.rstrip('/')}{path}"
    try:
        with urllib.request.urlopen(address, timeout=WAIT_S) as answer:  # noqa: S310 - checked above
            return str(answer.read(LARGEST).decode("utf-8"))
    except urllib.error.HTTPError as error:
        raise CannotMake(_reason(error)) from None
    except (urllib.error.URLError, TimeoutError, UnicodeDecodeError) as error:
        raise CannotMake(f"{url} does not answer as a bridge does: {error}") from None


def _reason(error: urllib.error.HTTPError) -> str:
    """The sentence of an error answer."""
    try:
        said = json.loads(error.read(LARGEST))["error"]
    except (ValueError, KeyError, TypeError):
        said = None
    return said if isinstance(said, str) else f"the bridge answered {error.code}"
