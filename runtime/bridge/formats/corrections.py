"""Mends columns of frames whose sign, zero or range the rest of the frames disproves."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.formats.channels import LARGEST_STEERING_DEG
from runtime.bridge.formats.motion import (
    STANDARD_GRAVITY,
    Places,
    bearing,
    forward,
    nominal_period,
    turning_g,
)
from runtime.bridge.session.recording import TIMESTAMP, Doubt, Frames, Numbers

FEW: Final = 30
MANY: Final = 300
CLEAR: Final = 0.5
"""A correlation of this size is no chance; sensors that are in order reach 0.8 and more."""
LARGEST_G: Final = 5.0
OFFSET_G: Final = 0.05
"""Smaller offsets harm no answer …"""
LARGEST_OFFSET_G: Final = 0.4
"""… and a sensor that is tilted by more than 20 degrees does not measure this axis."""
AGREEMENT_G: Final = 0.06
"""So far may standing still and driving differ: a paddock is not level."""
LONG_S: Final = 120.0
STILL_MS: Final = 0.5
STILL_S: Final = 3.0
PEDAL_PCT: Final = 50.0
REST_BAR: Final = (0.05, 3.0)
REST_PCT: Final = (4.0, 25.0)
FULL_PCT: Final = (60.0, 97.0)
WITHIN_PCT: Final = 0.5
VISITS: Final = 2
"""So often at least a driver lifts; a pedal that was held somewhere once does not rest there."""
RESTING_SHARE: Final = 0.02
FULL_SHARE: Final = 0.02


class Correction(NamedTuple):
    """Frames, and what was done to them."""

    frames: Frames
    facts: Mapping[str, str]
    doubts: tuple[Doubt, ...]


class _Motion(NamedTuple):
    """What positions and speed say of the accelerations, at places half a second apart."""

    places: Places
    lateral: Numbers
    """g to the right."""
    along: Numbers
    """g forward."""


@dataclass(eq=False)
class _Work:
    columns: dict[str, Numbers]
    facts: dict[str, str] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)

    def tell(self, code: str, detail: str, times: int = 1) -> None:
        self.doubts.append(Doubt(code, detail, times))


def correct_frames(frames: Frames) -> Correction:
    """The frames with what is certain put right, each thing told as a doubt.

    A sign is turned where the positions clearly say the opposite; a zero is moved where driving
    and standing still agree on it; a pedal whose resting and full values are plain is stretched.
    """
    work = _Work(dict(frames.columns))
    _steering_range(work)
    motion = _motion(work.columns)
    turned = _signs(work, motion)
    moved = _zeros(work, motion)
    if turned or moved:
        both = np.hypot(work.columns["g_lat"], work.columns["g_long"])
        work.columns["combo_g"] = np.where(np.isnan(both), work.columns["combo_g"], both) + 0.0
    _throttle_range(work)
    _brake_rest(work)
    return Correction(Frames(work.columns), work.facts, tuple(work.doubts))


def _motion(columns: Mapping[str, Numbers]) -> _Motion:
    t, lat, lon, speed = (columns[name] for name in (TIMESTAMP, "lat", "lon", "speed_ms"))
    course = np.full(len(t), np.nan)
    along = forward(t)
    known = along[np.isfinite(lat[along]) & np.isfinite(lon[along])]
    fresh = np.ones(len(known), bool)
    # a fix that is only held has no course of its own
    fresh[1:] = (np.diff(lat[known]) != 0) | (np.diff(lon[known]) != 0)
    known = known[fresh]
    if len(known) < FEW:
        return _Motion(known[:0], np.empty(0), np.empty(0))
    course[known[:-1]] = bearing(lat[known[:-1]], lon[known[:-1]], lat[known[1:]], lon[known[1:]])
    places, pull = turning_g(t, course, speed)
    reach = nominal_period(t[known])
    clock, pace = t[along], speed[along]
    heard = np.isfinite(pace)
    if heard.sum() < FEW:
        return _Motion(places[:0], np.empty(0), np.empty(0))
    step = max(0.25, reach)
    ends = (np.interp(t[places] + side * step, clock[heard], pace[heard]) for side in (-1, 1))
    before, after = ends
    thrust = (after - before) / (2 * step) / STANDARD_GRAVITY
    possible = (np.abs(pull) < LARGEST_G) & (np.abs(thrust) < LARGEST_G)
    return _Motion(places[possible], pull[possible], thrust[possible])


_SIGNED: Final = {
    "g_lat": ("lateral", "lateral acceleration was positive to the left"),
    "g_long": ("along", "longitudinal acceleration was positive in braking"),
    "steering_deg": ("lateral", "the steering angle was positive to the left"),
}


def turn_signs(columns: Mapping[str, Numbers], names: Sequence[str]) -> Correction:
    """The frames with those of the columns *names* turned that are the wrong way round."""
    work = _Work(dict(columns))
    _signs(work, _motion(work.columns), names)
    return Correction(Frames(work.columns), work.facts, tuple(work.doubts))


def _signs(work: _Work, motion: _Motion, names: Iterable[str] = _SIGNED) -> bool:
    """Turn what is the wrong way round; True where that was an acceleration."""
    turned = False
    for column in names:
        side, detail = _SIGNED[column]
        if _likeness(work.columns[column][motion.places], getattr(motion, side)) < -CLEAR:
            work.columns[column] = 0.0 - work.columns[column]
            word = column.removesuffix("_deg")
            work.facts[f"{word}_sign"] = "flipped"
            work.tell(f"{word}_sign_flipped", detail)
            turned = turned or column != "steering_deg"
    return turned


def _likeness(told: Numbers, true: Numbers) -> float:
    """Correlation; 0 where it is not known."""
    known = np.isfinite(told)
    told, true = told[known], true[known]
    if len(told) < FEW or not np.ptp(told) or not np.ptp(true):
        return 0.0
    return float(np.corrcoef(told, true)[0, 1])


def _zeros(work: _Work, motion: _Motion) -> bool:
    """Take the offset out of accelerometers that are mounted at a tilt."""
    moved = False
    for column, side, word in (
        ("g_lat", "lateral", "lateral"),
        ("g_long", "along", "longitudinal"),
    ):
        offset = _offset(work.columns, column, motion.places, getattr(motion, side))
        if offset is None:
            continue
        work.columns[column] = work.columns[column] - offset + 0.0
        work.facts[f"{column}_offset"] = f"{offset:+.3f} g taken out"
        detail = f"{word} acceleration read {offset:+.2f} g at zero, standing still and driving"
        work.tell(f"{column}_offset", detail)
        moved = True
    return moved


def _offset(
    columns: Mapping[str, Numbers], column: str, places: Places, true: Numbers
) -> float | None:
    """What a sensor reads at zero, where driving and standing still say the same; else None."""
    t, value, speed = columns[TIMESTAMP], columns[column], columns["speed_ms"]
    told = value[places]
    known = np.isfinite(told)
    told, true = told[known], true[known]
    if _likeness(told, true) < CLEAR or np.ptp(t[places]) < LONG_S:
        return None
    slope, zero = np.polyfit(true, told, 1)
    period = nominal_period(t)
    still = value[(speed < STILL_MS) & np.isfinite(value)]
    if len(still) * period < STILL_S or not 0.5 < slope < 2.0:
        return None
    resting = float(np.median(still))
    offset = (float(zero) + resting) / 2
    if abs(float(zero) - resting) > AGREEMENT_G:
        return None
    return round(offset, 3) if OFFSET_G <= abs(offset) <= LARGEST_OFFSET_G else None


def _steering_range(work: _Work) -> None:
    angle = work.columns["steering_deg"]
    beyond = np.abs(angle) > LARGEST_STEERING_DEG
    if beyond.any():
        work.columns["steering_deg"] = np.where(beyond, np.nan, angle)
        text = "steering angles that stand for no reading"
        work.tell("sentinel_values", text, int(beyond.sum()))


def _throttle_range(work: _Work) -> None:
    """Stretch a pedal that rests well above zero to 0 … 100 %."""
    pedal = work.columns["throttle_pct"]
    known = pedal[np.isfinite(pedal)]
    if len(known) < MANY:
        return
    low, high = float(known.min()), float(known.max())
    resting = known <= low + WITHIN_PCT
    visits = int(np.count_nonzero(np.diff(resting.astype(np.int8)) > 0))
    if not REST_PCT[0] <= low <= REST_PCT[1] or high < FULL_PCT[0]:
        return
    if visits < VISITS or float(np.mean(resting)) < RESTING_SHARE:
        return
    at_full = float(np.mean(known >= high - WITHIN_PCT))
    full = high if FULL_PCT[0] <= high <= FULL_PCT[1] and at_full >= FULL_SHARE else 100.0
    if high > full:
        return
    work.columns["throttle_pct"] = np.clip((pedal - low) / (full - low) * 100.0, 0.0, 100.0)
    told = f"{low:.1f} to {full:.1f} %"
    work.facts["throttle_range"] = f"{told} became 0 to 100 %"
    work.tell("throttle_stretched", f"the pedal rests and ends at {told}: stretched to 0 to 100 %")


def _brake_rest(work: _Work) -> None:
    """Put the zero of the brake pressure where it is while the driver is on the throttle."""
    pressure, pedal = work.columns["brake_bar"], work.columns["throttle_pct"]
    off = pressure[(pedal > PEDAL_PCT) & np.isfinite(pressure)]
    if len(off) >= FEW:
        rest = float(np.median(off))
        low, high = np.percentile(off, [10, 90])
        if REST_BAR[0] <= abs(rest) <= REST_BAR[1] and high - low <= 1.0:
            pressure = pressure - rest
            work.facts["brake_offset"] = f"{rest:+.2f} bar taken out"
            text = f"brake pressure read {rest:+.2f} bar at full throttle, taken as its zero"
            work.tell("brake_offset", text)
    below = pressure < 0.0
    if below.any():
        work.columns["brake_bar"] = np.where(below, 0.0, pressure) + 0.0
        work.facts["brake_below_zero"] = f"{int(below.sum())} frames became 0 bar"
    else:
        work.columns["brake_bar"] = pressure
