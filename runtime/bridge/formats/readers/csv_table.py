"""Reads CSV tables of numbers and similar text files, whichever program wrote them.

The first lines decide how a table is read: the divider of cells and decimals, the rows with the
names and units of the columns, the first row of data, and the column of the time.
"""

import codecs
import csv
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import BinaryIO, Final, NamedTuple

import numpy as np

from runtime.bridge.formats.column_mapping import (
    PLACES,
    Column,
    MappedColumns,
    make_unique,
    map_columns,
)
from runtime.bridge.formats.dates import LONGEST, parse_moment
from runtime.bridge.formats.encodings import read_clock, read_positions, unwrap_midnights
from runtime.bridge.formats.gps_motion import compare_paths, cut_path
from runtime.bridge.formats.logger_laps import Lap
from runtime.bridge.formats.number_rows import (
    LARGEST_FILE,
    LONGEST_LINE,
    NULLS,
    Layout,
    ReadCell,
    read_number,
    read_table,
)
from runtime.bridge.formats.options import NO_OPTIONS, Options, UnreadableRecording
from runtime.bridge.formats.readers.csv_programs import Program, find_program
from runtime.bridge.formats.recording_builder import (
    build_from_channels,
    build_from_columns,
    finish,
    select_texts,
)
from runtime.bridge.session.channels import (
    KINDS,
    NONE,
    Channel,
    Choice,
    match_channels,
    normalise_name,
    normalise_unit,
)
from runtime.bridge.session.recording import TIMESTAMP, Numbers, ReadWarning, Recording, Samples
from runtime.bridge.session.series import is_place
from runtime.bridge.session.units import KMH

MOST_COLUMNS: Final = 1024
MOST_LABELS: Final = 4096
"""Distinct texts in a column that names readings; further ones become NaN."""
_HEAD_BYTES: Final = 262_144
_MOST_LINES: Final = 300
_DIVIDERS: Final = (",", ";", "\t", "|")
_DATA_SHARE: Final = 0.5
"""Minimum share of numbers and times among the cells of a data row."""
_RUN_OF_ROWS: Final = 3
_DECIMAL_COMMA: Final = re.compile(r"\s*[+-]?\d+,\d+\s*")
_SWITCH: Final = {"true": 1.0, "on": 1.0, "yes": 1.0, "false": 0.0, "off": 0.0, "no": 0.0}
_UNIT_WORDS: Final = frozenset(unit for kind in KINDS for unit in kind)
_BRACKETS: Final = re.compile(r"[\[(]([^\[\]()]*)[\])]")
TIMES: Final = tuple(
    normalise_name(name)
    for name in (
        "timestamp unix_time unix_timestamp utc_time utc utc_timestamp date_time datetime "
        "device_time gps_time time time_of_day session_time elapsed_time seconds secs t interval "
        "millis milliseconds micros zeitstempel zeit horodatage temps marca_de_tiempo tiempo"
    ).split()
)
"""Names of columns of time, the better ones first."""
_SECONDS: Final = {
    **dict.fromkeys(("s", "sec", "secs", "seconds", "unixtime"), 1.0),
    **dict.fromkeys(("ms", "msec", "millis", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "micros", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanoseconds"), 1e-9),
    **dict.fromkeys(("min", "minutes"), 60.0),
}
_UNIX: Final = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
"""Larger counts than these are nanoseconds, microseconds and milliseconds since 1970."""
_EARLIEST: Final = 1e8
"""Smaller numbers of seconds, before 1974, are no dates of recordings."""
_LATEST: Final = 1e11
_SPARSE: Final = 0.7
"""With a smaller share of rows with a position, each row belongs to one channel."""
_SPEEDS: Final = (("km/h", 1.0), ("mph", 0.44704 * KMH), ("m/s", KMH))
_SPEED_TOLERANCE: Final = 1.15
_FACTS: Final = {"driver": "driver", "driver name": "driver", "racer": "driver", "vehicle": "car"}
_VENUES: Final = {"track": "venue", "venue": "venue", "track name": "venue"}
_CREATED: Final = ("created", "starttime", "log date", "date", "session date", "log time", "time")
_MOST_COMMENTS: Final = 40
_MAX_TEXT: Final = 500


class _Head(NamedTuple):
    """The lines before the rows, and how to read the rows."""

    fields: Mapping[str, list[str]]
    """The further cells of each line by its first cell."""
    names: list[str]
    units: list[str]
    sources: list[str]
    layout: Layout
    labels: Mapping[int, "_Labels"]
    moments: Mapping[int, str]
    """Columns with times as text: ``moment``, ``clock`` or ``day``."""
    first: list[str]
    """The cells of the first row."""
    begin: int
    """Bytes before the first row."""
    program: Program | None

    @property
    def form(self) -> str:
        return self.program.name if self.program else "csv"


def read_csv(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read a table from a seekable stream at its start. Raises `UnreadableRecording`.

    If several devices recorded a channel, the first fills the frames; the others keep their own
    name with the source. Times are Unix seconds if the table has dates, else count from zero.
    """
    with tempfile.TemporaryFile() as plain:
        stream = _decode_utf16(stream, plain)
        head = _read_head(stream)
        stream.seek(head.begin)
        table = read_table(stream, head.layout.columns, layout=head.layout)
    skipped = {code: n for code, n in table.skipped.items() if n}
    doubts = [ReadWarning(code, code.replace("_", " "), n) for code, n in skipped.items()]
    names = make_unique(_append_sources(head.names, head.sources))
    rows = zip(names, table.columns, head.units, strict=True)
    columns = [Column(name, values, unit) for name, values, unit in rows]
    clock = _read_time(head, columns, options)
    timed = np.abs(clock.t) < _LATEST  # False for NaN
    if not timed.any():
        raise UnreadableRecording("no row of the file has a time")
    if not timed.all():
        doubts.append(ReadWarning("rows_without_time", "rows left out", int(np.sum(~timed))))
        columns = [column._replace(values=column.values[timed]) for column in columns]
    clock = clock._replace(t=clock.t[timed].round(6))
    texts = [name for at, name in enumerate(names) if at in head.labels]
    if head.program and head.program.long:
        readings = _collect_readings(head, columns, clock.t, head.program.long)
        return _add_facts(_build_from_channels(head, readings, clock, options, doubts), head, clock)
    if texts:
        detail = f"columns of text are left out: {', '.join(texts)}"[:_MAX_TEXT]
        doubts.append(ReadWarning("text_columns", detail, len(texts)))
    kept = [
        column
        for at, column in enumerate(columns)
        if at not in head.labels and column.name not in clock.used
    ]
    return _add_facts(_build_from_rows(head, kept, clock, options, doubts), head, clock)


def _decode_utf16(stream: BinaryIO, plain: BinaryIO) -> BinaryIO:
    """Return the stream at its start; UTF-16 is converted to UTF-8 in *plain*."""
    mark = stream.read(2)
    stream.seek(0)
    if mark not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return stream
    decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
    size = 0
    while part := stream.read(1 << 20):
        size += plain.write(decoder.decode(part).encode("utf-8", "replace"))
        if size > LARGEST_FILE:
            raise UnreadableRecording(f"the file is larger than {LARGEST_FILE // 2**20} MiB")
    plain.seek(0)
    return plain


# The head


def _read_head(stream: BinaryIO) -> _Head:
    lines = stream.read(_HEAD_BYTES).splitlines(keepends=True)
    if any(len(line) > LONGEST_LINE for line in lines):
        raise UnreadableRecording(f"a line is longer than {LONGEST_LINE} bytes")
    if sum(map(len, lines)) == _HEAD_BYTES:
        del lines[-1]  # cut off
    del lines[_MOST_LINES:]
    texts = [_decode_line(line) for line in lines]
    divider, first, width = _find_rows(texts)
    rows = [_split_cells(text, divider) for text in texts]
    above = _find_titles(rows, texts, first, width)
    if not above:
        raise UnreadableRecording("the file names no columns above its rows")
    best = max(above, key=lambda at: (_count_names(rows[at]), -at))
    names = _read_names(rows[best], width)
    if len(names) > MOST_COLUMNS:
        raise UnreadableRecording(f"the file has more than {MOST_COLUMNS} columns")
    below = [_pad(rows[at], width) for at in above if at > best]
    units, sources = _find_units(below, width)
    units = [unit or more for unit, more in zip(units, (u for _, u in names), strict=True)]
    fields: dict[str, list[str]] = {}
    for at in range(best):
        _add_field(fields, texts[at], rows[at])
    sample = [row for row in rows[first:] if len(row) == width]
    layout, labels, moments = _find_layout(sample, divider, width)
    plain = [name for name, _ in names]
    keys = frozenset(_parse_time_name(name)[0].replace("_", "") for name in plain)
    program = find_program("".join(texts[:best])[:4096], keys)
    begin = sum(map(len, lines[:first]))
    return _Head(fields, plain, units, sources, layout, labels, moments, sample[0], begin, program)


def _decode_line(line: bytes) -> str:
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = line.decode("cp1252", errors="replace")
    return text.replace("\0", "")


def _split_cells(text: str, divider: str) -> list[str]:
    with suppress(csv.Error):
        row = next(csv.reader([text.strip("\r\n")], delimiter=divider, skipinitialspace=True), [])
        return [cell.strip() for cell in row]
    return []


def _find_rows(texts: Sequence[str]) -> tuple[str, int, int]:
    """Return the divider of cells, the line of the first row, and its number of cells."""
    best: tuple[int, str, int, int] | None = None
    for divider in _DIVIDERS:
        widths: list[int] = []  # cells of each line, 0 without numbers
        places: list[int] = []
        for at, text in enumerate(texts):
            if not text.strip() or text.lstrip().startswith("#"):
                continue
            row = _split_cells(text, divider) if divider in text else []
            widths.append(len(row) if _is_data(row) else 0)
            places.append(at)
        for width, count in Counter(filter(None, widths)).items():
            if best is None or width * count > best[0]:
                best = width * count, divider, places[_find_first_row(widths, width)], width
    if best is None:
        raise UnreadableRecording("the file is of no known format: it has no rows of numbers")
    return best[1:]


def _find_first_row(widths: Sequence[int], width: int) -> int:
    """Return the first row followed by others: a line of the head may look like data."""
    rows = [at for at, cells in enumerate(widths) if cells == width]
    return next((at for at in rows if set(widths[at : at + _RUN_OF_ROWS]) == {width}), rows[0])


def _is_data(row: Sequence[str]) -> bool:
    """Whether at least two cells, and half of the filled ones, are numbers or times."""
    filled = [cell for cell in row if cell not in NULLS]
    numbers = sum(_is_number(cell) or _classify_time(cell) != "" for cell in filled)
    return numbers >= 2 and numbers >= _DATA_SHARE * len(filled)


def _is_number(cell: str) -> bool:
    return (
        read_number(cell.replace(",", ".", 1) if _DECIMAL_COMMA.fullmatch(cell) else cell)
        is not None
    )


def _classify_time(cell: str) -> str:
    """Return ``moment``, ``clock`` or ``day`` for a time as text, else an empty string."""
    if not any(sign in cell for sign in ":/-. ") or not any(map(str.isdigit, cell)):
        return ""
    day, seconds = parse_moment(cell)
    if seconds is None:
        return "day" if day is not None else ""
    return "clock" if day is None else "moment"


def _find_titles(
    rows: Sequence[Sequence[str]], texts: Sequence[str], first: int, width: int
) -> list[int]:
    """Return the lines that may name the columns or their units, from the top."""
    lines: list[int] = []
    for at in range(first - 1, -1, -1):
        row = rows[at]
        if not any(row):
            if lines:
                break
            continue
        if texts[at].lstrip().startswith("#") and not lines:
            continue
        if not width - 1 <= len(row) <= width + 1 or _is_data(row):
            break
        lines.append(at)
    return lines[::-1]


def _count_names(row: Sequence[str]) -> int:
    """Count the cells that name a signal or a time."""
    names = [name for name, _ in map(_split_name, dict.fromkeys(row)) if name]
    times = sum(_parse_time_name(name)[0] in TIMES for name in names)
    return times + len(match_channels([Channel(name) for name in names]))


def _split_name(cell: str) -> tuple[str, str]:
    """Return a name and its unit; RaceCapture separates name, unit and limits by bars."""
    parts = [part.strip(' "') for part in cell.split("|")]
    return parts[0], parts[1] if len(parts) > 2 else ""


def _read_names(row: Sequence[str], width: int) -> list[tuple[str, str]]:
    pairs = [_split_name(cell) for cell in _pad(row, width)]
    return [(name or "unnamed", unit) for name, unit in pairs]


def _pad(row: Sequence[str], width: int) -> list[str]:
    return [*row, *[""] * width][:width]


def _find_units(below: Sequence[list[str]], width: int) -> tuple[list[str], list[str]]:
    """Return the row of units and the other row between names and data, or empty rows."""
    empty = [""] * width
    units = max(
        below,
        key=lambda row: sum(normalise_unit(cell) in _UNIT_WORDS for cell in row),
        default=empty,
    )
    return units, next((row for row in below if row is not units), empty)


def _add_field(fields: dict[str, list[str]], text: str, row: Sequence[str]) -> None:
    if text.lstrip().startswith("#"):
        name, sign, value = text.strip("# \r\n").replace("=", ":", 1).partition(":")
        row = [name, value.strip()] if sign else [name]
    if row and row[0]:
        fields.setdefault(row[0].strip(" :")[:_MAX_TEXT], [cell[:_MAX_TEXT] for cell in row[1:]])


def _find_layout(
    sample: Sequence[Sequence[str]], divider: str, width: int
) -> tuple[Layout, dict[int, "_Labels"], dict[int, str]]:
    """Return the layout of the rows, the columns of labels, and those of times as text."""
    columns = [[row[at] for row in sample if row[at] not in NULLS] for at in range(width)]
    decimal = any(_DECIMAL_COMMA.fullmatch(cell) for cells in columns for cell in cells)
    texts: dict[int, ReadCell] = {}
    labels: dict[int, _Labels] = {}
    moments: dict[int, str] = {}
    for at, cells in enumerate(columns):
        if not cells or 2 * sum(map(_is_number, cells)) >= len(cells):
            continue
        kind = Counter(map(_classify_time, cells)).most_common(1)[0][0]
        if kind:
            moments[at] = kind
            texts[at] = _READERS[kind]
        elif {cell.lower() for cell in cells} <= set(_SWITCH):
            texts[at] = _read_switch
        else:
            labels[at] = _Labels()
            texts[at] = labels[at].read
    return Layout(width, divider, decimal, nulls=NULLS, texts=texts), labels, moments


class _Labels:
    """Numbers texts in order of appearance."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def read(self, text: str) -> float:
        if text not in self.numbers and len(self.numbers) >= MOST_LABELS:
            return np.nan
        return float(self.numbers.setdefault(text, len(self.numbers)))


def _read_switch(text: str) -> float:
    return _SWITCH.get(text.strip().lower(), np.nan)


def _read_moment(text: str) -> float:
    day, seconds = parse_moment(text)
    return np.nan if day is None or seconds is None else day + seconds


def _read_clock_text(text: str) -> float:
    seconds = parse_moment(text).seconds
    return np.nan if seconds is None else seconds


def _read_day(text: str) -> float:
    day = parse_moment(text).day
    return np.nan if day is None else day


_READERS: Final[Mapping[str, Callable[[str], float]]] = {
    "moment": _read_moment,
    "clock": _read_clock_text,
    "day": _read_day,
}


def _append_sources(names: Sequence[str], sources: Sequence[str]) -> list[str]:
    """Append the source to repeated names, as in ``speed_obd``."""
    seen: set[str] = set()
    result: list[str] = []
    for name, source in zip(names, sources, strict=True):
        word = source.rpartition(":")[2].strip()
        result.append(f"{name}_{word}" if name in seen and word else name)
        seen.add(name)
    return result


# The time


class _Clock(NamedTuple):
    t: Numbers
    """Seconds; NaN where a row has no time."""
    base: str
    encoding: str
    used: frozenset[str]
    """Names of the columns that it was read from."""
    shift: float
    """Seconds from the times of the file to those of the session."""
    created: float | None
    midnights: int = 0


def _read_time(head: _Head, columns: Sequence[Column], options: Options) -> _Clock:
    """Read the finest time column; its date may come from another column or from the head."""
    created = _find_start_date(head.fields)
    clocks = [
        clock
        for at in _find_time_columns(head)
        if (clock := _read_column_time(at, head, columns, created, options)) is not None
    ]
    if not clocks and (hz := _find_sample_rate(head.fields)):
        t = np.arange(len(columns[0].values)) / hz
        return _Clock(t, "zero", "sample rate", frozenset(), 0.0, created)
    if not clocks:
        raise UnreadableRecording(
            "the file has no column of time, such as time, timestamp, zeit or temps"
        )
    best = max(clocks, key=lambda clock: len(np.unique(clock.t[np.isfinite(clock.t)])))
    dated = next((clock for clock in clocks if clock.base == "utc"), None)
    if best.base == "utc" or dated is None:
        return best
    apart = dated.t - best.t
    if not np.isfinite(apart).any():
        return best
    shift = float(np.nanmin(apart))
    used = best.used | dated.used
    return best._replace(t=best.t + shift, base="utc", used=used, shift=best.shift + shift)


def _find_sample_rate(fields: Mapping[str, list[str]]) -> float:
    """Return the rows per second that the head states, else 0."""
    cells = next((fields[name] for name in fields if name.lower() == "sample rate"), [])
    hz = read_number(cells[0]) if cells else None
    return hz if hz and 0.1 <= hz <= 100_000 else 0.0


def _find_time_columns(head: _Head) -> list[int]:
    """Return the places of columns that may be the time, the better names first."""
    named = [
        (TIMES.index(key), at)
        for at, name in enumerate(head.names)
        if (key := _parse_time_name(name)[0]) in TIMES
    ]
    places = [at for _, at in sorted(named) if at not in head.labels]
    return places or [at for at, kind in head.moments.items() if kind == "moment"]


def _parse_time_name(name: str) -> tuple[str, str]:
    """Return the name of a column in the form of `TIMES`, and the unit in it, if any."""
    inside = [normalise_unit(text) for text in _BRACKETS.findall(name)]
    plain = _BRACKETS.sub(" ", name).strip()
    unit = next((unit for unit in inside if unit in _SECONDS), "")
    head, _, last = plain.replace(" ", "_").rpartition("_")
    if head and last.lower() in _SECONDS and not unit:
        plain, unit = head, last.lower()
    return normalise_name(plain), unit


def _read_column_time(
    at: int, head: _Head, columns: Sequence[Column], created: float | None, options: Options
) -> _Clock | None:
    values, used = columns[at].values, frozenset((columns[at].name,))
    finite = values[np.isfinite(values)]
    if not len(finite):
        return None
    kind = head.moments.get(at, "")
    if kind == "day":
        return None
    if kind == "clock":
        return _read_times_of_day(values, used, head, columns, created)
    if kind == "moment":
        return _Clock(values, "utc", "iso", used, 0.0, created)
    unit = _parse_time_name(head.names[at])[1] or normalise_unit(head.units[at])
    usual = float(np.median(np.abs(finite)))
    factor = _SECONDS.get(unit) or next((f for above, f in _UNIX if usual > above), 1.0)
    if unit == "unixtime":
        factor = next((f for above, f in _UNIX if usual > above), 1.0)
    t = values * factor
    if usual * factor > _EARLIEST:
        return _Clock(t, "utc", "seconds", used, 0.0, created)
    stated = "seconds" if unit in _SECONDS else options.time_encoding
    read = read_clock(t, head.first[at], created, stated)
    first = np.flatnonzero(np.isfinite(read.t))
    shift = float(read.t[first[0]] - t[first[0]]) if len(first) else 0.0
    return _Clock(read.t, read.base, read.encoding, used, shift, created, read.midnights)


def _read_times_of_day(
    seconds: Numbers,
    used: frozenset[str],
    head: _Head,
    columns: Sequence[Column],
    created: float | None,
) -> _Clock:
    """Read times of day; the date comes from another column, else from the head."""
    seconds, midnights = unwrap_midnights(seconds)
    dates = [at for at, kind in head.moments.items() if kind == "day"]
    days = columns[dates[0]].values if dates else np.full(len(seconds), np.nan)
    finite = days[np.isfinite(days)]
    if len(finite):
        used = used | {columns[dates[0]].name}
        return _Clock(seconds + float(finite[0]), "utc", "clock", used, 0.0, created, midnights)
    start = float(np.nanmin(seconds))
    if created is not None and start > 60.0:
        day = created // 86_400.0 * 86_400.0
        return _Clock(seconds + day, "utc", "clock", used, 0.0, created, midnights)
    return _Clock(seconds - start, "zero", "clock", used, -start, created, midnights)


def _find_start_date(fields: Mapping[str, list[str]]) -> float | None:
    """Return the Unix seconds of the time in the head."""
    lower = {name.lower(): " ".join(cells) for name, cells in fields.items()}
    text = " ".join(lower[name][:40] for name in _CREATED if name in lower)
    return parse_moment(text[:LONGEST]).unix


# The recording


def _build_from_rows(
    head: _Head,
    columns: Sequence[Column],
    clock: _Clock,
    options: Options,
    doubts: list[ReadWarning],
) -> Recording:
    """Build a recording with one frame per row."""
    preset = head.program.channels if head.program else {}
    there = {column.name for column in columns}
    own = {
        signal: Choice(text, "name")
        for signal, text in preset.items()
        if text == NONE or there & {text, text.rpartition(":")[0]}
    }
    kept = map_columns(columns, clock.t, head.form, options, own)
    wide = dict(kept.wide)
    nothing = np.full(len(clock.t), np.nan)
    raw = [wide.get(name, nothing) for name in PLACES]
    placed = all(np.isfinite(values).any() for values in raw)
    in_degrees = placed and np.nanmax(np.abs(raw[0])) <= 90 and np.nanmax(np.abs(raw[1])) <= 180
    forced = options.coordinate_encoding or ("degrees" if in_degrees or not placed else None)
    speed = wide.get("speed_ms", nothing)
    heading = kept.tall.get("heading_deg", nothing)
    positions = read_positions(raw[0], raw[1], clock.t, speed, heading, forced)
    doubts += positions.doubts
    if not placed:
        doubts.append(ReadWarning("no_positions", "the file has no latitude and longitude"))
    share = float(np.mean(np.isfinite(positions.lat)))
    wide |= {"lat": positions.lat, "lon": positions.lon}
    if placed and share < _SPARSE:
        return _build_from_channels(
            head, _collect_samples(columns, wide, kept, clock.t), clock, options, doubts
        )
    fitted, speed_doubts = _fit_speed(wide, clock.t, kept)
    recording = build_from_columns(
        {**wide, **fitted, TIMESTAMP: clock.t},
        kept.tall,
        unmapped=kept.unmapped,
        facts={"coordinate_encoding": positions.encoding},
        doubts=[*doubts, *kept.doubts, *speed_doubts],
        created=clock.created,
        comments=(),
    )
    laps = _read_laps(head, clock)
    mapping = dict(kept.mapping)
    if speed_doubts:
        unit = speed_doubts[0].detail.split()[-1]
        mapping["speed_ms"] = mapping["speed_ms"]._replace(unit=unit)
    return replace(finish(recording, laps), mapping=mapping, logger=kept.logger)


def _fit_speed(
    wide: Mapping[str, Numbers], t: Numbers, kept: MappedColumns
) -> tuple[dict[str, Numbers], list[ReadWarning]]:
    """Scale a speed without a stated unit to the unit that agrees with the positions."""
    mapped = kept.mapping.get("speed_ms")
    if mapped is None or not mapped.assumed:
        return {}, []
    lat, lon, speed = wide["lat"], wide["lon"], wide["speed_ms"]
    for unit, factor in _SPEEDS:
        scaled = speed * factor
        ratio = compare_paths(lat, lon, cut_path(t, is_place(lat, lon), scaled))
        if 1 / _SPEED_TOLERANCE < ratio < _SPEED_TOLERANCE:
            text = f"the positions say that the speed is in {unit}"
            doubts = [] if unit == mapped.unit else [ReadWarning("speed_unit_found", text)]
            return {"speed_ms": scaled}, doubts
    return {}, []


def _collect_samples(
    columns: Iterable[Column], wide: Mapping[str, Numbers], kept: MappedColumns, t: Numbers
) -> dict[str, tuple[Samples, str]]:
    """Return the values of each column with its unit; positions in degrees."""
    places = {kept.mapping[name].channel: wide[name] for name in PLACES if name in kept.mapping}
    samples = {}
    for column in columns:
        values = places.get(column.name, column.values)
        there = np.isfinite(values)
        if there.any():
            samples[column.name] = Samples(t[there], values[there]), column.unit
    return samples


def _collect_readings(
    head: _Head, columns: Sequence[Column], t: Numbers, names: tuple[str, str, str]
) -> dict[str, tuple[Samples, str]]:
    """Return the channels of a table with one reading per row, with their units."""
    at = {name.upper(): place for place, name in enumerate(head.names)}
    name_at, value_at, unit_at = (at.get(name, -1) for name in names)
    if min(name_at, value_at, unit_at) < 0 or name_at not in head.labels:
        raise UnreadableRecording("the file has no named channel")
    codes, values = columns[name_at].values, columns[value_at].values
    units = list(head.labels[unit_at].numbers) if unit_at in head.labels else []
    readings = {}
    for name, code in head.labels[name_at].numbers.items():
        mine = np.flatnonzero((codes == code) & np.isfinite(values))
        if name and len(mine):
            unit = columns[unit_at].values[mine[0]]
            word = units[int(unit)] if np.isfinite(unit) and unit < len(units) else ""
            readings[name] = Samples(t[mine], values[mine]), word
    for place, name in enumerate(head.names):
        if place not in (name_at, value_at, unit_at) and name.upper().startswith(("LAT", "LON")):
            there = np.isfinite(columns[place].values) & (columns[place].values != 0.0)
            own = "Longitude" if name.upper().startswith("LON") else "Latitude"
            if there.any():
                readings[own] = Samples(t[there], columns[place].values[there]), "deg"
    return readings


def _build_from_channels(
    head: _Head,
    channels: Mapping[str, tuple[Samples, str]],
    clock: _Clock,
    options: Options,
    doubts: Sequence[ReadWarning],
) -> Recording:
    """Build a recording of channels that each have their own times."""
    return build_from_channels(
        {name: samples for name, (samples, _) in channels.items()},
        {name: unit for name, (_, unit) in channels.items()},
        form=head.form,
        created=clock.created,
        laps=_read_laps(head, clock),
        doubts=doubts,
        options=options,
    )


def _read_laps(head: _Head, clock: _Clock) -> list[Lap]:
    """Return the laps between the beacons in the head, with the way out and in."""
    fields = head.fields
    cells = next((fields[name] for name in fields if name.lower() == "beacon markers"), [])
    texts = " ".join(cells).replace(",", "." if head.layout.decimal_commas else " ")
    moments = [float(text) for text in re.findall(r"\d+(?:\.\d+)?", texts)]
    edges = [moment + clock.shift for moment in moments[:1000]]
    begin, end = float(clock.t[0]), float(np.max(clock.t))
    inner = [moment for moment in edges if begin < moment < end - 0.25]
    whole = [Lap(a, b, whole=True) for a, b in pairwise(inner)]
    ends = [Lap(begin, inner[0], whole=False), Lap(inner[-1], end, whole=False)] if inner else []
    return [*ends[:1], *whole, *ends[1:]]


def _add_facts(recording: Recording, head: _Head, clock: _Clock) -> Recording:
    """Add the facts of the head, and how the times were read."""
    texts = {name.lower(): " ".join(_cut_at_empty(cells)) for name, cells in head.fields.items()}
    version = texts.get("format", "")
    form = f"{head.form}_{version}" if version.isdigit() and len(version) < 3 else head.form
    facts = {
        **recording.facts,
        "format": form,
        "time_encoding": clock.encoding,
        "time_base": clock.base,
        "text_divider": {",": "comma", ";": "semicolon", "\t": "tab"}.get(
            head.layout.divider, "bar"
        ),
        "decimals": "comma" if head.layout.decimal_commas else "point",
        **select_texts(texts, {**_FACTS, **_VENUES}),
    }
    if clock.midnights:
        doubt = ReadWarning("midnight", "the time of day starts again", clock.midnights)
        recording = replace(recording, doubts=(*recording.doubts, doubt))
    lines = [
        f"{name}: {text}"[:_MAX_TEXT]
        for name, cells in head.fields.items()
        if name.lower() not in (*_CREATED, "format", "beacon markers")
        and (text := " ".join(_cut_at_empty(cells)))
    ]
    return replace(recording, facts=facts, comments=tuple(lines[:_MOST_COMMENTS]))


def _cut_at_empty(cells: Sequence[str]) -> list[str]:
    return list(cells[: cells.index("")] if "" in cells else cells)
