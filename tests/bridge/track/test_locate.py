"""Where a car is, by position and by distance, however rare."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from runtime.bridge.session.laps import detect_laps
from runtime.bridge.session.progress import measure_progress
from runtime.bridge.session.series import FROZEN_S, Odometer, build_series, fill_distance
from runtime.bridge.track.locate import AWAY_S, DRIFT_M, LAPS, Counter, Locator, Report
from tests.bridge.analysis.lapkit import TRACKS
from tools.drive import USUAL, drive

LARKFELL = TRACKS["larkfell"]
NAN = math.nan


def test_positions_give_the_same_place_as_the_whole_session_does() -> None:
    driven = drive(LARKFELL, 2, seed=3, noise=USUAL)
    columns = driven.frames.columns
    whole = build_series(driven.frames)
    result = detect_laps(whole, gate=LARKFELL.start, track_length_m=LARKFELL.length_m)
    expected = measure_progress(result, LARKFELL.line)
    assert expected is not None
    assert expected.basis == "line"
    locator = Locator(LARKFELL)
    rows = zip(*(columns[n].tolist() for n in ("timestamp", "lat", "lon")), strict=True)

    places = np.array([locator.locate(t, Report(lat, lon), NAN) for t, lat, lon in rows])

    away = np.abs((places - expected.p + 1000.0) % LARKFELL.length_m - 1000.0)
    assert float(away.max()) < 1.5  # live, the fixes alone tell


def place_of(
    locator: Locator, t: float, at: float, reckoned: float = NAN, counter: float = NAN
) -> float | None:
    line = LARKFELL.line
    assert line is not None
    return locator.locate(t, Report(*line.place(at), counter), reckoned)


def without_fix(
    locator: Locator, t: float, reckoned: float = NAN, counter: float = NAN
) -> float | None:
    return locator.locate(t, Report(NAN, NAN, counter), reckoned)


def test_a_car_that_is_elsewhere_has_no_place() -> None:
    locator = Locator(LARKFELL)

    assert place_of(locator, 0.0, 100.0) == pytest.approx(100.0, abs=0.1)
    assert locator.locate(0.1, Report(45.0, 7.0, 103.0), 103.0) is None
    assert locator.elsewhere
    assert place_of(locator, 0.2, 2000.0) == pytest.approx(2000.0, abs=0.1)


def test_a_pause_may_end_anywhere() -> None:
    locator = Locator(LARKFELL)
    place_of(locator, 0.0, 100.0)

    assert place_of(locator, 60.0, 3000.0) == pytest.approx(3000.0, abs=0.1)


def test_without_a_fix_the_counter_goes_on_from_the_last_one() -> None:
    locator = Locator(LARKFELL)
    place_of(locator, 0.0, 3600.0, counter=8000.0)

    assert without_fix(locator, 0.1, counter=8005.0) == pytest.approx(3605.0, abs=0.1)
    assert locator.locate(0.2, Report(0.0, 0.0, 8020.0), NAN) == pytest.approx(6.56, abs=0.1)
    assert without_fix(locator, 0.3) is None
    assert without_fix(locator, 90.0, counter=9000.0) == pytest.approx(986.56, abs=0.1)


def test_a_distance_that_was_reckoned_makes_no_place() -> None:
    locator = Locator(LARKFELL)

    assert [without_fix(locator, at / 10, reckoned=5.0 * at) for at in range(50)] == [None] * 50


@pytest.mark.parametrize("by", ["fix", "counter"])
def test_a_distance_that_was_reckoned_goes_on_for_a_short_way(by: str) -> None:
    locator = Locator(LARKFELL)
    if by == "fix":
        place_of(locator, 0.0, 3600.0, reckoned=500.0)
    else:
        without_fix(locator, 0.0, reckoned=500.0, counter=3600.0)

    assert without_fix(locator, 0.1, reckoned=505.0) == pytest.approx(3605.0, abs=0.1)
    assert without_fix(locator, 0.2, reckoned=520.0) == pytest.approx(6.56, abs=0.1)
    assert without_fix(locator, 0.3, reckoned=500.0 + DRIFT_M + 1.0) is None
    assert without_fix(locator, 0.4, reckoned=400.0) is None


@pytest.mark.parametrize(
    ("reported", "believed"),
    [
        ([0.0, 1000.0, 1990.0, 5.0, 20.0], [NAN, NAN, NAN, 5.0, 20.0]),  # the metres of a lap
        ([0.0, 1990.0, 2005.0, 4100.0], [NAN] * 4),  # from the start of a session
        ([84_000_100.0, 84_000_200.0], [NAN] * 2),  # an odometer
        ([0.0, 900.0, 0.0, 10.0], [NAN] * 4),  # a trip counter that was put back
        ([1990.0, 3.0, 1200.0, 0.0, 5.0], [NAN, 3.0, 1200.0, NAN, NAN]),
        ([1990.0, NAN, 3.0], [NAN, NAN, 3.0]),
    ],
)
def test_a_counter_of_a_lap_is_known_by_its_beginning_anew(
    reported: list[float], believed: list[float]
) -> None:
    counter = Counter(2000.0)

    assert [counter.update(item) for item in reported] == pytest.approx(believed, nan_ok=True)


def test_a_recording_that_is_played_again_is_no_lap() -> None:
    counter = Counter(2000.0)
    counter.update(1990.0)
    counter.pause()

    assert counter.update(0.0) != counter.update(0.0)


SPEED = 40.0
LENGTH = LARKFELL.length_m
ODOMETER = 15_000_000.0


def fix(at: float, beside: float = 0.0) -> tuple[float, float]:
    """A position on the line, or so many metres north of it."""
    line = LARKFELL.line
    assert line is not None
    lat, lon = line.place(at % LENGTH)
    return lat + beside / 111_320.0, lon


def off(place: float | None, expected: float) -> float:
    """Metres between two places of the lap."""
    assert place is not None
    return abs((place - expected + LENGTH / 2) % LENGTH - LENGTH / 2)


def drive_on(step: float, seconds: float) -> Iterator[tuple[float, float, float]]:
    """Moments of a drive at one speed: seconds, metres, and the distance that is reckoned of it."""
    times = [i * step for i in range(int(seconds / step) + 1)]
    count = len(times)
    ways, _ = fill_distance(np.array(times), np.full(count, SPEED), np.full(count, NAN), Odometer())
    return zip(times, [SPEED * t for t in times], ways.tolist(), strict=True)


@pytest.mark.parametrize("step", [0.1, 1.0, 1.07, 1.2, 1.5, 2.0, 2.2, 2.9])
def test_a_gap_between_fixes_is_bridged_at_any_pace(step: float) -> None:
    locator = Locator(LARKFELL)
    bridged, expected = [], 0.0
    for t, way, distance in drive_on(step, 20.0):
        here = fix(way) if way < 400.0 else (NAN, NAN)
        place = locator.locate(t, Report(*here, speed_ms=SPEED), distance)
        if way < 400.0:
            expected = way
        if way - expected <= DRIFT_M - 1.0:
            assert off(place, way) < 2.0
            bridged.append(way - expected)
        elif way - expected > DRIFT_M + 1.0:
            assert place is None
    assert max(bridged) > 170.0


@pytest.mark.parametrize("every", [20, 30, 40, 50, 80])
@pytest.mark.parametrize("counted", [True, False])
def test_a_fix_that_comes_rarely_is_found_on_the_line(every: int, *, counted: bool) -> None:
    locator = Locator(LARKFELL)
    for i, (t, way, distance) in enumerate(drive_on(0.1, LENGTH / SPEED)):
        here = fix(way) if i % every == 0 else (NAN, NAN)
        place = locator.locate(t, Report(*here, speed_ms=SPEED), distance if counted else NAN)
        if i % every == 0:
            assert off(place, way) < 1.0


def test_a_clock_that_begins_anew_is_a_pause() -> None:
    locator = Locator(LARKFELL)
    locator.locate(100.0, Report(*fix(800.0)), 500.0)

    assert locator.locate(1.0, Report(NAN, NAN), 510.0) is None


@pytest.mark.parametrize("first", [ODOMETER, LAPS * LENGTH + 10.0, -ODOMETER])
def test_a_counter_far_from_where_it_can_be_makes_no_place(first: float) -> None:
    locator = Locator(LARKFELL)

    places = [locator.locate(i / 10, Report(NAN, NAN, first + 4.0 * i), NAN) for i in range(300)]

    assert places == [None] * 300


@pytest.mark.parametrize("first", [0.0, 800.0, LENGTH - 1.0, 2.5 * LENGTH])
def test_a_counter_may_begin_within_a_few_laps_and_count_on(first: float) -> None:
    locator = Locator(LARKFELL)

    for i in range(6000):
        counter = first + 4.0 * i
        assert off(locator.locate(i / 10, Report(NAN, NAN, counter), NAN), counter) < 0.1


def test_an_odometer_goes_on_from_a_fix() -> None:
    locator = Locator(LARKFELL)
    assert locator.locate(0.0, Report(NAN, NAN, ODOMETER), NAN) is None
    locator.locate(0.1, Report(*fix(700.0), ODOMETER + 4.0), NAN)

    assert off(locator.locate(0.2, Report(NAN, NAN, ODOMETER + 8.0), NAN), 704.0) < 0.1
    assert off(locator.locate(60.0, Report(NAN, NAN, ODOMETER + 2004.0), NAN), 2700.0) < 0.1


def test_a_counter_that_leaps_has_lost_its_fix() -> None:
    locator = Locator(LARKFELL)
    locator.locate(0.0, Report(*fix(700.0), 60.0), NAN)

    assert locator.locate(0.1, Report(NAN, NAN, ODOMETER), NAN) is None
    assert off(locator.locate(0.2, Report(NAN, NAN, 70.0), NAN), 70.0) < 0.1


def test_a_single_fix_off_the_line_is_no_place_and_ends_nothing() -> None:
    locator = Locator(LARKFELL)
    locator.locate(0.0, Report(*fix(700.0), ODOMETER), 500.0)

    assert locator.locate(0.1, Report(*fix(704.0, 90.0), ODOMETER + 4.0), 504.0) is None
    assert locator.elsewhere
    assert off(locator.locate(0.2, Report(NAN, NAN, ODOMETER + 8.0), 508.0), 708.0) < 0.1
    assert off(locator.locate(0.3, Report(NAN, NAN), 512.0), 712.0) < 0.1


def test_a_car_that_stays_off_the_line_is_not_thought_to_go_on_along_it() -> None:
    locator = Locator(LARKFELL)
    locator.locate(0.0, Report(*fix(700.0), ODOMETER), 500.0)
    times = [i / 10 for i in range(1, int(AWAY_S * 10) + 3)]
    for t in times:
        aside = Report(*fix(700.0 + 4.0 * t, 90.0), ODOMETER + 4.0 * t)
        assert locator.locate(t, aside, 500.0 + 4.0 * t) is None

    assert locator.locate(times[-1] + 0.1, Report(NAN, NAN, ODOMETER + 20.0), 520.0) is None


def test_a_fix_that_is_repeated_while_the_car_moves_is_none() -> None:
    locator = Locator(LARKFELL)
    held = fix(700.0)
    for t, way, distance in drive_on(0.1, 20.0):
        place = locator.locate(t, Report(*held, speed_ms=SPEED), distance)
        if way < DRIFT_M - 1.0:
            assert off(place, 700.0 + way) < 0.5
        elif way > DRIFT_M + 1.0:
            assert place is None
    assert off(locator.locate(20.1, Report(*fix(1504.0)), 804.0), 1504.0) < 0.1


@pytest.mark.parametrize(("speed", "expected"), [(0.0, True), (NAN, True), (SPEED, False)])
def test_without_any_distance_a_repeated_fix_counts_while_the_car_may_stand(
    speed: float, *, expected: bool
) -> None:
    locator = Locator(LARKFELL)
    held = fix(700.0)
    places = [locator.locate(i / 10, Report(*held, speed_ms=speed), NAN) for i in range(100)]

    assert off(places[int(FROZEN_S * 10) - 1], 700.0) < 0.1
    assert (places[-1] is not None) is expected
