"""The index of one collection in memory: exact while it is small, a graph when it is large."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from runtime.llm.documents.exact import ExactIndex
from runtime.llm.documents.hnsw import HnswIndex
from runtime.llm.documents.vectors import Ids, Matrix, Scores, matrix

MOST_WASTED: Final = 0.25
"""A graph with a larger share of removed vectors is built anew."""
MOST_GROWN: Final = 2.0
"""So is one that has grown this much since it was tried whether it finds what it should."""
_YOUNG: Final = 1_000
"""Vectors up to which growth is no reason."""
TRIED_K: Final = 10
"""As many as most searches ask for."""


Block = tuple[Sequence[int], bytes]
"""Some chunks' ids and their vectors, one behind the other."""


@dataclass(frozen=True)
class Candidates:
    """Chunks among which the best ones are."""

    ids: Ids
    scores: Scores | None
    """None: the chunks have yet to be compared with the query."""
    others: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """Further chunks with the very vector of one of them."""
    whole: bool = True
    """Whether no other chunk can be as good as the last of them."""


class LiveIndex:
    """An index that is searched and changed from several threads; a change is seen whole or not."""

    def __init__(self, inner: ExactIndex | HnswIndex, exact_max: int) -> None:
        self._inner = inner
        self._exact_max = exact_max
        self._lock = threading.Lock()
        self._proven_at: int | None = None
        """How many vectors the graph had when it was tried; None: it was not."""
        self.faithful = True
        """Whether searches find what comparing everything finds."""

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
        most = max(_YOUNG, MOST_GROWN * (self._proven_at or 0))
        grown = self._proven_at is not None and self._inner.nodes > most
        return grown or self._inner.wasted > MOST_WASTED

    def prove(self, go_on: Callable[[], None]) -> None:
        """Try whether a graph is faithful; before anybody else has the index.

        *go_on* is called between steps; what it raises is passed on.
        """
        if isinstance(self._inner, HnswIndex):
            self.faithful = self._inner.proven(TRIED_K, wanted(TRIED_K), go_on)
            self._proven_at = self._inner.nodes

    def apply(self, removed: Sequence[int], added: Sequence[int], rows: Matrix) -> None:
        """Follow a committed change; doing so twice is the same as once."""
        with self._lock:
            self._inner.remove(removed)
            self._inner.add(added, rows)

    def candidates(self, query: Matrix, k: int, patience_s: float) -> Candidates | None:
        """What the *k* best are among; None where a large change lasts longer than *patience_s*.

        None, too, from a graph that is not faithful.
        """
        if not self.faithful:
            return None
        if not self._lock.acquire(timeout=patience_s):
            return None
        try:
            if isinstance(self._inner, HnswIndex):
                near = self._inner.near(query, wanted(k))
                return Candidates(near.ids, None, near.others, near.whole)
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
