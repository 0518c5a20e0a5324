"""The frames of a session as a series in time: clock, gaps, weights, distance, position."""

from collections.abc import Mapping
from functools import cached_property
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.geometry import Indices, Plane, metres_between
from runtime.bridge.session.motion import (
    Braking,
    Motion,
    Path,
    derive_motion,
    find_braking,
    find_slowing,
    is_possible,
    reject_speeds,
)
from runtime.bridge.session.recording import TIMESTAMP, Frames, Numbers, Samples

Flags = npt.NDArray[np.bool_]

DAY_S: Final = 86_400.0
SLACK_S: Final = 60.0
PAUSE_PERIODS: Final = 5.0
LOST_PERIODS: Final = 1.5
"""A frame out of order is off by one period; a clock that was set back, by all that it lost."""
LOST_JITTERING: Final = 4.0
"""The same where frames are often out of order, because jittering times crowd in places."""
JITTER_SHARE: Final = 0.01
JITTER_PLACES: Final = 3
GOES_ON: Final = 1.5
"""A clock runs on evenly if it takes at most this many times what its frames need."""
MOST_SETBACKS: Final = 20
"""Times of a clock that is set back more often than this mean nothing."""

LAP_NUMBER: Final = "lap_number"
YAW_RATE: Final = "yaw_rate_dps"
SIGNALS: Final = ("brake_position_pct", "brake_switch", LAP_NUMBER, YAW_RATE)
"""Signals that a series uses besides its frames, where the session has them."""
DERIVED: Final = ("g_lat", "g_long", "combo_g")
"""Signals computed from speed and positions where no sensor measured them."""
MOVED_MS: Final = 5.0
"""A car whose speed changed by more than this has accelerated."""
PUT_BACK_S: Final = 100.0
"""Longer than any smoothing window."""
LONGEST_STEP_S: Final = 1.0
"""A longer step between two frames counts as this long: what happened in it is unknown."""
_NAN: Final = float("nan")
BURST_PART: Final = 0.25
"""Steps shorter than this share of the pauses between bursts lie within a burst. They must be at
least this share of all steps and at most this share of the time, or the clock has no bursts."""
BURST_APART_S: Final = 2.0
"""A longer step is a pause of the recording, not a pause between bursts."""
TOGETHER_S: Final = 0.5
STANDING_MS: Final = 0.5
"""A slower car stands still; the rest is noise."""
HELD_S: Final = 1.5
"""Positions are interpolated between fixes that are at most this far apart."""
GAP_S: Final = 0.5
GAP_PERIODS: Final = 5.0
FROZEN_S: Final = 3.0
"""A receiver repeats its last position for a second or two until it has the next."""
MOVING_MS: Final = 5.0
"""A faster car is somewhere else after `FROZEN_S`."""
STOPPING_MS2: Final = 20.0
"""Hardly any car brakes or accelerates harder than this."""
USABLE_SHARE: Final = 0.8
USABLE_EXTENT_M: Final = 50.0
NULL_ISLAND_DEG: Final = 1e-6
IMPOSSIBLE: Final = 1e12
"""A larger reading is a fault, and sums of its squares would overflow."""


def longest_step_s(period_s: float) -> float:
    """Return the longest step between readings of this period that is not a recording pause."""
    return max(GAP_S, GAP_PERIODS * period_s)


def is_plausible(t: Numbers) -> Flags:
    """Flag all frames but those that a clock fault put half a day away from their neighbours.

    The clock recovers from such a fault: it continues where it was, and the faulty frames span no
    more time than passed meanwhile. At the start, up to a minute of frames that lie more than a
    day before all others is a fault (zeros before the first fix).
    """
    plausible = np.ones(len(t), dtype=np.bool_)
    step = np.diff(t)
    jumps = np.flatnonzero(np.abs(step) > DAY_S / 2).tolist()
    past = _before_the_start(t, jumps[0] + 1) if jumps else 0
    plausible[:past] = False
    for before, last in pairwise(jumps):
        passed, away = t[last + 1] - t[before], t[last] - t[before + 1]
        opposite = (step[before] > 0) != (step[last] > 0)
        returned = -SLACK_S <= passed <= DAY_S / 2
        if before >= past and opposite and returned and abs(away) <= max(passed, 0.0) + SLACK_S:
            plausible[before + 1 : last + 1] = False
            past = last + 1
    return plausible


def _before_the_start(t: Numbers, first: int) -> int:
    """Return how many frames at the start are faulty: *first*, or 0."""
    lead, rest = t[:first], t[first:]
    early = len(lead) < len(rest) and np.median(rest) - lead.max() > DAY_S
    return first if early and np.ptp(lead) <= SLACK_S else 0


def unwrap_midnights(t: Numbers) -> Numbers:
    """Add a day after each step back of more than 12 hours."""
    wraps = np.zeros(len(t))
    wraps[1:] = np.cumsum(np.diff(t) < -DAY_S / 2)
    return t + wraps * DAY_S


def is_later(t: Numbers) -> Flags:
    """Flag the frames that are later than all before them."""
    later = np.ones(len(t), dtype=np.bool_)
    if len(t):
        later[1:] = t[1:] > np.maximum.accumulate(t)[:-1]
    return later


def continue_setbacks(frames: Frames, whole: Indices, t: Numbers) -> tuple[Numbers, Indices]:
    """Return times that run on where the clock was set back, and the frames right after that.

    *t*: the times of the frames *whole*. The first frame after a setback follows the last frame
    before it by the usual period, since the true interval is unknown; later frames move with it.
    """
    moments = np.zeros(0, dtype=np.intp)
    for _ in range(MOST_SETBACKS):  # a setback shows only once those before it are continued
        starts, offsets = find_setbacks(frames, whole, t)
        if not len(starts):
            break
        shift = np.zeros(len(t))
        shift[starts] = offsets
        t, moments = t + np.cumsum(shift), np.union1d(moments, starts)
    return t, moments


def find_setbacks(frames: Frames, whole: Indices, t: Numbers) -> tuple[Indices, Numbers]:
    """Return the first frame after each clock setback, and the seconds to add from there on.

    The clock was set back where the frames that are not later than all before them need more time,
    at the usual period, than the kept frames around them leave: both at that place and since the
    time that the clock shows for the second time. At the end, with no later frame, they leave one
    period. A time before the first frame is new to the clock: there the frames must run on evenly.
    So a frame out of order, a late batch, a single faulty time, a frame that was sent twice and
    frames with equal times are not setbacks.
    """
    none = np.zeros(0, dtype=np.intp), np.zeros(0)
    kept = is_later(t)
    times, late = t[kept], np.flatnonzero(~kept)
    late = late[~_is_repeat(frames, whole, t, late, np.flatnonzero(kept))]
    dt = np.diff(times if len(times) > 1 else t)
    dt = dt[dt > 0]
    if not len(late) or not len(dt):
        return none
    usual = float(np.median(dt))
    even = dt <= PAUSE_PERIODS * usual
    after = np.cumsum(kept)[late] - 1  # the kept frame before each
    # Where times jitter, the frames left out belong to the steps between those that are kept.
    crowded = t[late] >= times[after] - PAUSE_PERIODS * usual
    period = min(usual, float(dt[even].sum()) / float(even.sum() + crowded.sum()))
    places, begins, counts = np.unique(after, return_index=True, return_counts=True)
    lowest = np.minimum.reduceat(t[late], begins)
    until = np.append(times, times[-1] + period)[places + 1]
    here = (counts + 1) * period - (until - times[places])
    since = np.searchsorted(times, lowest, side="right") - 1
    shared = (places + 1 - since + counts) * period - (until - times[np.maximum(since, 0)])
    forward = np.append(0.0, np.cumsum(np.maximum(np.diff(t), 0.0)))
    run = forward[np.append(np.flatnonzero(kept), len(t) - 1)[places + 1]] - forward[late[begins]]
    goes_on = np.where(run <= GOES_ON * counts * period, here, 0.0)
    missing = np.minimum(here, np.where(since < 0, goes_on, shared))
    jitters = len(places) > max(JITTER_PLACES, JITTER_SHARE * len(times))
    least = (LOST_JITTERING if jitters else LOST_PERIODS) * period
    lost = (missing > least) & (lowest < times[places])
    starts = late[begins[lost]]
    return starts, times[places[lost]] + usual - t[starts]


def _is_repeat(frames: Frames, whole: Indices, t: Numbers, late: Indices, kept: Indices) -> Flags:
    """Flag the *late* frames that repeat a kept one.

    All their columns are equal; the distance counts only where nothing else is known, since a
    distance computed from speed keeps growing.
    """
    same = kept[np.minimum(np.searchsorted(t[kept], t[late]), len(kept) - 1)]
    twice: Flags = t[same] == t[late]
    moved, reckoned = (np.zeros(len(late), dtype=np.bool_) for _ in range(2))
    for name, values in frames.columns.items():
        earlier, later = values[whole[same]], values[whole[late]]
        equal = (earlier == later) | (np.isnan(earlier) & np.isnan(later))
        if name == "distance_m":
            moved = ~equal
        else:
            twice &= equal
            reckoned |= ~np.isnan(later) & (name != TIMESTAMP)
    twice &= reckoned | ~moved
    return twice


def find_burst_ends(t: Numbers) -> Indices:
    """Return the last frame of each burst; every frame if they do not come in bursts.

    Some loggers write a row for each of their devices, a few milliseconds apart, and then nothing
    until the devices send again. The clock shows it: many steps are far shorter than the usual
    pause, and take little of the time.
    """
    dt = np.diff(t)
    running = dt[dt <= BURST_APART_S]
    pauses = running[running > running.mean()] if len(running) else running
    if not len(pauses):
        return np.arange(len(t))
    shortest = BURST_PART * float(np.median(pauses))
    within = running[running <= shortest]
    many = len(within) >= BURST_PART * len(running)
    if not many or within.sum() > BURST_PART * running.sum():
        return np.arange(len(t))
    return np.append(np.flatnonzero(dt > shortest), len(t) - 1)


def is_place(lat: Numbers, lon: Numbers) -> Flags:
    """Flag real positions: known, on the globe and not the zeros of a receiver without a fix."""
    on_globe = (np.abs(lat) <= 90.0) & (np.abs(lon) <= 180.0)  # False for NaN
    return on_globe & ((np.abs(lat) > NULL_ISLAND_DEG) | (np.abs(lon) > NULL_ISLAND_DEG))


def find_fixes(lat: Numbers, lon: Numbers) -> Indices:
    """Return the frames with a new fix: the position is known and differs from the one before."""
    with_place = np.flatnonzero(np.isfinite(lat) & np.isfinite(lon))
    moved = (np.diff(lat[with_place]) != 0) | (np.diff(lon[with_place]) != 0)
    return with_place[np.append(True, moved)] if len(with_place) else with_place


def place_between_fixes(t: Numbers, lat: Numbers, lon: Numbers) -> tuple[Numbers, Numbers]:
    """Return positions that move from fix to fix instead of being held or missing in between.

    A receiver slower than the frames repeats its last fix, or sends none, until the next one. A
    fix is where the position changes. If the next one follows within `HELD_S`, positions between
    them are interpolated; across a longer silence they stay as recorded, NaN included.
    """
    fixes = find_fixes(lat, lon)
    if len(fixes) in (0, len(t)):
        return lat, lon
    is_fix = np.zeros(len(t), dtype=np.intp)
    is_fix[fixes] = 1
    after = np.cumsum(is_fix)  # the fix after each frame
    inside = (after > 0) & (after < len(fixes))
    begin, end = fixes[np.maximum(after - 1, 0)], fixes[np.minimum(after, len(fixes) - 1)]
    soon = inside & (t[end] - t[begin] <= HELD_S) & (np.abs(lon[end] - lon[begin]) <= 180.0)
    placed = (np.interp(t, t[fixes], values[fixes]) for values in (lat, lon))
    north, east = (np.where(soon, new, old) for new, old in zip(placed, (lat, lon), strict=True))
    return north, east


class Odometer(NamedTuple):
    """The last frame whose distance is known; all NaN before the first."""

    t: float = _NAN
    """Seconds."""
    speed_ms: float = _NAN
    distance_m: float = _NAN


def fill_distance(
    t: Numbers, speed_ms: Numbers, distance_m: Numbers, last: Odometer
) -> tuple[Numbers, Odometer]:
    """Compute the missing distances; return all of them, and the odometer after the last frame.

    The trapezoidal rule continues from *last*; the first frame of a session starts at 0 m. A frame
    with neither a distance nor a speed that a car can have after the frame before (`is_possible`)
    keeps its null, and the next one continues from the frame before it. Time that runs backwards
    adds nothing, and a frame up to a second out of order does not move the odometer. How a session
    is cut into calls does not change a single bit of the result.
    """
    if not len(t):
        return distance_m, last
    if not np.isnan(distance_m).any():
        return distance_m, Odometer(float(t[-1]), float(speed_ms[-1]), float(distance_m[-1]))
    filled: list[float] = []
    at, speed, reached = last
    frames = zip(t.tolist(), speed_ms.tolist(), distance_m.tolist(), strict=True)
    for now, fast, stated in frames:
        if stated != stated:  # NaN
            if not is_possible(fast, now - at, speed):
                filled.append(stated)
                continue
            stated = 0.0
            if reached == reached:
                if 0.0 < at - now <= LONGEST_STEP_S:
                    filled.append(reached)
                    continue
                step = min(max(now - at, 0.0), LONGEST_STEP_S)
                before = speed if is_possible(speed) else fast
                stated = reached + (before + fast) / 2.0 * step
        filled.append(stated)
        at, speed, reached = now, fast, stated
    return np.array(filled), Odometer(at, speed, reached)


class BurstFrames(NamedTuple):
    """Every usable frame, and which of them end a burst."""

    t: Numbers
    place: Indices
    """Among the frames as recorded."""
    last: Indices

    def take_last(self, values: Numbers) -> Numbers:
        """Return the last known value of each burst; NaN if it has none."""
        if len(self.last) == len(values):
            return values
        readings = np.maximum.accumulate(np.where(np.isnan(values), 0, np.arange(len(values))))
        begins = np.append(0, self.last[:-1] + 1)
        at = readings[self.last]
        return np.where(at >= begins, values[at], np.nan)


class Series:
    """The frames whose time moves forward, one for each burst; channels keep NaN for null."""

    def __init__(
        self,
        frames: Frames,
        t: Numbers,
        index: Indices,
        put_back: Flags,
        extras: Mapping[str, Samples] | None = None,
        derived: frozenset[str] | None = None,
    ) -> None:
        """*t* and *index*: strictly rising times and places, in *frames*, of the frames to use.

        *put_back*: whether the clock was set back after each of them but the last. *extras*:
        the session's `SIGNALS`, each by time. *derived*: the property, if computed before.
        """
        last = find_burst_ends(t)
        self.frames = frames
        self._extras: Mapping[str, Samples] = extras or {}
        self._derived = derived
        self.t = t[last]
        """Seconds of the session's clock, strictly rising; a day is added after each midnight, and
        the time lost after each setback of the clock."""
        self.index = index[last]
        """Places among the recorded frames; the last frame stands for its burst."""
        self.put_back = put_back
        """Whether the clock was set back after each frame but the last: time is missing there."""
        if 1 < len(last) < len(t):
            self.put_back = np.logical_or.reduceat(put_back, last[:-1])
        self.every = BurstFrames(t, index, last)
        """All frames, including those within bursts."""
        self._channels: dict[str, Numbers] = {}

    def __len__(self) -> int:
        return len(self.t)

    def __getitem__(self, name: str) -> Numbers:
        """A wide signal at these times; impossible readings are NaN.

        A burst has its last known value; positions move from fix to fix.
        """
        if name not in self._channels:
            if name in ("lat", "lon"):
                self._channels.update(zip(("lat", "lon"), self._places(), strict=True))
            elif name in DERIVED:
                self._channels.update(self._accelerations)
            elif name == "speed_ms":
                self._channels[name] = reject_speeds(self.t, self.read_raw(name))
            else:
                self._channels[name] = self.read_raw(name)
        return self._channels[name]

    def read_raw(self, name: str) -> Numbers:
        """Return a wide signal at these times as recorded, impossible readings included."""
        return self.every.take_last(self._read_frames(name))

    @cached_property
    def derived(self) -> frozenset[str]:
        """The accelerations that no sensor measured: computed from speed and positions.

        They are smoothed, so their peaks are not measured peaks. Also ``yaw_rate`` if it comes
        from the positions, and ``braking`` if only the car's deceleration shows it.
        """
        if self._derived is not None:
            return self._derived
        measured = {name for name in DERIVED if self._is_measured(name)}
        if {"g_lat", "g_long"} <= measured:
            measured.add("combo_g")
        computed = {
            name for name in DERIVED if name not in measured and not np.isnan(self[name]).all()
        }
        if self.braking is not None and self.braking.basis == "deceleration":
            computed.add("braking")
        if np.isnan(self.signal(YAW_RATE)).all() and not np.isnan(self.yaw_rate).all():
            computed.add("yaw_rate")
        return frozenset(computed)

    @cached_property
    def yaw_rate(self) -> Numbers:
        """Degrees a second to the right: as a sensor measured it, else the turn of the course."""
        measured = self.signal(YAW_RATE)
        return self.motion.turn_degs if np.isnan(measured).all() else measured

    @cached_property
    def _accelerations(self) -> dict[str, Numbers]:
        """The accelerations as measured, or from speed and positions where there is no sensor."""
        measured = {}
        for name, computed in (("g_lat", "lateral_g"), ("g_long", "along_g")):
            has_sensor = self._is_measured(name)
            measured[name] = self.read_raw(name) if has_sensor else getattr(self.motion, computed)
        both, combined = np.hypot(measured["g_lat"], measured["g_long"]), self.read_raw("combo_g")
        if self._is_measured("combo_g"):
            both = np.where(np.isnan(combined), both, combined)
        return {**measured, "combo_g": both}

    def _is_measured(self, name: str) -> bool:
        """Whether a sensor measured an acceleration. One that never changes while the car speeds
        up and slows is dead, and so is a combined acceleration with a dead part."""
        values = self.read_raw(name)
        readings = values[~np.isnan(values)]
        if not len(readings):
            return False
        if name == "combo_g" and any(
            not self._is_measured(part) and not np.isnan(self.read_raw(part)).all()
            for part in ("g_lat", "g_long")
        ):
            return False
        speed = self["speed_ms"]
        moved = np.fmax.reduce(speed) - np.fmin.reduce(speed) > MOVED_MS
        return bool(np.ptp(readings) > 0 or not moved)

    @cached_property
    def motion(self) -> Motion:
        """Accelerations and turning from speed and positions, even if sensors measured them."""
        # Frames before and after a clock setback are not neighbours.
        apart = np.cumsum(np.append(0, self.put_back))[: len(self)] * PUT_BACK_S
        path = None
        if self.gps_usable:
            lat, lon = self._fixed_places
            fixes = find_fixes(lat, lon)
            t, lat, lon = self.every.t[fixes], lat[fixes], lon[fixes]
            x, y = Plane(float(lat[0]), float(lon[0])).xy(lat, lon)
            path = Path(t + apart[np.searchsorted(self.t, t)], x, y)
        return derive_motion(self.t + apart, self["speed_ms"], path)

    def _read_frames(self, name: str) -> Numbers:
        """Return a wide signal at all frames, those within bursts too."""
        recorded = self.frames.columns[name]
        values = recorded if len(self.every.t) == len(recorded) else recorded[self.every.place]
        possible = np.abs(values) < IMPOSSIBLE
        return values if possible.all() else np.where(possible, values, np.nan)

    @cached_property
    def _fixed_places(self) -> tuple[Numbers, Numbers]:
        """Latitude and longitude of all frames, those within bursts too; NaN without a fix."""
        lat, lon = self._read_frames("lat"), self._read_frames("lon")
        on_earth = is_place(lat, lon)
        if not on_earth.all():
            lat, lon = np.where(on_earth, lat, np.nan), np.where(on_earth, lon, np.nan)
        return lat, lon

    def _places(self) -> tuple[Numbers, Numbers]:
        """Latitude and longitude, NaN without a fix."""
        lat, lon = place_between_fixes(self.every.t, *self._fixed_places)
        return lat[self.every.last], lon[self.every.last]

    def signal(self, name: str) -> Numbers:
        """Return a signal from outside the frames at these times; samples hold until the next.

        NaN before the first, and where the session has none.
        """
        samples = self._extras.get(name)
        if samples is None or not len(samples.t):
            return np.full(len(self), np.nan)
        t = self.unwrap_times(samples.t)
        order = np.argsort(t, kind="stable")
        at = np.searchsorted(t[order], self.t, side="right") - 1
        return np.where(at >= 0, samples.value[order][at], np.nan)

    def unwrap_times(self, t: Numbers) -> Numbers:
        """Return clock times as times of the series, which run on at midnight and setbacks.

        A time that the clock showed twice is the later of both.
        """
        clock = self.frames.columns[TIMESTAMP][self.every.place]
        added = self.every.t - clock
        changes = np.flatnonzero(np.diff(clock) < 0)[:MOST_SETBACKS] + 1
        if not len(changes):
            return t
        begins, ends = np.append(0, changes), np.append(changes, len(clock)) - 1
        nearest, offset = np.full(len(t), np.inf), np.zeros(len(t))
        for begin, end in zip(begins.tolist(), ends.tolist(), strict=True):
            away = np.maximum(np.maximum(clock[begin] - t, t - clock[end]), 0.0)
            offset = np.where(away <= nearest, added[begin], offset)
            nearest = np.minimum(nearest, away)
        return t + offset

    @cached_property
    def braking(self) -> Braking | None:
        """When the driver brakes; None where nothing shows it.

        By the brake's pressure, else its pedal, else its switch, else the car's deceleration.
        """
        pedal, switch = self.signal("brake_position_pct"), self.signal("brake_switch")
        measured = find_braking(self["brake_bar"], pedal, switch)
        return measured or find_slowing(self.t, self.gap, self["g_long"])

    @cached_property
    def dt(self) -> Numbers:
        """Seconds from each frame to the next; one fewer than frames."""
        return np.diff(self.t)

    @cached_property
    def nominal_s(self) -> float:
        """The median period; 0 for fewer than two frames."""
        return float(np.median(self.dt)) if len(self.dt) else 0.0

    @cached_property
    def rate_hz(self) -> float | None:
        """Frames a second while the recording ran; None for fewer than two frames."""
        driven = float(self.dt[~self.gap].sum())
        return float((~self.gap).sum()) / driven if driven > 0 else None

    @cached_property
    def gap(self) -> Flags:
        """Whether recording paused, or the clock was set back, after each frame but the last."""
        paused: Flags = self.dt > longest_step_s(self.nominal_s)
        return paused | self.put_back

    @cached_property
    def weight(self) -> Numbers:
        """Seconds that each frame stands for: until the next frame.

        Before a gap and at the end a frame stands for one usual period, so that at an even rate
        all frames weigh the same.
        """
        to_next = np.where(self.gap, self.nominal_s, self.dt)
        return np.append(to_next, self.nominal_s)[: len(self.t)]

    @cached_property
    def fixed(self) -> Flags:
        """Whether each frame has a valid position. A position that stays the same while the car
        drives is not: the receiver has lost its satellites or sends its home."""
        return ~np.isnan(self["lat"]) & ~self._frozen

    @cached_property
    def _frozen(self) -> Flags:
        """Whether each frame's position stays exactly the same for too long while driving."""
        if not len(self):
            return np.zeros(0, dtype=np.bool_)
        lat, lon = self["lat"], self["lon"]
        same = (lat[1:] == lat[:-1]) & (lon[1:] == lon[:-1])
        begins = np.flatnonzero(np.append(True, ~same))
        driven = np.append(np.where(self.gap, 0.0, self.dt), 0.0) * self._drives
        seconds = np.add.reduceat(driven, begins)
        lengths = np.diff(np.append(begins, len(self)))
        return self._drives & np.repeat(seconds > FROZEN_S, lengths)

    @cached_property
    def _drives(self) -> Flags:
        """Whether the car moves at each frame, by its speed, else by its distance."""
        speed = self["speed_ms"]
        if np.isnan(speed).all() and len(self) > 1:
            speed = np.gradient(self["distance_m"], self.t)
        return speed > MOVING_MS

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
        """Whether the positions are good enough to find laps."""
        if not len(self) or self.fixed.mean() < USABLE_SHARE:
            return False
        lat, lon = (self[name] for name in ("lat", "lon"))
        if not self.fixed.all():
            lat, lon = lat[self.fixed], lon[self.fixed]
        if np.ptp(lon) > 180.0:  # over the date line
            lon = lon % 360.0
        corner = float(lat.min()), float(lon.min())
        return metres_between(*corner, float(lat.max()), float(lon.max())) >= USABLE_EXTENT_M

    @property
    def combo_g(self) -> Numbers:
        """Combined acceleration: as recorded, else from its two parts."""
        return self["combo_g"]

    @cached_property
    def rolled(self) -> Numbers | None:
        """Metres since the first frame: the integral of speed, to which gaps add nothing.

        None where less than half of the frames have a speed.
        """
        speed = self["speed_ms"]
        has_speed = ~np.isnan(speed)
        if has_speed.sum() * 2 < max(len(self), 2):
            return None
        if not has_speed.all():
            speed = np.interp(self.t, self.t[has_speed], np.maximum(speed[has_speed], 0.0))
        even = np.where(speed < STANDING_MS, 0.0, speed)
        return _accumulate(np.where(self.gap, 0.0, (even[1:] + even[:-1]) / 2 * self.dt))

    def gap_time(self, begin: float, end: float) -> float:
        """Seconds between two moments during which nothing was recorded."""
        starts, ends = self._pauses
        return float(np.maximum(np.minimum(ends, end) - np.maximum(starts, begin), 0.0).sum())

    def is_timed(self, begin: float, end: float) -> bool:
        """Whether the clock ran steadily between two moments, so that their difference counts."""
        first, last = np.searchsorted(self.t, begin, side="right") - 1, np.searchsorted(self.t, end)
        between = slice(max(first, 0), last)
        return not (self.put_back[between].any() or self._put_forward[between].any())

    @cached_property
    def _put_forward(self) -> Flags:
        """Whether the clock was set forward after each frame but the last: a car that was driving
        before and after a pause moved less than it needs to stop and set off again."""
        moved = np.zeros(len(self.gap), dtype=np.bool_)
        before = np.flatnonzero(self.gap & self.fixed[:-1] & self.fixed[1:])
        if not len(before):
            return moved
        after, speed = before + 1, self["speed_ms"]
        least = (speed[before] ** 2 + speed[after] ** 2) / (2 * STOPPING_MS2)
        least = np.minimum(least, (speed[before] + speed[after]) / 2 * self.dt[before])
        lat, lon = self["lat"], self["lon"]
        x, y = Plane(float(lat[before[0]]), float(lon[before[0]])).xy(lat, lon)
        way = np.hypot(x[after] - x[before], y[after] - y[before])
        driving = np.minimum(speed[before], speed[after]) > MOVING_MS  # False for NaN
        moved[before] = driving & (way < least / 2)
        return moved

    @cached_property
    def _pauses(self) -> tuple[Numbers, Numbers]:
        return self.t[:-1][self.gap], self.t[1:][self.gap]

    def between(self, begin: float, end: float) -> slice:
        """The frames from *begin* to before *end*."""
        return slice(*np.searchsorted(self.t, [begin, end]).tolist())


def build_series(
    frames: Frames,
    extras: Mapping[str, Samples] | None = None,
    derived: frozenset[str] | None = None,
) -> Series:
    """Return the usable frames of a session, in time; *extras* are its `SIGNALS`.

    *derived* is `Series.derived`, if computed from the same frames before.

    A step back of more than 12 hours is midnight. Where the clock is set back and runs on from
    there, the times run on too. Any other frame that is not later than all before it is left out,
    and so is a short run of frames whose time is more than 12 hours off.
    """
    recorded = frames.columns[TIMESTAMP]
    whole = np.flatnonzero(np.abs(recorded) < IMPOSSIBLE)
    whole = whole[is_plausible(recorded[whole])]
    t, moments = continue_setbacks(frames, whole, unwrap_midnights(recorded[whole]))
    kept = is_later(t)
    stepped_back = np.isin(np.flatnonzero(kept)[1:], moments)
    return Series(frames, t[kept], whole[kept], stepped_back, extras, derived)


def unwrap_distance(distance: Numbers, length_m: float | None = None) -> Numbers:
    """Return the distance since the start of the session, from one that may reset each lap.

    It resets where it falls by more than half a lap, or by more than half of the distance reached
    and at least 100 m; a smaller fall is jitter. NaN stays NaN.
    """
    has_distance = ~np.isnan(distance)
    values = distance if has_distance.all() else distance[has_distance]
    if not len(values):
        return distance.copy()
    resets = find_resets(values, length_m)
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
    result[has_distance] = total
    return result


def find_resets(values: Numbers, length_m: float | None) -> Indices:
    """Return where a distance (without NaN) resets: the first frame of each later lap."""
    fall = -np.diff(values)
    least = np.maximum(100.0, np.maximum.accumulate(values)[:-1] / 2)
    if length_m:
        least = np.minimum(least, length_m / 2)
    return np.flatnonzero(fall > least) + 1


def measure_distance(series: Series, length_m: float | None = None) -> Numbers:
    """Return metres since the first frame, never falling, without NaN.

    The recorded distance; else the integral of speed, else the way between fixes, to neither of
    which gaps add. Zeros where nothing is known.
    """
    recorded = unwrap_distance(series["distance_m"], length_m)
    has_distance = ~np.isnan(recorded)
    if has_distance.sum() * 2 >= max(len(series), 2) and np.ptp(recorded[has_distance]) > 0:
        even = recorded
        if not has_distance.all():
            even = np.interp(series.t, series.t[has_distance], recorded[has_distance])
        since: Numbers = even - even[0]
        return since
    if series.rolled is not None:
        return series.rolled
    if series.fixed.sum() < 2:
        return np.zeros(len(series))
    way = _way_between_fixes(series)
    return _accumulate(np.where(series.gap, 0.0, np.diff(way)))


def _way_between_fixes(series: Series) -> Numbers:
    """Return metres along the fixes, which are averaged over half a second.

    The noise of single fixes would add to every step: half a metre at 25 Hz turns 2.5 km into 3.
    """
    fixes = np.flatnonzero(series.fixed)
    lat, lon, t = series["lat"][fixes], series["lon"][fixes], series.t[fixes]
    x, y = Plane(float(lat[0]), float(lon[0])).xy(lat, lon)
    begins = np.append(0, np.flatnonzero(np.diff(np.floor((t - t[0]) / TOGETHER_S))) + 1)
    counts = np.diff(np.append(begins, len(t)))
    at, x, y = (np.add.reduceat(values, begins) / counts for values in (t - t[0], x, y))
    steps, took = np.hypot(np.diff(x), np.diff(y)), np.diff(at)
    rates = np.where(steps >= STANDING_MS * took, steps / took, 0.0)
    if not len(rates):
        return np.zeros(len(series))
    # Before the first average and after the last one, the speed is that of the nearest step.
    knots = np.concatenate([[0.0], at, [t[-1] - t[0]]])
    rates = np.concatenate([rates[:1], rates, rates[-1:]])
    way: Numbers = np.interp(series.t - t[0], knots, _accumulate(rates * np.diff(knots)))
    return way


def measure_travel(frames: Frames) -> Numbers:
    """Return `measure_distance` at each recorded frame; NaN where the session tells no distance.

    A frame that the series leaves out has the distance of the frame before it.
    """
    whole = build_series(frames)
    if not len(whole) or (np.isnan(whole["speed_ms"]).all() and not whole.fixed.any()):
        return np.full(len(frames), np.nan)
    metres = np.zeros(len(frames))
    metres[whole.every.place] = np.interp(whole.every.t, whole.t, measure_distance(whole))
    return np.maximum.accumulate(metres)


def _accumulate(steps: Numbers) -> Numbers:
    total: Numbers = np.concatenate([[0.0], np.cumsum(steps)])
    return total
