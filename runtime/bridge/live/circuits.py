"""Identifies the circuits of live sessions while they are driven, for the coach."""

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from runtime.bridge.live.timing import NO_PAST, Past, Trace, read_history
from runtime.bridge.session.laps import Laps
from runtime.bridge.storage.lapbook import LapBook
from runtime.bridge.storage.records import SessionRow
from runtime.bridge.storage.store import Store
from runtime.bridge.track.build import build_from_laps
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Track, TrackError
from runtime.web.errors import ApiError

log = logging.getLogger(__name__)
LEARNING: Final = "learning the circuit: it coaches after the first closed lap"
NOWHERE: Final = "no circuit is known and no positions come: it cannot tell one corner from another"
LOOK_S: Final = 2.0
"""Shortest interval between two searches for an unknown circuit."""
IDLE: Final = 50.0
"""The next search waits for this multiple of the time that the last one took."""
GROWN: Final = 2.0
"""A known circuit is checked again once the session has grown by this factor."""
SESSIONS: Final = 256
MOST_LOOKED_AT: Final = 200
"""Newest sessions of a driver that are searched for the best lap."""
Aside: TypeAlias = Callable[[Coroutine[Any, Any, object]], None]


class Coaching(NamedTuple):
    """The circuit that the coach assumes for a session."""

    track: Track | None = None
    silent: str | None = LEARNING
    """Why the coach gives no corner cues; None: it gives them."""
    own: bool = False
    """Whether the circuit was built from the session's own laps."""
    past: Past = NO_PAST
    """What the lap clock continues from."""


async def find_coaching(store: Store, book: LapBook, row: SessionRow) -> Coaching:
    """Find the circuit of a session; build an unknown one from the session's own laps."""
    laps, where = await book.load_laps(row)
    if where.track is None:
        return await asyncio.to_thread(_build_circuit, laps, where.name or row.session_id)
    history = await asyncio.to_thread(read_history, laps, where.track)
    record = await find_record(store, book, row, where.track)
    return Coaching(where.track, None, past=Past(history, record))


def _build_circuit(laps: Laps, name: str) -> Coaching:
    try:
        track = build_from_laps(laps, name).track
    except TrackError:
        fixed = laps.series.fixed
        return Coaching(silent=LEARNING if fixed.sum() * 2 >= len(fixed) else NOWHERE)
    return Coaching(track, None, own=True, past=Past(read_history(laps, track)))


async def find_record(store: Store, book: LapBook, row: SessionRow, track: Track) -> Trace | None:
    """Find the best lap of a session's driver on this circuit in another session, if any."""
    best: tuple[float, SessionRow] | None = None
    others = store.sessions(MOST_LOOKED_AT, driver=row.driver) if row.driver else []
    for other in others:
        if other.session_id == row.session_id or not other.n_frames:
            continue
        summary, where = await book.find_recent(other), await book.circuit(other)
        if summary is None or summary.best_s is None:
            continue
        if where.track is None or where.track.id != track.id:
            continue
        if best is None or summary.best_s < best[0]:
            best = summary.best_s, other
    if best is None:
        return None
    laps, _ = await book.load_laps(best[1])
    history = await asyncio.to_thread(read_history, laps, track)
    traces = [lap.trace for lap in history.laps if lap.trace is not None]
    return min(traces, key=lambda trace: trace.lap_s, default=None)


@dataclass
class _WatchedSession:
    coaching: Coaching
    n_frames: int = 0
    """At the last search."""
    due: float = 0.0
    busy: bool = False


class LiveCircuits:
    """Answers at once with what is known of a session's circuit, and searches in the background.

    *tell* is called when the reason for the coach's silence in a session changes.
    """

    def __init__(
        self,
        library: Library,
        rows: Callable[[str], SessionRow | None],
        find: Callable[[SessionRow], Coroutine[Any, Any, Coaching]],
        aside: Aside,
        tell: Callable[[str, Coaching], None] = lambda _, __: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._library = library
        self._rows, self._find, self._aside = rows, find, aside
        self._tell, self._clock = tell, clock
        self._watched: OrderedDict[str, _WatchedSession] = OrderedDict()

    def of(self, session_id: str) -> Coaching:
        """Return the circuit of a session; called for each second of it."""
        row = self._rows(session_id)
        if row is None:
            return Coaching(silent=NOWHERE)
        watched = self._watch(row)
        if self._is_due(watched, row):
            watched.busy = True
            self._aside(self._look(watched, row))
        return watched.coaching

    def find_known_track(self, session_id: str) -> Track | None:
        """Return the circuit identified so far; starts no search."""
        watched = self._watched.get(session_id)
        return None if watched is None or watched.coaching.own else watched.coaching.track

    async def look(self, session_id: str) -> Coaching:
        """Like `of`, but wait for the first search of what is already recorded."""
        row = self._rows(session_id)
        if row is not None and row.n_frames:
            watched = self._watch(row)
            if not watched.n_frames and not watched.busy:
                watched.busy = True
                await self._look(watched, row)
        return self.of(session_id)

    def forget(self, session_id: str) -> None:
        """Drop the circuit of a session that was deleted or assigned to another circuit."""
        self._watched.pop(session_id, None)

    def _watch(self, row: SessionRow) -> _WatchedSession:
        """Return the state of a session; it begins with the circuit that its driver named."""
        watched = self._watched.get(row.session_id)
        if watched is None:
            track = self._library.by_name(row.track or "")
            watched = _WatchedSession(Coaching() if track is None else Coaching(track, None))
            self._watched[row.session_id] = watched
            while len(self._watched) > SESSIONS:
                self._watched.popitem(last=False)
        self._watched.move_to_end(row.session_id)
        return watched

    def _is_due(self, watched: _WatchedSession, row: SessionRow) -> bool:
        if watched.busy or row.n_frames == watched.n_frames or self._clock() < watched.due:
            return False
        return watched.coaching.track is None or row.n_frames >= GROWN * watched.n_frames

    async def _look(self, watched: _WatchedSession, row: SessionRow) -> None:
        began = self._clock()
        coaching = watched.coaching
        try:
            coaching = await self._find(row)
        except ApiError as problem:
            log.warning("the circuit of %s cannot be identified: %s", row.session_id, problem)
        finally:  # also after a cancelled search
            watched.busy = False
        now = self._clock()
        watched.n_frames = row.n_frames
        watched.due = now + max(LOOK_S, IDLE * (now - began))
        before = watched.coaching
        if before.own and coaching.own:
            return  # the corners keep their names during the session
        watched.coaching = coaching
        if coaching.silent != before.silent:
            self._tell(row.session_id, coaching)
