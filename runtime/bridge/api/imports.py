"""Imports recorded files, of this machine or sent by others, each whole or not at all."""

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
from runtime.bridge.formats.detection import (
    MAX_BYTES,
    SUFFIXES,
    VBO_SUFFIXES,
    read_recording,
)
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
    keep_map,
    kept_mappings,
    maps_file,
)
from runtime.bridge.formats.session_naming import car_file_name, name_session
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


def _json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return orjson.loads(value)
    except orjson.JSONDecodeError as problem:
        raise ValueError("must be a JSON object") from problem


class ImportChoices(Wire):
    """What may be said about a recorded file."""

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


class ImportRequest(ImportChoices):
    """A recorded file on this machine."""

    model_config = ConfigDict(json_schema_extra=needs("vbo_path", "path", alone=True))

    vbo_path: StrictStr | None = Field(None, description="absolute path of a VBO file")
    path: StrictStr | None = Field(
        None, description=f"absolute path of a file of any known format: {KNOWN}"
    )


class UploadQuery(ImportChoices):
    """What may be said about a file that is sent; fields of a form say the same."""

    filename: Short | None = Field(
        None, description="of a file that is sent as it is: its suffix tells the format"
    )
    mapping: Annotated[
        dict[Short, Short | None] | None,
        Field(max_length=128),
        BeforeValidator(_json),
        WithJsonSchema({"type": "string"}),
    ] = Field(None, description="as of an import, written as JSON")


class Warned(AnswerModel):
    """Something that the reader noticed."""

    code: str
    detail: str
    count: int = Field(validation_alias="times")


@fields_of(Mapped)
class MappedChannel(AnswerModel):
    """The channel of the file that a signal was taken from."""

    why: Literal["name", "purpose", "given", "kept", "car", "none"] = Field(
        description="its name, or what the logger says that it is for; given with this import, or "
        "kept from one before; made by the car file; none: no channel is that signal"
    )


class ReadFile(AnswerModel):
    """What a file holds."""

    format: str = Field(description="in which the file was read")
    logger: str = Field(description="the same for files of one format with the same channels")
    n_frames: int
    mapping: dict[str, MappedChannel] = Field(
        description="by signal, the channel that it is taken from"
    )
    warnings: tuple[Warned, ...]
    facts: dict[str, str] = Field(description="what was found out or guessed while reading")


class ImportPreview(ReadFile):
    """What an import would take."""

    channels: list[str] = Field(description="of the file, as a mapping may name them")


class ImportAnswer(ReadFile):
    """What was imported."""

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
    """Show what an import of the file would take; nothing is stored or kept."""
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
    """Import a recorded file that is sent, whole or not at all.

    It comes as it is, with its name in the query, or as the part `file` of a form, for a CAN log
    with the DBC files of its bus as parts `dbc`. Nothing of them is kept but the session.
    """
    service = request.app[SERVICE]
    if query.filename is not None:
        _check_name(query.filename)
    async with _room(service) as file:
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
    """Make a session of a recording that was read from a file called *name*."""
    about = choices.model_dump(include={"driver", "driver_level", "track", "car", "note"})
    asked = SessionMeta(**about, source=name)
    session_id, meta = name_session(
        recording, asked, choices.session_id, service.library, service.db.session
    )
    done = await service.db.import_recording(session_id, recording, meta)
    unkept: list[ReadWarning] = []
    if (given := choices.choices()) is not None:
        path = maps_file(service.settings.database)
        unkept = await asyncio.to_thread(keep_map, path, recording.logger, given, name)
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


@asynccontextmanager
async def _room(service: Service) -> AsyncIterator[BinaryIO]:
    """A file without a name beside the database, which is gone with the block whatever happens.

    Raises `NoDatabase`, and `StoreBusy` where enough others are being sent.
    """
    if service.store is None:
        raise service.without_database()
    if service.uploads.locked():
        raise StoreBusy("other files are being sent; try again")
    async with service.uploads:
        try:  # not in a thread: a client that leaves meanwhile would leave the file open
            file = _make_file(service.settings.database.parent)
        except OSError as problem:
            raise _why_unwritable(problem) from problem
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
        raise _why_unwritable(problem) from problem


def _why_unwritable(problem: OSError) -> StoreFull | StoreFailed:
    full = problem.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    return StoreFull() if full else StoreFailed()


def _check_name(given: str) -> str:
    """The name of a file without folders. Raises `BadField` and `UnreadableRecording`."""
    name = PureWindowsPath(given).name  # which also parts at /
    if not name or not name.isprintable():
        raise BadField(
            "filename: give the name of the file, in the query or with its part of the form",
            param="filename",
        )
    if PurePath(name).suffix.lower() not in SUFFIXES:
        raise UnreadableRecording(f"the file is of no known format: {' '.join(sorted(SUFFIXES))}")
    return name


def _read_path(service: Service, body: ImportRequest) -> tuple[Recording, str]:
    """Open and read a file of this machine; blocks."""
    if (body.vbo_path is None) == (body.path is None):
        raise BadField("give vbo_path, or path", param="vbo_path")
    given = body.vbo_path if body.vbo_path is not None else body.path or ""
    suffixes = VBO_SUFFIXES if body.vbo_path is not None else SUFFIXES
    roots = service.settings.import_roots or None
    name = Path(given).name
    with open_inside(given, roots, suffixes=suffixes, max_bytes=MAX_BYTES) as stream:
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
        _bus(service, choices, tuple(dbc)),
        choices.choices(),
        kept_mappings(maps_file(service.settings.database)),
    )
    return read_recording(stream, name, options)


def _bus(
    service: Service, choices: ImportChoices, sent: tuple[tuple[str, bytes], ...]
) -> BusChoice:
    """What a CAN log is decoded with: as asked, else as the bridge is set up."""
    settings = service.settings
    asked = [choices.dbc] if isinstance(choices.dbc, str) and choices.dbc else list(choices.dbc)
    car = car_file_name(settings.cars_dir, choices.car)
    return BusChoice(
        settings.data_dir,
        tuple(asked or (() if sent else settings.can_dbc)),
        car if car is not None else settings.car_file,
        choices.channel or None,
        dbc_anywhere=not asked,
        car_anywhere=car is None,
        sent=sent,
    )
