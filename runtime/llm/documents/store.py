"""The document store: each tenant's chunks, kept in SQLite and found by their vectors."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, Self

import orjson

from runtime.llm.documents import changes, rows
from runtime.llm.documents.cache import IndexFiles
from runtime.llm.documents.changes import Limits
from runtime.llm.documents.database import Database
from runtime.llm.documents.finder import Finder
from runtime.llm.documents.pool import Pools
from runtime.llm.documents.values import (
    DocumentInfo,
    Hit,
    NewDocument,
    Page,
    TenantInfo,
    Where,
    Written,
)

INDEXES: Final = "indexes"
_PAGE: Final = 2_000
_EVERYTHING: Final = Where()


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
    """What a file keeps of the disk, so that there is room to delete; of a small disk less."""
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
    """The last document that came, or the last delete, found no room on the disk."""
    found_full: int = 0
    """Writes that found none, deletes included."""


class DocumentStore:
    """All tenants' documents in one folder, which one process at a time may use.

    Its methods and those of `TenantDocuments` raise `StoreFailed`, on a full disk `StoreFull`, and
    `TooMany` where too many others wait; nothing has changed then. A caller that is cancelled
    stops waiting: its write still happens.
    """

    def __init__(self, database: Database, files: IndexFiles, settings: StoreSettings) -> None:
        self._database = database
        self._files = files
        self._pools = Pools(settings.max_searches)
        self._finder = Finder(
            database, files, self._pools, settings.exact_max, settings.index_bytes
        )
        self._limits = Limits(settings.max_chunks, settings.max_tenants)
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
            known = await database.read(rows.files)
            await asyncio.to_thread(files.sweep, known)
        except BaseException:
            await database.close()
            raise
        return cls(database, files, chosen)

    @property
    def recovered_from(self) -> str | None:
        """Name of the damaged database that was put aside when the store was opened."""
        return self._database.recovered_from

    def for_tenant(self, tenant: str) -> "TenantDocuments":
        """The documents of one tenant; there is no other way to a row."""
        if not tenant:
            raise ValueError("a tenant has a name")
        return TenantDocuments(tenant, self._database, self._finder, self._limits, self.clock)

    async def tenants(self) -> list[TenantInfo]:
        """All tenants that have documents, in binary order of their names."""
        return await self._database.read(rows.tenants)

    async def delete_tenant(self, tenant: str) -> int:
        """Remove all that a tenant has; the number of chunks that were there."""
        done = await self._database.write(
            partial(changes.delete_tenant, tenant=tenant),
            partial(self._finder.follow, vectors=b""),
            adds=0,
        )
        return done.removed

    async def figures(self) -> Figures:
        """How full the store is; costs a look at the sizes of its files."""
        size = await self._database.nbytes() + await asyncio.to_thread(self._files.nbytes)
        database = self._database
        return Figures(*database.totals, size, database.full, database.found_full)

    async def settle(self) -> None:
        """Wait until no index is being loaded, built or saved."""
        await self._finder.settle()

    async def close(self) -> None:
        """Finish the writes under way, save large indexes, close; to be called once."""
        await self._database.drain()
        try:
            await self._finder.close()
            await self._pools.close()
        finally:
            await self._database.close()


def _room_for(document: NewDocument) -> int:
    """Bytes of disk that storing a document takes: once in the log, once in the database."""
    return 2 * (len(document.vectors) + sum(map(len, document.texts)) + 512 * len(document.texts))


class TenantDocuments:
    """What one tenant has stored."""

    def __init__(
        self,
        tenant: str,
        database: Database,
        finder: Finder,
        limits: Limits,
        clock: Callable[[], float],
    ) -> None:
        self._tenant = tenant
        self._database = database
        self._finder = finder
        self._limits = limits
        self._clock = clock

    async def replace(self, document: NewDocument) -> Written:
        """Store a document in place of the one with its id; on disk when this returns.

        Readers see the old one or the new one. Raises `StoreLimit`, and ValueError for a document
        without chunks, vectors that are not one unit vector a chunk, or metadata that is no JSON.
        """
        await self._check(document)
        work = partial(
            changes.replace,
            tenant=self._tenant,
            new=document,
            limits=self._limits,
            now=int(self._clock()),
        )
        done = await self._database.write(
            work, partial(self._finder.follow, vectors=document.vectors), adds=_room_for(document)
        )
        return Written(len(document.texts), done.removed > 0)

    async def find(self, document_id: str) -> DocumentInfo | None:
        """One document; None: the tenant has none of that id."""
        return await self._database.read(rows.document, self._tenant, document_id)

    async def documents(self, *, limit: int | None = None, after: str | None = None) -> Page:
        """The documents behind *after* in binary order of their ids; without a limit all."""
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
        done = await self._database.write(
            partial(changes.delete, tenant=self._tenant, document=document_id),
            partial(self._finder.follow, vectors=b""),
            adds=0,
        )
        return done.removed

    async def search(
        self, query: bytes, model: str, k: int, where: Where = _EVERYTHING
    ) -> list[Hit]:
        """The *k* chunks of this tenant and model nearest to *query*, a unit vector; best first.

        Equal scores stand by document id, then chunk index. Raises ValueError for another query.
        """
        return await self._finder.search(self._tenant, model, query, k, where)

    async def _check(self, document: NewDocument) -> None:
        if not document.id or not document.texts:
            raise ValueError("a document has an id and at least one chunk")
        if document.metadata is not None:
            orjson.loads(document.metadata)
        await self._finder.check(document.vectors, len(document.texts))
