"""Reads a session as the bridge hands it out: the parquet files of a lake in one zip archive."""

import json
import zipfile
from collections.abc import Mapping
from typing import BinaryIO, Final

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.formats.parquet import MOST_CELLS
from runtime.bridge.formats.rows import LARGEST_FILE
from runtime.bridge.session.recording import TIMESTAMP, WIDE, Frames, Gate, Recording, Samples

FILES: Final = ("telemetry.parquet", "signals.parquet", "laps.parquet", "session.parquet")
_DATED: Final = 1e9
"""Seconds: clocks that tell more count since 1970."""
_FACTS: Final = {
    **{name: name for name in ("session_id", "driver", "driver_level", "car", "note")},
    "track": "venue",
}
"""What the summary says of the session, and as which fact."""
_FAULTS: Final = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError),
    *(OSError, KeyError, TypeError, ValueError, OverflowError, IndexError, pa.ArrowException),
)


def read_archive(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """The session with all its channels, as it was stored. Raises `UnreadableRecording`."""
    del options  # the channels have their names already
    try:
        with zipfile.ZipFile(stream) as archive:
            if not {*FILES} <= {*archive.namelist()}:
                raise UnreadableRecording(
                    "the file is a ZIP archive, and none of a session; unpack it first"
                )
            if sum(archive.getinfo(name).file_size for name in FILES) > LARGEST_FILE:
                raise UnreadableRecording(
                    f"the archive unpacks to more than {LARGEST_FILE // 2**20} MiB"
                )
            tables = [
                pq.ParquetFile(pa.BufferReader(archive.read(name)), page_checksum_verification=True)
                for name in FILES
            ]
        return _recording(*tables)
    except UnreadableRecording:
        raise
    except _FAULTS as error:
        raise UnreadableRecording("the archive of the session is damaged") from error


def _recording(
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
    base = "utc" if columns[TIMESTAMP][0] > _DATED else "zero"
    cut = json.loads(laps.schema_arrow.metadata[b"cut"])
    return Recording(
        frames=Frames(columns),
        signals=_signals(signals.read(columns=["signal_name", "t", "value"])),
        created=about["started_at"].timestamp(),
        start=Gate(*map(float, cut["gate"])) if cut["gate"] else None,
        splits=tuple(Gate(*map(float, gate)) for gate in cut["splits"]),
        facts={"format": "paddock_session", "time_base": base, **facts},
    )


def _check_size(*files: pq.ParquetFile) -> None:
    """Refuse what would fill the memory."""
    cells = sum(file.metadata.num_rows * file.metadata.num_columns for file in files)
    if cells > MOST_CELLS:
        raise UnreadableRecording("the archive has too many cells")


def _signals(rows: pa.Table) -> Mapping[str, Samples]:
    names = rows["signal_name"].combine_chunks().dictionary_encode()
    code, t, value = names.indices.to_numpy(), rows["t"].to_numpy(), rows["value"].to_numpy()
    finite = np.isfinite(t) & np.isfinite(value)
    found = {}
    for number, name in enumerate(names.dictionary.to_pylist()):
        own = finite & (code == number)
        if own.any():
            found[str(name)] = Samples(t[own], value[own])
    return found
