"""The use of the grip: the friction circle, its bands, and oscillation between them."""

import math
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.analysis.stats import highest
from runtime.bridge.session.capabilities import OSCILLATION_HZ
from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Series
from runtime.bridge.session.stats import quantile
from runtime.bridge.session.units import FinePercent, Gravity, Percent, Seconds, round_to_sum

Basis: TypeAlias = Literal["reference_file", "session"]
SAMPLES: Final = 1500
BINS: Final = 10
Band: TypeAlias = Literal["under_driving", "approaching_peak", "at_peak", "over_driving"]
BANDS: Final[tuple[Band, ...]] = ("under_driving", "approaching_peak", "at_peak", "over_driving")
EDGES: Final = (0.55, 0.80, 0.95)
"""Shares of the envelope at which the next band begins."""
ENVELOPE_SHARE: Final = 0.995
LEAST_ENVELOPE_G: Final = 0.5
SMOOTHED_S: Final = 0.2
"""Combined acceleration is averaged over this time, so that noise does not change the band."""
USUAL_LAPS: Final = 3
"""The least number of laps that show what is usual."""
WINDOW_S: Final = 3.0
STEP_S: Final = 0.5
NEARLY: Final = 0.95
"""The tolerance for the clocks of loggers."""
CROSSINGS: Final = 4
MANY_CROSSINGS: Final = 6
_MEANING: Final[dict[Band, str]] = {
    "under_driving": "Most of the time much of the grip is left unused.",
    "approaching_peak": "Most of the time the car is driven briskly, with grip in hand.",
    "at_peak": "Most of the time the car is driven at the limit of its grip.",
    "over_driving": "Most of the time the car is asked for more than its grip.",
}


@dataclass(frozen=True, slots=True)
class FrictionSample:
    """The acceleration of one frame."""

    gLat: Gravity  # noqa: N815
    """g: lateral, positive in a right turn"""
    gLong: Gravity  # noqa: N815
    """g: longitudinal, positive accelerating"""


@dataclass(frozen=True, slots=True)
class Friction:
    """Combined acceleration compared with the envelope of the car."""

    max_combo_g_observed: Gravity | None
    """g; null: not recorded"""
    envelope_g: Gravity | None
    """g that count as full grip: the largest of the reference lap, else the 99.5th percentile of
    the whole session and at least 0.5"""
    basis: Basis
    """where the envelope comes from"""
    histogram_pct: tuple[float | None, ...]
    """% of the time in each tenth of the envelope, ten values that add up to 100; the last also
    holds what is beyond; nulls: not recorded"""
    over_limit_pct: FinePercent | None
    """% of the time beyond the envelope"""
    samples: tuple[FrictionSample, ...]
    """frames at even steps from the first, for a scatter"""


def measure_friction_circle(
    drive: Drive, references: References = NONE, samples: int = SAMPLES
) -> Friction:
    """Measure the friction circle of the frames considered, with at most *samples* points."""
    series, frames = drive.series, drive.frames
    lap, envelope = references.of(drive.track), find_envelope(drive, references)
    basis: Basis = "reference_file" if lap is not None and lap.max_combo_g else "session"
    combo, weight = series.combo_g[frames], series.weight[frames]
    is_known = ~np.isnan(combo)
    combo, weight = combo[is_known], weight[is_known]
    scatter = _scatter(series["g_lat"][frames], series["g_long"][frames], samples)
    top, total = highest(combo), float(weight.sum())
    if envelope is None or total <= 0:
        return Friction(top, envelope, basis, (None,) * BINS, None, scatter)
    used = combo / envelope
    tenth = np.clip(used * BINS, 0, BINS - 1).astype(np.intp)
    shares = 100.0 * np.bincount(tenth, weight, minlength=BINS) / total
    histogram = tuple(round_to_sum(shares.tolist(), 100.0, 1))
    over = 100.0 * float(weight[used > 1.0].sum()) / total
    return Friction(top, envelope, basis, histogram, over, scatter)


def _scatter(lat: Numbers, long: Numbers, most: int) -> tuple[FrictionSample, ...]:
    """Pick at most *most* of the frames with both values, at even steps from the first."""
    both = np.flatnonzero(~np.isnan(lat) & ~np.isnan(long))
    chosen = both[:: max(1, len(both) // most)][:most]
    pairs = zip(lat[chosen].tolist(), long[chosen].tolist(), strict=True)
    return tuple(FrictionSample(*pair) for pair in pairs)


@dataclass(frozen=True, slots=True)
class SlipBandRecord:
    """Share of the time in complete laps in each band of used grip."""

    dominant_band: str
    """under_driving below 0.55 of the envelope, approaching_peak below 0.80, at_peak below 0.95,
    else over_driving; the one with the largest share, the lower of equals"""
    interpretation: str
    pct_per_band: dict[str, Percent]
    """% of the time"""


@dataclass(frozen=True, slots=True)
class OscillationRecord:
    """3 s in which the used grip changed between bands."""

    t_start: Seconds
    """s of the session's clock"""
    t_end: Seconds
    crossings: int
    peak_combo_g: Gravity
    severity: Literal["high", "medium"]
    """high from 6 crossings on"""


@dataclass(frozen=True, slots=True)
class Oscillation(OscillationRecord):
    """An oscillation, and its frame of the series with the largest combined acceleration."""

    frame: int


def find_envelope(drive: Drive, references: References = NONE) -> float | None:
    """Return the full grip in g: the largest combined acceleration of the circuit's reference lap.

    Else the 99.5th percentile of the whole session, and at least 0.5 g. None if no acceleration
    was recorded.
    """
    lap = references.of(drive.track)
    if lap is not None and lap.max_combo_g:
        return lap.max_combo_g
    usual = quantile(drive.series.combo_g, ENVELOPE_SHARE)
    return None if usual is None else max(usual, LEAST_ENVELOPE_G)


def find_usual_peak(drive: Drive, values: Numbers) -> float | None:
    """Return the largest of *values* in a usual lap: the median over the session's complete laps.

    A single unusual lap does not change it. None with fewer than three laps with known values.
    """
    peaks = [highest(values[lap.frames]) for lap in drive.laps.complete]
    lap_peaks = [peak for peak in peaks if peak is not None]
    return float(np.median(lap_peaks)) if len(lap_peaks) >= USUAL_LAPS else None


def _find_measured_envelope(drive: Drive, references: References) -> float | None:
    """Return the envelope; None if the acceleration was only computed, so its peaks are noise."""
    return None if "combo_g" in drive.series.derived else find_envelope(drive, references)


def measure_bands(drive: Drive, references: References = NONE) -> SlipBandRecord | None:
    """Measure the time spent in each band; None if no acceleration was measured."""
    envelope = _find_measured_envelope(drive, references)
    if envelope is None:
        return None
    combo = drive.series.combo_g
    is_known = ~np.isnan(combo) & (drive.lap_of > 0)
    weight = drive.series.weight[is_known]
    total = float(weight.sum())
    if total <= 0:
        return None
    spent = np.bincount(_find_bands(combo[is_known] / envelope), weight, minlength=len(BANDS))
    shares = (100.0 * spent / total).tolist()
    dominant = BANDS[int(np.argmax(shares))]
    pct: dict[str, float] = dict(zip(BANDS, shares, strict=True))
    return SlipBandRecord(dominant, _MEANING[dominant], pct)


def find_oscillations(drive: Drive, references: References = NONE) -> tuple[Oscillation, ...]:
    """Find windows of 3 s, every 0.5 s, with 4 changes of band or more, by time.

    Windows do not overlap: the one with the most changes stays, the earlier of equal ones. Only
    complete laps count; changes across a gap do not, and a recording below `OSCILLATION_HZ` has
    none.
    """
    envelope = _find_measured_envelope(drive, references)
    series = drive.series
    if envelope is None or (series.rate_hz or 0.0) < NEARLY * OSCILLATION_HZ:
        return ()
    combo = _smooth(drive)
    bands = np.where(np.isnan(combo), -1, _find_bands(np.nan_to_num(combo) / envelope))
    inside = (drive.lap_of > 0) & (bands >= 0)
    changed = (bands[1:] != bands[:-1]) & inside[1:] & inside[:-1] & ~series.gap
    moments = series.t[1:][changed]
    number = _steps(series, moments)
    starts = series.t[0] + number * STEP_S
    count = np.searchsorted(moments, starts + WINDOW_S) - np.searchsorted(moments, starts)
    free = count >= CROSSINGS
    apart = round(WINDOW_S / STEP_S)
    low, high = np.searchsorted(number, [number - apart + 1, number + apart])
    kept: list[int] = []
    for at in np.argsort(-count, kind="stable")[: int(free.sum())].tolist():
        if free[at]:
            kept.append(at)
            free[low[at] : high[at]] = False
    return tuple(_oscillation(drive, float(starts[at]), int(count[at])) for at in sorted(kept))


def _steps(series: Series, moments: Numbers) -> Indices:
    """Return the rising numbers of the time steps whose windows contain any of the moments.

    All other windows are empty, and too many if the session's clock jumps by years.
    """
    since = moments - series.t[0]
    first = np.floor((since - WINDOW_S) / STEP_S).astype(np.int64)
    reach = np.arange(round(WINDOW_S / STEP_S) + 2)
    number = np.unique(first[:, None] + reach)
    end = math.ceil((series.t[-1] - series.t[0]) / STEP_S)
    steps: Indices = number[(number >= 0) & (number < end)]
    return steps


def _oscillation(drive: Drive, begin: float, crossings: int) -> Oscillation:
    combo = drive.series.combo_g
    frames = drive.series.between(begin, begin + WINDOW_S)
    worst = frames.start + int(np.nan_to_num(combo[frames]).argmax())
    return Oscillation(
        t_start=begin,
        t_end=begin + WINDOW_S,
        crossings=crossings,
        peak_combo_g=float(combo[worst]),
        severity="high" if crossings >= MANY_CROSSINGS else "medium",
        frame=worst,
    )


def _find_bands(used: Numbers) -> Indices:
    """Return the band of each share of the envelope."""
    return np.searchsorted(np.array(EDGES), used, side="right")


def _smooth(drive: Drive) -> Numbers:
    """Average the combined acceleration over 0.2 s around each frame; NaN where unknown."""
    series = drive.series
    combo = series.combo_g
    reach = round(SMOOTHED_S / series.nominal_s / 2) if series.nominal_s > 0 else 0
    if reach == 0:
        return combo
    is_known = ~np.isnan(combo)
    sums = np.concatenate([[0.0], np.cumsum(np.where(is_known, combo, 0.0))])
    counts = np.concatenate([[0], np.cumsum(is_known)])
    at = np.arange(len(combo))
    lo, hi = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(combo))
    mean = (sums[hi] - sums[lo]) / np.maximum(counts[hi] - counts[lo], 1)
    return np.where(is_known, mean, np.nan)
