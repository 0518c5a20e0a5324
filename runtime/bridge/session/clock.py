"""What a session's clock did: faults far off, midnights, and steps back; pure."""

from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.values import Frames, Numbers

Flags = npt.NDArray[np.bool_]

DAY_S: Final = 86_400.0
SLACK_S: Final = 60.0
PAUSE_PERIODS: Final = 5.0
LOST_PERIODS: Final = 1.5
"""A frame out of order is off by one period; a clock put back is off by all that it lost."""
LOST_JITTERING: Final = 4.0
"""The same where frames out of order are usual: times that jitter crowd here and there."""
JITTER_SHARE: Final = 0.01
JITTER_PLACES: Final = 3


def steady(t: Numbers) -> Flags:
    """All but the frames that a fault of the clock put half a day off their neighbours.

    Such a fault returns: the clock goes on where it was, and what it told meanwhile took no longer
    than that. At the start there is nothing to return to: there up to a minute that lies more than
    a day before all the rest is a fault (zeros before the first fix).
    """
    found = np.ones(len(t), dtype=np.bool_)
    step = np.diff(t)
    jumps = np.flatnonzero(np.abs(step) > DAY_S / 2).tolist()
    past = _before_the_start(t, jumps[0] + 1) if jumps else 0
    found[:past] = False
    for before, last in pairwise(jumps):
        passed, told = t[last + 1] - t[before], t[last] - t[before + 1]
        opposite = (step[before] > 0) != (step[last] > 0)
        returned = -SLACK_S <= passed <= DAY_S / 2
        if before >= past and opposite and returned and abs(told) <= max(passed, 0.0) + SLACK_S:
            found[before + 1 : last + 1] = False
            past = last + 1
    return found


def _before_the_start(t: Numbers, first: int) -> int:
    """How many frames are a fault at the start: those before number *first*, or none."""
    lead, rest = t[:first], t[first:]
    early = len(lead) < len(rest) and np.median(rest) - lead.max() > DAY_S
    return first if early and np.ptp(lead) <= SLACK_S else 0


def past_midnight(t: Numbers) -> Numbers:
    """A day is added after each step back of more than 12 hours."""
    wraps = np.zeros(len(t))
    wraps[1:] = np.cumsum(np.diff(t) < -DAY_S / 2)
    return t + wraps * DAY_S


def forward(t: Numbers) -> Flags:
    """The frames that are later than all before them."""
    found = np.ones(len(t), dtype=np.bool_)
    if len(t):
        found[1:] = t[1:] > np.maximum.accumulate(t)[:-1]
    return found


def put_back(frames: Frames, whole: Indices, t: Numbers, kept: Flags) -> Flags:
    """Whether the clock was put back after each kept frame but the last, so that time is missing.

    *t*: the times of the frames *whole*. It was put back where the frames that are not kept need
    more time, at the usual period, than the kept ones around them leave: both at that place and
    since the moment that the clock told again. So a frame out of order, a batch that came late, a
    single faulty time and a frame that was sent twice are none; neither are frames of one time.
    """
    times, late = t[kept], np.flatnonzero(~kept)
    lost = np.zeros(max(len(times) - 1, 0), dtype=np.bool_)
    late = late[~_sent_twice(frames, whole, t, late, np.flatnonzero(kept))]
    after = np.cumsum(kept)[late] - 1  # the kept frame before each
    late, after = late[after < len(lost)], after[after < len(lost)]
    if not len(late):
        return lost
    places, begins, counts = np.unique(after, return_index=True, return_counts=True)
    lowest = np.minimum.reduceat(t[late], begins)
    dt = np.diff(times)
    usual = float(np.median(dt))
    even = dt <= PAUSE_PERIODS * usual
    # Where times jitter, the frames left out belong to the steps between those that are kept.
    period = min(usual, float(dt[even].sum()) / (int(even.sum()) + len(late)))
    here = (counts + 1) * period - (times[places + 1] - times[places])
    since = np.maximum(np.searchsorted(times, lowest, side="right") - 1, 0)
    steps = places + 1 - since + counts
    missing = np.minimum(here, steps * period - (times[places + 1] - times[since]))
    jitters = len(places) > max(JITTER_PLACES, JITTER_SHARE * len(lost))
    least = (LOST_JITTERING if jitters else LOST_PERIODS) * period
    lost[places] = (missing > least) & (lowest < times[places])
    return lost


def _sent_twice(frames: Frames, whole: Indices, t: Numbers, late: Indices, kept: Indices) -> Flags:
    """Which of the *late* frames repeat a kept one in all columns."""
    same = kept[np.minimum(np.searchsorted(t[kept], t[late]), len(kept) - 1)]
    twice: Flags = t[same] == t[late]
    for values in frames.columns.values():
        one, other = values[whole[same]], values[whole[late]]
        twice &= (one == other) | (np.isnan(one) & np.isnan(other))
    return twice
