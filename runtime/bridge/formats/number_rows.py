"""Parses text rows of numbers, with Arrow's CSV reader and row by row where that fails."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import csv as arrow_csv

from runtime.bridge.formats.options import UnreadableRecording
from runtime.bridge.session.recording import Numbers

LONGEST_LINE: Final = 65_536
LARGEST_FILE: Final = 512 * 1024 * 1024
MOST_ROWS: Final = 10_000_000
MOST_VALUES: Final = 100_000_000
LARGEST_VALUE: Final = 1e30
"""Larger numbers are not measurements, and their products would overflow."""
BLOCK: Final = 1 << 21
"""Bytes parsed at once."""
_PARTS: Final = 16
"""Parts that a block is cut into if Arrow refuses it; as few rows are read one by one."""
_SAMPLE_LINES: Final = 50
_ASCII: Final = bytes(range(128)) + b"?" * 128
"""Arrow wants UTF-8; no cell with a byte beyond ASCII is a number."""
_NO_PLUS: Final = bytes.maketrans(b"+", b"0")
_BEFORE_PLUS: Final = np.isin(np.arange(256), list(b" \t\r\n,eE"))
_AFTER_PLUS: Final = np.isin(np.arange(256), list(b"0123456789."))
_QUOTED: Final = re.compile(rb'"([^"\n]*)"')
NULLS: Final = ("", "-", "--", "NaN", "nan", "NAN", "null", "NULL", "N/A", "n/a", "NA")
"""Cells without a reading in exported tables."""
BLANKS: Final = " "

ReadCell: TypeAlias = Callable[[str], float]
"""Converts the text of a cell, such as a date, to a number; NaN if it has none."""


class Layout(NamedTuple):
    """How the cells of a row are divided and written."""

    columns: int
    divider: str = BLANKS
    decimal_commas: bool = False
    trailing: bool = False
    """Every row ends with a superfluous comma."""
    spaced: bool = False
    """Cells are divided by tabs or several blanks."""
    nulls: tuple[str, ...] = ("",)
    """Cells that stand for no reading."""
    texts: Mapping[int, ReadCell] = {}
    """Converters of the columns that hold no plain numbers."""


@dataclass(eq=False)
class Table:
    """The numbers of a file by column; NaN where a cell holds none."""

    columns: list[Numbers]
    first_row: tuple[str, ...]
    """The cells of the first valid row as written."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Counts of unusable rows and values by reason."""

    def __len__(self) -> int:
        return len(self.columns[0])


def read_table(
    stream: BinaryIO, columns: int, *, commas: bool = False, layout: Layout | None = None
) -> Table:
    """Read all rows to the end of the file; without a *layout* the first rows decide it.

    Rows with too few or too many cells, and rows without any number, are left out and counted.
    Raises `UnreadableRecording` if no row can be read, or if the file, a line or the table is too
    large.
    """
    skipped: Counter[str] = Counter()
    first_row: tuple[str, ...] = ()
    parts: list[list[Numbers]] = []
    rows = 0
    for block in read_blocks(stream):
        if layout is None:
            layout = find_layout(
                block.split(b"\n", _SAMPLE_LINES)[:_SAMPLE_LINES], columns, commas=commas
            )
        first_row = first_row or _find_first_row(block, layout)
        part = parse_block(block, layout, skipped)
        rows += len(part[0])
        if rows > MOST_ROWS or rows * columns > MOST_VALUES:
            most = min(MOST_ROWS, MOST_VALUES // columns)
            raise UnreadableRecording(f"the file has more than {most} rows")
        parts.append(part)
    if not rows:
        raise UnreadableRecording(_explain_no_rows(skipped, columns))
    table = []
    for at in range(columns):
        table.append(np.concatenate([part[at] for part in parts]))
        for part in parts:
            part[at] = part[at][:0]  # frees memory
    return Table(table, first_row, skipped)


def _explain_no_rows(skipped: Counter[str], columns: int) -> str:
    if not skipped:
        return "the file has no rows after [data]"
    reason, count = skipped.most_common(1)[0]
    words = reason.replace("_", " ")
    return f"no row can be read: the file names {columns} columns; {words}: {count}"


def read_blocks(stream: BinaryIO, size: int = BLOCK) -> Iterator[bytes]:
    """Yield the rest of a file in blocks of whole lines, each about *size* bytes.

    Raises `UnreadableRecording` for a line or a file that is too long.
    """
    total = 0
    while block := stream.read(size):
        if not block.endswith(b"\n"):
            block += stream.readline(LONGEST_LINE + 1)
        total += len(block)
        if total > LARGEST_FILE:
            raise UnreadableRecording(f"the file is larger than {LARGEST_FILE // 2**20} MiB")
        _check_lines(block)
        yield block


def _check_lines(block: bytes) -> None:
    start = 0
    while len(block) - start > LONGEST_LINE:  # hop from line end to line end, 64 KiB at a time
        end = block.rfind(b"\n", start, start + LONGEST_LINE + 1)
        if end < 0:
            raise UnreadableRecording(f"a line is longer than {LONGEST_LINE} bytes")
        start = end + 1


def find_layout(lines: Sequence[bytes], columns: int, *, commas: bool) -> Layout:
    """Decide from the first rows whether commas divide cells or are decimal points."""
    rows = [line for line in lines if line.strip()]
    commas_of = [line.count(b",") for line in rows]
    trailing = sum(
        count == columns and line.rstrip().endswith(b",")
        for count, line in zip(commas_of, rows, strict=True)
    )
    by_commas = commas_of.count(columns - 1) + trailing
    by_blanks = sum(len(line.split()) == columns for line in rows)
    listed = any(cell.endswith(b",") for line in rows for cell in line.split()[:-1])
    if by_commas and (commas or listed or by_commas > by_blanks):
        return Layout(columns, ",", trailing=trailing > by_commas / 2)
    if commas and not by_blanks:
        return Layout(columns, ",")
    decimal = any(b"," in line for line in rows)
    spaced = any(line.rstrip(b"\r") != b" ".join(line.split()) for line in rows)
    return Layout(columns, decimal_commas=decimal, spaced=spaced)


def parse_block(block: bytes, layout: Layout, skipped: Counter[str]) -> list[Numbers]:
    """Parse some lines into columns; unusable rows and values are counted."""
    if not block.isascii():
        block = block.translate(_ASCII)
    if layout.divider != BLANKS and b'"' in block:
        block = _remove_quotes(block, layout)
    if layout.decimal_commas and layout.divider != ",":
        block = block.replace(b",", b".")
    if layout.trailing:
        block = block.replace(b",\r\n", b"\n").replace(b",\n", b"\n")
    if layout.spaced:
        block = b"\n".join([b" ".join(line.split()) for line in block.split(b"\n")])
    parts = list(_parse(block, layout, skipped))
    return [np.concatenate([part[at] for part in parts]) for at in range(layout.columns)]


def _remove_quotes(block: bytes, layout: Layout) -> bytes:
    """Remove quotes; dividers inside them are replaced."""
    divider = layout.divider.encode()
    plain = block.replace(b'"', b"")
    if plain.count(divider) == plain.count(b"\n") * (layout.columns - 1):
        return plain
    instead = b"." if layout.decimal_commas and divider == b"," else b" "
    return _QUOTED.sub(lambda cell: cell[1].replace(divider, instead), block).replace(b'"', b"")


def _parse(block: bytes, layout: Layout, skipped: Counter[str]) -> Iterator[list[Numbers]]:
    """Yield the columns of a block in parts: Arrow refuses a block for a single odd cell."""
    plain = _replace_plus(block)
    if plain is not None:
        odd: Counter[str] = Counter()
        try:
            columns = _read_with_arrow(plain, layout, odd)
        except pa.ArrowInvalid:
            pass
        else:
            skipped += odd
            yield columns
            return
    lines = block.split(b"\n")
    if len(lines) <= _PARTS:
        yield _read_row_by_row(block, layout, skipped)
        return
    step = -(-len(lines) // _PARTS)
    for at in range(0, len(lines), step):
        yield from _parse(b"\n".join(lines[at : at + step]), layout, skipped)


def _replace_plus(block: bytes) -> bytes | None:
    """Replace plus signs, which Arrow cannot read, by zeros; None if one is not a sign."""
    text = np.frombuffer(block, np.uint8)
    at = np.flatnonzero(text == ord("+"))
    if not len(at):
        return block
    before = np.where(at > 0, text[at - 1], ord(" "))
    after = text[np.minimum(at + 1, len(text) - 1)]
    if not (_BEFORE_PLUS[before] & _AFTER_PLUS[after]).all():
        return None
    return block.translate(_NO_PLUS)


def _read_with_arrow(block: bytes, layout: Layout, skipped: Counter[str]) -> list[Numbers]:
    """Parse regular rows into columns; raises `ArrowInvalid` if a cell is not a number."""
    names = [str(at) for at in range(layout.columns)]

    def skip(row: arrow_csv.InvalidRow) -> str:
        if row.text.strip() and not _is_comment(row.text, layout):
            few = row.actual_columns < row.expected_columns
            if layout.divider == BLANKS and len(row.text.split()) == layout.columns:
                return "error"  # too many blanks, not too many cells
            skipped["rows_short" if few else "rows_long"] += 1
        return "skip"

    if not block.strip():
        return [np.empty(0)] * layout.columns
    table = arrow_csv.read_csv(
        pa.py_buffer(block),
        read_options=arrow_csv.ReadOptions(
            column_names=names, use_threads=False, block_size=len(block) + 1
        ),
        parse_options=arrow_csv.ParseOptions(
            delimiter=layout.divider, quote_char=False, double_quote=False, invalid_row_handler=skip
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types={
                name: pa.string() if at in layout.texts else pa.float64()
                for at, name in enumerate(names)
            },
            null_values=[] if layout.divider == BLANKS else list(layout.nulls),
        ),
    )
    columns = []
    for at, column in enumerate(table.columns):
        if at in layout.texts:
            read = layout.texts[at]
            texts = column.to_pylist()
            columns.append(np.array([read(text or "") for text in texts], dtype=np.float64))
            continue
        values = column.to_numpy()
        low, high = np.min(values, initial=0.0), np.max(values, initial=0.0)
        if not (low > -LARGEST_VALUE and high < LARGEST_VALUE):  # False for NaN
            bad = ~(np.abs(values) < LARGEST_VALUE)
            skipped["values_unreadable"] += int(bad.sum()) - column.null_count
            values = np.where(bad, np.nan, values)
        columns.append(values)
    return columns


def _read_row_by_row(block: bytes, layout: Layout, skipped: Counter[str]) -> list[Numbers]:
    rows: list[list[float]] = []
    for line in block.decode("latin-1").split("\n"):
        cells = _split_cells(line, layout)
        if not cells or _is_comment(line, layout):
            continue
        if len(cells) != layout.columns:
            skipped["rows_short" if len(cells) < layout.columns else "rows_long"] += 1
            continue
        row = [
            layout.texts[at](cell.strip())
            if at in layout.texts
            else read_number(cell, layout.nulls)
            for at, cell in enumerate(cells)
        ]
        unread = sum(value is None for value in row)
        if unread == len(row):
            skipped["rows_unreadable"] += 1
            continue
        skipped["values_unreadable"] += unread
        rows.append([np.nan if value is None else value for value in row])
    return list(np.array(rows, dtype=np.float64).reshape(-1, layout.columns).T)


def _split_cells(line: str, layout: Layout) -> list[str]:
    if layout.divider == BLANKS:
        return line.split()
    line = line.strip("\r\n ")
    return line.split(layout.divider) if line.strip() else []


def _is_comment(line: str, layout: Layout) -> bool:
    return layout.divider != BLANKS and line.lstrip().startswith("#")


def read_number(cell: str, nulls: Sequence[str] = ("",)) -> float | None:
    """Return the number of a cell, NaN for one of *nulls*, None for any other text."""
    if cell.strip() in nulls:
        return np.nan
    if "_" in cell or not cell.isascii():  # what only Python reads as a number
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if abs(value) < LARGEST_VALUE else None  # False for NaN


def _find_first_row(block: bytes, layout: Layout) -> tuple[str, ...]:
    for line in block.split(b"\n", _SAMPLE_LINES)[:_SAMPLE_LINES]:
        cells = _split_cells(line.decode("latin-1"), layout)
        if len(cells) == layout.columns and any(read_number(c.replace(",", ".")) for c in cells):
            return tuple(cell.strip() for cell in cells)
    return ()
