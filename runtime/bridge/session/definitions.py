"""The one definition each of braking, coasting and full throttle, for all answers.

Every `is_…` function takes a series and returns a flag for each of its frames. A frame without a
reading (NaN) counts as none of them, and `has_readings` leaves it out of every share.
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
"""Below this pressure the brake is off; from here to `BRAKING_BAR` it is in transition."""
CLOSED_PCT: Final = 5.0
"""Below this the throttle is closed."""
POWER_PCT: Final = 20.0
"""From this throttle on the driver asks for power."""
FULL_PCT: Final = 95.0
"""From this on the throttle is fully open."""
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
"""Channels of each quantity, one of which must be recorded for the quantity to be known."""


def is_recorded(values: Numbers) -> bool:
    """Whether a channel, or a stretch of it, has any reading."""
    return not bool(np.isnan(values).all())


def find_missing(series: Series, quantities: Sequence[str]) -> tuple[str, ...]:
    """Return which of the *quantities* (names of `QUANTITIES`) the session did not record."""
    return tuple(
        name
        for name in quantities
        if not any(is_recorded(series[channel]) for channel in QUANTITIES[name])
        and not (name == "brake" and _find_braking(series) is not None)
    )


def _find_braking(series: Series) -> Braking | None:
    """Return when the brake is on by a reading of it; None if only the deceleration shows it."""
    braking = series.braking
    return braking if braking is not None and braking.basis != "deceleration" else None


def is_braking(series: Series) -> Flags:
    """The driver brakes: 5 bar or more, or by another signal; see `motion.Braking`."""
    braking = series.braking
    return braking.flags if braking is not None else np.zeros(len(series), dtype=np.bool_)


def has_brake_reading(series: Series) -> Flags:
    """The frames with a reading of the brake."""
    braking = _find_braking(series)
    return braking.measured if braking is not None else np.zeros(len(series), dtype=np.bool_)


def is_on_brake(series: Series) -> Flags:
    """The brake is not off: 2 bar or more."""
    return has_brake_reading(series) & ~is_off_brake(series)


def is_off_brake(series: Series) -> Flags:
    """The brake is off by a reading of it: less than 2 bar, pedal at rest, or an open switch."""
    braking = _find_braking(series)
    return _is_released(braking) if braking is not None else np.zeros(len(series), dtype=np.bool_)


def _is_released(braking: Braking) -> Flags:
    if braking.bar is None:
        return braking.measured & ~braking.flags
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


def has_readings(series: Series, *channels: str) -> Flags:
    """The frames in which all of the *channels* were recorded."""
    flags: Flags = np.isfinite(sum(series[name] for name in channels))
    return flags


def has_coasting_readings(series: Series) -> Flags:
    """The frames that show whether the car coasts: both pedals and the speed were recorded."""
    return has_brake_reading(series) & has_readings(series, "throttle_pct", "speed_ms")


def measure_share(weight: Numbers, flags: Flags, measured: Flags) -> float | None:
    """Return the share, 0 to 1, of the time of the *measured* frames that *flags* take.

    *weight* is the time of each frame. None if no frame is measured.
    """
    total = float(weight[measured].sum())
    return float(weight[flags & measured].sum()) / total if total > 0 else None


class Brakings(NamedTuple):
    """Every braking of a session, in order; indices of frames."""

    begins: Indices
    """The first frame with 5 bar or more, after one with less than 2 bar."""
    ends: Indices
    """The first frame after it with less than 2 bar; the number of frames if there is none."""


def find_brakings(braking: Flags, released: Flags) -> Brakings:
    """Find the brakings, each from braking until the brake is released: a frame between the two
    levels belongs to the state before it."""
    readings = np.flatnonzero(braking | released)
    on = np.concatenate([[False], braking[readings], [False]])
    change = np.diff(on.astype(np.int8))
    behind = np.append(readings, len(braking))
    return Brakings(behind[np.flatnonzero(change > 0)], behind[np.flatnonzero(change < 0)])


def list_brakings(series: Series) -> Brakings:
    """List the brakings of a session, by the signal that shows them."""
    braking = series.braking
    if braking is None:
        return Brakings(np.zeros(0, np.intp), np.zeros(0, np.intp))
    return find_brakings(braking.flags, _is_released(braking))
