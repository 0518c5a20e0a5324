"""Rows in which every number stands at one place in one form, as native loggers write them.

Digits of one place are added up for all rows at once, so a block costs a few passes over its
bytes. The result is the same to the bit as that of the slower readers: up to 15 digits are an exact
integer, powers of ten up to 22 are exact, and one division rounds once.
"""

import re
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

Bytes = npt.NDArray[np.uint8]


class _Field(NamedTuple):
    """The places of one number's characters in a row."""

    sign: int | None
    digits: tuple[int, ...]
    decimals: int
    power_sign: int | None
    power: tuple[int, ...]


class _Form(NamedTuple):
    fields: tuple[_Field, ...]
    digits: npt.NDArray[np.intp]
    signs: npt.NDArray[np.intp]
    others: npt.NDArray[np.intp]


def parse_fixed(block: bytes, columns: int) -> Numbers | None:
    """The numbers of some whole rows divided by blanks; None when they are not all of one form."""
    block = block.lstrip(b"\r\n")
    width = block.find(b"\n") + 1
    if not width or len(block) % width:
        return None
    form = _form_of(block[:width].translate(_FORM))
    if form is None or len(form.fields) != columns:
        return None
    places: Bytes = np.frombuffer(block, np.uint8).reshape(-1, width).T.copy()
    digits: Bytes = places - ord("0")
    signs, others = places[form.signs], places[form.others]
    if (
        np.any(digits[form.digits] > 9)
        or np.any((signs != ord("+")) & (signs != ord("-")))
        or np.any(others != others[:, :1])
    ):
        return None
    values = np.empty((columns, places.shape[1]))
    for column, field in zip(values, form.fields, strict=True):
        number = _value(places, digits, field)
        if number is None:
            return None
        column[:] = number
    return values.T


@lru_cache(maxsize=64)
def _form_of(row: bytes) -> _Form | None:
    """Where the numbers of a row stand; *row* has zeros for digits and plus for signs."""
    fields: list[_Field] = []
    for token in _TOKEN.finditer(row):
        found = _NUMBER.fullmatch(row, *token.span())
        if found is None:
            return None
        digits = (*range(*found.span(2)), *range(*found.span(3)))
        if len(digits) > _MOST_DIGITS:
            return None
        fields.append(
            _Field(
                found.start(1) if found[1] else None,
                digits,
                len(found[3] or b""),
                found.start(4) if found[4] else None,
                tuple(range(*found.span(5))),
            )
        )
    numbers = [place for field in fields for place in (*field.digits, *field.power)]
    both = [place for field in fields for place in (field.sign, field.power_sign)]
    signs = [place for place in both if place is not None]
    others = sorted(set(range(len(row))) - set(numbers) - set(signs))
    return _Form(
        tuple(fields),
        np.array(numbers, dtype=np.intp),
        np.array(signs, dtype=np.intp),
        np.array(others, dtype=np.intp),
    )


def _value(places: Bytes, digits: Bytes, field: _Field) -> Numbers | None:
    whole = _integer(digits, field.digits)
    if field.power:
        power = _integer(digits, field.power).astype(np.intp)
        if field.power_sign is not None:
            np.negative(power, out=power, where=places[field.power_sign] == ord("-"))
        power += _LARGEST_POWER - field.decimals
        if power.min() < 0 or power.max() > 2 * _LARGEST_POWER:
            return None
        value = whole / _DIVISORS.take(power)  # one of both is 1, so only one step rounds
        value *= _FACTORS.take(power)
    else:
        value = whole / _POWERS[field.decimals] if field.decimals else whole
    if field.sign is not None:
        np.negative(value, out=value, where=places[field.sign] == ord("-"))
    return value


def _integer(digits: Bytes, places: tuple[int, ...]) -> Numbers:
    """Digits to numbers, four at a time in 16 bits."""
    total: Numbers | None = None
    for start in range(0, len(places), 4):
        four = places[start : start + 4]
        part = digits[four[0]].astype(np.uint16)
        for place in four[1:]:
            part *= 10
            part += digits[place]
        if total is None:
            total = part.astype(np.float64)
        else:
            total *= 10.0 ** len(four)
            total += part
    return total if total is not None else np.zeros(digits.shape[1])
