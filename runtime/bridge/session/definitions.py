"""What counts as braking, coasting and full throttle: one definition of each for all answers.

Every function takes a series and gives a flag for each of its frames. A reading that was not
recorded (NaN) is not known: the frame counts as none of them, and `is_told` leaves it out of every
share.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.motion import BRAKING_BAR as BRAKING_BAR
from runtime.bridge.session.motion import Braking
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Flags, Series

RELEASED_BAR: Final = 2.0
"""With less pressure the brake is off; between the two it is on its way from one to the other."""
CLOSED_PCT: Final = 5.0
"""Under so much the throttle is closed."""
POWER_PCT: Final = 20.0
"""With so much throttle or more the driver asks for power."""
FULL_PCT: Final = 95.0
"""With so much or more the throttle is fully open."""
COASTING_MS: Final = 10.0
"""A slower car (36 km/h) manoeuvres or waits, and does not coast."""
QUANTITIES: Final = {
    "speed": ("speed_ms",),
    "brake": ("brake_bar",),
    "throttle": ("throttle_pct",),
    "steering": ("steering_deg",),
    "g_lat": ("g_lat",),
    "g_long": ("g_long",),
    "g": ("combo_g", "g_lat"),
}
"""Channels of which one must be recorded for a quantity to be known, by the quantity's name."""


def is_recorded(values: Numbers) -> bool:
    """Whether a channel, or a stretch of it, has any reading."""
    return not bool(np.isnan(values).all())


def find_missing(series: Series, quantities: Sequence[str]) -> tuple[str, ...]:
    """Those of the *quantities* (names of `QUANTITIES`) that the session did not record."""
    return tuple(
        name
        for name in quantities
        if not any(is_recorded(series[channel]) for channel in QUANTITIES[name])
        and not (name == "brake" and _recorded_braking(series) is not None)
    )


def _recorded_braking(series: Series) -> Braking | None:
    """When the brake is on by a reading of it; None where only the car's slowing tells."""
    braking = series.braking
    return braking if braking is not None and braking.basis != "deceleration" else None


def is_braking(series: Series) -> Flags:
    """The driver brakes: with 5 bar or more, or by what else tells it; see `motion.Braking`."""
    braking = series.braking
    return braking.flags if braking is not None else np.zeros(len(series), dtype=np.bool_)


def is_brake_told(series: Series) -> Flags:
    """The frames with a reading of the brake."""
    braking = _recorded_braking(series)
    return braking.told if braking is not None else np.zeros(len(series), dtype=np.bool_)


def is_on_brake(series: Series) -> Flags:
    """The brake is not off: 2 bar or more."""
    return is_brake_told(series) & ~is_off_brake(series)


def is_off_brake(series: Series) -> Flags:
    """The brake is off by a reading of it: less than 2 bar, or no percentage, or an open switch."""
    braking = _recorded_braking(series)
    return _released(braking) if braking is not None else np.zeros(len(series), dtype=np.bool_)


def _released(braking: Braking) -> Flags:
    if braking.bar is None:
        return braking.told & ~braking.flags
    flags: Flags = braking.bar < RELEASED_BAR
    return flags


def is_off_throttle(series: Series) -> Flags:
    """The throttle open by less than 5 %."""
    flags: Flags = series["throttle_pct"] < CLOSED_PCT
    return flags


def is_full_throttle(series: Series) -> Flags:
    """The throttle open by 95 % or more."""
    flags: Flags = series["throttle_pct"] >= FULL_PCT
    return flags


def is_coasting(series: Series) -> Flags:
    """Neither pedal down: throttle under 5 %, brake under 2 bar, faster than 10 m/s."""
    return is_off_throttle(series) & is_off_brake(series) & (series["speed_ms"] > COASTING_MS)


def is_told(series: Series, *channels: str) -> Flags:
    """The frames in which all of the *channels* were recorded."""
    flags: Flags = np.isfinite(sum(series[name] for name in channels))
    return flags


def is_coasting_told(series: Series) -> Flags:
    """The frames that tell whether the car coasts: both pedals and the speed were recorded."""
    return is_brake_told(series) & is_told(series, "throttle_pct", "speed_ms")


def share_of_time(weight: Numbers, flags: Flags, told: Flags) -> float | None:
    """Which part, 0 to 1, of the time of the frames *told* the *flags* take.

    *weight* is the time of each frame. None where no frame tells.
    """
    total = float(weight[told].sum())
    return float(weight[flags & told].sum()) / total if total > 0 else None


class Brakings(NamedTuple):
    """Every braking of a session, in order; indices of frames."""

    begins: Indices
    """The first frame with 5 bar or more, behind one with less than 2 bar."""
    ends: Indices
    """The first frame behind it with less than 2 bar; the number of frames where none is."""


def find_brakings(braking: Flags, released: Flags) -> Brakings:
    """The brakings of frames, each from braking until the brake is released: what lies between
    the two belongs to what was before it."""
    told = np.flatnonzero(braking | released)
    on = np.concatenate([[False], braking[told], [False]])
    change = np.diff(on.astype(np.int8))
    behind = np.append(told, len(braking))
    return Brakings(behind[np.flatnonzero(change > 0)], behind[np.flatnonzero(change < 0)])


def list_brakings(series: Series) -> Brakings:
    """The brakings of a session, by whatever tells them."""
    braking = series.braking
    if braking is None:
        return Brakings(np.zeros(0, np.intp), np.zeros(0, np.intp))
    return find_brakings(braking.flags, _released(braking))
