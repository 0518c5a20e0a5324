"""Spikes and fixes against closed formulas."""

import numpy as np
import numpy.typing as npt
import pytest

from runtime.bridge.formats.motion import EARTH_RADIUS_M, spikes
from runtime.bridge.session.series import is_later, is_place

Numbers = npt.NDArray[np.float64]
METRES = EARTH_RADIUS_M * np.pi / 180.0


def north(metres: Numbers) -> tuple[Numbers, Numbers]:
    """A drive to the north."""
    return 50.0 + metres / METRES, np.full(len(metres), 8.0)


def test_times_that_repeat_or_go_back_are_not_later() -> None:
    later = is_later(np.array([0.0, 0.1, 0.1, 0.2, 0.15, 0.3]))
    assert np.flatnonzero(later).tolist() == [0, 1, 3, 5]


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
    assert is_place(np.array([lat]), np.array([lon]))[0] == bool(valid)


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
