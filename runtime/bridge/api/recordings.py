"""What a session holds: its laps, and all of it as parquet."""

import asyncio
from contextlib import aclosing
from typing import Final, Literal

import orjson
from aiohttp import web
from pydantic import Field, JsonValue

from runtime.bridge.analysis.summary import Stretch
from runtime.bridge.api.sessions import READ_ERRORS, SessionPath
from runtime.bridge.errors import NoCircuit
from runtime.bridge.service import SERVICE
from runtime.bridge.storage.derived import build_track
from runtime.bridge.storage.errors import BadTable, ExportUnavailable, NoRows, UnknownSession
from runtime.bridge.track.file import track_text
from runtime.bridge.track.model import TrackError
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes
from runtime.web.wire import Wire

PARQUET: Final = "application/octet-stream"
HEADERS: Final = {
    "X-Bridge-Session": "the session",
    "X-Bridge-Table": "the table",
    "X-Bridge-Rows": "rows of the table",
}
STALL_S: Final = 30.0
"""A reader that takes nothing for this long is cut off."""
_EDGES: Final = ("out", "in", "partial")
routes = Routes("session")


class LapsQuery(Wire):
    """What to list."""

    include: Literal["partial"] | None = Field(None, description="partial: out-lap, in-lap, rest")


class LapSegment(Wire):
    """A stretch of the session; times in seconds of its clock."""

    name: str
    t_start: float
    t_end: float
    duration_s: float
    distance_m: float
    method: Literal["all", "gps", "distance", "stint"]
    lap_number: int | None
    valid: bool
    kind: Literal["all", "lap", "out", "in", "partial", "stint"]
    best: bool
    outlier: bool


class LapEnvelope(Wire):
    """The session as a whole, then its laps in time order."""

    laps: list[LapSegment]
    track_length_m: float | None


class ExportQuery(Wire):
    """Which table."""

    table: str = Field(
        "telemetry",
        description="telemetry, telemetry_signals, signal_registry or capabilities",
    )


class CircuitQuery(Wire):
    """What to call it."""

    name: str = Field("", max_length=256, description="absent: as the session's circuit")


class CircuitAnswer(Wire):
    """A circuit made of a session."""

    session_id: str
    track_id: str = Field(description="id under which its file would be found")
    derived: list[str] = Field(description="where each part comes from, a sentence each")
    track: dict[str, JsonValue] = Field(description="the content of its track file")


@routes.get("/session/{sid}/laps", errors=(UnknownSession, NoRows, *READ_ERRORS))
async def laps(request: web.Request, *, path: SessionPath, query: LapsQuery) -> LapEnvelope:
    """List the laps of a session, found by position, else by distance, else its stints."""
    service = request.app[SERVICE]
    row = service.session(path.sid)
    summary = await service.book.summary(row)
    if summary is None:
        raise NoRows("the session has no telemetry", session_id=row.session_id)
    edges = query.include == "partial"
    found = [one for one in summary.segments if edges or one.kind not in _EDGES]
    return LapEnvelope(
        laps=[_segment(one) for one in (summary.full, *found)],
        track_length_m=None if summary.length_m is None else round(summary.length_m, 1),
    )


@routes.get(
    "/session/{sid}/export.parquet",
    text=PARQUET,
    headers=HEADERS,
    errors=(BadTable, NoRows, ExportUnavailable, *READ_ERRORS),
)
async def export(
    request: web.Request, *, path: SessionPath, query: ExportQuery
) -> web.StreamResponse:
    """Write a table of the session as one parquet file, streamed."""
    found = await request.app[SERVICE].db.export(path.sid, query.table)
    response = web.StreamResponse(
        headers={
            "Content-Type": PARQUET,
            "X-Bridge-Session": path.sid,
            "X-Bridge-Table": query.table,
            "X-Bridge-Rows": str(found.rows),
            "Content-Disposition": f'attachment; filename="{path.sid}-{query.table}.parquet"',
        }
    )
    async with aclosing(found.batches) as batches:  # type: ignore[type-var]
        if request.method == "HEAD":
            return web.Response(headers=response.headers)
        begun = False
        async for batch in batches:
            if not begun:  # until here an error still gets its status
                await response.prepare(request)
                begun = True
            try:
                async with asyncio.timeout(STALL_S):
                    await response.write(batch)
            except TimeoutError:  # a reader that takes nothing would keep the log growing
                if request.transport is not None:
                    request.transport.abort()
                return response
    if not begun:
        await response.prepare(request)
    await response.write_eof()
    return response


@routes.get(
    "/session/{sid}/track", errors=(UnknownSession, NoRows, NoCircuit, BadQuery, *READ_ERRORS)
)
async def circuit(request: web.Request, *, path: SessionPath, query: CircuitQuery) -> CircuitAnswer:
    """Make a track file of the session's median lap; nothing is stored."""
    service = request.app[SERVICE]
    row = service.session(path.sid)
    if not row.n_frames:
        raise NoRows("the session has no telemetry", session_id=row.session_id)
    laps, _ = await service.book.found(row)
    try:
        built = await build_track(service.db, row, laps, query.name)
    except TrackError as error:
        raise NoCircuit(row.session_id, str(error)) from None
    return CircuitAnswer(
        session_id=row.session_id,
        track_id=built.track.id,
        derived=list(built.derived),
        track=orjson.loads(track_text(built.track)),
    )


def _segment(one: Stretch) -> LapSegment:
    return LapSegment.model_validate(
        {
            "name": one.name,
            "t_start": round(one.t_start, 3),
            "t_end": round(one.t_end, 3),
            "duration_s": round(one.duration_s, 3),
            "distance_m": round(one.distance_m, 1),
            "method": one.method,
            "lap_number": one.number,
            "valid": one.valid,
            "kind": one.kind,
            "best": one.best,
            "outlier": one.outlier,
        }
    )
