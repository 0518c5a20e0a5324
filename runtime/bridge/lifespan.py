"""Runs a service: opens its database, runs everything live beside the routes, and stops it all."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Final

from aiohttp import web

from runtime.bridge.api.spectators import serve_spectators
from runtime.bridge.can.adapters import open_source
from runtime.bridge.can.assembler import Assembler, Flush
from runtime.bridge.can.decoder import Decoder
from runtime.bridge.can.reader import CanReader, Open
from runtime.bridge.can.rules import NO_RULES
from runtime.bridge.can.settings import VIRTUAL, CanSettings
from runtime.bridge.can.statistics import BusStatistics, describe_messages
from runtime.bridge.coach.gather import Gathering
from runtime.bridge.coach.lessons import lessons_of
from runtime.bridge.coach.opening import open_coach, open_grader, open_model
from runtime.bridge.coach.wording.words import words_of
from runtime.bridge.cues.model import Cue
from runtime.bridge.live.hub import LIVE_SESSION
from runtime.bridge.live.live import Destination, Live
from runtime.bridge.live.outlets.opening import make_targets
from runtime.bridge.live.outlets.outlet import Outlet
from runtime.bridge.live.outlets.points import PointReader
from runtime.bridge.live.recorder import Recorder
from runtime.bridge.live.replay import Replays
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.names import find_free_name, slugify
from runtime.bridge.session.recording import TIMESTAMP, Recording
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.simulator.course import choose_course, find_natural_seconds
from runtime.bridge.simulator.schedule import make_schedule
from runtime.bridge.simulator.sensors import SimulatedDrive, record_laps
from runtime.bridge.simulator.simulator import Simulator
from runtime.bridge.startup import cannot_start_on_error, choose_adapter
from runtime.bridge.storage.analyses import Analyses
from runtime.bridge.storage.errors import SchemaTooNew, StoreUnusable
from runtime.bridge.storage.lapbook import LapBook
from runtime.bridge.storage.records import SIMULATOR, SessionMeta, unix_ms
from runtime.bridge.storage.sessions import end_begun_by_bus
from runtime.bridge.storage.store import Store
from runtime.bridge.track.model import Track
from runtime.web.errors import ApiError
from runtime.web.lifecycle import LIFECYCLE
from runtime.web.routes import Routes

LEAST_SPOKEN: Final = 1
"""Cues of a lower priority are not kept as notes."""
WATCH_S: Final = 0.5
EXAMPLE_SESSION: Final = "example"
EXAMPLE_LAPS: Final = 6
ABOUT_EXAMPLE: Final = SessionMeta(
    driver="Example",
    driver_level="intermediate",
    note="laps of the synthetic car; delete it when you have some of your own",
    source=SIMULATOR,
)
log = logging.getLogger(__name__)


async def run_service(app: web.Application, groups: Iterable[Routes]) -> AsyncIterator[None]:
    """Start the parts of the service around one ``yield``, then stop them."""
    service = app[SERVICE]
    settings = service.settings
    is_new = not await asyncio.to_thread(settings.database.exists)
    service.store = await _open_store(service)
    if service.store is not None:
        service.laps = LapBook(service.store, service.library)
        service.analyses = Analyses(service.laps)
        if settings.example and is_new:
            service.aside(store_example(service))
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
    # Loading the messages takes longer than the rest of the first answer that needs them.
    service.aside(asyncio.to_thread(words_of, "en", "metric"))
    try:
        async with _run_live(app, service, groups):
            yield
    finally:
        await service.close()


async def _open_store(service: Service) -> Store | None:
    """Open the database; None where that fails, and the routes then say why."""
    settings = service.settings
    with cannot_start_on_error("db: "):
        try:
            return await Store.open(settings.database, settings.db_backend, service.catalogue)
        except StoreUnusable as problem:
            if isinstance(problem, SchemaTooNew):
                raise
            service.why_no_database = str(problem)
            log.error("no database: %s", problem)
    return None


async def store_example(service: Service) -> None:
    """Store laps of the synthetic car as a session that has just ended; only log a failure."""
    try:
        recording = await asyncio.to_thread(_record_example, service)
        duration_s = float(recording.frames.columns[TIMESTAMP][-1])
        began = unix_ms() - round(duration_s * 1000)
        await service.db.import_recording(EXAMPLE_SESSION, recording, ABOUT_EXAMPLE, began)
    except ApiError as problem:
        log.warning("the example session could not be stored: %s", problem)


def _record_example(service: Service) -> Recording:
    track = service.active_track
    course = choose_course(track, choose_lap_seconds(service.settings, track))
    return record_laps(SimulatedDrive(course, service.settings.sim_seed), EXAMPLE_LAPS)


@asynccontextmanager
async def _run_live(
    app: web.Application, service: Service, groups: Iterable[Routes]
) -> AsyncIterator[None]:
    """Run everything live while the block runs; the database is open before and after."""
    settings, store = service.settings, service.store
    async with AsyncExitStack() as stack:
        await service.inbox.open(service.hub, store)
        stack.push_async_callback(service.inbox.close)
        await service.spectators.open(store, service.why_no_database)
        stack.callback(service.hub.close)
        service.hub.follow(service.active_session)
        service.outlets = _make_outlets(service)
        for outlet in service.outlets:
            outlet.start(service.hub)
        stack.push_async_callback(_stop_outlets, service.outlets)
        recorder = None
        if store is not None:
            await _keep_live_frames(store, settings)
            stack.push_async_callback(_end_bus_sessions, store, settings)
            recorder = Recorder(store, _describe_bus_session(service))
            stack.push_async_callback(recorder.close)
        own = OwnSession(settings)
        live = service.live = Live(
            hub=service.hub,
            cues=service.cues,
            coaches=settings.live_cues,
            past_of=lambda session_id: service.circuits.of(session_id).past,
            recorder=recorder,
            destination=lambda: _choose_destination(service, own),
            spoken=lambda cue, _: _note_cue(service, cue),
            anew=lambda: service.bus.begin_session() if service.bus is not None else None,
        )
        service.recorder = recorder
        bus = service.bus = _make_bus(service, live)
        if bus is not None:
            stack.push_async_callback(asyncio.to_thread, bus.stop)
            await asyncio.to_thread(bus.start)
            watching = asyncio.create_task(_watch(service, bus, live))
            stack.callback(watching.cancel)
        replays = partial(Replays, lambda: service.db, live.publish, service.hub.publish_control)
        service.replays = (
            replays(
                before=partial(asyncio.to_thread, bus.pause),
                after=partial(asyncio.to_thread, bus.resume),
            )
            if bus
            else replays()
        )
        stack.push_async_callback(service.replays.close)
        if settings.spectator_port is not None:
            await stack.enter_async_context(
                serve_spectators(
                    service,
                    groups,
                    settings.spectator_host,
                    settings.spectator_port,
                    app[LIFECYCLE],
                )
            )
        yield
        service.hub.close()


async def _watch(service: Service, bus: CanReader, live: Live) -> None:
    """Tell listeners when frames start or stop arriving on the bus, and warn when they stop."""
    connected = False
    while True:
        await asyncio.sleep(WATCH_S)
        if bus.connected == connected:
            continue
        connected = bus.connected
        now = bus.snapshot()
        session_id = live.bus_session or LIVE_SESSION
        payload = {"connected": connected, "state": now.state, "last_error": now.last_error}
        service.hub.publish_control(session_id, "state", payload)
        if not connected and now.state == "reconnecting":
            why = now.last_error or "no frame comes"
            await service.inbox.post(
                "hardware-warning", "", "The CAN bus is silent", why, session_id
            )


async def _keep_live_frames(store: Store, settings: BridgeSettings) -> None:
    """End the bus sessions of an earlier run; keep its live frames as a separate session."""
    await _end_bus_sessions(store, settings)
    row = store.session(LIVE_SESSION)
    if row is None or row.t_end is None:
        return
    try:
        kept = await store.rename_session(row.session_id, slugify(row.track or "") or "live")
    except ApiError as problem:  # a full disk: new frames will follow the old ones
        log.warning("the live frames of an earlier run stay in %s: %s", LIVE_SESSION, problem)
        return
    log.info("live frames of an earlier run are kept as %s", kept.session_id)


async def _end_bus_sessions(store: Store, settings: BridgeSettings) -> None:
    """End the sessions that a bus began, except one whose id the user chose."""
    kept = (LIVE_SESSION, settings.can_session_id)
    try:
        await store.write(lambda tx: end_begun_by_bus(tx, kept, unix_ms()))
    except ApiError as problem:
        log.warning("could not close bus sessions: %s", problem)


def _make_outlets(service: Service) -> tuple[Outlet, ...]:
    def circuit(session_id: str) -> str | None:
        track = service.circuits.find_known_track(session_id)
        return track.name if track is not None else None

    hz = service.settings.outlet_hz
    targets = make_targets(service.settings)
    return tuple(Outlet(target, PointReader(service.row, circuit), hz) for target in targets)


async def _stop_outlets(outlets: Sequence[Outlet]) -> None:
    await asyncio.gather(*(outlet.stop() for outlet in outlets))


class OwnSession:
    """The session that takes frames of a bus while no other is open; never one that has ended."""

    def __init__(self, settings: BridgeSettings) -> None:
        self._dated = "sim" if settings.simulate else settings.can_session_id.lstrip("_") or "live"
        self._id = self._date_id() if settings.simulate else settings.can_session_id

    def id(self, store: Store | None) -> str:
        """Return the id; a new one once that session has ended."""
        if store is not None and _has_ended(store, self._id):
            self._id = find_free_name(self._date_id(), lambda name: store.session(name) is not None)
        return self._id

    def _date_id(self) -> str:
        return f"{self._dated}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def _has_ended(store: Store, session_id: str) -> bool:
    row = store.session(session_id)
    return row is not None and row.ended_at is not None


def _choose_destination(service: Service, own: OwnSession) -> Destination:
    store = service.store
    started = store.active_session() if store is not None else None
    if service.settings.simulate and service.settings.simulate_apart:
        started = None
    session_id = started or own.id(store)
    row = service.row(session_id)
    return Destination(session_id, (row.distance_m or 0.0) if row is not None else 0.0)


def _describe_bus_session(service: Service) -> SessionMeta:
    return SessionMeta(
        driver_level="intermediate",
        car=service.wiring.car.id if service.wiring.car else None,
        source=SIMULATOR if service.settings.simulate else "can",
    )


def _make_bus(service: Service, live: Live) -> CanReader | None:
    """Make the reader of the configured bus, or of the synthetic car, which sends there too."""
    settings, wiring = service.settings, service.wiring
    adapter = choose_adapter(service) if settings.can_channel is not None else None
    if not settings.simulate:
        return _make_reader(service, adapter, open_source, live) if adapter is not None else None
    schedule = make_schedule(
        service.active_track,
        choose_lap_seconds(settings, service.active_track),
        wiring.messages,
        wiring.car,
        seed=settings.sim_seed,
        anchor_s=time.time(),
    )
    outside = None if adapter is None else partial(open_source, adapter)
    car = service.simulator = Simulator(schedule, settings.simulate_speed, outside)
    inside = CanSettings(VIRTUAL, "simulator", listen_only=False, keep_stamps=True)
    return _make_reader(service, inside, car.open, live)


def _make_reader(service: Service, adapter: CanSettings, opening: Open, live: Live) -> CanReader:
    """Make a reader that hands its flushes to *live*, on the running loop."""
    loop, wiring = asyncio.get_running_loop(), service.wiring

    def deliver(flushes: list[Flush]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(live.take_flushes, flushes)

    car = wiring.car
    rates = {key: frame.rate_hz for key, frame in car.file.frames.items()} if car else {}
    rules = car.plan if car else NO_RULES
    decoder = Decoder(wiring.messages)
    return CanReader(
        adapter,
        decoder,
        partial(Assembler, decoder, rules, service.settings.can_flush_ms),
        deliver,
        BusStatistics(describe_messages(wiring.messages, rates), adapter.bitrate),
        opening=opening,
    )


def choose_lap_seconds(settings: BridgeSettings, track: Track | None) -> float:
    """Return the time of a synthetic lap: as set, else the default car's along the track's line."""
    is_set = "simulate_lap_seconds" in settings.model_fields_set
    if is_set or track is None or track.line is None:
        return settings.simulate_lap_seconds
    return find_natural_seconds(track)


def _note_cue(service: Service, cue: Cue) -> None:
    """Store a cue as a note, in the background."""
    if service.store is not None and cue.priority >= LEAST_SPOKEN and cue.text:
        service.aside(service.note(cue))
