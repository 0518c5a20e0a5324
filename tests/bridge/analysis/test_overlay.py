"""Everything of a lap on one axis: values whose answer is known, and what was not recorded."""

import numpy as np

from runtime.bridge.analysis.drive import drive_of
from runtime.bridge.analysis.overlay import (
    SPEED,
    Channels,
    lap_axis,
    lap_channels,
    lap_places,
)
from runtime.bridge.session.laps import detect
from runtime.bridge.session.recording import Samples
from tests.bridge.analysis.lapkit import LENGTH, drive_laps, session
from tests.bridge.session.sessions import keep

TWO = [(20.0, 20.0, 20.0), (30.0, 20.0, 10.0)]
POINTS = 301
"""Every 10 m."""


def channels_of(
    lap: int, signals: dict[str, Samples] | None = None, discrete: tuple[str, ...] = ()
) -> Channels:
    return lap_channels(drive_laps(TWO, throttle_pct=40.0), lap, POINTS, signals or {}, discrete)


def test_time_and_channels_stand_at_even_places_of_the_lap() -> None:
    result = channels_of(2)

    at = lap_places(LENGTH, POINTS)
    expected = np.interp(at, [0, 1000, 2000, 3000], [0.0, 30.0, 50.0, 60.0])
    np.testing.assert_allclose(result["time_s"], expected, atol=1e-6)
    np.testing.assert_allclose(result[SPEED][[50, 150, 250]], [120.0, 180.0, 360.0])
    np.testing.assert_allclose(result["throttle_pct"], 40.0)
    assert result.keys().isdisjoint(["brake_bar", "lat", "lon"])


def test_readings_that_no_number_holds_between_them_are_left_out() -> None:
    huge = Samples(np.array([60.0, 61.0, 62.0]), np.array([1.7e308, -1.7e308, 1.7e308]))

    result = channels_of(2, {"huge": huge})["huge"]

    assert not np.isinf(result).any()


def test_a_state_is_held_and_a_measurement_is_read_between_its_samples() -> None:
    seconds = np.arange(0.0, 121.0)
    signals = {
        "gear_position": Samples(np.array([0.0, 75.0]), np.array([2.0, 3.0])),
        "oil_temp_c": Samples(seconds, 80.0 + seconds),
        "nothing": Samples(np.empty(0), np.empty(0)),
    }

    result = channels_of(2, signals, ("gear_position",))

    moment = 60.0 + result["time_s"]
    np.testing.assert_array_equal(result["gear_position"], np.where(moment < 75.0, 2.0, 3.0))
    np.testing.assert_allclose(result["oil_temp_c"], 80.0 + moment)
    assert "nothing" not in result


def test_a_signal_is_not_drawn_across_a_pause_of_its_own() -> None:
    t = np.arange(0.0, 121.0)
    kept = (t < 70.0) | (t > 85.0)
    result = channels_of(2, {"oil_temp_c": Samples(t[kept], t[kept])})

    moment = 60.0 + result["time_s"]
    np.testing.assert_array_equal(np.isnan(result["oil_temp_c"]), (moment > 69.0) & (moment < 86.0))


def test_places_that_were_passed_unseen_have_no_row() -> None:
    frames = session(TWO)
    t = frames.columns["timestamp"]
    paused = drive_of(detect(keep(frames, (t < 70.0) | (t > 74.0)), track_length_m=LENGTH))

    result = lap_axis(paused, 2, 50.0)

    assert result.distance_m is not None
    gone = set(np.arange(0.0, 3001.0, 50.0)) - set(result.distance_m.tolist())
    assert gone == {350.0, 400.0, 450.0}
    assert (np.diff(result.t) > 0).all()
