"""Analytics of brake and throttle in the corners, and of how fast the corners are."""

from typing import Literal

from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.corners import LOW_MAX_KMH, MED_MAX_KMH, corner_classes
from runtime.bridge.analysis.pedals import (
    ThrottleBox,
    brake_acceleration,
    brake_ends,
    throttle_boxes,
)
from runtime.bridge.api.analysis_corners import CORNERS, Cornering, geometry_of
from runtime.bridge.api.analysis_shapes import LapQuery, analysed
from runtime.bridge.api.sessions import SessionPath
from runtime.bridge.api.shapes import rounded
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes
from runtime.web.wire import Wire

routes = Routes("analysis")


class BrakeEndRecord(Wire):
    """How a corner's braking ends: means over its passes, null where nothing is known."""

    corner: str
    n_passes: int
    brake_release_m: float | None = Field(
        description="m behind the entry where the brake falls below 2 bar"
    )
    release_rate_bar_s: float | None = Field(
        description="bar/s: peak less 2 bar by the time from the peak to below 2 bar"
    )
    bar_at_apex: float | None = Field(description="bar of the frame nearest to the apex")
    nothing_time_s: float | None = Field(description="s, of the passes that have any")


class BrakeEndSummary(Wire):
    """Time on no pedal: from the last brake above 2 bar to the first throttle above 10 %."""

    average_nothing_time_s: float | None = Field(
        description="s: mean of the passes that have any; 0: none has; null: a pedal is missing"
    )
    worst_corner: str | None = Field(description="with the largest mean")
    per_corner_avg_s: dict[str, float] = Field(description="s, of the corners that have any")
    corners: list[BrakeEndRecord] = Field(description="every corner in lap order")


class BrakeEndAnswer(Cornering):
    """The end of braking in the corners."""

    eob: BrakeEndSummary


class ThrottleBoxRecord(Wire):
    """The throttle of every frame in a corner, in percent; null without samples."""

    name: str
    n_passes: int
    n_samples: int = Field(description="frames in which the throttle was recorded")
    min_pct: float | None
    q1_pct: float | None = Field(description="quartile, between neighbours in proportion")
    median_pct: float | None
    q3_pct: float | None
    max_pct: float | None
    mean_pct: float | None
    whisker_low_pct: float | None = Field(
        description="smallest value within 1.5 interquartile ranges of the lower quartile"
    )
    whisker_high_pct: float | None = Field(description="largest value likewise")


class ThrottleBoxes(Cornering):
    """Every corner in lap order."""

    corners: list[ThrottleBoxRecord]


class ClassQuery(LapQuery):
    """Where the classes part, km/h; 0 < low_max < med_max."""

    low_max: float = Field(LOW_MAX_KMH, description="a slower corner is of low speed")
    med_max: float = Field(MED_MAX_KMH, description="a slower corner is of medium speed")


class ClassThresholds(Wire):
    """Where the classes part."""

    low_max_kmh: float
    med_max_kmh: float


class SpeedClassRecord(Wire):
    """The corners of about one speed: the mean over the passes of the smallest speed."""

    band: Literal["low_speed", "med_speed", "high_speed"]
    corners: list[str] = Field(description="in lap order")
    mean_apex_kmh: float | None = Field(description="km/h, mean of the corners' speeds")
    median_apex_kmh: float | None = Field(description="km/h")


class CornerClasses(Cornering):
    """The three classes, the slowest first; every driven corner is in one."""

    thresholds: ClassThresholds
    bands: list[SpeedClassRecord]


class BrakeZoneRecord(Wire):
    """The hard braking before a corner: the brake above 25 bar without a break."""

    corner: str = Field(description="whose apex comes next, within 400 m of the zone's middle")
    max_decel_g: float | None = Field(
        description="g, negative: mean over the zones of the strongest deceleration"
    )
    duration_s: float = Field(description="s: mean time from first to last frame")
    n_passes: int = Field(description="zones")


class CornerExitRecord(Wire):
    """How the car pulls out of a corner."""

    corner: str
    max_long_accel_g: float | None = Field(
        description="g: largest of any pass from apex to exit with throttle above 50 %"
    )
    exit_speed_kmh: float | None = Field(description="km/h: mean over the passes")
    n_passes: int


class BrakeAccelerationAnswer(Cornering):
    """Corners in lap order; those without a zone, or without a pass, are left out."""

    brake_zones: list[BrakeZoneRecord]
    corner_exits: list[CornerExitRecord]


@routes.get("/session/{sid}/eob", errors=CORNERS)
async def end_of_braking(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> BrakeEndAnswer:
    """Show how braking ends: the release, and the time until the throttle."""
    partial, found = await analysed(request, path.sid, query, brake_ends)
    _, geometry = await analysed(request, path.sid, query, geometry_of)
    return BrakeEndAnswer(
        session_id=path.sid,
        partial=partial,
        geometry=geometry,
        eob=BrakeEndSummary(
            average_nothing_time_s=rounded(found.average_s, 3),
            worst_corner=found.worst,
            per_corner_avg_s={name: round(mean, 3) for name, mean in found.per_corner_s.items()},
            corners=[
                BrakeEndRecord(
                    corner=one.corner,
                    n_passes=one.n_passes,
                    brake_release_m=rounded(one.brake_release_m, 1),
                    release_rate_bar_s=rounded(one.release_rate_bar_s, 1),
                    bar_at_apex=rounded(one.bar_at_apex, 1),
                    nothing_time_s=rounded(one.nothing_time_s, 3),
                )
                for one in found.corners
            ],
        ),
    )


@routes.get("/session/{sid}/throttle_corner_box", errors=CORNERS)
async def throttle_box(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> ThrottleBoxes:
    """Show how far the throttle was open in each corner, as box plots."""
    partial, found = await analysed(request, path.sid, query, throttle_boxes)
    _, geometry = await analysed(request, path.sid, query, geometry_of)
    return ThrottleBoxes(
        session_id=path.sid,
        partial=partial,
        geometry=geometry,
        corners=[_throttle(one) for one in found],
    )


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
    partial, found = await analysed(request, path.sid, query, corner_classes, low, med)
    _, geometry = await analysed(request, path.sid, query, geometry_of)
    return CornerClasses(
        session_id=path.sid,
        partial=partial,
        geometry=geometry,
        thresholds=ClassThresholds(low_max_kmh=low, med_max_kmh=med),
        bands=[
            SpeedClassRecord(
                band=one.band,
                corners=list(one.corners),
                mean_apex_kmh=rounded(one.mean_kmh, 1),
                median_apex_kmh=rounded(one.median_kmh, 1),
            )
            for one in found
        ],
    )


@routes.get("/session/{sid}/brake_acceleration", errors=CORNERS)
async def braking(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> BrakeAccelerationAnswer:
    """Show how hard the car brakes before the corners and pulls out of them."""
    partial, found = await analysed(request, path.sid, query, brake_acceleration)
    _, geometry = await analysed(request, path.sid, query, geometry_of)
    return BrakeAccelerationAnswer(
        session_id=path.sid,
        partial=partial,
        geometry=geometry,
        brake_zones=[
            BrakeZoneRecord(
                corner=one.corner,
                max_decel_g=rounded(one.max_decel_g, 3),
                duration_s=round(one.duration_s, 3),
                n_passes=one.n_passes,
            )
            for one in found.zones
        ],
        corner_exits=[
            CornerExitRecord(
                corner=one.corner,
                max_long_accel_g=rounded(one.max_long_accel_g, 3),
                exit_speed_kmh=rounded(one.exit_speed_kmh, 1),
                n_passes=one.n_passes,
            )
            for one in found.exits
        ],
    )


def _throttle(one: ThrottleBox) -> ThrottleBoxRecord:
    box = one.box
    return ThrottleBoxRecord(
        name=one.corner,
        n_passes=one.n_passes,
        n_samples=one.n_samples,
        min_pct=rounded(one.least, 2),
        q1_pct=rounded(box.q1, 2) if box else None,
        median_pct=rounded(box.median, 2) if box else None,
        q3_pct=rounded(box.q3, 2) if box else None,
        max_pct=rounded(one.most, 2),
        mean_pct=rounded(one.mean, 2),
        whisker_low_pct=rounded(box.low, 2) if box else None,
        whisker_high_pct=rounded(box.high, 2) if box else None,
    )
