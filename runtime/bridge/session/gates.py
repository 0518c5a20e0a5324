"""When a line across the track was crossed, between the fixes before and after it."""

import math
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.session.geometry import METRES_PER_DEGREE, Indices, Plane
from runtime.bridge.session.series import Series
from runtime.bridge.session.values import Gate, Numbers

NEAR_M: Final = 100.0
AGAIN_S: Final = 20.0
AGAIN_M: Final = 300.0
ROLLING_SHARE: Final = 0.6
COURSE_M: Final = 10.0
_LOOKED: Final = 4096


class Crossings(NamedTuple):
    """Moments at which the gate was crossed in its direction."""

    t: Numbers
    """Seconds of the session's clock."""
    before: Indices
    """The frame before each."""


def crossings(series: Series, gate: Gate) -> Crossings:
    """Every crossing of a gate, however soon after the last.

    Between two fixes that are both within 100 m the way along the gate's heading goes from
    negative to 0 or more, and meets the line within its half-width. The moment is interpolated.
    """
    fixes = np.flatnonzero(series.fixed)
    # Few frames are near the gate: the rest is set aside before anything is computed of them.
    close = np.flatnonzero(np.abs(series["lat"][fixes] - gate.lat) <= NEAR_M / METRES_PER_DEGREE)
    frames = fixes[close]
    if len(frames) < 2:
        return Crossings(np.zeros(0), frames[:0])
    x, y = Plane(gate.lat, gate.lon).xy(series["lat"][frames], series["lon"][frames])
    north, east = math.cos(math.radians(gate.heading)), math.sin(math.radians(gate.heading))
    along = x * east + y * north
    i = np.flatnonzero((along[:-1] < 0) & (along[1:] >= 0) & (np.diff(close) == 1))
    near = np.hypot(x, y) <= NEAR_M
    i = i[near[i] & near[i + 1]]
    share = along[i] / (along[i] - along[i + 1])
    across = x * north - y * east
    beside = across[i] + share * (across[i + 1] - across[i])
    i, share = i[keep := np.abs(beside) <= gate.half_width_m], share[keep]
    before, after = frames[i], frames[i + 1]
    t = series.t[before] + share * (series.t[after] - series.t[before])
    return Crossings(t, before)


def passages(series: Series, gate: Gate, travelled: Numbers) -> Numbers:
    """Crossings that can begin a lap: 20 s and 300 m at least after the one before."""
    found = crossings(series, gate)
    way = np.interp(found.t, series.t, travelled) if len(series) else found.t
    kept: list[float] = []
    last = -math.inf, -math.inf
    for t, m in zip(found.t.tolist(), way.tolist(), strict=True):
        if t - last[0] >= AGAIN_S and m - last[1] >= AGAIN_M:
            kept.append(t)
            last = t, m
    return np.array(kept)


def synthetic_gate(series: Series) -> Gate | None:
    """A gate at the place and course of the first fast driving; None where nothing moved.

    Fast is above 60 % of the 95th percentile of speed.
    """
    frames = np.flatnonzero(series.fixed)
    if len(frames) < 2:
        return None
    fast = _first_fast(series, frames)
    if fast is None:
        return None
    lat, lon = float(series["lat"][frames[fast]]), float(series["lon"][frames[fast]])
    plane = Plane(lat, lon)
    begin, end = (_first_away(series, frames, fast, plane, step) for step in (-1, 1))
    x, y = plane.xy(series["lat"][frames[[begin, end]]], series["lon"][frames[[begin, end]]])
    heading = math.degrees(math.atan2(x[1] - x[0], y[1] - y[0])) % 360.0
    return Gate(lat, lon, heading)


def _first_fast(series: Series, frames: Indices) -> int | None:
    """The first of *frames* that is fast."""
    speed = series["speed_ms"][frames]
    if np.isnan(speed).mean() > 0.5:
        lat, lon = series["lat"][frames], series["lon"][frames]
        x, y = Plane(float(lat[0]), float(lon[0])).xy(lat, lon)
        speed = np.hypot(np.gradient(x), np.gradient(y)) / np.gradient(series.t[frames])
    known = speed[~np.isnan(speed)]
    is_fast = speed > ROLLING_SHARE * np.percentile(known, 95, overwrite_input=True)
    return int(is_fast.argmax()) if is_fast.any() else None


def _first_away(series: Series, frames: Indices, begin: int, plane: Plane, step: int) -> int:
    """The nearest of *frames* that is 10 m from number *begin*; without one the last, or *begin*.

    *step*: 1 to look forward, -1 back.
    """
    at = begin
    while 0 <= at < len(frames):
        some = np.arange(at, at + step * _LOOKED, step)
        some = some[(some >= 0) & (some < len(frames))]
        x, y = plane.xy(series["lat"][frames[some]], series["lon"][frames[some]])
        away = np.flatnonzero(np.hypot(x, y) >= COURSE_M)
        if len(away):
            return int(some[away[0]])
        at += step * _LOOKED
    return len(frames) - 1 if step > 0 else begin
