"""Publishes live events to listeners as server-sent events, each encoded once.

Publishing never waits: a slow listener loses its oldest events.
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
"""Telemetry events besides frames: a replay starts over or ends, a bus comes or goes."""

LIVE_SESSION: Final = "_live"
"""Collects frames while no session is open; listeners of that name hear every live frame."""
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
"""Events of a kind that may wait for one listener; beyond that the oldest are dropped."""
KEPT: Final[tuple[Kind, ...]] = ("cues", "timing")
"""Kinds that are kept for listeners that reconnect."""
RING: Final = 256
"""Events kept of each of these kinds."""
ALWAYS: Final = ("timestamp", "session_id")
"""Fields of a frame that every listener gets."""
EARLY: Final = 0.25
"""Share of the period by which a frame may be early, since no source keeps an even pace."""

RETRY_MS: Final = 2000
"""Milliseconds that a client waits before it reconnects."""
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
"""The second name of each frame column in live frames."""
_DATA: Final = b"data: {"


class Event(NamedTuple):
    """An event, encoded for its listeners."""

    number: int
    named: bytes
    """With its name and number."""
    plain: bytes
    """A cue without its event name, a notification without its number."""


def hello(stream: str, about: Mapping[str, object], number: int | None) -> bytes:
    """Encode the first event of a stream; *number* is where a client resumes."""
    data = orjson.dumps({"stream": stream, **about})
    return b"retry: %d\n" % RETRY_MS + sse.frame(data, "hello", number)


def insert_dropped(whole: bytes, dropped: int) -> bytes:
    """Insert ``dropped`` before the fields of the JSON object in an encoded event."""
    at = whole.index(_DATA) + len(_DATA)
    comma = b"" if whole[at : at + 1] == b"}" else b","
    return whole[:at] + b'"dropped":%d' % dropped + comma + whole[at:]


def encode_object(body: Mapping[str, object]) -> bytes:
    """Encode *body* as JSON; lone surrogates, which truncated text may contain, become ``?``."""
    try:
        return orjson.dumps(body)
    except TypeError:
        whole = {
            name: value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
            for name, value in body.items()
        }
        return orjson.dumps(whole)


def encode_frame(frame: LiveFrame, timing: Timing = NO_TIMING, signals: Signals = None) -> bytes:
    """Encode a live frame under its column names and their second names; NaN becomes null.

    Other signals never override either.
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


def _make_event(data: bytes, name: str, number: int) -> Event:
    """Make an event whose two forms are the same."""
    whole = sse.frame(data, name, number)
    return Event(number, whole, whole)


def make_cue_event(cue: Cue, number: int, now_s: float) -> Event:
    """Make the event of a cue at *now_s* (Unix seconds)."""
    head = {"id": number, "timestamp": round(now_s * 1000), "ts": round(now_s, 3)}
    data = encode_object({**head, **cue._asdict()})
    return Event(number, sse.frame(data, "cue", number), sse.frame(data, number=number))


def make_notification_event(payload: bytes, number: int) -> Event:
    """Make the event of a notification from its stored JSON."""
    return Event(
        number, sse.frame(payload, "notification", number), sse.frame(payload, "notification")
    )


class TooManyListeners(ApiError):
    """No more streams can be opened now."""

    status, code, retry_after_s = 503, "too_many_listeners", 5
    text = "too many streams are open; close one, or try again later"


class Listener(Protocol):
    """Receives events as they happen; its methods must not wait."""

    @property
    def topics(self) -> Mapping[Kind, tuple[str, ...]]:
        """The topics it listens to; they never change."""

    @property
    def signals(self) -> Signals:
        """The fields it wants of a frame."""

    def is_due(self, number: int, now: float, frame: LiveFrame) -> bool:
        """Whether it wants this frame."""

    def offer(self, kind: Kind, event: Event) -> None:
        """Queue an event; drop an older one if there is no room."""

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
        """Number of the last event before this subscription's first."""
        self.taken: tuple[Kind, int] | None = None
        """Kind and number of the event delivered last."""
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
                return self._encode(*self._backlog.popleft())
            if self._waiting:
                kind, event = self._waiting.popleft()
                self._counts[kind] -= 1
                data = self._encode(kind, event)
                if self._missed[kind]:
                    data, self._missed[kind] = insert_dropped(data, self._missed[kind]), 0
                return data
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        raise StopAsyncIteration

    def is_due(self, number: int, now: float, frame: LiveFrame) -> bool:
        """Whether it wants this frame: not a second time by another topic, nor above its rate."""
        if number == self._offered:
            return False
        if self._period_s:
            if now < self._due - EARLY * self._period_s:
                return False
            behind = now - self._due >= self._period_s
            self._due = (now if behind else self._due) + self._period_s
        return True

    def offer(self, kind: Kind, event: Event) -> None:
        """Queue *event*; if too many of its kind wait, drop the oldest."""
        if event.number == self._offered:
            return  # already offered by another topic
        self._offered = event.number
        if self._counts[kind] >= QUEUES[kind]:
            del self._waiting[
                next(at for at, (queued, _) in enumerate(self._waiting) if queued == kind)
            ]
            self._counts[kind] -= 1
            self._missed[kind] += 1
            self.dropped += 1
            self._hub.dropped += 1
        self._waiting.append((kind, event))
        self._counts[kind] += 1
        self._wake()

    def close(self) -> None:
        """Stop listening and discard what waits. May be repeated."""
        if not self.closed:
            self.closed = True
            self._hub.leave(self)
            self._wake()

    def _encode(self, kind: Kind, event: Event) -> bytes:
        self.taken = kind, event.number
        return event.plain if kind in self._plain else event.named

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class Hub:
    """Publishes to the listeners of a topic; used on the event loop only.

    A topic is the id of a session, ``_live`` (all frames of a bus or a replay), ``*``
    (everything), ``SIM`` (the active session), or for notifications a driver. The cost of
    publishing grows with the listeners of the topic; without listeners nothing is encoded.
    """

    def __init__(
        self,
        *,
        most: int = MOST_LISTENERS,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.published = 0
        """Events with at least one listener."""
        self.dropped = 0
        """Events that slow listeners lost."""
        self.refused = 0
        """Listeners rejected because there were too many."""
        self.closed = False
        self._most = most
        self._clock, self._wall = clock, wall
        # Numbers start at the current time, so that they keep growing across restarts.
        self._number = int(wall() * 1000)
        self._topics: dict[Kind, dict[str, dict[Listener, None]]] = {k: {} for k in QUEUES}
        self._kept: dict[Kind, deque[tuple[tuple[str, ...], Event]]] = {
            kind: deque(maxlen=RING) for kind in KEPT
        }
        self._all: dict[Listener, None] = {}
        self._active: Callable[[], str] = str

    def follow(self, active_session: Callable[[], str]) -> None:
        """Ask *active_session* on each event for the active session; ``""`` means none."""
        self._active = active_session

    @property
    def listeners(self) -> int:
        """Number of listeners."""
        return len(self._all)

    @property
    def hears_telemetry(self) -> bool:
        """Whether anyone listens to frames."""
        return bool(self._topics["telemetry"])

    def publish_frame(self, frame: LiveFrame, timing: Timing = NO_TIMING) -> None:
        """Publish a frame with its lap timing to the listeners of its session."""
        topics = self._list_topics(frame.session_id, live=frame.source != "ingest")
        number, now, heard = self._next_number(), self._clock(), False
        made: dict[Signals, Event] = {}
        for listener in self._listeners("telemetry", topics):
            heard = True
            if listener.is_due(number, now, frame):
                signals = listener.signals
                if signals not in made:
                    data = encode_frame(frame, timing, signals)
                    made[signals] = _make_event(data, "telemetry", number)
                listener.offer("telemetry", made[signals])
        self.published += heard

    def publish_done(self, frame: LiveFrame, done: Done) -> None:
        """Publish the lap or sector that a frame completes, also to listeners that reconnect."""
        name, body = "sector", {"session_id": frame.session_id, **done._asdict()}
        if isinstance(done, LapDone):
            name, body["sectors"] = "lap", [sector._asdict() for sector in done.sectors]
        topics = self._list_topics(frame.session_id, live=frame.source != "ingest")
        self._keep("timing", topics, _make_event(orjson.dumps(body), name, self._next_number()))

    def publish_control(
        self, session_id: str, event: Control, payload: Mapping[str, object]
    ) -> None:
        """Publish a change of a session's source to the listeners of its telemetry and timing."""
        made = _make_event(orjson.dumps(payload), event, self._next_number())
        topics = self._list_topics(session_id, live=True)
        self._offer("telemetry", topics, made)
        self._offer("timing", topics, made)

    def publish_cue(self, cue: Cue) -> None:
        """Publish a cue to the listeners of its session, and keep it for those that reconnect."""
        event = make_cue_event(cue, self._next_number(), self._wall())
        self._keep("cues", self._list_topics(cue.session_id), event)

    def forget(self, session_id: str) -> None:
        """Drop the kept events of a deleted session."""
        for kind, kept in self._kept.items():
            rest = [(topics, event) for topics, event in kept if topics[0] != session_id]
            self._kept[kind] = deque(rest, maxlen=RING)

    def publish_silence(self, session_id: str, why: str | None) -> None:
        """Tell the listeners of a session's cues why the coach is silent; None: it coaches."""
        payload = {"session_id": session_id, "silent": why}
        event = _make_event(orjson.dumps(payload), "state", self._next_number())
        self._offer("cues", self._list_topics(session_id), event)

    def publish_notification(self, topics: Sequence[str], event: Event) -> None:
        """Publish a notification to the listeners of *topics*; its number must be new."""
        self._offer("notifications", topics, event)

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
        """Listen to *topics* from now on. Raises `TooManyListeners`.

        *hz* limits the frames a second. With *since_id* the kept cues and laps after that number
        come first, or all of them if the number is too old or unknown. *backlog* are notifications
        that always come first; *position* is the number before the first event. Kinds in *plain*
        come in their plain form.
        """
        if len(self._all) >= self._most:
            self.refused += 1
            raise TooManyListeners
        first: list[tuple[Kind, Event]] = [("notifications", event) for event in backlog]
        if since_id is not None and not set(KEPT).isdisjoint(topics):
            position, missed = self._find_missed(topics, since_id)
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
        """Offer *listener* every event from now on; it is closed with the hub."""
        if self.closed:
            listener.close()
            return
        self._all[listener] = None
        for kind, names in listener.topics.items():
            for name in names:
                self._topics[kind].setdefault(name, {})[listener] = None

    def leave(self, listener: Listener) -> None:
        """Stop offering events to *listener*."""
        self._all.pop(listener, None)
        for kind, names in listener.topics.items():
            table = self._topics[kind]
            for name in names:
                listeners = table.get(name, {})
                listeners.pop(listener, None)
                if not listeners:
                    table.pop(name, None)

    def close(self) -> None:
        """End every subscription, present and future."""
        self.closed = True
        for listener in list(self._all):
            listener.close()

    def _list_topics(self, session_id: str, live: bool = False) -> tuple[str, ...]:
        """List all topics of a session, with or without listeners."""
        active = session_id == self._active()
        return session_id, EVERYTHING, *(ACTIVE,) * active, *(LIVE_SESSION,) * live

    def _next_number(self) -> int:
        self._number += 1
        return self._number

    def _listeners(self, kind: Kind, topics: Iterable[str]) -> Iterator[Listener]:
        table = self._topics[kind]
        for topic in topics:
            yield from table.get(topic, ())

    def _offer(self, kind: Kind, topics: Iterable[str], event: Event) -> None:
        heard = False
        for listener in self._listeners(kind, topics):
            heard = True
            listener.offer(kind, event)
        self.published += heard

    def _keep(self, kind: Kind, topics: tuple[str, ...], event: Event) -> None:
        """Offer an event and keep it for reconnecting listeners."""
        self._kept[kind].append((topics, event))
        self._offer(kind, topics, event)

    def _find_missed(
        self, topics: Mapping[Kind, Sequence[str]], number: int
    ) -> tuple[int, list[tuple[Kind, Event]]]:
        """Return where a listener whose last event was *number* resumes, and what it missed."""
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
