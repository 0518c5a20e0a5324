"""Health, the CAN bus, and statistics of language-model calls."""

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Final, Literal, TypeAlias

from aiohttp import web
from pydantic import Field

from runtime.bridge.api.metrics import collect_families
from runtime.bridge.api.shapes import (
    READ_ERRORS,
    AnswerModel,
    Moment,
    cap_at,
    fields_of,
    format_iso,
)
from runtime.bridge.can.devices import UsbDevice, list_usb_devices
from runtime.bridge.can.reader import NO_READER, CanSnapshot
from runtime.bridge.live.outlets.outlet import State as OutletState
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.stats import quantile
from runtime.bridge.session.units import Decimals, Seconds, Share, Tenths
from runtime.bridge.storage.coaching import ModelCall, read_model_calls
from runtime.bridge.storage.records import Backend, Figures, unix_ms
from runtime.web.metrics import CONTENT_TYPE, render
from runtime.web.routes import Routes
from runtime.web.wire import Wire

DAMAGED: Final = "the database file is damaged: some of the stored data cannot be read"
MINUTE_MS: Final = 60_000
Micros: TypeAlias = Annotated[float, Decimals(3)]
core = Routes("core")
diagnostics = Routes("diagnostics")


class CanHealth(AnswerModel):
    """The CAN bus at a glance."""

    connected: bool
    fps: Tenths = Field(validation_alias="frames_per_second")
    frames_total: int
    frames_unknown: int
    channel: str | None
    bitrate: int | None
    last_frame_age_s: Seconds | None
    bus_load_pct: Tenths | None
    session_id: str | None


class SimulatorHealth(AnswerModel):
    """The synthetic car."""

    running: bool
    lap_seconds: float | None
    speed_x: float | None = Field(description="requested speed of its clock")
    reached_x: Tenths | None = Field(
        description="speed reached over the last seconds; null: not known yet"
    )


class ModelHealth(AnswerModel):
    """The language-model server of the coach."""

    up: bool
    transport: Literal["http", "none"]
    http_url: str | None = Field(validation_alias="url")
    http_model: str | None = Field(validation_alias="model")


class ReplayHealth(Wire):
    """Whether a replay is running."""

    running: bool


class StreamsHealth(AnswerModel):
    """The listeners of live streams."""

    listeners: int
    published: int
    dropped: int = Field(description="events that slow listeners missed")
    refused: int
    spectators: int


@fields_of(Figures)
class WriterHealth(AnswerModel):
    """The database writer: its commits, and the times of the latest ones."""

    group_mean: Annotated[float, Decimals(2)]
    commit_p50_ms: Micros
    commit_p99_ms: Micros


class DbHealth(AnswerModel):
    """The database."""

    backend: Literal[Backend, "none"]
    schema_version: int
    recovered_from: str | None
    problem: str | None = Field(
        description="why no database is open, or a note on damage to its file; null: no problem"
    )
    writer: WriterHealth | None


class OutletHealth(AnswerModel):
    """A server that receives live points."""

    name: Literal["influx", "mqtt"]
    place: str = Field(description="its address, without credentials")
    state: OutletState
    problem: str | None = Field(
        description="why it is unavailable, or its latest refusal; null: no problem"
    )
    sent: int
    waiting: int
    dropped: int = Field(description="events dropped while it was unavailable")
    refused: int = Field(description="points that it refused")


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
    outlets: list[OutletHealth]
    uptime_s: float


class KnownId(AnswerModel):
    """A decoded message."""

    can_id: str
    message: str | None
    count: int = Field(validation_alias="frames")
    hz: Tenths
    expected_hz: float | None
    age_s: Seconds | None


class UnknownId(AnswerModel):
    """An id without a known message."""

    can_id: str
    count: int = Field(validation_alias="frames")
    hz: Tenths


@fields_of(UsbDevice)
class UsbRecord(AnswerModel):
    """A USB device that is plugged in."""


@fields_of(CanSnapshot, "counts", "faults")
class CanDiagnostics(AnswerModel):
    """The CAN reader; rates cover the last five seconds."""

    session_id: str | None
    frames_total: int
    frames_unknown: int
    frames_error: int = Field(validation_alias="errors")
    malformed: int
    frames_per_second: Tenths
    bus_load_pct: Tenths | None
    last_frame_age_s: Seconds | None
    unknown_ids: tuple[UnknownId, ...]
    ids: tuple[KnownId, ...]
    last_error_at: str | None
    next_retry_in_s: Tenths | None
    dropped_rows: int
    dbc_files: tuple[str, ...]
    car_id: str | None
    usb_devices: tuple[UsbRecord, ...]


class ModelCallsQuery(Wire):
    """Filters of the list."""

    session_id: str | None = None
    role: str | None = None
    limit: Annotated[int, cap_at(1000)] = 100
    since_minutes: float = Field(0.0, ge=0, le=1e9, description="0: all")


class RoleCalls(Wire):
    """The calls of one role."""

    role: str
    count: int
    p50_latency_ms: Tenths | None
    fallback_rate: Share


class Reason(Wire):
    """Why the model's text was not used."""

    reason: str
    count: int


@fields_of(ModelCall)
class ModelCallRecord(AnswerModel):
    """A call of the model."""

    role: str | None
    mode: str | None
    prompt_chars: int | None
    completion_chars: int | None
    latency_ms: Tenths | None
    ts: Moment


class ModelCallsAnswer(Wire):
    """Statistics of all matching calls of the model, and the newest calls."""

    count: int
    p50_latency_ms: Tenths | None
    p95_latency_ms: Tenths | None
    error_rate: Share
    fallback_rate: Share
    truncation_rate: Share
    by_role: list[RoleCalls]
    reasons: list[Reason]
    rows: list[ModelCallRecord]


@core.get("/health")
async def health(request: web.Request) -> Health:
    """Show the state of the bridge, without disk access or waiting."""
    service = request.app[SERVICE]
    bus = service.bus
    reader = bus.snapshot() if bus is not None else NO_READER
    car = service.simulator.state() if service.simulator is not None else None
    model = service.model.state if service.model is not None else None
    return Health(
        version=service.version,
        engine="sonic_model" if service.settings.live_cues else "rules",
        coach="local_model" if model is not None and model.up else "rule",
        driver_level=service.cues.level,
        track=service.active_track.name if service.active_track else "",
        analytics_db=service.store is not None,
        active_session_id=service.active_session(),
        can=CanHealth.of(
            reader, reader.counts, session_id=service.bus_session() if bus is not None else None
        ),
        timestamp=format_iso(unix_ms()) or "",
        simulator=SimulatorHealth.of(car, running=car is not None and car.running),
        local_model=ModelHealth.of(
            model,
            up=model is not None and model.up,
            transport=model.transport if model is not None else "none",
        ),
        replay=ReplayHealth(running=bool(service.replays and service.replays.current)),
        streams=StreamsHealth.of(service.hub, spectators=service.spectators.views),
        db=_describe_database(service),
        outlets=[
            OutletHealth.of(outlet, name=outlet.target.name, place=outlet.target.place)
            for outlet in service.outlets
        ],
        uptime_s=round(time.monotonic() - service.started, 1),
    )


@core.get("/metrics", text="text/plain")
async def metrics(request: web.Request) -> web.Response:
    """Return the metrics of the bridge as text for Prometheus."""
    text = render(collect_families(request.app[SERVICE]))
    return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})


def _describe_database(service: Service) -> DbHealth:
    store = service.store
    if store is None:
        why = service.why_no_database or None
        return DbHealth.of(None, backend="none", schema_version=0, problem=why)
    problem = DAMAGED if store.damaged else None
    return DbHealth.of(store, problem=problem, writer=store.figures())


@diagnostics.get("/diagnostics/can")
async def can(request: web.Request) -> CanDiagnostics:
    """Show the state of the CAN reader, and the connected adapters."""
    return await read_can_state(request.app[SERVICE])


async def read_can_state(service: Service) -> CanDiagnostics:
    """Read the current state of the bus."""
    now = service.bus.snapshot() if service.bus is not None else NO_READER
    wiring, error_s = service.wiring, now.last_error_at
    return CanDiagnostics.of(
        now,
        now.counts,
        session_id=service.bus_session(),
        last_error_at=format_iso(None if error_s is None else round(error_s * 1000)),
        dropped_rows=service.recorder.dropped if service.recorder is not None else 0,
        dbc_files=wiring.dbc_files if now.loaded else (),
        car_id=wiring.car.id if wiring.car is not None else None,
        usb_devices=tuple(await asyncio.to_thread(list_usb_devices)),
    )


@diagnostics.get("/diagnostics/llm_friction", errors=READ_ERRORS)
async def llm_friction(request: web.Request, *, query: ModelCallsQuery) -> ModelCallsAnswer:
    """Show the calls of the language model, newest first, and their statistics."""
    span = query.since_minutes * MINUTE_MS
    since = int(unix_ms() - span) if span else 0
    calls = await request.app[SERVICE].db.read(
        lambda reader: read_model_calls(reader, query.session_id, query.role, since)
    )
    return summarise_calls(calls, query.limit)


def summarise_calls(calls: Sequence[ModelCall], limit: int) -> ModelCallsAnswer:
    """Summarise *calls*, newest first, and list the newest *limit* of them."""
    reasons = Counter(call.reason for call in calls if call.reason)
    by_role = {role: [c for c in calls if c.role == role] for role in {c.role for c in calls}}
    return ModelCallsAnswer(
        count=len(calls),
        p50_latency_ms=_find_quantile(calls, 0.5),
        p95_latency_ms=_find_quantile(calls, 0.95),
        error_rate=_compute_share([call.error is not None for call in calls]),
        fallback_rate=_compute_share([call.fell_back for call in calls]),
        truncation_rate=_compute_share([call.truncated for call in calls]),
        by_role=[
            RoleCalls(
                role=role,
                count=len(own),
                p50_latency_ms=_find_quantile(own, 0.5),
                fallback_rate=_compute_share([call.fell_back for call in own]),
            )
            for role, own in sorted(by_role.items())
        ],
        reasons=[
            Reason(reason=name, count=count)
            for name, count in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))
        ],
        rows=[ModelCallRecord.of(call) for call in calls[:limit]],
    )


def _find_quantile(calls: Sequence[ModelCall], p: float) -> float | None:
    return quantile([call.latency_ms for call in calls], p)


def _compute_share(flags: Sequence[bool]) -> float:
    return sum(flags) / len(flags) if flags else 0.0
