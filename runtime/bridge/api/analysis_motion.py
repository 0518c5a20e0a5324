"""Analytics of how hard the car was driven: grip, throttle, pedals, straights."""

from typing import Annotated, Literal

import orjson
from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.grip import SAMPLES, FrictionCircle, friction_circle
from runtime.bridge.analysis.pedals import BRAKE_BAR, THROTTLE_PCT, hustle_map, pedal_behavior
from runtime.bridge.analysis.stats import StraightSpeed, straight_line_speed
from runtime.bridge.api.analysis_shapes import (
    ONE_LAP,
    Analytic,
    LapQuery,
    analysed,
    analyses_of,
    kmh,
    scope_of,
    summing,
)
from runtime.bridge.api.sessions import SessionPath
from runtime.bridge.api.shapes import capped, rounded
from runtime.bridge.service import SERVICE
from runtime.bridge.session.units import KMH
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes
from runtime.web.wire import Wire, json_bytes

MOST_SAMPLES = 5000
routes = Routes("analysis")


class FrictionQuery(LapQuery):
    """Which frames, and how many points of the scatter."""

    samples: Annotated[int, capped(MOST_SAMPLES)] = Field(
        SAMPLES, description="points of the scatter at most, 1 to 5000"
    )


class FrictionSample(Wire):
    """The acceleration of one frame."""

    gLat: float = Field(description="g: lateral, positive in a right turn")  # noqa: N815
    gLong: float = Field(description="g: longitudinal, positive accelerating")  # noqa: N815


class Friction(Wire):
    """Combined acceleration beside the envelope of the car."""

    max_combo_g_observed: float | None = Field(description="g; null: not recorded")
    envelope_g: float | None = Field(
        description="g that count as all of the grip: the largest of the reference lap, else the "
        "99.5th percentile of the whole session and 0.5 at least"
    )
    basis: Literal["reference_file", "session"] = Field(description="where the envelope is from")
    histogram_pct: list[float | None] = Field(
        description="% of the time in each tenth of the envelope, ten values that add up to 100; "
        "the last also holds what is beyond; nulls: not recorded"
    )
    over_limit_pct: float | None = Field(description="% of the time beyond the envelope")
    samples: list[FrictionSample] = Field(
        description="frames at even steps from the first, for a scatter"
    )


class FrictionAnswer(Analytic):
    """The friction circle."""

    friction: Friction


class HustleStretch(Wire):
    """50 m of the lap."""

    start_m: float = Field(description="m of lap progress from start/finish")
    end_m: float = Field(description="m of lap progress; the last stretch ends with the lap")
    hustle_pct: float = Field(
        description="% of the time with the throttle at 95 % or more, over the complete laps; "
        "0 without data"
    )
    fraction: float | None = Field(description="the same from 0 to 1; null without data")
    n_frames: int = Field(description="frames with a reading of the throttle")


class HustleAnswer(Analytic):
    """The lap in steps of 50 m."""

    hustle_map: list[HustleStretch]


class PedalQuery(LapQuery):
    """Which frames, and from where a pedal is down."""

    throttle_th: float = Field(THROTTLE_PCT, description="%: down strictly above; 0 counts")
    brake_th: float = Field(BRAKE_BAR, description="bar: down strictly above; 0 counts")


class PedalThresholds(Wire):
    """Above what a pedal is down."""

    throttle_pct: float = Field(description="%")
    brake_bar: float = Field(description="bar")


class PedalState(Wire):
    """How often the pedals were in one state."""

    frames: int
    pct: float = Field(description="% of the frames; the four states add up to 100")
    time_s: float = Field(description="s: frames times the median period")


class PedalStates(Wire):
    """Every frame is in one of four states."""

    throttle_only: PedalState
    brake_only: PedalState
    trail_brake: PedalState = Field(description="both pedals down")
    coast: PedalState = Field(description="neither pedal down")


class PedalsRecorded(Wire):
    """Whether there is a reading at all; a pedal without one counts as up."""

    throttle: bool
    brake: bool


class PedalAnswer(Analytic):
    """What the feet did."""

    frame_count: int
    thresholds: PedalThresholds
    frame_dt_s: float = Field(description="s: median period")
    states: PedalStates
    recorded: PedalsRecorded


class LapTopSpeed(Wire):
    """A lap's top speed on the straight."""

    lap_number: int
    top_speed_kmh: float = Field(description="km/h")


class StraightRecord(Wire):
    """One straight."""

    name: str
    start_m: float = Field(description="m of lap progress; above end_m: over start/finish")
    end_m: float = Field(description="m of lap progress")
    top_speed_kmh: float | None = Field(description="km/h: of all frames on it")
    from_lap: int | None = Field(description="complete lap with that frame; null: out or in lap")
    average_top_kmh: float | None = Field(description="km/h: mean of the laps' top speeds")
    per_lap: list[LapTopSpeed] = Field(description="complete laps in time order")


class StraightAnswer(Analytic):
    """The straights in lap order, as the track file has them, else between the corners."""

    track_length_m: float = Field(description="m")
    straights: list[StraightRecord]


@routes.get("/session/{sid}/friction_circle", errors=ONE_LAP, answers={200: FrictionAnswer})
async def friction(
    request: web.Request, *, path: SessionPath, query: FrictionQuery
) -> web.StreamResponse:
    """Show how much of the grip was used, and for how long."""
    service = request.app[SERVICE]
    known, row = service.references.current(), service.session(path.sid)

    async def write() -> bytes:
        partial, found = await analysed(
            request, path.sid, query, friction_circle, known, query.samples
        )
        head = {"session_id": path.sid, **({"partial": True} if partial else {})}
        return orjson.dumps({**head, "friction": _friction(found)})

    name = ("friction", known, query.samples)
    return json_bytes(await analyses_of(service).written(row, scope_of(query), name, write))


@routes.get("/session/{sid}/hustle_map", errors=ONE_LAP)
async def hustle(request: web.Request, *, path: SessionPath, query: LapQuery) -> HustleAnswer:
    """Show where around the lap the throttle was fully open."""
    partial, found = await analysed(request, path.sid, query, hustle_map)
    return HustleAnswer(
        session_id=path.sid,
        partial=partial,
        hustle_map=[
            HustleStretch(
                start_m=round(one.start_m, 1),
                end_m=round(one.end_m, 1),
                hustle_pct=round(100.0 * (one.full_share or 0.0), 1),
                fraction=rounded(one.full_share, 4),
                n_frames=one.n_frames,
            )
            for one in found
        ],
    )


@routes.get("/session/{sid}/pedal_behavior", errors=ONE_LAP)
async def pedals(request: web.Request, *, path: SessionPath, query: PedalQuery) -> PedalAnswer:
    """Count throttle, brake, both and neither over the frames."""
    for name, value in (("throttle_th", query.throttle_th), ("brake_th", query.brake_th)):
        if value < 0:
            raise BadQuery(f"{name}: must be 0 or more", param=name)
    partial, found = await analysed(
        request, path.sid, query, pedal_behavior, query.throttle_th, query.brake_th
    )
    counts = (found.throttle_only, found.brake_only, found.trail_brake, found.coast)
    shares = summing([100.0 * n / found.n_frames for n in counts], 100.0, 1)
    states = [
        PedalState(frames=n, pct=pct, time_s=round(n * found.period_s, 1))
        for n, pct in zip(counts, shares, strict=True)
    ]
    return PedalAnswer(
        session_id=path.sid,
        partial=partial,
        frame_count=found.n_frames,
        thresholds=PedalThresholds(throttle_pct=query.throttle_th, brake_bar=query.brake_th),
        frame_dt_s=round(found.period_s, 4),
        states=PedalStates(
            throttle_only=states[0], brake_only=states[1], trail_brake=states[2], coast=states[3]
        ),
        recorded=PedalsRecorded(throttle=found.throttle_recorded, brake=found.brake_recorded),
    )


@routes.get("/session/{sid}/straight_line_speed", errors=ONE_LAP)
async def straight_speeds(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> StraightAnswer:
    """Show the top speed on each straight, and of which lap it is."""
    partial, found = await analysed(request, path.sid, query, straight_line_speed)
    return StraightAnswer(
        session_id=path.sid,
        partial=partial,
        track_length_m=round(found.length_m, 2),
        straights=[_straight(one) for one in found.straights],
    )


def _friction(found: FrictionCircle) -> dict[str, object]:
    shares: list[float | None] = [None] * 10
    if found.histogram_pct is not None:
        shares = list(summing(found.histogram_pct, 100.0, 1))
    points = zip(found.g_lat.round(3).tolist(), found.g_long.round(3).tolist(), strict=True)
    return {
        "max_combo_g_observed": rounded(found.max_combo_g, 3),
        "envelope_g": rounded(found.envelope_g, 3),
        "basis": found.basis,
        "histogram_pct": shares,
        "over_limit_pct": rounded(found.over_limit_pct, 2),
        "samples": [{"gLat": lat, "gLong": long} for lat, long in points],
    }


def _straight(one: StraightSpeed) -> StraightRecord:
    return StraightRecord(
        name=one.straight.name,
        start_m=round(one.straight.start_m, 1),
        end_m=round(one.straight.end_m, 1),
        top_speed_kmh=kmh(one.top_ms),
        from_lap=one.from_lap,
        average_top_kmh=kmh(one.average_top_ms),
        per_lap=[
            LapTopSpeed(lap_number=top.lap, top_speed_kmh=round(top.speed_ms * KMH, 1))
            for top in one.laps
        ],
    )
