"""Makes rows and samples of the signals that frames bring, by the frames' own stamps."""

import math
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from runtime.bridge.can.decode import Stamped
from runtime.bridge.can.distance import DistanceFilter
from runtime.bridge.can.speed import LONGEST_PAUSE_S, SPEEDS, STALE_S, USUAL, SpeedChoice
from runtime.bridge.live.values import Flush
from runtime.bridge.session.recording import TIMESTAMP, WIDE, WIDE_SIGNALS, Samples

EXTRA_STALE_S: Final = 10.0
EXTRA_PAUSE_S: Final = 60.0
"""What `STALE_S` and `LONGEST_PAUSE_S` are for columns, for further signals, many of which come
seldom: tyre sensors, temperatures."""
NUDGE_S: Final = 2e-6
"""Between two values of one signal that came with the same stamp."""
REWIND_S: Final = 1.0
"""A clock that goes back by more was set: time goes on from where it was."""
GPS_DISTANCE: Final = "gps_distance_m"
"""Under this name a distance that the bus tells is kept; the column is our own."""
_ACCELERATION: Final = "g_long"
_MEASURED: Final = tuple(name for name in WIDE_SIGNALS if name not in ("distance_m", "speed_ms"))
_NAN: Final = math.nan


class _Signal:
    """The last value of a signal, and what it brought since the last flush."""

    __slots__ = ("kept", "name", "pause", "t", "times", "value", "values")

    def __init__(self, name: str, t: float, value: float) -> None:
        self.name = name
        self.t = t
        self.value = value
        self.pause = 0.0
        self.kept = name not in WIDE
        self.times: list[float] = []
        self.values: list[float] = []

    def is_fresh(self, now: float, stale_s: float, longest_pause_s: float) -> bool:
        """Whether its silence is nothing unusual."""
        return now - self.t <= max(stale_s, USUAL * min(self.pause, longest_pause_s))


class Assembler:
    """One row for each *flush_ms* of the bus's own time, at even times, and every sample.

    A row holds what was last heard before its time. What was silent for too long is null: a
    sensor that died does not go on telling its last value. Columns that the frames do not bring
    stay null, except for the distance, `DistanceFilter`'s, the resultant g, and the speed, which
    wheels or GPS tell where nothing else does. A car that stands gives as many rows as one that
    moves: a pause of the rows would be a pause of the recording, and no time of the lap. A second
    after the whole bus fell silent there is a row that shows it, and then none.
    """

    def __init__(self, flush_ms: float = 100.0) -> None:
        self._flush_s = flush_ms / 1000.0
        self._signals: dict[str, _Signal] = {}
        self._touched: list[_Signal] = []
        self._distance = DistanceFilter()
        self._speed = SpeedChoice()
        self._begin = _NAN
        self._now = _NAN
        self._shift = 0.0
        self._due = math.inf
        self._quiet_at = math.inf
        self._row_t = -math.inf

    def feed(self, decoded: Iterable[Stamped]) -> list[Flush]:
        """Take what frames brought, in the order of their arrival; what is complete comes out."""
        flushes: list[Flush] = []
        for t, signals in decoded:
            t += self._shift
            if not self._now <= t < math.inf:
                t = self._continued(t)
                if t != t:
                    continue
            if t >= self._due or t >= self._quiet_at:
                self._advance(t, flushes)
            self._now = t
            self._take(t, signals)
            if self._due == math.inf:
                self._schedule()
        return flushes

    def tick(self, now: float) -> list[Flush]:
        """What is due at *now*, by the clock of the stamps, although no frame came."""
        flushes: list[Flush] = []
        if math.isfinite(self._now):
            self._advance(now + self._shift, flushes)
        return flushes

    def finish(self) -> list[Flush]:
        """What is there, due or not: the bus is closed, or its clock stands still."""
        flushes: list[Flush] = []
        if self._touched or self._due < math.inf:
            self._close(self._now, flushes)
            self._schedule()
        return flushes

    def _continued(self, t: float) -> float:
        """A stamp for a first frame, or one whose own is before the last; NaN if it has none."""
        if not math.isfinite(t):
            return _NAN
        if self._now != self._now:
            return t
        if self._now - t > REWIND_S:
            self._shift += self._now - t
        return self._now

    def _advance(self, t: float, flushes: list[Flush]) -> None:
        """Close what is due at *t*."""
        if t >= self._due:
            self._close(self._due, flushes)
            self._due = math.inf
        if t >= self._quiet_at:
            self._close(self._quiet_at, flushes)
            self._quiet_at = math.inf

    def _schedule(self) -> None:
        """The next row is due at the first even time after the last frame."""
        if self._begin != self._begin:
            self._begin = self._now
        step = self._flush_s
        rows = math.floor((self._now - self._begin) / step + 1e-6) + 1
        self._due = self._begin + rows * step
        silent = math.ceil(STALE_S / step - 1e-6)
        self._quiet_at = self._begin + (rows + silent) * step

    def _take(self, t: float, signals: Mapping[str, float]) -> None:
        known = self._signals
        for name, value in signals.items():
            if name == "distance_m":
                name = GPS_DISTANCE
            signal = known.get(name)
            if signal is None:
                signal = known[name] = _Signal(name, t, value)
                at = t
            else:
                at = t if t > signal.t else signal.t + NUDGE_S
                signal.pause = at - signal.t
                signal.t = at
                signal.value = value
            if signal.kept:
                if not signal.times:
                    self._touched.append(signal)
                signal.times.append(at)
                signal.values.append(value)
        self._move(t, signals)

    def _move(self, t: float, signals: Mapping[str, float]) -> None:
        """Tell the filter what the frame says about the motion."""
        if _ACCELERATION in signals:
            self._distance.accelerated(t, signals[_ACCELERATION])
        if not SPEEDS.isdisjoint(signals):
            speed = self._speed.measured(t, signals)
            if speed is not None:
                self._distance.moving(t, speed)
        for name in ("distance_m", GPS_DISTANCE):
            if name in signals:
                self._distance.travelled(t, signals[name])

    def _close(self, t: float, flushes: list[Flush]) -> None:
        """Put out what was heard before *t*, with a row."""
        samples = {}
        for signal in self._touched:
            samples[signal.name] = Samples(np.array(signal.times), np.array(signal.values))
            signal.times.clear()
            signal.values.clear()
        self._touched.clear()
        wide = self._row(t) if t > self._row_t else None
        if wide is not None or samples:
            flushes.append(Flush(wide, samples, self._extras(t)))

    def _row(self, t: float) -> dict[str, float]:
        self._row_t = t
        row = dict.fromkeys(WIDE, _NAN)
        row[TIMESTAMP] = t
        row["distance_m"] = self._metres(t)
        row["speed_ms"] = self._speed.at(t)
        for name in _MEASURED:
            signal = self._signals.get(name)
            if signal is not None and signal.is_fresh(t, STALE_S, LONGEST_PAUSE_S):
                row[name] = signal.value
        if (both := math.hypot(row["g_lat"], row["g_long"])) == both:
            row["combo_g"] = both
        if not _is_fix(row["lat"], row["lon"]):
            row["lat"] = row["lon"] = _NAN
        return row

    def _metres(self, t: float) -> float:
        if not self._distance.started:
            return _NAN
        told = self._signals.get(_ACCELERATION)
        if told is None or not told.is_fresh(t, STALE_S, LONGEST_PAUSE_S):
            self._distance.coasting()
        return self._distance.at(t)

    def _extras(self, t: float) -> dict[str, float]:
        return {
            name: signal.value
            for name, signal in self._signals.items()
            if signal.kept and signal.is_fresh(t, EXTRA_STALE_S, EXTRA_PAUSE_S)
        }


def _is_fix(lat: float, lon: float) -> bool:
    """Whether that is a place: receivers without a fix tell 0, 0 or what is no place at all."""
    return abs(lat) <= 90.0 and abs(lon) <= 180.0 and (abs(lat) > 1e-6 or abs(lon) > 1e-6)
