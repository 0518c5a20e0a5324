"""Finds out which circuit live sessions are driven on, while they are driven, for the coach."""

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
"""A session whose circuit is not known yet is looked at so often."""
IDLE: Final = 50.0
"""For so many times as long as a look took, the next one waits."""
GROWN: Final = 2.0
"""A session that has a circuit is looked at again when it has so many times as many frames."""
SESSIONS: Final = 256
MOST_LOOKED_AT: Final = 200
"""The newest sessions of a driver, that the best lap is looked for in."""
Aside: TypeAlias = Callable[[Coroutine[Any, Any, object]], None]


class Coaching(NamedTuple):
    """Where the coach takes a session to be driven."""

    track: Track | None = None
    silent: str | None = LEARNING
    """Why the coach says nothing about corners; None: it does."""
    own: bool = False
    """Whether the circuit was built from the session's own laps."""
    past: Past = NO_PAST
    """What the lap clock goes on from."""


async def find_coaching(store: Store, book: LapBook, row: SessionRow) -> Coaching:
    """The circuit of a session as it stands; one that is not known here from its own laps."""
    laps, where = await book.load_laps(row)
    if where.track is None:
        return await asyncio.to_thread(_own_circuit, laps, where.name or row.session_id)
    history = await asyncio.to_thread(read_history, laps, where.track)
    record = await find_record(store, book, row, where.track)
    return Coaching(where.track, None, past=Past(history, record))


def _own_circuit(laps: Laps, name: str) -> Coaching:
    try:
        track = build_from_laps(laps, name).track
    except TrackError:
        fixed = laps.series.fixed
        return Coaching(silent=LEARNING if fixed.sum() * 2 >= len(fixed) else NOWHERE)
    return Coaching(track, None, own=True, past=Past(read_history(laps, track)))


async def find_record(store: Store, book: LapBook, row: SessionRow, track: Track) -> Trace | None:
    """The best lap of a session's driver on its circuit in another session; None: there is none."""
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
class _Watched:
    coaching: Coaching
    n_frames: int = 0
    """When it was looked at last."""
    due: float = 0.0
    busy: bool = False


class LiveCircuits:
    """Answers at once where a session is driven as far as that is known, and finds out more aside.

    *tell* hears of each session of which the coach begins, or ceases, to know why it is silent.
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
        self._watched: OrderedDict[str, _Watched] = OrderedDict()

    def of(self, session_id: str) -> Coaching:
        """Where a session is driven; asked for each second of it."""
        row = self._rows(session_id)
        if row is None:
            return Coaching(silent=NOWHERE)
        watched = self._watch(row)
        if self._is_due(watched, row):
            watched.busy = True
            self._aside(self._look(watched, row))
        return watched.coaching

    def known(self, session_id: str) -> Track | None:
        """The circuit that was found for a session so far; begins no search."""
        watched = self._watched.get(session_id)
        return None if watched is None or watched.coaching.own else watched.coaching.track

    async def look(self, session_id: str) -> Coaching:
        """Like `of`, but waits for the first look at what a session has already."""
        row = self._rows(session_id)
        if row is not None and row.n_frames:
            watched = self._watch(row)
            if not watched.n_frames and not watched.busy:
                watched.busy = True
                await self._look(watched, row)
        return self.of(session_id)

    def forget(self, session_id: str) -> None:
        """Drop what is known of a session that was deleted, or that is said to be elsewhere."""
        self._watched.pop(session_id, None)

    def _watch(self, row: SessionRow) -> _Watched:
        """What is known of a session; at first, the circuit that its driver named."""
        watched = self._watched.get(row.session_id)
        if watched is None:
            track = self._library.by_name(row.track or "")
            watched = _Watched(Coaching() if track is None else Coaching(track, None))
            self._watched[row.session_id] = watched
            while len(self._watched) > SESSIONS:
                self._watched.popitem(last=False)
        self._watched.move_to_end(row.session_id)
        return watched

    def _is_due(self, watched: _Watched, row: SessionRow) -> bool:
        if watched.busy or row.n_frames == watched.n_frames or self._clock() < watched.due:
            return False
        return watched.coaching.track is None or row.n_frames >= GROWN * watched.n_frames

    async def _look(self, watched: _Watched, row: SessionRow) -> None:
        began = self._clock()
        coaching = watched.coaching
        try:
            coaching = await self._find(row)
        except ApiError as problem:
            log.warning("the circuit of %s cannot be found: %s", row.session_id, problem)
        finally:  # one that is broken off has looked at nothing
            watched.busy = False
        now = self._clock()
        watched.n_frames = row.n_frames
        watched.due = now + max(LOOK_S, IDLE * (now - began))
        before = watched.coaching
        if before.own and coaching.own:
            return  # its corners keep their names while the driver drives
        watched.coaching = coaching
        if coaching.silent != before.silent:
            self._tell(row.session_id, coaching)
