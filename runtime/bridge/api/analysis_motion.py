"""Analytics of how hard the car was driven: grip, throttle, pedals, straights."""

from typing import Annotated

from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grip import SAMPLES, Friction, friction_circle
from runtime.bridge.analysis.pedals import (
    BRAKE_BAR,
    THROTTLE_PCT,
    HustleStretch,
    PedalsRecorded,
    PedalStates,
    hustle_map,
    pedal_behavior,
)
from runtime.bridge.analysis.stats import StraightRecord, straight_line_speed
from runtime.bridge.api.analysis import ONE_LAP, Analytic, LapQuery, subject_of
from runtime.bridge.api.sessions import SessionPath
from runtime.bridge.api.shapes import capped
from runtime.bridge.session.units import Metres2, Seconds4
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes
from runtime.web.wire import Wire

MOST_SAMPLES = 5000
routes = Routes("analysis")


class FrictionQuery(LapQuery):
    """Which frames, and how many points of the scatter."""

    samples: Annotated[int, capped(MOST_SAMPLES)] = Field(
        SAMPLES, description="points of the scatter at most, 1 to 5000"
    )


class FrictionAnswer(Analytic):
    """The friction circle."""

    friction: Friction


class HustleAnswer(Analytic):
    """The lap in steps of 50 m."""

    hustle_map: tuple[HustleStretch, ...]


class PedalQuery(LapQuery):
    """Which frames, and from where a pedal is down."""

    throttle_th: float = Field(THROTTLE_PCT, description="%: down strictly above; 0 counts")
    brake_th: float = Field(BRAKE_BAR, description="bar: down strictly above; 0 counts")


class PedalThresholds(Wire):
    """Above what a pedal is down."""

    throttle_pct: float = Field(description="%")
    brake_bar: float = Field(description="bar")


class PedalAnswer(Analytic):
    """What the feet did."""

    frame_count: int
    thresholds: PedalThresholds
    frame_dt_s: Seconds4 = Field(description="s: median period")
    states: PedalStates
    recorded: PedalsRecorded


class StraightAnswer(Analytic):
    """The straights in lap order, as the track file has them, else between the corners."""

    track_length_m: Metres2 = Field(description="m")
    straights: tuple[StraightRecord, ...]


@routes.get("/session/{sid}/friction_circle", errors=ONE_LAP)
async def friction(
    request: web.Request, *, path: SessionPath, query: FrictionQuery
) -> FrictionAnswer:
    """Show how much of the grip was used, and for how long."""
    subject = subject_of(request, path, query)
    found = await subject.compute(friction_circle, subject.references, query.samples)
    return await subject.answer(FrictionAnswer, friction=found)


@routes.get("/session/{sid}/hustle_map", errors=ONE_LAP)
async def hustle(request: web.Request, *, path: SessionPath, query: LapQuery) -> HustleAnswer:
    """Show where around the lap the throttle was fully open."""
    subject = subject_of(request, path, query)
    return await subject.answer(HustleAnswer, hustle_map=await subject.compute(hustle_map))


@routes.get("/session/{sid}/pedal_behavior", errors=ONE_LAP)
async def pedals(request: web.Request, *, path: SessionPath, query: PedalQuery) -> PedalAnswer:
    """Count throttle, brake, both and neither over the frames."""
    for name, value in (("throttle_th", query.throttle_th), ("brake_th", query.brake_th)):
        if value < 0:
            raise BadQuery(f"{name}: must be 0 or more", param=name)
    subject = subject_of(request, path, query)
    found = await subject.compute(pedal_behavior, query.throttle_th, query.brake_th)
    thresholds = PedalThresholds(throttle_pct=query.throttle_th, brake_bar=query.brake_th)
    return await subject.answer(PedalAnswer, found, thresholds=thresholds)


@routes.get("/session/{sid}/straight_line_speed", errors=ONE_LAP)
async def straight_speeds(
    request: web.Request, *, path: SessionPath, query: LapQuery
) -> StraightAnswer:
    """Show the top speed on each straight, and of which lap it is."""
    subject = subject_of(request, path, query)
    straights = await subject.compute(straight_line_speed)
    length = await subject.compute(_length_m)
    return await subject.answer(StraightAnswer, track_length_m=length, straights=straights)


def _length_m(drive: Drive) -> float:
    return drive.length_m
