"""Reads what the bridge exports as parquet: a table of frames, or a ZIP archive of a session."""

import json
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.csv as pacsv  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from runtime.bridge.formats.number_rows import LARGEST_FILE
from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.formats.readers.csv_table import read_csv
from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, Gate, Recording, Samples

MOST_COLUMNS: Final = 1024
MOST_CELLS: Final = 50_000_000
"""Limit on the cells that a file declares; checked before the file is unpacked."""
ARCHIVE_FILES: Final = (
    "telemetry.parquet", "signals.parquet", "laps.parquet", "session.parquet",
)  # fmt: skip
_KEY_COLUMNS: Final = frozenset({"session_id", "frame_idx"})
"""Columns of the export that identify rows and hold no measurement."""
_UNIX_S: Final = 1e9
"""A clock beyond this many seconds counts from 1970."""
_FACTS: Final = {
    **{name: name for name in ("session_id", "driver", "driver_level", "car", "note")},
    "track": "venue",
}
"""The facts of a recording by column of the session table."""
_FAULTS: Final = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError),
    *(OSError, KeyError, TypeError, ValueError, OverflowError, IndexError, pa.ArrowException),
)


def read_parquet(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read the numeric columns of a parquet table. Raises `UnreadableRecording`."""
    with tempfile.TemporaryFile() as text:
        try:
            _write_csv(pq.ParquetFile(stream), text)
        except (pa.ArrowException, OSError, OverflowError) as error:
            raise UnreadableRecording(f"not a readable parquet file: {error}") from error
        text.seek(0)
        recording = read_csv(text, options)
    return replace(recording, facts={**recording.facts, "format": "parquet"})


def _write_csv(file: pq.ParquetFile, text: BinaryIO) -> None:
    """Write the table as CSV, one row group at a time."""
    schema, rows = file.schema_arrow, file.metadata.num_rows
    numbers = [
        field.name
        for field in schema
        if field.name not in _KEY_COLUMNS
        and (pa.types.is_floating(field.type) or pa.types.is_integer(field.type))
    ]
    if "signal_name" in schema.names:
        raise UnreadableRecording("the file holds signals; the frames are in the telemetry table")
    if not numbers:
        raise UnreadableRecording("the file has no column of numbers")
    if len(numbers) > MOST_COLUMNS or rows * len(numbers) > MOST_CELLS:
        raise UnreadableRecording(f"the file has too many cells: {rows} rows of {len(numbers)}")
    with pacsv.CSVWriter(text, pa.schema([schema.field(name) for name in numbers])) as writer:
        for batch in file.iter_batches(columns=numbers):
            writer.write_batch(batch)


def read_archive(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read the whole session as it was stored. Raises `UnreadableRecording`."""
    del options  # the channels are named already
    try:
        with zipfile.ZipFile(stream) as archive:
            if not {*ARCHIVE_FILES} <= {*archive.namelist()}:
                raise UnreadableRecording(
                    "the file is a ZIP archive but no exported session; unpack it first"
                )
            if sum(archive.getinfo(name).file_size for name in ARCHIVE_FILES) > LARGEST_FILE:
                raise UnreadableRecording(
                    f"the archive unpacks to more than {LARGEST_FILE // 2**20} MiB"
                )
            tables = [
                pq.ParquetFile(pa.BufferReader(archive.read(name)), page_checksum_verification=True)
                for name in ARCHIVE_FILES
            ]
        return _build_recording(*tables)
    except UnreadableRecording:
        raise
    except _FAULTS as error:
        raise UnreadableRecording("the archive of the session is damaged") from error


def _build_recording(
    telemetry: pq.ParquetFile,
    signals: pq.ParquetFile,
    laps: pq.ParquetFile,
    session: pq.ParquetFile,
) -> Recording:
    _check_size(telemetry, signals, session)
    frames = telemetry.read(columns=list(WIDE))
    columns = {name: frames[name].to_numpy().astype(np.float64) for name in WIDE}
    if not len(frames) or not np.isfinite(columns[TIMESTAMP]).all():
        raise UnreadableRecording("the archive holds no frames, or frames without a time")
    (about,) = session.read().to_pylist()
    facts = {ours: str(about[theirs]) for theirs, ours in _FACTS.items() if about[theirs]}
    base = "utc" if columns[TIMESTAMP][0] > _UNIX_S else "zero"
    cut = json.loads(laps.schema_arrow.metadata[b"cut"])
    return Recording(
        frames=Frames(columns),
        signals=_read_signals(signals.read(columns=["signal_name", "t", "value"])),
        created=about["started_at"].timestamp(),
        start=Gate(*map(float, cut["gate"])) if cut["gate"] else None,
        splits=tuple(Gate(*map(float, gate)) for gate in cut["splits"]),
        facts={"format": "paddock_session", "time_base": base, **facts},
    )


def _check_size(*files: pq.ParquetFile) -> None:
    cells = sum(file.metadata.num_rows * file.metadata.num_columns for file in files)
    if cells > MOST_CELLS:
        raise UnreadableRecording("the archive has too many cells")


def _read_signals(rows: pa.Table) -> Mapping[str, Samples]:
    names = rows["signal_name"].combine_chunks().dictionary_encode()
    code, t, value = names.indices.to_numpy(), rows["t"].to_numpy(), rows["value"].to_numpy()
    finite = np.isfinite(t) & np.isfinite(value)
    signals = {}
    for number, name in enumerate(names.dictionary.to_pylist()):
        own = finite & (code == number)
        if own.any():
            signals[str(name)] = Samples(t[own], value[own])
    return signals
