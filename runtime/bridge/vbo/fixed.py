"""Rows in which every number stands at one place in one form, as native loggers write them.

Eight characters at a time are taken as one 64-bit number and summed up in three multiplications,
for all rows at once, so a block costs a few passes over its numbers. The result is the same to the
bit as that of the slower readers: up to 15 digits are an exact integer, powers of ten up to 22 are
exact, and one division rounds once.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from runtime.bridge.telemetry.values import Numbers

_MOST_DIGITS: Final = 15
_LARGEST_POWER: Final = 22
_POWERS: Final = np.array([float(f"1e{n}") for n in range(_LARGEST_POWER + 1)])
_ONES: Final = np.ones(_LARGEST_POWER)
_DIVISORS: Final = np.concatenate((_POWERS[:0:-1], _ONES, [1.0]))  # of 1e-22 to 1e22
_FACTORS: Final = np.concatenate((_ONES, _POWERS))
_TOKEN: Final = re.compile(rb"\S+")
_NUMBER: Final = re.compile(rb"([+-]?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?)(\d{1,3}))?")
_FORM: Final = bytes.maketrans(b"123456789-", b"000000000+")
_WORD: Final = 8
_SUMS: Final = (
    (np.uint64(10 * (1 << 8) + 1), np.uint64(8), np.uint64(0x00FF00FF00FF00FF)),
    (np.uint64(100 * (1 << 16) + 1), np.uint64(16), np.uint64(0x0000FFFF0000FFFF)),
    (np.uint64(10_000 * (1 << 32) + 1), np.uint64(32), np.uint64(0x00000000FFFFFFFF)),
)
"""Neighbours are added up: digits, then pairs, then fours. Factor, shift, and what stays."""

Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]


class _Word(NamedTuple):
    """Eight characters that end with a digit of a number."""

    begin: int
    """In the row; below 0 where they begin in the one before."""
    digits: int
    keep: int
    """Has four bits for each digit in it behind the point, or for each where there is none …"""
    shift: int
    """… and for each before the point, which move over it."""


class _Form(NamedTuple):
    """Where the numbers of a row stand."""

    words: tuple[_Word, ...]
    """The last one of each column; then the ones before, of *long* columns; then the powers."""
    keep: Words
    shift: Words
    divisors: Numbers
    """Of each column, for the decimals of a number without a power."""
    long: tuple[int, ...]
    powers: tuple[int, ...]
    """Columns with a power of ten."""
    exponents: npt.NDArray[np.intp]
    """Of these: what is added to the power as written, so that it is a place in `_DIVISORS`."""
    signs: tuple[tuple[int, int], ...]
    """Columns with a sign, and its place."""
    power_signs: tuple[tuple[int, int], ...]
    """Powers with a sign, counted among *powers*, and its place."""
    row: bytes
    pattern: Bytes
    limit: Bytes
    """How far each character may lie above that of the pattern."""


class Scratch:
    """Memory for what is made of a block, kept for the next one: new memory costs more than sums.

    For one thread.
    """

    def __init__(self) -> None:
        self._kept: dict[str, bytearray] = {}

    def bytes(self, name: str, rows: int, columns: int) -> Bytes:
        """A table of bytes that hold anything."""
        size = rows * columns
        if name not in self._kept or size > len(self._kept[name]):
            self._kept[name] = bytearray(size)
        return np.frombuffer(self._kept[name], np.uint8, size).reshape(rows, columns)

    def words(self, name: str, rows: int, columns: int) -> Words:
        """A table of 64-bit numbers."""
        return self.bytes(name, rows, columns * _WORD).view(np.uint64)

    def numbers(self, name: str, rows: int, columns: int) -> Numbers:
        """A table of numbers."""
        return self.bytes(name, rows, columns * _WORD).view(np.float64)


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
    if form is None or len(form.divisors) != columns:
        return None
    scratch = scratch or Scratch()
    rows = len(block) // width
    text = scratch.bytes("text", 1, _WORD + len(block))[0]
    text[_WORD:] = np.frombuffer(block, np.uint8)
    above = _above(text[_WORD:].reshape(rows, width), form, scratch)
    if above is None:
        return None
    turns = _turns(above, form, scratch)
    if turns is None:
        return None
    words = _integers(text, width, rows, form, scratch)
    numbers = scratch.numbers("numbers", columns, rows)
    numbers[:] = words[:columns]
    behind = columns + len(form.long)
    for column, high in zip(form.long, words[columns:behind], strict=True):
        numbers[column] += high * 10.0 ** form.words[column].digits
    numbers /= form.divisors
    if not _raise(numbers, words[behind:], turns[len(form.signs) :], form):
        return None
    for (column, _), turn in zip(form.signs, turns, strict=False):
        numbers[column] *= turn
    return numbers.T


def _above(table: Bytes, form: _Form, scratch: Scratch) -> Bytes | None:
    """How far each character lies above that of the pattern; None where that is too far."""
    rows, width = table.shape
    tiles = _tiles(form.row, rows)
    above, far = scratch.bytes("above", rows, width), scratch.bytes("far", rows, width)
    np.subtract(table, tiles[0], out=above)
    return None if np.greater(above, tiles[1], out=far.view(np.bool_)).any() else above


def _turns(above: Bytes, form: _Form, scratch: Scratch) -> Numbers | None:
    """1 for each plus and -1 for each minus; None where there is another character."""
    places = [place for _, place in (*form.signs, *form.power_signs)]
    turns = scratch.numbers("turns", len(places), len(above))
    if places:
        np.subtract(1.0, above.take(places, axis=1).T, out=turns)
    return turns if np.count_nonzero(turns) == turns.size else None


def _integers(
    text: Bytes, width: int, rows: int, form: _Form, scratch: Scratch
) -> npt.NDArray[np.int64]:
    """What the digits of each word amount to; *text* has one word more in front."""
    words = scratch.words("words", len(form.words), rows)
    before = scratch.words("before", len(form.words), rows)
    for row, word in zip(words, form.words, strict=True):
        row[:] = np.ndarray((rows,), "<u8", text.data, _WORD + word.begin, (width,))
    np.bitwise_and(words, form.shift, out=before)
    before <<= np.uint64(8)
    words &= form.keep
    words |= before
    for factor, shift, stays in _SUMS:
        words *= factor
        words >>= shift
        words &= stays
    return words.view(np.int64)


def _raise(numbers: Numbers, powers: npt.NDArray[np.int64], turns: Numbers, form: _Form) -> bool:
    """Apply the powers of ten, whose signs are *turns*; whether each of them can be."""
    if not form.powers:
        return True
    for (at, _), turn in zip(form.power_signs, turns, strict=True):
        powers[at] *= turn.astype(np.int64)
    powers += form.exponents
    highest = powers.max()
    if powers.min() < 0 or highest > 2 * _LARGEST_POWER:
        return False
    for column, power in zip(form.powers, powers, strict=True):
        numbers[column] /= _DIVISORS.take(power)  # one of both is 1, so only one step rounds
        if highest > _LARGEST_POWER:
            numbers[column] *= _FACTORS.take(power)
    return True


@lru_cache(maxsize=4)
def _tiles(row: bytes, rows: int) -> tuple[Bytes, Bytes]:
    """Pattern and limits of so many rows."""
    form = _form_of(row)
    assert form is not None
    return np.tile(form.pattern, (rows, 1)), np.tile(form.limit, (rows, 1))


@lru_cache(maxsize=64)
def _form_of(row: bytes) -> _Form | None:
    """Where the numbers of a row stand; *row* has zeros for digits and plus for signs."""
    cells = [_NUMBER.fullmatch(row, *token.span()) for token in _TOKEN.finditer(row)]
    found = [cell for cell in cells if cell is not None]
    digits = [(*range(*cell.span(2)), *range(*cell.span(3))) for cell in found]
    if len(found) < len(cells) or max(map(len, digits), default=0) > _MOST_DIGITS:
        return None
    last = [_word(places) for places in digits]
    before = [places[: -word.digits] for places, word in zip(digits, last, strict=True)]
    decimals = [len(cell[3] or b"") for cell in found]
    powers = tuple(column for column, cell in enumerate(found) if cell[5])
    scales = [0 if cell[5] else n for cell, n in zip(found, decimals, strict=True)]
    exponents = [[_LARGEST_POWER - decimals[column]] for column in powers]
    words = (*last, *map(_word, filter(None, before)))
    words += tuple(_word(range(*found[column].span(5))) for column in powers)
    limit = np.zeros(len(row), np.uint8)
    limit[[at for at, sign in enumerate(row) if sign == ord("+")]] = 2  # up to a minus
    limit[[at for places in digits for at in places]] = 9
    limit[[at for column in powers for at in range(*found[column].span(5))]] = 9
    return _Form(
        words,
        np.array([[word.keep] for word in words], np.uint64),
        np.array([[word.shift] for word in words], np.uint64),
        _POWERS[scales].reshape(-1, 1),
        tuple(column for column, places in enumerate(before) if places),
        powers,
        np.array(exponents, np.int64).reshape(-1, 1),
        tuple((column, cell.start(1)) for column, cell in enumerate(found) if cell[1]),
        tuple((at, found[c].start(4)) for at, c in enumerate(powers) if found[c][4]),
        row,
        np.frombuffer(row, np.uint8),
        limit,
    )


def _word(digits: Sequence[int]) -> _Word:
    """The last eight characters up to a digit, and which of them are digits of the number."""
    begin = digits[-1] + 1 - _WORD
    inside = [place for place in digits if place >= begin]
    keep = shift = 0
    for place in inside:
        moves = digits[-1] - place > digits[::-1].index(place)  # the point lies behind it
        four = 0x0F << 8 * (place - begin)
        keep, shift = (keep, shift | four) if moves else (keep | four, shift)
    return _Word(begin, len(inside), keep, shift)
