"""The SQL of the document store: one query or one transaction a function, values in and out."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from runtime.llm.documents.schema import BUSY_MS, transaction
from runtime.llm.documents.values import (
    VECTOR_BYTES,
    DocumentInfo,
    NewDocument,
    Page,
    Scalar,
    StoreLimit,
    TenantInfo,
    Where,
)
from runtime.web.errors import ApiError

BLOCK: Final = 2048
"""Vectors that are read at a time: 3 MiB."""
Parameter = str | int | float
_INTEGERS: Final = range(-(1 << 63), 1 << 63)
_COLLECTION: Final = "collections.id, generation, chunks, file_generation, file_digest, file_format"


class Totals(NamedTuple):
    """What all tenants together have stored."""

    tenants: int
    documents: int
    chunks: int


class Collection(NamedTuple):
    """The chunks of one tenant and one embedding model: what a search looks through."""

    id: int
    """Never given to another collection."""
    generation: int
    """Rises with every committed change."""
    chunks: int
    file_generation: int | None
    """The generation at which the index file was saved; None: there is no file."""
    file_digest: bytes | None
    file_format: str | None


class Block(NamedTuple):
    """Some chunks' ids and their vectors, concatenated."""

    ids: list[int]
    vectors: bytes


class Chunk(NamedTuple):
    """A chunk as a search shows it."""

    id: int
    document: str
    number: int
    text: str
    metadata: str | None


class Limits(NamedTuple):
    """How much may be stored over all tenants."""

    chunks: int
    tenants: int
    """Tenants with chunks."""


class Change(NamedTuple):
    """What a committed transaction did to one collection."""

    collection: int
    generation: int
    """Of the collection after the transaction."""
    removed: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    gone: bool = False
    """The collection has no chunk left, and its id will not come back."""


class Commit(NamedTuple):
    """What a committed transaction did."""

    totals: Totals
    changes: tuple[Change, ...] = ()
    removed: int = 0
    """Chunks that were deleted, those of a replaced document included."""


# --- reads


def totals(connection: sqlite3.Connection) -> Totals:
    """The counts over all tenants."""
    row = connection.execute("SELECT tenants, documents, chunks FROM totals").fetchone()
    return Totals(*row)


def tenants(connection: sqlite3.Connection) -> list[TenantInfo]:
    """All tenants that have chunks, by name in binary order."""
    rows = connection.execute(
        "SELECT tenants.name, sum(documents), sum(chunks)"
        " FROM tenants JOIN collections ON collections.tenant = tenants.id"
        " GROUP BY tenants.id ORDER BY tenants.name"
    )
    return [TenantInfo(*row) for row in rows]


def find_collection(connection: sqlite3.Connection, tenant: str, model: str) -> Collection | None:
    """The collection of a tenant and a model; None: nothing is in it."""
    row = connection.execute(
        f"SELECT {_COLLECTION}"  # noqa: S608  # fixed text
        " FROM tenants JOIN collections ON collections.tenant = tenants.id"
        " WHERE tenants.name = ? AND model = ?",
        (tenant, model),
    ).fetchone()
    return Collection(*row) if row else None


def collection(connection: sqlite3.Connection, number: int) -> Collection | None:
    """The collection of an id; None: it is gone."""
    row = connection.execute(
        f"SELECT {_COLLECTION} FROM collections WHERE id = ?",  # noqa: S608  # fixed text
        (number,),
    ).fetchone()
    return Collection(*row) if row else None


def files(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    """The collections that have an index file, and the generation of each file."""
    return connection.execute(
        "SELECT id, file_generation FROM collections WHERE file_generation IS NOT NULL"
    ).fetchall()


def documents(
    connection: sqlite3.Connection, tenant: str, limit: int, after: str | None = None
) -> Page:
    """A tenant's documents that follow *after* in binary order of their ids."""
    rows = connection.execute(
        "SELECT name, model, documents.chunks, created, chars, digest"
        " FROM documents JOIN collections ON collections.id = documents.collection"
        " WHERE documents.tenant = (SELECT id FROM tenants WHERE name = ?) AND name > ?"
        " ORDER BY name LIMIT ?",
        (tenant, after or "", limit + 1),
    ).fetchall()
    return Page(tuple(DocumentInfo(*row) for row in rows[:limit]), len(rows) > limit)


def vectors(connection: sqlite3.Connection, number: int, ids: Iterable[int]) -> Block:
    """Those of the chunks that are still in the collection."""
    return _block(
        connection,
        "SELECT id, vector FROM chunks"
        " WHERE id IN (SELECT value FROM json_each(?)) AND collection = ?",
        (json.dumps(list(ids)), number),
    )


def all_vectors(connection: sqlite3.Connection, number: int) -> Iterator[Block]:
    """All chunks of a collection in order of their ids, block by block."""
    last = 0
    while True:
        block = _block(
            connection,
            "SELECT id, vector FROM chunks WHERE collection = ? AND id > ? ORDER BY id LIMIT ?",
            (number, last, BLOCK),
        )
        if not block.ids:
            return
        yield block
        last = block.ids[-1]


def eligible_vectors(connection: sqlite3.Connection, number: int, where: Where) -> Iterator[Block]:
    """The chunks of a collection that a search may return, block by block."""
    if not where.narrows:
        yield from all_vectors(connection, number)
        return
    test, parameters = condition(where)
    (listed,) = connection.execute(
        "SELECT json_group_array(chunks.id) FROM documents"  # noqa: S608  # no value is in the text
        " CROSS JOIN chunks AS first ON first.document = documents.id AND first.number = 0"
        " CROSS JOIN chunks ON chunks.document = documents.id"
        f" WHERE documents.collection = ? AND {test}",
        (number, *parameters),
    ).fetchone()
    ids = json.loads(listed)
    for at in range(0, len(ids), BLOCK):
        yield vectors(connection, number, ids[at : at + BLOCK])


def chunks(connection: sqlite3.Connection, ids: Iterable[int], limit: int) -> list[Chunk]:
    """The first *limit* of the chunks, by document id, then by number."""
    (listed,) = connection.execute(
        "SELECT json_group_array(json_array(id, name, number, text, metadata)) FROM ("
        "SELECT chunks.id, name, chunks.number, chunks.text, first.metadata FROM chunks"
        " JOIN documents ON documents.id = chunks.document"
        " JOIN chunks AS first ON first.document = documents.id AND first.number = 0"
        " WHERE chunks.id IN (SELECT value FROM json_each(?))"
        " ORDER BY name, chunks.number LIMIT ?)",
        (json.dumps(list(ids)), limit),
    ).fetchone()
    return [Chunk(*row) for row in json.loads(listed)]


def _block(connection: sqlite3.Connection, query: str, parameters: Sequence[Parameter]) -> Block:
    """What a query for ids and vectors finds, as one row.

    A row costs the interpreter lock, which a search seldom gets back at once on a busy server.
    """
    ids, data = connection.execute(
        "SELECT json_group_array(id), CAST(group_concat(vector, '') AS BLOB)"  # noqa: S608
        f" FROM ({query})",  # fixed text
        parameters,
    ).fetchone()
    return Block(json.loads(ids), data or b"")


# --- filters

# The last of several equal keys counts, as in a parser that keeps one value a key. An escaped NUL
# ends a string early in this reader of JSON, so such metadata equals nothing.
_HAS: Final = (
    "coalesce((SELECT {0} FROM json_each(first.metadata) AS entry WHERE entry.key = ?"
    " ORDER BY entry.id DESC LIMIT 1), 0)"
    " AND coalesce(instr(first.metadata, '\\u0000'), 0) = 0"
)


def condition(where: Where) -> tuple[str, list[Parameter]]:
    """A boolean SQL expression that a document must meet, and its parameters.

    It names the tables ``documents`` and ``first``, the row of a document's first chunk.
    """
    parts: list[str] = []
    parameters: list[Parameter] = []
    if where.document_ids is not None:
        parts.append("documents.name IN (SELECT value FROM json_each(?))")
        parameters.append(json.dumps(sorted(where.document_ids)))
    for key, value in where.equal.items():
        test, values = _equals(value)
        parts.append(_HAS.format(test))
        parameters += [*values, key]
    return " AND ".join(parts) or "TRUE", parameters


def _equals(value: Scalar) -> tuple[str, list[Parameter]]:
    """Equality as in JSON: true is not 1, 1 is 1.0, and an absent key equals nothing."""
    match value:
        case None:
            return "entry.type = 'null'", []
        case bool():
            return f"entry.type = '{'true' if value else 'false'}'", []
        case str():
            return "entry.type = 'text' AND entry.value = ?", [value]
    if value != value:  # not a number: SQLite would take it for NULL
        return "FALSE", []
    number = value if isinstance(value, float) or value in _INTEGERS else _to_float(value)
    return "entry.type IN ('integer', 'real') AND entry.value = ?", [number]


def _to_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


# --- writes


class _Old(NamedTuple):
    id: int
    collection: int
    chunks: int


def commit_together(
    connection: sqlite3.Connection,
    works: Sequence[Callable[[sqlite3.Connection], Commit]],
    has_room: Callable[[sqlite3.Connection], bool],
) -> list[Commit | ApiError] | None:
    """What became of each piece of work, in one transaction; None: there is no room for it.

    A piece that raises `ApiError` must not have changed anything; any other failure takes all of
    them back.
    """
    if not has_room(connection):
        return None
    results: list[Commit | ApiError] = []
    with transaction(connection):
        for work in works:
            try:
                results.append(work(connection))
            except ApiError as error:
                results.append(error)
    return results


def commit_alone(
    connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], Commit]
) -> Commit:
    """What became of a piece of work that is a transaction of its own."""
    with transaction(connection):
        return work(connection)


# Every statement releases the interpreter lock, and to get it back may cost more than the
# statement: a write is as few statements as possible.


def replace(
    connection: sqlite3.Connection, tenant: str, new: NewDocument, limits: Limits, now: int
) -> Commit:
    """Store a document in place of the one that has its id; within a transaction.

    *now* is the time of the write in Unix seconds. Raises `StoreLimit` before it changes anything.
    """
    before, owner, target, old = _find(connection, tenant, new.model, new.id)
    more = len(new.texts) - (old.chunks if old else 0)
    new_tenants = int(owner is None)
    _check_limits(before, limits, chunks=more, tenants=new_tenants)
    if owner is None:
        owner = _insert(connection, "INSERT INTO tenants (name) VALUES (?)", tenant)
    if target is None:
        target = _insert(
            connection, "INSERT INTO collections (tenant, model) VALUES (?, ?)", owner, new.model
        )
    removed = _remove(connection, old) if old else ()
    added = _insert_document(connection, owner, target, new, now)
    documents = 0 if old else 1
    if old and old.collection != target:
        changes = [
            _change(connection, target, documents=1, added=added),
            _change(connection, old.collection, documents=-1, removed=removed),
        ]
    else:
        changes = [_change(connection, target, documents, removed, added)]
    after = _count(connection, tenants=new_tenants, documents=documents, chunks=more)
    return Commit(after, tuple(changes), len(removed))


def delete(connection: sqlite3.Connection, tenant: str, document: str) -> Commit:
    """Remove a document of a tenant, within a transaction; an unknown one changes nothing."""
    before, owner, _, old = _find(connection, tenant, None, document)
    if old is None:
        return Commit(before)
    removed = _remove(connection, old)
    change = _change(connection, old.collection, documents=-1, removed=removed)
    tenants = 0
    if change.gone:
        tenants -= connection.execute(
            "DELETE FROM tenants WHERE id = ?"
            " AND NOT EXISTS (SELECT 1 FROM collections WHERE tenant = tenants.id)",
            (owner,),
        ).rowcount
    after = _count(connection, tenants=tenants, documents=-1, chunks=-len(removed))
    return Commit(after, (change,), len(removed))


def delete_tenant(connection: sqlite3.Connection, tenant: str) -> Commit:
    """Remove all that a tenant has; within a transaction."""
    before, owner, _, _ = _find(connection, tenant, None, None)
    if owner is None:
        return Commit(before)
    rows = connection.execute(
        "SELECT id, generation, documents, chunks FROM collections WHERE tenant = ?", (owner,)
    ).fetchall()
    for statement in (
        "DELETE FROM documents WHERE tenant = ?",
        "DELETE FROM collections WHERE tenant = ?",
        "DELETE FROM tenants WHERE id = ?",
    ):
        connection.execute(statement, (owner,))
    documents, chunks = sum(row[2] for row in rows), sum(row[3] for row in rows)
    changes = tuple(Change(row[0], row[1] + 1, gone=True) for row in rows)
    after = _count(connection, tenants=-1, documents=-documents, chunks=-chunks)
    return Commit(after, changes, chunks)


def record_file(
    connection: sqlite3.Connection, collection: int, generation: int, digest: bytes, kind: str
) -> bool:
    """Record the index file of a collection; False: the collection is gone."""
    with transaction(connection):
        cursor = connection.execute(
            "UPDATE collections SET file_generation = ?, file_digest = ?, file_format = ?"
            " WHERE id = ?",
            (generation, digest, kind, collection),
        )
        return cursor.rowcount > 0


def scrub(connection: sqlite3.Connection) -> bool:
    """Checkpoint and truncate the write-ahead log, which may still hold deleted text.

    False: a reader still looks at the past; nothing waits for it.
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


class _Found(NamedTuple):
    """What a write finds; None: it is not there."""

    totals: Totals
    tenant: int | None
    collection: int | None
    """Of the model that was asked for."""
    document: _Old | None


def _find(
    connection: sqlite3.Connection, tenant: str, model: str | None, document: str | None
) -> _Found:
    row = connection.execute(
        "SELECT totals.tenants, totals.documents, totals.chunks, tenants.id, collections.id,"
        " documents.id, documents.collection, documents.chunks"
        " FROM totals LEFT JOIN tenants ON tenants.name = ?"
        " LEFT JOIN collections ON collections.tenant = tenants.id AND model = ?"
        " LEFT JOIN documents ON documents.tenant = tenants.id AND documents.name = ?",
        (tenant, model, document),
    ).fetchone()
    old = None if row[5] is None else _Old(*row[5:])
    return _Found(Totals(*row[:3]), row[3], row[4], old)


def _check_limits(before: Totals, limits: Limits, *, chunks: int, tenants: int) -> None:
    if chunks > 0 and before.chunks + chunks > limits.chunks:
        raise StoreLimit(f"the document store holds at most {limits.chunks} chunks")
    if before.tenants + tenants > limits.tenants:
        raise StoreLimit(f"the document store holds at most {limits.tenants} tenants")


def _remove(connection: sqlite3.Connection, old: _Old) -> tuple[int, ...]:
    rows = connection.execute("SELECT id FROM chunks WHERE document = ?", (old.id,))
    ids = tuple(id_ for (id_,) in rows)
    connection.execute("DELETE FROM documents WHERE id = ?", (old.id,))
    return ids


def _insert(connection: sqlite3.Connection, statement: str, *values: object) -> int:
    """The id of the new row."""
    id_ = connection.execute(statement, values).lastrowid
    assert id_ is not None
    return id_


def _insert_document(
    connection: sqlite3.Connection, tenant: int, collection: int, new: NewDocument, now: int
) -> tuple[int, ...]:
    """The ids of its chunks."""
    count = len(new.texts)
    document = _insert(
        connection,
        "INSERT INTO documents (tenant, collection, name, chunks, chars, digest, created)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        *(tenant, collection, new.id, count, new.chars, new.digest, now),
    )
    data = memoryview(new.vectors)
    vectors = (data[at : at + VECTOR_BYTES] for at in range(0, len(data), VECTOR_BYTES))
    chunks = (
        (collection, document, number, vector, text, None if number else new.metadata)
        for number, (vector, text) in enumerate(zip(vectors, new.texts, strict=True))
    )
    statement = (
        "INSERT INTO chunks (collection, document, number, vector, text, metadata, id)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)"
    )
    first = _insert(connection, statement, *next(chunks), None)
    ids = tuple(range(first, first + count))
    connection.executemany(
        statement, ((*chunk, id_) for chunk, id_ in zip(chunks, ids[1:], strict=True))
    )
    return ids


def _change(
    connection: sqlite3.Connection,
    collection: int,
    documents: int,
    removed: tuple[int, ...] = (),
    added: tuple[int, ...] = (),
) -> Change:
    """Count what changed in a collection, give it its new generation, drop it if it is empty."""
    ((generation, chunks),) = connection.execute(
        "UPDATE collections SET generation = generation + 1, documents = documents + ?,"
        " chunks = chunks + ? WHERE id = ? RETURNING generation, chunks",
        (documents, len(added) - len(removed), collection),
    ).fetchall()
    if chunks == 0:
        connection.execute("DELETE FROM collections WHERE id = ?", (collection,))
    return Change(collection, generation, removed, added, gone=chunks == 0)


def _count(connection: sqlite3.Connection, *, tenants: int, documents: int, chunks: int) -> Totals:
    """The totals after so many more."""
    (row,) = connection.execute(
        "UPDATE totals SET tenants = tenants + ?, documents = documents + ?, chunks = chunks + ?"
        " RETURNING tenants, documents, chunks",
        (tenants, documents, chunks),
    ).fetchall()
    return Totals(*row)
