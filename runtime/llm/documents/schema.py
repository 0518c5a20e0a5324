"""The tables of the document store: how a database is made, checked and brought up to date."""

import contextlib
import logging
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from runtime.llm.documents.document import StoreUnusable
from runtime.llm.identity import ANONYMOUS

log = logging.getLogger(__name__)

DATABASE: Final = "documents.sqlite3"
APPLICATION: Final = 0x50444F43
"""Marks the file as one of this store (``PDOC``)."""
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
BUSY_MS: Final = 5_000
"""How long a statement waits for another program that has the file open."""
CHECKED_BYTES: Final = 64 << 20
"""A database up to this size is checked page by page when it is opened (about 0.3 s at most)."""

# When SQLite balances a tree it may leave old copies of moved rows in the unused part of a page,
# and `secure_delete` does not reach those. Only what lies in overflow pages is never moved. A row
# keeps at most 989 bytes outside them with pages of this size, and the vector in front of text and
# metadata is longer than that: so no deleted text survives. (Measured: with pages of 4096 bytes
# a fifth of the checkpoints after deletes still held deleted words, with 1024 none.)
PAGE_BYTES: Final = 1024
_CHECKPOINT_PAGES: Final = (4 << 20) // PAGE_BYTES

_FIRST: Final = """
CREATE TABLE totals (
    tenants INTEGER NOT NULL, documents INTEGER NOT NULL, chunks INTEGER NOT NULL
) STRICT;
INSERT INTO totals VALUES (0, 0, 0);
CREATE TABLE tenants (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL REFERENCES tenants (id),
    model TEXT NOT NULL,
    generation INTEGER NOT NULL DEFAULT 0,
    documents INTEGER NOT NULL DEFAULT 0,
    chunks INTEGER NOT NULL DEFAULT 0,
    file_generation INTEGER,
    file_digest BLOB,
    file_format TEXT,
    UNIQUE (tenant, model)
) STRICT;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant INTEGER NOT NULL REFERENCES tenants (id),
    collection INTEGER NOT NULL REFERENCES collections (id),
    name TEXT NOT NULL,
    chunks INTEGER NOT NULL,
    chars INTEGER NOT NULL,
    digest TEXT NOT NULL,
    created INTEGER NOT NULL,
    UNIQUE (tenant, name)
) STRICT;
CREATE INDEX documents_of_collection ON documents (collection);
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL REFERENCES collections (id),
    document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    vector BLOB NOT NULL CHECK (length(vector) = 1536),
    text TEXT NOT NULL,
    metadata TEXT,
    UNIQUE (document, number)
) STRICT;
CREATE INDEX chunks_of_collection ON chunks (collection);
"""
# Metadata is in the row of the document's first chunk only: once a document, behind a vector.

_MOVE: Final = """
DELETE FROM documents WHERE tenant = :old
    AND name IN (SELECT name FROM documents WHERE tenant = :new);
INSERT OR IGNORE INTO collections (tenant, model)
    SELECT :new, model FROM collections WHERE tenant = :old;
UPDATE documents SET tenant = :new, collection = target.id
    FROM collections AS source JOIN collections AS target USING (model)
    WHERE documents.collection = source.id AND source.tenant = :old AND target.tenant = :new;
UPDATE chunks SET collection = documents.collection
    FROM documents WHERE documents.id = chunks.document AND documents.tenant = :new
    AND documents.collection <> chunks.collection;
DELETE FROM collections WHERE tenant = :old;
DELETE FROM tenants WHERE id = :old;
UPDATE collections SET generation = generation + 1,
    documents = (SELECT count(*) FROM documents WHERE collection = collections.id),
    chunks = (SELECT count(*) FROM chunks WHERE collection = collections.id);
DELETE FROM collections WHERE chunks = 0;
UPDATE totals SET tenants = (SELECT count(*) FROM tenants),
    documents = (SELECT count(*) FROM documents), chunks = (SELECT count(*) FROM chunks)
"""
"""Gives the documents of one tenant to another one, which keeps those that it has."""

MIGRATIONS: Final = (_FIRST,)
"""Script n leads from ``user_version`` n to n + 1."""


def _open_for_writing(path: Path) -> sqlite3.Connection:
    """The connection for writes; one a database."""
    connection = _connect(path.absolute().as_uri())
    for setting in (
        f"page_size = {PAGE_BYTES}",  # of a new database; no effect on another
        "journal_mode = WAL",
        "synchronous = FULL",
        f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
        "secure_delete = ON",
        "foreign_keys = ON",
        "temp_store = MEMORY",  # no text in files of other folders
    ):
        connection.execute(f"PRAGMA {setting}")
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A connection that cannot write, for a database that `open_database` has prepared."""
    connection = _connect(f"{path.absolute().as_uri()}?mode=ro")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


@contextlib.contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """The database stands still for the reads of the block."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing: commits at the end, and takes everything back after any exception."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with contextlib.suppress(sqlite3.Error):  # a full disk may have rolled back already
                connection.execute("ROLLBACK")
        raise


def primary_code(error: sqlite3.Error) -> int:
    """SQLite's result code without its extension; 0: the error did not come from SQLite."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def open_database(folder: Path) -> tuple[sqlite3.Connection, str | None]:
    """Open the database of *folder* for writing, creating or migrating it as needed.

    The second value is the name under which a damaged database was put aside; None: none was.
    Raises `StoreUnusable` where the folder cannot be written or the file belongs to another program
    or a newer version of this one: such a file is left as it is.
    """
    path = folder / DATABASE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _refuse_foreign(path)
        try:
            return _prepare(path), None
        except sqlite3.DatabaseError as error:
            if primary_code(error) not in _DAMAGED:
                raise
        aside = _put_aside(path)
        log.error("the document database is damaged; it was put aside as %s", aside)
        return _prepare(path), aside
    except (OSError, sqlite3.Error) as error:
        raise StoreUnusable(f"the documents folder cannot be used: {error}") from error


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, uri=True, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False
    )


def _refuse_foreign(path: Path) -> None:
    """Look at the version in the head of the file before SQLite writes anything."""
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        return
    if len(head) == 100 and head.startswith(b"SQLite format 3\0"):
        _refuse_version(int.from_bytes(head[60:64]), int.from_bytes(head[68:72]))


def _refuse_version(version: int, application: int) -> None:
    if application not in (0, APPLICATION):
        raise StoreUnusable(f"{DATABASE} belongs to another program")
    if version > len(MIGRATIONS):
        raise StoreUnusable(
            f"{DATABASE} is of a newer version ({version}) than this server knows"
            f" ({len(MIGRATIONS)})"
        )


def _prepare(path: Path) -> sqlite3.Connection:
    connection = _open_for_writing(path)
    try:
        version = _pragma(connection, "user_version")
        _refuse_version(version, _pragma(connection, "application_id"))
        if version == 0 and connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
            raise StoreUnusable(f"{DATABASE} belongs to another program")
        if path.stat().st_size <= CHECKED_BYTES:
            _check(connection)
        for number in range(version, len(MIGRATIONS)):
            with transaction(connection):
                for statement in MIGRATIONS[number].split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {number + 1}")
        with transaction(connection):
            _adopt_nameless_tenant(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def _check(connection: sqlite3.Connection) -> None:
    (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        error = sqlite3.DatabaseError(verdict)
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def _put_aside(path: Path) -> str:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    names = [
        f"{path.name}.corrupt-{stamp}",
        *(f"{path.name}.corrupt-{stamp}-{n}" for n in range(9)),
    ]
    aside = next(name for name in names if not path.with_name(name).exists())
    for end in ("-wal", "-shm", ""):  # the database last: until then the next start tries again
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + end).rename(path.with_name(aside + end))
    return aside


def _adopt_nameless_tenant(connection: sqlite3.Connection) -> None:
    """Move the documents of the tenant with no name to the anonymous one, which keeps its own."""
    row = connection.execute("SELECT id FROM tenants WHERE name = ''").fetchone()
    if row is None:
        return
    connection.execute("INSERT OR IGNORE INTO tenants (name) VALUES (?)", (ANONYMOUS,))
    new = connection.execute("SELECT id FROM tenants WHERE name = ?", (ANONYMOUS,)).fetchone()
    for statement in _MOVE.split(";"):
        connection.execute(statement, {"old": row[0], "new": new[0]})
