"""What is no motion of a car is not believed, and what no sensor measured is computed."""

import numpy as np
import pytest

from runtime.bridge.session.recording import Numbers, Samples
from runtime.bridge.session.series import (
    Flags,
    Odometer,
    Series,
    fill_distance,
    measure_distance,
    series,
)
from tests.bridge.session.sessions import frames

EVEN: Numbers = np.full(100, 30.0)


def with_readings(begin: int, *readings: float) -> Numbers:
    """30 m/s with other readings in between."""
    speed = EVEN.copy()
    speed[begin : begin + len(readings)] = readings
    return speed


@pytest.mark.parametrize(
    "readings", [(88_130.0,), (130.0,), (-400.0,), (0.0,), (110.0, 130.0, 120.0), (70.0, 140.0)]
)
@pytest.mark.parametrize("begin", [0, 50, -1])
def test_a_speed_that_no_car_reached_between_its_neighbours_is_none(
    begin: int, readings: tuple[float, ...]
) -> None:
    if begin < 0:
        begin = len(EVEN) - len(readings)
    t = np.arange(100) / 10
    whole = series(frames(t, speed_ms=with_readings(begin, *readings)))
    speed = whole["speed_ms"]
    wrong = slice(begin, begin + len(readings))
    assert np.isnan(speed[wrong]).all()
    assert np.array_equal(np.delete(speed, np.r_[wrong]), np.delete(EVEN, np.r_[wrong]))
    assert measure_distance(whole)[-1] == pytest.approx(30.0 * 9.9)
    assert np.array_equal(whole.recorded("speed_ms")[wrong], readings)


@pytest.mark.parametrize("hz", [1.0, 10.0, 100.0])
def test_braking_as_hard_as_a_racing_car_is_believed(hz: float) -> None:
    t = np.arange(0.0, 30.0, 1 / hz)
    speed = np.maximum(5.0, np.interp(t, [0.0, 10.0, 12.0], [95.0, 95.0, 5.0]))
    held = speed[np.floor(np.arange(len(t)) / max(hz / 5, 1)).astype(int) * int(max(hz / 5, 1))]
    for readings in (speed, held):
        assert np.array_equal(series(frames(t, speed_ms=readings))["speed_ms"], readings)


def test_a_car_that_drives_on_after_a_pause_may_have_any_speed() -> None:
    t = np.concatenate([np.arange(50) / 10, 60 + np.arange(50) / 10])
    speed = np.where(t < 30, 0.0, 60.0)
    assert np.array_equal(series(frames(t, speed_ms=speed))["speed_ms"], speed)


@pytest.mark.parametrize("reading", [88_130.0, 130.0])
def test_the_way_that_is_added_up_leaves_an_impossible_speed_out(reading: float) -> None:
    t, nothing = np.arange(100) / 10, np.full(100, np.nan)
    speed = with_readings(50, reading)
    filled, odometer = fill_distance(t, speed, nothing, Odometer())
    assert np.isnan(filled[50])
    assert odometer.distance_m == pytest.approx(30.0 * 9.9)
    # A clock that is put back does not make all later speeds impossible.
    later, _ = fill_distance(t, EVEN * 2, nothing, odometer._replace(t=5000.0))
    assert later[-1] == pytest.approx(30.0 * 9.9 + 60.0 * 9.9)


def pedal(t: Numbers, low: float, high: float) -> Numbers:
    """A brake that is pressed for 2 s of every 10 s."""
    return np.where(t % 10.0 >= 8.0, high, low)


def drive(**signals: Numbers) -> tuple[Series, Flags]:
    """A minute with signals outside the frames, and when the brake was pressed."""
    t = np.arange(600) / 10
    extras = {name: Samples(t, values) for name, values in signals.items()}
    return series(frames(t, speed_ms=30.0), extras), pedal(t, 0.0, 1.0) > 0


def test_a_brake_percentage_or_switch_says_when_the_driver_brakes() -> None:
    t = np.arange(600) / 10
    percent, switch = pedal(t, 12.0, 70.0), pedal(t, 0.0, 1.0)
    for basis, signals in (
        ("percent", {"brake_position_pct": percent, "brake_switch": 1.0 - switch}),
        ("switch", {"brake_switch": switch}),
        ("switch", {"brake_position_pct": np.full(600, 12.0), "brake_switch": switch}),
    ):
        whole, pressed = drive(**signals)
        assert whole.braking is not None
        assert whole.braking.basis == basis
        assert np.array_equal(whole.braking.flags, pressed)
        assert np.array_equal(whole.braking.pressed(2.0), pressed)
        assert np.isnan(whole["brake_bar"]).all()


def test_a_brake_pressure_comes_before_all_else() -> None:
    t = np.arange(600) / 10
    given = frames(t, speed_ms=30.0, brake_bar=pedal(t, 3.0, 40.0))
    whole = series(given, {"brake_switch": Samples(t, np.ones(600))})
    assert whole.braking is not None
    assert whole.braking.basis == "pressure"
    assert whole.braking.pressed(2.0).all()
    assert np.array_equal(whole.braking.flags, pedal(t, 0.0, 1.0) > 0)


def test_nothing_says_when_a_driver_brakes_who_has_no_brake_and_no_speed() -> None:
    t = np.arange(600) / 10
    assert series(frames(t)).braking is None
    assert drive(brake_switch=np.zeros(600))[0].braking is None


def test_a_switch_is_read_on_after_midnight() -> None:
    t = np.arange(600) / 10
    clock = (t + 86_370.0) % 86_400.0
    switch = Samples(clock[::5], pedal(t, 0.0, 1.0)[::5])
    whole = series(frames(clock, speed_ms=30.0), {"brake_switch": switch})
    assert whole.braking is not None
    assert np.array_equal(whole.braking.flags, pedal(t, 0.0, 1.0) > 0)
