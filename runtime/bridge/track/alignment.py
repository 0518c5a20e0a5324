"""Finds where on a circuit laps begin that only a distance has cut: by how fast the car went."""

from dataclasses import replace
from typing import Final

import numpy as np

from runtime.bridge.session.laps import Laps, detect_laps
from runtime.bridge.session.progress import measure_progress
from runtime.bridge.session.recording import Numbers
from runtime.bridge.track.corners import typical_speed
from runtime.bridge.track.driven import usual_values
from runtime.bridge.track.model import Track

STEADY: Final = 0.05
"""Relative spread of the speed below which it tells no place from another (a track without bends
that anybody brakes for)."""
ALIKE: Final = 0.8
"""Correlation of two speeds along the same lap. Recorded laps of two circuits have 0.98 with the
typical speed at the right place, 0.33 at most anywhere else, and 0.37 in the other direction."""
CLEARER: Final = 0.2
"""By so much the right place must be better than every other."""
NEAR_SHARE: Final = 0.02
"""Places of the lap that are no closer than this are different ones."""
SAME_M: Final = 10.0
"""The speed finds a place to some 5 m."""


def align_laps(laps: Laps, track: Track) -> Laps:
    """The laps of a session on *track*, cut at start/finish, as far as the speed tells where it is.

    Laps that were cut at a gate, by a counter, or where a distance begins anew are left as they
    are. A distance that adds up is taken to begin at the line, as long as the speed does not say
    otherwise: where it fits another place of the lap better the laps are cut anew, and where it
    fits nowhere their `start` is unknown.
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
        line.distance, line.ring.places, typical_speed(line.ring), period=line.length_m
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
    # Where several places look alike (the halves of an oval) the distance decides.
    fits_as_told = fits[away <= NEAR_SHARE].max() > fits[best] - CLEARER
    return laps if is_alike and fits_as_told else replace(laps, start="unknown")


def correlate_around(values: Numbers, others: Numbers) -> Numbers:
    """Pearson's correlation of two rings of even places, *values* put on by 0, 1, 2, … places."""
    a, b = ((v - v.mean()) / max(float(v.std()), 1e-9) for v in (values, others))
    product = np.fft.rfft(b) * np.conj(np.fft.rfft(a))
    correlation: Numbers = np.fft.irfft(product, len(a)) / len(a)
    return correlation
