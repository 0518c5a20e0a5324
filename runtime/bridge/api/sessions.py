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
    cap_at,
    fields_of,
    round_finite,
)
from runtime.bridge.cues.model import USUAL_LEVEL
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.names import slugify
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
    "no circuit is called {!r}: the session is recorded anyway, "
    "and its positions show whether it was driven on a known circuit"
)
routes = Routes("session")


class StartRequest(Wire):
    """The driver, car and circuit of a new session."""

    driver: Short | None = None
    driver_level: DriverLevel | None = Field(
        None,
        description="beginner, intermediate or pro (advanced: pro), in any case; "
        "absent: intermediate",
    )
    track: Short | None = Field(
        None,
        description="name or id of a circuit, known here or not; absent: recognised from the "
        "positions or the length of the laps",
    )
    car: Short | None = Field(None, description="absent: the loaded car")
    note: Note | None = None
    session_id: NewSessionId | None = Field(
        None,
        description="letters, digits and . _ : - , except SIM and _live; "
        "absent: made from track and time",
    )


class StartAnswer(AnswerModel):
    """The session that is now active."""

    started: Literal[True] = True
    session_id: str
    started_at: Moment
    resumed: bool = Field(description="whether the session existed before")
    track: Text = Field(description="name of the circuit; empty: not known yet")
    track_id: str | None = Field(description="id of its circuit; null: not a known one")
    hint: str | None = Field(description="what an unknown circuit means for the session")


class EndAnswer(AnswerModel):
    """The session that has ended."""

    ended: Literal[True] = True
    session_id: str
    ended_at: Moment


class SessionsQuery(Wire):
    """Filters of the list."""

    limit: Annotated[int, cap_at(MOST_SESSIONS)] = 50
    active_only: Flag = False
    driver: str | None = None
    track: str | None = Field(None, description="name or id")
    q: str | None = Field(
        None, description="words that must all occur in its id, driver, car, note or circuit's name"
    )


class SessionRecord(AnswerModel):
    """A session in a list."""

    session_id: str
    driver: Text
    driver_level: Text
    track: Text = Field(
        description="name given by the driver, else the circuit's; empty: not known (yet)"
    )
    track_id: str | None = Field(description="id of its circuit; null: not a known one")
    track_by: Ground | None = Field(
        description="source of the circuit: the driver, the positions, or the length of the laps"
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
    """A lap, reported or found in the telemetry."""

    recorded_at: Moment


@fields_of(NoteRow, "emotion", "concept")
class NoteRecord(AnswerModel):
    """A note of the coach."""

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
        description="s, from the first to the last frame, as in its laps and stats; "
        "without frames, from the first to the last sample"
    )
    distance_m: Metres | None
    silent: str | None = Field(
        description="why the live coach says nothing about corners; null: it can"
    )


class ChangeRequest(Wire):
    """New details of a session: an absent field stays, null or an empty text clears it."""

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
    """The deleted session."""

    deleted: Literal[True] = True
    session_id: str


class ResetRequest(Wire):
    """The session whose bursts to clear; absent: all."""

    session_id: SessionId | None = None


class ResetAnswer(Wire):
    """The number of bursts cleared."""

    cleared_bursts: int
    status: Literal["ok"] = "ok"


@routes.post("/session/start", alone=True, errors=WRITE_ERRORS)
async def start(request: web.Request, *, body: StartRequest) -> StartAnswer:
    """Start or resume a session, which becomes the active one."""
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
        meta, body.session_id, slugify(body.track or "") or UNNAMED, unix_ms()
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
    """Clear the bursts in memory; the database stays as it is."""
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
    service.aside(_finish_laps(service, row, tell=was_open))
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
        rows = [row for row in rows if _contains_words(row, (await circuit(row)).name, words)]
    rows = rows[: query.limit]
    posted, seen = await group_reported_laps(service), service.book.find_recent
    records = [
        await _make_record(service, row, merge_laps(row, await seen(row), posted[row.session_id]))
        for row in rows
    ]
    return SessionList(sessions=records, count=len(records))


def _contains_words(row: SessionRow, circuit: str | None, words: Iterable[str]) -> bool:
    """Whether all *words*, in lower case, occur in a session's details."""
    details = (row.session_id, row.driver, row.car, row.note, row.track, circuit)
    text = " ".join(filter(None, details)).casefold()
    return all(word in text for word in words)


@routes.get("/session/{sid}", errors=(UnknownSession, *READ_ERRORS))
async def one_session(request: web.Request, *, path: SessionPath) -> SessionDetail:
    """Show a session with its laps and the coach's last notes."""
    return await _load_detail(request.app[SERVICE], path.sid)


@routes.patch("/session/{sid}", errors=(UnknownSession, BadField, *WRITE_ERRORS))
async def change_session(
    request: web.Request, *, path: SessionPath, body: ChangeRequest
) -> SessionDetail:
    """Correct the driver, car, track and note of a session; its laps follow the track."""
    service = request.app[SERVICE]
    change = cast(SessionChange, body.model_dump(exclude_unset=True))
    if not change:
        raise BadField("give driver, car, track or note")
    await service.db.change_session(path.sid, change)
    service.circuits.forget(path.sid)
    return await _load_detail(service, path.sid)


@routes.delete("/session/{sid}", errors=(UnknownSession, SessionInUse, *WRITE_ERRORS))
async def delete_session(request: web.Request, *, path: SessionPath) -> DeleteAnswer:
    """Delete a session with everything recorded in it and written about it.

    The active session, and one that is being replayed or filled by a bus, are not deleted.
    """
    service = request.app[SERVICE]
    _check_unused(service, service.session(path.sid).session_id)
    # The client may disconnect: half a deletion would leave tokens and streams behind.
    await service.finish(_delete(service, path.sid))
    return DeleteAnswer(session_id=path.sid)


async def _delete(service: Service, session_id: str) -> None:
    await service.db.delete_session(session_id)
    _forget(service, session_id)


def _check_unused(service: Service, session_id: str) -> None:
    replay = service.replays.current if service.replays is not None else None
    if replay is not None and replay.source.session_id == session_id:
        raise SessionInUse("the session is being replayed: stop it first", session_id=session_id)
    if service.find_filling_session() == session_id:
        raise SessionInUse("a bus fills the session: disconnect it first", session_id=session_id)


def _forget(service: Service, session_id: str) -> None:
    """Drop everything in memory about a deleted session."""
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


async def _load_detail(service: Service, session_id: str) -> SessionDetail:
    row = service.session(session_id)
    posted = await service.db.laps(row.session_id)
    notes = await service.db.notes(row.session_id, NOTES)
    summary = await service.book.summary(row)
    laps = merge_laps(row, summary, posted)
    record = await _make_record(service, row, laps)
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


async def group_reported_laps(service: Service) -> defaultdict[str, list[LapRow]]:
    """Group the reported laps by session; none if they are damaged, so that lists still work."""
    laps = defaultdict[str, list[LapRow]](list)
    with suppress(StoreDamaged):
        for lap in await service.db.laps():
            laps[lap.session_id].append(lap)
    return laps


def to_unix_ms(row: SessionRow, t: float) -> int:
    """Convert a moment of a session's clock to Unix milliseconds.

    The clock of a session may run ahead of the time of day, as the synthetic car's does, or belong
    to frames that came all at once: the result is never later than now or the session's end.
    """
    now_ms = unix_ms()
    return min(round(unix_s(row, t, now_ms / 1000) * 1000), row.ended_at or now_ms)


def merge_laps(row: SessionRow, summary: Summary | None, posted: Iterable[LapRow]) -> list[LapRow]:
    """Merge the laps found in a session's telemetry with the reported ones, by number.

    A reported lap replaces a found one of the same number.
    """
    laps = {lap.number: _make_lap_row(row, lap) for lap in (summary.laps if summary else ())}
    laps |= {lap.lap_number: lap for lap in posted}
    return [laps[number] for number in sorted(laps)]


async def _make_record(service: Service, row: SessionRow, laps: Sequence[LapRow]) -> SessionRecord:
    where, times = await service.book.circuit(row), [lap.lap_time_s for lap in laps]
    return SessionRecord.of(
        row,
        track=where.name,
        track_id=where.track.id if where.track is not None else None,
        track_by=where.ground,
        lap_count=len(times),
        best_lap_s=min(times, default=None),
    )


def _make_lap_row(row: SessionRow, lap: LapSummary) -> LapRow:
    """Convert a lap found in the telemetry to a row."""
    return LapRow(
        session_id=row.session_id,
        lap_number=lap.number,
        lap_time_s=round(lap.time_s, 3),
        best_sector=round_finite(lap.best_sector, 3),
        avg_speed_kmh=round_finite(lap.avg_speed_kmh, 1),
        max_combo_g=round_finite(lap.max_combo_g, 3),
        coast_pct=round_finite(lap.coast_pct, 1),
        recorded_at=to_unix_ms(row, lap.t_end),
    )


def measure_duration_s(row: SessionRow, summary: Summary | None) -> float:
    """Seconds between the first and the last frame; without frames, between other samples."""
    if summary is not None:
        return round(summary.full.duration_s, 3)
    if row.t_start is None or row.t_end is None:
        return 0.0
    return round(row.t_end - row.t_start, 3)


def measure_distance_m(row: SessionRow, summary: Summary | None) -> float | None:
    """Metres driven in the whole session; None where they are unknown."""
    return summary.full.distance_m if summary and summary.full.distance_m else row.distance_m


async def _finish_laps(service: Service, row: SessionRow, *, tell: bool) -> None:
    """Find the laps of an ended session in advance, and notify the driver if *tell*."""
    summary = await service.book.summary(row)
    if not tell:
        return
    laps = merge_laps(row, summary, await service.db.laps(row.session_id))
    count = len(laps)
    text = f"{count} laps" if count != 1 else "1 lap"
    if laps:
        text += f", the best in {format_time(min(lap.lap_time_s for lap in laps))}"
    await service.inbox.post(
        "session-saved", row.driver or "", "Session saved", text, row.session_id, lap_count=count
    )
