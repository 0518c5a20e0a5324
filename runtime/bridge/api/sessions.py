"""Sessions: begin, list, show, correct, end, delete."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Final, Literal, cast

from aiohttp import web
from pydantic import ConfigDict, Field

from runtime.bridge.analysis.summary import LapSummary, Summary
from runtime.bridge.api.shapes import (
    READ_ERRORS,
    WRITE_ERRORS,
    AnswerModel,
    Derived,
    DriverLevel,
    Flag,
    Moment,
    NewSessionId,
    Note,
    SessionId,
    SessionPath,
    Short,
    Text,
    capped,
    fields_of,
    rounded,
)
from runtime.bridge.cues.model import USUAL_LEVEL
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.names import slug
from runtime.bridge.session.ranking import format_time
from runtime.bridge.session.units import Metres, Seconds
from runtime.bridge.storage.errors import SessionInUse, StoreDamaged, UnknownSession
from runtime.bridge.storage.records import (
    LapRow,
    NoteRow,
    SessionChange,
    SessionMeta,
    SessionRow,
    unix_ms,
    unix_s,
)
from runtime.bridge.track.identity import Ground
from runtime.web.errors import BadField
from runtime.web.routes import Routes
from runtime.web.wire import Wire

MOST_SESSIONS: Final = 500
NOTES: Final = 50
UNNAMED: Final = "session"
UNKNOWN_TRACK: Final = (
    "no circuit is known of the name {!r}: the session is recorded all the same, "
    "and its positions tell whether it was driven on a known one"
)
routes = Routes("session")


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
        description="name or id, one that is not among the circuits too; absent: as soon as the "
        "positions or the length of the laps tell",
    )
    car: Short | None = Field(None, description="absent: the loaded car")
    note: Note | None = None
    session_id: NewSessionId | None = Field(
        None,
        description="letters, digits and . _ : - , but not SIM or _live; "
        "absent: made of track and time",
    )


class StartAnswer(AnswerModel):
    """The session that is active now."""

    started: Literal[True] = True
    session_id: str
    started_at: Moment
    resumed: bool = Field(description="whether it was there before")
    track: Text = Field(description="as far as it is known; empty: not yet")
    track_id: str | None = Field(description="of its circuit; null: none that is known here")
    hint: str | None = Field(description="what an unknown circuit means for the session")


class EndAnswer(AnswerModel):
    """The session that has ended."""

    ended: Literal[True] = True
    session_id: str
    ended_at: Moment


class SessionsQuery(Wire):
    """Which sessions."""

    limit: Annotated[int, capped(MOST_SESSIONS)] = 50
    active_only: Flag = False
    driver: str | None = None
    track: str | None = Field(None, description="its name or id")
    q: str | None = Field(
        None, description="words that all stand in its id, driver, car, note or circuit's name"
    )


class SessionRecord(AnswerModel):
    """A session in a list."""

    session_id: str
    driver: Text
    driver_level: Text
    track: Text = Field(
        description="as the driver called it, else the circuit's name; empty: not known (yet)"
    )
    track_id: str | None = Field(description="of its circuit; null: none that is known here")
    track_by: Ground | None = Field(
        description="what tells the circuit: the driver, the positions, or the length of the laps"
    )
    car: Text
    started_at: Moment
    ended_at: Moment | None
    note: Text
    lap_count: int
    best_lap_s: Seconds | None


class SessionList(Wire):
    """Sessions, newest first."""

    sessions: list[SessionRecord]
    count: int


@fields_of(LapRow, "id", "session_id")
class SessionLap(AnswerModel):
    """A lap as reported, or as found in the telemetry."""

    recorded_at: Moment


@fields_of(NoteRow, "emotion", "concept")
class NoteRecord(AnswerModel):
    """What the coach said."""

    distance_m: Metres | None
    recorded_at: Moment


class SessionDetail(AnswerModel):
    """A session with its laps and the coach's last notes."""

    session: SessionRecord
    laps: list[SessionLap]
    derived: Derived = ()
    notes: list[NoteRecord]
    lap_count: int
    best_lap_s: Seconds | None
    n_frames: int
    n_signals: int
    duration_s: float = Field(
        description="s: from the first to the last frame, as its laps and stats say; "
        "of a session without frames, from the first to the last sample"
    )
    distance_m: Metres | None
    silent: str | None = Field(
        description="why the live coach says nothing about corners; null: it does, or would"
    )


class ChangeRequest(Wire):
    """What a session shall say; a field that is absent stays, null or an empty text clears."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [{"required": [name]} for name in ("driver", "car", "track", "note")]
        }
    )

    driver: Short | None = None
    car: Short | None = None
    track: Short | None = Field(None, description="name or id")
    note: Note | None = None


class DeleteAnswer(Wire):
    """The session is gone."""

    deleted: Literal[True] = True
    session_id: str


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
    existing = service.db.session(body.session_id) if body.session_id else None
    meta = SessionMeta(
        driver=body.driver,
        driver_level=body.driver_level or USUAL_LEVEL,
        track=body.track,
        car=body.car if existing else body.car or service.loaded_car or None,
        note=body.note,
    )
    row, resumed = await service.db.start_session(
        meta, body.session_id, slug(body.track or "") or UNNAMED, unix_ms()
    )
    where = await service.book.circuit(row)
    return StartAnswer.of(
        row,
        resumed=resumed,
        track=where.name,
        track_id=where.track.id if where.track is not None else None,
        hint=UNKNOWN_TRACK.format(where.name) if where.track is None and where.name else None,
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
    row = await service.db.end_session(path.sid, unix_ms())
    service.cues.forget(row.session_id)
    service.bursts.pop(row.session_id, None)
    service.aside(_look(service, row, tell=was_open))
    return EndAnswer.of(row)


@routes.get("/sessions", errors=READ_ERRORS)
async def list_sessions(request: web.Request, *, query: SessionsQuery) -> SessionList:
    """List sessions, newest first."""
    service = request.app[SERVICE]
    rows = service.db.sessions(active_only=query.active_only, driver=query.driver)
    if query.track is not None:
        wanted = service.library.key(query.track)
        key, circuit = service.library.key, service.book.circuit
        rows = [row for row in rows if key((await circuit(row)).name) == wanted]
    if query.q:
        words, circuit = query.q.casefold().split(), service.book.circuit
        rows = [row for row in rows if _has(row, (await circuit(row)).name, words)]
    rows = rows[: query.limit]
    posted, seen = await reported(service), service.book.seen
    records = [
        await _record(service, row, merge_laps(row, await seen(row), posted[row.session_id]))
        for row in rows
    ]
    return SessionList(sessions=records, count=len(records))


def _has(row: SessionRow, circuit: str | None, words: Iterable[str]) -> bool:
    """Whether all of *words*, in lower case, stand in what is known of a session."""
    said = (row.session_id, row.driver, row.car, row.note, row.track, circuit)
    text = " ".join(filter(None, said)).casefold()
    return all(word in text for word in words)


@routes.get("/session/{sid}", errors=(UnknownSession, *READ_ERRORS))
async def one_session(request: web.Request, *, path: SessionPath) -> SessionDetail:
    """Show a session with its laps and the coach's last notes."""
    return await _detail(request.app[SERVICE], path.sid)


@routes.patch("/session/{sid}", errors=(UnknownSession, BadField, *WRITE_ERRORS))
async def change_session(
    request: web.Request, *, path: SessionPath, body: ChangeRequest
) -> SessionDetail:
    """Correct what a session says of its driver, car, track and note; laps follow the track."""
    service = request.app[SERVICE]
    change = cast(SessionChange, body.model_dump(exclude_unset=True))
    if not change:
        raise BadField("give driver, car, track or note")
    await service.db.change_session(path.sid, change)
    service.circuits.forget(path.sid)
    return await _detail(service, path.sid)


@routes.delete("/session/{sid}", errors=(UnknownSession, SessionInUse, *WRITE_ERRORS))
async def delete_session(request: web.Request, *, path: SessionPath) -> DeleteAnswer:
    """Delete a session with everything that was recorded and written about it.

    Not the active one, nor one that is being replayed or filled by a bus.
    """
    service = request.app[SERVICE]
    _check_unused(service, service.session(path.sid).session_id)
    # Whoever asked may leave: half a deletion would leave tokens and streams behind.
    await service.finish(_delete(service, path.sid))
    return DeleteAnswer(session_id=path.sid)


async def _delete(service: Service, session_id: str) -> None:
    await service.db.delete_session(session_id)
    _forget(service, session_id)


def _check_unused(service: Service, session_id: str) -> None:
    replay = service.replays.current if service.replays is not None else None
    if replay is not None and replay.source.session_id == session_id:
        raise SessionInUse("the session is being replayed: stop that first", session_id=session_id)
    if service.filled_session() == session_id:
        raise SessionInUse("a bus fills the session: disconnect it first", session_id=session_id)


def _forget(service: Service, session_id: str) -> None:
    """Drop what is kept in memory of a session that was deleted."""
    service.bursts.pop(session_id, None)
    for keeper in (
        service.cues,
        service.circuits,
        service.spectators,
        service.inbox,
        service.book,
        service.analytics,
    ):
        keeper.forget(session_id)
    if service.live is not None:
        service.live.forget(session_id)
    if service.questions is not None:
        service.questions.memory.forget(session_id)


async def _detail(service: Service, session_id: str) -> SessionDetail:
    row = service.session(session_id)
    posted = await service.db.laps(row.session_id)
    notes = await service.db.notes(row.session_id, NOTES)
    summary = await service.book.summary(row)
    laps = merge_laps(row, summary, posted)
    record = await _record(service, row, laps)
    return SessionDetail.of(
        record,
        row,
        session=record,
        laps=[SessionLap.of(lap) for lap in laps],
        derived=() if summary is None else summary.derived,
        notes=[NoteRecord.of(note) for note in notes],
        duration_s=measure_duration_s(row, summary),
        distance_m=measure_distance_m(row, summary),
        silent=(await service.circuits.look(row.session_id)).silent if not row.ended_at else None,
    )


async def reported(service: Service) -> defaultdict[str, list[LapRow]]:
    """The reported laps of each session; none where they are damaged, so that lists go on."""
    laps = defaultdict[str, list[LapRow]](list)
    with suppress(StoreDamaged):
        for lap in await service.db.laps():
            laps[lap.session_id].append(lap)
    return laps


def recorded_ms(row: SessionRow, t: float) -> int:
    """The time of day, Unix milliseconds, of a moment of a session's clock.

    That clock may run ahead of the day's, as the synthetic car's does, or stand for frames that
    came all at once: nothing was recorded later than now, nor than the session's end.
    """
    now_ms = unix_ms()
    return min(round(unix_s(row, t, now_ms / 1000) * 1000), row.ended_at or now_ms)


def merge_laps(row: SessionRow, summary: Summary | None, posted: Iterable[LapRow]) -> list[LapRow]:
    """The laps of a session by number: those found in its telemetry, and those reported.

    Of two with one number the reported one counts.
    """
    laps = {lap.number: _derived(row, lap) for lap in summary.laps} if summary is not None else {}
    laps |= {lap.lap_number: lap for lap in posted}
    return [laps[number] for number in sorted(laps)]


async def _record(service: Service, row: SessionRow, laps: Sequence[LapRow]) -> SessionRecord:
    where, times = await service.book.circuit(row), [lap.lap_time_s for lap in laps]
    return SessionRecord.of(
        row,
        track=where.name,
        track_id=where.track.id if where.track is not None else None,
        track_by=where.ground,
        lap_count=len(times),
        best_lap_s=min(times, default=None),
    )


def _derived(row: SessionRow, lap: LapSummary) -> LapRow:
    """A lap found in the telemetry."""
    return LapRow(
        session_id=row.session_id,
        lap_number=lap.number,
        lap_time_s=round(lap.time_s, 3),
        best_sector=rounded(lap.best_sector, 3),
        avg_speed_kmh=rounded(lap.avg_speed_kmh, 1),
        max_combo_g=rounded(lap.max_combo_g, 3),
        coast_pct=rounded(lap.coast_pct, 1),
        recorded_at=recorded_ms(row, lap.t_end),
    )


def measure_duration_s(row: SessionRow, summary: Summary | None) -> float:
    """Seconds between the first and the last frame; without any, of what else was recorded."""
    if summary is not None:
        return round(summary.full.duration_s, 3)
    if row.t_start is None or row.t_end is None:
        return 0.0
    return round(row.t_end - row.t_start, 3)


def measure_distance_m(row: SessionRow, summary: Summary | None) -> float | None:
    """Metres driven in the session, all laps together; None where nothing tells."""
    return summary.full.distance_m if summary and summary.full.distance_m else row.distance_m


async def _look(service: Service, row: SessionRow, *, tell: bool) -> None:
    """Find the laps of a session that has ended, before somebody asks, and tell the driver."""
    summary = await service.book.summary(row)
    if not tell:
        return
    laps = merge_laps(row, summary, await service.db.laps(row.session_id))
    count = len(laps)
    said = f"{count} laps" if count != 1 else "1 lap"
    if laps:
        said += f", the best in {format_time(min(lap.lap_time_s for lap in laps))}"
    await service.inbox.post(
        "session-saved", row.driver or "", "Session saved", said, row.session_id, lap_count=count
    )
