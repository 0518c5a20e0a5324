"""Gathers the material for answers: stored sessions, circuits, laps, lessons."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final

from runtime.bridge.analysis import drive as pure
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.driver import DriverSession
from runtime.bridge.analysis.incidents import ASSISTS, Active, find_activity
from runtime.bridge.analysis.reference import ReferenceBook
from runtime.bridge.coach.facts.knowledge import signals_for
from runtime.bridge.coach.lessons import Lessons
from runtime.bridge.coach.need import Need, NeedKind
from runtime.bridge.coach.scene import Outing, Scene, Session
from runtime.bridge.coach.understanding.slots import CornerNames, Names
from runtime.bridge.errors import NoCompleteLap
from runtime.bridge.session.recording import Samples
from runtime.bridge.storage.analyses import Analyses, Scope
from runtime.bridge.storage.errors import NoRows
from runtime.bridge.storage.lapbook import LapBook
from runtime.bridge.storage.records import SessionRow
from runtime.bridge.storage.store import Store
from runtime.bridge.track.model import Corner, Track, find_phase

MOST_SESSIONS: Final = 200
"""The newest sessions that may show other drivers and earlier sessions."""
MOST_RIVALS: Final = 8
RIVAL_NEEDS: Final[frozenset[NeedKind]] = frozenset(
    {"rival_gap", "rival_where", "rival_how", "rival_car", "rival_spread"}
)
"""Needs that read other drivers' laps even if none is named."""


def local_hour(unix_ms: int | None = None) -> int:
    """Return the hour in the machine's own time zone; None: now."""
    moment = datetime.now(UTC) if unix_ms is None else datetime.fromtimestamp(unix_ms / 1000.0, UTC)
    return moment.astimezone().hour


@dataclass(frozen=True)
class Context:
    """What is known of a session before its question is read."""

    scene: Scene
    names: Names
    row: SessionRow | None = None
    others: tuple[SessionRow, ...] = ()
    """The best session of each other driver on the circuit, the quickest first."""


@dataclass(frozen=True)
class Gathering:
    """The parts of the bridge that answers come from."""

    store: Store
    book: LapBook
    analyses: Analyses
    references: ReferenceBook
    active_track: Track | None
    lessons: Lessons = field(default_factory=Lessons)
    hour: Callable[[], int] = local_hour

    async def look(self, session_id: str, driver_id: str, hour: int | None = None) -> Context:
        """Return the scene without other drivers' laps, and the names that a question may use.

        *hour* is that of the local day; None: when the session was driven, or now if it goes on.
        """
        row = self.store.session(session_id) if session_id else None
        if hour is None:
            over = row is not None and row.ended_at is not None
            hour = local_hour(row.started_at) if row is not None and over else self.hour()
        drive = await self._drive(row) if row is not None else None
        track = drive.track if drive is not None else await self._track(row)
        driver = (row.driver or driver_id if row is not None else driver_id).strip()
        place = await self.book.place(row) if row is not None else track.id if track else ""
        near = await self._sessions_at(place)
        earlier = [other for other in near if row is not None and other.started_at < row.started_at]
        scene = Scene(
            driver=driver,
            outing=Outing(_session(row), drive) if row is not None and drive is not None else None,
            without_laps=row is not None and drive is None,
            unknown=session_id if row is None else "",
            track=track,
            earlier=await self._summaries(
                other for other in earlier if _same(other.driver, driver)
            ),
            references=self.references.current(),
            assisted=await self._list_assists(row) if drive is not None and row is not None else (),
            conditions=_notes(hour, track),
            lessons=self.lessons.titles,
            now_hour=hour,
        )
        others = await self._others(other for other in near if not _same(other.driver, driver))
        rivals = tuple(other.driver or "" for other in others)
        return Context(scene, _names(scene, rivals), row, others)

    async def meet(self, context: Context, needs: Iterable[Need]) -> Scene:
        """Return the scene with the other drivers' laps and the channels that *needs* are about."""
        needs = tuple(needs)
        named = {name for need in needs for name in need.slots.drivers}
        wanted = [other for other in context.others if other.driver in named]
        if not wanted and any(need.kind in RIVAL_NEEDS for need in needs):
            wanted = list(context.others)
        rivals = {}
        for row in wanted[:MOST_RIVALS]:
            drive = await self._drive(row)
            if drive is not None:
                rivals[row.driver or ""] = Outing(_session(row), drive)
        signals = signals_for(need.slots.quantity for need in needs)
        channels = await self._channels(context.row, signals) if context.row is not None else {}
        return replace(context.scene, rivals=rivals, channels=channels)

    async def _drive(self, row: SessionRow) -> Drive | None:
        """Return the session on its circuit; None if it has no complete lap."""
        try:
            return await self.analyses.drive(row, Scope())
        except (NoCompleteLap, NoRows):
            return None

    async def _track(self, row: SessionRow | None) -> Track | None:
        return self.active_track if row is None else (await self.book.circuit(row)).track

    async def _list_assists(self, row: SessionRow) -> tuple[Active, ...]:
        """Return when assistance systems worked in a session."""
        return find_activity(await self._channels(row, ASSISTS))

    async def _channels(self, row: SessionRow, names: Iterable[str]) -> dict[str, Samples]:
        """Return the samples of those signals that a session has."""
        recorded = {signal.name for signal in self.store.registry()}
        available = [name for name in names if name in recorded]
        stored = await self.store.read_signals(row.session_id, available) if available else {}
        return {name: samples for name, samples in stored.items() if len(samples.t)}

    async def _sessions_at(self, place: str) -> list[SessionRow]:
        """Return the newest sessions with telemetry at a place of the book, by start."""
        if not place:
            return []
        rows = [row for row in self.store.sessions() if row.n_frames and (row.driver or "").strip()]
        rows.sort(key=lambda row: (row.started_at, row.session_id))
        newest = rows[-MOST_SESSIONS:]
        return [row for row in newest if await self.book.place(row) == place]

    async def _summaries(self, rows: Iterable[SessionRow]) -> tuple[DriverSession, ...]:
        pairs = [(row, await self.book.find_recent(row)) for row in rows]
        return tuple(
            DriverSession(row.session_id, row.started_at, summary)
            for row, summary in pairs
            if summary is not None
        )

    async def _others(self, rows: Iterable[SessionRow]) -> tuple[SessionRow, ...]:
        """Return the best session of each driver, the quickest driver first."""
        best: dict[str, tuple[float, SessionRow]] = {}
        for row in rows:
            summary = await self.book.find_recent(row)
            if summary is None or summary.best_s is None:
                continue
            key = (row.driver or "").strip().casefold()
            if key not in best or summary.best_s < best[key][0]:
                best[key] = (summary.best_s, row)
        return tuple(row for _, row in sorted(best.values(), key=lambda pair: pair[0]))


def _names(scene: Scene, rivals: tuple[str, ...]) -> Names:
    """Return what can be named: the parts of the circuit, the laps, the drivers."""
    drive = scene.outing.drive if scene.outing is not None else None
    corners: tuple[Corner, ...] = tuple(scene.track.in_lap_order()) if scene.track else ()
    sectors = tuple(place.name for place in scene.track.sectors) if scene.track else ()
    straights = scene.track.straights if scene.track else ()
    length_m = scene.track.length_m if scene.track else math.inf
    if drive is not None:
        length_m = drive.length_m
        try:
            corners, straights = drive.corners, drive.straights
        except pure.NoCorners:
            corners = ()
        sectors = tuple(place.name for place in drive.sectors)
    lengths = {place.name: (place.end_m - place.start_m) % length_m for place in straights}
    return Names(
        tuple(
            CornerNames(place.name, place.number, place.nicknames, place.severity)
            for place in corners
        ),
        tuple(lap.number or 0 for lap in drive.counted) if drive is not None else (),
        sectors,
        tuple(lengths),
        scene.driver,
        rivals,
        longest=max(lengths, key=lambda name: lengths[name], default=""),
        minutes=int(drive.best.duration_s // 60) if drive is not None else 0,
        circuit=scene.track.name if scene.track else "",
    )


def _notes(hour: int, track: Track | None) -> dict[str, float | str]:
    """Return the circuit file's notes on the hour; empty without a file."""
    if track is None or not track.weather_phases:
        return {}
    phase = find_phase(hour, track)
    return {"phase": phase.id, "surface": phase.surface_state, "note": phase.coaching_note}


def _session(row: SessionRow) -> Session:
    return Session(row.session_id, row.driver or "", row.car or "", row.started_at)


def _same(driver: str | None, other: str) -> bool:
    return (driver or "").strip().casefold() == other.strip().casefold()
