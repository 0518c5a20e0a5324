"""Builds the columns of frames at common times from signals with their own times."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from runtime.bridge.session.recording import TIMESTAMP, WIDE, WIDE_SIGNALS, Numbers, Samples
from runtime.bridge.session.series import is_place
from runtime.bridge.session.units import KMH

STALE_S: Final = 1.0
"""A signal is stale after this long without a value …"""
USUAL: Final = 2.5
"""… and after this many of its usual pauses."""
LONGEST_PAUSE_S: Final = 2.0
"""The longest pause that counts as usual."""
REWIND_S: Final = 1.0
"""A clock that steps back by more was set: time continues from before the step."""
NUDGE_S: Final = 2e-6
"""Added between values of one signal with the same stamp."""
GPS_DISTANCE: Final = "gps_distance_m"
"""The name for a distance from the bus; the distance column is computed."""
_KMH: Final = 1 / KMH
_MPH: Final = 0.44704
SPEED: Final = "speed_ms"
WHEELS: Final[Mapping[str, float]] = {
    f"wheel_speed_{wheel}_{unit}": factor
    for wheel in ("fl", "fr", "rl", "rr")
    for unit, factor in (("kmh", _KMH), ("ms", 1.0), ("mph", _MPH))
}
SINGLE_SPEEDS: Final[Mapping[str, float]] = {
    "gps_speed_ms": 1.0,
    "gps_speed_kmh": _KMH,
    "gps_speed_mph": _MPH,
    "vehicle_speed_kmh": _KMH,
    "speed_kmh": _KMH,
    "speed_mph": _MPH,
}


class StampClock:
    """Makes the stamps of a bus or a log monotonic."""

    def __init__(self) -> None:
        self.now = -np.inf
        """The last stamp."""
        self.shift = 0.0
        """Seconds added to stamps since the clock was set back."""
        self.rewinds = 0
        self.late = 0
        """Stamps before an earlier one."""

    def advance(self, t: Numbers) -> Numbers:
        """Correct the stamps of a batch: small steps back are held, large ones removed."""
        t = t + self.shift
        if t[0] >= self.now and (t[1:] >= t[:-1]).all():
            self.now = float(t[-1])
            return t
        steps = np.diff(t, prepend=t[0] if self.now == -np.inf else self.now)
        for at in np.flatnonzero(steps < -REWIND_S).tolist():
            before = max(self.now, float(t[:at].max(initial=-np.inf)))
            if before - t[at] > REWIND_S:
                self.shift += before - t[at]
                t[at:] += before - t[at]
                self.rewinds += 1
        running = np.maximum.accumulate(np.maximum(t, self.now))
        self.late += int(np.count_nonzero(running != t))
        self.now = float(running[-1])
        return running


def spread_equal(t: Numbers, after: float = -np.inf) -> Numbers:
    """Separate equal ones of rising times by a hair, all after *after*."""
    if len(t) and t[0] > after and not (np.diff(t) <= 0).any():
        return t
    steps = NUDGE_S * np.arange(len(t))
    spread: Numbers = np.maximum.accumulate(np.maximum(t, after + NUDGE_S) - steps) + steps
    return spread


def list_even_times(t: Numbers, step: float) -> Numbers:
    """Return the even times, counted from the first of *t* (s, rising), that follow one of *t*.

    The last one is the last of *t* itself: nothing is known after it.
    """
    begin = t[0]
    rows = np.unique(np.floor((t - begin) / step + 1e-6).astype(np.int64) + 1)
    times: Numbers = begin + rows * step
    times[-1] = min(times[-1], t[-1])
    return times[np.concatenate(([True], np.diff(times) > 0))]


def hold_last(samples: Samples, times: Numbers) -> Numbers:
    """Return the last value at each time; NaN before the first sample and after a silence.

    *samples* are sorted by time. A silence is longer than a second and a few usual pauses.
    """
    if not len(samples.t):
        return np.full(len(times), np.nan)
    at = np.searchsorted(samples.t, times, side="right") - 1
    place = np.maximum(at, 0)
    pause = samples.t[place] - samples.t[np.maximum(at - 1, 0)]
    patience = np.maximum(STALE_S, USUAL * np.minimum(pause, LONGEST_PAUSE_S))
    fresh = (at >= 0) & (times - samples.t[place] <= patience)
    values: Numbers = np.where(fresh, samples.value[place], np.nan)
    return values


def list_speed_sources(signals: Mapping[str, Samples]) -> Iterator[dict[str, float]]:
    """Yield the sources of the speed over ground, best first: names with factors to m/s."""
    for factors in (
        {SPEED: 1.0},
        WHEELS,
        *({name: factor} for name, factor in SINGLE_SPEEDS.items()),
    ):
        if source := {name: factor for name, factor in factors.items() if name in signals}:
            yield source


def compute_speed(
    source: Mapping[str, float], signals: Mapping[str, Samples], times: Numbers
) -> Numbers:
    """Return the speed in m/s by one source; for wheels the median of those not silent."""
    several = np.stack(
        [hold_last(signals[name], times) * factor for name, factor in source.items()]
    )
    several = np.sort(np.abs(several), axis=0)  # NaN last
    count = np.count_nonzero(~np.isnan(several), axis=0)
    last = np.maximum(count - 1, 0)
    place = np.arange(len(times))
    median: Numbers = (several[last // 2, place] + several[np.minimum(count // 2, last), place]) / 2
    return median


def find_speeds(signals: Mapping[str, Samples], times: Numbers) -> Numbers:
    """Return the speed over ground (m/s) by the best signal that is not silent."""
    speed = np.full(len(times), np.nan)
    for source in list_speed_sources(signals):
        if not np.isnan(speed).any():
            break
        speed = np.where(np.isnan(speed), compute_speed(source, signals, times), speed)
    return speed


def build_wide_columns(times: Numbers, signals: Mapping[str, Samples]) -> dict[str, Numbers]:
    """Build the columns of frames at these times; the distance stays null.

    Columns without a signal are null, except for the resultant acceleration and the speed, which
    falls back to wheels or GPS.
    """
    columns = {name: np.full(len(times), np.nan) for name in WIDE}
    for name in WIDE_SIGNALS:
        if name in signals and name not in (SPEED, "distance_m"):
            columns[name] = hold_last(signals[name], times)
    columns[TIMESTAMP] = times
    columns[SPEED] = find_speeds(signals, times)
    both = np.hypot(columns["g_lat"], columns["g_long"])
    columns["combo_g"] = np.where(np.isnan(both), columns["combo_g"], both)
    lat, lon = columns["lat"], columns["lon"]
    placed = is_place(lat, lon)
    columns["lat"], columns["lon"] = (np.where(placed, axis, np.nan) for axis in (lat, lon))
    return {name: values + 0.0 for name, values in columns.items()}
