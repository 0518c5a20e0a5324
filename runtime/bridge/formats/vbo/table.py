"""The rows of a VBO file as columns: fast where they are regular, row by row where they are not."""

import io
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, Final, NamedTuple

import numpy as np

from runtime.bridge.formats.vbo.errors import VboError
from runtime.bridge.formats.vbo.fixed import Scratch, parse_fixed
from runtime.bridge.formats.vbo.sections import LONGEST_LINE
from runtime.bridge.formats.vbo.shelf import Shelf
from runtime.bridge.session.recording import Numbers

LARGEST_FILE: Final = 512 * 1024 * 1024
MOST_ROWS: Final = 10_000_000
MOST_VALUES: Final = 100_000_000
LARGEST_VALUE: Final = 1e30
"""Larger numbers are no readings, and would overflow in products."""
BLOCK: Final = 1_048_576
"""Bytes that are worked on at once: all that is made of them stays near the processor."""
_EMPTY: Final = -9e307
_EMPTY_TEXT: Final = b"-9e307"
"""Stands in empty cells, so that a written ``nan`` is told apart from nothing."""
LARGE: Final = 8_000_000
"""Numbers of a table that is better kept elsewhere: 64 MB."""
_ROWS_WAITING: Final = 16_384
_PIECE: Final = 32
_LOOKED_AT: Final = 50
_MANY_ALIKE: Final = 64
"""So many rows of one length are worth to be looked at together."""


class Layout(NamedTuple):
    """How the cells of a row are divided and written."""

    columns: int
    commas: bool = False
    """Cells are divided by commas instead of blanks."""
    decimal_commas: bool = False
    trailing: bool = False
    """Every row ends with a comma that divides nothing."""


@dataclass(eq=False)
class Table:
    """The numbers of a file by column; NaN where a cell held none."""

    columns: list[Numbers]
    first_row: tuple[str, ...]
    """The cells of the first good row as they are written."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Rows and values that could not be used, by what was wrong."""

    def __len__(self) -> int:
        return len(self.columns[0])


def read_table(
    stream: BinaryIO, columns: int, *, commas: bool, shelf: Shelf | None = None
) -> Table:
    """Read every row to the end of the file.

    Rows with too few or too many cells, and rows without any number, are left out and counted.
    Memory is 8 bytes a value and a few blocks; with a *shelf*, large tables lie there. Raises
    VboError when no row can be read, or when the file, a line or the table is too large.
    """
    skipped: Counter[str] = Counter()
    kept: _Columns | _Shelved | None = None
    layout: Layout | None = None
    left = _size_left(stream)
    rows = 0
    first_row: tuple[str, ...] = ()
    scratch = Scratch()
    for block in blocks(stream):
        if layout is None:
            layout = find_layout(block.split(b"\n")[:_LOOKED_AT], columns, commas=commas)
        if not first_row:
            first_row = _first_row(block, layout)
        values = parse_block(block, layout, skipped, scratch)
        rows += len(values)
        if rows > MOST_ROWS or rows * columns > MOST_VALUES:
            raise VboError(f"the file has more than {min(MOST_ROWS, MOST_VALUES // columns)} rows")
        if not len(values):
            continue
        if kept is None:
            expected = min(left * len(values) // len(block), MOST_ROWS)
            large = shelf is not None and expected * columns >= LARGE
            kept = _Shelved(columns, shelf) if shelf and large else _Columns(columns, expected)
        kept.add(values)
    if kept is None:
        raise VboError(_nothing_read(skipped, columns))
    return Table(kept.take(), first_row, skipped)


def _readings(values: Numbers, skipped: Counter[str]) -> Numbers:
    """The same with NaN for all that can be no reading; what is no empty cell is counted."""
    if not len(values) or (values.max() < LARGEST_VALUE and values.min() > -LARGEST_VALUE):
        return values
    bad = ~(np.abs(values) < LARGEST_VALUE)  # NaN and infinities too
    skipped["values_unreadable"] += int(bad.sum()) - int((values == _EMPTY).sum())
    values[bad] = np.nan
    return values


class _Columns:
    """Columns that grow: each value is written once, at its place."""

    def __init__(self, count: int, expected: int) -> None:
        # What is never written costs no memory, so the guess may be generous.
        self._table = np.empty((count, expected + expected // 16 + 1))
        self._rows = 0

    def add(self, values: Numbers) -> None:
        """Put rows behind the others."""
        end, (count, room) = self._rows + len(values), self._table.shape
        if end > room:
            grown = np.empty((count, max(end, 2 * room)))
            grown[:, : self._rows] = self._table[:, : self._rows]
            self._table = grown
        self._table[:, self._rows : end] = values.T
        self._rows = end

    def take(self) -> list[Numbers]:
        """The columns; nothing can be added any more."""
        return list(self._table[:, : self._rows])


class _Shelved:
    """Columns that grow on a shelf."""

    def __init__(self, count: int, shelf: Shelf) -> None:
        self._shelf = shelf
        most = min(MOST_ROWS, MOST_VALUES // count)
        self._places = [shelf.reserve(most) for _ in range(count)]
        self._waiting = np.empty((count, _ROWS_WAITING))
        self._filled = 0
        self._rows = 0

    def add(self, values: Numbers) -> None:
        """Put rows behind the others."""
        while len(values):
            part = values[: _ROWS_WAITING - self._filled]
            self._waiting[:, self._filled : self._filled + len(part)] = part.T
            self._filled += len(part)
            values = values[len(part) :]
            if self._filled == _ROWS_WAITING:
                self._put_away()

    def take(self) -> list[Numbers]:
        """The columns; nothing can be added any more."""
        self._put_away()
        return [self._shelf.view(place, self._rows) for place in self._places]

    def _put_away(self) -> None:
        for place, column in zip(self._places, self._waiting, strict=True):
            self._shelf.write(place + 8 * self._rows, column[: self._filled])
        self._rows += self._filled
        self._filled = 0


def _size_left(stream: BinaryIO) -> int:
    """Bytes up to the end of a file; 0 where it is not known."""
    try:
        if not stream.seekable():
            return 0
        here = stream.tell()
        end = stream.seek(0, io.SEEK_END)
        stream.seek(here)
    except (OSError, ValueError):
        return 0
    return min(max(end - here, 0), LARGEST_FILE)


def _nothing_read(skipped: Counter[str], columns: int) -> str:
    if not skipped:
        return "the file has no rows after [data]"
    worst, times = skipped.most_common(1)[0]
    what = worst.replace("_", " ")
    return f"no row can be read: the file names {columns} columns; {what}: {times}"


def blocks(stream: BinaryIO, size: int = BLOCK) -> Iterator[bytes]:
    """The rest of a file in pieces of whole lines, each about *size* bytes.

    Raises VboError for a line or a file that is too long.
    """
    rest, total = b"", 0
    while read := stream.read(size):
        total += len(read)
        if total > LARGEST_FILE:
            raise VboError(f"the file is larger than {LARGEST_FILE // 2**20} MiB")
        cut = read.rfind(b"\n") + 1
        if not cut:
            rest += read
            _check_lines(rest)
            continue
        block = b"".join((rest, memoryview(read)[:cut]))
        rest = read[cut:]
        _check_lines(block)
        yield block
    _check_lines(rest)
    if rest:
        yield rest


def _check_lines(block: bytes) -> None:
    start = 0
    while len(block) - start > LONGEST_LINE:  # hop from line end to line end, 64 KiB at a time
        end = block.rfind(b"\n", start, start + LONGEST_LINE + 1)
        if end < 0:
            raise VboError(f"a line is longer than {LONGEST_LINE} bytes")
        start = end + 1


def find_layout(lines: Sequence[bytes], columns: int, *, commas: bool) -> Layout:
    """Decide from the first rows whether commas divide cells or stand for decimal points."""
    rows = [line for line in lines if line.strip()]
    commas_of = [line.count(b",") for line in rows]
    trailing = sum(
        c == columns and line.rstrip().endswith(b",")
        for c, line in zip(commas_of, rows, strict=True)
    )
    by_commas = commas_of.count(columns - 1) + trailing
    by_blanks = sum(len(line.split()) == columns for line in rows)
    listed = any(cell.endswith(b",") for line in rows for cell in line.split()[:-1])
    if by_commas and (commas or listed or by_commas > by_blanks):
        return Layout(columns, commas=True, trailing=trailing > by_commas / 2)
    if by_blanks or not commas:
        return Layout(columns, decimal_commas=any(b"," in line for line in rows))
    return Layout(columns, commas=True)


def parse_block(
    block: bytes, layout: Layout, skipped: Counter[str], scratch: Scratch | None = None
) -> Numbers:
    """The rows of some lines as a table of numbers; what cannot be used is counted.

    With *scratch* the result holds until that is used again.
    """
    if not block or block.isspace():
        return np.empty((0, layout.columns))
    block = _points(block, layout)
    if layout.commas:
        return _loose(block, layout, skipped)
    scratch = scratch or Scratch()
    fixed = parse_fixed(block, layout.columns, scratch)
    if fixed is not None:
        return _readings(fixed, skipped)
    tables = []
    for piece in _pieces(block):
        fixed = parse_fixed(piece, layout.columns, scratch)
        if fixed is None:
            tables.append(_loose(piece, layout, skipped))
        else:
            tables.append(_readings(fixed, skipped).copy())
    return np.concatenate(tables)


def _pieces(block: bytes) -> Iterator[bytes]:
    """The lines of a block: many in a row that are of one length, and what lies between those."""
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n")) + 1
    if not len(ends) or ends[-1] < len(block):
        ends = np.append(ends, len(block))
    lengths = np.diff(ends, prepend=0)
    begins = np.concatenate(([0], np.flatnonzero(np.diff(lengths)) + 1))
    many = np.diff(begins, append=len(ends)) >= _MANY_ALIKE
    cuts = {0, len(block)}
    for first, behind in zip(begins[many], np.append(begins, len(ends))[1:][many], strict=True):
        cuts |= {int(ends[first] - lengths[first]), int(ends[behind - 1])}
    for start, end in itertools.pairwise(sorted(cuts)):
        yield block[start:end]


def _loose(block: bytes, layout: Layout, skipped: Counter[str]) -> Numbers:
    """Rows of any form, a few at a time where they are not all regular."""
    if not block or block.isspace():
        return np.empty((0, layout.columns))
    lines = block.decode("latin-1").split("\n")
    values = _regular(lines, layout)
    if values is not None:
        return _readings(values, skipped)
    tables = []
    for at in range(0, len(lines), _PIECE):
        piece = lines[at : at + _PIECE]
        values = _regular(piece, layout) if any(map(str.strip, piece)) else None
        if values is None:
            tables.append(_row_by_row(piece, layout, skipped))
        else:
            tables.append(_readings(values, skipped))
    return np.concatenate(tables)


def _points(block: bytes, layout: Layout) -> bytes:
    if layout.decimal_commas:
        return block.replace(b",", b".")
    if not layout.commas:
        return block
    if layout.trailing:
        block = block.replace(b",\r\n", b"\n").replace(b",\n", b"\n")
    if b",," in block:
        for _ in range(2):  # the second time fills every other one of a row of empty cells
            block = block.replace(b",,", b"," + _EMPTY_TEXT + b",")
    if b"\n," in block:
        block = block.replace(b"\n,", b"\n" + _EMPTY_TEXT + b",")
    if b",\n" in block or b",\r" in block:
        block = block.replace(b",\n", b"," + _EMPTY_TEXT + b"\n")
        block = block.replace(b",\r", b"," + _EMPTY_TEXT + b"\r")
    return block


def _regular(lines: list[str], layout: Layout) -> Numbers | None:
    try:
        values = np.loadtxt(
            lines,
            dtype=np.float64,
            comments=None,
            delimiter="," if layout.commas else None,
            ndmin=2,
        )
    except ValueError:
        return None
    return values if values.shape[1] == layout.columns else None


def _row_by_row(lines: Sequence[str], layout: Layout, skipped: Counter[str]) -> Numbers:
    rows: list[list[float]] = []
    for line in lines:
        cells = _cells(line, layout)
        if not cells:
            continue
        if len(cells) != layout.columns:
            skipped["rows_short" if len(cells) < layout.columns else "rows_long"] += 1
            continue
        row = [_number(cell) for cell in cells]
        unread = sum(value is None for value in row)
        if unread == len(row):
            skipped["rows_unreadable"] += 1
            continue
        skipped["values_unreadable"] += unread
        rows.append([np.nan if value is None else value for value in row])
    return np.array(rows, dtype=np.float64).reshape(-1, layout.columns)


def _cells(line: str, layout: Layout) -> list[str]:
    if not layout.commas:
        return line.split()
    line = line.strip()
    return line.split(",") if line else []


def _number(cell: str) -> float | None:
    """A cell's number, NaN for an empty cell, None for anything else."""
    if not cell.strip():
        return np.nan
    if "_" in cell or not cell.isascii():  # Python's own digits and separators are no VBO
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    if value == _EMPTY:
        return np.nan
    return value if abs(value) < LARGEST_VALUE else None  # a written NaN or infinity is none


def _first_row(block: bytes, layout: Layout) -> tuple[str, ...]:
    for line in block.decode("latin-1").split("\n", _LOOKED_AT)[:_LOOKED_AT]:
        cells = _cells(line, layout)
        if len(cells) == layout.columns and any(_number(c.replace(",", ".")) for c in cells):
            return tuple(cell.strip() for cell in cells)
    return ()
