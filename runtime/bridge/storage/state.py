"""What the writer knows by heart: the sessions and the catalogue of signals, after each commit.

Everything in here is an immutable value. A transaction collects changes and makes them the truth
once they are committed, so that what failed leaves no trace, and readers on other threads see a
whole commit or none of it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Self, TypeAlias

import numpy as np

from runtime.bridge.session.recording import WIDE, WIDE_SIGNALS, Numbers
from runtime.bridge.session.series import Odometer, fill_distance
from runtime.bridge.storage.values import NOTHING, CapabilityRow, SessionMeta, SessionRow, SignalRow

_DISTANCE: Final = WIDE.index("distance_m")
_SPEED: Final = WIDE.index("speed_ms")
_START: Final = Odometer()
_FEW: Final = 64
"""So many frames are looked at faster one by one."""


class Span(NamedTuple):
    """How many samples of one signal there are, and between which times."""

    n: int
    t_start: float
    t_end: float

    def joined(self, n: int, t_start: float, t_end: float) -> "Span":
        """This span and *n* further samples."""
        start = t_start if t_start < self.t_start else self.t_start
        return Span(self.n + n, start, t_end if t_end > self.t_end else self.t_end)


Spans = Mapping[int, Span]
"""By signal id."""


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
    def begun(cls, key: int, session_id: str, started_at: int) -> Self:
        """A session without telemetry, of which nothing else is known."""
        return cls(session_id=session_id, started_at=started_at, key=key, spans={})

    def spread(self, spans: Spans) -> Self:
        """The same with other spans and what follows from them."""
        return replace(
            self,
            spans=spans,
            n_signals=len(spans),
            t_start=min((span.t_start for span in spans.values()), default=None),
            t_end=max((span.t_end for span in spans.values()), default=None),
        )

    def filled(self, meta: SessionMeta) -> Self:
        """The same with what *meta* knows where it knew nothing; itself if that is nothing."""
        if meta == NOTHING:
            return self
        known = {
            name: value
            for name in ("driver", "driver_level", "track", "car", "note", "source")
            if not getattr(self, name) and (value := getattr(meta, name))
        }
        both = {**(meta.meta or {}), **self.meta}
        if not known and both == self.meta:
            return self
        return replace(self, **known, meta=both)

    def travelled(self, numbers: Numbers, wide: Mapping[str, int], writes: int = 0) -> Self:
        """The session after further frames; fills the null distances of *numbers* in place.

        *wide* are the ids of the wide columns, *writes* says how many writes brought the frames.
        The spans must be loaded.
        """
        t = numbers[0]
        filled, odometer = fill_distance(t, numbers[_SPEED], numbers[_DISTANCE], self.odometer)
        numbers[_DISTANCE] = filled
        spans = dict(self.spans or {})
        earliest, latest = self.t_start, self.t_end
        before = added = after = None
        for name, more in _spread(numbers) if len(t) > _FEW else _spread_few(numbers.tolist()):
            known = spans.get(wide[name])
            if after is None or known is not before or more is not added:  # most columns are alike
                before, added = known, more
                after = known.joined(*more) if known else more
                earliest = more.t_start if earliest is None else min(earliest, more.t_start)
                latest = more.t_end if latest is None else max(latest, more.t_end)
            spans[wide[name]] = after
        reached = odometer.distance_m
        return replace(
            self,
            spans=spans,
            n_signals=len(spans),
            t_start=earliest,
            t_end=latest,
            n_frames=self.n_frames + len(t),
            distance_m=None if reached != reached else reached,
            odometer=odometer,
            version=self.version + writes,
            dirty=self.dirty or writes > 0,
        )


_Spread: TypeAlias = Iterable[tuple[str, Span]]
"""Names of columns, and what comes to their spans; columns without any value are absent."""


def _spread(numbers: Numbers) -> _Spread:
    t = numbers[0]
    known = ~np.isnan(numbers[1:])
    for name, there, n in zip(WIDE_SIGNALS, known, known.sum(axis=1).tolist(), strict=True):
        if n:
            inside = t if n == len(t) else t[there]
            yield name, Span(n, float(inside.min()), float(inside.max()))


def _spread_few(numbers: Sequence[Sequence[float]]) -> _Spread:
    times, *columns = numbers
    whole = Span(len(times), min(times), max(times))
    for name, column in zip(WIDE_SIGNALS, columns, strict=True):
        total = sum(column)
        if total == total:
            yield name, whole
        elif some := [at for at, value in zip(times, column, strict=True) if value == value]:
            yield name, Span(len(some), min(some), max(some))


@dataclass(slots=True)
class State:
    """The committed truth; only the writer's thread changes it, by whole values."""

    sessions: dict[str, Session] = field(default_factory=dict)
    signals: dict[str, SignalRow] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    """The highest number given out so far, by what it numbers."""
    names: dict[int, str] = field(default_factory=dict)
    """Of the signals, by id."""
    wide: dict[str, int] = field(default_factory=dict)
    """Ids of the wide columns by name."""
    discovered: int = 0
    boots: int = 0
    """How often the database was opened, this time included."""

    def become(self, other: "State") -> None:
        """Take over all that *other* knows."""
        self.signals, self.names, self.wide = other.signals, other.names, other.wide
        self.discovered, self.counters, self.boots = other.discovered, other.counters, other.boots
        self.sessions = other.sessions

    def learn(self, signal: SignalRow) -> None:
        """Take a committed signal in."""
        old = self.signals.get(signal.name)
        self.discovered += int(signal.discovery == "discovered")
        self.discovered -= int(old is not None and old.discovery == "discovered")
        self.names[signal.signal_id] = signal.name
        self.signals[signal.name] = signal
        if signal.name in WIDE_SIGNALS:
            self.wide[signal.name] = signal.signal_id

    def capabilities(self, spans: Spans) -> list[CapabilityRow]:
        """What the spans of a session say of its signals, by name."""
        rows = (_capability(self.signals[self.names[signal]], n) for signal, n in spans.items())
        return sorted(rows, key=lambda row: row.name)

    def newest(
        self, *, active_only: bool, driver: str | None, track: str | None
    ) -> list[SessionRow]:
        """The sessions, newest first, then by id descending; case makes no difference."""
        found: list[SessionRow] = [
            session
            for session in list(self.sessions.values())
            if not (active_only and session.ended_at is not None)
            and _same(session.driver, driver)
            and _same(session.track, track)
        ]
        return sorted(found, key=lambda found: (found.started_at, found.session_id), reverse=True)

    def active(self) -> str | None:
        """The session that was started last, of those that are not ended."""
        started = (
            session
            for session in list(self.sessions.values())
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
