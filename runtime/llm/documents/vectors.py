"""Vectors as arrays: scoring, exact search and graph search."""

import hashlib
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import usearch
from usearch.index import Index

from runtime.llm.documents.document import VECTOR_BYTES, WIDTH

Matrix = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]

MARGIN: Final = 1e-4
"""Larger than the rounding error of a score in single precision."""
CONNECTIVITY: Final = 16
EXPANSION_ADD: Final = 128
EXPANSION_SEARCH: Final = 128
"""Search time grows with it. Recall@10 of 100,000 clustered vectors: 0.973 with 64, 0.990 with
this, 0.997 with 256; with clusters as narrow as in `bench.documents`, 1.000 with each."""
KIND: Final = f"usearch {usearch.__version__} ip f16 {WIDTH} {CONNECTIVITY} {EXPANSION_ADD} keys 1"
"""Format of a graph's file; only files of the same format are read."""
BLUR: Final = 0.0025
"""Larger than the change of a score difference in half precision, which rounds each number by at
most 2^-11 of it, and so a product of unit vectors by 2^-10."""
_BESIDE: Final = 32
"""A graph is searched for twice the wanted neighbours plus this many."""
_STORED: Final = np.dtype("<f4")
_SLICE: Final = 4096
_LOWEST: Final = np.float32(-2.0)
_YOUNG: Final = 4_096
"""Up to this size chunks are added one by one, later on all cores: chunks that enter a small graph
concurrently do not see each other, and a few are never found (measured: 1 of 2,500)."""
_CHUNK_BYTES: Final = 320
"""Approximate memory of a chunk in the tables of a graph."""
_FOOT: Final = struct.Struct("<Q")


def parse_vectors(data: bytes) -> Matrix:
    """Parse vectors, one per row. Raises ValueError unless the bytes are whole vectors."""
    if len(data) % VECTOR_BYTES:
        raise ValueError(f"a vector has {VECTOR_BYTES} bytes")
    return np.frombuffer(data, _STORED).reshape(-1, WIDTH).astype(np.float32, copy=False)


def score_rows(rows: Matrix, query: Matrix) -> Scores:
    """Cosines of unit vectors with the query, -1 to 1.

    Each row is summed in double precision: equal vectors have equal scores in any position, which
    a matrix product does not guarantee.
    """
    wide = query.astype(np.float64)
    parts = [(rows[at : at + _SLICE] * wide).sum(axis=1) for at in range(0, len(rows), _SLICE)]
    whole = np.concatenate(parts) if parts else np.zeros(0)
    return np.clip(whole, -1.0, 1.0).astype(np.float32)


class Best:
    """Collects the *k* best chunks of all that are pushed, and ties with the last of them."""

    def __init__(self, query: Matrix, k: int) -> None:
        self._query = query
        self._k = k
        self.ids: Ids = np.zeros(0, np.int64)
        """Unordered."""
        self.scores: Scores = np.zeros(0, np.float32)

    def push(self, ids: Ids, rows: Matrix) -> None:
        """Add a block of chunks."""
        rough = rows @ self._query
        rough[np.isnan(rough)] = -np.inf
        floor = max(self._last(rough), self._last(self.scores), _LOWEST) - MARGIN
        near = np.flatnonzero(rough >= floor)
        self.ids = np.concatenate((self.ids, ids[near]))
        self.scores = np.concatenate((self.scores, score_rows(rows[near], self._query)))
        keep = self.scores >= self._last(self.scores)
        self.ids, self.scores = self.ids[keep], self.scores[keep]

    def _last(self, values: Scores) -> np.float32:
        """The k-th best value, or the lowest possible one if there are fewer."""
        if len(values) < self._k:
            return _LOWEST
        at = len(values) - self._k
        last: np.float32 = np.partition(values, at)[at]
        return last


class ExactIndex:
    """Exact search: vectors in a matrix, all of which are compared."""

    def __init__(self) -> None:
        self._ids: Ids = np.zeros(0, np.int64)
        self._rows: Matrix = np.zeros((0, WIDTH), np.float32)

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def nbytes(self) -> int:
        """Approximate bytes of memory."""
        return self._rows.nbytes + self._ids.nbytes

    def add(self, ids: Sequence[int], rows: Matrix) -> None:
        """Add chunks; those already present are unchanged."""
        distinct, first = np.unique(np.asarray(ids, np.int64), return_index=True)
        new = first[~np.isin(distinct, self._ids)]
        if len(new):
            self._ids = np.concatenate((self._ids, np.asarray(ids, np.int64)[new]))
            self._rows = np.concatenate((self._rows, rows[new]))

    def remove(self, ids: Iterable[int]) -> None:
        """Remove chunks; unknown ones are ignored."""
        if gone := list(ids):
            keep = ~np.isin(self._ids, gone)
            self._ids, self._rows = self._ids[keep], self._rows[keep]

    def best(self, query: Matrix, k: int) -> Best:
        """Find the *k* best chunks and the ties with the last of them."""
        best = Best(query, k)
        best.push(self._ids, self._rows)
        return best


class Near(NamedTuple):
    """Result of a graph search: groups of chunks that share a vector, best first."""

    groups: list[tuple[int, ...]]
    cut: bool
    """Whether further matches were omitted because they cannot be among the best."""
    complete: bool
    """Whether the matches, including omitted ones, are all vectors of the graph."""


class HnswIndex:
    """Approximate search in a graph (HNSW) of half-precision vectors, for many chunks.

    A graph of many equal points cannot be navigated, so each distinct vector is in it once, under a
    key that is a hash of the vector and lists all its chunks. Half precision blurs close scores, so
    the results must be rescored.
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
        self._key_of: dict[int, int] = {}
        self._chunks: dict[int, list[int]] = {}
        """Chunks by the key of their vector."""
        self._removed = 0
        self._measured = -1
        """Size of the graph when `_graph_bytes` was measured."""
        self._graph_bytes = 0

    def __len__(self) -> int:
        return len(self._key_of)

    @property
    def nodes(self) -> int:
        """Number of distinct vectors."""
        return len(self._chunks)

    @property
    def nbytes(self) -> int:
        """Approximate bytes of memory."""
        if self._measured != self._graph.size:  # cheap to read, unlike the memory
            self._measured = self._graph.size
            self._graph_bytes = int(self._graph.memory_usage)
        return self._graph_bytes + _CHUNK_BYTES * len(self)

    @property
    def wasted(self) -> float:
        """Fraction of removed vectors among all vectors added since the graph was built."""
        return self._removed / max(1, self._removed + self.nodes)

    def ids(self) -> Ids:
        """All chunk ids in the graph."""
        return np.fromiter(self._key_of, np.int64, len(self))

    def add(self, ids: Sequence[int], rows: Matrix) -> None:
        """Add chunks; those already present are unchanged."""
        one_by_one = self.nodes < _YOUNG
        new: dict[int, int] = {}
        for at, (id_, row) in enumerate(zip(ids, rows, strict=True)):
            if id_ in self._key_of:
                continue
            key = self._key_of[id_] = _hash(row)
            if key not in self._chunks:
                new[key] = at
            self._chunks.setdefault(key, []).append(id_)
        if new:
            vectors = np.ascontiguousarray(rows[list(new.values())])
            keys = np.fromiter(new, np.uint64, len(new))
            self._graph.add(keys, vectors, threads=1 if one_by_one else 0)

    def remove(self, ids: Iterable[int]) -> None:
        """Remove chunks; unknown ones are ignored."""
        touched: dict[int, set[int]] = {}
        for id_ in ids:
            key = self._key_of.pop(id_, None)
            if key is not None:
                touched.setdefault(key, set()).add(id_)
        gone: list[int] = []
        for key, removed in touched.items():
            left = [id_ for id_ in self._chunks.pop(key) if id_ not in removed]
            if left:
                self._chunks[key] = left
            else:
                gone.append(key)
        if gone:
            self._graph.remove(np.asarray(gone, np.uint64))
            self._removed += len(gone)

    def find_near(self, query: Matrix, k: int) -> Near:
        """Find the chunks that may be among the *k* best, judging by their rough scores."""
        matches = self._graph.search(query, 2 * k + _BESIDE, threads=1)
        keys = np.asarray(matches.keys).tolist()
        rough = (1.0 - np.asarray(matches.distances)).tolist()
        groups: list[tuple[int, ...]] = []
        count, floor = 0, -2.0
        for score, key in sorted(zip(rough, keys, strict=True), reverse=True):
            if score < floor:
                break
            groups.append(tuple(self._chunks[key]))
            count += len(groups[-1])
            if count >= k:
                floor = max(floor, score - BLUR)
        return Near(groups, len(groups) < len(keys), len(keys) >= self.nodes)

    def save(self, path: Path) -> None:
        """Write the graph. Raises RuntimeError or OSError if it cannot be written."""
        self._graph.save(str(path))
        with path.open("ab") as file:
            file.write(self.ids().astype("<i8").tobytes())
            file.write(np.fromiter(self._key_of.values(), "<u8", len(self)).tobytes())
            file.write(_FOOT.pack(len(self)))

    @classmethod
    def load(cls, path: Path) -> "HnswIndex":
        """Load the graph of an intact file. Raises RuntimeError for another file.

        A damaged file may load without an error, so the caller must compare the checksum first.
        """
        index = cls()
        index._graph.load(str(path))
        # The file has its own value; mypy confuses the setter with that of another property.
        index._graph.expansion_search = EXPANSION_SEARCH  # type: ignore[misc]
        with path.open("rb") as file:
            end = file.seek(-_FOOT.size, 2)
            (count,) = _FOOT.unpack(file.read(_FOOT.size))
            file.seek(end - 16 * count)
            ids = np.frombuffer(file.read(8 * count), "<i8").tolist()
            keys = np.frombuffer(file.read(8 * count), "<u8").tolist()
        index._key_of = dict(zip(ids, keys, strict=True))
        for id_, key in zip(ids, keys, strict=True):
            index._chunks.setdefault(key, []).append(id_)
        return index


def _hash(row: Matrix) -> int:
    """A 63-bit key: two of a million vectors collide in one of 18 million stores."""
    digest = hashlib.blake2b(row.tobytes(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1
