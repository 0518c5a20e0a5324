"""What the track files say: markers, danger zones, weather, elevation."""

import math
from datetime import datetime
from typing import Annotated, Literal

from aiohttp import web
from pydantic import Field

from runtime.bridge.api.shapes import capped
from runtime.bridge.errors import NoReferenceLine, NoTrack
from runtime.bridge.service import SERVICE
from runtime.bridge.track.library import is_safe_id
from runtime.bridge.track.model import (
    Marker,
    elevation,
    filter_markers,
    phase_at,
)
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes
from runtime.web.wire import Wire

LARGEST_STEP_M = 1000.0
MOST_SAMPLES = 100_000
routes = Routes("track")


class MarkerRecord(Wire):
    """A thing beside the track that a driver can see."""

    id: str
    kind: str
    label: str
    distance: float
    corner: str | None
    source: str
    note: str
    lat: float | None
    lon: float | None
    at_offset_m_from_entry: float | None


class MarkerList(Wire):
    """Markers by distance."""

    track: str
    markers: list[MarkerRecord]
    count: int


class MarkerFilters(Wire):
    """What was asked for."""

    corner: str | None
    kind: str | None


class FilteredMarkers(MarkerList):
    """Markers of a corner or a kind."""

    filters: MarkerFilters


class MarkersQuery(Wire):
    """Which markers."""

    corner: str | None = Field(None, description="exact name, or number")
    kind: str | None = Field(None, description="such as brake_ref, or its first word")


class ZoneRecord(Wire):
    """A stretch where mistakes are punished."""

    id: str
    start_m: float
    end_m: float
    description: str
    severity: Literal["high", "medium", "low"]


class ZoneList(Wire):
    """Danger zones in the order of the file."""

    track: str
    danger_zones: list[ZoneRecord]
    count: int


class WeatherQuery(Wire):
    """Which hour."""

    hour_local: Annotated[int, capped(10**6, -(10**6))] | None = Field(
        None, description="0 to 23; absent: now"
    )


class Weather(Wire):
    """What the surface is like at an hour."""

    hour_local: int
    phase: str
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

    distance_m: float
    elevation_m: float


class ElevationAnswer(Wire):
    """The heights along a lap, metres."""

    track_id: str
    name: str
    track_length_m: float
    step_m: float
    elevation_source: Literal["json_profile", "reference_line", "missing"]
    min_elevation_m: float | None
    max_elevation_m: float | None
    samples: list[ElevationSample]


@routes.get("/track/markers", errors=(NoTrack,))
async def track_markers(request: web.Request) -> MarkerList:
    """List every marker of the active circuit."""
    track = request.app[SERVICE].track
    found = [_marker(marker) for marker in track.markers]
    return MarkerList(track=track.name, markers=found, count=len(found))


@routes.get("/markers", errors=(NoTrack,))
async def markers(request: web.Request, *, query: MarkersQuery) -> FilteredMarkers:
    """List markers of the active circuit, by corner and by kind."""
    track = request.app[SERVICE].track
    found = [_marker(m) for m in filter_markers(track, corner=query.corner, kind=query.kind)]
    return FilteredMarkers(
        track=track.name,
        filters=MarkerFilters(corner=query.corner, kind=query.kind),
        markers=found,
        count=len(found),
    )


@routes.get("/track/danger_zones", errors=(NoTrack,))
async def danger_zones(request: web.Request) -> ZoneList:
    """List the danger zones of the active circuit."""
    track = request.app[SERVICE].track
    found = [ZoneRecord(**zone._asdict()) for zone in track.danger_zones]
    return ZoneList(track=track.name, danger_zones=found, count=len(found))


@routes.get("/track/weather")
async def weather(request: web.Request, *, query: WeatherQuery) -> Weather:
    """Tell the surface's phase at an hour of the day; without a track file the usual one."""
    track = request.app[SERVICE].active_track
    hour = datetime.now().astimezone().hour if query.hour_local is None else query.hour_local
    try:
        phase = phase_at(hour, track)
    except ValueError as error:
        raise BadQuery(f"hour_local: {error}", param="hour_local") from error
    return Weather(
        hour_local=hour,
        phase=phase.id,
        surface_state=phase.surface_state,
        coaching_note=phase.coaching_note,
        track=track.name if track else "",
    )


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
    found = elevation(track, step)
    samples = zip(found.distance.tolist(), found.altitude.tolist(), strict=True)
    return ElevationAnswer(
        track_id=track.id,
        name=track.name,
        track_length_m=track.length_m,
        step_m=step,
        elevation_source=found.source,
        min_elevation_m=None if found.lowest is None else round(found.lowest, 2),
        max_elevation_m=None if found.highest is None else round(found.highest, 2),
        samples=[
            ElevationSample(distance_m=round(at, 2), elevation_m=round(height, 2))
            for at, height in samples
        ],
    )


def _marker(marker: Marker) -> MarkerRecord:
    return MarkerRecord(distance=marker.distance_m, **marker._asdict())
