"""Rates, load and unknown ids of a bus."""

import pytest

from runtime.bridge.can.frames import EXTENDED, CanFrame, Received
from runtime.bridge.can.statistics import MOST_UNKNOWN, BusStatistics, KnownMessage


class Times:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Times:
    return Times()


@pytest.fixture
def statistics(clock: Times) -> BusStatistics:
    return BusStatistics(
        {0x100: KnownMessage("ENGINE", 50.0), 0x200: KnownMessage("GPS")}, 1_000_000, clock
    )


def frames(*keys: int) -> Received:
    return Received([CanFrame(0.0, key, bytes(8)) for key in keys])


def test_the_load_of_a_dash_bus_is_as_reckoned(statistics: BusStatistics, clock: Times) -> None:
    for _ in range(10 * 50):  # 250 standard frames of 8 bytes a second
        clock.now += 0.02
        statistics.add(frames(*[0x100] * 5))
    counts = statistics.snapshot()
    assert counts.frames_per_second == pytest.approx(250, rel=0.1)
    assert counts.bus_load_pct == pytest.approx(250 * 111 * 1.1 / 1e6 * 100, rel=0.1)
    assert counts.ids[0].hz == pytest.approx(250, rel=0.1)


def test_frames_of_29_bits_and_short_ones_weigh_differently(
    statistics: BusStatistics, clock: Times
) -> None:
    statistics.add(Received([CanFrame(0.0, 5 | EXTENDED, bytes(8)), CanFrame(0.0, 5, b"")]))
    assert statistics.snapshot().bus_load_pct == pytest.approx((131 + 47) * 1.1 / 5e6 * 100)


def test_rates_fall_to_zero_once_the_bus_is_silent(statistics: BusStatistics, clock: Times) -> None:
    for _ in range(20):
        statistics.add(frames(0x100))
        clock.now += 0.1
    clock.now += 5.5
    counts = statistics.snapshot()
    assert counts.frames_per_second == 0.0
    assert counts.bus_load_pct == 0.0
    assert counts.ids[0].hz == 0.0
    assert counts.last_frame_age_s == pytest.approx(5.6)
    assert counts.frames_total == 20


def test_known_and_unknown_ids_are_told_apart(statistics: BusStatistics, clock: Times) -> None:
    statistics.add(frames(0x200, 0x100, 0x100, 0x7, 0x7, 0x7, 9 | EXTENDED))
    clock.now += 1.5
    statistics.add(Received((), errors=2, malformed=3))
    counts = statistics.snapshot()
    assert counts[:4] == (7, 4, 2, 3)
    rows = [(row.can_id, row.message, row.frames, row.expected_hz) for row in counts.ids]
    assert rows == [("0x100", "ENGINE", 2, 50.0), ("0x200", "GPS", 1, None)]
    assert [row.age_s for row in counts.ids] == [1.5, 1.5]
    unknown = [(row.can_id, row.frames, row.hz) for row in counts.unknown_ids]
    assert unknown == [("0x007", 3, 0.6), ("0x00000009", 1, 0.2)]


def test_a_bus_of_hostile_ids_costs_bounded_memory_and_hides_no_real_one(
    statistics: BusStatistics, clock: Times
) -> None:
    real = 0x55
    for number in range(20_000):
        clock.now += 0.01
        statistics.add(frames(number | EXTENDED, 0x100, *[real] * (number % 2)))
    counts = statistics.snapshot()
    assert len(statistics._counts) <= MOST_UNKNOWN + 2
    assert len(statistics._seen) == len(statistics._counts)
    assert len(statistics._slices) <= 12
    assert len(counts.unknown_ids) == 50
    assert counts.unknown_ids[0].key == real
    assert counts.unknown_ids[0].frames == 10_000
    assert counts.frames_unknown == 30_000
    assert all(row.hz >= 0.0 for row in counts.unknown_ids)
