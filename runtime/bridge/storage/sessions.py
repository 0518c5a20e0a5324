"""The writes of sessions, laps and other rows; they run on the writer's thread."""

import json
import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from runtime.bridge.session.names import free_name
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
NAMED_BY: Final = tuple(name for name in (*ABOUT_SESSIONS, *_BY_ID) if name != "sessions")
"""Tables whose rows are deleted with their session."""


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


def change_session(tx: Transaction, session_id: str, change: SessionChange) -> SessionRow:
    """A session says something else of its driver, car, track or note.

    What is remembered of its driver is remembered of the new one, and forgotten where there is
    none. Raises `UnknownSession`.
    """
    before = tx.existing(session_id)
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
    """A session and all that names it goes; the key under which its telemetry is left to drop.

    A crash leaves telemetry without a session, which the next start deletes. Raises
    `UnknownSession`, and `SessionInUse` for the active one.
    """
    tx.flush()
    session = tx.existing(session_id)
    started = (one for one in tx.sessions() if one.activation and one.ended_at is None)
    if session is max(started, key=lambda one: one.activation, default=None):
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
    """Write what was only counted; for a session that has been quiet for a while."""
    session = tx.session(session_id)
    if session is not None and session.dirty:
        tx.settle(session)


def recount(tx: Transaction, session_id: str, version: int, counted: Session) -> int | None:
    """Take over what was counted from the stored telemetry at *version*.

    How many signals there are; None: the session has changed since.
    """
    tx.flush()
    session = tx.existing(session_id)
    if session.version != version:
        return None
    write_spans(tx.connection, session.key, counted.spans or {})
    tx.put(session.with_counted(counted))
    return counted.n_signals


def note_opening(tx: Transaction, boots: int, seed: Sequence[SignalRow]) -> None:
    """What an opening writes: that it was, the catalogue's new entries, what was counted anew.

    A signal that was discovered takes over what *seed* says of it, every other entry stays as it
    is. The wide columns are signals whether the seed names them or not.
    """
    tx.run("UPDATE schema_version SET boots = ?", (boots,))
    named = {clean_text(row.name): row for row in seed}
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
    return free_name(f"{slug}-{moment:%Y%m%d-%H%M%S}", lambda name: tx.session(name) is not None)


def add_rows(tx: Transaction, records: Sequence[S]) -> tuple[S, ...]:
    """New rows, in order; they are returned as they are stored, with their ids.

    One about a session that was deleted meanwhile is not stored, and has no id.
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
    """Whether a session was deleted since the start, and none has its id now."""
    return session_id in tx.state.deleted and tx.session(session_id or "") is None


def put_lap(tx: Transaction, lap: LapRow) -> LapRow:
    """A lap as reported; the same number of the same session replaces.

    The session is made where it is unknown.
    """
    row = clean_row(lap)
    if math.isnan(lap.lap_time_s):
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
    session = tx.session(session_id)
    if session is None or session.version != version:
        return
    tx.run("DELETE FROM session_laps_cache WHERE session_id = ?", (session_id,))
    tx.run("INSERT INTO session_laps_cache VALUES (?, ?, ?)", (session_id, version, laps))
