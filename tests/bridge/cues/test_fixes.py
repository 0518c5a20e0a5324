"""Where a car is while its positions are rare, wrong, repeated or gone."""

from collections.abc import Iterator

import numpy as np
import pytest

from runtime.bridge.cues.engine import SessionMemory
from runtime.bridge.cues.locate import AWAY_S, HELD_S, LAPS, RECKONED_M, Locator, Report
from runtime.bridge.session.series import Odometer, fill_distance
from tests.bridge.cues.coachkit import NAN, frame, larkfell, small

SPEED = 40.0
LENGTH = larkfell().length_m
ODOMETER = 15_000_000.0


def fix(at: float, beside: float = 0.0) -> tuple[float, float]:
    """A position on the line, or so many metres north of it."""
    line = larkfell().line
    assert line is not None
    lat, lon = line.place(at % LENGTH)
    return lat + beside / 111_320.0, lon


def off(place: float | None, expected: float) -> float:
    """Metres between two places of the lap."""
    assert place is not None
    return abs((place - expected + LENGTH / 2) % LENGTH - LENGTH / 2)


def driven(step: float, seconds: float) -> Iterator[tuple[float, float, float]]:
    """Moments of a drive at one speed: seconds, metres, and the distance that is reckoned of it."""
    times = [i * step for i in range(int(seconds / step) + 1)]
    count = len(times)
    ways, _ = fill_distance(np.array(times), np.full(count, SPEED), np.full(count, NAN), Odometer())
    return zip(times, [SPEED * t for t in times], ways.tolist(), strict=True)


@pytest.mark.parametrize("step", [0.1, 1.0, 1.07, 1.2, 1.5, 2.0, 2.2, 2.9])
def test_a_gap_between_fixes_is_bridged_at_any_pace(step: float) -> None:
    locator = Locator(larkfell())
    bridged, known = [], 0.0
    for t, way, distance in driven(step, 20.0):
        here = fix(way) if way < 400.0 else (NAN, NAN)
        place = locator.locate(t, Report(*here, speed_ms=SPEED), distance)
        if way < 400.0:
            known = way
        if way - known <= RECKONED_M - 1.0:
            assert off(place, way) < 2.0
            bridged.append(way - known)
        elif way - known > RECKONED_M + 1.0:
            assert place is None
    assert max(bridged) > 170.0


@pytest.mark.parametrize("every", [20, 30, 40, 50, 80])
@pytest.mark.parametrize("counted", [True, False])
def test_a_fix_that_comes_rarely_is_found_on_the_line(every: int, *, counted: bool) -> None:
    locator = Locator(larkfell())
    for i, (t, way, distance) in enumerate(driven(0.1, LENGTH / SPEED)):
        here = fix(way) if i % every == 0 else (NAN, NAN)
        place = locator.locate(t, Report(*here, speed_ms=SPEED), distance if counted else NAN)
        if i % every == 0:
            assert off(place, way) < 1.0


def test_a_clock_that_begins_anew_is_a_pause() -> None:
    locator = Locator(larkfell())
    locator.locate(100.0, Report(*fix(800.0)), 500.0)

    assert locator.locate(1.0, Report(NAN, NAN), 510.0) is None


@pytest.mark.parametrize("first", [ODOMETER, LAPS * LENGTH + 10.0, -ODOMETER])
def test_a_counter_far_from_where_it_can_be_makes_no_place(first: float) -> None:
    locator = Locator(larkfell())

    places = [locator.locate(i / 10, Report(NAN, NAN, first + 4.0 * i), NAN) for i in range(300)]

    assert places == [None] * 300


@pytest.mark.parametrize("first", [0.0, 800.0, LENGTH - 1.0, 2.5 * LENGTH])
def test_a_counter_may_begin_within_a_few_laps_and_count_on(first: float) -> None:
    locator = Locator(larkfell())

    for i in range(6000):
        counter = first + 4.0 * i
        assert off(locator.locate(i / 10, Report(NAN, NAN, counter), NAN), counter) < 0.1


def test_a_counter_that_was_not_heard_for_a_while_is_still_believed() -> None:
    locator = Locator(larkfell())
    locator.locate(0.0, Report(NAN, NAN, 100.0), NAN)

    assert off(locator.locate(900.0, Report(NAN, NAN, 45_000.0), NAN), 45_000.0) < 0.1


def test_an_odometer_goes_on_from_a_fix() -> None:
    locator = Locator(larkfell())
    assert locator.locate(0.0, Report(NAN, NAN, ODOMETER), NAN) is None
    locator.locate(0.1, Report(*fix(700.0), ODOMETER + 4.0), NAN)

    assert off(locator.locate(0.2, Report(NAN, NAN, ODOMETER + 8.0), NAN), 704.0) < 0.1
    assert off(locator.locate(60.0, Report(NAN, NAN, ODOMETER + 2004.0), NAN), 2700.0) < 0.1


def test_a_counter_that_leaps_has_lost_its_fix() -> None:
    locator = Locator(larkfell())
    locator.locate(0.0, Report(*fix(700.0), 60.0), NAN)

    assert locator.locate(0.1, Report(NAN, NAN, ODOMETER), NAN) is None
    assert off(locator.locate(0.2, Report(NAN, NAN, 70.0), NAN), 70.0) < 0.1


def test_a_single_fix_off_the_line_is_no_place_and_ends_nothing() -> None:
    locator = Locator(larkfell())
    locator.locate(0.0, Report(*fix(700.0), ODOMETER), 500.0)

    assert locator.locate(0.1, Report(*fix(704.0, 90.0), ODOMETER + 4.0), 504.0) is None
    assert locator.elsewhere
    assert off(locator.locate(0.2, Report(NAN, NAN, ODOMETER + 8.0), 508.0), 708.0) < 0.1
    assert off(locator.locate(0.3, Report(NAN, NAN), 512.0), 712.0) < 0.1


def test_a_car_that_stays_off_the_line_is_not_thought_to_go_on_along_it() -> None:
    locator = Locator(larkfell())
    locator.locate(0.0, Report(*fix(700.0), ODOMETER), 500.0)
    times = [i / 10 for i in range(1, int(AWAY_S * 10) + 3)]
    for t in times:
        aside = Report(*fix(700.0 + 4.0 * t, 90.0), ODOMETER + 4.0 * t)
        assert locator.locate(t, aside, 500.0 + 4.0 * t) is None

    assert locator.locate(times[-1] + 0.1, Report(NAN, NAN, ODOMETER + 20.0), 520.0) is None


def test_a_fix_that_is_repeated_while_the_car_moves_is_none() -> None:
    locator = Locator(larkfell())
    held = fix(700.0)
    for t, way, distance in driven(0.1, 20.0):
        place = locator.locate(t, Report(*held, speed_ms=SPEED), distance)
        if way < RECKONED_M - 1.0:
            assert off(place, 700.0 + way) < 0.5
        elif way > RECKONED_M + 1.0:
            assert place is None
    assert off(locator.locate(20.1, Report(*fix(1504.0)), 804.0), 1504.0) < 0.1


def test_a_counter_goes_on_from_a_fix_that_is_repeated() -> None:
    locator = Locator(larkfell())
    held = fix(700.0)

    for t, way, _ in driven(0.1, 30.0):
        place = locator.locate(t, Report(*held, ODOMETER + way, SPEED), NAN)
        assert off(place, 700.0 + way) < 0.5


@pytest.mark.parametrize(("speed", "known"), [(0.0, True), (NAN, True), (SPEED, False)])
def test_without_any_distance_a_repeated_fix_counts_while_the_car_may_stand(
    speed: float, *, known: bool
) -> None:
    locator = Locator(larkfell())
    held = fix(700.0)
    places = [locator.locate(i / 10, Report(*held, speed_ms=speed), NAN) for i in range(100)]

    assert off(places[int(HELD_S * 10) - 1], 700.0) < 0.1
    assert (places[-1] is not None) is known


def test_a_fix_off_the_line_that_is_repeated_makes_no_place() -> None:
    locator = Locator(larkfell())
    locator.locate(0.0, Report(*fix(700.0)), 500.0)
    beside = fix(704.0, 90.0)

    places = [locator.locate(i / 10, Report(*beside), 500.0 + 4.0 * i) for i in range(1, 30)]

    assert places == [None] * 29


def test_a_car_whose_receiver_is_frozen_is_lost_and_one_with_an_odometer_alone_too() -> None:
    frozen, counting = SessionMemory("s", larkfell()), SessionMemory("s", small())
    lat, lon = fix(700.0)
    for i in range(100):
        frozen.place(i / 10, frame(i / 10, lat=lat, lon=lon, speed_ms=SPEED))
        counting.place(i / 10, frame(i / 10, distance_m=ODOMETER + 4.0 * i, speed_ms=SPEED))

    assert (frozen.lost, counting.lost) == (True, True)
