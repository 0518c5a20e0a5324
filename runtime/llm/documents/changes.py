"""Writes of the document store: each one transaction, with an account of what it changed."""

import sqlite3
from typing import NamedTuple

from runtime.llm.documents.errors import StoreLimit
from runtime.llm.documents.rows import Totals, totals
from runtime.llm.documents.schema import BUSY_MS, transaction
from runtime.llm.documents.values import VECTOR_BYTES, NewDocument


class Limits(NamedTuple):
    """How much may be stored over all tenants."""

    chunks: int
    tenants: int
    """Tenants with chunks."""


class Change(NamedTuple):
    """What a committed transaction did to one collection."""

    collection: int
    generation: int
    """Of the collection after it."""
    removed: tuple[int, ...] = ()
    added: tuple[int, ...] = ()
    gone: bool = False
    """The collection has no chunk left, and its id will not come back."""


class Done(NamedTuple):
    """The account of a committed transaction."""

    totals: Totals
    changes: tuple[Change, ...] = ()
    removed: int = 0
    """Chunks that were deleted, those of a replaced document included."""


class _Old(NamedTuple):
    id: int
    collection: int
    chunks: int


def replace(
    connection: sqlite3.Connection, tenant: str, new: NewDocument, limits: Limits, now: int
) -> Done:
    """Store a document in place of the one that has its id. Raises `StoreLimit`.

    *now* is the time of the write in Unix seconds.
    """
    with transaction(connection):
        owner = _tenant(connection, tenant, make=True)
        old = _document(connection, owner, new.id)
        target = _collection(connection, owner, new.model)
        _refuse_too_much(connection, limits, len(new.texts) - (old.chunks if old else 0))
        removed = _remove(connection, old) if old else ()
        added = _insert(connection, owner, target, new, now)
        changed = {target: Change(target, 0, added=added)}
        if old:
            base = changed.get(old.collection, Change(old.collection, 0))
            changed[old.collection] = base._replace(removed=removed)
        return _account(connection, owner, tuple(changed.values()))


def delete(connection: sqlite3.Connection, tenant: str, document: str) -> Done:
    """Remove a document of a tenant; one that is not there changes nothing."""
    with transaction(connection):
        owner = _tenant(connection, tenant)
        old = _document(connection, owner, document)
        if old is None:
            return Done(totals(connection))
        removed = _remove(connection, old)
        return _account(connection, owner, (Change(old.collection, 0, removed),))


def delete_tenant(connection: sqlite3.Connection, tenant: str) -> Done:
    """Remove all that a tenant has."""
    with transaction(connection):
        owner = _tenant(connection, tenant)
        before = totals(connection)
        had = connection.execute(
            "SELECT id, generation, documents, chunks FROM collections WHERE tenant = ?", (owner,)
        ).fetchall()
        if not had:
            return Done(before)
        for statement in (
            "DELETE FROM documents WHERE tenant = ?",
            "DELETE FROM collections WHERE tenant = ?",
            "DELETE FROM tenants WHERE id = ?",
        ):
            connection.execute(statement, (owner,))
        documents, chunks = sum(row[2] for row in had), sum(row[3] for row in had)
        after = Totals(before.tenants - 1, before.documents - documents, before.chunks - chunks)
        _set_totals(connection, after)
        changes = tuple(Change(row[0], row[1] + 1, gone=True) for row in had)
        return Done(after, changes, chunks)


def remember_file(
    connection: sqlite3.Connection, collection: int, generation: int, digest: bytes, kind: str
) -> bool:
    """Note the index file of a collection; False: the collection is gone."""
    with transaction(connection):
        cursor = connection.execute(
            "UPDATE collections SET file_generation = ?, file_digest = ?, file_format = ?"
            " WHERE id = ?",
            (generation, digest, kind, collection),
        )
        return cursor.rowcount > 0


def scrub(connection: sqlite3.Connection) -> bool:
    """Move all that is committed into the database and empty the log, where old text still stands.

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


def _tenant(connection: sqlite3.Connection, name: str, make: bool = False) -> int:
    """The tenant's key; 0, which is nobody's, where there is none."""
    row = connection.execute("SELECT id FROM tenants WHERE name = ?", (name,)).fetchone()
    if row is None and make:
        row = (connection.execute("INSERT INTO tenants (name) VALUES (?)", (name,)).lastrowid,)
        connection.execute("UPDATE totals SET tenants = tenants + 1")
    return row[0] if row else 0


def _document(connection: sqlite3.Connection, tenant: int, name: str) -> _Old | None:
    row = connection.execute(
        "SELECT id, collection, chunks FROM documents WHERE tenant = ? AND name = ?", (tenant, name)
    ).fetchone()
    return _Old(*row) if row else None


def _collection(connection: sqlite3.Connection, tenant: int, model: str) -> int:
    connection.execute(
        "INSERT OR IGNORE INTO collections (tenant, model) VALUES (?, ?)", (tenant, model)
    )
    row = connection.execute(
        "SELECT id FROM collections WHERE tenant = ? AND model = ?", (tenant, model)
    ).fetchone()
    number: int = row[0]
    return number


def _refuse_too_much(connection: sqlite3.Connection, limits: Limits, more: int) -> None:
    now = totals(connection)
    if more > 0 and now.chunks + more > limits.chunks:
        raise StoreLimit(f"the document store holds at most {limits.chunks} chunks")
    if now.tenants > limits.tenants:
        raise StoreLimit(f"the document store holds at most {limits.tenants} tenants")


def _remove(connection: sqlite3.Connection, old: _Old) -> tuple[int, ...]:
    rows = connection.execute("SELECT id FROM chunks WHERE document = ?", (old.id,))
    ids = tuple(id_ for (id_,) in rows)
    connection.execute("DELETE FROM documents WHERE id = ?", (old.id,))
    _add_to(connection, old.collection, documents=-1, chunks=-old.chunks)
    return ids


def _insert(
    connection: sqlite3.Connection, tenant: int, collection: int, new: NewDocument, now: int
) -> tuple[int, ...]:
    count = len(new.texts)
    document = connection.execute(
        "INSERT INTO documents (tenant, collection, name, chunks, chars, digest, created)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (tenant, collection, new.id, count, new.chars, new.digest, now),
    ).lastrowid
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'chunks'").fetchone()
    first = 1 + (row[0] if row else 0)
    vectors = memoryview(new.vectors)
    connection.executemany(
        "INSERT INTO chunks (id, collection, document, number, vector, text, metadata)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (
                first + number,
                collection,
                document,
                number,
                vectors[number * VECTOR_BYTES : (number + 1) * VECTOR_BYTES],
                text,
                None if number else new.metadata,
            )
            for number, text in enumerate(new.texts)
        ),
    )
    _add_to(connection, collection, documents=1, chunks=count)
    return tuple(range(first, first + count))


def _add_to(
    connection: sqlite3.Connection, collection: int, *, documents: int, chunks: int
) -> None:
    connection.execute(
        "UPDATE collections SET documents = documents + ?, chunks = chunks + ? WHERE id = ?",
        (documents, chunks, collection),
    )
    connection.execute(
        "UPDATE totals SET documents = documents + ?, chunks = chunks + ?", (documents, chunks)
    )


def _set_totals(connection: sqlite3.Connection, now: Totals) -> None:
    connection.execute("UPDATE totals SET tenants = ?, documents = ?, chunks = ?", now)


def _account(connection: sqlite3.Connection, tenant: int, changes: tuple[Change, ...]) -> Done:
    """Give each changed collection its new generation, and drop what is empty."""
    done: list[Change] = []
    for change in changes:
        ((generation, chunks),) = connection.execute(
            "UPDATE collections SET generation = generation + 1 WHERE id = ?"
            " RETURNING generation, chunks",
            (change.collection,),
        ).fetchall()
        done.append(change._replace(generation=generation, gone=chunks == 0))
        if chunks == 0:
            connection.execute("DELETE FROM collections WHERE id = ?", (change.collection,))
    left = connection.execute("SELECT 1 FROM collections WHERE tenant = ?", (tenant,)).fetchone()
    if left is None:
        connection.execute("DELETE FROM tenants WHERE id = ?", (tenant,))
        connection.execute("UPDATE totals SET tenants = tenants - 1")
    removed = sum(len(change.removed) for change in done)
    return Done(totals(connection), tuple(done), removed)
