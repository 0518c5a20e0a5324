"""Tokens that let spectators watch one session from elsewhere for a limited time."""

import asyncio
import hashlib
import logging
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple

from aiohttp import web

from runtime.bridge.storage.errors import NoDatabase, StoreFailed
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.transaction import Transaction
from runtime.web.errors import ApiError

TOKEN_BYTES: Final = 24
PREFIX: Final = "watch_"
"""Prefix of every token, by which logs recognise it."""
TTL_S: Final = 14_400
MOST_TOKENS: Final = 1000
MOST_VIEWS: Final = 32
"""Open streams of all spectators; the rest is reserved for the driver's own devices."""
_TOKEN: Final = re.compile(PREFIX + r"[A-Za-z0-9_%-]+")


class TooManyTokens(ApiError):
    """Too many valid tokens exist, which must be a mistake."""

    status, code, retry_after_s = 429, "too_many_tokens", 60
    text = f"{MOST_TOKENS} tokens are in use; revoke some"


class Grant(NamedTuple):
    """What a valid token allows."""

    digest: str
    session_id: str
    expires_at: int
    """Unix milliseconds."""


class Issued(NamedTuple):
    """A new token; it is shown only once and cannot be recovered."""

    token: str
    session_id: str
    expires_at: int
    """Unix seconds."""
    ttl_s: int


log = logging.getLogger(__name__)
GRANT: Final = web.RequestKey("grant", Grant)
"""The grant of a request with a valid token."""


class Spectators:
    """The valid tokens and the streams opened with them; used on the event loop only."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._store: Store | None = None
        self._why = ""
        self.port: int | None = None
        """Port of the spectators' own listener, while it is open."""
        self.lan = False
        """Whether other machines can reach that listener."""
        self._grants: dict[str, Grant] = {}
        self._views: dict[object, tuple[str, Callable[[], None]]] = {}
        """Open streams: the digests of their tokens, and the functions that end them."""

    @property
    def views(self) -> int:
        """Number of streams opened with a token."""
        return len(self._views)

    async def open(self, store: Store | None, why: str = "") -> None:
        """Load the tokens kept in *store*; without one, *why* says the reason."""
        self._store, self._why = store, why
        if store is not None:
            try:
                grants = await read_grants(store, self._now_ms())
            except StoreFailed as problem:
                log.error("earlier tokens are no longer valid: %s", problem)
                grants = []
            self._grants = {grant.digest: grant for grant in grants}

    async def close(self) -> None:
        """End the open streams; the tokens stay valid for the next start."""
        for view in list(self._views):
            self._cut(view)

    async def issue(self, session_id: str, ttl_s: int = TTL_S) -> Issued:
        """Issue a token for a session, which need not exist yet.

        Raises `NoDatabase`, `TooManyTokens` and errors of the store.
        """
        store = self._require_store()
        now = self._now_ms()
        for grant in [grant for grant in self._grants.values() if grant.expires_at <= now]:
            self._withdraw(grant.digest)
        if len(self._grants) >= MOST_TOKENS:
            raise TooManyTokens
        token = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
        until = now // 1000 + ttl_s
        grant = Grant(_hash_token(token), session_id, until * 1000)

        def write(tx: Transaction) -> None:
            tx.run("DELETE FROM spectator_tokens WHERE expires_at <= ?", (now,))
            tx.run(
                "INSERT INTO spectator_tokens VALUES (?, ?, ?, ?, NULL)",
                (grant.digest, session_id, now, grant.expires_at),
            )

        await store.write(write)
        self._grants[grant.digest] = grant
        return Issued(token, session_id, until, ttl_s)

    async def revoke(self, token: str) -> bool:
        """Revoke a token and end its streams; return whether it was valid until now.

        Raises `NoDatabase` and errors of the store; this process rejects the token even then.
        """
        store = self._require_store()
        grant = self.find_grant(token)
        if grant is None:
            return False
        self._withdraw(grant.digest)
        sql = "UPDATE spectator_tokens SET revoked_at = ? WHERE token_hash = ?"
        await store.write(lambda tx: tx.run(sql, (self._now_ms(), grant.digest)))
        return True

    def forget(self, session_id: str) -> None:
        """Withdraw the tokens of a deleted session."""
        for grant in [grant for grant in self._grants.values() if grant.session_id == session_id]:
            self._withdraw(grant.digest)

    def find_grant(self, token: str) -> Grant | None:
        """Return what *token* allows; None if it is unknown, expired or revoked."""
        grant = self._grants.get(_hash_token(token))
        return grant if grant is not None and grant.expires_at > self._now_ms() else None

    @contextmanager
    def track_view(self, grant: Grant, cut: Callable[[], None]) -> Iterator[None]:
        """Track an open stream; call *cut* once when its token stops being valid."""
        view = object()
        self._views[view] = grant.digest, cut
        left_s = (grant.expires_at - self._now_ms()) / 1000
        timer = asyncio.get_running_loop().call_later(max(0.0, left_s), self._cut, view)
        if grant.digest not in self._grants:  # revoked in the meantime
            self._cut(view)
        try:
            yield
        finally:
            timer.cancel()
            self._views.pop(view, None)

    def _cut(self, view: object) -> None:
        if (entry := self._views.pop(view, None)) is not None:
            entry[1]()

    def _withdraw(self, digest: str) -> None:
        del self._grants[digest]
        for view in [view for view, (token, _) in self._views.items() if token == digest]:
            self._cut(view)

    def _require_store(self) -> Store:
        if self._store is None:
            raise NoDatabase(self._why)
        return self._store

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)


class TokenMask(logging.Filter):
    """Masks tokens anywhere in a log line."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the tokens of a record, and let it pass."""
        fields = getattr(record, "fields", None)
        if isinstance(fields, dict):
            for name, value in fields.items():
                if isinstance(value, str) and PREFIX in value:
                    fields[name] = _TOKEN.sub("***", value)
        if isinstance(record.args, tuple) and PREFIX in str(record.args):
            record.args = tuple(
                _TOKEN.sub("***", arg) if isinstance(arg, str) else arg for arg in record.args
            )
        return True


for _name in ("paddock.access", "paddock.web"):
    logging.getLogger(_name).addFilter(TokenMask())


def _hash_token(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


async def read_grants(store: Store, now_ms: int) -> list[Grant]:
    """Read the tokens that are valid at *now_ms*."""
    rows = await store.read(
        lambda reader: reader.rows(
            "SELECT token_hash, session_id, expires_at FROM spectator_tokens"
            " WHERE revoked_at IS NULL AND expires_at > ? ORDER BY token_hash",
            (now_ms,),
        )
    )
    return [Grant(*row) for row in rows]
