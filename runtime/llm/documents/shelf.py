"""Keeps the indexes of collections in memory: loads, builds, follows writes, saves, lets go."""

import asyncio
import logging
import sqlite3
import time
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from runtime.llm.documents.changes import Change, remember_file
from runtime.llm.documents.database import Database
from runtime.llm.documents.pool import Pool, Pools, Stopped
from runtime.llm.documents.rows import Collection
from runtime.web.errors import TooMany

if TYPE_CHECKING:
    from runtime.llm.documents.index import LiveIndex
    from runtime.llm.documents.jobs import Jobs

log = logging.getLogger(__name__)

SMALL_S: Final = 0.25
"""How long a search waits for a small index that is being read, before it reads the rows itself:
longer than the largest takes (70 ms), for the index also waits for the write that is under way."""
REST_S: Final = 30.0
"""After a failed load no other one is begun for this long; searches read the database."""
_FEW: Final = 1_000
"""Changes that are followed while writes wait; more are followed beside them."""
_FAILURES: Final = (sqlite3.Error, OSError, RuntimeError, MemoryError, ValueError, TooMany)


@dataclass
class Journal:
    """What has changed since an index was begun; an id is never given to another chunk."""

    removed: set[int] = field(default_factory=set)
    added: set[int] = field(default_factory=set)

    def note(self, change: Change) -> None:
        """Take a committed change."""
        self.added.difference_update(change.removed)
        self.removed.update(change.removed)
        self.added.update(change.added)

    def __len__(self) -> int:
        return len(self.removed) + len(self.added)


@dataclass(eq=False)
class _Entry:
    collection: int
    index: "LiveIndex | None" = None
    generation: int = 0
    """Of what the index has."""
    saved: int | None = None
    """Generation of the file."""
    held: int = 0
    """Bytes of memory, as last counted."""
    journal: Journal | None = None
    """While an index is being made."""
    task: asyncio.Task[None] | None = None


class Shelf:
    """At most *most_bytes* of indexes, or a single larger one; the least recently used goes first.

    `follow` is called under the database's lock, after each commit and in that order.
    """

    def __init__(
        self, database: Database, jobs: "Jobs", pools: Pools, exact_max: int, most_bytes: int
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._pools = pools
        self._exact_max = exact_max
        self._most = most_bytes
        self._entries: OrderedDict[int, _Entry] = OrderedDict()
        self._held = 0
        self._rest_until = 0.0
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False
        self.moved = asyncio.Event()
        """Set by the next change that is followed, and replaced by a fresh one."""

    @property
    def nbytes(self) -> int:
        """Memory of all indexes, near enough."""
        return self._held

    async def ready(self, collection: Collection) -> "LiveIndex | None":
        """The index to search; None while there is none, and then it has been sent for."""
        entry = self._entries.get(collection.id)
        if entry is None:
            entry = self._begin(_Entry(collection.id), large=collection.chunks > self._exact_max)
            if entry is None:
                return None
        self._entries.move_to_end(collection.id)
        if entry.index is None and entry.task and collection.chunks <= self._exact_max:
            await asyncio.wait({entry.task}, timeout=SMALL_S)
        return entry.index

    async def follow(self, change: Change, vectors: bytes) -> None:
        """Take a committed change in; *vectors* are those of the added chunks."""
        entry = self._entries.get(change.collection)
        if entry is not None and change.gone:
            self._forget(entry)
        elif entry is not None:
            await self._follow(entry, change, vectors)
        self.moved.set()
        self.moved = asyncio.Event()

    async def settle(self) -> None:
        """Wait until nothing is being loaded, built or saved."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def close(self) -> None:
        """Stop builds, and save what has changed since it was saved."""
        self._closing = True
        self._jobs.stop.set()
        await self.settle()
        for entry in self._entries.values():
            await self._save(entry)
        self._entries.clear()

    async def _follow(self, entry: _Entry, change: Change, vectors: bytes) -> None:
        if entry.journal is not None:
            entry.journal.note(change)
        if entry.index is None:
            return
        try:
            await self._pools.apply.run(
                self._jobs.apply,
                entry.index,
                change.removed,
                change.added,
                vectors if change.added else b"",
            )
        except _FAILURES:
            log.exception("an index cannot follow a write; it is loaded anew")
            self._forget(entry)
            return
        entry.generation = change.generation
        self._weigh(entry)
        if entry.index.outgrown and entry.task is None:
            self._begin(entry, large=True)

    def _begin(self, entry: _Entry, *, large: bool) -> _Entry | None:
        """Have the entry's index made; None where that must wait."""
        if self._closing or time.monotonic() < self._rest_until:
            return None
        entry.journal = Journal()  # before the first read: later changes are noted
        entry.task = self._start(
            self._load(entry, self._pools.build if large else self._pools.load)
        )
        self._entries[entry.collection] = entry
        return entry

    async def _load(self, entry: _Entry, pool: Pool) -> None:
        try:
            await self._load_into(entry, pool)
        except Stopped:
            log.info("an index was not finished before the store closed")
        except _FAILURES:
            log.exception("an index cannot be loaded; searches read the database")
            self._rest_until = time.monotonic() + REST_S
        finally:
            entry.task = entry.journal = None
            if entry.index is None:
                self._forget(entry)

    async def _load_into(self, entry: _Entry, pool: Pool) -> None:
        loaded = await pool.run(self._jobs.load, entry.collection)
        if loaded is None:
            return
        fresh = _Entry(entry.collection, loaded.made, loaded.generation, loaded.file_generation)
        await self._save(fresh)  # before anybody waits for this index
        while entry.journal is not None and len(entry.journal) > _FEW:
            noted, entry.journal = entry.journal, Journal()
            await self._catch_up(self._pools.load, fresh, noted)
        async with self._database.alone():
            last = entry.journal or Journal()
            known = await self._catch_up(self._pools.apply, fresh, last)
            if known and self._entries.get(entry.collection) is entry:
                entry.index, entry.generation = fresh.index, fresh.generation
                entry.saved = fresh.saved
                self._weigh(entry)

    async def _catch_up(self, pool: Pool, fresh: _Entry, noted: Journal) -> bool:
        """Follow what was noted; False: the collection is gone."""
        assert fresh.index is not None
        now = await pool.run(
            self._jobs.catch_up,
            fresh.index,
            fresh.collection,
            sorted(noted.removed),
            sorted(noted.added),
        )
        if now is not None:
            fresh.generation = now
        return now is not None

    async def _save(self, entry: _Entry) -> None:
        """Write the file of a graph that has changed; without it the graph is built again."""
        graph = entry.index.graph if entry.index else None
        if graph is None or entry.saved == entry.generation:
            return
        generation = entry.generation
        try:
            digest, kind = await self._pools.build.run(
                self._jobs.save, graph, entry.collection, generation
            )
            async with self._database.alone() as writer:
                known = await writer.run(remember_file, entry.collection, generation, digest, kind)
            keep = generation if known else None
            await self._pools.build.run(self._jobs.keep_only, entry.collection, keep)
        except _FAILURES:
            log.warning("an index file cannot be written", exc_info=True)
            return
        entry.saved = generation

    def _weigh(self, entry: _Entry) -> None:
        """Count an entry's memory, and let others go where it is too much."""
        now = entry.index.nbytes if entry.index else 0
        self._held += now - entry.held
        entry.held = now
        for other in list(self._entries.values()):
            if self._held <= self._most:
                return
            if other is not entry and other.index is not None and other.task is None:
                self._forget(other)
                self._start(self._save(other))

    def _forget(self, entry: _Entry) -> None:
        if self._entries.get(entry.collection) is entry:
            del self._entries[entry.collection]
            self._held -= entry.held
            entry.held = 0

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
