"""Reads and writes the file of a circuit; what is wrong in it is left out and said.

How each value stands in the file is written beside its field in `track.model`.
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
"""Ends of sectors closer than this are one."""
Altitude = Annotated[float, Number(-1000, 10_000, digits=2)]
Distance = Annotated[float, Number(0, LONGEST_M, digits=2)]
_WORDS: Final = {
    "missing": "is missing",
    "dataclass_type": "not an object",
    "dict_type": "not an object",
    "list_type": "a list is needed",
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


def json_object(text: str) -> dict[str, Any]:
    """The object that a JSON text holds; raises `TrackError` with line and column."""
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
        raise TrackError("the file holds no JSON object")
    return body


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def read_file(path: Path, parse: Callable[[str], T]) -> T:
    """What *parse* makes of the text of a file; raises `TrackError`, which names the file."""
    try:
        if not path.is_file():
            raise TrackError("there is no such file")
        if path.stat().st_size > LARGEST_TEXT:
            raise TrackError("the file is larger than 16 MiB")
        return parse(path.read_text(encoding="utf-8-sig"))
    except (TrackError, UnicodeDecodeError) as error:
        raise TrackError(f"{path.name}: {error}") from None
    except OSError as error:
        raise TrackError(f"{path.name}: {error.strerror}") from None


def read_folder(folder: Path, read: Callable[[Path], T]) -> tuple[dict[str, T], dict[str, str]]:
    """What *read* makes of each JSON file, by its stem, and why others cannot be read."""
    readable: dict[str, T] = {}
    unreadable: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            readable[path.stem] = read(path)
        except TrackError as error:
            unreadable[path.stem] = str(error)
    return readable, unreadable


def write_file(path: Path, text: str, *, force: bool) -> None:
    """Write a new file, or, where *force* allows it, in one step over an old one.

    Raises `TrackError` and `OSError`.
    """
    if not force:
        try:
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
        except FileExistsError:
            raise TrackError("is there already; --force writes over it") from None
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}.next")
    try:
        beside.write_text(text, encoding="utf-8", newline="\n")
        move_into_place(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def fault_of(error: ValidationError, place: str = "") -> str:
    """The first fault, at its place in the file."""
    first = error.errors()[0]
    for part in first["loc"]:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else part
    cause = first.get("ctx", {}).get("error")
    return f"{place}: {cause or _WORDS.get(first['type'], first['msg'])}"


def track_text(track: Track) -> str:
    """JSON that reads back as the same circuit: a line for each point, corner and marker.

    Distances are rounded to centimetres, places to a centimetre's worth of degrees.
    """
    start, line, profile = track.start, track.line, track.elevation
    columns = (line.distance, line.lat, line.lon, line.altitude) if line else ()
    body = {
        "name": track.name,
        "generated_from": track.generated_from,
        "track_length_m": round(track.length_m, 2),
        "half_width_m": track.half_width_m,
        "start_finish": _dumped(START, _Start(start.lat, start.lon, start.heading)),
        "sectors": _dumped(SECTORS, list(track.sectors)),
        "corners": [_dumped(CORNER, corner) for corner in track.corners],
        "straights": [_dumped(STRAIGHT, straight) for straight in track.straights],
        "danger_zones": [_dumped(ZONE, zone) for zone in track.danger_zones],
        "weather_phases": [_dumped(PHASE, phase) for phase in track.weather_phases],
        "markers": [_dumped(MARKER, marker) for marker in track.markers],
        "elevation_profile": _dumped(HEIGHTS, [_Height(*row) for row in _rows(*(profile or ()))]),
        "reference_line": _dumped(POINTS, [_Point(*row) for row in _rows(*columns)]),
    }
    lines = [f'"{key}": {_laid_out(value)}' for key, value in body.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _dumped(adapter: TypeAdapter[T], value: T) -> object:
    """A record as the file has it, without what is not known."""
    return adapter.dump_python(value, by_alias=True, exclude_defaults=True)


def _rows(*columns: Numbers) -> list[list[Any]]:
    """The rows of columns; None for NaN."""
    return [
        [None if value != value else value for value in row]
        for row in zip(*(column.tolist() for column in columns), strict=True)
    ]


def _laid_out(value: object) -> str:
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(_compact(item) for item in value) + "\n]"
    return _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


class _File:
    """The object of a file, and what had to be left out of it."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.length = 0.0
        self.complaints: list[str] = []

    def value(self, name: str, adapter: TypeAdapter[T]) -> T:
        """A field of the object; raises `TrackError`."""
        return self.read(name, adapter, self.body.get(name))

    def read(self, place: str, adapter: TypeAdapter[T], value: object) -> T:
        """What stands at a place of the file; raises `TrackError`."""
        try:
            return adapter.validate_python(value, context={"length": self.length})
        except ValidationError as error:
            raise TrackError(fault_of(error, place)) from None

    def attempt(self, read: Callable[[], T | None]) -> T | None:
        """What *read* gives, or None and a complaint."""
        try:
            return read()
        except TrackError as error:
            self.complaints.append(str(error))
            return None

    def each(
        self,
        name: str,
        adapter: TypeAdapter[T],
        judge: Callable[[str, T], T] = lambda _, record: record,
    ) -> list[T]:
        """The records of a list; what cannot be read is left out and said.

        *judge* gets a record with its place and gives it back; it raises `TrackError`.
        """
        items = self.body.get(name)
        if items is not None and not isinstance(items, list):
            self.complaints.append(f"{name}: a list is needed")
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
    """The circuit of a file, and a doubt for each part of it that had to be left out.

    Raises `TrackError`, which names the place, for what is no JSON object or lacks a length or
    a start.
    """
    file = _File(json_object(text))
    length = file.length = file.value("track_length_m", LENGTH)
    line = file.attempt(lambda: _line(file))
    corners, inner = _corners(file)
    names = [corner.name for corner in corners]

    def judge(place: str, marker: Marker) -> Marker:
        if marker.corner is not None and marker.corner not in names:
            raise TrackError(f"{place}.corner: there is no such corner")
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
        straights=tuple(file.each("straights", STRAIGHT)),
        danger_zones=tuple(file.each("danger_zones", ZONE)),
        weather_phases=tuple(file.each("weather_phases", PHASE, _phase)),
        elevation=file.attempt(lambda: _profile(file)),
        markers=_place_markers(file.each("markers", MARKER, judge), inner, length, line),
    )
    return track, tuple(ReadWarning("track_element", complaint) for complaint in file.complaints)


def _start(file: _File, line: Line | None) -> Gate:
    try:
        start = file.value("start_finish", START)
        return Gate(start.lat, start.lon, start.heading % 360.0)
    except TrackError as error:
        if line is None:
            raise
        file.complaints.append(f"{error}; the start of the reference line is taken")
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
        raise TrackError("reference_line: 8 points at least are needed, rising from distance 0")
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
        raise TrackError("elevation_profile: its distances must rise, to the length at most")
    return Profile(distance, np.array([point.altitude for point in points]))


def _corners(file: _File) -> tuple[list[Corner], list[Marker]]:
    """The corners by number, and the markers that stand in them whole."""
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
            raise TrackError(f"{place}.apex: entry, apex and exit do not follow each other")
        if corner.name in names:
            raise TrackError(f"{place}.name: two corners have it")
        names.add(corner.name)
        corner = replace(corner, entry=entry, apex=apex, exit=leave)
        own = file.each(f"{place}.markers", MARKER)
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
        if isinstance(markers, list) and not all(isinstance(one, str) for one in markers):
            file.body[f"corners[{i}].markers"] = item.pop("markers")
    return sorted(file.each("corners", CORNER, judge), key=lambda corner: corner.number), inner


def _sectors(file: _File) -> tuple[Sector, ...]:
    sectors = file.value("sectors", SECTORS)
    if not sectors:
        return ()
    bounds = [0.0, *(sector.end_m for sector in sectors)]
    starts = [*(sector.start_m for sector in sectors), file.length]
    apart = max(abs(a - b) for a, b in zip(bounds, starts, strict=True))
    if len(sectors) != 3 or apart > TOUCH_M or sorted(set(bounds)) != bounds:
        raise TrackError("sectors: three are needed that follow each other from 0 to the length")
    bounds[-1] = file.length
    return tuple(
        replace(sector, start_m=a, end_m=b)
        for sector, a, b in zip(sectors, bounds[:-1], bounds[1:], strict=True)
    )


def _phase(place: str, phase: WeatherPhase) -> WeatherPhase:
    if phase.start_hour >= phase.end_hour:
        raise TrackError(f"{place}.end_hour: it must be after start_hour")
    return phase


def _place_markers(
    outer: Sequence[Marker], inner: Sequence[Marker], length: float, line: Line | None
) -> tuple[Marker, ...]:
    """The markers by distance, each with a position where there is a line."""
    ids = {marker.id for marker in outer}
    markers = [*outer, *(marker for marker in inner if marker.id not in ids)]
    for i, marker in enumerate(markers):
        markers[i] = marker = replace(marker, distance_m=marker.distance_m % length)
        if line is not None and (marker.lat is None or marker.lon is None):
            lat, lon = line.place(marker.distance_m)
            markers[i] = replace(marker, lat=lat, lon=lon)
    return tuple(sorted(markers, key=lambda marker: (marker.distance_m, marker.id)))
