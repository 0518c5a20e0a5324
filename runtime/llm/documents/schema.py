"""The tables of the document store: creating, checking and migrating a database."""

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
"""How long a statement waits for another program that locks the file."""
CHECKED_BYTES: Final = 64 << 20
"""Databases up to this size are checked page by page when opened (at most about 0.3 s)."""

# When SQLite balances a tree, it may leave old copies of moved rows in the unused part of a page,
# where `secure_delete` does not reach them. Only the content of overflow pages is never moved. With
# pages of this size, a row keeps at most 989 bytes outside of overflow pages, and the vector before
# text and metadata is longer than that, so no deleted text survives. (Measured: with pages of 4096
# bytes, a fifth of the checkpoints after deletes still contained deleted words; with 1024, none.)
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
# Metadata is stored once per document: in the row of its first chunk, after the vector.

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
"""Moves the documents of a tenant to another one, whose own documents take precedence."""

MIGRATIONS: Final = (_FIRST,)
"""Script n migrates from ``user_version`` n to n + 1."""


def _open_for_writing(path: Path) -> sqlite3.Connection:
    """Open the only connection for writes."""
    connection = _connect(path.absolute().as_uri())
    for setting in (
        f"page_size = {PAGE_BYTES}",  # only affects a new database
        "journal_mode = WAL",
        "synchronous = FULL",
        f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
        "secure_delete = ON",
        "foreign_keys = ON",
        "temp_store = MEMORY",  # no text in temporary files
    ):
        connection.execute(f"PRAGMA {setting}")
    return connection


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a read-only connection to a database that `open_database` has prepared."""
    connection = _connect(f"{path.absolute().as_uri()}?mode=ro")
    connection.execute("PRAGMA temp_store = MEMORY")
    return connection


@contextlib.contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Give the reads of the block a consistent view of the database."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit at the end of the block, or roll back after any exception."""
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
    """SQLite's result code without its extension; 0 if the error is not from SQLite."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def open_database(folder: Path) -> tuple[sqlite3.Connection, str | None]:
    """Open the database in *folder* for writing, creating or migrating it as needed.

    The second value is the name under which a damaged database was set aside, or None. Raises
    `StoreUnusable` if the folder is not writable or the file belongs to another program or a newer
    version of this one; such a file is left unchanged.
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
        aside = _set_aside(path)
        log.error("the document database is damaged; it was set aside as %s", aside)
        return _prepare(path), aside
    except (OSError, sqlite3.Error) as error:
        raise StoreUnusable(f"the documents folder cannot be used: {error}") from error


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(
        uri, uri=True, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False
    )


def _refuse_foreign(path: Path) -> None:
    """Check the version in the file's header before SQLite writes anything."""
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
            f"{DATABASE} has a newer version ({version}) than this server supports"
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


def _set_aside(path: Path) -> str:
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    names = [
        f"{path.name}.corrupt-{stamp}",
        *(f"{path.name}.corrupt-{stamp}-{n}" for n in range(9)),
    ]
    aside = next(name for name in names if not path.with_name(name).exists())
    for end in ("-wal", "-shm", ""):  # the database last: until then, the next start retries
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + end).rename(path.with_name(aside + end))
    return aside


def _adopt_nameless_tenant(connection: sqlite3.Connection) -> None:
    """Move the documents of the tenant without a name to the anonymous one, which keeps its own."""
    row = connection.execute("SELECT id FROM tenants WHERE name = ''").fetchone()
    if row is None:
        return
    connection.execute("INSERT OR IGNORE INTO tenants (name) VALUES (?)", (ANONYMOUS,))
    new = connection.execute("SELECT id FROM tenants WHERE name = ?", (ANONYMOUS,)).fetchone()
    for statement in _MOVE.split(";"):
        connection.execute(statement, {"old": row[0], "new": new[0]})
