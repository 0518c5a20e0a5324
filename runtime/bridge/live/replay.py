"""Replay: a recorded session sent again as live frames, at the pace at which it was recorded.

At most one runs at a time, and the live bus stands aside for it.
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
    """One session is replayed at a time."""

    status, code = 409, "replay_running"
    text = "a replay is running; stop it first"


class ReplayUnavailable(ApiError):
    """What is live now cannot be made to wait."""

    status, code = 503, "replay_unavailable"
    text = "a replay cannot begin now; the server's log says why"


class NoReplay(ApiError):
    """Only a replay that runs can be paused or moved."""

    status, code = 409, "no_replay"
    text = "no replay is running; start one first"


LONGEST_PAUSE_S: Final = 5.0
"""A longer pause of the recording is shortened to this."""
FRESH_START_S: Final = 5.0
"""A clock that steps back by more has begun anew; by less, frames came out of order."""
HALF_DAY_S: Final = 43_200.0
DAY_S: Final = 86_400.0
USUAL_PERIOD_S: Final = 0.1
"""Of a session with a single moment."""


class Pacing(NamedTuple):
    """The times of one pass at the speed of the recording."""

    due: Numbers
    """Seconds after the first frame; never falling."""
    nominal_s: float
    """The median of the steps forward, which is the pause before a further pass."""

    @property
    def span_s(self) -> float:
        """From the first frame to the last."""
        return float(self.due[-1]) if len(self.due) else 0.0


def pace(t: Numbers) -> Pacing:
    """The pacing of frames with these timestamps, in the order in which they were recorded.

    A frame that is not later than one before it is due together with that one. After midnight,
    and after a clock that begins anew, time goes on.
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
"""Numbers of further signals in one window: 16 MB; two windows are held at a time."""
FEWEST_FRAMES: Final = 1_000
MOST_FRAMES: Final = 100_000
"""Frames of a window."""
AT_ONCE: Final = 32
"""So many frames that are due may go out before others have their turn on the loop."""
PATIENCE_S: Final = 5.0
"""Longest wait for a replay that was told to end, and for the bus that is read again."""

log = logging.getLogger(__name__)
Publish = Callable[[LiveFrame], None]
Tell = Callable[[str, Control, Mapping[str, object]], None]
"""Takes session id, event and payload."""
Hook = Callable[[], Awaitable[None]]


async def _nothing() -> None:
    """Where no bus is read."""


class Window(NamedTuple):
    """Some frames in a row, ready to be sent."""

    first: int
    """Index of the first one in the session."""
    columns: Numbers
    """A row for each frame, in the order of `WIDE`."""
    names: tuple[str, ...]
    """Of the further signals."""
    extras: Numbers
    """A row for each frame, in the order of *names*; NaN before the first sample."""

    def __len__(self) -> int:
        return len(self.columns)

    def frame(self, at: int, session_id: str, replay_id: str) -> LiveFrame:
        """The frame in that row."""
        wide = dict(zip(WIDE, self.columns[at].tolist(), strict=True))
        values = zip(self.names, self.extras[at].tolist(), strict=True)
        extras = {name: value for name, value in values if not math.isnan(value)}
        told = wide["distance_m"]
        return LiveFrame(session_id, "replay", wide, extras, self.first + at, replay_id, told)


class Recorded:
    """The telemetry of a session as it stands when the replay begins."""

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
        """Its frames, which further signals it has, and of these what the first frames need.

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
        """All windows from a frame on; the next one is read while this one is used."""
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
    """A session on its way; `run` sends it."""

    source: Recorded
    pacing: Pacing
    speed: float
    loop: bool
    publish: Publish
    tell: Tell
    clock: Callable[[], float]
    sleep: Callable[[float], Awaitable[None]]
    replay_id: str = field(default_factory=lambda: f"replay-{secrets.token_hex(4)}", init=False)
    frame_idx: int = field(default=-1, init=False)
    """Of the last frame that went out; -1 before the first."""
    frames_emitted: int = field(default=0, init=False)
    """Over all passes."""
    paused: bool = field(default=False, init=False)
    held: bool = field(default=False, init=False)
    """Whether its task was ended to be begun again later."""
    _next: int = field(default=0, init=False)
    """Index of the frame that goes out next."""
    _began: float | None = field(default=None, init=False)
    _pass_began: float = field(default=0.0, init=False)

    @property
    def source_session_id(self) -> str:
        """What is replayed."""
        return self.source.session_id

    @property
    def total_frames(self) -> int:
        """Of one pass."""
        return len(self.source.t)

    @property
    def est_duration_s(self) -> float:
        """How long one pass takes."""
        return self.pacing.span_s / self.speed

    @property
    def duration_s(self) -> float:
        """How long one pass takes at the speed of the recording."""
        return self.pacing.span_s

    @property
    def t_s(self) -> float:
        """Where in that time the last frame lies."""
        return float(self.pacing.due[self.frame_idx]) if self.frame_idx >= 0 else 0.0

    @property
    def elapsed_s(self) -> float:
        """Since the first frame."""
        return 0.0 if self._began is None else self.clock() - self._began

    @property
    def est_remaining_s(self) -> float:
        """Of this pass."""
        if self._began is None or self.paused:
            return (self.duration_s - self.t_s) / self.speed
        return max(self.est_duration_s - (self.clock() - self._pass_began), 0.0)

    async def run(self) -> None:
        """Until the last frame has gone out, or with *loop* for ever."""
        while True:
            await self._pass()
            if not self.loop:
                return
            await self._until(self.pacing.span_s + self.pacing.nominal_s)
            self._next = 0
            self.tell(self.source.session_id, "loop", self.emitted())

    def seek(self, frame_idx: int) -> None:
        """Go on from a frame; one beyond the end is the last."""
        self._next = min(frame_idx, self.total_frames - 1)
        self.frame_idx = self._next - 1

    def frame_at(self, t_s: float) -> int:
        """The first frame at or after a moment of a pass."""
        return int(np.searchsorted(self.pacing.due, t_s))

    async def show(self) -> None:
        """Send the next frame by itself."""
        async with aclosing(self.source.windows(self._next)) as windows:
            async for window in windows:
                self._emit(window, 0)
                self._next = self.frame_idx  # it comes once more when the replay goes on
                return

    def emitted(self) -> dict[str, object]:
        """What listeners are told at the end of a pass."""
        return {"replay_id": self.replay_id, "frames_emitted": self.frames_emitted}

    async def _pass(self) -> None:
        """All frames from the next one on."""
        begun = False
        async with aclosing(self.source.windows(self._next)) as windows:
            async for window in windows:
                if not begun:  # what reading takes before the first frame is not late
                    due = float(self.pacing.due[self._next])
                    self._pass_began, begun = self.clock() - due / self.speed, True
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
            self._emit(window, at)

    def _emit(self, window: Window, at: int) -> None:
        self.frame_idx = window.first + at
        self._next = self.frame_idx + 1
        self.frames_emitted += 1
        self.publish(window.frame(at, self.source.session_id, self.replay_id))

    async def _until(self, moment: float) -> bool:
        """Wait for a moment of this pass; whether there was anything to wait for."""
        wait = self._pass_began + moment / self.speed - self.clock()
        if wait <= 0:
            return False
        await self.sleep(wait)
        return True


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
        self.current: Replay | None = None
        """The replay, which says how far it has come; None while there is none."""
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
        """Begin to replay a session, unless *check*, asked before the bus is stopped, raises.

        Raises, looked at in this order, `NoDatabase`, `ReplayRunning`, `UnknownSession`, `NoRows`,
        what *check* raises; `ReplayUnavailable` where the live bus cannot be stopped.
        """
        store = self._store()
        async with self._turn:
            if self.current is not None:
                raise ReplayRunning(source_session_id=self.current.source.session_id)
            await self._ended()
            row = store.session(source_session_id)
            if row is None:
                raise UnknownSession(source_session_id)
            source = await Recorded.read(store, row)
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
            await self._make_way()
            self.current = replay
            self._task = asyncio.create_task(self._run(replay))
        return replay

    async def stop(self) -> Stopped:
        """End the replay; returns when its last frame is out and the bus is read again."""
        async with self._turn:
            replay = self.current
            if replay is None:
                return Stopped(False, 0)
            if self._task is not None:
                self._task.cancel()
            await self._ended()
            if self.current is replay:  # stopped before it came to run at all
                await self._finish(replay)
            return Stopped(True, replay.frames_emitted)

    async def pause(self, *, paused: bool) -> Replay:
        """Hold the replay, or let it go on. Raises `NoReplay`."""
        async with self._turn:
            replay = await self._hold()
            replay.paused = paused
            self._go_on(replay)
        return replay

    async def seek(self, *, t_s: float | None = None, frame_idx: int = 0) -> Replay:
        """Go on from a moment of a pass, else from a frame. Raises `NoReplay`.

        A replay that is paused stays so, and shows the frame there.
        """
        async with self._turn:
            replay = await self._hold()
            replay.seek(frame_idx if t_s is None else replay.frame_at(t_s))
            if replay.paused:
                await replay.show()
            self._go_on(replay)
        return replay

    async def _hold(self) -> Replay:
        """The replay, once it sends nothing any more."""
        if (replay := self.current) is None:
            raise NoReplay
        replay.held = True
        if self._task is not None:
            self._task.cancel()
        await self._ended()
        replay.held = False
        if self.current is not replay:  # it came to its end
            raise NoReplay
        return replay

    def _go_on(self, replay: Replay) -> None:
        if not replay.paused:
            self._task = asyncio.create_task(self._run(replay))
        state = {"replay_id": replay.replay_id, "paused": replay.paused, "t_s": replay.t_s}
        self._tell(replay.source.session_id, "state", state)

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
            if replay.held:
                return
            log.info("replay of %s stopped", replay.source.session_id)
        except Exception:
            log.exception("the replay of %s broke off", replay.source.session_id)
            failed = True
        await self._finish(replay, failed=failed)

    async def _finish(self, replay: Replay, *, failed: bool = False) -> None:
        self.current = None
        payload = replay.emitted() | ({"failed": True} if failed else {})
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
