"""The CAN bus of a running bridge: its reader, and the synthetic car where one drives for it."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from runtime.bridge.can.assembler import Assembler, Flush
from runtime.bridge.can.bus import open_source
from runtime.bridge.can.cars import Wiring
from runtime.bridge.can.decoder import Decoder
from runtime.bridge.can.reader import CanReader, CanSnapshot
from runtime.bridge.can.rules import NO_RULES
from runtime.bridge.can.settings import VIRTUAL, CanSettings
from runtime.bridge.can.statistics import BusStatistics, known_messages
from runtime.bridge.can.values import CanFrame
from runtime.bridge.simulator.schedule import schedule_of
from runtime.bridge.simulator.simulator import Simulator, SimulatorState, SourceSend
from runtime.bridge.track.model import Track

Deliver = Callable[[list[Flush]], None]
_INSIDE: Final = "simulator-{}"
"""The virtual channel between a synthetic car and the reader; its number makes it this bridge's."""


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
    """Reader and synthetic car, started and stopped together; for the event loop."""

    def __init__(
        self,
        reader: CanReader,
        simulator: Simulator | None = None,
        sends: Sequence[SourceSend] = (),
    ) -> None:
        """*sends* are what the synthetic car drives through; they are closed at the end."""
        self._reader = reader
        self._simulator = simulator
        self._sends = sends

    @property
    def connected(self) -> bool:
        """Whether a frame came within the last five seconds."""
        return self._reader.connected

    def snapshot(self) -> CanSnapshot:
        """The state of the reader."""
        return self._reader.snapshot()

    def simulator(self) -> SimulatorState | None:
        """The state of the synthetic car; None where there is none."""
        return self._simulator.state() if self._simulator is not None else None

    def begin_session(self) -> None:
        """What comes next belongs to another session: its clock is set anew."""
        self._reader.begin_session()

    async def start(self) -> None:
        """Begin to read, then to drive."""
        await asyncio.to_thread(self._reader.start)
        await self._drive()

    async def pause(self) -> None:
        """Stand aside for a replay."""
        await self._halt()
        await asyncio.to_thread(self._reader.pause)

    async def resume(self) -> None:
        """Go on after `pause`."""
        await asyncio.to_thread(self._reader.resume)
        await self._drive()

    async def stop(self) -> None:
        """End the drive, then the reading; a second each at most."""
        await self._halt()
        await asyncio.to_thread(self._reader.stop)
        for send in self._sends:
            await asyncio.to_thread(send.close)

    async def _drive(self) -> None:
        if self._simulator is not None:
            await asyncio.to_thread(self._simulator.start)

    async def _halt(self) -> None:
        if self._simulator is not None:
            await asyncio.to_thread(self._simulator.stop)


def make_bus(settings: CanSettings, wiring: Wiring, flush_ms: float, deliver: Deliver) -> LiveBus:
    """A bus that is only listened to; *deliver* is called on the running loop."""
    return LiveBus(_reader(settings, wiring, flush_ms, deliver))


def make_synthetic_bus(
    drive: Synthetic, wiring: Wiring, flush_ms: float, deliver: Deliver
) -> LiveBus:
    """A synthetic car on a channel inside this process, and on an adapter if one is named."""
    inside = CanSettings(VIRTUAL, _INSIDE.format(id(drive)), listen_only=False, keep_stamps=True)
    reader = _reader(inside, wiring, flush_ms, deliver)
    sends = [SourceSend(lambda: open_source(inside))]
    if (outside := drive.transmit) is not None:
        sends.append(SourceSend(lambda: open_source(outside)))

    def send(frames: Sequence[CanFrame]) -> None:
        for channel in reversed(sends):  # what the adapter refuses is not read here either
            channel(frames)

    schedule = schedule_of(
        drive.track,
        drive.lap_seconds,
        wiring.messages,
        wiring.car,
        seed=drive.seed,
        anchor_s=time.time(),
    )
    simulator = Simulator(send, schedule, drive.speed, taken=lambda: reader.statistics.frames_total)
    return LiveBus(reader, simulator, sends)


def _reader(settings: CanSettings, wiring: Wiring, flush_ms: float, deliver: Deliver) -> CanReader:
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
    )
