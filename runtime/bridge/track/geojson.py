"""Reads the centre line of a circuit from GeoJSON."""

from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.track.build import Trace
from runtime.bridge.track.fields import FieldError, Fields, json_object
from runtime.bridge.track.model import TrackError

MOST_POINTS: Final = 200_000
NAMES: Final = ("Name", "name", "title", "id")


class Centreline(NamedTuple):
    """A line, and what the file calls it."""

    trace: Trace
    name: str
    """Empty where the file has none."""


def read_geojson(text: str) -> Centreline:
    """The first line or ring of a file; raises `TrackError`, which names the place."""
    file = json_object(text)
    try:
        for feature in file.objects("features") if "features" in file else [file]:
            geometry = feature.fields("geometry") if "geometry" in feature else feature
            points = _points(geometry)
            if points is not None:
                return Centreline(_trace(points, geometry.place), _name(feature))
    except FieldError as error:
        raise TrackError(str(error)) from None
    raise TrackError("the file holds no LineString and no Polygon")


def _points(geometry: Fields) -> list[object] | None:
    kind = geometry.text("type")
    if kind == "LineString":
        return geometry.items("coordinates")
    if kind in ("Polygon", "MultiLineString"):
        rings = geometry.items("coordinates")
        return rings[0] if rings and isinstance(rings[0], list) else []
    return None


def _trace(points: list[object], place: str) -> Trace:
    if len(points) > MOST_POINTS:
        raise FieldError(f"{place}.coordinates: more than 200,000 points")
    rows: list[tuple[float, float, float]] = []
    for i, point in enumerate(points):
        if not isinstance(point, list) or not 2 <= len(point) <= 4:
            raise FieldError(f"{place}.coordinates[{i}]: longitude and latitude are needed")
        at = Fields(dict(zip("xyzm", point, strict=False)), f"{place}.coordinates[{i}]")
        height = at.optional_number("z", -1000, 10_000)
        rows.append(
            (
                at.number("y", -90, 90),
                at.number("x", -180, 180),
                np.nan if height is None else height,
            )
        )
    if len(rows) > 1 and rows[0][:2] == rows[-1][:2]:  # a closed line repeats its start
        rows.pop()
    if len(rows) < 3:
        raise FieldError(f"{place}.coordinates: three points at least are needed")
    return Trace(*np.array(rows).T)


def _name(feature: Fields) -> str:
    if "properties" not in feature:
        return ""
    properties = feature.fields("properties")
    for key in NAMES:
        value = properties.values.get(key)
        if isinstance(value, str) and value.strip():
            return value.strip()[:200]
    return ""
