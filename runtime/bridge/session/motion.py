"""How a car moved, computed from its clock, speed and positions where no sensor measured it."""

import math
from collections.abc import Sequence
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
"""No car speeds up or slows down harder; a larger value is not a motion of the car."""
STEP_S: Final = 0.2
"""A speed repeated between two readings may change at once by as much as in this time."""
BRIEF_S: Final = 1.0
"""Readings between two impossible changes are wrong if they last less than this."""


def is_possible(speed: float, since_s: float = math.nan, before: float = math.nan) -> bool:
    """Whether a car can have a speed (m/s), *since_s* seconds after another one.

    Only the speed itself is checked if the one before, or the time since, is NaN. The direction of
    time does not matter.
    """
    if not abs(speed) <= FASTEST_MS:  # also NaN
        return False
    return not abs(speed - before) > HARDEST_MS2 * (abs(since_s) + STEP_S)


def reject_speeds(t: Numbers, speed: Numbers) -> Numbers:
    """Set speeds (m/s) that no car can have had to NaN.

    These are speeds beyond any car, and stretches of less than a second that only an impossible
    acceleration could have reached or left. The longest stretch without such a step stays.
    """
    wrong = np.abs(speed) > FASTEST_MS  # False for NaN
    places = np.flatnonzero(np.isfinite(speed) & ~wrong)
    if len(places) > 1:
        clock, values = t[places], speed[places]
        jumps = np.abs(np.diff(values)) > HARDEST_MS2 * (np.diff(clock) + STEP_S)
        if jumps.any():
            piece = np.concatenate(([0], np.cumsum(jumps)))
            wrong[places[find_brief_pieces(clock, piece)[piece]]] = True
    return np.where(wrong, np.nan, speed) if wrong.any() else speed


def find_brief_pieces(t: Numbers, piece: npt.NDArray[np.intp]) -> Flags:
    """Flag the pieces of a channel that last less than a second; never the one with most readings.

    *piece* numbers the piece of each reading from 0, rising.
    """
    readings = np.bincount(piece)
    ends = np.cumsum(readings) - 1
    brief: Flags = t[ends] - t[ends - readings + 1] < BRIEF_S
    brief[np.argmax(readings)] = False
    return brief


THIN_S: Final = 0.05
"""Readings closer than this are averaged: a driver feels nothing shorter."""
LEAST_READINGS: Final = 5
REACH_S: Final = (0.4, 1.0)
"""Half the time over which a motion is smoothed, at least and at most."""
REACH_PERIODS: Final = 2.2
"""The least number of readings used on each side."""
NOISE_G: Final = 0.03
"""Smoothing is as short as possible for the noise of the readings to stay below this.

Against the true acceleration of simulated drives at 10 Hz with 0.5 m of noise on each fix: 0.08 g
rms, and peaks of 10 s 0.12 g too high; with 0.05 m 0.05 g rms. Longitudinal, with 0.1 m/s of noise
on each speed: 0.07 g rms.
"""
UNSURE_G: Final = 0.25
"""If the standard error is larger than this, the result is unknown."""
SIDED: Final = 0.6
"""Readings must cover this share of the smoothing time on either side."""
STANDING_MS: Final = 2.0
"""The positions of a car that stands wander."""


class Fit(NamedTuple):
    """A channel as a parabola around each of its readings, by least squares.

    All but the times are NaN where there are too few readings nearby, or none on one side.
    """

    t: Numbers
    slope: Numbers
    """Per second."""
    bend: Numbers
    """The second derivative, per second squared."""
    slope_error: Numbers
    """Standard error."""
    bend_error: Numbers
    scatter: Numbers
    """Variance of the readings around the parabola."""


class Path(NamedTuple):
    """The fixes of a receiver in a plane."""

    t: Numbers
    """Seconds, strictly rising."""
    x: Numbers
    """Metres to the east."""
    y: Numbers
    """Metres to the north."""


class Motion(NamedTuple):
    """Accelerations from speed and positions, frame by frame; NaN where unknown."""

    lateral_g: Numbers
    """To the right: the acceleration across the direction of travel."""
    along_g: Numbers
    """Forward: the rate at which the speed grows."""
    turn_degs: Numbers
    """Degrees a second by which the course turns to the right."""


def derive_motion(t: Numbers, speed: Numbers, path: Path | None) -> Motion:
    """Derive the accelerations of a car from its speed (m/s, NaN where unknown) and its path.

    *t* rises strictly. Without a *path* its turning is unknown; if less than half of the speeds
    are known, the speed is taken from the path.
    """
    nothing = np.full(len(t), np.nan)
    lateral, along, turn = nothing, nothing, nothing
    finite = np.isfinite(speed)
    has_speed = 2 * int(finite.sum()) >= len(t)
    if has_speed and finite.sum() >= LEAST_READINGS:
        (fit,) = fit_smoothly(t[finite], (speed[finite],), order=1)
        along = _at(t, fit.t, fit.slope, fit.slope_error)
    if path is not None and len(path.t) >= LEAST_READINGS:
        x, y = fit_smoothly(path.t, (path.x, path.y), order=2)
        error = np.hypot(x.bend_error, y.bend_error) / math.sqrt(2.0)
        fast = np.hypot(x.slope, y.slope)
        pace = np.maximum(fast, STANDING_MS)
        lateral = _at(t, x.t, (y.slope * x.bend - x.slope * y.bend) / pace, error)
        moving = np.maximum(np.where(finite, speed, np.interp(t, x.t, fast)), STANDING_MS)
        turn = lateral / moving
        if not has_speed:
            along = _at(t, x.t, (x.slope * x.bend + y.slope * y.bend) / pace, error)
    possible = (np.abs(lateral) <= HARDEST_MS2) & (np.abs(along) <= HARDEST_MS2)
    possible |= np.isnan(along)
    return Motion(
        np.where(possible, lateral / STANDARD_GRAVITY, np.nan),
        along / STANDARD_GRAVITY,
        np.where(possible, np.degrees(turn), np.nan),
    )


def _at(t: Numbers, readings_t: Numbers, values: Numbers, error: Numbers) -> Numbers:
    """Interpolate accelerations between readings; NaN where their standard error is too large."""
    sure = np.where(error <= UNSURE_G * STANDARD_GRAVITY, values, np.nan)
    between: Numbers = np.interp(t, readings_t, sure, left=np.nan, right=np.nan)
    return between


def fit_smoothly(t: Numbers, channels: Sequence[Numbers], *, order: Literal[1, 2]) -> list[Fit]:
    """Fit parabolas through channels of one clock, as short as the noise of the readings allows.

    *order*: the derivative to optimise for. Its variance for a parabola through even readings is
    12 σ² Δ / T³ for the first derivative and 720 σ² Δ / T⁵ for the second, where Δ is the period
    and T the smoothing time.
    """
    t, *thin = thin_readings(t, channels)
    period = float(np.median(np.diff(t))) if len(t) > 1 else THIN_S
    shortest = max(REACH_S[0], REACH_PERIODS * period)
    fits = [fit_parabolas(t, values, shortest) for values in thin]
    scatter = sum(fit.scatter for fit in fits) / len(fits)
    if np.isnan(scatter).all():
        return fits
    noise = float(np.nanmedian(scatter)) * period / (NOISE_G * STANDARD_GRAVITY) ** 2
    wanted = (12 * noise) ** (1 / 3) if order == 1 else (720 * noise) ** (1 / 5)
    reach = max(min(wanted / 2, REACH_S[1]), shortest)
    return [fit_parabolas(t, values, reach) for values in thin] if reach > shortest else fits


def thin_readings(t: Numbers, channels: Sequence[Numbers]) -> list[Numbers]:
    """Average the clock and the channels over twentieths of a second."""
    if len(t) < 2 or np.diff(t).min() >= THIN_S:
        return [t, *channels]
    steps = np.floor((t - t[0]) / THIN_S)
    begins = np.flatnonzero(np.append(True, np.diff(steps) > 0))
    counts = np.diff(np.append(begins, len(t)))
    return [np.add.reduceat(values, begins) / counts for values in (t, *channels)]


def fit_parabolas(t: Numbers, values: Numbers, reach_s: float) -> Fit:
    """Fit parabolas through the readings up to *reach_s* seconds before and after each one.

    *t* rises strictly.
    """
    at = np.arange(len(t))
    first = np.searchsorted(t, t - reach_s)
    last = np.searchsorted(t, t + reach_s, side="right") - 1
    power = [np.zeros(len(t)) for _ in range(5)]  # sums of 1, τ, τ² …, τ being in reaches
    moment = [np.zeros(len(t)) for _ in range(3)]  # of y, τy, τ²y, y being above the middle one's
    squares = np.zeros(len(t))
    for shift in range(int((first - at).min()), int((last - at).max()) + 1):
        near = np.clip(at + shift, first, last)
        inside = (near == at + shift).astype(np.float64)
        away, above = (t[near] - t) / reach_s, values[near] - values
        term = inside
        for order in range(5):
            power[order] += term
            if order < 3:
                moment[order] += term * above
            term = term * away
        squares += inside * above**2
    s0, s1, s2, s3, s4 = power
    m0, m1, m2 = moment
    # The inverse of the normal equations [[s0 s1 s2] [s1 s2 s3] [s2 s3 s4]], by minors.
    i00, i01, i02 = s2 * s4 - s3**2, s2 * s3 - s1 * s4, s1 * s3 - s2**2
    i11, i12, i22 = s0 * s4 - s2**2, s1 * s2 - s0 * s3, s0 * s2 - s1**2
    det = s0 * i00 + s1 * i01 + s2 * i02
    sided = (t - t[first] >= SIDED * reach_s) & (t[last] - t >= SIDED * reach_s)
    det = np.where(sided & (s0 >= LEAST_READINGS) & (det > 0), det, np.nan)
    level = (i00 * m0 + i01 * m1 + i02 * m2) / det
    slope = (i01 * m0 + i11 * m1 + i12 * m2) / det
    curve = (i02 * m0 + i12 * m1 + i22 * m2) / det
    left = np.maximum(squares - level * m0 - slope * m1 - curve * m2, 0.0)
    scatter = left / np.maximum(s0 - 3, 1)
    return Fit(
        t,
        slope / reach_s,
        2 * curve / reach_s**2,
        np.sqrt(scatter * i11 / det) / reach_s,
        2 * np.sqrt(scatter * i22 / det) / reach_s**2,
        scatter,
    )


PRESSED_SHARE: Final = 0.05
"""A pedal is pressed if it is at least this share of its travel above its rest."""
RESTING: Final = 0.1
"""The brake is released for a larger share of the time than this."""
BRAKING_BAR: Final = 5.0
"""From this pressure on the driver brakes."""
SLOWING_G: Final = 0.25
"""Few cars decelerate this much by engine braking and drag alone."""
SLOWING_SHARE: Final = 0.3
HARD_SHARE: Final = 0.02
"""The share of the time in which a car decelerates as hard as it can, at least; drag and engine
alone decelerate a fast car by less than `SLOWING_SHARE` of that."""
SLOWING_S: Final = 0.3


class Braking(NamedTuple):
    """When the driver brakes, frame by frame, and the signal that shows it."""

    basis: Basis
    flags: Flags
    """By the pressure: 5 bar or more."""
    measured: Flags
    """The frames with a reading."""
    bar: Numbers | None = None
    """The pressure, if it was recorded."""

    def is_pressed(self, above_bar: float) -> Flags:
        """Whether the brake is pressed above a pressure, or at all if no pressure is known."""
        return self.flags if self.bar is None else self.bar > above_bar  # False for NaN


def find_braking(bar: Numbers, percent: Numbers, switch: Numbers) -> Braking | None:
    """Return when the driver brakes, by the first of these that was recorded and ever moved.

    Pedal position (%) and switch belong to the frames of a session, NaN where unknown. None if
    none of them has information.
    """
    if not np.isnan(bar).all():
        return Braking("pressure", bar >= BRAKING_BAR, ~np.isnan(bar), bar)
    measured: tuple[tuple[Basis, Numbers], ...] = (("percent", percent), ("switch", switch))
    for basis, values in measured:
        readings = values[~np.isnan(values)]
        if len(readings) and np.ptp(readings) > 0:
            rest, full = float(np.quantile(readings, RESTING)), float(readings.max())
            share = PRESSED_SHARE if basis == "percent" else 0.5
            pressed = values > rest + share * (full - rest)
            return Braking(basis, pressed, ~np.isnan(values))
    return None


def find_slowing(t: Numbers, gap: Flags, along_g: Numbers) -> Braking | None:
    """Return when the driver brakes, by a deceleration that engine and drag cannot explain.

    That is above 0.25 g, and above 0.3 of the hardest, for 0.3 s or longer. *gap* flags the frames
    after which the recording paused. None if the car never slows this hard, or it is unknown.
    """
    slowing = -along_g[~np.isnan(along_g)]
    if not len(slowing):
        return None
    hardest = float(np.quantile(slowing, 1.0 - HARD_SHARE))
    flags = -along_g > max(SLOWING_G, SLOWING_SHARE * hardest)
    edges = np.flatnonzero(np.diff(flags) | gap) + 1
    begins = np.append(0, edges)
    ends = np.append(edges, len(flags)) - 1
    lasting = t[ends] - t[begins] >= SLOWING_S
    flags &= np.repeat(lasting, ends - begins + 1)
    return Braking("deceleration", flags, ~np.isnan(along_g)) if flags.any() else None
