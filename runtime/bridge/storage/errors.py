"""The errors of the store."""

from typing import ClassVar

from runtime.web.errors import ApiError, BadQuery, BadRequest, NotFound, TooLarge


class StoreError(ApiError):
    """An error about one session, or about the store as a whole."""

    session_id: str | None = None
    table: str | None = None


class UnknownSession(StoreError, NotFound):
    """No session has that id."""

    code = "unknown_session"

    def __init__(self, session_id: str) -> None:
        super().__init__("no such session", session_id=session_id)


class NoRows(StoreError, NotFound):
    """The session has nothing in that table."""

    code = "no_rows"


class BadTable(StoreError, BadQuery):
    """No table of that name can be exported."""

    code = "bad_table"


class BadFrames(StoreError, BadRequest):
    """A number cannot be stored; nothing was changed. The message names the column."""

    code = "bad_frames"


class SessionExists(StoreError):
    """The id already has frames or signals."""

    status, code = 409, "session_exists"
    hint: ClassVar[str] = (
        "choose another session_id, or omit it to get one from circuit and time of recording"
    )

    def __init__(self, session_id: str) -> None:
        super().__init__("the session already has telemetry", session_id=session_id)


class SessionInUse(StoreError):
    """The session is being recorded or replayed; the message says what to do first."""

    status, code = 409, "session_in_use"


class RegistryFull(StoreError, TooLarge):
    """Too many signals were discovered; nothing was changed."""

    code = "registry_full"


class Unavailable(StoreError):
    """The store cannot do this now."""

    status: ClassVar[int] = 503


class NoDatabase(Unavailable):
    """No database is open."""

    code = "no_database"

    def __init__(self, reason: str = "") -> None:
        super().__init__(f"no database is open: {reason}" if reason else "no database is open")


class StoreBusy(Unavailable):
    """Too much is waiting to be written or read."""

    code, retry_after_s = "store_busy", 1
    text = "too many requests are waiting for the database; try again"


class StoreFull(Unavailable):
    """The disk is full; nothing was changed, and reads still work."""

    code, retry_after_s = "disk_full", 10
    text = "the disk is full; nothing was changed, and stored data can still be read"


class StoreFailed(StoreError):
    """The database cannot be read or written; the log says why."""

    status, code = 500, "storage_failed"
    text = "the database failed; the server's log says why"


class StoreDamaged(StoreFailed):
    """The database file is damaged where this data is stored; other data can be read."""

    code = "storage_damaged"
    text = "the database file is damaged where this data is stored; other data can still be read"


class StoreUnusable(Exception):
    """The database cannot be opened, and its file was left unchanged; the text says why."""


class SchemaTooNew(StoreUnusable):
    """A later version of this program wrote the database."""


class Damaged(Exception):
    """The database file itself is damaged; internal to opening and translation of errors."""
