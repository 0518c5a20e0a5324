"""Analytics of a session: laps, driving, corners and moments; the checks that all share.

Each route selects a part of the session, computes a value of `runtime.bridge.analysis` and answers
with it. Annotations of the values give the number of decimals.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar, Concatenate, Final, Literal, ParamSpec, TypeVar

from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.corners import (
    LOW_MAX_KMH,
    MED_MAX_KMH,
    CornerReports,
    SpeedClassRecord,
    classify_corners,
    report_corners,
)
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import Letter, Scorecard, TimeLoss, grade_session
from runtime.bridge.analysis.grip import SAMPLES, Friction, measure_friction_circle
from runtime.bridge.analysis.highlights import Highlight, find_highlights
from runtime.bridge.analysis.incidents import (
    ASSISTS,
    Active,
    IncidentRecord,
    detect_incidents,
    find_activity,
)
from runtime.bridge.analysis.laps import (
    Distribution,
    IdealLap,
    LapTable,
    PartTime,
    SectorTimes,
    compose_ideal_lap,
    list_lap_times,
    list_sector_times,
    measure_distribution,
)
from runtime.bridge.analysis.pedals import (
    BRAKE_BAR,
    THROTTLE_PCT,
    BrakeAcceleration,
    BrakeEndSummary,
    HustleStretch,
    Pedals,
    ThrottleBoxRecord,
    measure_brake_acceleration,
    measure_brake_ends,
    measure_hustle,
    measure_pedals,
    summarise_throttle,
)
from runtime.bridge.analysis.reference import References, dump_reference, make_reference
from runtime.bridge.analysis.stats import Stats, StraightRecord, compute_stats, measure_straights
from runtime.bridge.api.shapes import (
    READ_ERRORS,
    AnswerModel,
    Derived,
    Flag,
    SessionPath,
    cap_at,
    fields_of,
)
from runtime.bridge.errors import NoCompleteLap, NoGeometry, UnknownLap
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.definitions import find_missing
from runtime.bridge.session.units import Bar, Gravity, Kmh, Metres, Metres2, Seconds, Share
from runtime.bridge.storage.analyses import Scope
from runtime.bridge.storage.errors import NoRows, UnknownSession
from runtime.bridge.storage.records import SessionRow
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes
from runtime.web.wire import Wire, absent

T = TypeVar("T")
P = ParamSpec("P")
M = TypeVar("M", bound="Analytic")
GUARD: Final = (UnknownSession, NoRows, NoCompleteLap, *READ_ERRORS)
"""Errors of every analytic."""
ONE_LAP: Final = (UnknownLap, *GUARD)
CORNERS: Final = (NoGeometry, *ONE_LAP)
"""Errors of an analytic of corners."""
MOST_SAMPLES: Final = 5000
Basis = Literal["reference_file", "session_best"]
routes = Routes("analysis")


class WholeQuery(Wire):
    """How to treat a session without a complete lap."""

    partial: Flag = Field(
        False, description="treat a session without a complete lap as one lap, not as an error"
    )


class LapQuery(WholeQuery):
    """The part of the session to analyse."""

    lap: int | None = Field(None, description="only this complete lap; absent: the whole session")


class Analytic(AnswerModel):
    """An answer about a session."""

    session_id: str
    partial: Literal[True] | None = absent(
        "the session has no complete lap and was treated as one, as requested"
    )
    derived: Derived = ()
    missing: tuple[str, ...] | None = absent(
        "quantities that the answer needs and the session did not record, of speed, brake, "
        "throttle, steering, g, g_lat and g_long; numbers that need them are null, entries absent"
    )
    needs: ClassVar[tuple[str, ...]] = ()
    """Names of `definitions.QUANTITIES`."""


class Cornering(Analytic):
    """An answer about corners."""

    geometry: Literal["detected"] | None = absent("the corners were detected in the driven line")


@fields_of(Stats, "derived")
class SessionNumbers(AnswerModel):
    """The session in numbers; null where the channel was not recorded."""


class StatsAnswer(SessionNumbers, Analytic):
    """The numbers, at the top level and again as one object."""

    needs: ClassVar = ("speed", "brake", "throttle", "g")

    stats: SessionNumbers


@fields_of(LapTable)
class LapTimeTable(Analytic):
    """The complete laps in time order."""

    needs: ClassVar = ("speed",)

    lap_count: int


@fields_of(Distribution)
class LapTimeDistribution(Analytic):
    """The distribution of the lap times."""


@fields_of(IdealLap, "sectors")
class IdealLapAnswer(Analytic):
    """The lap composed of the best time in every sector."""

    ideal_lap_s: Seconds | None = Field(
        description="s: sum of the best sectors; null: recording paused in a sector of every lap"
    )
    gain_potential_s: Seconds | None = Field(description="s: best lap minus ideal lap, 0 or more")
    best_sectors: tuple[PartTime, ...]


@fields_of(SectorTimes)
class SectorTimesAnswer(Analytic):
    """The three sector times of every lap."""


class FrictionQuery(LapQuery):
    """The part of the session and the number of points in the scatter."""

    samples: Annotated[int, cap_at(MOST_SAMPLES)] = Field(
        SAMPLES, description="most points in the scatter, 1 to 5000"
    )


class FrictionAnswer(Analytic):
    """The friction circle."""

    needs: ClassVar = ("g",)

    friction: Friction


class HustleAnswer(Analytic):
    """The lap in steps of 50 m."""

    needs: ClassVar = ("throttle",)

    hustle_map: tuple[HustleStretch, ...]


class PedalQuery(LapQuery):
    """The part of the session, and the thresholds above which a pedal counts as pressed."""

    throttle_th: float = Field(THROTTLE_PCT, description="%: pressed strictly above; 0 is allowed")
    brake_th: float = Field(BRAKE_BAR, description="bar: pressed strictly above; 0 is allowed")


class PedalThresholds(Wire):
    """The values above which a pedal counts as pressed."""

    throttle_pct: float = Field(description="%")
    brake_bar: float = Field(description="bar")


@fields_of(Pedals)
class PedalAnswer(Analytic):
    """The use of the pedals."""

    needs: ClassVar = ("throttle", "brake")

    thresholds: PedalThresholds


class StraightAnswer(Analytic):
    """The straights in lap order, from the track file, else between the corners."""

    needs: ClassVar = ("speed",)

    track_length_m: Metres2 = Field(description="m")
    straights: tuple[StraightRecord, ...]


class GradeQuery(WholeQuery):
    """The passes to grade."""

    lap: int | None = Field(
        None, description="grade the passes of this complete lap; absent: as described at grade"
    )


class GradedCorner(AnswerModel):
    """The graded pass of a corner; differences are pass minus reference."""

    corner: str
    name: str = Field(description="the same as corner")
    lap: int | None = Field(description="lap of the graded pass; null: no complete pass")
    n_passes: int = Field(description="complete laps through it without a pause in the recording")
    basis: Basis | None = Field(description="reference of the comparison")
    grade: Letter | None = Field(
        validation_alias="letter",
        description="A from 0.95, B from 0.90, C from 0.80, D from 0.70, else F. With a reference "
        "file: the best pass compared with it. Else the usual pass, of median time, compared with "
        "the quickest; from three passes on, its figures are medians",
    )
    grade_detail: str | None = Field(
        validation_alias="detail", description="A+ from 0.98, else as grade"
    )
    ungraded_reason: str | None = absent("why a driven corner has no grade")
    graded_on: tuple[str, ...] | None = absent(
        "the known parts of the score: entry_speed, apex_speed, exit_speed, corner_time, "
        "trail_brake, nothing_time"
    )
    score_pct: Share | None = Field(
        validation_alias="total",
        description="0 to 1: 0.10 entry + 0.25 apex + 0.30 exit speed + 0.15 corner time + 0.05 "
        "trail braking + 0.15 time on no pedal; a part without its channel passes its weight to "
        "the others. A speed or time within 5 % of the reference scores 1, 30 % off scores 0",
    )
    weight: Share = Field(description="its share of the lap time; all corners together 1")
    delta_time_s: Seconds | None = Field(description="s; positive: slower")
    delta_s: Seconds | None = Field(
        validation_alias="delta_time_s", description="the same as delta_time_s"
    )
    entry_delta_kmh: Kmh | None = Field(description="km/h")
    apex_delta_kmh: Kmh | None = Field(description="km/h")
    exit_delta_kmh: Kmh | None = Field(description="km/h")
    brake_point_delta_m: Metres | None = Field(description="m; positive: braked earlier")
    trail_brake_quality: Share | None = Field(
        validation_alias="trail_brake",
        description="0 to 1: brake at the apex over that of the reference (1 bar at least)",
    )
    time_loss_attribution: tuple[TimeLoss, ...] = Field(
        validation_alias="causes",
        description="parts of delta_time_s, by fixed rates for each metre, km/h and second; the "
        "largest first",
    )
    phrase: str = Field(
        description="one sentence for the driver; empty without a grade. If the usual lap loses "
        "time to the best one before the next corner's approach, the same advice as the focus"
    )
    entry_speed_kmh: Kmh | None = Field(description="km/h at the entry, interpolated")
    apex_speed_kmh: Kmh | None = Field(description="km/h, smallest in the window")
    apex_place_speed_kmh: Kmh | None = Field(description="km/h of the frame nearest to the apex")
    exit_speed_kmh: Kmh | None = Field(description="km/h at the exit, interpolated")
    min_speed_kmh: Kmh | None = Field(description="the same as apex_speed_kmh")
    peak_brake_bar: Bar | None = Field(
        description="bar, largest from 200 m before the entry, or from the last apex if that is "
        "nearer, to the exit"
    )
    peak_g_lat: Gravity | None = Field(
        validation_alias="max_g_lat", description="g, unsigned, largest in the window"
    )
    max_lateral_g: Gravity | None = Field(
        validation_alias="max_g_lat", description="the same as peak_g_lat"
    )
    time_s: Seconds | None = Field(
        validation_alias="corner_time_s",
        description="s from the start of the approach to the exit, interpolated",
    )


class ScorecardRecord(AnswerModel):
    """The grades of a session."""

    session_id: str
    n_laps: int = Field(description="complete laps")
    best_lap_s: Seconds = Field(description="s")
    reference_lap_s: Seconds | None = Field(description="s: lap time of the reference file")
    basis: Basis = Field(description="reference_file if the file contains any corner")
    session_grade: Letter | None = Field(
        validation_alias="letter", description="letter for weighted_total_pct"
    )
    weighted_total_pct: Share | None = Field(
        validation_alias="total", description="0 to 1: weighted mean of the graded corners' scores"
    )
    summary: str = Field(description="one sentence")
    corners: tuple[GradedCorner, ...] = Field(description="every corner in lap order")


class ScorecardAnswer(Cornering):
    """The scorecard, with its corners again at the top level."""

    needs: ClassVar = ("speed", "brake", "throttle", "steering", "g")

    scorecard: ScorecardRecord
    corners: tuple[GradedCorner, ...]


@fields_of(CornerReports)
class CornersAnswer(Cornering):
    """The corners in lap order."""

    needs: ClassVar = ("speed", "brake", "g_lat")


class ReferenceAnswer(Wire):
    """A lap in the form of a reference file."""

    track: str = Field(description="id of the circuit; empty without a track file")
    source_file: str = Field(description="session and lap")
    lap_time_s: float = Field(description="s")
    total_distance_m: float | None = Field(description="m")
    n_frames: int | None
    max_combo_g: float | None = Field(description="g, largest of the lap")
    corners: dict[str, dict[str, float | tuple[float, ...] | None]] = Field(
        description="metrics of each corner that the lap passed completely, by name"
    )


class BrakeEndAnswer(Cornering):
    """The end of braking in the corners."""

    needs: ClassVar = ("brake", "throttle")

    eob: BrakeEndSummary


class ThrottleBoxes(Cornering):
    """Every corner in lap order."""

    needs: ClassVar = ("throttle",)

    corners: tuple[ThrottleBoxRecord, ...]


class ClassQuery(LapQuery):
    """The limits of the classes, km/h; 0 < low_max < med_max."""

    low_max: float = Field(LOW_MAX_KMH, description="slower corners are low-speed")
    med_max: float = Field(MED_MAX_KMH, description="other slower corners are medium-speed")


class ClassThresholds(Wire):
    """The limits of the classes."""

    low_max_kmh: float
    med_max_kmh: float


class CornerClasses(Cornering):
    """The three classes, the slowest first; every driven corner is in one."""

    needs: ClassVar = ("speed",)

    thresholds: ClassThresholds
    bands: tuple[SpeedClassRecord, ...]


@fields_of(BrakeAcceleration)
class BrakeAccelerationAnswer(Cornering):
    """Corners in lap order, except those without a zone or a pass."""

    needs: ClassVar = ("speed", "brake", "throttle", "g_long")


class Highlights(Analytic):
    """At most eight moments, the most important first."""

    needs: ClassVar = ("speed", "brake", "throttle", "g")

    highlights: tuple[Highlight, ...]
    count: int


class Incidents(Analytic):
    """Incidents by time, then by kind."""

    needs: ClassVar = ("speed", "brake", "g")

    incidents: tuple[IncidentRecord, ...]
    count: int


@dataclass(frozen=True)
class Subject:
    """The part of a stored session that a request is about."""

    service: Service
    row: SessionRow
    scope: Scope

    @property
    def references(self) -> References:
        """The reference laps as currently on disk."""
        return self.service.references.current()

    async def compute(
        self,
        compute: Callable[Concatenate[Drive, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Call *compute* with the drive, once for each state of the session."""
        return await self.service.analytics.of(self.row, self.scope, compute, *args, **kwargs)

    async def drive(self) -> Drive:
        """Load the session on its circuit, for results that depend on more than its frames."""
        await self.compute(_describe_session, ())  # raises the errors of every analytic
        return await self.service.analytics.drive(self.row, self.scope)

    async def compute_corners(
        self,
        compute: Callable[Concatenate[Drive, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T | None:
        """Like `compute`; None where the corners are unknown."""
        try:
            return await self.compute(compute, *args, **kwargs)
        except NoGeometry:
            return None

    async def find_aids(self) -> tuple[Active, ...]:
        """List when assistance systems intervened in the session."""
        db, session_id = self.service.db, self.row.session_id
        registered = {row.name for row in db.registry()}
        names = [name for name in ASSISTS if name in registered]
        if not names:
            return ()

        async def find() -> tuple[Active, ...]:
            return find_activity(await db.read_signals(session_id, names))

        return await self.service.analytics.once(self.row, (ASSISTS, *names), find)

    async def answer(self, model: type[M], *sources: object, **values: object) -> M:
        """Build the answer from *values* and, for all other fields, from *sources*."""
        about = await self.compute(_describe_session, model.needs)
        return model.of(*sources, **{"session_id": self.row.session_id, **about, **values})

    async def head(self) -> dict[str, object]:
        """Return the first fields of an answer that is written without its model."""
        about = await self.compute(_describe_session, ())
        fields = {name: about[name] for name in ("partial", "derived") if about[name] is not None}
        return {"session_id": self.row.session_id, **fields}


def find_subject(request: web.Request, path: SessionPath, query: WholeQuery) -> Subject:
    """Find the part of a session that a request is about. Raises `UnknownSession`."""
    service = request.app[SERVICE]
    scope = Scope(query.partial, query.lap if isinstance(query, LapQuery) else None)
    return Subject(service, service.session(path.sid), scope)


def _describe_session(drive: Drive, needs: tuple[str, ...]) -> dict[str, object]:
    """Return what an answer that needs these quantities says of the session."""
    return {
        "partial": drive.partial or None,
        "derived": tuple(sorted(drive.series.derived)),
        "missing": find_missing(drive.series, needs) or None,
        "geometry": "detected" if drive.geometry == "detected" else None,
    }


def _get_length_m(drive: Drive) -> float:
    return drive.length_m


@routes.get("/session/{sid}/stats", errors=ONE_LAP)
async def session_stats(request: web.Request, *, path: SessionPath, query: LapQuery) -> StatsAnswer:
    """Summarise a session: speeds, accelerations, pedals, duration."""
    subject = find_subject(request, path, query)
    numbers = await subject.compute(compute_stats)
    return await subject.answer(StatsAnswer, numbers, stats=numbers)


@routes.get("/session/{sid}/lap_time_table", errors=GUARD)
async def table(request: web.Request, *, path: SessionPath, query: WholeQuery) -> LapTimeTable:
    """List the complete laps with sectors, gaps to the best lap, and best-time flags."""
    subject = find_subject(request, path, query)
    return await subject.answer(LapTimeTable, await subject.compute(list_lap_times))


@routes.get("/session/{sid}/lap_time_distribution", errors=GUARD)
async def distribution(
    request: web.Request, *, path: SessionPath, query: WholeQuery
) -> LapTimeDistribution:
    """Show the distribution of the lap times, as in a box plot."""
    subject = find_subject(request, path, query)
    return await subject.answer(LapTimeDistribution, await subject.compute(measure_distribution))


@routes.get("/session/{sid}/ideal_lap", errors=GUARD)
async def ideal(request: web.Request, *, path: SessionPath, query: WholeQuery) -> IdealLapAnswer:
    """Add up the best sector times, and the best times of finer parts of the lap."""
    subject = find_subject(request, path, query)
    composed = await subject.compute(compose_ideal_lap)
    sectors = composed.sectors
    return await subject.answer(
        IdealLapAnswer,
        composed,
        ideal_lap_s=sectors.lap_s,
        gain_potential_s=sectors.gain_s,
        best_sectors=sectors.parts,
    )


@routes.get("/session/{sid}/sector_times", errors=GUARD)
async def sector_times(
    request: web.Request, *, path: SessionPath, query: WholeQuery
) -> SectorTimesAnswer:
    """List each lap's time in the three sectors."""
    subject = find_subject(request, path, query)
    return await subject.answer(SectorTimesAnswer, await subject.compute(list_sector_times))


@routes.get("/session/{sid}/friction_circle", errors=ONE_LAP)
async def friction(
    request: web.Request, *, path: SessionPath, query: FrictionQuery
) -> FrictionAnswer:
    """Show how much of the grip was used, and for how long."""
    subject = find_subject(request, path, query)
    circle = await subject.compute(measure_friction_circle, subject.references, query.samples)
    return await subject.answer(FrictionAnswer, friction=circle)


@routes.get("/session/{sid}/hustle_map", errors=ONE_LAP)
async def hustle(request: web.Request, *, path: SessionPath, query: LapQuery) -> HustleAnswer:
    """Show where around the lap the throttle was fully open."""
    subject = find_subject(request, path, query)
    return await subject.answer(HustleAnswer, hustle_map=await subject.compute(measure_hustle))


@routes.get("/session/{sid}/pedal_behavior", errors=ONE_LAP)
async def pedals(request: web.Request, *, path: SessionPath, query: PedalQuery) -> PedalAnswer:
    """Count throttle, brake, both and neither over the frames."""
    for name, value in (("throttle_th", query.throttle_th), ("brake_th", query.brake_th)):
        if value < 0:
            raise BadQuery(f"{name}: must be 0 or more", param=name)
    subject = find_subject(request, path, query)
    states = await subject.compute(measure_pedals, query.throttle_th, query.brake_th)
    thresholds = PedalThresholds(throttle_pct=query.throttle_th, brake_bar=query.brake_th)
    return await subject.answer(PedalAnswer, states, thresholds=thresholds)


@routes.get("/session/{sid}/straight_line_speed", errors=ONE_LAP)
async def straight_speeds(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> StraightAnswer:
    """Show the top speed on each straight, and its lap."""
    subject = find_subject(request, path, query)
    straights = await subject.compute(measure_straights)
    length = await subject.compute(_get_length_m)
    return await subject.answer(StraightAnswer, track_length_m=length, straights=straights)


@routes.get("/session/{sid}/scorecard", errors=CORNERS)
async def get_scorecard(
    request: web.Request, *, path: SessionPath, query: GradeQuery
) -> ScorecardAnswer:
    """Grade the corners of a session from A to F, and show where the time went."""
    subject = find_subject(request, path, WholeQuery(partial=query.partial))
    grades = await subject.compute(grade_session, subject.references, lap=query.lap)
    card = make_scorecard_record(path.sid, grades)
    return await subject.answer(ScorecardAnswer, scorecard=card, corners=card.corners)


@routes.get("/session/{sid}/corners", errors=CORNERS)
async def get_corners(request: web.Request, *, path: SessionPath, query: LapQuery) -> CornersAnswer:
    """List the passes of every corner, the best compared with the reference file."""
    subject = find_subject(request, path, query)
    reports = await subject.compute(report_corners, subject.references)
    return await subject.answer(CornersAnswer, reports)


@routes.get("/session/{sid}/reference", errors=CORNERS)
async def get_reference(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> ReferenceAnswer:
    """Show a complete lap (by default the best) in the form of a reference file."""
    subject = find_subject(request, path, WholeQuery(partial=query.partial))
    lap = await subject.compute(make_reference, query.lap, path.sid)
    return ReferenceAnswer.model_validate(dump_reference(lap))


@routes.get("/session/{sid}/eob", errors=CORNERS)
async def end_of_braking(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> BrakeEndAnswer:
    """Show how braking ends: the release, and the time until the throttle."""
    subject = find_subject(request, path, query)
    return await subject.answer(BrakeEndAnswer, eob=await subject.compute(measure_brake_ends))


@routes.get("/session/{sid}/throttle_corner_box", errors=CORNERS)
async def throttle_box(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> ThrottleBoxes:
    """Show the throttle opening in each corner, as box plots."""
    subject = find_subject(request, path, query)
    return await subject.answer(ThrottleBoxes, corners=await subject.compute(summarise_throttle))


@routes.get("/session/{sid}/corner_classification", errors=CORNERS)
async def classification(
    request: web.Request, *, path: SessionPath, query: ClassQuery
) -> CornerClasses:
    """Sort the corners into slow, medium and fast ones."""
    low, med = query.low_max, query.med_max
    if not low > 0:
        raise BadQuery("low_max: must be above 0", param="low_max")
    if not med > low:
        raise BadQuery("med_max: must be above low_max", param="med_max")
    subject = find_subject(request, path, query)
    bands = await subject.compute(classify_corners, low, med)
    thresholds = ClassThresholds(low_max_kmh=low, med_max_kmh=med)
    return await subject.answer(CornerClasses, thresholds=thresholds, bands=bands)


@routes.get("/session/{sid}/brake_acceleration", errors=CORNERS)
async def braking(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> BrakeAccelerationAnswer:
    """Show how hard the car brakes before each corner and accelerates out of it."""
    subject = find_subject(request, path, query)
    return await subject.answer(
        BrakeAccelerationAnswer, await subject.compute(measure_brake_acceleration)
    )


def make_scorecard_record(session_id: str, card: Scorecard) -> ScorecardRecord:
    """Convert a scorecard to its wire form."""
    corners = tuple(
        GradedCorner.of(row, row.own, row.score, name=row.corner, ungraded_reason=row.ungraded)
        for row in card.corners
    )
    return ScorecardRecord.of(card, session_id=session_id, corners=corners)


@routes.get("/session/{sid}/highlights", errors=ONE_LAP)
async def get_highlights(request: web.Request, *, path: SessionPath, query: LapQuery) -> Highlights:
    """List the eight moments most worth watching again."""
    subject = find_subject(request, path, query)
    moments = await subject.compute(find_highlights, subject.references, await subject.find_aids())
    return await subject.answer(Highlights, highlights=moments, count=len(moments))


@routes.get("/session/{sid}/incidents", errors=ONE_LAP)
async def get_incidents(request: web.Request, *, path: SessionPath, query: LapQuery) -> Incidents:
    """List detect_incidents and near misses."""
    subject = find_subject(request, path, query)
    moments = await subject.compute(detect_incidents, await subject.find_aids())
    return await subject.answer(Incidents, incidents=moments, count=len(moments))
