"""Imports of recorded files, from this machine or uploaded, each whole or not at all."""

import asyncio
import errno
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path, PurePath, PureWindowsPath
from typing import Annotated, BinaryIO, Final, Literal

import orjson
from aiohttp import web
from multidict import MultiDict
from pydantic import BeforeValidator, ConfigDict, Field, StrictStr, WithJsonSchema

from runtime.bridge.api.sessions import measure_distance_m, measure_duration_s
from runtime.bridge.api.shapes import (
    WRITE_ERRORS,
    AnswerModel,
    DriverLevel,
    NewSessionId,
    Note,
    Short,
    Text,
    fields_of,
)
from runtime.bridge.can.dbc import MAX_BYTES as DBC_BYTES
from runtime.bridge.formats.detection import MAX_BYTES, SUFFIXES, VBO_SUFFIXES, read_recording
from runtime.bridge.formats.options import (
    BadChannelMap,
    BusChoice,
    BusNotFound,
    FormatNotInstalled,
    Options,
    UnparsableVbo,
    UnreadableRecording,
)
from runtime.bridge.formats.safe_open import NotImportable, open_inside
from runtime.bridge.formats.saved_mappings import (
    KeptMapsUnreadable,
    locate_maps,
    read_plain_mappings,
    save_map,
)
from runtime.bridge.formats.session_naming import find_car_file_name, name_session
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.channels import NONE
from runtime.bridge.session.recording import Mapped, ReadWarning, Recording
from runtime.bridge.session.units import Decimals, Metres, Seconds
from runtime.bridge.storage.errors import (
    BadFrames,
    SessionExists,
    StoreBusy,
    StoreFailed,
    StoreFull,
)
from runtime.bridge.storage.records import SessionMeta
from runtime.web.errors import BadField
from runtime.web.routes import Routes, parse_query
from runtime.web.uploads import receive_file
from runtime.web.wire import Wire, needs

KNOWN: Final = " ".join(sorted(SUFFIXES))
MIB: Final = 1 << 20
routes = Routes("session")


def _parse_json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as problem:
        raise ValueError("must be a JSON object") from problem


class ImportChoices(Wire):
    """Details and options of a recorded file."""

    session_id: NewSessionId | None = None
    driver: Short | None = None
    driver_level: DriverLevel | None = None
    track: Short | None = Field(
        None, description="absent: as in the file, else recognised from the positions"
    )
    car: Short | None = Field(
        None, description="for a CAN log also the id, or path in the data folder, of its car file"
    )
    dbc: Annotated[list[Short], Field(max_length=16)] | Short = Field(
        [], description="for a CAN log: ids, or paths in the data folder; absent: as configured"
    )
    channel: Short | None = Field(
        None, description="for a CAN log: the channel's name in it; absent: all as one bus"
    )
    note: Note | None = None
    coordinate_encoding: Literal["minutes", "degrees", "ddmm"] | None = None
    time_encoding: Literal["hhmmss", "seconds"] | None = None
    mapping: Annotated[dict[Short, Short | None], Field(max_length=128)] | None = Field(
        None,
        description="channels of the file by signal, as channel, channel:unit or none; others are "
        "found by name; kept for files of the same logger; {}: forget the kept mapping; absent: "
        "use it",
    )

    def read_mapping(self) -> dict[str, str] | None:
        """Return the mapping, with `NONE` for null."""
        if self.mapping is None:
            return None
        return {signal: channel or NONE for signal, channel in self.mapping.items()}


class ImportRequest(ImportChoices):
    """A recorded file on this machine."""

    model_config = ConfigDict(json_schema_extra=needs("vbo_path", "path", alone=True))

    vbo_path: StrictStr | None = Field(None, description="absolute path of a VBO file")
    path: StrictStr | None = Field(
        None, description=f"absolute path of a file in any known format: {KNOWN}"
    )


class UploadQuery(ImportChoices):
    """Details and options of an uploaded file; the fields of a form have the same names."""

    filename: Short | None = Field(
        None, description="for a file sent as it is: its suffix decides the format"
    )
    mapping: Annotated[
        dict[Short, Short | None] | None,
        Field(max_length=128),
        BeforeValidator(_parse_json),
        WithJsonSchema({"type": "string"}),
    ] = Field(None, description="as for an import, written as JSON")


class Warned(AnswerModel):
    """A warning of the reader."""

    code: str
    detail: str
    count: int = Field(validation_alias="times")


@fields_of(Mapped)
class MappedChannel(AnswerModel):
    """The source of a signal in the file."""

    why: Literal["name", "purpose", "given", "kept", "car", "none"] = Field(
        description="chosen by its name, or by its purpose according to the logger; given with "
        "this import, or kept from an earlier one; defined by the car file; none: no such channel"
    )


class ReadFile(AnswerModel):
    """The content of a file."""

    format: str = Field(description="format of the file")
    logger: str = Field(description="equal for files of one format with the same channels")
    n_frames: int
    mapping: dict[str, MappedChannel] = Field(description="source channel by signal")
    warnings: tuple[Warned, ...]
    facts: dict[str, str] = Field(description="facts that the reader found or guessed")


class ImportPreview(ReadFile):
    """The preview of an import."""

    channels: list[str] = Field(description="channels of the file, by the names for a mapping")


class ImportAnswer(ReadFile):
    """The imported session."""

    session_id: str
    duration_s: Annotated[float, Decimals(2)]
    distance_m: Metres
    vbo_source: str
    capabilities_count: int
    track: Text
    n_laps: int
    best_lap_s: Seconds | None
    coordinate_encoding: str | None
    time_encoding: str | None
    unmapped_columns: tuple[str, ...] = Field(validation_alias="unmapped")
    n_signals: int


_FILE_ERRORS: Final = (
    BadField,
    UnparsableVbo,
    UnreadableRecording,
    FormatNotInstalled,
    BusNotFound,
    BadChannelMap,
    KeptMapsUnreadable,
)
_IMPORT_ERRORS: Final = (*WRITE_ERRORS, *_FILE_ERRORS, SessionExists, BadFrames)


@routes.post("/session/import/preview", errors=(NotImportable, *_FILE_ERRORS))
async def preview_import(request: web.Request, *, body: ImportRequest) -> ImportPreview:
    """Preview the import of a file; nothing is stored."""
    recording, _ = await asyncio.to_thread(_read_path, request.app[SERVICE], body)
    return ImportPreview.of(
        recording,
        format=recording.facts.get("format", "vbo"),
        n_frames=len(recording.frames),
        channels=recording.channels,
        warnings=recording.doubts,
        facts=dict(recording.facts),
    )


@routes.post("/session/import", alone=True, errors=(NotImportable, *_IMPORT_ERRORS))
async def import_session(request: web.Request, *, body: ImportRequest) -> ImportAnswer:
    """Import a recorded file as a session, whole or not at all."""
    service = request.app[SERVICE]
    recording, name = await asyncio.to_thread(_read_path, service, body)
    return await store_recording(service, recording, name, body)


@routes.post("/session/upload", alone=True, file="file", beside=("dbc",), errors=_IMPORT_ERRORS)
async def upload_session(request: web.Request, *, query: UploadQuery) -> ImportAnswer:
    """Import an uploaded file, whole or not at all.

    Send it as it is, with its name in the query, or as the part `file` of a form; a CAN log may
    come with the DBC files of its bus as parts `dbc`. Only the session is kept.
    """
    service = request.app[SERVICE]
    if query.filename is not None:
        _check_name(query.filename)
    async with _open_temporary(service) as file:
        sent = await receive_file(
            request,
            service.settings.upload_max_mib * MIB,
            lambda part: _write(file, part),
            {"dbc": DBC_BYTES},
        )
        if sent.fields:
            query = parse_query(UploadQuery, MultiDict([*request.query.items(), *sent.fields]))
        name = _check_name(sent.filename or query.filename or "")
        file.seek(0)
        recording = await asyncio.to_thread(_read, service, file, name, query, sent.beside)
        return await store_recording(service, recording, name, query)


async def store_recording(
    service: Service, recording: Recording, name: str, choices: ImportChoices
) -> ImportAnswer:
    """Store a recording read from the file *name* as a session."""
    about = choices.model_dump(include={"driver", "driver_level", "track", "car", "note"})
    requested = SessionMeta(**about, source=name)
    session_id, meta = name_session(
        recording, requested, choices.session_id, service.library, service.db.session
    )
    stored = await service.db.import_recording(session_id, recording, meta)
    unkept: list[ReadWarning] = []
    if (mapping := choices.read_mapping()) is not None:
        path = locate_maps(service.settings.database)
        unkept = await asyncio.to_thread(save_map, path, recording.logger, mapping, name)
    row = service.session(session_id)
    summary = await service.book.summary(row)
    facts = dict(recording.facts)
    return ImportAnswer.of(
        row,
        recording,
        track=(await service.book.circuit(row)).name,
        duration_s=measure_duration_s(row, summary),
        distance_m=measure_distance_m(row, summary) or 0.0,
        vbo_source=name,
        capabilities_count=stored.capabilities_count,
        n_laps=len(summary.laps) if summary else 0,
        best_lap_s=summary.best_s if summary else None,
        coordinate_encoding=facts.get("coordinate_encoding"),
        time_encoding=facts.get("time_encoding"),
        warnings=(*recording.doubts, *stored.doubts, *unkept),
        n_signals=stored.n_signals,
        format=facts.get("format", "vbo"),
        facts=facts,
    )


@asynccontextmanager
async def _open_temporary(service: Service) -> AsyncIterator[BinaryIO]:
    """Open an unnamed temporary file next to the database, which ends with the block.

    Raises `NoDatabase`, and `StoreBusy` during too many other uploads.
    """
    if service.store is None:
        raise service.without_database()
    if service.uploads.locked():
        raise StoreBusy("other files are being uploaded; try again")
    async with service.uploads:
        try:  # not in a thread: a client that disconnects meanwhile would leave the file open
            file = _make_file(service.settings.database.parent)
        except OSError as problem:
            raise _explain_failure(problem) from problem
        try:
            yield file
        finally:
            await asyncio.to_thread(file.close)


def _make_file(folder: Path) -> BinaryIO:
    return tempfile.TemporaryFile(dir=folder)


async def _write(file: BinaryIO, part: bytes) -> None:
    try:
        await asyncio.to_thread(file.write, part)
    except OSError as problem:
        raise _explain_failure(problem) from problem


def _explain_failure(problem: OSError) -> StoreFull | StoreFailed:
    full = problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return StoreFull() if full else StoreFailed()


def _check_name(path: str) -> str:
    """Return the file's name without folders. Raises `BadField` and `UnreadableRecording`."""
    name = PureWindowsPath(path).name  # splits at / too
    if not name or not name.isprintable():
        raise BadField(
            "filename: give the name of the file, in the query or with its part of the form",
            param="filename",
        )
    if PurePath(name).suffix.lower() not in SUFFIXES:
        raise UnreadableRecording(f"unknown file format; known: {KNOWN}")
    return name


def _read_path(service: Service, body: ImportRequest) -> tuple[Recording, str]:
    """Open and read a file of this machine; blocks."""
    if (body.vbo_path is None) == (body.path is None):
        raise BadField("give either vbo_path or path", param="vbo_path")
    path = body.vbo_path if body.vbo_path is not None else body.path or ""
    suffixes = VBO_SUFFIXES if body.vbo_path is not None else SUFFIXES
    roots = service.settings.import_roots or None
    name = Path(path).name
    with open_inside(path, roots, suffixes=suffixes, max_bytes=MAX_BYTES) as stream:
        return _read(service, stream, name, body), name


def _read(
    service: Service,
    stream: BinaryIO,
    name: str,
    choices: ImportChoices,
    dbc: Sequence[tuple[str, bytes]] = (),
) -> Recording:
    """Read an open file, with the DBC files that came with it; blocks."""
    options = Options(
        choices.coordinate_encoding,
        choices.time_encoding,
        _choose_bus(service, choices, tuple(dbc)),
        choices.read_mapping(),
        read_plain_mappings(locate_maps(service.settings.database)),
    )
    return read_recording(stream, name, options)


def _choose_bus(
    service: Service, choices: ImportChoices, sent: tuple[tuple[str, bytes], ...]
) -> BusChoice:
    """Choose the files to decode a CAN log with: those requested, else those configured."""
    settings = service.settings
    names = [choices.dbc] if isinstance(choices.dbc, str) and choices.dbc else list(choices.dbc)
    car = find_car_file_name(settings.cars_dir, choices.car)
    return BusChoice(
        settings.data_dir,
        tuple(names or (() if sent else settings.can_dbc)),
        car if car is not None else settings.car_file,
        choices.channel or None,
        dbc_anywhere=not names,
        car_anywhere=car is None,
        sent=sent,
    )
