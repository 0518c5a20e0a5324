"""The document store: each tenant's chunks, kept in SQLite and searched by their vectors."""

import asyncio
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import orjson

from runtime.llm.documents import sql
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
from runtime.llm.documents.sql import Commit, Delete, DeleteTenant, Replace

if TYPE_CHECKING:
    from runtime.llm.documents.search import Search

INDEXES: Final = "indexes"
_PAGE: Final = 2_000
_EVERYTHING: Final = Where()
_THREADS: Final = "OPENBLAS_NUM_THREADS"


@dataclass(frozen=True)
class StoreSettings:
    """Limits of the store on disk and in memory."""

    max_chunks: int = 1_000_000
    max_tenants: int = 10_000
    """Maximum number of tenants with chunks."""
    exact_max: int = 20_000
    """Up to this many chunks of a tenant and model, a query is compared with all of them."""
    index_bytes: int = 256 << 20
    """Memory of all indexes together; a single one may be larger."""
    spare_bytes: int = 16 << 20
    """Disk space that a file reserves for deletes; less on a small disk."""
    max_searches: int = 256
    """Maximum running and waiting searches; further ones are refused."""


class Figures(NamedTuple):
    """Size and state of the store."""

    tenants: int
    documents: int
    chunks: int
    bytes: int
    """On disk: the database, its log and the index files."""
    full: bool = False
    """Whether the last document, or the last delete, found no room on the disk."""
    refusals: int = 0
    """Writes and deletes that found no room."""


class DocumentStore:
    """All tenants' documents in a folder that only one process at a time may use.

    Its methods and those of `TenantDocuments` raise `StoreFailed`, `StoreFull` if the disk is full,
    and `TooMany` if too many others are waiting; then nothing has changed. A cancelled caller stops
    waiting, but its write still happens.
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
        """Open the store in *folder* or create it. Raises `StoreUnusable`.

        A damaged database is set aside and replaced by an empty one; see `recovered_from`.
        """
        chosen = settings or StoreSettings()
        database = await Database.open(folder, chosen.spare_bytes)
        files = IndexFiles(folder / INDEXES)
        try:
            recorded = await database.read(sql.list_files)
            await asyncio.to_thread(files.sweep, recorded)
        except BaseException:
            await database.close()
            raise
        return cls(database, files, chosen)

    @property
    def recovered_from(self) -> str | None:
        """Name of the damaged database that was set aside when the store was opened."""
        return self.database.recovered_from

    def for_tenant(self, tenant: str) -> "TenantDocuments":
        """The documents of a tenant; there is no other access to rows."""
        if not tenant:
            raise ValueError("a tenant must have a name")
        return TenantDocuments(self, tenant)

    async def tenants(self) -> list[TenantInfo]:
        """List the tenants with documents, in binary order of their names."""
        return await self.database.read(sql.list_tenants)

    async def delete_tenant(self, tenant: str) -> int:
        """Delete all documents of a tenant and return the number of chunks removed."""
        return await self.database.write(DeleteTenant(tenant), adds=0)

    async def figures(self) -> Figures:
        """Return the size and state of the store; reads the sizes of its files."""
        database = self.database
        size = await database.nbytes() + await asyncio.to_thread(self._files.nbytes)
        return Figures(*database.totals, size, database.full, database.refusals)

    async def settle(self) -> None:
        """Wait until no index is being built or saved."""
        if self._search:
            await self._search.settle()

    async def close(self) -> None:
        """Finish running writes, save large indexes and close; must be called once."""
        await self.database.drain()
        try:
            async with self._starting:
                if self._search:
                    await self._search.close()
        finally:
            await self.database.close()

    async def _follow(self, commit: Commit) -> None:
        """Update indexes and files after a commit, under the database's lock."""
        if self._search:
            self._search.note(commit.changes)
        for change in commit.changes:
            if change.gone:
                await asyncio.to_thread(self._files.remove, change.collection)

    async def load_search(self) -> "Search":
        """Load NumPy and usearch on first use: 25 MB that a server without documents saves."""
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
    """The documents of a tenant."""

    def __init__(self, store: DocumentStore, tenant: str) -> None:
        self._store = store
        self._database = store.database
        self._tenant = tenant

    async def replace(self, document: NewDocument) -> bool:
        """Store a document on disk and return whether it replaced one with the same id.

        Readers see either the old or the new document. The vectors must be of unit length. Raises
        `StoreLimit`, and ValueError for a document without chunks, with a wrong number of vectors
        or with metadata that is not JSON.
        """
        if not document.id or not document.texts:
            raise ValueError("a document must have an id and at least one chunk")
        if len(document.vectors) != len(document.texts) * VECTOR_BYTES:
            raise ValueError("a document must have one vector per chunk")
        if document.metadata is not None:
            orjson.loads(document.metadata)
        settings = self._store.settings
        edit = Replace(
            *(self._tenant, document, settings.max_chunks, settings.max_tenants),
            int(self._store.clock()),
        )
        return await self._database.write(edit, adds=_estimate_size(document)) > 0

    async def documents(self, *, limit: int | None = None, after: str | None = None) -> Page:
        """List the documents after the id *after* in binary order of their ids; by default all."""
        if limit is not None:
            return await self._database.read(sql.list_documents, self._tenant, max(0, limit), after)
        listed: list[DocumentInfo] = []
        more = True
        while more:  # in pages, so that other reads get a turn
            page = await self._database.read(sql.list_documents, self._tenant, _PAGE, after)
            listed += page.documents
            more = page.more
            after = listed[-1].id if listed else after
        return Page(tuple(listed), more=False)

    async def delete(self, document_id: str) -> int:
        """Delete a document and return the number of its chunks, 0 if it did not exist."""
        return await self._database.write(Delete(self._tenant, document_id), adds=0)

    async def search(
        self, query: bytes, model: str, k: int, where: Where = _EVERYTHING
    ) -> list[Hit]:
        """Find the tenant's *k* chunks nearest to *query*, a unit vector of the model; best first.

        Equal scores are ordered by document id, then chunk index.
        """
        search = await self._store.load_search()
        return await search.search(self._tenant, model, query, k, where)


def _estimate_size(document: NewDocument) -> int:
    """Estimate the disk bytes of a document, which is written to the log and the database."""
    return 2 * (len(document.vectors) + sum(map(len, document.texts)) + 512 * len(document.texts))


def _import_search() -> "type[Search]":
    """Import NumPy with single-threaded matrix products.

    The products are bound by memory, and when an engine keeps the cores busy, a second thread made
    searches ten times slower (measured: 20 ms instead of 2).
    """
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"  # read when the library loads
    try:
        from runtime.llm.documents.search import Search
    finally:
        os.environ.pop(_THREADS, None)  # another store may be loading it too
        if before is not None:
            os.environ[_THREADS] = before
    return Search
