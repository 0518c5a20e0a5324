"""Writes drives as files, in the words of two loggers."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np

from tests.bridge.truth.circuits import Numbers
from tests.bridge.truth.drives import Drive

_VBO_HEAD: Final = """File created on {when}

[header]
satellites
time
latitude
longitude
velocity kmh
heading
{extra}
[comments]
Written by a test

[column names]
sats time lat long velocity heading {names}

[data]
"""
_RACECHRONO_HEAD: Final = """This file is created using RaceChrono Pro v9.1.3.
Format,3
Session title,"A day"
Session type,Lap timing
Track name,
Driver name,
Created,{when}
Note,

timestamp,fragment_id,lap_number,latitude,longitude,satellites,speed,speed
unix time,,,deg,deg,sats,m/s,m/s
,,,100: gps,100: gps,100: gps,100: gps,200: obd
"""


def write_vbo(path: Path, made: Drive, more: Mapping[str, Numbers] | None = None) -> None:
    """A VBO file, with *more* columns; seconds count from midnight, longitudes to the west."""
    t, more = made.columns["timestamp"], more or {}
    start = datetime.fromtimestamp(float(t[0]), UTC)
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()
    seconds = t - midnight
    clock = 10_000 * (seconds // 3600) + 100 * (seconds // 60 % 60) + seconds % 60
    course = np.degrees(_courses(made)) % 360.0
    columns = (clock, made.columns["lat"] * 60, made.columns["lon"] * -60)
    rows = zip(*columns, made.columns["speed_ms"] * 3.6, course, *more.values(), strict=True)
    lines = [
        f"009 {a:010.3f} {b:+.6f} {c:+.6f} {d:07.3f} {e:06.2f} "
        + " ".join(f"{value:+.4E}" for value in rest)
        for a, b, c, d, e, *rest in rows
    ]
    head = _VBO_HEAD.format(
        when=start.strftime("%d/%m/%Y @ %H:%M:%S"),
        names=" ".join(more),
        extra="".join(f"{name}\n" for name in more),
    )
    path.write_bytes((head + "\n".join(lines) + "\n").replace("\n", "\r\n").encode("cp1252"))


def write_racechrono(path: Path, made: Drive) -> None:
    """A CSV export of format 3; the second speed is the dashboard's, which shows 4 % more."""
    t, speed = made.columns["timestamp"], made.columns["speed_ms"]
    start = datetime.fromtimestamp(float(t[0]), UTC)
    rows = zip(t, made.columns["lat"], made.columns["lon"], speed, strict=True)
    lines = [f"{a:.3f},0,,{b:.7f},{c:.7f},12,{d:.3f},{d * 1.04:.3f}" for a, b, c, d in rows]
    head = _RACECHRONO_HEAD.format(when=start.strftime("%d/%m/%Y,%H:%M"))
    path.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


def _courses(made: Drive) -> Numbers:
    way = np.interp(made.columns["timestamp"], made.t, made.way)
    x, y = made.circuit.at(np.stack([way - 1.0, way + 1.0]), np.zeros((2, len(way))))
    course: Numbers = np.arctan2(x[1] - x[0], y[1] - y[0])
    return course
