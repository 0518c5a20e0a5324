"""The rows of what the coach says, remembers and measures: how they are written and read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Final, NamedTuple

from runtime.bridge.storage import canonical
from runtime.bridge.storage.backend import Connection
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.transaction import Transaction

FEW_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One text of a conversation; the id is given by the store."""

    session_id: str
    """Empty: of no session."""
    driver_id: str
    role: str
    """coach_brief, coach_debrief, user or assistant."""
    text: str
    recorded_at: int
    """Unix milliseconds."""
    focus: tuple[str, ...] = ()
    emotion: str | None = None
    id: int = 0


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of the language model, or one that did not leave; the id is given by the store."""

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
    """One step on the way to an answer; the id is given by the store."""

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
    """One thing remembered of a driver."""

    id: int
    session_id: str
    corner: str
    """Empty: of no corner."""
    kind: str
    """grade, pb_lap_s, improvement or mistake."""
    value: float
    text: str


class NewEvent(NamedTuple):
    """One thing to remember of a driver."""

    kind: str
    corner: str
    value: float
    text: str


async def add_turns(store: Store, rows: Sequence[TurnRow]) -> tuple[TurnRow, ...]:
    """Store texts of conversations, in order; the rows with their ids."""
    nbytes = sum(FEW_BYTES + 4 * len(row.text) for row in rows)
    return await store.write(lambda tx: _add_turns(tx, rows), rows=len(rows), nbytes=nbytes)


def _add_turns(tx: Transaction, rows: Sequence[TurnRow]) -> tuple[TurnRow, ...]:
    added = []
    for given in rows:
        row = replace(
            given,
            id=tx.next_id("conversations"),
            session_id=canonical.text(given.session_id),
            driver_id=canonical.text(given.driver_id),
            text=canonical.text(given.text),
            focus=tuple(canonical.text(item) for item in given.focus),
        )
        tx.run(
            "INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(row.id, row.session_id, row.driver_id, row.role, row.text),
                *(json.dumps(row.focus), row.emotion, row.recorded_at),
            ),
        )
        added.append(row)
    return tuple(added)


async def add_model_call(store: Store, row: ModelCall) -> ModelCall:
    """Store a call of the model; the row with its id."""
    return await store.write(lambda tx: _add_model_call(tx, row))


def _add_model_call(tx: Transaction, given: ModelCall) -> ModelCall:
    row = replace(given, id=tx.next_id("llm_friction"))
    texts = (row.reason, row.error, row.emotion)
    tx.run(
        "INSERT INTO llm_friction VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            *(row.id, canonical.optional(row.session_id), row.role, row.mode),
            *(canonical.optional(row.backend), row.prompt_chars, row.completion_chars),
            *(canonical.number("latency_ms", row.latency_ms), int(row.truncated)),
            int(row.fell_back),
            *(canonical.optional(text) for text in texts),
            row.ts,
        ),
    )
    return row


async def add_traces(store: Store, rows: Sequence[TraceRow]) -> None:
    """Store steps on the way to an answer, in order."""
    nbytes = sum(FEW_BYTES + 4 * len(row.detail) for row in rows)
    await store.write(lambda tx: _add_traces(tx, rows), rows=len(rows), nbytes=nbytes)


def _add_traces(tx: Transaction, rows: Sequence[TraceRow]) -> None:
    for row in rows:
        texts = (row.trace_id, row.session_id, row.agent_name, row.event_type, row.detail)
        tx.run(
            "INSERT INTO agent_traces VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                tx.next_id("agent_traces"),
                *(canonical.text(text) for text in texts),
                *(canonical.number("latency_ms", row.latency_ms), int(row.success), row.ts),
            ),
        )


async def add_events(
    store: Store, driver_id: str, session_id: str, events: Sequence[NewEvent], now_ms: int
) -> int:
    """Remember what a session says about its driver; how many events were new.

    One event of a kind for each corner of a session: the first that was told stays.
    """
    return await store.write(
        lambda tx: _add_events(tx, driver_id, session_id, events, now_ms),
        rows=len(events),
        nbytes=FEW_BYTES * (1 + len(events)),
    )


def _add_events(
    tx: Transaction, driver_id: str, session_id: str, events: Sequence[NewEvent], now_ms: int
) -> int:
    driver, session = driver_key(driver_id), canonical.text(session_id)
    known = tx.connection.rows(
        "SELECT event_kind, corner FROM driver_events WHERE driver_id = ? AND session_id = ?",
        (driver, session),
    )
    stored = {(str(kind), str(corner or "")) for kind, corner in known}
    added = 0
    for event in events:
        if (event.kind, event.corner) in stored:
            continue
        stored.add((event.kind, event.corner))
        added += 1
        tx.run(
            "INSERT INTO driver_events VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(tx.next_id("driver_events"), driver, session),
                *(canonical.text(event.corner), event.kind),
                *(canonical.number("value_num", event.value), canonical.text(event.text)),
                now_ms,
            ),
        )
    return added


def driver_key(driver_id: str) -> str:
    """A driver's name as events are kept under it: case and outer spaces make no difference."""
    return canonical.text(driver_id.strip().casefold())


def session_turns(connection: Connection, session_id: str, limit: int) -> list[TurnRow]:
    """The last *limit* texts of a session, oldest first."""
    rows = connection.rows(
        f"{_TURNS} WHERE session_id = ? ORDER BY recorded_at DESC, id DESC LIMIT ?",
        (session_id, limit),
    )
    return [_turn(row) for row in reversed(rows)]


def driver_turns(connection: Connection, driver_id: str, limit: int) -> list[TurnRow]:
    """The last *limit* texts of a driver, newest first; case makes no difference."""
    names = [
        str(name)
        for (name,) in connection.rows("SELECT DISTINCT driver_id FROM conversations")
        if name is not None and driver_key(str(name)) == driver_key(driver_id)
    ]
    if not names:
        return []
    marks = ", ".join("?" * len(names))
    rows = connection.rows(
        f"{_TURNS} WHERE driver_id IN ({marks}) ORDER BY recorded_at DESC, id DESC LIMIT ?",
        (*sorted(names), limit),
    )
    return [_turn(row) for row in rows]


def driver_events(connection: Connection, driver_id: str) -> list[EventRow]:
    """Everything remembered of a driver, in the order in which it happened."""
    rows = connection.rows(
        "SELECT id, session_id, corner, event_kind, value_num, value_str FROM driver_events"
        " WHERE driver_id = ? ORDER BY id",
        (driver_key(driver_id),),
    )
    return [
        EventRow(int(number), session or "", corner or "", kind or "", value or 0.0, text or "")
        for number, session, corner, kind, value, text in rows
    ]


def traces(
    connection: Connection, session_id: str | None, since_us: int | None, limit: int
) -> list[TraceRow]:
    """Steps, oldest first: the first *limit* behind *since_us*, without it the last *limit*."""
    tests: Mapping[str, object | None] = {"session_id = ?": session_id, "ts > ?": since_us}
    given = {test: value for test, value in tests.items() if value is not None}
    where = f" WHERE {' AND '.join(given)}" if given else ""
    order = "DESC" if since_us is None else "ASC"
    rows = connection.rows(
        f"{_TRACES}{where} ORDER BY ts {order}, id {order} LIMIT ?",
        (*given.values(), limit),
    )
    found = [
        TraceRow(
            id=int(number),
            trace_id=trace or "",
            session_id=session or "",
            agent_name=agent or "",
            event_type=kind or "",
            detail=detail or "",
            latency_ms=latency or 0.0,
            success=bool(success),
            ts=int(ts),
        )
        for number, trace, session, agent, kind, detail, latency, success, ts in rows
    ]
    return found[::-1] if since_us is None else found


_TRACES: Final = (
    "SELECT id, trace_id, session_id, agent_name, event_type, detail, latency_ms, success, ts"
    " FROM agent_traces"
)
_TURNS: Final = (
    "SELECT id, session_id, driver_id, role, text, focus_items, emotion, recorded_at"
    " FROM conversations"
)


def _turn(row: Sequence[object]) -> TurnRow:
    number, session, driver, role, text, focus, emotion, recorded = row
    items = json.loads(str(focus)) if focus else []
    return TurnRow(
        id=int(str(number)),
        session_id=str(session or ""),
        driver_id=str(driver or ""),
        role=str(role or ""),
        text=str(text or ""),
        focus=tuple(str(item) for item in items) if isinstance(items, list) else (),
        emotion=str(emotion) if emotion else None,
        recorded_at=int(str(recorded)),
    )


def model_calls(
    connection: Connection, session_id: str | None, role: str | None, since_ms: int
) -> list[ModelCall]:
    """Calls of the language model since a moment (Unix milliseconds), the newest first.

    Of one session and one role where given.
    """
    names = [field.name for field in fields(ModelCall)]
    tests = ["ts >= ?"]
    wanted: list[object] = [since_ms]
    for column, value in (("session_id", session_id), ("role", role)):
        if value is not None:
            tests.append(f"{column} = ?")
            wanted.append(value)
    rows = connection.rows(
        f"SELECT {', '.join(names)} FROM llm_friction"  # noqa: S608 - names of our own
        f" WHERE {' AND '.join(tests)} ORDER BY ts DESC, id DESC",
        wanted,
    )
    calls = (ModelCall(**dict(zip(names, row, strict=True))) for row in rows)
    return [
        replace(call, truncated=bool(call.truncated), fell_back=bool(call.fell_back))
        for call in calls
    ]
