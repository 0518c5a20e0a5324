"""Where a car is: corners, apexes, what comes next, by distance and by position."""

import numpy as np
import pytest

from runtime.bridge.coach.circuit import Circuit
from runtime.bridge.coach.locate import Locator
from runtime.bridge.laps.detect import detect_laps
from runtime.bridge.laps.progress import lap_progress
from runtime.bridge.laps.series import series
from runtime.bridge.tracks.drive import USUAL, drive
from tests.bridge.coach.coachkit import NAN, circuit, corner, larkfell, small, track


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


def test_a_lone_corner_comes_again_a_lap_later() -> None:
    lone = Circuit(track(corner(1, 100, 150, 160), length=300.0))

    assert lone.place(161.0).to_entry == pytest.approx(239.0)


def test_a_track_without_corners_has_places_too() -> None:
    place = Circuit(track()).place(100.0)

    assert (place.corner, place.next, place.to_entry, place.bz) == (None, None, 999.0, 0.0)


def test_positions_give_the_same_place_as_the_whole_session_does() -> None:
    driven = drive(larkfell(), 2, seed=3, noise=USUAL)
    columns = driven.frames.columns
    whole = series(driven.frames)
    found = detect_laps(whole, gate=larkfell().start, track_length_m=larkfell().length_m)
    expected = lap_progress(found, larkfell().line)
    assert expected is not None
    assert expected.basis == "line"
    locator = Locator(larkfell())
    rows = zip(*(columns[n].tolist() for n in ("timestamp", "lat", "lon")), strict=True)

    places = np.array([locator.locate(t, lat, lon, NAN) for t, lat, lon in rows])

    away = np.abs((places - expected.p + 1000.0) % larkfell().length_m - 1000.0)
    assert float(away.max()) < 1.5  # live, the fixes alone tell


def place_of(locator: Locator, t: float, at: float, distance: float = NAN) -> float | None:
    line = larkfell().line
    assert line is not None
    return locator.locate(t, *line.place(at), distance)


def test_a_car_that_is_elsewhere_has_no_place() -> None:
    locator = Locator(larkfell())

    assert place_of(locator, 0.0, 100.0) == pytest.approx(100.0, abs=0.1)
    assert locator.locate(0.1, 45.0, 7.0, 103.0) is None
    assert place_of(locator, 0.2, 2000.0) == pytest.approx(2000.0, abs=0.1)


def test_a_pause_may_end_anywhere() -> None:
    locator = Locator(larkfell())
    place_of(locator, 0.0, 100.0)

    assert place_of(locator, 60.0, 3000.0) == pytest.approx(3000.0, abs=0.1)


def test_without_a_fix_the_distance_goes_on() -> None:
    locator = Locator(larkfell())
    place_of(locator, 0.0, 3600.0, 8000.0)

    assert locator.locate(0.1, NAN, NAN, 8005.0) == pytest.approx(3605.0, abs=0.1)
    assert locator.locate(0.2, 0.0, 0.0, 8020.0) == pytest.approx(6.56, abs=0.1)
    assert locator.locate(0.3, NAN, NAN, NAN) is None


def test_without_any_fix_the_distance_counts_from_the_line() -> None:
    assert Locator(larkfell()).locate(0.0, NAN, NAN, 3700.0) == pytest.approx(86.56)
    assert Locator(small()).locate(0.0, 44.2, -31.5, 2100.0) == pytest.approx(100.0)
