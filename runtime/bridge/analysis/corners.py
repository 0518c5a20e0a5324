"""The corners of a session: how fast, how consistently and how smoothly each was driven."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final, Literal, TypeAlias

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import Letter, grade_session
from runtime.bridge.analysis.passes import Pass, list_passes, mean_of, measure_approaches, subtract
from runtime.bridge.analysis.reference import NONE, References, Taken, find_aims
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.stats import deviation, quantile
from runtime.bridge.session.units import Bar, Gravity, Kmh, Metres, Percent, Seconds

SpeedBand: TypeAlias = Literal["low_speed", "med_speed", "high_speed"]
BANDS: Final[tuple[SpeedBand, ...]] = ("low_speed", "med_speed", "high_speed")
LOW_MAX_KMH: Final = 80.0
MED_MAX_KMH: Final = 130.0
TAIL: Final = 0.95
CONTROLS: Final = ("steering_deg", "brake_bar", "throttle_pct")


@dataclass(frozen=True, slots=True)
class SpeedClassRecord:
    """Corners of similar speed: the mean over the passes of the smallest speed."""

    band: SpeedBand
    corners: tuple[str, ...]
    """in lap order"""
    mean_apex_kmh: Kmh | None
    """km/h, mean of the corners' speeds"""
    median_apex_kmh: Kmh | None
    """km/h"""


def classify_corners(
    drive: Drive, low_max: float = LOW_MAX_KMH, med_max: float = MED_MAX_KMH
) -> tuple[SpeedClassRecord, ...]:
    """Group the driven corners by speed: below *low_max*, below *med_max* (km/h), and the rest.

    A corner's speed is the mean over its passes of the smallest speed in it. Raises `NoCorners`.
    """
    members: dict[SpeedBand, list[tuple[str, float]]] = {band: [] for band in BANDS}
    for name, passes in list_passes(drive).items():
        speed = mean_of([passage.apex_speed_kmh for passage in passes])
        if speed is not None:
            at = 0 if speed < low_max else 1 if speed < med_max else 2
            members[BANDS[at]].append((name, speed))
    return tuple(
        SpeedClassRecord(
            band=band,
            corners=tuple(name for name, _ in corners),
            mean_apex_kmh=mean_of([speed for _, speed in corners]),
            median_apex_kmh=quantile([speed for _, speed in corners], 0.5),
        )
        for band, corners in members.items()
    )


@dataclass(frozen=True, slots=True)
class PassRecord:
    """A lap through a corner."""

    lap_number: int
    entry_speed_kmh: Kmh | None
    """km/h at the entry, interpolated"""
    apex_speed_kmh: Kmh | None
    """km/h, smallest in the window"""
    exit_speed_kmh: Kmh | None
    """km/h at the exit, interpolated"""
    peak_brake_bar: Bar | None
    """bar, largest from 200 m before the entry, or from the last apex if that is nearer, to the
    exit"""
    max_g_lat: Gravity | None
    """g without sign"""
    corner_time_s: Seconds
    """s from the start of the approach to the exit, interpolated"""
    apex_place_speed_kmh: Kmh | None
    """km/h of the frame nearest to the place of the apex"""
    apex_distance_m: Metres | None
    """m of the lap where it was slowest"""
    min_speed_kmh: Kmh | None
    """the same as apex_speed_kmh"""


PASS_FIELDS: Final = tuple(f.name for f in fields(PassRecord) if hasattr(Pass, f.name))


@dataclass(frozen=True, slots=True)
class PassAverages:
    """Means over the passes."""

    apex_speed_kmh: Kmh | None
    """km/h, of the smallest speeds"""
    corner_time_s: Seconds | None
    """s"""
    entry_speed_kmh: Kmh | None
    """km/h"""
    exit_speed_kmh: Kmh | None
    """km/h"""


@dataclass(frozen=True, slots=True)
class CornerRecord:
    """All passes of a corner; reference_delta_*: best pass minus reference file."""

    name: str
    n_passes: int
    best_pass: PassRecord | None
    """with the largest apex speed"""
    averages: PassAverages | None
    approach_m: Metres | None
    """m before the entry from which it is timed; null: from the entry, as braking
    is unknown"""
    grade: Letter | Literal["ungraded"]
    """the letter of the scorecard, of the same lap if one is chosen"""
    reference_delta_kmh: Kmh | None
    """km/h of the apex speeds"""
    reference_delta_entry_kmh: Kmh | None
    """km/h"""
    reference_delta_exit_kmh: Kmh | None
    """km/h"""
    reference_delta_time_s: Seconds | None
    """s; positive: slower"""
    passes: tuple[PassRecord, ...]
    """by lap"""


@dataclass(frozen=True, slots=True)
class CornerReports:
    """Every corner in lap order."""

    track: str
    """name of the circuit; empty: unknown"""
    lap_count: int
    """complete laps considered"""
    corners: tuple[CornerRecord, ...]
    reference_available: bool
    """whether a reference file names a corner"""


def report_corners(drive: Drive, references: References = NONE) -> CornerReports:
    """Report the passes of every corner, and compare the best with the reference file.

    Raises `NoCorners`.
    """
    lap = references.of(drive.track)
    targets = lap.corners if lap is not None else {}
    passes, lengths = list_passes(drive), measure_approaches(drive)
    compared = find_aims(drive, references)
    card = grade_session(drive.whole or drive, references, drive.chosen)
    letters = {grade.corner: grade.letter for grade in card.corners}
    return CornerReports(
        drive.place,
        len(drive.counted),
        tuple(
            _report(
                drive,
                name,
                corner_passes,
                compared[name].target if name in targets and corner_passes else None,
                lengths[name] if drive.series.braking is not None else None,
                letters[name],
            )
            for name, corner_passes in passes.items()
        ),
        any(name in targets for name in passes),
    )


def _report(
    drive: Drive,
    name: str,
    passes: Sequence[Pass],
    target: Taken | None,
    approach_m: float | None,
    letter: Letter | None,
) -> CornerRecord:
    records = tuple(_record_pass(drive, passage) for passage in passes)
    with_speed = [record for record in records if record.apex_speed_kmh is not None]
    best = max(with_speed, key=lambda record: record.apex_speed_kmh or 0.0, default=None)
    if best is None and records:
        best = min(records, key=lambda record: record.corner_time_s)
    deltas: tuple[float | None, float | None, float | None, float | None] = (None,) * 4
    if best is not None and target is not None:
        deltas = (
            subtract(best.apex_speed_kmh, target.apex_speed_kmh),
            subtract(best.entry_speed_kmh, target.entry_speed_kmh),
            subtract(best.exit_speed_kmh, target.exit_speed_kmh),
            best.corner_time_s - target.corner_time_s,
        )
    averages = _averages(passes) if passes else None
    return CornerRecord(
        name, len(records), best, averages, approach_m, letter or "ungraded", *deltas, records
    )


def _record_pass(drive: Drive, passage: Pass) -> PassRecord:
    """Record a pass with the place where it was slowest."""
    speed = drive.series["speed_ms"][passage.frames]
    place = np.nan
    if not np.isnan(speed).all():
        place = float(drive.progress.p[passage.first + int(np.nanargmin(speed))])
    values = {name: getattr(passage, name) for name in PASS_FIELDS}
    slowest = None if np.isnan(place) else place
    return PassRecord(lap_number=passage.lap, apex_distance_m=slowest, **values)


def _averages(passes: Sequence[Pass]) -> PassAverages:
    return PassAverages(
        apex_speed_kmh=mean_of([passage.apex_speed_kmh for passage in passes]),
        corner_time_s=mean_of([passage.corner_time_s for passage in passes]),
        entry_speed_kmh=mean_of([passage.entry_speed_kmh for passage in passes]),
        exit_speed_kmh=mean_of([passage.exit_speed_kmh for passage in passes]),
    )


@dataclass(frozen=True, slots=True)
class SmoothnessRecord:
    """Standard deviations of the rates of the controls in the calmest pass."""

    lap: int
    steering_dot_std: Percent | None
    """degrees a second"""
    brake_dot_std: Percent | None
    """bar a second"""
    throttle_dot_std: Percent | None
    """percent a second"""


def measure_smoothness(drive: Drive) -> dict[str, SmoothnessRecord]:
    """Find the pass with the calmest steering of every driven corner, in lap order.

    Without steering the calmest throttle decides. The deviations are sample deviations of the
    first derivative between frames of the pass. Raises `NoCorners`.
    """
    calmest = {}
    rates = [np.diff(drive.series[name]) / drive.series.dt for name in CONTROLS]
    for name, passes in list_passes(drive).items():
        rated = [_smoothness(rates, passage) for passage in passes]
        if rated:
            calmest[name] = min(rated, key=_calm)
    return calmest


def _calm(record: SmoothnessRecord) -> tuple[float, float, int]:
    steering, throttle = record.steering_dot_std, record.throttle_dot_std
    return (
        np.inf if steering is None else steering,
        np.inf if throttle is None else throttle,
        record.lap,
    )


def _smoothness(rates: Sequence[Numbers], passage: Pass) -> SmoothnessRecord:
    """Measure the deviations of a pass; *rates*: of each control, between frames of the series."""
    between = slice(passage.first, passage.last - 1)
    return SmoothnessRecord(passage.lap, *(deviation(rate[between], sample=True) for rate in rates))


@dataclass(frozen=True, slots=True)
class VariableCorner:
    """A corner with varying times."""

    corner: str
    std_s: Seconds
    """s, of a sample"""


@dataclass(frozen=True, slots=True)
class ConsistencyRecord:
    """How much laps and corners vary."""

    lap_time_std: Seconds
    """s, of a sample; 0 for one lap"""
    lap_time_spread: Seconds
    """s: slowest minus fastest"""
    most_variable_corner: VariableCorner | None
    per_corner_std: dict[str, Seconds]
    """s, of every driven corner, in lap order"""


def measure_consistency(drive: Drive) -> ConsistencyRecord:
    """Measure how consistent the driving was. Raises `NoCorners`."""
    times = [lap.duration_s for lap in drive.counted]
    corners = {
        name: deviation([passage.corner_time_s for passage in passes], sample=True) or 0.0
        for name, passes in list_passes(drive).items()
        if passes
    }
    most = max(corners.items(), key=lambda pair: pair[1], default=None)
    return ConsistencyRecord(
        lap_time_std=deviation(times, sample=True) or 0.0,
        lap_time_spread=max(times) - min(times),
        most_variable_corner=VariableCorner(*most) if most is not None and most[1] > 0 else None,
        per_corner_std=corners,
    )


@dataclass(frozen=True, slots=True)
class TrackOutRecord:
    """Distance to the reference line in complete laps, without sign."""

    mean_xte_m: Metres
    p95_xte_m: Metres
    max_xte_m: Metres
    samples: int
    """frames with a known distance to the line"""


def measure_track_out(drive: Drive) -> TrackOutRecord | None:
    """Measure the distance to the line in complete laps; None without a line or positions."""
    beside = np.abs(drive.progress.offset[drive.lap_of > 0])
    offsets = beside[~np.isnan(beside)]
    if not len(offsets):
        return None
    tail = quantile(offsets, TAIL)
    return TrackOutRecord(float(offsets.mean()), tail or 0.0, float(offsets.max()), len(offsets))
