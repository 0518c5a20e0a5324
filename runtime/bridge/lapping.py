"""The laps of stored sessions: found once for each state of a session, then remembered."""

import asyncio
import json
import logging
from collections import OrderedDict
from typing import Final

from runtime.bridge.laps.detect import Laps, detect_laps
from runtime.bridge.laps.geometry import metres_between
from runtime.bridge.laps.series import series
from runtime.bridge.laps.summary import Summary, summarise
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import SessionRow, recorded
from runtime.bridge.telemetry.values import Frames, Gate
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
        self._turn = asyncio.Lock()

    def track_of(self, row: SessionRow) -> Track | None:
        """The circuit that a session names, else the active one; None for a name of no file."""
        return self._library.by_name(row.track) if row.track else self._active

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

    async def laps(self, row: SessionRow) -> Laps:
        """The laps with their frames, for analytics."""
        frames = await self._store.read_frames(row.session_id)
        return await asyncio.to_thread(find, frames, self.track_of(row), recorded(row.meta).start)

    def forget(self, session_id: str) -> None:
        """Drop what is remembered of a session."""
        self._known.pop(session_id, None)

    async def _kept(self, row: SessionRow) -> Summary | None:
        """What an earlier run of the bridge found, if the session is still as it was."""
        text = await self._store.lap_cache(row.session_id, row.version)
        if text is None:
            return None
        try:
            return Summary.from_json(json.loads(text))
        except (KeyError, TypeError, ValueError):  # of another version of this program
            return None

    async def _found(self, row: SessionRow) -> Summary:
        frames = await self._store.read_frames(row.session_id)
        track = self.track_of(row)
        found = await asyncio.to_thread(_summary, frames, track, recorded(row.meta).start)
        if row.ended_at is not None:
            text = json.dumps(found.to_json(), allow_nan=False)
            await self._store.put_lap_cache(row.session_id, row.version, text)
        return found

    def _remember(self, row: SessionRow, summary: Summary) -> None:
        self._known[row.session_id] = (row.version, summary)
        self._known.move_to_end(row.session_id)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)


def find(frames: Frames, track: Track | None, gate: Gate | None) -> Laps:
    """The laps of frames; *track* counts where the session was driven there, else *gate* does."""
    whole = series(frames)
    if track is not None and _elsewhere(whole.centre, track):
        track = None
    if track is not None:
        return detect_laps(whole, gate=track.start, track_length_m=track.length_m)
    return detect_laps(whole, gate=gate)


def _summary(frames: Frames, track: Track | None, gate: Gate | None) -> Summary:
    laps = find(frames, track, gate)
    here = track if track is not None and not _elsewhere(laps.series.centre, track) else None
    return summarise(laps, here)


def _elsewhere(centre: tuple[float, float] | None, track: Track) -> bool:
    """Whether positions are known and belong to another circuit."""
    if centre is None:
        return False
    return metres_between(track.start.lat, track.start.lon, *centre) > NEAR_M
