"""Live streams of cues, telemetry and notifications, and the replay of recordings."""

import asyncio
import re
import socket
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from functools import partial
from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import AfterValidator, ConfigDict, Field, RootModel, StrictBool, StrictInt, StrictStr

from runtime.bridge.api.shapes import (
    READ_ERRORS,
    AnswerModel,
    Flag,
    Short,
    check_session_id,
    fields_of,
)
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
"""Bytes buffered by the system for a reader; small, so that a slow one never gets old frames."""
WRITE_LIMIT: Final = 16 << 10
"""Bytes buffered for a reader in this process before its events queue up."""
STALL_S: Final = 8.0
"""A reader that takes nothing for this long, or up to a quarter longer, is disconnected."""
BEAT_S: Final = 15.0
NOTIFICATIONS_BEAT_S: Final = 30.0
CUT_S: Final = 0.5
"""Seconds for the end of a spectator's stream to reach its reader."""
TOPICS: Final[tuple[Kind, ...]] = ("cues", "telemetry", "timing", "notifications")
_FIELDS: Final = re.compile(r"[A-Za-z0-9_]{1,64}(,[A-Za-z0-9_]{1,64}){0,99}")
_NUMBER: Final = re.compile(r"[0-9]{1,18}")
REPLAY_ERRORS: Final = (
    *(*READ_ERRORS, ReplayRunning, UnknownSession, NoRows),
    *(SessionInUse, ReplayUnavailable),
)
routes = Routes("live")
replay_routes = Routes("replay")


def _check_topic(text: str) -> str:
    """Return a session id or ``*``. Raises ValueError for any other text."""
    return text if text == EVERYTHING else check_session_id(text)


Topic = Annotated[
    StrictStr,
    AfterValidator(_check_topic),
    Field(description="a session, SIM for the active one, _live for bus and replay, * for all"),
]


class CuesQuery(Wire):
    """The session, and the form of its cues."""

    session_id: Topic
    named: Flag = Field(False, description="send cues as event: cue instead of as messages")


def _check_fields(text: str) -> str:
    """Return field names separated by commas. Raises ValueError for any other text."""
    if not _FIELDS.fullmatch(text):
        raise ValueError("must be field names, separated by commas")
    return text


def _check_kinds(text: str) -> str:
    """Return words of `TOPICS` separated by commas. Raises ValueError for any other text."""
    if not {*text.split(",")} <= {*TOPICS}:
        raise ValueError(f"must be words of {', '.join(TOPICS)}, separated by commas")
    return text


Signals = Annotated[
    StrictStr,
    AfterValidator(_check_fields),
    Field(description="fields of a frame, separated by commas; absent: all"),
]


class TelemetryQuery(Wire):
    """The session, its rate and its fields."""

    session_id: Topic
    hz: float | None = Field(None, gt=0, description="most frames per second")
    signals: Signals | None = None


class StreamQuery(TelemetryQuery):
    """The session and the topics to follow."""

    topics: Annotated[
        StrictStr,
        AfterValidator(_check_kinds),
        Field(description="of cues, telemetry, timing, notifications, separated by commas"),
    ] = "telemetry,cues,timing"
    driver: Short = Field(EVERYTHING, description="driver of the notifications; * for all")
    recent: Flag = Field(
        False, description="start with the latest cues, laps and sectors, which are kept"
    )


class NotificationsQuery(Wire):
    """The driver to notify."""

    driver: Short = Field(EVERYTHING, description="a driver; broadcasts are included; * for all")


@fields_of(Cue)
class CueEvent(AnswerModel):
    """A cue for the driver."""

    id: int
    timestamp: int = Field(description="Unix milliseconds")
    ts: float = Field(description="Unix seconds")
    dropped: int | None = absent("events dropped before this one")


class TelemetryEvent(Wire):
    """A frame; other signals follow under their own names.

    If `signals` names fields, only these are sent, with timestamp and session_id.
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
        description="the current lap, 1, 2, …; null before start/finish was crossed"
    )
    lap_distance_m: float | None = Field(description="m from start/finish")
    lap_time_s: float | None = Field(description="s since start/finish")
    delta_s: float | None = Field(
        description="s compared with the best lap of the session, else the driver's best on the "
        "circuit, at the same point; positive is slower"
    )
    predicted_s: float | None = Field(description="s: lap time if delta_s stays as it is")
    replay_id: str | None = absent("only of a replayed frame")
    dropped: int | None = absent("frames dropped before this one")


@fields_of(SectorDone)
class SectorEvent(AnswerModel):
    """A completed sector."""

    session_id: str
    dropped: int | None = absent("laps and sectors dropped before this one")


@fields_of(LapSector)
class LapSectorRecord(AnswerModel):
    """A sector of a complete lap."""


@fields_of(LapDone)
class LapEvent(AnswerModel):
    """A complete lap, sent a second after its end; its time is the one stored with the session."""

    session_id: str
    sectors: tuple[LapSectorRecord, ...]
    dropped: int | None = absent("laps and sectors dropped before this one")


class NotificationEvent(Wire):
    """A notification; other fields depend on its kind."""

    model_config = ConfigDict(extra="allow")

    id: int
    ts: float = Field(description="Unix seconds")
    kind: str
    driver: str = Field(description="empty: a broadcast")
    session_id: str | None = absent()
    title: str
    body: str
    dropped: int | None = absent("notifications dropped before this one")


class HelloEvent(Wire):
    """The first event of a stream, `hello`."""

    stream: Literal["stream", "cues", "telemetry", "notifications"]
    heartbeat_s: float = Field(description="seconds between heartbeats")
    session_id: str | None = absent()
    known: bool | None = absent("whether the session exists")
    silent: str | None = Field(
        None, description="why the live coach says nothing about corners; null: it can"
    )
    topics: tuple[Kind, ...] | None = absent("the topics of the stream")
    driver: str | None = absent("the driver whose notifications follow")


class SilenceEvent(Wire):
    """Whether the coach knows the corners: a `state`."""

    session_id: str
    silent: str | None = Field(description="why it says nothing about corners; null: it can")


class BusEvent(Wire):
    """Whether frames come from the bus: a `state`."""

    connected: bool
    state: str
    last_error: str | None


class ReplayHeldEvent(Wire):
    """A replay was paused, resumed, or moved to another position: a `state`."""

    replay_id: str
    paused: bool
    t_s: float = Field(description="position of the last frame in a pass, at speed 1")


class ReplayPassedEvent(Wire):
    """A replay started again, `loop`, or ended, `end`."""

    replay_id: str
    frames_emitted: int = Field(description="over all passes")
    failed: bool | None = absent("only if it failed")


class CueStreamEvent(RootModel[CueEvent | HelloEvent | SilenceEvent]):
    """The data of an event of `/cues/stream`, by its name."""


class TelemetryStreamEvent(
    RootModel[TelemetryEvent | HelloEvent | BusEvent | ReplayHeldEvent | ReplayPassedEvent]
):
    """The data of an event of `/telemetry/stream`, by its name."""


class NotificationStreamEvent(RootModel[NotificationEvent | HelloEvent]):
    """The data of an event of `/notifications`, by its name."""


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
    """The data of an event of `/stream`, by its name."""


class ReplayRequest(Wire):
    """The session to replay, and how."""

    source_session_id: Annotated[StrictStr, Field(min_length=1, max_length=256)]
    speed: Annotated[float, Field(ge=0.1, le=100.0)] = Field(1.0, description="1: as recorded")
    loop: StrictBool = Field(False, description="begin again after the last frame")
    interrupt: StrictBool = Field(
        True,
        description="false: 409 `session_in_use` while a bus fills a session, because the replay "
        "would suspend its recording",
    )


class ReplayPause(Wire):
    """Whether to pause or to resume the replay."""

    paused: StrictBool = True


class ReplaySeek(Wire):
    """The new position: either of the two."""

    model_config = ConfigDict(json_schema_extra=needs("t_s", "frame_idx", alone=True))

    t_s: Annotated[float, Field(ge=0)] | None = Field(
        None, description="seconds of a pass at speed 1, up to duration_s of the status"
    )
    frame_idx: Annotated[StrictInt, Field(ge=0)] | None = None


class ReplayStarted(AnswerModel):
    """The replay that has started."""

    replay_id: str
    source_session_id: str
    total_frames: int
    est_duration_s: Seconds = Field(description="of one pass, with long pauses shortened")
    speed: float
    loop: bool


class ReplayStopped(AnswerModel):
    """The replay that was stopped."""

    stopped: bool = Field(description="whether a replay was running")
    frames_emitted: int


class ReplayStatus(AnswerModel):
    """The progress of the replay; only the first field while none is running."""

    running: bool
    source_session_id: str | None = absent()
    speed: float | None = absent()
    loop: bool | None = absent()
    paused: bool | None = absent()
    t_s: Seconds | None = absent("position of the last frame in a pass, at speed 1")
    duration_s: Seconds | None = absent("of a pass at speed 1, with long pauses shortened")
    frame_idx: int | None = absent("index of the last frame sent, -1 before the first")
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
    `notification`, and `state`, `loop` and `end` for changes of bus, replay and coach. A client
    that reconnects gets the cues, laps and sectors that it missed. `known` of `hello` says whether
    the session exists.
    """
    kinds = tuple(kind for kind in TOPICS if kind in query.topics.split(","))
    inbox = request.app[SERVICE].inbox
    topics: dict[Kind, Sequence[str]] = dict.fromkeys(kinds, (query.session_id,))
    backlog: list[Event] = []
    if "notifications" in topics and GRANT in request:
        raise TokenScope
    about = {"topics": kinds, **await _describe_session(request, query.session_id)}
    if "notifications" in topics:
        topics["notifications"], backlog = inbox.list_waiting(query.driver)
    last_id = _read_last_id(request)
    subscription = _require_hub(request).subscribe(
        topics,
        hz=query.hz,
        signals=_read_signals(query),
        since_id=0 if last_id is None and query.recent else last_id,
        plain=("notifications",),
        backlog=backlog,
    )
    return await _follow(
        request, subscription, about, name="stream", beat_s=BEAT_S, on_sent=inbox.note_delivery
    )


@routes.get("/cues/stream", stream=CueStreamEvent, errors=(TooManyListeners,))
async def cues(request: web.Request, *, query: CuesQuery) -> web.StreamResponse:
    """Follow the cues of a session; a client that reconnects gets those that it missed.

    While the coach does not know the corners, `silent` of the events `hello` and `state` says why;
    it is null as soon as it does.
    """
    about = await _describe_session(request, query.session_id)
    subscription = _require_hub(request).subscribe(
        {"cues": [query.session_id]},
        since_id=_read_last_id(request),
        plain=() if query.named else ("cues",),
    )
    return await _follow(request, subscription, about, name="cues", beat_s=BEAT_S)


@routes.get("/telemetry/stream", stream=TelemetryStreamEvent, errors=(TooManyListeners,))
async def telemetry(request: web.Request, *, query: TelemetryQuery) -> web.StreamResponse:
    """Follow the frames of a session as they arrive or are replayed."""
    subscription = _require_hub(request).subscribe(
        {"telemetry": [query.session_id]}, hz=query.hz, signals=_read_signals(query)
    )
    about = {"session_id": query.session_id, "known": _is_known(request, query.session_id)}
    return await _follow(request, subscription, about, name="telemetry", beat_s=BEAT_S)


@routes.get("/notifications", stream=NotificationStreamEvent, errors=(TooManyListeners,))
async def notifications(request: web.Request, *, query: NotificationsQuery) -> web.StreamResponse:
    """Follow the notifications of a driver; undelivered ones come first."""
    inbox = request.app[SERVICE].inbox
    return await _follow(
        request,
        inbox.listen(query.driver, _read_last_id(request)),
        {"driver": query.driver},
        name="notifications",
        beat_s=NOTIFICATIONS_BEAT_S,
        on_sent=inbox.note_delivery,
    )


def _read_signals(query: TelemetryQuery) -> frozenset[str] | None:
    return None if query.signals is None else frozenset(query.signals.split(","))


async def _describe_session(request: web.Request, session_id: str) -> dict[str, object]:
    """Describe the session of a stream for its `hello`."""
    service = request.app[SERVICE]
    sid = service.active_session() if session_id == ACTIVE else session_id
    silent = (await service.circuits.look(sid)).silent if sid not in ("", EVERYTHING) else None
    return {
        "session_id": session_id,
        "silent": silent,
        "known": _is_known(request, session_id),
    }


def _is_known(request: web.Request, session_id: str) -> bool:
    """Whether the session exists; topics of several sessions do."""
    service = request.app[SERVICE]
    if session_id in (EVERYTHING, LIVE_SESSION):
        return True
    if session_id == ACTIVE and service.active_session():
        return True
    return service.row(session_id) is not None


@replay_routes.post("/session/replay/start", errors=REPLAY_ERRORS)
async def start_replay(request: web.Request, *, body: ReplayRequest) -> ReplayStarted:
    """Replay a session on the telemetry stream; this suspends a live CAN bus."""
    service = request.app[SERVICE]

    def check() -> None:
        if not body.interrupt and (filled := service.find_filling_session()):
            text = "a bus fills a session, and a replay would suspend its recording"
            raise SessionInUse(text, session_id=filled)

    await service.circuits.look(body.source_session_id)  # or the coach starts late
    replays, source = _get_replays(request), body.source_session_id
    replay = await replays.start(source, body.speed, loop=body.loop, check=check)
    return ReplayStarted.of(replay)


@replay_routes.post("/session/replay/stop", errors=(ReplayUnavailable,))
async def stop_replay(request: web.Request) -> ReplayStopped:
    """Stop the replay; the answer follows its last frame."""
    return ReplayStopped.of(await _get_replays(request).stop())


@replay_routes.post("/session/replay/pause", errors=(NoReplay, ReplayUnavailable))
async def pause_replay(request: web.Request, *, body: ReplayPause) -> ReplayStatus:
    """Pause or resume the replay; the bus stays suspended meanwhile."""
    now = await request.app[SERVICE].finish(_get_replays(request).pause(paused=body.paused))
    return ReplayStatus.of(now, running=True)


@replay_routes.post("/session/replay/seek", errors=(NoReplay, ReplayUnavailable))
async def seek_replay(request: web.Request, *, body: ReplaySeek) -> ReplayStatus:
    """Move the replay to another position; a paused replay shows the frame there."""
    if (body.t_s is None) == (body.frame_idx is None):
        raise BadField("give either t_s or frame_idx", param="t_s")
    seek = _get_replays(request).seek(t_s=body.t_s, frame_idx=body.frame_idx or 0)
    now = await request.app[SERVICE].finish(seek)
    return ReplayStatus.of(now, running=True)


@replay_routes.get("/session/replay/status", errors=(ReplayUnavailable,))
async def replay_status(request: web.Request) -> ReplayStatus:
    """Show the progress of the replay."""
    now = _get_replays(request).current
    return ReplayStatus.of(now, running=now is not None)


def _get_replays(request: web.Request) -> Replays:
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
    """Send the events of *subscription* until the reader or the server ends it."""
    stream = EventStream(
        request,
        heartbeat_s=beat_s,
        heartbeat=KEEPALIVE,
        stall_s=STALL_S,
        ends_on_drain=True,
        headers={"Referrer-Policy": "no-referrer"},
    )
    # Small buffers make the connection unfit for other requests.
    stream.response.force_close()
    grant = request.get(GRANT)
    viewing: AbstractContextManager[None] = nullcontext()
    if grant is not None:
        spectators = request.app[SERVICE].spectators
        viewing = spectators.track_view(grant, partial(_end_now, request, stream))
    with closing(subscription):
        _shrink_buffers(request)
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
                # A slow reader must not hold up a stream that the server ends.
                if request.transport is not None and request.protocol.writing_paused:
                    request.transport.abort()
                raise
    return stream.response


def _end_now(request: web.Request, stream: EventStream) -> None:
    """End a stream now, even if its reader has stopped reading."""
    transport = request.transport
    stream.close()
    if transport is not None:
        asyncio.get_running_loop().call_later(CUT_S, transport.abort)


def _require_hub(request: web.Request) -> Hub:
    """Return the hub if it can take another spectator. Raises `TooManyListeners`."""
    service = request.app[SERVICE]
    if GRANT in request and service.spectators.views >= MOST_VIEWS:
        raise TooManyListeners
    return service.hub


def _shrink_buffers(request: web.Request) -> None:
    """Make the buffers small, so that late events are dropped here instead of sent."""
    transport = request.transport
    if transport is None:
        return
    transport.set_write_buffer_limits(high=WRITE_LIMIT)
    wire = transport.get_extra_info("socket")
    if wire is not None:
        with suppress(OSError):
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)


def _read_last_id(request: web.Request) -> int | None:
    """Read the id of the last event that the client received."""
    text = request.headers.get("Last-Event-ID", "")
    return int(text) if _NUMBER.fullmatch(text) else None
