"""The distance of motions whose answer is known."""

import random

import pytest

from runtime.bridge.can.distance import STANDARD_GRAVITY, DistanceFilter

G = STANDARD_GRAVITY


def test_constant_acceleration_gives_half_a_t_squared() -> None:
    moved = DistanceFilter()
    a = 4.0
    for n in range(1001):
        t = n / 100
        moved.add_acceleration(t, a / G)
        if n % 10 == 0:
            moved.add_speed(t, a * t)
    assert moved.estimate_at(10.0) == pytest.approx(a * 10.0**2 / 2, abs=0.3)


def test_a_told_distance_corrects_a_speed_that_reads_high() -> None:
    alone, helped = DistanceFilter(), DistanceFilter()
    chance = random.Random(4)
    for n in range(6001):
        t = n / 10
        for moved in (alone, helped):
            moved.add_speed(t, 30.0 * 1.02)
        helped.add_distance(t, 5000.0 + 30.0 * t + chance.gauss(0, 3.0))
    assert alone.estimate_at(600.0) == pytest.approx(18_360.0, abs=1.0)
    error = abs(alone.estimate_at(600.0) - 18_000.0)
    assert abs(helped.estimate_at(600.0) - 18_000.0) < 0.2 * error


def test_a_told_distance_that_starts_over_does_not_throw_the_car_back() -> None:
    moved = DistanceFilter()
    for n in range(1001):
        t = n / 10
        moved.add_speed(t, 30.0)
        moved.add_distance(t, 30.0 * t % 1000.0)
    assert moved.estimate_at(100.0) == pytest.approx(3000.0, abs=1.0)


def test_a_car_that_stands_on_a_slope_does_not_creep() -> None:
    moved = DistanceFilter()
    for n in range(501):
        moved.add_speed(n / 50, max(10.0 - n / 25, 0.0))
    stopped = moved.estimate_at(10.0)
    for n in range(1, 3001):
        moved.add_acceleration(10.0 + n / 50, 0.08)
        if n % 5 == 0:
            moved.add_speed(10.0 + n / 50, 0.0)
    assert moved.estimate_at(70.0) - stopped < 0.001


def test_braking_stops_the_car_and_does_not_drive_it_backwards() -> None:
    moved = DistanceFilter()
    for n in range(11):
        moved.add_speed(n / 10, 5.0)
    before = moved.estimate_at(1.0)
    moved.add_acceleration(1.0, -1.0)
    # Speed and distance between two measurements, the second one long after the stop.
    assert moved.estimate_at(1.9) - before == pytest.approx(25.0 / (2 * G), rel=0.01)
    moved.add_speed(1.9, 0.0)
    assert moved.estimate_at(1.9) - before == pytest.approx(25.0 / (2 * G), abs=0.1)


def test_time_that_stands_still_or_runs_backwards_moves_nothing() -> None:
    moved = DistanceFilter()
    for n in range(101):
        moved.add_speed(n / 10, 20.0)
    before = moved.estimate_at(10.0)
    for t in (10.0, 10.0, 3.0, -5.0, 9.99):
        moved.add_speed(t, 20.0)
        assert moved.estimate_at(t) == pytest.approx(before)
    moved.add_speed(10.1, 20.0)
    assert moved.estimate_at(10.1) == pytest.approx(before + 2.0)


def test_a_long_silence_counts_for_a_second() -> None:
    moved = DistanceFilter()
    for n in range(101):
        moved.add_speed(n / 10, 20.0)
    before = moved.estimate_at(10.0)
    assert moved.estimate_at(500.0) == pytest.approx(before + 20.0)
    moved.add_speed(500.0, 20.0)
    assert moved.estimate_at(500.0) == pytest.approx(before + 20.0, abs=0.1)
