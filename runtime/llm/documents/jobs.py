"""What the store does in threads with vectors: check, load, build, follow, compare, save."""

import logging
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from runtime.llm.documents import rows, searching
from runtime.llm.documents.cache import IndexFiles
from runtime.llm.documents.hnsw import KIND, HnswIndex
from runtime.llm.documents.index import Candidates, LiveIndex, difference
from runtime.llm.documents.pool import Stopped
from runtime.llm.documents.schema import readable
from runtime.llm.documents.values import Hit, Where
from runtime.llm.documents.vectors import checked, matrix

log = logging.getLogger(__name__)

PATIENCE_S: Final = 0.05
"""How long a search waits for a change of its index before it reads the database instead."""
_MOST_DIFFERENT: Final = 0.25
"""A file that lacks, or has too many of, more chunks than this share is not worth mending."""


class Loaded(NamedTuple):
    """An index that has all changes up to the call, and perhaps some later ones."""

    made: LiveIndex
    generation: int
    """Of the collection when the call began."""
    file_generation: int | None
    """Of the file from which the index was read; None: it was built."""


class Jobs:
    """All of it blocks: to be called in threads. Reads the database on connections of its own."""

    def __init__(self, path: Path, files: IndexFiles, exact_max: int) -> None:
        self._path = path
        self._files = files
        self._exact_max = exact_max
        self.stop = threading.Event()
        """Once set, a build ends soon."""

    def check(self, vectors: bytes, count: int) -> None:
        """Raises ValueError for anything but *count* unit vectors."""
        checked(vectors, count)

    def load(self, collection: int) -> Loaded | None:
        """Read or build the index of a collection, and try it; None: it is gone.

        Not from a snapshot, which would keep deleted text in the log for as long as a build lasts:
        changes from the moment of the call on may be missing. Raises `Stopped`, sqlite3.Error.
        """
        connection = readable(self._path)
        try:
            now = rows.collection_of(connection, collection)
            if now is None:
                return None
            graph = self._from_file(connection, now) if now.chunks > self._exact_max else None
            file = None if graph is None else now.file_generation
            if graph is None:
                blocks = self._blocks(connection, collection)
                graph = LiveIndex.built(blocks, now.chunks, self._exact_max)
            graph.prove(self._go_on)
            if not graph.faithful:
                log.info("a graph finds too little; searches of its collection compare all chunks")
            return Loaded(graph, now.generation, file)
        finally:
            connection.close()

    def catch_up(
        self, index: LiveIndex, collection: int, removed: Sequence[int], added: Sequence[int]
    ) -> int | None:
        """Follow committed changes by their ids; the collection's generation, None: it is gone."""
        connection = readable(self._path)
        try:
            self._mend(connection, index, collection, removed, added)
            now = rows.collection_of(connection, collection)
            return now.generation if now else None
        finally:
            connection.close()

    def apply(
        self, index: LiveIndex, removed: Sequence[int], added: Sequence[int], vectors: bytes
    ) -> None:
        """Follow a committed change; *vectors* are those of the added chunks."""
        index.apply(removed, added, matrix(vectors))

    def candidates(self, index: LiveIndex, query: bytes, k: int) -> Candidates | None:
        """See `LiveIndex.candidates`."""
        return index.candidates(matrix(query)[0], k, PATIENCE_S)

    def hits(
        self,
        connection: sqlite3.Connection,
        collection: int,
        among: Candidates,
        query: bytes,
        k: int,
    ) -> list[Hit] | None:
        """See `searching.hits`."""
        return searching.hits(connection, collection, among, matrix(query)[0], k)

    def scan(self, collection: int, query: bytes, k: int, where: Where) -> list[Hit]:
        """See `searching.scan`."""
        return searching.scan(self._path, collection, matrix(query)[0], k, where)

    def save(self, graph: HnswIndex, collection: int, generation: int) -> tuple[bytes, str]:
        """Write an index file; its digest and its kind. Raises RuntimeError, OSError."""
        return self._files.write(collection, generation, graph.save), KIND

    def keep_only(self, collection: int, generation: int | None) -> None:
        """Delete a collection's files but the one of this generation."""
        self._files.remove(collection, generation)

    def _from_file(self, connection: sqlite3.Connection, now: rows.Collection) -> LiveIndex | None:
        if now.file_generation is None or now.file_digest is None or now.file_format != KIND:
            return None
        path = self._files.whole(now.id, now.file_generation, now.file_digest)
        if path is None:
            return None
        graph = HnswIndex.load(path)
        index = LiveIndex(graph, self._exact_max)
        if now.file_generation != now.generation:
            removed, added = difference(graph.ids(), rows.chunk_ids(connection, now.id))
            if len(removed) + len(added) > _MOST_DIFFERENT * now.chunks:
                return None
            self._mend(connection, index, now.id, removed, added)
        return index

    def _mend(
        self,
        connection: sqlite3.Connection,
        index: LiveIndex,
        collection: int,
        removed: Sequence[int],
        added: Sequence[int],
    ) -> None:
        index.apply(removed, (), matrix(b""))
        for at in range(0, len(added), rows.BLOCK):
            self._go_on()
            block = rows.block_of(connection, collection, added[at : at + rows.BLOCK])
            index.apply((), block.ids, matrix(block.vectors))

    def _blocks(self, connection: sqlite3.Connection, collection: int) -> Iterator[rows.Block]:
        last = 0
        while (block := rows.block_behind(connection, collection, last)).ids:
            self._go_on()
            yield block
            last = block.ids[-1]

    def _go_on(self) -> None:
        if self.stop.is_set():
            raise Stopped
