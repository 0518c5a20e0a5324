"""Recordings and centre lines of others, against figures that the files themselves state."""

import json
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.formats.detection import read_recording
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import Frames, Numbers, Recording
from runtime.bridge.session.series import build_series, measure_distance
from runtime.bridge.track.build import build_from_centreline, build_from_laps
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

    track = build_from_centreline(line.trace, line.name).track

    assert track.name == "Silverstone Circuit"
    assert track.length_m == pytest.approx(official, rel=0.002)
    assert track.length_m == pytest.approx(haversine(line.trace.lat, line.trace.lon), rel=0.003)
    assert 17 <= len(track.corners) <= 20  # the official map numbers 18
    assert min(corner.severity for corner in track.corners) == 1  # the Loop and Vale
    assert len(track.sectors) == 3
    assert any(straight.end_m - straight.start_m > 600 for straight in track.straights)


def tianma() -> Recording:
    path = real("racechrono-v3-tianma-lap9.csv")
    with path.open("rb") as stream:
        return read_recording(stream, path.name)


def test_three_ways_to_measure_a_recorded_lap_agree() -> None:
    recording = tianma()
    reported = recording.signals["distance_traveled"].value
    columns = {**recording.frames.columns, "distance_m": reported}
    blank = np.full(len(reported), np.nan)

    by_distance = measure_distance(build_series(Frames(columns)))[-1]
    by_speed = measure_distance(build_series(Frames({**columns, "distance_m": blank})))[-1]
    by_place = measure_distance(
        build_series(Frames({**columns, "distance_m": blank, "speed_ms": blank}))
    )[-1]

    assert by_speed == pytest.approx(by_distance, rel=0.005)
    assert by_place == pytest.approx(by_distance, rel=0.01)


def test_a_circuit_is_made_from_a_recorded_lap() -> None:
    recording = tianma()
    laps = detect(recording.frames, gate=recording.start)

    track = build_from_laps(laps, "Tianma").track

    assert track.length_m == pytest.approx(laps.complete[0].distance_m, rel=0.01)
    assert 6 <= len(track.corners) <= 16
    assert all(corner.speeds is not None for corner in track.corners)
