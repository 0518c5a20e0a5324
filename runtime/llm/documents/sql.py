"""The SQL of the document store: each function is a query or a transaction."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final, NamedTuple

from runtime.llm.documents.document import (
    VECTOR_BYTES,
    DocumentInfo,
    NewDocument,
    Page,
    Scalar,
    StoreLimit,
    TenantInfo,
    Where,
)
from runtime.llm.documents.schema import BUSY_MS, transaction

_ROWS: Final = 64
"""Rows per INSERT statement."""
BLOCK: Final = 2048
"""Vectors per read: 3 MiB."""
Parameter = str | int | float
_INTEGERS: Final = range(-(1 << 63), 1 << 63)
_COLLECTION: Final = "collections.id, generation, chunks, file_generation, file_digest, file_format"


class Totals(NamedTuple):
    """Totals over all tenants."""

    tenants: int
    documents: int
    chunks: int


class Collection(NamedTuple):
    """The chunks of a tenant and an embedding model, which a search covers."""

    id: int
    """Never reused for another collection."""
    generation: int
    """Increases with every committed change."""
    chunks: int
    file_generation: int | None
    """The generation of the saved index file; None if there is no file."""
    file_digest: bytes | None
    file_format: str | None


class Block(NamedTuple):
    """Ids of chunks and their concatenated vectors."""

    ids: list[int]
    vectors: bytes


class Chunk(NamedTuple):
    """A chunk as returned by a search."""

    id: int
    document: str
    number: int
    text: str
    metadata: str | None


class Change(NamedTuple):
    """Changes of a committed transaction to a collection."""

    collection: int
    generation: int
    """The collection's generation after the transaction."""
    removed: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    gone: bool = False
    """Whether the collection is empty and gone; its id is not reused."""


class Commit(NamedTuple):
    """Result of a committed transaction."""

    totals: Totals
    changes: tuple[Change, ...]
    """At most one per collection."""
    results: tuple[int | StoreLimit, ...]
    """For each edit, the number of chunks it removed, or why it was skipped."""


# --- reads


def read_totals(connection: sqlite3.Connection) -> Totals:
    """Read the totals over all tenants."""
    row = connection.execute("SELECT tenants, documents, chunks FROM totals").fetchone()
    return Totals(*row)


def list_tenants(connection: sqlite3.Connection) -> list[TenantInfo]:
    """List the tenants with chunks, in binary order of their names."""
    rows = connection.execute(
        "SELECT tenants.name, sum(documents), sum(chunks)"
        " FROM tenants JOIN collections ON collections.tenant = tenants.id"
        " GROUP BY tenants.id ORDER BY tenants.name"
    )
    return [TenantInfo(*row) for row in rows]


def find_collection(connection: sqlite3.Connection, tenant: str, model: str) -> Collection | None:
    """Find the collection of a tenant and model; None if it is empty."""
    row = connection.execute(
        f"SELECT {_COLLECTION}"  # noqa: S608  # fixed text
        " FROM tenants JOIN collections ON collections.tenant = tenants.id"
        " WHERE tenants.name = ? AND model = ?",
        (tenant, model),
    ).fetchone()
    return Collection(*row) if row else None


def read_collection(connection: sqlite3.Connection, number: int) -> Collection | None:
    """Read the collection with this id; None if it is gone."""
    row = connection.execute(
        f"SELECT {_COLLECTION} FROM collections WHERE id = ?",  # noqa: S608  # fixed text
        (number,),
    ).fetchone()
    return Collection(*row) if row else None


def list_files(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    """List the collections with an index file, and the generation of each file."""
    return connection.execute(
        "SELECT id, file_generation FROM collections WHERE file_generation IS NOT NULL"
    ).fetchall()


def list_documents(
    connection: sqlite3.Connection, tenant: str, limit: int, after: str | None = None
) -> Page:
    """List a tenant's documents after the id *after*, in binary order of their ids."""
    rows = connection.execute(
        "SELECT name, model, documents.chunks, created, chars, digest"
        " FROM documents JOIN collections ON collections.id = documents.collection"
        " WHERE documents.tenant = (SELECT id FROM tenants WHERE name = ?) AND name > ?"
        " ORDER BY name LIMIT ?",
        (tenant, after or "", limit + 1),
    ).fetchall()
    return Page(tuple(DocumentInfo(*row) for row in rows[:limit]), len(rows) > limit)


def read_vectors(connection: sqlite3.Connection, number: int, ids: Iterable[int]) -> Block:
    """Read the vectors of the chunks that are still in the collection."""
    return _read_block(
        connection,
        "SELECT id, vector FROM chunks"
        " WHERE id IN (SELECT value FROM json_each(?)) AND collection = ?",
        (json.dumps(list(ids)), number),
    )


def read_all_vectors(connection: sqlite3.Connection, number: int) -> Iterator[Block]:
    """Read all vectors of a collection in the order of chunk ids, block by block."""
    last = 0
    while True:
        block = _read_block(
            connection,
            "SELECT id, vector FROM chunks WHERE collection = ? AND id > ? ORDER BY id LIMIT ?",
            (number, last, BLOCK),
        )
        if not block.ids:
            return
        yield block
        last = block.ids[-1]


def read_eligible_vectors(
    connection: sqlite3.Connection, number: int, where: Where
) -> Iterator[Block]:
    """Read the vectors of a collection that a search may return, block by block."""
    if not where.narrows:
        yield from read_all_vectors(connection, number)
        return
    test, parameters = build_condition(where)
    (rows,) = connection.execute(
        "SELECT json_group_array(chunks.id) FROM documents"  # noqa: S608  # no value is in the text
        " CROSS JOIN chunks AS first ON first.document = documents.id AND first.number = 0"
        " CROSS JOIN chunks ON chunks.document = documents.id"
        f" WHERE documents.collection = ? AND {test}",
        (number, *parameters),
    ).fetchone()
    ids = json.loads(rows)
    for at in range(0, len(ids), BLOCK):
        yield read_vectors(connection, number, ids[at : at + BLOCK])


def read_chunks(connection: sqlite3.Connection, ids: Iterable[int], limit: int) -> list[Chunk]:
    """Read the first *limit* of the chunks, ordered by document id, then number."""
    (rows,) = connection.execute(
        "SELECT json_group_array(json_array(id, name, number, text, metadata)) FROM ("
        "SELECT chunks.id, name, chunks.number, chunks.text, first.metadata FROM chunks"
        " JOIN documents ON documents.id = chunks.document"
        " JOIN chunks AS first ON first.document = documents.id AND first.number = 0"
        " WHERE chunks.id IN (SELECT value FROM json_each(?))"
        " ORDER BY name, chunks.number LIMIT ?)",
        (json.dumps(list(ids)), limit),
    ).fetchone()
    return [Chunk(*row) for row in json.loads(rows)]


def _read_block(
    connection: sqlite3.Connection, query: str, parameters: Sequence[Parameter]
) -> Block:
    """Read the ids and vectors of a query as a single row.

    Each row releases the interpreter lock, which a search seldom regains at once on a busy server.
    """
    ids, data = connection.execute(
        "SELECT json_group_array(id), CAST(group_concat(vector, '') AS BLOB)"  # noqa: S608
        f" FROM ({query})",  # fixed text
        parameters,
    ).fetchone()
    return Block(json.loads(ids), data or b"")


# --- filters

# The last of several equal keys counts, as in parsers that keep one value per key. SQLite's JSON
# functions cut strings at an escaped NUL, so metadata with one matches nothing.
_HAS: Final = (
    "coalesce((SELECT {0} FROM json_each(first.metadata) AS entry WHERE entry.key = ?"
    " ORDER BY entry.id DESC LIMIT 1), 0)"
    " AND coalesce(instr(first.metadata, '\\u0000'), 0) = 0"
)


def build_condition(where: Where) -> tuple[str, list[Parameter]]:
    """Build a boolean SQL expression that a document must satisfy, and its parameters.

    It refers to the tables ``documents`` and ``first``, the row of a document's first chunk.
    """
    parts: list[str] = []
    parameters: list[Parameter] = []
    if where.document_ids is not None:
        parts.append("documents.name IN (SELECT value FROM json_each(?))")
        parameters.append(json.dumps(sorted(where.document_ids)))
    for key, value in where.equal.items():
        test, values = _compare(value)
        parts.append(_HAS.format(test))
        parameters += [*values, key]
    return " AND ".join(parts) or "TRUE", parameters


def _compare(value: Scalar) -> tuple[str, list[Parameter]]:
    """Compare as in JSON: true is not 1, 1 is 1.0, and an absent key equals nothing."""
    match value:
        case None:
            return "entry.type = 'null'", []
        case bool():
            return f"entry.type = '{'true' if value else 'false'}'", []
        case str():
            return "entry.type = 'text' AND entry.value = ?", [value]
    if value != value:  # NaN, which SQLite would read as NULL
        return "FALSE", []
    number = value if isinstance(value, float) or value in _INTEGERS else _to_float(value)
    return "entry.type IN ('integer', 'real') AND entry.value = ?", [number]


def _to_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


# --- writes


class Replace(NamedTuple):
    """Store a document, replacing one with the same id."""

    tenant: str
    new: NewDocument
    max_chunks: int
    max_tenants: int
    now: int
    """Unix seconds."""

    @property
    def place(self) -> tuple[str, str]:
        """The affected document."""
        return self.tenant, self.new.id


class Delete(NamedTuple):
    """Delete a document; an unknown one changes nothing."""

    tenant: str
    document: str

    @property
    def place(self) -> tuple[str, str]:
        """The affected document."""
        return self.tenant, self.document


class DeleteTenant(NamedTuple):
    """Delete all documents of a tenant."""

    tenant: str
    place: None = None
    """None, because it affects many documents."""


Edit = Replace | Delete | DeleteTenant


def commit(connection: sqlite3.Connection, edits: Sequence[Edit]) -> Commit:
    """Apply all edits in one transaction, or none after a failure.

    The edits must affect different documents, or be a single one for a tenant. An edit that would
    exceed a limit is skipped.
    """
    with transaction(connection):
        batch = _Batch(connection, edits)
        results = tuple(batch.edit(edit) for edit in edits)
        return Commit(*batch.write(), results)


def record_file(
    connection: sqlite3.Connection, collection: int, generation: int, digest: bytes, kind: str
) -> bool:
    """Record the index file of a collection; return False if the collection is gone."""
    with transaction(connection):
        cursor = connection.execute(
            "UPDATE collections SET file_generation = ?, file_digest = ?, file_format = ?"
            " WHERE id = ?",
            (generation, digest, kind, collection),
        )
        return cursor.rowcount > 0


def scrub(connection: sqlite3.Connection) -> bool:
    """Checkpoint and truncate the write-ahead log, which may still contain deleted text.

    Returns False at once if a reader still uses an older state.
    """
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        ((busy, _, _),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
        return False
    finally:
        connection.execute(f"PRAGMA busy_timeout = {BUSY_MS}")
    return not busy


@dataclass
class _Tenant:
    """A tenant during a transaction."""

    id: int
    chunks: int = 0
    collections: "dict[str, _Collection]" = field(default_factory=dict)
    """Collections by model."""


@dataclass
class _Collection:
    """A collection during a transaction."""

    tenant: _Tenant
    id: int
    generation: int = 0
    documents: int = 0
    chunks: int = 0
    removed: list[int] = field(default_factory=list)
    added: list[int] = field(default_factory=list)
    edited: bool = False


class _Old(NamedTuple):
    """The stored version of an edited document."""

    id: int
    collection: int
    chunks: int


class _Batch:
    """Reads what edits affect, applies them in memory, then writes everything.

    Every statement releases the interpreter lock, and regaining it may cost more than the
    statement itself, so each kind of statement runs once for all edits.
    """

    def __init__(self, connection: sqlite3.Connection, edits: Sequence[Edit]) -> None:
        self._connection = connection
        self._tenants: dict[str, _Tenant] = {}
        self._collections: dict[int, _Collection] = {}
        self._gone: list[int] = []
        self._documents: list[tuple[Parameter, ...]] = []
        self._chunks: list[tuple[object, ...]] = []
        for name, owner, model, *counts in connection.execute(
            "SELECT tenants.name, tenants.id, model, collections.id, generation, documents, chunks"
            " FROM tenants JOIN collections ON collections.tenant = tenants.id"
            " WHERE tenants.name IN (SELECT value FROM json_each(?))",
            (json.dumps([edit.tenant for edit in edits]),),
        ):
            tenant = self._tenants.setdefault(name, _Tenant(owner))
            collection = tenant.collections[model] = _Collection(tenant, *counts)
            self._collections[collection.id] = collection
            tenant.chunks += collection.chunks
        self._old = {
            (tenant, name): _Old(*old)
            for tenant, name, *old in connection.execute(
                "SELECT tenants.name, documents.name, documents.id, collection, documents.chunks"
                " FROM json_each(?) AS place"
                " JOIN tenants ON tenants.name = json_extract(place.value, '$[0]')"
                " JOIN documents ON documents.tenant = tenants.id"
                " AND documents.name = json_extract(place.value, '$[1]')",
                (json.dumps([edit.place for edit in edits if edit.place]),),
            )
        }
        *counts, self._last_document, self._last_chunk = connection.execute(
            "SELECT tenants, documents, chunks,"
            " coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'documents'), 0),"
            " coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'chunks'), 0) FROM totals"
        ).fetchone()
        self._totals = Totals(*counts)

    def edit(self, edit: Edit) -> int | StoreLimit:
        """Apply an edit; return the number of chunks it removes, or why it is skipped."""
        match edit:
            case Replace():
                return self._replace(edit)
            case Delete():
                return self._remove(edit.place)
        return self._delete_tenant(edit.tenant)

    def write(self) -> tuple[Totals, tuple[Change, ...]]:
        """Write the changes; return the new totals and the changes."""
        edited = [collection for collection in self._collections.values() if collection.edited]
        if not edited:
            return self._totals, ()
        execute, execute_many = self._connection.execute, self._connection.executemany
        if self._gone:
            for collection, id_ in execute(
                "SELECT collection, chunks.id FROM json_each(?) JOIN chunks ON document = value",
                (json.dumps(self._gone),),
            ):
                self._collections[collection].removed.append(id_)
            execute_many("DELETE FROM documents WHERE id = ?", [(id_,) for id_ in self._gone])
        self._insert_all(
            "INSERT INTO documents (id, tenant, collection, name, chunks, chars, digest, created)",
            self._documents,
        )
        self._insert_all(
            "INSERT INTO chunks (id, collection, document, number, vector, text, metadata)",
            self._chunks,
        )
        execute_many(
            "UPDATE collections SET generation = generation + 1, documents = ?, chunks = ?"
            " WHERE id = ?",
            [(collection.documents, collection.chunks, collection.id) for collection in edited],
        )
        execute_many(
            "DELETE FROM collections WHERE id = ?",
            [(collection.id,) for collection in edited if not collection.chunks],
        )
        execute_many(
            "DELETE FROM tenants WHERE id = ?",
            [(tenant.id,) for tenant in self._tenants.values() if not tenant.chunks],
        )
        execute("UPDATE totals SET tenants = ?, documents = ?, chunks = ?", self._totals)
        return self._totals, tuple(
            Change(
                collection.id,
                collection.generation + 1,
                tuple(collection.removed),
                tuple(collection.added),
                gone=not collection.chunks,
            )
            for collection in edited
        )

    def _insert_all(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Insert *rows*, several per statement."""
        for at in range(0, len(rows), _ROWS):
            group = rows[at : at + _ROWS]
            places = ", ".join(["(" + ", ".join("?" * len(group[0])) + ")"] * len(group))
            self._connection.execute(f"{statement} VALUES {places}", list(chain(*group)))

    def _count(self, collection: _Collection, documents: int, chunks: int) -> None:
        """Add documents and chunks to the counts."""
        tenant, now = collection.tenant, self._totals
        tenants = now.tenants - (tenant.chunks > 0)
        tenant.chunks += chunks
        tenants += tenant.chunks > 0
        collection.documents += documents
        collection.chunks += chunks
        collection.edited = True
        self._totals = Totals(tenants, now.documents + documents, now.chunks + chunks)

    def _replace(self, edit: Replace) -> int | StoreLimit:
        new, now = edit.new, self._totals
        old, tenant = self._old.get(edit.place), self._tenants.get(edit.tenant)
        count = len(new.texts)
        more = count - (old.chunks if old else 0)
        if more > 0 and now.chunks + more > edit.max_chunks:
            return StoreLimit(f"the document store is limited to {edit.max_chunks} chunks")
        if now.tenants + (tenant is None or not tenant.chunks) > edit.max_tenants:
            return StoreLimit(f"the document store is limited to {edit.max_tenants} tenants")
        removed = self._remove(edit.place)
        tenant, collection = self._find(edit.tenant, new.model)
        self._count(collection, 1, count)
        self._last_document += 1
        self._documents.append(
            (
                *(self._last_document, tenant.id, collection.id),
                *(new.id, count, new.chars, new.digest, edit.now),
            )
        )
        data = memoryview(new.vectors)
        for number, text in enumerate(new.texts):
            self._last_chunk += 1
            collection.added.append(self._last_chunk)
            vector = data[number * VECTOR_BYTES : (number + 1) * VECTOR_BYTES]
            self._chunks.append(
                (
                    *(self._last_chunk, collection.id, self._last_document, number),
                    *(vector, text, None if number else new.metadata),
                )
            )
        return removed

    def _remove(self, place: tuple[str, str]) -> int:
        old = self._old.get(place)
        if old is None:
            return 0
        self._gone.append(old.id)
        self._count(self._collections[old.collection], -1, -old.chunks)
        return old.chunks

    def _delete_tenant(self, name: str) -> int:
        tenant = self._tenants.get(name)
        if tenant is None:
            return 0
        removed = tenant.chunks
        self._connection.execute("DELETE FROM documents WHERE tenant = ?", (tenant.id,))
        for collection in tenant.collections.values():
            self._count(collection, -collection.documents, -collection.chunks)
        return removed

    def _find(self, name: str, model: str) -> tuple[_Tenant, _Collection]:
        """Find the tenant and collection of a document, or create them."""
        tenant = self._tenants.get(name)
        if tenant is None:
            id_ = self._insert("INSERT INTO tenants (name) VALUES (?)", name)
            tenant = self._tenants[name] = _Tenant(id_)
        collection = tenant.collections.get(model)
        if collection is None:
            statement = "INSERT INTO collections (tenant, model) VALUES (?, ?)"
            collection = _Collection(tenant, self._insert(statement, tenant.id, model))
            tenant.collections[model] = self._collections[collection.id] = collection
        return tenant, collection

    def _insert(self, statement: str, *values: Parameter) -> int:
        """Insert a row and return its id."""
        id_ = self._connection.execute(statement, values).lastrowid
        assert id_ is not None
        return id_
