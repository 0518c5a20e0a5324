"""Stretches of an array in which something holds."""

import numpy as np

from runtime.bridge.session.series import Flags


def runs(flags: Flags, broken: Flags | None = None) -> list[tuple[int, int]]:
    """First and last index of each stretch of True.

    *broken* is one shorter: True after an index parts a stretch there.
    """
    change = np.diff(np.concatenate([[False], flags, [False]]).astype(np.int8))
    begins, ends = np.flatnonzero(change > 0), np.flatnonzero(change < 0) - 1
    if broken is not None and len(flags) > 1:
        cuts = np.flatnonzero(broken & flags[1:] & flags[:-1]) + 1
        begins, ends = np.sort(np.append(begins, cuts)), np.sort(np.append(ends, cuts - 1))
    return list(zip(begins.tolist(), ends.tolist(), strict=True))
