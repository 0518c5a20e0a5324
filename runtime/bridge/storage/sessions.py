"""Writes of sessions, laps and other rows, on the writer's thread."""

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from runtime.bridge.session.names import find_free_name
from runtime.bridge.session.recording import WIDE_SIGNALS
from runtime.bridge.storage import schema
from runtime.bridge.storage.errors import BadFrames, SessionInUse
from runtime.bridge.storage.records import (
    BUSES,
    DISCOVERED,
    NOTHING,
    WIDE_TABLE,
    LapRow,
    SessionChange,
    SessionMeta,
    SessionRow,
    SignalRow,
    clean_row,
    clean_text,
    driver_key,
)
from runtime.bridge.storage.transaction import S, Session, Transaction, write_spans

_BY_ID: Final = ("sessions", "session_laps_cache", "spectator_tokens")
"""Tables that a rename leaves alone: the session's row is written again, its laps are found again,
and spectator tokens stay valid for the live id."""
ABOUT_SESSIONS: Final = tuple(
    table.name
    for step in schema.STEPS
    for table in step
    if isinstance(table, schema.Table)
    and "session_id text" in table.columns
    and table.name not in _BY_ID
)
"""Tables whose rows follow a renamed session."""
NAMED_BY: Final = tuple(name for name in (*ABOUT_SESSIONS, *_BY_ID) if name != "sessions")
"""Tables whose rows are deleted with their session."""


def start_session(
    tx: Transaction, meta: SessionMeta, session_id: str | None, slug: str, now_ms: int
) -> tuple[SessionRow, bool]:
    """Start or resume a session, which becomes the active one. Return whether it existed."""
    session_id = session_id or _make_dated_id(tx, slug, now_ms)
    resumed = tx.session(session_id) is not None
    session = tx.ensure(session_id, meta, now_ms)
    activation = tx.next_number("activation")
    return tx.put(replace(session, ended_at=None, activation=activation)), resumed


def end_session(tx: Transaction, session_id: str, now_ms: int) -> SessionRow:
    """End a session, once."""
    tx.flush()
    session = tx.require_session(session_id)
    if session.ended_at is None:
        session = tx.put(replace(session, ended_at=now_ms))
        tx.checkpoint = True
    return tx.settle(session) if session.dirty else session


def end_begun_by_bus(tx: Transaction, kept: Collection[str], now_ms: int) -> list[SessionRow]:
    """End open sessions that a bus began, at their last frames, except those in *kept*.

    Sessions that were also started explicitly stay open.
    """
    tx.flush()
    ended: list[SessionRow] = []
    for session in list(tx.sessions()):
        if session.session_id in kept or session.ended_at is not None or session.activation:
            continue
        if session.source in BUSES:
            # A synthetic car's clock may run ahead of the time of day.
            last = tx.put(replace(session, ended_at=min(_find_last_ms(session), now_ms)))
            ended.append(tx.settle(last) if last.dirty else last)
    return ended


def rename_session(tx: Transaction, session_id: str, slug: str) -> SessionRow:
    """End a session and give it an id of *slug* and its start; the old id becomes free."""
    tx.require_session(session_id)
    tx.flush()
    session = tx.require_session(session_id)
    new_id = _make_dated_id(tx, slug, session.started_at)
    ended_at = session.ended_at or _find_last_ms(session)
    tx.remove(session_id)
    session = tx.put(replace(session, session_id=new_id, ended_at=ended_at))
    tx.run("DELETE FROM session_laps_cache WHERE session_id = ?", (session_id,))
    for table in ABOUT_SESSIONS:
        tx.run(
            f"UPDATE {table} SET session_id = ? WHERE session_id = ?",  # noqa: S608 - our tables
            (new_id, session_id),
        )
    return tx.settle(session)


def change_session(tx: Transaction, session_id: str, change: SessionChange) -> SessionRow:
    """Change a session's driver, car, track or note.

    Its events move to the new driver's history, or are deleted without one. Raises
    `UnknownSession`.
    """
    before = tx.require_session(session_id)
    cleaned = clean_row(SessionMeta(**change))
    session = replace(before, **{name: getattr(cleaned, name) for name in change})
    if session.track != before.track:  # its laps depend on it
        session = replace(session, version=session.version + 1)
    old, new = driver_key(before.driver or ""), driver_key(session.driver or "")
    if old != new:
        theirs = "WHERE session_id = ? AND driver_id = ?"
        tx.run(f"DELETE FROM driver_events {theirs}", (session_id, new))  # noqa: S608 - constants
        if new:
            sql = f"UPDATE driver_events SET driver_id = ? {theirs}"  # noqa: S608 - constants
            tx.run(sql, (new, session_id, old))
        else:
            tx.run(f"DELETE FROM driver_events {theirs}", (session_id, old))  # noqa: S608
    return tx.put(session)


def delete_session(tx: Transaction, session_id: str) -> int:
    """Delete a session and everything about it. Return the key of its telemetry, still to drop.

    A crash leaves telemetry without a session, which the next start deletes. Raises
    `UnknownSession`, and `SessionInUse` for the active one.
    """
    tx.flush()
    session = tx.require_session(session_id)
    started = (other for other in tx.sessions() if other.activation and other.ended_at is None)
    if session is max(started, key=lambda other: other.activation, default=None):
        raise SessionInUse("the session is active: end it first", session_id=session_id)
    tx.run("INSERT INTO staged VALUES (?)", (session.key,))
    tx.run("DELETE FROM sessions WHERE session_key = ?", (session.key,))
    for table in NAMED_BY:
        tx.run(f"DELETE FROM {table} WHERE session_id = ?", (session_id,))  # noqa: S608 - our tables
    for number, payload in tx.connection.rows("SELECT id, payload FROM notifications"):
        if json.loads(payload).get("session_id") == session_id:
            tx.run("DELETE FROM notifications WHERE id = ?", (number,))
    tx.remove(session_id)
    tx.state.deleted.add(session_id)
    return session.key


def settle(tx: Transaction, session_id: str) -> None:
    """Settle a session that has been quiet for a while."""
    session = tx.session(session_id)
    if session is not None and session.dirty:
        tx.settle(session)


def recount(tx: Transaction, session_id: str, version: int, counted: Session) -> int | None:
    """Apply a count of the stored telemetry at *version*.

    Returns the number of signals; None if the session has changed since.
    """
    tx.flush()
    session = tx.require_session(session_id)
    if session.version != version:
        return None
    write_spans(tx.connection, session.key, counted.spans or {})
    tx.put(session.with_counted(counted))
    return counted.n_signals


def note_opening(tx: Transaction, boots: int, seed: Sequence[SignalRow]) -> None:
    """Write the new boot count, new entries of the catalogue, and recounted sessions.

    A discovered signal takes over the entry of *seed*; all other entries stay. The wide columns are
    always signals.
    """
    tx.run("UPDATE schema_version SET boots = ?", (boots,))
    signals = {clean_text(row.name): row for row in seed}
    for name in WIDE_SIGNALS:
        signals.setdefault(name, SignalRow(name, discovery=WIDE_TABLE))
    for name, row in signals.items():
        existing = tx.signal(name)
        if existing is None:
            tx.learn(replace(row, name=name, signal_id=0))
        elif existing.discovery == DISCOVERED != row.discovery:
            number, at = existing.signal_id, existing.discovered_at
            tx.learn(replace(row, name=name, signal_id=number, discovered_at=at))
    for session in list(tx.sessions()):
        if session.dirty:
            tx.settle(tx.put(session))


def _find_last_ms(session: Session) -> int:
    """Find the time of the session's last telemetry, Unix milliseconds."""
    duration_s = (session.t_end or 0.0) - (session.t_start or 0.0)
    return session.started_at + round(duration_s * 1000)


def _make_dated_id(tx: Transaction, slug: str, now_ms: int) -> str:
    """Make an unused id."""
    moment = datetime.fromtimestamp(now_ms / 1000, UTC)
    return find_free_name(
        f"{slug}-{moment:%Y%m%d-%H%M%S}", lambda name: tx.session(name) is not None
    )


def add_rows(tx: Transaction, records: Sequence[S]) -> tuple[S, ...]:
    """Add rows, in order. Return them as stored, with their ids.

    A row about a session that was deleted meanwhile is not stored and gets no id.
    """
    rows = []
    for record in records:
        row = clean_row(record)
        if not is_deleted(tx, getattr(row, "session_id", None)):
            row = replace(row, id=tx.next_id(row.table))
            tx.insert(row)
        rows.append(row)
    return tuple(rows)


def is_deleted(tx: Transaction, session_id: str | None) -> bool:
    """Whether a session was deleted since the start and does not exist again."""
    return session_id in tx.state.deleted and tx.session(session_id or "") is None


def put_lap(tx: Transaction, lap: LapRow) -> LapRow:
    """Store a reported lap, replacing the session's lap of the same number.

    A missing session is created.
    """
    row = clean_row(lap)
    if math.isnan(lap.lap_time_s):
        raise BadFrames("lap_time_s must be a number")
    if tx.session(row.session_id) is None:
        tx.ensure(row.session_id, NOTHING, row.recorded_at)
    stored = tx.connection.rows(
        "SELECT id FROM laps WHERE session_id = ? AND lap_number = ?",
        (row.session_id, row.lap_number),
    )
    row = replace(row, id=int(stored[0][0]) if stored else tx.next_id("laps"))
    tx.run("DELETE FROM laps WHERE id = ?", (row.id,))
    tx.insert(row)
    return row


def put_lap_cache(tx: Transaction, session_id: str, version: int, laps: str) -> None:
    """Cache the laps found in a session, unless its telemetry has changed since *version*."""
    session = tx.session(session_id)
    if session is None or session.version != version:
        return
    tx.run("DELETE FROM session_laps_cache WHERE session_id = ?", (session_id,))
    tx.run("INSERT INTO session_laps_cache VALUES (?, ?, ?)", (session_id, version, laps))
