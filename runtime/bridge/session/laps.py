"""Finds the laps of a session: by crossings of a gate, by distance or a counter, or its stints."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.session.gates import (
    LIVELY,
    LONGEST_S,
    SHORTEST_S,
    ChosenGate,
    add_edges,
    choose_gate,
    find_lap_starts,
)
from runtime.bridge.session.geometry import Indices, metres_between
from runtime.bridge.session.recording import Frames, Gate, Numbers
from runtime.bridge.session.repeats import measure_lap
from runtime.bridge.session.series import (
    LAP_NUMBER,
    Flags,
    Series,
    build_series,
    find_resets,
    measure_distance,
)
from runtime.bridge.session.stats import box_plot

Method: TypeAlias = Literal["all", "gps", "distance", "stint"]
Kind: TypeAlias = Literal["all", "lap", "out", "in", "partial", "stint"]
Start: TypeAlias = Literal["line", "assumed", "unknown"]
LENGTH_SHARE: Final = 0.15
MEDIAN_SHARE: Final = 0.20
GAP_SHARE: Final = 0.10
EDGE_SHARE: Final = 0.02
CUMULATIVE_LAPS: Final = 1.5
GATE_RANGE_M: Final = 5000.0
OUTLIERS_FROM: Final = 5
MOVING_MS: Final = 1.0
REST_S: Final = 30.0
STINT_S: Final = 20.0
MISSED_LAPS: Final = 2.5
"""A car that drives this many laps further without closing one has left the circuit."""
COUNTED_S: Final = 1.0
"""A lap counter rises within this time of the moment a distance resets."""
RATE_S: Final = 2.0
"""The window over which a speed is computed from the distance."""
TIE_S: Final = 1e-6
"""Times closer than this are equal."""


class Segment(NamedTuple):
    """A stretch of a session."""

    kind: Kind
    method: Method
    t_start: float
    """Seconds of the session's clock, like *t_end*; a day is added after midnight."""
    t_end: float
    distance_m: float
    first: int
    """Frames of the series from *first* up to but not including *last*."""
    last: int
    number: int | None = None
    """1, 2, … for complete laps, and for stints; None for the rest."""
    valid: bool = False
    outlier: bool = False
    best: bool = False
    gap_s: float = 0.0
    """Time during which nothing was recorded."""

    @property
    def duration_s(self) -> float:
        """Seconds."""
        return self.t_end - self.t_start

    @property
    def name(self) -> str:
        """The name that lists show."""
        if self.number is not None:
            return f"{self.kind.capitalize()} {self.number}"
        names = {"all": "Full session", "out": "Out lap", "in": "In lap", "lap": "Lap with gaps"}
        return names.get(self.kind, "Partial lap")

    @property
    def frames(self) -> slice:
        """The slice of the series."""
        return slice(self.first, self.last)


@dataclass(frozen=True, eq=False)
class Laps:
    """The laps of one session."""

    series: Series
    travelled: Numbers
    """Metres since the first frame, for each frame of the series."""
    full: Segment
    """The whole session."""
    segments: tuple[Segment, ...]
    """In time order, disjoint, of one method; empty if nothing moved."""
    gate: Gate | None = None
    """The gate that cut the laps."""
    splits: tuple[Gate, ...] = ()
    """Gates between two sectors that came with it."""
    length_m: float | None = None
    """Of a lap: as given, else the median of the complete laps."""
    chosen: ChosenGate | None = None
    """The same gate, if it was chosen here."""
    start: Start = "line"
    """Whether laps begin at start/finish: *assumed* if a cumulative distance is only taken to begin
    there."""
    memo: dict[str, object] = field(default_factory=dict, init=False)
    """Cached results of other functions on these laps, by function name."""

    @property
    def method(self) -> Method | None:
        """How the session was cut; None if it was not."""
        return self.segments[0].method if self.segments else None

    @property
    def complete(self) -> tuple[Segment, ...]:
        """The laps that count, numbered from 1."""
        return tuple(s for s in self.segments if s.kind == "lap" and s.valid)

    @property
    def best(self) -> Segment | None:
        """The fastest complete lap; of equal ones the earliest."""
        return next((segment for segment in self.complete if segment.best), None)


def detect(
    frames: Frames, *, gate: Gate | None = None, track_length_m: float | None = None
) -> Laps:
    """Detect the laps of recorded frames; see `detect_laps`."""
    return detect_laps(build_series(frames), gate=gate, track_length_m=track_length_m)


def detect_laps(
    series: Series,
    *,
    gate: Gate | None = None,
    splits: tuple[Gate, ...] = (),
    track_length_m: float | None = None,
    begins_m: float | None = None,
    kept: ChosenGate | None = None,
) -> Laps:
    """Detect the laps of a session, by the first method that finds a complete lap.

    The methods: a gate, a distance that resets each lap, a lap counter, and a cumulative distance,
    cut at whole lap lengths. Both distances count only if the speed does not contradict them: it
    repeats from lap to lap (`measure_lap`). A gate more than 5 km from the middle of the fixes
    belongs to another circuit, and so does the length: neither is used. Without a gate, the one
    *kept* from before is used as long as laps close through it, else one is set where most laps
    agree. *begins_m* is where on the lap the first frame is, in metres, if known: otherwise a
    cumulative distance is taken to begin at the line. Without any complete lap the result is the
    laps that close through the gate, though too much of them is missing, else the stints.
    """
    if gate and series.gps_usable and not _belongs(series, gate):
        gate, splits, track_length_m = None, (), None
    length = track_length_m if track_length_m and track_length_m > 0 else None
    way = measure_distance(series, length)
    cut = _Cut(series, way, length)
    chosen = ChosenGate(gate) if gate else kept
    segments: Sequence[Segment] = ()
    start: Start = "line"
    if series.gps_usable:
        segments = cut.through(chosen, is_line=gate is not None) if chosen else ()
        if not gate and not (chosen and cut.is_served(segments)):
            chosen = choose_gate(series, way)
            segments = cut.through(chosen, is_line=False) if chosen else ()
    if not _any_complete(segments):
        others = next(
            (laps for by in (cut.by_resets, cut.by_counter) if _any_complete(laps := by())), ()
        )
        if not others and _any_complete(laps := cut.by_lengths(begins_m)):
            others, start = laps, "assumed" if begins_m is None else "line"
        # Laps with too much missing are shown as such, unless there are better ones.
        if others or all(segment.kind != "lap" for segment in segments):
            chosen, splits, segments = None, (), others or cut.stints()
    full = cut.segment("all", "all", *_find_ends(series))
    done = [s.distance_m for s in segments if s.kind == "lap" and s.valid]
    median = float(np.median(done)) if done else None
    used = chosen.gate if chosen else None
    own = chosen if not gate else None
    length = length or median
    return Laps(series, way, full, _mark_laps(segments), used, splits, length, own, start)


def restore_laps(
    series: Series,
    earlier: Sequence[Segment],
    *,
    gate: Gate | None,
    splits: tuple[Gate, ...],
    length_m: float | None,
    start: Start,
    track_length_m: float | None = None,
) -> Laps:
    """Rebuild the laps of a session from the times and classification of *earlier* segments.

    The frames, distances and pauses of the segments are measured again.
    """
    way = measure_distance(series, track_length_m)
    cut = _Cut(series, way, track_length_m)
    segments = [
        cut.segment(old.kind, old.method, old.t_start, old.t_end)._replace(
            number=old.number, valid=old.valid, outlier=old.outlier, best=old.best
        )
        for old in earlier
    ]
    full = cut.segment("all", "all", *_find_ends(series))
    return Laps(series, way, full, tuple(segments), gate, splits, length_m, None, start)


def _find_ends(series: Series) -> tuple[float, float]:
    return (float(series.t[0]), float(series.t[-1])) if len(series) else (0.0, 0.0)


def _belongs(series: Series, gate: Gate) -> bool:
    centre = series.centre
    return centre is not None and metres_between(gate.lat, gate.lon, *centre) <= GATE_RANGE_M


def is_lap(seconds: float, metres: float, length_m: float) -> bool:
    """Whether a drive from start/finish to start/finish has the time and the length of a lap."""
    return _is_timely(seconds) and abs(metres - length_m) <= LENGTH_SHARE * length_m


def _is_timely(seconds: float) -> bool:
    return SHORTEST_S <= seconds <= LONGEST_S


def _any_complete(segments: Sequence[Segment]) -> bool:
    return any(segment.kind == "lap" and segment.valid for segment in segments)


class _Cut(NamedTuple):
    """A session to cut into segments."""

    series: Series
    way: Numbers
    length_m: float | None

    def segment(self, kind: Kind, method: Method, begin: float, end: float) -> Segment:
        """Return the stretch between two moments, not yet classified."""
        if not len(self.series):
            return Segment(kind, method, begin, end, 0.0, 0, 0, valid=kind == "all")
        whole = kind in ("all", "stint")
        first = int(np.searchsorted(self.series.t, begin))
        side: Literal["left", "right"] = "right" if whole or end >= self.series.t[-1] else "left"
        last = int(np.searchsorted(self.series.t, end, side=side))
        metres = np.interp([begin, end], self.series.t, self.way)
        return Segment(
            kind,
            method,
            begin,
            end,
            float(metres[1] - metres[0]),
            first,
            last,
            valid=whole,
            gap_s=self.series.gap_time(begin, end),
        )

    def through(self, chosen: ChosenGate, *, is_line: bool) -> list[Segment]:
        """Cut laps from one pass of a gate to the next; files are cut at the true line alone."""
        starts = find_lap_starts(self.series, chosen.gate, self.way)
        if is_line:
            starts = add_edges(self.series, chosen.gate, starts)
        return self.between("gps", chosen.keep(starts))

    def is_served(self, segments: Sequence[Segment]) -> bool:
        """Whether a gate still cuts the laps being driven: the last one ended recently."""
        laps = [lap for lap in segments if lap.kind == "lap" and lap.valid]
        if not laps:
            return False
        since = self.way[-1] - np.interp(laps[-1].t_end, self.series.t, self.way)
        return bool(since <= MISSED_LAPS * laps[-1].distance_m)

    def between(
        self, method: Method, moments: Numbers, at_line: Flags | None = None
    ) -> list[Segment]:
        """Return the out lap, a candidate between each two moments, and the in lap.

        A stretch is a lap only if both its moments are *at_line*.
        """
        if not len(moments):
            return []
        begin, end = _find_ends(self.series)
        times = moments.tolist()
        whole = np.ones(len(times), dtype=np.bool_) if at_line is None else at_line
        kinds: list[Kind] = ["lap" if both else "partial" for both in whole[:-1] & whole[1:]]
        laps = [
            self.segment(kind, method, a, b)
            for kind, (a, b) in zip(kinds, pairwise(times), strict=True)
        ]
        out = [self.segment("out", method, begin, times[0])] if times[0] > begin else []
        back = [self.segment("in", method, times[-1], end)] if times[-1] < end else []
        return [*out, *self._classify(laps), *back]

    def _classify(self, laps: list[Segment]) -> list[Segment]:
        """Mark candidates without a lap's time and length as partial, others as valid or not."""
        timely = [lap for lap in laps if lap.kind == "lap" and _is_timely(lap.duration_s)]
        usual, share = self.length_m, LENGTH_SHARE
        if usual is None:
            usual = float(np.median([lap.distance_m for lap in timely])) if timely else 0.0
            share = MEDIAN_SHARE
        sifted = []
        for lap in laps:
            fits = abs(lap.distance_m - usual) <= share * usual
            if lap not in timely or not fits:
                sifted.append(lap._replace(kind="partial"))
            else:
                timed = self.series.is_timed(lap.t_start, lap.t_end)
                valid = timed and lap.gap_s <= GAP_SHARE * lap.duration_s
                sifted.append(lap._replace(valid=valid))
        return sifted

    def by_resets(self) -> list[Segment]:
        """Cut laps at the resets of a distance.

        An unknown lap length is the distance reached, on which at least two laps must agree. If
        the speed does not repeat, the resets are overflows of a counter, not laps.
        """
        recorded = self.series["distance_m"]
        has_distance = np.flatnonzero(~np.isnan(recorded))
        values = recorded[has_distance]
        resets = find_resets(values, self.length_m)
        if not len(resets):
            return []
        reached = _measure_reset_length(values, resets)
        length = self.length_m or reached
        is_known = self.length_m is not None or self._is_counter_rising(has_distance[resets])
        if length is None or self._measure_lap(reached or length, is_known) is None:
            return []
        before, after = has_distance[resets - 1], has_distance[resets]
        missing = np.maximum(length - recorded[before], 0.0)
        since = np.maximum(recorded[after], 0.0)
        moments = self._moments(before, after, missing, since)
        cut = self._replace(length_m=length)
        return cut.with_edges(cut.between("distance", moments), float(values[0]))

    def by_lengths(self, begins_m: float | None) -> list[Segment]:
        """Cut laps at whole lap lengths of a cumulative distance.

        *begins_m* is the true distance at the first frame; None: the recorded one.
        """
        length, offset = self.length_m, self._offset() if begins_m is None else begins_m
        if not length or len(self.series) < 2 or self.way[-1] + offset <= CUMULATIVE_LAPS * length:
            return []
        length = self._measure_lap(length, is_known=True)
        if length is None:
            return []
        total = self.way + offset
        whole = np.floor(total / length)
        before = np.flatnonzero(np.diff(whole) > 0)
        boundary = whole[before + 1] * length
        missing, since = boundary - total[before], total[before + 1] - boundary
        moments = self._moments(before, before + 1, missing, since)
        cut = self._replace(length_m=length)
        laps = cut.between("distance", moments)
        return laps if begins_m is not None else cut.with_edges(laps, float(total[0] % length))

    def _measure_lap(self, length_m: float, is_known: bool) -> float | None:
        """See `measure_lap`; without a recorded speed, it is computed from the distance."""
        speed = self.series["speed_ms"]
        if 2 * np.isnan(speed).sum() > len(speed):
            begin, end = (self.series.t + shift for shift in (-RATE_S / 2, RATE_S / 2))
            speed = np.interp(end, self.series.t, self.way) - np.interp(
                begin, self.series.t, self.way
            )
            speed = speed / RATE_S
        return measure_lap(self.way, speed, length_m, is_known=is_known)

    def _is_counter_rising(self, resets: Indices) -> bool:
        """Whether a lap counter rises by one wherever a distance resets."""
        t, number = self.series.t, self.series.signal(LAP_NUMBER)
        moments = t[resets]
        after = np.searchsorted(t, moments + COUNTED_S).clip(max=len(t) - 1)
        before = np.searchsorted(t, moments - COUNTED_S)
        return bool((number[after] - number[before] == 1).all())

    def by_counter(self) -> list[Segment]:
        """Cut laps where a lap counter rises by one.

        A stretch that begins or ends with any other change is not a lap.
        """
        number = self.series.signal(LAP_NUMBER)
        change = np.diff(number)
        at = np.flatnonzero((change != 0) & ~np.isnan(change))
        moments = self.series.t[at + 1]
        segments = self.between("distance", moments, change[at] == 1)
        if segments and segments[0].kind == "out" and self._is_from_line(segments, moments):
            segments[:1] = self._classify([segments[0]._replace(kind="lap")])
        return segments

    def _is_from_line(self, segments: list[Segment], moments: Numbers) -> bool:
        """Whether the first stretch began at the line: at speed, and as long as the laps."""
        lengths = [lap.distance_m for lap in segments if lap.kind == "lap" and lap.valid]
        usual = float(np.median(lengths)) if lengths else math.nan
        speed = self.series["speed_ms"]
        at_line = float(np.median(speed[np.searchsorted(self.series.t, moments)]))
        is_whole = abs(segments[0].distance_m - usual) <= EDGE_SHARE * usual
        return is_whole and bool(speed[0] >= LIVELY * at_line)

    def _moments(
        self, before: Indices, after: Indices, missing: Numbers, since: Numbers
    ) -> Numbers:
        """Return when the line was passed between frames *missing* and *since* metres from it."""
        together, t = missing + since, self.series.t
        share = np.divide(missing, together, out=np.zeros_like(missing), where=together > 0)
        return np.unique(t[before] + share * (t[after] - t[before]))

    def _offset(self) -> float:
        """Return the recorded cumulative distance at the first frame."""
        recorded = self.series["distance_m"]
        readings = np.flatnonzero(~np.isnan(recorded))
        return float(recorded[readings[0]] - self.way[readings[0]]) if len(readings) else 0.0

    def with_edges(self, segments: list[Segment], begins_at: float) -> list[Segment]:
        """Make laps of a first stretch that began at the line and a last one that reached it."""
        length = self.length_m or math.inf
        edge = EDGE_SHARE * length
        if segments and segments[0].kind == "out" and abs(begins_at) <= edge:
            segments[:1] = self._classify([segments[0]._replace(kind="lap")])
        last = segments[-1] if segments else None
        if last and last.kind == "in" and last.distance_m >= length - edge:
            segments[-1:] = self._classify([last._replace(kind="lap")])
        return segments

    def stints(self) -> list[Segment]:
        """Return the stretches of driving, separated by 30 s of standing or of no recording."""
        speed = self.series["speed_ms"]
        if np.isnan(speed).all() and len(self.series) > 1:
            speed = np.gradient(self.way, self.series.t)
        moving = self.series.t[np.flatnonzero(speed >= MOVING_MS)]
        if not len(moving):
            return []
        rests = np.flatnonzero(np.diff(moving) > REST_S)
        begins = moving[np.concatenate([[0], rests + 1])]
        ends = moving[np.concatenate([rests, [len(moving) - 1]])]
        return [
            self.segment("stint", "stint", a, b)
            for a, b in zip(begins.tolist(), ends.tolist(), strict=True)
            if b - a >= STINT_S
        ]


def _measure_reset_length(values: Numbers, resets: Indices) -> float | None:
    """Return the metres after which a distance resets; None if it does not reset regularly.

    Between the last frame of a lap and the first of the next it grows as in the steps around.
    """
    last, first = values[resets - 1], values[resets]
    before = last - values[np.maximum(resets - 2, 0)]
    after = values[np.minimum(resets + 1, len(values) - 1)] - first
    reached = last + np.maximum((before + after) / 2, first) - first
    length = float(np.median(reached))
    agree = np.abs(reached - length) <= LENGTH_SHARE * length
    return length if length > 0 and agree.sum() >= 2 else None


def _mark_laps(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Number the segments, and mark the best lap and the outliers."""
    times = [s.duration_s for s in segments if s.kind == "lap" and s.valid]
    box = box_plot(times) if len(times) >= OUTLIERS_FROM else None
    best = min(times, default=None)
    number = 0
    marked: list[Segment] = []
    for segment in segments:
        if segment.valid:
            number += 1
            segment = segment._replace(number=number)
        if segment.kind == "lap" and segment.valid:
            seconds = segment.duration_s
            outlier = box is not None and box.is_outlier(seconds)
            fastest = best is not None and seconds <= best + TIE_S
            segment = segment._replace(outlier=outlier, best=fastest)
            best = None if fastest else best
        marked.append(segment)
    return tuple(marked)
