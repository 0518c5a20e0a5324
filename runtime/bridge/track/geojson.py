"""Reads the centre line of a circuit from GeoJSON."""

from typing import Annotated, Any, Final, NamedTuple, TypeVar

import numpy as np
from pydantic import BeforeValidator, TypeAdapter, ValidationError

from runtime.bridge.track.build import Trace
from runtime.bridge.track.file import describe_fault, load_json
from runtime.bridge.track.model import Number, Text, TrackError

T = TypeVar("T")
NAMES: Final = ("Name", "name", "title", "id")
Json = dict[str, Any]


class _Point(NamedTuple):
    """A position in GeoJSON, in degrees and metres."""

    x: Annotated[float, Number(-180, 180)]
    y: Annotated[float, Number(-90, 90)]
    z: Annotated[float, Number(-1000, 10_000)] | None = None
    m: object = None


def _name_parts(point: object) -> object:
    if not isinstance(point, list) or not 2 <= len(point) <= 4:
        raise ValueError("must be longitude and latitude")
    return dict(zip("xyzm", point, strict=False))


OBJECT: Final = TypeAdapter(Json)
OBJECTS: Final = TypeAdapter(list[Json])
KIND: Final = TypeAdapter(Text)
RINGS: Final = TypeAdapter(list[list[Any]])
POINTS: Final = TypeAdapter(list[Annotated[_Point, BeforeValidator(_name_parts)]])


class Centreline(NamedTuple):
    """A line, and its name in the file."""

    trace: Trace
    name: str
    """Empty if the file has none."""


def read_geojson(text: str) -> Centreline:
    """Read the first line or ring of a file; raises `TrackError`, naming the place."""
    file = load_json(text)
    features, place = [file], ""
    if file.get("features") is not None:
        features, place = _read(OBJECTS, file["features"], "features"), "features"
    for i, feature in enumerate(features):
        at = f"{place}[{i}]." if place else ""
        geometry = feature
        if feature.get("geometry") is not None:
            geometry, at = _read(OBJECT, feature["geometry"], f"{at}geometry"), f"{at}geometry."
        kind = _read(KIND, geometry.get("type"), f"{at}type")
        points, at = geometry.get("coordinates"), f"{at}coordinates"
        if kind in ("Polygon", "MultiLineString"):
            rings = _read(RINGS, points, at)
            points = rings[0] if rings else []
        elif kind != "LineString":
            continue
        return Centreline(_trace(_read(POINTS, points, at), at), _name(feature))
    raise TrackError("the file has neither a LineString nor a Polygon")


def _read(adapter: TypeAdapter[T], value: object, place: str) -> T:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        raise TrackError(describe_fault(error, place)) from None


def _trace(points: list[_Point], place: str) -> Trace:
    if len(points) > 1 and points[0][:2] == points[-1][:2]:  # a closed line repeats its start
        points.pop()
    if len(points) < 3:
        raise TrackError(f"{place}: must have at least three points")
    rows = [(point.y, point.x, np.nan if point.z is None else point.z) for point in points]
    return Trace(*np.array(rows, dtype=np.float64).T)


def _name(feature: Json) -> str:
    properties = feature.get("properties") or {}
    names = [properties.get(key) for key in NAMES] if isinstance(properties, dict) else []
    return next(
        (name.strip()[:200] for name in names if isinstance(name, str) and name.strip()), ""
    )
