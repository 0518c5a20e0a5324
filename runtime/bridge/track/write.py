"""Writes a circuit as the text of its file."""

import json
import math

from runtime.bridge.session.values import Numbers
from runtime.bridge.track.model import Corner, Marker, Spot, Track

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
        "corners": [_corner(corner) for corner in track.corners],
        "straights": [
            {"name": s.name, "start_m": round(s.start_m, 2), "end_m": round(s.end_m, 2)}
            for s in track.straights
        ],
        "danger_zones": [zone._asdict() for zone in track.danger_zones],
        "weather_phases": [phase._asdict() for phase in track.weather_phases],
        "markers": [_marker(marker) for marker in track.markers],
        "elevation_profile": _heights(track),
        "reference_line": _line(track),
    }


def _known(values: Json) -> Json:
    return {key: value for key, value in values.items() if value not in (None, "", [])}


def _spot(spot: Spot) -> Json:
    return _known(
        {
            "distance": round(spot.distance_m, 2),
            "lat": None if spot.lat is None else round(spot.lat, 7),
            "lon": None if spot.lon is None else round(spot.lon, 7),
        }
    )


def _corner(corner: Corner) -> Json:
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
            "entry": _spot(corner.entry),
            "apex": _spot(corner.apex),
            "exit": _spot(corner.exit),
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


def _marker(marker: Marker) -> Json:
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


def _line(track: Track) -> list[Json]:
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
