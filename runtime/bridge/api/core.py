"""Whether the bridge lives, and what it is connected to."""

import time
from datetime import UTC, datetime
from typing import Literal

from aiohttp import web

from runtime.bridge.api.shapes import iso
from runtime.bridge.service import SERVICE
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("core")


class CanHealth(Wire):
    """The CAN bus in one look."""

    connected: bool
    fps: float
    frames_total: int


class SimulatorHealth(Wire):
    """The synthetic car."""

    running: bool
    lap_seconds: float | None
    speed_x: float | None


class ModelHealth(Wire):
    """The language-model server that the coach asks."""

    up: bool
    transport: Literal["http", "none"]
    http_url: str | None
    http_model: str | None


class ReplayHealth(Wire):
    """Whether a session is replayed."""

    running: bool


class WriterHealth(Wire):
    """How writing goes: commits, and how long the last ones took."""

    commits: int
    refused: int
    failed: int
    group_mean: float
    commit_p50_ms: float
    commit_p99_ms: float
    queued: int


class DbHealth(Wire):
    """The database."""

    backend: Literal["analytical", "lightweight", "none"]
    schema_version: int
    recovered_from: str | None
    writer: WriterHealth | None


class Health(Wire):
    """The state of the bridge."""

    status: Literal["ok"] = "ok"
    version: str
    engine: Literal["sonic_model", "rules"]
    coach: Literal["local_model", "rule"] | None
    driver_level: str
    track: str
    analytics_db: bool
    active_session_id: str
    can: CanHealth
    timestamp: str
    simulator: SimulatorHealth
    local_model: ModelHealth
    replay: ReplayHealth
    db: DbHealth
    uptime_s: float


@routes.get("/health", gated=False)
async def health(request: web.Request) -> Health:
    """Say that the bridge is up; asks no disk and waits for nobody."""
    service = request.app[SERVICE]
    store = service.store
    now = datetime.now(UTC)
    return Health(
        version=service.version,
        engine="rules",
        coach=None,
        driver_level="intermediate",
        track=service.active_track.name if service.active_track else "",
        analytics_db=store is not None,
        active_session_id=(store.active_session() if store else None) or "",
        can=CanHealth(connected=False, fps=0.0, frames_total=0),
        timestamp=iso(int(now.timestamp() * 1000)) or "",
        simulator=SimulatorHealth(running=False, lap_seconds=None, speed_x=None),
        local_model=ModelHealth(up=False, transport="none", http_url=None, http_model=None),
        replay=ReplayHealth(running=False),
        db=_db(service.store is not None, request),
        uptime_s=round(time.monotonic() - service.started, 1),
    )


def _db(there: bool, request: web.Request) -> DbHealth:
    if not there:
        return DbHealth(backend="none", schema_version=0, recovered_from=None, writer=None)
    store = request.app[SERVICE].db
    figures = store.figures()
    return DbHealth(
        backend=store.backend,
        schema_version=store.schema_version,
        recovered_from=store.recovered_from,
        writer=WriterHealth(
            commits=figures.commits,
            refused=figures.refused,
            failed=figures.failed,
            group_mean=round(figures.group_mean, 2),
            commit_p50_ms=round(figures.commit_p50_ms, 3),
            commit_p99_ms=round(figures.commit_p99_ms, 3),
            queued=figures.queued,
        ),
    )
