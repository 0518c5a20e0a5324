"""The corners of a session: how fast, how repeatable and how smooth each was driven."""

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import Pass, mean_of, passes_of
from runtime.bridge.analysis.reference import NONE, References, Target
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.stats import deviation, quantile

SpeedBand: TypeAlias = Literal["low_speed", "med_speed", "high_speed"]
BANDS: Final[tuple[SpeedBand, ...]] = ("low_speed", "med_speed", "high_speed")
LOW_MAX_KMH: Final = 80.0
MED_MAX_KMH: Final = 130.0
LETTERS: Final = ((-1.0, "A"), (-3.0, "B"), (-5.0, "C"), (-8.0, "D"))
UNGRADED: Final = "ungraded"
TAIL: Final = 0.95
CONTROLS: Final = ("steering_deg", "brake_bar", "throttle_pct")


class SpeedClass(NamedTuple):
    """The corners of about one speed."""

    band: SpeedBand
    corners: tuple[str, ...]
    """In lap order."""
    mean_kmh: float | None
    """Of the corners' speeds; None without a corner, as is the median."""
    median_kmh: float | None


def corner_classes(
    drive: Drive, low_max: float = LOW_MAX_KMH, med_max: float = MED_MAX_KMH
) -> tuple[SpeedClass, ...]:
    """The driven corners by speed: below *low_max*, below *med_max* (km/h), and the rest.

    A corner's speed is the mean over its passes of the smallest speed in it. Raises `NoGeometry`.
    """
    members: dict[SpeedBand, list[tuple[str, float]]] = {band: [] for band in BANDS}
    for name, passes in passes_of(drive).items():
        speed = mean_of([one.min_speed_kmh for one in passes])
        if speed is not None:
            at = 0 if speed < low_max else 1 if speed < med_max else 2
            members[BANDS[at]].append((name, speed))
    return tuple(
        SpeedClass(
            band=band,
            corners=tuple(name for name, _ in found),
            mean_kmh=mean_of([speed for _, speed in found]),
            median_kmh=quantile([speed for _, speed in found], 0.5),
        )
        for band, found in members.items()
    )


class CornerPass(NamedTuple):
    """A pass with the place where it was slowest."""

    one: Pass
    slowest_m: float | None
    """Metres of the lap."""


class CornerAverages(NamedTuple):
    """Means over the passes of a corner."""

    apex_speed_kmh: float | None
    """Of the smallest speeds."""
    corner_time_s: float | None
    entry_speed_kmh: float | None
    exit_speed_kmh: float | None


class CornerReport(NamedTuple):
    """All passes of a corner; the differences are those of the best pass to the reference."""

    name: str
    passes: tuple[CornerPass, ...]
    best: CornerPass | None
    """The one with the largest minimum speed, the earliest of equals."""
    averages: CornerAverages | None
    grade: str
    """A to F by the apex speed; ungraded without a reference."""
    delta_kmh: float | None
    """Of the smallest speeds."""
    delta_entry_kmh: float | None
    delta_exit_kmh: float | None
    delta_time_s: float | None
    """Positive: slower."""


class CornerReports(NamedTuple):
    """Every corner in lap order."""

    corners: tuple[CornerReport, ...]
    reference_available: bool
    """Whether a reference file names any of them."""
    track: str
    """Name of the circuit; empty where it has no file."""
    lap_count: int


def corner_reports(drive: Drive, references: References = NONE) -> CornerReports:
    """The passes of every corner, and the best of them beside the reference file.

    Raises `NoGeometry`.
    """
    lap = references.of(drive.track)
    targets = lap.corners if lap is not None else {}
    passes = passes_of(drive)
    return CornerReports(
        tuple(_report(drive, name, each, targets.get(name)) for name, each in passes.items()),
        any(name in targets for name in passes),
        drive.track.name if drive.track is not None else "",
        len(drive.counted),
    )


def _report(drive: Drive, name: str, passes: Sequence[Pass], target: Target | None) -> CornerReport:
    shown = tuple(CornerPass(one, _slowest(drive, one)) for one in passes)
    known = [one for one in shown if one.one.min_speed_kmh is not None]
    best = max(known, key=lambda one: one.one.min_speed_kmh or 0.0, default=None)
    if best is None and shown:
        best = min(shown, key=lambda one: one.one.corner_time_s)
    report = CornerReport(
        name=name,
        passes=shown,
        best=best,
        averages=_averages(passes) if passes else None,
        grade=UNGRADED,
        delta_kmh=None,
        delta_entry_kmh=None,
        delta_exit_kmh=None,
        delta_time_s=None,
    )
    return report if best is None or target is None else _graded(report, best.one, target)


def _graded(report: CornerReport, own: Pass, target: Target) -> CornerReport:
    """The report with what the best pass has over the reference."""
    usual = target.min_speed_kmh if target.min_speed_kmh is not None else target.apex_speed_kmh
    delta = _difference(own.min_speed_kmh, usual)
    return report._replace(
        grade=UNGRADED if delta is None else corner_letter(delta),
        delta_kmh=delta,
        delta_entry_kmh=_difference(own.entry_speed_kmh, target.entry_speed_kmh),
        delta_exit_kmh=_difference(own.exit_speed_kmh, target.exit_speed_kmh),
        delta_time_s=own.corner_time_s - target.corner_time_s,
    )


def _difference(own: float | None, target: float | None) -> float | None:
    return own - target if own is not None and target is not None else None


def _averages(passes: Sequence[Pass]) -> CornerAverages:
    return CornerAverages(
        apex_speed_kmh=mean_of([one.min_speed_kmh for one in passes]),
        corner_time_s=mean_of([one.corner_time_s for one in passes]),
        entry_speed_kmh=mean_of([one.entry_speed_kmh for one in passes]),
        exit_speed_kmh=mean_of([one.exit_speed_kmh for one in passes]),
    )


def _slowest(drive: Drive, one: Pass) -> float | None:
    speed = drive.series["speed_ms"][one.frames]
    if np.isnan(speed).all():
        return None
    place = float(drive.progress.p[one.first + int(np.nanargmin(speed))])
    return None if np.isnan(place) else place


def corner_letter(delta_kmh: float) -> str:
    """The grade of an apex speed that is so much above the reference's."""
    return next((name for least, name in LETTERS if delta_kmh >= least), "F")


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
