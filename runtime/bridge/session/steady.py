"""Takes the jitter of position fixes out of lap progress, by the speed that the car had; pure."""

from typing import Final

import numpy as np

from runtime.bridge.session.values import Numbers

OVER_S: Final = 5.0
"""The differences between both ways are averaged over so long before and behind each frame."""
APART_M: Final = 3.0
"""Where the fixes of a second say otherwise by more (a locked wheel), they count."""
SOON_S: Final = 1.0
PAUSE_PERIODS: Final = 5.0


def steadied(place: Numbers, rolled: Numbers, t: Numbers, period_s: float) -> Numbers:
    """Progress (metres, unwrapped) that moves as the car rolls, and stays where the fixes are.

    *place* comes from position fixes: right in the mean, each off by a metre or two. *rolled* is
    the integral of speed: smooth, but it drifts, and is longer or shorter than the reference line.
    Their difference changes slowly; its mean under a triangle of `OVER_S` to each side is added to
    *rolled* (a complementary filter without lag: an even drift passes unchanged). At 13 m/s an
    error of 1.5 m alone is 0.1 s of a corner's time. What it costs: where the driven line begins
    to leave the reference line the place is off by up to a metre, on each lap alike.
    """
    width = round(OVER_S / period_s) if period_s > 0 else 0
    if width < 2:
        return place
    apart = place - rolled
    pauses = np.flatnonzero(np.diff(t) > PAUSE_PERIODS * period_s) + 1
    parts = np.split(apart, pauses)
    even = np.concatenate([_averaged(part, width) for part in parts])
    soon = np.concatenate([_averaged(part, round(SOON_S / period_s)) for part in parts])
    return np.where(np.abs(even - soon) <= APART_M, rolled + even, place)


def _averaged(values: Numbers, width: int) -> Numbers:
    """Under a triangle of *width* to each side; as they are, where they are fewer than that."""
    if width < 2 or len(values) <= 2 * width:
        return values
    middle = values.mean()
    # Mirrored at both ends in place and value, so that an even drift goes on beyond them.
    longer = np.pad(values - middle, width - 1, mode="reflect", reflect_type="odd")
    for _ in range(2):
        total = np.concatenate([[0.0], np.cumsum(longer)])
        longer = (total[width:] - total[:-width]) / width
    averaged: Numbers = longer + middle
    return averaged
