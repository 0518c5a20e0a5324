"""Sums, maxima and first events of many stretches of an array at once.

A stretch runs from its *first* index to before its *last*; stretches may overlap.
"""

import numpy as np

from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Flags


def largest_in(values: Numbers, first: Indices, last: Indices) -> Numbers:
    """The largest value of each stretch, NaN left out; NaN where nothing is left.

    A stretch is not empty.
    """
    if not len(first):
        return np.empty(0)
    padded = np.append(values, np.nan)
    bounds = np.column_stack([first, last]).ravel()
    largest: Numbers = np.fmax.reduceat(padded, bounds)[::2]
    return largest


def total_in(values: Numbers, first: Indices, last: Indices) -> Numbers:
    """The sum of each stretch; *values* are neither negative nor NaN."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    total: Numbers = np.maximum(sums[last] - sums[first], 0.0)
    return total


def known_in(values: Numbers, first: Indices, last: Indices) -> Flags:
    """Whether a stretch holds anything but NaN."""
    return some_in(~np.isnan(values), first, last)


def some_in(flags: Flags, first: Indices, last: Indices) -> Flags:
    """Whether a stretch holds any True."""
    count = np.concatenate([[0], np.cumsum(flags)])
    some: Flags = count[last] > count[first]
    return some


def first_in(events: Indices, first: Indices, last: Indices) -> Indices:
    """The first of the rising *events* in each stretch, -1 where there is none."""
    if not len(events):
        return np.full(len(first), -1)
    found = events[np.minimum(np.searchsorted(events, first), len(events) - 1)]
    return np.where((found >= first) & (found < last), found, -1)


def last_in(events: Indices, first: Indices, last: Indices) -> Indices:
    """The last of the rising *events* in each stretch, -1 where there is none."""
    if not len(events):
        return np.full(len(first), -1)
    found = events[np.maximum(np.searchsorted(events, last) - 1, 0)]
    return np.where((found >= first) & (found < last), found, -1)


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
