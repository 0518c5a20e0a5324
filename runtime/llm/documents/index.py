"""The index of one collection in memory: exact while it is small, a graph when it is large."""

import threading
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.llm.documents.exact import ExactIndex
from runtime.llm.documents.hnsw import HnswIndex
from runtime.llm.documents.vectors import Ids, Matrix, Scores, matrix

MOST_WASTED: Final = 0.25
"""A graph with a larger share of removed chunks is built anew."""


Block = tuple[Sequence[int], bytes]
"""Some chunks' ids and their vectors, one behind the other."""


class Candidates(NamedTuple):
    """Chunks among which the best ones are."""

    ids: Ids
    scores: Scores | None
    """None: the chunks have yet to be compared with the query."""


class LiveIndex:
    """An index that is searched and changed from several threads; a change is seen whole or not."""

    def __init__(self, inner: ExactIndex | HnswIndex, exact_max: int) -> None:
        self._inner = inner
        self._exact_max = exact_max
        self._lock = threading.Lock()

    @classmethod
    def built(cls, blocks: Iterable[Block], count: int, exact_max: int) -> "LiveIndex":
        """An index of about *count* chunks; passes on what *blocks* raises."""
        inner = ExactIndex() if count <= exact_max else HnswIndex()
        for ids, vectors in blocks:
            inner.add(ids, matrix(vectors))
        return cls(inner, exact_max)

    def __len__(self) -> int:
        return len(self._inner)

    @property
    def nbytes(self) -> int:
        """Memory, near enough."""
        return self._inner.nbytes

    @property
    def graph(self) -> HnswIndex | None:
        """The graph, to be saved; None while the index is exact."""
        return self._inner if isinstance(self._inner, HnswIndex) else None

    @property
    def outgrown(self) -> bool:
        """Whether another kind, or a new graph, would serve better."""
        if isinstance(self._inner, ExactIndex):
            return len(self._inner) > self._exact_max
        return self._inner.wasted > MOST_WASTED

    def apply(self, removed: Sequence[int], added: Sequence[int], rows: Matrix) -> None:
        """Follow a committed change; doing so twice is the same as once."""
        with self._lock:
            self._inner.remove(removed)
            self._inner.add(added, rows)

    def candidates(self, query: Matrix, k: int, patience_s: float) -> Candidates | None:
        """What the *k* best are among; None where a large change lasts longer than *patience_s*."""
        if not self._lock.acquire(timeout=patience_s):
            return None
        try:
            if isinstance(self._inner, HnswIndex):
                return Candidates(self._inner.candidates(query, wanted(k)), None)
            best = self._inner.best(query, k)
            return Candidates(best.ids, best.scores)
        finally:
            self._lock.release()


def wanted(k: int) -> int:
    """How many neighbours are taken from a graph so that the *k* best are among them."""
    return 2 * k + 32


def difference(have: Ids, want: Sequence[int]) -> tuple[list[int], list[int]]:
    """What must be removed from an index that has *have*, and added, so that it has *want*."""
    target = np.asarray(want, np.int64)
    removed: list[int] = np.setdiff1d(have, target).tolist()
    added: list[int] = np.setdiff1d(target, have).tolist()
    return removed, added
