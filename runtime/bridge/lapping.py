"""The laps of stored sessions: found once for each state of a session, then remembered."""

import asyncio
import contextlib
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from runtime.bridge.analysis.summary import Summary, summarise
from runtime.bridge.session.geometry import metres_between
from runtime.bridge.session.laps import Laps, detect_laps
from runtime.bridge.session.recording import Frames
from runtime.bridge.session.series import series
from runtime.bridge.storage.errors import StoreBusy, StoreDamaged
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import SessionRow, recorded
from runtime.bridge.track.library import NEAR_M, Library
from runtime.bridge.track.model import Track

log = logging.getLogger(__name__)

REMEMBERED: Final = 2000
"""Summaries kept in memory, some kB each."""
BEHIND_S: Final = 10.0
"""What lists tell of the session that a bus fills was true so long ago at most."""


class _Known(NamedTuple):
    """The laps of a session at one of its versions."""

    version: int
    summary: Summary
    found_at: float
    """On the book's clock, when they began to be looked for."""


@dataclass(frozen=True, slots=True)
class Filling:
    """Which session a bus fills, and what finds its laps without anybody waiting for them."""

    session: Callable[[], str | None]
    aside: Callable[[Coroutine[Any, Any, None]], None]
    clock: Callable[[], float] = field(default=time.monotonic)


class LapBook:
    """Answers what laps a session has; one session is worked on at a time."""

    def __init__(
        self,
        store: Store,
        library: Library,
        active: Track | None,
        filling: Filling | None = None,
    ) -> None:
        self._store = store
        self._library = library
        self._active = active
        self._filling = filling
        self._clock = filling.clock if filling is not None else time.monotonic
        self._looking: set[str] = set()
        """Sessions whose laps are being found with nobody waiting."""
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._unreadable: dict[str, int] = {}
        """Versions of sessions that cannot be read."""
        self._turn = asyncio.Lock()

    def circuit(self, row: SessionRow, centre: tuple[float, float] | None) -> Track | None:
        """Where a session was driven, *centre* being the middle of its positions.

        The circuit that it names, else the active one, if the positions do not belong elsewhere;
        else the one nearest to them.
        """
        named = self._library.by_name(row.track) if row.track else self._active
        if centre is None or (named is not None and is_at(named, centre)):
            return named
        return self._library.near(*centre)

    async def summary(self, row: SessionRow) -> Summary | None:
        """The laps of a session as it stands in *row*; None without frames."""
        if not row.n_frames:
            return None
        known = self._known.get(row.session_id)
        if known is not None and known.version == row.version:
            self._known.move_to_end(row.session_id)
            return known.summary
        async with self._turn:
            known = self._known.get(row.session_id)
            if known is not None and known.version >= row.version:
                return known.summary
            began = self._clock()
            found = await self._kept(row) or await self._found(row)
        self._remember(row, _Known(row.version, found, began))
        return found

    async def seen(self, row: SessionRow) -> Summary | None:
        """Like `summary`, for lists; None also where what is stored of the session is damaged.

        A bus changes its session many times a second, so that the laps of every list would be
        looked for in all its frames: of that one, lists tell what was found `BEHIND_S` ago at most.
        """
        if self._unreadable.get(row.session_id) == row.version:
            return None
        if (recent := self._recent(row)) is not None:
            self._look_again(row)
            return recent
        return await self._readable(row)

    def _recent(self, row: SessionRow) -> Summary | None:
        """What was found not long ago of the session that the bus fills; None: of any other."""
        if self._filling is None or self._filling.session() != row.session_id:
            return None
        if row.ended_at is not None:
            return None
        known = self._known.get(row.session_id)
        if known is None or self._clock() - known.found_at > BEHIND_S:
            return None
        return known.summary

    def _look_again(self, row: SessionRow) -> None:
        """Find the laps anew for the next list, unless that is being done."""
        known = self._known[row.session_id]
        if self._filling is None or known.version >= row.version or row.session_id in self._looking:
            return

        async def look() -> None:
            try:
                with contextlib.suppress(StoreBusy):
                    await self._readable(row)
            finally:
                self._looking.discard(row.session_id)

        self._looking.add(row.session_id)
        self._filling.aside(look())

    async def _readable(self, row: SessionRow) -> Summary | None:
        try:
            return await self.summary(row)
        except StoreBusy:
            raise
        except Exception:
            # A damaged file may as well give numbers that no recording has: one such session must
            # not hide the others. Those who ask for it are told.
            log.exception("the laps of session %s cannot be found", row.session_id)
            self._unreadable[row.session_id] = row.version
            return None

    async def found(self, row: SessionRow) -> tuple[Laps, Track | None]:
        """The laps with their frames, and the circuit, for analytics."""
        frames = await self._store.read_frames(row.session_id)
        return await asyncio.to_thread(self._find, frames, row)

    async def _kept(self, row: SessionRow) -> Summary | None:
        """What an earlier run of the bridge found, if the session is still as it was."""
        try:
            text = await self._store.lap_cache(row.session_id, row.version)
            if text is None:
                return None
            return Summary.from_json(json.loads(text))
        except (KeyError, TypeError, ValueError):  # of another version of this program
            return None
        except StoreDamaged:  # they can be found again, if the frames are not
            return None

    async def _found(self, row: SessionRow) -> Summary:
        frames = await self._store.read_frames(row.session_id)
        found = await asyncio.to_thread(self._summary, frames, row)
        if row.ended_at is not None:
            text = json.dumps(found.to_json(), allow_nan=False)
            with contextlib.suppress(StoreDamaged):
                await self._store.put_lap_cache(row.session_id, row.version, text)
        return found

    def _remember(self, row: SessionRow, known: _Known) -> None:
        self._known[row.session_id] = known
        self._known.move_to_end(row.session_id)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def _find(self, frames: Frames, row: SessionRow) -> tuple[Laps, Track | None]:
        """The laps and their circuit; without one, laps of the gate that the file gave."""
        whole = series(frames)
        track = self.circuit(row, whole.centre)
        if track is not None:
            return detect_laps(whole, gate=track.start, track_length_m=track.length_m), track
        return detect_laps(whole, gate=recorded(row.meta).start), None

    def _summary(self, frames: Frames, row: SessionRow) -> Summary:
        return summarise(*self._find(frames, row))


def is_at(track: Track, centre: tuple[float, float]) -> bool:
    """Whether positions with that middle may belong to a circuit."""
    return metres_between(track.start.lat, track.start.lon, *centre) <= NEAR_M
