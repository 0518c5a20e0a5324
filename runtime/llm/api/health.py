"""Health, metrics, and warming up a model."""

import asyncio
import time
from dataclasses import asdict, replace
from typing import Final, Literal

from aiohttp import web
from pydantic import Field

from runtime.llm.engine.pool import Engine
from runtime.llm.engine.protocol import ChatLoaded
from runtime.llm.errors import ModelNotFound
from runtime.llm.exposition import collect_families
from runtime.llm.inference import SYSTEM_MODEL, Backend
from runtime.llm.models.system.state import WARM_UP, Status, wait_for_token
from runtime.llm.models.upstreams.fleet import Upstream
from runtime.llm.models.upstreams.forwarding import generate
from runtime.llm.service import SERVICE, Service
from runtime.web.errors import ApiError
from runtime.web.metrics import CONTENT_TYPE, render
from runtime.web.routes import Reply, Routes
from runtime.web.wire import Wire, absent

WARM_BUDGET_S: Final = 60.0
Outcome = dict[str, object]
"""Result of warming up a model: fields of a `WarmAnswer`."""
WARM: Final[Outcome] = {"status": "warm", "engine_loaded": True}
routes = Routes("health")


class AttemptRecord(Wire):
    """A start of an engine."""

    backend: Backend
    result: str
    duration_ms: int


class ComputeRecord(Wire):
    """How a chat engine computes, as chosen when its model was loaded."""

    threads: int = Field(description="for a step that computes one token")
    prefill_threads: int = Field(description="for a step that computes several tokens")
    parallel: int = Field(description="replies that are generated side by side")
    chosen: Literal["given", "measured"] = Field(
        description="whether the number of threads comes from the settings or from a timing"
    )
    library: str = Field(
        description="package of llama.cpp, its version, and whether it was compiled here"
    )
    devices: list[str] = Field(description="devices that llama.cpp can compute on, by its names")
    gpu_layers: int = Field(description="layers on a GPU, counting the output as one")


class EngineRecord(Wire):
    """An engine in memory."""

    key: str
    backend: Backend
    attempts: list[AttemptRecord]
    n_ctx: int | None = absent("of a chat engine: token budget of prompt and reply")
    compute: ComputeRecord | None = absent("of a chat engine")


class FailureRecord(Wire):
    """A failed start of an engine."""

    key: str
    backend: Backend
    result: str
    duration_ms: int
    at: int


class SysmodelHealth(Wire):
    """State of the system model."""

    status_code: int | None
    status: str
    model_id: Literal["sysmodel-builtin"] = "sysmodel-builtin"
    is_default: Literal[True] = True
    provider: str
    error: str | None = absent("why the state is unknown")
    progress: float | None = absent("0 to 1 while downloading")


class StoreRecord(Wire):
    """Size and state of the document store."""

    tenants: int
    documents: int
    chunks: int
    disk_full: bool = Field(description="the last write found no room on the disk")
    recovered_from: str | None = absent("name of the damaged file that was set aside at the start")


class UpstreamRecord(Wire):
    """A server whose models are also served."""

    url: str
    state: Literal["up", "down"]
    models: int = Field(description="number of models on its last list")
    inflight: int
    failures: int = Field(description="consecutive failed probes or requests")
    error: str | None = absent("why it is down")
    next_look_s: float | None = absent("of an upstream that is down: seconds until the next probe")


class Health(Wire):
    """The state of the server."""

    status: Literal["ok"] = "ok"
    service: Literal["llmsvc"] = "llmsvc"
    version: str
    queue_depth: int
    engines_loaded: int
    engines: list[EngineRecord]
    sysmodel: SysmodelHealth
    inflight: int
    uptime_s: int
    sessions_cached: int
    embedding_engines: list[EngineRecord]
    documents: StoreRecord
    auth: Literal["open", "key"]
    last_failures: list[FailureRecord]
    upstreams: list[UpstreamRecord] | None = absent("if the settings name any")


class WarmQuery(Wire):
    """Which model to warm up."""

    model: str = ""
    deep: bool = False


class WarmAnswer(Wire):
    """Result of warming up a model; times in milliseconds."""

    model: str
    status: Literal["warm", "sysmodel_not_ready", "timeout", "error"]
    ms: int
    engine_loaded: bool | None = absent()
    sysmodel_status: str | None = absent()
    error: str | None = absent()


@routes.get("/health", gated=False)
async def health(request: web.Request) -> Health:
    """Report what is loaded and the state of the system model, store and upstreams."""
    service = request.app[SERVICE]
    engines, figures = service.pool.list_engines(), await service.documents.figures()
    return Health(
        version=service.version,
        queue_depth=service.chats.local.waiting,
        engines_loaded=len(engines),
        engines=[_engine_record(engine) for engine in engines],
        embedding_engines=[
            _engine_record(encoder) for encoder in service.pool.list_engines("embedding")
        ],
        documents=StoreRecord(
            **figures._asdict(),
            disk_full=figures.full,
            recovered_from=service.documents.recovered_from,
        ),
        sysmodel=await _sysmodel_health(service),
        inflight=service.chats.local.running,
        uptime_s=int(time.monotonic() - service.began),
        sessions_cached=len(service.pool.sessions),
        auth="key" if service.settings.api_key.get_secret_value().strip() else "open",
        last_failures=[
            FailureRecord.model_validate(attempt._asdict() | {"at": int(attempt.at)})
            for attempt in service.pool.failures
        ],
        upstreams=[_upstream_record(upstream) for upstream in service.upstreams.all] or None,
    )


@routes.post("/health/warm", answers={503: WarmAnswer, 504: WarmAnswer})
async def warm(request: web.Request, *, query: WarmQuery) -> Reply[WarmAnswer]:
    """Warm up a model: load it and generate a token, within a minute."""
    service = request.app[SERVICE]
    service.touch()
    model = query.model.strip() or service.settings.selected_model_id
    began = time.monotonic()
    try:
        async with asyncio.timeout(WARM_BUDGET_S):
            if model == SYSTEM_MODEL:
                outcome = await _warm_system(service, deep=query.deep)
            elif await service.chats.is_elsewhere(model):
                call = replace(WARM_UP, model=model)
                await wait_for_token(generate(service.upstreams, call))
                outcome = WARM
            else:
                outcome = await _warm_local(service, model)
    except ApiError as error:
        outcome = {"status": "error", "error": error.message}
    except TimeoutError:
        timeout = WarmAnswer(model=model, status="timeout", ms=round(WARM_BUDGET_S * 1000))
        return Reply(timeout, status=504)
    ms = round((time.monotonic() - began) * 1000)
    answer = WarmAnswer.model_validate({**outcome, "model": model, "ms": ms})
    return Reply(answer, status=200 if answer.status == "warm" else 503)


@routes.get("/metrics", gated=False, text="text/plain")
async def metrics(request: web.Request) -> web.Response:
    """Return the metrics as text for Prometheus."""
    service = request.app[SERVICE]
    text = render(collect_families(service, await service.documents.figures()))
    return web.Response(body=text.encode(), headers={"Content-Type": CONTENT_TYPE})


def _engine_record(engine: Engine) -> EngineRecord:
    attempt = AttemptRecord.model_validate(engine.attempt._asdict())
    loaded = engine.model.loaded
    compute = (
        ComputeRecord.model_validate(asdict(loaded)) if isinstance(loaded, ChatLoaded) else None
    )
    return EngineRecord(
        key=engine.key,
        backend=engine.backend,
        attempts=[attempt],
        n_ctx=engine.budget or None,
        compute=compute,
    )


def _upstream_record(upstream: Upstream) -> UpstreamRecord:
    wait_s = max(0.0, upstream.due - time.monotonic())
    return UpstreamRecord(
        url=upstream.url,
        state="up" if upstream.up else "down",
        models=len(upstream.models or ()),
        inflight=upstream.running,
        failures=max(upstream.unlisted, upstream.broken),
        error=upstream.fault,
        next_look_s=None if upstream.up else round(wait_s, 1),
    )


async def _sysmodel_health(service: Service) -> SysmodelHealth:
    state = await service.probing.state()
    return SysmodelHealth(
        status_code=state.code if state.error is None else None,
        status=state.label,
        provider=service.provider.name,
        error=state.error,
        progress=state.progress,
    )


async def _warm_system(service: Service, *, deep: bool) -> Outcome:
    state = await service.probing.state()
    if state.code != Status.AVAILABLE:
        return {"status": "sysmodel_not_ready", "sysmodel_status": state.label}
    if deep:
        await wait_for_token(service.provider.generate(WARM_UP))
    return WARM


async def _warm_local(service: Service, model: str) -> Outcome:
    entry = await asyncio.to_thread(service.catalog.find, model)
    if entry is None:
        raise ModelNotFound("this machine has no such model")
    meta = await asyncio.to_thread(service.catalog.meta, entry)
    if meta.kind == "embedding":
        await service.embedder.warm(entry)
    else:
        await service.pool.warm(entry)
    return WARM
