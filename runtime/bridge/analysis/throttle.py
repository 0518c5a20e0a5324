"""The throttle in corners: how far it is open, and where it is opened too slow a car."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import KMH, RELEASED_BAR, Pass, passes_of
from runtime.bridge.analysis.reference import NONE, References, aims
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Series
from runtime.bridge.session.stats import Box, box_plot

RISING_PCT_S: Final = 5.0
TURNING_G: Final = 0.5
SLOWER_KMH: Final = 1.0
APART_S: Final = 0.5
RISE_S: Final = 0.1
"""The throttle's rate is taken over so long, or a period where that is longer."""


OPEN_PCT: Final = 20.0
HELD_S: Final = 0.3
"""A throttle that is open for a shorter time was only brushed."""


def opening_m(drive: Drive, one: Pass) -> float | None:
    """Where the throttle opens in a pass, metres behind the apex, negative before it: behind the
    last braking it goes to 20 % or more and stays there for 0.3 s, or to the exit. None where it
    does not. Raises `NoGeometry`."""
    series = drive.series
    brake = series["brake_bar"][one.approach : one.last]
    braked = np.flatnonzero(brake > RELEASED_BAR)
    begin = one.approach + int(braked[-1]) if len(braked) else one.first
    opened = series["throttle_pct"][begin : one.last] >= OPEN_PCT
    edges = np.flatnonzero(np.diff(np.concatenate([[0], opened.astype(np.int8), [0]])))
    for first, end in edges.reshape(-1, 2).tolist():
        last = begin + end == one.last
        if last or series.t[begin + end] - series.t[begin + first] >= HELD_S:
            break
    else:
        return None
    corner = next(each for each in drive.corners if each.name == one.corner)
    away = float(drive.progress.p[begin + first]) - corner.apex.distance_m
    half = drive.length_m / 2
    return (away + half) % drive.length_m - half


class ThrottleBox(NamedTuple):
    """How far the throttle was open in a corner, in percent."""

    corner: str
    n_passes: int
    n_samples: int
    """Frames in the window in which it was recorded."""
    box: Box | None
    """None without any sample, as are the others."""
    least: float | None
    most: float | None
    mean: float | None


def throttle_boxes(drive: Drive) -> tuple[ThrottleBox, ...]:
    """The throttle of every frame in each corner's window, in lap order. Raises `NoGeometry`."""
    return tuple(_box(drive, name, passes) for name, passes in passes_of(drive).items())


def _box(drive: Drive, name: str, passes: tuple[Pass, ...]) -> ThrottleBox:
    throttle = drive.series["throttle_pct"]
    samples = np.concatenate([np.empty(0), *(throttle[one.frames] for one in passes)])
    known = samples[~np.isnan(samples)]
    if not len(known):
        return ThrottleBox(name, len(passes), 0, None, None, None, None)
    return ThrottleBox(
        corner=name,
        n_passes=len(passes),
        n_samples=len(known),
        box=box_plot(known),
        least=float(known.min()),
        most=float(known.max()),
        mean=float(known.mean()),
    )


class ChangeOfSpeed(NamedTuple):
    """Throttle added in a bend although the car is slower than it could be there."""

    frame: int
    """Of the series."""
    timestamp: float
    """Seconds of the session's clock."""
    distance_m: float
    """Metres of the lap."""
    corner: str
    speed_kmh: float
    reference_kmh: float
    """At the entry of the corner."""
    g_lat: float
    throttle_dot: float
    """Percent a second."""


def changes_of_speed(drive: Drive, references: References = NONE) -> tuple[ChangeOfSpeed, ...]:
    """Moments in corners with the throttle rising by 5 %/s or more and 0.5 g or more to the side,
    slower by more than 1 km/h than the reference entered; half a second apart or more, by time.

    Raises `NoGeometry`.
    """
    rate = _rate(drive.series)
    compared = aims(drive, references)
    found: list[ChangeOfSpeed] = []
    for name, passes in passes_of(drive).items():
        usual = compared[name].target.entry_speed_kmh if name in compared else None
        if usual is not None:
            found += [event for one in passes for event in _changes(drive, rate, one, usual)]
    return _apart(sorted(found, key=lambda one: (one.timestamp, one.corner)))


def _rate(series: Series) -> Numbers:
    """How fast the throttle opens, percent a second."""
    throttle = series["throttle_pct"]
    lag = max(1, round(RISE_S / series.nominal_s)) if series.nominal_s > 0 else 1
    rate = np.full(len(series), np.nan)
    rate[lag:] = (throttle[lag:] - throttle[:-lag]) / (series.t[lag:] - series.t[:-lag])
    return rate


def _changes(drive: Drive, rate: Numbers, one: Pass, usual: float) -> Iterator[ChangeOfSpeed]:
    series, frames = drive.series, one.frames
    speed, g_lat = series["speed_ms"][frames] * KMH, series["g_lat"][frames]
    rises = (rate[frames] >= RISING_PCT_S) & (np.abs(g_lat) >= TURNING_G)
    last = -np.inf
    for at in np.flatnonzero(rises & (speed < usual - SLOWER_KMH)).tolist():
        frame = one.first + at
        if series.t[frame] - last < APART_S:
            continue
        last = float(series.t[frame])
        yield ChangeOfSpeed(
            frame=frame,
            timestamp=float(series.t[frame]),
            distance_m=float(drive.progress.p[frame]),
            corner=one.corner,
            speed_kmh=float(speed[at]),
            reference_kmh=usual,
            g_lat=float(g_lat[at]),
            throttle_dot=float(rate[frame]),
        )


def _apart(events: list[ChangeOfSpeed]) -> tuple[ChangeOfSpeed, ...]:
    """Those that lie half a second or more behind the one kept before; windows may overlap."""
    kept: list[ChangeOfSpeed] = []
    for one in events:
        if not kept or one.timestamp - kept[-1].timestamp >= APART_S:
            kept.append(one)
    return tuple(kept)
