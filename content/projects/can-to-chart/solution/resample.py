"""Brings a signal to the times of a common axis."""

from bisect import bisect_right

from decode import Series

SAME_S = 1e-6  # times closer than a microsecond are the same


def axis(end_s: float, rate_hz: float) -> list[float]:
    """Times from 0 to the end, the end included where it falls on the grid."""
    return [i / rate_hz for i in range(int(end_s * rate_hz + SAME_S) + 1)]


def value_at(source: Series, t_s: float, hold: bool, max_gap_s: float) -> float | None:
    """Value at one time; None outside the samples and inside a gap."""
    right = bisect_right(source.times_s, t_s + SAME_S)
    if right == 0:
        return None
    before_s, before = source.times_s[right - 1], source.values[right - 1]
    if abs(t_s - before_s) <= SAME_S:
        return before
    if right == len(source.times_s):
        return None
    gap_s = source.times_s[right] - before_s
    if gap_s > max_gap_s:
        return None
    if hold:
        return before
    return before + (source.values[right] - before) * (t_s - before_s) / gap_s


def resample(
    source: Series, times_s: list[float], hold: bool, max_gap_s: float
) -> list[float | None]:
    """Values at the times given: held for states, linear for all others."""
    return [value_at(source, t_s, hold, max_gap_s) for t_s in times_s]
