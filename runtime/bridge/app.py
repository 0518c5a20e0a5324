"""Puts the bridge together: settings in, application out."""

import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from aiohttp import web

from runtime.bridge import VERSION
from runtime.bridge.api import (
    cars,
    core,
    diagnostics,
    drivers,
    imports,
    ingest,
    laptimes,
    leaderboard,
    recordings,
    sessions,
    signals,
    tracks,
)
from runtime.bridge.api.wire import ErrorAnswer
from runtime.bridge.catalog.carfile import CarError
from runtime.bridge.catalog.cars import find_car, load_car
from runtime.bridge.catalog.dbc import DbcError, load_dbc
from runtime.bridge.catalog.registry import load_registry
from runtime.bridge.errors import JsonObject, render
from runtime.bridge.lapping import LapBook
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.storage.errors import SchemaTooNew, StoreUnusable
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import SignalRow
from runtime.bridge.tracks.library import Library, read_track
from runtime.bridge.tracks.model import Track, TrackError
from runtime.web.hosts import HostPolicy
from runtime.web.instance import AlreadyRunning
from runtime.web.middleware import Door, install
from runtime.web.openapi import describe, publish
from runtime.web.routes import Routes, mount
from runtime.web.serve import CannotStart, Ending

log = logging.getLogger(__name__)

GROUPS: Final[tuple[Routes, ...]] = (
    core.routes,
    # The fixed paths below /session stand before those with an id: the first that fits answers.
    imports.routes,
    sessions.routes,
    ingest.routes,
    recordings.routes,
    signals.routes,
    laptimes.routes,
    tracks.routes,
    cars.routes,
    drivers.routes,
    leaderboard.routes,
    diagnostics.routes,
)
EXPOSED: Final = (
    "X-Request-Id",
    "X-Bridge-Session",
    "X-Bridge-Table",
    "X-Bridge-Rows",
    "Retry-After",
)
ENDING: Final = Ending(grace_s=7.0)
BAD_CONFIGURATION: Final = 2
SCHEMA: Final = 3


def describe_api() -> JsonObject:
    """The OpenAPI document of the bridge."""
    return describe(
        "Paddock bridge",
        VERSION,
        GROUPS,
        error_model=ErrorAnswer,
        render=render,
        description="Telemetry sessions of a car: recorded, imported, cut into laps, handed back.",
    )


def make_app(service: Service) -> web.Application:
    """The application around *service*, whose parts start and stop with it."""
    settings = service.settings
    app = web.Application()
    app[SERVICE] = service
    door = Door(
        render=render,
        hosts=HostPolicy.bound_to(
            settings.host,
            allowed_hosts=settings.allowed_hosts,
            origins=settings.cors_origins,
        ),
        exposed_headers=EXPOSED,
        request_id_header=True,
    )
    install(app, door)
    mount(app, *GROUPS)
    publish(app, describe_api())
    app.cleanup_ctx.append(_lifetime)
    return app


def assemble(settings: BridgeSettings) -> Service:
    """Every part that needs no running loop. Raises `CannotStart`, which names the setting."""
    library = Library.read(settings.tracks_dir)
    for track, doubts in library.doubts.items():
        for doubt in doubts:
            log.warning("track %s: %s", track, doubt.detail)
    for track, why in library.unreadable.items():
        log.warning("track %s is left out: %s", track, why)
    _packs(settings)
    if settings.simulate or settings.can_channel is not None:
        log.warning("there is no live source yet: neither the CAN bus nor the simulator is read")
    return Service(
        settings=settings,
        version=VERSION,
        library=library,
        active_track=_active(settings, library),
        loaded_car=_car(settings),
    )


def _packs(settings: BridgeSettings) -> None:
    """Read the DBC files of the settings, which must be good."""
    for name in settings.can_dbc:
        known = settings.data_dir / "dbc" / f"{name}.dbc"
        try:
            load_dbc(known if known.is_file() else Path(name))
        except DbcError as error:
            raise CannotStart(f"can_dbc: {error}", BAD_CONFIGURATION) from error


def _car(settings: BridgeSettings) -> str:
    """Id of the car of the settings, whose file must be good."""
    if settings.can_car_config is None or settings.can_no_car_config:
        return ""
    try:
        return load_car(find_car(settings.cars_dir, settings.can_car_config)).id
    except CarError as error:
        raise CannotStart(f"can_car_config: {error}", BAD_CONFIGURATION) from error


def _active(settings: BridgeSettings, library: Library) -> Track | None:
    """The track of the settings: an id of the library, or the path of a file."""
    wanted = settings.track.strip()
    if not wanted:
        return None
    if (known := library.by_id(wanted)) is not None:
        return known
    if not wanted.endswith(".json"):
        log.warning("track %s: there is no such track file; going on without a track", wanted)
        return None
    try:
        track, doubts = read_track(Path(wanted))
    except TrackError as error:
        raise CannotStart(f"track: {error}", BAD_CONFIGURATION) from error
    for doubt in doubts:
        log.warning("track %s: %s", track.id, doubt.detail)
    return track


async def _lifetime(app: web.Application) -> AsyncIterator[None]:
    service = app[SERVICE]
    service.store = await _open(service.settings)
    if service.store is not None:
        service.laps = LapBook(service.store, service.library, service.active_track)
    yield
    await service.close()


async def _open(settings: BridgeSettings) -> Store | None:
    """The database; None where it cannot be opened, which the routes then say."""
    seed = [
        SignalRow(
            name=one.name,
            units=one.units,
            semantics=one.semantics,
            group=one.group,
            expected_hz=one.expected_hz,
            min_useful_hz=one.min_useful_hz,
            discovery=one.discovery,
            obd2_pid=one.obd2_pid,
        )
        for one in load_registry(settings.registry_file)
    ]
    try:
        return await Store.open(settings.db, settings.db_backend, seed)
    except AlreadyRunning as problem:
        raise CannotStart(str(problem), BAD_CONFIGURATION) from problem
    except SchemaTooNew as problem:
        raise CannotStart(f"db: {problem}", SCHEMA) from problem
    except StoreUnusable as problem:
        log.error("no database: %s", problem)
        return None
