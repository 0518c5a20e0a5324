"""Several laps with all their recorded channels on one axis of lap distance."""

from collections.abc import Collection, Iterable, Mapping, Set
from typing import Final

import numpy as np

from runtime.bridge.analysis.compare import find_moments, sample_channel, sample_values
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.laps import compose_ideal_lap
from runtime.bridge.session.progress import unwrap_lap
from runtime.bridge.session.recording import WIDE_SIGNALS, Numbers, Samples
from runtime.bridge.session.resample import Axis, grid, hold_previous, sort_samples
from runtime.bridge.session.series import Series, longest_step_s
from runtime.bridge.session.units import KMH

TIME: Final = "time_s"
SPEED: Final = "speed_kmh"
SHOWN: Final = tuple(name for name in WIDE_SIGNALS if name not in ("distance_m", "speed_ms"))
"""Columns of a frame that are shown under their own name."""
KEPT_BY_A_TARGET: Final = ("lat", "lon")
"""Channels that stay the same if the line is driven in another time."""
Channels = Mapping[str, Numbers]
"""Values at each place of the axis by name; NaN stands for null."""


def lap_places(length_m: float, points: int) -> Numbers:
    """Return the axis: *points* places from 0 to the end of the lap, m."""
    return np.linspace(0.0, length_m, points)


def lap_channels(
    drive: Drive,
    number: int,
    points: int,
    signals: Mapping[str, Samples],
    discrete: Collection[str],
) -> Channels:
    """Sample all recorded channels of a driven lap at *points* evenly spaced places.

    ``time_s`` since its start, speed in km/h, then columns and *signals* under their own names and
    in their own units. Channels without data are left out. *discrete* signals are not
    interpolated. Raises `NoSuchLap`.
    """
    lap = drive.lap(number)
    t = find_moments(drive, lap, lap_places(drive.length_m, points))
    channels = {TIME: t - lap.t_start}
    if _is_known(drive.series, "speed_ms"):
        channels[SPEED] = sample_channel(drive.series, "speed_ms", t) * KMH
    for name in SHOWN:
        if _is_known(drive.series, name):
            channels[name] = sample_channel(drive.series, name, t)
    for name in signals.keys() - channels.keys():
        samples = sort_samples(name, drive.series, signals)
        if len(samples.t):
            channels[name] = _signal_at(samples, t, held=name in discrete)
    return channels


def ideal_channels(
    drive: Drive, points: int, signals: Mapping[str, Samples], discrete: Collection[str]
) -> Channels:
    """Compose the ideal lap: in each sector the lap that was fastest there, as driven.

    Like `lap_channels`; empty if a sector has no time.
    """
    parts = compose_ideal_lap(drive).sectors.parts
    if any(part.time_s is None for part in parts):
        return {}
    numbers = sorted({part.from_lap for part in parts if part.from_lap is not None})
    laps = {n: lap_channels(drive, n, points, signals, discrete) for n in numbers}
    places = lap_places(drive.length_m, points)
    channels = {name: np.full(points, np.nan) for lap in laps.values() for name in lap}
    begun = 0.0
    for part in parts:
        inside = (places >= part.start_m) & (places <= part.end_m)
        for name, values in laps[part.from_lap or 0].items():
            channels[name][inside] = values[inside]
        lap = drive.lap(part.from_lap)
        begin = find_moments(drive, lap, np.array([part.start_m]))[0] - lap.t_start
        channels[TIME][inside] += begun - begin
        begun += part.time_s or 0.0
    return channels


def lap_axis(drive: Drive, number: int, step_m: float | None) -> Axis:
    """Return the distance axis of a lap, m of progress: every *step_m*, or its frames for None.

    Places passed while nothing was recorded are left out. Raises `NoSuchLap` and `TooLong`.
    """
    lap, length = drive.lap(number), drive.length_m
    if step_m is None:
        reached = np.maximum.accumulate(unwrap_lap(drive.progress, lap))
        return Axis(drive.series.t[lap.frames], np.clip(reached, 0.0, length))
    places = grid(0.0, length, step=step_m)
    t = find_moments(drive, lap, places)
    passed = ~np.isnan(t)
    return Axis(t[passed], places[passed])


def target_channels(best: Channels, scale: float) -> Channels:
    """Scale the best lap to a time that is *scale* times shorter, on the same line."""
    channels = {name: best[name] for name in KEPT_BY_A_TARGET if name in best}
    channels[TIME] = best[TIME] / scale
    if SPEED in best:
        channels[SPEED] = best[SPEED] * scale
    return channels


def missing_channels(own: Channels, named: Set[str], laps: Iterable[Channels]) -> list[str]:
    """List the *named* channels that a lap lacks.

    By default of speed, the columns of a frame, and the channels of the other *laps*.
    """
    return sorted((named or {SPEED, *SHOWN}.union(*laps)) - own.keys())


def _is_known(series: Series, name: str) -> bool:
    return not np.isnan(series[name]).all()


def _signal_at(samples: Samples, t: Numbers, *, held: bool) -> Numbers:
    """Sample a signal at moments, which may be NaN; *held* or interpolated, except in pauses."""
    if held:
        return np.where(np.isnan(t), np.nan, hold_previous(t, samples))
    period = float(np.median(np.diff(samples.t))) if len(samples.t) > 1 else 0.0
    return sample_values(samples.t, samples.value, t, longest_step_s(period))
