"""The writes: each one a value that says what to change and, handed a transaction, changes it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, Numbers, Samples, VideoFrame
from runtime.bridge.storage import canonical, registry
from runtime.bridge.storage.errors import BadFrames, UnknownSession
from runtime.bridge.storage.state import Session, Span
from runtime.bridge.storage.transaction import Transaction
from runtime.bridge.storage.values import (
    Appended,
    SessionMeta,
    SignalsAppended,
)

Result_co = TypeVar("Result_co", covariant=True)
Result = TypeVar("Result")

_NUMBER_BYTES: Final = 8
_VIDEO: Final = (TIMESTAMP, "avitime_ms", "file_offset_s", "width", "height")
_LARGEST: Final = 2.0**53


class Weight(NamedTuple):
    """What an operation takes of a commit and of the memory while it waits."""

    rows: int = 1
    nbytes: int = 1024


LIGHT: Final = Weight()


class Operation(Protocol[Result_co]):
    """A write; runs on the writer's thread, together with others in one transaction."""

    @property
    def weight(self) -> Weight:
        """How large it is."""

    def apply(self, tx: Transaction) -> Result_co:
        """Change the store. Raises `ApiError` before its first change, or not at all."""


_AT_ONCE: Final = 500
"""Moments that one statement deletes."""


@dataclass(frozen=True, slots=True, eq=False)
class Fill:
    """Samples of a wide column and the frames whose empty cells they might fill."""

    name: str
    index: npt.NDArray[np.int64]
    t: Numbers
    """Of the frames."""
    value: Numbers
    sampled: Numbers
    """Times of the samples."""


@dataclass(frozen=True, slots=True, eq=False)
class AppendFrames:
    """Frames, and samples of further signals, behind those of a session."""

    session_id: str
    frames: Frames
    extras: Mapping[str, Samples]
    meta: SessionMeta
    now_ms: int

    @property
    def weight(self) -> Weight:
        """See `Operation`."""
        samples = sum(len(samples.t) for samples in self.extras.values())
        rows = len(self.frames) + samples
        return Weight(rows, 1024 + _NUMBER_BYTES * (len(WIDE) * len(self.frames) + 2 * samples))

    def apply(self, tx: Transaction) -> Appended:
        """See `Operation`."""
        numbers = canonical.matrix(self.frames)
        extras = canonical.signals(self.extras)
        extras, left_out = _fitting(tx, extras)
        ids, new = _registered(tx, extras, self.now_ms)
        tx.ensure(self.session_id, self.meta, self.now_ms)
        appended = tx.append(self.session_id, numbers)
        if ids:
            tx.add_samples(self.session_id, ids)
        appended.newly_discovered = new
        appended.left_out = left_out
        return appended


@dataclass(frozen=True, slots=True, eq=False)
class AppendSignals:
    """Samples by name; *fills* go into empty cells of frames instead."""

    session_id: str
    samples: Mapping[str, Samples]
    fills: Sequence[Fill]
    rejected: int
    """Samples that were refused before."""
    meta: SessionMeta
    now_ms: int
    spare: bool = False
    """Whether names for which the catalogue has no room are left out rather than refused."""

    @property
    def weight(self) -> Weight:
        """See `Operation`."""
        rows = sum(len(samples.t) for samples in self.samples.values())
        rows += sum(len(fill.index) for fill in self.fills)
        return Weight(rows, 1024 + 2 * _NUMBER_BYTES * rows)

    def apply(self, tx: Transaction) -> SignalsAppended:
        """See `Operation`."""
        samples = canonical.signals(self.samples)
        left_out: tuple[str, ...] = ()
        if self.spare:
            samples, left_out = _fitting(tx, samples)
        ids, new = _registered(tx, samples, self.now_ms)
        session = tx.session(self.session_id)
        if not ids and not self.fills:
            return SignalsAppended(0, (), session.n_signals if session else 0, self.rejected)
        tx.ensure(self.session_id, self.meta, self.now_ms)
        if ids:
            tx.add_samples(self.session_id, ids)
        spared = sum(len(self.samples[name].t) for name in left_out if name in self.samples)
        posted = sum(len(given.t) for given in self.samples.values()) - spared
        placed = {fill.name: _filled(tx, self.session_id, fill) for fill in self.fills}
        filled = sum(map(len, placed.values()))
        offered = sum(len(fill.index) for fill in self.fills)
        if tx.has_frames(self.session_id):  # of which it is not known yet what signals they have
            tx.flush()
        session = tx.session(self.session_id)
        return SignalsAppended(
            posted + filled,
            new,
            session.n_signals if session else 0,
            self.rejected + offered - filled + spared,
            placed,
        )


@dataclass(frozen=True, slots=True)
class AppendVideo:
    """Where the moments of a session lie in video files."""

    session_id: str
    frames: Sequence[VideoFrame]
    meta: SessionMeta
    now_ms: int

    @property
    def weight(self) -> Weight:
        """See `Operation`."""
        return Weight(len(self.frames), 256 * len(self.frames))

    def apply(self, tx: Transaction) -> int:
        """How many there were."""
        columns = video_columns(self.frames)
        session = tx.ensure(self.session_id, self.meta, self.now_ms)
        places: dict[str, list[float]] = {}
        for path, t in zip(
            columns["file_path"].tolist(), columns["timestamp"].tolist(), strict=True
        ):
            places.setdefault(path, []).append(t)
        for path, times in places.items():
            for begin in range(0, len(times), _AT_ONCE):
                some = times[begin : begin + _AT_ONCE]
                marks = ",".join("?" * len(some))
                tx.run(
                    "DELETE FROM video_frames WHERE session_key = ? AND file_path = ?"  # noqa: S608
                    f" AND timestamp IN ({marks})",
                    (session.key, path, *some),
                )
        tx.touch(tx.session(self.session_id) or session)
        count = len(columns["timestamp"])
        tx.connection.insert(
            "video_frames", {"session_key": np.full(count, session.key), **columns}
        )
        return len(self.frames)


@dataclass(frozen=True, slots=True)
class Work(Generic[Result]):
    """A write that a part of the server brings along, for tables that it alone uses.

    *work* gets the transaction: `Transaction.run` changes, `Transaction.next_id` numbers,
    ``tx.connection.rows`` reads.
    """

    work: Callable[[Transaction], Result]
    weight: Weight = LIGHT

    def apply(self, tx: Transaction) -> Result:
        """See `Operation`."""
        return self.work(tx)


def known(tx: Transaction, session_id: str) -> Session:
    """Raises `UnknownSession`."""
    session = tx.session(session_id)
    if session is None:
        raise UnknownSession(session_id)
    return session


def video_columns(frames: Sequence[VideoFrame]) -> dict[str, npt.NDArray[np.object_] | Numbers]:
    """The columns of the table; of frames at one moment of one file the last one counts.

    Raises `BadFrames` for numbers that cannot be kept.
    """
    unique = {(canonical.text(frame.file_path), frame.timestamp + 0.0): frame for frame in frames}
    kept = list(unique.values())
    numbers = {name: _numbers([getattr(frame, name) for frame in kept]) for name in _VIDEO}
    for name, column in numbers.items():
        if (np.abs(column) > _LARGEST).any() or (name == TIMESTAMP and np.isnan(column).any()):
            raise BadFrames(f"{name} of a video frame cannot be kept")
    paths = np.empty(len(kept), dtype=np.object_)
    paths[:] = [path for path, _ in unique]
    return {**numbers, "file_path": paths}


def _numbers(values: Sequence[float | None]) -> Numbers:
    return np.array([np.nan if value is None else value for value in values], np.float64) + 0.0


def _fitting(
    tx: Transaction, samples: dict[str, Samples]
) -> tuple[dict[str, Samples], tuple[str, ...]]:
    """The samples whose names are known or fit the catalogue, and the names of the others.

    Of the new ones the first by name fit.
    """
    unknown = sorted(name for name in samples if tx.draft.signal(name) is None)
    left_out = unknown[registry.room(tx.draft.discovered()) :] if unknown else []
    if not left_out:
        return samples, ()
    gone = set(left_out)
    return {name: given for name, given in samples.items() if name not in gone}, tuple(left_out)


def _registered(
    tx: Transaction, samples: Mapping[str, Samples], now_ms: int
) -> tuple[dict[int, Samples], tuple[str, ...]]:
    """The samples by id, and the names that are new; refuses before the first is registered."""
    unknown = sorted(name for name in samples if tx.draft.signal(name) is None)
    if unknown:
        registry.discovered(unknown[-1], tx.draft.discovered() + len(unknown) - 1, now_ms)
    for name in unknown:
        tx.register(name, now_ms)
    ids = {}
    for name, values in samples.items():
        signal = tx.draft.signal(name)
        assert signal is not None
        ids[signal.signal_id] = values
    return ids, tuple(unknown)


def _filled(tx: Transaction, session_id: str, fill: Fill) -> tuple[float, ...]:
    """The times of the samples whose cells were empty."""
    tx.flush()
    session = known(tx, session_id)
    tx.changes += 1
    values = tx.connection.fill(session.key, fill.name, fill.index, fill.value)
    there = ~np.isnan(values)
    count = int(there.sum())
    if count:
        first, last = float(fill.t[there].min()), float(fill.t[there].max())
        spans = dict(session.spans or {})
        signal = tx.draft.base.wide[fill.name]
        before = spans.get(signal)
        spans[signal] = before.joined(count, first, last) if before else Span(count, first, last)
        tx.touch(session.spread(spans))
    return tuple(fill.sampled[there].tolist())
