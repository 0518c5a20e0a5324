"""One running replay: frames go out at the pace at which they were recorded."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from runtime.bridge.live.pacing import Pacing
from runtime.bridge.live.source import Recorded, Window
from runtime.bridge.live.values import Control
from runtime.bridge.session.recording import LiveFrame

AT_ONCE: Final = 32
"""So many frames that are due may go out before others have their turn on the loop."""

Publish = Callable[[LiveFrame], None]
Tell = Callable[[str, Control, Mapping[str, object]], None]
"""Takes session id, event and payload."""


class Progress(NamedTuple):
    """How far a replay has come."""

    source_session_id: str
    speed: float
    loop: bool
    frame_idx: int
    """Of the last frame that went out; -1 before the first."""
    total_frames: int
    elapsed_s: float
    est_remaining_s: float
    """Of this pass."""
    frames_emitted: int
    """Over all passes."""


@dataclass(eq=False)
class Replay:
    """A session on its way; `run` sends it."""

    replay_id: str
    source: Recorded
    pacing: Pacing
    speed: float
    loop: bool
    publish: Publish
    tell: Tell
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    frame_idx: int = field(default=-1, init=False)
    frames_emitted: int = field(default=0, init=False)
    _began: float | None = field(default=None, init=False)
    _pass_began: float = field(default=0.0, init=False)

    @property
    def duration_s(self) -> float:
        """How long one pass takes."""
        return self.pacing.span_s / self.speed

    async def run(self) -> None:
        """Until the last frame has gone out, or with *loop* for ever."""
        while True:
            await self._pass()
            if not self.loop:
                return
            await self._until(self.pacing.span_s + self.pacing.nominal_s)
            payload = {"replay_id": self.replay_id, "frames_emitted": self.frames_emitted}
            self.tell(self.source.session_id, "loop", payload)

    def progress(self) -> Progress:
        """How far it has come."""
        now = self.clock()
        began = now if self._began is None else self._began
        behind = self.duration_s - (now - self._pass_began)
        left = self.duration_s if self._began is None else max(behind, 0.0)
        return Progress(
            self.source.session_id,
            self.speed,
            self.loop,
            self.frame_idx,
            len(self.source),
            now - began,
            left,
            self.frames_emitted,
        )

    async def _pass(self) -> None:
        """All frames once."""
        begun = False
        async with aclosing(self.source.windows()) as windows:
            async for window in windows:
                if not begun:  # what reading takes before the first frame is not late
                    self._pass_began, begun = self.clock(), True
                    if self._began is None:
                        self._began = self._pass_began
                await self._send(window)

    async def _send(self, window: Window) -> None:
        due = self.pacing.due[window.first : window.first + len(window)].tolist()
        at_once = 0
        for at, moment in enumerate(due):
            if await self._until(moment):
                at_once = 0
            elif (at_once := at_once + 1) >= AT_ONCE:
                at_once = 0
                await self.sleep(0)
            self.frame_idx = window.first + at
            self.frames_emitted += 1
            self.publish(window.frame(at, self.source.session_id, self.replay_id))

    async def _until(self, moment: float) -> bool:
        """Wait for a moment of this pass; whether there was anything to wait for."""
        wait = self._pass_began + moment / self.speed - self.clock()
        if wait <= 0:
            return False
        await self.sleep(wait)
        return True
