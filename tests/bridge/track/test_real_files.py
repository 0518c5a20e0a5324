"""Recordings and centre lines of others, against figures that the files themselves state."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import WIDE, Frames, Gate, Numbers
from runtime.bridge.session.series import measure_distance, series
from runtime.bridge.track.build import from_centreline, from_laps
from runtime.bridge.track.geojson import read_geojson
from tests.bridge.track.examples import REAL


def real(name: str) -> Path:
    path = REAL / name
    if not path.exists():
        pytest.skip(f"{name} does not lie beside the project")
    return path


def haversine(lat: Numbers, lon: Numbers) -> float:
    """The way through the points and back to the first, on a sphere."""
    phi, lam = np.radians(np.append(lat, lat[0])), np.radians(np.append(lon, lon[0]))
    half = np.sin(np.diff(phi) / 2) ** 2
    half += np.cos(phi[1:]) * np.cos(phi[:-1]) * np.sin(np.diff(lam) / 2) ** 2
    return float((2 * 6_371_000 * np.arcsin(np.sqrt(half))).sum())


def test_silverstone_is_as_long_as_its_file_says() -> None:
    text = real("f1-circuits-gb-1948.geojson").read_text()
    official = json.loads(text)["features"][0]["properties"]["length"]
    line = read_geojson(text)

    track = from_centreline(line.trace, line.name).track

    assert track.name == "Silverstone Circuit"
    assert track.length_m == pytest.approx(official, rel=0.002)
    assert track.length_m == pytest.approx(haversine(line.trace.lat, line.trace.lon), rel=0.003)
    assert 17 <= len(track.corners) <= 20  # the official map numbers 18
    assert min(corner.severity for corner in track.corners) == 1  # the Loop and Vale
    assert len(track.sectors) == 3
    assert any(straight.end_m - straight.start_m > 600 for straight in track.straights)


def tianma() -> tuple[Frames, Numbers]:
    """The frames of the recording, and the number of the lap in which its own program put each."""
    with real("racechrono-v3-tianma-lap9.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    names = next(row for row in rows if row[:1] == ["timestamp"])
    begin = rows.index(names) + 3
    table = np.array([[float(cell or "nan") for cell in row] for row in rows[begin:] if row])
    columns = {name: np.full(len(table), np.nan) for name in WIDE}
    for ours, theirs in (
        ("timestamp", "timestamp"),
        ("lat", "latitude"),
        ("lon", "longitude"),
        ("speed_ms", "speed"),
        ("distance_m", "distance_traveled"),
    ):
        columns[ours] = table[:, names.index(theirs)]
    return Frames(columns), table[:, names.index("lap_number")]


def test_a_recorded_lap_is_as_long_as_its_own_program_found() -> None:
    frames, numbers = tianma()
    t = frames.columns["timestamp"]
    changes = np.flatnonzero(np.diff(numbers) == 1)
    assert len(changes) == 2  # into lap 9 and out of it
    i = int(changes[0])
    lat, lon = frames.columns["lat"], frames.columns["lon"]
    east = (lon[i + 9] - lon[i - 9]) * math.cos(math.radians(lat[i]))
    heading = math.degrees(math.atan2(east, lat[i + 9] - lat[i - 9])) % 360
    middle = (float(lat[i] + lat[i + 1]) / 2, float(lon[i] + lon[i + 1]) / 2)

    laps = detect(frames, gate=Gate(*middle, heading))

    assert [lap.kind for lap in laps.segments] == ["out", "lap", "in"]
    ours = laps.complete[0]
    theirs = (t[changes] + t[changes + 1]) / 2
    period = float(np.max(t[changes + 1] - t[changes]))
    assert ours.duration_s == pytest.approx(theirs[1] - theirs[0], abs=period)
    assert ours.distance_m == pytest.approx(
        float(np.diff(np.interp(theirs, t, frames.columns["distance_m"]))[0]), abs=3.0
    )


def test_three_ways_to_measure_a_recorded_lap_agree() -> None:
    frames, _ = tianma()
    columns = dict(frames.columns)
    blank = np.full(len(frames), np.nan)

    by_distance = measure_distance(series(frames))[-1]
    by_speed = measure_distance(series(Frames({**columns, "distance_m": blank})))[-1]
    by_place = measure_distance(
        series(Frames({**columns, "distance_m": blank, "speed_ms": blank}))
    )[-1]

    assert by_speed == pytest.approx(by_distance, rel=0.005)
    assert by_place == pytest.approx(by_distance, rel=0.01)


def test_a_circuit_is_made_from_a_recorded_lap() -> None:
    frames, _ = tianma()
    laps = detect(frames)
    if not laps.complete:
        laps = detect(frames, gate=_first_gate(frames))

    track = from_laps(laps, "Tianma").track

    assert track.length_m == pytest.approx(laps.complete[0].distance_m, rel=0.01)
    assert 6 <= len(track.corners) <= 16
    assert all(corner.speeds is not None for corner in track.corners)


def _first_gate(frames: Frames) -> Gate:
    _, numbers = tianma()
    i = int(np.flatnonzero(np.diff(numbers) == 1)[0])
    lat, lon = frames.columns["lat"], frames.columns["lon"]
    east = (lon[i + 9] - lon[i - 9]) * math.cos(math.radians(lat[i]))
    heading = math.degrees(math.atan2(east, lat[i + 9] - lat[i - 9])) % 360
    return Gate(float(lat[i]), float(lon[i]), heading)
