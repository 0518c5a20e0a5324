"""Stamps that never run backwards."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.can.clock import Aligner, EpochClock, Spread


class Times:
    """A clock that is set by hand."""

    def __init__(self, now: float) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def test_a_step_of_the_wall_clock_moves_no_stamp() -> None:
    monotonic, wall = Times(50.0), Times(1.7e9)
    clock = EpochClock(monotonic, wall)
    assert clock.now() == 1.7e9
    monotonic.now += 2.0
    wall.now -= 3600.0
    assert clock.now() == 1.7e9 + 2.0
    clock.realign()
    assert clock.now() == 1.7e9 - 3600.0


def test_a_stamp_of_the_kernel_keeps_its_age_whatever_the_wall_clock_was_set_to() -> None:
    monotonic, wall = Times(50.0), Times(1.7e9)
    clock = EpochClock(monotonic, wall)
    wall.now -= 3600.0
    assert clock.convert_wall(wall.now - 0.25) == 1.7e9 - 0.25
    assert clock.convert_wall(wall.now + 5.0) == 1.7e9
    assert clock.convert_wall(wall.now - 100.0) == 1.7e9 - 1.0


def test_delays_on_the_way_do_not_show_in_aligned_stamps() -> None:
    aligner = Aligner()
    delays = [0.002, 0.0, 0.03, 0.001, 0.2, 0.0, 0.004] * 5
    stamps = [aligner.align(7.0 + n / 50, 1e6 + n / 50 + late) for n, late in enumerate(delays)]
    later = [b - a for a, b in itertools.pairwise(stamps[1:])]
    assert later == pytest.approx([0.02] * len(later), abs=1e-4)
    assert all(stamp <= 1e6 + n / 50 + 1e-3 for n, stamp in enumerate(stamps[1:], 1))


def test_an_adapter_clock_that_goes_wrong_is_followed() -> None:
    aligner = Aligner()
    stamp = 0.0
    for n in range(36_000):  # an hour, 50 in a million slow
        stamp = aligner.align(n / 10 * (1 - 50e-6), 1e6 + n / 10)
    assert stamp == pytest.approx(1e6 + 3599.9, abs=0.001)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.integers(0, 50)), max_size=20))
def test_spread_stamps_grow_strictly(reads: list[tuple[float, float, int]]) -> None:
    spread, now = Spread(), 1.7e9
    stamps: list[float] = []
    for waited, took, n in reads:
        begin = now + waited
        now = begin + took
        stamps += spread.spread(begin, now, n)
    assert all(a < b for a, b in itertools.pairwise(stamps))
