"""Brings a recorded file in as a session."""

import asyncio
import time
from pathlib import Path
from typing import Annotated, Literal

from aiohttp import web
from pydantic import Field, StrictStr

from runtime.bridge.analysis.summary import Summary
from runtime.bridge.api.sessions import WRITE_ERRORS, duration_of
from runtime.bridge.api.shapes import DriverLevel, NewSessionId, Note, Short, rounded
from runtime.bridge.formats.canlog import car_asked, car_driven
from runtime.bridge.formats.files import NotImportable, open_inside
from runtime.bridge.formats.formats import (
    MAX_BYTES,
    SUFFIXES,
    VBO_SUFFIXES,
    BusNotFound,
    FormatNotInstalled,
    UnparsableVbo,
    UnreadableRecording,
    read_recording,
)
from runtime.bridge.formats.naming import driver, place, session_name
from runtime.bridge.formats.reading import BusChoice
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.recording import Recording
from runtime.bridge.storage.errors import BadFrames, SessionExists
from runtime.bridge.storage.values import Imported, SessionMeta, SessionRow
from runtime.web.errors import BadField
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("session")


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
    track: Short | None = Field(None, description="absent: the circuit nearest to the recording")
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


class Warned(Wire):
    """Something that the reader noticed."""

    code: str
    detail: str
    count: int


class ImportAnswer(Wire):
    """What was imported."""

    session_id: str
    n_frames: int
    duration_s: float
    distance_m: float
    vbo_source: str
    capabilities_count: int
    track: str
    n_laps: int
    best_lap_s: float | None
    coordinate_encoding: str | None
    time_encoding: str | None
    warnings: list[Warned]
    unmapped_columns: list[str]
    n_signals: int
    format: str = Field(description="in which the file was read")
    facts: dict[str, str] = Field(description="what was found out or guessed while reading")


@routes.post(
    "/session/import",
    alone=True,
    errors=(
        *WRITE_ERRORS,
        NotImportable,
        BadField,
        UnparsableVbo,
        UnreadableRecording,
        FormatNotInstalled,
        BusNotFound,
        SessionExists,
        BadFrames,
    ),
)
async def import_session(request: web.Request, *, body: ImportRequest) -> ImportAnswer:
    """Import a recorded file as a session, whole or not at all."""
    service = request.app[SERVICE]
    store = service.db
    recording, name = await asyncio.to_thread(_read, service, body)
    track = body.track or place(service.library.near, service.active_track, recording)
    session_id = body.session_id or session_name(track, recording.created, time.time())
    meta = SessionMeta(
        driver=driver(body.driver, recording),
        driver_level=body.driver_level or "intermediate",
        track=track,
        car=car_driven(body.car, recording.facts),
        note=body.note,
        source=name,
    )
    done = await store.import_recording(session_id, recording, meta)
    row = service.session(session_id)
    summary = await service.book.summary(row)
    return _imported(row, summary, recording, name, done)


def _read(service: Service, body: ImportRequest) -> tuple[Recording, str]:
    """Open and read the file; blocks."""
    if (body.vbo_path is None) == (body.path is None):
        raise BadField("give vbo_path, or path", param="vbo_path")
    given = body.vbo_path if body.vbo_path is not None else body.path or ""
    suffixes = VBO_SUFFIXES if body.vbo_path is not None else SUFFIXES
    roots = service.settings.import_roots or None
    name = Path(given).name
    with open_inside(given, roots, suffixes=suffixes, max_bytes=MAX_BYTES) as stream:
        recording = read_recording(
            stream,
            name,
            coordinate_encoding=body.coordinate_encoding,
            time_encoding=body.time_encoding,
            bus=_bus(service, body),
        )
    return recording, name


def _bus(service: Service, body: ImportRequest) -> BusChoice:
    """What a CAN log is decoded with: as asked, else as the bridge is set up."""
    settings = service.settings
    asked = [body.dbc] if isinstance(body.dbc, str) and body.dbc else list(body.dbc)
    car = car_asked(settings.cars_dir, body.car)
    usual_car = None if settings.can_no_car_config else settings.can_car_config
    return BusChoice(
        settings.data_dir,
        tuple(asked or settings.can_dbc),
        car if car is not None else usual_car,
        body.channel or None,
        dbc_anywhere=not asked,
        car_anywhere=car is None,
    )


def _imported(
    row: SessionRow,
    summary: Summary | None,
    recording: Recording,
    name: str,
    done: Imported,
) -> ImportAnswer:
    return ImportAnswer(
        session_id=row.session_id,
        n_frames=row.n_frames,
        duration_s=round(duration_of(row, summary), 2),
        distance_m=round(row.distance_m or 0.0, 1),
        vbo_source=name,
        capabilities_count=done.capabilities_count,
        track=row.track or "",
        n_laps=len(summary.laps) if summary else 0,
        best_lap_s=rounded(summary.best_s, 3) if summary else None,
        coordinate_encoding=recording.facts.get("coordinate_encoding"),
        time_encoding=recording.facts.get("time_encoding"),
        warnings=[
            Warned(code=d.code, detail=d.detail, count=d.times)
            for d in (*recording.doubts, *done.doubts)
        ],
        unmapped_columns=list(recording.unmapped),
        n_signals=done.n_signals,
        format=recording.facts.get("format", "vbo"),
        facts=dict(recording.facts),
    )
