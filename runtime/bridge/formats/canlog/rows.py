"""Puts the frames of a session together out of signals that came each at their own times."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from runtime.bridge.can.speed import LONGEST_PAUSE_S, OTHERS, STALE_S, USUAL, WHEELS
from runtime.bridge.formats.motion import distance as way_by_fixes
from runtime.bridge.formats.motion import valid_fixes
from runtime.bridge.session.recording import TIMESTAMP, WIDE, WIDE_SIGNALS, Frames, Numbers, Samples
from runtime.bridge.session.series import Odometer, fill_distance

STEP_S: Final = 0.1


def even_times(t: Numbers, step: float = STEP_S) -> Numbers:
    """The even times, counted from the first of *t* (s, rising), that follow one of *t*.

    The last one is the last of *t* itself: nothing is known of what comes after it.
    """
    begin = t[0]
    rows = np.unique(np.floor((t - begin) / step + 1e-6).astype(np.int64) + 1)
    times: Numbers = begin + rows * step
    times[-1] = min(times[-1], t[-1])
    return times[np.concatenate(([True], np.diff(times) > 0))]


def held(samples: Samples, times: Numbers) -> Numbers:
    """What was last heard before each time; NaN before the first sample and after a silence.

    *samples* by time. A second of silence is none, nor are a few of a seldom signal's pauses.
    """
    if not len(samples.t):
        return np.full(len(times), np.nan)
    at = np.searchsorted(samples.t, times, side="right") - 1
    pauses = np.diff(samples.t, prepend=samples.t[0])
    place = np.maximum(at, 0)
    patience = np.maximum(STALE_S, USUAL * np.minimum(pauses[place], LONGEST_PAUSE_S))
    fresh = (at >= 0) & (times - samples.t[place] <= patience)
    values: Numbers = np.where(fresh, samples.value[place], np.nan)
    return values


def speeds(signals: Mapping[str, Samples], times: Numbers) -> Numbers:
    """The speed over ground by the best signal that is not silent, m/s."""
    found = np.full(len(times), np.nan)
    if "speed_ms" in signals:
        found = np.abs(held(signals["speed_ms"], times))
    wheels = [held(signals[name], times) * WHEELS[name] for name in WHEELS if name in signals]
    if wheels and np.isnan(found).any():
        several = np.sort(np.abs(np.stack(wheels)), axis=0)  # NaN last
        count = np.count_nonzero(~np.isnan(several), axis=0)
        lower, upper = np.maximum(count - 1, 0) // 2, count // 2
        upper = np.minimum(upper, np.maximum(count - 1, 0))
        place = np.arange(len(times))
        median = (several[lower, place] + several[upper, place]) / 2
        found = np.where(np.isnan(found), median, found)
    for name, factor in OTHERS.items():
        if name in signals:
            told = np.abs(held(signals[name], times)) * factor
            found = np.where(np.isnan(found), told, found)
    return found


def frames_at(times: Numbers, signals: Mapping[str, Samples]) -> Frames:
    """A frame at each time, whether the car moves or not: a pause of the frames would be a pause
    of the recording, and no time of the lap.

    Columns that no signal tells are null, but for the distance, the resultant acceleration and
    the speed, which wheels or GPS tell where nothing else does.
    """
    columns = {
        name: held(signals[name], times) if name in signals else np.full(len(times), np.nan)
        for name in WIDE_SIGNALS
    }
    columns[TIMESTAMP] = times
    columns["speed_ms"] = speeds(signals, times)
    both = np.hypot(columns["g_lat"], columns["g_long"])
    columns["combo_g"] = np.where(np.isnan(both), columns["combo_g"], both)
    fixed = valid_fixes(columns["lat"], columns["lon"])
    for name in ("lat", "lon"):
        columns[name] = np.where(fixed, columns[name], np.nan)
    columns["distance_m"] = _distance(columns, times)
    return Frames({name: columns[name] + 0.0 for name in WIDE})


def _distance(columns: Mapping[str, Numbers], times: Numbers) -> Numbers:
    speed = columns["speed_ms"]
    unknown = np.full(len(times), np.nan)
    if not np.isnan(speed).all():
        return fill_distance(times, speed, unknown, Odometer())[0]
    if np.isfinite(columns["lat"]).any():
        return way_by_fixes(times, columns["lat"], columns["lon"], speed)
    return unknown
