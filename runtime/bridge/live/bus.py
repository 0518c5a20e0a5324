"""The CAN bus of a running bridge: its reader, and the synthetic car where one drives for it."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from runtime.bridge.can.assembler import Assembler, Flush
from runtime.bridge.can.bus import open_source
from runtime.bridge.can.cars import Wiring
from runtime.bridge.can.decoder import Decoder
from runtime.bridge.can.reader import CanReader, CanSnapshot, Open
from runtime.bridge.can.rules import NO_RULES
from runtime.bridge.can.settings import VIRTUAL, CanSettings
from runtime.bridge.can.statistics import BusStatistics, known_messages
from runtime.bridge.simulator.schedule import schedule_of
from runtime.bridge.simulator.simulator import Simulator, SimulatorState
from runtime.bridge.track.model import Track

Deliver = Callable[[list[Flush]], None]


@dataclass(frozen=True)
class Synthetic:
    """How the synthetic car drives."""

    track: Track | None
    lap_seconds: float
    speed: float
    seed: int
    transmit: CanSettings | None = None
    """An adapter that its frames are sent on, besides being read here."""


class LiveBus:
    """The reader of a bus, which may be a synthetic car's; for the event loop."""

    def __init__(self, reader: CanReader, car: Simulator | None = None) -> None:
        self._reader = reader
        self._car = car

    @property
    def connected(self) -> bool:
        """Whether a frame came within the last five seconds."""
        return self._reader.connected

    def snapshot(self) -> CanSnapshot:
        """The state of the reader."""
        return self._reader.snapshot()

    def simulator(self) -> SimulatorState | None:
        """The state of the synthetic car; None where there is none."""
        return self._car.state() if self._car is not None else None

    def begin_session(self) -> None:
        """What comes next belongs to another session: its clock is set anew."""
        self._reader.begin_session()

    async def start(self) -> None:
        """Begin to read."""
        await asyncio.to_thread(self._reader.start)

    async def pause(self) -> None:
        """Stand aside for a replay."""
        await asyncio.to_thread(self._reader.pause)

    async def resume(self) -> None:
        """Go on after `pause`."""
        await asyncio.to_thread(self._reader.resume)

    async def stop(self) -> None:
        """End the reading, within a second."""
        await asyncio.to_thread(self._reader.stop)


def make_bus(settings: CanSettings, wiring: Wiring, flush_ms: float, deliver: Deliver) -> LiveBus:
    """A bus that is only listened to; *deliver* is called on the running loop."""
    return LiveBus(_reader(settings, open_source, wiring, flush_ms, deliver))


def make_synthetic_bus(
    drive: Synthetic, wiring: Wiring, flush_ms: float, deliver: Deliver
) -> LiveBus:
    """A synthetic car, which is heard on an adapter, too, if one is named."""
    outside = drive.transmit
    schedule = schedule_of(
        drive.track,
        drive.lap_seconds,
        wiring.messages,
        wiring.car,
        seed=drive.seed,
        anchor_s=time.time(),
    )
    car = Simulator(
        schedule, drive.speed, None if outside is None else lambda: open_source(outside)
    )
    inside = CanSettings(VIRTUAL, "simulator", listen_only=False, keep_stamps=True)
    return LiveBus(_reader(inside, car.open, wiring, flush_ms, deliver), car)


def _reader(
    settings: CanSettings, opening: Open, wiring: Wiring, flush_ms: float, deliver: Deliver
) -> CanReader:
    loop = asyncio.get_running_loop()

    def handed(flushes: list[Flush]) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(deliver, flushes)

    car = wiring.car
    rates = {key: frame.rate_hz for key, frame in car.file.frames.items()} if car else {}
    decoder = Decoder(wiring.messages)
    return CanReader(
        settings,
        decoder,
        lambda: Assembler(decoder, car.plan if car else NO_RULES, flush_ms),
        handed,
        BusStatistics(known_messages(wiring.messages, rates), settings.bitrate),
        opening=opening,
    )
