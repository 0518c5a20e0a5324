"""Answer searches from an index in memory if possible, else from the rows, equally well.

Loads NumPy and usearch, which the rest of the store does not need.
"""

import asyncio
import logging
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Concatenate, Final, NamedTuple, ParamSpec, TypeVar

import numpy as np

from runtime.llm.documents import sql
from runtime.llm.documents.database import Database, Threads
from runtime.llm.documents.document import Hit, Where
from runtime.llm.documents.files import IndexFiles
from runtime.llm.documents.schema import snapshot
from runtime.llm.documents.sql import Change
from runtime.llm.documents.vectors import (
    KIND,
    Best,
    ExactIndex,
    HnswIndex,
    Matrix,
    Near,
    parse_vectors,
    score_rows,
)
from runtime.web.errors import TooMany

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

ALIKE: Final = 1e-6
"""Scores closer than this may be swapped or omitted by a graph."""
TRIES: Final = 4
"""Attempts to search an index that writes keep overtaking, before the rows are searched."""
NOTE_S: Final = 0.003
"""Time for a commit to be noted after a search has seen it in the database."""
PATIENCE_S: Final = 0.25
"""How long a search waits for its index to be free: longer than reading the largest exact index
takes (70 ms)."""
REST_S: Final = 30.0
"""After an index failed, searches read the rows for this long."""
INLINE: Final = 64
"""Maximum chunks that a search adds to a graph; more are left to the background."""
MAX_WASTED: Final = 0.25
"""A graph with a larger fraction of removed vectors is rebuilt."""
_FAILURES: Final = (sqlite3.Error, OSError, RuntimeError, MemoryError, ValueError)


class Stopped(Exception):
    """The store is closing; the work was not finished."""


class Unanswerable(Exception):
    """The index cannot determine the best chunks now; the rows can."""


@dataclass(eq=False)
class IndexFailed(Exception):
    """The index of a collection failed; see the cause."""

    collection: int


class LiveIndex:
    """The index of a collection: exact while it is small, a graph when it is large.

    Commits are noted by their ids and applied before the next search. All methods except `note` run
    in threads.
    """

    def __init__(self, collection: int, exact_max: int) -> None:
        self.collection = collection
        self.generation = 0
        """The generation of the collection that the index reflects."""
        self.held = 0
        """Bytes of memory counted for it."""
        self._exact_max = exact_max
        self._inner: ExactIndex | HnswIndex | None = None
        self._saved: int | None = None
        """Generation of the file."""
        self._pending: list[Change] = []
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Approximate bytes of memory."""
        return self._inner.nbytes if self._inner else 0

    @property
    def graph(self) -> HnswIndex | None:
        """The graph; None while the index is exact."""
        return self._inner if isinstance(self._inner, HnswIndex) else None

    @property
    def lags(self) -> bool:
        """Whether a graph must add more chunks than a search may."""
        return self.graph is not None and sum(len(c.added) for c in self._pending) > INLINE

    @property
    def outgrown(self) -> bool:
        """Whether the other kind of index, or a new graph, would be better."""
        if self._inner is None:
            return False
        if isinstance(self._inner, ExactIndex):
            return len(self._inner) > self._exact_max
        return self._inner.wasted > MAX_WASTED

    def note(self, change: Change) -> None:
        """Note a commit; must be called in the order of commits."""
        self._pending.append(change)

    def build(
        self, connection: sqlite3.Connection, files: IndexFiles, go_on: Callable[[], None]
    ) -> bool:
        """Read the index from its file or the rows; return False if the collection is gone.

        It does not use a snapshot, which would keep deleted text in the log meanwhile; concurrent
        commits are noted and applied afterwards. *go_on* is called between steps and may raise.
        """
        now = sql.read_collection(connection, self.collection)
        if now is None:
            return False
        if not self._read_file(files, now):
            inner = ExactIndex() if now.chunks <= self._exact_max else HnswIndex()
            self._read_rows(inner, connection, now, go_on)
        return True

    def catch_up(self, connection: sqlite3.Connection, go_on: Callable[[], None]) -> None:
        """Apply all noted commits, outside of a transaction."""
        with self._lock:
            self._catch_up(connection, None, go_on)

    def save(self, files: IndexFiles) -> tuple[int, bytes] | None:
        """Write the file of a changed graph; return its generation and digest, else None."""
        with self._lock:
            graph = self.graph
            if graph is None or self._saved == self.generation:
                return None
            digest = files.write(self.collection, self.generation, graph.save)
            self._saved = self.generation
            return self.generation, digest

    def search(
        self, connection: sqlite3.Connection, now: sql.Collection, query: Matrix, k: int
    ) -> list[tuple[int, float]] | None:
        """Return chunks with their scores, including the *k* best and their ties.

        *connection* must be in a snapshot in which the collection is as in *now*. Returns None if
        a commit of the snapshot has not been noted yet, or a later one has been applied. Raises
        `Unanswerable`.
        """
        if not self._lock.acquire(timeout=PATIENCE_S):
            raise Unanswerable
        try:
            if self._inner is None:  # a small collection: reading it takes as long as scanning it
                self._read_rows(ExactIndex(), connection, now, lambda: None)
            self._catch_up(connection, now.generation, lambda: None)
            if self.generation != now.generation:
                return None
            if self.graph is None:
                assert isinstance(self._inner, ExactIndex)
                best = self._inner.best(query, k)
                return list(zip(best.ids.tolist(), best.scores.tolist(), strict=True))
            near = self.graph.find_near(query, k)
        finally:
            self._lock.release()
        return _rescore(connection, self.collection, near, query, k)

    def _read_file(self, files: IndexFiles, now: sql.Collection) -> bool:
        """Load the graph's file if it is of this generation and format."""
        if now.chunks <= self._exact_max or now.file_format != KIND or not now.file_digest:
            return False
        if now.file_generation != now.generation:
            return False
        path = files.find(now.id, now.generation, now.file_digest)
        if path is None:
            return False
        self._inner = HnswIndex.load(path)
        self.generation = self._saved = now.generation
        return True

    def _read_rows(
        self,
        inner: ExactIndex | HnswIndex,
        connection: sqlite3.Connection,
        now: sql.Collection,
        go_on: Callable[[], None],
    ) -> None:
        for block in sql.read_all_vectors(connection, self.collection):
            go_on()
            inner.add(block.ids, parse_vectors(block.vectors))
        self._inner, self.generation = inner, now.generation

    def _catch_up(
        self, connection: sqlite3.Connection, until: int | None, go_on: Callable[[], None]
    ) -> None:
        """Apply noted commits up to the generation *until*, under the lock.

        Raises `Unanswerable` if a search would have to add too many chunks.
        """
        assert self._inner is not None
        pending = [c for c in list(self._pending) if until is None or c.generation <= until]
        removed: set[int] = set()
        added: set[int] = set()
        for change in pending:
            added.difference_update(change.removed)
            removed.update(change.removed)
            added.update(change.added)
        if until is not None and self.graph is not None and len(added) > INLINE:
            raise Unanswerable
        self._inner.remove(removed)
        new = sorted(added)
        for at in range(0, len(new), sql.BLOCK):
            go_on()
            block = sql.read_vectors(connection, self.collection, new[at : at + sql.BLOCK])
            self._inner.add(block.ids, parse_vectors(block.vectors))
        if pending:
            self.generation = max(self.generation, pending[-1].generation)
            del self._pending[: len(pending)]


class Answer(NamedTuple):
    """The result of searching an index."""

    hits: list[Hit] | None
    """None if no index can answer."""
    searched: LiveIndex | None = None
    """The index that was searched."""
    unindexed: sql.Collection | None = None
    """The collection if it has no index."""


class Search:
    """Searches all collections, with at most *max_bytes* of indexes or a single larger one."""

    def __init__(
        self,
        database: Database,
        files: IndexFiles,
        *,
        exact_max: int,
        max_bytes: int,
        max_searches: int,
    ) -> None:
        self._database = database
        self._files = files
        self._exact_max = exact_max
        self._max_bytes = max_bytes
        self._max_searches = max_searches
        self._threads = Threads("document-search", 4, database.connect)
        self._builder = Threads("document-build", 1, database.connect, background=True)
        self._running = 0
        self._indexes: OrderedDict[int, LiveIndex] = OrderedDict()
        """Indexes by collection, the least recently used first."""
        self._unfinished: dict[int, LiveIndex] = {}
        """Indexes that are being built or catching up in the background."""
        self._held = 0
        self._rest_until = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self._stop = threading.Event()

    @property
    def nbytes(self) -> int:
        """Approximate bytes of memory of all indexes."""
        return self._held

    def note(self, changes: Iterable[Change]) -> None:
        """Note a commit, in the order of commits and before its caller is answered."""
        for change in changes:
            tables = (self._indexes, self._unfinished)
            indexes = {t[change.collection] for t in tables if change.collection in t}
            for index in indexes:  # an index that catches up is in both tables
                index.note(change)
            if change.gone:
                self._drop(change.collection)
                self._unfinished.pop(change.collection, None)

    async def search(
        self, tenant: str, model: str, query: bytes, k: int, where: Where
    ) -> list[Hit]:
        """Find the *k* best eligible chunks, best first; ties by document, then chunk."""
        if k < 1:
            return []
        target = parse_vectors(query)[0]
        async with self._database.translating_errors():
            hits = None
            if not where.narrows and time.monotonic() >= self._rest_until:
                hits = await self._try_index(tenant, model, target, k)
            if hits is None:
                try:
                    hits = await self._run(scan, tenant, model, target, k, where)
                finally:
                    self._database.tidy()
        lowest = where.min_score
        return hits if lowest is None else [hit for hit in hits if hit.score >= lowest]

    async def settle(self) -> None:
        """Wait until no index is being built or saved."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def close(self) -> None:
        """Stop builds and save changed graphs."""
        self._stop.set()
        await self.settle()
        for index in self._indexes.values():
            await self._save(index)
        self._indexes.clear()
        await self._threads.close()
        await self._builder.close()

    async def _try_index(self, tenant: str, model: str, query: Matrix, k: int) -> list[Hit] | None:
        """Search with an index; return None if none can answer."""
        try:
            answer = await self._run(self._search_index, tenant, model, query, k)
            if answer.unindexed and self._begin(answer.unindexed):
                answer = await self._run(self._search_index, tenant, model, query, k)
        except IndexFailed as failed:
            log.error("an index failed; searches read the database", exc_info=failed.__cause__)
            self._rest_until = time.monotonic() + REST_S
            self._drop(failed.collection)
            return None
        if answer.searched is not None:
            self._maintain(answer.searched)
        return answer.hits

    def _begin(self, collection: sql.Collection) -> bool:
        """Start the index of a collection and return whether it can be searched at once."""
        if collection.chunks > self._exact_max:
            self._rebuild(collection.id)
            return False
        self._indexes.setdefault(collection.id, LiveIndex(collection.id, self._exact_max))
        return True

    def _search_index(
        self, connection: sqlite3.Connection, tenant: str, model: str, query: Matrix, k: int
    ) -> Answer:
        """Search the index of a tenant and model, in a thread. Raises `IndexFailed`."""
        index = None
        for _ in range(TRIES):
            with snapshot(connection):
                now = sql.find_collection(connection, tenant, model)
                if now is None:
                    return Answer([])
                index = self._indexes.get(now.id)
                if index is None:
                    return Answer(None, unindexed=now)
                try:
                    pairs = index.search(connection, now, query, k)
                except Unanswerable:
                    break
                except _FAILURES as error:
                    raise IndexFailed(now.id) from error
                if pairs is not None:
                    return Answer(_load_hits(connection, pairs, k), index)
            time.sleep(NOTE_S)
        return Answer(None, index)

    async def _run(
        self,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        if self._running >= self._max_searches:
            raise TooMany("the document store is busy", headers={"Retry-After": "1"})
        self._running += 1
        try:
            return await self._threads.run(work, *args, **kwargs)
        finally:
            self._running -= 1

    def _maintain(self, index: LiveIndex) -> None:
        """After a use of an index, update its memory and start a rebuild or catch-up if needed."""
        if self._indexes.get(index.collection) is not index:
            return
        self._indexes.move_to_end(index.collection)
        self._update_memory(index)
        if index.outgrown:
            self._rebuild(index.collection)
        elif index.lags and index.collection not in self._unfinished:
            self._unfinished[index.collection] = index
            self._start(self._complete(index))

    def _rebuild(self, collection: int) -> None:
        if collection not in self._unfinished:
            index = self._unfinished[collection] = LiveIndex(collection, self._exact_max)
            self._start(self._complete(index, build=True))

    async def _complete(self, index: LiveIndex, *, build: bool = False) -> None:
        """Build an index or let it catch up, then put it to use."""
        try:
            if build and not await self._builder.run(index.build, self._files, self._go_on):
                return
            if build:
                await self._save(index)
            await self._builder.run(index.catch_up, self._go_on)
            if self._unfinished.get(index.collection) is index:
                self._drop(index.collection, but=index)
                self._indexes[index.collection] = index
                self._update_memory(index)
        except Stopped:
            log.info("an index was not finished before the store closed")
        except _FAILURES:
            log.exception("an index failed; searches read the database")
            self._rest_until = time.monotonic() + REST_S
            self._drop(index.collection)
        finally:
            if self._unfinished.get(index.collection) is index:
                del self._unfinished[index.collection]

    async def _save(self, index: LiveIndex) -> None:
        """Write the file of a changed graph; without it, the graph is rebuilt after a restart."""
        try:
            saved = await self._builder.run(lambda _: index.save(self._files))
            if saved is None:
                return
            generation, digest = saved
            async with self._database.exclusive() as writer:
                recorded = await writer.run(
                    sql.record_file, index.collection, generation, digest, KIND
                )
            keep = generation if recorded else None
            await self._builder.run(lambda _: self._files.remove(index.collection, keep))
        except _FAILURES:
            log.warning("an index file cannot be written", exc_info=True)

    def _update_memory(self, index: LiveIndex) -> None:
        """Update the memory of an index and drop others if the total is too large."""
        now = index.nbytes
        self._held += now - index.held
        index.held = now
        for other in list(self._indexes.values()):
            if self._held <= self._max_bytes:
                return
            if other is not index:
                self._drop(other.collection)
                self._start(self._save(other))

    def _drop(self, collection: int, but: LiveIndex | None = None) -> None:
        index = self._indexes.get(collection)
        if index is not None and index is not but:
            del self._indexes[collection]
            self._held -= index.held
            index.held = 0

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _go_on(self) -> None:
        if self._stop.is_set():
            raise Stopped


def scan(
    connection: sqlite3.Connection, tenant: str, model: str, query: Matrix, k: int, where: Where
) -> list[Hit]:
    """Compare all eligible chunks with the query, block by block, in a snapshot."""
    with snapshot(connection):
        collection = sql.find_collection(connection, tenant, model)
        if collection is None:
            return []
        best = Best(query, k)
        for block in sql.read_eligible_vectors(connection, collection.id, where):
            best.push(np.asarray(block.ids, np.int64), parse_vectors(block.vectors))
        return _load_hits(
            connection, list(zip(best.ids.tolist(), best.scores.tolist(), strict=True)), k
        )


def _rescore(
    connection: sqlite3.Connection, collection: int, near: Near, query: Matrix, k: int
) -> list[tuple[int, float]]:
    """Rescore the chunks of a graph's answer that may be among the *k* best, in full precision.

    Raises `Unanswerable` if equally good chunks may be missing from the answer.
    """
    groups = {group[0]: group for group in near.groups}
    block = sql.read_vectors(connection, collection, groups)
    score_of = dict(
        zip(block.ids, score_rows(parse_vectors(block.vectors), query).tolist(), strict=True)
    )
    pairs: list[tuple[int, float]] = []
    last = 2.0
    for first in sorted(score_of, key=score_of.__getitem__, reverse=True):
        if len(pairs) >= k and score_of[first] < last:
            break
        last = score_of[first]
        pairs += [(id_, last) for id_ in groups[first]]
    # Chunks omitted for their rough score are worse than the last one, so no tie is missing.
    doubtful = not near.cut and last - min(score_of.values(), default=0.0) <= ALIKE
    if not near.complete and (len(pairs) < k or doubtful):
        raise Unanswerable
    return pairs


def _load_hits(connection: sqlite3.Connection, pairs: list[tuple[int, float]], k: int) -> list[Hit]:
    """Load the *k* best chunks, best first; ties are ordered by document, then chunk."""
    score_of = dict(pairs)
    if len(pairs) <= k:
        chosen = sql.read_chunks(connection, score_of, k)
    else:
        last = sorted(score_of.values(), reverse=True)[k - 1]
        above = [id_ for id_, score in pairs if score > last]
        tied = [id_ for id_, score in pairs if score == last]
        chosen = sql.read_chunks(connection, above, k) + sql.read_chunks(
            connection, tied, k - len(above)
        )
    hits = [Hit(c.document, c.number, c.text, score_of[c.id], c.metadata) for c in chosen]
    return sorted(hits, key=lambda hit: (-hit.score, hit.document_id, hit.chunk_index))
