"""Hands what happens live to whoever listens, as server-sent events that are made into bytes once.

Nobody is waited for: a slow listener loses the oldest.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple, Protocol, Self, TypeAlias

import orjson

from runtime.bridge.cues.model import Cue
from runtime.bridge.live.timing import NO_TIMING, Done, LapDone, Timing
from runtime.bridge.session.recording import LiveFrame
from runtime.web import sse
from runtime.web.errors import ApiError

Control: TypeAlias = Literal["loop", "end", "state"]
"""What a telemetry stream tells besides frames: a replay begins anew or ends, a bus comes or goes.
"""

LIVE_SESSION: Final = "_live"
"""Takes what comes while no session is open; listeners of that name hear any live frame."""
EVERYTHING: Final = "*"
"""Listeners of that name hear every session."""
Kind: TypeAlias = Literal["cues", "telemetry", "timing", "notifications"]
Signals: TypeAlias = frozenset[str] | None
"""The fields of a frame that a listener wants; None: all."""

ACTIVE: Final = "SIM"
"""Listeners of that name hear whichever session is the active one at the time."""
MOST_LISTENERS: Final = 64
QUEUES: Final[Mapping[Kind, int]] = {
    "cues": 32,
    "telemetry": 128,
    "timing": 64,
    "notifications": 64,
}
"""Events that wait for one listener; of more of a kind, its oldest are dropped."""
KEPT: Final[tuple[Kind, ...]] = ("cues", "timing")
"""Kinds that are kept for listeners that come back."""
RING: Final = 256
"""Events of such a kind that are kept."""
ALWAYS: Final = ("timestamp", "session_id")
"""Fields of a frame that every listener gets."""
EARLY: Final = 0.25
"""Part of its period by which an event may be early, for a source's pace is never even."""


RETRY_MS: Final = 2000
"""Milliseconds that a client is asked to wait before it comes back."""
KEEPALIVE: Final = b": keepalive\n\n"
WIRE_NAMES: Final = (
    ("distance", "distance_m"),
    ("speed", "speed_ms"),
    ("g_lat", "g_lat"),
    ("g_long", "g_long"),
    ("combo_g", "combo_g"),
    ("brake_pressure", "brake_bar"),
    ("throttle", "throttle_pct"),
    ("steering", "steering_deg"),
    ("rpm", "rpm"),
    ("lat", "lat"),
    ("lon", "lon"),
)
"""What a column of a frame is called in live frames, beside its own name."""
_DATA: Final = b"data: {"


class Event(NamedTuple):
    """One event as it goes to every listener."""

    number: int
    named: bytes
    """With its name and number."""
    plain: bytes
    """A cue without its name, a notification without its number."""


def hello(stream: str, about: Mapping[str, object], number: int | None) -> bytes:
    """The first event of a stream; *number* is where a client that comes back goes on."""
    data = orjson.dumps({"stream": stream, **about})
    return b"retry: %d\n" % RETRY_MS + sse.frame(data, "hello", number)


def spliced(whole: bytes, dropped: int) -> bytes:
    """The event of a JSON object with ``dropped`` put in front of its fields."""
    at = whole.index(_DATA) + len(_DATA)
    comma = b"" if whole[at : at + 1] == b"}" else b","
    return whole[:at] + b'"dropped":%d' % dropped + comma + whole[at:]


def object_json(body: Mapping[str, object]) -> bytes:
    """*body* as JSON; halves of surrogate pairs, which a cut-off text may hold, become ``?``."""
    try:
        return orjson.dumps(body)
    except TypeError:
        whole = {
            name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for name, value in body.items()
        }
        return orjson.dumps(whole)


def frame_json(frame: LiveFrame, timing: Timing = NO_TIMING, signals: Signals = None) -> bytes:
    """A live frame under the names that clients read and under its columns' own; NaN is null.

    Further signals never take the place of either.
    """
    wide = frame.wide
    body: dict[str, object] = {
        **frame.extras,
        **{name: wide[column] for name, column in WIRE_NAMES},
        **wide,
        "session_id": frame.session_id,
        "frame_idx": frame.frame_idx,
        "source": frame.source,
        **timing._asdict(),
    }
    if frame.replay_id is not None:
        body["replay_id"] = frame.replay_id
    if signals is not None:
        body = {name: value for name, value in body.items() if name in signals or name in ALWAYS}
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def _event(data: bytes, name: str, number: int) -> Event:
    """One that is the same in both forms."""
    whole = sse.frame(data, name, number)
    return Event(number, whole, whole)


def cue_event(cue: Cue, number: int, now_s: float) -> Event:
    """A cue, told at *now_s* (Unix seconds)."""
    head = {"id": number, "timestamp": round(now_s * 1000), "ts": round(now_s, 3)}
    data = object_json({**head, **cue._asdict()})
    return Event(number, sse.frame(data, "cue", number), sse.frame(data, number=number))


def notification_event(payload: bytes, number: int) -> Event:
    """A notification, whose JSON is kept as it was stored."""
    return Event(
        number, sse.frame(payload, "notification", number), sse.frame(payload, "notification")
    )


class TooManyListeners(ApiError):
    """No further stream can be opened now."""

    status, code, retry_after_s = 503, "too_many_listeners", 5
    text = "too many streams are open; close one, or try again later"


class Listener(Protocol):
    """Takes events as they happen; nothing of it may wait."""

    @property
    def topics(self) -> Mapping[Kind, tuple[str, ...]]:
        """What it listens to, which stays the same."""

    @property
    def signals(self) -> Signals:
        """What it wants of a frame."""

    def is_due(self, number: int, now: float, frame: LiveFrame) -> bool:
        """Whether it takes a frame."""

    def offer(self, kind: Kind, event: Event) -> None:
        """Take an event, in place of an older one where there is no room."""

    def close(self) -> None:
        """Stop listening."""


class Subscription:
    """The events of one listener, as bytes, until it or the hub closes; made by `Hub.subscribe`."""

    def __init__(
        self,
        hub: "Hub",
        topics: Mapping[Kind, Sequence[str]],
        backlog: Iterable[tuple[Kind, Event]],
        *,
        position: int,
        period_s: float,
        plain: Container[Kind],
        signals: Signals,
    ) -> None:
        self.topics = {kind: tuple(names) for kind, names in topics.items()}
        self.position = position
        """Number of the last event before the first one of this subscription."""
        self.taken: tuple[Kind, int] | None = None
        """Kind and number of the event that was taken last."""
        self.signals = signals
        self.dropped = 0
        self.closed = False
        self._hub = hub
        self._period_s = period_s
        self._due = 0.0
        self._plain = plain
        self._backlog = deque(backlog)
        self._waiting: deque[tuple[Kind, Event]] = deque()
        self._counts = dict.fromkeys(self.topics, 0)
        self._missed = dict.fromkeys(self.topics, 0)
        self._offered = position
        self._waiter: asyncio.Future[None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while not self.closed:
            if self._backlog:
                return self._bytes(*self._backlog.popleft())
            if self._waiting:
                kind, event = self._waiting.popleft()
                self._counts[kind] -= 1
                data = self._bytes(kind, event)
                if self._missed[kind]:
                    data, self._missed[kind] = spliced(data, self._missed[kind]), 0
                return data
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        raise StopAsyncIteration

    def is_due(self, number: int, now: float, frame: LiveFrame) -> bool:
        """Whether it takes a frame: not one that came by another of the topics, nor one that is
        earlier than the rate that was asked for."""
        if number == self._offered:
            return False
        if self._period_s:
            if now < self._due - EARLY * self._period_s:
                return False
            behind = now - self._due >= self._period_s
            self._due = (now if behind else self._due) + self._period_s
        return True

    def offer(self, kind: Kind, event: Event) -> None:
        """Queue *event*, in place of the oldest one of its kind where too many wait."""
        if event.number == self._offered:
            return  # it came by another of the topics
        self._offered = event.number
        if self._counts[kind] >= QUEUES[kind]:
            del self._waiting[next(at for at, (one, _) in enumerate(self._waiting) if one == kind)]
            self._counts[kind] -= 1
            self._missed[kind] += 1
            self.dropped += 1
            self._hub.dropped += 1
        self._waiting.append((kind, event))
        self._counts[kind] += 1
        self._wake()

    def close(self) -> None:
        """Stop listening; what waits is left. Harmless when repeated."""
        if not self.closed:
            self.closed = True
            self._hub.leave(self)
            self._wake()

    def _bytes(self, kind: Kind, event: Event) -> bytes:
        self.taken = kind, event.number
        return event.plain if kind in self._plain else event.named

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Hub:
    """Publishes to the listeners of a topic; of the event loop alone.

    A topic is the id of a session, ``_live`` (whatever a bus or a replay brings), ``*``
    (everything), ``SIM`` (the active session), or for notifications a driver. Publishing costs as
    much as there are listeners of the topic, and nothing is made into bytes that nobody hears.
    """

    def __init__(
        self,
        *,
        most: int = MOST_LISTENERS,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.published = 0
        """Events that had at least one listener."""
        self.dropped = 0
        """Events that a slow listener did not get."""
        self.refused = 0
        """Listeners turned away because there were too many."""
        self.closed = False
        self._most = most
        self._clock, self._wall = clock, wall
        # Numbers go on from the time of day, so that they grow over restarts too.
        self._number = int(wall() * 1000)
        self._topics: dict[Kind, dict[str, dict[Listener, None]]] = {k: {} for k in QUEUES}
        self._kept: dict[Kind, deque[tuple[tuple[str, ...], Event]]] = {
            kind: deque(maxlen=RING) for kind in KEPT
        }
        self._all: dict[Listener, None] = {}
        self._active: Callable[[], str] = str

    def follow(self, active_session: Callable[[], str]) -> None:
        """Let *active_session* say which session is active, ``""`` for none; asked each time."""
        self._active = active_session

    @property
    def listeners(self) -> int:
        """How many there are."""
        return len(self._all)

    @property
    def hears_telemetry(self) -> bool:
        """Whether anybody listens to any session's frames."""
        return bool(self._topics["telemetry"])

    def publish_frame(self, frame: LiveFrame, timing: Timing = NO_TIMING) -> None:
        """Give a frame, and where it stands in its lap, to the listeners of its session."""
        topics = self._heard_by(frame.session_id, live=frame.source != "ingest")
        number, now, heard = self._next(), self._clock(), False
        made: dict[Signals, Event] = {}
        for listener in self._listeners("telemetry", topics):
            heard = True
            if listener.is_due(number, now, frame):
                signals = listener.signals
                if signals not in made:
                    data = frame_json(frame, timing, signals)
                    made[signals] = _event(data, "telemetry", number)
                listener.offer("telemetry", made[signals])
        self.published += heard

    def publish_done(self, frame: LiveFrame, done: Done) -> None:
        """Tell the lap or sector that a frame has ended, now and to those who come back."""
        name, body = "sector", {"session_id": frame.session_id, **done._asdict()}
        if isinstance(done, LapDone):
            name, body["sectors"] = "lap", [sector._asdict() for sector in done.sectors]
        topics = self._heard_by(frame.session_id, live=frame.source != "ingest")
        self._keep("timing", topics, _event(orjson.dumps(body), name, self._next()))

    def publish_control(
        self, session_id: str, event: Control, payload: Mapping[str, object]
    ) -> None:
        """Tell the listeners of a session's telemetry, or lap times, what happens to it."""
        made = _event(orjson.dumps(payload), event, self._next())
        topics = self._heard_by(session_id, live=True)
        self._give("telemetry", topics, made)
        self._give("timing", topics, made)

    def publish_cue(self, cue: Cue) -> None:
        """Give a cue to the listeners of its session, now and when they come back."""
        event = cue_event(cue, self._next(), self._wall())
        self._keep("cues", self._heard_by(cue.session_id), event)

    def forget(self, session_id: str) -> None:
        """Tell those who come back no more of a session that was deleted."""
        for kind, kept in self._kept.items():
            rest = [(topics, event) for topics, event in kept if topics[0] != session_id]
            self._kept[kind] = deque(rest, maxlen=RING)

    def publish_silence(self, session_id: str, why: str | None) -> None:
        """Tell the listeners of a session's cues why the coach is silent; None: it coaches."""
        payload = {"session_id": session_id, "silent": why}
        event = _event(orjson.dumps(payload), "state", self._next())
        self._give("cues", self._heard_by(session_id), event)

    def publish_notification(self, topics: Sequence[str], event: Event) -> None:
        """Give a notification to the listeners of *topics*; its number must be a new one."""
        self._give("notifications", topics, event)

    def subscribe(
        self,
        topics: Mapping[Kind, Sequence[str]],
        *,
        hz: float | None = None,
        signals: Signals = None,
        since_id: int | None = None,
        plain: Container[Kind] = (),
        backlog: Sequence[Event] = (),
        position: int | None = None,
    ) -> Subscription:
        """Listen to topics of some kinds from now on. Raises `TooManyListeners`.

        Of frames at most *hz* come a second. With *since_id* the cues and laps after that number
        come first; a number that is too old, or was never given out, means all that are kept.
        *backlog* are notifications that come first in any case; *position* is the number before
        the first event. Kinds in *plain* come in their other form.
        """
        if len(self._all) >= self._most:
            self.refused += 1
            raise TooManyListeners
        first: list[tuple[Kind, Event]] = [("notifications", event) for event in backlog]
        if since_id is not None and not set(KEPT).isdisjoint(topics):
            position, missed = self._since(topics, since_id)
            first += missed
        made = Subscription(
            self,
            topics,
            first,
            position=self._number if position is None else position,
            period_s=1.0 / hz if hz else 0.0,
            plain=plain,
            signals=signals,
        )
        self.join(made)
        return made

    def join(self, listener: Listener) -> None:
        """Let *listener* take what happens from now on; it is closed with the hub."""
        if self.closed:
            listener.close()
            return
        self._all[listener] = None
        for kind, names in listener.topics.items():
            for name in names:
                self._topics[kind].setdefault(name, {})[listener] = None

    def leave(self, listener: Listener) -> None:
        """It listens no longer."""
        self._all.pop(listener, None)
        for kind, names in listener.topics.items():
            table = self._topics[kind]
            for name in names:
                listeners = table.get(name, {})
                listeners.pop(listener, None)
                if not listeners:
                    table.pop(name, None)

    def close(self) -> None:
        """End every subscription, and those to come."""
        self.closed = True
        for listener in list(self._all):
            listener.close()

    def _heard_by(self, session_id: str, live: bool = False) -> tuple[str, ...]:
        """All topics of a session, whether somebody listens or not."""
        active = session_id == self._active()
        return session_id, EVERYTHING, *(ACTIVE,) * active, *(LIVE_SESSION,) * live

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _listeners(self, kind: Kind, topics: Iterable[str]) -> Iterator[Listener]:
        table = self._topics[kind]
        for topic in topics:
            yield from table.get(topic, ())

    def _give(self, kind: Kind, topics: Iterable[str], event: Event) -> None:
        heard = False
        for listener in self._listeners(kind, topics):
            heard = True
            listener.offer(kind, event)
        self.published += heard

    def _keep(self, kind: Kind, topics: tuple[str, ...], event: Event) -> None:
        """Give an event, now and to those who come back."""
        self._kept[kind].append((topics, event))
        self._give(kind, topics, event)

    def _since(
        self, topics: Mapping[Kind, Sequence[str]], number: int
    ) -> tuple[int, list[tuple[Kind, Event]]]:
        """Where a listener goes on that had *number* last, and the events it has missed."""
        oldest = min((kept[0][1].number for kept in self._kept.values() if kept), default=None)
        if oldest is None:
            return self._number, []
        if not oldest - 1 <= number <= self._number:
            number = oldest - 1
        missed = [
            (kind, event)
            for kind, kept in self._kept.items()
            for heard_by, event in kept
            if event.number > number and not set(topics.get(kind, ())).isdisjoint(heard_by)
        ]
        return number, sorted(missed, key=lambda pair: pair[1].number)
