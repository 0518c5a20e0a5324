"""Hands what happens live to whoever listens, as server-sent events that are made into bytes once.

Nobody is waited for: a slow listener loses the oldest.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal, NamedTuple, Self, TypeAlias

import orjson

from runtime.bridge.cues.model import Cue
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
Kind: TypeAlias = Literal["cues", "telemetry", "notifications"]

ACTIVE: Final = "SIM"
"""Listeners of that name hear whichever session is the active one at the time."""
MOST_LISTENERS: Final = 64
QUEUES: Final[Mapping[Kind, int]] = {"cues": 32, "telemetry": 128, "notifications": 64}
"""Events that wait for one listener; of more, the oldest are dropped."""
RING: Final = 256
"""Cues that are kept for listeners that come back."""
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
    """With an ``event:`` line."""
    plain: bytes
    """Without one, for listeners of unnamed messages."""
    always: bool = False
    """Whether it reaches listeners whatever rate they asked for."""


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


def frame_json(frame: LiveFrame) -> bytes:
    """A live frame under the names that clients read and under its columns' own; NaN is null.

    Further signals never take the place of either.
    """
    wide = frame.wide
    body: dict[str, object] = {
        **{name: wide[column] for name, column in WIRE_NAMES},
        **wide,
        "session_id": frame.session_id,
        "frame_idx": frame.frame_idx,
        "source": frame.source,
    }
    if frame.replay_id is not None:
        body["replay_id"] = frame.replay_id
    return orjson.dumps({**frame.extras, **body}, option=orjson.OPT_SERIALIZE_NUMPY)


def frame_event(frame: LiveFrame, number: int) -> Event:
    """A live frame as ``event: telemetry``."""
    data = sse.frame(frame_json(frame), "telemetry", number)
    return Event(number, data, data)


def control_event(name: str, payload: Mapping[str, object], number: int) -> Event:
    """Something that happens to a telemetry stream, such as its end."""
    data = sse.frame(orjson.dumps(payload), name, number)
    return Event(number, data, data, always=True)


def cue_event(cue: Cue, number: int, now_s: float) -> Event:
    """A cue, told at *now_s* (Unix seconds)."""
    head = {"id": number, "timestamp": round(now_s * 1000), "ts": round(now_s, 3)}
    data = object_json({**head, **cue._asdict()})
    return Event(number, sse.frame(data, "cue", number), sse.frame(data, number=number))


def notification_event(payload: bytes, number: int) -> Event:
    """A notification, whose JSON is kept as it was stored."""
    data = sse.frame(payload, "notification", number)
    return Event(number, data, data)


class TooManyListeners(ApiError):
    """No further stream can be opened now."""

    status, code = 503, "too_many_listeners"

    def __init__(self) -> None:
        super().__init__(
            "too many streams are open; close one, or try again later",
            headers={"Retry-After": "5"},
        )


class Subscription:
    """The events of one listener, as bytes, until it or the hub closes; made by `Hub.subscribe`."""

    def __init__(
        self,
        hub: "Hub",
        kind: Kind,
        topics: tuple[str, ...],
        backlog: Iterable[Event],
        *,
        position: int,
        period_s: float,
        named: bool,
    ) -> None:
        self.kind = kind
        self.topics = topics
        self.position = position
        """Number of the last event before the first one of this subscription."""
        self.taken = position
        """Number of the event that was taken last."""
        self.dropped = 0
        self.closed = False
        self._hub = hub
        self._period_s = period_s
        self._due = 0.0
        self._named = named
        self._most = QUEUES[kind]
        self._backlog = deque(backlog)
        self._waiting: deque[Event] = deque()
        self._missed = 0
        self._offered = position
        self._waiter: asyncio.Future[None] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        while not self.closed:
            if self._backlog:
                return self._bytes(self._backlog.popleft())
            if self._waiting:
                data = self._bytes(self._waiting.popleft())
                if self._missed:
                    data, self._missed = spliced(data, self._missed), 0
                return data
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        raise StopAsyncIteration

    def offer(self, event: Event, now: float) -> None:
        """Queue *event*, in place of the oldest one where too many wait."""
        if event.number == self._offered:
            return  # it came by another of the topics
        if self._period_s and not event.always:
            if now < self._due - EARLY * self._period_s:
                return
            behind = now - self._due >= self._period_s
            self._due = (now if behind else self._due) + self._period_s
        self._offered = event.number
        if len(self._waiting) >= self._most:
            self._waiting.popleft()
            self._missed += 1
            self.dropped += 1
            self._hub.dropped += 1
        self._waiting.append(event)
        self._wake()

    def close(self) -> None:
        """Stop listening; what waits is left. Harmless when repeated."""
        if not self.closed:
            self.closed = True
            self._hub.forget(self)
            self._wake()

    def _bytes(self, event: Event) -> bytes:
        self.taken = event.number
        return event.named if self._named else event.plain

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
        self._numbers = dict.fromkeys(QUEUES, int(wall() * 1000))
        self._topics: dict[Kind, dict[str, dict[Subscription, None]]] = {k: {} for k in QUEUES}
        self._cues: deque[tuple[tuple[str, ...], Event]] = deque(maxlen=RING)
        self._all: dict[Subscription, None] = {}
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

    def publish_frame(self, frame: LiveFrame) -> None:
        """Give a frame to the listeners of its session."""
        live = frame.source != "ingest"
        names = self._named("telemetry", frame.session_id, live=live)
        number = self._number("telemetry")
        if names:
            self._give("telemetry", names, frame_event(frame, number))

    def publish_control(
        self, session_id: str, event: Control, payload: Mapping[str, object]
    ) -> None:
        """Tell the listeners of a session's telemetry what happens to it."""
        names = self._named("telemetry", session_id, live=True)
        number = self._number("telemetry")
        if names:
            self._give("telemetry", names, control_event(event, payload, number))

    def publish_cue(self, cue: Cue) -> None:
        """Give a cue to the listeners of its session, now and when they come back."""
        event = cue_event(cue, self._number("cues"), self._wall())
        active = (ACTIVE,) if cue.session_id == self._active() else ()
        topics = (cue.session_id, EVERYTHING, *active)
        self._cues.append((topics, event))
        self._give("cues", topics, event)

    def publish_silence(self, session_id: str, why: str | None) -> None:
        """Tell the listeners of a session's cues why the coach is silent; None: it coaches."""
        active = (ACTIVE,) if session_id == self._active() else ()
        payload = {"session_id": session_id, "silent": why}
        event = control_event("state", payload, self._number("cues"))
        self._give("cues", (session_id, EVERYTHING, *active), event)

    def publish_notification(self, topics: Sequence[str], event: Event) -> None:
        """Give a notification to the listeners of *topics*; its number must be a new one."""
        self._give("notifications", topics, event)

    def subscribe(
        self,
        kind: Kind,
        topics: Sequence[str],
        *,
        hz: float | None = None,
        since_id: int | None = None,
        named: bool = True,
        backlog: Sequence[Event] = (),
        position: int | None = None,
    ) -> Subscription:
        """Listen to *topics* from now on, at most *hz* times a second. Raises `TooManyListeners`.

        With *since_id* the cues behind that number come first; a number that is too old, or was
        never given out, means all that are kept. *backlog* is what comes first in any case, and
        *position* the number before it.
        """
        if len(self._all) >= self._most:
            self.refused += 1
            raise TooManyListeners
        if kind == "cues" and since_id is not None:
            position, backlog = self._since(topics, since_id)
        made = Subscription(
            self,
            kind,
            tuple(topics),
            backlog,
            position=self._numbers[kind] if position is None else position,
            period_s=1.0 / hz if hz else 0.0,
            named=named,
        )
        if self.closed:
            made.closed = True
            return made
        self._all[made] = None
        for topic in made.topics:
            self._topics[kind].setdefault(topic, {})[made] = None
        return made

    def forget(self, subscription: Subscription) -> None:
        """It listens no longer."""
        self._all.pop(subscription, None)
        table = self._topics[subscription.kind]
        for topic in subscription.topics:
            listeners = table.get(topic, {})
            listeners.pop(subscription, None)
            if not listeners:
                table.pop(topic, None)

    def close(self) -> None:
        """End every subscription, and those to come."""
        self.closed = True
        for subscription in list(self._all):
            subscription.close()

    def _named(self, kind: Kind, session_id: str, *, live: bool) -> list[str]:
        """The topics of a session that somebody listens to."""
        table = self._topics[kind]
        if not table:
            return []
        names = [EVERYTHING, session_id]
        if live and session_id != LIVE_SESSION:
            names.append(LIVE_SESSION)
        if ACTIVE in table and session_id != ACTIVE and session_id == self._active():
            names.append(ACTIVE)
        return [name for name in names if name in table]

    def _number(self, kind: Kind) -> int:
        self._numbers[kind] += 1
        return self._numbers[kind]

    def _give(self, kind: Kind, topics: Iterable[str], event: Event) -> None:
        now = self._clock()
        table = self._topics[kind]
        heard = False
        for topic in topics:
            for subscription in table.get(topic, ()):
                subscription.offer(event, now)
                heard = True
        self.published += heard

    def _since(self, topics: Sequence[str], number: int) -> tuple[int, list[Event]]:
        """Where a listener goes on that had *number* last, and the cues it has missed."""
        if not self._cues:
            return self._numbers["cues"], []
        oldest = self._cues[0][1].number
        if not oldest - 1 <= number <= self._numbers["cues"]:
            number = oldest - 1
        wanted = set(topics)
        missed = [
            event
            for heard_by, event in self._cues
            if event.number > number and not wanted.isdisjoint(heard_by)
        ]
        return number, missed
