"""Writes of frames, samples and video frames, in canonical form.

Numbers have one form, so that both back-ends store the same bytes. The writes are functions on a
transaction, on the writer's thread.
"""

from collections.abc import Mapping, Sequence
from typing import Final

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
from runtime.bridge.storage.backend import Column, Connection
from runtime.bridge.storage.errors import BadFrames
from runtime.bridge.storage.records import Appended, SessionMeta, SignalsAppended, clean_text
from runtime.bridge.storage.transaction import Session, Span, Transaction, measure_span

_VIDEO: Final = (TIMESTAMP, "avitime_ms", "file_offset_s", "width", "height")
_LARGEST: Final = 2.0**53
_AT_ONCE: Final = 500
"""Times deleted by one statement."""
_COUNTED: Final = 65_536
"""Frames counted at a time."""


def append_frames(
    tx: Transaction,
    session_id: str,
    frames: Frames,
    extras: Mapping[str, Samples],
    meta: SessionMeta,
    now_ms: int,
) -> Appended:
    """Append frames, and samples of other signals, to a session."""
    numbers = make_frame_matrix(frames)
    samples = clean_signals(extras) if extras else {}
    new, left_out = tx.discover(samples, now_ms, spare=True)
    tx.ensure(session_id, meta, now_ms, numbers[0])
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
    signals: Mapping[str, Samples],
    meta: SessionMeta,
    now_ms: int,
    *,
    spare: bool,
) -> SignalsAppended:
    """Append samples by name; those of wide columns fill empty cells of frames or are rejected.

    *spare*: names that do not fit into the catalogue are left out instead of refused.
    """
    samples = clean_signals({n: signals[n] for n in signals if n not in WIDE_SIGNALS})
    wide = clean_signals({n: signals[n] for n in signals if n in WIDE_SIGNALS})
    new, left_out = tx.discover(samples, now_ms, spare=spare)
    for name in left_out:
        del samples[name]
    tx.flush()
    placed = _fill(tx, session_id, wide, meta, now_ms)
    if samples:
        t = np.concatenate([values.t for values in samples.values()])
        tx.ensure(session_id, meta, now_ms, t)
        tx.add_samples(session_id, samples)
    filled = sum(map(len, placed.values()))
    lost = sum(len(signals[name].t) for name in signals if name in left_out)
    offered = sum(len(signals[name].t) for name in wide)
    posted = sum(len(values.t) for values in signals.values()) - offered - lost
    session = tx.session(session_id)
    count = 0 if session is None else session.n_signals
    return SignalsAppended(posted + filled, new, count, offered - filled + lost, placed)


def _fill(
    tx: Transaction, session_id: str, wide: Mapping[str, Samples], meta: SessionMeta, now_ms: int
) -> dict[str, tuple[float, ...]]:
    """Fill the empty cells nearest to samples of wide columns. Return the times that filled one."""
    session = tx.session(session_id)
    if not wide or session is None or not session.n_frames:
        return {}
    numbers = tx.connection.frames(session.key)
    placed: dict[str, tuple[float, ...]] = {}
    more: dict[int, Span] = {}
    for name, samples in wide.items():
        index, fits = find_empty_cells(numbers, name, samples)
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
    """Append positions in video files. Return their number."""
    columns = make_video_columns(frames)
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
    tx.touch(tx.require_session(session_id))
    count = len(columns[TIMESTAMP])
    tx.connection.insert("video_frames", {"session_key": np.full(count, session.key), **columns})
    return len(frames)


def make_video_columns(frames: Sequence[VideoFrame]) -> dict[str, Column]:
    """Convert video frames to columns; of frames at the same time of a file the last one counts.

    Raises `BadFrames` for numbers that cannot be stored.
    """
    unique = {(clean_text(frame.file_path), frame.timestamp + 0.0): frame for frame in frames}
    columns: dict[str, Column] = {}
    for name in _VIDEO:
        column = np.array([getattr(frame, name) for frame in unique.values()], np.float64) + 0.0
        if (np.abs(column) > _LARGEST).any() or (name == TIMESTAMP and np.isnan(column).any()):
            raise BadFrames(f"{name} of a video frame cannot be stored")
        columns[name] = column
    columns["file_path"] = np.array([path for path, _ in unique], np.object_)
    return columns


def count_telemetry(connection: Connection, key: int, wide: Mapping[str, int]) -> Session:
    """Count frames, odometer and spans of a session from the stored telemetry."""
    session = Session.new(key, "", 0)
    while True:
        numbers = connection.frames(key, session.n_frames, session.n_frames + _COUNTED)
        if not numbers.shape[1]:
            break
        session = session.with_frames(numbers, wide)
    signals = sorted(connection.signals(key))
    return session.with_samples(
        {signal: measure_span(connection.samples(key, [signal])[signal]) for signal in signals}
    )


def make_frame_matrix(frames: Frames) -> Numbers:
    """Convert frames to rows of `WIDE`, one column per frame; NaN is null and -0.0 becomes 0.0.

    Raises `BadFrames` for infinities, NaN timestamps, and columns that are missing or differ in
    length.
    """
    columns = frames.columns
    try:
        numbers = np.array([columns[name] for name in WIDE], np.float64)
    except KeyError as error:
        raise BadFrames(f"the column {error.args[0]} is missing") from error
    except ValueError as error:
        raise BadFrames("the columns of the frames differ in length") from error
    numbers += 0.0
    infinite = np.isinf(numbers)
    if infinite.any():
        column = int(np.argmax(infinite.any(axis=1)))
        raise BadFrames(f"{WIDE[column]} contains an infinite number")
    if np.isnan(numbers[0]).any():
        raise BadFrames(f"{WIDE[0]} contains a value that is not a number")
    return numbers


def clean_samples(name: str, raw: Samples) -> Samples:
    """Sort samples by time; of equal times the later sample wins. Raises `BadFrames`."""
    t = np.asarray(raw.t, np.float64) + 0.0
    value = np.asarray(raw.value, np.float64) + 0.0
    if t.shape != value.shape or t.ndim != 1:
        raise BadFrames(f"times and values of {name} differ in length")
    if not (np.isfinite(t).all() and np.isfinite(value).all()):
        raise BadFrames(f"{name} contains a value that is not a finite number")
    if len(t) > 1 and not (np.diff(t) > 0).all():
        order = np.argsort(t, kind="stable")
        t, value = t[order], value[order]
        last = np.append(np.diff(t) > 0, True)
        t, value = t[last], value[last]
    return Samples(t, value)


def clean_signals(raw: Mapping[str, Samples]) -> dict[str, Samples]:
    """Bring signals under canonical names, without those that have no samples.

    If two names become one, the later samples win. Raises `BadFrames`.
    """
    cleaned: dict[str, Samples] = {}
    for name, values in raw.items():
        plain = clean_text(name)
        if not plain:
            raise BadFrames("a signal has no name")
        if not len(values.t):
            continue
        if plain in cleaned:
            values = Samples(*map(np.concatenate, zip(cleaned[plain], values, strict=True)))
        cleaned[plain] = clean_samples(plain, values)
    return cleaned


def find_empty_cells(
    numbers: Numbers, name: str, samples: Samples
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Find frames (rows of `WIDE`) with empty cells for samples of a wide column, and which fit."""
    at = find_nearest(numbers[0], samples.t)
    fits = at >= 0
    fits[fits] = np.isnan(numbers[WIDE.index(name), at[fits]])
    return at[fits], fits


def find_nearest(frames: Numbers, t: Numbers) -> npt.NDArray[np.int64]:
    """Find for each of *t* the index of the nearest of *frames* (s, in any order); -1: none.

    Only frames within half a nominal period count, the median of the positive steps between frames.
    Of two samples near a frame the first one gets it.
    """
    index = np.full(len(t), -1, np.int64)
    steps = np.diff(frames)
    steps = steps[steps > 0]
    if not len(frames) or not len(t):
        return index
    reach = float(np.median(steps)) / 2.0 if len(steps) else 0.0
    order = np.argsort(frames, kind="stable")
    ordered = frames[order]
    right = np.clip(np.searchsorted(ordered, t), 0, len(ordered) - 1)
    left = np.maximum(right - 1, 0)
    closer = np.where(np.abs(ordered[left] - t) <= np.abs(ordered[right] - t), left, right)
    # A hair more than half: a sample midway between two frames belongs to one of them.
    near = np.abs(ordered[closer] - t) <= reach * (1 + 1e-9)
    index[near] = order[closer[near]]
    taken, first = np.unique(index, return_index=True)
    alone = np.full(len(t), -1, np.int64)
    alone[first] = taken
    return alone
