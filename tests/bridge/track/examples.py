"""A small circuit file, for the tests of reading."""

import json
import math
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[3]
DATA: Final = ROOT / "data" / "tracks"
REAL: Final = ROOT.parent / "shared" / "data"
"""Recordings and centre lines of others, where they lie beside the project."""

LENGTH: Final = 1000.0


def circuit(**changes: Any) -> dict[str, Any]:
    """A circle of 1000 m with a corner that straddles start/finish; *changes* replace fields."""
    radius = LENGTH / (2 * math.pi)
    line = []
    for i in range(200):
        angle = 2 * math.pi * i / 200
        lat = 46.0 + radius * math.cos(angle) / 111_320
        lon = 7.0 + radius * math.sin(angle) / 111_320 / math.cos(math.radians(46))
        line.append({"distance": i * 5.0, "lat": lat, "lon": lon, "altitude": 100 + i / 10})
    start = {"lat": line[0]["lat"], "lon": line[0]["lon"], "heading": 90.0}
    body: dict[str, Any] = {
        "name": "Round Thing",
        "track_length_m": LENGTH,
        "start_finish": start,
        "reference_line": line,
        "corners": [corner("Turn 1", 1, 950, 10, 60), corner("Turn 2", 2, 400, 500, 600)],
        "sectors": sectors(0, 300, 700, 1000),
        "straights": [{"name": "Back", "start_m": 100, "end_m": 390}],
        "danger_zones": [
            {"id": "z", "start_m": 5, "end_m": 9, "description": "wall", "severity": "high"}
        ],
        "weather_phases": [
            {
                "id": "noon",
                "start_hour": 11,
                "end_hour": 14,
                "surface_state": "dry",
                "coaching_note": "",
            }
        ],
        "elevation_profile": [{"distance": d * 100.0, "altitude": 50.0 + d} for d in range(11)],
        "markers": [
            marker("m2", "apex_ref", 500, corner="Turn 2"),
            marker("m1", "brake_ref", 350, corner="Turn 2"),
            marker("m3", "visual", 700),
        ],
    }
    return {**body, **changes}


def corner(
    name: str, number: int, entry: float, apex: float, leave: float, **more: Any
) -> dict[str, Any]:
    """A corner of three distances."""
    return {
        "name": name,
        "number": number,
        "direction": "right",
        "severity": 3,
        "entry": {"distance": entry},
        "apex": {"distance": apex},
        "exit": {"distance": leave},
        **more,
    }


def sectors(*bounds: float) -> list[dict[str, Any]]:
    """Sectors between the bounds."""
    return [
        {"name": f"S{i + 1}", "start_distance": bounds[i], "end_distance": bounds[i + 1]}
        for i in range(len(bounds) - 1)
    ]


def marker(key: str, kind: str, distance: float, **more: Any) -> dict[str, Any]:
    """A marker."""
    return {"id": key, "kind": kind, "label": key.upper(), "distance": distance, **more}


def text(**changes: Any) -> str:
    """The circuit as the text of a file."""
    return json.dumps(circuit(**changes))
