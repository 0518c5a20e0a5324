"""Puts the bridge together: settings in, application out."""

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

from aiohttp import web

from runtime import VERSION
from runtime.bridge.analysis.reference import ReferenceBook
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
from runtime.bridge.api.shapes import recording_id
from runtime.bridge.can.carfile import CarError
from runtime.bridge.can.cars import LoadedCar, Wiring, find_car, load_car
from runtime.bridge.can.dbc import load_dbc, merge_messages
from runtime.bridge.can.registry import load_registry
from runtime.bridge.can.settings import check_interface
from runtime.bridge.checking import must_work, track_warnings, validate, warnings
from runtime.bridge.coach.gather import Gathering
from runtime.bridge.coach.lessons import lessons_of
from runtime.bridge.coach.opening import open_coach, open_grader, open_model
from runtime.bridge.coach.wording.words import words_of
from runtime.bridge.driving import can_settings, run_live
from runtime.bridge.errors import ErrorAnswer, JsonObject, render
from runtime.bridge.example import store_example
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.storage.analyses import Analyses
from runtime.bridge.storage.errors import SchemaTooNew, StoreUnusable
from runtime.bridge.storage.lapbook import LapBook
from runtime.bridge.storage.store import Store
from runtime.bridge.track.library import Library
from runtime.web.access import HostPolicy
from runtime.web.discovery import Announcement, Announcer, reachable_addresses
from runtime.web.door import Door, install
from runtime.web.openapi import describe, publish
from runtime.web.routes import mount
from runtime.web.serve import Ending

log = logging.getLogger(__name__)

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
DEFAULT_DBC: Final = "paddock-dash"
ANNOUNCEMENT: Final = Announcement(
    "_paddock-bridge._tcp.local.", "Paddock", {"path": "/", "health": "/health", "ver": VERSION}
)
SIMULATED_CAR: Final = "oberling-vesper-30"


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
            pages=(*pages.PATHS, *spectators.PAGES),
        ),
        exposed_headers=EXPOSED,
        admit=spectators.check_token,
    )
    install(app, door)
    mount(app, *GROUPS)
    publish(app, describe_api)
    app.cleanup_ctx.append(_lifetime)
    return app


def assemble(settings: BridgeSettings) -> Service:
    """Every part that needs no running loop. Raises `CannotStart`, which names the setting."""
    validate(settings)
    with must_work("data_dir: registry/"):
        catalogue = load_registry(settings.registry_file)
    with must_work("track: "):
        library, active = Library.read(settings.tracks_dir).with_active(settings.track)
    if active is None and settings.track.strip():
        words = "track %s: there is no such track file; going on without a track; known: %s"
        log.warning(words, settings.track.strip(), ", ".join(library.tracks) or "none")
    notes = list(warnings(settings))
    notes += [
        f"track {id_}: {doubt.detail}" for id_, all_ in library.doubts.items() for doubt in all_
    ]
    notes += [f"track {id_} is left out: {why}" for id_, why in library.unreadable.items()]
    with must_work("can_session_id: "):
        recording_id(settings.can_session_id)
    for warning in (*notes, *track_warnings(active, settings)):
        log.warning("%s", warning)
    service = Service(
        settings=settings,
        version=VERSION,
        library=library,
        active_track=active,
        references=ReferenceBook(settings.data_dir / "reference"),
        wiring=_wiring(settings),
        catalogue=catalogue,
    )
    everywhere = settings.host in ("0.0.0.0", "::")  # noqa: S104 - nothing is bound to it here
    if settings.announce:
        own = [settings.host]
        service.announcer = Announcer(
            ANNOUNCEMENT, reachable_addresses if everywhere else lambda: own
        )
    service.cues = analyze.make_cues(service)
    with must_work("can_interface: "):
        check_interface(settings.can_interface)
    if settings.can_channel is not None:
        with must_work("can_channel, can_interface: "):
            can_settings(service).check()
    return service


def _wiring(settings: BridgeSettings) -> Wiring:
    """DBC files and car of the settings, which must be good."""
    packs = []
    for name in settings.can_dbc or [DEFAULT_DBC]:
        own = settings.data_dir / "dbc" / f"{name}.dbc"
        if not settings.can_dbc and not own.is_file():
            continue  # a data folder of one's own need not hold ours
        with must_work("can_dbc: "):
            packs.append(load_dbc(own if own.is_file() else Path(name)))
    return Wiring(merge_messages(packs), _car(settings), tuple(pack.name for pack in packs))


def _car(settings: BridgeSettings) -> LoadedCar | None:
    """The car of the settings, whose file must be good; the simulator's own if none is named."""
    if settings.can_no_car_config:
        return None
    if settings.can_car_config is not None:
        with must_work("can_car_config: "):
            return load_car(find_car(settings.cars_dir, settings.can_car_config))
    if settings.simulate:
        try:
            return load_car(find_car(settings.cars_dir, SIMULATED_CAR))
        except CarError as error:
            log.warning("the simulator drives without a car file: %s", error)
    return None


async def _lifetime(app: web.Application) -> AsyncIterator[None]:
    service = app[SERVICE]
    is_new = not await asyncio.to_thread(service.settings.database.exists)
    service.store = await _open(service)
    if service.store is not None:
        service.laps = LapBook(service.store, service.library)
        service.analyses = Analyses(service.laps)
        if service.settings.example and is_new:
            service.aside(store_example(service))
    settings = service.settings
    service.lessons = await lessons_of(settings.course.strip())
    model = service.model = open_model(settings, service.store)
    service.grader = open_grader(settings, service.store, model.lane)
    if service.store is not None:
        service.gathering = Gathering(
            store=service.store,
            book=service.book,
            analyses=service.analytics,
            references=service.references,
            active_track=service.active_track,
            lessons=service.lessons,
        )
    service.questions = open_coach(service.gathering, settings, model)
    # Reading the messages takes longer than the rest of the first answer that needs them.
    service.aside(asyncio.to_thread(words_of, "en", "metric"))
    try:
        async with run_live(app, service, GROUPS):
            yield
    finally:
        await service.close()


async def _open(service: Service) -> Store | None:
    """The database; None where it cannot be opened, which the routes then say."""
    settings = service.settings
    with must_work("db: "):
        try:
            return await Store.open(settings.database, settings.db_backend, service.catalogue)
        except StoreUnusable as problem:
            if isinstance(problem, SchemaTooNew):
                raise
            service.why_no_database = str(problem)
            log.error("no database: %s", problem)
    return None
