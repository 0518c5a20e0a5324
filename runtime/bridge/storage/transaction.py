"""The committed state in memory, and the transaction through which writes change it.

Sessions and signals are immutable values. A transaction collects changes and applies them to the
state once they are committed. A failed one leaves no trace, and readers on other threads see a
whole commit or nothing of it. Transactions run on the writer's thread.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Final, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from runtime.bridge.session.recording import WIDE, WIDE_SIGNALS, Numbers, Samples
from runtime.bridge.session.series import DAY_S, SLACK_S, Odometer, fill_distance, is_plausible
from runtime.bridge.storage.backend import Connection, FrameRun, Row, Run
from runtime.bridge.storage.errors import RegistryFull, UnknownSession
from runtime.bridge.storage.records import (
    DISCOVERED,
    NOTHING,
    Appended,
    CapabilityRow,
    SessionMeta,
    SessionRow,
    SignalRow,
    clean_row,
    is_time_of_day,
)

MOST_DISCOVERED: Final = 5000
"""Signals that may be discovered, besides those of the seed."""
_DISTANCE: Final = WIDE.index("distance_m")
_SPEED: Final = WIDE.index("speed_ms")
_START: Final = Odometer()
_META: Final = ("driver", "driver_level", "track", "car", "note", "source")
_SAME: Final = (
    *("session_id", *_META, "started_at", "ended_at", "activation"),
    *("n_frames", "n_signals", "t_start", "t_end", "version"),
)
"""Columns of the table that are fields of `Session`."""
_COUNTED: Final = (
    *("spans", "n_frames", "n_signals", "t_start", "t_end", "distance_m", "odometer"),
)
"""Fields of a session that are counted from its telemetry."""
SESSION_COLUMNS: Final = (
    *("session_key", *_SAME, "meta", "last_t", "last_speed_ms", "last_distance_m", "dirty"),
)


class Span(NamedTuple):
    """The number of samples of a signal, and their first and last time."""

    n: int
    t_start: float
    t_end: float

    def join(self, more: "Span") -> "Span":
        """Combine two spans."""
        start = more.t_start if more.t_start < self.t_start else self.t_start
        return Span(self.n + more.n, start, more.t_end if more.t_end > self.t_end else self.t_end)


Spans = Mapping[int, Span]
"""By signal id."""


def measure_span(samples: Samples) -> Span:
    """Measure the span of at least one sample, sorted by time."""
    return Span(len(samples.t), float(samples.t[0]), float(samples.t[-1]))


@dataclass(frozen=True, slots=True)
class Session(SessionRow):
    """A session with the writer's own fields."""

    activation: int = field(default=0, compare=False)
    """Number of its latest explicit start, counted over all sessions; 0: never started."""
    odometer: Odometer = field(default=_START, compare=False)
    dirty: bool = field(default=False, compare=False)
    """Whether the stored row and capabilities are outdated; after a crash they are recounted."""
    spans: Spans | None = field(default=None, compare=False, repr=False)
    """None: not loaded."""

    @classmethod
    def new(cls, key: int, session_id: str, started_at: int) -> Self:
        """Create a session without telemetry and details."""
        return cls(session_id=session_id, started_at=started_at, key=key, spans={})

    @classmethod
    def from_row(cls, row: Row) -> Self:
        """Convert a row of `SESSION_COLUMNS` to a session."""
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

    def to_row(self) -> Row:
        """Convert the session to a row of `SESSION_COLUMNS`."""
        same = (getattr(self, name) for name in _SAME)
        meta = json.dumps(self.meta, sort_keys=True) if self.meta else None
        last = (None if number != number else number for number in self.odometer)
        return (self.key, *same, meta, *last, int(self.dirty))

    def with_meta(self, meta: SessionMeta) -> Self:
        """Fill empty details from *meta*; returns itself if nothing changes."""
        if meta == NOTHING:
            return self
        new = {
            name: value
            for name in _META
            if not getattr(self, name) and (value := getattr(meta, name))
        }
        both = {**(meta.meta or {}), **self.meta}
        if not new and both == self.meta:
            return self
        return replace(self, **new, meta=both)

    def with_counted(self, counted: "Session") -> Self:
        """Replace everything counted from telemetry by that of *counted*."""
        return replace(self, **{name: getattr(counted, name) for name in _COUNTED})

    def with_samples(self, more: Spans) -> Self:
        """Add samples; the session's spans must be loaded."""
        spans = self._join_spans(more)
        if self.n_frames or not more:
            return replace(self, spans=spans, n_signals=len(spans))
        first = min(span.t_start for span in spans.values())
        last = max(span.t_end for span in spans.values())
        return replace(self, spans=spans, n_signals=len(spans), t_start=first, t_end=last)

    def _join_spans(self, more: Spans) -> Spans:
        """Combine the session's spans with those of new samples."""
        spans = dict(self.spans or {})
        pair: tuple[Span | None, Span | None] = (None, None)
        joined = Span(0, 0.0, 0.0)
        for signal, span in more.items():
            before = spans.get(signal)
            if before is not pair[0] or span is not pair[1]:  # most columns of frames are alike
                pair = before, span
                joined = before.join(span) if before else span
            spans[signal] = joined
        return spans

    def find_times(self, t: Numbers) -> tuple[float, float]:
        """Find the first and last time of the session with new frames, without implausible ones.

        Up to a minute that lies more than a day before the rest counts as a clock fault, whether it
        came before the rest or together with it; see `is_plausible`.
        """
        if np.ptp(t) > DAY_S / 2:
            t = t[is_plausible(t)]
        first, last = float(t.min()), float(t.max())
        if not self.n_frames or self.t_start is None or self.t_end is None:
            return first, last
        if first > self.t_end + DAY_S and self.t_end - self.t_start <= SLACK_S:
            return first, last
        if last < self.t_start - DAY_S:
            return self.t_start, self.t_end
        return min(first, self.t_start), max(last, self.t_end)

    def with_frames(self, numbers: Numbers, wide: Mapping[str, int], writes: int = 0) -> Self:
        """Add frames; fills the null distances of *numbers* in place.

        *wide* are the ids of the wide columns, *writes* is the number of writes that brought the
        frames. The spans must be loaded.
        """
        t = numbers[0]
        filled, odometer = fill_distance(t, numbers[_SPEED], numbers[_DISTANCE], self.odometer)
        numbers[_DISTANCE] = filled
        present = ~np.isnan(numbers[1:])
        whole = Span(len(t), float(t.min()), float(t.max()))
        more = {}
        for at, n in enumerate(present.sum(axis=1).tolist()):
            if n:
                some = t[present[at]] if n < len(t) else None
                span = whole if some is None else Span(n, float(some.min()), float(some.max()))
                more[wide[WIDE_SIGNALS[at]]] = span
        reached = odometer.distance_m
        spans, (t_start, t_end) = self._join_spans(more), self.find_times(t)
        return replace(
            self,
            spans=spans,
            n_signals=len(spans),
            t_start=t_start,
            t_end=t_end,
            n_frames=self.n_frames + len(t),
            distance_m=None if reached != reached else reached,
            odometer=odometer,
            version=self.version + writes,
            dirty=self.dirty or writes > 0,
        )


@dataclass(slots=True)
class State:
    """The committed state; only the writer's thread changes it, by whole values."""

    sessions: dict[str, Session] = field(default_factory=dict)
    signals: dict[str, SignalRow] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    """The highest number issued so far, by counter."""
    boots: int = 0
    """How often the database was opened, including this time."""
    staged: list[int] = field(default_factory=list)
    """Keys of imports that were not completed."""
    n_frames: int = 0
    """Of all sessions together."""
    deleted: set[str] = field(default_factory=set)
    """Ids of sessions deleted since the start; late rows about them are not stored."""

    def take_over(self, other: "State") -> None:
        """Replace every field by that of *other*."""
        for part in fields(self):
            setattr(self, part.name, getattr(other, part.name))

    @property
    def wide(self) -> dict[str, int]:
        """Signal ids of the wide columns by name."""
        return {name: self.signals[name].signal_id for name in WIDE_SIGNALS}

    def catalogue(self) -> dict[int, SignalRow]:
        """Return the signals by id, sorted by id."""
        rows = sorted(self.signals.copy().values(), key=lambda row: row.signal_id)
        return {row.signal_id: row for row in rows}

    def capabilities(self, session: SessionRow, spans: Spans) -> list[CapabilityRow]:
        """List the extent of a session's signals, by name."""
        signals = self.catalogue()
        rows = (_make_capability(signals[id_], span, session) for id_, span in spans.items())
        return sorted(rows, key=lambda row: row.name)

    def newest(self, *, active_only: bool, driver: str | None) -> list[SessionRow]:
        """List sessions, newest first, then by id descending; *driver* regardless of case."""
        rows: Iterable[SessionRow] = self.sessions.copy().values()
        chosen = [
            row
            for row in rows
            if not (active_only and row.ended_at is not None) and _is_driver(row.driver, driver)
        ]
        return sorted(chosen, key=lambda row: (row.started_at, row.session_id), reverse=True)

    def active(self) -> str | None:
        """Return the open session that was started last."""
        started = (
            session
            for session in self.sessions.copy().values()
            if session.activation and session.ended_at is None
        )
        last = max(started, key=lambda session: session.activation, default=None)
        return None if last is None else last.session_id


def _make_capability(signal: SignalRow, span: Span, session: SessionRow) -> CapabilityRow:
    """Describe the extent of a signal, clipped to the session's times if it goes far beyond."""
    n, begin, end = span
    if session.t_start is not None and begin < session.t_start - DAY_S <= end:
        begin = session.t_start
    if session.t_end is not None and end > session.t_end + DAY_S >= begin:
        end = session.t_end
    duration = end - begin
    mean_hz = n / duration if duration > 0 else 0.0
    least = signal.min_useful_hz
    return CapabilityRow(
        name=signal.name,
        n_samples=n,
        mean_hz=mean_hz,
        t_start=begin,
        t_end=end,
        units=signal.units,
        group=signal.group,
        min_useful_hz=least,
        useful=least is None or mean_hz >= least,
    )


def _is_driver(name: str | None, wanted: str | None) -> bool:
    return wanted is None or (name or "").strip().casefold() == wanted.strip().casefold()


class Stored(Protocol):
    """A record that is a row of a table, see `records`."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    table: ClassVar[str]


S = TypeVar("S", bound=Stored)


@dataclass(slots=True, eq=False)
class Transaction:
    """Collects the changes of writes; `apply` puts them into the state after the commit.

    Frames and samples go to the database together at `flush`. A write must refuse before its first
    change, which the writer checks by `changes`.
    """

    connection: Connection
    state: State
    """The state before this transaction."""
    changes: int = 0
    checkpoint: bool = False
    """Whether to checkpoint after this transaction."""
    _sessions: dict[str, Session | None] = field(default_factory=dict)
    _signals: dict[str, SignalRow] = field(default_factory=dict)
    _counters: dict[str, int] = field(default_factory=dict)
    _saves: set[str] = field(default_factory=set)
    _frames: dict[str, list[tuple[Numbers, Appended]]] = field(default_factory=dict)
    _runs: list[Run] = field(default_factory=list)

    # the state with the changes of this transaction

    def session(self, session_id: str) -> Session | None:
        """Find a session, without the frames that wait for `flush`."""
        if session_id in self._sessions:
            return self._sessions[session_id]
        return self.state.sessions.get(session_id)

    def require_session(self, session_id: str) -> Session:
        """Find a session. Raises `UnknownSession`."""
        session = self.session(session_id)
        if session is None:
            raise UnknownSession(session_id)
        return session

    def sessions(self) -> Iterator[Session]:
        """List all sessions by id."""
        for session_id in sorted({*self.state.sessions, *self._sessions}):
            if (session := self.session(session_id)) is not None:
                yield session

    def count_frames(self) -> int:
        """Count the frames of all sessions, without those that wait for `flush`."""
        changed = self._sessions.items()
        old = (self.state.sessions.get(session_id) for session_id, _ in changed)
        before = sum(session.n_frames for session in old if session is not None)
        after = sum(session.n_frames for _, session in changed if session is not None)
        return self.state.n_frames - before + after

    def list_changed(self) -> Iterator[Session]:
        """List the sessions that this transaction creates or changes."""
        return (session for session in self._sessions.values() if session is not None)

    def signal(self, name: str) -> SignalRow | None:
        """Find an entry of the catalogue."""
        return self._signals.get(name) or self.state.signals.get(name)

    # changes

    def next_number(self, counter: str) -> int:
        """Issue a new number of a counter."""
        number = self._counters.get(counter, self.state.counters.get(counter, 0)) + 1
        self._counters[counter] = number
        return number

    def next_id(self, table: str) -> int:
        """Issue a new row id."""
        if table not in self._counters and table not in self.state.counters:
            rows = self.connection.rows(f"SELECT max(id) FROM {table}")  # noqa: S608 - our tables
            self._counters[table] = int(rows[0][0] or 0)
        return self.next_number(table)

    def run(self, sql: str, values: tuple[object, ...] = ()) -> None:
        """Run a statement immediately."""
        self.changes += 1
        self.connection.run(sql, values)

    def insert(self, row: Stored) -> None:
        """Insert a row into its table as it is."""
        names = [part.name for part in fields(row)]
        quoted, marks = '", "'.join(names), ", ".join("?" * len(names))
        cells = (getattr(row, name) for name in names)
        self.run(
            f'INSERT INTO {row.table} ("{quoted}") VALUES ({marks})',  # noqa: S608 - our own names
            tuple(json.dumps(cell) if isinstance(cell, tuple) else cell for cell in cells),
        )

    def put(self, session: Session, *, save: bool = True) -> Session:
        """Change or create a session; *save*: write its row too, not only the counted fields."""
        self.changes += 1
        self._sessions[session.session_id] = session
        if save:
            self._saves.add(session.session_id)
        return session

    def remove(self, session_id: str) -> None:
        """Remove a session from the state; the caller deletes its row."""
        self.changes += 1
        self._sessions[session_id] = None

    def ensure(
        self, session_id: str, meta: SessionMeta, now_ms: int, t: Numbers | None = None
    ) -> Session:
        """Find or create a session, fill its empty details from *meta*, and load its spans.

        A new one starts at the first of its times *t*, if these are times of day.
        """
        if meta != NOTHING:  # rare during a drive
            meta = clean_row(meta)
        session = self.session(session_id)
        if session is None:
            new = Session.new(self.next_number("session_key"), session_id, now_ms)
            first = None if t is None else new.find_times(t)[0]
            if first is not None and is_time_of_day(first, now_ms / 1000):
                new = replace(new, started_at=min(round(first * 1000), now_ms))
            return self.put(new.with_meta(meta))
        filled = session.with_meta(meta)
        if filled.track != session.track:  # its laps depend on it
            filled = replace(filled, version=filled.version + 1)
        if filled.spans is None:
            loaded = replace(filled, spans=load_spans(self.connection, filled.key))
            return self.put(loaded, save=filled is not session)
        return session if filled is session else self.put(filled)

    def touch(self, session: Session) -> Session:
        """Register a write of telemetry; the first one after settling marks the stored row."""
        touched = replace(session, version=session.version + 1, dirty=True)
        return self.put(touched, save=not session.dirty)

    def append(self, session_id: str, numbers: Numbers) -> Appended:
        """Append canonical frames to a session, after `ensure`."""
        self.changes += 1
        waiting = self._frames.setdefault(session_id, [])
        if waiting:
            first = waiting[-1][1].last_idx + 1
        else:
            session = self.require_session(session_id)
            first = session.n_frames
            if not session.dirty:
                self._saves.add(session_id)
        appended = Appended(first, first + numbers.shape[1] - 1, numbers[0])
        waiting.append((numbers, appended))
        return appended

    def add_samples(self, session_id: str, signals: Mapping[str, Samples]) -> None:
        """Add canonical samples of registered signals to a session, after `ensure`.

        A sample replaces an earlier one at the same time.
        """
        session = self.require_session(session_id)
        before = session.spans or {}
        ids = {name: self.require_signal(name).signal_id for name in signals}
        late = [
            name
            for name, samples in signals.items()
            if ids[name] in before and float(samples.t[0]) <= before[ids[name]].t_end
        ]
        if late:
            self.flush()
            session = self.require_session(session_id)
        more: dict[int, Span] = {}
        for name, samples in signals.items():
            signal, span = ids[name], measure_span(samples)
            if name in late:
                deleted = self.connection.delete_samples(session.key, signal, samples.t)
                span = span._replace(n=span.n - deleted)
            stored = before[signal].n if signal in before else 0
            more[signal] = span
            self._runs.append(Run(session.key, signal, samples, stored))
        self.touch(session.with_samples(more))

    def require_signal(self, name: str) -> SignalRow:
        """Return an entry made by `discover` or the seed."""
        return self._signals.get(name) or self.state.signals[name]

    def discover(
        self, names: Collection[str], now_ms: int, *, spare: bool
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Add unknown names to the catalogue. Return the new ones, and those that do not fit.

        They are added in order of name. Raises `RegistryFull` if one does not fit, unless *spare*.
        """
        unknown = sorted(name for name in names if self.signal(name) is None)
        if not unknown:
            return (), ()
        signals = {**self.state.signals, **self._signals}.values()
        room = MOST_DISCOVERED - sum(signal.discovery == DISCOVERED for signal in signals)
        new, left_out = unknown[: max(room, 0)], unknown[max(room, 0) :]
        if left_out and not spare:
            raise RegistryFull(
                f"the catalogue is full: {MOST_DISCOVERED} signals were discovered already"
            )
        for name in new:
            self.learn(SignalRow(name, discovered_at=now_ms))
        return tuple(new), tuple(left_out)

    def learn(self, signal: SignalRow) -> None:
        """Write an entry of the catalogue; a new one gets its id."""
        if signal.signal_id:
            self.run("DELETE FROM signal_registry WHERE signal_id = ?", (signal.signal_id,))
        else:
            signal = replace(signal, signal_id=self.next_number("signal_id"))
        self._signals[signal.name] = signal
        self.insert(signal)

    def settle(self, session: Session) -> Session:
        """Write the counted fields, and put the telemetry into its most compact form."""
        self.flush()
        session = self.session(session.session_id) or session
        if session.spans is not None:
            write_spans(self.connection, session.key, session.spans)
        self.connection.tidy(session.key)
        return self.put(replace(session, dirty=False))

    # writing to the database, then to the state

    def flush(self) -> None:
        """Write everything that waits to the database."""
        waiting, self._frames = self._frames, {}
        wide = self.state.wide if waiting else {}
        frames: list[FrameRun] = []
        for session_id, parts in waiting.items():
            session = self.require_session(session_id)
            numbers = parts[0][0]
            if len(parts) > 1:
                numbers = np.concatenate([part for part, _ in parts], axis=1)
            self.put(session.with_frames(numbers, wide, len(parts)), save=False)
            frames.append(FrameRun(session.key, session.n_frames, numbers))
            for part, appended in parts:
                at = appended.first_idx - session.n_frames
                appended.distance_m = numbers[_DISTANCE, at : at + part.shape[1]]
        if frames:
            self.connection.insert_frames(frames)
        runs, self._runs = self._runs, []
        if runs:
            self.connection.insert_samples(runs)
        saves, self._saves = self._saves, set()
        for session_id in saves:
            if (saved := self._sessions[session_id]) is not None:
                row = saved.to_row()
                names, marks = ", ".join(SESSION_COLUMNS), ", ".join("?" * len(row))
                self.run("DELETE FROM sessions WHERE session_key = ?", (saved.key,))
                self.run(f"INSERT INTO sessions ({names}) VALUES ({marks})", row)  # noqa: S608 - constants

    def apply(self) -> None:
        """Apply the committed changes to the state."""
        self.state.counters.update(self._counters)
        self.state.signals.update(self._signals)
        self.state.n_frames = self.count_frames()
        for session_id, session in self._sessions.items():
            self.state.sessions.pop(session_id, None)
            if session is not None:
                self.state.sessions[session_id] = session


def select(
    connection: Connection, kind: type[S], rest: str = "", values: Sequence[object] = ()
) -> list[S]:
    """Read rows of a table as its records; *rest* continues the statement after its name."""
    parts = fields(kind)
    names = '", "'.join(part.name for part in parts)
    rows = connection.rows(f'SELECT "{names}" FROM {kind.table} {rest}', values)  # noqa: S608 - our own names
    special = {
        at: type(part.default)
        for at, part in enumerate(parts)
        if isinstance(part.default, bool | tuple)
    }
    selected = []
    for row in rows:
        cells = list(row)
        for at, form in special.items():
            cells[at] = bool(cells[at]) if form is bool else tuple(json.loads(cells[at] or "[]"))
        selected.append(kind(*cells))
    return selected


def load_spans(connection: Connection, key: int) -> Spans:
    """Load the stored spans of a session."""
    rows = connection.rows(
        "SELECT signal_id, n_samples, t_start, t_end FROM session_capabilities"
        " WHERE session_key = ?",
        (key,),
    )
    return {signal: Span(*span) for signal, *span in rows}


def write_spans(connection: Connection, key: int, spans: Spans) -> None:
    """Store the spans of a session."""
    connection.run("DELETE FROM session_capabilities WHERE session_key = ?", (key,))
    if not spans:
        return
    n, t_start, t_end = zip(*spans.values(), strict=True)
    connection.insert(
        "session_capabilities",
        {
            "session_key": np.full(len(spans), key),
            "signal_id": np.array(list(spans), np.int64),
            "n_samples": np.array(n, np.int64),
            "t_start": np.array(t_start),
            "t_end": np.array(t_end),
        },
    )
