"""What the writer knows by heart: the sessions and the catalogue of signals, after each commit.

Everything in here is an immutable value. A transaction collects changes and makes them the truth
once they are committed, so that what failed leaves no trace, and readers on other threads see a
whole commit or none of it.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, NamedTuple, Self

import numpy as np

from runtime.bridge.session.recording import WIDE, WIDE_SIGNALS, Numbers, Samples
from runtime.bridge.session.series import Odometer, fill_distance
from runtime.bridge.storage.backend import Row
from runtime.bridge.storage.values import NOTHING, CapabilityRow, SessionMeta, SessionRow, SignalRow

_DISTANCE: Final = WIDE.index("distance_m")
_SPEED: Final = WIDE.index("speed_ms")
_START: Final = Odometer()
_META: Final = ("driver", "driver_level", "track", "car", "note", "source")
_SAME: Final = (
    *("session_id", *_META, "started_at", "ended_at", "activation"),
    *("n_frames", "n_signals", "t_start", "t_end", "version"),
)
"""Columns of the table that are fields of `Session`."""
SESSION_COLUMNS: Final = (
    *("session_key", *_SAME, "meta", "last_t", "last_speed_ms", "last_distance_m", "dirty"),
)


class Span(NamedTuple):
    """How many samples of one signal there are, and between which times."""

    n: int
    t_start: float
    t_end: float

    def joined(self, more: "Span") -> "Span":
        """This span and further samples."""
        start = more.t_start if more.t_start < self.t_start else self.t_start
        return Span(self.n + more.n, start, more.t_end if more.t_end > self.t_end else self.t_end)


Spans = Mapping[int, Span]
"""By signal id."""


def span_of(samples: Samples) -> Span:
    """Of at least one sample, by time."""
    return Span(len(samples.t), float(samples.t[0]), float(samples.t[-1]))


@dataclass(frozen=True, slots=True)
class Session(SessionRow):
    """A session as the writer holds it."""

    key: int = field(default=0, compare=False)
    """Under which its telemetry lies; an import comes in under a new one and is then bound."""
    activation: int = field(default=0, compare=False)
    """Counts explicit starts over all sessions; 0: it was never started."""
    odometer: Odometer = field(default=_START, compare=False)
    dirty: bool = field(default=False, compare=False)
    """Whether the stored row and capabilities are behind; found out anew after a crash."""
    spans: Spans | None = field(default=None, compare=False, repr=False)
    """None: not loaded."""

    @classmethod
    def new(cls, key: int, session_id: str, started_at: int) -> Self:
        """A session without telemetry, of which nothing else is known."""
        return cls(session_id=session_id, started_at=started_at, key=key, spans={})

    @classmethod
    def restored(cls, row: Row) -> Self:
        """The session of a row of `SESSION_COLUMNS`."""
        key, *same, meta, last_t, last_speed, last_distance, dirty = row
        last = (last_t, last_speed, last_distance)
        return cls(
            **dict(zip(_SAME, same, strict=True)),
            key=key,
            meta=json.loads(meta) if meta else {},
            distance_m=last_distance,
            odometer=Odometer(*(float("nan") if number is None else number for number in last)),
            dirty=bool(dirty),
        )

    def stored(self) -> Row:
        """The row of `SESSION_COLUMNS`."""
        same = (getattr(self, name) for name in _SAME)
        meta = json.dumps(self.meta, sort_keys=True) if self.meta else None
        last = (None if number != number else number for number in self.odometer)
        return (self.key, *same, meta, *last, int(self.dirty))

    def with_meta(self, meta: SessionMeta) -> Self:
        """The same with what *meta* knows where it knew nothing; itself if that is nothing."""
        if meta == NOTHING:
            return self
        known = {
            name: value
            for name in _META
            if not getattr(self, name) and (value := getattr(meta, name))
        }
        both = {**(meta.meta or {}), **self.meta}
        if not known and both == self.meta:
            return self
        return replace(self, **known, meta=both)

    def with_spans(self, spans: Spans) -> Self:
        """The same with these spans in place of its own."""
        return replace(self, spans={}, n_signals=0, t_start=None, t_end=None).with_samples(spans)

    def with_samples(self, more: Spans) -> Self:
        """The same with further samples; its own spans must be loaded."""
        return replace(self, **self._changes(more))

    def _changes(self, more: Spans) -> dict[str, Any]:
        """What further samples change."""
        spans = dict(self.spans or {})
        first, last = self.t_start, self.t_end
        pair: tuple[Span | None, Span | None] = (None, None)
        joined = Span(0, 0.0, 0.0)
        for signal, span in more.items():
            before = spans.get(signal)
            if before is not pair[0] or span is not pair[1]:  # most columns of frames are alike
                pair = before, span
                joined = before.joined(span) if before else span
            spans[signal] = joined
            first = span.t_start if first is None or span.t_start < first else first
            last = span.t_end if last is None or span.t_end > last else last
        return {"spans": spans, "n_signals": len(spans), "t_start": first, "t_end": last}

    def with_frames(self, numbers: Numbers, wide: Mapping[str, int], writes: int = 0) -> Self:
        """The session after further frames; fills the null distances of *numbers* in place.

        *wide* are the ids of the wide columns, *writes* says how many writes brought the frames.
        The spans must be loaded.
        """
        t = numbers[0]
        filled, odometer = fill_distance(t, numbers[_SPEED], numbers[_DISTANCE], self.odometer)
        numbers[_DISTANCE] = filled
        known = ~np.isnan(numbers[1:])
        whole = Span(len(t), float(t.min()), float(t.max()))
        more = {}
        for at, n in enumerate(known.sum(axis=1).tolist()):
            if n:
                some = t[known[at]] if n < len(t) else None
                span = whole if some is None else Span(n, float(some.min()), float(some.max()))
                more[wide[WIDE_SIGNALS[at]]] = span
        reached = odometer.distance_m
        return replace(
            self,
            **self._changes(more),
            n_frames=self.n_frames + len(t),
            distance_m=None if reached != reached else reached,
            odometer=odometer,
            version=self.version + writes,
            dirty=self.dirty or writes > 0,
        )


@dataclass(slots=True)
class State:
    """The committed truth; only the writer's thread changes it, by whole values."""

    sessions: dict[str, Session] = field(default_factory=dict)
    signals: dict[str, SignalRow] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    """The highest number given out so far, by what it numbers."""
    boots: int = 0
    """How often the database was opened, this time included."""
    staged: list[int] = field(default_factory=list)
    """Keys of imports that did not come to their end."""

    def become(self, other: "State") -> None:
        """Take over all that *other* knows."""
        for part in fields(self):
            setattr(self, part.name, getattr(other, part.name))

    @property
    def wide(self) -> dict[str, int]:
        """Ids of the wide columns by name."""
        return {name: self.signals[name].signal_id for name in WIDE_SIGNALS}

    def catalogue(self) -> dict[int, SignalRow]:
        """The signals by id, in that order."""
        rows = sorted(self.signals.copy().values(), key=lambda row: row.signal_id)
        return {row.signal_id: row for row in rows}

    def capabilities(self, spans: Spans) -> list[CapabilityRow]:
        """What the spans of a session say of its signals, by name."""
        named = self.catalogue()
        rows = (_capability(named[signal], span) for signal, span in spans.items())
        return sorted(rows, key=lambda row: row.name)

    def newest(
        self, *, active_only: bool, driver: str | None, track: str | None
    ) -> list[SessionRow]:
        """The sessions, newest first, then by id descending; case makes no difference."""
        rows: Iterable[SessionRow] = self.sessions.copy().values()
        chosen = [
            row
            for row in rows
            if not (active_only and row.ended_at is not None)
            and _same(row.driver, driver)
            and _same(row.track, track)
        ]
        return sorted(chosen, key=lambda row: (row.started_at, row.session_id), reverse=True)

    def active(self) -> str | None:
        """The session that was started last, of those that are not ended."""
        started = (
            session
            for session in self.sessions.copy().values()
            if session.activation and session.ended_at is None
        )
        last = max(started, key=lambda session: session.activation, default=None)
        return None if last is None else last.session_id


def _capability(signal: SignalRow, span: Span) -> CapabilityRow:
    duration = span.t_end - span.t_start
    mean_hz = span.n / duration if duration > 0 else 0.0
    least = signal.min_useful_hz
    return CapabilityRow(
        name=signal.name,
        n_samples=span.n,
        mean_hz=mean_hz,
        t_start=span.t_start,
        t_end=span.t_end,
        units=signal.units,
        group=signal.group,
        min_useful_hz=least,
        useful=least is None or mean_hz >= least,
    )


def _same(mine: str | None, wanted: str | None) -> bool:
    return wanted is None or (mine or "").strip().casefold() == wanted.strip().casefold()
