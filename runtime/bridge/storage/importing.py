"""A whole recording, brought in beside the live frames: unseen until its last piece is there."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Final, Protocol

import numpy as np

from runtime.bridge.session.recording import WIDE, WIDE_SIGNALS, Frames, Numbers, Recording, Samples
from runtime.bridge.storage import canonical, registry
from runtime.bridge.storage.backend import Columns, Run
from runtime.bridge.storage.errors import BadFrames, SessionExists
from runtime.bridge.storage.nearest import nearest
from runtime.bridge.storage.operations import LIGHT, Operation, Weight, Work, video_columns
from runtime.bridge.storage.state import Session, Span, travelled
from runtime.bridge.storage.transaction import Transaction, write_spans
from runtime.bridge.storage.values import Imported, SessionMeta, said

PIECE: Final = 32_768
"""Frames or samples of one commit; live frames wait for one such piece at most."""
_STAGED: Final = ""
_LATEST: Final = 1e11
"""Unix seconds; a session that is later has no date."""


class Step(Protocol):
    """Work that goes on over many commits, one of `steps` after another.

    After a failure of one of them, `undo` goes on instead.
    """

    def steps(self) -> Iterator[Operation[object]]:
        """What to commit one after another."""

    def undo(self) -> Iterator[Operation[object]]:
        """What to commit after a failure."""

    @property
    def result(self) -> object:
        """What the caller gets behind the last step."""


@dataclass
class DropStaged:
    """Deletes telemetry that belongs to no session."""

    key: int

    def steps(self) -> Iterator[Operation[object]]:
        """See `Step`."""
        gone = False

        def drop(tx: Transaction) -> None:
            nonlocal gone
            gone = tx.connection.drop(self.key, PIECE)
            if gone:
                tx.run("DELETE FROM video_frames WHERE session_key = ?", (self.key,))
                tx.run("DELETE FROM session_capabilities WHERE session_key = ?", (self.key,))
                tx.run("DELETE FROM staged WHERE session_key = ?", (self.key,))

        while not gone:
            yield Work(drop)

    def undo(self) -> Iterator[Operation[object]]:
        """See `Step`; the next start tries again."""
        return iter(())

    @property
    def result(self) -> None:
        """See `Step`."""
        return None


class ImportRecording:
    """Telemetry under a key of its own, bound to the session id by the last commit.

    A crash leaves telemetry without a session, which the next start deletes.
    """

    def __init__(
        self, session_id: str, recording: Recording, meta: SessionMeta, now_ms: int
    ) -> None:
        self._id = session_id
        self._recording = recording
        self._meta = replace(meta, meta={**said(recording), **(meta.meta or {})})
        self._now_ms = now_ms
        self._session = Session(0, _STAGED, SessionMeta(), now_ms, spans={})
        self._tall = 0
        self._left_out: dict[str, None] = {}

    @property
    def result(self) -> Imported:
        """See `Step`."""
        kept = self._tall - len(self._left_out)
        found = self._session
        return Imported(found.n_frames, kept, found.n_signals, tuple(self._left_out))

    def steps(self) -> Iterator[Operation[object]]:
        """See `Step`."""
        yield Work(self._stage)
        frames, signals = self._recording.frames, self._recording.signals
        if not set(WIDE_SIGNALS).isdisjoint(map(canonical.text, signals)):
            frames, signals = _filled(frames, signals)
        if len({len(column) for column in frames.columns.values()}) > 1:
            raise BadFrames("the columns of the frames differ in length")
        for start in range(0, len(frames), PIECE):
            part = {name: column[start : start + PIECE] for name, column in frames.columns.items()}
            yield _Frames(self, canonical.matrix(Frames(part)))
        for name, samples in _one_by_one(signals):
            self._tall += 1
            for start in range(0, len(samples.t), PIECE):
                run = Samples(*(column[start : start + PIECE] for column in samples))
                yield _Signal(self, name, run)
        video = video_columns(self._recording.video)
        for start in range(0, len(video["timestamp"]), PIECE):
            piece = {name: column[start : start + PIECE] for name, column in video.items()}
            yield Work(functools.partial(self._video, columns=piece))
        yield Work(self._bind)

    def undo(self) -> Iterator[Operation[object]]:
        """See `Step`."""
        return DropStaged(self._session.key).steps() if self._session.key else iter(())

    def _refuse(self, tx: Transaction) -> Session | None:
        there = tx.session(self._id)
        if there is not None and (there.n_frames or there.n_signals):
            raise SessionExists(self._id)
        return there

    def _stage(self, tx: Transaction) -> None:
        self._refuse(tx)
        if not len(self._recording.frames) and not self._recording.signals:
            raise BadFrames("the recording is empty")
        key = tx.draft.next("session_key")
        tx.run("INSERT INTO staged VALUES (?)", (key,))
        self._session = replace(self._session, key=key)

    def frames(self, tx: Transaction, numbers: Numbers) -> None:
        """Stage frames; for the steps."""
        numbers = np.ascontiguousarray(numbers)
        session = travelled(self._session, numbers, tx.draft.base.wide)
        tx.changes += 1
        tx.connection.insert_frames(session.key, self._session.n_frames, numbers)
        self._session = session

    def signal(self, tx: Transaction, name: str, samples: Samples) -> None:
        """Stage samples of one signal; for the steps."""
        if tx.draft.signal(name) is None and not registry.room(tx.draft.discovered()):
            self._left_out[name] = None
            return
        signal, _ = tx.register(name, self._now_ms)
        tx.changes += 1
        tx.connection.insert_samples([Run(self._session.key, signal, samples)])
        n, first, last = len(samples.t), float(samples.t[0]), float(samples.t[-1])
        spans = dict(self._session.spans or {})
        before = spans.get(signal)
        spans[signal] = before.joined(n, first, last) if before else Span(n, first, last)
        self._session = self._session.spread(spans)

    def _video(self, tx: Transaction, columns: Columns) -> None:
        tx.changes += 1
        keys = np.full(len(columns["timestamp"]), self._session.key)
        tx.connection.insert("video_frames", {"session_key": keys, **columns})

    def _bind(self, tx: Transaction) -> None:
        tx.flush()
        there = self._refuse(tx)
        staged = self._session
        started, ended = driven_ms(self._recording, staged.t_start, staged.t_end, self._now_ms)
        fresh = Session(staged.key, self._id, SessionMeta(), started, ended)
        if there is not None:
            tx.run("DELETE FROM sessions WHERE session_key = ?", (there.key,))
            tx.run(
                "UPDATE video_frames SET session_key = ? WHERE session_key = ?",
                (staged.key, there.key),
            )
            fresh = replace(there, key=staged.key)
        bound = replace(
            fresh.filled(canonical.meta(self._meta)).spread(staged.spans or {}),
            n_frames=staged.n_frames,
            odometer=staged.odometer,
            version=fresh.version + 1,
            dirty=False,
        )
        write_spans(tx.connection, staged.key, staged.spans or {})
        tx.connection.tidy(staged.key)
        tx.run("DELETE FROM staged WHERE session_key = ?", (staged.key,))
        tx.put(bound)
        tx.checkpoint = True
        self._session = bound


@dataclass(frozen=True, slots=True, eq=False)
class _Frames:
    owner: ImportRecording
    numbers: Numbers
    weight: ClassVar[Weight] = LIGHT

    def apply(self, tx: Transaction) -> None:
        self.owner.frames(tx, self.numbers)


@dataclass(frozen=True, slots=True, eq=False)
class _Signal:
    owner: ImportRecording
    name: str
    samples: Samples
    weight: ClassVar[Weight] = LIGHT

    def apply(self, tx: Transaction) -> None:
        self.owner.signal(tx, self.name, self.samples)


def driven_ms(
    recording: Recording, first: float | None, last: float | None, now_ms: int
) -> tuple[int, int]:
    """Unix milliseconds of begin and end of what was recorded from *first* to *last*, in seconds.

    By its own clock where that is UTC: the moment that a file says it was created is often local
    time. Else from that moment, or from now.
    """
    first, last = first or 0.0, last or 0.0
    if recording.facts.get("time_base") == "utc" and 0.0 < first <= last < _LATEST:
        return round(first * 1000), round(last * 1000)
    created = recording.created
    started = now_ms if created is None else int(created * 1000)
    return started, started + int((last - first) * 1000)


def _one_by_one(signals: Mapping[str, Samples]) -> Iterator[tuple[str, Samples]]:
    """The signals in canonical form; of a large recording they are not in memory together."""
    if len(set(map(canonical.text, signals))) < len(signals):
        yield from canonical.signals(signals).items()
        return
    for name in signals:
        yield from canonical.signals({name: signals[name]}).items()


def _filled(frames: Frames, signals: Mapping[str, Samples]) -> tuple[Frames, Mapping[str, Samples]]:
    """The same with wide columns among the frames, where they were signals."""
    numbers, named = canonical.matrix(frames), canonical.signals(signals)
    _fill(numbers, named)
    return Frames(dict(zip(WIDE, numbers, strict=True))), named


def _fill(numbers: Numbers, signals: dict[str, Samples]) -> None:
    """Take wide columns out of the signals, into the empty cells of the frames next to them."""
    for name in WIDE_SIGNALS:
        samples = signals.pop(name, None)
        if samples is None or not numbers.shape[1]:
            continue
        at = nearest(numbers[0], samples.t)
        found = at >= 0
        row = numbers[WIDE.index(name)]
        index, value = at[found], samples.value[found]
        empty = np.isnan(row[index])
        row[index[empty]] = value[empty]
