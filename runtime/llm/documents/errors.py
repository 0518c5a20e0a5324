"""The errors of the document store, and how those of SQLite become them."""

import errno
import logging
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Final

from runtime.web.errors import ApiError, TooLarge

log = logging.getLogger(__name__)

_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PROBE: Final = bytes(256 << 10)


class StoreFull(ApiError):
    """The disk has no room for the write; nothing was changed and reads go on."""

    status, code = 503, "disk_full"

    def __init__(self, needed: int | None = None, free: int | None = None, kept: int = 0) -> None:
        """*needed* and *free* are bytes; None: not known. *kept* of them are for deletes."""
        known = [] if needed is None else [f"the write takes about {_words(needed)}"]
        known += [f"{_words(kept)} are kept for deletes"] if kept else []
        known += [] if free is None else [f"{_words(max(0, free))} are free"]
        super().__init__(
            f"the disk is full{': ' if known else ''}{', '.join(known)}; nothing was changed,"
            " and documents can still be read and searched",
            headers={"Retry-After": "10"},
        )


class StoreLimit(TooLarge):
    """The write would take the store over one of its caps; nothing was changed."""


class StoreFailed(ApiError):
    """The store cannot be read or written; the log says why."""

    status, code = 500, "api_error"

    def __init__(self, message: str = "the document store failed; the server's log says why"):
        super().__init__(message)


class StoreUnusable(Exception):
    """The store cannot be opened and its file was left as it was; the text says why."""


def damaged(error: BaseException) -> bool:
    """Whether the database file itself is broken."""
    return isinstance(error, sqlite3.DatabaseError) and _primary(error) in _DAMAGED


def translated(error: Exception, folder: Path) -> ApiError:
    """What a client is told of a failed read or write; the log has the rest. Blocks on the disk."""
    if isinstance(error, ApiError):
        return error
    if _disk_full(error, folder):
        log.error("the disk of the document store is full")
        return StoreFull(free=free_bytes(folder))
    log.error("the document store failed", exc_info=error)
    return StoreFailed()


def free_bytes(folder: Path) -> int | None:
    """What the disk of a folder has left for this program; None: it does not say."""
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def _words(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1_000_000 else f"{-(-size // 1000)} kB"


def _disk_full(error: Exception, folder: Path) -> bool:
    if isinstance(error, OSError):
        return error.errno in _NO_SPACE
    if not isinstance(error, sqlite3.Error):
        return False
    primary = _primary(error)
    if primary in (sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN):
        return _no_room(folder)  # a quota, or a file beside the database that could not grow
    return primary == sqlite3.SQLITE_FULL


def _primary(error: sqlite3.Error) -> int:
    """SQLite's result code without its extension; 0: the error did not come from SQLite."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def _no_room(folder: Path) -> bool:
    probe = folder / "room.tmp"
    try:
        descriptor = os.open(probe, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
        try:
            os.write(descriptor, _PROBE)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
            probe.unlink(missing_ok=True)
    except OSError as error:
        return error.errno in _NO_SPACE
    return False
