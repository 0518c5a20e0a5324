"""Laps as somebody reports them, beside those that the telemetry shows."""

from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import Field, StrictFloat, StrictInt

from runtime.bridge.api.sessions import READ_ERRORS, WRITE_ERRORS, now_ms
from runtime.bridge.api.shapes import Moment, RecordingId, Values, capped
from runtime.bridge.service import SERVICE
from runtime.bridge.storage.values import LapRow
from runtime.web.errors import BadField
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("driver")
Number = StrictFloat | StrictInt
LONGEST_S: Final = 86_400.0
"""A reported lap takes no longer."""


class LapsQuery(Wire):
    """Which laps."""

    session_id: str | None = None
    limit: Annotated[int, capped(1000)] = 20


class LapTime(Values):
    """A reported lap."""

    id: int
    session_id: str
    lap_number: int
    lap_time_s: float
    best_sector: float | None
    avg_speed_kmh: float | None
    max_combo_g: float | None
    coast_pct: float | None
    recorded_at: Moment


class LapTimes(Wire):
    """Reported laps, newest first."""

    laps: list[LapTime]
    count: int


class LapRequest(Wire):
    """A lap to store; one of the same number of the session is replaced."""

    session_id: RecordingId
    lap_number: Annotated[StrictInt, Field(ge=0, le=1_000_000)]
    lap_time_s: Number = Field(description="seconds: above 0, 86 400 at most")
    best_sector: Number | None = None
    avg_speed_kmh: Number | None = None
    max_combo_g: Number | None = None
    coast_pct: Number | None = None


class LapSaved(Wire):
    """The lap is on disk."""

    saved: Literal[True] = True
    id: int


@routes.get("/laps", errors=READ_ERRORS)
async def list_laps(request: web.Request, *, query: LapsQuery) -> LapTimes:
    """List reported laps, newest first."""
    rows = await request.app[SERVICE].db.laps(query.session_id, query.limit)
    found = [LapTime.model_validate(row) for row in rows]
    return LapTimes(laps=found, count=len(found))


@routes.post("/lap", errors=WRITE_ERRORS)
async def put_lap(request: web.Request, *, body: LapRequest) -> LapSaved:
    """Store a lap; its session is made where it is unknown."""
    time_s = float(body.lap_time_s)
    if not 0 < time_s <= LONGEST_S:
        raise BadField("lap_time_s: must be above 0, and 86400 s at most", param="lap_time_s")
    row = await request.app[SERVICE].db.put_lap(
        LapRow(
            session_id=body.session_id,
            lap_number=body.lap_number,
            lap_time_s=time_s,
            recorded_at=now_ms(),
            best_sector=_float(body.best_sector),
            avg_speed_kmh=_float(body.avg_speed_kmh),
            max_combo_g=_float(body.max_combo_g),
            coast_pct=_float(body.coast_pct),
        )
    )
    return LapSaved(id=row.id)


def _float(value: float | None) -> float | None:
    return None if value is None else float(value)
