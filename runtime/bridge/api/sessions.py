"""Sessions: begin, import, list, show, end."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import Field, StrictStr

from runtime.bridge.analysis.summary import LapSummary, Summary
from runtime.bridge.api.shapes import (
    READ_ERRORS,
    WRITE_ERRORS,
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
    Values,
    capped,
    rounded,
)
from runtime.bridge.cues.model import USUAL_LEVEL
from runtime.bridge.formats.channelmaps import (
    KeptMapsUnreadable,
    keep_map,
    kept_mappings,
    maps_file,
)
from runtime.bridge.formats.files import NotImportable, open_inside
from runtime.bridge.formats.formats import (
    MAX_BYTES,
    SUFFIXES,
    VBO_SUFFIXES,
    read_recording,
)
from runtime.bridge.formats.naming import car_file_name, name_session
from runtime.bridge.formats.options import (
    BadChannelMap,
    BusChoice,
    BusNotFound,
    FormatNotInstalled,
    Options,
    UnparsableVbo,
    UnreadableRecording,
)
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.channels import NONE
from runtime.bridge.session.names import slug
from runtime.bridge.session.ranking import time_text
from runtime.bridge.session.recording import ReadWarning, Recording
from runtime.bridge.session.units import Decimals, Metres, Seconds
from runtime.bridge.storage.errors import BadFrames, SessionExists, StoreDamaged, UnknownSession
from runtime.bridge.storage.values import LapRow, SessionMeta, SessionRow, unix_ms
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


class StartAnswer(Values):
    """The session that is active now."""

    started: Literal[True] = True
    session_id: str
    started_at: Moment
    resumed: bool = Field(description="whether it was there before")
    track: Text = Field(description="as far as it is known; empty: not yet")
    track_id: str | None = Field(description="of its circuit; null: none that is known here")
    hint: str | None = Field(description="what an unknown circuit means for the session")


class EndAnswer(Values):
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


class SessionRecord(Values):
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


class SessionLap(Values):
    """A lap as reported, or as found in the telemetry."""

    lap_number: int
    lap_time_s: float
    best_sector: float | None
    avg_speed_kmh: float | None
    max_combo_g: float | None
    coast_pct: float | None
    recorded_at: Moment


class NoteRecord(Values):
    """What the coach said."""

    id: int
    session_id: str
    burst_id: int | None
    distance_m: Metres | None
    text: str
    source: str | None
    recorded_at: Moment


class SessionDetail(Values):
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


class ResetRequest(Wire):
    """Which session's bursts to clear; absent: all."""

    session_id: SessionId | None = None


class ResetAnswer(Wire):
    """What was cleared."""

    cleared_bursts: int
    status: Literal["ok"] = "ok"


class ImportRequest(Wire):
    """A recorded file on this machine."""

    vbo_path: StrictStr | None = Field(None, description="absolute path of a VBO file")
    path: StrictStr | None = Field(
        None,
        description="absolute path of a file of any known format: VBO, RaceChrono CSV, candump "
        "(.log), .asc, .blf, .trc, and with their extras .mf4, .xrk, .xrz",
    )
    session_id: NewSessionId | None = None
    driver: Short | None = None
    driver_level: DriverLevel | None = None
    track: Short | None = Field(
        None, description="absent: as the file says, else as its positions tell"
    )
    car: Short | None = Field(
        None, description="of a CAN log also the id, or path in the data folder, of its car file"
    )
    dbc: Annotated[list[Short], Field(max_length=16)] | Short = Field(
        [], description="of a CAN log: ids, or paths in the data folder; absent: as set up"
    )
    channel: Short | None = Field(
        None, description="of a CAN log: the channel as the log names it; absent: all as one bus"
    )
    note: Note | None = None
    coordinate_encoding: Literal["minutes", "degrees", "ddmm"] | None = None
    time_encoding: Literal["hhmmss", "seconds"] | None = None
    mapping: Annotated[dict[Short, Short | None], Field(max_length=128)] | None = Field(
        None,
        description="channels of the file by signal, as channel, channel:unit or none; the others "
        "are found by their names; kept for files of the same logger; {}: forget what was kept; "
        "absent: as kept",
    )

    def choices(self) -> dict[str, str] | None:
        """The mapping as texts."""
        if self.mapping is None:
            return None
        return {signal: channel or NONE for signal, channel in self.mapping.items()}


class Warned(Values):
    """Something that the reader noticed."""

    code: str
    detail: str
    count: int = Field(validation_alias="times")


class MappedChannel(Values):
    """The channel of the file that a signal was taken from."""

    channel: str | None = Field(description="as the file names it; null: none")
    unit: str = Field(description="in which it was read; empty: in that of the signal")
    assumed: bool = Field(description="whether the file states no unit")
    why: Literal["name", "purpose", "given", "kept", "car", "none"] = Field(
        description="its name, or what the logger says that it is for; given with this import, or "
        "kept from one before; made by the car file; none: no channel is that signal"
    )
    others: tuple[str, ...] = Field(description="channels that might have been it, best first")
    constant: tuple[str, ...] = Field(description="channels of that name that never change")


class ImportPreview(Values):
    """What an import would take."""

    format: str = Field(description="in which the file was read")
    logger: str = Field(description="the same for files of one format with the same channels")
    n_frames: int
    mapping: dict[str, MappedChannel] = Field(description="by signal")
    channels: list[str] = Field(description="of the file, as a mapping may name them")
    warnings: tuple[Warned, ...]
    facts: dict[str, str] = Field(description="what was found out or guessed while reading")


class ImportAnswer(Values):
    """What was imported."""

    session_id: str
    n_frames: int
    duration_s: Annotated[float, Decimals(2)]
    distance_m: Metres
    vbo_source: str
    capabilities_count: int
    track: Text
    n_laps: int
    best_lap_s: Seconds | None
    coordinate_encoding: str | None
    time_encoding: str | None
    warnings: tuple[Warned, ...]
    unmapped_columns: tuple[str, ...] = Field(validation_alias="unmapped")
    n_signals: int
    format: str = Field(description="in which the file was read")
    facts: dict[str, str] = Field(description="what was found out or guessed while reading")
    logger: str = Field(description="the same for files of one format with the same channels")
    mapping: dict[str, MappedChannel] = Field(
        description="by signal, the channel that it was taken from"
    )


_FILE_ERRORS: Final = (
    NotImportable,
    BadField,
    UnparsableVbo,
    UnreadableRecording,
    FormatNotInstalled,
    BusNotFound,
    BadChannelMap,
    KeptMapsUnreadable,
)


@routes.post("/session/import/preview", errors=_FILE_ERRORS)
async def preview_import(request: web.Request, *, body: ImportRequest) -> ImportPreview:
    """Show what an import of the file would take; nothing is stored or kept."""
    recording, _ = await asyncio.to_thread(_read, request.app[SERVICE], body)
    return ImportPreview.of(
        recording,
        format=recording.facts.get("format", "vbo"),
        n_frames=len(recording.frames),
        channels=recording.channels,
        warnings=recording.doubts,
        facts=dict(recording.facts),
    )


@routes.post(
    "/session/import",
    alone=True,
    errors=(*WRITE_ERRORS, *_FILE_ERRORS, SessionExists, BadFrames),
)
async def import_session(request: web.Request, *, body: ImportRequest) -> ImportAnswer:
    """Import a recorded file as a session, whole or not at all."""
    service = request.app[SERVICE]
    store = service.db
    recording, name = await asyncio.to_thread(_read, service, body)
    asked = SessionMeta(
        driver=body.driver,
        driver_level=body.driver_level or USUAL_LEVEL,
        track=body.track,
        car=body.car,
        note=body.note,
        source=name,
    )
    session_id, meta = name_session(recording, asked, body.session_id, service.library)
    done = await store.import_recording(session_id, recording, meta)
    unkept: list[ReadWarning] = []
    if (given := body.choices()) is not None:
        path = maps_file(service.settings.database)
        unkept = await asyncio.to_thread(keep_map, path, recording.logger, given, name)
    row = service.session(session_id)
    summary = await service.book.summary(row)
    facts = dict(recording.facts)
    return ImportAnswer.of(
        row,
        recording,
        track=(await service.book.circuit(row)).name,
        duration_s=_duration_s(row, summary),
        distance_m=_distance_m(row, summary) or 0.0,
        vbo_source=name,
        capabilities_count=done.capabilities_count,
        n_laps=len(summary.laps) if summary else 0,
        best_lap_s=summary.best_s if summary else None,
        coordinate_encoding=facts.get("coordinate_encoding"),
        time_encoding=facts.get("time_encoding"),
        warnings=(*recording.doubts, *done.doubts, *unkept),
        n_signals=done.n_signals,
        format=facts.get("format", "vbo"),
        facts=facts,
    )


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
    rows = rows[: query.limit]
    posted = await reported(service) if any(not row.n_frames for row in rows) else []
    records = [await _record(service, row, posted) for row in rows]
    return SessionList(sessions=records, count=len(records))


@routes.get("/session/{sid}", errors=(UnknownSession, *READ_ERRORS))
async def one_session(request: web.Request, *, path: SessionPath) -> SessionDetail:
    """Show a session with its laps and the coach's last notes."""
    service = request.app[SERVICE]
    row = service.session(path.sid)
    posted = await service.db.laps(row.session_id)
    notes = await service.db.notes(row.session_id, NOTES)
    summary = await service.book.summary(row)
    record = await _record(service, row, posted)
    laps = [SessionLap.of(lap) for lap in sorted(posted, key=lambda lap: lap.lap_number)]
    if summary is not None and not laps:
        laps = [_derived(row, lap) for lap in summary.laps]
    return SessionDetail.of(
        record,
        row,
        session=record,
        laps=laps,
        derived=() if summary is None else summary.derived,
        notes=[NoteRecord.of(note) for note in notes],
        duration_s=_duration_s(row, summary),
        distance_m=_distance_m(row, summary),
        silent=(await service.circuits.look(row.session_id)).silent if not row.ended_at else None,
    )


async def reported(service: Service) -> list[LapRow]:
    """The reported laps of all sessions; none where they are damaged, so that lists go on."""
    try:
        return await service.db.laps()
    except StoreDamaged:
        return []


def recorded_ms(row: SessionRow, t: float) -> int:
    """The time of day, Unix milliseconds, of a moment of a session's clock.

    That clock counts from the start of the session. It may run ahead of the day's, as the
    synthetic car's does: nothing was recorded later than now.
    """
    return min(row.started_at + round((t - (row.t_start or 0.0)) * 1000), unix_ms())


async def _record(service: Service, row: SessionRow, posted: Sequence[LapRow]) -> SessionRecord:
    summary, where = await service.book.seen(row), await service.book.circuit(row)
    if summary is not None:
        times = [lap.time_s for lap in summary.laps]
    else:
        times = [lap.lap_time_s for lap in posted if lap.session_id == row.session_id]
    return SessionRecord.of(
        row,
        track=where.name,
        track_id=where.track.id if where.track is not None else None,
        track_by=where.ground,
        lap_count=len(times),
        best_lap_s=min(times, default=None),
    )


def _derived(row: SessionRow, lap: LapSummary) -> SessionLap:
    """A lap found in the telemetry."""
    return SessionLap.of(
        lap_number=lap.number,
        lap_time_s=round(lap.time_s, 3),
        best_sector=rounded(lap.best_sector, 3),
        avg_speed_kmh=rounded(lap.avg_speed_kmh, 1),
        max_combo_g=rounded(lap.max_combo_g, 3),
        coast_pct=rounded(lap.coast_pct, 1),
        recorded_at=recorded_ms(row, lap.t_end),
    )


def _duration_s(row: SessionRow, summary: Summary | None) -> float:
    """Seconds between the first and the last frame; without any, of what else was recorded."""
    if summary is not None:
        return round(summary.full.duration_s, 3)
    if row.t_start is None or row.t_end is None:
        return 0.0
    return round(row.t_end - row.t_start, 3)


def _distance_m(row: SessionRow, summary: Summary | None) -> float | None:
    """Metres driven in the session, all laps together; None where nothing tells."""
    return summary.full.distance_m if summary and summary.full.distance_m else row.distance_m


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


def _read(service: Service, body: ImportRequest) -> tuple[Recording, str]:
    """Open and read the file; blocks."""
    if (body.vbo_path is None) == (body.path is None):
        raise BadField("give vbo_path, or path", param="vbo_path")
    given = body.vbo_path if body.vbo_path is not None else body.path or ""
    suffixes = VBO_SUFFIXES if body.vbo_path is not None else SUFFIXES
    roots = service.settings.import_roots or None
    name = Path(given).name
    with open_inside(given, roots, suffixes=suffixes, max_bytes=MAX_BYTES) as stream:
        options = Options(
            body.coordinate_encoding,
            body.time_encoding,
            _bus(service, body),
            body.choices(),
            kept_mappings(maps_file(service.settings.database)),
        )
        recording = read_recording(stream, name, options)
    return recording, name


def _bus(service: Service, body: ImportRequest) -> BusChoice:
    """What a CAN log is decoded with: as asked, else as the bridge is set up."""
    settings = service.settings
    asked = [body.dbc] if isinstance(body.dbc, str) and body.dbc else list(body.dbc)
    car = car_file_name(settings.cars_dir, body.car)
    usual_car = None if settings.can_no_car_config else settings.can_car_config
    return BusChoice(
        settings.data_dir,
        tuple(asked or settings.can_dbc),
        car if car is not None else usual_car,
        body.channel or None,
        dbc_anywhere=not asked,
        car_anywhere=car is None,
    )
