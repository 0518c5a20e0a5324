"""One transaction: the draft of what is known, and what waits to be written in as few calls."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Final, TypeAlias

import numpy as np

from runtime.bridge.session.recording import WIDE, Numbers, Samples
from runtime.bridge.storage import canonical, registry
from runtime.bridge.storage.backend import Connection, Run
from runtime.bridge.storage.state import (
    Draft,
    Session,
    Span,
    Spans,
    State,
    travelled,
)
from runtime.bridge.storage.values import (
    Appended,
    SessionMeta,
    SignalRow,
)

SESSION_COLUMNS: Final = (
    "session_key, session_id, driver, driver_level, track, car, note, source, meta, started_at,"
    " ended_at, activation, n_frames, n_signals, t_start, t_end, last_t, last_speed_ms,"
    " last_distance_m, version, dirty"
)
_DISTANCE: Final = WIDE.index("distance_m")
_MARKS: Final = ", ".join("?" * (SESSION_COLUMNS.count(",") + 1))


_Part: TypeAlias = tuple[Numbers, Appended]
"""Frames of a session that wait to be written, and what becomes of them."""


class Transaction:
    """What operations change the store with.

    Frames and samples are collected and go to the database together at `flush`. An operation that
    refuses must do so before its first change: `changes` tells the writer whether it did.
    """

    def __init__(self, connection: Connection, state: State) -> None:
        self.connection = connection
        self.draft = Draft(state)
        self.changes = 0
        self.checkpoint = False
        """Whether the log should be brought into the main file behind this transaction."""
        self._saves: set[str] = set()
        self._frames: dict[str, list[_Part]] = {}
        self._runs: list[Run] = []

    def session(self, session_id: str) -> Session | None:
        """As it stands, but for the frames that wait for `flush`."""
        return self.draft.session(session_id)

    def put(self, session: Session, *, save: bool = True) -> Session:
        """Change or make a session; *save*: its row too, not only what is found out by counting."""
        self.changes += 1
        self.draft.sessions[session.session_id] = session
        if save:
            self._saves.add(session.session_id)
        return session

    def ensure(self, session_id: str, meta: SessionMeta, now_ms: int) -> Session:
        """The session, made where it is unknown, its nulls filled, its spans loaded."""
        session = self.session(session_id)
        if session is None:
            key = self.draft.next("session_key")
            return self.put(Session(key, session_id, canonical.meta(meta), now_ms, spans={}))
        filled = session.filled(canonical.meta(meta))
        if filled.spans is None:
            filled = replace(filled, spans=spans_of(self.connection, filled.key))
        return session if filled is session else self.put(filled, save=filled.meta != session.meta)

    def touch(self, session: Session) -> Session:
        """Note a write of telemetry; the first one since the last settlement marks the row."""
        return self.put(
            replace(session, version=session.version + 1, dirty=True), save=not session.dirty
        )

    def append(self, session_id: str, numbers: Numbers) -> Appended:
        """Frames behind the last one of a session that `ensure` was called for."""
        self.changes += 1
        waiting = self._frames.setdefault(session_id, [])
        if waiting:
            first = waiting[-1][1].last_idx + 1
        else:
            session = self.session(session_id)
            assert session is not None
            first = session.n_frames
            if not session.dirty:
                self._saves.add(session_id)
        appended = Appended(first, first + numbers.shape[1] - 1, numbers[0])
        waiting.append((numbers, appended))
        return appended

    def has_frames(self, session_id: str) -> bool:
        """Whether frames of the session wait for `flush`."""
        return session_id in self._frames

    def add_samples(self, session_id: str, signals: Mapping[int, Samples]) -> None:
        """Canonical samples by signal id, of a session that `ensure` was called for.

        Those at a time that is known replace what was there.
        """
        session = self.session(session_id)
        assert session is not None
        before = session.spans or {}
        late = [
            signal
            for signal, samples in signals.items()
            if signal in before and float(samples.t[0]) <= before[signal].t_end
        ]
        if late:
            self.flush()
            session = self.session(session_id) or session
        spans = dict(session.spans or {})
        for signal, samples in signals.items():
            n, first, last = len(samples.t), float(samples.t[0]), float(samples.t[-1])
            if signal in late:
                n -= self.connection.delete_samples(session.key, signal, samples.t)
            known = spans.get(signal)
            spans[signal] = known.joined(n, first, last) if known else Span(n, first, last)
            self._runs.append(Run(session.key, signal, samples))
        self.touch(session.spread(spans))

    def register(self, name: str, now_ms: int) -> tuple[int, bool]:
        """The id of a signal, and whether it was just discovered. Raises `RegistryFull`."""
        known = self.draft.signal(name)
        if known is not None:
            return known.signal_id, False
        found = registry.discovered(name, self.draft.discovered(), now_ms)
        return self.learn(found).signal_id, True

    def learn(self, signal: SignalRow) -> SignalRow:
        """Write a catalogue entry; a new one gets its id."""
        self.changes += 1
        if not signal.signal_id:
            signal = replace(signal, signal_id=self.draft.next("signal_id"))
        else:
            self.connection.run(
                "DELETE FROM signal_registry WHERE signal_id = ?", (signal.signal_id,)
            )
        self.draft.signals[signal.name] = signal
        self.connection.run(registry.INSERT, registry.values_of(signal))
        return signal

    def next_id(self, table: str) -> int:
        """A row number that was never given out."""
        if table not in self.draft.counters and table not in self.draft.base.counters:
            found = self.connection.rows(f"SELECT max(id) FROM {table}")  # noqa: S608 - our tables
            self.draft.counters[table] = int(found[0][0] or 0)
        return self.draft.next(table)

    def run(self, sql: str, values: tuple[object, ...] = ()) -> None:
        """A statement, at once."""
        self.changes += 1
        self.connection.run(sql, values)

    def settle(self, session: Session) -> Session:
        """Write what was only counted, and put the telemetry into its best form."""
        self.flush()
        session = self.draft.session(session.session_id) or session
        if session.spans is not None:
            write_spans(self.connection, session.key, session.spans)
        self.connection.tidy(session.key)
        return self.put(replace(session, dirty=False))

    def flush(self) -> None:
        """Hand everything that waits to the database."""
        waiting, self._frames = self._frames, {}
        for session_id, parts in waiting.items():
            self._write_frames(session_id, parts)
        runs, self._runs = self._runs, []
        if runs:
            self.connection.insert_samples(runs)
        saves, self._saves = self._saves, set()
        for session_id in saves:
            session = self.draft.sessions[session_id]
            if session is not None:
                self._save(session)

    def _write_frames(self, session_id: str, parts: list[_Part]) -> None:
        session = self.session(session_id)
        assert session is not None
        arrays = [numbers for numbers, _ in parts]
        numbers = arrays[0] if len(arrays) == 1 else np.concatenate(arrays, axis=1)
        self.put(travelled(session, numbers, self.draft.base.wide, len(parts)), save=False)
        self.connection.insert_frames(session.key, session.n_frames, numbers)
        for _, appended in parts:
            at = appended.first_idx - session.n_frames
            appended.distance_m = numbers[_DISTANCE, at : at + len(appended.distance_m)]

    def _save(self, session: Session) -> None:
        self.connection.run("DELETE FROM sessions WHERE session_key = ?", (session.key,))
        self.connection.run(
            f"INSERT INTO sessions ({SESSION_COLUMNS}) VALUES ({_MARKS})",  # noqa: S608 - constants
            stored(session),
        )


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
    meta = session.meta
    odometer = (None if number != number else number for number in session.odometer)
    return (
        *(session.key, session.session_id, meta.driver, meta.driver_level, meta.track, meta.car),
        *(meta.note, meta.source),
        json.dumps(meta.meta, sort_keys=True) if meta.meta else None,
        *(session.started_at, session.ended_at, session.activation, session.n_frames),
        *(session.n_signals, session.t_start, session.t_end, *odometer, session.version),
        int(session.dirty),
    )
