"""Finds the length at which a speed repeats lap by lap: the proof of laps without positions."""

from typing import Final

import numpy as np

from runtime.bridge.session.recording import Numbers

PLACES: Final = 200
"""The number of places of a lap at which speeds are compared."""
MOST_LAPS: Final = 1000
VARIES_MS: Final = 2.5
VARIES: Final = 0.1
"""A speed that stays within this, or this share of its median, for 4/5 of a lap, is even."""
EVEN_LAPS: Final = 2 / 3
"""If it is even on this share of the laps, or on all but one, it proves nothing."""
REACH: Final = 0.05
"""A measured lap may be longer or shorter than the stated one by this share."""
SAME: Final = 0.005
"""If the speed repeats this close to the stated length, the stated length is right."""
SHORTEST: Final = 0.25
"""Shorter lengths, in laps, are ignored: places close together have similar speeds."""
OVERLAP: Final = 0.5
"""The least share of a lap that must be driven twice to judge a length."""
ALIKE: Final = (0.6, 0.2, 0.9)
"""The speed repeats from the first correlation on; the second is added if only one lap was driven
twice, and twice that for half a lap; the third is the upper limit."""
BETTER: Final = (0.02, 0.1)
"""A length near it, or any other above half of it, at which the correlation is this much higher, is
the true one."""
BESIDE: Final = 0.15


def measure_lap(
    way: Numbers, speed: Numbers, stated_m: float, *, is_known: bool = True
) -> float | None:
    """Return the length near a stated one at which a speed repeats; None if it does not.

    Laps of one circuit are fast and slow at the same places: the speed (m/s, at metres driven) is
    correlated with itself at all lengths. It must correlate at a length within 5 % of the stated
    one, and not much better at any other; if that is not the stated length itself, not better at a
    shorter one either, of which it may be two laps. The result is the stated length if too little
    was driven to judge, or if it is that of a known circuit and the speed hardly varies: any other
    length must show in the speed.
    """
    usable = np.isfinite(speed) & np.append(True, np.diff(way) > 0)
    way, speed, lap, step = way[usable], speed[usable], PLACES, stated_m / PLACES
    if not len(way) or not lap <= np.ptp(way) / step <= lap * MOST_LAPS:
        return stated_m
    even = np.interp(np.arange(way[0], way[-1], step), way, speed)
    lags = np.arange(int(SHORTEST * lap), len(even))
    lags = lags[len(even) - lags >= OVERLAP * np.maximum(lags, lap)]
    away = np.abs(lags - lap)
    near = away <= REACH * lap + 1
    laps = even[: len(even) // PLACES * PLACES].reshape(-1, PLACES)
    if not near.any() or (is_known and not _varies(laps)):
        return stated_m
    alike = _correlate(even, int(lags[-1]))[lags]
    best = int(np.flatnonzero(near)[alike[near].argmax()])
    least, more, most = ALIKE
    wanted = min(least + more * lap / (len(even) - float(lags[best])), most)
    beside = alike[away <= BESIDE * lap].max()
    other = alike[lags >= (0.5 + BESIDE) * lap].max()  # the halves of an oval are alike
    if alike[best] < max(wanted, beside - BETTER[0], other - BETTER[1]):
        return None
    measured = (_peak(alike, best) + float(lags[0])) * step
    if abs(measured - stated_m) <= SAME * stated_m:
        return stated_m
    parts = alike[lags <= (1.0 - REACH) * lags[best]]
    return None if parts.max(initial=-1.0) > alike[best] - BETTER[0] else measured


def _varies(laps: Numbers) -> bool:
    """Whether the speed varies within at least two laps; one row for each lap."""
    low, middle, high = np.quantile(laps, [0.1, 0.5, 0.9], axis=1)
    even = high - low <= np.maximum(VARIES_MS, VARIES * middle)
    return bool(even.mean() < EVEN_LAPS and np.count_nonzero(~even) > 1)


def _peak(values: Numbers, at: int) -> float:
    """Return the peak of the parabola through the largest value and its neighbours."""
    if not 0 < at < len(values) - 1:
        return float(at)
    before, top, after = values[at - 1 : at + 2].tolist()
    bend = before - 2 * top + after
    return at + (0.5 * (before - after) / bend if bend < 0 else 0.0)


def _correlate(values: Numbers, most: int) -> Numbers:
    """Return the Pearson correlation of values with themselves at lags from 0 to *most*."""
    count = len(values)
    values = values - values.mean()
    size = 1 << (2 * count - 1).bit_length()
    spectrum = np.fft.rfft(values, size)
    products = np.fft.irfft(spectrum * np.conj(spectrum), size)[: most + 1]
    total, squares = (np.append(0.0, np.cumsum(numbers)) for numbers in (values, values**2))
    lag = np.arange(most + 1)
    n = count - lag
    first, second = total[n], total[-1] - total[lag]
    spread = (squares[n] - first**2 / n) * (squares[-1] - squares[lag] - second**2 / n)
    correlation: Numbers = (products - first * second / n) / np.sqrt(np.maximum(spread, 1e-12))
    return correlation
