"""The committed state in memory, and the transaction through which the writes change it.

Sessions and signals are immutable values. A transaction collects changes and makes them the truth
once they are committed, so that what failed leaves no trace, and readers on other threads see a
whole commit or none of it. Transactions are of the writer's thread.
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
    tells_day,
)

MOST_DISCOVERED: Final = 5000
"""Signals that nobody announced."""
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
"""What of a session is counted from its telemetry."""
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

    def with_counted(self, counted: "Session") -> Self:
        """The same with the telemetry of *counted* in place of its own."""
        return replace(self, **{name: getattr(counted, name) for name in _COUNTED})

    def with_samples(self, more: Spans) -> Self:
        """The same with further samples; its own spans must be loaded."""
        joined = self._joined(more)
        if self.n_frames or not more:
            return replace(self, spans=joined, n_signals=len(joined))
        first = min(span.t_start for span in joined.values())
        last = max(span.t_end for span in joined.values())
        return replace(self, spans=joined, n_signals=len(joined), t_start=first, t_end=last)

    def _joined(self, more: Spans) -> Spans:
        """Its own spans with those of further samples."""
        spans = dict(self.spans or {})
        pair: tuple[Span | None, Span | None] = (None, None)
        joined = Span(0, 0.0, 0.0)
        for signal, span in more.items():
            before = spans.get(signal)
            if before is not pair[0] or span is not pair[1]:  # most columns of frames are alike
                pair = before, span
                joined = before.joined(span) if before else span
            spans[signal] = joined
        return spans

    def lasting(self, t: Numbers) -> tuple[float, float]:
        """The first and the last moment with further frames, but for those far off in time.

        See `is_plausible`: up to a minute that lies more than a day before the rest is such a
        fault, whether it came before the rest or together with it.
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
        spans, (t_start, t_end) = self._joined(more), self.lasting(t)
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
    """The committed truth; only the writer's thread changes it, by whole values."""

    sessions: dict[str, Session] = field(default_factory=dict)
    signals: dict[str, SignalRow] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    """The highest number given out so far, by what it numbers."""
    boots: int = 0
    """How often the database was opened, this time included."""
    staged: list[int] = field(default_factory=list)
    """Keys of imports that did not come to their end."""
    n_frames: int = 0
    """Of all sessions together."""
    deleted: set[str] = field(default_factory=set)
    """Ids of sessions that were deleted since the start: what was still on its way about them is
    not kept."""

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

    def capabilities(self, session: SessionRow, spans: Spans) -> list[CapabilityRow]:
        """What the spans of a session say of its signals, by name."""
        named = self.catalogue()
        rows = (_capability(named[signal], span, session) for signal, span in spans.items())
        return sorted(rows, key=lambda row: row.name)

    def newest(self, *, active_only: bool, driver: str | None) -> list[SessionRow]:
        """The sessions, newest first, then by id descending; case makes no difference."""
        rows: Iterable[SessionRow] = self.sessions.copy().values()
        chosen = [
            row
            for row in rows
            if not (active_only and row.ended_at is not None) and _same(row.driver, driver)
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


def _capability(signal: SignalRow, span: Span, session: SessionRow) -> CapabilityRow:
    """How much there is of a signal, within the session's own times if some were far off."""
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


def _same(mine: str | None, wanted: str | None) -> bool:
    return wanted is None or (mine or "").strip().casefold() == wanted.strip().casefold()


class Stored(Protocol):
    """A record that is a row of a table, see `values`."""

    __dataclass_fields__: ClassVar[dict[str, Any]]
    table: ClassVar[str]


S = TypeVar("S", bound=Stored)


@dataclass(slots=True, eq=False)
class Transaction:
    """What the writes change the store with; `apply` makes it the truth after the commit.

    Frames and samples are collected and go to the database together at `flush`. A write that
    refuses must do so before its first change: `changes` tells the writer whether it did.
    """

    connection: Connection
    state: State
    """As it was before this transaction."""
    changes: int = 0
    checkpoint: bool = False
    """Whether the log should be brought into the main file after this transaction."""
    _sessions: dict[str, Session | None] = field(default_factory=dict)
    _signals: dict[str, SignalRow] = field(default_factory=dict)
    _counters: dict[str, int] = field(default_factory=dict)
    _saves: set[str] = field(default_factory=set)
    _frames: dict[str, list[tuple[Numbers, Appended]]] = field(default_factory=dict)
    _runs: list[Run] = field(default_factory=list)

    # what there is, with the changes of this transaction

    def session(self, session_id: str) -> Session | None:
        """As it stands, but for the frames that wait for `flush`."""
        if session_id in self._sessions:
            return self._sessions[session_id]
        return self.state.sessions.get(session_id)

    def existing(self, session_id: str) -> Session:
        """Raises `UnknownSession`."""
        session = self.session(session_id)
        if session is None:
            raise UnknownSession(session_id)
        return session

    def sessions(self) -> Iterator[Session]:
        """All of them, by id."""
        for session_id in sorted({*self.state.sessions, *self._sessions}):
            if (session := self.session(session_id)) is not None:
                yield session

    def n_frames(self) -> int:
        """How many frames all sessions will have together, but for those that wait for `flush`."""
        changed = self._sessions.items()
        stood = (self.state.sessions.get(session_id) for session_id, _ in changed)
        before = sum(session.n_frames for session in stood if session is not None)
        after = sum(session.n_frames for _, session in changed if session is not None)
        return self.state.n_frames - before + after

    def changed(self) -> Iterator[Session]:
        """The sessions that this transaction makes or changes."""
        return (session for session in self._sessions.values() if session is not None)

    def signal(self, name: str) -> SignalRow | None:
        """An entry of the catalogue."""
        return self._signals.get(name) or self.state.signals.get(name)

    # changes

    def next_number(self, counter: str) -> int:
        """A number that was never given out before."""
        number = self._counters.get(counter, self.state.counters.get(counter, 0)) + 1
        self._counters[counter] = number
        return number

    def next_id(self, table: str) -> int:
        """A row number that was never given out."""
        if table not in self._counters and table not in self.state.counters:
            rows = self.connection.rows(f"SELECT max(id) FROM {table}")  # noqa: S608 - our tables
            self._counters[table] = int(rows[0][0] or 0)
        return self.next_number(table)

    def run(self, sql: str, values: tuple[object, ...] = ()) -> None:
        """A statement, at once."""
        self.changes += 1
        self.connection.run(sql, values)

    def insert(self, row: Stored) -> None:
        """A row of its table, as it is."""
        names = [part.name for part in fields(row)]
        quoted, marks = '", "'.join(names), ", ".join("?" * len(names))
        cells = (getattr(row, name) for name in names)
        self.run(
            f'INSERT INTO {row.table} ("{quoted}") VALUES ({marks})',  # noqa: S608 - our own names
            tuple(json.dumps(cell) if isinstance(cell, tuple) else cell for cell in cells),
        )

    def put(self, session: Session, *, save: bool = True) -> Session:
        """Change or make a session; *save*: its row too, not only what is found out by counting."""
        self.changes += 1
        self._sessions[session.session_id] = session
        if save:
            self._saves.add(session.session_id)
        return session

    def remove(self, session_id: str) -> None:
        """Forget a session; its row is the caller's."""
        self.changes += 1
        self._sessions[session_id] = None

    def ensure(
        self, session_id: str, meta: SessionMeta, now_ms: int, t: Numbers | None = None
    ) -> Session:
        """The session, made where it is unknown, its nulls filled, its spans loaded.

        A new one starts with the first of its times *t*, where these tell the time of day.
        """
        if meta != NOTHING:  # as with almost no frame of a drive
            meta = clean_row(meta)
        session = self.session(session_id)
        if session is None:
            new = Session.new(self.next_number("session_key"), session_id, now_ms)
            first = None if t is None else new.lasting(t)[0]
            if first is not None and tells_day(first, now_ms / 1000):
                new = replace(new, started_at=min(round(first * 1000), now_ms))
            return self.put(new.with_meta(meta))
        filled = session.with_meta(meta)
        if filled.track != session.track:  # its laps depend on it
            filled = replace(filled, version=filled.version + 1)
        if filled.spans is None:
            loaded = replace(filled, spans=spans_of(self.connection, filled.key))
            return self.put(loaded, save=filled is not session)
        return session if filled is session else self.put(filled)

    def touch(self, session: Session) -> Session:
        """Note a write of telemetry; the first one since the last settlement marks the row."""
        touched = replace(session, version=session.version + 1, dirty=True)
        return self.put(touched, save=not session.dirty)

    def append(self, session_id: str, numbers: Numbers) -> Appended:
        """Canonical frames after the last one of a session that `ensure` was called for."""
        self.changes += 1
        waiting = self._frames.setdefault(session_id, [])
        if waiting:
            first = waiting[-1][1].last_idx + 1
        else:
            session = self.existing(session_id)
            first = session.n_frames
            if not session.dirty:
                self._saves.add(session_id)
        appended = Appended(first, first + numbers.shape[1] - 1, numbers[0])
        waiting.append((numbers, appended))
        return appended

    def add_samples(self, session_id: str, signals: Mapping[str, Samples]) -> None:
        """Canonical samples of registered signals, of a session that `ensure` was called for.

        Those at a time that is known replace what was there.
        """
        session = self.existing(session_id)
        before = session.spans or {}
        ids = {name: self.existing_signal(name).signal_id for name in signals}
        late = [
            name
            for name, samples in signals.items()
            if ids[name] in before and float(samples.t[0]) <= before[ids[name]].t_end
        ]
        if late:
            self.flush()
            session = self.existing(session_id)
        more: dict[int, Span] = {}
        for name, samples in signals.items():
            signal, span = ids[name], span_of(samples)
            if name in late:
                deleted = self.connection.delete_samples(session.key, signal, samples.t)
                span = span._replace(n=span.n - deleted)
            stored = before[signal].n if signal in before else 0
            more[signal] = span
            self._runs.append(Run(session.key, signal, samples, stored))
        self.touch(session.with_samples(more))

    def existing_signal(self, name: str) -> SignalRow:
        """An entry that `discover` or the seed has made."""
        return self._signals.get(name) or self.state.signals[name]

    def discover(
        self, names: Collection[str], now_ms: int, *, spare: bool
    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Take unknown names into the catalogue: those that are new, those it has no room for.

        The first by name fit. Raises `RegistryFull` where one does not, unless they are *spare*.
        """
        unknown = sorted(name for name in names if self.signal(name) is None)
        if not unknown:
            return (), ()
        signals = {**self.state.signals, **self._signals}.values()
        room = MOST_DISCOVERED - sum(signal.discovery == DISCOVERED for signal in signals)
        new, left_out = unknown[: max(room, 0)], unknown[max(room, 0) :]
        if left_out and not spare:
            raise RegistryFull(
                f"{MOST_DISCOVERED} signals were discovered already; no more are taken"
            )
        for name in new:
            self.learn(SignalRow(name, discovered_at=now_ms))
        return tuple(new), tuple(left_out)

    def learn(self, signal: SignalRow) -> None:
        """Write a catalogue entry; a new one gets its id."""
        if signal.signal_id:
            self.run("DELETE FROM signal_registry WHERE signal_id = ?", (signal.signal_id,))
        else:
            signal = replace(signal, signal_id=self.next_number("signal_id"))
        self._signals[signal.name] = signal
        self.insert(signal)

    def settle(self, session: Session) -> Session:
        """Write what was only counted, and put the telemetry into its best form."""
        self.flush()
        session = self.session(session.session_id) or session
        if session.spans is not None:
            write_spans(self.connection, session.key, session.spans)
        self.connection.tidy(session.key)
        return self.put(replace(session, dirty=False))

    # to the database, and then to the state

    def flush(self) -> None:
        """Hand everything that waits to the database."""
        waiting, self._frames = self._frames, {}
        wide = self.state.wide if waiting else {}
        frames: list[FrameRun] = []
        for session_id, parts in waiting.items():
            session = self.existing(session_id)
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
                row = saved.stored()
                names, marks = ", ".join(SESSION_COLUMNS), ", ".join("?" * len(row))
                self.run("DELETE FROM sessions WHERE session_key = ?", (saved.key,))
                self.run(f"INSERT INTO sessions ({names}) VALUES ({marks})", row)  # noqa: S608 - constants

    def apply(self) -> None:
        """Make the committed changes the truth."""
        self.state.counters.update(self._counters)
        self.state.signals.update(self._signals)
        self.state.n_frames = self.n_frames()
        for session_id, session in self._sessions.items():
            self.state.sessions.pop(session_id, None)
            if session is not None:
                self.state.sessions[session_id] = session


def select(
    connection: Connection, kind: type[S], rest: str = "", values: Sequence[object] = ()
) -> list[S]:
    """Rows of a table, as its records; *rest* is what follows its name in the statement."""
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


def spans_of(connection: Connection, key: int) -> Spans:
    """The settled spans of a session."""
    rows = connection.rows(
        "SELECT signal_id, n_samples, t_start, t_end FROM session_capabilities"
        " WHERE session_key = ?",
        (key,),
    )
    return {signal: Span(*span) for signal, *span in rows}


def write_spans(connection: Connection, key: int, spans: Spans) -> None:
    """Settle the spans of a session."""
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
