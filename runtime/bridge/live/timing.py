"""The lap clock: lap and sector times of a car, live and compared with a reference lap."""

import math
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.analysis.drive import choose_sectors, circuit_sectors, place_laps
from runtime.bridge.cues.engine import Where
from runtime.bridge.session.gates import (
    AGAIN_M,
    AGAIN_S,
    FIT_S,
    NEAR_M,
    find_crossings,
    find_lap_starts,
    measure_beside,
)
from runtime.bridge.session.geometry import METRES_PER_DEGREE
from runtime.bridge.session.laps import GAP_SHARE, Laps, is_lap
from runtime.bridge.session.progress import (
    OVER_S,
    project_on_line,
    time_sectors,
    unwrap,
    unwrap_lap,
)
from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, LiveFrame, Numbers
from runtime.bridge.session.series import FROZEN_S, Series, build_series, measure_distance
from runtime.bridge.session.units import round_splits
from runtime.bridge.track.model import Track

TRACE_M: Final = 5.0
"""Spacing of the times kept of a lap."""
HOLE: Final = 0.1
"""A lap with a longer unseen share is no reference."""
MEAN_LAPS: Final = 5
SESSIONS: Final = 256
AROUND_S: Final = OVER_S + 1.0
"""This much of the drive on each side locates a place as precisely as in a recorded session."""
ASK_S: Final = 1.0
"""Interval at which the stored laps of the session are requested."""
Rating: TypeAlias = Literal["best", "own", "slower"]


@dataclass(frozen=True, eq=False)
class Trace:
    """The time of one lap as a function of the place."""

    place_m: Numbers
    """From 0 to the length of the lap, never decreasing."""
    t: Numbers
    """Seconds since its start, at those places."""

    @property
    def lap_s(self) -> float:
        """The lap time."""
        return float(self.t[-1])

    def at(self, place_m: float) -> float:
        """Return the seconds at a place."""
        return float(np.interp(place_m, self.place_m, self.t))


def make_trace(
    place_m: Sequence[float] | Numbers, t: Sequence[float] | Numbers, length_m: float, lap_s: float
) -> Trace | None:
    """Make a trace from places and times within a lap; None if too much of it is unseen."""
    places = np.maximum.accumulate(np.clip([0.0, *place_m, length_m], 0.0, length_m))
    if np.diff(places).max() > HOLE * length_m:
        return None
    return Trace(places, np.clip([0.0, *t, lap_s], 0.0, lap_s))


@dataclass(frozen=True, eq=False)
class TimedLap:
    """A complete lap."""

    begin: float
    """Seconds of the session's clock, as is *end*."""
    end: float
    sectors: tuple[float | None, ...]
    """Seconds in each; None: unknown."""
    trace: Trace | None = None
    """Present if the lap was the best one when it was driven."""

    @property
    def lap_s(self) -> float:
        """The lap time."""
        return self.end - self.begin


@dataclass(frozen=True, eq=False)
class History:
    """The stored laps of a session."""

    laps: tuple[TimedLap, ...]
    starts: tuple[float, ...]
    """Every time at which the car crossed start/finish."""
    until: float
    """Time of its last frame, in seconds."""


class Past(NamedTuple):
    """What the lap clock knows besides the frames it received."""

    history: History | None = None
    record: Trace | None = None
    """The driver's best lap on the circuit in another session."""


NO_PAST: Final = Past()


def read_history(laps: Laps, track: Track) -> History:
    """Read the laps of a stored session on *track*."""
    progress, _ = place_laps(laps, track)
    spans = choose_sectors(laps, progress, track) if progress is not None else ()
    timed: list[TimedLap] = []
    best = math.inf
    for lap in laps.complete:
        sectors = time_sectors(laps, progress, lap, spans) if progress is not None else []
        trace = None
        if progress is not None and lap.duration_s < best:
            places, t = unwrap_lap(progress, lap), laps.series.t[lap.frames] - lap.t_start
            kept = np.append(True, np.diff(np.floor(places / TRACE_M)) > 0)[: len(places)]
            trace = make_trace(places[kept], t[kept], progress.length_m, lap.duration_s)
            best = lap.duration_s if trace is not None else best
        timed.append(TimedLap(lap.t_start, lap.t_end, tuple(sectors), trace))
    # Not from the laps: before the first closed lap they do not show the line.
    starts = find_lap_starts(laps.series, track.start, laps.travelled).tolist()
    starts = starts or [lap.begin for lap in timed]
    until = float(laps.series.t[-1]) if len(laps.series) else -math.inf
    return History(tuple(timed), tuple(starts), until)


class Timing(NamedTuple):
    """The lap timing at a frame; None: unknown."""

    lap: int | None = None
    """The current lap, 1, 2, …; None before start/finish was crossed."""
    lap_distance_m: float | None = None
    lap_time_s: float | None = None
    """Since start/finish."""
    delta_s: float | None = None
    """Compared with the reference lap at the same place; positive is slower."""
    predicted_s: float | None = None
    """The lap time if the rest is driven as in the reference lap."""


NO_TIMING: Final = Timing()


class SectorDone(NamedTuple):
    """A completed sector."""

    lap_number: int
    sector: int
    """1, 2, 3."""
    time_s: float
    delta_s: float | None
    """Compared with the reference lap."""
    rating: Rating
    """best: the fastest known; own: no slower than in the reference lap; else slower."""


class LapSector(NamedTuple):
    """A sector of a complete lap."""

    sector: int
    time_s: float | None
    is_best: bool
    """Whether it is the fastest of the session."""


class LapDone(NamedTuple):
    """A complete lap."""

    lap_number: int
    lap_time_s: float
    delta_s: float | None
    """Compared with the reference lap as it was before."""
    is_best: bool
    """Whether it is the fastest of the session."""
    best_lap_s: float
    """Of the session."""
    sectors: tuple[LapSector, ...]
    mean5_s: float | None
    """Mean of the last five laps; absent while there are fewer."""


Done: TypeAlias = SectorDone | LapDone


class Reading(NamedTuple):
    """The clock at a frame, and the sectors and laps that just ended."""

    timing: Timing = NO_TIMING
    done: tuple[Done, ...] = ()


NO_READING: Final = Reading()


@dataclass
class _RunningLap:
    """The lap being driven."""

    began: float
    way: float | None = None
    """Metres from start/finish, unwrapped at both ends; None: place unknown."""
    travelled: float = 0.0
    """Metres; NaN until the first place of a lap whose start was not seen."""
    gap_s: float = 0.0
    """Seconds without frames."""
    marks: list[float | None] = field(default_factory=list)
    """Times at which the inner sector ends were passed."""
    fitted: int = 0
    """Number of these that have been timed as in a recorded session."""
    places: list[float] = field(default_factory=list)
    moments: list[float] = field(default_factory=list)


class _Fix(NamedTuple):
    """A position near start/finish, in coordinates of the line."""

    t: float
    lat: float
    lon: float
    along: float
    """Metres past the line; NaN if far away."""
    across: float


class _Closing(NamedTuple):
    """A crossing of start/finish whose exact time is not known yet."""

    moment: float
    by_gate: bool
    """Whether it was detected from positions."""
    before: _RunningLap | None
    """The lap that it ends."""


class LapTimer:
    """The lap clock of one car on one circuit.

    It restarts at the frame after start/finish. A second later, when the crossing can be fitted as
    in a recorded session, the lap is reported with the times that the session will show. A sector
    is reported at once, so position noise may shift its time by some hundredths.
    """

    def __init__(self, track: Track) -> None:
        self.track = track
        self.past = NO_PAST
        self.t = -math.inf
        """Time of the last frame."""
        self.asked = -math.inf
        """When the stored laps were last requested."""
        self._ends = [span.end_m for span in circuit_sectors(track, track.length_m)]
        self._laps: list[TimedLap] = []
        self._reference: Trace | None = None
        self._running: _RunningLap | None = None
        self._closing: _Closing | None = None
        self._recent: deque[tuple[float, LiveFrame]] = deque()
        self._fix: _Fix | None = None
        self._place: float | None = None

    def adopt(self, past: Past, t: float) -> None:
        """Continue from the stored laps up to time *t* and the driver's record."""
        self.past = past
        if (history := past.history) is not None:
            stored = [lap for lap in history.laps if lap.end <= t]
            self._laps = stored + [lap for lap in self._laps if history.until < lap.end <= t]
            start = max((start for start in history.starts if start <= t), default=-math.inf)
            running = self._running
            if start > (running.began + AGAIN_S if running is not None else -math.inf):
                self._running, self._closing = _RunningLap(start, travelled=math.nan), None
        self._choose_reference()

    def tick(self, frame: LiveFrame, where: Where) -> Reading:
        """Take the next frame."""
        since = where.t - self.t
        place = where.place.progress_m if where.place is not None else None
        if where.step != "on":
            self._pause(since)
            if self.past.history is not None:
                self.adopt(self.past, where.t)
        moved = self._measure(frame, place, since)
        self.t = where.t
        self._recent.append((where.t, frame))
        while where.t - self._recent[0][0] > 2 * AROUND_S + FIT_S:
            self._recent.popleft()
        done: list[Done] = []
        self._find_crossing(frame, place, since)
        if self._running is not None:
            self._running.travelled += moved
            done += self._advance(self._running, place, since)
            self._fit_marks(self._running, where.t - AROUND_S)
        if self._closing is not None and self._is_settled(self._closing, where.t):
            done += self._settle(self._closing)
        self._place = place
        return Reading(self._read_clock(place), tuple(done))

    def _pause(self, seconds: float) -> None:
        """Note *seconds* in which the car's path is unknown."""
        self._fix = self._place = None
        self._recent.clear()
        if self._running is not None:
            self._running.way = None
            self._running.gap_s += seconds if math.isfinite(seconds) else 0.0

    def _measure(self, frame: LiveFrame, place: float | None, since: float) -> float:
        """Return the metres since the last frame: along the line, else from the speed."""
        if place is not None and self._place is not None:
            return self._fold(place - self._place)
        speed = frame.wide["speed_ms"]
        return speed * since if math.isfinite(speed) and math.isfinite(since) else 0.0

    def _fold(self, metres: float) -> float:
        """Return the signed distance along the shorter way round."""
        half = self.track.length_m / 2
        return (metres + half) % self.track.length_m - half

    def _find_crossing(self, frame: LiveFrame, place: float | None, since: float) -> None:
        """Start a lap at start/finish, detected from positions, else from the place in the lap."""
        lat, lon = frame.wide["lat"], frame.wide["lon"]
        before = self._fix
        if math.isfinite(lat) and math.isfinite(lon):
            if before is None or (lat, lon) != (before.lat, before.lon):
                self._fix = self._measure_fix(self.t, lat, lon)
                moment = self._pass_gate(before, self._fix) if before is not None else None
                self._begin(moment, by_gate=True)
                return
            if self.t - before.t <= FROZEN_S:
                return
        if place is not None and self._place is not None and place < self._place:
            way = self._fold(place - self._place)
            self._begin(self.t - since * place / way if way > 0 else None, by_gate=False)

    def _measure_fix(self, t: float, lat: float, lon: float) -> _Fix:
        gate = self.track.start
        if abs(lat - gate.lat) > NEAR_M / METRES_PER_DEGREE:
            return _Fix(t, lat, lon, math.nan, math.nan)
        along, across = measure_beside(gate, np.array([lat]), np.array([lon]))
        near = math.hypot(along[0], across[0]) <= NEAR_M
        return _Fix(t, lat, lon, float(along[0]) if near else math.nan, float(across[0]))

    def _pass_gate(self, before: _Fix, after: _Fix) -> float | None:
        if not before.along < 0 <= after.along:
            return None
        share = before.along / (before.along - after.along)
        beside = before.across + share * (after.across - before.across)
        if abs(beside) > self.track.start.half_width_m:
            return None
        return before.t + share * (after.t - before.t)

    def _begin(self, moment: float | None, *, by_gate: bool) -> None:
        """Start a lap, unless the line was crossed a moment ago."""
        if moment is None or self._closing is not None:
            return
        before = self._running
        if before is not None and (moment - before.began < AGAIN_S or before.travelled < AGAIN_M):
            return
        self._closing = _Closing(moment, by_gate, before)
        self._running = _RunningLap(moment)

    def _advance(self, running: _RunningLap, place: float | None, since: float) -> list[Done]:
        """Advance the lap; return the sectors that this completes."""
        before = running.way
        if place is None:
            running.way = running.travelled if self.track.line is None else None
        elif before is None:
            early = self.t - running.began < AGAIN_S
            running.way = self._fold(place) if early else place
            if math.isnan(running.travelled):
                running.travelled = running.way
        else:
            running.way = before + self._fold(place - before)
        if running.way is None:
            return []
        if running.way >= (running.places[-1] if running.places else 0.0) + TRACE_M:
            running.places.append(running.way)
            running.moments.append(self.t)
        done: list[Done] = []
        while len(running.marks) < len(self._ends) - 1:
            end = self._ends[len(running.marks)]
            if running.way < end:
                break
            passed = before is not None and before < end
            share = (end - before) / (running.way - before) if passed and before is not None else 0
            running.marks.append(self.t - since * (1 - share) if passed else None)
            done += self._end_sector(running)
        return done

    def _end_sector(self, running: _RunningLap, end: float | None = None) -> list[Done]:
        """Rate the sector that the last mark completes, or at *end* the last sector."""
        bounds = [running.began, *running.marks, *([] if end is None else [end])]
        begin, mark = bounds[-2:]
        sector = len(bounds) - 1
        if begin is None or mark is None or (end is not None and sector < len(self._ends)):
            return []
        seconds = mark - begin
        times = [lap.sectors[sector - 1] for lap in self._laps if len(lap.sectors) >= sector]
        fastest = min((time for time in times if time is not None), default=math.inf)
        if self.past.record is not None:
            fastest = min(fastest, self._time_sector(self.past.record, sector))
        delta = None
        if self._reference is not None:
            delta = seconds - self._time_sector(self._reference, sector)
        rating: Rating = "slower"
        if seconds < fastest:
            rating = "best"
        elif delta is not None and delta <= 0:
            rating = "own"
        rounded = None if delta is None else round(delta, 3)
        return [SectorDone(self._lap_number(), sector, round(seconds, 3), rounded, rating)]

    def _time_sector(self, trace: Trace, sector: int) -> float:
        begin = self._ends[sector - 2] if sector > 1 else 0.0
        return trace.at(self._ends[sector - 1]) - trace.at(begin)

    def _is_settled(self, closing: _Closing, t: float) -> bool:
        """Whether the crossing can be fitted; without positions there is nothing to fit."""
        return not closing.by_gate or t - closing.moment > FIT_S

    def _settle(self, closing: _Closing) -> list[Done]:
        """Time the crossing as in a recorded session, and complete the lap before it."""
        self._closing = None
        moment = self._fit(closing.moment) if closing.by_gate else closing.moment
        running, before = self._running, closing.before
        if moment is None:  # the car turned back on the line
            self._running = before
            if before is not None and running is not None:
                before.travelled += running.travelled
                before.way = None
            return []
        if running is not None:
            running.began = moment
        if before is None or not self._is_lap(before, moment):
            return []
        return self._complete(before, moment)

    def _fit(self, moment: float) -> float | None:
        crossings = find_crossings(self._recent_series(), self.track.start)
        near = crossings[np.abs(crossings - moment) <= FIT_S]
        return float(near[np.abs(near - moment).argmin()]) if len(near) else None

    def _recent_series(self) -> Series:
        """Return the recent frames as a series of a recorded session."""
        columns = {name: np.array([frame.wide[name] for _, frame in self._recent]) for name in WIDE}
        columns[TIMESTAMP] = np.array([t for t, _ in self._recent])
        return build_series(Frames(columns))

    def _fit_marks(self, running: _RunningLap, until: float) -> None:
        """Time the sector ends passed before *until* as in a recorded session."""
        while running.fitted < len(running.marks):
            moment, end_m = running.marks[running.fitted], self._ends[running.fitted]
            if moment is not None and moment > until:
                return
            if moment is not None and self.track.line is not None:
                running.marks[running.fitted] = self._fit_place(end_m, moment) or moment
            running.fitted += 1

    def _fit_place(self, end_m: float, moment: float) -> float | None:
        """Return when the car reached a place, near *moment*; None without enough positions."""
        recent, line = self._recent_series(), self.track.line
        if line is None or not recent.fixed.any():
            return None
        progress = project_on_line(recent, line, (), measure_distance(recent))
        if progress is None:
            return None
        p, length = unwrap(progress.p, line.length_m), line.length_m
        p = p - np.round((np.interp(moment, recent.t, p) - end_m) / length) * length
        near = np.abs(recent.t - moment) <= FIT_S
        after = int(np.searchsorted(np.maximum.accumulate(p[near]), end_m))
        if not 0 < after < near.sum():
            return None
        return float(
            np.interp(end_m, p[near][after - 1 : after + 1], recent.t[near][after - 1 : after + 1])
        )

    def _is_lap(self, running: _RunningLap, end: float) -> bool:
        seconds, length = end - running.began, self.track.length_m
        metres = length if math.isnan(running.travelled) else running.travelled
        return is_lap(seconds, metres, length) and running.gap_s <= GAP_SHARE * seconds

    def _complete(self, lap: _RunningLap, end: float) -> list[Done]:
        self._fit_marks(lap, end)
        last = self._end_sector(lap, end)
        bounds = [lap.began, *lap.marks, *([None] * (len(self._ends) - 1 - len(lap.marks))), end]
        sectors = tuple(
            None if begin is None or until is None else until - begin
            for begin, until in pairwise(bounds)
        )
        t = [moment - lap.began for moment in lap.moments]
        seconds = end - lap.began
        best = min((timed.lap_s for timed in self._laps), default=math.inf)
        trace = None
        if seconds < best:
            trace = make_trace(lap.places, t, self.track.length_m, seconds)
        reference = self._reference
        self._laps.append(TimedLap(lap.began, end, sectors, trace))
        self._choose_reference()
        lap_s, shown = round(seconds, 3), round_splits(sectors, seconds)
        latest = [timed.lap_s for timed in self._laps[-MEAN_LAPS:]]
        done = LapDone(
            lap_number=len(self._laps),
            lap_time_s=lap_s,
            delta_s=None if reference is None else round(lap_s - round(reference.lap_s, 3), 3),
            is_best=seconds < best,
            best_lap_s=round(min(best, seconds), 3),
            sectors=tuple(
                LapSector(number, time, self._is_best(number - 1, sectors))
                for number, time in enumerate(shown, 1)
            ),
            mean5_s=round(sum(latest) / MEAN_LAPS, 3) if len(latest) == MEAN_LAPS else None,
        )
        return [*last, done]

    def _is_best(self, at: int, sectors: Sequence[float | None]) -> bool:
        time, times = sectors[at], [lap.sectors[at] for lap in self._laps if at < len(lap.sectors)]
        return time is not None and time <= min(other for other in times if other is not None)

    def _choose_reference(self) -> None:
        """Choose the best lap of the session, else the driver's record, as the reference."""
        traced = [lap for lap in self._laps if lap.trace is not None]
        best = min(traced, key=lambda lap: lap.lap_s, default=None)
        self._reference = best.trace if best is not None else self.past.record

    def _lap_number(self) -> int:
        """Return the number of the current lap."""
        closing, number = self._closing, len(self._laps) + 1
        if closing is None or closing.before is None:
            return number
        return number + self._is_lap(closing.before, closing.moment)

    def _read_clock(self, place: float | None) -> Timing:
        running, number = self._running, self._lap_number()
        shown = None if place is None else round(place, 1)
        if running is None:
            return Timing(lap_distance_m=shown)
        seconds = self.t - running.began
        if running.way is None:
            return Timing(number, shown, round(seconds, 3))
        shown = round(min(max(running.way, 0.0), self.track.length_m), 1)
        if self._reference is None:
            return Timing(number, shown, round(seconds, 3))
        delta = seconds - self._reference.at(running.way)
        predicted = self._reference.lap_s + delta
        return Timing(number, shown, round(seconds, 3), round(delta, 3), round(predicted, 3))


class LapTimers:
    """The lap clocks of all sessions; *past_of* is called once a second for each."""

    def __init__(self, past_of: Callable[[str], Past]) -> None:
        self._past_of = past_of
        self._timers: OrderedDict[str, LapTimer] = OrderedDict()

    def forget(self, session_id: str) -> None:
        """Drop the clock of a deleted session."""
        self._timers.pop(session_id, None)

    def tick(self, frame: LiveFrame, where: Where) -> Reading:
        """Take the next frame of its session."""
        name, track = frame.session_id, where.track
        if track is None:
            return NO_READING
        timer = self._timers.get(name)
        if timer is None or timer.track is not track or where.t <= timer.t:
            timer = self._timers[name] = LapTimer(track)
            while len(self._timers) > SESSIONS:
                self._timers.popitem(last=False)
        self._timers.move_to_end(name)
        if where.t - timer.asked >= ASK_S:
            timer.asked = where.t
            past = self._past_of(name)
            if past is not timer.past:
                timer.adopt(past, where.t)
        return timer.tick(frame, where)
