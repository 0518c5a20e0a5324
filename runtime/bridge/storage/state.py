"""What the writer knows by heart: the sessions and the catalogue of signals, after each commit.

Everything in here is an immutable value. A transaction works on a draft, so that what failed
leaves no trace, and readers on other threads see a whole commit or none of it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.session.recording import WIDE, WIDE_SIGNALS, Numbers
from runtime.bridge.session.series import Odometer, fill_distance
from runtime.bridge.storage.values import NOTHING, CapabilityRow, SessionMeta, SessionRow, SignalRow

NOT_LOADED: Final[None] = None
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
class Session:
    """A session as the writer holds it."""

    key: int
    """Under which its telemetry lies; an import comes in under a new one and is then bound."""
    session_id: str
    meta: SessionMeta
    started_at: int
    ended_at: int | None = None
    activation: int = 0
    """Counts explicit starts over all sessions; 0: it was never started."""
    n_frames: int = 0
    n_signals: int = 0
    t_start: float | None = None
    t_end: float | None = None
    odometer: Odometer = _START
    version: int = 1
    dirty: bool = False
    """Whether the stored row and capabilities are behind; found out anew after a crash."""
    spans: Spans | None = NOT_LOADED

    def row(self) -> SessionRow:
        """What the outside sees of it."""
        reached = self.odometer.distance_m
        return SessionRow(
            session_id=self.session_id,
            driver=self.meta.driver,
            driver_level=self.meta.driver_level,
            track=self.meta.track,
            car=self.meta.car,
            note=self.meta.note,
            source=self.meta.source,
            meta=dict(self.meta.meta or {}),
            started_at=self.started_at,
            ended_at=self.ended_at,
            n_frames=self.n_frames,
            n_signals=self.n_signals,
            t_start=self.t_start,
            t_end=self.t_end,
            distance_m=None if reached != reached else reached,
            version=self.version,
        )

    def spread(self, spans: Spans) -> "Session":
        """The same with other spans and what follows from them."""
        return replace(
            self,
            spans=spans,
            n_signals=len(spans),
            t_start=min((span.t_start for span in spans.values()), default=None),
            t_end=max((span.t_end for span in spans.values()), default=None),
        )

    def filled(self, meta: SessionMeta) -> "Session":
        """The same with what *meta* knows where it knew nothing; itself if that is nothing."""
        mine = self.meta
        if meta == NOTHING:
            return self
        merged = SessionMeta(
            driver=mine.driver or meta.driver,
            driver_level=mine.driver_level or meta.driver_level,
            track=mine.track or meta.track,
            car=mine.car or meta.car,
            note=mine.note or meta.note,
            source=mine.source or meta.source,
            meta={**meta.meta, **(mine.meta or {})} if meta.meta else mine.meta,
        )
        return self if merged == mine else replace(self, meta=merged)


def travelled(
    session: Session, numbers: Numbers, wide: Mapping[str, int], writes: int = 0
) -> Session:
    """*session* behind further frames; fills the null distances of *numbers* in place.

    *wide* are the ids of the wide columns, *writes* says how many writes brought the frames. The
    spans must be loaded.
    """
    t = numbers[0]
    filled, odometer = fill_distance(t, numbers[_SPEED], numbers[_DISTANCE], session.odometer)
    numbers[_DISTANCE] = filled
    spread = _spread(numbers) if len(t) > _FEW else _spread_few(numbers.tolist())
    return _moved(session, len(t), spread, odometer, wide, writes)


_Spread: TypeAlias = Iterable[tuple[str, Span]]
"""Names of columns, and what comes to their spans; columns without any value are absent."""


def _moved(
    session: Session,
    count: int,
    spread: _Spread,
    odometer: Odometer,
    wide: Mapping[str, int],
    writes: int,
) -> Session:
    spans = dict(session.spans or {})
    earliest, latest = session.t_start, session.t_end
    before = added = after = None
    for name, more in spread:
        known = spans.get(wide[name])
        if after is None or known is not before or more is not added:  # most columns are alike
            before, added = known, more
            after = known.joined(*more) if known else more
            earliest = more.t_start if earliest is None else min(earliest, more.t_start)
            latest = more.t_end if latest is None else max(latest, more.t_end)
        spans[wide[name]] = after
    return replace(
        session,
        spans=spans,
        n_signals=len(spans),
        t_start=earliest,
        t_end=latest,
        n_frames=session.n_frames + count,
        odometer=odometer,
        version=session.version + writes,
        dirty=session.dirty or writes > 0,
    )


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


def capability(signal: SignalRow, span: Span) -> CapabilityRow:
    """What a span says about a signal."""
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


def described(state: "State", spans: Spans) -> list[CapabilityRow]:
    """What the spans of a session say, by name."""
    rows = (capability(state.signals[state.names[signal]], n) for signal, n in spans.items())
    return sorted(rows, key=lambda row: row.name)


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


class Draft:
    """Changes to a `State` that are not committed yet."""

    def __init__(self, base: State) -> None:
        self.base = base
        self.sessions: dict[str, Session | None] = {}
        self.signals: dict[str, SignalRow] = {}
        self.counters: dict[str, int] = {}

    def session(self, session_id: str) -> Session | None:
        """As this draft has it."""
        if session_id in self.sessions:
            return self.sessions[session_id]
        return self.base.sessions.get(session_id)

    def signal(self, name: str) -> SignalRow | None:
        """As this draft has it."""
        return self.signals.get(name) or self.base.signals.get(name)

    def discovered(self) -> int:
        """How many signals were discovered rather than known beforehand."""
        return self.base.discovered + sum(
            signal.discovery == "discovered" and name not in self.base.signals
            for name, signal in self.signals.items()
        )

    def next(self, counter: str) -> int:
        """A number that was never given out before."""
        number = self.counters.get(counter, self.base.counters.get(counter, 0)) + 1
        self.counters[counter] = number
        return number

    def changed(self) -> Iterator[Session]:
        """The sessions that this draft makes or changes."""
        return (session for session in self.sessions.values() if session is not None)

    def settle(self) -> None:
        """Make it the truth."""
        self.base.counters.update(self.counters)
        for signal in self.signals.values():
            self.base.learn(signal)
        for session_id, session in self.sessions.items():
            if session is None:
                self.base.sessions.pop(session_id, None)
            else:
                self.base.sessions[session_id] = session


def newest(
    state: State, *, active_only: bool, driver: str | None, track: str | None
) -> list[Session]:
    """The sessions, newest first, then by id descending; texts are compared regardless of case."""
    found = [
        session
        for session in list(state.sessions.values())
        if not (active_only and session.ended_at is not None)
        and _same(session.meta.driver, driver)
        and _same(session.meta.track, track)
    ]
    return sorted(found, key=lambda found: (found.started_at, found.session_id), reverse=True)


def active(state: State) -> str | None:
    """The session that was started last, of those that are not ended."""
    started = (
        session
        for session in list(state.sessions.values())
        if session.activation and session.ended_at is None
    )
    last = max(started, key=lambda session: session.activation, default=None)
    return None if last is None else last.session_id


def _same(mine: str | None, wanted: str | None) -> bool:
    return wanted is None or (mine or "").strip().casefold() == wanted.strip().casefold()
