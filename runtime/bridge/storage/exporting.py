"""Where the rows of an exported table come from."""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Final

import numpy as np

from runtime.bridge.session.recording import WIDE
from runtime.bridge.storage import parquet
from runtime.bridge.storage.backend import Connection, Window
from runtime.bridge.storage.errors import BadTable, NoRows, StoreBusy
from runtime.bridge.storage.parquet import Part
from runtime.bridge.storage.readers import Readers
from runtime.bridge.storage.state import Session, State, described
from runtime.bridge.storage.transaction import spans_of
from runtime.bridge.storage.values import CapabilityRow, Export, SignalRow

MOST: Final = 8
_REGISTRY: Final = tuple(parquet.SCHEMAS["signal_registry"])[1:]
_CAPABILITIES: Final = tuple(parquet.SCHEMAS["capabilities"])[2:]


def telemetry(connection: Connection, session_id: str, key: int, rows: int) -> Iterator[Part]:
    """The first *rows* frames; each part is read in a transaction of its own."""
    for first in range(0, rows, parquet.GROUP_ROWS):
        behind = min(first + parquet.GROUP_ROWS, rows)
        connection.begin()
        try:
            columns = connection.frames(key, WIDE, Window(first, behind))
        finally:
            connection.rollback()
        yield {"session_id": session_id, "frame_idx": np.arange(first, behind), **columns}


def signals(
    connection: Connection, session_id: str, key: int, named: Sequence[SignalRow]
) -> Iterator[Part]:
    """The samples of signals in the order of their names, in the transaction that is open."""
    for signal in sorted(named, key=lambda signal: signal.name):
        found = connection.samples(key, [signal.signal_id]).get(signal.signal_id)
        if found is None:
            continue
        for first in range(0, len(found.t), parquet.GROUP_ROWS):
            t, value = (part[first : first + parquet.GROUP_ROWS] for part in found)
            units = signal.units if signal.units is not None else [None] * len(t)
            yield {
                "session_id": session_id,
                "signal_name": signal.name,
                "t": t,
                "value": value,
                "units": units,
            }


def registry(session_id: str, rows: Sequence[SignalRow]) -> Iterator[Part]:
    """The whole catalogue."""
    cells = {name: [getattr(row, name) for row in rows] for name in _REGISTRY}
    yield {"session_id": session_id, **cells}


def capabilities(session_id: str, rows: Sequence[CapabilityRow]) -> Iterator[Part]:
    """What there is of each signal."""
    cells = {name: [getattr(row, name) for row in rows] for name in _CAPABILITIES}
    yield {"session_id": session_id, "signal_name": [row.name for row in rows], **cells}


class Exports:
    """Makes exports; so many are read at a time."""

    def __init__(self, state: State, readers: Readers) -> None:
        self._state = state
        self._readers = readers
        self._running = 0

    async def export(self, session_id: str, table: str) -> Export:
        """See `Store.export`."""
        if table not in parquet.TABLES:
            raise BadTable(f"no table of that name; there are {', '.join(parquet.TABLES)}")
        await self._readers.run(parquet.available)  # the first time it is loaded
        session = self._state.sessions.get(session_id)
        if session is None:
            raise NoRows("there is no such session", session_id=session_id, table=table)
        if self._running >= MOST:
            raise StoreBusy("other exports are being read; try again")
        rows, parts, close = await opened(table, session, self._state, self._readers)
        return Export(rows, self._batches(lambda: parquet.written(table, parts, close)))

    async def _batches(self, work: Callable[[], Iterator[bytes]]) -> AsyncIterator[bytes]:
        self._running += 1
        source = work()
        try:
            while (batch := await self._readers.run(lambda: next(source, None))) is not None:
                if batch:
                    yield batch
        finally:
            self._running -= 1
            with contextlib.suppress(ValueError):  # its thread is still at it; it ends by itself
                source.close()  # type: ignore[attr-defined]


async def opened(
    table: str, session: Session, state: State, readers: Readers
) -> tuple[int, Iterator[Part], Callable[[], None]]:
    """Number of rows, the rows, and what to call behind the last one. Raises `NoRows`."""
    sid, key = session.session_id, session.key
    close: Callable[[], None] = _nothing
    parts: Iterator[Part]
    if table == "signal_registry":
        known = sorted(state.signals.values(), key=lambda signal: signal.signal_id)
        rows, parts = len(known), registry(sid, known)
    elif table == "capabilities":
        spans = session.spans
        if spans is None:
            spans = await readers.read(lambda reader: spans_of(reader, key))
        useful = described(state, spans)
        rows, parts = len(useful), capabilities(sid, useful)
    else:
        connection = await readers.run(readers.open)
        close = connection.close
        if table == "telemetry":
            rows, parts = session.n_frames, telemetry(connection, sid, key, session.n_frames)
        else:
            counted = await readers.run(lambda: _counted(connection, key))
            named = [state.signals[state.names[signal]] for signal in counted]
            rows, parts = sum(counted.values()), signals(connection, sid, key, named)
    if not rows:
        close()
        raise NoRows("the table has no rows", session_id=sid, table=table)
    return rows, parts, close


def _counted(connection: Connection, key: int) -> dict[int, int]:
    """Number of samples by signal; the snapshot stays open for those who read them."""
    connection.begin()
    return connection.signals(key)


def _nothing() -> None:
    """There is nothing to close."""
