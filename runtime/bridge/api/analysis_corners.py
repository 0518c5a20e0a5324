"""Analytics of corners: the scorecard, the passes, braking and throttle, a lap as a reference."""

from typing import Literal

from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.corners import (
    LOW_MAX_KMH,
    MED_MAX_KMH,
    PassAverages,
    PassRecord,
    SpeedClassRecord,
    corner_classes,
    corner_reports,
)
from runtime.bridge.analysis.grading import CornerGrade, Letter, Scorecard, TimeLoss, scorecard
from runtime.bridge.analysis.pedals import (
    BrakeEndSummary,
    BrakeZoneRecord,
    CornerExitRecord,
    ThrottleBoxRecord,
    brake_acceleration,
    brake_ends,
    throttle_boxes,
)
from runtime.bridge.analysis.reference import reference_json, reference_lap
from runtime.bridge.api.analysis import (
    CORNERS,
    Cornering,
    LapQuery,
    WholeQuery,
    subject_of,
)
from runtime.bridge.api.sessions import SessionPath
from runtime.bridge.api.shapes import Values
from runtime.bridge.session.units import Bar, Gravity, Kmh, Metres, Seconds, Share
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes
from runtime.web.wire import Wire, absent

routes = Routes("analysis")
Basis = Literal["reference_file", "session_best"]


class GradeQuery(WholeQuery):
    """Which passes are graded."""

    lap: int | None = Field(
        None, description="grade the passes of this complete lap; absent: see grade"
    )


class GradedCorner(Values):
    """The graded pass of a corner; differences are pass minus reference."""

    corner: str
    name: str = Field(description="the same as corner")
    lap: int | None = Field(description="lap of the graded pass; null: never driven whole")
    n_passes: int = Field(description="complete laps that drove through it without a pause")
    basis: Basis | None = Field(description="what the pass is compared with")
    grade: Letter | None = Field(
        description="A from 0.95, B from 0.90, C from 0.80, D from 0.70, else F: of the best pass "
        "beside a reference file, else of the pass with the median score beside the quickest one"
    )
    grade_detail: str | None = Field(description="A+ from 0.98, else as grade")
    ungraded_reason: str | None = absent("why a driven corner has no grade")
    score_pct: Share | None = Field(
        description="0 to 1: 0.10 entry + 0.25 apex + 0.30 exit speed + 0.15 corner time + 0.05 "
        "trail braking + 0.15 time on no pedal; parts without a channel leave their weight to the "
        "others. A speed or time within 5 % of the reference is 1, 30 % off is 0"
    )
    weight: Share = Field(description="share of the lap time that it decides; together 1")
    delta_time_s: Seconds | None = Field(description="s; positive: slower")
    delta_s: Seconds | None = Field(description="the same as delta_time_s")
    entry_delta_kmh: Kmh | None = Field(description="km/h")
    apex_delta_kmh: Kmh | None = Field(description="km/h")
    exit_delta_kmh: Kmh | None = Field(description="km/h")
    brake_point_delta_m: Metres | None = Field(description="m; positive: braked earlier")
    trail_brake_quality: Share | None = Field(
        description="0 to 1: brake at the apex over that of the reference (1 bar at least)"
    )
    time_loss_attribution: tuple[TimeLoss, ...] = Field(description="the largest first")
    phrase: str = Field(description="one sentence for the driver; empty without a grade")
    entry_speed_kmh: Kmh | None = Field(description="km/h at the entry, interpolated")
    apex_speed_kmh: Kmh | None = Field(description="km/h of the frame nearest to the apex")
    exit_speed_kmh: Kmh | None = Field(description="km/h at the exit, interpolated")
    min_speed_kmh: Kmh | None = Field(description="km/h, smallest in the window")
    peak_brake_bar: Bar | None = Field(
        description="bar, largest from 200 m before the entry, or from the last apex where that "
        "is nearer, to the exit"
    )
    peak_g_lat: Gravity | None = Field(description="g without sign, largest in the window")
    max_lateral_g: Gravity | None = Field(description="the same as peak_g_lat")
    time_s: Seconds | None = Field(description="s from entry to exit, interpolated")


class ScorecardRecord(Values):
    """The grades of a session."""

    session_id: str
    n_laps: int = Field(description="complete laps")
    best_lap_s: Seconds = Field(description="s")
    reference_lap_s: Seconds | None = Field(description="s: lap time of the reference file")
    basis: Basis = Field(description="reference_file where the file names any corner")
    session_grade: Letter | None = Field(description="letter of weighted_total_pct")
    weighted_total_pct: Share | None = Field(
        description="0 to 1: mean of the graded corners' scores by weight"
    )
    summary: str = Field(description="one sentence")
    corners: tuple[GradedCorner, ...] = Field(description="every corner in lap order")


class ScorecardAnswer(Cornering):
    """The scorecard, and its corners once more at the top."""

    scorecard: ScorecardRecord
    corners: tuple[GradedCorner, ...]


class CornerRecord(Values):
    """All passes of a corner; reference_delta_*: best pass minus reference file."""

    name: str
    n_passes: int
    best_pass: PassRecord | None = Field(description="with the largest apex speed")
    averages: PassAverages | None
    grade: Literal["A", "B", "C", "D", "F", "ungraded"] = Field(
        description="by reference_delta_kmh: A from -1, B from -3, C from -5, D from -8, else F"
    )
    reference_delta_kmh: Kmh | None = Field(description="km/h of the apex speeds")
    reference_delta_entry_kmh: Kmh | None = Field(description="km/h")
    reference_delta_exit_kmh: Kmh | None = Field(description="km/h")
    reference_delta_time_s: Seconds | None = Field(description="s; positive: slower")
    passes: tuple[PassRecord, ...] = Field(description="by lap")


class CornersAnswer(Cornering):
    """The corners in lap order."""

    track: str = Field(description="name of the circuit; empty where it has no file")
    lap_count: int = Field(description="complete laps looked at")
    corners: tuple[CornerRecord, ...]
    reference_available: bool = Field(description="whether a reference file names a corner")


class ReferenceAnswer(Wire):
    """A lap in the form of a reference file."""

    track: str = Field(description="id of the circuit; empty where it has no file")
    source_file: str = Field(description="session and lap")
    lap_time_s: float = Field(description="s")
    total_distance_m: float | None = Field(description="m")
    n_frames: int | None
    max_combo_g: float | None = Field(description="g, largest of the lap")
    corners: dict[str, dict[str, float | None]] = Field(
        description="metrics of each corner that the lap drove whole, by their names"
    )


class BrakeEndAnswer(Cornering):
    """The end of braking in the corners."""

    eob: BrakeEndSummary


class ThrottleBoxes(Cornering):
    """Every corner in lap order."""

    corners: tuple[ThrottleBoxRecord, ...]


class ClassQuery(LapQuery):
    """Where the classes part, km/h; 0 < low_max < med_max."""

    low_max: float = Field(LOW_MAX_KMH, description="a slower corner is of low speed")
    med_max: float = Field(MED_MAX_KMH, description="a slower corner is of medium speed")


class ClassThresholds(Wire):
    """Where the classes part."""

    low_max_kmh: float
    med_max_kmh: float


class CornerClasses(Cornering):
    """The three classes, the slowest first; every driven corner is in one."""

    thresholds: ClassThresholds
    bands: tuple[SpeedClassRecord, ...]


class BrakeAccelerationAnswer(Cornering):
    """Corners in lap order; those without a zone, or without a pass, are left out."""

    brake_zones: tuple[BrakeZoneRecord, ...]
    corner_exits: tuple[CornerExitRecord, ...]


@routes.get("/session/{sid}/scorecard", errors=CORNERS)
async def get_scorecard(
    request: web.Request, *, path: SessionPath, query: GradeQuery
) -> ScorecardAnswer:
    """Grade the corners of a session from A to F, and say where the time went."""
    subject = subject_of(request, path, WholeQuery(partial=query.partial))
    found = await subject.compute(scorecard, subject.references, lap=query.lap)
    card = scorecard_record(path.sid, found)
    return await subject.answer(ScorecardAnswer, scorecard=card, corners=card.corners)


@routes.get("/session/{sid}/corners", errors=CORNERS)
async def get_corners(request: web.Request, *, path: SessionPath, query: LapQuery) -> CornersAnswer:
    """List the passes of every corner, the best of them beside the reference file."""
    subject = subject_of(request, path, query)
    found = await subject.compute(corner_reports, subject.references)
    return await subject.answer(CornersAnswer, found)


@routes.get("/session/{sid}/reference", errors=CORNERS)
async def get_reference(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> ReferenceAnswer:
    """Show a complete lap, the best one where none is named, as a reference file holds it."""
    subject = subject_of(request, path, WholeQuery(partial=query.partial))
    found = await subject.compute(reference_lap, query.lap, path.sid)
    return ReferenceAnswer.model_validate(reference_json(found))


@routes.get("/session/{sid}/eob", errors=CORNERS)
async def end_of_braking(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> BrakeEndAnswer:
    """Show how braking ends: the release, and the time until the throttle."""
    subject = subject_of(request, path, query)
    return await subject.answer(BrakeEndAnswer, eob=await subject.compute(brake_ends))


@routes.get("/session/{sid}/throttle_corner_box", errors=CORNERS)
async def throttle_box(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> ThrottleBoxes:
    """Show how far the throttle was open in each corner, as box plots."""
    subject = subject_of(request, path, query)
    return await subject.answer(ThrottleBoxes, corners=await subject.compute(throttle_boxes))


@routes.get("/session/{sid}/corner_classification", errors=CORNERS)
async def classification(
    request: web.Request, *, path: SessionPath, query: ClassQuery
) -> CornerClasses:
    """Part the corners into slow, medium and fast ones."""
    low, med = query.low_max, query.med_max
    if not low > 0:
        raise BadQuery("low_max: must be above 0", param="low_max")
    if not med > low:
        raise BadQuery("med_max: must be above low_max", param="med_max")
    subject = subject_of(request, path, query)
    bands = await subject.compute(corner_classes, low, med)
    thresholds = ClassThresholds(low_max_kmh=low, med_max_kmh=med)
    return await subject.answer(CornerClasses, thresholds=thresholds, bands=bands)


@routes.get("/session/{sid}/brake_acceleration", errors=CORNERS)
async def braking(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> BrakeAccelerationAnswer:
    """Show how hard the car brakes before the corners and pulls out of them."""
    subject = subject_of(request, path, query)
    return await subject.answer(BrakeAccelerationAnswer, await subject.compute(brake_acceleration))


def scorecard_record(session_id: str, card: Scorecard) -> ScorecardRecord:
    """A scorecard as it is answered."""
    return ScorecardRecord(
        session_id=session_id,
        n_laps=card.n_laps,
        best_lap_s=card.best_lap_s,
        reference_lap_s=card.reference_lap_s,
        basis=card.basis,
        session_grade=card.letter,
        weighted_total_pct=card.total,
        summary=card.summary,
        corners=tuple(_graded(one) for one in card.corners),
    )


def _graded(one: CornerGrade) -> GradedCorner:
    own, score = one.own, one.score
    return GradedCorner(
        corner=one.corner,
        name=one.corner,
        lap=own and own.lap,
        n_passes=one.n_passes,
        basis=one.basis,
        grade=one.letter,
        grade_detail=one.detail,
        ungraded_reason=one.ungraded,
        score_pct=score and score.total,
        weight=one.weight,
        delta_time_s=one.delta_time_s,
        delta_s=one.delta_time_s,
        entry_delta_kmh=one.entry_delta_kmh,
        apex_delta_kmh=one.apex_delta_kmh,
        exit_delta_kmh=one.exit_delta_kmh,
        brake_point_delta_m=one.brake_point_delta_m,
        trail_brake_quality=score and score.trail_brake,
        time_loss_attribution=one.causes,
        phrase=one.phrase,
        entry_speed_kmh=own and own.entry_speed_kmh,
        apex_speed_kmh=own and own.apex_speed_kmh,
        exit_speed_kmh=own and own.exit_speed_kmh,
        min_speed_kmh=own and own.min_speed_kmh,
        peak_brake_bar=own and own.peak_brake_bar,
        peak_g_lat=own and own.max_g_lat,
        max_lateral_g=own and own.max_g_lat,
        time_s=own and own.corner_time_s,
    )
