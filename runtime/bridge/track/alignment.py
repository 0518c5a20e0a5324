"""Finds by the speed where on a circuit laps begin that were cut by distance only."""

from dataclasses import replace
from typing import Final

import numpy as np

from runtime.bridge.session.laps import Laps, detect_laps
from runtime.bridge.session.progress import measure_progress
from runtime.bridge.session.recording import Numbers
from runtime.bridge.track.corners import estimate_speed
from runtime.bridge.track.driven import usual_values
from runtime.bridge.track.model import Track

STEADY: Final = 0.05
"""Relative spread of the speed below which it cannot tell places apart (a track without bends to
brake for)."""
ALIKE: Final = 0.8
"""The least correlation of two speeds along the same lap. Recorded laps of two circuits have 0.98
with the typical speed at the right place, at most 0.33 elsewhere, and 0.37 in reverse."""
CLEARER: Final = 0.2
"""The right place must be better than every other by this much."""
NEAR_SHARE: Final = 0.02
"""Places of the lap that are further apart than this are different."""
SAME_M: Final = 10.0
"""The speed locates a place to about 5 m."""


def align_laps(laps: Laps, track: Track) -> Laps:
    """Cut the laps of a session on *track* at start/finish, as far as the speed shows where it is.

    Laps that were cut at a gate, by a counter, or where a distance resets are left as they are. A
    cumulative distance is taken to begin at the line unless the speed contradicts: if it fits
    another place of the lap better the laps are cut again, and if it fits nowhere their `start` is
    unknown.
    """
    if laps.start != "assumed" or track.line is None:
        return laps
    line, progress = track.line, measure_progress(laps)
    if progress is None:
        return laps
    speed = usual_values(progress, laps.complete, laps.series["speed_ms"], line)
    if speed is None or np.std(speed) < STEADY * np.mean(speed):
        return laps
    typical = np.interp(
        line.distance, line.ring.places, estimate_speed(line.ring), period=line.length_m
    )
    shares = np.arange(len(line)) / len(line)
    even = (np.interp(shares, line.distance / line.length_m, v, period=1) for v in (speed, typical))
    fits = correlate_around(*even)
    best = int(fits.argmax())
    away = np.minimum(shares, 1 - shares)
    is_alike = bool(fits[best] >= ALIKE)
    if is_alike and fits[np.roll(away, best) > NEAR_SHARE].max() <= fits[best] - CLEARER:
        if away[best] * line.length_m <= SAME_M:
            return replace(laps, start="line")
        begins_m = float(shares[best]) * track.length_m
        return detect_laps(laps.series, track_length_m=track.length_m, begins_m=begins_m)
    # If several places look alike (the halves of an oval), the distance decides.
    fits_at_line = fits[away <= NEAR_SHARE].max() > fits[best] - CLEARER
    return laps if is_alike and fits_at_line else replace(laps, start="unknown")


def correlate_around(values: Numbers, others: Numbers) -> Numbers:
    """Return Pearson's correlation of two rings, with *values* shifted by 0, 1, 2, … places."""
    a, b = ((v - v.mean()) / max(float(v.std()), 1e-9) for v in (values, others))
    product = np.fft.rfft(b) * np.conj(np.fft.rfft(a))
    correlation: Numbers = np.fft.irfft(product, len(a)) / len(a)
    return correlation
