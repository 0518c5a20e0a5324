"""Puts the frames of a session together out of signals that came each at their own times."""

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from runtime.bridge.session.recording import (
    TIMESTAMP,
    WIDE,
    WIDE_SIGNALS,
    Numbers,
    Samples,
)
from runtime.bridge.session.series import is_place
from runtime.bridge.session.units import KMH

STALE_S: Final = 1.0
"""A signal is gone once it was silent for this long …"""
USUAL: Final = 2.5
"""… and for so many times its usual pause."""
LONGEST_PAUSE_S: Final = 2.0
"""The longest pause that counts as usual."""
REWIND_S: Final = 1.0
"""A clock that goes back by more was set: time goes on from where it was."""
NUDGE_S: Final = 2e-6
"""Between two values of one signal that came with the same stamp."""
GPS_DISTANCE: Final = "gps_distance_m"
"""Under this name a distance that the bus tells is kept; the column is our own."""
_KMH: Final = 1 / KMH
_MPH: Final = 0.44704
SPEED: Final = "speed_ms"
WHEELS: Final[Mapping[str, float]] = {
    f"wheel_speed_{wheel}_{unit}": factor
    for wheel in ("fl", "fr", "rl", "rr")
    for unit, factor in (("kmh", _KMH), ("ms", 1.0), ("mph", _MPH))
}
OTHERS: Final[Mapping[str, float]] = {
    "gps_speed_ms": 1.0,
    "gps_speed_kmh": _KMH,
    "gps_speed_mph": _MPH,
    "vehicle_speed_kmh": _KMH,
    "speed_kmh": _KMH,
    "speed_mph": _MPH,
}


class StampClock:
    """Makes stamps of a bus or a log go forward only."""

    def __init__(self) -> None:
        self.now = -np.inf
        """The last stamp."""
        self.shift = 0.0
        """What is added to stamps since the clock was set back."""
        self.rewinds = 0
        self.late = 0
        """Stamps before an earlier one."""

    def advance(self, t: Numbers) -> Numbers:
        """The stamps of a batch: small steps back stand still, large ones are taken out."""
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
    """The same times (rising), equal ones a hair apart and behind *after*."""
    if len(t) and t[0] > after and not (np.diff(t) <= 0).any():
        return t
    steps = NUDGE_S * np.arange(len(t))
    spread: Numbers = np.maximum.accumulate(np.maximum(t, after + NUDGE_S) - steps) + steps
    return spread


def even_times(t: Numbers, step: float) -> Numbers:
    """The even times, counted from the first of *t* (s, rising), that follow one of *t*.

    The last one is the last of *t* itself: nothing is known of what comes after it.
    """
    begin = t[0]
    rows = np.unique(np.floor((t - begin) / step + 1e-6).astype(np.int64) + 1)
    times: Numbers = begin + rows * step
    times[-1] = min(times[-1], t[-1])
    return times[np.concatenate(([True], np.diff(times) > 0))]


def hold_last(samples: Samples, times: Numbers) -> Numbers:
    """What was last heard until each time; NaN before the first sample and after a silence.

    *samples* by time. A second of silence is none, nor are a few of a seldom signal's pauses.
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


def speed_sources(signals: Mapping[str, Samples]) -> Iterator[dict[str, float]]:
    """What tells the speed over ground, best first: names with the factors to m/s."""
    for factors in ({SPEED: 1.0}, WHEELS, *({name: one} for name, one in OTHERS.items())):
        if there := {name: factor for name, factor in factors.items() if name in signals}:
            yield there


def speed_by(
    source: Mapping[str, float], signals: Mapping[str, Samples], times: Numbers
) -> Numbers:
    """The speed in m/s by one source: of wheels the median of those that are not silent."""
    several = np.stack(
        [hold_last(signals[name], times) * factor for name, factor in source.items()]
    )
    several = np.sort(np.abs(several), axis=0)  # NaN last
    count = np.count_nonzero(~np.isnan(several), axis=0)
    last = np.maximum(count - 1, 0)
    place = np.arange(len(times))
    median: Numbers = (several[last // 2, place] + several[np.minimum(count // 2, last), place]) / 2
    return median


def speeds(signals: Mapping[str, Samples], times: Numbers) -> Numbers:
    """The speed over ground by the best signal that is not silent, m/s."""
    found = np.full(len(times), np.nan)
    for source in speed_sources(signals):
        if not np.isnan(found).any():
            break
        found = np.where(np.isnan(found), speed_by(source, signals, times), found)
    return found


def wide_columns(times: Numbers, signals: Mapping[str, Samples]) -> dict[str, Numbers]:
    """The columns of a frame at each time, but for the distance, which stays null.

    Columns that no signal tells are null, but for the resultant acceleration and the speed, which
    wheels or GPS tell where nothing else does.
    """
    columns = {name: np.full(len(times), np.nan) for name in WIDE}
    for name in WIDE_SIGNALS:
        if name in signals and name not in (SPEED, "distance_m"):
            columns[name] = hold_last(signals[name], times)
    columns[TIMESTAMP] = times
    columns[SPEED] = speeds(signals, times)
    both = np.hypot(columns["g_lat"], columns["g_long"])
    columns["combo_g"] = np.where(np.isnan(both), columns["combo_g"], both)
    lat, lon = columns["lat"], columns["lon"]
    placed = is_place(lat, lon)
    columns["lat"], columns["lon"] = (np.where(placed, one, np.nan) for one in (lat, lon))
    return {name: values + 0.0 for name, values in columns.items()}
