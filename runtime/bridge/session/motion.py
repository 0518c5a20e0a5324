"""How a car moved, computed from its clock, speed and positions where no sensor measured it."""

import math
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import Numbers

Flags = npt.NDArray[np.bool_]
Basis: TypeAlias = Literal["pressure", "percent", "switch", "deceleration"]

STANDARD_GRAVITY: Final = 9.80665
FASTEST_MS: Final = 150.0
"""No car is faster (540 km/h); a higher speed is a fault of the receiver or the bus."""
HARDEST_MS2: Final = 5.0 * STANDARD_GRAVITY
"""No car speeds up or slows down harder; what asks for more is no motion of the car."""
STEP_S: Final = 0.2
"""A speed that a logger repeats between two readings may change this much later at once."""
BRIEF_S: Final = 1.0
"""Readings that an impossible change brings and another takes away are wrong if they are fewer."""


def is_possible(speed: float, since_s: float = math.nan, before: float = math.nan) -> bool:
    """Whether a car can have a speed (m/s), so many seconds after another one.

    Only the speed itself is judged where the one before, or the time since, is NaN. A clock that
    was put back says as much as one that went on.
    """
    if not abs(speed) <= FASTEST_MS:  # NaN is none
        return False
    return not abs(speed - before) > HARDEST_MS2 * (abs(since_s) + STEP_S)


def reject_speeds(t: Numbers, speed: Numbers) -> Numbers:
    """The speeds (m/s) with those NaN that no car can have had.

    That is a speed beyond every car, and readings of less than a second that only an impossible
    acceleration could have reached, or left again. The longest stretch without such a step stays.
    """
    wrong = np.abs(speed) > FASTEST_MS  # False for NaN
    places = np.flatnonzero(np.isfinite(speed) & ~wrong)
    if len(places) > 1:
        clock, values = t[places], speed[places]
        jumps = np.abs(np.diff(values)) > HARDEST_MS2 * (np.diff(clock) + STEP_S)
        if jumps.any():
            piece = np.concatenate(([0], np.cumsum(jumps)))
            wrong[places[brief_pieces(clock, piece)[piece]]] = True
    return np.where(wrong, np.nan, speed) if wrong.any() else speed


def brief_pieces(t: Numbers, piece: npt.NDArray[np.intp]) -> Flags:
    """Which pieces of a channel last less than a second; never the one with the most readings.

    *piece* numbers the piece of each reading from 0, rising.
    """
    readings = np.bincount(piece)
    ends = np.cumsum(readings) - 1
    brief: Flags = t[ends] - t[ends - readings + 1] < BRIEF_S
    brief[np.argmax(readings)] = False
    return brief


BRAKING_BAR: Final = 5.0
"""With so much pressure or more the driver brakes."""
PRESSED_SHARE: Final = 0.05
"""So much of its way above its rest a brake pedal is pressed."""
RESTING: Final = 0.1
"""The brake is free in more of the time than this."""


class Braking(NamedTuple):
    """When the driver brakes, frame by frame, and what says so."""

    basis: Basis
    flags: Flags
    """By the pressure: 5 bar or more."""
    told: Flags
    """Where it is recorded whether the driver brakes."""
    bar: Numbers | None = None
    """The pressure, where it was recorded."""

    def pressed(self, above_bar: float) -> Flags:
        """Whether the brake is pressed above a pressure; at all, where no pressure is known."""
        return self.flags if self.bar is None else self.bar > above_bar  # False for NaN


def find_braking(bar: Numbers, percent: Numbers, switch: Numbers) -> Braking | None:
    """When the driver brakes by the first of these that was recorded and ever moved.

    The position of the pedal (%) and the switch are those of a session's frames, NaN where
    nothing is known. None where none of them says anything.
    """
    if not np.isnan(bar).all():
        return Braking("pressure", bar >= BRAKING_BAR, ~np.isnan(bar), bar)
    measured: tuple[tuple[Basis, Numbers], ...] = (("percent", percent), ("switch", switch))
    for basis, values in measured:
        known = values[~np.isnan(values)]
        if len(known) and np.ptp(known) > 0:
            rest, full = float(np.quantile(known, RESTING)), float(known.max())
            share = PRESSED_SHARE if basis == "percent" else 0.5
            pressed = values > rest + share * (full - rest)
            return Braking(basis, pressed, ~np.isnan(values))
    return None
