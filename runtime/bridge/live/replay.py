"""Replays a recorded session as live frames, at the pace of the recording.

At most one replay runs at a time; the live bus is paused for it.
"""

import asyncio
import logging
import math
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self

import numpy as np

from runtime.bridge.live.hub import Control
from runtime.bridge.session.recording import WIDE, LiveFrame, Numbers
from runtime.bridge.session.resample import hold_previous
from runtime.bridge.storage.errors import NoRows, UnknownSession
from runtime.bridge.storage.records import SessionRow
from runtime.bridge.storage.store import Store
from runtime.web.errors import ApiError


class ReplayRunning(ApiError):
    """Another replay is running."""

    status, code = 409, "replay_running"
    text = "a replay is running; stop it first"


class ReplayUnavailable(ApiError):
    """The live bus cannot be paused."""

    status, code = 503, "replay_unavailable"
    text = "a replay cannot begin now; the server's log says why"


class NoReplay(ApiError):
    """No replay is running that could be paused or moved."""

    status, code = 409, "no_replay"
    text = "no replay is running; start one first"


LONGEST_PAUSE_S: Final = 5.0
"""Longer pauses of the recording are shortened to this."""
FRESH_START_S: Final = 5.0
"""A clock that steps back further has restarted; otherwise frames came out of order."""
HALF_DAY_S: Final = 43_200.0
DAY_S: Final = 86_400.0
USUAL_PERIOD_S: Final = 0.1
"""Used for a session with a single time."""


class Pacing(NamedTuple):
    """The times of one pass at the speed of the recording."""

    due: Numbers
    """Seconds after the first frame, never decreasing."""
    nominal_s: float
    """Median step forward, used as the pause before the next pass."""

    @property
    def span_s(self) -> float:
        """From the first frame to the last."""
        return float(self.due[-1]) if len(self.due) else 0.0


def pace(t: Numbers) -> Pacing:
    """Compute the pacing of frames with these timestamps, in recording order.

    A frame that is no later than an earlier one is due together with it. Time continues across
    midnight and a restarted clock.
    """
    steps = np.diff(t)
    steps = np.where(steps < -HALF_DAY_S, steps + DAY_S, steps)
    steps = np.where(steps < -FRESH_START_S, 0.0, steps)
    clock = np.concatenate([np.zeros(min(len(t), 1)), np.cumsum(steps)])
    forward = np.diff(np.maximum.accumulate(clock)) if len(clock) else clock
    due = np.concatenate([clock[:1], np.cumsum(np.minimum(forward, LONGEST_PAUSE_S))])
    moving = forward[forward > 0]
    return Pacing(due, float(np.median(moving)) if len(moving) else USUAL_PERIOD_S)


CELLS: Final = 2_000_000
"""Values of extra signals in one window: 16 MB; two windows are held at a time."""
FEWEST_FRAMES: Final = 1_000
MOST_FRAMES: Final = 100_000
"""Frames of a window."""
AT_ONCE: Final = 32
"""Due frames sent before the replay yields to the event loop."""
PATIENCE_S: Final = 5.0
"""Longest wait for a stopping replay and for the bus to resume."""

log = logging.getLogger(__name__)
Publish = Callable[[LiveFrame], None]
Tell = Callable[[str, Control, Mapping[str, object]], None]
"""Takes session id, event and payload."""
Hook = Callable[[], Awaitable[None]]


async def _do_nothing() -> None:
    """The hook without a bus."""


class Window(NamedTuple):
    """Consecutive frames, ready to be sent."""

    first: int
    """Index of the first one in the session."""
    columns: Numbers
    """A row for each frame, in the order of `WIDE`."""
    names: tuple[str, ...]
    """Names of the extra signals."""
    extras: Numbers
    """A row for each frame, in the order of *names*; NaN before the first sample."""

    def __len__(self) -> int:
        return len(self.columns)

    def frame(self, at: int, session_id: str, replay_id: str) -> LiveFrame:
        """Build the live frame of row *at*."""
        wide = dict(zip(WIDE, self.columns[at].tolist(), strict=True))
        values = zip(self.names, self.extras[at].tolist(), strict=True)
        extras = {name: value for name, value in values if not math.isnan(value)}
        distance_m = wide["distance_m"]
        return LiveFrame(session_id, "replay", wide, extras, self.first + at, replay_id, distance_m)


class ReplaySource:
    """The telemetry of a session, as stored when the replay starts."""

    def __init__(
        self, store: Store, session_id: str, columns: Numbers, names: Sequence[str]
    ) -> None:
        self._store = store
        self._columns = columns
        self._names = tuple(names)
        self._head: Window | None = None
        self.session_id = session_id
        self.t = columns[:, 0]
        """Timestamps of the frames, in their order."""
        self.size = max(FEWEST_FRAMES, min(MOST_FRAMES, CELLS // max(len(self._names), 1)))
        """Frames of a window."""

    @classmethod
    async def read(cls, store: Store, row: SessionRow) -> Self:
        """Read the frames of a session and the extra signals of its first window.

        Raises `NoRows` without frames.
        """
        if not row.n_frames:
            raise NoRows("the session has no telemetry to replay", session_id=row.session_id)
        frames = await store.read_frames(row.session_id)
        names = [name for name in await store.signal_names(row.session_id) if name not in WIDE]
        columns = [frames.columns[name] for name in WIDE]
        recorded = cls(
            store, row.session_id, await asyncio.to_thread(np.column_stack, columns), names
        )
        recorded._head = await recorded._window(0)
        return recorded

    async def windows(self, first: int = 0) -> AsyncGenerator[Window, None]:
        """Yield the windows from frame *first* on; the next one is read ahead."""
        begins = range(first, len(self.t), self.size)
        coming = asyncio.create_task(self._window(first))
        try:
            for begin in begins:
                window = await coming
                if begin != begins[-1]:
                    coming = asyncio.create_task(self._window(begin + self.size))
                yield window
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)

    async def _window(self, first: int) -> Window:
        if first == 0 and self._head is not None:  # kept for the first pass only
            head, self._head = self._head, None
            return head
        part = slice(first, first + self.size)
        extras = np.full((len(self.t[part]), len(self._names)), np.nan)
        for place, name in enumerate(self._names):  # one by one: each may be as large as all frames
            samples = (await self._store.read_signals(self.session_id, [name]))[name]
            extras[:, place] = await asyncio.to_thread(hold_previous, self.t[part], samples)
        return Window(first, self._columns[part], self._names, extras)


@dataclass(eq=False)
class Replay:
    """A running replay; `run` sends the frames."""

    source: ReplaySource
    pacing: Pacing
    speed: float
    loop: bool
    publish: Publish
    tell: Tell
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    replay_id: str = field(default_factory=lambda: f"replay-{secrets.token_hex(4)}", init=False)
    frame_idx: int = field(default=-1, init=False)
    """Index of the last frame sent; -1 before the first."""
    frames_emitted: int = field(default=0, init=False)
    """Frames of all passes."""
    paused: bool = field(default=False, init=False)
    held: bool = field(default=False, init=False)
    """Whether its task was cancelled to be restarted later."""
    _next: int = field(default=0, init=False)
    """Index of the next frame to send."""
    _began: float | None = field(default=None, init=False)
    _pass_began: float = field(default=0.0, init=False)

    @property
    def source_session_id(self) -> str:
        """Id of the replayed session."""
        return self.source.session_id

    @property
    def total_frames(self) -> int:
        """Frames of one pass."""
        return len(self.source.t)

    @property
    def est_duration_s(self) -> float:
        """Duration of one pass at the replay's speed."""
        return self.pacing.span_s / self.speed

    @property
    def duration_s(self) -> float:
        """Duration of one pass at the speed of the recording."""
        return self.pacing.span_s

    @property
    def t_s(self) -> float:
        """Position of the last frame within `duration_s`."""
        return float(self.pacing.due[self.frame_idx]) if self.frame_idx >= 0 else 0.0

    @property
    def elapsed_s(self) -> float:
        """Since the first frame."""
        return 0.0 if self._began is None else self.clock() - self._began

    @property
    def est_remaining_s(self) -> float:
        """Remaining time of this pass."""
        if self._began is None or self.paused:
            return (self.duration_s - self.t_s) / self.speed
        return max(self.est_duration_s - (self.clock() - self._pass_began), 0.0)

    async def run(self) -> None:
        """Send all frames once, or with *loop* for ever."""
        while True:
            await self._pass()
            if not self.loop:
                return
            await self._wait_until(self.pacing.span_s + self.pacing.nominal_s)
            self._next = 0
            self.tell(self.source.session_id, "loop", self.summarise())

    def seek(self, frame_idx: int) -> None:
        """Continue from a frame; an index beyond the end means the last one."""
        self._next = min(frame_idx, self.total_frames - 1)
        self.frame_idx = self._next - 1

    def frame_at(self, t_s: float) -> int:
        """Return the index of the first frame at or after *t_s*."""
        return int(np.searchsorted(self.pacing.due, t_s))

    async def send_one(self) -> None:
        """Send the next frame alone."""
        async with aclosing(self.source.windows(self._next)) as windows:
            async for window in windows:
                self._emit(window, 0)
                self._next = self.frame_idx  # sent again when the replay continues
                return

    def summarise(self) -> dict[str, object]:
        """Return the payload for listeners at the end of a pass."""
        return {"replay_id": self.replay_id, "frames_emitted": self.frames_emitted}

    async def _pass(self) -> None:
        """Send all frames from the next one on."""
        begun = False
        async with aclosing(self.source.windows(self._next)) as windows:
            async for window in windows:
                if not begun:  # time spent reading before the first frame does not count
                    due = float(self.pacing.due[self._next])
                    self._pass_began, begun = self.clock() - due / self.speed, True
                    if self._began is None:
                        self._began = self._pass_began
                await self._send(window)

    async def _send(self, window: Window) -> None:
        due = self.pacing.due[window.first : window.first + len(window)].tolist()
        at_once = 0
        for at, moment in enumerate(due):
            if await self._wait_until(moment):
                at_once = 0
            elif (at_once := at_once + 1) >= AT_ONCE:
                at_once = 0
                await self.sleep(0)
            self._emit(window, at)

    def _emit(self, window: Window, at: int) -> None:
        self.frame_idx = window.first + at
        self._next = self.frame_idx + 1
        self.frames_emitted += 1
        self.publish(window.frame(at, self.source.session_id, self.replay_id))

    async def _wait_until(self, moment: float) -> bool:
        """Wait until *moment* of this pass; return whether that took any time."""
        wait = self._pass_began + moment / self.speed - self.clock()
        if wait <= 0:
            return False
        await self.sleep(wait)
        return True


class StopResult(NamedTuple):
    """The outcome of a stop."""

    stopped: bool
    frames_emitted: int


class Replays:
    """Starts, stops and reports on the one replay; used on the event loop only.

    *before* is awaited before the first frame and *after* once the replay has ended, for whatever
    reason: they pause and resume the bus.
    """

    def __init__(
        self,
        store: Callable[[], Store],
        publish: Publish,
        tell: Tell,
        *,
        before: Hook = _do_nothing,
        after: Hook = _do_nothing,
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
        self.current: Replay | None = None
        """The running replay with its progress; None while none runs."""
        self._task: asyncio.Task[None] | None = None
        self._closing = False

    async def start(
        self,
        source_session_id: str,
        speed: float = 1.0,
        *,
        loop: bool = False,
        check: Callable[[], None] = lambda: None,
    ) -> Replay:
        """Start to replay a session, unless *check*, called before the bus is paused, raises.

        Raises, in this order, `NoDatabase`, `ReplayRunning`, `UnknownSession`, `NoRows`, errors of
        *check*, and `ReplayUnavailable` if the live bus cannot be paused.
        """
        store = self._store()
        async with self._turn:
            if self.current is not None:
                raise ReplayRunning(source_session_id=self.current.source.session_id)
            await self._join_task()
            row = store.session(source_session_id)
            if row is None:
                raise UnknownSession(source_session_id)
            source = await ReplaySource.read(store, row)
            pacing = await asyncio.to_thread(pace, source.t)
            replay = Replay(
                source,
                pacing,
                speed,
                loop,
                self._publish,
                self._tell,
                self._clock,
                self._sleep,
            )
            check()
            await self._free_bus()
            self.current = replay
            self._task = asyncio.create_task(self._run(replay))
        return replay

    async def stop(self) -> StopResult:
        """Stop the replay; return once its last frame is sent and the bus has resumed."""
        async with self._turn:
            replay = self.current
            if replay is None:
                return StopResult(False, 0)
            if self._task is not None:
                self._task.cancel()
            await self._join_task()
            if self.current is replay:  # stopped before it started
                await self._finish(replay)
            return StopResult(True, replay.frames_emitted)

    async def pause(self, *, paused: bool) -> Replay:
        """Pause or resume the replay. Raises `NoReplay`."""
        async with self._turn:
            replay = await self._hold()
            replay.paused = paused
            self._go_on(replay)
        return replay

    async def seek(self, *, t_s: float | None = None, frame_idx: int = 0) -> Replay:
        """Continue from time *t_s* of a pass, else from a frame. Raises `NoReplay`.

        A paused replay stays paused and sends the frame there.
        """
        async with self._turn:
            replay = await self._hold()
            replay.seek(frame_idx if t_s is None else replay.frame_at(t_s))
            if replay.paused:
                await replay.send_one()
            self._go_on(replay)
        return replay

    async def _hold(self) -> Replay:
        """Return the replay once it has stopped sending."""
        if (replay := self.current) is None:
            raise NoReplay
        replay.held = True
        if self._task is not None:
            self._task.cancel()
        await self._join_task()
        replay.held = False
        if self.current is not replay:  # it ended
            raise NoReplay
        return replay

    def _go_on(self, replay: Replay) -> None:
        if not replay.paused:
            self._task = asyncio.create_task(self._run(replay))
        state = {"replay_id": replay.replay_id, "paused": replay.paused, "t_s": replay.t_s}
        self._tell(replay.source.session_id, "state", state)

    async def close(self) -> None:
        """End the replay for good; the bus is left as it is."""
        self._closing = True
        await self.stop()
        async with self._turn:
            await self._join_task()

    async def _free_bus(self) -> None:
        if self._closing:
            raise ReplayUnavailable
        try:
            await self._before()
        except BaseException as error:
            await self._resume_bus()
            if isinstance(error, ApiError) or not isinstance(error, Exception):
                raise
            log.exception("the live bus cannot be paused for a replay")
            raise ReplayUnavailable from error

    async def _run(self, replay: Replay) -> None:
        failed = False
        try:
            await replay.run()
        except asyncio.CancelledError:
            if replay.held:
                return
            log.info("replay of %s stopped", replay.source.session_id)
        except Exception:
            log.exception("the replay of %s failed", replay.source.session_id)
            failed = True
        await self._finish(replay, failed=failed)

    async def _finish(self, replay: Replay, *, failed: bool = False) -> None:
        self.current = None
        payload = replay.summarise() | ({"failed": True} if failed else {})
        self._tell(replay.source.session_id, "end", payload)
        await self._resume_bus()

    async def _resume_bus(self) -> None:
        if self._closing:
            return
        try:
            await self._after()
        except Exception:
            log.exception("the live bus did not resume after the replay")

    async def _join_task(self) -> None:
        """Wait for the ending task."""
        if self._task is not None:
            await asyncio.wait([self._task], timeout=PATIENCE_S)
            self._task = None
