"""The recording of a session: laps, parquet export, circuit, and signals."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final, Literal

import numpy as np
import orjson
from aiohttp import web
from pydantic import Field, JsonValue

from runtime.bridge.analysis.overlay import lap_axis
from runtime.bridge.analysis.summary import Summary
from runtime.bridge.api.shapes import (
    READ_ERRORS,
    WRITE_ERRORS,
    AnswerModel,
    Flag,
    Moment,
    SessionPath,
    fields_of,
)
from runtime.bridge.api.status import CanDiagnostics, read_can_state
from runtime.bridge.errors import NoCircuit, TooManyRows, UnknownLap
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session import resample as resampling
from runtime.bridge.session.capabilities import DisabledCoach, find_coaches
from runtime.bridge.session.recording import WIDE_SIGNALS
from runtime.bridge.session.resample import Resampled, parse_axis, parse_interpolation, resample
from runtime.bridge.session.units import Hertz, Metres, Seconds
from runtime.bridge.storage.analyses import Scope
from runtime.bridge.storage.errors import BadTable, NoRows, UnknownSession
from runtime.bridge.storage.lake.layout import folder_of, stamp_of
from runtime.bridge.storage.lake.tables import pack_session
from runtime.bridge.storage.lapbook import build_track
from runtime.bridge.storage.records import CapabilityRow, SessionRow, SignalRow
from runtime.bridge.track.file import format_track
from runtime.bridge.track.model import TrackError
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes, json_bytes
from runtime.web.wire import Wire, absent

PARQUET: Final = "application/octet-stream"
ZIP: Final = "application/zip"
HEADERS: Final = {
    "X-Bridge-Session": "the session",
    "X-Bridge-Table": "the table",
    "X-Bridge-Rows": "rows of the table",
}
STALL_S: Final = 30.0
"""A reader that takes nothing for this long is disconnected."""
_EDGES: Final = ("out", "in", "partial")
routes = Routes("session")
signal_routes = Routes("signals")


class LapsQuery(Wire):
    """The kinds of laps."""

    include: Literal["partial"] | None = Field(None, description="partial: incomplete laps too")


class LapSegment(AnswerModel):
    """A segment of the session; times in seconds of its clock."""

    name: str
    t_start: Seconds
    t_end: Seconds
    duration_s: Seconds
    distance_m: Metres
    method: Literal["all", "gps", "distance", "stint"]
    lap_number: int | None = Field(validation_alias="number")
    valid: bool
    kind: Literal["all", "lap", "out", "in", "partial", "stint"]
    best: bool
    outlier: bool


class LapEnvelope(Wire):
    """The session as a whole, then its laps in time order."""

    laps: list[LapSegment]
    track_length_m: Metres | None


class ExportQuery(Wire):
    """The table to export."""

    table: str = Field(
        "telemetry",
        description="telemetry, telemetry_signals, signal_registry or capabilities",
    )


class LakeSession(Wire):
    """A session in the form of a lake."""

    session_id: str
    folder: str = Field(description="season=YEAR/car=CAR/session=ID, percent-encoded")
    stamp: str = Field(description="changes whenever the content of the files would change")


class LakeIndex(Wire):
    """The sessions to export, the newest first."""

    count: int
    sessions: list[LakeSession]


class CircuitQuery(Wire):
    """The name of the circuit."""

    name: str = Field("", max_length=256, description="absent: that of the session's circuit")


class CircuitAnswer(Wire):
    """A circuit built from a session."""

    session_id: str
    track_id: str = Field(description="id for its file")
    derived: list[str] = Field(description="source of each part, one sentence each")
    track: dict[str, JsonValue] = Field(description="content of its track file")


class RegistryQuery(Wire):
    """Additions to the catalogue."""

    include_can_state: Flag = False


@fields_of(SignalRow)
class SignalRecord(AnswerModel):
    """A signal of the catalogue."""

    discovered_at: Moment | None
    n_samples_total: int


class UnknownCanId(Wire):
    """A bus message that no DBC file describes."""

    id: int
    can_id: str
    hz: float


class Registry(Wire):
    """Signals by id."""

    count: int
    signals: list[SignalRecord]
    can_state: CanDiagnostics | None = absent("only with include_can_state")
    unknown_can_ids: list[UnknownCanId] | None = absent("only with include_can_state")


@fields_of(CapabilityRow)
class Capability(AnswerModel):
    """The extent of a recorded signal."""

    mean_hz: Hertz


@fields_of(DisabledCoach)
class DisabledCoachRecord(AnswerModel):
    """A coach that cannot work on the session."""

    reason: str


class Capabilities(AnswerModel):
    """The signals of a session, and the coaches that can work with them."""

    session_id: str
    duration_s: Seconds
    signals: list[Capability]
    coaches_available: tuple[str, ...] = Field(validation_alias="available")
    coaches_disabled: tuple[DisabledCoachRecord, ...] = Field(validation_alias="disabled")


class ResampleQuery(Wire):
    """The signals and their axis."""

    names: str = Field("", description="1 to 64 names, separated by commas")
    axis: str = Field("time", description="time, distance, or a signal, for its own timestamps")
    rate_hz: float = Field(0.0, description="0: as recorded; else an even grid, at most 1000")
    interp: str = Field("previous", description="linear or previous")
    t_from: float | None = None
    t_to: float | None = None
    step_m: float = Field(1.0, description="grid of the distance axis")
    max_age_s: float | None = Field(None, description="a previous sample older than this is null")
    lap: int | None = Field(
        None,
        description="only this complete lap; the distance axis then runs from 0 to the length of "
        "the circuit",
    )


class ResampleRows(Wire):
    """Signals on one axis."""

    session_id: str
    axis: str
    rate_hz: float
    interp: str
    t_from: float | None
    t_to: float | None
    names: list[str]
    rows: list[dict[str, float | None]] = Field(
        description="t, distance_m on the distance axis (since the start of the session or of the "
        "requested lap), and each name"
    )
    missing: list[str]
    count: int


class RecomputeAnswer(Wire):
    """The number of signals in the session."""

    session_id: str
    capabilities_count: int


@routes.get("/session/{sid}/laps", errors=(UnknownSession, NoRows, *READ_ERRORS))
async def laps(request: web.Request, *, path: SessionPath, query: LapsQuery) -> LapEnvelope:
    """List the laps of a session, found by position, else by distance, else its stints."""
    service = request.app[SERVICE]
    summary = await service.book.summary(service.session(path.sid))
    if summary is None:
        raise NoRows("the session has no telemetry", session_id=path.sid)
    partial = query.include == "partial"
    inner = [lap for lap in summary.segments if partial or lap.kind not in _EDGES]
    return LapEnvelope(
        laps=[LapSegment.of(lap) for lap in (summary.full, *inner)],
        track_length_m=summary.length_m,
    )


@routes.get(
    "/session/{sid}/export.parquet",
    text=PARQUET,
    headers=HEADERS,
    errors=(BadTable, NoRows, *READ_ERRORS),
)
async def export(
    request: web.Request, *, path: SessionPath, query: ExportQuery
) -> web.StreamResponse:
    """Stream a table of the session as a parquet file."""
    table = await request.app[SERVICE].db.export(path.sid, query.table)
    response = web.StreamResponse(
        headers={
            "Content-Type": PARQUET,
            "X-Bridge-Session": path.sid,
            "X-Bridge-Table": query.table,
            "X-Bridge-Rows": str(table.rows),
            "Content-Disposition": f'attachment; filename="{path.sid}-{query.table}.parquet"',
        }
    )
    async with aclosing(table.batches) as batches:  # type: ignore[type-var]
        if request.method == "HEAD":
            return web.Response(headers=response.headers)
        async for batch in batches:
            if not response.prepared:  # until here an error still gets its status
                await response.prepare(request)
            try:
                async with asyncio.timeout(STALL_S):
                    await response.write(batch)
            except TimeoutError:  # a stalled reader would keep the write-ahead log growing
                if request.transport is not None:
                    request.transport.abort()
                return response
    if not response.prepared:
        await response.prepare(request)
    await response.write_eof()
    return response


@routes.get("/lake", errors=READ_ERRORS)
async def lake_index(request: web.Request) -> LakeIndex:
    """List the sessions with telemetry that `python -m runtime.bridge export` writes."""
    service = request.app[SERVICE]
    rows = [row for row in service.db.sessions() if row.n_frames]
    circuits = service.library.digest
    return LakeIndex(
        count=len(rows),
        sessions=[
            LakeSession(
                session_id=row.session_id, folder=folder_of(row), stamp=stamp_of(row, circuits)
            )
            for row in rows
        ],
    )


@routes.get(
    "/session/{sid}/lake.zip",
    text=ZIP,
    errors=(UnknownSession, NoRows, *READ_ERRORS),
)
async def lake_files(request: web.Request, *, path: SessionPath) -> web.Response:
    """Return a ZIP archive of parquet files: telemetry with laps, signals, laps, summary."""
    service = request.app[SERVICE]
    row = service.session(path.sid)
    if not row.n_frames:
        raise NoRows("the session has no telemetry", session_id=row.session_id)
    stamp = stamp_of(row, service.library.digest)
    archive = await pack_session(service.db, service.book, row, stamp)
    name = f'attachment; filename="{path.sid}.zip"'
    return web.Response(body=archive, headers={"Content-Type": ZIP, "Content-Disposition": name})


@routes.get(
    "/session/{sid}/track", errors=(UnknownSession, NoRows, NoCircuit, BadQuery, *READ_ERRORS)
)
async def circuit(request: web.Request, *, path: SessionPath, query: CircuitQuery) -> CircuitAnswer:
    """Build a track file from the driven line of a session; nothing is stored."""
    service = request.app[SERVICE]
    row = service.session(path.sid)
    if not row.n_frames:
        raise NoRows("the session has no telemetry", session_id=row.session_id)
    laps, where = await service.book.load_laps(row)
    try:
        built = await build_track(service.db, row, laps, query.name or where.name)
    except TrackError as error:
        raise NoCircuit(str(error), session_id=row.session_id) from None
    return CircuitAnswer(
        session_id=row.session_id,
        track_id=built.track.id,
        derived=list(built.derived),
        track=orjson.loads(format_track(built.track)),
    )


@signal_routes.get("/signals/registry", errors=READ_ERRORS)
async def registry(request: web.Request, *, query: RegistryQuery) -> Registry:
    """List every known signal."""
    service = request.app[SERVICE]
    totals = await service.db.samples_total()
    rows = service.db.registry()
    state = await read_can_state(service) if query.include_can_state else None
    return Registry(
        count=len(rows),
        signals=[SignalRecord.of(row, n_samples_total=totals.get(row.name, 0)) for row in rows],
        can_state=state,
        unknown_can_ids=None
        if state is None
        else [
            UnknownCanId(id=int(row.can_id, 16), can_id=row.can_id, hz=round(row.hz, 1))
            for row in state.unknown_ids
        ],
    )


@signal_routes.post(
    "/session/{sid}/capabilities/recompute", errors=(UnknownSession, NoRows, *WRITE_ERRORS)
)
async def recompute(request: web.Request, *, path: SessionPath) -> RecomputeAnswer:
    """Recount the samples of a session."""
    service = request.app[SERVICE]
    row = service.session(path.sid)
    count = await service.db.recompute_capabilities(row.session_id)
    if not count:
        raise NoRows("the session has no data", session_id=row.session_id)
    return RecomputeAnswer(session_id=row.session_id, capabilities_count=count)


@signal_routes.get("/session/{sid}/capabilities", errors=(UnknownSession, NoRows, *READ_ERRORS))
async def capabilities(request: web.Request, *, path: SessionPath) -> Capabilities:
    """Show the rate of each recorded signal, and which coaches can work with the session."""
    service = request.app[SERVICE]
    row = service.session(path.sid)
    rows = await service.db.capabilities(row.session_id)
    if not rows:
        raise NoRows("the session has no data", session_id=row.session_id)
    return Capabilities.of(
        find_coaches({row.name: row.mean_hz for row in rows}),
        session_id=row.session_id,
        duration_s=max(row.t_end for row in rows) - min(row.t_start for row in rows),
        signals=[Capability.of(row) for row in rows],
    )


@signal_routes.get(
    "/session/{sid}/signals",
    errors=(BadQuery, UnknownSession, UnknownLap, NoRows, TooManyRows, *READ_ERRORS),
)
async def signals(
    request: web.Request, *, path: SessionPath, query: ResampleQuery
) -> ResampleRows | web.StreamResponse:
    """Put signals on a common axis."""
    service = request.app[SERVICE]
    try:
        wanted = _parse_query(query)
        row = service.session(path.sid)
        if query.lap is not None:
            wanted = _clip_to_lap(wanted, await service.book.summary(row), query.lap, row)
        resampled = await _resample(service, row, wanted, query.lap)
    except resampling.TooLong as error:
        text = f"the answer would have more than {resampling.MAX_ROWS} rows"
        raise TooManyRows(text, max_points=resampling.MAX_ROWS) from error
    except resampling.BadResample as error:
        raise BadQuery(str(error), param=error.param) from error
    return json_bytes(await asyncio.to_thread(_write_body, row.session_id, wanted, resampled))


def _parse_query(query: ResampleQuery) -> resampling.Query:
    """Parse names, axis and interpolation. Raises `BadResample`."""
    names = tuple(name.strip() for name in query.names.split(",") if name.strip())
    if not names:
        raise resampling.BadResample("names", "names is missing")
    axis, interp = parse_axis(query.axis), parse_interpolation(query.interp)
    fields = query.model_dump(exclude={"lap"})
    return resampling.Query(**fields | {"names": names, "axis": axis, "interp": interp})


def _clip_to_lap(
    wanted: resampling.Query, summary: Summary | None, number: int, row: SessionRow
) -> resampling.Query:
    """Limit the query to a lap. Raises `UnknownLap`."""
    lap = next((lap for lap in summary.laps if lap.number == number), None) if summary else None
    if lap is None:
        raise UnknownLap(session_id=row.session_id)
    t_from = lap.t_start if wanted.t_from is None else max(wanted.t_from, lap.t_start)
    t_to = lap.t_end if wanted.t_to is None else min(wanted.t_to, lap.t_end)
    return replace(wanted, t_from=t_from, t_to=max(t_from, t_to))


async def _resample(
    service: Service, row: SessionRow, wanted: resampling.Query, lap: int | None
) -> Resampled:
    store = service.db
    if not row.n_frames and not row.n_signals:
        raise NoRows("the session has no data", session_id=row.session_id)
    registered = {signal.name: signal for signal in store.registry()}
    needed = [*wanted.names, *(() if wanted.axis in resampling.AXES else (wanted.axis,))]
    if wanted.axis not in (*resampling.AXES, *registered):
        text = "axis must be time, distance or the name of a registered signal"
        raise resampling.BadResample("axis", text)
    if not registered.keys() >= set(wanted.names):
        raise resampling.BadResample("names", "names contains a signal that is not registered")
    tall = [name for name in needed if name not in WIDE_SIGNALS]
    frames = await store.read_frames(row.session_id)
    samples = await store.read_signals(row.session_id, tall) if tall else {}
    axis = None
    if wanted.axis == "distance" and lap is not None:
        drive = await service.analytics.drive(row, Scope())
        step_m = wanted.step_m if wanted.rate_hz > 0 else None
        axis = await asyncio.to_thread(lap_axis, drive, lap, step_m)
    elif wanted.axis == "distance" and (summary := await service.book.summary(row)) is not None:
        wanted = replace(wanted, track_length_m=summary.length_m)
    discrete = [
        name for name in wanted.names if resampling.is_discrete(name, registered[name].semantics)
    ]
    return await asyncio.to_thread(resample, frames, samples, wanted, discrete, axis)


def _write_body(session_id: str, query: resampling.Query, resampled: Resampled) -> bytes:
    """Write the answer as JSON; NaN becomes null."""
    # Recorded times stay exact; interpolated ones are accurate to a millisecond.
    interpolated = query.axis == "distance" and query.rate_hz > 0
    t = np.round(resampled.t, 3) if interpolated else resampled.t
    columns: dict[str, list[Any]] = {"t": t.tolist()}
    if resampled.distance_m is not None:
        columns["distance_m"] = np.round(resampled.distance_m, 3).tolist()
    columns |= {name: values.tolist() for name, values in resampled.columns.items()}
    names = list(columns)
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return orjson.dumps(
        {
            "session_id": session_id,
            "axis": query.axis,
            "rate_hz": query.rate_hz,
            "interp": query.interp,
            "t_from": resampled.t_from,
            "t_to": resampled.t_to,
            "names": query.names,
            "rows": rows,
            "missing": resampled.missing,
            "count": len(rows),
        }
    )
