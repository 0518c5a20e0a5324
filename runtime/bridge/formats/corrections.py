"""Corrects the sign, zero or range of a column where the other columns disprove it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.formats.column_mapping import LARGEST_STEERING_DEG
from runtime.bridge.formats.gps_motion import measure_period
from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.recording import TIMESTAMP, Frames, Numbers, ReadWarning
from runtime.bridge.session.series import build_series

MIN_SAMPLES: Final = 30
MIN_PEDAL_SAMPLES: Final = 300
CORRELATED: Final = 0.5
"""Minimum correlation that is no coincidence; good sensors reach 0.8 and more."""
STEP_S: Final = 0.5
DRIVING_MS: Final = 3.0
OFFSET_G: Final = (0.05, 0.4)
"""Smaller offsets do no harm; a sensor tilted by more than 20° does not measure this axis."""
AGREEMENT_G: Final = 0.06
"""Allowed difference between standing still and driving: a paddock is not level."""
LONG_S: Final = 120.0
STILL_MS: Final = 0.5
STILL_S: Final = 3.0
PEDAL_PCT: Final = 50.0
REST_BAR: Final = (0.05, 3.0)
REST_PCT: Final = (4.0, 25.0)
FULL_PCT: Final = (60.0, 97.0)
WITHIN_PCT: Final = 0.5
MIN_LIFTS: Final = 2
"""Minimum number of lifts; a pedal held somewhere once does not rest there."""
HELD_SHARE: Final = 0.02
"""Minimum share of time at rest, and at the full value."""
_SIGNED: Final = {
    "g_lat": ("lateral", "lateral acceleration was positive to the left"),
    "g_long": ("along", "longitudinal acceleration was positive in braking"),
    "steering_deg": ("lateral", "the steering angle was positive to the left"),
}


class _Motion(NamedTuple):
    """Accelerations by positions and speed, every half a second."""

    places: Indices
    lateral: Numbers
    """g to the right."""
    along: Numbers
    """g forward."""


@dataclass(eq=False)
class Correction:
    """Columns of frames with the corrections made so far."""

    columns: dict[str, Numbers]
    facts: dict[str, str] = field(default_factory=dict)
    doubts: list[ReadWarning] = field(default_factory=list)

    @property
    def frames(self) -> Frames:
        """The corrected frames."""
        return Frames(self.columns)


def correct_frames(frames: Frames) -> Correction:
    """Correct what is certainly wrong; each correction becomes a warning.

    A sign is flipped if the positions clearly disagree, a zero is moved if driving and standing
    still agree on it, and a pedal with plain resting and full values is stretched.
    """
    work = Correction(dict(frames.columns))
    columns = work.columns
    angle = columns["steering_deg"]
    beyond = np.abs(angle) > LARGEST_STEERING_DEG
    if beyond.any():
        columns["steering_deg"] = np.where(beyond, np.nan, angle)
        text = "steering angles that stand for no reading"
        work.doubts.append(ReadWarning("sentinel_values", text, int(beyond.sum())))
    lateral, along = columns["g_lat"], columns["g_long"]
    motion = _compute_motion(columns)
    _flip_signs(work, motion, _SIGNED)
    _move_zeros(work, motion)
    if columns["g_lat"] is not lateral or columns["g_long"] is not along:
        both = np.hypot(columns["g_lat"], columns["g_long"])
        columns["combo_g"] = np.where(np.isnan(both), columns["combo_g"], both) + 0.0
    _stretch_throttle(work)
    _move_brake(work)
    return work


def correct_signs(columns: Mapping[str, Numbers], names: Sequence[str]) -> Correction:
    """Flip those of the columns *names* that have the wrong sign."""
    work = Correction(dict(columns))
    if names:
        _flip_signs(work, _compute_motion(work.columns), names)
    return work


def _compute_motion(columns: Mapping[str, Numbers]) -> _Motion:
    whole = build_series(Frames(columns))
    step = max(1, round(STEP_S / whole.nominal_s)) if whole.nominal_s > 0 else 1
    places = slice(None, None, step)
    pull, thrust = whole.motion.lateral_g[places], whole.motion.along_g[places]
    finite = np.isfinite(pull) & np.isfinite(thrust) & (whole["speed_ms"][places] > DRIVING_MS)
    return _Motion(whole.index[places][finite], pull[finite], thrust[finite])


def _flip_signs(work: Correction, motion: _Motion, names: Iterable[str]) -> None:
    for column in names:
        side, detail = _SIGNED[column]
        if _correlate(work.columns[column][motion.places], getattr(motion, side)) < -CORRELATED:
            work.columns[column] = 0.0 - work.columns[column]
            word = column.removesuffix("_deg")
            work.facts[f"{word}_sign"] = "flipped"
            work.doubts.append(ReadWarning(f"{word}_sign_flipped", detail))


def _correlate(values: Numbers, true: Numbers) -> float:
    """Return the correlation, 0 if it is unknown."""
    finite = np.isfinite(values)
    values, true = values[finite], true[finite]
    if len(values) < MIN_SAMPLES or not np.ptp(values) or not np.ptp(true):
        return 0.0
    return float(np.corrcoef(values, true)[0, 1])


def _move_zeros(work: Correction, motion: _Motion) -> None:
    """Remove the offset of accelerometers mounted at a tilt."""
    for column, true, word in (
        ("g_lat", motion.lateral, "lateral"),
        ("g_long", motion.along, "longitudinal"),
    ):
        offset = _find_zero(work.columns, column, motion.places, true)
        if OFFSET_G[0] <= abs(offset) <= OFFSET_G[1]:
            work.columns[column] = work.columns[column] - offset + 0.0
            work.facts[f"{column}_offset"] = f"{offset:+.3f} g taken out"
            detail = f"{word} acceleration read {offset:+.2f} g at zero, standing still and driving"
            work.doubts.append(ReadWarning(f"{column}_offset", detail))


def _find_zero(
    columns: Mapping[str, Numbers], column: str, places: Indices, true: Numbers
) -> float:
    """Return the reading of a sensor at zero if driving and standing still agree, else 0."""
    t, value, speed = columns[TIMESTAMP], columns[column], columns["speed_ms"]
    if _correlate(value[places], true) < CORRELATED or np.ptp(t[places]) < LONG_S:
        return 0.0
    finite = np.isfinite(value[places])
    slope, zero = np.polyfit(true[finite], value[places][finite], 1)
    still = value[(speed < STILL_MS) & np.isfinite(value)]
    if len(still) * measure_period(t) < STILL_S or not 0.5 < slope < 2.0:
        return 0.0
    resting = float(np.median(still))
    agree = abs(float(zero) - resting) <= AGREEMENT_G
    return round((float(zero) + resting) / 2, 3) if agree else 0.0


def _stretch_throttle(work: Correction) -> None:
    """Stretch the range of a pedal that rests well above zero to 0 to 100 %."""
    pedal = work.columns["throttle_pct"]
    finite = pedal[np.isfinite(pedal)]
    if len(finite) < MIN_PEDAL_SAMPLES:
        return
    low, high = float(finite.min()), float(finite.max())
    resting = finite <= low + WITHIN_PCT
    visits = int(np.count_nonzero(np.diff(resting.astype(np.int8)) > 0))
    if not REST_PCT[0] <= low <= REST_PCT[1] or high < FULL_PCT[0]:
        return
    if visits < MIN_LIFTS or float(np.mean(resting)) < HELD_SHARE:
        return
    at_full = float(np.mean(finite >= high - WITHIN_PCT))
    full = high if FULL_PCT[0] <= high <= FULL_PCT[1] and at_full >= HELD_SHARE else 100.0
    if high > full:
        return
    work.columns["throttle_pct"] = np.clip((pedal - low) / (full - low) * 100.0, 0.0, 100.0)
    ends = f"{low:.1f} to {full:.1f} %"
    work.facts["throttle_range"] = f"{ends} became 0 to 100 %"
    text = f"the pedal rests and ends at {ends}: stretched to 0 to 100 %"
    work.doubts.append(ReadWarning("throttle_stretched", text))


def _move_brake(work: Correction) -> None:
    """Set the zero of the brake pressure to its value on full throttle."""
    pressure, pedal = work.columns["brake_bar"], work.columns["throttle_pct"]
    off = pressure[(pedal > PEDAL_PCT) & np.isfinite(pressure)]
    if len(off) >= MIN_SAMPLES:
        rest = float(np.median(off))
        low, high = np.percentile(off, [10, 90])
        if REST_BAR[0] <= abs(rest) <= REST_BAR[1] and high - low <= 1.0:
            pressure = pressure - rest
            work.facts["brake_offset"] = f"{rest:+.2f} bar taken out"
            text = f"brake pressure read {rest:+.2f} bar at full throttle, taken as its zero"
            work.doubts.append(ReadWarning("brake_offset", text))
    below = pressure < 0.0
    if below.any():
        pressure = np.where(below, 0.0, pressure) + 0.0
        work.facts["brake_below_zero"] = f"{int(below.sum())} frames became 0 bar"
    work.columns["brake_bar"] = pressure
