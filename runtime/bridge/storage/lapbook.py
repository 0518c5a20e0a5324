"""What laps the stored sessions have and where they were driven: found once, and kept."""

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
"""What lists tell of the session that a bus fills was true so long ago at most."""
SURE_LAPS: Final = 2
"""From so many laps on a session that goes on keeps the gate that was chosen for it."""
OPEN: Final = 256
METHOD: Final = 13
"""Raised whenever the same frames give other laps than before: what was kept is found anew."""


@dataclass(frozen=True, slots=True)
class _Findings:
    """What was found in the frames of a session."""

    summary: Summary
    circuit: str | None
    """Id of the circuit."""
    ground: Ground | None
    name: str
    """Of the place."""
    site: Site | None
    gate: ChosenGate | None
    """Where the laps were cut, if nobody gave a gate: looking for it takes longest."""
    made_with: str
    """The method and the circuits that it was found with."""
    __pydantic_config__: ClassVar = ConfigDict(ser_json_inf_nan="constants")


_KEPT: Final = TypeAdapter(_Findings)


class _Known(NamedTuple):
    """What is known of a session at one of its versions."""

    key: int
    """Of the session: another one may come to have its id."""
    version: int
    findings: _Findings | None
    """None: what is stored of the session cannot be read."""
    sought_at: float
    """On the book's clock."""
    is_open: bool
    """Whether the session went on then: once it has ended its gate is chosen from all of it."""

    def is_of(self, row: SessionRow) -> bool:
        """Whether it still holds for a session as it stands in *row*."""
        same = self.key == row.key and self.version >= row.version
        return same and not (self.is_open and row.ended_at is not None)


def state_of(row: SessionRow) -> tuple[str, int, int, bool]:
    """Id, key and version of a session, and whether it goes on: its laps are found of these."""
    return row.session_id, row.key, row.version, row.ended_at is None


class _Latest(NamedTuple):
    """The laps whose summary was found last, with their frames."""

    state: tuple[str, int, int, bool]
    laps: Laps
    where: Identity


class LapBook:
    """Answers what laps a session has and where they were driven; works on one at a time."""

    def __init__(
        self, store: Store, library: Library, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._library = library
        self._clock = clock
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._turn = asyncio.Lock()
        self._unnamed: dict[str, Site] = {}
        self._gates: OrderedDict[str, ChosenGate] = OrderedDict()
        """Of sessions that go on: corners and laps keep their names and numbers while driven."""
        self._made_with = f"{METHOD} {library.digest}"
        self._latest: _Latest | None = None
        """For the analytics that are usually asked for next."""

    async def circuit(self, row: SessionRow) -> Identity:
        """Where a session was driven; without telemetry, where its driver says.

        As lists see it: see `seen`.
        """
        findings = await self._seen(row)
        if findings is None:
            words = row.track or ""
            track = self._library.by_name(words)
            ground: Ground | None = None if track is None else "driver"
            return Identity(track, ground, words)
        return self._identity(findings)

    def _identity(self, findings: _Findings) -> Identity:
        track = self._library.tracks.get(findings.circuit or "")
        return Identity(track, findings.ground, findings.name)

    async def place(self, row: SessionRow) -> str:
        """The same for all sessions of one circuit, known here or not; empty: nobody knows.

        A circuit that nobody named is recognised by where its laps lie and how long they are.
        """
        findings = await self._seen(row)
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
        """The laps of a session as it stands in *row*; None without frames."""
        findings = await self._findings(row)
        return findings.summary if findings is not None else None

    async def seen(self, row: SessionRow) -> Summary | None:
        """Like `summary`, for lists; None also where what is stored of the session is damaged.

        A bus changes its session many times a second, so that the laps of every list would be
        looked for in all its frames: of that one, lists tell what was found `BEHIND_S` ago at most.
        """
        findings = await self._seen(row)
        return findings.summary if findings is not None else None

    async def _findings(self, row: SessionRow) -> _Findings | None:
        if not row.n_frames:
            return None
        if (findings := self._at_hand(row)) is not None:
            return findings
        async with self._turn:
            if (findings := self._at_hand(row)) is not None:
                return findings
            began = self._clock()
            findings = await self._kept(row) or await self._found(row)
        self._remember(row, findings, began)
        return findings

    async def _seen(self, row: SessionRow) -> _Findings | None:
        known = self._known.get(row.session_id)
        if known is not None:
            filled = row.source in BUSES and row.ended_at is None and known.key == row.key
            recent = filled and self._clock() - known.sought_at <= BEHIND_S
            if recent or known.is_of(row):
                return known.findings
        began = self._clock()
        try:
            return await self._findings(row)
        except StoreBusy:
            raise
        except UnknownSession:  # deleted meanwhile
            return None
        except Exception:
            # A damaged file may as well give numbers that no recording has: one such session must
            # not hide the others. Those who ask for it are told.
            log.exception("the laps of session %s cannot be found", row.session_id)
            self._remember(row, None, began)
            return None

    def _at_hand(self, row: SessionRow) -> _Findings | None:
        known = self._known.get(row.session_id)
        return known.findings if known is not None and known.is_of(row) else None

    async def found(self, row: SessionRow) -> tuple[Laps, Identity]:
        """The laps with their frames, and the circuit, for analytics."""
        latest = self._latest
        if latest is not None and latest.state == state_of(row):
            self._latest = None  # whoever asked keeps them
            return latest.laps, latest.where
        findings = self._at_hand(row) or await self._kept(row)
        frames, extras = await self._read(row)
        return await asyncio.to_thread(self._find, frames, extras, row, findings)

    async def _read(self, row: SessionRow) -> tuple[Frames, dict[str, Samples]]:
        """The frames of a session, and what its series is read with besides."""
        frames = await self._store.read_frames(row.session_id)
        return frames, await self._store.read_signals(row.session_id, SIGNALS)

    async def _kept(self, row: SessionRow) -> _Findings | None:
        """What an earlier run of the bridge found, if session and circuits are as they were."""
        try:
            text = await self._store.lap_cache(row.session_id, row.version)
            kept = None if text is None else _KEPT.validate_json(text)
        except (KeyError, TypeError, ValueError):  # of another version of this program
            return None
        except StoreDamaged:  # they can be found again, if the frames are not
            return None
        return kept if kept is not None and kept.made_with == self._made_with else None

    async def _found(self, row: SessionRow) -> _Findings:
        frames, extras = await self._read(row)
        laps, where = await asyncio.to_thread(self._find, frames, extras, row)
        found = await asyncio.to_thread(self._summarise, laps, where)
        self._latest = _Latest(state_of(row), laps, where)
        if row.ended_at is not None:
            text = _KEPT.dump_json(found).decode()
            with contextlib.suppress(StoreDamaged):
                await self._store.put_lap_cache(row.session_id, row.version, text)
        return found

    def _remember(self, row: SessionRow, findings: _Findings | None, began: float) -> None:
        self._known.pop(row.session_id, None)
        is_open = row.ended_at is None
        self._known[row.session_id] = _Known(row.key, row.version, findings, began, is_open)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def forget(self, session_id: str) -> None:
        """Drop what is known of a session that was deleted."""
        self._known.pop(session_id, None)
        self._gates.pop(session_id, None)
        self._latest = None

    def _find(
        self,
        frames: Frames,
        extras: dict[str, Samples],
        row: SessionRow,
        findings: _Findings | None = None,
    ) -> tuple[Laps, Identity]:
        """The laps and their circuit; without one, laps of the gate that the file gave.

        *findings* are those of the same frames, as far as they are known already.
        """
        if findings is not None:
            whole = build_series(frames, extras, frozenset(findings.summary.derived))
            where = self._identity(findings)
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
    """The circuit that a session drives, called *name*, else as the session.

    Raises `TrackError` where no lap is good enough, or the name has no letter.
    """
    title = name or row.session_id
    if not slugify(title):
        raise TrackError("the name needs a letter or a digit")
    heights = (await store.read_signals(row.session_id, [ALTITUDE])).get(ALTITUDE)
    built = await asyncio.to_thread(build_from_laps, laps, title, altitude=heights)
    track = replace(built.track, generated_from=f"track build {row.session_id}")
    return built._replace(track=track)
