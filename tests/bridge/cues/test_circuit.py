"""Places of a circuit: corners, apexes, what comes next; and a car that is lost."""

import pytest

from runtime.bridge.cues.circuit import Circuit
from runtime.bridge.cues.engine import SessionMemory
from tests.bridge.cues.coachkit import circuit, corner, frame, larkfell, small, track


@pytest.mark.parametrize(
    ("distance", "within", "past", "following", "to_entry"),
    [
        (499.0, None, False, "Turn 1", 1.0),
        (500.0, "Turn 1", False, None, 999.0),
        (540.0, "Turn 1", False, None, 999.0),
        (540.1, "Turn 1", True, None, 999.0),
        (600.0, "Turn 1", True, None, 999.0),
        (600.1, None, False, None, 999.0),
        (1449.9, None, False, None, 999.0),
        (1450.0, None, False, "Turn 2", 500.0),
        (1949.0, None, False, "Turn 2", 1.0),
        (1960.0, "Turn 2", False, None, 999.0),
        (1995.0, "Turn 2", True, None, 999.0),
        (0.0, "Turn 2", True, "Turn 1", 500.0),
        (50.0, "Turn 2", True, "Turn 1", 450.0),
        (51.0, None, False, "Turn 1", 449.0),
        (2000.0 * 7 + 51.0, None, False, "Turn 1", 449.0),
        (-1501.0, None, False, "Turn 1", 1.0),
        (-1e-13, "Turn 2", True, "Turn 1", 500.0),
    ],
)
def test_a_place_has_a_corner_and_a_next_one(
    distance: float, within: str | None, past: bool, following: str | None, to_entry: float
) -> None:
    place = circuit().place(distance)

    assert (place.corner and place.corner.name) == within
    assert place.past_apex is past
    assert (place.next and place.next.name) == following
    assert place.to_entry == pytest.approx(to_entry)
    assert 0 <= place.progress_m < 2000.0


def test_the_approach_tells_where_to_brake_and_how_it_falls() -> None:
    place = circuit().place(400.0)
    assert place.bz == 80.0
    assert place.dz == pytest.approx(-20.0)

    place = circuit().place(1900.0)
    assert (place.bz, place.dz) == (0.0, 0.0)


def test_where_two_corners_overlap_the_later_one_counts() -> None:
    double = Circuit(track(corner(1, 100, 150, 260), corner(2, 240, 300, 350)))

    assert [double.place(p).corner for p in (239.0, 241.0)] == list(double.track.corners)


def test_a_track_without_corners_has_places_too() -> None:
    place = Circuit(track()).place(100.0)

    assert (place.corner, place.next, place.to_entry, place.bz) == (None, None, 999.0, 0.0)


def test_a_car_whose_receiver_is_frozen_is_lost_and_one_with_an_odometer_alone_too() -> None:
    frozen, counting = SessionMemory("s", larkfell()), SessionMemory("s", small())
    line = larkfell().line
    assert line is not None
    lat, lon = (float(each[700]) for each in (line.lat, line.lon))
    for i in range(100):
        frozen.place(i / 10, frame(i / 10, lat=lat, lon=lon, speed_ms=40.0))
        counting.place(i / 10, frame(i / 10, distance_m=15_000_000.0 + 4.0 * i, speed_ms=40.0))

    assert (frozen.lost, counting.lost) == (True, True)
