"""Everything that the handlers of the bridge share."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from aiohttp import web

from runtime.bridge.analysis.reference import ReferenceBook
from runtime.bridge.can.cars import NO_WIRING, Wiring
from runtime.bridge.can.reader import CanReader
from runtime.bridge.coach.gather import Gathering
from runtime.bridge.coach.lessons import Lessons
from runtime.bridge.coach.model import ModelClient
from runtime.bridge.cues.engine import CueEngine
from runtime.bridge.cues.model import Cue
from runtime.bridge.errors import NoTrack
from runtime.bridge.live.circuits import LiveCircuits, find_coaching
from runtime.bridge.live.hub import Hub
from runtime.bridge.live.inbox import Inbox
from runtime.bridge.live.live import Live
from runtime.bridge.live.outlets.outlet import Outlet
from runtime.bridge.live.recorder import Recorder
from runtime.bridge.live.replay import Replays
from runtime.bridge.live.spectators import Spectators
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.simulator.simulator import Simulator
from runtime.bridge.storage.analyses import Analyses
from runtime.bridge.storage.errors import NoDatabase, UnknownSession
from runtime.bridge.storage.lapbook import LapBook
from runtime.bridge.storage.records import NoteRow, SessionRow, SignalRow, unix_ms
from runtime.bridge.storage.store import Store
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track
from runtime.web.discovery import Announcer
from runtime.web.errors import ApiError

T = TypeVar("T")

if TYPE_CHECKING:
    from runtime.bridge.coach.conversation import Conversations

log = logging.getLogger(__name__)
MOST_UPLOADS: Final = 3


@dataclass
class Service:
    """The parts of a running bridge."""

    settings: BridgeSettings
    version: str
    library: Library
    active_track: Track | None
    store: Store | None = None
    """Open while the bridge runs; None where no database could be opened."""
    why_no_database: str = ""
    catalogue: Sequence[SignalRow] = ()
    """The signals of a new database."""
    laps: LapBook | None = None
    analyses: Analyses | None = None
    lessons: Lessons = field(default_factory=Lessons)
    """The lessons of the built course, while the bridge runs."""
    references: ReferenceBook = field(default_factory=lambda: ReferenceBook(Path("reference")))
    wiring: Wiring = NO_WIRING
    """Decoding of the bus, with the configured car."""
    hub: Hub = field(default_factory=Hub)
    cues: CueEngine = field(default_factory=lambda: CueEngine(lambda _: None))
    circuits: LiveCircuits = field(init=False)
    """The circuits of live sessions."""
    inbox: Inbox = field(default_factory=Inbox)
    spectators: Spectators = field(default_factory=Spectators)
    announcer: Announcer | None = None
    """Announces the bridge on the network; None: not announced."""
    replays: Replays | None = None
    live: Live | None = None
    recorder: Recorder | None = None
    outlets: Sequence[Outlet] = ()
    """Send live points to other servers."""
    bus: CanReader | None = None
    simulator: Simulator | None = None
    """The synthetic car, if one drives on the bus."""
    model: ModelClient | None = None
    """The language-model server, while the bridge runs."""
    grader: ModelClient | None = None
    """The grading model; None: no key is configured."""
    gathering: Gathering | None = None
    """Collects the data for facts; None without a database."""
    questions: "Conversations | None" = None
    """Answers questions; None without a database, or if questions are off."""
    bursts: dict[str, deque[object]] = field(default_factory=dict)
    """Summaries from drivers' devices, by session, in memory only."""
    uploads: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_UPLOADS))
    """Limits the files being uploaded and imported at one time."""
    started: float = field(default_factory=time.monotonic)
    _background: set[asyncio.Task[object]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.circuits = LiveCircuits(
            self.library,
            rows=self.row,
            find=lambda row: find_coaching(self.db, self.book, row),
            aside=self.aside,
            tell=lambda session_id, now: self.hub.publish_silence(session_id, now.silent),
        )

    @property
    def db(self) -> Store:
        """The database. Raises `NoDatabase`."""
        if self.store is None:
            raise self.without_database()
        return self.store

    @property
    def loaded_car(self) -> str:
        """Id of the configured car; empty: none."""
        return self.wiring.car.id if self.wiring.car is not None else ""

    @property
    def book(self) -> LapBook:
        """The laps of the stored sessions. Raises `NoDatabase`."""
        if self.laps is None:
            raise self.without_database()
        return self.laps

    @property
    def analytics(self) -> Analyses:
        """Cached analytics of the stored sessions. Raises `NoDatabase`."""
        if self.analyses is None:
            raise self.without_database()
        return self.analyses

    def without_database(self) -> NoDatabase:
        """Make the error for a missing database, with the reason."""
        return NoDatabase(self.why_no_database)

    @property
    def track(self) -> Track:
        """The active circuit. Raises `NoTrack`."""
        if self.active_track is None:
            raise NoTrack
        return self.active_track

    def active_session(self) -> str:
        """Return the open session started last, else the connected bus's; empty: neither."""
        started = self.store.active_session() if self.store is not None else None
        if started:
            return started
        return self.find_filling_session()

    def find_filling_session(self) -> str:
        """Return the session that the bus is filling now; empty: none."""
        connected = self.bus is not None and self.bus.connected
        return (self.bus_session() or "") if connected else ""

    def bus_session(self) -> str | None:
        """Return the session of the last bus frame; None before the first."""
        return (self.live.bus_session or None) if self.live is not None else None

    def row(self, session_id: str) -> SessionRow | None:
        """Return a session; None if it, or the database, is missing."""
        return self.store.session(session_id) if self.store is not None else None

    def session(self, session_id: str) -> SessionRow:
        """Return a session. Raises `UnknownSession` and `NoDatabase`."""
        row = self.db.session(session_id)
        if row is None:
            raise UnknownSession(session_id)
        return row

    async def note(self, cue: Cue) -> int | None:
        """Store a cue as a note of its session; return its id, or None if that fails."""
        if self.store is None:
            return None
        row = NoteRow(
            session_id=cue.session_id,
            text=cue.text,
            recorded_at=unix_ms(),
            burst_id=cue.burst_id,
            distance_m=cue.distance_m,
            source=cue.source,
            emotion=cue.emotion,
            concept=cue.concept or None,
        )
        try:
            return (await self.store.add_note(row)).id
        except ApiError as problem:
            log.warning("a coaching note was not stored: %s", problem)
            return None

    def aside(self, work: Coroutine[Any, Any, object]) -> None:
        """Run *work* in the background; it is cancelled when the bridge stops."""
        self._begin(work)

    async def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of *work*, which continues even if its caller is cancelled."""
        return await asyncio.shield(self._begin(work))

    def _begin(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task

    async def close(self) -> None:
        """Stop the background work, then close the database."""
        if self.announcer is not None:
            await self.announcer.stop()
        for task in list(self._background):
            task.cancel()
        if self._background:
            await asyncio.wait(self._background)
        if self.questions is not None:
            await self.questions.close()
        for client in (self.model, self.grader):
            if client is not None:
                await client.close()
        if self.store is not None:
            await self.store.close()


SERVICE: Final = web.AppKey("service", Service)
