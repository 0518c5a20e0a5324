"""Sessions whose clock was put back or told a wrong time: which laps and times still count."""

from dataclasses import astuple
from pathlib import Path

import numpy as np
import pytest

from runtime.bridge.session.laps import Laps, detect
from runtime.bridge.session.progress import Span, measure_progress, time_sectors
from runtime.bridge.session.recording import TIMESTAMP, Frames, Numbers, Samples
from runtime.bridge.session.series import DAY_S, build_series
from runtime.bridge.track.library import Library
from tests.bridge.session.sessions import change, circle, circle_gate, frames
from tools.drive import USUAL, drive

EPOCH: float = 1_790_000_000.0
LARKFELL = Library.read(Path(__file__).parents[3] / "data" / "tracks").tracks["larkfell"]


def drive_circle(t: Numbers, hz: float = 10.0) -> Laps:
    """Laps of 40 s, the first from second 8, with these times in place of 0, 1/hz, …"""
    return detect(change(circle(130, hz=hz), timestamp=t), gate=circle_gate(), track_length_m=1e3)


def ticks(hz: float = 10.0) -> Numbers:
    return circle(130, hz=hz).columns[TIMESTAMP]


def reorder(source: Frames, order: list[int]) -> Frames:
    return Frames({name: values[order] for name, values in source.columns.items()})


@pytest.mark.parametrize(
    ("back_s", "hz"),
    [(20.0, 10.0), (1.0, 10.0), (0.3, 10.0), (0.25, 10.0), (2.0, 1.0), (0.1, 50.0)],
)
def test_a_lap_in_which_the_clock_was_put_back_does_not_count(back_s: float, hz: float) -> None:
    t = ticks(hz)
    laps = drive_circle(EPOCH + np.where(t > 60.01, t - back_s, t), hz)

    candidates = [lap for lap in laps.segments if lap.kind in ("lap", "partial")]
    assert [lap.valid for lap in candidates] == [True, False, True]
    assert [lap.duration_s for lap in laps.complete] == pytest.approx([40.0] * 2, abs=1e-3)
    assert laps.series.gap.sum() == 1


def test_sectors_before_and_behind_the_moment_keep_their_times() -> None:
    driven = drive(LARKFELL, 3, hz=10.0, seed=1, noise=USUAL)
    moment = driven.crossings_s[1] + driven.lap_times_s[1] * 0.5
    t = driven.frames.columns[TIMESTAMP]
    spans = [Span(*astuple(sector)) for sector in LARKFELL.sectors]

    def sectors(times: Numbers) -> list[list[float | None]]:
        session = change(driven.frames, timestamp=EPOCH + times)
        laps = detect(session, gate=LARKFELL.start, track_length_m=LARKFELL.length_m)
        progress = measure_progress(laps, LARKFELL.line)
        assert progress is not None
        result = [lap for lap in laps.segments if lap.kind == "lap"]
        assert [lap.valid for lap in result] == [True, times is t, True]
        return [time_sectors(laps, progress, lap, spans) for lap in result]

    usual, late = sectors(t), sectors(np.where(t > moment, t - 5.0, t))

    assert late[1][1] is None
    usual[1][1] = None
    for item, other in zip(usual, late, strict=True):
        assert other == [
            one_s if one_s is None else pytest.approx(one_s, abs=0.2) for one_s in item
        ]


def test_laps_by_distance_do_not_count_either() -> None:
    t = ticks()
    session = change(circle(130), timestamp=np.where(t > 70.01, t - 3.0, t), lat=np.nan)

    laps = detect(session, track_length_m=1000.0)

    assert (laps.method, [lap.valid for lap in laps.segments]) == (
        "distance",
        [True, False, True, False],
    )


@pytest.mark.parametrize(
    ("at", "clock"),
    [
        *[(at, wrong_t) for at in (0, 1, 700, 1297) for wrong_t in (0.0, -1.0, 5e5)],
        *[(at, 2 * EPOCH) for at in (1, 700, 1200)],
    ],
)
@pytest.mark.parametrize("count", [1, 3])
def test_a_few_times_that_are_far_off_cost_nothing(at: int, clock: float, count: int) -> None:
    t = EPOCH + ticks()
    wrong = t.copy()
    wrong[at : at + count] = clock

    laps, usual = drive_circle(wrong), drive_circle(t)

    assert [lap.duration_s for lap in laps.complete] == pytest.approx([40.0] * 3, abs=1e-3)
    assert [lap.t_start for lap in laps.segments] == pytest.approx(
        [lap.t_start for lap in usual.segments], abs=1.0
    )
    assert laps.full.duration_s == pytest.approx(usual.full.duration_s, abs=1.0)


def test_zeros_again_and_again_cost_nothing() -> None:
    t = EPOCH + ticks()
    t[[0, 1, 300, 500, 501, 503, 900]] = 0.0

    laps = drive_circle(t)

    assert [lap.duration_s for lap in laps.complete] == pytest.approx([40.0] * 3, abs=1e-3)
    assert len(laps.series) == 1300 - 7


def test_a_clock_that_counted_from_zero_for_a_while_is_a_pause() -> None:
    t = EPOCH + ticks()
    wrong = np.where((t > EPOCH + 60) & (t < EPOCH + 62), t - EPOCH - 60, t)

    laps = drive_circle(wrong)

    assert [lap.duration_s for lap in laps.complete] == pytest.approx([40.0] * 3, abs=1e-3)
    assert laps.full.duration_s == pytest.approx(129.9)
    assert laps.series.gap.sum() == 1


@pytest.mark.parametrize("begin", [0.0, 100.0, 40_000.0, 80_000.0])
def test_a_zero_on_a_clock_of_seconds_or_of_the_day_costs_nothing(begin: float) -> None:
    t = begin + ticks()
    wrong = t.copy()
    wrong[700] = 0.0

    laps = drive_circle(wrong)

    assert [lap.duration_s for lap in laps.complete] == pytest.approx([40.0] * 3, abs=1e-3)
    assert not laps.series.gap.any()


@pytest.mark.parametrize("wrong_at", [300, 480, 520, 900])
def test_a_zero_on_a_day_that_ends_moves_nothing(wrong_at: int) -> None:
    t = (ticks() + DAY_S - 50.0) % DAY_S
    t[wrong_at] = 0.0

    laps = drive_circle(t)

    assert [lap.duration_s for lap in laps.complete] == pytest.approx([40.0] * 3, abs=1e-3)
    assert laps.full.duration_s == pytest.approx(129.9)


@pytest.mark.parametrize(
    "order",
    [
        [*range(700), 701, 700, *range(702, 1300)],
        [*range(700), 704, 702, 700, 701, 703, *range(705, 1300)],
        [*range(700), *range(720, 740), *range(700, 720), *range(740, 1300)],
        [*range(700), *range(680, 700), *range(700, 1300)],
        [*range(1280), *range(1290, 1300), *range(1280, 1290)],
        [i for i in range(1300) for _ in range(2)],
    ],
    ids=[
        "a pair swapped",
        "five shuffled",
        "a batch late",
        "a batch twice",
        "the last late",
        "each twice",
    ],
)
def test_frames_out_of_order_or_sent_twice_leave_the_laps_valid(order: list[int]) -> None:
    laps = detect(reorder(circle(130), order), gate=circle_gate(), track_length_m=1000.0)

    assert [lap.duration_s for lap in laps.complete] == pytest.approx([40.0] * 3, abs=1e-3)


@pytest.mark.parametrize("periods", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_times_that_jitter_leave_the_laps_valid(periods: float, seed: int) -> None:
    jitter = np.random.default_rng(seed).normal(0.0, periods * 0.1, 1300)

    laps = drive_circle(ticks() + jitter)

    assert [lap.duration_s for lap in laps.complete] == pytest.approx([40.0] * 3, abs=0.8)


@pytest.mark.parametrize("hz", [1.0, 2.0])
def test_times_of_whole_seconds_are_no_clock_put_back(hz: float) -> None:
    t = ticks(10.0)
    laps = drive_circle(np.floor(t * hz) / hz)

    assert len(laps.complete) == 3
    assert not laps.series.gap.any()


def test_only_the_time_around_the_moment_is_untold() -> None:
    times = [0.0, 1, 2, 3, 4, 5, 2, 3, 4, 5, 6, 7, 8]
    result = build_series(frames(times, distance_m=np.arange(13.0)))

    assert result.t.tolist() == [*range(13)]
    assert np.flatnonzero(result.put_back).tolist() == [5]
    assert [result.is_timed(a, b) for a, b in [(0, 5), (0, 5.5), (5.5, 8), (6, 12), (5, 6)]] == [
        True,
        False,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize("back_s", [5.0, 30.0, 100.0, 400.0, 3600.0, 40_000.0])
@pytest.mark.parametrize("moment", [0.05, 0.35, 60.05, 100.0])
def test_all_that_follows_a_clock_put_back_counts(back_s: float, moment: float) -> None:
    t = ticks()

    laps = drive_circle(EPOCH + np.where(t > moment, t - back_s, t))

    whole = [lap for lap in laps.segments if lap.kind == "lap"]
    assert [lap.valid for lap in whole] == [not 8 + 40 * i < moment < 48 + 40 * i for i in range(3)]
    assert [lap.duration_s for lap in whole] == pytest.approx([40.0] * 3, abs=2e-3)
    assert len(laps.series) == 1300
    assert laps.travelled[-1] == pytest.approx(129.9 * 25.0, rel=1e-3)
    assert laps.series.gap.sum() == 1


def test_a_batch_from_before_the_start_is_no_clock_put_back() -> None:
    order = [*range(100, 200), *range(100), *range(200, 1300)]

    read = build_series(reorder(circle(130), order))

    assert read.t.tolist() == ticks()[100:].tolist()
    assert not read.gap.any()


def test_a_clock_put_back_again_before_it_caught_up_goes_on_too() -> None:
    t = ticks()

    laps = drive_circle(EPOCH + t - 400.0 * (t > 20.01) - 900.0 * (t > 60.01))

    assert [lap.valid for lap in laps.segments if lap.kind == "lap"] == [False, False, True]
    assert laps.full.duration_s == pytest.approx(129.9)


def test_samples_beside_the_frames_move_with_the_clock() -> None:
    t = ticks()
    reported = EPOCH + np.where(t > 60.01, t - 400.0, t)
    samples = {"lap_number": Samples(np.sort(reported), t[np.argsort(reported)])}

    read = build_series(change(circle(130), timestamp=reported), samples)

    np.testing.assert_allclose(read.signal("lap_number"), t)


def test_a_batch_sent_twice_without_a_distance_of_its_own_adds_nothing() -> None:
    order = [*range(700), *range(600, 700), *range(700, 1300)]
    twice = reorder(circle(130), order)

    read = build_series(change(twice, distance_m=np.arange(1400.0)))

    assert len(read) == 1300
    assert not read.gap.any()


def test_a_clock_put_back_at_every_frame_ends() -> None:
    i = np.arange(1e5)

    read = build_series(frames(EPOCH + i % 10 - i // 10 * 20, speed_ms=i))

    assert read.put_back.sum() == 20


def test_infinite_times_side_by_side_are_left_out() -> None:
    assert build_series(frames([1.0, np.inf, np.inf, 2.0])).index.tolist() == [0, 3]
