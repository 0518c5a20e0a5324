"""Exact search: every vector is compared with the query."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from runtime.llm.documents.values import WIDTH
from runtime.llm.documents.vectors import Ids, Matrix, Scores, scores

MARGIN: Final = 1e-4
"""More than the rounding of a product in single precision can move a score."""
_NOBODY: Final = -1
_LOWEST: Final = np.float32(-2.0)
_SMALLEST: Final = 64


class Best:
    """The *k* best of all that is pushed, and those that are as good as the last of them."""

    def __init__(self, query: Matrix, k: int) -> None:
        self._query = query
        self._k = k
        self.ids: Ids = np.zeros(0, np.int64)
        """In no order."""
        self.scores: Scores = np.zeros(0, np.float32)

    def push(self, ids: Ids, rows: Matrix) -> None:
        """Take a block of chunks; an id below 0 is an empty row."""
        rough = rows @ self._query
        rough[~((ids >= 0) & (rough >= _LOWEST))] = -np.inf  # nor what is not a number
        floor = max(self._last(rough), self._last(self.scores), _LOWEST) - MARGIN
        near = np.flatnonzero(rough >= floor)
        self.ids = np.concatenate((self.ids, ids[near]))
        self.scores = np.concatenate((self.scores, scores(rows[near], self._query)))
        keep = self.scores >= self._last(self.scores)
        self.ids, self.scores = self.ids[keep], self.scores[keep]

    def _last(self, values: Scores) -> np.float32:
        """The k-th best value; the lowest of all while there are fewer."""
        if len(values) < self._k:
            return _LOWEST
        at = len(values) - self._k
        last: np.float32 = np.partition(values, at)[at]
        return last


class ExactIndex:
    """Vectors in one matrix that doubles when it is full; rows of removed chunks are used again."""

    def __init__(self) -> None:
        self._rows: Matrix = np.zeros((_SMALLEST, WIDTH), np.float32)
        self._ids: Ids = np.full(_SMALLEST, _NOBODY, np.int64)
        self._row_of: dict[int, int] = {}
        self._free: list[int] = []
        self._used = 0

    def __len__(self) -> int:
        return len(self._row_of)

    @property
    def nbytes(self) -> int:
        """Memory, near enough."""
        return self._rows.nbytes + self._ids.nbytes + 128 * len(self._row_of)

    @property
    def wasted(self) -> float:
        """The share of it that a rebuild would give back; nothing here slows a search."""
        return 0.0

    def add(self, ids: Sequence[int], rows: Matrix) -> None:
        """Take chunks in; one that is there already stays as it is."""
        for id_, row in zip(ids, rows, strict=True):
            if id_ in self._row_of:
                continue
            at = self._free.pop() if self._free else self._next()
            self._rows[at] = row
            self._ids[at] = id_
            self._row_of[id_] = at

    def remove(self, ids: Sequence[int]) -> None:
        """Take chunks out; one that is not there is passed over."""
        for id_ in ids:
            at = self._row_of.pop(id_, None)
            if at is not None:
                self._ids[at] = _NOBODY
                self._rows[at] = 0.0
                self._free.append(at)

    def best(self, query: Matrix, k: int) -> Best:
        """The *k* best chunks, and those that are as good as the last of them."""
        best = Best(query, k)
        best.push(self._ids[: self._used], self._rows[: self._used])
        return best

    def _next(self) -> int:
        if self._used == len(self._ids):
            more = len(self._ids)
            self._rows = np.concatenate((self._rows, np.zeros((more, WIDTH), np.float32)))
            self._ids = np.concatenate((self._ids, np.full(more, _NOBODY, np.int64)))
        self._used += 1
        return self._used - 1
