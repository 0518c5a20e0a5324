"""How a briefing and a debrief look on the wire."""

from typing import Literal

from pydantic import Field

from runtime.bridge.analysis.corners import ConsistencyRecord, SmoothnessRecord, TrackOutRecord
from runtime.bridge.analysis.grip import Friction, OscillationRecord, SlipBandRecord
from runtime.bridge.analysis.highlights import Highlight
from runtime.bridge.analysis.incidents import IncidentRecord
from runtime.bridge.analysis.pedals import (
    BrakeEndSummary,
    ChangeOfSpeedRecord,
    HustleStretch,
    TrailBrakeRecord,
)
from runtime.bridge.api.analysis_corners import ScorecardRecord
from runtime.bridge.api.analysis_laps import SessionNumbers
from runtime.bridge.api.shapes import Values
from runtime.bridge.cues.model import Emotion
from runtime.bridge.session.units import Quality
from runtime.web.wire import absent

Told = Literal["local_model", "template"]


class LessonRecord(Values):
    """Where the course teaches it."""

    id: str
    title: str
    url: str | None = Field(description="address in the built course; null: none is known")


class PedagogyRecord(Values):
    """What a corner teaches."""

    concept: str
    corner: str
    evidence: str = Field(description="what was done, in numbers")
    tip: str
    lesson: LessonRecord


class FragmentsRecord(Values):
    """Exactly what the model or the template was handed."""

    telemetry: dict[str, object]
    highlights: list[dict[str, object]]
    pedagogy: list[dict[str, object]]


class DebriefAnswer(Values):
    """What is said behind a session, and all that it rests on."""

    session_id: str
    partial: Literal[True] | None = absent("the session was taken as one lap, as was asked for")
    track: str
    driver_id: str
    narrative: str = Field(
        description="Markdown; praise, at most two problems, one focus, a lesson"
    )
    narrative_md: str = Field(description="the same as narrative")
    narrative_source: Told
    emotion: Emotion
    focus: tuple[str, ...] = Field(max_length=3)
    next_focus: str | None = Field(description="corner with the most to win; null: ungraded")
    next_focus_lesson: LessonRecord | None = Field(description="what to read about it")
    scorecard: ScorecardRecord | None = Field(description="null: nobody knows the corners")
    highlights: tuple[Highlight, ...]
    stats: SessionNumbers
    smoothness: dict[str, SmoothnessRecord]
    consistency: ConsistencyRecord | None
    friction: Friction
    hustle_map: tuple[HustleStretch, ...]
    track_out: TrackOutRecord | None
    trail_brake: tuple[TrailBrakeRecord, ...]
    eob: BrakeEndSummary | None
    slip_band: SlipBandRecord | None
    slip_oscillations: tuple[OscillationRecord, ...]
    change_of_speed_events: tuple[ChangeOfSpeedRecord, ...]
    incidents: tuple[IncidentRecord, ...]
    pedagogy: tuple[PedagogyRecord, ...]
    fragments: FragmentsRecord
    fell_back: bool
    ungrounded_dropped: int = Field(description="sentences of the model that were left out")
    sentences_kept: int = Field(description="sentences of the model that were shown")
    events_added: int = Field(description="what was new in the driver's history")
    latency_ms: float = Field(description="of all the work on this answer")


class ImprovedCorner(Values):
    """How much a corner got better."""

    corner: str
    delta_score: Quality


class BriefAnswer(Values):
    """What is said before a session."""

    driver_id: str
    date: str
    weather_phase: str
    surface_state: str
    weather_note: str
    weakest_recent_corner: str | None
    biggest_recent_improvement: ImprovedCorner | None
    danger_zones_today: tuple[str, ...]
    narrative_md: str
    narrative: str = Field(description="the same as narrative_md")
    focus: tuple[str, ...] = Field(max_length=3)
    lesson: LessonRecord | None = Field(description="what to read before")
    emotion: Emotion
    source: Told
    fell_back: bool
    ungrounded_dropped: int
    latency_ms: float = Field(description="of all the work on this answer")
