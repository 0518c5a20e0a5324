"""When frames are due again: as recorded, with long pauses shortened and no way back in time."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from runtime.bridge.live.replay import pace


@given(st.lists(st.floats(-1e9, 1e9), max_size=40))
def test_whatever_the_clock_did_time_goes_forward_in_steps_of_5_s_at_most(t: list[float]) -> None:
    pacing = pace(np.array(t))

    steps = np.diff(pacing.due)
    assert len(pacing.due) == len(t)
    assert ((steps >= 0) & (steps <= 5.0 + 1e-6)).all()
    assert pacing.nominal_s > 0
