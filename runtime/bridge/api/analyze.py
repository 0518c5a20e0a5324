"""Takes a second of a drive, summed up by the driver's device, and answers with coaching."""

import time
from collections import deque
from functools import partial
from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import AfterValidator, Field

from runtime.bridge.api.shapes import AnswerModel, SessionId, Short, fields_of
from runtime.bridge.cues.engine import CueEngine
from runtime.bridge.cues.model import Burst, Tone
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.units import Decimals
from runtime.bridge.track.model import Track
from runtime.web.routes import Routes
from runtime.web.wire import Wire

FRICTION_SHARE: Final = 0.7
"""Of the whole acceleration, taken for its parts where a burst does not tell them."""
MOST_BURSTS: Final = 2000
"""Of a session; then the oldest go."""
MOST_SESSIONS: Final = 256
routes = Routes("core")
Count = Annotated[int, Field(ge=0, le=1 << 31)]


class AnalyzeRequest(Wire):
    """About one second of a drive, summed up."""

    session_id: SessionId | None = Field(None, description="present: a note and a cue are made")
    burst_id: Annotated[int, Field(ge=-(1 << 53), le=1 << 53)] | None = None
    avg_speed_kmh: float | None = None
    max_combo_g: float | None = None
    max_lateral_g: float | None = Field(None, description="absent: 0.7 of max_combo_g")
    max_long_g: float | None = Field(
        None, description="absent: 0.7 of max_combo_g, negative while braking"
    )
    max_brake_bar: float | None = None
    avg_throttle_pct: float | None = None
    avg_steering_deg: float | None = None
    coast_frames: Count | None = None
    trail_brake_frames: Count | None = None
    frame_count: Count | None = None
    corners_visited: Annotated[list[Short], Field(max_length=100)] | None = None
    distance_m: float | None = Field(
        None, description="of the lap, or counted on over laps; absent: the place is not known"
    )
    in_corner: bool | None = None
    past_apex: bool | None = None
    lap: Annotated[int, Field(ge=-(1 << 53), le=1 << 53)] | None = None
    driver_level: Short | None = Field(None, description="beginner, intermediate or pro")
    dist_to_next_corner_m: float | None = Field(None, description="absent: by the track, else 50")
    next_corner_severity: Annotated[int, Field(ge=1, le=6)] | None = Field(
        None, description="1 hairpin to 6; absent: by the track, else 3"
    )

    def burst(self) -> Burst:
        """The burst with what was left out filled in."""
        given = self.model_dump(exclude_none=True, include={*Burst._fields})
        share = FRICTION_SHARE * given.get("max_combo_g", 0.0)
        return Burst(**{"max_lateral_g": share, **given})


@fields_of(Tone)
class ToneRecord(AnswerModel):
    """Something to be heard that is no words."""

    frequency: Annotated[float, Decimals(1)] = Field(description="Hz")
    volume: Annotated[float, Field(ge=0, le=1), AfterValidator(partial(round, ndigits=3))]
    priority: int = Field(ge=0, le=3, description="0 background, 1 advice, 2 warning, 3 safety")


class AnalyzeAnswer(AnswerModel):
    """Coaching for a second of a drive."""

    coaching: str = Field(description="the pace note, else words for a tone, else a rule's")
    pace_note: str = Field(description="what may be said to the driver now; empty: nothing")
    coach_source: Literal["rule", "local_model", ""]
    cues: tuple[ToneRecord, ...]
    burst_id: int
    source: Literal["sonic_model", "bridge_rules", "rule", "local_model"]
    concept: str = Field(description="id of the concept behind the coaching; empty: none")
    note_id: int | None = Field(description="of the note that was stored")


@routes.post("/analyze")
async def analyze(request: web.Request, *, body: AnalyzeRequest) -> AnalyzeAnswer:
    """Coach a driver by a second of telemetry; no language model is asked."""
    service = request.app[SERVICE]
    burst = body.burst()
    analysis = service.cues.analyze(burst, time.monotonic())
    note_id = None
    if analysis.cue is not None:  # the burst is of a session
        keep(service, burst)
        note_id = await service.note(analysis.cue)
        service.hub.publish_cue(analysis.cue)
    return AnalyzeAnswer.of(analysis, note_id=note_id)


def make_cues(service: Service) -> CueEngine:
    """The cue engine of *service*, with the tracks and drivers of its sessions."""
    return CueEngine(
        lambda session_id: _track(service, session_id),
        level_of=lambda session_id: _level(service, session_id),
        heard=lambda burst: keep(service, burst),
    )


def keep(service: Service, burst: Burst) -> None:
    """Remember a burst, of a bounded number of sessions."""
    kept = service.bursts
    if burst.session_id not in kept:
        while len(kept) >= MOST_SESSIONS:
            kept.pop(next(iter(kept)))
        kept[burst.session_id] = deque(maxlen=MOST_BURSTS)
    kept[burst.session_id].append(burst)


def _track(service: Service, session_id: str) -> Track | None:
    """The circuit of a session; of a burst that belongs to none the active one."""
    return service.circuits.of(session_id).track if session_id else service.active_track


def _level(service: Service, session_id: str) -> str | None:
    row = service.row(session_id) if session_id else None
    return row.driver_level if row is not None else None
