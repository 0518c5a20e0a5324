"""Imports of whole recordings between live frames, invisible until the last piece is stored."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import WIDE, WIDE_SIGNALS, Frames, Numbers, Recording, Samples
from runtime.bridge.storage.backend import Columns, FrameRun, Run
from runtime.bridge.storage.errors import BadFrames, SessionExists
from runtime.bridge.storage.records import (
    Imported,
    SessionMeta,
    clean_row,
    clean_text,
    recording_to_meta,
)
from runtime.bridge.storage.telemetry import (
    clean_signals,
    find_empty_cells,
    make_frame_matrix,
    make_video_columns,
)
from runtime.bridge.storage.transaction import Session, Transaction, measure_span, write_spans
from runtime.bridge.storage.writer import Steps

PIECE: Final = 32_768
"""Frames or samples per commit; live frames wait for at most one such piece."""


def drop_staged(key: int) -> Steps:
    """Delete telemetry that belongs to no session."""
    gone = False

    def drop(tx: Transaction) -> None:
        nonlocal gone
        gone = tx.connection.drop(key, PIECE)
        if gone:
            tx.run("DELETE FROM video_frames WHERE session_key = ?", (key,))
            tx.run("DELETE FROM session_capabilities WHERE session_key = ?", (key,))
            tx.run("DELETE FROM staged WHERE session_key = ?", (key,))

    while not gone:
        yield drop


def import_recording(
    session_id: str, recording: Recording, meta: SessionMeta, now_ms: int
) -> Steps:
    """Store telemetry under a new key, which the last commit binds to the session id.

    Returns `Imported`. A crash leaves telemetry without a session, which the next start deletes.
    """
    whole = replace(meta, meta={**recording_to_meta(recording), **(meta.meta or {})})
    work = _Import(session_id, recording, whole, now_ms)
    try:
        yield from work.steps()
    except Exception:
        if work.session.key:
            with suppress(Exception):  # the next start tries again
                yield from drop_staged(work.session.key)
        raise
    session, left_out = work.session, work.left_out
    count = work.tall - len(left_out)
    return Imported(session.n_frames, count, session.n_signals, tuple(left_out))


@dataclass(eq=False)
class _Import:
    """A recording being imported; the methods after `steps` are its writes."""

    session_id: str
    recording: Recording
    meta: SessionMeta
    now_ms: int
    session: Session = field(default_factory=lambda: Session.new(0, "", 0))
    tall: int = 0
    left_out: dict[str, None] = field(default_factory=dict)

    def steps(self) -> Steps:
        """Yield one commit after another."""
        yield self.stage
        frames, signals = self.recording.frames, self.recording.signals
        if not set(WIDE_SIGNALS).isdisjoint(map(clean_text, signals)):
            frames, signals = _merge(frames, signals)
        if len({len(column) for column in frames.columns.values()}) > 1:
            raise BadFrames("the columns of the frames differ in length")
        for part in _split(frames.columns):
            yield partial(self.add_frames, numbers=make_frame_matrix(Frames(part)))
        for name, samples in _clean_one_by_one(signals):
            self.tall += 1
            for part in _split(samples._asdict()):
                yield partial(self.add_samples, name=name, samples=Samples(**part))
        for columns in _split(make_video_columns(self.recording.video)):
            yield partial(self.add_video, columns=columns)
        yield self.bind

    def check_free(self, tx: Transaction) -> Session | None:
        """Return an existing session. Raises `SessionExists` if it has telemetry."""
        existing = tx.session(self.session_id)
        if existing is not None and (existing.n_frames or existing.n_signals):
            raise SessionExists(self.session_id)
        return existing

    def stage(self, tx: Transaction) -> None:
        self.check_free(tx)
        if not len(self.recording.frames) and not self.recording.signals:
            raise BadFrames("the recording is empty")
        key = tx.next_number("session_key")
        tx.run("INSERT INTO staged VALUES (?)", (key,))
        self.session = replace(self.session, key=key)

    def add_frames(self, tx: Transaction, numbers: Numbers) -> None:
        tx.changes += 1
        first = self.session.n_frames
        self.session = self.session.with_frames(numbers, tx.state.wide)
        tx.connection.insert_frames([FrameRun(self.session.key, first, numbers)])

    def add_samples(self, tx: Transaction, name: str, samples: Samples) -> None:
        if tx.discover([name], self.now_ms, spare=True)[1]:
            self.left_out[name] = None
            return
        signal = tx.require_signal(name).signal_id
        tx.changes += 1
        tx.connection.insert_samples([Run(self.session.key, signal, samples)])
        self.session = self.session.with_samples({signal: measure_span(samples)})

    def add_video(self, tx: Transaction, columns: Columns) -> None:
        tx.changes += 1
        keys = np.full(len(columns["timestamp"]), self.session.key)
        tx.connection.insert("video_frames", {"session_key": keys, **columns})

    def bind(self, tx: Transaction) -> None:
        tx.flush()
        existing = self.check_free(tx)
        staged = self.session
        started, ended = find_times_ms(self.recording, staged.t_start, staged.t_end, self.now_ms)
        fresh = replace(Session.new(staged.key, self.session_id, started), ended_at=ended)
        if existing is not None:
            tx.run("DELETE FROM sessions WHERE session_key = ?", (existing.key,))
            tx.run(
                "UPDATE video_frames SET session_key = ? WHERE session_key = ?",
                (staged.key, existing.key),
            )
            fresh = replace(existing, key=staged.key)
        bound = replace(
            fresh.with_meta(clean_row(self.meta)).with_counted(staged),
            version=fresh.version + 1,
            dirty=False,
        )
        write_spans(tx.connection, staged.key, staged.spans or {})
        tx.connection.tidy(staged.key)
        tx.run("DELETE FROM staged WHERE session_key = ?", (staged.key,))
        tx.checkpoint = True
        self.session = tx.put(bound)


def _split(columns: Columns) -> Iterator[dict[str, npt.NDArray[Any]]]:
    """Split columns into parts of `PIECE` rows."""
    for start in range(0, len(next(iter(columns.values()))), PIECE):
        yield {name: column[start : start + PIECE] for name, column in columns.items()}


def find_times_ms(
    recording: Recording, first: float | None, last: float | None, now_ms: int
) -> tuple[int, int]:
    """Find start and end in Unix milliseconds of a recording from *first* to *last*, in seconds.

    Its own clock counts if it is in UTC, as the creation time of a file is often local time. Else
    the recording starts at its creation time, or now.
    """
    first, last = first or 0.0, last or 0.0
    if first <= last and recording.is_dated(first) and recording.is_dated(last):
        return round(first * 1000), round(last * 1000)
    created = recording.created
    started = now_ms if created is None else int(created * 1000)
    return started, started + int((last - first) * 1000)


def _clean_one_by_one(signals: Mapping[str, Samples]) -> Iterator[tuple[str, Samples]]:
    """Bring signals into canonical form one by one, to save memory."""
    if len(set(map(clean_text, signals))) < len(signals):
        yield from clean_signals(signals).items()
        return
    for name in signals:
        yield from clean_signals({name: signals[name]}).items()


def _merge(frames: Frames, signals: Mapping[str, Samples]) -> tuple[Frames, Mapping[str, Samples]]:
    """Move signals that are wide columns into the frames."""
    numbers, named = make_frame_matrix(frames), clean_signals(signals)
    for name in WIDE_SIGNALS:
        samples = named.pop(name, None)
        if samples is None or not numbers.shape[1]:
            continue
        index, fits = find_empty_cells(numbers, name, samples)
        numbers[WIDE.index(name), index] = samples.value[fits]
    return Frames(dict(zip(WIDE, numbers, strict=True))), named
