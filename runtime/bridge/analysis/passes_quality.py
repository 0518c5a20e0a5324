"""How smooth, how repeatable and how near to the line the driving was."""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import Pass, passes_of
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.stats import deviation, quantile

TAIL: Final = 0.95
CONTROLS: Final = ("steering_deg", "brake_bar", "throttle_pct")


class Smoothness(NamedTuple):
    """Standard deviations of how fast the controls moved in one pass; None where not recorded."""

    lap: int
    steering_dot_std: float | None
    """Degrees a second."""
    brake_dot_std: float | None
    """Bar a second."""
    throttle_dot_std: float | None
    """Percent a second."""


def smoothness(drive: Drive) -> dict[str, Smoothness]:
    """The pass with the calmest steering of every driven corner, in lap order.

    Without any steering the calmest throttle decides. The deviations are those of a sample, of
    the first derivative between frames of that pass. Raises `NoGeometry`.
    """
    found = {}
    rates = [np.diff(drive.series[name]) / drive.series.dt for name in CONTROLS]
    for name, passes in passes_of(drive).items():
        rated = [_smoothness(rates, one) for one in passes]
        if rated:
            found[name] = min(rated, key=_calm)
    return found


def _calm(one: Smoothness) -> tuple[float, float, int]:
    steering, throttle = one.steering_dot_std, one.throttle_dot_std
    return (
        np.inf if steering is None else steering,
        np.inf if throttle is None else throttle,
        one.lap,
    )


def _smoothness(rates: Sequence[Numbers], one: Pass) -> Smoothness:
    """The deviations of a pass; *rates* between the frames of the series, of each control."""
    between = slice(one.first, one.last - 1)
    return Smoothness(one.lap, *(deviation(rate[between], sample=True) for rate in rates))


class Consistency(NamedTuple):
    """How much the laps and the corners of a session differ, in seconds."""

    lap_time_std: float
    """Standard deviation of a sample; 0 for one lap. So is that of corners."""
    lap_time_spread: float
    """Slowest less fastest."""
    most_variable: tuple[str, float] | None
    """The corner whose times differ most, if any do."""
    per_corner_std: dict[str, float]
    """Of every driven corner, in lap order."""


def consistency(drive: Drive) -> Consistency:
    """How repeatable the driving was. Raises `NoGeometry`."""
    times = [lap.duration_s for lap in drive.counted]
    corners = {
        name: deviation([one.corner_time_s for one in passes], sample=True) or 0.0
        for name, passes in passes_of(drive).items()
        if passes
    }
    most = max(corners.items(), key=lambda pair: pair[1], default=None)
    return Consistency(
        lap_time_std=deviation(times, sample=True) or 0.0,
        lap_time_spread=max(times) - min(times),
        most_variable=most if most is not None and most[1] > 0 else None,
        per_corner_std=corners,
    )


class TrackOut(NamedTuple):
    """How far beside the reference line the car was, without sign, in metres."""

    mean_m: float
    p95_m: float
    max_m: float
    samples: int
    """Frames of complete laps whose place beside the line is known."""


def track_out(drive: Drive) -> TrackOut | None:
    """Distance to the reference line in complete laps; None without a line or positions."""
    beside = np.abs(drive.progress.offset[drive.lap_of > 0])
    known = beside[~np.isnan(beside)]
    if not len(known):
        return None
    tail = quantile(known, TAIL)
    return TrackOut(float(known.mean()), tail or 0.0, float(known.max()), len(known))
