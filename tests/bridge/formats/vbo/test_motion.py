"""Distance, spikes and turning against closed formulas."""

import numpy as np
import numpy.typing as npt
import pytest

from runtime.bridge.formats.motion import (
    EARTH_RADIUS_M,
    distance,
    forward,
    spikes,
    turning_g,
    valid_fixes,
)

Numbers = npt.NDArray[np.float64]
METRES = EARTH_RADIUS_M * np.pi / 180.0


def north(metres: Numbers) -> tuple[Numbers, Numbers]:
    """A drive to the north."""
    return 50.0 + metres / METRES, np.full(len(metres), 8.0)


@pytest.mark.parametrize("hz", [1.0, 10.0, 100.0])
def test_distance_is_what_was_driven(hz: float) -> None:
    t = np.arange(0, 60, 1 / hz)
    lat, lon = north(20.0 * t)
    assert distance(t, lat, lon, np.full(len(t), 20.0))[-1] == pytest.approx(20 * t[-1], rel=1e-6)


def test_noise_of_a_standing_receiver_is_no_distance() -> None:
    t = np.arange(0, 60, 0.1)
    lat, lon = north(np.random.default_rng(1).normal(0, 1.0, len(t)))
    assert distance(t, lat, lon, np.full(len(t), 0.3))[-1] == 0.0


def test_speed_counts_where_there_is_no_fix() -> None:
    t = np.arange(0, 20, 0.1)
    lat, lon = north(20.0 * t)
    lat[50:100] = np.nan
    assert distance(t, lat, lon, np.full(len(t), 20.0))[-1] == pytest.approx(20 * t[-1], rel=1e-3)


def test_rows_between_two_fixes_share_the_way() -> None:
    t = np.arange(0, 10, 0.02)
    lat, lon = north(20.0 * t)
    lat[np.arange(len(t)) % 5 != 0] = np.nan
    along = distance(t, lat, lon, np.full(len(t), np.nan))
    fixed = np.flatnonzero(np.isfinite(lat))
    assert np.allclose(along[: fixed[-1] + 1], 20 * t[: fixed[-1] + 1], rtol=1e-6)


def test_nothing_is_counted_across_a_gap() -> None:
    t = np.concatenate((np.arange(0, 10, 0.1), np.arange(100, 110, 0.1)))
    lat, lon = north(20.0 * t)
    driven = distance(t, lat, lon, np.full(len(t), 20.0))[-1]
    assert driven == pytest.approx(2 * 20 * 9.9, rel=1e-6)


def test_rows_that_repeat_or_go_back_in_time_add_nothing() -> None:
    t = np.array([0.0, 0.1, 0.1, 0.2, 0.15, 0.3])
    lat, lon = north(20.0 * t)
    along = distance(t, lat, lon, np.full(6, 20.0))
    assert np.allclose(along, [0, 2, 2, 4, 4, 6], atol=1e-6)
    assert forward(t).tolist() == [0, 1, 3, 5]


@pytest.mark.parametrize(
    ("lat", "lon", "valid"),
    [
        (0, 0, 0),
        (1e-7, -1e-7, 0),
        (0, 10, 1),
        (91, 0, 0),
        (10, -181, 0),
        (np.nan, 1, 0),
        (-90, 180, 1),
    ],
)
def test_a_fix_is_on_the_globe_and_not_zero(lat: float, lon: float, valid: int) -> None:
    assert valid_fixes(np.array([lat]), np.array([lon]))[0] == bool(valid)


@pytest.mark.parametrize("at", [slice(0, 1), slice(50, 51), slice(50, 55), slice(99, 100)])
def test_positions_that_leave_the_path_for_a_moment_are_spikes(at: slice) -> None:
    t = np.arange(0, 10, 0.1)
    lat, lon = north(20.0 * t)
    lat[at] += 0.5
    assert np.flatnonzero(spikes(t, lat, lon)).tolist() == list(range(*at.indices(100)))


def test_a_place_where_the_recording_goes_on_is_no_spike() -> None:
    t = np.arange(0, 10, 0.1)
    lat, lon = north(20.0 * t)
    lat[50:] += 0.5
    assert not spikes(t, lat, lon).any()


def test_a_right_hand_circle_pulls_to_the_right() -> None:
    t = np.arange(0, 40, 0.1)
    speed, radius = 20.0, 100.0
    heading = np.mod(np.degrees(speed * t / radius), 360.0)
    _, pull = turning_g(t, heading, np.full(len(t), speed))
    assert pull == pytest.approx(speed**2 / radius / 9.80665, rel=1e-6)
