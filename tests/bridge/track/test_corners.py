"""Corners, straights and sectors of lines that were drawn from straights and bends."""

import math

import numpy as np
import pytest

from runtime.bridge.session.geometry import Ring
from runtime.bridge.track.corners import detect_corners, find_corners, find_sectors, find_straights
from runtime.bridge.track.library import Library
from runtime.bridge.track.model import Corner, Spot, Straight
from tests.bridge.track.examples import DATA
from tools.tracks import Bend, Part, draw

STADIUM: list[Part] = [400.0, Bend(180, 50), 400.0, Bend(180, 50)]


def path(parts: list[Part], start_m: float = 0.0) -> Ring:
    shape = draw(parts, start_m=start_m)
    return Ring(shape.x, shape.y, shape.length_m)


def corner(number: int, entry: float, leave: float) -> Corner:
    middle = Spot((entry + leave) / 2)
    return Corner(f"T{number}", number, "right", 3, Spot(entry), middle, Spot(leave))


def test_a_stadium_has_two_corners_where_it_bends() -> None:
    result = detect_corners(path(STADIUM, start_m=100.0))

    bend = 50 * math.pi
    assert [corner.direction for corner in result] == ["right", "right"]
    assert [corner.severity for corner in result] == [4, 4]
    for corner, begin in zip(result, (300.0, 700.0 + bend), strict=True):
        assert corner.entry.distance_m == pytest.approx(begin, abs=10)
        assert corner.apex.distance_m == pytest.approx(begin + bend / 2, abs=10)
        assert corner.exit.distance_m == pytest.approx(begin + bend, abs=10)
        assert corner.curvature_peak == pytest.approx(math.degrees(1 / 50), rel=0.02)


def test_a_corner_may_lie_over_start_and_finish() -> None:
    result = detect_corners(path(STADIUM, start_m=450.0))

    over = [corner for corner in result if corner.entry.distance_m > corner.exit.distance_m]
    assert len(result) == 2
    assert len(over) == 1
    length = 800 + 100 * math.pi
    assert over[0].entry.distance_m == pytest.approx(length - 50, abs=10)
    assert over[0].exit.distance_m == pytest.approx(50 * math.pi - 50, abs=10)


@pytest.mark.parametrize(("apart", "count"), [(20.0, 2), (70.0, 4)])
def test_neighbours_of_one_direction_merge_below_a_second(apart: float, count: int) -> None:
    half = Bend(90, 50)
    once: list[Part] = [400.0, half, apart, half]

    assert len(detect_corners(path(once + once))) == count


@pytest.mark.parametrize(("radius", "count"), [(200, 4), (90, 2)])
def test_a_bend_eases_into_another_corner_where_less_than_half_is_asked_for(
    radius: float, count: int
) -> None:
    once: list[Part] = [400.0, Bend(100, 50), Bend(40, radius), Bend(40, 55)]
    shape = path(once + once)

    result = detect_corners(shape, np.full(len(shape), 30.0))

    assert len(result) == count
    assert all((c.exit.distance_m - c.entry.distance_m) % shape.length_m < 250 for c in result)


def test_a_line_that_bends_everywhere_alike_has_no_corners() -> None:
    assert detect_corners(path([Bend(360, 150)])) == []


def test_a_bend_that_is_too_slight_is_no_corner() -> None:
    once: list[Part] = [200.0, Bend(10, 300), Bend(-10, 300), 200.0, Bend(180, 50)]

    assert len(detect_corners(path(once + once))) == 2


@pytest.mark.parametrize("name", ["larkfell", "tarn-oval"])
def test_the_designed_corners_are_found_within_10_metres(name: str) -> None:
    track = Library.read(DATA).tracks[name]
    assert track.line is not None
    result = find_corners(track.line)

    assert len(result) == len(track.corners)
    for bent, designed in zip(result, track.corners, strict=True):
        assert bent.direction == designed.direction
        assert bent.curvature_peak == pytest.approx(designed.curvature_peak, rel=0.02)
        assert bent.entry.distance_m == pytest.approx(designed.entry.distance_m, abs=10)
        assert bent.apex.distance_m == pytest.approx(designed.apex.distance_m, abs=10)
        assert bent.exit.distance_m == pytest.approx(designed.exit.distance_m, abs=10)


def test_straights_are_what_is_left_between_corners() -> None:
    result = find_straights([corner(1, 200, 300), corner(2, 500, 600), corner(3, 740, 800)], 1000.0)

    assert result == (Straight("Main straight", 800, 200), Straight("Straight 2", 300, 500))


def test_a_stretch_of_150_metres_is_no_straight() -> None:
    assert find_straights([corner(1, 0, 425), corner(2, 575, 850)], 1000.0) == ()
    assert len(find_straights([corner(1, 0, 424), corner(2, 575, 851)], 1000.0)) == 1


def test_overlapping_corners_leave_no_straight_between_them() -> None:
    result = find_straights([corner(1, 100, 500), corner(2, 150, 200), corner(3, 900, 50)], 1000.0)

    assert [(s.start_m, s.end_m) for s in result] == [(500, 900)]


def test_sectors_part_in_the_middle_of_the_longest_straights() -> None:
    quarter = Bend(90, 50)
    lengths = [200.0, 300.0, 200.0, 300.0]
    parts: list[Part] = []
    for length in lengths:
        parts += [length, quarter]
    shape = path(parts, start_m=100.0)
    corners = detect_corners(shape)
    result = find_sectors(shape.length_m, corners)

    bend = 25 * math.pi
    first = 100 + bend + 150
    assert [s.end_m for s in result[:2]] == pytest.approx([first, first + 500 + 2 * bend], abs=5)
    assert result[0].start_m == 0.0
    assert result[2].end_m == pytest.approx(1000 + 4 * bend)


def test_sectors_of_a_line_without_straights_are_thirds() -> None:
    result = find_sectors(300 * math.pi, ())

    assert np.diff([s.end_m for s in result]) == pytest.approx([100 * math.pi] * 2)
