"""Sessions: begin, end, list, show."""

import time
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.summary import Summary
from runtime.bridge.api.shapes import (
    DriverLevel,
    Flag,
    NewSessionId,
    Note,
    SessionId,
    Short,
    capped,
    iso,
    rounded,
)
from runtime.bridge.cues.model import USUAL_LEVEL
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.names import slug
from runtime.bridge.session.ranking import time_text
from runtime.bridge.storage.errors import (
    NoDatabase,
    StoreBusy,
    StoreDamaged,
    StoreFailed,
    StoreFull,
    UnknownSession,
)
from runtime.bridge.storage.values import LapRow, NoteRow, SessionMeta, SessionRow
from runtime.web.routes import Routes
from runtime.web.wire import Wire

READ_ERRORS: Final = (NoDatabase, StoreBusy, StoreFailed, StoreDamaged)
WRITE_ERRORS: Final = (*READ_ERRORS, StoreFull)
MOST_SESSIONS: Final = 500
NOTES: Final = 50
UNNAMED: Final = "session"
UNKNOWN_TRACK: Final = (
    "no circuit is known of the name {!r}: the session is recorded all the same, "
    "and its positions tell whether it was driven on a known one"
)
routes = Routes("session")


class SessionPath(Wire):
    """The id of a session."""

    sid: str


class StartRequest(Wire):
    """Who drives what where."""

    driver: Short | None = None
    driver_level: DriverLevel | None = Field(
        None,
        description="beginner, intermediate or pro (advanced: pro), in any case; "
        "absent: intermediate",
    )
    track: Short | None = Field(
        None,
        description="name or id, one that is not among the circuits too; absent: the active track",
    )
    car: Short | None = Field(None, description="absent: the loaded car")
    note: Note | None = None
    session_id: NewSessionId | None = Field(
        None,
        description="letters, digits and . _ : - , but not SIM or _live; "
        "absent: made of track and time",
    )


class StartAnswer(Wire):
    """The session that is active now."""

    started: Literal[True] = True
    session_id: str
    started_at: str
    resumed: bool = Field(description="whether it was there before")
    track: str = Field(description="as the session has it; empty: none")
    track_id: str | None = Field(description="of its circuit; null: none of that name is known")
    hint: str | None = Field(description="what an unknown circuit means for the session")


class EndAnswer(Wire):
    """The session that has ended."""

    ended: Literal[True] = True
    session_id: str
    ended_at: str


class SessionsQuery(Wire):
    """Which sessions."""

    limit: Annotated[int, capped(MOST_SESSIONS)] = 50
    active_only: Flag = False
    driver: str | None = None
    track: str | None = Field(None, description="its name or id")


class SessionRecord(Wire):
    """A session in a list."""

    session_id: str
    driver: str
    driver_level: str
    track: str
    car: str
    started_at: str
    ended_at: str | None
    note: str
    lap_count: int
    best_lap_s: float | None


class SessionList(Wire):
    """Sessions, newest first."""

    sessions: list[SessionRecord]
    count: int


class LapRecord(Wire):
    """A lap as reported, or as found in the telemetry."""

    lap_number: int
    lap_time_s: float
    best_sector: float | None
    avg_speed_kmh: float | None
    max_combo_g: float | None
    coast_pct: float | None
    recorded_at: str


class NoteRecord(Wire):
    """What the coach said."""

    id: int
    session_id: str
    burst_id: int | None
    distance_m: float | None
    text: str
    source: str | None
    recorded_at: str


class SessionDetail(Wire):
    """A session with its laps and the coach's last notes."""

    session: SessionRecord
    laps: list[LapRecord]
    notes: list[NoteRecord]
    lap_count: int
    best_lap_s: float | None
    n_frames: int
    n_signals: int
    duration_s: float = Field(
        description="s: from the first to the last frame, as its laps and stats say; "
        "of a session without frames, from the first to the last sample"
    )
    distance_m: float | None


class ResetRequest(Wire):
    """Which session's bursts to clear; absent: all."""

    session_id: SessionId | None = None


class ResetAnswer(Wire):
    """What was cleared."""

    cleared_bursts: int
    status: Literal["ok"] = "ok"


@routes.post("/session/start", alone=True, errors=WRITE_ERRORS)
async def start(request: web.Request, *, body: StartRequest) -> StartAnswer:
    """Begin a session, or go on with one; it becomes the active one."""
    service = request.app[SERVICE]
    active = service.active_track.name if service.active_track else ""
    track = body.track or active
    existing = service.db.session(body.session_id) if body.session_id else None
    meta = SessionMeta(
        driver=body.driver,
        driver_level=body.driver_level or USUAL_LEVEL,
        track=body.track if existing else track,
        car=body.car if existing else body.car or service.loaded_car or None,
        note=body.note,
    )
    row, resumed = await service.db.start_session(
        meta, body.session_id, slug(track) or UNNAMED, now_ms()
    )
    named = row.track or ""
    circuit = service.library.by_name(named)
    return StartAnswer(
        session_id=row.session_id,
        started_at=iso(row.started_at) or "",
        resumed=resumed,
        track=named,
        track_id=circuit.id if circuit is not None else None,
        hint=None if circuit is not None or not named else UNKNOWN_TRACK.format(named),
    )


@routes.post("/session/reset", alone=True)
async def reset(request: web.Request, *, body: ResetRequest) -> ResetAnswer:
    """Clear what is kept in memory of bursts; the database is not touched."""
    service = request.app[SERVICE]
    chosen = [body.session_id] if body.session_id else list(service.bursts)
    if body.session_id:
        service.cues.forget(body.session_id)
    else:
        service.cues.reset()
    cleared = sum(len(service.bursts.pop(name, ())) for name in chosen)
    return ResetAnswer(cleared_bursts=cleared)


@routes.post("/session/{sid}/end", errors=(UnknownSession, *WRITE_ERRORS))
async def end(request: web.Request, *, path: SessionPath) -> EndAnswer:
    """End a session; ending it again changes nothing."""
    service = request.app[SERVICE]
    was_open = service.session(path.sid).ended_at is None
    row = await service.db.end_session(path.sid, now_ms())
    service.cues.forget(row.session_id)
    service.bursts.pop(row.session_id, None)
    service.aside(_look(service, row, tell=was_open))
    return EndAnswer(session_id=row.session_id, ended_at=iso(row.ended_at) or "")


@routes.get("/sessions", errors=READ_ERRORS)
async def list_sessions(request: web.Request, *, query: SessionsQuery) -> SessionList:
    """List sessions, newest first."""
    service = request.app[SERVICE]
    rows = service.db.sessions(active_only=query.active_only, driver=query.driver)
    if query.track is not None:
        wanted = service.library.key(query.track)
        rows = [row for row in rows if service.library.key(row.track or "") == wanted]
    rows = rows[: query.limit]
    posted = await reported(service) if any(not row.n_frames for row in rows) else []
    found = [_record(row, posted, await service.book.seen(row)) for row in rows]
    return SessionList(sessions=found, count=len(found))


@routes.get("/session/{sid}", errors=(UnknownSession, *READ_ERRORS))
async def one_session(request: web.Request, *, path: SessionPath) -> SessionDetail:
    """Show a session with its laps and the coach's last notes."""
    service = request.app[SERVICE]
    row = service.session(path.sid)
    posted = await service.db.laps(row.session_id)
    notes = await service.db.notes(row.session_id, NOTES)
    summary = await service.book.summary(row)
    record = _record(row, posted, summary)
    laps = _reported(posted) or (_derived(summary, row) if summary else [])
    return SessionDetail(
        session=record,
        laps=laps,
        notes=[_note(note) for note in notes],
        lap_count=record.lap_count,
        best_lap_s=record.best_lap_s,
        n_frames=row.n_frames,
        n_signals=row.n_signals,
        duration_s=duration_of(row, summary),
        distance_m=rounded(row.distance_m, 1),
    )


async def reported(service: Service) -> list[LapRow]:
    """The reported laps of all sessions; none where they are damaged, so that lists go on."""
    try:
        return await service.db.laps()
    except StoreDamaged:
        return []


def _record(row: SessionRow, posted: Sequence[LapRow], summary: Summary | None) -> SessionRecord:
    if summary is not None:
        times = [lap.time_s for lap in summary.laps]
    else:
        times = [lap.lap_time_s for lap in posted if lap.session_id == row.session_id]
    return SessionRecord(
        session_id=row.session_id,
        driver=row.driver or "",
        driver_level=row.driver_level or "",
        track=row.track or "",
        car=row.car or "",
        started_at=iso(row.started_at) or "",
        ended_at=iso(row.ended_at),
        note=row.note or "",
        lap_count=len(times),
        best_lap_s=rounded(min(times, default=None), 3),
    )


def _reported(posted: Sequence[LapRow]) -> list[LapRecord]:
    return [
        LapRecord(
            lap_number=lap.lap_number,
            lap_time_s=lap.lap_time_s,
            best_sector=lap.best_sector,
            avg_speed_kmh=lap.avg_speed_kmh,
            max_combo_g=lap.max_combo_g,
            coast_pct=lap.coast_pct,
            recorded_at=iso(lap.recorded_at) or "",
        )
        for lap in sorted(posted, key=lambda lap: lap.lap_number)
    ]


def _derived(summary: Summary, row: SessionRow) -> list[LapRecord]:
    """Laps found in the telemetry."""
    return [
        LapRecord(
            lap_number=lap.number,
            lap_time_s=round(lap.time_s, 3),
            best_sector=rounded(lap.best_sector, 3),
            avg_speed_kmh=rounded(lap.avg_speed_kmh, 1),
            max_combo_g=rounded(lap.max_combo_g, 3),
            coast_pct=rounded(lap.coast_pct, 1),
            recorded_at=iso(recorded_ms(row, lap.t_end)) or "",
        )
        for lap in summary.laps
    ]


def recorded_ms(row: SessionRow, t: float) -> int:
    """The time of day, Unix milliseconds, of a moment of a session's clock.

    That clock counts from the start of the session. It may run ahead of the day's, as the
    synthetic car's does: nothing was recorded later than now.
    """
    return min(row.started_at + round((t - (row.t_start or 0.0)) * 1000), now_ms())


def _note(note: NoteRow) -> NoteRecord:
    return NoteRecord(
        id=note.id,
        session_id=note.session_id,
        burst_id=note.burst_id,
        distance_m=rounded(note.distance_m, 1),
        text=note.text,
        source=note.source,
        recorded_at=iso(note.recorded_at) or "",
    )


def duration_of(row: SessionRow, summary: Summary | None) -> float:
    """Seconds between the first and the last frame; without any, of what else was recorded."""
    if summary is not None:
        return round(summary.full.duration_s, 3)
    if row.t_start is None or row.t_end is None:
        return 0.0
    return round(row.t_end - row.t_start, 3)


async def _look(service: Service, row: SessionRow, *, tell: bool) -> None:
    """Find the laps of a session that has ended, before somebody asks, and tell the driver."""
    summary = await service.book.summary(row)
    if not tell:
        return
    laps = len(summary.laps) if summary is not None else 0
    best = summary.best_s if summary is not None else None
    said = f"{laps} laps" if laps != 1 else "1 lap"
    if best is not None:
        said += f", the best in {time_text(best)}"
    await service.inbox.post(
        "session-saved", row.driver or "", "Session saved", said, row.session_id, lap_count=laps
    )


def now_ms() -> int:
    """The time of day, Unix milliseconds."""
    return int(time.time() * 1000)
