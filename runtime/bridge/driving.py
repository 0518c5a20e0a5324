"""What runs beside the routes while the bridge is up: bus, replay, coach, listeners."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Final

from aiohttp import web

from runtime.bridge.api.spectators import spectating
from runtime.bridge.can.adapters import open_source
from runtime.bridge.can.assembler import Assembler, Flush
from runtime.bridge.can.decoder import Decoder
from runtime.bridge.can.reader import CanReader, Open
from runtime.bridge.can.rules import NO_RULES
from runtime.bridge.can.settings import VIRTUAL, CanSettings
from runtime.bridge.can.statistics import BusStatistics, known_messages
from runtime.bridge.cues.model import Cue
from runtime.bridge.live.hub import LIVE_SESSION
from runtime.bridge.live.live import Destination, Live
from runtime.bridge.live.outlets.opening import targets_of
from runtime.bridge.live.outlets.outlet import Outlet
from runtime.bridge.live.outlets.points import PointReader
from runtime.bridge.live.recorder import Recorder
from runtime.bridge.live.replay import Replays
from runtime.bridge.service import Service
from runtime.bridge.session.names import free_name, slug
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.simulator.course import natural_seconds
from runtime.bridge.simulator.schedule import schedule_of
from runtime.bridge.simulator.simulator import Simulator
from runtime.bridge.storage.sessions import end_begun_by_bus
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import SIMULATOR, SessionMeta, unix_ms
from runtime.bridge.track.model import Track
from runtime.web.errors import ApiError
from runtime.web.lifecycle import LIFECYCLE
from runtime.web.routes import Routes

LEAST_SPOKEN: Final = 1
"""Cues below this priority are no notes."""
WATCH_S: Final = 0.5
log = logging.getLogger(__name__)


@asynccontextmanager
async def run_live(
    app: web.Application, service: Service, groups: Iterable[Routes]
) -> AsyncIterator[None]:
    """Everything live, for as long as the block runs. The database is open before and after."""
    settings, store = service.settings, service.store
    async with AsyncExitStack() as stack:
        await service.inbox.open(service.hub, store)
        stack.push_async_callback(service.inbox.close)
        await service.spectators.open(store, service.why_no_database)
        stack.callback(service.hub.close)
        service.hub.follow(service.active_session)
        service.outlets = _outlets(service)
        for outlet in service.outlets:
            outlet.start(service.hub)
        stack.push_async_callback(_stop, service.outlets)
        recorder = None
        if store is not None:
            await _put_aside(store, settings)
            stack.push_async_callback(_end_begun, store, settings)
            recorder = Recorder(store, _meta(service))
            stack.push_async_callback(recorder.close)
        own = OwnSession(settings)
        live = service.live = Live(
            hub=service.hub,
            cues=service.cues,
            coaches=settings.live_cues,
            past_of=lambda session_id: service.circuits.of(session_id).past,
            recorder=recorder,
            destination=lambda: _destination(service, own),
            spoken=lambda cue, _: _keep(service, cue),
            anew=lambda: service.bus.begin_session() if service.bus is not None else None,
        )
        service.recorder = recorder
        bus = service.bus = _bus(service, live)
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
                spectating(
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
    """Tell listeners when the bus begins or ceases to bring frames, and warn of the latter."""
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


async def _put_aside(store: Store, settings: BridgeSettings) -> None:
    """What an earlier run's bus began ends; that of live frames becomes a session of its own."""
    await _end_begun(store, settings)
    row = store.session(LIVE_SESSION)
    if row is None or row.t_end is None:
        return
    try:
        kept = await store.rename_session(row.session_id, slug(row.track or "") or "live")
    except ApiError as problem:  # a full disk: new frames will follow the old ones
        log.warning("the live frames of an earlier run stay in %s: %s", LIVE_SESSION, problem)
        return
    log.info("live frames of an earlier run are kept as %s", kept.session_id)


async def _end_begun(store: Store, settings: BridgeSettings) -> None:
    """Sessions that a bus began end with its run, but for one of the user's own id."""
    kept = (LIVE_SESSION, settings.can_session_id)
    try:
        await store.write(lambda tx: end_begun_by_bus(tx, kept, unix_ms()))
    except ApiError as problem:
        log.warning("could not close bus sessions: %s", problem)


def _outlets(service: Service) -> tuple[Outlet, ...]:
    def circuit(session_id: str) -> str | None:
        track = service.circuits.known(session_id)
        return track.name if track is not None else None

    hz = service.settings.outlet_hz
    targets = targets_of(service.settings)
    return tuple(Outlet(target, PointReader(service.row, circuit), hz) for target in targets)


async def _stop(outlets: Sequence[Outlet]) -> None:
    await asyncio.gather(*(outlet.stop() for outlet in outlets))


class OwnSession:
    """Where frames of a bus go while no session is open: never to a session that has ended."""

    def __init__(self, settings: BridgeSettings) -> None:
        self._dated = "sim" if settings.simulate else settings.can_session_id.lstrip("_") or "live"
        self._id = self._dated_id() if settings.simulate else settings.can_session_id

    def id(self, store: Store | None) -> str:
        """The id; another one once that session has ended."""
        if store is not None and _has_ended(store, self._id):
            self._id = free_name(self._dated_id(), lambda name: store.session(name) is not None)
        return self._id

    def _dated_id(self) -> str:
        return f"{self._dated}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def _has_ended(store: Store, session_id: str) -> bool:
    row = store.session(session_id)
    return row is not None and row.ended_at is not None


def _destination(service: Service, own: OwnSession) -> Destination:
    store = service.store
    started = store.active_session() if store is not None else None
    if service.settings.simulate and service.settings.simulate_apart:
        started = None
    session_id = started or own.id(store)
    row = service.row(session_id)
    return Destination(session_id, (row.distance_m or 0.0) if row is not None else 0.0)


def _meta(service: Service) -> SessionMeta:
    """What a session that the bus begins is known by."""
    return SessionMeta(
        driver_level="intermediate",
        car=service.wiring.car.id if service.wiring.car else None,
        source=SIMULATOR if service.settings.simulate else "can",
    )


def _bus(service: Service, live: Live) -> CanReader | None:
    """The bus that the settings name, or the synthetic car's, which is heard there too."""
    settings, wiring = service.settings, service.wiring
    adapter = can_settings(service) if settings.can_channel is not None else None
    if not settings.simulate:
        return _reader(service, adapter, open_source, live) if adapter is not None else None
    schedule = schedule_of(
        service.active_track,
        lap_seconds(settings, service.active_track),
        wiring.messages,
        wiring.car,
        seed=settings.sim_seed,
        anchor_s=time.time(),
    )
    heard = None if adapter is None else partial(open_source, adapter)
    car = service.simulator = Simulator(schedule, settings.simulate_speed, heard)
    inside = CanSettings(VIRTUAL, "simulator", listen_only=False, keep_stamps=True)
    return _reader(service, inside, car.open, live)


def _reader(service: Service, adapter: CanSettings, opening: Open, live: Live) -> CanReader:
    """A reader that hands what it makes to *live*, on the running loop."""
    loop, wiring = asyncio.get_running_loop(), service.wiring

    def deliver(flushes: list[Flush]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(live.bus, flushes)

    car = wiring.car
    rates = {key: frame.rate_hz for key, frame in car.file.frames.items()} if car else {}
    rules = car.plan if car else NO_RULES
    decoder = Decoder(wiring.messages)
    return CanReader(
        adapter,
        decoder,
        partial(Assembler, decoder, rules, service.settings.can_flush_ms),
        deliver,
        BusStatistics(known_messages(wiring.messages, rates), adapter.bitrate),
        opening=opening,
    )


def lap_seconds(settings: BridgeSettings, track: Track | None) -> float:
    """Of a synthetic lap: as it was set; else what the usual car needs, where it has a line."""
    is_set = "simulate_lap_seconds" in settings.model_fields_set
    if is_set or track is None or track.line is None:
        return settings.simulate_lap_seconds
    return natural_seconds(track)


def can_settings(service: Service) -> CanSettings:
    """The adapter that the settings name; a car file knows its bus where they do not."""
    settings, car = service.settings, service.wiring.car
    bitrate = settings.can_bitrate
    if "can_bitrate" not in settings.model_fields_set and car is not None:
        bitrate = car.file.can_bus.bitrate_bps or bitrate
    return CanSettings(
        interface=settings.can_interface,
        channel=settings.can_channel or "",
        bitrate=bitrate,
        listen_only=not settings.simulate,
    )


def _keep(service: Service, cue: Cue) -> None:
    """Note what the coach said, without anybody waiting for it."""
    if service.store is not None and cue.priority >= LEAST_SPOKEN and cue.text:
        service.aside(service.note(cue))
