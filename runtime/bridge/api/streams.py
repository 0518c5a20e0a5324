"""Live streams (cues, telemetry, notifications), and the replay of a recording on them."""

import asyncio
import re
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from functools import partial
from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import AfterValidator, ConfigDict, Field, RootModel, StrictBool, StrictInt, StrictStr

from runtime.bridge.api.shapes import READ_ERRORS, AnswerModel, Flag, Short, fields_of, session_id
from runtime.bridge.api.spectators import TokenScope
from runtime.bridge.cues.model import Cue
from runtime.bridge.live.hub import (
    ACTIVE,
    ALWAYS,
    EVERYTHING,
    KEEPALIVE,
    LIVE_SESSION,
    Event,
    Hub,
    Kind,
    Subscription,
    TooManyListeners,
    hello,
)
from runtime.bridge.live.replay import NoReplay, ReplayRunning, Replays, ReplayUnavailable
from runtime.bridge.live.spectators import GRANT, MOST_VIEWS
from runtime.bridge.live.timing import LapDone, LapSector, SectorDone
from runtime.bridge.service import SERVICE
from runtime.bridge.session.units import Seconds
from runtime.bridge.storage.errors import NoRows, SessionInUse, UnknownSession
from runtime.web.errors import BadField
from runtime.web.routes import Routes
from runtime.web.sse import EventStream
from runtime.web.wire import Wire, absent, needs

SEND_BUFFER: Final = 8 << 10
"""Bytes that the system keeps for a reader, so that what a slow one gets is not minutes old."""
WRITE_LIMIT: Final = 16 << 10
"""Bytes that wait in this process for a reader before its events do."""
STALL_S: Final = 8.0
"""A reader that takes nothing for this long, and a quarter of it at most, is cut off."""
BEAT_S: Final = 15.0
NOTIFICATIONS_BEAT_S: Final = 30.0
CUT_S: Final = 0.5
"""Seconds that the end of a spectator's stream may take to reach its reader."""
TOPICS: Final[tuple[Kind, ...]] = ("cues", "telemetry", "timing", "notifications")
_FIELDS: Final = re.compile(r"[A-Za-z0-9_]{1,64}(,[A-Za-z0-9_]{1,64}){0,99}")
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
REPLAY_ERRORS: Final = (
    *(*READ_ERRORS, ReplayRunning, UnknownSession, NoRows),
    *(SessionInUse, ReplayUnavailable),
)
routes = Routes("live")
replay_routes = Routes("replay")


def _topic(text: str) -> str:
    """A session id, or ``*``. Raises ValueError."""
    return text if text == EVERYTHING else session_id(text)


Topic = Annotated[
    StrictStr,
    AfterValidator(_topic),
    Field(description="a session, SIM for the active one, _live for bus and replay, * for all"),
]


class CuesQuery(Wire):
    """Whose cues."""

    session_id: Topic
    named: Flag = Field(False, description="whether cues come as event: cue, not as messages")


def _fields(text: str) -> str:
    """Names of fields, separated by commas. Raises ValueError."""
    if not _FIELDS.fullmatch(text):
        raise ValueError("names of fields are needed, separated by commas")
    return text


def _kinds(text: str) -> str:
    """Words of `TOPICS`, separated by commas. Raises ValueError."""
    wrong = [word for word in text.split(",") if word not in TOPICS]
    if wrong:
        raise ValueError(f"words of {', '.join(TOPICS)} are needed, separated by commas")
    return text


Signals = Annotated[
    StrictStr,
    AfterValidator(_fields),
    Field(description="fields of a frame, separated by commas; absent: all"),
]


class TelemetryQuery(Wire):
    """Whose frames, how many of them, and what of each."""

    session_id: Topic
    hz: float | None = Field(None, gt=0, description="frames a second at most")
    signals: Signals | None = None


class StreamQuery(TelemetryQuery):
    """What to follow of which session."""

    topics: Annotated[
        StrictStr,
        AfterValidator(_kinds),
        Field(description="of cues, telemetry, timing, notifications, separated by commas"),
    ] = "telemetry,cues,timing"
    driver: Short = Field(EVERYTHING, description="whose notifications; * for all")
    recent: Flag = Field(
        False, description="whether the latest cues, laps and sectors come first; they are kept"
    )


class NotificationsQuery(Wire):
    """Whose notifications."""

    driver: Short = Field(EVERYTHING, description="a driver, who hears broadcasts too; * for all")


@fields_of(Cue)
class CueEvent(AnswerModel):
    """Something to tell the driver."""

    id: int
    timestamp: int = Field(description="Unix milliseconds")
    ts: float = Field(description="Unix seconds")
    dropped: int | None = absent("events before this one that were dropped")


class TelemetryEvent(Wire):
    """A frame; further signals follow under their own names.

    Where `signals` names fields, only those are there, with timestamp and session_id.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"required": list(ALWAYS)})

    timestamp: float = Field(description="seconds of the session's clock")
    distance: float | None
    speed: float | None
    g_lat: float | None
    g_long: float | None
    combo_g: float | None
    brake_pressure: float | None
    throttle: float | None
    steering: float | None
    rpm: float | None
    lat: float | None
    lon: float | None
    distance_m: float | None
    speed_ms: float | None
    brake_bar: float | None
    throttle_pct: float | None
    steering_deg: float | None
    session_id: str
    frame_idx: int | None
    source: Literal["can", "replay", "ingest"]
    lap: int | None = Field(
        description="the lap that is driven, 1, 2, …; null before start/finish was crossed"
    )
    lap_distance_m: float | None = Field(description="m from start/finish")
    lap_time_s: float | None = Field(description="s since start/finish")
    delta_s: float | None = Field(
        description="s compared with the best lap of the session, else the best of its driver on "
        "the circuit, at the same place; positive is slower"
    )
    predicted_s: float | None = Field(description="s: the lap time, if the rest goes as in that")
    replay_id: str | None = absent("of a replayed frame")
    dropped: int | None = absent("frames before this one that were dropped")


@fields_of(SectorDone)
class SectorEvent(AnswerModel):
    """A sector that was driven to its end."""

    session_id: str
    dropped: int | None = absent("laps and sectors before this one that were dropped")


@fields_of(LapSector)
class LapSectorRecord(AnswerModel):
    """A sector of a complete lap."""


@fields_of(LapDone)
class LapEvent(AnswerModel):
    """A complete lap, told a second after its end: its time is the one that the session keeps."""

    session_id: str
    sectors: tuple[LapSectorRecord, ...]
    dropped: int | None = absent("laps and sectors before this one that were dropped")


class NotificationEvent(Wire):
    """Something that happened; further fields depend on its kind."""

    model_config = ConfigDict(extra="allow")

    id: int
    ts: float = Field(description="Unix seconds")
    kind: str
    driver: str = Field(description="empty: addressed to nobody in particular")
    session_id: str | None = absent()
    title: str
    body: str
    dropped: int | None = absent("notifications before this one that were dropped")


class HelloEvent(Wire):
    """The first event of a stream, `hello`."""

    stream: Literal["stream", "cues", "telemetry", "notifications"]
    heartbeat_s: float = Field(description="seconds between signs of life")
    session_id: str | None = absent()
    known: bool | None = absent("whether there is such a session")
    silent: str | None = Field(
        None, description="why the live coach says nothing about corners; null: it does, or would"
    )
    topics: tuple[Kind, ...] | None = absent("what is followed")
    driver: str | None = absent("whose notifications")


class SilenceEvent(Wire):
    """Whether the coach can tell one corner from another: a `state`."""

    session_id: str
    silent: str | None = Field(description="why it says nothing about corners; null: it does")


class BusEvent(Wire):
    """Whether frames come from the bus: a `state`."""

    connected: bool
    state: str
    last_error: str | None


class ReplayHeldEvent(Wire):
    """A replay was held, let go on, or set to another place: a `state`."""

    replay_id: str
    paused: bool
    t_s: float = Field(description="where in a pass the last frame lies, at speed 1")


class ReplayPassedEvent(Wire):
    """A replay begins anew, `loop`, or is over, `end`."""

    replay_id: str
    frames_emitted: int = Field(description="over all passes")
    failed: bool | None = absent("it broke off")


class CueStreamEvent(RootModel[CueEvent | HelloEvent | SilenceEvent]):
    """What an event of `/cues/stream` holds, by its name."""


class TelemetryStreamEvent(
    RootModel[TelemetryEvent | HelloEvent | BusEvent | ReplayHeldEvent | ReplayPassedEvent]
):
    """What an event of `/telemetry/stream` holds, by its name."""


class NotificationStreamEvent(RootModel[NotificationEvent | HelloEvent]):
    """What an event of `/notifications` holds, by its name."""


class StreamEvent(
    RootModel[
        LapEvent
        | SectorEvent
        | CueEvent
        | NotificationEvent
        | TelemetryEvent
        | HelloEvent
        | SilenceEvent
        | BusEvent
        | ReplayHeldEvent
        | ReplayPassedEvent
    ]
):
    """What an event of `/stream` holds, by its name."""


class ReplayRequest(Wire):
    """What to replay and how."""

    source_session_id: Annotated[StrictStr, Field(min_length=1, max_length=256)]
    speed: Annotated[float, Field(ge=0.1, le=100.0)] = Field(
        1.0, description="1: as it was recorded"
    )
    loop: StrictBool = Field(False, description="begin again after the last frame")
    interrupt: StrictBool = Field(
        True,
        description="false: 409 `session_in_use` while a bus fills a session, of which nothing "
        "would be recorded until the replay ends",
    )


class ReplayPause(Wire):
    """Whether to hold the replay or to let it go on."""

    paused: StrictBool = True


class ReplaySeek(Wire):
    """Where to go on: one of both."""

    model_config = ConfigDict(json_schema_extra=needs("t_s", "frame_idx", alone=True))

    t_s: Annotated[float, Field(ge=0)] | None = Field(
        None, description="seconds of a pass at speed 1, up to duration_s of the status"
    )
    frame_idx: Annotated[StrictInt, Field(ge=0)] | None = None


class ReplayStarted(AnswerModel):
    """The replay that has begun."""

    replay_id: str
    source_session_id: str
    total_frames: int
    est_duration_s: Seconds = Field(description="of one pass, its long pauses shortened")
    speed: float
    loop: bool


class ReplayStopped(AnswerModel):
    """What the stop has ended."""

    stopped: bool = Field(description="whether a replay was running")
    frames_emitted: int


class ReplayStatus(AnswerModel):
    """How far the replay has come; only the first field while none is running."""

    running: bool
    source_session_id: str | None = absent()
    speed: float | None = absent()
    loop: bool | None = absent()
    paused: bool | None = absent()
    t_s: Seconds | None = absent("where in a pass the last frame lies, at speed 1")
    duration_s: Seconds | None = absent("of a pass at speed 1, its long pauses shortened")
    frame_idx: int | None = absent("of the last frame that went out, -1 before the first")
    total_frames: int | None = absent()
    elapsed_s: Seconds | None = absent()
    est_remaining_s: Seconds | None = absent("of this pass")
    frames_emitted: int | None = absent("over all passes")


@routes.get(
    "/stream",
    stream=StreamEvent,
    errors=(TooManyListeners,),
)
async def stream(request: web.Request, *, query: StreamQuery) -> web.StreamResponse:
    """Follow frames, cues, laps and notifications on one connection.

    Every event has a name: `hello` first, then `telemetry`, `cue`, `lap`, `sector`,
    `notification`, and `state`, `loop` and `end` for what happens to bus, replay and coach. A
    client that comes back gets the cues, laps and sectors that it missed. `known` of `hello` says
    whether there is such a session.
    """
    kinds = tuple(kind for kind in TOPICS if kind in query.topics.split(","))
    inbox = request.app[SERVICE].inbox
    topics: dict[Kind, Sequence[str]] = dict.fromkeys(kinds, (query.session_id,))
    backlog: list[Event] = []
    if "notifications" in topics and GRANT in request:
        raise TokenScope
    about = {"topics": kinds, **await _about(request, query.session_id)}
    if "notifications" in topics:
        topics["notifications"], backlog = inbox.waiting(query.driver)
    last_id = _last_id(request)
    subscription = _hub(request).subscribe(
        topics,
        hz=query.hz,
        signals=_signals(query),
        since_id=0 if last_id is None and query.recent else last_id,
        plain=("notifications",),
        backlog=backlog,
    )
    return await _follow(
        request, subscription, about, name="stream", beat_s=BEAT_S, on_sent=inbox.delivered
    )


@routes.get("/cues/stream", stream=CueStreamEvent, errors=(TooManyListeners,))
async def cues(request: web.Request, *, query: CuesQuery) -> web.StreamResponse:
    """Follow the cues of a session; a client that comes back gets what it missed.

    While the coach cannot tell one corner from another, `silent` of the events `hello` and `state`
    says why; it is null as soon as it can.
    """
    about = await _about(request, query.session_id)
    subscription = _hub(request).subscribe(
        {"cues": [query.session_id]},
        since_id=_last_id(request),
        plain=() if query.named else ("cues",),
    )
    return await _follow(request, subscription, about, name="cues", beat_s=BEAT_S)


@routes.get("/telemetry/stream", stream=TelemetryStreamEvent, errors=(TooManyListeners,))
async def telemetry(request: web.Request, *, query: TelemetryQuery) -> web.StreamResponse:
    """Follow the frames of a session while they come in or are replayed."""
    subscription = _hub(request).subscribe(
        {"telemetry": [query.session_id]}, hz=query.hz, signals=_signals(query)
    )
    about = {"session_id": query.session_id, "known": _is_known(request, query.session_id)}
    return await _follow(request, subscription, about, name="telemetry", beat_s=BEAT_S)


@routes.get("/notifications", stream=NotificationStreamEvent, errors=(TooManyListeners,))
async def notifications(request: web.Request, *, query: NotificationsQuery) -> web.StreamResponse:
    """Follow the notifications of a driver; those that nobody has got yet come first."""
    inbox = request.app[SERVICE].inbox
    return await _follow(
        request,
        inbox.listen(query.driver, _last_id(request)),
        {"driver": query.driver},
        name="notifications",
        beat_s=NOTIFICATIONS_BEAT_S,
        on_sent=inbox.delivered,
    )


def _signals(query: TelemetryQuery) -> frozenset[str] | None:
    return None if query.signals is None else frozenset(query.signals.split(","))


async def _about(request: web.Request, session_id: str) -> dict[str, object]:
    """What the greeting of a stream says of its session."""
    service = request.app[SERVICE]
    heard = service.active_session() if session_id == ACTIVE else session_id
    silent = (await service.circuits.look(heard)).silent if heard not in ("", EVERYTHING) else None
    return {
        "session_id": session_id,
        "silent": silent,
        "known": _is_known(request, session_id),
    }


def _is_known(request: web.Request, session_id: str) -> bool:
    """Whether there is such a session; topics of more than one are known."""
    service = request.app[SERVICE]
    if session_id in (EVERYTHING, LIVE_SESSION):
        return True
    if session_id == ACTIVE and service.active_session():
        return True
    return service.row(session_id) is not None


@replay_routes.post("/session/replay/start", errors=REPLAY_ERRORS)
async def start_replay(request: web.Request, *, body: ReplayRequest) -> ReplayStarted:
    """Begin to replay a session on the telemetry stream; a live CAN bus is put aside for it."""
    service = request.app[SERVICE]

    def check() -> None:
        if not body.interrupt and (filled := service.filled_session()):
            words = "a bus fills a session: of its car nothing is recorded while a replay runs"
            raise SessionInUse(words, session_id=filled)

    await service.circuits.look(body.source_session_id)  # or the coach begins later
    replays, source = _replays(request), body.source_session_id
    begun = await replays.start(source, body.speed, loop=body.loop, check=check)
    return ReplayStarted.of(begun)


@replay_routes.post("/session/replay/stop", errors=(ReplayUnavailable,))
async def stop_replay(request: web.Request) -> ReplayStopped:
    """End the replay; answers once its last frame is out."""
    return ReplayStopped.of(await _replays(request).stop())


@replay_routes.post("/session/replay/pause", errors=(NoReplay, ReplayUnavailable))
async def pause_replay(request: web.Request, *, body: ReplayPause) -> ReplayStatus:
    """Hold the replay, or let it go on; the bus stays put aside meanwhile."""
    now = await request.app[SERVICE].finish(_replays(request).pause(paused=body.paused))
    return ReplayStatus.of(now, running=True)


@replay_routes.post("/session/replay/seek", errors=(NoReplay, ReplayUnavailable))
async def seek_replay(request: web.Request, *, body: ReplaySeek) -> ReplayStatus:
    """Go on from another place; a replay that is paused shows the frame there."""
    if (body.t_s is None) == (body.frame_idx is None):
        raise BadField("t_s, frame_idx: one of both is needed", param="t_s")
    sought = _replays(request).seek(t_s=body.t_s, frame_idx=body.frame_idx or 0)
    now = await request.app[SERVICE].finish(sought)
    return ReplayStatus.of(now, running=True)


@replay_routes.get("/session/replay/status", errors=(ReplayUnavailable,))
async def replay_status(request: web.Request) -> ReplayStatus:
    """Say how far the replay has come."""
    now = _replays(request).current
    return ReplayStatus.of(now, running=now is not None)


def _replays(request: web.Request) -> Replays:
    replays = request.app[SERVICE].replays
    if replays is None:
        raise ReplayUnavailable
    return replays


async def _follow(
    request: web.Request,
    subscription: Subscription,
    about: dict[str, object],
    *,
    name: str,
    beat_s: float,
    on_sent: Callable[[Kind, int], None] = lambda _, __: None,
) -> web.StreamResponse:
    """Send what *subscription* brings until the reader or the server ends it."""
    stream = EventStream(
        request,
        heartbeat_s=beat_s,
        heartbeat=KEEPALIVE,
        stall_s=STALL_S,
        ends_on_drain=True,
        headers={"Referrer-Policy": "no-referrer"},
    )
    # Its buffers are made small: not a connection for other requests any more.
    stream.response.force_close()
    grant = request.get(GRANT)
    viewing: AbstractContextManager[None] = nullcontext()
    if grant is not None:
        spectators = request.app[SERVICE].spectators
        viewing = spectators.viewing(grant, partial(_cut, request, stream))
    with closing(subscription):
        _tighten(request)
        async with stream:
            try:
                with viewing:
                    first = {**about, "heartbeat_s": beat_s}
                    await stream.send(hello(name, first, subscription.position))
                    async for event in subscription:
                        await stream.send(event)
                        if subscription.taken is not None:
                            on_sent(*subscription.taken)
            except asyncio.CancelledError:
                # Nobody who is behind holds up the end of a stream that the server ends.
                if request.transport is not None and request.protocol.writing_paused:
                    request.transport.abort()
                raise
    return stream.response


def _cut(request: web.Request, stream: EventStream) -> None:
    """End a stream now, also one whose reader takes nothing any more."""
    transport = request.transport
    stream.close()
    if transport is not None:
        asyncio.get_running_loop().call_later(CUT_S, transport.abort)


def _hub(request: web.Request) -> Hub:
    """The hub, where there is a place for one more spectator. Raises `TooManyListeners`."""
    service = request.app[SERVICE]
    if GRANT in request and service.spectators.views >= MOST_VIEWS:
        raise TooManyListeners
    return service.hub


def _tighten(request: web.Request) -> None:
    """Keep what waits for the reader small, so that it is dropped here and not sent late."""
    transport = request.transport
    if transport is None:
        return
    transport.set_write_buffer_limits(high=WRITE_LIMIT)
    wire = transport.get_extra_info("socket")
    if wire is not None:
        with suppress(OSError):
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)


def _last_id(request: web.Request) -> int | None:
    """The number of the last event that the client has got."""
    text = request.headers.get("Last-Event-ID", "")
    return int(text) if _NUMBER.fullmatch(text) else None
