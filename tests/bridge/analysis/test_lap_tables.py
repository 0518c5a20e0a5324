"""Lap times, sectors, their spread and the ideal lap, on sessions whose times are known."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.analysis.drive import drive_of
from runtime.bridge.analysis.laps import (
    compose_ideal_lap,
    divide_lap,
    list_lap_times,
    list_mini_sectors,
    list_sector_times,
    measure_distribution,
    measure_sectors,
    measure_times,
)
from runtime.bridge.session.laps import detect
from runtime.bridge.session.units import round_splits, round_to_sum
from tests.bridge.analysis.lapkit import LENGTH, drive_laps, oval, session
from tests.bridge.session.sessions import change, keep

THREE = [(20.0, 30.0, 25.0), (21.0, 28.0, 25.0), (19.0, 29.0, 27.0)]
TENTHS = st.integers(80, 400).map(lambda tenths: tenths / 10)
PARTS = st.tuples(TENTHS, TENTHS, TENTHS)
NEARLY = st.tuples(*[st.sampled_from((-0.1, 0.0, 0.1))] * 3)
LAPS = st.tuples(PARTS, st.lists(NEARLY, min_size=2, max_size=6)).map(
    lambda drawn: [
        tuple(round(a + b, 1) for a, b in zip(drawn[0], lap, strict=True)) for lap in drawn[1]
    ]
)
"""Laps of one circuit: slow at the same places."""


def test_of_equal_laps_the_earliest_alone_is_the_best() -> None:
    table = list_lap_times(drive_laps([(20.0, 20.0, 20.0)] * 4))

    assert [row.is_best for row in table.laps] == [True, False, False, False]
    assert all(split.is_best for row in table.laps for split in row.sectors)


def test_noise_below_a_microsecond_makes_no_lap_and_no_sector_faster() -> None:
    equal = drive_laps([(20.0, 20.0, 20.0)] * 3)
    noisy = replace(
        equal,
        laps=equal.laps,
        counted=tuple(
            lap._replace(t_end=lap.t_end - 1e-9 * at) for at, lap in enumerate(equal.counted)
        ),
        memo={},
    )

    assert noisy.best.number == 1
    assert [row.delta_to_best_s for row in list_lap_times(noisy).laps] == [0.0, 0.0, 0.0]
    assert [part.from_lap for part in compose_ideal_lap(noisy).sectors.parts] == [1, 1, 1]


def test_the_spread_is_that_of_a_box_plot() -> None:
    result = measure_distribution(drive_laps([(20, 20, t) for t in (20.0, 21.0, 22.0, 23.0, 60.0)]))

    assert (result.lap_count, round(result.min_s, 6), round(result.max_s, 6)) == (5, 60.0, 100.0)
    assert [round(v, 6) for v in (result.q1_s, result.median_s, result.q3_s)] == [61.0, 62.0, 63.0]
    assert (round(result.whisker_low_s, 6), round(result.whisker_high_s, 6)) == (60.0, 63.0)
    assert [lap.lap_number for lap in result.outliers] == [5]
    assert result.mean_s == pytest.approx(69.2)
    assert result.stddev_s == pytest.approx(np.std([60, 61, 62, 63, 100]))


def test_mini_sectors_find_what_sectors_average_out() -> None:
    # One lap is quick in one half of each sector and slow in the other, one is even.
    result = compose_ideal_lap(drive_laps([(15.0, 15.0) * 3, (20.0, 10.0) * 3]))

    assert result.sectors.gain_s == pytest.approx(0.0, abs=1e-9)
    assert result.mini_sectors.gain_s is not None
    assert 10.0 < result.mini_sectors.gain_s < 15.0
    assert len(result.mini_sectors.parts) == 25


def test_a_pause_in_a_sector_leaves_it_out_and_the_ideal_never_beats_logic() -> None:
    frames = session([(20.0, 30.0, 25.0), (20.0, 28.0, 25.0), (20.0, 29.0, 25.0)])
    t = frames.columns["timestamp"]
    paused = drive_of(detect(keep(frames, (t < 105.0) | (t > 108.0)), track_length_m=LENGTH))

    rows = list_sector_times(paused).laps
    result = compose_ideal_lap(paused)

    assert [row.s2 is None for row in rows] == [False, True, False]
    assert not any(split.is_best for split in list_lap_times(paused).laps[1].sectors[1:2])
    assert result.sectors.lap_s == pytest.approx(73.0)  # the best lap is not above itself
    assert result.sectors.gain_s == pytest.approx(0.0)


@given(LAPS)
def test_parts_add_up_and_no_ideal_lap_is_slower_than_the_best(
    laps: list[tuple[float, float, float]],
) -> None:
    drive = drive_laps(laps)
    assert [round(lap.duration_s, 6) for lap in drive.counted] == [round(sum(x), 6) for x in laps]
    minis = measure_times(drive, list_mini_sectors(drive.length_m))
    for table in (measure_sectors(drive), minis):
        for lap, row in zip(drive.counted, table, strict=True):
            assert sum(time or 0.0 for time in row) == pytest.approx(lap.duration_s, abs=1e-6)
    result = compose_ideal_lap(drive)
    for composed in (result.sectors, result.mini_sectors):
        assert composed.lap_s is not None
        assert composed.lap_s <= result.best_actual_lap_s
        assert composed.gain_s is not None
        assert composed.gain_s >= 0
    assert result.sectors.lap_s == pytest.approx(sum(min(part) for part in zip(*laps, strict=True)))


@pytest.mark.parametrize("seed", range(1, 6))
def test_shown_times_add_up_to_the_millisecond(seed: int) -> None:
    drive, _ = oval(5, seed=seed)
    table, ideal = list_lap_times(drive), compose_ideal_lap(drive)
    for lap in table.laps:
        apart = round(lap.lap_time_s, 3) - round(table.best_lap_s, 3)
        assert lap.delta_to_best_s == pytest.approx(apart, abs=1e-9)
    for composed in (ideal.sectors, ideal.mini_sectors, ideal.corners_and_straights):
        assert composed.lap_s is not None
        shown = sum(round(part.time_s or 0.0, 3) for part in composed.parts)
        assert shown == pytest.approx(round(composed.lap_s, 3), abs=1e-6)


def test_corners_and_straights_cover_the_lap_once() -> None:
    drive, truth = oval()
    result = divide_lap(drive)

    assert [part.corner for part in result] == [None, "Turn 1", None, "Turn 2", None]
    bounds = [part.span for part in result]
    assert bounds[0].start_m == 0
    assert bounds[-1].end_m == drive.length_m
    assert all(a.end_m == b.start_m for a, b in pairwise(bounds))
    assert bounds[0].name == bounds[-1].name == "Main straight"
    for row, true in zip(measure_times(drive, bounds), truth, strict=True):
        assert sum(time or 0.0 for time in row) == pytest.approx(true, abs=0.02)


def test_laps_without_positions_or_speed_still_have_times() -> None:
    frames = session(THREE)
    drive = drive_of(detect(change(frames, speed_ms=np.nan), track_length_m=LENGTH))

    assert [row.max_speed_kmh for row in list_lap_times(drive).laps] == [None, None, None]
    assert compose_ideal_lap(drive).sectors.lap_s == pytest.approx(72.0)


@pytest.mark.parametrize(
    ("values", "total", "digits", "expected"),
    [
        ([1 / 3] * 3, 1.0, 3, [0.334, 0.333, 0.333]),
        ([33.36, 33.36, 33.28], 100.0, 1, [33.3, 33.4, 33.3]),
        ([10.0004, 10.0004, 10.0004], 30.0012, 3, [10.001, 10.0, 10.0]),
        ([0.0, 100.0], 100.0, 1, [0.0, 100.0]),
        ([], 0.0, 3, []),
    ],
)
def test_rounded_parts_add_up_to_the_rounded_whole(
    values: list[float], total: float, digits: int, expected: list[float]
) -> None:
    assert round_to_sum(values, total, digits) == expected


@given(st.lists(st.floats(5, 300), min_size=3, max_size=3))
def test_splits_in_milliseconds_are_the_lap_time_and_each_within_one(times_s: list[float]) -> None:
    result = round_splits(times_s, sum(times_s))

    expected = [time or 0.0 for time in result]
    assert round(sum(expected), 3) == pytest.approx(round(sum(times_s), 3), abs=0.0011)
    assert all(abs(a - b) <= 0.001 + 1e-9 for a, b in zip(expected, times_s, strict=True))


def test_splits_of_a_lap_with_a_pause_are_rounded_each() -> None:
    assert round_splits([1.0004, None, 2.0006], 5.0) == [1.0, None, 2.001]
