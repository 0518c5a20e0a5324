"""Circuits made from recorded laps and from centre lines."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.commands.tracks import main
from runtime.bridge.session.geometry import metres_between
from runtime.bridge.session.laps import detect
from runtime.bridge.session.progress import measure_progress
from runtime.bridge.session.recording import Frames, Samples
from runtime.bridge.track.build import (
    Trace,
    build_from_centreline,
    build_from_frames,
    build_from_laps,
)
from runtime.bridge.track.file import format_track, parse_track
from runtime.bridge.track.geojson import read_geojson
from runtime.bridge.track.library import Library, read_track
from runtime.bridge.track.model import TrackError
from tests.bridge.track.examples import DATA
from tools.drive import USUAL, Noise, drive

LARKFELL = Library.read(DATA).tracks["larkfell"]


def circle_trace(points: int = 60, radius: float = 150.0) -> Trace:
    angle = 2 * math.pi * np.arange(points) / points
    lat = 46 + radius * np.cos(angle) / 111_320
    lon = 7 + radius * np.sin(angle) / 111_320 / math.cos(math.radians(46))
    return Trace(lat, lon, np.full(points, np.nan))


@pytest.mark.parametrize("hz", [10.0, 100.0])
def test_a_recorded_lap_makes_the_circuit_that_was_driven(hz: float) -> None:
    driven = drive(LARKFELL, 3, hz=hz, noise=USUAL, seed=2)

    track = build_from_frames(driven.frames, "Copy of Larkfell", gate=LARKFELL.start).track

    assert track.length_m == pytest.approx(LARKFELL.length_m, rel=0.005)
    assert track.id == "copy-of-larkfell"
    assert [c.direction for c in track.corners] == [c.direction for c in LARKFELL.corners]
    for made, designed in zip(track.corners, LARKFELL.corners, strict=True):
        assert made.apex.distance_m == pytest.approx(designed.apex.distance_m, abs=15)
        assert made.entry.distance_m == pytest.approx(designed.entry.distance_m, abs=15)
        assert abs(made.severity - designed.severity) <= 1
        assert made.speeds is not None
        assert designed.speeds is not None
        assert made.speeds.apex == pytest.approx(designed.speeds.apex, rel=0.1)
    assert len(track.sectors) == 3
    assert track.straights[0].name == "Main straight"
    away = metres_between(track.start.lat, track.start.lon, LARKFELL.start.lat, LARKFELL.start.lon)
    assert away < 10


def test_a_made_circuit_is_written_read_and_driven_on() -> None:
    driven = drive(LARKFELL, 3, noise=USUAL, seed=2)
    built = build_from_frames(driven.frames, "Copy", gate=LARKFELL.start)

    track, doubts = parse_track(format_track(built.track), built.track.id)

    assert doubts == ()
    laps = detect(driven.frames, gate=track.start, track_length_m=track.length_m)
    progress = measure_progress(laps, track.line)
    assert progress is not None
    assert progress.basis == "line"
    assert len(laps.complete) == 3
    assert np.abs(progress.offset).max() < 8


def test_laps_with_a_gap_and_slow_laps_leave_the_line_to_the_others() -> None:
    driven = drive(LARKFELL, 3, skill=0.8, seed=3)
    t = driven.frames.columns["timestamp"]
    begin = driven.crossings_s[0] + 30
    keep = (t < begin) | (t > begin + 2)
    paused = Frames({name: values[keep] for name, values in driven.frames.columns.items()})

    built = build_from_laps(detect(paused, gate=LARKFELL.start), "Copy")

    assert built.derived[0] == "The line is the median of 2 of 3 complete laps."
    assert len(built.track.corners) == len(LARKFELL.corners)


@pytest.mark.parametrize(("laps", "metres"), [(1, 0.9), (8, 0.45)])
def test_the_more_laps_the_better_the_line(laps: int, metres: float) -> None:
    driven = drive(LARKFELL, laps, hz=10.0, noise=Noise(gps_jitter_m=1.0), seed=3)

    line = build_from_frames(driven.frames, "Copy", gate=LARKFELL.start).track.line

    assert line is not None
    assert LARKFELL.line is not None
    designed = LARKFELL.line.ring
    x, y = LARKFELL.line.plane.xy(line.lat, line.lon)
    near, _ = designed.nearest(x, y)
    beside = designed.project(x, y, near).offset
    assert np.sqrt(np.mean(beside**2)) < metres


def test_heights_come_from_their_signal() -> None:
    driven = drive(LARKFELL, 2, seed=4)
    t = driven.frames.columns["timestamp"]
    assert LARKFELL.line is not None
    laps = detect(driven.frames, gate=LARKFELL.start, track_length_m=LARKFELL.length_m)
    progress = measure_progress(laps, LARKFELL.line)
    assert progress is not None
    heights = np.interp(
        progress.p, LARKFELL.line.distance, LARKFELL.line.altitude, period=LARKFELL.length_m
    )
    track = build_from_laps(laps, "Copy", altitude=Samples(t, heights)).track

    assert track.elevation is not None
    assert LARKFELL.elevation is not None
    expected = np.interp(track.elevation.distance, *LARKFELL.elevation)
    assert np.abs(track.elevation.altitude - expected).max() < 1.0
    assert all(corner.elevation_change_m is not None for corner in track.corners)


def test_a_session_without_a_lap_or_positions_makes_no_circuit() -> None:
    driven = drive(LARKFELL, 0)
    blind = drive(LARKFELL, 2).frames
    blind.columns["lat"][:] = np.nan

    for frames in (driven.frames, blind):
        with pytest.raises(TrackError, match="no complete lap"):
            build_from_frames(frames, "None", gate=LARKFELL.start)


def test_a_centre_line_of_few_points_is_drawn_round() -> None:
    built = build_from_centreline(circle_trace(), "Pad")

    assert built.track.length_m == pytest.approx(2 * math.pi * 150, rel=0.003)
    assert built.track.corners == ()
    assert built.track.start.heading == pytest.approx(90.0, abs=0.5)
    assert built.track.elevation is None


@pytest.mark.parametrize(
    "trace",
    [
        circle_trace(2),
        circle_trace(60, radius=5.0),
        circle_trace(60, radius=1e6),
        Trace(np.full(9, 46.0), np.full(9, 7.0), np.full(9, 0.0)),
    ],
    ids=["two points", "a roundabout", "a country", "one place"],
)
def test_a_line_that_is_no_circuit_is_refused(trace: Trace) -> None:
    with pytest.raises(TrackError):
        build_from_centreline(trace, "None")


def geojson(kind: str = "LineString", **changes: object) -> str:
    trace = circle_trace()
    points = [[lon, lat, 5.0] for lat, lon in zip(trace.lat, trace.lon, strict=True)]
    points.append(points[0])
    geometry = {"type": kind, "coordinates": [points] if kind == "Polygon" else points, **changes}
    feature = {"type": "Feature", "properties": {"name": "Pad"}, "geometry": geometry}
    return json.dumps({"type": "FeatureCollection", "features": [feature]})


@pytest.mark.parametrize("kind", ["LineString", "Polygon"])
def test_geojson_lines_and_rings_are_read(kind: str) -> None:
    result = read_geojson(geojson(kind))

    assert result.name == "Pad"
    assert len(result.trace.lat) == 60
    assert result.trace.lat[0] == pytest.approx(46 + 150 / 111_320)
    assert set(result.trace.altitude.tolist()) == {5.0}


def test_a_bare_geometry_is_geojson_too() -> None:
    bare = json.loads(geojson())["features"][0]["geometry"]

    assert read_geojson(json.dumps(bare)).name == ""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "line 1"),
        ("{}", "type: must be a text"),
        (geojson("Point"), "neither a LineString"),
        (geojson(coordinates=[[7, 46]]), "three points"),
        (geojson(coordinates=[[7], [8], [9]]), "longitude and latitude"),
        (geojson(coordinates=[[7, 46], [7, 91], [7, 46]]), "y: must be from -90 to 90"),
        (geojson(coordinates=5), "must be a list"),
        ('{"features": [5]}', "not an object"),
    ],
)
def test_geojson_that_is_no_line_names_the_place(text: str, message: str) -> None:
    with pytest.raises(TrackError, match=message):
        read_geojson(text)


def test_the_command_writes_over_nothing_unless_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, out = tmp_path / "pad.geojson", tmp_path / "x.json"
    source.write_text(geojson())
    out.write_text("mine")
    command = ["build", str(source), "--out", str(out), "--name", "Other"]

    assert main(command) == 1
    assert out.read_text() == "mine"
    assert "--force" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0
    assert read_track(out)[0].name == "Other"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pad.geojson", "x.json"]


def test_a_name_without_letters_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pad.geojson").write_text(geojson())

    assert main(["build", str(tmp_path / "pad.geojson"), "--name", "+++"]) == 1
    assert "the name needs a letter" in capsys.readouterr().err


def test_speeds_are_left_out_where_none_were_recorded() -> None:
    frames = drive(LARKFELL, 2, seed=5).frames
    bare = Frames(
        {
            **frames.columns,
            "speed_ms": frames.columns["speed_ms"] * np.nan,
            "brake_bar": frames.columns["brake_bar"] * np.nan,
        }
    )
    track = build_from_frames(bare, "Copy", gate=LARKFELL.start).track

    assert {corner.speeds for corner in track.corners} == {None}
    assert {corner.brake for corner in track.corners} == {None}
