"""Tables as parquet: the same bytes whichever engine the numbers came from."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import TIMESTAMP, WIDE, WIDE_SIGNALS, Numbers
from runtime.bridge.storage.errors import ExportUnavailable

if TYPE_CHECKING:
    import pyarrow  # type: ignore[import-untyped]

GROUP_ROWS: Final = 50_000

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
assert WIDE[0] == TIMESTAMP


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
