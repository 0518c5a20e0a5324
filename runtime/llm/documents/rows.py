"""Reads of the document store: one query a function, values out; nothing here writes."""

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from runtime.llm.documents.filters import condition
from runtime.llm.documents.values import DocumentInfo, Page, TenantInfo, Where

BLOCK: Final = 2048
"""Vectors that are read at a time: 3 MiB."""


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
    """The generation that the index file was saved at; None: there is no file."""
    file_digest: bytes | None
    file_format: str | None


class Block(NamedTuple):
    """Some chunks' ids and their vectors, one behind the other."""

    ids: list[int]
    vectors: bytes


class Place(NamedTuple):
    """Decides between chunks of equal score."""

    document: str
    number: int


class Found(NamedTuple):
    """A chunk as it is shown."""

    document: str
    number: int
    text: str
    metadata: str | None


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


def collection(connection: sqlite3.Connection, tenant: str, model: str) -> Collection | None:
    """The collection of a tenant and a model; None: nothing is in it."""
    row = connection.execute(
        "SELECT collections.id, generation, chunks, file_generation, file_digest, file_format"
        " FROM tenants JOIN collections ON collections.tenant = tenants.id"
        " WHERE tenants.name = ? AND model = ?",
        (tenant, model),
    ).fetchone()
    return Collection(*row) if row else None


def collection_of(connection: sqlite3.Connection, number: int) -> Collection | None:
    """The collection of an id; None: it is gone."""
    row = connection.execute(
        "SELECT id, generation, chunks, file_generation, file_digest, file_format"
        " FROM collections WHERE id = ?",
        (number,),
    ).fetchone()
    return Collection(*row) if row else None


def files(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    """The collections that have an index file, and the generation of each file."""
    return connection.execute(
        "SELECT id, file_generation FROM collections WHERE file_generation IS NOT NULL"
    ).fetchall()


def documents(connection: sqlite3.Connection, tenant: str, limit: int, after: str | None) -> Page:
    """A tenant's documents behind *after* in binary order of their ids."""
    rows = connection.execute(
        "SELECT name, model, documents.chunks, created, chars, digest"
        " FROM documents JOIN collections ON collections.id = documents.collection"
        " WHERE documents.tenant = (SELECT id FROM tenants WHERE name = ?) AND name > ?"
        " ORDER BY name LIMIT ?",
        (tenant, after or "", limit + 1),
    ).fetchall()
    return Page(tuple(DocumentInfo(*row) for row in rows[:limit]), len(rows) > limit)


def document(connection: sqlite3.Connection, tenant: str, name: str) -> DocumentInfo | None:
    """One document of a tenant."""
    row = connection.execute(
        "SELECT name, model, documents.chunks, created, chars, digest"
        " FROM documents JOIN collections ON collections.id = documents.collection"
        " WHERE documents.tenant = (SELECT id FROM tenants WHERE name = ?) AND name = ?",
        (tenant, name),
    ).fetchone()
    return DocumentInfo(*row) if row else None


def chunk_ids(connection: sqlite3.Connection, number: int) -> list[int]:
    """The ids of all chunks of a collection, ascending."""
    rows = connection.execute("SELECT id FROM chunks WHERE collection = ? ORDER BY id", (number,))
    return [id_ for (id_,) in rows]


def block_behind(connection: sqlite3.Connection, number: int, last: int) -> Block:
    """The first chunks of a collection whose ids are above *last*, ascending; empty at the end."""
    return _block(
        connection.execute(
            "SELECT id, vector FROM chunks WHERE collection = ? AND id > ? ORDER BY id LIMIT ?",
            (number, last, BLOCK),
        )
    )


def block_of(connection: sqlite3.Connection, number: int, ids: Iterable[int]) -> Block:
    """Those of the chunks that are (still) in the collection."""
    return _block(
        connection.execute(
            "SELECT id, vector FROM chunks"
            " WHERE id IN (SELECT value FROM json_each(?)) AND collection = ?",
            (_array(ids), number),
        )
    )


def eligible(connection: sqlite3.Connection, number: int, where: Where) -> Iterator[Block]:
    """All chunks of a collection that may be found, block by block."""
    if not where.narrows:
        last = 0
        while (block := block_behind(connection, number, last)).ids:
            yield block
            last = block.ids[-1]
        return
    test = condition(where)
    cursor = connection.execute(
        "SELECT chunks.id, chunks.vector FROM documents"  # noqa: S608  # no value is in the text
        " CROSS JOIN chunks AS first ON first.document = documents.id AND first.number = 0"
        " CROSS JOIN chunks ON chunks.document = documents.id"
        f" WHERE documents.collection = ? AND {test.sql}",
        (number, *test.parameters),
    )
    while rows := cursor.fetchmany(BLOCK):
        yield _block(rows)


def places(connection: sqlite3.Connection, number: int, ids: Iterable[int]) -> dict[int, Place]:
    """Where those of the chunks stand that are (still) in the collection."""
    rows = connection.execute(
        "SELECT chunks.id, name, number"
        " FROM chunks JOIN documents ON documents.id = chunks.document"
        " WHERE chunks.id IN (SELECT value FROM json_each(?)) AND chunks.collection = ?",
        (_array(ids), number),
    )
    return {row[0]: Place(*row[1:]) for row in rows}


def found(connection: sqlite3.Connection, number: int, ids: Iterable[int]) -> dict[int, Found]:
    """Those of the chunks that are (still) in the collection."""
    rows = connection.execute(
        "SELECT chunks.id, name, chunks.number, chunks.text, first.metadata FROM chunks"
        " JOIN documents ON documents.id = chunks.document"
        " JOIN chunks AS first ON first.document = documents.id AND first.number = 0"
        " WHERE chunks.id IN (SELECT value FROM json_each(?)) AND chunks.collection = ?",
        (_array(ids), number),
    )
    return {row[0]: Found(*row[1:]) for row in rows}


def _block(rows: Iterable[tuple[int, bytes]]) -> Block:
    ids: list[int] = []
    vectors: list[bytes] = []
    for id_, vector in rows:
        ids.append(id_)
        vectors.append(vector)
    return Block(ids, b"".join(vectors))


def _array(ids: Iterable[int]) -> str:
    return json.dumps(list(ids))
