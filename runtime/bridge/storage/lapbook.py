"""Laps and circuits of the stored sessions: found once, then cached."""

import asyncio
import contextlib
import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Final, NamedTuple

from pydantic import ConfigDict, TypeAdapter

from runtime.bridge.analysis.summary import Summary, summarise
from runtime.bridge.session.gates import ChosenGate
from runtime.bridge.session.laps import Laps, detect_laps
from runtime.bridge.session.names import slugify
from runtime.bridge.session.recording import Frames, Samples
from runtime.bridge.session.series import SIGNALS, build_series
from runtime.bridge.storage.errors import StoreBusy, StoreDamaged, UnknownSession
from runtime.bridge.storage.records import BUSES, SessionRow, recording_from_meta
from runtime.bridge.storage.store import Store
from runtime.bridge.track.alignment import align_laps
from runtime.bridge.track.build import BuiltTrack, build_from_laps
from runtime.bridge.track.identity import Ground, Identity, Site, identify_circuit, locate_site
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import TrackError

log = logging.getLogger(__name__)
ALTITUDE: Final = "altitude_m"
REMEMBERED: Final = 2000
"""Summaries kept in memory, some kB each."""
BEHIND_S: Final = 10.0
"""Greatest age of the laps that lists show of a session filled by a bus."""
SURE_LAPS: Final = 2
"""Number of laps from which on an open session keeps its chosen gate."""
OPEN: Final = 256
METHOD: Final = 13
"""Increased whenever the same frames give other laps than before, which invalidates caches."""


@dataclass(frozen=True, slots=True)
class _Findings:
    """The findings in the frames of a session."""

    summary: Summary
    circuit: str | None
    """Id of the circuit."""
    ground: Ground | None
    name: str
    """Name of the place."""
    site: Site | None
    gate: ChosenGate | None
    """The gate of the laps, if none was given: the search for it takes longest."""
    made_with: str
    """The method and the circuits that were used."""
    __pydantic_config__: ClassVar = ConfigDict(ser_json_inf_nan="constants")


_FINDINGS: Final = TypeAdapter(_Findings)


class _Entry(NamedTuple):
    """The findings of a session at one of its versions."""

    key: int
    """Key of the session, as another one may get its id."""
    version: int
    findings: _Findings | None
    """None: the stored data of the session cannot be read."""
    sought_at: float
    """Time of the search, on the book's clock."""
    is_open: bool
    """Whether the session was open: once it has ended, its gate is chosen from all of it."""

    def is_of(self, row: SessionRow) -> bool:
        """Whether the findings still hold for the session in *row*."""
        same = self.key == row.key and self.version >= row.version
        return same and not (self.is_open and row.ended_at is not None)


def state_of(row: SessionRow) -> tuple[str, int, int, bool]:
    """Return id, key and version of a session, and whether it is open; its laps depend on these."""
    return row.session_id, row.key, row.version, row.ended_at is None


class _Latest(NamedTuple):
    """The laps that were summarised last, with their frames."""

    state: tuple[str, int, int, bool]
    laps: Laps
    where: Identity


class LapBook:
    """Finds the laps of sessions and where they were driven, one session at a time."""

    def __init__(
        self, store: Store, library: Library, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._library = library
        self._clock = clock
        self._entries: OrderedDict[str, _Entry] = OrderedDict()
        self._turn = asyncio.Lock()
        self._unnamed: dict[str, Site] = {}
        self._gates: OrderedDict[str, ChosenGate] = OrderedDict()
        """Gates of open sessions, so that corners and laps keep names and numbers while driving."""
        self._made_with = f"{METHOD} {library.digest}"
        self._latest: _Latest | None = None
        """For the analytics, which usually follow."""

    async def circuit(self, row: SessionRow) -> Identity:
        """Identify the circuit of a session; without telemetry, by the track that was given.

        The answer may be as old as that of `find_recent`.
        """
        findings = await self._find_recent(row)
        if findings is None:
            words = row.track or ""
            track = self._library.by_name(words)
            ground: Ground | None = None if track is None else "driver"
            return Identity(track, ground, words)
        return self._make_identity(findings)

    def _make_identity(self, findings: _Findings) -> Identity:
        track = self._library.tracks.get(findings.circuit or "")
        return Identity(track, findings.ground, findings.name)

    async def place(self, row: SessionRow) -> str:
        """Return a key that is equal for all sessions on a circuit, known or not; empty: unknown.

        An unnamed circuit is recognised by position and length of its laps.
        """
        findings = await self._find_recent(row)
        where = await self.circuit(row)
        if where.name or findings is None or findings.site is None:
            return self._library.key(where.name)
        for name, site in self._unnamed.items():
            if site.is_of(findings.site):
                return name
        name = f"~{row.session_id}"
        self._unnamed[name] = findings.site
        return name

    async def summary(self, row: SessionRow) -> Summary | None:
        """Summarise the laps of the session in *row*; None without frames."""
        findings = await self._find_findings(row)
        return findings.summary if findings is not None else None

    async def find_recent(self, row: SessionRow) -> Summary | None:
        """Like `summary`, for lists; None also if the stored data is damaged.

        A bus changes its session many times a second, and every list would search all its frames
        again. For such a session the summary may be up to `BEHIND_S` old.
        """
        findings = await self._find_recent(row)
        return findings.summary if findings is not None else None

    async def _find_findings(self, row: SessionRow) -> _Findings | None:
        if not row.n_frames:
            return None
        if (findings := self._get_current(row)) is not None:
            return findings
        async with self._turn:
            if (findings := self._get_current(row)) is not None:
                return findings
            began = self._clock()
            findings = await self._read_cached(row) or await self._search(row)
        self._remember(row, findings, began)
        return findings

    async def _find_recent(self, row: SessionRow) -> _Findings | None:
        entry = self._entries.get(row.session_id)
        if entry is not None:
            filled = row.source in BUSES and row.ended_at is None and entry.key == row.key
            recent = filled and self._clock() - entry.sought_at <= BEHIND_S
            if recent or entry.is_of(row):
                return entry.findings
        began = self._clock()
        try:
            return await self._find_findings(row)
        except StoreBusy:
            raise
        except UnknownSession:  # deleted meanwhile
            return None
        except Exception:
            # A damaged file may give impossible numbers. Such a session must not hide the others;
            # requests for the session itself get the error.
            log.exception("the laps of session %s cannot be found", row.session_id)
            self._remember(row, None, began)
            return None

    def _get_current(self, row: SessionRow) -> _Findings | None:
        entry = self._entries.get(row.session_id)
        return entry.findings if entry is not None and entry.is_of(row) else None

    async def load_laps(self, row: SessionRow) -> tuple[Laps, Identity]:
        """Load the laps with their frames, and the circuit, for analytics."""
        latest = self._latest
        if latest is not None and latest.state == state_of(row):
            self._latest = None  # the caller keeps them
            return latest.laps, latest.where
        findings = self._get_current(row) or await self._read_cached(row)
        frames, extras = await self._read(row)
        return await asyncio.to_thread(self._find, frames, extras, row, findings)

    async def _read(self, row: SessionRow) -> tuple[Frames, dict[str, Samples]]:
        """Read the frames of a session, and the signals that complete its series."""
        frames = await self._store.read_frames(row.session_id)
        return frames, await self._store.read_signals(row.session_id, SIGNALS)

    async def _read_cached(self, row: SessionRow) -> _Findings | None:
        """Read the findings of an earlier run, if session and circuits have not changed."""
        try:
            text = await self._store.lap_cache(row.session_id, row.version)
            cached = None if text is None else _FINDINGS.validate_json(text)
        except (KeyError, TypeError, ValueError):  # of another version of this program
            return None
        except StoreDamaged:  # they can be found again if the frames are intact
            return None
        return cached if cached is not None and cached.made_with == self._made_with else None

    async def _search(self, row: SessionRow) -> _Findings:
        frames, extras = await self._read(row)
        laps, where = await asyncio.to_thread(self._find, frames, extras, row)
        findings = await asyncio.to_thread(self._summarise, laps, where)
        self._latest = _Latest(state_of(row), laps, where)
        if row.ended_at is not None:
            text = _FINDINGS.dump_json(findings).decode()
            with contextlib.suppress(StoreDamaged):
                await self._store.put_lap_cache(row.session_id, row.version, text)
        return findings

    def _remember(self, row: SessionRow, findings: _Findings | None, began: float) -> None:
        self._entries.pop(row.session_id, None)
        is_open = row.ended_at is None
        self._entries[row.session_id] = _Entry(row.key, row.version, findings, began, is_open)
        if len(self._entries) > REMEMBERED:
            self._entries.popitem(last=False)

    def forget(self, session_id: str) -> None:
        """Drop everything about a deleted session."""
        self._entries.pop(session_id, None)
        self._gates.pop(session_id, None)
        self._latest = None

    def _find(
        self,
        frames: Frames,
        extras: dict[str, Samples],
        row: SessionRow,
        findings: _Findings | None = None,
    ) -> tuple[Laps, Identity]:
        """Find the laps and their circuit; without one, the laps of the file's gate.

        *findings* are those of the same frames, if they are known already.
        """
        if findings is not None:
            whole = build_series(frames, extras, frozenset(findings.summary.derived))
            where = self._make_identity(findings)
        else:
            whole = build_series(frames, extras)
            where = identify_circuit(whole, row.track or "", self._library)
        if where.track is not None:
            start, length = where.track.start, where.track.length_m
            laps = detect_laps(whole, gate=start, track_length_m=length)
            return align_laps(laps, where.track), where
        file = recording_from_meta(row.meta)
        kept = self._gates.pop(row.session_id, None) if row.ended_at is None else None
        kept = findings.gate if findings is not None else kept
        laps = detect_laps(whole, gate=file.start, splits=file.splits, kept=kept)
        if row.ended_at is None and laps.chosen is not None and len(laps.complete) >= SURE_LAPS:
            self._gates[row.session_id] = laps.chosen._replace(end=math.inf)
            while len(self._gates) > OPEN:
                self._gates.popitem(last=False)
        return laps, where

    def _summarise(self, laps: Laps, where: Identity) -> _Findings:
        circuit = where.track.id if where.track is not None else None
        summary = summarise(laps, where.track)
        site = locate_site(laps)
        return _Findings(
            summary, circuit, where.ground, where.name, site, laps.chosen, self._made_with
        )


async def build_track(store: Store, row: SessionRow, laps: Laps, name: str = "") -> BuiltTrack:
    """Build the circuit of a session, called *name*, else after the session.

    Raises `TrackError` if no lap is good enough, or the name has no letter or digit.
    """
    title = name or row.session_id
    if not slugify(title):
        raise TrackError("the name needs a letter or a digit")
    heights = (await store.read_signals(row.session_id, [ALTITUDE])).get(ALTITUDE)
    built = await asyncio.to_thread(build_from_laps, laps, title, altitude=heights)
    track = replace(built.track, generated_from=f"track build {row.session_id}")
    return built._replace(track=track)
