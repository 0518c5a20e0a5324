"""The series of a session: order, midnight, gaps, weights, distance, fixes."""

import numpy as np
import pytest

from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import (
    build_series,
    measure_distance,
    measure_travel,
    unwrap_distance,
)
from tests.bridge.session.sessions import at, frames


def to_list(values: Numbers) -> list[float]:
    return [round(value, 6) for value in values.tolist()]


@pytest.mark.parametrize(
    ("recorded", "times", "index"),
    [
        ([1.0, 2.0, 3.0], [1, 2, 3], [0, 1, 2]),
        ([86399.8, 86399.9, 0.0, 0.1], [86399.8, 86399.9, 86400, 86400.1], [0, 1, 2, 3]),
        ([86399.0, 0.0, 43e3, 86e3, 1.0], [86399, 86400, 129400, 172400, 172801], [*range(5)]),
        ([1.0, 2.0, 2.0, 3.0], [1, 2, 3], [0, 1, 3]),
        ([1.0, 5.0, 3.0, 4.0, 6.0], [1, 5, 6], [0, 1, 4]),
        ([100.0, 101.0, 60.0, 61.0, 102.0], [100, 101, 102], [0, 1, 4]),
        ([1.0, 2.0, 6e4, 3.0, 4.0], [1, 2, 3, 4], [0, 1, 3, 4]),
        ([1.0, np.nan, 2.0, np.inf, 3.0], [1, 2, 3], [0, 2, 4]),
        ([], [], []),
    ],
    ids=["even", "midnight", "two midnights", "equal", "back", "40 s back", "spike", "nan", "none"],
)
def test_time_goes_forward(recorded: list[float], times: list[float], index: list[int]) -> None:
    result = build_series(frames(recorded))

    assert to_list(result.t) == times
    assert result.index.tolist() == index


def test_a_channel_follows_the_frames_that_are_used() -> None:
    result = build_series(frames([1.0, 2.0, 2.0, 3.0], speed_ms=[10.0, 20.0, 99.0, 1e300]))

    np.testing.assert_array_equal(result["speed_ms"], [10.0, 20.0, np.nan])


@pytest.mark.parametrize(
    ("t", "gaps"),
    [
        (np.arange(0, 2, 0.1), []),
        (np.append(np.arange(0, 2, 0.1), 2.4), []),  # 0.5 s from the last
        (np.append(np.arange(0, 2, 0.1), 2.5), [19]),
        (np.append(np.arange(0.0, 20.0), 23.9), []),  # less than five periods of 1 s
        (np.append(np.arange(0.0, 20.0), 24.5), [19]),
    ],
)
def test_a_gap_is_longer_than_half_a_second_and_five_periods(t: Numbers, gaps: list[int]) -> None:
    assert np.flatnonzero(build_series(frames(t)).gap).tolist() == gaps


def test_a_frame_weighs_the_time_to_the_next_unless_that_is_a_gap() -> None:
    result = build_series(frames([0.0, 1.0, 2.0, 3.5, 6.5, 7.5, 17.5, 18.5]))

    assert result.nominal_s == 1.0
    assert to_list(result.weight) == [
        1,
        1,
        1.5,
        3,
        1,
        1,
        1,
        1,
    ]  # before the gap and at the end: usual


def in_bursts(count: int, offsets: list[float]) -> Numbers:
    """Ten bursts a second, of rows at these offsets."""
    t: Numbers = (np.arange(count)[:, None] / 10 + np.array(offsets)).ravel()
    return t


FOUR_ROWS = [0.0, 0.005, 0.010, 0.020]


@pytest.mark.parametrize("offsets", [FOUR_ROWS, [0.0, 0.001], [0.0, 0.004, 0.008]])
def test_the_rows_of_a_burst_are_one_frame(offsets: list[float]) -> None:
    t = in_bursts(600, offsets)
    result = build_series(frames(t, rpm=np.arange(len(t), dtype=float)))

    assert len(result) == 600
    assert result.index.tolist() == list(range(len(offsets) - 1, len(t), len(offsets)))
    assert result["rpm"].tolist() == result.index.tolist()
    assert result.rate_hz == pytest.approx(10.0)
    assert result.weight.sum() == pytest.approx(60.0)


def test_a_burst_keeps_what_only_one_of_its_rows_knows() -> None:
    t = in_bursts(50, FOUR_ROWS)
    speed, brake = np.full(len(t), np.nan), np.full(len(t), np.nan)
    speed[1::4], brake[::8] = 30.0, 2.0
    result = build_series(frames(t, speed_ms=speed, brake_bar=brake))

    assert result["speed_ms"].tolist() == [30.0] * 50
    np.testing.assert_array_equal(result["brake_bar"], [2.0, np.nan] * 25)


@pytest.mark.parametrize("hz", [1.0, 10.0, 100.0, 1000.0])
def test_an_even_clock_has_no_bursts_whatever_it_jitters_and_loses(hz: float) -> None:
    chance = np.random.default_rng(1)
    t = np.arange(3000) / hz + chance.uniform(-0.2, 0.2, 3000) / hz
    lost = chance.random(3000) < 0.1
    lost[1000:1020] = True

    assert len(build_series(frames(t))) == 3000
    assert len(build_series(frames(t[~lost]))) == (~lost).sum()


def test_rows_of_several_devices_without_a_pause_between_are_no_bursts() -> None:
    t = np.unique(np.round(np.concatenate([np.arange(0, 60, 0.04), np.arange(0.01, 60, 0.05)]), 3))

    assert len(build_series(frames(t))) == len(t)


@pytest.mark.parametrize("held", [True, False], ids=["repeated", "missing"])
def test_a_position_between_two_fixes_lies_between_them(held: bool) -> None:
    t = np.arange(0, 20, 0.02)
    fix = np.arange(len(t)) // 5 * 5  # at 10 Hz in frames at 50 Hz
    x = 30.0 * t
    place = at(x[fix], np.zeros(len(t)))
    if not held:
        place["lat"][np.arange(len(t)) % 5 != 0] = np.nan
    result = build_series(frames(t, **place))

    seen = (result["lon"] - 10.0) * 111_320.0
    assert result.gps_usable
    np.testing.assert_allclose(seen[:-5], x[:-5], atol=1e-6)


def test_a_long_silence_of_the_receiver_is_not_drawn_through() -> None:
    t = np.arange(0, 20, 0.1)
    place = at(30.0 * t, np.zeros(len(t)))
    place["lat"][50:80] = np.nan
    place["lon"][100:130] = place["lon"][100]
    result = build_series(frames(t, **place))

    assert np.flatnonzero(~result.fixed).tolist() == list(range(50, 80))
    assert np.ptp(result["lon"][100:130]) == 0.0


def test_gap_time_counts_what_lies_between_two_moments() -> None:
    result = build_series(frames([0.0, 1.0, 2.0, 12.0, 13.0, 14.0, 15.0]))

    assert result.gap_time(0, 15) == 10
    assert result.gap_time(5, 8) == 3
    assert result.gap_time(0, 2) == 0


@pytest.mark.parametrize(
    ("distance", "length", "expected"),
    [
        ([0, 10, 20, 30], None, [0, 10, 20, 30]),
        ([0, 400, 990, 5, 400], 1000, [0, 400, 990, 995, 1390]),
        ([0, 400, 990, 5, 400, 1010, 0], None, [0, 400, 990, 995, 1390, 2000, 2000]),
        ([0, 400, 380, 420], 1000, [0, 400, 400, 420]),
        ([0, 400, 380, 420], None, [0, 400, 400, 420]),
        ([np.nan, 5, np.nan, 7], None, [np.nan, 5, np.nan, 7]),
        ([np.nan, np.nan], None, [np.nan, np.nan]),
    ],
    ids=[
        "adds up",
        "anew each lap",
        "no length",
        "jitter",
        "unknown jitter",
        "nan",
        "null",
    ],
)
def test_distance_that_begins_anew_is_unwrapped(
    distance: list[float], length: float | None, expected: list[float]
) -> None:
    np.testing.assert_array_equal(
        unwrap_distance(np.array(distance, dtype=float), length), expected
    )


def test_a_missing_distance_is_the_integral_of_speed_without_the_gaps() -> None:
    result = build_series(
        frames([0, 1, 2, 12, 13, 14, 15], speed_ms=[10, 20, 20, 50, 50, np.nan, 10])
    )

    # 15 + 20 + nothing + 50 + (50 + 30)/2 + (30 + 10)/2, the missing speed drawn between
    assert to_list(measure_distance(result)) == [0, 15, 35, 35, 85, 125, 145]


def test_without_distance_and_speed_the_way_between_fixes_counts() -> None:
    place = at(np.array([0.0, 30.0, 30.0, 30.0]), np.array([0.0, 40.0, 40.0, 140.0]))
    result = build_series(frames([0, 1, 2, 3], **place))

    np.testing.assert_allclose(measure_distance(result), [0, 50, 50, 150], rtol=1e-6)


def measure(t: Numbers, x: Numbers, **columns: Numbers | float) -> Numbers:
    """The way of a drive to the east, at each of its rows."""
    return measure_travel(frames(t, **at(x, np.zeros(len(t))), **columns))


@pytest.mark.parametrize("hz", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("speed", [20.0, np.nan], ids=["speed", "fixes"])
def test_the_noise_of_the_fixes_is_no_distance(hz: float, speed: float) -> None:
    t = np.arange(0, 120, 1 / hz)
    noise = np.random.default_rng(1).normal(0, 0.5, (2, len(t)))
    place = at(20.0 * t + noise[0], noise[1])

    result = measure_travel(frames(t, speed_ms=speed, **place))

    assert result[-1] == pytest.approx(20 * t[-1], rel=0.005)
    np.testing.assert_allclose(result, 20 * t, atol=10.0)


@pytest.mark.parametrize("speed", [0.3, np.nan])
def test_a_standing_car_goes_nowhere(speed: float) -> None:
    t = np.arange(0, 60, 0.04)
    noise = np.random.default_rng(1).normal(0, 0.5, len(t))

    assert measure(t, noise, speed_ms=speed)[-1] < 10.0


def test_speed_counts_where_there_is_no_fix_and_nothing_across_a_gap() -> None:
    t = np.concatenate((np.arange(0, 10, 0.1), np.arange(100, 110, 0.1)))
    x = np.where((t > 3) & (t < 6), np.nan, 20.0 * t)

    assert measure(t, x, speed_ms=20.0)[-1] == pytest.approx(2 * 20 * 9.9)


def test_rows_that_repeat_or_go_back_in_time_add_nothing() -> None:
    t = np.array([0.0, 0.1, 0.1, 0.2, 0.15, 0.3])

    assert to_list(measure(t, 20.0 * t, speed_ms=20.0)) == [0, 2, 2, 4, 4, 6]


def test_rows_of_a_burst_have_their_own_way() -> None:
    t = in_bursts(100, FOUR_ROWS)

    np.testing.assert_allclose(measure(t, 20 * t, speed_ms=20.0)[3:], 20 * t[3:] - 0.4)


def test_a_way_that_nothing_tells_is_unknown() -> None:
    assert np.isnan(measure_travel(frames([0.0, 1.0, 2.0], rpm=3000.0))).all()


def test_a_distance_that_never_moves_gives_way_to_speed() -> None:
    result = build_series(frames([0, 1, 2], distance_m=0.0, speed_ms=10.0))

    assert to_list(measure_distance(result)) == [0, 10, 20]


@pytest.mark.parametrize(
    ("lat", "lon", "valid"),
    [
        (46.0, 7.0, True),
        (90.0, 180.0, True),
        (90.1, 7.0, False),
        (46.0, -180.5, False),
        (0.0, 0.0, False),
        (0.0, 1e-7, False),
        (0.0, 0.5, True),
        (np.nan, 7.0, False),
        (46.0, np.inf, False),
    ],
)
def test_a_fix_is_a_place_on_earth_and_not_null_island(lat: float, lon: float, valid: bool) -> None:
    assert build_series(frames([0.0], lat=lat, lon=lon)).fixed.tolist() == [valid]


def test_positions_are_usable_from_four_fifths_of_fixes_over_50_metres() -> None:
    def usable(share: float, extent: float) -> bool:
        count = 100
        place = at(np.linspace(0, extent, count), np.zeros(count), lat0=46.0)
        place["lat"][: round(count * (1 - share))] = np.nan
        return build_series(frames(np.arange(count) / 10, **place)).gps_usable

    assert usable(1.0, 53)
    assert not usable(1.0, 48)
    assert usable(0.8, 300)
    assert not usable(0.79, 300)


def test_the_date_line_is_no_gap_in_the_map() -> None:
    t = np.arange(100) / 10
    lon = (179.9999 + t * 2e-5 + 180) % 360 - 180
    result = build_series(frames(t, lat=10.0, lon=lon))

    assert result.centre is not None
    assert abs(result.centre[1]) == pytest.approx(179.9999, abs=2e-4)
    assert not result.gps_usable


def test_combined_acceleration_is_as_recorded_else_from_its_parts() -> None:
    combo = [np.nan, 1.5, np.nan]
    result = build_series(frames([0, 1, 2], g_lat=[3, 3, np.nan], g_long=4.0, combo_g=combo))

    np.testing.assert_array_equal(result.combo_g, [5.0, 1.5, np.nan])


def test_nothing_in_is_nothing_out() -> None:
    result = build_series(frames([]))

    assert (len(result), result.nominal_s, result.gps_usable, result.centre) == (
        0,
        0.0,
        False,
        None,
    )
    assert len(result.weight) == len(measure_distance(result)) == 0
