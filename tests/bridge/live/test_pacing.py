"""When frames are due again: as recorded, with long pauses shortened and no way back in time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.live.replay import pace

MIDNIGHT = 86_400.0
CASES = {
    "even": ([10.0, 10.1, 10.2, 10.3], [0.0, 0.1, 0.2, 0.3]),
    "a pause of 4 s stays": ([0.0, 4.0, 5.0], [0.0, 4.0, 5.0]),
    "an hour's pause is 5 s": ([0.0, 1.0, 3601.0, 3602.0], [0.0, 1.0, 6.0, 7.0]),
    "twice the same stamp": ([0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 1.0, 2.0]),
    "out of order": ([0.0, 1.0, 0.9, 2.0], [0.0, 1.0, 1.0, 2.0]),
    "a clock that begins anew": ([900.0, 901.0, 0.0, 1.0, 2.0], [0.0, 1.0, 1.0, 2.0, 3.0]),
    "midnight": ([86_399.9, 0.1, 0.2], [0.0, 0.2, 0.3]),
    "a clock that jumps ahead": ([0.0, 1.0, 1e6, 2.0, 3.0], [0.0, 1.0, 6.0, 6.0, 7.0]),
    "alone": ([5.0], [0.0]),
    "none": ([], []),
}


@pytest.mark.parametrize(("t", "due"), CASES.values(), ids=CASES)
def test_frames_are_due_as_they_were_recorded(t: list[float], due: list[float]) -> None:
    pacing = pace(np.array(t))

    assert pacing.due.tolist() == pytest.approx(due)
    assert pacing.span_s == pytest.approx(due[-1] if due else 0.0)


@given(st.lists(st.floats(-1e9, 1e9), max_size=40))
def test_whatever_the_clock_did_time_goes_forward_in_steps_of_5_s_at_most(t: list[float]) -> None:
    pacing = pace(np.array(t))

    steps = np.diff(pacing.due)
    assert len(pacing.due) == len(t)
    assert ((steps >= 0) & (steps <= 5.0 + 1e-6)).all()
    assert pacing.nominal_s > 0


def test_the_period_is_the_median_step_and_of_one_frame_a_tenth() -> None:
    assert pace(np.array([0.0, 0.1, 0.2, 9.0])).nominal_s == pytest.approx(0.1)
    assert pace(np.array([3.0, 3.0])).nominal_s == pytest.approx(0.1)
