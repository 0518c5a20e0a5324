"""Coaching for one second of a drive, as summed up by the driver's device."""

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
"""Share of the total acceleration assumed for a component that a burst lacks."""
MOST_BURSTS: Final = 2000
"""Bursts kept of a session, the newest."""
MOST_SESSIONS: Final = 256
routes = Routes("core")
Count = Annotated[int, Field(ge=0, le=1 << 31)]


class AnalyzeRequest(Wire):
    """About one second of a drive, summed up."""

    session_id: SessionId | None = Field(None, description="present: a note and a cue are stored")
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
        None, description="since start/finish or over all laps; absent: the position is unknown"
    )
    in_corner: bool | None = None
    past_apex: bool | None = None
    lap: Annotated[int, Field(ge=-(1 << 53), le=1 << 53)] | None = None
    driver_level: Short | None = Field(None, description="beginner, intermediate or pro")
    dist_to_next_corner_m: float | None = Field(None, description="absent: by the track, else 50")
    next_corner_severity: Annotated[int, Field(ge=1, le=6)] | None = Field(
        None, description="1 hairpin to 6; absent: by the track, else 3"
    )

    def make_burst(self) -> Burst:
        """Return the burst with its defaults filled in."""
        fields = self.model_dump(exclude_none=True, include={*Burst._fields})
        share = FRICTION_SHARE * fields.get("max_combo_g", 0.0)
        return Burst(**{"max_lateral_g": share, **fields})


@fields_of(Tone)
class ToneRecord(AnswerModel):
    """A tone for the driver."""

    frequency: Annotated[float, Decimals(1)] = Field(description="Hz")
    volume: Annotated[float, Field(ge=0, le=1), AfterValidator(partial(round, ndigits=3))]
    priority: int = Field(ge=0, le=3, description="0 background, 1 advice, 2 warning, 3 safety")


class AnalyzeAnswer(AnswerModel):
    """Coaching for a second of a drive."""

    coaching: str = Field(description="the pace note, else the meaning of a tone, else a rule's")
    pace_note: str = Field(description="text to speak to the driver now; empty: none")
    coach_source: Literal["rule", "local_model", ""]
    cues: tuple[ToneRecord, ...]
    burst_id: int
    source: Literal["sonic_model", "bridge_rules", "rule", "local_model"]
    concept: str = Field(description="id of the concept behind the coaching; empty: none")
    note_id: int | None = Field(description="id of the stored note")


@routes.post("/analyze")
async def analyze(request: web.Request, *, body: AnalyzeRequest) -> AnalyzeAnswer:
    """Coach a driver from a second of telemetry, without a language model."""
    service = request.app[SERVICE]
    burst = body.make_burst()
    analysis = service.cues.analyze(burst, time.monotonic())
    note_id = None
    if analysis.cue is not None:  # the burst belongs to a session
        keep_burst(service, burst)
        note_id = await service.note(analysis.cue)
        service.hub.publish_cue(analysis.cue)
    return AnalyzeAnswer.of(analysis, note_id=note_id)


def make_cues(service: Service) -> CueEngine:
    """Build the cue engine of *service*, with the tracks and drivers of its sessions."""
    return CueEngine(
        lambda session_id: _find_track(service, session_id),
        level_of=lambda session_id: _find_level(service, session_id),
        heard=lambda burst: keep_burst(service, burst),
    )


def keep_burst(service: Service, burst: Burst) -> None:
    """Keep a burst in memory, for a bounded number of sessions."""
    kept = service.bursts
    if burst.session_id not in kept:
        while len(kept) >= MOST_SESSIONS:
            kept.pop(next(iter(kept)))
        kept[burst.session_id] = deque(maxlen=MOST_BURSTS)
    kept[burst.session_id].append(burst)


def _find_track(service: Service, session_id: str) -> Track | None:
    """Find the circuit of a session; the active one for a burst without a session."""
    return service.circuits.of(session_id).track if session_id else service.active_track


def _find_level(service: Service, session_id: str) -> str | None:
    row = service.row(session_id) if session_id else None
    return row.driver_level if row is not None else None
