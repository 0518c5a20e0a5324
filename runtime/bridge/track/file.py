"""Reads and writes the file of a circuit; what is wrong in it is left out and said.

How each value stands in the file is written beside its field in `track.model`.
"""

import json
import types
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from runtime.bridge.session.geometry import Line
from runtime.bridge.session.recording import Doubt, Gate, Numbers
from runtime.bridge.track.fields import FieldError, Fields, json_object
from runtime.bridge.track.model import (
    HALF_WIDTH_M,
    LATITUDE,
    LONGEST_M,
    LONGITUDE,
    Corner,
    DangerZone,
    Marker,
    Profile,
    Sector,
    Stored,
    Straight,
    Track,
    TrackError,
    WeatherPhase,
)

T = TypeVar("T")
R = TypeVar("R", bound=tuple[Any, ...])
Json = dict[str, object]

SHORTEST_M: Final = 50.0
LENGTH_SHARE: Final = 0.02
TOUCH_M: Final = 0.5
"""Ends of sectors closer than this are one."""
HEADING: Final = Stored(low=-360, high=360, digits=2)
ALTITUDE: Final = Stored(low=-1000, high=10_000, digits=2)
START: Final = {"lat": LATITUDE, "lon": LONGITUDE, "heading": HEADING}
LINE: Final = {
    "distance": Stored(low=0, high=LONGEST_M, digits=2),
    "lat": LATITUDE,
    "lon": LONGITUDE,
    "altitude": ALTITUDE,
}
PROFILE: Final = {"distance": LINE["distance"], "altitude": ALTITUDE}


class _Field(NamedTuple):
    """One field of a record, and how it stands in the file."""

    name: str
    kind: Any
    """The type of its value; None is left out of it."""
    stored: Stored
    required: bool

    @property
    def key(self) -> str:
        return self.stored.key or self.name


@cache
def _fields(record: Any) -> tuple[_Field, ...]:
    fields = []
    for name, hint in get_type_hints(record, include_extras=True).items():
        marks = [mark for mark in getattr(hint, "__metadata__", ()) if isinstance(mark, Stored)]
        kind = get_args(hint)[0] if marks else hint
        if get_origin(kind) in (Union, types.UnionType):
            kind = next(part for part in get_args(kind) if part is not type(None))
        stored = marks[0] if marks else Stored()
        fields.append(_Field(name, kind, stored, name not in record._field_defaults))
    return tuple(fields)


def _read(record: type[R], item: Fields, length: float) -> R:
    """A record of the file; raises `FieldError`."""
    values = {}
    for field in _fields(record):
        if field.required or field.key in item:
            value = _value(field, item, length)
            if field.required or value != "":
                values[field.name] = value
    return record(**values)


def _value(field: _Field, item: Fields, length: float) -> object:
    key, kind, stored = field.key, field.kind, field.stored
    if stored.choices:
        return item.one_of(key, *stored.choices)
    if kind is str:
        return item.text(key) if field.required else item.text(key, "")
    if get_origin(kind) is tuple:
        return item.texts(key)
    if kind is int:
        return item.integer(key, int(stored.low), int(stored.high))
    if stored.of_lap:
        return item.number(key, 0, length)
    if kind is float:
        return item.number(key, stored.low, stored.high)
    return _read(kind, item.fields(key), length)


def _record(value: Any) -> Json:
    """A record as the file has it, without what is not known."""
    record: Json = {}
    for field in _fields(value.__class__):
        content = getattr(value, field.name)
        if content is None or content in ("", ()):
            continue
        if field.kind is float:
            content = _rounded(content, field.stored)
        elif hasattr(content, "_fields"):
            content = _record(content)
        elif isinstance(content, tuple):
            content = list(content)
        record[field.key] = content
    return record


def _rounded(value: float, stored: Stored) -> float:
    return value if stored.digits is None else round(value, stored.digits) + 0.0


def track_text(track: Track) -> str:
    """JSON that reads back as the same circuit: a line for each point, corner and marker.

    Distances are rounded to centimetres, places to a centimetre's worth of degrees.
    """
    start, line = track.start, track.line
    body = {
        "name": track.name,
        "generated_from": track.generated_from,
        "track_length_m": round(track.length_m, 2),
        "half_width_m": track.half_width_m,
        "start_finish": {key: _rounded(getattr(start, key), mark) for key, mark in START.items()},
        "sectors": list(map(_record, track.sectors)),
        "corners": list(map(_record, track.corners)),
        "straights": list(map(_record, track.straights)),
        "danger_zones": list(map(_record, track.danger_zones)),
        "weather_phases": list(map(_record, track.weather_phases)),
        "markers": list(map(_record, track.markers)),
        "elevation_profile": _points(PROFILE, track.elevation) if track.elevation else [],
        "reference_line": _points(LINE, (line.distance, line.lat, line.lon, line.altitude))
        if line
        else [],
    }
    lines = [f'"{key}": {_laid_out(value)}' for key, value in body.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _points(keys: Mapping[str, Stored], columns: Sequence[Numbers]) -> list[Json]:
    """Columns as an object for each row, without what is NaN."""
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [
        {
            key: _rounded(value, mark)
            for (key, mark), value in zip(keys.items(), row, strict=True)
            if value == value
        }
        for row in rows
    ]


def _laid_out(value: object) -> str:
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(_compact(item) for item in value) + "\n]"
    return _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def parse_track(text: str, track_id: str = "") -> tuple[Track, tuple[Doubt, ...]]:
    """The circuit of a file, and a doubt for each part of it that had to be left out.

    Raises `TrackError`, which names the place, for what is no JSON object or lacks a length or
    a start.
    """
    file = json_object(text)
    complaints: list[str] = []
    try:
        length = file.number("track_length_m", SHORTEST_M, LONGEST_M)
    except FieldError as error:
        raise TrackError(str(error)) from None
    line = _attempt(partial(_line, file, length), complaints)
    corners, inner = _corners(file, length, complaints)
    names = [corner.name for corner in corners]
    outer = file.build_each("markers", partial(_marker, length=length, corners=names), complaints)
    straight, zone = (
        partial(_read, Straight, length=length),
        partial(_read, DangerZone, length=length),
    )
    width = _attempt(partial(file.optional_number, "half_width_m", 1, 100), complaints)
    track = Track(
        id=track_id,
        name=_attempt(lambda: file.text("name"), complaints) or track_id or "Unnamed",
        length_m=length,
        start=_start(file, line, complaints),
        generated_from=_attempt(lambda: file.text("generated_from", ""), complaints) or "",
        half_width_m=width or HALF_WIDTH_M,
        line=line,
        corners=tuple(corners),
        sectors=_attempt(partial(_sectors, file, length), complaints) or (),
        straights=tuple(file.build_each("straights", straight, complaints)),
        danger_zones=tuple(file.build_each("danger_zones", zone, complaints)),
        weather_phases=tuple(file.build_each("weather_phases", _phase, complaints)),
        elevation=_attempt(partial(_profile, file, length), complaints),
        markers=_place_markers(outer, inner, line),
    )
    return track, tuple(Doubt("track_element", complaint) for complaint in complaints)


def _attempt(read: Callable[[], T], complaints: list[str]) -> T | None:
    """What *read* gives, or None and a complaint."""
    try:
        return read()
    except FieldError as error:
        complaints.append(str(error))
        return None


def _start(file: Fields, line: Line | None, complaints: list[str]) -> Gate:
    try:
        start = file.fields("start_finish")
        lat, lon, heading = (start.number(key, m.low, m.high) for key, m in START.items())
        return Gate(lat, lon, heading % 360.0)
    except FieldError as error:
        if line is None:
            raise TrackError(str(error)) from None
        complaints.append(f"{error}; the start of the reference line is taken")
        return Gate(float(line.lat[0]), float(line.lon[0]), line.ring.heading(0.0))


def _columns(file: Fields, name: str, keys: Mapping[str, Stored]) -> Numbers:
    """A list of objects as columns; an altitude that a point of the line lacks is NaN."""
    rows = [
        [
            np.nan
            if mark is ALTITUDE and keys is LINE and key not in item
            else item.number(key, mark.low, mark.high)
            for key, mark in keys.items()
        ]
        for item in file.objects(name)
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, len(keys)).T


def _line(file: Fields, length: float) -> Line | None:
    columns = _columns(file, "reference_line", LINE)
    if not columns.size:
        return None
    if columns.shape[1] > 1 and columns[0, -1] >= length - 1e-6:  # the start once more
        columns = columns[:, :-1]
    distance, lat, lon, altitude = columns
    if len(distance) < 8 or abs(distance[0]) > 1e-6 or (np.diff(distance) <= 0).any():
        raise file.wrong("reference_line", "8 points at least are needed, rising from distance 0")
    line = Line(distance, lat, lon, altitude, length)
    x, y = line.plane.xy(lat, lon)
    drawn = float(np.hypot(np.diff(x, append=x[0]), np.diff(y, append=y[0])).sum())
    if abs(drawn - length) > LENGTH_SHARE * length:
        raise file.wrong("reference_line", f"{drawn:.0f} m long, not {length:.0f}")
    return line


def _profile(file: Fields, length: float) -> Profile | None:
    distance, altitude = _columns(file, "elevation_profile", PROFILE)
    if not len(distance):
        return None
    if distance[-1] > length * (1 + LENGTH_SHARE) or (np.diff(distance) <= 0).any():
        raise file.wrong("elevation_profile", "its distances must rise, to the length at most")
    return Profile(distance, altitude)


def _corners(
    file: Fields, length: float, complaints: list[str]
) -> tuple[list[Corner], list[Marker]]:
    """The corners by number, and the markers that stand in them whole."""
    inner: list[Marker] = []
    names: set[str] = set()

    def build(item: Fields) -> Corner:
        values = dict(item.values)
        for name in ("entry", "apex", "exit"):
            if name not in item and f"{name}_distance" in item:  # the flat form
                values[name] = {"distance": values[f"{name}_distance"]}
        whole = not all(isinstance(marker, str) for marker in item.items("markers"))
        if whole:
            del values["markers"]
        corner = _read(Corner, Fields(values, item.place), length)
        entry, apex, leave = (
            spot._replace(distance_m=spot.distance_m % length)
            for spot in (corner.entry, corner.apex, corner.exit)
        )
        window = (leave.distance_m - entry.distance_m) % length
        # A window of more than half the lap is one whose ends are in the wrong order.
        if not (apex.distance_m - entry.distance_m) % length <= window <= length / 2 or not window:
            raise item.wrong("apex", "entry, apex and exit do not follow each other")
        if corner.name in names:
            raise item.wrong("name", "two corners have it")
        names.add(corner.name)
        corner = corner._replace(entry=entry, apex=apex, exit=leave)
        if not whole:
            return corner
        own = item.build_each("markers", partial(_marker, length=length), complaints)
        inner.extend(marker._replace(corner=marker.corner or corner.name) for marker in own)
        return corner._replace(markers=tuple(marker.id for marker in own))

    corners = file.build_each("corners", build, complaints)
    return sorted(corners, key=lambda corner: corner.number), inner


def _sectors(file: Fields, length: float) -> tuple[Sector, ...]:
    sectors = [_read(Sector, item, length) for item in file.objects("sectors")]
    if not sectors:
        return ()
    bounds = [0.0, *(sector.end_m for sector in sectors)]
    starts = [*(sector.start_m for sector in sectors), length]
    apart = max(abs(a - b) for a, b in zip(bounds, starts, strict=True))
    if len(sectors) != 3 or apart > TOUCH_M or sorted(set(bounds)) != bounds:
        raise file.wrong("sectors", "three are needed that follow each other from 0 to the length")
    bounds[-1] = length
    return tuple(
        sector._replace(start_m=a, end_m=b)
        for sector, a, b in zip(sectors, bounds[:-1], bounds[1:], strict=True)
    )


def _phase(item: Fields) -> WeatherPhase:
    phase = _read(WeatherPhase, item, 0.0)
    if phase.start_hour >= phase.end_hour:
        raise item.wrong("end_hour", "it must be after start_hour")
    return phase


def _marker(item: Fields, length: float, corners: Sequence[str] | None = None) -> Marker:
    marker = _read(Marker, item, length)
    if corners is not None and marker.corner is not None and marker.corner not in corners:
        raise item.wrong("corner", "there is no such corner")
    return marker._replace(distance_m=marker.distance_m % length)


def _place_markers(
    outer: Sequence[Marker], inner: Sequence[Marker], line: Line | None
) -> tuple[Marker, ...]:
    """The markers by distance, each with a position where there is a line."""
    ids = {marker.id for marker in outer}
    markers = [*outer, *(marker for marker in inner if marker.id not in ids)]
    for i, marker in enumerate(markers):
        if line is not None and (marker.lat is None or marker.lon is None):
            lat, lon = line.place(marker.distance_m)
            markers[i] = marker._replace(lat=lat, lon=lon)
    return tuple(sorted(markers, key=lambda marker: (marker.distance_m, marker.id)))
