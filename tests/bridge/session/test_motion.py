"""What is no motion of a car is not believed, and what no sensor measured is computed."""

import numpy as np
import pytest

from runtime.bridge.session.motion import STANDARD_GRAVITY, Path, derive_motion
from runtime.bridge.session.recording import Frames, Numbers, Samples
from runtime.bridge.session.series import (
    Flags,
    Odometer,
    Series,
    build_series,
    fill_distance,
    measure_distance,
)
from runtime.bridge.track.library import Library
from tests.bridge.session.sessions import change, frames
from tests.bridge.track.examples import DATA
from tools.drive import Noise
from tools.drive import drive as drive_laps

OVAL = Library.read(DATA).tracks["tarn-oval"]

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
    whole = build_series(frames(t, speed_ms=with_readings(begin, *readings)))
    speed = whole["speed_ms"]
    wrong = slice(begin, begin + len(readings))
    assert np.isnan(speed[wrong]).all()
    assert np.array_equal(np.delete(speed, np.r_[wrong]), np.delete(EVEN, np.r_[wrong]))
    assert measure_distance(whole)[-1] == pytest.approx(30.0 * 9.9)
    assert np.array_equal(whole.read_raw("speed_ms")[wrong], readings)


@pytest.mark.parametrize("hz", [1.0, 10.0, 100.0])
def test_braking_as_hard_as_a_racing_car_is_believed(hz: float) -> None:
    t = np.arange(0.0, 30.0, 1 / hz)
    speed = np.maximum(5.0, np.interp(t, [0.0, 10.0, 12.0], [95.0, 95.0, 5.0]))
    held = speed[np.floor(np.arange(len(t)) / max(hz / 5, 1)).astype(int) * int(max(hz / 5, 1))]
    for readings in (speed, held):
        assert np.array_equal(build_series(frames(t, speed_ms=readings))["speed_ms"], readings)


def test_a_car_that_drives_on_after_a_pause_may_have_any_speed() -> None:
    t = np.concatenate([np.arange(50) / 10, 60 + np.arange(50) / 10])
    speed = np.where(t < 30, 0.0, 60.0)
    assert np.array_equal(build_series(frames(t, speed_ms=speed))["speed_ms"], speed)


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
    return build_series(frames(t, speed_ms=30.0), extras), pedal(t, 0.0, 1.0) > 0


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
        assert np.array_equal(whole.braking.is_pressed(2.0), pressed)
        assert np.isnan(whole["brake_bar"]).all()


def test_a_brake_pressure_comes_before_all_else() -> None:
    t = np.arange(600) / 10
    value = frames(t, speed_ms=30.0, brake_bar=pedal(t, 3.0, 40.0))
    whole = build_series(value, {"brake_switch": Samples(t, np.ones(600))})
    assert whole.braking is not None
    assert whole.braking.basis == "pressure"
    assert whole.braking.is_pressed(2.0).all()
    assert np.array_equal(whole.braking.flags, pedal(t, 0.0, 1.0) > 0)


def test_without_a_brake_the_driver_brakes_where_the_car_slows_harder_than_by_its_engine() -> None:
    t = np.arange(0.0, 120.0, 0.1)
    # Of every 40 s: pull away, lift (0.12 g) for 6 s, brake (0.9 g) for 3 s, stay.
    knots = np.array([0.0, 20.0, 26.0, 29.0, 40.0])
    speeds = np.array([10.0, 50.0, 50.0 - 0.12 * 9.81 * 6, 43.0 - 0.9 * 9.81 * 3, 10.0])
    speed = np.interp(t % 40.0, knots, speeds)
    noisy = speed + np.random.default_rng(1).normal(0.0, 0.1, len(t))
    braking = build_series(frames(t, speed_ms=noisy)).braking
    assert braking is not None
    assert braking.basis == "deceleration"
    true = (t % 40.0 >= 26.0) & (t % 40.0 < 29.0)
    begins = np.flatnonzero(np.diff(braking.flags.astype(int)) == 1) + 1
    assert t[begins] % 40.0 == pytest.approx([26.0] * 3, abs=0.3)
    assert (braking.flags != true).mean() < 0.02


def test_nothing_says_when_a_driver_brakes_who_has_neither_brake_nor_speed() -> None:
    assert build_series(frames(np.arange(600) / 10)).braking is None


def test_a_switch_is_read_on_after_midnight() -> None:
    t = np.arange(600) / 10
    clock = (t + 86_370.0) % 86_400.0
    switch = Samples(clock[::5], pedal(t, 0.0, 1.0)[::5])
    whole = build_series(frames(clock, speed_ms=30.0), {"brake_switch": switch})
    assert whole.braking is not None
    assert np.array_equal(whole.braking.flags, pedal(t, 0.0, 1.0) > 0)


NOISY = Noise(gps_m=1.0, gps_jitter_m=0.5, speed_ms=0.1)


def without_sensors(hz: float, noise: Noise = NOISY) -> tuple[Frames, Frames]:
    """Laps of the oval without accelerometers, and with the true accelerations."""
    true = drive_laps(OVAL, 3, hz=hz, noise=noise).frames
    return change(true, g_lat=np.nan, g_long=np.nan, combo_g=np.nan, brake_bar=np.nan), true


def error(values: Numbers, true: Numbers) -> float:
    """Root mean square; values may lack a few frames at either end."""
    assert np.isnan(values).mean() < 0.02
    return float(np.sqrt(np.nanmean((values - true) ** 2)))


@pytest.mark.parametrize("hz", [10.0, 25.0])
def test_accelerations_that_no_sensor_measured_come_from_speed_and_positions(hz: float) -> None:
    recorded, true = without_sensors(hz)
    whole = build_series(recorded)
    assert whole.derived == {"g_lat", "g_long", "combo_g", "braking", "yaw_rate"}
    assert error(whole["g_lat"], true.columns["g_lat"]) < 0.1
    assert error(whole["g_long"], true.columns["g_long"]) < 0.1
    assert error(whole.combo_g, true.columns["combo_g"]) < 0.12
    peaks = [np.nanmax(np.abs(item)) for item in (whole["g_lat"], true.columns["g_lat"])]
    assert peaks[0] == pytest.approx(peaks[1], abs=0.3)
    speed = true.columns["speed_ms"]
    rate = np.degrees(true.columns["g_lat"] * STANDARD_GRAVITY / np.maximum(speed, 5.0))
    assert error(whole.motion.turn_degs[speed > 5.0], rate[speed > 5.0]) < 3.0
    assert np.isnan(whole.read_raw("g_lat")).all()


def test_a_receiver_that_holds_its_fixes_tells_the_same() -> None:
    recorded, true = without_sensors(100.0, Noise(gps_jitter_m=0.05))
    fix = np.arange(len(recorded)) // 20 * 20
    held = change(recorded, **{name: recorded.columns[name][fix] for name in ("lat", "lon")})
    assert error(build_series(held)["g_lat"], true.columns["g_lat"]) < 0.1


def test_without_a_speed_the_positions_tell_both_accelerations() -> None:
    recorded, true = without_sensors(10.0, Noise(gps_jitter_m=0.05))
    whole = build_series(change(recorded, speed_ms=np.nan))
    assert error(whole["g_lat"], true.columns["g_lat"]) < 0.1
    assert error(whole["g_long"], true.columns["g_long"]) < 0.1


def test_without_positions_only_the_longitudinal_acceleration_is_known() -> None:
    recorded, true = without_sensors(10.0)
    whole = build_series(change(recorded, lat=0.0, lon=0.0))
    assert whole.derived == {"g_long", "braking"}
    assert np.isnan(whole["g_lat"]).all()
    assert error(whole["g_long"], true.columns["g_long"]) < 0.1


def test_a_sensor_that_shows_the_same_all_the_time_is_none() -> None:
    recorded, true = without_sensors(10.0)
    g_long = true.columns["g_long"]
    dead = change(recorded, g_lat=0.0, g_long=g_long, combo_g=np.abs(g_long))
    whole = build_series(dead)
    assert whole.derived == {"g_lat", "combo_g", "braking", "yaw_rate"}
    assert error(whole["g_lat"], true.columns["g_lat"]) < 0.1
    assert error(whole.combo_g, true.columns["combo_g"]) < 0.1
    assert np.array_equal(whole["g_long"], g_long)


def test_what_a_sensor_measured_stays() -> None:
    _, true = without_sensors(10.0)
    whole = build_series(true)
    assert whole.derived == {"yaw_rate"}
    for name in ("g_lat", "g_long", "combo_g"):
        assert np.array_equal(whole[name], true.columns[name])


def test_a_position_that_jumps_makes_no_acceleration() -> None:
    recorded, true = without_sensors(10.0)
    lat = recorded.columns["lat"].copy()
    lat[1000] += 20.0 / 111_320.0
    whole = build_series(change(recorded, lat=lat))
    near = slice(980, 1021)
    expected = whole["g_lat"][near]
    assert np.isnan(expected).any()
    assert np.nanmax(np.abs(expected - true.columns["g_lat"][near])) < 0.5


def test_readings_that_fill_no_moment_tell_no_acceleration() -> None:
    t = np.arange(16) / 2000
    motion = derive_motion(t, np.full(16, 23.0), Path(t, 20 * t, 10 * t))
    assert np.isnan(np.array(motion)).all()
