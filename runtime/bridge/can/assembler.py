"""Makes rows and samples of a live bus: its frames are decoded together, a flush at a time."""

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
    hold_last,
    speed_by,
    speed_sources,
    spread_equal,
    wide_columns,
)
from runtime.bridge.can.frames import Batch, CanFrame, batch_of
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
"""What `STALE_S` and `LONGEST_PAUSE_S` are for columns, for further signals, many of which come
seldom: tyre sensors, temperatures."""
_ACCELERATION: Final = "g_long"
_DISTANCE: Final = "distance_m"


class Flush(NamedTuple):
    """What a CAN bus told since the flush before."""

    wide: Mapping[str, float] | None
    """A frame to be stored and shown, every name of `WIDE`; None where its time has a row."""
    samples: Mapping[str, Samples]
    """Every value of every further signal, in order of time."""
    extras: Mapping[str, float]
    """The latest value of every further signal."""


class _Finder:
    """Finds the signals of the bridge among those of a database while the bus tells them.

    The same table as for files decides. Of several candidates that were heard the best name is
    taken; one that has not changed since the bus was opened gives way to one that has. What the
    car file names is left to it, and what goes out under the name of a signal is that signal.
    """

    def __init__(self, units: Mapping[str, str], named: Set[str]) -> None:
        self._units = units
        self._named = named
        self._first: dict[str, float] = {}
        self._changed: set[str] = set()
        self._own: set[str] = set()
        self._matches: dict[str, Match] = {}

    def add_found(self, emitted: dict[str, SignalOutput]) -> dict[str, SignalOutput]:
        """What was told, with the signals found in it."""
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
        found = {
            signal: SignalOutput(emitted[name].rows, match.scale(emitted[name].values))
            for signal, match in self._matches.items()
            if (name := match.channel) != signal and name in emitted and signal != _DISTANCE
        }
        return {**found, **emitted}

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
    """One row for each *flush_ms* of the bus's own time, at even times, and every sample.

    Signals of the database that no car file names are found by `_Finder`.

    A row holds what was last heard before its time. What was silent for too long is null: a
    sensor that died does not go on telling its last value. Columns that the frames do not bring
    stay null, except for the distance, `DistanceFilter`'s, the resultant g, and the speed, which
    wheels or GPS tell where nothing else does. A car that stands gives as many rows as one that
    moves: a pause of the rows would be a pause of the recording, and no time of the lap. A second
    after the whole bus fell silent there is a row that shows it, and then none.
    """

    def __init__(self, decoder: Decoder, plan: Plan = NO_RULES, flush_ms: float = 100.0) -> None:
        self._decoder = decoder
        self._rules = Rules(plan)
        self._finder = _Finder(decoder.units, plan.names)
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
        """Take frames in the order of their arrival; what is complete comes out."""
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
        """What is due at *now*, by the clock of the stamps, although no frame came."""
        return self._advance(now + self._clock.shift)

    def finish(self) -> list[Flush]:
        """What is there, due or not: the bus is closed, or its clock stands still."""
        if not self._stamps and self._due == math.inf:
            return []
        now = self._clock.now
        flushes = self._close(now, inclusive=True)
        self._schedule(now)
        return flushes

    def _schedule(self, t: float) -> None:
        """The next row is due at the first even time after *t*."""
        if math.isnan(self._begin):
            self._begin = t
        step = self._flush_s
        rows = math.floor((t - self._begin) / step + 1e-6) + 1
        rows += self._begin + rows * step <= t  # as floats have it
        self._due = self._begin + rows * step
        silent = math.ceil(STALE_S / step - 1e-6)
        self._quiet_at = self._begin + (rows + silent) * step

    def _advance(self, now: float) -> list[Flush]:
        """Close whatever is due at *now*: a row behind the waiting frames, then one of silence."""
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
        """Put out what was heard before *t*, with a row."""
        count = len(self._stamps)
        if not inclusive:
            count = int(np.searchsorted(self._stamps, t, side="left"))
        frames, stamps = self._waiting[:count], self._stamps[:count]
        del self._waiting[:count], self._stamps[:count]
        batch = batch_of(stamps, [frame.key for frame in frames], [frame.data for frame in frames])
        told = self._samples(batch)
        row = self._row(t, told) if t > self._row_t else None
        kept = {name: samples for name, samples in told.items() if name not in WIDE}
        if row is None and not kept:
            return []
        return [Flush(row, kept, self._extras(t))]

    def _samples(self, batch: Batch) -> dict[str, Samples]:
        """What a batch told of each signal; remembers the last of it."""
        if not len(batch):
            return {}
        emitted = self._finder.add_found(self._rules.feed(self._decoder.decode(batch)))
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

    def _row(self, t: float, told: Mapping[str, Samples]) -> dict[str, float]:
        self._row_t = t
        columns = wide_columns(np.array([t]), self._last)
        row = {name: float(values[0]) for name, values in columns.items()}
        row[TIMESTAMP] = t
        self._move(t, told)
        if self._distance.has_started:
            if not _is_fresh(self._last.get(_ACCELERATION), t, STALE_S, LONGEST_PAUSE_S):
                self._distance.drop_acceleration()
            row[_DISTANCE] = self._distance.at(t)
        return row

    def _move(self, t: float, told: Mapping[str, Samples]) -> None:
        """Tell the filter what came about the motion, in order of time."""
        events: list[tuple[float, int, float]] = []
        for kind, samples in enumerate(
            (told.get(_ACCELERATION), self._speed(t, told), told.get(GPS_DISTANCE))
        ):
            if samples is not None:
                pairs = zip(samples.t.tolist(), samples.value.tolist(), strict=True)
                events += [(at, kind, value) for at, value in pairs]
        way = self._distance
        add = (way.add_acceleration, way.add_speed, way.add_distance)
        for at, kind, value in sorted(events):
            add[kind](at, value)

    def _speed(self, t: float, told: Mapping[str, Samples]) -> Samples | None:
        """The speeds since the row before, by the best signal that is not silent."""
        now = np.array([t])
        for source in speed_sources(self._last):
            if not any(np.isfinite(hold_last(self._last[name], now)).any() for name in source):
                continue
            came = [told[name].t for name in source if name in told]
            if not came:
                return None
            times: Numbers = np.unique(np.concatenate(came))
            signals = {name: told.get(name, self._last[name]) for name in source}
            return Samples(times, speed_by(source, signals, times))
        return None

    def _extras(self, t: float) -> dict[str, float]:
        return {
            name: float(last.value[-1])
            for name, last in self._last.items()
            if name not in WIDE and _is_fresh(last, t, EXTRA_STALE_S, EXTRA_PAUSE_S)
        }


def _is_fresh(last: Samples | None, now: float, stale_s: float, longest_pause_s: float) -> bool:
    """Whether the silence of a signal is nothing unusual."""
    if last is None:
        return False
    pause = float(last.t[-1] - last.t[0])
    return now - float(last.t[-1]) <= max(stale_s, USUAL * min(pause, longest_pause_s))
