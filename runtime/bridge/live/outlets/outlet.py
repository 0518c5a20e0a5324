"""An outlet: a bounded listener of everything live, and a task that sends what it receives.

Nothing waits for the server at the other end. While it is away, the newest points are kept and
the oldest dropped.
"""

import asyncio
import logging
import math
import re
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import ClassVar, Final, Literal, Protocol, TypeAlias

from yarl import URL

from runtime.bridge.live.hub import EARLY, EVERYTHING, Event, Hub, Kind, Signals
from runtime.bridge.live.outlets.points import SESSIONS, NoMoment, Point, PointReader
from runtime.bridge.session.recording import LiveFrame

State: TypeAlias = Literal["idle", "up", "away"]
"""idle: nothing has been sent yet."""

ROOM: Final = 16 << 20
"""Bytes that may wait for a server: half an hour of the eleven columns at 10 frames a second."""
OVERHEAD: Final = 64
"""Bytes of memory for an event besides its payload."""
FIRST_RETRY_S: Final = 1.0
LAST_RETRY_S: Final = 30.0
"""The retry pause doubles up to this."""
LAST_WORDS_S: Final = 0.5
"""At shutdown, time for sending what still waits."""
GOODBYE_S: Final = 0.2
REPEAT_S: Final = 60.0
"""Shortest interval between log lines about refused points."""
log = logging.getLogger(__name__)


class Away(Exception):
    """The server accepts nothing now; the text says why, without secrets."""

    def __init__(self, why: str, retry_s: float = 0.0) -> None:
        super().__init__(why)
        self.retry_s = retry_s
        """Seconds for which the server asks to be left alone."""


class Refused(Exception):
    """The server rejects some of the points for good; the text says why."""

    def __init__(self, why: str, count: int) -> None:
        super().__init__(why)
        self.count = count


class Target(Protocol):
    """A server that receives points."""

    @property
    def name(self) -> str:
        """Label in metrics."""

    @property
    def place(self) -> str:
        """Its address, without secrets."""

    @property
    def most(self) -> int:
        """Largest number of points in one call."""

    @property
    def pause_s(self) -> float:
        """Seconds for which points are collected before they are sent."""

    async def send(self, points: Sequence[Point]) -> None:
        """Send *points* within seconds. Raises `Away` and `Refused`."""

    async def close(self) -> None:
        """Close the connection."""


class Outlet:
    """Queues frames, cues, laps and sectors of all sessions for one server; on the loop only.

    At most *hz* frames a second of a session are queued, by the session's own clock, so that
    frames that arrive in a batch are thinned like single ones.
    """

    topics: ClassVar[Mapping[Kind, tuple[str, ...]]] = {
        "telemetry": (EVERYTHING,),
        "cues": (EVERYTHING,),
        "timing": (EVERYTHING,),
    }
    signals: ClassVar[Signals] = None

    def __init__(self, target: Target, reader: PointReader, hz: float, *, room: int = ROOM) -> None:
        self.target = target
        self.state: State = "idle"
        self.problem: str | None = None
        """Why the server is away, or what it last refused; None: no problem."""
        self.sent = self.dropped = self.refused = 0
        self._reader = reader
        self._period_s = 1.0 / hz
        self._due: dict[str, float] = {}
        """When the next frame of a session is due, in seconds of its clock."""
        self._room = room
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._some = asyncio.Event()
        self._hub: Hub | None = None
        self._task: asyncio.Task[None] | None = None
        self._dropped_before = 0
        self._warned = -math.inf

    @property
    def waiting(self) -> int:
        """Events queued and not yet sent."""
        return len(self._waiting)

    def start(self, hub: Hub) -> None:
        """Start listening and sending."""
        self._hub = hub
        hub.join(self)
        self._task = asyncio.create_task(self._send_for_ever(), name=f"outlet {self.target.name}")

    async def stop(self) -> None:
        """Stop listening; send what waits if the server accepts it at once."""
        self.close()
        while self._task is not None and not self._task.done():
            self._task.cancel()  # again if its await fails at this very moment
            await asyncio.wait({self._task}, timeout=GOODBYE_S)
        with suppress(Away, TimeoutError):
            async with asyncio.timeout(LAST_WORDS_S):
                while self._waiting and self.state != "away":
                    await self._send_some()
        if self._waiting:
            log.warning("%s: %d events were not sent", self.target.name, len(self._waiting))
        with suppress(TimeoutError):
            async with asyncio.timeout(GOODBYE_S):
                await self.target.close()

    def is_due(self, number: int, now: float, frame: LiveFrame) -> bool:
        """See `Listener`; a clock set back starts over."""
        due = self._due.get(frame.session_id, -math.inf)
        early = EARLY * self._period_s
        if due - self._period_s - early <= frame.t < due - early:
            return False
        behind = not due - early <= frame.t < due + self._period_s
        self._due[frame.session_id] = (frame.t if behind else due) + self._period_s
        while len(self._due) > SESSIONS:
            del self._due[next(iter(self._due))]
        return True

    def offer(self, kind: Kind, event: Event) -> None:
        """See `Listener`."""
        self._waiting.append(event.named)
        self._bytes += len(event.named) + OVERHEAD
        self._trim()
        self._some.set()

    def close(self) -> None:
        """See `Listener`."""
        if self._hub is not None:
            self._hub.leave(self)

    def _trim(self) -> None:
        while self._bytes > self._room:
            self._bytes -= len(self._waiting.popleft()) + OVERHEAD
            self.dropped += 1

    async def _send_for_ever(self) -> None:
        retry_s = FIRST_RETRY_S
        while True:
            await self._some.wait()
            if len(self._waiting) < self.target.most:
                await asyncio.sleep(self.target.pause_s)
            try:
                await self._send_some()
            except Away as problem:
                self._note_away(str(problem))
                await asyncio.sleep(max(retry_s, problem.retry_s))
                retry_s = min(2 * retry_s, LAST_RETRY_S)
            else:
                retry_s = FIRST_RETRY_S

    async def _send_some(self) -> None:
        """Send the oldest events; put them back if the server is away."""
        batch = self._take()
        if not batch:
            return
        refused = 0
        try:
            await self.target.send([point for _, point in batch])
        except Refused as problem:
            refused = min(problem.count, len(batch))
            self._note_refused(str(problem), refused)
        except BaseException:  # including cancellation
            self._put_back([event for event, _ in batch])
            raise
        self.sent += len(batch) - refused
        self._note_up(refused > 0)
        await asyncio.sleep(0)  # yield to the loop between batches

    def _take(self) -> list[tuple[bytes, Point]]:
        """Take the oldest events that are points."""
        batch = []
        for _ in range(min(self.target.most, len(self._waiting))):
            event = self._waiting.popleft()
            self._bytes -= len(event) + OVERHEAD
            try:
                point = self._reader.read(event)
            except NoMoment:
                self.dropped += 1
                continue
            if point is not None and point.fields:
                batch.append((event, point))
        if not self._waiting:
            self._some.clear()
        return batch

    def _put_back(self, events: Sequence[bytes]) -> None:
        self._waiting.extendleft(reversed(events))
        self._bytes += sum(map(len, events)) + OVERHEAD * len(events)
        self._trim()
        if self._waiting:
            self._some.set()

    def _note_away(self, why: str) -> None:
        self.problem = why
        if self.state == "away":
            return
        self.state = "away"
        text = "%s: %s accepts nothing: %s; the newest points are kept"
        log.warning(text, self.target.name, self.target.place, why)

    def _note_up(self, refused: bool) -> None:
        if self.state == "away":
            lost = self.dropped - self._dropped_before
            text = "%s: %s is back; points dropped in the meantime: %d"
            log.warning(text, self.target.name, self.target.place, lost)
        self.state = "up"
        self._dropped_before = self.dropped
        self.problem = self.problem if refused else None

    def _note_refused(self, why: str, count: int) -> None:
        self.refused += count
        self.problem = why
        now = asyncio.get_running_loop().time()
        if now - self._warned >= REPEAT_S:
            self._warned = now
            text = "%s: %s refuses %d points: %s"
            log.warning(text, self.target.name, self.target.place, count, why)


def read_address(text: str, ports: Mapping[str, int], example: str) -> URL:
    """Parse an address; without a port, take that of its scheme in *ports*.

    Raises ValueError, whose text shows *example* and never repeats the address.
    """
    wrong = ValueError(f"this is not a valid address; write it as in {example}")
    try:
        url = URL(text)
        (url.host or "").encode("idna")  # as the name lookup does
    except ValueError:
        raise wrong from None
    if url.scheme not in ports or not url.host or url.explicit_port == 0 or re.search(r"\s", text):
        raise wrong
    return url.with_port(url.explicit_port or ports[url.scheme])


def redact_address(url: URL) -> str:
    """Return the address without user, password and query."""
    return str(url.with_user(None).with_query(None).with_fragment(None))
