"""The laps of stored sessions: found once for each state of a session, then remembered."""

import asyncio
import contextlib
import json
import logging
from collections import OrderedDict
from typing import Final

from runtime.bridge.laps.detect import Laps, detect_laps
from runtime.bridge.laps.geometry import metres_between
from runtime.bridge.laps.series import series
from runtime.bridge.storage.errors import StoreBusy, StoreDamaged
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import SessionRow, recorded
from runtime.bridge.summary import Summary, summarise
from runtime.bridge.telemetry.values import Frames
from runtime.bridge.tracks.library import NEAR_M, Library
from runtime.bridge.tracks.model import Track

log = logging.getLogger(__name__)

REMEMBERED: Final = 2000
"""Summaries kept in memory, some kB each."""


class LapBook:
    """Answers what laps a session has; one session is worked on at a time."""

    def __init__(self, store: Store, library: Library, active: Track | None) -> None:
        self._store = store
        self._library = library
        self._active = active
        self._known: OrderedDict[str, tuple[int, Summary]] = OrderedDict()
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
        if known is not None and known[0] == row.version:
            self._known.move_to_end(row.session_id)
            return known[1]
        async with self._turn:
            known = self._known.get(row.session_id)
            if known is not None and known[0] >= row.version:
                return known[1]
            found = await self._kept(row) or await self._found(row)
        self._remember(row, found)
        return found

    async def seen(self, row: SessionRow) -> Summary | None:
        """Like `summary`, for lists; None also where what is stored of the session is damaged."""
        if self._unreadable.get(row.session_id) == row.version:
            return None
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

    def _remember(self, row: SessionRow, summary: Summary) -> None:
        self._known[row.session_id] = (row.version, summary)
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
