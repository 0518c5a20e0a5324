"""Replay: a recorded session as a live stream."""

from typing import Annotated, Final

from aiohttp import web
from pydantic import Field, StrictBool, StrictStr

from runtime.bridge.api.sessions import READ_ERRORS
from runtime.bridge.live.replay import ReplayRunning, Replays, ReplayUnavailable
from runtime.bridge.service import SERVICE
from runtime.bridge.storage.errors import NoRows, UnknownSession
from runtime.web.routes import Routes
from runtime.web.wire import Wire, absent

ERRORS: Final = (*READ_ERRORS, ReplayRunning, UnknownSession, NoRows, ReplayUnavailable)
routes = Routes("replay")


class ReplayRequest(Wire):
    """What to replay and how."""

    source_session_id: Annotated[StrictStr, Field(min_length=1, max_length=256)]
    speed: Annotated[float, Field(ge=0.1, le=100.0)] = Field(
        1.0, description="1: as it was recorded"
    )
    loop: StrictBool = Field(False, description="begin again after the last frame")


class ReplayStarted(Wire):
    """The replay that has begun."""

    replay_id: str
    source_session_id: str
    total_frames: int
    est_duration_s: float = Field(description="of one pass, its long pauses shortened")
    speed: float
    loop: bool


class ReplayStopped(Wire):
    """What the stop has ended."""

    stopped: bool = Field(description="whether a replay was running")
    frames_emitted: int


class ReplayStatus(Wire):
    """How far the replay has come; only the first field while none is running."""

    running: bool
    source_session_id: str | None = absent()
    speed: float | None = absent()
    loop: bool | None = absent()
    frame_idx: int | None = absent("of the last frame that went out, -1 before the first")
    total_frames: int | None = absent()
    elapsed_s: float | None = absent()
    est_remaining_s: float | None = absent("of this pass")
    frames_emitted: int | None = absent("over all passes")


def _replays(request: web.Request) -> Replays:
    replays = request.app[SERVICE].replays
    if replays is None:
        raise ReplayUnavailable
    return replays


@routes.post("/session/replay/start", errors=ERRORS)
async def start_replay(request: web.Request, *, body: ReplayRequest) -> ReplayStarted:
    """Begin to replay a session on the telemetry stream; a live CAN bus is put aside for it."""
    begun = await _replays(request).start(body.source_session_id, body.speed, loop=body.loop)
    return ReplayStarted(
        replay_id=begun.replay_id,
        source_session_id=begun.source_session_id,
        total_frames=begun.total_frames,
        est_duration_s=round(begun.est_duration_s, 3),
        speed=begun.speed,
        loop=begun.loop,
    )


@routes.post("/session/replay/stop", errors=(ReplayUnavailable,))
async def stop_replay(request: web.Request) -> ReplayStopped:
    """End the replay; answers once its last frame is out."""
    ended = await _replays(request).stop()
    return ReplayStopped(stopped=ended.stopped, frames_emitted=ended.frames_emitted)


@routes.get("/session/replay/status", errors=(ReplayUnavailable,))
async def replay_status(request: web.Request) -> ReplayStatus:
    """Say how far the replay has come."""
    now = _replays(request).status()
    if now is None:
        return ReplayStatus(running=False)
    return ReplayStatus(
        running=True,
        source_session_id=now.source_session_id,
        speed=now.speed,
        loop=now.loop,
        frame_idx=now.frame_idx,
        total_frames=now.total_frames,
        elapsed_s=round(now.elapsed_s, 3),
        est_remaining_s=round(now.est_remaining_s, 3),
        frames_emitted=now.frames_emitted,
    )
