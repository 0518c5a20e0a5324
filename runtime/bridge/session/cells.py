"""Reads the numbers of a JSON body: what counts as one, what a time is, what was left out."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.values import Numbers

REASONS_KEPT: Final = 20
MILLISECONDS_FROM: Final = 1e11
"""A time beyond it (the year 5138 in seconds) is in milliseconds."""
NAN: Final = float("nan")
_NAME: Final = re.compile(r"[A-Za-z0-9_.:/ %-]{1,128}")

Indices: TypeAlias = npt.NDArray[np.intp]
Flags: TypeAlias = npt.NDArray[np.bool_]
Faults: TypeAlias = Iterable[tuple[Flags, str]]
"""Which elements are at fault, and why."""


class BadBatch(ValueError):
    """Nothing of the batch can be used; the text says why."""


class BatchTooLarge(BadBatch):
    """The batch has more elements than one request may bring."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """An element that was left out."""

    index: int
    reason: str


NAMES: Final = "a name has 1 to 128 letters from A to Z, digits, spaces and _ . : / % -"


def is_name(name: str) -> bool:
    """Whether a signal may have that name."""
    return _NAME.fullmatch(name) is not None


def numbers_of(values: Sequence[object], *, null: bool, booleans: bool) -> tuple[Numbers, Flags]:
    """The values as numbers, NaN where there is none, and which of them may not be there."""
    kinds = set(map(type, values))
    allowed = {float, int} | ({type(None)} if null else set()) | ({bool} if booleans else set())
    if kinds <= allowed:
        try:
            numbers = np.array(values, dtype=np.float64)
        except OverflowError:
            numbers = np.array([_number(value, booleans) for value in values])
        nulls = values.count(None) if type(None) in kinds else 0
        if nulls == len(values) - int(np.isfinite(numbers).sum()):
            return numbers, np.zeros(len(numbers), np.bool_)
    numbers = np.array([_number(value, booleans) for value in values])
    absent = np.array([null and value is None for value in values], np.bool_)
    return numbers, ~(np.isfinite(numbers) | absent)


def _number(value: object, booleans: bool) -> float:
    if not isinstance(value, float | int) or (isinstance(value, bool) and not booleans):
        return NAN
    try:
        return float(value)
    except OverflowError:
        return math.inf


def is_finite(value: float) -> bool:
    """Whether a JSON number fits a float."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def seconds(t: Numbers) -> Numbers:
    """Times in seconds, from times in seconds or milliseconds."""
    return np.where(t > MILLISECONDS_FROM, t / 1000.0, t)


def reasons(faults: Faults) -> tuple[Rejected, ...]:
    """The first reason of each of the first elements that were left out."""
    first: dict[int, str] = {}
    for flags, reason in faults:
        for index in np.flatnonzero(flags)[:REASONS_KEPT].tolist():
            first.setdefault(index, reason)
    return tuple(Rejected(index, first[index]) for index in sorted(first)[:REASONS_KEPT])
