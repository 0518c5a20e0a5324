"""Reads tables of numbers in text, CSV and its relatives, whichever program wrote them.

What a table looks like is found from its first lines: how cells and decimals are divided, which
row names the columns, which says their units, where the rows begin, and which column is the time.
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

from runtime.bridge.formats.column_mapping import PLACES, Column, Sorted, sort_columns, unique_names
from runtime.bridge.formats.dates import LONGEST, parse_moment
from runtime.bridge.formats.encodings import read_clock, read_positions, unwrap
from runtime.bridge.formats.gps_motion import marks, path_ratio
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
from runtime.bridge.formats.recording_builder import finish, record, record_channels, texts_of
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
"""So many different texts a column may have that names readings."""
_SAMPLED: Final = 262_144
_MOST_LINES: Final = 300
_DIVIDERS: Final = (",", ";", "\t", "|")
_PARTS: Final = 0.5
"""At least so much of a row of data are numbers or times."""
_FOLLOWED: Final = 3
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
"""A smaller number of seconds is no date of a recording: it lies before 1974."""
_LATEST: Final = 1e11
_SPARSE: Final = 0.7
"""Where fewer rows have a position, rows are moments of different channels."""
_SPEEDS: Final = (("km/h", 1.0), ("mph", 0.44704 * KMH), ("m/s", KMH))
_LIKE: Final = 1.15
_TOLD: Final = {"driver": "driver", "driver name": "driver", "racer": "driver", "vehicle": "car"}
_VENUES: Final = {"track": "venue", "venue": "venue", "track name": "venue"}
_CREATED: Final = ("created", "starttime", "log date", "date", "session date", "log time", "time")
_KEPT: Final = 40
_TEXT: Final = 500


class _Head(NamedTuple):
    """What stands before the rows."""

    told: Mapping[str, list[str]]
    """The cells behind the first one of each line, by that."""
    names: list[str]
    units: list[str]
    sources: list[str]
    layout: Layout
    labels: Mapping[int, "_Labels"]
    moments: Mapping[int, str]
    """Columns of written times: ``moment``, ``clock`` or ``day``."""
    first: list[str]
    """The cells of the first row."""
    begin: int
    """Bytes before the first row."""
    program: Program | None

    @property
    def form(self) -> str:
        """The name of the program."""
        return self.program.name if self.program else "csv"


def read_csv(stream: BinaryIO, options: Options = NO_OPTIONS) -> Recording:
    """Read a table from a seekable stream at its start. Raises `UnreadableRecording`.

    Of channels that several devices recorded the first one fills the frame; the others keep their
    name and source. Times are Unix seconds where the table has dates, else count from zero.
    """
    with tempfile.TemporaryFile() as plain:
        stream = _decoded(stream, plain)
        head = _read_head(stream)
        stream.seek(head.begin)
        table = read_table(stream, head.layout.columns, layout=head.layout)
    doubts = [
        ReadWarning(code, code.replace("_", " "), n) for code, n in table.skipped.items() if n
    ]
    names = unique_names(_with_sources(head.names, head.sources))
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
        readings = _readings(head, columns, clock.t, head.program.long)
        return _told(_by_channels(head, readings, clock, options, doubts), head, clock)
    if texts:
        detail = f"columns of text are left out: {', '.join(texts)}"[:_TEXT]
        doubts.append(ReadWarning("text_columns", detail, len(texts)))
    kept = [
        column
        for at, column in enumerate(columns)
        if at not in head.labels and column.name not in clock.used
    ]
    return _told(_by_rows(head, kept, clock, options, doubts), head, clock)


def _decoded(stream: BinaryIO, plain: BinaryIO) -> BinaryIO:
    """The stream at its start; UTF-16 is written to *plain* as UTF-8."""
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
    lines = stream.read(_SAMPLED).splitlines(keepends=True)
    if any(len(line) > LONGEST_LINE for line in lines):
        raise UnreadableRecording(f"a line is longer than {LONGEST_LINE} bytes")
    if sum(map(len, lines)) == _SAMPLED:
        del lines[-1]  # the rest of it comes later
    del lines[_MOST_LINES:]
    texts = [_text(line) for line in lines]
    divider, first, width = _find_rows(texts)
    rows = [_cells(text, divider) for text in texts]
    above = _above(rows, texts, first, width)
    if not above:
        raise UnreadableRecording("the file names no columns above its rows")
    best = max(above, key=lambda at: (_count_known(rows[at]), -at))
    names = _names(rows[best], width)
    if len(names) > MOST_COLUMNS:
        raise UnreadableRecording(f"the file has more than {MOST_COLUMNS} columns")
    below = [_padded(rows[at], width) for at in above if at > best]
    units, sources = _units(below, width)
    units = [unit or more for unit, more in zip(units, (u for _, u in names), strict=True)]
    told: dict[str, list[str]] = {}
    for at in range(best):
        _tell(told, texts[at], rows[at])
    sample = [row for row in rows[first:] if len(row) == width]
    layout, labels, moments = _layout(sample, divider, width)
    plain = [name for name, _ in names]
    keys = frozenset(_time_key(name)[0].replace("_", "") for name in plain)
    program = find_program("".join(texts[:best])[:4096], keys)
    begin = sum(map(len, lines[:first]))
    return _Head(told, plain, units, sources, layout, labels, moments, sample[0], begin, program)


def _text(line: bytes) -> str:
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = line.decode("cp1252", errors="replace")
    return text.replace("\0", "")


def _cells(text: str, divider: str) -> list[str]:
    with suppress(csv.Error):
        row = next(csv.reader([text.strip("\r\n")], delimiter=divider, skipinitialspace=True), [])
        return [cell.strip() for cell in row]
    return []


def _find_rows(texts: Sequence[str]) -> tuple[str, int, int]:
    """The divider of cells, the line of the first row, and the number of its cells."""
    best: tuple[int, str, int, int] | None = None
    for divider in _DIVIDERS:
        widths: list[int] = []  # of the lines in order, 0 for one without numbers
        places: list[int] = []
        for at, text in enumerate(texts):
            if not text.strip() or text.lstrip().startswith("#"):
                continue
            row = _cells(text, divider) if divider in text else []
            widths.append(len(row) if _is_data(row) else 0)
            places.append(at)
        for width, count in Counter(filter(None, widths)).items():
            if best is None or width * count > best[0]:
                best = width * count, divider, places[_begin(widths, width)], width
    if best is None:
        raise UnreadableRecording("the file is of no known format: it has no rows of numbers")
    return best[1:]


def _begin(widths: Sequence[int], width: int) -> int:
    """The first row that more such rows follow: a line of the head may look like one."""
    rows = [at for at, one in enumerate(widths) if one == width]
    return next(
        (at for at in rows if set(widths[at : at + _FOLLOWED]) == {width}),
        rows[0],
    )


def _is_data(row: Sequence[str]) -> bool:
    """Whether at least half of the cells that are filled are numbers or times, and two are."""
    filled = [cell for cell in row if cell not in NULLS]
    numbers = sum(_is_number(cell) or _kind(cell) != "" for cell in filled)
    return numbers >= 2 and numbers >= _PARTS * len(filled)


def _is_number(cell: str) -> bool:
    return (
        read_number(cell.replace(",", ".", 1) if _DECIMAL_COMMA.fullmatch(cell) else cell)
        is not None
    )


def _kind(cell: str) -> str:
    """``moment``, ``clock`` or ``day`` of a written time; empty: it is none."""
    if not any(sign in cell for sign in ":/-. ") or not any(map(str.isdigit, cell)):
        return ""
    day, seconds = parse_moment(cell)
    if seconds is None:
        return "day" if day is not None else ""
    return "clock" if day is None else "moment"


def _above(
    rows: Sequence[Sequence[str]], texts: Sequence[str], first: int, width: int
) -> list[int]:
    """The lines that may name the columns or their units, from the top."""
    found: list[int] = []
    for at in range(first - 1, -1, -1):
        row = rows[at]
        if not any(row):
            if found:
                break
            continue
        if texts[at].lstrip().startswith("#") and not found:
            continue
        if not width - 1 <= len(row) <= width + 1 or _is_data(row):
            break
        found.append(at)
    return found[::-1]


def _count_known(row: Sequence[str]) -> int:
    """How many cells name a signal or a time."""
    names = [name for name, _ in map(_split_name, dict.fromkeys(row)) if name]
    times = sum(_time_key(name)[0] in TIMES for name in names)
    return times + len(match_channels([Channel(name) for name in names]))


def _split_name(cell: str) -> tuple[str, str]:
    """A name and its unit; RaceCapture writes both, and limits, between bars."""
    parts = [part.strip(' "') for part in cell.split("|")]
    return parts[0], parts[1] if len(parts) > 2 else ""


def _names(row: Sequence[str], width: int) -> list[tuple[str, str]]:
    pairs = [_split_name(cell) for cell in _padded(row, width)]
    return [(name or "unnamed", unit) for name, unit in pairs]


def _padded(row: Sequence[str], width: int) -> list[str]:
    return [*row, *[""] * width][:width]


def _units(below: Sequence[list[str]], width: int) -> tuple[list[str], list[str]]:
    """The row of units, and the other row between names and data, as far as there are any."""
    empty = [""] * width
    units = max(
        below,
        key=lambda row: sum(normalise_unit(cell) in _UNIT_WORDS for cell in row),
        default=empty,
    )
    return units, next((row for row in below if row is not units), empty)


def _tell(told: dict[str, list[str]], text: str, row: Sequence[str]) -> None:
    if text.lstrip().startswith("#"):
        name, sign, value = text.strip("# \r\n").replace("=", ":", 1).partition(":")
        row = [name, value.strip()] if sign else [name]
    if row and row[0]:
        told.setdefault(row[0].strip(" :")[:_TEXT], [cell[:_TEXT] for cell in row[1:]])


def _layout(
    sample: Sequence[Sequence[str]], divider: str, width: int
) -> tuple[Layout, dict[int, "_Labels"], dict[int, str]]:
    """How the rows are read, the columns of texts, and those of written times."""
    columns = [[row[at] for row in sample if row[at] not in NULLS] for at in range(width)]
    decimal = any(_DECIMAL_COMMA.fullmatch(cell) for cells in columns for cell in cells)
    texts: dict[int, ReadCell] = {}
    labels: dict[int, _Labels] = {}
    moments: dict[int, str] = {}
    for at, cells in enumerate(columns):
        if not cells or 2 * sum(map(_is_number, cells)) >= len(cells):
            continue
        kind = Counter(map(_kind, cells)).most_common(1)[0][0]
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
    """Gives texts numbers, in the order of their coming."""

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


def _read_of_day(text: str) -> float:
    seconds = parse_moment(text).seconds
    return np.nan if seconds is None else seconds


def _read_day(text: str) -> float:
    day = parse_moment(text).day
    return np.nan if day is None else day


_READERS: Final[Mapping[str, Callable[[str], float]]] = {
    "moment": _read_moment,
    "clock": _read_of_day,
    "day": _read_day,
}


def _with_sources(names: Sequence[str], sources: Sequence[str]) -> list[str]:
    """Later columns of a name carry their source, as in ``speed_obd``."""
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
    """The columns that it was read from."""
    shift: float
    """From the times of the file to those of the session."""
    created: float | None
    midnights: int = 0


def _read_time(head: _Head, columns: Sequence[Column], options: Options) -> _Clock:
    """The finest column of time; one that has no date takes it from another, or from the head."""
    created = _created(head.told)
    clocks = [
        clock
        for at in _time_columns(head)
        if (clock := _clock_of(at, head, columns, created, options)) is not None
    ]
    if not clocks and (hz := _sample_rate(head.told)):
        t = np.arange(len(columns[0].values)) / hz
        return _Clock(t, "zero", "sample rate", frozenset(), 0.0, created)
    if not clocks:
        raise UnreadableRecording(
            "the file has no column of time: one is called time, timestamp, zeit, temps or the like"
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


def _sample_rate(told: Mapping[str, list[str]]) -> float:
    """Rows a second as the head says; 0: it does not."""
    cells = next((told[name] for name in told if name.lower() == "sample rate"), [])
    hz = read_number(cells[0]) if cells else None
    return hz if hz and 0.1 <= hz <= 100_000 else 0.0


def _time_columns(head: _Head) -> list[int]:
    """The places of columns that may be the time, the better names first."""
    named = [
        (TIMES.index(key), at)
        for at, name in enumerate(head.names)
        if (key := _time_key(name)[0]) in TIMES
    ]
    places = [at for _, at in sorted(named) if at not in head.labels]
    return places or [at for at, kind in head.moments.items() if kind == "moment"]


def _time_key(name: str) -> tuple[str, str]:
    """The name of a column in the form of `TIMES`, and its unit where the name states one."""
    inside = [normalise_unit(text) for text in _BRACKETS.findall(name)]
    plain = _BRACKETS.sub(" ", name).strip()
    unit = next((unit for unit in inside if unit in _SECONDS), "")
    head, _, last = plain.replace(" ", "_").rpartition("_")
    if head and last.lower() in _SECONDS and not unit:
        plain, unit = head, last.lower()
    return normalise_name(plain), unit


def _clock_of(
    at: int, head: _Head, columns: Sequence[Column], created: float | None, options: Options
) -> _Clock | None:
    values, used = columns[at].values, frozenset((columns[at].name,))
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    kind = head.moments.get(at, "")
    if kind == "day":
        return None
    if kind == "clock":
        return _clock_of_day(values, used, head, columns, created)
    if kind == "moment":
        return _Clock(values, "utc", "iso", used, 0.0, created)
    unit = _time_key(head.names[at])[1] or normalise_unit(head.units[at])
    usual = float(np.median(np.abs(known)))
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


def _clock_of_day(
    seconds: Numbers,
    used: frozenset[str],
    head: _Head,
    columns: Sequence[Column],
    created: float | None,
) -> _Clock:
    """Times of day, with the day of another column, else that of the head."""
    seconds, midnights = unwrap(seconds)
    dates = [at for at, kind in head.moments.items() if kind == "day"]
    days = columns[dates[0]].values if dates else np.full(len(seconds), np.nan)
    known = days[np.isfinite(days)]
    if len(known):
        used = used | {columns[dates[0]].name}
        return _Clock(seconds + float(known[0]), "utc", "clock", used, 0.0, created, midnights)
    start = float(np.nanmin(seconds))
    if created is not None and start > 60.0:
        day = created // 86_400.0 * 86_400.0
        return _Clock(seconds + day, "utc", "clock", used, 0.0, created, midnights)
    return _Clock(seconds - start, "zero", "clock", used, -start, created, midnights)


def _created(told: Mapping[str, list[str]]) -> float | None:
    """Unix seconds of the moment that the head tells."""
    lower = {name.lower(): " ".join(cells) for name, cells in told.items()}
    text = " ".join(lower[name][:40] for name in _CREATED if name in lower)
    return parse_moment(text[:LONGEST]).unix


# The recording


def _by_rows(
    head: _Head,
    columns: Sequence[Column],
    clock: _Clock,
    options: Options,
    doubts: list[ReadWarning],
) -> Recording:
    """A recording with a frame a row."""
    given = head.program.channels if head.program else {}
    there = {column.name for column in columns}
    own = {
        signal: Choice(text, "name")
        for signal, text in given.items()
        if text == NONE or there & {text, text.rpartition(":")[0]}
    }
    kept = sort_columns(columns, clock.t, head.form, options, own)
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
        return _by_channels(head, _samples(columns, wide, kept, clock.t), clock, options, doubts)
    fitted, told = _fit_speed(wide, clock.t, kept)
    recording = record(
        {**wide, **fitted, TIMESTAMP: clock.t},
        kept.tall,
        unmapped=kept.unmapped,
        facts={"coordinate_encoding": positions.encoding},
        doubts=[*doubts, *kept.doubts, *told],
        created=clock.created,
        comments=(),
    )
    laps = _laps(head, clock)
    mapping = dict(kept.mapping)
    if told:
        mapping["speed_ms"] = mapping["speed_ms"]._replace(unit=told[0].detail.split()[-1])
    return replace(finish(recording, laps), mapping=mapping, logger=kept.logger)


def _fit_speed(
    wide: Mapping[str, Numbers], t: Numbers, kept: Sorted
) -> tuple[dict[str, Numbers], list[ReadWarning]]:
    """The speed in the unit in which it agrees with the positions, where the file states none."""
    mapped = kept.mapping.get("speed_ms")
    if mapped is None or not mapped.assumed:
        return {}, []
    lat, lon, speed = wide["lat"], wide["lon"], wide["speed_ms"]
    for unit, factor in _SPEEDS:
        scaled = speed * factor
        ratio = path_ratio(lat, lon, marks(t, is_place(lat, lon), scaled))
        if 1 / _LIKE < ratio < _LIKE:
            text = f"the positions say that the speed is in {unit}"
            doubts = [] if unit == mapped.unit else [ReadWarning("speed_unit_found", text)]
            return {"speed_ms": scaled}, doubts
    return {}, []


def _samples(
    columns: Iterable[Column], wide: Mapping[str, Numbers], kept: Sorted, t: Numbers
) -> dict[str, tuple[Samples, str]]:
    """Each column where it has values, with its unit; positions in degrees."""
    places = {kept.mapping[name].channel: wide[name] for name in PLACES if name in kept.mapping}
    found = {}
    for column in columns:
        values = places.get(column.name, column.values)
        there = np.isfinite(values)
        if there.any():
            found[column.name] = Samples(t[there], values[there]), column.unit
    return found


def _readings(
    head: _Head, columns: Sequence[Column], t: Numbers, names: tuple[str, str, str]
) -> dict[str, tuple[Samples, str]]:
    """The channels of a table with one reading a row, with their units."""
    at = {name.upper(): place for place, name in enumerate(head.names)}
    name_at, value_at, unit_at = (at.get(name, -1) for name in names)
    if min(name_at, value_at, unit_at) < 0 or name_at not in head.labels:
        raise UnreadableRecording("the file has no named channel")
    codes, values = columns[name_at].values, columns[value_at].values
    units = list(head.labels[unit_at].numbers) if unit_at in head.labels else []
    found = {}
    for name, code in head.labels[name_at].numbers.items():
        mine = np.flatnonzero((codes == code) & np.isfinite(values))
        if name and len(mine):
            unit = columns[unit_at].values[mine[0]]
            word = units[int(unit)] if np.isfinite(unit) and unit < len(units) else ""
            found[name] = Samples(t[mine], values[mine]), word
    for place, name in enumerate(head.names):
        if place not in (name_at, value_at, unit_at) and name.upper().startswith(("LAT", "LON")):
            there = np.isfinite(columns[place].values) & (columns[place].values != 0.0)
            own = "Longitude" if name.upper().startswith("LON") else "Latitude"
            if there.any():
                found[own] = Samples(t[there], columns[place].values[there]), "deg"
    return found


def _by_channels(
    head: _Head,
    channels: Mapping[str, tuple[Samples, str]],
    clock: _Clock,
    options: Options,
    doubts: Sequence[ReadWarning],
) -> Recording:
    """A recording of channels that have their own moments."""
    return record_channels(
        {name: samples for name, (samples, _) in channels.items()},
        {name: unit for name, (_, unit) in channels.items()},
        form=head.form,
        created=clock.created,
        laps=_laps(head, clock),
        doubts=doubts,
        options=options,
    )


def _laps(head: _Head, clock: _Clock) -> list[Lap]:
    """The laps between the beacons that the head lists, the way out before them."""
    told = head.told
    cells = next((told[name] for name in told if name.lower() == "beacon markers"), [])
    texts = " ".join(cells).replace(",", "." if head.layout.decimal_commas else " ")
    found = [float(text) for text in re.findall(r"\d+(?:\.\d+)?", texts)]
    edges = [moment + clock.shift for moment in found[:1000]]
    begin, end = float(clock.t[0]), float(np.max(clock.t))
    inner = [moment for moment in edges if begin < moment < end - 0.25]
    whole = [Lap(a, b, whole=True) for a, b in pairwise(inner)]
    ends = [Lap(begin, inner[0], whole=False), Lap(inner[-1], end, whole=False)] if inner else []
    return [*ends[:1], *whole, *ends[1:]]


def _told(recording: Recording, head: _Head, clock: _Clock) -> Recording:
    """With what the head says of the session, and how the time was read."""
    texts = {name.lower(): " ".join(_until_empty(cells)) for name, cells in head.told.items()}
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
        **texts_of(texts, {**_TOLD, **_VENUES}),
    }
    if clock.midnights:
        doubt = ReadWarning("midnight", "the time of day starts again", clock.midnights)
        recording = replace(recording, doubts=(*recording.doubts, doubt))
    lines = [
        f"{name}: {text}"[:_TEXT]
        for name, cells in head.told.items()
        if name.lower() not in (*_CREATED, "format", "beacon markers")
        and (text := " ".join(_until_empty(cells)))
    ]
    return replace(recording, facts=facts, comments=tuple(lines[:_KEPT]))


def _until_empty(cells: Sequence[str]) -> list[str]:
    return list(cells[: cells.index("")] if "" in cells else cells)
