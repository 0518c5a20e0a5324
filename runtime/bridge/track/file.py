"""Reads and writes the file of a circuit; what is wrong in it is left out and said."""

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import numpy as np

from runtime.bridge.session.geometry import Line
from runtime.bridge.session.recording import Doubt, Gate, Numbers
from runtime.bridge.track.fields import Fields, Wrong, json_object
from runtime.bridge.track.model import (
    DANGERS,
    DIRECTIONS,
    HALF_WIDTH_M,
    MARKER_KINDS,
    BrakePoint,
    Corner,
    DangerZone,
    Marker,
    Profile,
    Sector,
    Speeds,
    Spot,
    Straight,
    Track,
    TrackError,
    WeatherPhase,
)

T = TypeVar("T")

LONGEST_M: Final = 100_000.0
SHORTEST_M: Final = 50.0
LENGTH_SHARE: Final = 0.02
TOUCH_M: Final = 0.5
"""Ends of sectors closer than this are one."""


def parse_track(text: str, track_id: str = "") -> tuple[Track, tuple[Doubt, ...]]:
    """The circuit of a file, and a doubt for each part of it that had to be left out.

    Raises `TrackError`, which names the place, for what is no JSON object or lacks a length or
    a start.
    """
    file = json_object(text)
    complaints: list[str] = []
    try:
        length = file.number("track_length_m", SHORTEST_M, LONGEST_M)
    except Wrong as wrong:
        raise TrackError(str(wrong)) from None
    line = _kept(partial(_line, file, length), complaints)
    corners, inner = _corners(file, length, complaints)
    markers = _markers(file, length, line, [corner.name for corner in corners], inner, complaints)
    track = Track(
        id=track_id,
        name=_kept(lambda: file.text("name"), complaints) or track_id or "Unnamed",
        length_m=length,
        start=_start(file, line, complaints),
        generated_from=_kept(lambda: file.text("generated_from", ""), complaints) or "",
        half_width_m=_half_width(file, complaints),
        line=line,
        corners=tuple(corners),
        sectors=_kept(partial(_sectors, file, length), complaints) or (),
        straights=tuple(file.built("straights", partial(_straight, length=length), complaints)),
        danger_zones=tuple(file.built("danger_zones", partial(_danger, length=length), complaints)),
        weather_phases=tuple(file.built("weather_phases", _phase, complaints)),
        elevation=_kept(partial(_profile, file, length), complaints),
        markers=tuple(markers),
    )
    return track, tuple(Doubt("track_element", complaint) for complaint in complaints)


def _kept(read: Callable[[], T], complaints: list[str]) -> T | None:
    """What *read* gives, or None and a complaint."""
    try:
        return read()
    except Wrong as wrong:
        complaints.append(str(wrong))
        return None


def _half_width(file: Fields, complaints: list[str]) -> float:
    if "half_width_m" not in file:
        return HALF_WIDTH_M
    return _kept(partial(file.number, "half_width_m", 1, 100), complaints) or HALF_WIDTH_M


def _start(file: Fields, line: Line | None, complaints: list[str]) -> Gate:
    try:
        start = file.fields("start_finish")
        lat, lon = start.number("lat", -90, 90), start.number("lon", -180, 180)
        return Gate(lat, lon, start.number("heading", -360, 360) % 360.0)
    except Wrong as wrong:
        if line is None:
            raise TrackError(str(wrong)) from None
        complaints.append(f"{wrong}; the start of the reference line is taken")
        return Gate(float(line.lat[0]), float(line.lon[0]), line.ring.heading(0.0))


def _line(file: Fields, length: float) -> Line | None:
    points = [_point(item) for item in file.each("reference_line")]
    if not points:
        return None
    distance, lat, lon, altitude = np.array(points, dtype=np.float64).T
    if len(points) > 1 and distance[-1] >= length - 1e-6:  # the start once more
        distance, lat, lon, altitude = distance[:-1], lat[:-1], lon[:-1], altitude[:-1]
    if len(distance) < 8 or abs(distance[0]) > 1e-6 or (np.diff(distance) <= 0).any():
        raise file.wrong("reference_line", "8 points at least are needed, rising from distance 0")
    line = Line(distance, lat, lon, altitude, length)
    x, y = line.plane.xy(lat, lon)
    drawn = float(np.hypot(np.diff(x, append=x[0]), np.diff(y, append=y[0])).sum())
    if abs(drawn - length) > LENGTH_SHARE * length:
        raise file.wrong("reference_line", f"{drawn:.0f} m long, not {length:.0f}")
    return line


def _point(item: Fields | Wrong) -> tuple[float, float, float, float]:
    if isinstance(item, Wrong):
        raise item
    altitude = item.maybe("altitude", -1000, 10_000)
    return (
        item.number("distance", 0, LONGEST_M),
        item.number("lat", -90, 90),
        item.number("lon", -180, 180),
        np.nan if altitude is None else altitude,
    )


def _corners(
    file: Fields, length: float, complaints: list[str]
) -> tuple[list[Corner], list[Marker]]:
    inner: list[Marker] = []
    corners: list[Corner] = []
    names: set[str] = set()

    def build(item: Fields) -> Corner:
        corner = _corner(item, length)
        if corner.name in names:
            raise item.wrong("name", "two corners have it")
        names.add(corner.name)
        if all(isinstance(marker, str) for marker in item.items("markers")):
            return corner._replace(markers=item.texts("markers"))
        found = item.built("markers", partial(_marker, length=length), complaints)
        inner.extend(marker._replace(corner=marker.corner or corner.name) for marker in found)
        return corner._replace(markers=tuple(marker.id for marker in found))

    corners = file.built("corners", build, complaints)
    return sorted(corners, key=lambda corner: corner.number), inner


def _corner(item: Fields, length: float) -> Corner:
    entry, apex, leave = (_spot(item, name, length) for name in ("entry", "apex", "exit"))
    window = (leave.distance_m - entry.distance_m) % length
    # A window of more than half the lap is one whose ends are in the wrong order.
    if not (apex.distance_m - entry.distance_m) % length <= window <= length / 2 or not window:
        raise item.wrong("apex", "entry, apex and exit do not follow each other")
    return Corner(
        name=item.text("name"),
        number=item.whole("number", 0, 999),
        direction=item.one_of("direction", *DIRECTIONS),
        severity=item.whole("severity", 1, 6),
        entry=entry,
        apex=apex,
        exit=leave,
        curvature_peak=item.maybe("curvature_peak"),
        speeds=_speeds(item),
        brake=_brake(item),
        elevation_change_m=item.maybe("elevation_change_m", -1000, 1000),
        nicknames=item.texts("nicknames"),
        coaching_tip=item.text("coaching_tip", ""),
        leverage=item.maybe("leverage", 0, 1),
    )


def _speeds(item: Fields) -> Speeds | None:
    if "typical_speed_ms" not in item:
        return None
    speeds = item.fields("typical_speed_ms")
    return Speeds(*(speeds.number(name, 0, 150) for name in Speeds._fields))


def _brake(item: Fields) -> BrakePoint | None:
    if "typical_brake_point" not in item:
        return None
    brake = item.fields("typical_brake_point")
    before = brake.number("distance_before_entry", -1000, 1000)
    return BrakePoint(before, brake.number("pressure_bar", 0, 300))


def _spot(item: Fields, name: str, length: float) -> Spot:
    if name not in item:  # the flat form
        return Spot(item.number(f"{name}_distance", 0, length) % length)
    place = item.fields(name)
    distance = place.number("distance", 0, length) % length
    return Spot(distance, place.maybe("lat", -90, 90), place.maybe("lon", -180, 180))


def _sectors(file: Fields, length: float) -> tuple[Sector, ...]:
    found: list[Sector] = []
    for item in file.each("sectors"):
        if isinstance(item, Wrong):
            raise item
        start, end = item.number("start_distance", 0, length), item.number("end_distance")
        found.append(Sector(item.text("name"), start, end))
    if not found:
        return ()
    bounds = [0.0, *(sector.end_m for sector in found)]
    starts = [*(sector.start_m for sector in found), length]
    apart = max(abs(a - b) for a, b in zip(bounds, starts, strict=True))
    if len(found) != 3 or apart > TOUCH_M or sorted(set(bounds)) != bounds:
        raise file.wrong("sectors", "three are needed that follow each other from 0 to the length")
    bounds[-1] = length
    return tuple(
        sector._replace(start_m=a, end_m=b)
        for sector, a, b in zip(found, bounds[:-1], bounds[1:], strict=True)
    )


def _straight(item: Fields, length: float) -> Straight:
    start, end = item.number("start_m", 0, length), item.number("end_m", 0, length)
    return Straight(item.text("name"), start, end)


def _danger(item: Fields, length: float) -> DangerZone:
    severity = item.one_of("severity", *DANGERS)
    start, end = item.number("start_m", 0, length), item.number("end_m", 0, length)
    return DangerZone(item.text("id"), start, end, item.text("description"), severity)


def _phase(item: Fields) -> WeatherPhase:
    start, end = item.whole("start_hour", 0, 23), item.whole("end_hour", 1, 24)
    if start >= end:
        raise item.wrong("end_hour", "it must be after start_hour")
    state, note = item.text("surface_state"), item.text("coaching_note", "")
    return WeatherPhase(item.text("id"), start, end, state, note)


def _profile(file: Fields, length: float) -> Profile | None:
    distance: list[float] = []
    altitude: list[float] = []
    for item in file.each("elevation_profile"):
        if isinstance(item, Wrong):
            raise item
        distance.append(item.number("distance", 0, length * (1 + LENGTH_SHARE)))
        altitude.append(item.number("altitude", -1000, 10_000))
    if not distance:
        return None
    if (np.diff(distance) <= 0).any():
        raise file.wrong("elevation_profile", "its distances must rise")
    return Profile(np.array(distance), np.array(altitude))


def _markers(
    file: Fields,
    length: float,
    line: Line | None,
    corners: list[str],
    inner: list[Marker],
    complaints: list[str],
) -> list[Marker]:
    found = file.built("markers", partial(_marker, length=length, corners=corners), complaints)
    known = {marker.id for marker in found}
    found += [marker for marker in inner if marker.id not in known]
    placed = []
    for marker in found:
        if line is not None and (marker.lat is None or marker.lon is None):
            lat, lon = line.place(marker.distance_m)
            marker = marker._replace(lat=lat, lon=lon)
        placed.append(marker)
    return sorted(placed, key=lambda marker: (marker.distance_m, marker.id))


def _marker(item: Fields, length: float, corners: list[str] | None = None) -> Marker:
    corner = item.text("corner", "") or None
    if corners is not None and corner is not None and corner not in corners:
        raise item.wrong("corner", "there is no such corner")
    return Marker(
        id=item.text("id"),
        kind=item.one_of("kind", *MARKER_KINDS),
        label=item.text("label"),
        distance_m=item.number("distance", 0, length) % length,
        corner=corner,
        source=item.text("source", ""),
        note=item.text("note", ""),
        lat=item.maybe("lat", -90, 90),
        lon=item.maybe("lon", -180, 180),
        at_offset_m_from_entry=item.maybe("at_offset_m_from_entry", -LONGEST_M, LONGEST_M),
    )


Json = dict[str, object]


def track_text(track: Track) -> str:
    """JSON that reads back as the same circuit: a line for each point, corner and marker.

    Distances are rounded to centimetres, places to a centimetre's worth of degrees.
    """
    lines = [f'"{key}": {_laid_out(value)}' for key, value in _body(track).items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _laid_out(value: object) -> str:
    if isinstance(value, list) and value:
        return "[\n  " + ",\n  ".join(_compact(item) for item in value) + "\n]"
    return _compact(value)


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _body(track: Track) -> Json:
    start = track.start
    return {
        "name": track.name,
        "generated_from": track.generated_from,
        "track_length_m": round(track.length_m, 2),
        "half_width_m": track.half_width_m,
        "start_finish": {
            "lat": round(start.lat, 7),
            "lon": round(start.lon, 7),
            "heading": round(start.heading, 2),
        },
        "sectors": [
            {
                "name": s.name,
                "start_distance": round(s.start_m, 2),
                "end_distance": round(s.end_m, 2),
            }
            for s in track.sectors
        ],
        "corners": [_corner_json(corner) for corner in track.corners],
        "straights": [
            {"name": s.name, "start_m": round(s.start_m, 2), "end_m": round(s.end_m, 2)}
            for s in track.straights
        ],
        "danger_zones": [zone._asdict() for zone in track.danger_zones],
        "weather_phases": [phase._asdict() for phase in track.weather_phases],
        "markers": [_marker_json(marker) for marker in track.markers],
        "elevation_profile": _heights(track),
        "reference_line": _line_json(track),
    }


def _known(values: Json) -> Json:
    return {key: value for key, value in values.items() if value not in (None, "", [])}


def _spot_json(spot: Spot) -> Json:
    return _known(
        {
            "distance": round(spot.distance_m, 2),
            "lat": None if spot.lat is None else round(spot.lat, 7),
            "lon": None if spot.lon is None else round(spot.lon, 7),
        }
    )


def _corner_json(corner: Corner) -> Json:
    speeds, brake = corner.speeds, corner.brake
    point = brake and {
        "distance_before_entry": round(brake.before_entry_m, 1),
        "pressure_bar": round(brake.pressure_bar, 1),
    }
    return _known(
        {
            "name": corner.name,
            "number": corner.number,
            "direction": corner.direction,
            "severity": corner.severity,
            "entry": _spot_json(corner.entry),
            "apex": _spot_json(corner.apex),
            "exit": _spot_json(corner.exit),
            "curvature_peak": _rounded(corner.curvature_peak, 3),
            "typical_speed_ms": speeds and {k: round(v, 1) for k, v in speeds._asdict().items()},
            "typical_brake_point": point,
            "elevation_change_m": _rounded(corner.elevation_change_m, 1),
            "leverage": _rounded(corner.leverage, 3),
            "nicknames": list(corner.nicknames),
            "coaching_tip": corner.coaching_tip,
            "markers": list(corner.markers),
        }
    )


def _marker_json(marker: Marker) -> Json:
    return _known(
        {
            "id": marker.id,
            "kind": marker.kind,
            "label": marker.label,
            "distance": round(marker.distance_m, 1),
            "corner": marker.corner,
            "source": marker.source,
            "note": marker.note,
            "lat": _rounded(marker.lat, 7),
            "lon": _rounded(marker.lon, 7),
            "at_offset_m_from_entry": _rounded(marker.at_offset_m_from_entry, 1),
        }
    )


def _rounded(value: float | None, places: int) -> float | None:
    return None if value is None else round(value, places) + 0.0


def _heights(track: Track) -> list[Json]:
    if track.elevation is None:
        return []
    rows = zip(*(_column(values) for values in track.elevation), strict=True)
    return [{"distance": round(d, 2), "altitude": round(a, 2)} for d, a in rows]


def _line_json(track: Track) -> list[Json]:
    line = track.line
    if line is None:
        return []
    columns = (line.distance, line.lat, line.lon, line.altitude)
    points = []
    for distance, lat, lon, altitude in zip(*map(_column, columns), strict=True):
        point: Json = {"distance": round(distance, 2), "lat": round(lat, 7), "lon": round(lon, 7)}
        if not math.isnan(altitude):
            point["altitude"] = round(altitude, 2)
        points.append(point)
    return points


def _column(values: Numbers) -> list[float]:
    listed: list[float] = values.tolist()
    return listed
