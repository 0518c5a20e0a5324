"""The replay of the bridge: at most one, with the live bus standing aside for it."""

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple

from runtime.bridge.live.errors import ReplayRunning, ReplayUnavailable
from runtime.bridge.live.pacing import pace
from runtime.bridge.live.replay import Progress, Publish, Replay, Tell
from runtime.bridge.live.source import Recorded
from runtime.bridge.storage.errors import UnknownSession
from runtime.bridge.storage.store import Store
from runtime.web.errors import ApiError

log = logging.getLogger(__name__)

PATIENCE_S: Final = 5.0
"""Longest wait for a replay that was told to end, and for the bus that is read again."""

Hook = Callable[[], Awaitable[None]]


async def _nothing() -> None:
    """Where no bus is read."""


class Started(NamedTuple):
    """A replay that has begun."""

    replay_id: str
    source_session_id: str
    total_frames: int
    est_duration_s: float
    speed: float
    loop: bool


class Stopped(NamedTuple):
    """What a stop has ended."""

    stopped: bool
    frames_emitted: int


class Replays:
    """Starts, stops and tells of the one replay; used on the event loop only.

    *before* is awaited before the first frame and *after* once the last one is out, however it
    ended: they stop a bus that is read, and read it again.
    """

    def __init__(
        self,
        store: Callable[[], Store],
        publish: Publish,
        tell: Tell,
        *,
        before: Hook = _nothing,
        after: Hook = _nothing,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._store = store
        self._publish = publish
        self._tell = tell
        self._before = before
        self._after = after
        self._clock = clock
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._replay: Replay | None = None
        self._task: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def running(self) -> bool:
        """Whether a session is replayed."""
        return self._replay is not None

    def status(self) -> Progress | None:
        """How far the replay has come; None while there is none."""
        return None if self._replay is None else self._replay.progress()

    async def start(
        self, source_session_id: str, speed: float = 1.0, *, loop: bool = False
    ) -> Started:
        """Begin to replay a session.

        Raises, looked at in this order, `NoDatabase`, `ReplayRunning`, `UnknownSession`, `NoRows`;
        `ReplayUnavailable` where the live bus cannot be stopped.
        """
        store = self._store()
        async with self._turn:
            if self._replay is not None:
                raise ReplayRunning(self._replay.source.session_id)
            await self._ended()
            row = store.session(source_session_id)
            if row is None:
                raise UnknownSession(source_session_id)
            source = await Recorded.read(store, row)
            pacing = await asyncio.to_thread(pace, source.t)
            replay = Replay(
                f"replay-{secrets.token_hex(4)}",
                source,
                pacing,
                speed,
                loop,
                self._publish,
                self._tell,
                self._clock,
                self._sleep,
            )
            await self._make_way()
            self._replay = replay
            self._task = asyncio.create_task(self._run(replay))
        return Started(
            replay.replay_id, source_session_id, len(source), replay.duration_s, speed, loop
        )

    async def stop(self) -> Stopped:
        """End the replay; returns when its last frame is out and the bus is read again."""
        async with self._turn:
            replay, task = self._replay, self._task
            if replay is None or task is None:
                return Stopped(False, 0)
            task.cancel()
            await self._ended()
            if self._replay is replay:  # stopped before it came to run at all
                await self._finish(replay)
            return Stopped(True, replay.frames_emitted)

    async def close(self) -> None:
        """End the replay for good: the bus stays as it is."""
        self._closing = True
        await self.stop()
        async with self._turn:
            await self._ended()

    async def _make_way(self) -> None:
        if self._closing:
            raise ReplayUnavailable
        try:
            await self._before()
        except BaseException as error:
            await self._give_back()
            if isinstance(error, ApiError) or not isinstance(error, Exception):
                raise
            log.exception("the live bus cannot be stopped for a replay")
            raise ReplayUnavailable from error

    async def _run(self, replay: Replay) -> None:
        failed = False
        try:
            await replay.run()
        except asyncio.CancelledError:
            log.info("replay of %s stopped", replay.source.session_id)
        except Exception:
            log.exception("the replay of %s broke off", replay.source.session_id)
            failed = True
        await self._finish(replay, failed=failed)

    async def _finish(self, replay: Replay, *, failed: bool = False) -> None:
        self._replay = None
        payload: dict[str, object] = {
            "replay_id": replay.replay_id,
            "frames_emitted": replay.frames_emitted,
        }
        if failed:
            payload["failed"] = True
        self._tell(replay.source.session_id, "end", payload)
        await self._give_back()

    async def _give_back(self) -> None:
        if self._closing:
            return
        try:
            await self._after()
        except Exception:
            log.exception("the live bus is not read again after the replay")

    async def _ended(self) -> None:
        """Wait for a task that is at its end."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=PATIENCE_S)
            self._task = None
