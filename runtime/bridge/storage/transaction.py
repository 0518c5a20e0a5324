"""One transaction: changes that are not committed yet, written in as few calls as possible."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from runtime.bridge.session.recording import WIDE, Numbers, Samples
from runtime.bridge.session.series import Odometer
from runtime.bridge.storage import canonical, registry
from runtime.bridge.storage.backend import Connection, Row, Run
from runtime.bridge.storage.errors import UnknownSession
from runtime.bridge.storage.state import Session, Span, Spans, State
from runtime.bridge.storage.values import Appended, SessionMeta, SignalRow

SESSION_COLUMNS: Final = (
    "session_key, session_id, driver, driver_level, track, car, note, source, meta, started_at,"
    " ended_at, activation, n_frames, n_signals, t_start, t_end, last_t, last_speed_ms,"
    " last_distance_m, version, dirty"
)
_MARKS: Final = ", ".join("?" * (SESSION_COLUMNS.count(",") + 1))
_DISTANCE: Final = WIDE.index("distance_m")


class Transaction:
    """What the writes change the store with; `apply` makes it the truth after the commit.

    Frames and samples are collected and go to the database together at `flush`. A write that
    refuses must do so before its first change: `changes` tells the writer whether it did.
    """

    def __init__(self, connection: Connection, state: State) -> None:
        self.connection = connection
        self.state = state
        """As it was before this transaction."""
        self.changes = 0
        self.checkpoint = False
        """Whether the log should be brought into the main file after this transaction."""
        self._sessions: dict[str, Session | None] = {}
        self._signals: dict[str, SignalRow] = {}
        self._counters: dict[str, int] = {}
        self._saves: set[str] = set()
        self._frames: dict[str, list[tuple[Numbers, Appended]]] = {}
        self._runs: list[Run] = []

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

    def changed(self) -> Iterator[Session]:
        """The sessions that this transaction makes or changes."""
        return (session for session in self._sessions.values() if session is not None)

    def signal(self, name: str) -> SignalRow | None:
        """An entry of the catalogue."""
        return self._signals.get(name) or self.state.signals.get(name)

    def discovered(self) -> int:
        """How many signals were discovered rather than known beforehand."""
        return self.state.discovered + sum(
            signal.discovery == "discovered" and name not in self.state.signals
            for name, signal in self._signals.items()
        )

    def has_frames(self, session_id: str) -> bool:
        """Whether frames of the session wait for `flush`."""
        return session_id in self._frames

    # changes

    def next_number(self, counter: str) -> int:
        """A number that was never given out before."""
        number = self._counters.get(counter, self.state.counters.get(counter, 0)) + 1
        self._counters[counter] = number
        return number

    def next_id(self, table: str) -> int:
        """A row number that was never given out."""
        if table not in self._counters and table not in self.state.counters:
            found = self.connection.rows(f"SELECT max(id) FROM {table}")  # noqa: S608 - our tables
            self._counters[table] = int(found[0][0] or 0)
        return self.next_number(table)

    def run(self, sql: str, values: tuple[object, ...] = ()) -> None:
        """A statement, at once."""
        self.changes += 1
        self.connection.run(sql, values)

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

    def ensure(self, session_id: str, meta: SessionMeta, now_ms: int) -> Session:
        """The session, made where it is unknown, its nulls filled, its spans loaded."""
        session = self.session(session_id)
        if session is None:
            key = self.next_number("session_key")
            made = Session.begun(key, session_id, now_ms)
            return self.put(made.filled(canonical.meta(meta)))
        filled = session.filled(canonical.meta(meta))
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

    def add_samples(self, session_id: str, signals: Mapping[int, Samples]) -> None:
        """Canonical samples by signal id, of a session that `ensure` was called for.

        Those at a time that is known replace what was there.
        """
        session = self.existing(session_id)
        before = session.spans or {}
        late = [
            signal
            for signal, samples in signals.items()
            if signal in before and float(samples.t[0]) <= before[signal].t_end
        ]
        if late:
            self.flush()
            session = self.existing(session_id)
        spans = dict(session.spans or {})
        for signal, samples in signals.items():
            n, first, last = len(samples.t), float(samples.t[0]), float(samples.t[-1])
            if signal in late:
                n -= self.connection.delete_samples(session.key, signal, samples.t)
            known = spans.get(signal)
            spans[signal] = known.joined(n, first, last) if known else Span(n, first, last)
            self._runs.append(Run(session.key, signal, samples))
        self.touch(session.spread(spans))

    def register(self, name: str, now_ms: int) -> int:
        """The id of a signal; a new one is discovered. Raises `RegistryFull`."""
        known = self.signal(name)
        if known is None:
            known = self.learn(registry.discovered(name, self.discovered(), now_ms))
        return known.signal_id

    def learn(self, signal: SignalRow) -> SignalRow:
        """Write a catalogue entry; a new one gets its id."""
        if not signal.signal_id:
            signal = replace(signal, signal_id=self.next_number("signal_id"))
        else:
            self.run("DELETE FROM signal_registry WHERE signal_id = ?", (signal.signal_id,))
        self._signals[signal.name] = signal
        self.run(registry.INSERT, registry.values_of(signal))
        return signal

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
        for session_id, parts in waiting.items():
            session = self.existing(session_id)
            numbers = parts[0][0]
            if len(parts) > 1:
                numbers = np.concatenate([part for part, _ in parts], axis=1)
            self.put(session.travelled(numbers, self.state.wide, len(parts)), save=False)
            self.connection.insert_frames(session.key, session.n_frames, numbers)
            for part, appended in parts:
                at = appended.first_idx - session.n_frames
                appended.distance_m = numbers[_DISTANCE, at : at + part.shape[1]]
        runs, self._runs = self._runs, []
        if runs:
            self.connection.insert_samples(runs)
        saves, self._saves = self._saves, set()
        for session_id in saves:
            if (saved := self._sessions[session_id]) is not None:
                self._save(saved)

    def _save(self, session: Session) -> None:
        self.connection.run("DELETE FROM sessions WHERE session_key = ?", (session.key,))
        self.connection.run(
            f"INSERT INTO sessions ({SESSION_COLUMNS}) VALUES ({_MARKS})",  # noqa: S608 - constants
            stored(session),
        )

    def apply(self) -> None:
        """Make the committed changes the truth."""
        self.state.counters.update(self._counters)
        for signal in self._signals.values():
            self.state.learn(signal)
        for session_id, session in self._sessions.items():
            if session is None:
                self.state.sessions.pop(session_id, None)
            else:
                self.state.sessions[session_id] = session


def spans_of(connection: Connection, key: int) -> Spans:
    """The settled spans of a session."""
    found = connection.rows(
        "SELECT signal_id, n_samples, t_start, t_end FROM session_capabilities"
        " WHERE session_key = ?",
        (key,),
    )
    return {signal: Span(n, t_start, t_end) for signal, n, t_start, t_end in found}


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


def stored(session: Session) -> tuple[object, ...]:
    """The row of a session, in the order of `SESSION_COLUMNS`."""
    odometer = (None if number != number else number for number in session.odometer)
    return (
        *(session.key, session.session_id, session.driver, session.driver_level, session.track),
        *(session.car, session.note, session.source),
        json.dumps(session.meta, sort_keys=True) if session.meta else None,
        *(session.started_at, session.ended_at, session.activation, session.n_frames),
        *(session.n_signals, session.t_start, session.t_end, *odometer, session.version),
        int(session.dirty),
    )


def restored(row: Row) -> Session:
    """The session of a row of `SESSION_COLUMNS`."""
    key, session_id, driver, level, track, car, note, source, meta, started, ended, *counted = row
    activation, n_frames, n_signals, t_start, t_end, last_t, last_speed, last_distance = counted[:8]
    last = (last_t, last_speed, last_distance)
    return Session(
        session_id=session_id,
        driver=driver,
        driver_level=level,
        track=track,
        car=car,
        note=note,
        source=source,
        meta=json.loads(meta) if meta else {},
        started_at=started,
        ended_at=ended,
        n_frames=n_frames,
        n_signals=n_signals,
        t_start=t_start,
        t_end=t_end,
        distance_m=last_distance,
        version=counted[8],
        key=key,
        activation=activation,
        odometer=Odometer(*(float("nan") if number is None else number for number in last)),
        dirty=bool(counted[9]),
    )
