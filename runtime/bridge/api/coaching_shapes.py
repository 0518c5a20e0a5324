"""How a briefing, a debrief and the blocks of a debrief look on the wire."""

from typing import Literal

from pydantic import Field

from runtime.bridge.analysis.corners import Consistency, Smoothness, TrackOut
from runtime.bridge.analysis.grip import Oscillation, SlipBands
from runtime.bridge.analysis.pedals import ChangeOfSpeed, TrailBrake
from runtime.bridge.api.analysis_corners import ScorecardRecord
from runtime.bridge.api.analysis_laps import SessionNumbers
from runtime.bridge.api.analysis_moments import Highlight, IncidentRecord
from runtime.bridge.api.analysis_motion import Friction, HustleStretch
from runtime.bridge.api.analysis_pedals import BrakeEndSummary
from runtime.bridge.api.shapes import rounded
from runtime.bridge.coach.warm.lessons import Lesson
from runtime.bridge.coach.warm.pedagogy import Teaching
from runtime.bridge.cues.model import Emotion
from runtime.web.absent import absent
from runtime.web.wire import Wire

Told = Literal["local_model", "template"]


class LessonRecord(Wire):
    """Where the course teaches it."""

    id: str
    title: str
    url: str | None = Field(description="address in the built course; null: none is known")


class PedagogyRecord(Wire):
    """What a corner teaches."""

    concept: str
    corner: str
    evidence: str = Field(description="what was done, in numbers")
    tip: str
    lesson: LessonRecord


class SmoothnessRecord(Wire):
    """Standard deviations of how fast the controls moved in the calmest pass."""

    lap: int
    steering_dot_std: float | None = Field(description="degrees a second")
    brake_dot_std: float | None = Field(description="bar a second")
    throttle_dot_std: float | None = Field(description="percent a second")


class VariableCorner(Wire):
    """A corner whose times differ."""

    corner: str
    std_s: float = Field(description="s, of a sample")


class ConsistencyRecord(Wire):
    """How much laps and corners differ."""

    lap_time_std: float = Field(description="s, of a sample; 0 for one lap")
    lap_time_spread: float = Field(description="s: slowest less fastest")
    most_variable_corner: VariableCorner | None
    per_corner_std: dict[str, float] = Field(description="s, of every driven corner")


class TrackOutRecord(Wire):
    """Distance to the reference line in complete laps, without sign."""

    mean_xte_m: float
    p95_xte_m: float
    max_xte_m: float
    samples: int


class SlipBandRecord(Wire):
    """Share of the time in each band of used grip."""

    dominant_band: str = Field(
        description="under_driving below 0.55 of the envelope, approaching_peak below 0.80, "
        "at_peak below 0.95, else over_driving"
    )
    interpretation: str
    pct_per_band: dict[str, float] = Field(description="% of the time")


class OscillationRecord(Wire):
    """3 s in which the used grip went from band to band."""

    t_start: float = Field(description="s of the session's clock")
    t_end: float
    crossings: int
    peak_combo_g: float
    severity: Literal["high", "medium"]


class TrailBrakeRecord(Wire):
    """A pass that braked into the corner."""

    lap: int
    corner: str
    peak_bar: float
    apex_bar: float
    quality: float = Field(description="0 to 1, 1 at a tenth of the peak")


class ChangeOfSpeedRecord(Wire):
    """Throttle added in a bend although the car is slower than it could be there."""

    timestamp: float = Field(description="s of the session's clock")
    distance_m: float = Field(description="m of the lap")
    corner: str
    speed_kmh: float
    reference_kmh: float
    g_lat: float
    throttle_dot: float = Field(description="percent a second")


class FragmentsRecord(Wire):
    """Exactly what the model or the template was handed."""

    telemetry: dict[str, object]
    highlights: list[dict[str, object]]
    pedagogy: list[dict[str, object]]


class DebriefAnswer(Wire):
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
    focus: list[str] = Field(max_length=3)
    next_focus: str | None = Field(description="corner with the most to win; null: ungraded")
    next_focus_lesson: LessonRecord | None = Field(description="what to read about it")
    scorecard: ScorecardRecord | None = Field(description="null: nobody knows the corners")
    highlights: list[Highlight]
    stats: SessionNumbers
    smoothness: dict[str, SmoothnessRecord]
    consistency: ConsistencyRecord | None
    friction: Friction
    hustle_map: list[HustleStretch]
    track_out: TrackOutRecord | None
    trail_brake: list[TrailBrakeRecord]
    eob: BrakeEndSummary | None
    slip_band: SlipBandRecord | None
    slip_oscillations: list[OscillationRecord]
    change_of_speed_events: list[ChangeOfSpeedRecord]
    incidents: list[IncidentRecord]
    pedagogy: list[PedagogyRecord]
    fragments: FragmentsRecord
    fell_back: bool
    ungrounded_dropped: int = Field(description="sentences of the model that were left out")
    sentences_kept: int = Field(description="sentences of the model that were shown")
    events_added: int = Field(description="what was new in the driver's history")
    latency_ms: float = Field(description="of all the work on this answer")


class ImprovedCorner(Wire):
    """How much a corner got better."""

    corner: str
    delta_score: float


class BriefAnswer(Wire):
    """What is said before a session."""

    driver_id: str
    date: str
    weather_phase: str
    surface_state: str
    weather_note: str
    weakest_recent_corner: str | None
    biggest_recent_improvement: ImprovedCorner | None
    danger_zones_today: list[str]
    narrative_md: str
    narrative: str = Field(description="the same as narrative_md")
    focus: list[str] = Field(max_length=3)
    lesson: LessonRecord | None = Field(description="what to read before")
    emotion: Emotion
    source: Told
    fell_back: bool
    ungrounded_dropped: int
    latency_ms: float = Field(description="of all the work on this answer")


def lesson(one: Lesson) -> LessonRecord:
    """A lesson as it is answered."""
    return LessonRecord(id=one.id, title=one.title, url=one.url)


def teaching(one: Teaching) -> PedagogyRecord:
    """What a corner teaches as it is answered."""
    return PedagogyRecord(
        concept=one.concept,
        corner=one.corner,
        evidence=one.evidence,
        tip=one.tip,
        lesson=lesson(one.lesson),
    )


def smooth(one: Smoothness) -> SmoothnessRecord:
    """Smoothness as it is answered."""
    return SmoothnessRecord(
        lap=one.lap,
        steering_dot_std=rounded(one.steering_dot_std, 1),
        brake_dot_std=rounded(one.brake_dot_std, 1),
        throttle_dot_std=rounded(one.throttle_dot_std, 1),
    )


def consistent(one: Consistency) -> ConsistencyRecord:
    """Consistency as it is answered."""
    most = one.most_variable
    return ConsistencyRecord(
        lap_time_std=round(one.lap_time_std, 3),
        lap_time_spread=round(one.lap_time_spread, 3),
        most_variable_corner=VariableCorner(corner=most[0], std_s=round(most[1], 3))
        if most is not None
        else None,
        per_corner_std={name: round(value, 3) for name, value in one.per_corner_std.items()},
    )


def beside(one: TrackOut) -> TrackOutRecord:
    """Distance to the line as it is answered."""
    return TrackOutRecord(
        mean_xte_m=round(one.mean_m, 1),
        p95_xte_m=round(one.p95_m, 1),
        max_xte_m=round(one.max_m, 1),
        samples=one.samples,
    )


def slipping(one: SlipBands) -> SlipBandRecord:
    """Bands of grip as they are answered."""
    return SlipBandRecord(
        dominant_band=one.dominant,
        interpretation=one.interpretation,
        pct_per_band={str(name): round(share, 1) for name, share in one.pct.items()},
    )


def oscillating(one: Oscillation) -> OscillationRecord:
    """An oscillation as it is answered."""
    return OscillationRecord(
        t_start=round(one.t_start, 3),
        t_end=round(one.t_end, 3),
        crossings=one.crossings,
        peak_combo_g=round(one.peak_combo_g, 3),
        severity=one.severity,
    )


def trailing(one: TrailBrake) -> TrailBrakeRecord:
    """A pass with trail braking as it is answered."""
    return TrailBrakeRecord(
        lap=one.lap,
        corner=one.corner,
        peak_bar=round(one.peak_bar, 1),
        apex_bar=round(one.apex_bar, 1),
        quality=round(one.quality, 3),
    )


def changing(one: ChangeOfSpeed) -> ChangeOfSpeedRecord:
    """A change of speed as it is answered."""
    return ChangeOfSpeedRecord(
        timestamp=round(one.timestamp, 3),
        distance_m=round(one.distance_m, 1),
        corner=one.corner,
        speed_kmh=round(one.speed_kmh, 1),
        reference_kmh=round(one.reference_kmh, 1),
        g_lat=round(one.g_lat, 3),
        throttle_dot=round(one.throttle_dot, 1),
    )
