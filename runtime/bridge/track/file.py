"""Reads and writes the file of a circuit; faulty parts are left out and reported.

The fields in `track.model` say how each value is written in the file.
"""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn, TypeVar

import numpy as np
from pydantic import TypeAdapter, ValidationError

from runtime.bridge.session.geometry import Line
from runtime.bridge.session.recording import Gate, Numbers, ReadWarning
from runtime.bridge.track.model import (
    HALF_WIDTH_M,
    LONGEST_M,
    Corner,
    DangerZone,
    Latitude,
    Longitude,
    Marker,
    Note,
    Number,
    Profile,
    Sector,
    Straight,
    Text,
    Track,
    TrackError,
    WeatherPhase,
)
from runtime.web.instance import move_into_place

T = TypeVar("T")

LARGEST_TEXT: Final = 16 * 1024 * 1024
SHORTEST_M: Final = 50.0
LENGTH_SHARE: Final = 0.02
TOUCH_M: Final = 0.5
"""Sectors that are closer than this touch."""
Altitude = Annotated[float, Number(-1000, 10_000, digits=2)]
Distance = Annotated[float, Number(0, LONGEST_M, digits=2)]
_WORDS: Final = {
    "missing": "is missing",
    "dataclass_type": "not an object",
    "dict_type": "not an object",
    "list_type": "must be a list",
}


@dataclass(frozen=True)
class _Start:
    """Start/finish."""

    lat: Latitude
    lon: Longitude
    heading: Annotated[float, Number(-360, 360, digits=2)]


@dataclass(frozen=True)
class _Height:
    """A point of the elevation profile."""

    distance: Distance
    altitude: Altitude


@dataclass(frozen=True)
class _Point:
    """A point of the reference line."""

    distance: Distance
    lat: Latitude
    lon: Longitude
    altitude: Altitude | None = None


START: Final = TypeAdapter(_Start)
POINTS: Final = TypeAdapter(list[_Point] | None)
HEIGHTS: Final = TypeAdapter(list[_Height] | None)
CORNER: Final = TypeAdapter(Corner)
SECTORS: Final = TypeAdapter(list[Sector] | None)
STRAIGHT: Final = TypeAdapter(Straight)
ZONE: Final = TypeAdapter(DangerZone)
PHASE: Final = TypeAdapter(WeatherPhase)
MARKER: Final = TypeAdapter(Marker)
LENGTH: Final = TypeAdapter(Annotated[float, Number(SHORTEST_M, LONGEST_M)])
WIDTH: Final = TypeAdapter(Annotated[float, Number(1, 100)] | None)
NAME: Final = TypeAdapter(Text)
NOTE: Final = TypeAdapter(Note)


def load_json(text: str) -> dict[str, Any]:
    """Read a JSON object; raises `TrackError` with line and column."""
    if len(text) > LARGEST_TEXT:
        raise TrackError("the file is larger than 16 MiB")
    try:
        body = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise TrackError(f"line {error.lineno}, column {error.colno}: {error.msg}") from None
    except RecursionError:
        raise TrackError("the file is nested too deeply") from None
    except ValueError as error:
        raise TrackError(str(error)) from None
    if not isinstance(body, dict):
        raise TrackError("the file must contain a JSON object")
    return body


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def read_file(path: Path, parse: Callable[[str], T]) -> T:
    """Parse the text of a file with *parse*; raises `TrackError`, naming the file."""
    try:
        if not path.is_file():
            raise TrackError("the file does not exist")
        if path.stat().st_size > LARGEST_TEXT:
            raise TrackError("the file is larger than 16 MiB")
        return parse(path.read_text(encoding="utf-8-sig"))
    except (TrackError, UnicodeDecodeError) as error:
        raise TrackError(f"{path.name}: {error}") from None
    except OSError as error:
        raise TrackError(f"{path.name}: {error.strerror}") from None


def read_folder(folder: Path, read: Callable[[Path], T]) -> tuple[dict[str, T], dict[str, str]]:
    """Read each JSON file with *read*; return results and errors, by the stem of the file."""
    readable: dict[str, T] = {}
    unreadable: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            readable[path.stem] = read(path)
        except TrackError as error:
            unreadable[path.stem] = str(error)
    return readable, unreadable


def write_file(path: Path, text: str, *, force: bool) -> None:
    """Write a new file; with *force*, replace an old one atomically.

    Raises `TrackError` and `OSError`.
    """
    if not force:
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            raise TrackError("exists already; --force overwrites it") from None
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}.next")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        move_into_place(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def describe_fault(error: ValidationError, place: str = "") -> str:
    """Describe the first fault and its place in the file."""
    first = error.errors()[0]
    for part in first["loc"]:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else part
    cause = first.get("ctx", {}).get("error")
    return f"{place}: {cause or _WORDS.get(first['type'], first['msg'])}"


def format_track(track: Track) -> str:
    """Format a circuit as JSON, with one line for each point, corner and marker.

    Distances and positions are rounded to centimetres.
    """
    start, line, profile = track.start, track.line, track.elevation
    columns = (line.distance, line.lat, line.lon, line.altitude) if line else ()
    body = {
        "name": track.name,
        "generated_from": track.generated_from,
        "track_length_m": round(track.length_m, 2),
        "half_width_m": track.half_width_m,
        "start_finish": _dump(START, _Start(start.lat, start.lon, start.heading)),
        "sectors": _dump(SECTORS, list(track.sectors)),
        "corners": [_dump(CORNER, corner) for corner in track.corners],
        "straights": [_dump(STRAIGHT, straight) for straight in track.straights],
        "danger_zones": [_dump(ZONE, zone) for zone in track.danger_zones],
        "weather_phases": [_dump(PHASE, phase) for phase in track.weather_phases],
        "markers": [_dump(MARKER, marker) for marker in track.markers],
        "elevation_profile": _dump(HEIGHTS, [_Height(*row) for row in _rows(*(profile or ()))]),
        "reference_line": _dump(POINTS, [_Point(*row) for row in _rows(*columns)]),
    }
    lines = [f'"{key}": {_lay_out(value)}' for key, value in body.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _dump(adapter: TypeAdapter[T], value: T) -> object:
    """Dump a record for the file, without unknown values."""
    return adapter.dump_python(value, by_alias=True, exclude_defaults=True)


def _rows(*columns: Numbers) -> list[list[Any]]:
    """Return the rows of columns, with None for NaN."""
    return [
        [None if value != value else value for value in row]
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _lay_out(value: object) -> str:
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(_compact(item) for item in value) + "\n]"
    return _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


class _File:
    """The object of a file, and complaints about the parts that were left out."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.length = 0.0
        self.complaints: list[str] = []

    def value(self, name: str, adapter: TypeAdapter[T]) -> T:
        """Read a field of the object; raises `TrackError`."""
        return self.read(name, adapter, self.body.get(name))

    def read(self, place: str, adapter: TypeAdapter[T], value: object) -> T:
        """Read the value at a place of the file; raises `TrackError`."""
        try:
            return adapter.validate_python(value, context={"length": self.length})
        except ValidationError as error:
            raise TrackError(describe_fault(error, place)) from None

    def attempt(self, read: Callable[[], T | None]) -> T | None:
        """Return the result of *read*, or None after a complaint."""
        try:
            return read()
        except TrackError as error:
            self.complaints.append(str(error))
            return None

    def read_list(
        self,
        name: str,
        adapter: TypeAdapter[T],
        judge: Callable[[str, T], T] = lambda _, record: record,
    ) -> list[T]:
        """Read the records of a list; invalid ones are left out with a complaint.

        *judge* takes a record and its place and returns the record; it raises `TrackError`.
        """
        items = self.body.get(name)
        if items is not None and not isinstance(items, list):
            self.complaints.append(f"{name}: must be a list")
            return []
        records = []
        for i, item in enumerate(items or ()):
            place = f"{name}[{i}]"
            try:
                records.append(judge(place, self.read(place, adapter, item)))
            except TrackError as error:
                self.complaints.append(str(error))
        return records


def parse_track(text: str, track_id: str = "") -> tuple[Track, tuple[ReadWarning, ...]]:
    """Parse a circuit; return it with a warning for each part that was left out.

    Raises `TrackError`, which names the place, if the text is not a JSON object or lacks a length
    or a start.
    """
    file = _File(load_json(text))
    length = file.length = file.value("track_length_m", LENGTH)
    line = file.attempt(lambda: _line(file))
    corners, inner = _corners(file)
    names = [corner.name for corner in corners]

    def judge(place: str, marker: Marker) -> Marker:
        if marker.corner is not None and marker.corner not in names:
            raise TrackError(f"{place}.corner: no corner has this name")
        return marker

    track = Track(
        id=track_id,
        name=file.attempt(lambda: file.value("name", NAME)) or track_id or "Unnamed",
        length_m=length,
        start=_start(file, line),
        generated_from=file.attempt(lambda: file.value("generated_from", NOTE)) or "",
        half_width_m=file.attempt(lambda: file.value("half_width_m", WIDTH)) or HALF_WIDTH_M,
        line=line,
        corners=tuple(corners),
        sectors=file.attempt(lambda: _sectors(file)) or (),
        straights=tuple(file.read_list("straights", STRAIGHT)),
        danger_zones=tuple(file.read_list("danger_zones", ZONE)),
        weather_phases=tuple(file.read_list("weather_phases", PHASE, _phase)),
        elevation=file.attempt(lambda: _profile(file)),
        markers=_place_markers(file.read_list("markers", MARKER, judge), inner, length, line),
    )
    return track, tuple(ReadWarning("track_element", complaint) for complaint in file.complaints)


def _start(file: _File, line: Line | None) -> Gate:
    try:
        start = file.value("start_finish", START)
        return Gate(start.lat, start.lon, start.heading % 360.0)
    except TrackError as error:
        if line is None:
            raise
        file.complaints.append(f"{error}; the start of the reference line is used")
        return Gate(float(line.lat[0]), float(line.lon[0]), line.ring.heading(0.0))


def _line(file: _File) -> Line | None:
    points = file.value("reference_line", POINTS)
    if points and points[-1].distance >= file.length - 1e-6:  # the start once more
        points.pop()
    if not points:
        return None
    rows = [(point.distance, point.lat, point.lon, point.altitude) for point in points]
    distance, lat, lon, altitude = np.array(rows, dtype=np.float64).T
    if len(distance) < 8 or abs(distance[0]) > 1e-6 or (np.diff(distance) <= 0).any():
        raise TrackError("reference_line: must have at least 8 points, rising from distance 0")
    line = Line(distance, lat, lon, altitude, file.length)
    x, y = line.plane.xy(lat, lon)
    drawn = float(np.hypot(np.diff(x, append=x[0]), np.diff(y, append=y[0])).sum())
    if abs(drawn - file.length) > LENGTH_SHARE * file.length:
        raise TrackError(f"reference_line: {drawn:.0f} m long, not {file.length:.0f}")
    return line


def _profile(file: _File) -> Profile | None:
    points = file.value("elevation_profile", HEIGHTS)
    if not points:
        return None
    distance = np.array([point.distance for point in points])
    if distance[-1] > file.length * (1 + LENGTH_SHARE) or (np.diff(distance) <= 0).any():
        raise TrackError("elevation_profile: distances must rise, at most to the lap length")
    return Profile(distance, np.array([point.altitude for point in points]))


def _corners(file: _File) -> tuple[list[Corner], list[Marker]]:
    """Read the corners, by number, and the markers defined inside them."""
    length, names = file.length, set[str]()
    inner: list[Marker] = []

    def judge(place: str, corner: Corner) -> Corner:
        entry, apex, leave = (
            replace(spot, distance_m=spot.distance_m % length)
            for spot in (corner.entry, corner.apex, corner.exit)
        )
        window = (leave.distance_m - entry.distance_m) % length
        # A window of more than half the lap is one whose ends are in the wrong order.
        if not (apex.distance_m - entry.distance_m) % length <= window <= length / 2 or not window:
            raise TrackError(f"{place}.apex: entry, apex and exit are out of order")
        if corner.name in names:
            raise TrackError(f"{place}.name: two corners have this name")
        names.add(corner.name)
        corner = replace(corner, entry=entry, apex=apex, exit=leave)
        own = file.read_list(f"{place}.markers", MARKER)
        inner.extend(replace(marker, corner=marker.corner or corner.name) for marker in own)
        return replace(corner, markers=tuple(marker.id for marker in own)) if own else corner

    items = file.body.get("corners")
    for i, item in enumerate(items if isinstance(items, list) else ()):
        if not isinstance(item, dict):
            continue
        for name in ("entry", "apex", "exit"):
            if item.get(name) is None and f"{name}_distance" in item:  # the flat form
                item[name] = {"distance": item[f"{name}_distance"]}
        markers = item.get("markers")
        if isinstance(markers, list) and not all(isinstance(marker, str) for marker in markers):
            file.body[f"corners[{i}].markers"] = item.pop("markers")
    return sorted(file.read_list("corners", CORNER, judge), key=lambda corner: corner.number), inner


def _sectors(file: _File) -> tuple[Sector, ...]:
    sectors = file.value("sectors", SECTORS)
    if not sectors:
        return ()
    bounds = [0.0, *(sector.end_m for sector in sectors)]
    starts = [*(sector.start_m for sector in sectors), file.length]
    apart = max(abs(a - b) for a, b in zip(bounds, starts, strict=True))
    if len(sectors) != 3 or apart > TOUCH_M or sorted(set(bounds)) != bounds:
        raise TrackError("sectors: must be three, adjoining, from 0 to the lap length")
    bounds[-1] = file.length
    return tuple(
        replace(sector, start_m=a, end_m=b)
        for sector, a, b in zip(sectors, bounds[:-1], bounds[1:], strict=True)
    )


def _phase(place: str, phase: WeatherPhase) -> WeatherPhase:
    if phase.start_hour >= phase.end_hour:
        raise TrackError(f"{place}.end_hour: must be after start_hour")
    return phase


def _place_markers(
    outer: Sequence[Marker], inner: Sequence[Marker], length: float, line: Line | None
) -> tuple[Marker, ...]:
    """Sort the markers by distance, and add positions if there is a line."""
    ids = {marker.id for marker in outer}
    markers = [*outer, *(marker for marker in inner if marker.id not in ids)]
    for i, marker in enumerate(markers):
        markers[i] = marker = replace(marker, distance_m=marker.distance_m % length)
        if line is not None and (marker.lat is None or marker.lon is None):
            lat, lon = line.place(marker.distance_m)
            markers[i] = replace(marker, lat=lat, lon=lon)
    return tuple(sorted(markers, key=lambda marker: (marker.distance_m, marker.id)))
