"""Where around the lap the throttle was fully open."""

import math
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.stats import FULL_THROTTLE_PCT

STEP_M: Final = 50.0
MOST_STEPS: Final = 2000
"""100 km. What is longer, as by a distance that is a fault, has longer steps."""


class Stretch(NamedTuple):
    """50 m of the lap; the last one ends with it."""

    start_m: float
    end_m: float
    full_share: float | None
    """Share of the time with the throttle at 95 % or more, over the complete laps; None without
    a reading of the throttle."""
    n_frames: int
    """With a reading of the throttle."""


def hustle_map(drive: Drive) -> tuple[Stretch, ...]:
    """The lap in steps of 50 m, from start/finish."""
    series, length = drive.series, drive.length_m
    step = max(STEP_M, length / MOST_STEPS)
    count = max(1, math.ceil(length / step))
    time, full, frames = np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64)
    for lap in drive.counted:
        throttle = series["throttle_pct"][lap.frames]
        known = ~np.isnan(throttle)
        p = drive.progress.p[lap.frames][known]
        at = np.minimum(p // step, count - 1).astype(np.intp)
        weight = series.weight[lap.frames][known]
        open_ = np.where(throttle[known] >= FULL_THROTTLE_PCT, weight, 0.0)
        time += np.bincount(at, weight, minlength=count)
        full += np.bincount(at, open_, minlength=count)
        frames += np.bincount(at, minlength=count)
    share = np.divide(full, time, out=np.full(count, np.nan), where=time > 0)
    return tuple(
        Stretch(i * step, min((i + 1) * step, length), None if np.isnan(part) else part, n)
        for i, (part, n) in enumerate(zip(share.tolist(), frames.tolist(), strict=True))
    )
