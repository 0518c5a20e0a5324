"""Puts the web application together: routes, error bodies and access rules around a service."""

from functools import partial
from typing import Final

from aiohttp import web

from runtime import VERSION
from runtime.bridge.api import (
    analysis,
    analyze,
    coaching,
    compare,
    drivers,
    imports,
    ingest,
    overlay,
    pages,
    pictures,
    questions,
    recordings,
    sessions,
    spectators,
    status,
    streams,
    tracks,
)
from runtime.bridge.errors import ErrorAnswer, JsonObject, render
from runtime.bridge.lifespan import run_service
from runtime.bridge.service import SERVICE, Service
from runtime.web.access import HostPolicy
from runtime.web.door import Door, install
from runtime.web.openapi import describe, publish
from runtime.web.routes import mount
from runtime.web.serve import Ending

GROUPS: Final = (
    pages.routes,
    pages.files,
    status.core,
    status.diagnostics,
    sessions.routes,
    imports.routes,
    ingest.routes,
    recordings.routes,
    recordings.signal_routes,
    analysis.routes,
    pictures.routes,
    compare.routes,
    overlay.routes,
    drivers.routes,
    drivers.board_routes,
    tracks.routes,
    tracks.car_routes,
    streams.routes,
    streams.replay_routes,
    spectators.routes,
    analyze.routes,
    coaching.routes,
    questions.routes,
)
EXPOSED: Final = (
    "X-Request-Id",
    "X-Bridge-Session",
    "X-Bridge-Table",
    "X-Bridge-Rows",
    "Retry-After",
)
ENDING: Final = Ending(grace_s=7.0)


def describe_api() -> JsonObject:
    """Compose the OpenAPI document of the bridge."""
    return describe(
        "Paddock bridge",
        VERSION,
        GROUPS,
        error_model=ErrorAnswer,
        render=render,
        description="Telemetry sessions of a car: recorded, imported, cut into laps, handed back.",
    )


def make_app(service: Service) -> web.Application:
    """Make the application around *service*, whose parts start and stop with it."""
    settings = service.settings
    app = web.Application()
    app[SERVICE] = service
    door = Door(
        render=render,
        hosts=HostPolicy.bound_to(
            settings.host,
            allowed_hosts=settings.allowed_hosts,
            origins=settings.cors_origins,
            pages=(*pages.PATHS, *spectators.PAGES),
        ),
        exposed_headers=EXPOSED,
        admit=spectators.check_token,
    )
    install(app, door)
    mount(app, *GROUPS)
    publish(app, describe_api)
    app.cleanup_ctx.append(partial(run_service, groups=GROUPS))
    return app
