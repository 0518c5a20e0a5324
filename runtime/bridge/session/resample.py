"""Puts signals that were sampled at different moments onto one axis."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.session.recording import WIDE_SIGNALS, Frames, Numbers, Samples
from runtime.bridge.session.series import Series, build_series, unwrap_distance

MAX_ROWS: Final = 10_000
MAX_NAMES: Final = 64
MAX_RATE_HZ: Final = 1000.0
RECENT_S: Final = 60.0
"""The length of the end that is shown at a rate without bounds."""
GRID_EPSILON: Final = 1e-9

Interpolation: TypeAlias = Literal["previous", "linear"]
AXES: Final[Mapping[str, str]] = {
    "time": "time",
    "gps": "time",
    "t": "time",
    "distance": "distance",
    "lap_distance": "distance",
}
"""Spellings of the axes; anything else is the name of a signal."""
INTERPOLATIONS: Final[Mapping[str, Interpolation]] = {
    "previous": "previous",
    "hold": "previous",
    "linear": "linear",
    "lerp": "linear",
}
_DISCRETE: Final = frozenset("gear flag switch active".split())


class BadResample(ValueError):
    """A resampling that makes no sense; *param* names the parameter at fault."""

    def __init__(self, param: str, message: str) -> None:
        super().__init__(message)
        self.param = param


class TooLong(BadResample):
    """The result would have more than `MAX_ROWS` rows."""

    def __init__(self) -> None:
        super().__init__("rate_hz", f"the result would have more than {MAX_ROWS} rows")


class NoDistance(BadResample):
    """The session has no distance that increases."""

    def __init__(self) -> None:
        super().__init__("axis", "the session has no increasing distance")


@dataclass(frozen=True)
class Query:
    """The signals to resample, and the axis; a wrong value raises `BadResample`."""

    names: tuple[str, ...]
    axis: str = "time"
    """``time``, ``distance``, or a signal, for the moments at which it was sampled."""
    rate_hz: float = 0.0
    """0: the axis as recorded. On the distance axis any other rate selects *step_m*."""
    interp: Interpolation = "previous"
    t_from: float | None = None
    t_to: float | None = None
    step_m: float = 1.0
    max_age_s: float | None = None
    """A previous sample older than this is null."""
    track_length_m: float | None = None
    """For a distance that resets each lap."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.names) <= MAX_NAMES:
            raise BadResample("names", f"names must be 1 to {MAX_NAMES} signals")
        if not self.axis:
            raise BadResample("axis", "axis must be time, distance or the name of a signal")
        if not 0.0 <= self.rate_hz <= MAX_RATE_HZ:
            raise BadResample("rate_hz", f"rate_hz must be from 0 to {MAX_RATE_HZ:g}")
        if not (self.step_m > 0 and np.isfinite(self.step_m)):
            raise BadResample("step_m", "step_m must be above 0")
        if self.max_age_s is not None and not self.max_age_s >= 0:
            raise BadResample("max_age_s", "max_age_s must be 0 or more")
        for name, bound in (("t_from", self.t_from), ("t_to", self.t_to)):
            if bound is not None and not np.isfinite(bound):
                raise BadResample(name, f"{name} must be a finite number")
        if self.t_from is not None and self.t_to is not None and self.t_from > self.t_to:
            raise BadResample("t_from", "t_from must not be after t_to")


@dataclass(frozen=True, eq=False)
class Resampled:
    """Signals on one axis; NaN stands for null."""

    t: Numbers
    """Seconds of the session's clock, rising."""
    distance_m: Numbers | None
    """On the distance axis: since the start of the session, or of the lap."""
    columns: Mapping[str, Numbers]
    """By name, in the requested order."""
    missing: tuple[str, ...]
    """Names without a single sample in the session."""
    t_from: float | None
    """The bounds in force; None for a session without any time."""
    t_to: float | None

    def __len__(self) -> int:
        return len(self.t)


class Axis(NamedTuple):
    """The moments of the rows."""

    t: Numbers
    """Seconds of the session's clock, rising."""
    distance_m: Numbers | None = None

    def between(self, t_from: float, t_to: float) -> "Axis":
        """Return the part between two moments, both included. Raises `TooLong`."""
        part = slice(*_find_bounds(self.t, t_from, t_to))
        if len(self.t[part]) > MAX_ROWS:
            raise TooLong
        return Axis(self.t[part], None if self.distance_m is None else self.distance_m[part])


def parse_axis(text: str) -> str:
    """Return the axis that a query names."""
    return AXES.get(text, text)


def parse_interpolation(text: str) -> Interpolation:
    """Return the interpolation that a query names; raises `BadResample`."""
    if text not in INTERPOLATIONS:
        raise BadResample("interp", "interp must be linear or previous")
    return INTERPOLATIONS[text]


def is_discrete(name: str, semantics: str | None = None) -> bool:
    """Whether a signal jumps between states, without values between two samples."""
    return semantics == "discrete_state" or not _DISCRETE.isdisjoint(name.lower().split("_"))


def resample(
    frames: Frames,
    signals: Mapping[str, Samples],
    query: Query,
    discrete: Collection[str] | None = None,
    axis: Axis | None = None,
) -> Resampled:
    """Resample the signals of a session; raises `BadResample`, `TooLong`, `NoDistance`.

    *signals* needs only the requested signals and that of the axis. A column of the frames comes
    before a signal of its name. *discrete* names signals that are never interpolated; None: by
    their names (`is_discrete`). *axis* replaces the one that *query* names.
    """
    wide = build_series(frames)
    wanted = dict.fromkeys((*query.names, query.axis))
    sampled = {name: sort_samples(name, wide, signals) for name in wanted}
    query = _fill_bounds(query, wide, [sampled[name] for name in query.names])
    if axis is None or query.t_from is None or query.t_to is None:
        axis = _build_axis(query, wide, sampled)
    else:
        axis = axis.between(query.t_from, query.t_to)
    if discrete is None:
        discrete = [name for name in query.names if is_discrete(name)]
    columns = {}
    for name in dict.fromkeys(query.names):
        if query.interp == "linear" and name not in discrete:
            columns[name] = interpolate(axis.t, sampled[name])
        else:
            columns[name] = hold_previous(axis.t, sampled[name], query.max_age_s)
    missing = tuple(name for name in columns if not len(sampled[name].t))
    return Resampled(axis.t, axis.distance_m, columns, missing, query.t_from, query.t_to)


def hold_previous(t: Numbers, samples: Samples, max_age_s: float | None = None) -> Numbers:
    """Return the last sample up to each time; NaN before the first. *samples* are in time."""
    if not len(samples.t):
        return np.full(len(t), np.nan)
    at = np.searchsorted(samples.t, t, side="right") - 1
    is_known = at >= 0
    if max_age_s is not None:
        is_known &= t - samples.t[at] <= max_age_s
    return np.where(is_known, samples.value[at], np.nan)


def interpolate(t: Numbers, samples: Samples) -> Numbers:
    """Interpolate linearly between samples; NaN outside. *samples* are in time.

    Of two samples at one time the first counts.
    """
    if not len(samples.t):
        return np.full(len(t), np.nan)
    first = np.append(True, np.diff(samples.t) > 0)
    times, values = samples.t[first], samples.value[first]
    between: Numbers = np.interp(t, times, values, left=np.nan, right=np.nan)
    return between


def sort_samples(name: str, wide: Series, signals: Mapping[str, Samples]) -> Samples:
    """Return the samples of one signal in time, as recorded; empty if there are none."""
    if name in WIDE_SIGNALS:
        values = wide.read_raw(name)
        is_known = ~np.isnan(values)
        if is_known.any():
            return Samples(wide.t[is_known], values[is_known])
    samples = signals.get(name)
    if samples is None or not len(samples.t):
        return Samples(np.empty(0), np.empty(0))
    t = wide.unwrap_times(samples.t)
    if len(t) > 1 and not (np.diff(t) >= 0).all():
        order = np.argsort(t, kind="stable")
        return Samples(t[order], samples.value[order])
    return Samples(t, samples.value)


def _fill_bounds(query: Query, wide: Series, sampled: list[Samples]) -> Query:
    """Fill in the bounds in force."""
    edges = [float(wide.t[0]), float(wide.t[-1])] if len(wide) else []
    for samples in sampled:
        edges += [float(t) for t in samples.t[[0, -1]]] if len(samples.t) else []
    if not edges:
        return query
    start, end = min(edges), max(edges)
    if query.rate_hz > 0 and query.axis == "time" and query.t_from is None and query.t_to is None:
        start = max(start, end - RECENT_S)
    t_from = start if query.t_from is None else query.t_from
    t_to = end if query.t_to is None else query.t_to
    if t_from <= t_to:
        return replace(query, t_from=t_from, t_to=t_to)
    # Only one bound is set, and it lies outside the session: nothing is in between.
    edge = t_to if query.t_from is None else t_from
    return replace(query, t_from=edge, t_to=edge)


def _build_axis(query: Query, wide: Series, sampled: Mapping[str, Samples]) -> Axis:
    if query.t_from is None or query.t_to is None:
        return Axis(np.empty(0), np.empty(0) if query.axis == "distance" else None)
    if query.axis == "distance":
        return _build_distance_axis(query, query.t_from, query.t_to, wide)
    if query.axis == "time" and query.rate_hz > 0:
        return Axis(grid(query.t_from, query.t_to, rate=query.rate_hz))
    if query.axis != "time":
        t = np.unique(sampled[query.axis].t)
    elif len(wide):
        t = wide.t
    else:
        t = np.unique(np.concatenate([sampled[name].t for name in query.names]))
    return Axis(t).between(query.t_from, query.t_to)


def _build_distance_axis(query: Query, t_from: float, t_to: float, wide: Series) -> Axis:
    """Return the frames whose distance is known, or an even grid of distance between the bounds."""
    way = unwrap_distance(wide["distance_m"], query.track_length_m)
    is_known = ~np.isnan(way)
    t, way = wide.t[is_known], way[is_known]
    part = slice(*_find_bounds(t, t_from, t_to))
    t, way = t[part], way[part]
    if query.rate_hz <= 0:
        if len(t) > MAX_ROWS:
            raise TooLong
        return Axis(t, way)
    if not len(t):
        return Axis(t, way)
    rising = np.append(True, np.diff(way) > 0)
    t, way = t[rising], way[rising]
    if len(t) < 2:
        raise NoDistance
    even = grid(float(way[0]), float(way[-1]), step=query.step_m)
    return Axis(np.interp(even, way, t), even)


def grid(begin: float, end: float, *, rate: float = 1.0, step: float = 1.0) -> Numbers:
    """Return ``begin + k·step/rate`` up to *end*, both included; raises `TooLong`."""
    steps = math.floor(min((end - begin) * rate / step, float(MAX_ROWS)) + GRID_EPSILON)
    if steps >= MAX_ROWS:
        raise TooLong
    points: Numbers = np.arange(steps + 1, dtype=np.float64) * step / rate
    return np.minimum(begin + points, end)


def _find_bounds(t: Numbers, t_from: float, t_to: float) -> tuple[int, int]:
    return (
        int(np.searchsorted(t, t_from, side="left")),
        int(np.searchsorted(t, t_to, side="right")),
    )
