"""Progress without the jitter of position fixes."""

import numpy as np
import pytest

from runtime.bridge.session.progress import APART_M, smooth_progress
from runtime.bridge.session.recording import Numbers

HZ = 10.0


def rolling(seconds: float = 120.0) -> tuple[Numbers, Numbers]:
    """Times, and metres of a car that speeds up and slows down."""
    t: Numbers = np.arange(0.0, seconds, 1.0 / HZ)
    return t, 30.0 * t - 60.0 * np.cos(t / 6.0)


def test_jitter_becomes_a_fifth_at_most() -> None:
    t, truth = rolling()
    jitter = np.random.default_rng(4).normal(0.0, 1.5, len(t))

    even = smooth_progress(truth + jitter, truth, t, 1.0 / HZ)

    assert np.std(even - truth) < np.std(jitter) / 5.0


def test_where_wheels_lock_the_fixes_count() -> None:
    t, truth = rolling()
    rolled = truth.copy()
    locked = (t > 60.0) & (t < 62.0)
    rolled[t >= 60.0] -= truth[t >= 60.0] - np.where(
        locked[t >= 60.0], truth[t >= 60.0][0], truth[t >= 60.0] - np.ptp(truth[locked])
    )

    even = smooth_progress(truth, rolled, t, 1.0 / HZ)

    assert np.abs(even - truth).max() <= 2 * APART_M


def test_a_pause_is_not_averaged_over() -> None:
    t, truth = rolling()
    after = t >= 60.0
    t, place = np.where(after, t + 30.0, t), np.where(after, truth + 400.0, truth)

    even = smooth_progress(place, truth, t, 1.0 / HZ)

    assert even == pytest.approx(place, abs=1e-6)


@pytest.mark.parametrize(("count", "hz"), [(1, 10.0), (2, 10.0), (30, 10.0), (500, 1.0), (9, 0.0)])
def test_short_and_slow_recordings_keep_their_length(count: int, hz: float) -> None:
    period = 1.0 / hz if hz else 0.0
    t: Numbers = np.arange(count, dtype=np.float64) * (period or 1.0)
    place: Numbers = 20.0 * t

    assert smooth_progress(place, place, t, period) == pytest.approx(place, abs=1e-6)
    assert len(smooth_progress(place + 1.0, place, t, period)) == count
