"""Read a RaceChrono CSV export, format 3: three rows of heads, one row a moment."""

import csv
from collections.abc import Sequence
from dataclasses import replace
from typing import BinaryIO, Final, NamedTuple

import numpy as np

from runtime.bridge.formats.assemble import finish, record, texts_of
from runtime.bridge.formats.columns import Column, Sorted, first_of, sort_columns, unique_names
from runtime.bridge.formats.motion import valid_fixes
from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.formats.rows import LONGEST_LINE, read_table
from runtime.bridge.formats.vbo.reader import MOST_COLUMNS, parse_date
from runtime.bridge.session.recording import TIMESTAMP, Numbers, ReadWarning, Recording

OPENING: Final = b"This file is created using RaceChrono"
_LATEST: Final = 1e11
_MOST_LINES: Final = 64
_KEPT_LINES: Final = ("Session title", "Session type", "Track name", "Note")

_SESSION: Final = {"Driver name": "driver", "Track name": "venue"}


class _Head(NamedTuple):
    told: dict[str, list[str]]
    names: list[str]
    units: list[str]
    sources: list[str]


def is_racechrono(first: bytes) -> bool:
    """Whether a file that begins like this is an export, and no VBO file that RaceChrono wrote."""
    head = first.lower()
    own = b"[header]" in head or b"[column names]" in head
    return first.removeprefix(b"\xef\xbb\xbf").startswith(OPENING) and not own


def read_racechrono(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read an export from a binary stream at its start. Raises `UnreadableRecording`.

    Timestamps are the file's Unix seconds. Of channels that several devices recorded, the first
    one, as a rule the GPS receiver's, fills the frame; the others keep their name and source.
    """
    if not is_racechrono(stream.read(len(OPENING) + 3)):
        raise UnreadableRecording("the file is of no known format: RaceChrono's CSV of format 3 is")
    stream.seek(0)
    head = _read_head(stream)
    table = read_table(stream, len(head.names), commas=True)
    doubts = [
        ReadWarning(code, code.replace("_", " "), n) for code, n in table.skipped.items() if n
    ]
    names = unique_names(_with_sources(head.names, head.sources))
    rows = zip(names, table.columns, head.units, strict=True)
    columns = [Column(name, values, unit) for name, values, unit in rows]
    time = first_of(columns, ("timestamp",))
    if time is None:
        raise UnreadableRecording("the file has no timestamp column")
    timed = np.abs(time.values) < _LATEST  # False for NaN
    if not timed.any():
        raise UnreadableRecording("no row of the file has a time")
    if not timed.all():
        doubts.append(ReadWarning("rows_without_time", "rows left out", int(np.sum(~timed))))
        columns = [column._replace(values=column.values[timed]) for column in columns]
    timeless = [column for column in columns if column.name != time.name]
    t = time.values[timed].round(6)
    return _recording(head, sort_columns(timeless, t, "racechrono", options), t, doubts)


def _recording(head: _Head, kept: Sorted, t: Numbers, doubts: list[ReadWarning]) -> Recording:
    nothing = np.full(len(t), np.nan)
    north, east = (kept.wide.get(name, nothing) for name in ("lat", "lon"))
    valid = valid_fixes(north, east)
    if odd := int(np.sum(~valid & np.isfinite(north) & np.isfinite(east))):
        text = "positions at 0 N 0 E, or on no globe, are null"
        doubts.append(ReadWarning("positions_impossible", text, odd))
    north, east = np.where(valid, north, np.nan), np.where(valid, east, np.nan)
    created = parse_date(" ".join(head.told.get("Created", ())))
    told = {name: " ".join(cells).strip() for name, cells in head.told.items()}
    facts = {
        "format": "racechrono_3",
        "coordinate_encoding": "degrees",
        "time_encoding": "seconds",
        "time_base": "utc",
        **texts_of(told, _SESSION),
    }
    recording = record(
        {**kept.wide, TIMESTAMP: t, "lat": north, "lon": east},
        kept.tall,
        unmapped=kept.unmapped,
        facts=facts,
        doubts=[*doubts, *kept.doubts],
        created=created.timestamp() if created else None,
        comments=[f"{name}: {told[name]}"[:500] for name in _KEPT_LINES if told.get(name)],
    )
    return replace(finish(recording), mapping=kept.mapping, logger=kept.logger)


def _read_head(stream: BinaryIO) -> _Head:
    told: dict[str, list[str]] = {}
    for _ in range(_MOST_LINES):
        cells = _row(stream)
        if cells and cells[0] == "timestamp":
            break
        if cells:
            told[cells[0]] = cells[1:]
    else:
        raise UnreadableRecording("the file has no row of column names that begins with timestamp")
    version = " ".join(told.get("Format", ["unknown"]))
    if version != "3":
        raise UnreadableRecording("only format 3 of RaceChrono's CSV exports is known")
    if len(cells) > MOST_COLUMNS:
        raise UnreadableRecording(f"the file has more than {MOST_COLUMNS} columns")
    count = len(cells)
    units, sources = (([*_row(stream)] + [""] * count)[:count] for _ in range(2))
    return _Head(told, [cell or "unnamed" for cell in cells], units, sources)


def _row(stream: BinaryIO) -> list[str]:
    line = stream.readline(LONGEST_LINE + 2)
    if len(line) > LONGEST_LINE:
        raise UnreadableRecording(f"a line is longer than {LONGEST_LINE} bytes")
    text = line.decode("utf-8-sig", errors="replace").replace("\0", "").strip()
    try:
        return [cell.strip() for row in csv.reader([text]) for cell in row]
    except csv.Error as error:
        raise UnreadableRecording("the head of the file is not valid CSV") from error


def _with_sources(names: Sequence[str], sources: Sequence[str]) -> list[str]:
    """Later columns of a name carry their source, as in ``speed_obd``."""
    seen: set[str] = set()
    result: list[str] = []
    for name, source in zip(names, sources, strict=True):
        word = source.rpartition(":")[2].strip()
        result.append(f"{name}_{word}" if name in seen and word else name)
        seen.add(name)
    return result
