"""A replay whose clock stands in the test's hand."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from runtime.bridge.live.hub import Control
from runtime.bridge.live.replay import Replays
from runtime.bridge.service import Service
from runtime.bridge.session.recording import Frames, LiveFrame, Samples
from runtime.bridge.storage.store import Store
from tests.bridge.session.sessions import frames


class Sent(NamedTuple):
    """What went out, and when."""

    at: float
    frame: LiveFrame


class Told(NamedTuple):
    """An event beside the frames."""

    session_id: str
    event: str
    payload: Mapping[str, object]


class Stage:
    """Takes what a replay sends; its clock only moves when the replay waits, if it may."""

    def __init__(
        self, service: Service, publish: Callable[[LiveFrame], None] = lambda _: None
    ) -> None:
        self._forward = publish
        self.now = 1000.0
        self.sent: list[Sent] = []
        self.told: list[Told] = []
        self.bus: list[str] = []
        self.until = float("inf")
        """The replay waits for ever once the clock is there."""
        self._changed = asyncio.Event()
        self._going_on = asyncio.Event()
        self.replays = Replays(
            lambda: service.db,
            self._publish,
            self._tell,
            before=self._before,
            after=self._after,
            clock=lambda: self.now,
            sleep=self._sleep,
        )

    async def wait_for(self, frames: int = 0, *, events: int = 0) -> None:
        """Until so much has gone out."""
        async with asyncio.timeout(30):
            while len(self.sent) < frames or len(self.told) < events:
                self._changed.clear()
                await self._changed.wait()

    async def end(self) -> None:
        """Until nothing is replayed and the bus is back."""
        async with asyncio.timeout(30):
            while self.replays.current or self.bus[-1:] != ["on"]:
                self._changed.clear()
                await self._changed.wait()

    def hold_reading(self, store: Store) -> asyncio.Event:
        """Let no further signal be read until `go_on`; set once one would be."""
        reading, read = asyncio.Event(), store.read_signals

        async def held(session_id: str, names: Sequence[str]) -> dict[str, Samples]:
            reading.set()
            await self._going_on.wait()
            return await read(session_id, names)

        store.read_signals = held  # type: ignore[method-assign]
        return reading

    def go_on(self) -> None:
        """See `hold_reading`."""
        self._going_on.set()

    async def _before(self) -> None:
        self.bus.append("off")

    async def _after(self) -> None:
        self.bus.append("on")
        self._changed.set()

    def _publish(self, frame: LiveFrame) -> None:
        self.sent.append(Sent(self.now, frame))
        self._forward(frame)
        self._changed.set()

    def _tell(self, session_id: str, event: Control, payload: Mapping[str, object]) -> None:
        self.told.append(Told(session_id, event, payload))
        self._changed.set()

    async def _sleep(self, seconds: float) -> None:
        assert seconds >= 0
        if self.now + seconds > self.until:
            await asyncio.Event().wait()
        self.now += seconds
        await asyncio.sleep(0)


def frames_at(t: list[float]) -> Frames:
    """Frames that tell their number by their speed; some cells are null."""
    number = np.arange(len(t), dtype=np.float64)
    return frames(t, speed_ms=number, distance_m=number * 2.0)
