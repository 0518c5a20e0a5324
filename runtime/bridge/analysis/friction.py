"""How much of the grip was used: the friction circle."""

from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.analysis.stats import highest
from runtime.bridge.session.recording import Numbers

Basis: TypeAlias = Literal["reference_file", "session"]

FILE: Final = "reference_file"
SESSION: Final = "session"
SAMPLES: Final = 1500
ENVELOPE_SHARE: Final = 0.995
LEAST_ENVELOPE_G: Final = 0.5
BINS: Final = 10


class FrictionCircle(NamedTuple):
    """Combined acceleration beside the largest that the car can do, in g."""

    max_combo_g: float | None
    envelope_g: float | None
    """What counts as all of the grip."""
    basis: Basis
    """Where the envelope comes from."""
    histogram_pct: tuple[float, ...] | None
    """Share of the time in each tenth of the envelope; the last holds what is beyond it too."""
    over_limit_pct: float | None
    """Share of the time beyond the envelope."""
    g_lat: Numbers
    """Frames at even steps, for a scatter: positive in a right turn."""
    g_long: Numbers
    """Of the same frames: positive while accelerating."""


def friction_circle(
    drive: Drive, references: References = NONE, samples: int = SAMPLES
) -> FrictionCircle:
    """The friction circle of the frames looked at.

    The envelope is the largest combined acceleration of the circuit's reference lap, else the
    99.5th percentile of that of the whole session, and 0.5 g at least.
    """
    series, frames = drive.series, drive.frames
    lap = references.of(drive.track)
    envelope = lap.max_combo_g if lap is not None else None
    basis: Basis = FILE
    if not envelope:
        envelope, basis = _usual(series.combo_g), SESSION
    combo, weight = series.combo_g[frames], series.weight[frames]
    known = ~np.isnan(combo)
    if not known.all():
        combo, weight = combo[known], weight[known]
    lat, long = _scatter(series["g_lat"][frames], series["g_long"][frames], samples)
    top, total = highest(combo), float(weight.sum())
    if envelope is None or total <= 0:
        return FrictionCircle(top, envelope, basis, None, None, lat, long)
    used = combo / envelope
    tenth = np.clip(used * BINS, 0, BINS - 1).astype(np.intp)
    share = 100.0 * np.bincount(tenth, weight, minlength=BINS) / total
    over = 100.0 * float(weight[np.flatnonzero(used > 1.0)].sum()) / total
    return FrictionCircle(top, envelope, basis, tuple(share.tolist()), over, lat, long)


def _usual(combo: Numbers) -> float | None:
    """The 99.5th percentile, between neighbours in proportion."""
    known = ~np.isnan(combo)
    if not known.any():
        return None
    recorded = combo if known.all() else combo[known]
    return max(float(np.quantile(recorded, ENVELOPE_SHARE)), LEAST_ENVELOPE_G)


def _scatter(lat: Numbers, long: Numbers, most: int) -> tuple[Numbers, Numbers]:
    """At most so many of the frames that have both, at even steps from the first."""
    both = np.flatnonzero(~np.isnan(lat) & ~np.isnan(long))
    chosen = both[:: max(1, len(both) // most)][:most]
    return lat[chosen], long[chosen]
