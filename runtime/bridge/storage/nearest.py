"""Which frame a sample belongs to: the nearest one in time, if it is near enough."""

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import Numbers


def nearest(frames: Numbers, t: Numbers) -> npt.NDArray[np.int64]:
    """For each of *t* the index of the nearest of *frames* (s, in any order); -1: none is near.

    Near is half a nominal period, which is the median of the positive steps between frames. Of two
    samples at one frame the first one has it.
    """
    found = np.full(len(t), -1, np.int64)
    steps = np.diff(frames)
    steps = steps[steps > 0]
    if not len(frames) or not len(t):
        return found
    reach = float(np.median(steps)) / 2.0 if len(steps) else 0.0
    order = np.argsort(frames, kind="stable")
    ordered = frames[order]
    right = np.clip(np.searchsorted(ordered, t), 0, len(ordered) - 1)
    left = np.maximum(right - 1, 0)
    closer = np.where(np.abs(ordered[left] - t) <= np.abs(ordered[right] - t), left, right)
    # A hair more than half, since a sample in the middle of two frames is near to one of them.
    near = np.abs(ordered[closer] - t) <= reach * (1 + 1e-9)
    found[near] = order[closer[near]]
    taken, first = np.unique(found, return_index=True)
    alone = np.full(len(t), -1, np.int64)
    alone[first] = taken
    return alone
