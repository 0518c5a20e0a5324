"""When frames are due again: as recorded, with long pauses shortened and no way back in time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.live.replay import pace

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


@given(st.lists(st.floats(-1e9, 1e9), max_size=40))
def test_whatever_the_clock_did_time_goes_forward_in_steps_of_5_s_at_most(t: list[float]) -> None:
    pacing = pace(np.array(t))

    steps = np.diff(pacing.due)
    assert len(pacing.due) == len(t)
    assert ((steps >= 0) & (steps <= 5.0 + 1e-6)).all()
    assert pacing.nominal_s > 0
