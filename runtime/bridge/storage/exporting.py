"""Tables as parquet: the same bytes whichever engine the numbers came from."""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import TIMESTAMP, WIDE, WIDE_SIGNALS, Numbers
from runtime.bridge.storage.backend import Connection, Window
from runtime.bridge.storage.errors import BadTable, ExportUnavailable, NoRows, StoreBusy
from runtime.bridge.storage.reading import Readers
from runtime.bridge.storage.state import Session, State
from runtime.bridge.storage.transaction import spans_of
from runtime.bridge.storage.values import CapabilityRow, Export, SignalRow

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

GROUP_ROWS: Final = 50_000
MOST: Final = 8
"""Exports that are read at a time."""

Cells: TypeAlias = Numbers | npt.NDArray[np.int64] | Sequence[object]
"""Numbers (NaN is null), or plain values (None is null)."""
Part: TypeAlias = Mapping[str, Cells | str]
"""Some rows: columns of one length, at least one of them an array; a text stands in every row."""

_REAL: Final = "float64"
_TEXT: Final = "string"

SCHEMAS: Final[Mapping[str, Mapping[str, tuple[str, bool]]]] = {
    "telemetry": {
        "session_id": (_TEXT, False),
        "frame_idx": ("int64", False),
        TIMESTAMP: (_REAL, False),
        **dict.fromkeys(WIDE_SIGNALS, (_REAL, True)),
    },
    "telemetry_signals": {
        "session_id": (_TEXT, False),
        "signal_name": (_TEXT, False),
        "t": (_REAL, False),
        "value": (_REAL, False),
        "units": (_TEXT, True),
    },
    "signal_registry": {
        "session_id": (_TEXT, False),
        "signal_id": ("int32", False),
        "name": (_TEXT, False),
        **dict.fromkeys(("units", "semantics", "group"), (_TEXT, True)),
        **dict.fromkeys(("expected_hz", "min_useful_hz"), (_REAL, True)),
        "discovery": (_TEXT, False),
        "obd2_pid": (_TEXT, True),
    },
    "capabilities": {
        "session_id": (_TEXT, False),
        "signal_name": (_TEXT, False),
        "n_samples": ("int64", False),
        **dict.fromkeys(("mean_hz", "t_start", "t_end"), (_REAL, False)),
        **dict.fromkeys(("units", "group"), (_TEXT, True)),
        "min_useful_hz": (_REAL, True),
        "useful": ("bool", False),
    },
}
"""Type and nullability of each column, in order."""
TABLES: Final = tuple(SCHEMAS)
_REGISTRY_COLUMNS: Final = tuple(SCHEMAS["signal_registry"])[1:]
_CAPABILITY_COLUMNS: Final = tuple(SCHEMAS["capabilities"])[2:]


class Exports:
    """Makes exports; so many are read at a time."""

    def __init__(self, state: State, readers: Readers) -> None:
        self._state = state
        self._readers = readers
        self._running = 0

    async def export(self, session_id: str, table: str) -> Export:
        """See `Store.export`."""
        if table not in TABLES:
            raise BadTable(f"no table of that name; there are {', '.join(TABLES)}")
        await self._readers.run(available)  # the first time it is loaded
        session = self._state.sessions.get(session_id)
        if session is None:
            raise NoRows("there is no such session", session_id=session_id, table=table)
        if self._running >= MOST:
            raise StoreBusy("other exports are being read; try again")
        rows, parts, close = await opened(table, session, self._state, self._readers)
        return Export(rows, self._batches(lambda: written(table, parts, close)))

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
        useful = state.capabilities(spans)
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


def telemetry(connection: Connection, session_id: str, key: int, rows: int) -> Iterator[Part]:
    """The first *rows* frames; each part is read in a transaction of its own."""
    for first in range(0, rows, GROUP_ROWS):
        behind = min(first + GROUP_ROWS, rows)
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
        for first in range(0, len(found.t), GROUP_ROWS):
            t, value = (part[first : first + GROUP_ROWS] for part in found)
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
    cells = {name: [getattr(row, name) for row in rows] for name in _REGISTRY_COLUMNS}
    yield {"session_id": session_id, **cells}


def capabilities(session_id: str, rows: Sequence[CapabilityRow]) -> Iterator[Part]:
    """What there is of each signal."""
    cells = {name: [getattr(row, name) for row in rows] for name in _CAPABILITY_COLUMNS}
    yield {"session_id": session_id, "signal_name": [row.name for row in rows], **cells}


@dataclass(slots=True)
class _Sink:
    """Collects what the writer of parquet writes, until it is taken."""

    parts: list[bytes]
    written: int = 0
    closed: bool = False

    def write(self, data: bytes) -> int:
        part = bytes(data)
        self.parts.append(part)
        self.written += len(part)
        return len(part)

    def tell(self) -> int:
        return self.written

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        self.closed = True

    def readable(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def taken(self) -> bytes:
        joined = b"".join(self.parts)
        self.parts.clear()
        return joined


def available() -> None:
    """Raises `ExportUnavailable` where pyarrow is not installed."""
    try:
        import pyarrow.parquet  # type: ignore[import-untyped] # noqa: F401 - optional on small devices
    except ImportError as error:
        raise ExportUnavailable from error


def written(table: str, parts: Iterable[Part], close: Callable[[], None]) -> Iterator[bytes]:
    """The file in pieces, about one a row group of 50,000 rows; memory holds one of them.

    *close* is called at the end, and when the iterator is closed before.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = SCHEMAS[table]
    schema = pa.schema(
        [pa.field(name, pa.type_for_alias(kind), null) for name, (kind, null) in kinds.items()]
    )
    sink = _Sink([])
    try:
        with pq.ParquetWriter(
            pa.PythonFile(sink, mode="w"), schema, compression="zstd", store_schema=False
        ) as writer:
            for group in _groups(parts, schema):
                writer.write_table(group, row_group_size=GROUP_ROWS)
                yield sink.taken()
        yield sink.taken()
    finally:
        close()


def _groups(parts: Iterable[Part], schema: "pyarrow.Schema") -> "Iterator[pyarrow.Table]":
    """Tables of exactly `GROUP_ROWS` rows, and a last one with the rest."""
    import pyarrow as pa

    waiting: list[pyarrow.Table] = []
    rows = 0
    for part in parts:
        table = _table(part, schema)
        waiting.append(table)
        rows += table.num_rows
        while rows >= GROUP_ROWS:
            whole = pa.concat_tables(waiting)
            yield whole.slice(0, GROUP_ROWS).combine_chunks()
            waiting, rows = [whole.slice(GROUP_ROWS)], rows - GROUP_ROWS
    if rows:
        yield pa.concat_tables(waiting).combine_chunks()


def _table(part: Part, schema: "pyarrow.Schema") -> "pyarrow.Table":
    import pyarrow as pa

    count = next(len(cells) for cells in part.values() if not isinstance(cells, str))
    columns = []
    for field in schema:
        cells = part[field.name]
        if isinstance(cells, str):
            columns.append(pa.repeat(pa.scalar(cells, field.type), count))
        elif isinstance(cells, np.ndarray) and cells.dtype == np.float64:
            mask = np.isnan(cells)
            columns.append(pa.array(cells, field.type, mask=mask if mask.any() else None))
        else:
            columns.append(pa.array(cells, field.type))
    return pa.Table.from_arrays(columns, schema=schema)
