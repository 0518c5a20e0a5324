"""A stored session for commands: out of the database, or from the bridge that has it open."""

import json
import secrets
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, NamedTuple

from runtime.bridge.derived.lapbook import LapBook
from runtime.bridge.session.laps import Laps
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.storage.errors import StoreUnusable
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import Json, SessionRow, SignalRow
from runtime.bridge.track.identity import Identity
from runtime.bridge.track.library import Library
from runtime.web.instance import AlreadyRunning, address_of

WAIT_S: Final = 30.0
LARGEST: Final = 16 * 1024 * 1024
JSON: Final = "application/json"


class CannotMake(Exception):
    """What was asked for cannot be made; the text says why."""

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code
        """As the bridge answers it."""


class Content(NamedTuple):
    """A body that is no JSON of ours."""

    data: bytes
    kind: str = "application/octet-stream"


class OpenSession(NamedTuple):
    """A session with its laps, as the routes see them."""

    store: Store
    row: SessionRow
    laps: Laps
    where: Identity


@asynccontextmanager
async def open_store(
    settings: BridgeSettings, seed: Sequence[SignalRow] = ()
) -> AsyncIterator[Store | str]:
    """The database, or the address of the bridge that has it open.

    A new database begins with the signals of *seed*. Raises `CannotMake` and `StoreUnusable`.
    """
    try:
        store = await Store.open(settings.database, settings.db_backend, seed)
    except AlreadyRunning:
        yield address(settings)
        return
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def open_session(
    settings: BridgeSettings, session: str, url: str | None
) -> AsyncIterator[OpenSession | str]:
    """The session out of the database, or the address of a bridge: *url*, else who has it open.

    Raises `CannotMake` and `TrackError`.
    """
    if url:
        yield url
        return
    if not settings.database.exists():
        raise CannotMake(f"there is no database in {settings.database}")
    library = circuits(settings)
    try:
        async with open_store(settings) as store:
            if isinstance(store, str):
                yield store
                return
            row = store.session(session)
            if row is None or not row.n_frames:
                raise CannotMake("there is no such session, or it has no telemetry")
            laps, where = await LapBook(store, library).found(row)
            yield OpenSession(store, row, laps, where)
    except StoreUnusable as error:
        raise CannotMake(str(error)) from error


def circuits(settings: BridgeSettings) -> Library:
    """All circuits, the active one among them, as the bridge has them."""
    return Library.read(settings.tracks_dir).with_active(settings.track)[0]


def address(settings: BridgeSettings) -> str:
    """Where the bridge that has the database open is asked."""
    db = settings.database
    told = address_of(db.with_name(f"{db.name}.lock"))
    if told is None and not settings.port:
        raise CannotMake("a bridge is about to start on this data; try again")
    return told or f"http://{settings.host}:{settings.port}"


def request_text(
    url: str, path: str, body: Json | Content | None = None, wait_s: float = WAIT_S
) -> str:
    """The text that a running bridge answers, to a POST where there is a body.

    Raises `CannotMake`.
    """
    try:
        return request_bytes(url, path, body, wait_s).decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_a_bridge(url, error) from None


def request_bytes(
    url: str,
    path: str,
    body: Json | Content | None = None,
    wait_s: float = WAIT_S,
    largest: int = LARGEST,
) -> bytes:
    """The same, for an answer of *largest* bytes at most that is no text."""
    if not url.startswith(("http://", "https://")):
        raise CannotMake("the address must begin with http:// or https://")
    sent = Content(json.dumps(body).encode(), JSON) if isinstance(body, dict) else body
    request = urllib.request.Request(  # noqa: S310 - checked above
        f"{url.rstrip('/')}{path}",
        None if sent is None else sent.data,
        {} if sent is None else {"Content-Type": sent.kind},
    )
    try:
        with urllib.request.urlopen(request, timeout=wait_s) as answer:  # noqa: S310 - checked above
            return bytes(answer.read(largest))
    except urllib.error.HTTPError as error:
        raise _refused(error) from None
    except (urllib.error.URLError, TimeoutError) as error:
        raise _not_a_bridge(url, error) from None


def make_form(texts: Iterable[tuple[str, str]], files: Iterable[tuple[str, Path]]) -> Content:
    """A form of fields and of files. Raises OSError."""
    mark = secrets.token_hex(16)
    parts = [(f'name="{name}"', text.encode()) for name, text in texts]
    for name, file in files:
        filename = file.name.replace('"', "%22")
        parts.append((f'name="{name}"; filename="{filename}"', file.read_bytes()))
    pieces = [
        f"--{mark}\r\nContent-Disposition: form-data; {head}\r\n\r\n".encode() + data
        for head, data in parts
    ]
    data = b"\r\n".join([*pieces, f"--{mark}--\r\n".encode()])
    return Content(data, f"multipart/form-data; boundary={mark}")


def _not_a_bridge(url: str, error: Exception) -> CannotMake:
    return CannotMake(f"{url} does not answer as a bridge does: {error}", "no_bridge")


def _refused(error: urllib.error.HTTPError) -> CannotMake:
    """The sentence of an error answer, and its code."""
    try:
        said = json.loads(error.read(LARGEST))
        return CannotMake(str(said["error"]), str(said["code"]))
    except (ValueError, KeyError, TypeError):
        return CannotMake(f"the bridge answered {error.code}")
