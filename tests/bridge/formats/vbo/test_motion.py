"""Spikes and fixes against closed formulas."""

import numpy as np
import numpy.typing as npt
import pytest

from runtime.bridge.formats.gps_motion import EARTH_RADIUS_M, find_spikes

Numbers = npt.NDArray[np.float64]
METRES = EARTH_RADIUS_M * np.pi / 180.0


def north(metres: Numbers) -> tuple[Numbers, Numbers]:
    """A drive to the north."""
    return 50.0 + metres / METRES, np.full(len(metres), 8.0)


@pytest.mark.parametrize("at", [slice(0, 1), slice(50, 51), slice(50, 55), slice(99, 100)])
def test_positions_that_leave_the_path_for_a_moment_are_spikes(at: slice) -> None:
    t = np.arange(0, 10, 0.1)
    lat, lon = north(20.0 * t)
    lat[at] += 0.5
    assert np.flatnonzero(find_spikes(t, lat, lon)).tolist() == list(range(*at.indices(100)))


def test_a_place_where_the_recording_goes_on_is_no_spike() -> None:
    t = np.arange(0, 10, 0.1)
    lat, lon = north(20.0 * t)
    lat[50:] += 0.5
    assert not find_spikes(t, lat, lon).any()
