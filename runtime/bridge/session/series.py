"""The frames of a session as a series in time: order, gaps, weights, distance, position."""

from functools import cached_property
from typing import Final

import numpy as np

from runtime.bridge.session import clock
from runtime.bridge.session.clock import DAY_S as DAY_S
from runtime.bridge.session.clock import Flags as Flags
from runtime.bridge.session.geometry import Indices, Plane, metres_between
from runtime.bridge.session.values import TIMESTAMP, Frames, Numbers

GAP_S: Final = 0.5
GAP_PERIODS: Final = 5.0
USABLE_SHARE: Final = 0.8
USABLE_EXTENT_M: Final = 200.0
NULL_ISLAND_DEG: Final = 1e-6
IMPOSSIBLE: Final = 1e12
"""Beyond it a reading is a fault, and sums of squares of it would overflow."""


class Series:
    """The frames whose time goes forward; channels keep NaN for null."""

    def __init__(
        self, frames: Frames, t: Numbers, index: Indices, put_back: Flags | None = None
    ) -> None:
        self.frames = frames
        self.t = t
        """Seconds of the session's clock, strictly rising; a day is added after each midnight."""
        self.index = index
        """Where each stands among the frames as recorded."""
        steps = max(len(t) - 1, 0)
        self.put_back = np.zeros(steps, dtype=np.bool_) if put_back is None else put_back
        """Whether the clock was put back after each frame but the last: time is missing there."""
        self._channels: dict[str, Numbers] = {}

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, name: str) -> Numbers:
        """A wide signal at those times; what no sensor can have measured is NaN."""
        if name not in self._channels:
            recorded = self.frames.columns[name]
            values = recorded if len(self) == len(recorded) else recorded[self.index]
            possible = np.abs(values) < IMPOSSIBLE
            self._channels[name] = values if possible.all() else np.where(possible, values, np.nan)
        return self._channels[name]

    @cached_property
    def dt(self) -> Numbers:
        """Seconds from each frame to the next; one fewer than frames."""
        return np.diff(self.t)

    @cached_property
    def nominal_s(self) -> float:
        """The median period; 0 for fewer than two frames."""
        return float(np.median(self.dt)) if len(self.dt) else 0.0

    @cached_property
    def gap(self) -> Flags:
        """Whether recording paused, or the clock was put back, after each frame but the last."""
        paused: Flags = self.dt > max(GAP_S, GAP_PERIODS * self.nominal_s)
        return paused | self.put_back

    @cached_property
    def weight(self) -> Numbers:
        """Seconds that each frame stands for: until the next one, at most two periods.

        Before a gap and at the end a frame stands for one period, so that at an even rate all
        weigh the same.
        """
        to_next = np.where(self.gap, self.nominal_s, self.dt)
        return np.append(np.minimum(to_next, 2 * self.nominal_s), self.nominal_s)[: len(self.t)]

    @cached_property
    def fixed(self) -> Flags:
        """Whether each frame has a position."""
        lat, lon = self["lat"], self["lon"]
        possible = (np.abs(lat) <= 90.0) & (np.abs(lon) <= 180.0)
        return possible & ((np.abs(lat) > NULL_ISLAND_DEG) | (np.abs(lon) > NULL_ISLAND_DEG))

    @cached_property
    def centre(self) -> tuple[float, float] | None:
        """Latitude and longitude in the middle of the fixes; None without any."""
        if not self.fixed.any():
            return None
        lat, lon = self["lat"][self.fixed], self["lon"][self.fixed]
        if np.ptp(lon) > 180.0:  # over the date line
            lon = lon % 360.0
        return float(lat.mean()), (float(lon.mean()) + 180.0) % 360.0 - 180.0

    @cached_property
    def gps_usable(self) -> bool:
        """Whether the positions are good enough to find laps with."""
        if not len(self) or self.fixed.mean() < USABLE_SHARE:
            return False
        lat, lon = (self[name] for name in ("lat", "lon"))
        if not self.fixed.all():
            lat, lon = lat[self.fixed], lon[self.fixed]
        if np.ptp(lon) > 180.0:  # over the date line
            lon = lon % 360.0
        corner = float(lat.min()), float(lon.min())
        return metres_between(*corner, float(lat.max()), float(lon.max())) >= USABLE_EXTENT_M

    def xy(self, plane: Plane) -> tuple[Numbers, Numbers]:
        """Positions in a plane; NaN without a fix."""
        lat = np.where(self.fixed, self["lat"], np.nan)
        return plane.xy(lat, np.where(self.fixed, self["lon"], np.nan))

    @cached_property
    def combo_g(self) -> Numbers:
        """Combined acceleration: as recorded, else from its two parts."""
        recorded = self["combo_g"]
        return np.where(np.isnan(recorded), np.hypot(self["g_lat"], self["g_long"]), recorded)

    def gap_time(self, begin: float, end: float) -> float:
        """Seconds between two moments in which nothing was recorded."""
        starts, ends = self._pauses
        return float(np.maximum(np.minimum(ends, end) - np.maximum(starts, begin), 0.0).sum())

    def is_timed(self, begin: float, end: float) -> bool:
        """Whether the clock ran on between two moments, so that they tell how long it took."""
        first, last = np.searchsorted(self.t, begin, side="right") - 1, np.searchsorted(self.t, end)
        return not self.put_back[max(first, 0) : last].any()

    @cached_property
    def _pauses(self) -> tuple[Numbers, Numbers]:
        return self.t[:-1][self.gap], self.t[1:][self.gap]

    def between(self, begin: float, end: float) -> slice:
        """The frames from *begin* to before *end*."""
        return slice(*np.searchsorted(self.t, [begin, end]).tolist())


def series(frames: Frames) -> Series:
    """The usable frames of a session, in time.

    A step back of more than 12 hours is midnight. A frame that is not later than all before it
    is left out, and so are a few whose time is more than 12 hours off and then comes back.
    """
    recorded = frames.columns[TIMESTAMP]
    if _is_plain(recorded):
        return Series(frames, recorded, np.arange(len(recorded)))
    whole = np.flatnonzero(np.abs(recorded) < IMPOSSIBLE)
    whole = whole[clock.steady(recorded[whole])]
    t = clock.past_midnight(recorded[whole])
    kept = clock.forward(t)
    put_back = clock.put_back(frames, whole, t, kept)
    return Series(frames, t[kept], whole[kept], put_back)


def _is_plain(t: Numbers) -> bool:
    """Whether each frame is later than the one before it, as in almost every recording."""
    if not len(t) or not (abs(t[0]) < IMPOSSIBLE and abs(t[-1]) < IMPOSSIBLE):
        return False
    with np.errstate(invalid="ignore"):  # infinity less infinity
        step = np.diff(t)
    return not len(t) > 1 or bool(step.min() > 0.0 and step.max() <= DAY_S / 2)


def unwrapped(distance: Numbers, length_m: float | None = None) -> Numbers:
    """Distance since the start of the session, from one that may begin anew each lap.

    It begins anew where it falls by more than half a lap (half of what was reached, where the
    length is unknown, and 100 m at least); a smaller fall is jitter. NaN stays NaN.
    """
    known = ~np.isnan(distance)
    values = distance if known.all() else distance[known]
    if not len(values):
        return distance.copy()
    resets = fresh_starts(values, length_m)
    if len(resets):
        begins = np.concatenate([[0], resets]).astype(np.intp)
        reached = np.maximum.reduceat(values, begins)
        offset = np.zeros(len(values))
        offset[resets] = reached[:-1]
        values = values + np.cumsum(offset)
    total = np.maximum.accumulate(values)
    if len(total) == len(distance):
        return total
    result = np.full(len(distance), np.nan)
    result[known] = total
    return result


def fresh_starts(values: Numbers, length_m: float | None) -> Indices:
    """Where a distance (without NaN) begins anew: the first frame of each later lap."""
    fall = -np.diff(values)
    least = length_m / 2 if length_m else np.maximum(100.0, np.maximum.accumulate(values)[:-1] / 2)
    return np.flatnonzero(fall > least) + 1


def travelled(series: Series, length_m: float | None = None) -> Numbers:
    """Metres since the first frame, never falling, without NaN.

    As recorded where a distance was recorded; else the integral of speed, else the way between
    fixes, to neither of which a gap adds. Zeros where nothing is known.
    """
    recorded = unwrapped(series["distance_m"], length_m)
    known = ~np.isnan(recorded)
    if known.sum() * 2 >= max(len(series), 2) and np.ptp(recorded[known]) > 0:
        even = recorded
        if not known.all():
            even = np.interp(series.t, series.t[known], recorded[known])
        since: Numbers = even - even[0]
        return since
    rolled = rolled_out(series)
    if rolled is not None:
        return rolled
    if series.fixed.sum() < 2:
        return np.zeros(len(series))
    lat, lon = series["lat"][series.fixed], series["lon"][series.fixed]
    x, y = Plane(float(lat[0]), float(lon[0])).xy(lat, lon)
    steps = np.hypot(np.diff(x), np.diff(y))
    way = np.interp(series.t, series.t[series.fixed], _summed(steps))
    return _summed(np.where(series.gap, 0.0, np.diff(way)))


def rolled_out(series: Series) -> Numbers | None:
    """Metres since the first frame by the integral of speed; None where too little of it is known.

    Half of the frames must have a speed. A gap adds nothing.
    """
    speed = series["speed_ms"]
    known = ~np.isnan(speed)
    if known.sum() * 2 < max(len(series), 2):
        return None
    even = np.interp(series.t, series.t[known], np.maximum(speed[known], 0.0))
    return _summed(np.where(series.gap, 0.0, (even[1:] + even[:-1]) / 2 * series.dt))


def _summed(steps: Numbers) -> Numbers:
    total: Numbers = np.concatenate([[0.0], np.cumsum(steps)])
    return total
