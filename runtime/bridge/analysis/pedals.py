"""What the feet did: throttle, brake, both or neither."""

from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.passes import BRAKING_BAR, COASTING_PCT, RELEASED_BAR
from runtime.bridge.session.geometry import Indices
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.series import Flags, Series

THROTTLE_PCT: Final = 5.0
BRAKE_BAR: Final = 1.0
POWER_PCT: Final = 20.0
"""So much throttle is power."""


def brakings(brake: Numbers) -> Indices:
    """The frames where a braking begins: above 5 bar, behind less than 2 bar."""
    return _turns(brake > BRAKING_BAR, brake < RELEASED_BAR)


def lifts(throttle: Numbers) -> Indices:
    """The frames where the throttle was lifted: under 10 %, behind 20 % or more."""
    up, down = throttle >= POWER_PCT, throttle < COASTING_PCT
    known: Indices = np.flatnonzero(up | down)
    lifted: Indices = known[1:][up[known[:-1]] & down[known[1:]]]
    return lifted


def coasting(series: Series) -> Flags:
    """The frames with the brake off (under 2 bar) and the throttle under 10 %, as of a pass; a null
    of a pedal that is recorded is up."""
    throttle, brake = series["throttle_pct"], series["brake_bar"]
    idle: Flags = (np.nan_to_num(throttle) < COASTING_PCT) & (np.nan_to_num(brake) < RELEASED_BAR)
    return idle


def _turns(up: Flags, down: Flags) -> Indices:
    known: Indices = np.flatnonzero(up | down)
    begun: Indices = known[up[known] & np.concatenate([[True], down[known]])[: len(known)]]
    return begun


class Pedals(NamedTuple):
    """Frames in each of four states; together they are all frames looked at."""

    n_frames: int
    throttle_only: int
    brake_only: int
    trail_brake: int
    """Both."""
    coast: int
    """Neither."""
    period_s: float
    """The median time from a frame to the next."""
    throttle_recorded: bool
    """Whether the channel has a reading at all; without one the pedal counts as up."""
    brake_recorded: bool


def pedal_behavior(
    drive: Drive, throttle_th: float = THROTTLE_PCT, brake_th: float = BRAKE_BAR
) -> Pedals:
    """The states of the pedals; a pedal is down strictly above its threshold (%, bar).

    A null reading counts as 0.
    """
    throttle = drive.series["throttle_pct"][drive.frames]
    brake = drive.series["brake_bar"][drive.frames]
    gas, stop = np.nan_to_num(throttle) > throttle_th, np.nan_to_num(brake) > brake_th
    states = np.bincount(2 * stop.astype(np.intp) + gas, minlength=4).tolist()
    return Pedals(
        n_frames=len(throttle),
        throttle_only=states[1],
        brake_only=states[2],
        trail_brake=states[3],
        coast=states[0],
        period_s=drive.series.nominal_s,
        throttle_recorded=not np.isnan(throttle).all(),
        brake_recorded=not np.isnan(brake).all(),
    )
