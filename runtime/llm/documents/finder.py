"""Searches collections and keeps their indexes behind the writes; loads NumPy at its first use."""

import asyncio
import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from runtime.llm.documents import rows
from runtime.llm.documents.cache import IndexFiles
from runtime.llm.documents.changes import Done
from runtime.llm.documents.database import Database
from runtime.llm.documents.pool import Pools, Unclear
from runtime.llm.documents.shelf import Shelf
from runtime.llm.documents.unit import check_query
from runtime.llm.documents.values import Hit, Where

if TYPE_CHECKING:
    from runtime.llm.documents.index import Candidates
    from runtime.llm.documents.jobs import Jobs

TRIES: Final = 4
"""Searches of an index that a write overtakes, before the database is searched instead."""
FOLLOW_S: Final = 0.1
"""How long a search waits for an index to follow the write that overtook it."""
_THREADS: Final = "OPENBLAS_NUM_THREADS"


class Finder:
    """Answers searches from indexes where it can, else from the rows: the answers are the same."""

    def __init__(
        self, database: Database, files: IndexFiles, pools: Pools, exact_max: int, most_bytes: int
    ) -> None:
        self._database = database
        self._files = files
        self._pools = pools
        self._exact_max = exact_max
        self._most_bytes = most_bytes
        self._starting = asyncio.Lock()
        self._jobs: Jobs | None = None
        self._shelf: Shelf | None = None

    @property
    def nbytes(self) -> int:
        """Memory of all indexes, near enough."""
        return self._shelf.nbytes if self._shelf else 0

    async def check(self, vectors: bytes, count: int) -> None:
        """Raises ValueError for anything but *count* unit vectors."""
        jobs, _ = await self._parts()
        await self._pools.search.run(jobs.check, vectors, count)

    async def follow(self, done: Done, vectors: bytes) -> None:
        """Let indexes and files follow a commit; under the database's lock."""
        for change in done.changes:
            if self._shelf:
                await self._shelf.follow(change, vectors)
            if change.gone:
                await self._pools.apply.run(self._files.remove, change.collection)

    async def search(
        self, tenant: str, model: str, query: bytes, k: int, where: Where
    ) -> list[Hit]:
        """The *k* best eligible chunks, best first. Raises ValueError for no unit vector."""
        check_query(query)
        async with self._database.reported():
            collection = await self._database.read(rows.collection, tenant, model)
            if collection is None or k < 1:
                return []
            found = None
            if not where.narrows:
                found = await self._by_index(collection, query, k)
            if found is None:
                found = await self._by_rows(collection, query, k, where)
        lowest = where.min_score
        return found if lowest is None else [hit for hit in found if hit.score >= lowest]

    async def settle(self) -> None:
        """Wait until no index is being loaded, built or saved."""
        if self._shelf:
            await self._shelf.settle()

    async def close(self) -> None:
        """Stop builds, save the graphs that have changed."""
        async with self._starting:
            if self._shelf:
                await self._shelf.close()

    async def _by_index(
        self, collection: rows.Collection, query: bytes, k: int
    ) -> list[Hit] | None:
        """None: no index can answer yet or at all, or writes have been too fast for it."""
        jobs, shelf = await self._parts()
        for _ in range(TRIES):
            index = await shelf.ready(collection)
            if index is None:
                return None
            moved = shelf.moved
            among: Candidates | None
            among = await self._pools.search.run(jobs.candidates, index, query, k)
            if among is None:
                return None
            try:
                found = await self._database.read(jobs.hits, collection.id, among, query, k)
            except Unclear:
                return None
            if found is not None:
                return found
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(moved.wait(), FOLLOW_S)
        return None

    async def _by_rows(
        self, collection: rows.Collection, query: bytes, k: int, where: Where
    ) -> list[Hit]:
        jobs, _ = await self._parts()
        try:
            return await self._pools.search.run(jobs.scan, collection.id, query, k, where)
        finally:
            self._database.tidy()

    async def _parts(self) -> "tuple[Jobs, Shelf]":
        if self._jobs is None or self._shelf is None:
            async with self._starting:
                if self._jobs is None or self._shelf is None:
                    jobs = await asyncio.to_thread(
                        _jobs, self._database.path, self._files, self._exact_max
                    )
                    self._jobs = jobs
                    self._shelf = Shelf(
                        self._database, jobs, self._pools, self._exact_max, self._most_bytes
                    )
        return self._jobs, self._shelf


def _jobs(path: Path, files: IndexFiles, exact_max: int) -> "Jobs":
    """The one place that loads NumPy and usearch: 25 MB that a server without documents saves.

    NumPy's products use one thread: they wait for memory, not for a core, and on cores that an
    engine keeps busy the second thread made a search ten times slower (measured: 20 ms for 2).
    """
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"  # read when the library is loaded
    try:
        from runtime.llm.documents.jobs import Jobs
    finally:
        del os.environ[_THREADS]
        if before is not None:
            os.environ[_THREADS] = before
    return Jobs(path, files, exact_max)
