"""Everything that the handlers of the bridge share, put together in one place."""

import asyncio
import time
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, Final

from aiohttp import web

from runtime.bridge.errors import NoTrack
from runtime.bridge.lapping import LapBook
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.storage.errors import NoDatabase, UnknownSession
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import SessionRow
from runtime.bridge.tracks.library import Library
from runtime.bridge.tracks.model import Track


@dataclass
class Service:
    """The parts of a running bridge."""

    settings: BridgeSettings
    version: str
    library: Library
    active_track: Track | None
    store: Store | None = None
    """Open while the bridge runs; None where no database could be opened."""
    laps: LapBook | None = None
    loaded_car: str = ""
    """Id of the car that the settings name; empty: none."""
    bursts: dict[str, deque[object]] = field(default_factory=dict)
    """What drivers' devices summed up, by session, in memory only."""
    started: float = field(default_factory=time.monotonic)
    _background: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def db(self) -> Store:
        """The database. Raises `NoDatabase`."""
        if self.store is None:
            raise NoDatabase
        return self.store

    @property
    def book(self) -> LapBook:
        """The laps of the stored sessions. Raises `NoDatabase`."""
        if self.laps is None:
            raise NoDatabase
        return self.laps

    @property
    def track(self) -> Track:
        """The active circuit. Raises `NoTrack`."""
        if self.active_track is None:
            raise NoTrack
        return self.active_track

    def session(self, session_id: str) -> SessionRow:
        """A session as it stands. Raises `UnknownSession` and `NoDatabase`."""
        row = self.db.session(session_id)
        if row is None:
            raise UnknownSession(session_id)
        return row

    def aside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do *work* without anybody waiting for it; it ends with the bridge."""
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def close(self) -> None:
        """End what runs aside, then the database."""
        for task in list(self._background):
            task.cancel()
        if self._background:
            await asyncio.wait(self._background)
        if self.store is not None:
            await self.store.close()


SERVICE: Final = web.AppKey("service", Service)
