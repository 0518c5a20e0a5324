"""Export of tables as parquet, with the same bytes from either engine."""

import contextlib
import io
from collections.abc import (
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from runtime.bridge.session.recording import TIMESTAMP, WIDE, WIDE_SIGNALS, Numbers
from runtime.bridge.storage.backend import Connection
from runtime.bridge.storage.errors import BadTable, NoRows, StoreBusy
from runtime.bridge.storage.reading import Readers
from runtime.bridge.storage.records import CapabilityRow, Export, SignalRow
from runtime.bridge.storage.transaction import Session, State, load_spans

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

GROUP_ROWS: Final = 50_000
MOST: Final = 8
"""Exports that may run at the same time."""

Cells: TypeAlias = Numbers | npt.NDArray[np.int64] | Sequence[object]
"""Numbers (NaN is null), or plain values (None is null)."""
Part: TypeAlias = Mapping[str, Cells | str]
"""Rows: columns of equal length, at least one of them an array; a text is the same in every row."""

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
_FIELDS: Final = {"signal_name": "name"}
"""Fields of the records whose names differ from the column's."""


class Exports:
    """Makes exports, of which at most `MOST` run at the same time."""

    def __init__(self, state: State, readers: Readers) -> None:
        self._state = state
        self._readers = readers
        self._running = 0

    async def export(self, session_id: str, table: str) -> Export:
        """See `Store.export`."""
        if table not in TABLES:
            raise BadTable(f"unknown table; known: {', '.join(TABLES)}")
        session = self._state.sessions.get(session_id)
        if session is None:
            raise NoRows("no such session", session_id=session_id, table=table)
        if self._running >= MOST:
            raise StoreBusy("other exports are running; try again")
        connection = await self._readers.run(self._readers.open)
        try:
            rows, parts = await self._readers.run(lambda: self._start(table, session, connection))
            if not rows:
                raise NoRows("the table has no rows", session_id=session_id, table=table)
        except BaseException:
            connection.close()
            raise
        return Export(rows, self._batches(write_parquet(table, parts, connection.close)))

    async def _batches(self, pieces: Generator[bytes, None, None]) -> AsyncIterator[bytes]:
        self._running += 1
        try:
            while (piece := await self._readers.run(lambda: next(pieces, None))) is not None:
                if piece:
                    yield piece
        finally:
            self._running -= 1
            with contextlib.suppress(ValueError):  # still running in its thread, where it ends
                pieces.close()

    def _start(
        self, table: str, session: Session, connection: Connection
    ) -> tuple[int, Iterator[Part]]:
        """Return the number of rows, and the rows; the transaction stays open to read them."""
        connection.begin()
        if table == "telemetry":
            return session.n_frames, _read_telemetry(connection, session)
        signals = self._state.catalogue()
        if table == "telemetry_signals":
            counts = connection.signals(session.key)
            by_name = sorted((signals[signal] for signal in counts), key=lambda row: row.name)
            return sum(counts.values()), _read_signals(connection, session, by_name)
        rows: Sequence[SignalRow | CapabilityRow] = list(signals.values())
        if table == "capabilities":
            spans = session.spans
            spans = load_spans(connection, session.key) if spans is None else spans
            rows = self._state.capabilities(session, spans)
        cells: dict[str, Sequence[object]] = {
            name: [getattr(row, _FIELDS.get(name, name)) for row in rows]
            for name in list(SCHEMAS[table])[1:]
        }
        return len(rows), iter([{"session_id": session.session_id, **cells}])


def _read_telemetry(connection: Connection, session: Session) -> Iterator[Part]:
    for first in range(0, session.n_frames, GROUP_ROWS):
        behind = min(first + GROUP_ROWS, session.n_frames)
        yield {
            "session_id": session.session_id,
            "frame_idx": np.arange(first, behind),
            **dict(zip(WIDE, connection.frames(session.key, first, behind), strict=True)),
        }


def _read_signals(
    connection: Connection, session: Session, signals: Sequence[SignalRow]
) -> Iterator[Part]:
    for signal in signals:
        t, value = connection.samples(session.key, [signal.signal_id])[signal.signal_id]
        for first in range(0, len(t), GROUP_ROWS):
            part = slice(first, first + GROUP_ROWS)
            yield {
                "session_id": session.session_id,
                "signal_name": signal.name,
                "t": t[part],
                "value": value[part],
                "units": [signal.units] * len(t[part]),
            }


class _Sink(io.RawIOBase):
    """Collects the output of the parquet writer until it is taken."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0

    def writable(self) -> bool:
        return True

    def write(self, data: "ReadableBuffer") -> int:
        self._parts.append(bytes(data))
        self._length += len(self._parts[-1])
        return len(self._parts[-1])

    def tell(self) -> int:
        return self._length

    def take(self) -> bytes:
        joined = b"".join(self._parts)
        self._parts.clear()
        return joined


def write_parquet(
    table: str, parts: Iterable[Part], close: Callable[[], None]
) -> Generator[bytes, None, None]:
    """Write the file in pieces, about one per row group of 50,000 rows, held in memory one by one.

    *close* is called at the end, or when the iterator is closed early.
    """
    kinds = SCHEMAS[table]
    schema = pa.schema(
        [pa.field(name, pa.type_for_alias(kind), null) for name, (kind, null) in kinds.items()]
    )
    sink = _Sink()
    try:
        with pq.ParquetWriter(
            pa.PythonFile(sink, mode="w"), schema, compression="zstd", store_schema=False
        ) as writer:
            for group in _group_rows(parts, schema):
                writer.write_table(group, row_group_size=GROUP_ROWS)
                yield sink.take()
        yield sink.take()
    finally:
        close()


def _group_rows(parts: Iterable[Part], schema: pa.Schema) -> Iterator[pa.Table]:
    """Regroup the rows into tables of exactly `GROUP_ROWS`, and a last one with the rest."""
    waiting: list[pa.Table] = []
    rows = 0
    for part in parts:
        table = _make_table(part, schema)
        waiting.append(table)
        rows += table.num_rows
        while rows >= GROUP_ROWS:
            whole = pa.concat_tables(waiting)
            yield whole.slice(0, GROUP_ROWS).combine_chunks()
            waiting, rows = [whole.slice(GROUP_ROWS)], rows - GROUP_ROWS
    if rows:
        yield pa.concat_tables(waiting).combine_chunks()


def _make_table(part: Part, schema: pa.Schema) -> pa.Table:
    count = next(len(cells) for cells in part.values() if not isinstance(cells, str))
    columns = []
    for field in schema:
        cells = part[field.name]
        if isinstance(cells, str):
            columns.append(pa.repeat(pa.scalar(cells, field.type), count))
        else:
            columns.append(pa.array(cells, field.type, from_pandas=True))  # NaN becomes null
    return pa.Table.from_arrays(columns, schema=schema)
