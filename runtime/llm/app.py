"""Assemble the language-model server: from settings to an application."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from typing import Final

from aiohttp import web

from runtime import VERSION
from runtime.llm.api import (
    chat,
    completions,
    documents,
    embeddings,
    health,
    models,
    pages,
    requests,
    responses,
    sysmodel,
    tenants,
)
from runtime.llm.api.calls import QUEUE
from runtime.llm.api.effects import EFFECTS, HEADER
from runtime.llm.api.wire import ErrorAnswer
from runtime.llm.awake import KeepAwake, choose_command
from runtime.llm.chats import Admission, Chats, Ticket
from runtime.llm.documents.document import StoreUnusable
from runtime.llm.documents.store import DocumentStore, StoreSettings
from runtime.llm.engine.embedding import Embedder
from runtime.llm.engine.pool import Pool, make_shutdown_error
from runtime.llm.errors import BenchmarkFailed, JsonObject, render
from runtime.llm.hostinfo import describe_host
from runtime.llm.identity import client_id, escape_header
from runtime.llm.models.catalog import Catalog
from runtime.llm.models.daemon import Patience
from runtime.llm.models.system.benchmark import (
    Benchmark,
    BenchmarkRefused,
    error_body,
)
from runtime.llm.models.system.providers import BUNDLED, build
from runtime.llm.models.system.state import CachedProbe
from runtime.llm.models.upstreams.fleet import PROBE_S, Upstreams
from runtime.llm.service import SERVICE, Service
from runtime.llm.settings import LlmSettings
from runtime.web.access import LOOPBACK_ORIGINS, Bearer, HostPolicy
from runtime.web.buckets import RateLimiter
from runtime.web.discovery import Announcement, Announcer, reachable_addresses
from runtime.web.door import Door, install
from runtime.web.errors import ApiError, RequestTimeout
from runtime.web.openapi import describe, publish
from runtime.web.routes import Routes, mount
from runtime.web.serve import CannotStart, Ending

log = logging.getLogger(__name__)
ANNOUNCEMENT: Final = Announcement(
    "_llmsvc._tcp.local.",
    "LLMSVC",
    {"api": "openai-compat", "path": "/v1", "health": "/health", "ver": VERSION},
)

GROUPS: Final[tuple[Routes, ...]] = (
    health.routes,
    models.routes,
    chat.routes,
    completions.routes,
    responses.routes,
    embeddings.routes,
    documents.routes,
    tenants.routes,
    sysmodel.routes,
    requests.routes,
    pages.routes,
    pages.files,
)
GENERATING: Final = (chat.PATH, completions.PATH, responses.PATH)
EXPOSED: Final = (
    "X-Request-Id",
    "X-Client-Id",
    "X-Queue-Position",
    "X-Queue-Depth",
    "X-Estimated-Wait-Ms",
    HEADER,
    "Retry-After",
    "X-RateLimit-Client",
    "X-Tenant-Id",
)
TICK_S: Final = 30.0
MAX_LOGGED: Final = 128
"""Maximum characters of a name in the log."""
GRACE_S: Final = 7.0
"""Time for running replies at shutdown, so that final frames and engines end within 10 s."""


def describe_api() -> JsonObject:
    """Write the OpenAPI document of the server."""
    return describe(
        "Paddock language-model server",
        VERSION,
        GROUPS,
        error_model=ErrorAnswer,
        render=render_error,
        description="OpenAI-compatible chat and embeddings on this device, with a document store.",
    )


def render_error(error: ApiError) -> JsonObject:
    """Render the body of an error answer."""
    if isinstance(error, BenchmarkRefused | BenchmarkFailed):
        return error_body(error)
    return render(error)


def make_app(service: Service) -> web.Application:
    """Make the application around *service*, whose parts stop with it."""
    settings = service.settings
    app = web.Application()
    app[SERVICE] = service
    origins = settings.cors_origins or list(LOOPBACK_ORIGINS)
    door = Door(
        render=render_error,
        hosts=HostPolicy.bound_to(
            settings.host,
            allowed_hosts=settings.allowed_hosts,
            origins=origins if settings.allow_cors else (),
            pages=(pages.PATH, pages.DOCS),
        ),
        auth=Bearer(settings.api_key.get_secret_value()),
        gated_prefixes=("/v1",),
        body_bytes=settings.body_budget_bytes,
        exposed_headers=EXPOSED,
    )
    install(app, door)
    mount(app, *GROUPS)
    publish(app, describe_api)
    app.cleanup_ctx.append(_lifetime)
    app.on_response_prepare.append(_add_chat_headers)
    app.on_response_prepare.append(tenants.sign)
    return app


async def drain(app: web.Application) -> None:
    """Withdraw the mDNS announcement, refuse new and queued requests; running ones continue."""
    service = app[SERVICE]
    await service.announcer.stop()
    service.admission.refuse(make_shutdown_error())
    service.embedder.drain()


async def stop_running(app: web.Application) -> None:
    """End the running requests, each with an error that names the reason."""
    service = app[SERVICE]
    service.admission.stop_all(make_shutdown_error())
    await service.embedder.close()


ENDING: Final = Ending(grace_s=GRACE_S, on_drain=drain, on_deadline=stop_running)


def assemble(settings: LlmSettings) -> Service:
    """Create and connect all parts, without loading or contacting anything.

    Raises ValueError that names the setting if the settings of the system model do not fit.
    """
    host = describe_host()
    folders = [settings.models_folder, BUNDLED.parent]
    catalog = Catalog(folders, soc=host.soc_model)
    pool = Pool(settings)
    provider = build(
        settings.sysmodel,
        settings.data_dir,
        pool.generate,
    )
    probing = CachedProbe(provider)
    wait_s = settings.upstream_wait_ms / 1000
    patience = Patience(settings.upstream_connect_ms / 1000, PROBE_S, wait_s, wait_s)
    upstreams = Upstreams(settings.upstreams, settings.upstream_keys, patience)
    admission = Admission(settings.max_queue_depth)
    return Service(
        settings=settings,
        version=VERSION,
        catalog=catalog,
        pool=pool,
        chats=Chats(
            catalog,
            pool,
            provider,
            probing,
            upstreams,
            admission,
            settings,
        ),
        upstreams=upstreams,
        admission=admission,
        provider=provider,
        probing=probing,
        benchmark=Benchmark(provider, probing, max_chars=settings.max_prompt_chars),
        limiter=RateLimiter(
            settings.rate_limit_per_sec,
            settings.rate_limit_burst,
            per_address=settings.rate_limit_per_addr,
        ),
        awake=KeepAwake(choose_command(sys.platform) if settings.keep_awake else None),
        announcer=Announcer(ANNOUNCEMENT, reachable_addresses),
        host=host,
        embedder=Embedder(pool, settings.embedding_queue),
    )


async def _lifetime(app: web.Application) -> AsyncIterator[None]:
    service = app[SERVICE]
    service.admission.on_finish = _log_request
    service.store = await _open_store(service.settings)
    service.upstreams.start()
    monitor = asyncio.create_task(_monitor(service), name="monitor")
    yield
    monitor.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await monitor
    await service.announcer.stop()
    await service.probing.close()
    await service.provider.close()
    await service.upstreams.close()
    await service.embedder.close()
    await service.pool.close()
    await service.store.close()
    await service.awake.close()


async def _open_store(settings: LlmSettings) -> DocumentStore:
    limits = StoreSettings(
        max_chunks=settings.max_chunks,
        max_tenants=settings.max_tenants,
        exact_max=settings.exact_search_max,
        index_bytes=settings.search_cache_bytes,
    )
    try:
        return await DocumentStore.open(settings.data_dir / "documents", limits)
    except StoreUnusable as problem:
        raise CannotStart(f"the document store cannot be used: {problem}", 3) from problem


async def _monitor(service: Service) -> None:
    """Every half minute, unload idle engines; stop an idle server if the settings say so."""
    settings = service.settings
    idle_s, stop_s = settings.idle_evict_ms / 1000, settings.idle_stop_ms / 1000
    while True:
        await asyncio.sleep(min(TICK_S, idle_s or TICK_S, stop_s or TICK_S))
        quiet = time.monotonic() - service.last_activity
        service.pool.tick(idle_s)
        if stop_s and quiet >= stop_s and not service.admission.unfinished:
            log.info("the server was idle for %d s and stops", stop_s)
            os.kill(os.getpid(), signal.SIGTERM)


def _log_request(ticket: Ticket) -> None:
    record = requests.make_record(ticket)
    fields = record.model_dump(exclude={"lane", "created", "completion_tokens"})
    for name in ("client", "model"):  # chosen by clients
        fields[name] = fields[name][:MAX_LOGGED]
    log.info("chat", extra={"fields": fields})


async def _add_chat_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add the headers of generated answers, also to errors: client, queue, ignored fields."""
    if request.path not in GENERATING:
        return
    name = client_id(request.headers.get("User-Agent"))
    response.headers["X-Client-Id"] = escape_header(name)
    response.headers.update(request.get(QUEUE, {}))
    effects = request.get(EFFECTS)
    if effects is not None and effects.ignored:
        response.headers[HEADER] = ", ".join(effects.ignored)
    if response.status == RequestTimeout.status:
        response.headers.setdefault("x-should-retry", "false")
