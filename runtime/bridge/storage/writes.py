"""The writes: functions that change the store through a transaction, on the writer's thread."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import TIMESTAMP, Frames, Numbers, Samples, VideoFrame
from runtime.bridge.storage import canonical, registry, schema
from runtime.bridge.storage.errors import BadFrames
from runtime.bridge.storage.state import Session, Span
from runtime.bridge.storage.transaction import Transaction, write_spans
from runtime.bridge.storage.values import (
    BUSES,
    NOTHING,
    Appended,
    LapRow,
    NoteRow,
    SessionMeta,
    SessionRow,
    SignalRow,
    SignalsAppended,
)

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
_LAP_NUMBERS: Final = (
    "lap_time_s",
    "best_sector",
    "avg_speed_kmh",
    "max_combo_g",
    "coast_pct",
)
_VIDEO: Final = (TIMESTAMP, "avitime_ms", "file_offset_s", "width", "height")
_LARGEST: Final = 2.0**53
_AT_ONCE: Final = 500
"""Moments that one statement deletes."""


# telemetry


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
    ids: dict[int, Samples] = {}
    new: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    if extras:
        fitting, left_out = _fitting(tx, canonical.signals(extras))
        ids, new = _registered(tx, fitting, now_ms)
    tx.ensure(session_id, meta, now_ms)
    appended = tx.append(session_id, numbers)
    if ids:
        tx.add_samples(session_id, ids)
    appended.newly_discovered = new
    appended.left_out = left_out
    return appended


def append_signals(
    tx: Transaction,
    session_id: str,
    given: Mapping[str, Samples],
    fills: Sequence[Fill],
    rejected: int,
    meta: SessionMeta,
    now_ms: int,
    *,
    spare: bool,
) -> SignalsAppended:
    """Samples by name; *fills* go into empty cells of frames, *rejected* were refused before.

    *spare*: names for which the catalogue has no room are left out rather than refused.
    """
    samples = canonical.signals(given)
    left_out: tuple[str, ...] = ()
    if spare:
        samples, left_out = _fitting(tx, samples)
    ids, new = _registered(tx, samples, now_ms)
    session = tx.session(session_id)
    if not ids and not fills:
        return SignalsAppended(0, (), session.n_signals if session else 0, rejected)
    tx.ensure(session_id, meta, now_ms)
    if ids:
        tx.add_samples(session_id, ids)
    spared = sum(len(given[name].t) for name in left_out if name in given)
    posted = sum(len(samples.t) for samples in given.values()) - spared
    placed = {fill.name: _fill(tx, session_id, fill) for fill in fills}
    filled = sum(map(len, placed.values()))
    offered = sum(len(fill.index) for fill in fills)
    if tx.has_frames(session_id):  # of which it is not known yet what signals they have
        tx.flush()
    return SignalsAppended(
        posted + filled,
        new,
        tx.existing(session_id).n_signals,
        rejected + offered - filled + spared,
        placed,
    )


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
    kept = list(unique.values())
    columns: dict[str, npt.NDArray[np.object_] | Numbers] = {}
    for name in _VIDEO:
        cells = [getattr(frame, name) for frame in kept]
        column = np.array([np.nan if cell is None else cell for cell in cells], np.float64) + 0.0
        if (np.abs(column) > _LARGEST).any() or (name == TIMESTAMP and np.isnan(column).any()):
            raise BadFrames(f"{name} of a video frame cannot be kept")
        columns[name] = column
    paths = np.empty(len(kept), dtype=np.object_)
    paths[:] = [path for path, _ in unique]
    columns["file_path"] = paths
    return columns


def _fitting(
    tx: Transaction, samples: dict[str, Samples]
) -> tuple[dict[str, Samples], tuple[str, ...]]:
    """The samples whose names are known or fit the catalogue, and the names of the others.

    Of the new ones the first by name fit.
    """
    unknown = sorted(name for name in samples if tx.signal(name) is None)
    left_out = tuple(unknown[registry.room(tx.discovered()) :]) if unknown else ()
    return {name: given for name, given in samples.items() if name not in left_out}, left_out


def _registered(
    tx: Transaction, samples: Mapping[str, Samples], now_ms: int
) -> tuple[dict[int, Samples], tuple[str, ...]]:
    """The samples by id, and the names that are new; refuses before the first is registered."""
    unknown = sorted(name for name in samples if tx.signal(name) is None)
    if unknown:
        registry.discovered(unknown[-1], tx.discovered() + len(unknown) - 1, now_ms)
    for name in unknown:
        tx.register(name, now_ms)
    ids = {tx.register(name, now_ms): values for name, values in samples.items()}
    return ids, tuple(unknown)


def _fill(tx: Transaction, session_id: str, fill: Fill) -> tuple[float, ...]:
    """Fill the cells that are empty; the times of the samples that found one."""
    tx.flush()
    session = tx.existing(session_id)
    tx.changes += 1
    values = tx.connection.fill(session.key, fill.name, fill.index, fill.value)
    there = ~np.isnan(values)
    count = int(there.sum())
    if count:
        first, last = float(fill.t[there].min()), float(fill.t[there].max())
        spans = dict(session.spans or {})
        signal = tx.state.wide[fill.name]
        before = spans.get(signal)
        spans[signal] = before.joined(count, first, last) if before else Span(count, first, last)
        tx.touch(session.spread(spans))
    return tuple(fill.sampled[there].tolist())


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


def recount(
    tx: Transaction, session_id: str, version: int, spans: Mapping[int, Span]
) -> int | None:
    """Take over spans that were counted from the stored telemetry at *version*.

    How many signals there are; None: the session has changed since.
    """
    tx.flush()
    session = tx.existing(session_id)
    if session.version != version:
        return None
    write_spans(tx.connection, session.key, spans)
    tx.put(session.spread(spans))
    return len(spans)


def note_opening(tx: Transaction, boots: int, seed: Sequence[SignalRow]) -> None:
    """What an opening writes: that it was, the catalogue's new entries, what was counted anew."""
    tx.run("UPDATE schema_version SET boots = ?", (boots,))
    register(tx, seed)
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


# laps, notes, catalogue


def put_lap(tx: Transaction, row: LapRow) -> LapRow:
    """A lap as reported; the same number of the same session replaces.

    The session is made where it is unknown.
    """
    numbers = {name: canonical.number(name, getattr(row, name)) for name in _LAP_NUMBERS}
    if numbers["lap_time_s"] is None:
        raise BadFrames("lap_time_s must be a number")
    row = replace(row, session_id=canonical.text(row.session_id), **numbers)  # type: ignore[arg-type]
    if tx.session(row.session_id) is None:
        tx.ensure(row.session_id, NOTHING, row.recorded_at)
    there = tx.connection.rows(
        "SELECT id FROM laps WHERE session_id = ? AND lap_number = ?",
        (row.session_id, row.lap_number),
    )
    row = replace(row, id=int(there[0][0]) if there else tx.next_id("laps"))
    tx.run("DELETE FROM laps WHERE id = ?", (row.id,))
    tx.run(
        "INSERT INTO laps VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(row.id, row.session_id, row.lap_number, row.lap_time_s, row.best_sector),
            *(row.avg_speed_kmh, row.max_combo_g, row.coast_pct, row.recorded_at),
        ),
    )
    return row


def add_note(tx: Transaction, row: NoteRow) -> NoteRow:
    """Something the coach said; the row with its id."""
    distance = canonical.number("distance_m", row.distance_m)
    text, number = canonical.text(row.text), tx.next_id("coaching_notes")
    row = replace(row, id=number, text=text, distance_m=distance)
    tx.run(
        "INSERT INTO coaching_notes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(row.id, canonical.text(row.session_id), row.burst_id, row.distance_m, row.text),
            *(canonical.optional(text) for text in (row.source, row.emotion, row.concept)),
            row.recorded_at,
        ),
    )
    return row


def put_lap_cache(tx: Transaction, session_id: str, version: int, laps: str) -> None:
    """The laps found in a session, for as long as its telemetry has that version."""
    tx.run("DELETE FROM session_laps_cache WHERE session_id = ?", (session_id,))
    tx.run("INSERT INTO session_laps_cache VALUES (?, ?, ?)", (session_id, version, laps))


def register(tx: Transaction, signals: Sequence[SignalRow]) -> tuple[str, ...]:
    """Signals that are known beforehand; those in the catalogue stay as they are.

    The names that are new.
    """
    new = []
    for row in registry.missing(signals, tx.signal):
        if tx.signal(row.name) is None:
            new.append(row.name)
        tx.learn(row)
    return tuple(new)
