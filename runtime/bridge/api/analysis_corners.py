"""The scorecard of a session, the passes of its corners, and a lap as a reference for others."""

from typing import Literal

from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.corners import CornerPass, CornerReport, CornerReports, corner_reports
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import CornerGrade, Scorecard, scorecard
from runtime.bridge.analysis.reference import References, reference_json, reference_lap
from runtime.bridge.api.analysis_shapes import ONE_LAP, Analytic, LapQuery, WholeQuery, analysed
from runtime.bridge.api.sessions import SessionPath
from runtime.bridge.api.shapes import rounded
from runtime.bridge.errors import NoGeometry
from runtime.bridge.service import SERVICE
from runtime.web.absent import absent
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("analysis")
Letter = Literal["A", "B", "C", "D", "F"]
Basis = Literal["reference_file", "session_best"]
CORNERS = (NoGeometry, *ONE_LAP)
"""What an analytic of corners may answer instead."""


class Cornering(Analytic):
    """An answer about corners."""

    geometry: Literal["detected"] | None = absent("the corners were found in the driven line")


def geometry_of(drive: Drive) -> Literal["detected"] | None:
    """Whether the corners of a session were found in the driven line."""
    return "detected" if drive.geometry == "detected" else None


class GradeQuery(WholeQuery):
    """Which passes are graded."""

    lap: int | None = Field(
        None, description="grade the passes of this complete lap; absent: see grade"
    )


class TimeLoss(Wire):
    """A part of the time that a pass lost."""

    cause: str = Field(
        description="early_brake, late_brake, low_apex_speed, low_exit_speed, early_lift, "
        "coast_in_corner, nothing_time or exit_understeer"
    )
    seconds_lost: float = Field(description="s; all causes together are no more than the loss")
    detail: str = Field(description="what was done, in numbers")


class GradedCorner(Wire):
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
    score_pct: float | None = Field(
        description="0 to 1: 0.10 entry + 0.25 apex + 0.30 exit speed + 0.15 corner time + 0.05 "
        "trail braking + 0.15 time on no pedal; parts without a channel leave their weight to the "
        "others. A speed or time within 5 % of the reference is 1, 30 % off is 0"
    )
    weight: float = Field(description="share of the lap time that it decides; together 1")
    delta_time_s: float | None = Field(description="s; positive: slower")
    delta_s: float | None = Field(description="the same as delta_time_s")
    entry_delta_kmh: float | None = Field(description="km/h")
    apex_delta_kmh: float | None = Field(description="km/h")
    exit_delta_kmh: float | None = Field(description="km/h")
    brake_point_delta_m: float | None = Field(description="m; positive: braked earlier")
    trail_brake_quality: float | None = Field(
        description="0 to 1: brake at the apex over that of the reference (1 bar at least)"
    )
    time_loss_attribution: list[TimeLoss] = Field(description="the largest first")
    phrase: str = Field(description="one sentence for the driver; empty without a grade")
    entry_speed_kmh: float | None = Field(description="km/h at the entry, interpolated")
    apex_speed_kmh: float | None = Field(description="km/h of the frame nearest to the apex")
    exit_speed_kmh: float | None = Field(description="km/h at the exit, interpolated")
    min_speed_kmh: float | None = Field(description="km/h, smallest in the window")
    peak_brake_bar: float | None = Field(
        description="bar, largest from 200 m before the entry, or from the last apex where that "
        "is nearer, to the exit"
    )
    peak_g_lat: float | None = Field(description="g without sign, largest in the window")
    max_lateral_g: float | None = Field(description="the same as peak_g_lat")
    time_s: float | None = Field(description="s from entry to exit, interpolated")


class ScorecardRecord(Wire):
    """The grades of a session."""

    session_id: str
    n_laps: int = Field(description="complete laps")
    best_lap_s: float = Field(description="s")
    reference_lap_s: float | None = Field(description="s: lap time of the reference file")
    basis: Basis = Field(description="reference_file where the file names any corner")
    session_grade: Letter | None = Field(description="letter of weighted_total_pct")
    weighted_total_pct: float | None = Field(
        description="0 to 1: mean of the graded corners' scores by weight"
    )
    summary: str = Field(description="one sentence")
    corners: list[GradedCorner] = Field(description="every corner in lap order")


class ScorecardAnswer(Cornering):
    """The scorecard, and its corners once more at the top."""

    scorecard: ScorecardRecord
    corners: list[GradedCorner]


class PassRecord(Wire):
    """A lap through a corner."""

    lap_number: int
    entry_speed_kmh: float | None = Field(description="km/h at the entry, interpolated")
    apex_speed_kmh: float | None = Field(description="km/h, smallest in the window")
    exit_speed_kmh: float | None = Field(description="km/h at the exit, interpolated")
    peak_brake_bar: float | None = Field(
        description="bar, largest from 200 m before the entry, or from the last apex where that "
        "is nearer, to the exit"
    )
    max_g_lat: float | None = Field(description="g without sign")
    corner_time_s: float = Field(description="s from entry to exit, interpolated")
    apex_distance_m: float | None = Field(description="m of the lap where it was slowest")
    min_speed_kmh: float | None = Field(description="the same as apex_speed_kmh")


class PassAverages(Wire):
    """Means over the passes."""

    apex_speed_kmh: float | None = Field(description="km/h, of the smallest speeds")
    corner_time_s: float | None = Field(description="s")
    entry_speed_kmh: float | None = Field(description="km/h")
    exit_speed_kmh: float | None = Field(description="km/h")


class CornerRecord(Wire):
    """All passes of a corner; reference_delta_*: best pass minus reference file."""

    name: str
    n_passes: int
    best_pass: PassRecord | None = Field(description="with the largest apex speed")
    averages: PassAverages | None
    grade: Literal["A", "B", "C", "D", "F", "ungraded"] = Field(
        description="by reference_delta_kmh: A from -1, B from -3, C from -5, D from -8, else F"
    )
    reference_delta_kmh: float | None = Field(description="km/h of the apex speeds")
    reference_delta_entry_kmh: float | None = Field(description="km/h")
    reference_delta_exit_kmh: float | None = Field(description="km/h")
    reference_delta_time_s: float | None = Field(description="s; positive: slower")
    passes: list[PassRecord] = Field(description="by lap")


class CornersAnswer(Cornering):
    """The corners in lap order."""

    track: str = Field(description="name of the circuit; empty where it has no file")
    lap_count: int = Field(description="complete laps looked at")
    corners: list[CornerRecord]
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


@routes.get("/session/{sid}/scorecard", errors=CORNERS)
async def get_scorecard(
    request: web.Request, *, path: SessionPath, query: GradeQuery
) -> ScorecardAnswer:
    """Grade the corners of a session from A to F, and say where the time went."""
    references = request.app[SERVICE].references.current()
    whole = WholeQuery(partial=query.partial)
    partial, found = await analysed(request, path.sid, whole, scorecard, references, lap=query.lap)
    _, geometry = await analysed(request, path.sid, whole, geometry_of)
    graded = [_graded(one) for one in found.corners]
    return ScorecardAnswer(
        session_id=path.sid,
        partial=partial,
        geometry=geometry,
        scorecard=_scorecard(path.sid, found, graded),
        corners=graded,
    )


@routes.get("/session/{sid}/corners", errors=CORNERS)
async def get_corners(request: web.Request, *, path: SessionPath, query: LapQuery) -> CornersAnswer:
    """List the passes of every corner, the best of them beside the reference file."""
    references = request.app[SERVICE].references.current()
    partial, (found, shown) = await analysed(request, path.sid, query, _reports, references)
    _, geometry = await analysed(request, path.sid, query, geometry_of)
    return CornersAnswer(
        session_id=path.sid,
        partial=partial,
        geometry=geometry,
        track=found.track,
        lap_count=found.lap_count,
        corners=list(shown),
        reference_available=found.reference_available,
    )


@routes.get("/session/{sid}/reference", errors=CORNERS)
async def get_reference(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> ReferenceAnswer:
    """Show a complete lap, the best one where none is named, as a reference file holds it."""
    whole = WholeQuery(partial=query.partial)
    _, found = await analysed(request, path.sid, whole, reference_lap, query.lap, path.sid)
    return ReferenceAnswer.model_validate(reference_json(found))


def _scorecard(sid: str, found: Scorecard, graded: list[GradedCorner]) -> ScorecardRecord:
    return ScorecardRecord.model_validate(
        {
            "session_id": sid,
            "n_laps": found.n_laps,
            "best_lap_s": round(found.best_lap_s, 3),
            "reference_lap_s": rounded(found.reference_lap_s, 3),
            "basis": found.basis,
            "session_grade": found.letter,
            "weighted_total_pct": rounded(found.total, 4),
            "summary": found.summary,
            "corners": graded,
        }
    )


def _graded(one: CornerGrade) -> GradedCorner:
    own, score = one.own, one.score
    g_lat = rounded(own.max_g_lat, 3) if own else None
    return GradedCorner.model_validate(
        {
            "corner": one.corner,
            "name": one.corner,
            "lap": own.lap if own else None,
            "n_passes": one.n_passes,
            "basis": one.basis,
            "grade": one.letter,
            "grade_detail": one.detail,
            "ungraded_reason": one.ungraded,
            "score_pct": rounded(score.total, 4) if score else None,
            "weight": round(one.weight, 4),
            "delta_time_s": rounded(one.delta_time_s, 3),
            "delta_s": rounded(one.delta_time_s, 3),
            "entry_delta_kmh": rounded(one.entry_delta_kmh, 1),
            "apex_delta_kmh": rounded(one.apex_delta_kmh, 1),
            "exit_delta_kmh": rounded(one.exit_delta_kmh, 1),
            "brake_point_delta_m": rounded(one.brake_point_delta_m, 1),
            "trail_brake_quality": rounded(score.trail_brake, 4) if score else None,
            "time_loss_attribution": [
                TimeLoss(cause=it.cause, seconds_lost=round(it.seconds, 3), detail=it.detail)
                for it in one.causes
            ],
            "phrase": one.phrase,
            "entry_speed_kmh": rounded(own.entry_speed_kmh, 1) if own else None,
            "apex_speed_kmh": rounded(own.apex_speed_kmh, 1) if own else None,
            "exit_speed_kmh": rounded(own.exit_speed_kmh, 1) if own else None,
            "min_speed_kmh": rounded(own.min_speed_kmh, 1) if own else None,
            "peak_brake_bar": rounded(own.peak_brake_bar, 1) if own else None,
            "peak_g_lat": g_lat,
            "max_lateral_g": g_lat,
            "time_s": rounded(own.corner_time_s, 3) if own else None,
        }
    )


def _reports(
    drive: Drive, references: References
) -> tuple[CornerReports, tuple[CornerRecord, ...]]:
    """The reports, and as they are answered: hundreds of passes are put into shape only once."""
    found = corner_reports(drive, references)
    return found, tuple(_corner(one) for one in found.corners)


def _corner(one: CornerReport) -> CornerRecord:
    averages = one.averages
    return CornerRecord.model_validate(
        {
            "name": one.name,
            "n_passes": len(one.passes),
            "best_pass": _pass(one.best) if one.best else None,
            "averages": PassAverages(
                apex_speed_kmh=rounded(averages.apex_speed_kmh, 1),
                corner_time_s=rounded(averages.corner_time_s, 3),
                entry_speed_kmh=rounded(averages.entry_speed_kmh, 1),
                exit_speed_kmh=rounded(averages.exit_speed_kmh, 1),
            )
            if averages
            else None,
            "grade": one.grade,
            "reference_delta_kmh": rounded(one.delta_kmh, 1),
            "reference_delta_entry_kmh": rounded(one.delta_entry_kmh, 1),
            "reference_delta_exit_kmh": rounded(one.delta_exit_kmh, 1),
            "reference_delta_time_s": rounded(one.delta_time_s, 3),
            "passes": [_pass(each) for each in one.passes],
        }
    )


def _pass(shown: CornerPass) -> PassRecord:
    one = shown.one
    slowest = rounded(one.min_speed_kmh, 1)
    return PassRecord(
        lap_number=one.lap,
        entry_speed_kmh=rounded(one.entry_speed_kmh, 1),
        apex_speed_kmh=slowest,
        exit_speed_kmh=rounded(one.exit_speed_kmh, 1),
        peak_brake_bar=rounded(one.peak_brake_bar, 1),
        max_g_lat=rounded(one.max_g_lat, 3),
        corner_time_s=round(one.corner_time_s, 3),
        apex_distance_m=rounded(shown.slowest_m, 1),
        min_speed_kmh=slowest,
    )
