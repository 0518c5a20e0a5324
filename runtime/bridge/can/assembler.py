"""Builds rows and samples from a live bus; frames are decoded in batches, one per flush."""

import math
from collections.abc import Mapping, Sequence, Set
from typing import Final, NamedTuple

import numpy as np

from runtime.bridge.can.decoder import Decoder
from runtime.bridge.can.distance import DistanceFilter
from runtime.bridge.can.frame_columns import (
    GPS_DISTANCE,
    LONGEST_PAUSE_S,
    STALE_S,
    USUAL,
    StampClock,
    build_wide_columns,
    compute_speed,
    hold_last,
    list_speed_sources,
    spread_equal,
)
from runtime.bridge.can.frames import Batch, CanFrame, to_batch
from runtime.bridge.can.rules import NO_RULES, Plan, Rules, SignalOutput
from runtime.bridge.session.channels import (
    BUS_STATED,
    SIGNALS,
    Channel,
    Match,
    Profile,
    choose_own_names,
    match_channels,
)
from runtime.bridge.session.recording import TIMESTAMP, WIDE, Numbers, Samples

EXTRA_STALE_S: Final = 10.0
EXTRA_PAUSE_S: Final = 60.0
"""Like `STALE_S` and `LONGEST_PAUSE_S`, for further signals, which are often rare: tyre sensors,
temperatures."""
_ACCELERATION: Final = "g_long"
_DISTANCE: Final = "distance_m"


class Flush(NamedTuple):
    """The data of a CAN bus since the previous flush."""

    wide: Mapping[str, float] | None
    """A frame with every name of `WIDE`; None if its time has a row already."""
    samples: Mapping[str, Samples]
    """All values of every further signal, in order of time."""
    extras: Mapping[str, float]
    """The latest value of every further signal."""


class _SignalFinder:
    """Finds the signals of the bridge among those of a DBC file while frames arrive.

    The table for files decides here too. Of several candidates the best name wins, but one that
    has changed since the bus was opened wins over one that has not. Signals that the car file
    names are left to it; a signal emitted under a name of the bridge is that signal.
    """

    def __init__(self, units: Mapping[str, str], named: Set[str]) -> None:
        self._units = units
        self._named = named
        self._first: dict[str, float] = {}
        self._changed: set[str] = set()
        self._own: set[str] = set()
        self._matches: dict[str, Match] = {}

    def add_matches(self, emitted: dict[str, SignalOutput]) -> dict[str, SignalOutput]:
        """Return the emitted signals together with those of the bridge found among them."""
        new = False
        for name, (_, values) in emitted.items():
            if not len(values) or name in self._changed or name in self._own:
                continue
            if name in SIGNALS:
                self._own.add(name)
                new = True
            elif name in self._units and name not in self._named:
                new = new or name not in self._first
                first = self._first.setdefault(name, float(values[0]))
                if (values != first).any():
                    self._changed.add(name)
                    new = True
        if new:
            self._match()
        matched = {
            signal: SignalOutput(emitted[name].rows, match.scale(emitted[name].values))
            for signal, match in self._matches.items()
            if (name := match.channel) != signal and name in emitted and signal != _DISTANCE
        }
        return {**matched, **emitted}

    def _match(self) -> None:
        channels = [
            Channel(name, self._units[name], profile=Profile(constant=name not in self._changed))
            for name in self._first
        ]
        own = [Channel(name) for name in self._own]
        self._matches = match_channels(
            [*own, *channels], choose_own_names(self._own, self._named), BUS_STATED
        )


class Assembler:
    """Emits a row for each *flush_ms* of bus time, at even times, and all samples.

    `_SignalFinder` finds signals of the DBC file that no car file names.

    A row holds the last values before its time; values that are too old are null, so a dead sensor
    does not keep its last value. Columns without signals stay null, except for the distance (see
    `DistanceFilter`), the resultant g, and the speed, which falls back to wheels or GPS. A standing
    car gives as many rows as a moving one, because a gap would not count as lap time. A second
    after the whole bus fell silent one row shows it, then rows stop.
    """

    def __init__(self, decoder: Decoder, plan: Plan = NO_RULES, flush_ms: float = 100.0) -> None:
        self._decoder = decoder
        self._rules = Rules(plan)
        self._finder = _SignalFinder(decoder.units, plan.names)
        self._flush_s = flush_ms / 1000.0
        self._clock = StampClock()
        self._waiting: list[CanFrame] = []
        self._stamps: list[float] = []
        self._last: dict[str, Samples] = {}
        """The last two values of each signal."""
        self._distance = DistanceFilter()
        self._begin = math.nan
        self._due = math.inf
        self._quiet_at = math.inf
        self._row_t = -math.inf

    def feed(self, frames: Sequence[CanFrame]) -> list[Flush]:
        """Take frames in order of arrival and return complete flushes."""
        frames = [
            frame for frame in frames if self._decoder.knows(frame.key) and math.isfinite(frame.t)
        ]
        if not frames:
            return []
        t = self._clock.advance(np.array([frame.t for frame in frames]))
        self._waiting += frames
        self._stamps += t.tolist()
        if self._due == math.inf and self._stamps[0] < self._quiet_at:
            self._schedule(self._stamps[0])
        return self._advance(self._stamps[-1])

    def tick(self, now: float) -> list[Flush]:
        """Return the flushes due at *now*, by the clock of the stamps, without new frames."""
        return self._advance(now + self._clock.shift)

    def finish(self) -> list[Flush]:
        """Return everything, due or not: the bus is closed or its clock stands still."""
        if not self._stamps and self._due == math.inf:
            return []
        now = self._clock.now
        flushes = self._close(now, inclusive=True)
        self._schedule(now)
        return flushes

    def _schedule(self, t: float) -> None:
        """Schedule the next row at the first even time after *t*."""
        if math.isnan(self._begin):
            self._begin = t
        step = self._flush_s
        rows = math.floor((t - self._begin) / step + 1e-6) + 1
        rows += self._begin + rows * step <= t  # rounding of floats
        self._due = self._begin + rows * step
        silent = math.ceil(STALE_S / step - 1e-6)
        self._quiet_at = self._begin + (rows + silent) * step

    def _advance(self, now: float) -> list[Flush]:
        """Close what is due at *now*: a row after the waiting frames, then one for silence."""
        flushes: list[Flush] = []
        while min(self._due, self._quiet_at) <= now:
            if self._due == math.inf:
                at, self._quiet_at = self._quiet_at, math.inf
            else:
                at, self._due = self._due, math.inf
            flushes += self._close(at)
            if self._stamps and self._stamps[0] < self._quiet_at:
                self._schedule(self._stamps[0])
        return flushes

    def _close(self, t: float, *, inclusive: bool = False) -> list[Flush]:
        """Return the samples before *t*, with a row."""
        count = len(self._stamps)
        if not inclusive:
            count = int(np.searchsorted(self._stamps, t, side="left"))
        frames, stamps = self._waiting[:count], self._stamps[:count]
        del self._waiting[:count], self._stamps[:count]
        batch = to_batch(stamps, [frame.key for frame in frames], [frame.data for frame in frames])
        signals = self._decode(batch)
        row = self._build_row(t, signals) if t > self._row_t else None
        further = {name: samples for name, samples in signals.items() if name not in WIDE}
        if row is None and not further:
            return []
        return [Flush(row, further, self._list_extras(t))]

    def _decode(self, batch: Batch) -> dict[str, Samples]:
        """Decode the samples of a batch by signal and remember the last ones."""
        if not len(batch):
            return {}
        emitted = self._finder.add_matches(self._rules.feed(self._decoder.decode(batch)))
        if _DISTANCE in emitted:
            emitted[GPS_DISTANCE] = emitted.pop(_DISTANCE)
        signals = {}
        times: dict[int, Numbers] = {}  # signals of the same frames share their times
        for name, (rows, values) in emitted.items():
            if not len(rows):
                continue
            if id(rows) not in times:
                times[id(rows)] = spread_equal(batch.t[rows])
            t, before = times[id(rows)], self._last.get(name)
            if before is not None and t[0] <= before.t[-1]:
                t = spread_equal(t, float(before.t[-1]))
            signals[name] = Samples(t, values)
            if before is not None and len(t) == 1:
                t = np.concatenate((before.t[-1:], t))
                values = np.concatenate((before.value[-1:], values))
            self._last[name] = Samples(t[-2:], values[-2:])
        return signals

    def _build_row(self, t: float, signals: Mapping[str, Samples]) -> dict[str, float]:
        self._row_t = t
        columns = build_wide_columns(np.array([t]), self._last)
        row = {name: float(values[0]) for name, values in columns.items()}
        row[TIMESTAMP] = t
        self._update_distance(t, signals)
        if self._distance.has_started:
            if not _is_fresh(self._last.get(_ACCELERATION), t, STALE_S, LONGEST_PAUSE_S):
                self._distance.drop_acceleration()
            row[_DISTANCE] = self._distance.estimate_at(t)
        return row

    def _update_distance(self, t: float, signals: Mapping[str, Samples]) -> None:
        """Feed the distance filter with the new motion samples in order of time."""
        events: list[tuple[float, int, float]] = []
        for kind, samples in enumerate(
            (signals.get(_ACCELERATION), self._find_speed(t, signals), signals.get(GPS_DISTANCE))
        ):
            if samples is not None:
                pairs = zip(samples.t.tolist(), samples.value.tolist(), strict=True)
                events += [(at, kind, value) for at, value in pairs]
        distance = self._distance
        add = (distance.add_acceleration, distance.add_speed, distance.add_distance)
        for at, kind, value in sorted(events):
            add[kind](at, value)

    def _find_speed(self, t: float, signals: Mapping[str, Samples]) -> Samples | None:
        """Return the speeds since the previous row, by the best signal that is not silent."""
        now = np.array([t])
        for source in list_speed_sources(self._last):
            if not any(np.isfinite(hold_last(self._last[name], now)).any() for name in source):
                continue
            clocks = [signals[name].t for name in source if name in signals]
            if not clocks:
                return None
            times: Numbers = np.unique(np.concatenate(clocks))
            latest = {name: signals.get(name, self._last[name]) for name in source}
            return Samples(times, compute_speed(source, latest, times))
        return None

    def _list_extras(self, t: float) -> dict[str, float]:
        return {
            name: float(last.value[-1])
            for name, last in self._last.items()
            if name not in WIDE and _is_fresh(last, t, EXTRA_STALE_S, EXTRA_PAUSE_S)
        }


def _is_fresh(last: Samples | None, now: float, stale_s: float, longest_pause_s: float) -> bool:
    """Return whether the silence of a signal is usual."""
    if last is None:
        return False
    pause = float(last.t[-1] - last.t[0])
    return now - float(last.t[-1]) <= max(stale_s, USUAL * min(pause, longest_pause_s))
