"""What the files of the data folder say: circuits with markers, dangers and heights, and cars."""

import asyncio
import math
from datetime import datetime
from typing import Annotated, Literal

from aiohttp import web
from pydantic import Field

from runtime.bridge.api.shapes import Values, capped
from runtime.bridge.can.cars import CarRecord, NoCarsDir, load_cars
from runtime.bridge.errors import NoReferenceLine, NoTrack
from runtime.bridge.service import SERVICE
from runtime.bridge.session.units import Metres2
from runtime.bridge.track.library import is_safe_id
from runtime.bridge.track.model import Track, WeatherPhase, elevation, filter_markers, phase_at
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes
from runtime.web.wire import Wire

LARGEST_STEP_M = 1000.0
MOST_SAMPLES = 100_000
routes = Routes("track")
car_routes = Routes("cars")


class MarkerRecord(Values):
    """A thing beside the track that a driver can see."""

    id: str
    kind: str
    label: str
    distance: float = Field(validation_alias="distance_m")
    corner: str | None
    source: str
    note: str
    lat: float | None
    lon: float | None
    at_offset_m_from_entry: float | None


class MarkerList(Values):
    """Markers by distance."""

    track: str
    markers: tuple[MarkerRecord, ...]
    count: int


class MarkersQuery(Wire):
    """Which markers."""

    corner: str | None = Field(None, description="exact name, or number")
    kind: str | None = Field(None, description="such as brake_ref, or its first word")


class MarkerFilters(Values):
    """What was asked for."""

    corner: str | None
    kind: str | None


class FilteredMarkers(MarkerList):
    """Markers of a corner or a kind."""

    filters: MarkerFilters


class ZoneRecord(Values):
    """A stretch where mistakes are punished."""

    id: str
    start_m: float
    end_m: float
    description: str
    severity: Literal["high", "medium", "low"]


class ZoneList(Values):
    """Danger zones in the order of the file."""

    track: str
    danger_zones: tuple[ZoneRecord, ...]
    count: int


Hour = Annotated[int, capped(10**6, -(10**6))]


class WeatherQuery(Wire):
    """Which hour."""

    hour_local: Hour | None = Field(None, description="0 to 23; absent: now")


class Weather(Values):
    """What the surface is like at an hour."""

    hour_local: int
    phase: str = Field(validation_alias="id")
    surface_state: str
    coaching_note: str
    track: str


class ElevationPath(Wire):
    """The id of a track file."""

    id: str


class ElevationQuery(Wire):
    """How fine."""

    step_m: float = Field(10.0, description="metres between two samples, at most 1000")


class ElevationSample(Wire):
    """A height."""

    distance_m: Metres2
    elevation_m: Metres2


class ElevationAnswer(Values):
    """The heights along a lap, metres."""

    track_id: str
    name: str
    track_length_m: float
    step_m: float
    elevation_source: Literal["json_profile", "reference_line", "missing"] = Field(
        validation_alias="source"
    )
    min_elevation_m: Metres2 | None = Field(validation_alias="lowest")
    max_elevation_m: Metres2 | None = Field(validation_alias="highest")
    samples: list[ElevationSample]


class CarList(Wire):
    """Cars by id."""

    cars: list[CarRecord]
    loaded_id: str
    cars_dir: str


@routes.get("/track/markers", errors=(NoTrack,))
async def track_markers(request: web.Request) -> MarkerList:
    """List every marker of the active circuit."""
    track = request.app[SERVICE].track
    return MarkerList.of(track, track=track.name, count=len(track.markers))


@routes.get("/markers", errors=(NoTrack,))
async def markers(request: web.Request, *, query: MarkersQuery) -> FilteredMarkers:
    """List markers of the active circuit, by corner and by kind."""
    track = request.app[SERVICE].track
    matches = tuple(filter_markers(track, corner=query.corner, kind=query.kind))
    return FilteredMarkers.of(track=track.name, filters=query, markers=matches, count=len(matches))


@routes.get("/track/danger_zones", errors=(NoTrack,))
async def danger_zones(request: web.Request) -> ZoneList:
    """List the danger zones of the active circuit."""
    track = request.app[SERVICE].track
    return ZoneList.of(track, track=track.name, count=len(track.danger_zones))


@routes.get("/track/weather")
async def weather(request: web.Request, *, query: WeatherQuery) -> Weather:
    """Tell the surface's phase at an hour of the day; without a track file the usual one."""
    track = request.app[SERVICE].active_track
    hour, phase = phase_of(query.hour_local, track)
    return Weather.of(phase, hour_local=hour, track=track.name if track else "")


def phase_of(hour: int | None, track: Track | None) -> tuple[int, WeatherPhase]:
    """An hour of the day, now for None, and its phase. Raises `BadQuery`."""
    if hour is None:
        hour = datetime.now().astimezone().hour
    try:
        return hour, phase_at(hour, track)
    except ValueError as error:
        raise BadQuery(f"hour_local: {error}", param="hour_local") from error


@routes.get("/track/{id}/elevation", errors=(NoTrack, NoReferenceLine))
async def track_elevation(
    request: web.Request, *, path: ElevationPath, query: ElevationQuery
) -> ElevationAnswer:
    """Sample the heights along a circuit's centreline."""
    track = request.app[SERVICE].library.by_id(path.id) if is_safe_id(path.id) else None
    if track is None:
        raise NoTrack(path.id[:128])
    if track.line is None:
        raise NoReferenceLine(track.id)
    step = query.step_m
    if not 0 < step <= LARGEST_STEP_M:
        raise BadQuery("step_m: must be above 0 and at most 1000", param="step_m")
    if track.length_m / step > MOST_SAMPLES:
        least = math.ceil(track.length_m / MOST_SAMPLES * 1000) / 1000
        words = f"step_m: {track.name} would have more than {MOST_SAMPLES} samples; {least:g} is"
        raise BadQuery(f"{words} the smallest step", param="step_m")
    heights = elevation(track, step)
    samples = zip(heights.distance.tolist(), heights.altitude.tolist(), strict=True)
    return ElevationAnswer.of(
        heights,
        track_id=track.id,
        name=track.name,
        track_length_m=track.length_m,
        step_m=step,
        samples=[ElevationSample(distance_m=at, elevation_m=height) for at, height in samples],
    )


@car_routes.get("/cars", errors=(NoCarsDir,))
async def cars(request: web.Request) -> CarList:
    """List the cars of the data folder."""
    service = request.app[SERVICE]
    folder = service.settings.cars_dir
    return CarList(
        cars=await asyncio.to_thread(load_cars, folder, service.loaded_car),
        loaded_id=service.loaded_car,
        cars_dir=str(folder),
    )
