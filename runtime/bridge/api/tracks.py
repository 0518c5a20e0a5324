"""Circuits of the data folder, with markers, danger zones and heights, and its cars."""

import asyncio
import math
from datetime import datetime
from typing import Annotated, Literal, Self

import numpy as np
from aiohttp import web
from pydantic import Field

from runtime.bridge.analysis.drive import circuit_sectors
from runtime.bridge.analysis.mapping import draw_outline
from runtime.bridge.api.shapes import AnswerModel, cap_at
from runtime.bridge.can.cars import CarRecord, NoCarsDir, load_cars
from runtime.bridge.errors import NoReferenceLine, NoTrack
from runtime.bridge.service import SERVICE
from runtime.bridge.session.units import Degrees, Metres2
from runtime.bridge.track.library import is_safe_id
from runtime.bridge.track.model import (
    Corner,
    Track,
    WeatherPhase,
    filter_markers,
    find_phase,
    sample_elevation,
)
from runtime.web.errors import BadQuery
from runtime.web.routes import Routes
from runtime.web.wire import Wire

LARGEST_STEP_M = 1000.0
MOST_SAMPLES = 100_000
routes = Routes("track")
car_routes = Routes("cars")


class MarkerRecord(AnswerModel):
    """A visible marker beside the track."""

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


class MarkerList(AnswerModel):
    """Markers by distance."""

    track: str
    markers: tuple[MarkerRecord, ...]
    count: int


class MarkersQuery(Wire):
    """Filters of the list."""

    corner: str | None = Field(None, description="exact name, or number")
    kind: str | None = Field(None, description="for example brake_ref, or only its first word")


class MarkerFilters(AnswerModel):
    """The requested filters."""

    corner: str | None
    kind: str | None


class FilteredMarkers(MarkerList):
    """Markers of a corner or a kind."""

    filters: MarkerFilters


class ZoneRecord(AnswerModel):
    """A stretch where mistakes are punished."""

    id: str
    start_m: float
    end_m: float
    description: str
    severity: Literal["high", "medium", "low"]


class ZoneList(AnswerModel):
    """Danger zones in the order of the file."""

    track: str
    danger_zones: tuple[ZoneRecord, ...]
    count: int


Hour = Annotated[int, cap_at(10**6, -(10**6))]


class WeatherQuery(Wire):
    """The hour of the day."""

    hour_local: Hour | None = Field(None, description="0 to 23; absent: now")


class Weather(AnswerModel):
    """The state of the surface at an hour of the day."""

    hour_local: int
    phase: str = Field(validation_alias="id")
    surface_state: str
    coaching_note: str
    track: str


class TrackPath(Wire):
    """The id of a track file."""

    id: str


class ElevationQuery(Wire):
    """The distance between samples."""

    step_m: float = Field(10.0, description="metres between samples, at most 1000")


class ElevationSample(Wire):
    """A height."""

    distance_m: Metres2
    elevation_m: Metres2


class ElevationAnswer(AnswerModel):
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


class TrackEntry(AnswerModel):
    """A circuit."""

    id: str
    name: str
    length_m: Metres2 = Field(description="of a lap")


class TrackList(Wire):
    """The known circuits, by id."""

    tracks: list[TrackEntry]


class GateRecord(AnswerModel):
    """A line across the track."""

    lat: Degrees
    lon: Degrees
    heading: Metres2 = Field(description="degrees of travel through it, 0 north, clockwise")
    half_width_m: Metres2


class SectorRecord(AnswerModel):
    """A part of the lap, in metres from start/finish."""

    name: str
    start_m: Metres2
    end_m: Metres2


class CornerPlace(AnswerModel):
    """Where a corner lies: metres of lap progress from start/finish, and the apex on the map."""

    name: str
    entry_m: Metres2
    apex_m: Metres2
    exit_m: Metres2 = Field(description="below entry_m: the corner crosses start/finish")
    lat: Degrees | None = Field(description="degrees WGS-84")
    lon: Degrees | None = Field(description="degrees WGS-84")

    @classmethod
    def of_corner(cls, corner: Corner, **more: object) -> Self:
        """Return the answer for *corner*, whose other fields *more* gives."""
        return cls.of(
            corner,
            corner.apex,
            entry_m=corner.entry.distance_m,
            apex_m=corner.apex.distance_m,
            exit_m=corner.exit.distance_m,
            **more,
        )


class CornerRecord(CornerPlace):
    """A corner of a circuit."""

    number: int
    direction: Literal["left", "right"]
    severity: int = Field(description="1, a hairpin, to 6, barely a bend")


class TrackAnswer(TrackEntry):
    """The geometry of a circuit; points are [latitude, longitude] in degrees WGS-84."""

    outline: list[Annotated[list[float], Field(min_length=2, max_length=2)]] = Field(
        description="reference line, one lap from start/finish; empty: the file has none"
    )
    gate: GateRecord = Field(description="start/finish", validation_alias="start")
    sectors: list[SectorRecord] = Field(description="three; thirds if the file has none")
    corners: list[CornerRecord] = Field(description="in lap order")


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
    """Describe the surface at an hour of the day, by the active track file or by default."""
    track = request.app[SERVICE].active_track
    hour, phase = choose_phase(query.hour_local, track)
    return Weather.of(phase, hour_local=hour, track=track.name if track else "")


def choose_phase(hour: int | None, track: Track | None) -> tuple[int, WeatherPhase]:
    """Return an hour of the day (None: now) and its phase. Raises `BadQuery`."""
    if hour is None:
        hour = datetime.now().astimezone().hour
    try:
        return hour, find_phase(hour, track)
    except ValueError as error:
        raise BadQuery(f"hour_local: {error}", param="hour_local") from error


@routes.get("/track/{id}/elevation", errors=(NoTrack, NoReferenceLine))
async def track_elevation(
    request: web.Request, *, path: TrackPath, query: ElevationQuery
) -> ElevationAnswer:
    """Sample the heights along a circuit's centreline."""
    track = _find_track(request, path)
    if track.line is None:
        raise NoReferenceLine(track_id=track.id)
    step = query.step_m
    if not 0 < step <= LARGEST_STEP_M:
        raise BadQuery("step_m: must be above 0 and at most 1000", param="step_m")
    if track.length_m / step > MOST_SAMPLES:
        least = math.ceil(track.length_m / MOST_SAMPLES * 1000) / 1000
        text = f"step_m: more than {MOST_SAMPLES} samples of {track.name}; use {least:g} or more"
        raise BadQuery(text, param="step_m")
    heights = sample_elevation(track, step)
    samples = zip(heights.distance.tolist(), heights.altitude.tolist(), strict=True)
    return ElevationAnswer.of(
        heights,
        track_id=track.id,
        name=track.name,
        track_length_m=track.length_m,
        step_m=step,
        samples=[ElevationSample(distance_m=at, elevation_m=height) for at, height in samples],
    )


@routes.get("/tracks")
async def tracks(request: web.Request) -> TrackList:
    """List the known circuits."""
    library = request.app[SERVICE].library.tracks
    return TrackList(tracks=[TrackEntry.of(library[id_]) for id_ in sorted(library)])


@routes.get("/track/{id}", errors=(NoTrack,))
async def track(request: web.Request, *, path: TrackPath) -> TrackAnswer:
    """Show the geometry of a circuit: line, start/finish, sectors and corners."""
    circuit = _find_track(request, path)
    drawn = draw_outline(circuit)
    points = np.column_stack([drawn.centre_lat, drawn.centre_lon]).round(7)
    spans = circuit_sectors(circuit, circuit.length_m)
    return TrackAnswer.of(
        circuit,
        outline=points.tolist(),
        start=GateRecord.of(circuit.start),
        sectors=[SectorRecord.of(span) for span in spans],
        corners=[CornerRecord.of_corner(corner) for corner in drawn.corners],
    )


def _find_track(request: web.Request, path: TrackPath) -> Track:
    """Find the circuit of a path. Raises `NoTrack`."""
    track = request.app[SERVICE].library.tracks.get(path.id) if is_safe_id(path.id) else None
    if track is None:
        raise NoTrack("no such track", track_id=path.id[:128])
    return track


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
