"""What is computed from stored sessions and kept: their laps, and analytics of them."""

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import replace
from typing import Concatenate, Final, NamedTuple, ParamSpec, TypeVar, cast

from runtime.bridge import errors
from runtime.bridge.analysis import drive as pure
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.summary import KEPT, Summary, summarise
from runtime.bridge.session.geometry import metres_between
from runtime.bridge.session.laps import Laps, detect_laps
from runtime.bridge.session.names import slug
from runtime.bridge.session.recording import Frames, Samples
from runtime.bridge.session.series import SIGNALS, series
from runtime.bridge.storage.errors import NoRows, StoreBusy, StoreDamaged
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import BUSES, SessionRow, recording_from_meta
from runtime.bridge.track.build import BuiltTrack, from_laps
from runtime.bridge.track.library import NEAR_M, Library
from runtime.bridge.track.model import Track, TrackError

log = logging.getLogger(__name__)
ALTITUDE: Final = "altitude_m"
DRIVES: Final = 3
"""Sessions whose arrays are kept: some 40 MB for an hour at 100 Hz."""
RESULTS: Final = 512
T = TypeVar("T")
P = ParamSpec("P")
REMEMBERED: Final = 2000
"""Summaries kept in memory, some kB each."""
BEHIND_S: Final = 10.0
"""What lists tell of the session that a bus fills was true so long ago at most."""


class _Known(NamedTuple):
    """The laps of a session at one of its versions."""

    version: int
    summary: Summary | None
    """None: what is stored of the session cannot be read."""
    sought_at: float
    """On the book's clock."""


class LapBook:
    """Answers what laps a session has; one session is worked on at a time."""

    def __init__(
        self,
        store: Store,
        library: Library,
        active: Track | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._store = store
        self._library = library
        self._active = active
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()
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
        if (summary := self._at_hand(row)) is not None:
            return summary
        async with self._turn:
            if (summary := self._at_hand(row)) is not None:
                return summary
            began = self._clock()
            summary = await self._kept(row) or await self._found(row)
        self._remember(row, summary, began)
        return summary

    async def seen(self, row: SessionRow) -> Summary | None:
        """Like `summary`, for lists; None also where what is stored of the session is damaged.

        A bus changes its session many times a second, so that the laps of every list would be
        looked for in all its frames: of that one, lists tell what was found `BEHIND_S` ago at most.
        """
        known = self._known.get(row.session_id)
        if known is not None:
            filled = row.source in BUSES and row.ended_at is None
            recent = filled and self._clock() - known.sought_at <= BEHIND_S
            if recent or known.version == row.version:
                return known.summary
        began = self._clock()
        try:
            return await self.summary(row)
        except StoreBusy:
            raise
        except Exception:
            # A damaged file may as well give numbers that no recording has: one such session must
            # not hide the others. Those who ask for it are told.
            log.exception("the laps of session %s cannot be found", row.session_id)
            self._remember(row, None, began)
            return None

    def _at_hand(self, row: SessionRow) -> Summary | None:
        known = self._known.get(row.session_id)
        return known.summary if known is not None and known.version >= row.version else None

    async def found(self, row: SessionRow) -> tuple[Laps, Track | None]:
        """The laps with their frames, and the circuit, for analytics."""
        frames, extras = await self._read(row)
        return await asyncio.to_thread(self._find, frames, extras, row)

    async def _read(self, row: SessionRow) -> tuple[Frames, dict[str, Samples]]:
        """The frames of a session, and what its series is read with besides."""
        frames = await self._store.read_frames(row.session_id)
        return frames, await self._store.read_signals(row.session_id, SIGNALS)

    async def _kept(self, row: SessionRow) -> Summary | None:
        """What an earlier run of the bridge found, if the session is still as it was."""
        try:
            text = await self._store.lap_cache(row.session_id, row.version)
            return None if text is None else KEPT.validate_json(text)
        except (KeyError, TypeError, ValueError):  # of another version of this program
            return None
        except StoreDamaged:  # they can be found again, if the frames are not
            return None

    async def _found(self, row: SessionRow) -> Summary:
        frames, extras = await self._read(row)
        found = await asyncio.to_thread(self._summary, frames, extras, row)
        if row.ended_at is not None:
            text = KEPT.dump_json(found).decode()
            with contextlib.suppress(StoreDamaged):
                await self._store.put_lap_cache(row.session_id, row.version, text)
        return found

    def _remember(self, row: SessionRow, summary: Summary | None, began: float) -> None:
        self._known.pop(row.session_id, None)
        self._known[row.session_id] = _Known(row.version, summary, began)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def _find(
        self, frames: Frames, extras: dict[str, Samples], row: SessionRow
    ) -> tuple[Laps, Track | None]:
        """The laps and their circuit; without one, laps of the gate that the file gave."""
        whole = series(frames, extras)
        track = self.circuit(row, whole.centre)
        if track is not None:
            return detect_laps(whole, gate=track.start, track_length_m=track.length_m), track
        return detect_laps(whole, gate=recording_from_meta(row.meta).start), None

    def _summary(self, frames: Frames, extras: dict[str, Samples], row: SessionRow) -> Summary:
        return summarise(*self._find(frames, extras, row))


def is_at(track: Track, centre: tuple[float, float]) -> bool:
    """Whether positions with that middle may belong to a circuit."""
    return metres_between(track.start.lat, track.start.lon, *centre) <= NEAR_M


class Scope(NamedTuple):
    """Which part of a session an analytic is about."""

    partial: bool = False
    """Whether a session without a complete lap counts as one."""
    lap: int | None = None
    """The only complete lap to look at."""


class _Key(NamedTuple):
    session_id: str
    version: int
    scope: Scope


class Analyses:
    """Computes analytics in a thread, one at a time, and keeps what it computed."""

    def __init__(self, book: LapBook) -> None:
        self._book = book
        self._drives: OrderedDict[_Key, Drive] = OrderedDict()
        self._results: OrderedDict[Hashable, object] = OrderedDict()
        self._turn = asyncio.Lock()

    async def of(
        self,
        row: SessionRow,
        scope: Scope,
        compute: Callable[Concatenate[Drive, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """What *compute* gives for the session as it stands in *row*.

        *compute* is a pure function of a module; what else it is given is hashable. Raises
        `NoRows`, `NoCompleteLap`, `UnknownLap`, `NoGeometry`.
        """
        if not row.n_frames:
            raise NoRows("the session has no telemetry", session_id=row.session_id)
        key = _Key(row.session_id, row.version, scope)
        function = (compute.__module__, compute.__qualname__)
        name = (key, function, args, tuple(sorted(kwargs.items())))
        if name not in self._results:
            async with self._turn:
                if name not in self._results:
                    drive = await self.drive(row, scope)
                    self._results[name] = await _aside(
                        row, scope, lambda: compute(drive, *args, **kwargs)
                    )
        return cast(T, self._asked_for(name))

    async def once(self, row: SessionRow, name: Hashable, find: Callable[[], Awaitable[T]]) -> T:
        """What *find* finds out about the session as it stands in *row*.

        *name* holds all that it depends on besides the telemetry. Raises what *find* raises.
        """
        key = _Key(row.session_id, row.version, Scope()), name
        if key not in self._results:
            self._results[key] = await find()
        return cast(T, self._asked_for(key))

    async def drive(self, row: SessionRow, scope: Scope) -> Drive:
        """The session on its circuit. Raises what `of` raises."""
        key = _Key(row.session_id, row.version, scope)
        if key not in self._drives:
            made = await self._made(row, scope)
            for old in [old for old in self._drives if old[:2] != key[:2] and old[0] == key[0]]:
                del self._drives[old]
            self._drives[key] = made
            while len(self._drives) > DRIVES:
                self._drives.popitem(last=False)
        self._drives.move_to_end(key)
        return self._drives[key]

    def _asked_for(self, name: Hashable) -> object:
        """A result that is kept, and that outlives those that nobody asks for."""
        self._results.move_to_end(name)
        while len(self._results) > RESULTS:
            self._results.popitem(last=False)
        return self._results[name]

    async def _made(self, row: SessionRow, scope: Scope) -> Drive:
        if scope.lap is not None:
            whole = await self.drive(row, Scope(scope.partial))
            return await _aside(row, scope, lambda: pure.restrict_to_lap(whole, scope.lap or 0))
        laps, track = await self._book.found(row)
        return await _aside(row, scope, lambda: pure.drive_of(laps, track, partial=scope.partial))


async def _aside(row: SessionRow, scope: Scope, work: Callable[[], T]) -> T:
    """Do pure work in a thread; its errors as those of the bridge."""
    try:
        return await asyncio.to_thread(work)
    except pure.NoCompleteLap as problem:
        raise errors.NoCompleteLap(row.session_id, partial=scope.partial) from problem
    except pure.UnknownLap as problem:
        raise errors.UnknownLap(row.session_id) from problem
    except pure.NoGeometry as problem:
        raise errors.NoGeometry(row.session_id) from problem


async def build_track(store: Store, row: SessionRow, laps: Laps, name: str = "") -> BuiltTrack:
    """The circuit of a session's median lap, called *name*, else as the session says.

    Raises `TrackError` where no lap is good enough, or the name has no letter.
    """
    title = name or row.track or row.session_id
    if not slug(title):
        raise TrackError("the name needs a letter or a digit")
    heights = (await store.read_signals(row.session_id, [ALTITUDE])).get(ALTITUDE)
    built = await asyncio.to_thread(from_laps, laps, title, altitude=heights)
    track = replace(built.track, generated_from=f"track build {row.session_id}")
    return built._replace(track=track)
