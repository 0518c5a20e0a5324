"""Approximate search in a graph (HNSW) of half-precision vectors, for many chunks."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import usearch
from usearch.index import Index

from runtime.llm.documents.groups import FORMAT, Groups
from runtime.llm.documents.values import WIDTH
from runtime.llm.documents.vectors import Ids, Matrix

CONNECTIVITY: Final = 16
EXPANSION_ADD: Final = 128
EXPANSION_SEARCH: Final = 256
"""Recall@10 of 100,000 clustered vectors: 0.973 with 64, 0.990 with 128, 0.997 with this."""
EXPANSIONS: Final = (EXPANSION_SEARCH, 512, 1024)
"""What is tried, one after the other, until the recall is good."""
GOOD_RECALL: Final = 0.98
SAMPLE: Final = 32
"""Stored vectors that a graph is asked for, and as many near stored ones."""
_LEAN: Final = 0.3
_BLUR: Final = 1e-6
_YOUNG: Final = 4_096
"""Up to this size chunks are put in one by one, later on all cores: those that enter a small graph
at the same time do not see each other, and a few are never found (measured: 1 of 2,500)."""
KIND: Final = (
    f"usearch {usearch.__version__} ip f16 {WIDTH} {CONNECTIVITY} {EXPANSION_ADD} {FORMAT}"
)
"""What a file must have been written by to be read."""


class Near(NamedTuple):
    """What a graph has found: one chunk for each vector."""

    ids: Ids
    others: dict[int, list[int]]
    """The further chunks that have the vector of one of them."""
    whole: bool
    """Whether these are all the vectors that there are."""


class HnswIndex:
    """A graph of different vectors, and the chunks that have each of them.

    Half precision blurs close scores, so its answers are scored again.
    """

    def __init__(self) -> None:
        self._graph = Index(
            ndim=WIDTH,
            metric="ip",
            dtype="f16",
            connectivity=CONNECTIVITY,
            expansion_add=EXPANSION_ADD,
            expansion_search=EXPANSION_SEARCH,
        )
        self._groups = Groups()
        self._removed = 0

    def __len__(self) -> int:
        return len(self._groups)

    @property
    def nodes(self) -> int:
        """How many different vectors there are."""
        return self._groups.nodes

    @property
    def nbytes(self) -> int:
        """Memory, near enough."""
        return int(self._graph.memory_usage) + self._groups.nbytes

    @property
    def wasted(self) -> float:
        """Removed vectors as a share of all that were put in since the graph was built."""
        return self._removed / max(1, self._removed + self.nodes)

    def ids(self) -> Ids:
        """All chunks in it."""
        return self._groups.ids()

    def add(self, ids: Sequence[int], rows: Matrix) -> None:
        """Take chunks in; one that is there already stays as it is."""
        one_by_one = self.nodes < _YOUNG
        new = self._groups.add(ids, rows)
        if new:
            keys = np.asarray(ids, np.uint64)[new]
            vectors = np.ascontiguousarray(rows[new])
            self._graph.add(keys, vectors, threads=1 if one_by_one else 0)

    def remove(self, ids: Sequence[int]) -> None:
        """Take chunks out; one that is not there is passed over."""
        gone = self._groups.remove(ids)
        if gone:
            self._graph.remove(np.asarray(gone, np.uint64))
            self._removed += len(gone)

    def near(self, query: Matrix, count: int) -> Near:
        """Chunks of about the *count* best vectors, in no order."""
        nodes = np.asarray(self._graph.search(query, count).keys).tolist()
        ids: list[int] = []
        others: dict[int, list[int]] = {}
        for node in nodes:
            first, *more = self._groups.members(node)
            ids.append(first)
            if more:
                others[first] = more
        return Near(np.asarray(ids, np.int64), others, len(ids) >= self.nodes)

    def proven(self, k: int, count: int, go_on: Callable[[], None]) -> bool:
        """Whether the graph finds what comparing everything finds, after searching wider if need.

        A search for the *k* best takes *count* vectors of it. Some searches are tried, which takes
        about a second for 100,000 vectors. *go_on* is called between steps; what it raises is
        passed on.
        """
        if self.nodes <= count:
            return True
        queries = self._queries()
        go_on()
        last = np.asarray(self._graph.search(queries, k, exact=True).distances)[:, k - 1 : k]
        for expansion in EXPANSIONS:
            go_on()
            self._search_wider(expansion)
            found = np.asarray(self._graph.search(queries, count).distances)[:, :k]
            if float((found <= last + _BLUR).mean()) >= GOOD_RECALL:
                return True
        return False

    def _search_wider(self, expansion: int) -> None:
        # mypy takes the setter for that of another property
        self._graph.expansion_search = expansion  # type: ignore[misc]

    def _queries(self) -> Matrix:
        """Stored vectors, and others as far from those as questions are; the same for one graph.

        Of the others one half leans to another stored vector, the other half anywhere.
        """
        source = np.random.default_rng(self.nodes)
        keys = source.choice(self._groups.node_ids(), 2 * SAMPLE).astype(np.uint64)
        rows = np.vstack(self._graph.get(keys)).astype(np.float32)  # type: ignore[arg-type]
        stored, others = rows[:SAMPLE], rows[SAMPLE:]
        half = SAMPLE // 2
        away = source.standard_normal((half, WIDTH)) / WIDTH**0.5
        moved = np.concatenate((others[:half] + away, others[half:] + _LEAN * stored[half:]))
        lengths = np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), _BLUR)
        queries: Matrix = np.concatenate((stored, moved / lengths)).astype(np.float32)
        return queries

    def save(self, path: Path) -> None:
        """Write the graph; raises RuntimeError or OSError where that is not possible."""
        self._graph.save(str(path))
        self._groups.append(path)

    @classmethod
    def load(cls, path: Path) -> "HnswIndex":
        """The graph of a file that is known to be whole; raises RuntimeError for another one.

        A damaged file may load without an error: whoever calls has compared its checksum.
        """
        index = cls()
        index._graph.load(str(path))
        index._search_wider(EXPANSION_SEARCH)  # the file may bring its own
        index._groups = Groups.at_end_of(path)
        return index
