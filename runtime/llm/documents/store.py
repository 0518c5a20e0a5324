"""The document store: each tenant's chunks, kept in SQLite and found by their vectors."""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import orjson

from runtime.llm.documents import rows
from runtime.llm.documents.database import Database
from runtime.llm.documents.document import (
    VECTOR_BYTES,
    DocumentInfo,
    Hit,
    NewDocument,
    Page,
    TenantInfo,
    Where,
)
from runtime.llm.documents.files import IndexFiles
from runtime.llm.documents.rows import Commit, Delete, DeleteTenant, Replace

if TYPE_CHECKING:
    from runtime.llm.documents.search import Search

INDEXES: Final = "indexes"
_PAGE: Final = 2_000
_EVERYTHING: Final = Where()
_THREADS: Final = "OPENBLAS_NUM_THREADS"


@dataclass(frozen=True)
class StoreSettings:
    """How much the store may hold on disk and in memory."""

    max_chunks: int = 1_000_000
    max_tenants: int = 10_000
    """Tenants with chunks."""
    exact_max: int = 20_000
    """Largest number of chunks of a tenant and a model that are all compared with a query."""
    index_bytes: int = 256 << 20
    """Memory of all indexes; a single one may be larger."""
    spare_bytes: int = 16 << 20
    """Room on the disk that a file reserves for deletes; on a small disk less."""
    max_searches: int = 256
    """Searches that run or wait at a time; further ones are refused."""


class Figures(NamedTuple):
    """How full the store is."""

    tenants: int
    documents: int
    chunks: int
    bytes: int
    """On disk: the database, its log, the index files."""
    full: bool = False
    """The last document written, or the last delete, found no room on the disk."""
    refusals: int = 0
    """Writes that found no room, deletes included."""


class DocumentStore:
    """All tenants' documents in one folder, which one process at a time may use.

    Its methods and those of `TenantDocuments` raise `StoreFailed`, on a full disk `StoreFull`, and
    `TooMany` where too many others wait; nothing has changed then. A caller that is cancelled
    stops waiting: its write still happens.
    """

    def __init__(self, database: Database, files: IndexFiles, settings: StoreSettings) -> None:
        self.database = database
        self.database.follow = self._follow
        self._files = files
        self.settings = settings
        self._search: Search | None = None
        self._starting = asyncio.Lock()
        self.clock: Callable[[], float] = time.time
        """Unix seconds."""

    @classmethod
    async def open(cls, folder: Path, settings: StoreSettings | None = None) -> Self:
        """Open the store of *folder*, made if missing. Raises `StoreUnusable`.

        A damaged database is put aside and an empty one begun; `recovered_from` says so.
        """
        chosen = settings or StoreSettings()
        database = await Database.open(folder, chosen.spare_bytes)
        files = IndexFiles(folder / INDEXES)
        try:
            recorded = await database.read(rows.files)
            await asyncio.to_thread(files.sweep, recorded)
        except BaseException:
            await database.close()
            raise
        return cls(database, files, chosen)

    @property
    def recovered_from(self) -> str | None:
        """Name of the damaged database that was put aside when the store was opened."""
        return self.database.recovered_from

    def for_tenant(self, tenant: str) -> "TenantDocuments":
        """The documents of one tenant; there is no other way to a row."""
        if not tenant:
            raise ValueError("a tenant has a name")
        return TenantDocuments(self, tenant)

    async def tenants(self) -> list[TenantInfo]:
        """All tenants that have documents, in binary order of their names."""
        return await self.database.read(rows.tenants)

    async def delete_tenant(self, tenant: str) -> int:
        """Remove all that a tenant has; the number of chunks that were there."""
        return await self.database.write(DeleteTenant(tenant), adds=0)

    async def figures(self) -> Figures:
        """How full the store is; costs a look at the sizes of its files."""
        database = self.database
        size = await database.nbytes() + await asyncio.to_thread(self._files.nbytes)
        return Figures(*database.totals, size, database.full, database.refusals)

    async def settle(self) -> None:
        """Wait until no index is being built or saved."""
        if self._search:
            await self._search.settle()

    async def close(self) -> None:
        """Finish the writes under way, save large indexes, close; to be called once."""
        await self.database.drain()
        try:
            async with self._starting:
                if self._search:
                    await self._search.close()
        finally:
            await self.database.close()

    async def _follow(self, commit: Commit) -> None:
        """Let indexes and files follow a commit; under the database's lock."""
        if self._search:
            self._search.note(commit.changes)
        for change in commit.changes:
            if change.gone:
                await asyncio.to_thread(self._files.remove, change.collection)

    async def searcher(self) -> "Search":
        """Load NumPy and usearch at the first use: 25 MB that a server without documents saves."""
        if self._search is not None:
            return self._search
        async with self._starting:
            if self._search is None:
                search = await asyncio.to_thread(_import_search)
                self._search = search(
                    self.database,
                    self._files,
                    exact_max=self.settings.exact_max,
                    max_bytes=self.settings.index_bytes,
                    max_searches=self.settings.max_searches,
                )
            return self._search


class TenantDocuments:
    """What one tenant has stored."""

    def __init__(self, store: DocumentStore, tenant: str) -> None:
        self._store = store
        self._database = store.database
        self._tenant = tenant

    async def replace(self, document: NewDocument) -> bool:
        """Store a document; whether it replaced one of its id. On disk when this returns.

        Readers see the old one or the new one. Raises `StoreLimit`, and ValueError for a document
        without chunks, vectors that are not one a chunk, or metadata that is not JSON. The vectors
        must be of unit length, as every encoder makes them.
        """
        if not document.id or not document.texts:
            raise ValueError("a document has an id and at least one chunk")
        if len(document.vectors) != len(document.texts) * VECTOR_BYTES:
            raise ValueError("a document has one vector a chunk")
        if document.metadata is not None:
            orjson.loads(document.metadata)
        settings = self._store.settings
        edit = Replace(
            *(self._tenant, document, settings.max_chunks, settings.max_tenants),
            int(self._store.clock()),
        )
        return await self._database.write(edit, adds=_room_for(document)) > 0

    async def documents(self, *, limit: int | None = None, after: str | None = None) -> Page:
        """The documents that follow *after* in binary order of their ids; without a limit all."""
        if limit is not None:
            return await self._database.read(rows.documents, self._tenant, max(0, limit), after)
        listed: list[DocumentInfo] = []
        more = True
        while more:  # in parts, so that other reads get a turn
            page = await self._database.read(rows.documents, self._tenant, _PAGE, after)
            listed += page.documents
            more = page.more
            after = listed[-1].id if listed else after
        return Page(tuple(listed), more=False)

    async def delete(self, document_id: str) -> int:
        """Remove a document; the number of its chunks, 0 where there was none."""
        return await self._database.write(Delete(self._tenant, document_id), adds=0)

    async def search(
        self, query: bytes, model: str, k: int, where: Where = _EVERYTHING
    ) -> list[Hit]:
        """The *k* chunks of this tenant and model nearest to *query*, a unit vector; best first.

        Equal scores are ordered by document id, then chunk index.
        """
        search = await self._store.searcher()
        return await search.search(self._tenant, model, query, k, where)


def _room_for(document: NewDocument) -> int:
    """Bytes of disk that storing a document takes: once in the log, once in the database."""
    return 2 * (len(document.vectors) + sum(map(len, document.texts)) + 512 * len(document.texts))


def _import_search() -> "type[Search]":
    """Import NumPy so that its products use one thread.

    They wait for memory, not for a core, and on cores that an engine keeps busy the second thread
    made a search ten times slower (measured: 20 ms for 2).
    """
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"  # read when the library is loaded
    try:
        from runtime.llm.documents.search import Search
    finally:
        os.environ.pop(_THREADS, None)  # another store may be loading it, too
        if before is not None:
            os.environ[_THREADS] = before
    return Search
