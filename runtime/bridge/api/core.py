"""Whether the bridge lives, and what it is connected to."""

import time
from datetime import UTC, datetime
from typing import Final, Literal

from aiohttp import web
from pydantic import Field

from runtime.bridge.api.shapes import iso, rounded
from runtime.bridge.service import SERVICE, Service
from runtime.web.routes import Routes
from runtime.web.wire import Wire

DAMAGED: Final = "the file of the database is damaged: some of what is stored cannot be read"
routes = Routes("core")


class CanHealth(Wire):
    """The CAN bus in one look."""

    connected: bool
    fps: float
    frames_total: int
    frames_unknown: int
    channel: str | None
    bitrate: int | None
    last_frame_age_s: float | None
    bus_load_pct: float | None
    session_id: str | None


class SimulatorHealth(Wire):
    """The synthetic car."""

    running: bool
    lap_seconds: float | None
    speed_x: float | None = Field(description="speed of its clock that was asked for")
    reached_x: float | None = Field(
        description="speed that was reached over the last seconds; null: not known yet"
    )


class ModelHealth(Wire):
    """The language-model server that the coach asks."""

    up: bool
    transport: Literal["http", "none"]
    http_url: str | None
    http_model: str | None


class ReplayHealth(Wire):
    """Whether a session is replayed."""

    running: bool


class StreamsHealth(Wire):
    """The listeners of live streams."""

    listeners: int
    published: int
    dropped: int = Field(description="events that slow listeners did not get")
    refused: int
    spectators: int


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
    problem: str | None = Field(
        description="why no database is open, or that its file is damaged; null: all is well"
    )
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
    streams: StreamsHealth
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
        engine="sonic_model" if service.settings.live_cues else "rules",
        coach=service.desk.coach if service.desk is not None else "rule",
        driver_level=service.cues.level,
        track=service.active_track.name if service.active_track else "",
        analytics_db=store is not None,
        active_session_id=service.active_session(),
        can=_can(service),
        timestamp=iso(int(now.timestamp() * 1000)) or "",
        simulator=_simulator(service),
        local_model=_model(service),
        replay=ReplayHealth(running=service.replays is not None and service.replays.running),
        streams=_streams(service),
        db=_db(service),
        uptime_s=round(time.monotonic() - service.started, 1),
    )


def _can(service: Service) -> CanHealth:
    if service.bus is None:
        return CanHealth(
            connected=False,
            fps=0.0,
            frames_total=0,
            frames_unknown=0,
            channel=None,
            bitrate=None,
            last_frame_age_s=None,
            bus_load_pct=None,
            session_id=None,
        )
    now = service.bus.snapshot()
    return CanHealth(
        connected=now.connected,
        fps=round(now.counts.frames_per_second, 1),
        frames_total=now.counts.frames_total,
        frames_unknown=now.counts.frames_unknown,
        channel=now.channel,
        bitrate=now.bitrate,
        last_frame_age_s=rounded(now.counts.last_frame_age_s, 3),
        bus_load_pct=rounded(now.counts.bus_load_pct, 1),
        session_id=service.bus_session(),
    )


def _model(service: Service) -> ModelHealth:
    if service.desk is None:
        return ModelHealth(up=False, transport="none", http_url=None, http_model=None)
    now = service.desk.state
    return ModelHealth(up=now.up, transport=now.transport, http_url=now.url, http_model=now.model)


def _simulator(service: Service) -> SimulatorHealth:
    state = service.bus.simulator() if service.bus is not None else None
    if state is None:
        return SimulatorHealth(running=False, lap_seconds=None, speed_x=None, reached_x=None)
    return SimulatorHealth(
        running=state.running,
        lap_seconds=state.lap_seconds,
        speed_x=state.speed_x,
        reached_x=rounded(state.reached_x, 1),
    )


def _streams(service: Service) -> StreamsHealth:
    figures = service.hub.figures()
    return StreamsHealth(
        listeners=figures.listeners,
        published=figures.published,
        dropped=figures.dropped,
        refused=figures.refused,
        spectators=service.spectators.views,
    )


def _db(service: Service) -> DbHealth:
    store = service.store
    if store is None:
        return DbHealth(
            backend="none",
            schema_version=0,
            recovered_from=None,
            problem=service.why_no_database or None,
            writer=None,
        )
    figures = store.figures()
    return DbHealth(
        backend=store.backend,
        schema_version=store.schema_version,
        recovered_from=store.recovered_from,
        problem=DAMAGED if store.damaged else None,
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
