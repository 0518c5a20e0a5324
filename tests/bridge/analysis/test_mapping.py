"""The map: lines, corners, pins and bounds, with and without a track file or positions."""

import math

import numpy as np
import pytest

from runtime.bridge.analysis.drive import drive_of
from runtime.bridge.analysis.mapping import (
    NO_GRADE,
    choose_colour,
    corner_colours,
    draw_map,
    space_points,
)
from runtime.bridge.session.geometry import Plane
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import Frames, Numbers
from tests.bridge.analysis.lapkit import OVAL, TRACKS, drive_circle, drive_laps, on_track, oval
from tests.bridge.session.sessions import change, circle, circle_gate
from tools.drive import drive as driven


def metres_beside(lat: Numbers, lon: Numbers) -> Numbers:
    """How far places are from the line of the oval."""
    assert OVAL.line is not None
    x, y = OVAL.line.plane.xy(lat, lon)
    return OVAL.line.ring.nearest(x, y)[1]


def test_the_lines_lie_on_the_circuit_and_their_points_five_metres_apart() -> None:
    drive, _ = oval(3, hz=50.0)

    result = draw_map(drive)

    assert [lap.lap for lap in result.laps] == [1, 2, 3]
    for lap in result.laps:
        assert metres_beside(lap.lat, lap.lon).max() < 3.0
        x, y = Plane(float(lap.lat[0]), float(lap.lon[0])).xy(lap.lat, lap.lon)
        steps = np.hypot(np.diff(x), np.diff(y))
        assert steps.min() > 4.9
        assert steps.max() < 6.5
        assert len(lap.speed_ms) == len(lap.lat)
        assert not np.isnan(lap.speed_ms).any()
    south, west, north, east = result.bounds or (0, 0, 0, 0)
    assert south == min(result.centre_lat.min(), *(lap.lat.min() for lap in result.laps))
    assert (west <= result.centre_lon).all()
    assert north > south
    assert east > west


def test_corners_pins_and_zones_come_from_the_track_file() -> None:
    track = TRACKS["larkfell"]
    result = draw_map(on_track(track, driven(track, 1, hz=5.0).frames))

    assert [item.name for item in result.corners] == [c.name for c in track.in_lap_order()]
    assert all(None not in (item.apex.lat, item.apex.lon) for item in result.corners)
    assert [item.id for item in result.pins] == [marker.id for marker in track.markers]
    assert all(item.lat is not None for item in result.pins)
    assert result.danger_zones == track.danger_zones
    np.testing.assert_array_equal(result.centre_lat, track.line.lat if track.line else [])


def test_without_a_track_file_the_median_of_the_laps_is_the_centre_line() -> None:
    drive, _ = oval(3)
    laps = detect(drive.series.frames, gate=OVAL.start)

    result = draw_map(drive_of(laps))

    assert (result.pins, result.danger_zones) == ((), ())
    assert metres_beside(result.centre_lat, result.centre_lon).max() < 3.0
    assert len(result.centre_lat) == pytest.approx(OVAL.length_m / 4, abs=3)
    assert [corner.name for corner in result.corners] == ["C1", "C2"]
    apexes = [(corner.apex.lat, corner.apex.lon) for corner in result.corners]
    truth = [OVAL.line.place(c.apex.distance_m) for c in OVAL.in_lap_order()] if OVAL.line else []
    for (lat, lon), (true_lat, true_lon) in zip(apexes, truth, strict=True):
        assert lat == pytest.approx(true_lat, abs=20 / 111_320)
        assert lon == pytest.approx(true_lon, abs=20 / 70_000)


def test_without_positions_nothing_is_drawn_but_the_track_file() -> None:
    bare = draw_map(drive_laps([(20.0, 20.0, 20.0)] * 2))
    assert (bare.laps, bare.bounds, len(bare.centre_lat), bare.corners) == ((), None, 0, ())

    drive, _ = oval(2)
    blind = change(drive.series.frames, lat=np.nan, lon=np.nan)
    expected = draw_map(on_track(OVAL, blind))
    assert expected.laps == ()
    assert len(expected.centre_lat) == len(OVAL.line or ())
    assert expected.bounds is not None


def test_fixes_that_were_lost_are_left_out() -> None:
    frames = circle(130.0)
    lost = frames.columns["lat"].copy()
    lost[200:250] = np.nan
    gappy = change(frames, lat=lost)

    result = draw_map(drive_of(detect(gappy, gate=circle_gate(), track_length_m=1000.0)))

    assert not any(np.isnan(lap.lat).any() for lap in result.laps)
    assert len(result.laps[0].lat) < len(result.laps[1].lat)


def test_over_the_date_line_the_bounds_stay_small() -> None:
    drive = drive_circle()
    columns = dict(drive.series.frames.columns)
    columns["lon"] = (columns["lon"] - 10.0 + 180.0 + 180.0) % 360.0 - 180.0
    gate = circle_gate()._replace(lon=-180.0)
    laps = detect(Frames(columns), gate=gate, track_length_m=1000.0)
    assert laps.method == "gps"

    south, west, north, east = draw_map(drive_of(laps)).bounds or (0, 0, 0, 0)

    assert (west > 179.9, east < -179.9) == (True, True)
    assert (east + 360.0 - west) * 111_320 == pytest.approx(1000 / math.pi, rel=0.02)
    assert north > south


@pytest.mark.parametrize(
    ("way", "chosen"),
    [
        ([0.0, 2.0, 4.9, 5.0, 9.9, 10.1, 30.0], [0, 3, 5, 6]),
        ([7.0], [0]),
        ([0.0, 0.0, 0.0], [0]),
        ([], []),
    ],
)
def test_points_are_five_metres_apart_or_more(way: list[float], chosen: list[int]) -> None:
    assert space_points(np.array(way)).tolist() == chosen


def test_a_long_lap_has_longer_steps() -> None:
    way = np.arange(0.0, 100_000.0, 1.0)

    result = space_points(way)

    assert 1900 < len(result) <= 2000
    assert way[result[-1]] > 99_900


def test_grades_have_colours_and_corners_without_one_are_grey() -> None:
    drive, _ = oval(3)

    assert dict(corner_colours(drive)).keys() == {"Turn 1", "Turn 2"}
    assert set(dict(corner_colours(drive)).values()) <= {choose_colour(g) for g in "ABCDF"} | {
        choose_colour("A+")
    }
    assert {colour for _, colour in corner_colours(oval(1)[0])} == {NO_GRADE}
    assert corner_colours(drive_laps([(20.0, 20.0, 20.0)] * 2)) == ()
    assert choose_colour("A+") == "#1b5e20"
