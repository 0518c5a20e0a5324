"""Stored sessions for commands, from the database or from the bridge that has it open."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple

from paddock.client import ANSWER_S, Bridge, BridgeError
from runtime.bridge.session.laps import Laps
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.storage.errors import StoreUnusable
from runtime.bridge.storage.lapbook import LapBook
from runtime.bridge.storage.records import SessionRow, SignalRow
from runtime.bridge.storage.store import Store
from runtime.bridge.track.identity import Identity
from runtime.bridge.track.library import Library
from runtime.web.instance import AlreadyRunning, address_of


class CannotMake(Exception):
    """The requested result cannot be made; the text says why."""

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(text)
        self.code = code
        """The code in the bridge's answer."""


class OpenSession(NamedTuple):
    """A session with its laps, as in the routes."""

    store: Store
    row: SessionRow
    laps: Laps
    where: Identity


@asynccontextmanager
async def open_store(
    settings: BridgeSettings, seed: Sequence[SignalRow] = ()
) -> AsyncIterator[Store | str]:
    """Open the database, or yield the address of the bridge that has it open.

    A new database starts with the signals of *seed*. Raises `CannotMake` and `StoreUnusable`.
    """
    try:
        store = await Store.open(settings.database, settings.db_backend, seed)
    except AlreadyRunning:
        yield find_address(settings)
        return
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def open_session(
    settings: BridgeSettings, session: str, url: str | None
) -> AsyncIterator[OpenSession | str]:
    """Open a session, or yield *url* or the address of the bridge that has the database open.

    Raises `CannotMake` and `TrackError`.
    """
    if url:
        yield url
        return
    if not settings.database.exists():
        raise CannotMake(f"there is no database in {settings.database}")
    library = read_circuits(settings)
    try:
        async with open_store(settings) as store:
            if isinstance(store, str):
                yield store
                return
            row = store.session(session)
            if row is None or not row.n_frames:
                raise CannotMake("no such session, or it has no telemetry")
            laps, where = await LapBook(store, library).load_laps(row)
            yield OpenSession(store, row, laps, where)
    except StoreUnusable as error:
        raise CannotMake(str(error)) from error


def read_circuits(settings: BridgeSettings) -> Library:
    """Read all circuits, including the active one, as the bridge does."""
    return Library.read(settings.tracks_dir).with_active(settings.track)[0]


def find_address(settings: BridgeSettings) -> str:
    """Find the address of the bridge that has the database open."""
    db = settings.database
    address = address_of(db.with_name(f"{db.name}.lock"))
    if address is None and not settings.port:
        raise CannotMake("a bridge is about to start on this data; try again")
    return address or f"http://{settings.host}:{settings.port}"


@contextmanager
def connect(url: str, wait_s: float = ANSWER_S) -> Iterator[Bridge]:
    """Connect to a running bridge with a timeout. Its refusals become `CannotMake`."""
    try:
        bridge = Bridge(url, timeout_s=wait_s)
    except ValueError as wrong:
        raise CannotMake(str(wrong)) from None
    try:
        yield bridge
    except BridgeError as refused:
        raise CannotMake(refused.message, refused.code) from None
