"""One transaction, and the writes: functions that change the store through it.

All of this runs on the writer's thread.
"""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import (
    TIMESTAMP,
    WIDE,
    WIDE_SIGNALS,
    Frames,
    Numbers,
    Samples,
    VideoFrame,
)
from runtime.bridge.storage import canonical, schema
from runtime.bridge.storage.backend import Connection, Run
from runtime.bridge.storage.errors import BadFrames, RegistryFull, UnknownSession
from runtime.bridge.storage.state import SESSION_COLUMNS, Session, Span, Spans, State, span_of
from runtime.bridge.storage.values import (
    BUSES,
    DISCOVERED,
    NOTHING,
    WIDE_TABLE,
    Appended,
    LapRow,
    SessionMeta,
    SessionRow,
    SignalRow,
    SignalsAppended,
)

MOST_DISCOVERED: Final = 5000
"""Signals that nobody announced."""
_DISTANCE: Final = WIDE.index("distance_m")
_BY_ID: Final = ("sessions", "session_laps_cache", "spectator_tokens")
"""A renamed session is written anew, its laps are found anew, and who was let in to watch what is
live under an id goes on watching that."""
ABOUT_SESSIONS: Final = tuple(
    table.name
    for step in schema.STEPS
    for table in step
    if isinstance(table, schema.Table)
    and "session_id text" in table.columns
    and table.name not in _BY_ID
)
"""Tables whose rows go with a session that is renamed."""
_VIDEO: Final = (TIMESTAMP, "avitime_ms", "file_offset_s", "width", "height")
_LARGEST: Final = 2.0**53
_AT_ONCE: Final = 500
"""Moments that one statement deletes."""
_COUNTED: Final = 65_536
"""Frames that are counted at a time."""


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

    def ensure(self, session_id: str, meta: SessionMeta, now_ms: int) -> Session:
        """The session, made where it is unknown, its nulls filled, its spans loaded."""
        if meta != NOTHING:  # as with almost no frame of a drive
            meta = canonical.row(meta)
        session = self.session(session_id)
        if session is None:
            made = Session.new(self.next_number("session_key"), session_id, now_ms)
            return self.put(made.with_meta(meta))
        filled = session.with_meta(meta)
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
        for session_id, parts in waiting.items():
            session = self.existing(session_id)
            numbers = parts[0][0]
            if len(parts) > 1:
                numbers = np.concatenate([part for part, _ in parts], axis=1)
            self.put(session.with_frames(numbers, wide, len(parts)), save=False)
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
                row = saved.stored()
                names, marks = ", ".join(SESSION_COLUMNS), ", ".join("?" * len(row))
                self.run("DELETE FROM sessions WHERE session_key = ?", (saved.key,))
                self.run(f"INSERT INTO sessions ({names}) VALUES ({marks})", row)  # noqa: S608 - constants

    def apply(self) -> None:
        """Make the committed changes the truth."""
        self.state.counters.update(self._counters)
        self.state.signals.update(self._signals)
        for session_id, session in self._sessions.items():
            if session is None:
                self.state.sessions.pop(session_id, None)
            else:
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


def count_telemetry(connection: Connection, key: int, wide: Mapping[str, int]) -> Session:
    """Number of frames, odometer and spans of a session, counted from what is stored."""
    session = Session.new(key, "", 0)
    while True:
        numbers = connection.frames(key, session.n_frames, session.n_frames + _COUNTED)
        if not numbers.shape[1]:
            break
        session = session.with_frames(numbers, wide)
    signals = sorted(connection.signals(key))
    return session.with_samples(
        {signal: span_of(connection.samples(key, [signal])[signal]) for signal in signals}
    )


# telemetry


def append_frames(
    tx: Transaction,
    session_id: str,
    frames: Frames,
    extras: Mapping[str, Samples],
    meta: SessionMeta,
    now_ms: int,
) -> Appended:
    """Frames, and samples of further signals, after those of a session."""
    numbers = canonical.matrix(frames)
    samples = canonical.signals(extras) if extras else {}
    new, left_out = tx.discover(samples, now_ms, spare=True)
    tx.ensure(session_id, meta, now_ms)
    appended = tx.append(session_id, numbers)
    for name in left_out:
        del samples[name]
    if samples:
        tx.add_samples(session_id, samples)
    appended.newly_discovered, appended.left_out = new, left_out
    return appended


def append_signals(
    tx: Transaction,
    session_id: str,
    given: Mapping[str, Samples],
    meta: SessionMeta,
    now_ms: int,
    *,
    spare: bool,
) -> SignalsAppended:
    """Samples by name; those of wide columns go into empty cells of frames, or nowhere.

    *spare*: names for which the catalogue has no room are left out rather than refused.
    """
    samples = canonical.signals({n: given[n] for n in given if n not in WIDE_SIGNALS})
    wide = canonical.signals({n: given[n] for n in given if n in WIDE_SIGNALS})
    new, left_out = tx.discover(samples, now_ms, spare=spare)
    for name in left_out:
        del samples[name]
    tx.flush()
    placed = _fill(tx, session_id, wide, meta, now_ms)
    if samples:
        tx.ensure(session_id, meta, now_ms)
        tx.add_samples(session_id, samples)
    filled = sum(map(len, placed.values()))
    lost = sum(len(given[name].t) for name in given if name in left_out)
    offered = sum(len(given[name].t) for name in wide)
    posted = sum(len(values.t) for values in given.values()) - offered - lost
    session = tx.session(session_id)
    count = 0 if session is None else session.n_signals
    return SignalsAppended(posted + filled, new, count, offered - filled + lost, placed)


def _fill(
    tx: Transaction, session_id: str, wide: Mapping[str, Samples], meta: SessionMeta, now_ms: int
) -> dict[str, tuple[float, ...]]:
    """Fill the empty cells next to samples of wide columns; the times of those that found one."""
    session = tx.session(session_id)
    if not wide or session is None or not session.n_frames:
        return {}
    numbers = tx.connection.frames(session.key)
    placed: dict[str, tuple[float, ...]] = {}
    more: dict[int, Span] = {}
    for name, samples in wide.items():
        index, fits = canonical.empty_cells(numbers, name, samples)
        if not len(index):
            continue
        tx.changes += 1
        tx.connection.fill(session.key, name, index, samples.value[fits])
        t = numbers[0, index]
        more[tx.state.wide[name]] = Span(len(t), float(t.min()), float(t.max()))
        placed[name] = tuple(samples.t[fits].tolist())
    if placed:
        tx.touch(tx.ensure(session_id, meta, now_ms).with_samples(more))
    return placed


def append_video(
    tx: Transaction,
    session_id: str,
    frames: Sequence[VideoFrame],
    meta: SessionMeta,
    now_ms: int,
) -> int:
    """Where the moments of a session lie in video files; how many there were."""
    columns = video_columns(frames)
    session = tx.ensure(session_id, meta, now_ms)
    places: dict[str, list[float]] = {}
    for path, t in zip(columns["file_path"].tolist(), columns[TIMESTAMP].tolist(), strict=True):
        places.setdefault(path, []).append(t)
    for path, times in places.items():
        for begin in range(0, len(times), _AT_ONCE):
            some = times[begin : begin + _AT_ONCE]
            marks = ",".join("?" * len(some))
            tx.run(
                "DELETE FROM video_frames WHERE session_key = ? AND file_path = ?"  # noqa: S608 - marks
                f" AND timestamp IN ({marks})",
                (session.key, path, *some),
            )
    tx.touch(tx.existing(session_id))
    count = len(columns[TIMESTAMP])
    tx.connection.insert("video_frames", {"session_key": np.full(count, session.key), **columns})
    return len(frames)


def video_columns(frames: Sequence[VideoFrame]) -> dict[str, npt.NDArray[np.object_] | Numbers]:
    """The columns of the table; of frames at one moment of one file the last one counts.

    Raises `BadFrames` for numbers that cannot be kept.
    """
    unique = {(canonical.text(frame.file_path), frame.timestamp + 0.0): frame for frame in frames}
    columns: dict[str, npt.NDArray[np.object_] | Numbers] = {}
    for name in _VIDEO:
        column = np.array([getattr(frame, name) for frame in unique.values()], np.float64) + 0.0
        if (np.abs(column) > _LARGEST).any() or (name == TIMESTAMP and np.isnan(column).any()):
            raise BadFrames(f"{name} of a video frame cannot be kept")
        columns[name] = column
    columns["file_path"] = np.array([path for path, _ in unique], np.object_)
    return columns


# sessions


def start_session(
    tx: Transaction, meta: SessionMeta, session_id: str | None, slug: str, now_ms: int
) -> tuple[SessionRow, bool]:
    """A session becomes the active one: a new one, or one that goes on; whether it was there."""
    session_id = session_id or _dated(tx, slug, now_ms)
    resumed = tx.session(session_id) is not None
    session = tx.ensure(session_id, meta, now_ms)
    activation = tx.next_number("activation")
    return tx.put(replace(session, ended_at=None, activation=activation)), resumed


def end_session(tx: Transaction, session_id: str, now_ms: int) -> SessionRow:
    """A session ends, once."""
    tx.flush()
    session = tx.existing(session_id)
    if session.ended_at is None:
        session = tx.put(replace(session, ended_at=now_ms))
        tx.checkpoint = True
    return tx.settle(session) if session.dirty else session


def end_begun_by_bus(tx: Transaction, kept: Collection[str], now_ms: int) -> list[SessionRow]:
    """Open sessions that a bus began end with their last frames; those in *kept* go on.

    One that was started, too, is its driver's to end.
    """
    tx.flush()
    ended: list[SessionRow] = []
    for session in list(tx.sessions()):
        if session.session_id in kept or session.ended_at is not None or session.activation:
            continue
        if session.source in BUSES:
            # A synthetic car's clock may run ahead of the day's.
            last = tx.put(replace(session, ended_at=min(_last_ms(session), now_ms)))
            ended.append(tx.settle(last) if last.dirty else last)
    return ended


def rename_session(tx: Transaction, session_id: str, slug: str) -> SessionRow:
    """A session takes an id of *slug* and its start, and ends; the old id is free again."""
    tx.existing(session_id)
    tx.flush()
    session = tx.existing(session_id)
    new_id = _dated(tx, slug, session.started_at)
    ended_at = session.ended_at or _last_ms(session)
    tx.remove(session_id)
    session = tx.put(replace(session, session_id=new_id, ended_at=ended_at))
    tx.run("DELETE FROM session_laps_cache WHERE session_id = ?", (session_id,))
    for table in ABOUT_SESSIONS:
        tx.run(
            f"UPDATE {table} SET session_id = ? WHERE session_id = ?",  # noqa: S608 - our tables
            (new_id, session_id),
        )
    return tx.settle(session)


def settle(tx: Transaction, session_id: str) -> None:
    """Write what was only counted; for a session that has been quiet for a while."""
    session = tx.session(session_id)
    if session is not None and session.dirty:
        tx.settle(session)


def recount(tx: Transaction, session_id: str, version: int, spans: Spans) -> int | None:
    """Take over spans that were counted from the stored telemetry at *version*.

    How many signals there are; None: the session has changed since.
    """
    tx.flush()
    session = tx.existing(session_id)
    if session.version != version:
        return None
    write_spans(tx.connection, session.key, spans)
    tx.put(session.with_spans(spans))
    return len(spans)


def note_opening(tx: Transaction, boots: int, seed: Sequence[SignalRow]) -> None:
    """What an opening writes: that it was, the catalogue's new entries, what was counted anew.

    A signal that was discovered takes over what *seed* says of it, every other entry stays as it
    is. The wide columns are signals whether the seed names them or not.
    """
    tx.run("UPDATE schema_version SET boots = ?", (boots,))
    named = {canonical.text(row.name): row for row in seed}
    for name in WIDE_SIGNALS:
        named.setdefault(name, SignalRow(name, discovery=WIDE_TABLE))
    for name, row in named.items():
        there = tx.signal(name)
        if there is None:
            tx.learn(replace(row, name=name, signal_id=0))
        elif there.discovery == DISCOVERED != row.discovery:
            number, at = there.signal_id, there.discovered_at
            tx.learn(replace(row, name=name, signal_id=number, discovered_at=at))
    for session in list(tx.sessions()):
        if session.dirty:
            tx.settle(tx.put(session))


def _last_ms(session: Session) -> int:
    """The time of day of the last of its telemetry, Unix milliseconds."""
    lasted = (session.t_end or 0.0) - (session.t_start or 0.0)
    return session.started_at + round(lasted * 1000)


def _dated(tx: Transaction, slug: str, now_ms: int) -> str:
    """An id that no session has."""
    moment = datetime.fromtimestamp(now_ms / 1000, UTC)
    base = f"{slug}-{moment:%Y%m%d-%H%M%S}"
    name, number = base, 1
    while tx.session(name) is not None:
        number += 1
        name = f"{base}-{number}"
    return name


# rows


def add_rows(tx: Transaction, given: Sequence[S]) -> tuple[S, ...]:
    """New rows, in order; they are returned as they are stored, with their ids."""
    rows = tuple(replace(canonical.row(row), id=tx.next_id(row.table)) for row in given)
    for row in rows:
        tx.insert(row)
    return rows


def put_lap(tx: Transaction, given: LapRow) -> LapRow:
    """A lap as reported; the same number of the same session replaces.

    The session is made where it is unknown.
    """
    row = canonical.row(given)
    if math.isnan(given.lap_time_s):
        raise BadFrames("lap_time_s must be a number")
    if tx.session(row.session_id) is None:
        tx.ensure(row.session_id, NOTHING, row.recorded_at)
    there = tx.connection.rows(
        "SELECT id FROM laps WHERE session_id = ? AND lap_number = ?",
        (row.session_id, row.lap_number),
    )
    row = replace(row, id=int(there[0][0]) if there else tx.next_id("laps"))
    tx.run("DELETE FROM laps WHERE id = ?", (row.id,))
    tx.insert(row)
    return row


def put_lap_cache(tx: Transaction, session_id: str, version: int, laps: str) -> None:
    """The laps found in a session, for as long as its telemetry has that version."""
    tx.run("DELETE FROM session_laps_cache WHERE session_id = ?", (session_id,))
    tx.run("INSERT INTO session_laps_cache VALUES (?, ?, ?)", (session_id, version, laps))
