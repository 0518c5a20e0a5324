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
from tests.bridge.analysis.lapkit import OVAL, TRACKS, circled, lapped, on_track, oval
from tests.bridge.session.sessions import changed, circle, circle_gate
from tools.drive import drive as driven


def metres_beside(lat: Numbers, lon: Numbers) -> Numbers:
    """How far places are from the line of the oval."""
    assert OVAL.line is not None
    x, y = OVAL.line.plane.xy(lat, lon)
    return OVAL.line.ring.nearest(x, y)[1]


def test_the_lines_lie_on_the_circuit_and_their_points_five_metres_apart() -> None:
    drive, _ = oval(3, hz=50.0)

    found = draw_map(drive)

    assert [one.lap for one in found.laps] == [1, 2, 3]
    for one in found.laps:
        assert metres_beside(one.lat, one.lon).max() < 3.0
        x, y = Plane(float(one.lat[0]), float(one.lon[0])).xy(one.lat, one.lon)
        steps = np.hypot(np.diff(x), np.diff(y))
        assert steps.min() > 4.9
        assert steps.max() < 6.5
        assert len(one.speed_ms) == len(one.lat)
        assert not np.isnan(one.speed_ms).any()
    south, west, north, east = found.bounds or (0, 0, 0, 0)
    assert south == min(found.centre_lat.min(), *(one.lat.min() for one in found.laps))
    assert (west <= found.centre_lon).all()
    assert north > south
    assert east > west


def test_corners_pins_and_zones_come_from_the_track_file() -> None:
    track = TRACKS["larkfell"]
    found = draw_map(on_track(track, driven(track, 1, hz=5.0).frames))

    assert [one.name for one in found.corners] == [c.name for c in track.in_lap_order()]
    assert all(None not in (one.apex.lat, one.apex.lon) for one in found.corners)
    assert [one.id for one in found.pins] == [marker.id for marker in track.markers]
    assert all(one.lat is not None for one in found.pins)
    assert found.danger_zones == track.danger_zones
    np.testing.assert_array_equal(found.centre_lat, track.line.lat if track.line else [])


def test_without_a_track_file_the_median_of_the_laps_is_the_centre_line() -> None:
    drive, _ = oval(3)
    laps = detect(drive.series.frames, gate=OVAL.start)

    found = draw_map(drive_of(laps))

    assert (found.pins, found.danger_zones) == ((), ())
    assert metres_beside(found.centre_lat, found.centre_lon).max() < 3.0
    assert len(found.centre_lat) == pytest.approx(OVAL.length_m / 4, abs=3)
    assert [one.name for one in found.corners] == ["C1", "C2"]
    apexes = [(one.apex.lat, one.apex.lon) for one in found.corners]
    truth = [OVAL.line.place(c.apex.distance_m) for c in OVAL.in_lap_order()] if OVAL.line else []
    for (lat, lon), (true_lat, true_lon) in zip(apexes, truth, strict=True):
        assert lat == pytest.approx(true_lat, abs=20 / 111_320)
        assert lon == pytest.approx(true_lon, abs=20 / 70_000)


def test_without_positions_nothing_is_drawn_but_the_track_file() -> None:
    bare = draw_map(lapped([(20.0, 20.0, 20.0)] * 2))
    assert (bare.laps, bare.bounds, len(bare.centre_lat), bare.corners) == ((), None, 0, ())

    drive, _ = oval(2)
    blind = changed(drive.series.frames, lat=np.nan, lon=np.nan)
    known = draw_map(on_track(OVAL, blind))
    assert known.laps == ()
    assert len(known.centre_lat) == len(OVAL.line or ())
    assert known.bounds is not None


def test_fixes_that_were_lost_are_left_out() -> None:
    frames = circle(130.0)
    lost = frames.columns["lat"].copy()
    lost[200:250] = np.nan
    gappy = changed(frames, lat=lost)

    found = draw_map(drive_of(detect(gappy, gate=circle_gate(), track_length_m=1000.0)))

    assert not any(np.isnan(one.lat).any() for one in found.laps)
    assert len(found.laps[0].lat) < len(found.laps[1].lat)


def test_over_the_date_line_the_bounds_stay_small() -> None:
    drive = circled()
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

    found = space_points(way)

    assert 1900 < len(found) <= 2000
    assert way[found[-1]] > 99_900


def test_grades_have_colours_and_corners_without_one_are_grey() -> None:
    drive, _ = oval(3)

    assert dict(corner_colours(drive)).keys() == {"Turn 1", "Turn 2"}
    assert set(dict(corner_colours(drive)).values()) <= {choose_colour(g) for g in "ABCDF"} | {
        choose_colour("A+")
    }
    assert {colour for _, colour in corner_colours(oval(1)[0])} == {NO_GRADE}
    assert corner_colours(lapped([(20.0, 20.0, 20.0)] * 2)) == ()
    assert choose_colour("A+") == "#1b5e20"
