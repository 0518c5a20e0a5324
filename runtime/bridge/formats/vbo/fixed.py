"""Rows in which every number stands at one place in one form, as native loggers write them.

Eight characters at a time are taken as one 64-bit number and summed up in three multiplications,
for all rows at once, so a block costs a few passes over its numbers; what is the same in all rows
of a block is worked out once. The result is the same to the bit as that of the slower readers: up
to 15 digits are an exact integer, powers of ten up to 22 are exact, and one division rounds once.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import Numbers

_MOST_DIGITS: Final = 15
_LARGEST_POWER: Final = 22
_POWERS: Final = np.array([float(f"1e{n}") for n in range(_LARGEST_POWER + 1)])
_BESIDE: Final = np.ones(_LARGEST_POWER)
_DOWN: Final = np.concatenate((_POWERS[:0:-1], [1.0], _BESIDE))
_UP: Final = np.concatenate((_BESIDE, _POWERS))
_DIVISORS: Final = np.concatenate(([np.nan], _DOWN, -_DOWN[::-1]))
"""Of the powers -22 to 22, at 1 to 45; those of numbers below zero at -1 to -45."""
_FACTORS: Final = np.concatenate(([np.nan], _UP, _UP[::-1]))
_TOKEN: Final = re.compile(rb"\S+")
_NUMBER: Final = re.compile(rb"([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?)(\d{1,3}))?")
_FORM: Final = bytes.maketrans(b"123456789-", b"000000000+")
_BETWEEN: Final = 44
"""The character between plus and minus: 1 above the one, 1 below the other."""
_WORD: Final = 8
_TOGETHER: Final = 16
"""Rows that are compared as one: each costs a call, however short it is."""
_SUMS: Final = (
    (np.uint64(10 * (1 << 8) + 1), np.uint64(8), np.uint64(0x00FF00FF00FF00FF)),
    (np.uint64(100 * (1 << 16) + 1), np.uint64(16), np.uint64(0x0000FFFF0000FFFF)),
)
"""Neighbours are added up: digits, then pairs. Factor, shift, and what stays …"""
_LAST_SUM: Final = (np.uint64(10_000 * (1 << 32) + 1), np.uint64(32))
"""… and then fours."""

Bytes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.intp]


class _Word(NamedTuple):
    """Eight characters that end with a digit of a number."""

    column: int
    begin: int
    """In the row; below 0 where they begin in the one before."""
    places: tuple[int, ...]
    """Of the digits in it."""
    weight: float
    """Of the last of these in the number."""
    keep: int
    """Has four bits for each digit in it behind the point, or for each where there is none …"""
    shift: int
    """… and for each before the point, which move over it."""


class _Plain(NamedTuple):
    """A number without a power of ten."""

    column: int
    divisor: float
    sign: int | None
    """Its place."""


class _Powers(NamedTuple):
    """Columns with a power of ten, written alike."""

    columns: tuple[int, ...]
    zeros: npt.NDArray[np.int16]
    """Where in `_DIVISORS` each has what belongs to a written power of zero."""
    digits: tuple[Places, ...]
    """The places of the powers' first digits, then of their second …"""
    signs: tuple[Places, ...]
    """Of the numbers, if they have any, then of the powers."""
    signs_of_powers: bool


class _Form(NamedTuple):
    """Where the numbers of a row stand."""

    columns: int
    words: tuple[_Word, ...]
    """The last one of each column, then the ones before."""
    digits: Flags
    """Of each word, which characters of the row are its digits."""
    keep: Words
    shift: Words
    plain: tuple[_Plain, ...]
    powers: tuple[_Powers, ...]
    lowest: Bytes
    highest: Bytes
    """Limits of each character."""


class Scratch:
    """Memory for what is made of a block, kept for the next one: new memory costs more than sums.

    For one thread.
    """

    def __init__(self) -> None:
        self._kept: dict[str, bytearray] = {}

    def words(self, name: str, columns: int, rows: int) -> Words:
        """A table of 64-bit numbers that are anything."""
        size = columns * rows * _WORD
        if name not in self._kept or size > len(self._kept[name]):
            self._kept[name] = bytearray(size)
        return np.frombuffer(self._kept[name], np.uint64, columns * rows).reshape(columns, rows)

    def numbers(self, name: str, columns: int, rows: int) -> Numbers:
        """A table of numbers that are anything."""
        return self.words(name, columns, rows).view(np.float64)


def parse_fixed(block: bytes, columns: int, scratch: Scratch | None = None) -> Numbers | None:
    """The numbers of some whole rows divided by blanks; None when they are not all of one form.

    A column's numbers lie one behind the other. With *scratch* the result holds until that is used
    again.
    """
    block = block.lstrip(b"\r\n")
    width = block.find(b"\n") + 1
    if not width or len(block) % width:
        return None
    form = _form_of(block[:width].translate(_FORM))
    if form is None or form.columns != columns:
        return None
    table = np.frombuffer(block, np.uint8).reshape(-1, width)
    lows, highs = _limits(table)
    if (lows < form.lowest).any() or (highs > form.highest).any():
        return None
    numbers = _digits(block, width, form, lows < highs, scratch or Scratch())
    done = all(_divide(numbers[one.column], table, one, lows, highs) for one in form.plain)
    done = done and all(_raise(numbers, table, one, lows, highs) for one in form.powers)
    return numbers.T if done else None


def _limits(table: Bytes) -> tuple[Bytes, Bytes]:
    """The lowest and the highest character at each place of the rows."""
    rows, width = table.shape
    if rows < _TOGETHER:
        return table.min(axis=0), table.max(axis=0)
    many = table[: rows - rows % _TOGETHER].reshape(-1, _TOGETHER * width)
    lows, highs = (of.reshape(_TOGETHER, width) for of in (many.min(axis=0), many.max(axis=0)))
    last = table[-_TOGETHER:]
    return np.vstack((lows, last)).min(axis=0), np.vstack((highs, last)).max(axis=0)


def _digits(block: bytes, width: int, form: _Form, varies: Flags, scratch: Scratch) -> Numbers:
    """What the digits of each number amount to, whatever its sign, point and power."""
    live = np.flatnonzero((form.digits & varies).any(axis=1)).tolist()
    first = _integers(block[:width], width, form, range(len(form.words)), Scratch())
    words = dict(zip(live, _integers(block, width, form, live, scratch), strict=True))
    numbers = scratch.numbers("numbers", form.columns, len(block) // width)
    for at, word in enumerate(form.words):
        column, value = numbers[word.column], words.get(at, first[at])
        if at < form.columns:
            column[:] = value
        else:
            column += value * word.weight
    return numbers


def _integers(
    block: bytes, width: int, form: _Form, chosen: Sequence[int], scratch: Scratch
) -> npt.NDArray[np.int64]:
    """What the digits of some words amount to."""
    rows = len(block) // width
    words = scratch.words("words", len(chosen), rows)
    before = scratch.words("before", len(chosen), rows)
    if width < _WORD:
        block += bytes(_WORD)
    for row, at in zip(words, chosen, strict=True):
        begin = form.words[at].begin
        row[:] = np.ndarray((rows,), "<u8", block, max(begin, 0), (width,))
        if begin < 0:
            row <<= np.uint64(-8 * begin)
    np.bitwise_and(words, form.shift[chosen], out=before)
    before <<= np.uint64(8)
    words &= form.keep[chosen]
    words |= before
    for factor, shift, stays in _SUMS:
        words *= factor
        words >>= shift
        words &= stays
    words *= _LAST_SUM[0]
    words >>= _LAST_SUM[1]
    return words.view(np.int64)


def _divide(column: Numbers, table: Bytes, form: _Plain, lows: Bytes, highs: Bytes) -> bool:
    """Apply a point and a sign; whether it is one."""
    _, divisor, sign = form
    varies = sign is not None and lows[sign] < highs[sign]
    if sign is not None and not varies:
        divisor *= _BETWEEN - int(lows[sign])
    if not divisor:
        return False
    if divisor != 1.0:
        column /= divisor
    if not varies:
        return True
    turns = np.subtract(float(_BETWEEN), table[:, sign])
    column *= turns
    return bool(turns.all())


def _raise(numbers: Numbers, table: Bytes, form: _Powers, lows: Bytes, highs: Bytes) -> bool:
    """Apply powers of ten, and the signs of their numbers; whether all can be."""
    power = np.zeros((len(table), len(form.columns)), np.int16)
    for places in form.digits:
        power *= np.int16(10)
        power += _taken(table, places, lows, highs) - np.int16(ord("0"))
    turns = [np.int16(_BETWEEN) - _taken(table, places, lows, highs) for places in form.signs]
    if not all(turn.all() for turn in turns):
        return False
    if form.signs_of_powers:
        power *= turns.pop()
    power += form.zeros
    highest = power.max()
    if power.min() < 1 or highest > 2 * _LARGEST_POWER + 1:
        return False
    for turn in turns:
        power *= turn
    for column, at in zip(form.columns, power.T.astype(np.intp, order="C"), strict=True):
        numbers[column] /= _DIVISORS.take(at)  # this or the factor is 1, so only one step rounds
        if highest > _LARGEST_POWER + 1:
            numbers[column] *= _FACTORS.take(at)
    return True


def _taken(table: Bytes, places: Places, lows: Bytes, highs: Bytes) -> Bytes:
    """Some characters of all rows, or of one where these are alike."""
    alike = np.array_equal(lows[places], highs[places])
    return lows[places] if alike else table.take(places, axis=1)


@lru_cache(maxsize=64)
def _form_of(row: bytes) -> _Form | None:
    """Where the numbers of a row stand; *row* has zeros for digits and plus for signs."""
    cells = [_NUMBER.fullmatch(row, *token.span()) for token in _TOKEN.finditer(row)]
    found = [cell for cell in cells if cell is not None]
    digits = [(*range(*cell.span(2)), *range(*cell.span(3))) for cell in found]
    if len(found) < len(cells) or max(map(len, digits), default=0) > _MOST_DIGITS:
        return None
    last = [_word(column, places, 1.0) for column, places in enumerate(digits)]
    rest = [places[: -len(word.places)] for places, word in zip(digits, last, strict=True)]
    weights = [10.0 ** len(word.places) for word in last]
    before = [
        _word(at, *both) for at, both in enumerate(zip(rest, weights, strict=True)) if both[0]
    ]
    words = (*last, *before)
    depends = np.zeros((len(words), len(row)), np.bool_)
    for at, word in enumerate(words):
        depends[at, word.places] = True
    pattern = np.frombuffer(row, np.uint8)
    reach = np.zeros(len(row), np.uint8)
    reach[pattern == ord("+")] = 2  # up to a minus
    reach[pattern == ord("0")] = 9
    return _Form(
        len(found),
        words,
        depends,
        np.array([[word.keep] for word in words], np.uint64),
        np.array([[word.shift] for word in words], np.uint64),
        tuple(
            _Plain(column, float(_POWERS[len(cell[3] or b"")]), cell.start(1) if cell[1] else None)
            for column, cell in enumerate(found)
            if not cell[5]
        ),
        tuple(_powers(found)),
        pattern,
        pattern + reach,
    )


def _word(column: int, digits: Sequence[int], weight: float) -> _Word:
    """The last eight characters up to a digit, and which of them are digits of the number."""
    begin = digits[-1] + 1 - _WORD
    inside = tuple(place for place in digits if place >= begin)
    keep = shift = 0
    for place in inside:
        moves = digits[-1] - place > digits[::-1].index(place)  # the point lies behind it
        four = 0x0F << 8 * (place - begin)
        keep, shift = (keep, shift | four) if moves else (keep | four, shift)
    return _Word(column, begin, inside, weight, keep, shift)


def _powers(cells: Sequence[re.Match[bytes]]) -> Iterator[_Powers]:
    """The columns that have powers; one group for each way to write them."""
    groups: dict[tuple[bool, bool, int], list[int]] = {}
    for column, cell in enumerate(cells):
        if cell[5]:
            groups.setdefault((bool(cell[1]), bool(cell[4]), len(cell[5])), []).append(column)
    for (signed, power_signed, digits), columns in groups.items():
        decimals = [len(cells[column][3] or b"") for column in columns]
        signs = [group for group, there in ((1, signed), (4, power_signed)) if there]
        yield _Powers(
            tuple(columns),
            np.array([_LARGEST_POWER + 1 - n for n in decimals], np.int16),
            tuple(np.array([cells[c].start(5) + n for c in columns]) for n in range(digits)),
            tuple(np.array([cells[c].start(group) for c in columns]) for group in signs),
            power_signed,
        )
