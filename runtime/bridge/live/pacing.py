"""When each frame of a recorded session is due again."""

from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.recording import Numbers

LONGEST_PAUSE_S: Final = 5.0
"""A longer pause of the recording is shortened to this."""
FRESH_START_S: Final = 5.0
"""A clock that steps back by more has begun anew; by less, frames came out of order."""
HALF_DAY_S: Final = 43_200.0
DAY_S: Final = 86_400.0
USUAL_PERIOD_S: Final = 0.1
"""Of a session with a single moment."""


class Pacing(NamedTuple):
    """The times of one pass at the speed of the recording."""

    due: Numbers
    """Seconds after the first frame; never falling."""
    nominal_s: float
    """The median of the steps forward, which is the pause before a further pass."""

    @property
    def span_s(self) -> float:
        """From the first frame to the last."""
        return float(self.due[-1]) if len(self.due) else 0.0


def pace(t: Numbers) -> Pacing:
    """The pacing of frames with these timestamps, in the order in which they were recorded.

    A frame that is not later than one before it is due together with that one. After midnight,
    and after a clock that begins anew, time goes on.
    """
    steps = np.diff(t)
    steps = np.where(steps < -HALF_DAY_S, steps + DAY_S, steps)
    steps = np.where(steps < -FRESH_START_S, 0.0, steps)
    clock = np.concatenate([np.zeros(min(len(t), 1)), np.cumsum(steps)])
    forward = np.diff(np.maximum.accumulate(clock)) if len(clock) else clock
    due = np.concatenate([clock[:1], np.cumsum(np.minimum(forward, LONGEST_PAUSE_S))])
    moving = forward[forward > 0]
    return Pacing(due, float(np.median(moving)) if len(moving) else USUAL_PERIOD_S)
