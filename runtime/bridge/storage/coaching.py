"""The coach's rows (conversations, model calls, traces, events), and their queries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from runtime.bridge.storage.backend import Connection
from runtime.bridge.storage.records import clean_number, clean_text, driver_key
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.transaction import Transaction, select


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A text of a conversation; the store assigns the id."""

    table: ClassVar[str] = "conversations"
    session_id: str
    """Empty: no session."""
    driver_id: str
    role: str
    """coach_brief, coach_debrief, user or assistant."""
    text: str
    recorded_at: int
    """Unix milliseconds."""
    focus_items: tuple[str, ...] = ()
    emotion: str | None = None
    id: int = 0


@dataclass(frozen=True, slots=True)
class ModelCall:
    """A call of the language model, sent or not; the store assigns the id."""

    table: ClassVar[str] = "llm_friction"
    role: str
    """brief, cue, debrief, ask or score."""
    mode: str
    """pre_brief, during_drive or post_session."""
    ts: int
    """Unix milliseconds."""
    session_id: str | None = None
    backend: str | None = None
    prompt_chars: int = 0
    completion_chars: int = 0
    latency_ms: float = 0.0
    truncated: bool = False
    fell_back: bool = False
    reason: str | None = None
    error: str | None = None
    emotion: str | None = None
    id: int = 0


@dataclass(frozen=True, slots=True)
class TraceRow:
    """A step on the way to an answer; the store assigns the id."""

    table: ClassVar[str] = "agent_traces"
    trace_id: str
    session_id: str
    agent_name: str
    event_type: str
    """intent, agent, tool_start, tool or error."""
    detail: str
    ts: int
    """Unix microseconds."""
    latency_ms: float = 0.0
    success: bool = True
    id: int = 0


class EventRow(NamedTuple):
    """An event in a driver's history."""

    id: int
    session_id: str
    corner: str
    """Empty: no corner."""
    kind: str
    """grade, pb_lap_s, improvement or mistake."""
    value: float
    text: str


class NewEvent(NamedTuple):
    """An event to add to a driver's history."""

    kind: str
    corner: str
    value: float
    text: str


async def add_events(
    store: Store, driver_id: str, session_id: str, events: Sequence[NewEvent], now_ms: int
) -> int:
    """Add events of a session to a driver's history. Return how many were new.

    Each kind has one event per corner and session: the first one stays. Events of a session that
    was deleted meanwhile are ignored.
    """
    driver, session = driver_key(driver_id), clean_text(session_id)

    def add(tx: Transaction) -> int:
        if tx.session(session_id) is None:
            return 0
        rows = tx.connection.rows(
            "SELECT event_kind, corner FROM driver_events WHERE driver_id = ? AND session_id = ?",
            (driver, session),
        )
        stored = set(rows)
        for event in events:
            if (event.kind, event.corner) in stored:
                continue
            stored.add((event.kind, event.corner))
            value = clean_number("value_num", event.value)
            texts = clean_text(event.corner), event.kind
            tx.run(
                "INSERT INTO driver_events VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(tx.next_id("driver_events"), driver, session, *texts, value),
                    *(clean_text(event.text), now_ms),
                ),
            )
        return len(stored) - len(set(rows))

    return await store.write(add, rows=1 + len(events))


def read_session_turns(connection: Connection, session_id: str, limit: int) -> list[TurnRow]:
    """Read the last *limit* texts of a session, oldest first."""
    rest = "WHERE session_id = ? ORDER BY recorded_at DESC, id DESC LIMIT ?"
    return select(connection, TurnRow, rest, (session_id, limit))[::-1]


def read_driver_turns(connection: Connection, driver_id: str, limit: int) -> list[TurnRow]:
    """Read the last *limit* texts of a driver, in any case, newest first."""
    names = [
        str(name)
        for (name,) in connection.rows("SELECT DISTINCT driver_id FROM conversations")
        if driver_key(str(name)) == driver_key(driver_id)
    ]
    if not names:
        return []
    marks = ", ".join("?" * len(names))
    rest = f"WHERE driver_id IN ({marks}) ORDER BY recorded_at DESC, id DESC LIMIT ?"
    return select(connection, TurnRow, rest, (*sorted(names), limit))


def read_driver_events(connection: Connection, driver_id: str) -> list[EventRow]:
    """Read a driver's history, oldest first."""
    rows = connection.rows(
        "SELECT id, session_id, corner, event_kind, coalesce(value_num, 0), value_str"
        " FROM driver_events WHERE driver_id = ? ORDER BY id",
        (driver_key(driver_id),),
    )
    return [EventRow(*row) for row in rows]


def read_traces(
    connection: Connection, session_id: str | None, since_us: int | None, limit: int
) -> list[TraceRow]:
    """Read steps, oldest first: the first *limit* after *since_us*, without it the last *limit*."""
    where, values = _join({"session_id = ?": session_id, "ts > ?": since_us})
    order = "DESC" if since_us is None else "ASC"
    rest = f"{where} ORDER BY ts {order}, id {order} LIMIT ?"
    rows = select(connection, TraceRow, rest, (*values, limit))
    return rows[::-1] if since_us is None else rows


def read_model_calls(
    connection: Connection, session_id: str | None, role: str | None, since_ms: int
) -> list[ModelCall]:
    """Read calls of the language model since *since_ms* (Unix milliseconds), newest first.

    Optionally only those of one session or one role.
    """
    where, values = _join({"ts >= ?": since_ms, "session_id = ?": session_id, "role = ?": role})
    return select(connection, ModelCall, f"{where} ORDER BY ts DESC, id DESC", values)


def _join(tests: dict[str, object]) -> tuple[str, tuple[object, ...]]:
    """Join the tests that have a value into a condition. Return it and the values."""
    used = {test: value for test, value in tests.items() if value is not None}
    return (f"WHERE {' AND '.join(used)}" if used else ""), tuple(used.values())
