"""Reads a parquet table of frames, such as the bridge's own export: as the table that it is."""

import tempfile
from dataclasses import replace
from typing import BinaryIO, Final

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pacsv  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.formats.tables import read_csv
from runtime.bridge.session.recording import Recording

MOST_COLUMNS: Final = 1024
MOST_CELLS: Final = 50_000_000
"""Of a file that says how much it holds before it is unpacked."""
_OURS: Final = frozenset({"session_id", "frame_idx"})
"""Columns of the export that say nothing of the drive."""


def read_parquet(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read the numbers of a table. Raises `UnreadableRecording`."""
    with tempfile.TemporaryFile() as plain:
        try:
            _write_plain(pq.ParquetFile(stream), plain)
        except (pa.ArrowException, OSError, OverflowError) as error:
            raise UnreadableRecording(f"no parquet file that can be read: {error}") from error
        plain.seek(0)
        recording = read_csv(plain, options)
    return replace(recording, facts={**recording.facts, "format": "parquet"})


def _write_plain(file: pq.ParquetFile, plain: BinaryIO) -> None:
    """The table as text, a group of rows at a time."""
    schema, rows = file.schema_arrow, file.metadata.num_rows
    numbers = [
        field.name
        for field in schema
        if field.name not in _OURS
        and (pa.types.is_floating(field.type) or pa.types.is_integer(field.type))
    ]
    if "signal_name" in schema.names:
        raise UnreadableRecording("the file holds signals; the frames are in the telemetry table")
    if not numbers:
        raise UnreadableRecording("the file has no column of numbers")
    if len(numbers) > MOST_COLUMNS or rows * len(numbers) > MOST_CELLS:
        raise UnreadableRecording(f"the file has too many cells: {rows} rows of {len(numbers)}")
    kept = pa.schema([schema.field(name) for name in numbers])
    with pacsv.CSVWriter(plain, kept) as writer:
        for batch in file.iter_batches(columns=numbers):
            writer.write_batch(batch)
