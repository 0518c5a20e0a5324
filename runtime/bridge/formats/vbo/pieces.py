"""Sums over whole columns, some rows at a time."""

import functools
from collections.abc import Callable
from typing import Final, TypeVar, cast

import numpy as np

from runtime.bridge.session.recording import Numbers

PIECE: Final = 16_384
"""Rows."""
F = TypeVar("F", bound=Callable[..., Numbers])


def piecewise(function: F) -> F:
    """A function of columns, row by row; a column of one row stands for one of equal rows.

    What it needs on the way stays small, and near the processor.
    """

    @functools.wraps(function)
    def done(*columns: Numbers) -> Numbers:
        rows = max(map(len, columns))
        if rows <= PIECE:
            return function(*columns)
        values = np.empty(rows)
        for at in range(0, rows, PIECE):
            parts = [one if len(one) == 1 else one[at : at + PIECE] for one in columns]
            values[at : at + PIECE] = function(*parts)
        return values

    return cast(F, done)
