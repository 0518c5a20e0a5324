"""The car on paper: bounds, physics that holds together, and signs for each car's logger."""

from dataclasses import replace

import numpy as np
import pytest

from runtime.bridge.can.rules import Rules
from runtime.bridge.simulator.course import MPH, choose_course, make_programme_lap
from runtime.bridge.simulator.schedule import make_schedule
from runtime.bridge.simulator.sensors import SimulatedDrive
from runtime.bridge.track.model import Track
from tests.bridge.simulator.drivekit import CARS, LARKFELL, MESSAGES, TRACKS, between, vesper

NO_LINE = replace(LARKFELL, line=None)
EVERY = pytest.mark.parametrize(
    "track", [*TRACKS.values(), NO_LINE, None], ids=[*TRACKS, "no line", "none"]
)


@EVERY
@pytest.mark.parametrize("seconds", [10.0, 60.0, 1200.0])
def test_every_signal_is_finite_and_fits_its_message(track: Track | None, seconds: float) -> None:
    schedule = vesper(track, seconds)
    t = np.linspace(0.0, schedule.drive.duration(2), 400)

    for name, values in schedule.drive.signals(t).items():
        assert np.isfinite(values).all(), name
    for frame in between(schedule, 0.0, 2.0):
        assert len(frame.data) == 8


@EVERY
def test_values_survive_the_bus_within_half_a_step(track: Track | None) -> None:
    schedule = vesper(track, 75.0)
    frames = between(schedule, 20.0, 24.0)
    wanted = schedule.encode_at(np.array([frame.t for frame in frames]))
    for row, frame in enumerate(frames):
        message = MESSAGES[frame.key]
        decoded = message.decode(frame.data, decode_choices=False)
        assert isinstance(decoded, dict)
        for signal in message.signals:
            value = decoded[signal.name]
            assert isinstance(value, float | int)
            half = float(signal.scale) / 2 * 1.001
            assert abs(value - wanted[signal.name][row]) <= half, signal.name


def test_the_programme_keeps_its_bounds() -> None:
    drive = SimulatedDrive(choose_course(None, 60.0), seed=3)
    t = np.arange(drive.lead_s, drive.duration(6), 0.02)
    values = drive.signals(t)
    lap_t = drive.motion(t).lap_t
    half = np.mod(lap_t, 30.0) / 30.0

    assert values["speed_mph"].min() >= 28.0
    assert values["speed_mph"].max() <= 135.0
    assert values["rpm"].min() >= 900.0
    assert values["rpm"].max() <= 7800.0
    assert values["brake_press_psi"].max() == pytest.approx(600.0, rel=0.03)
    outside_corners = (half < 0.19) | (half > 0.36)
    both = (values["brake_press_psi"] > 0) & (values["throttle_pos_pct"] > 0)
    assert not (both & outside_corners).any()
    cornering = (half > 0.22) & (half < 0.33)
    assert (values["lateral_accel_g"][cornering & (lap_t < 30.0)] > 0.2).all()
    assert (values["lateral_accel_g"][cornering & (lap_t > 30.0)] < -0.2).all()


@pytest.mark.parametrize(("seconds", "length", "bound"), [(60, 2000, True), (60, 5000, False)])
def test_a_programme_is_as_long_as_the_circuit(seconds: float, length: float, bound: bool) -> None:
    lap = make_programme_lap(seconds, length)

    assert lap.length_m == pytest.approx(length)
    assert lap.seconds == seconds
    assert (lap.speed.max() <= 135 * MPH) == bound


@EVERY
def test_the_car_moves_as_fast_as_its_wheels_say(track: Track | None) -> None:
    drive = SimulatedDrive(choose_course(track, 60.0))
    t = np.arange(0.0, drive.duration(2), 0.5)
    values = drive.signals(t)
    lat = np.radians(values["gps_lat"])
    north = np.diff(values["gps_lat"]) * 111_320
    east = np.diff(values["gps_lon"]) * 111_320 * np.cos(lat[0])

    gone = np.hypot(north, east)
    fine = drive.motion(np.arange(0.0, drive.duration(2), 0.01)).speed
    said = np.array([fine[i * 50 : (i + 1) * 50].mean() * 0.5 for i in range(len(gone))])
    assert np.median(np.abs(gone - said)) < 0.5
    assert (gone <= said + 1.0).all()  # a chord is no longer than its arc


@pytest.mark.parametrize("car", CARS)
def test_each_car_file_arrives_at_what_is_true(car: str) -> None:
    """Right-hand corners, an upright car, brakes without their rest: whatever the logger sends."""
    schedule = make_schedule(LARKFELL, 60.0, MESSAGES, CARS[car])
    rules = Rules(CARS[car].plan)
    wanted = {
        "steering_deg": ("steer_angle_deg", 1.0),
        "g_lat": ("lateral_accel_g", 1.0),
        "g_long": ("inline_accel_g", 1.0),
        "g_vert": ("vertical_accel_g", 1.0),
        "yaw_rate_dps": ("yaw_rate_degs", 1.0),
        "brake_bar": ("brake_press_psi", 0.0689476),
        "fuel_level_l": ("fuel_level_gal", 3.785411784),
        "speed_ms": ("speed_mph", MPH),
        "throttle_pct": ("throttle_pos_pct", 1.0),
    }
    for t in (12.0, 31.0, 48.5):
        truth = schedule.drive.signals_at(t)
        values = rules.feed_frame(
            {name: given[0] for name, given in schedule.encode_at(np.array([t])).items()}
        )
        for name, (raw, unit) in wanted.items():
            assert values[name] == pytest.approx(truth[raw] * unit, rel=1e-6, abs=1e-6), name


def test_a_logger_that_nobody_knows_hangs_upside_down() -> None:
    values = make_schedule(LARKFELL, 60.0, MESSAGES).encode_at(np.array([3.0]))

    assert values["vertical_accel_g"][0] == pytest.approx(-0.99, abs=0.05)
