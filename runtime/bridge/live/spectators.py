"""Tokens that let somebody watch one session from elsewhere, for a while."""

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
"""Begins every token, so that logs can tell it from other text."""
TTL_S: Final = 14_400
MOST_TOKENS: Final = 1000
MOST_VIEWS: Final = 32
"""Streams that spectators may have open together; the rest is for the driver's own devices."""
_TOKEN: Final = re.compile(PREFIX + r"[A-Za-z0-9_%-]+")


class TooManyTokens(ApiError):
    """So many tokens are good that there must be a mistake."""

    status, code, retry_after_s = 429, "too_many_tokens", 60
    text = f"{MOST_TOKENS} tokens are in use; revoke some"


class Grant(NamedTuple):
    """What a good token allows."""

    digest: str
    session_id: str
    expires_at: int
    """Unix milliseconds."""


class Issued(NamedTuple):
    """A new token; it is told this once and cannot be found out again."""

    token: str
    session_id: str
    expires_at: int
    """Unix seconds."""
    ttl_s: int


log = logging.getLogger(__name__)
GRANT: Final = web.RequestKey("grant", Grant)
"""Of a request that came with a good token."""


class Spectators:
    """The tokens that are good, and the streams that are open with them; of the loop alone."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._store: Store | None = None
        self._why = ""
        self.port: int | None = None
        """Of the listener that is theirs alone, while it listens."""
        self.lan = False
        """Whether other machines reach that listener."""
        self._grants: dict[str, Grant] = {}
        self._views: dict[object, tuple[str, Callable[[], None]]] = {}
        """Open streams: the digests of their tokens, and what ends them."""

    @property
    def views(self) -> int:
        """Streams that are open with a token."""
        return len(self._views)

    async def open(self, store: Store | None, why: str = "") -> None:
        """Go on with the tokens that *store* has kept; *why* there is none."""
        self._store, self._why = store, why
        if store is not None:
            try:
                grants = await read_grants(store, self._now_ms())
            except StoreFailed as problem:
                log.error("earlier tokens are no longer valid: %s", problem)
                grants = []
            self._grants = {grant.digest: grant for grant in grants}

    async def close(self) -> None:
        """End the streams that are open; the tokens stay good for the next start."""
        for view in list(self._views):
            self._cut(view)

    async def issue(self, session_id: str, ttl_s: int = TTL_S) -> Issued:
        """A new token for a session, which need not exist yet.

        Raises `NoDatabase`, `TooManyTokens` and what writing raises.
        """
        store = self._kept_in()
        now = self._now_ms()
        for grant in [g for g in self._grants.values() if g.expires_at <= now]:
            self._withdraw(grant.digest)
        if len(self._grants) >= MOST_TOKENS:
            raise TooManyTokens
        token = PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
        until = now // 1000 + ttl_s
        grant = Grant(_digest(token), session_id, until * 1000)

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
        """Make a token useless and end what it has opened; whether it was good until now.

        Raises `NoDatabase` and what writing raises; it is useless for this process then.
        """
        store = self._kept_in()
        grant = self.grant(token)
        if grant is None:
            return False
        self._withdraw(grant.digest)
        sql = "UPDATE spectator_tokens SET revoked_at = ? WHERE token_hash = ?"
        await store.write(lambda tx: tx.run(sql, (self._now_ms(), grant.digest)))
        return True

    def forget(self, session_id: str) -> None:
        """Withdraw the tokens for a session that was deleted with what is stored of them."""
        for grant in [one for one in self._grants.values() if one.session_id == session_id]:
            self._withdraw(grant.digest)

    def grant(self, token: str) -> Grant | None:
        """What *token* allows; None for one that was never good, has expired or was revoked."""
        grant = self._grants.get(_digest(token))
        return grant if grant is not None and grant.expires_at > self._now_ms() else None

    @contextmanager
    def viewing(self, grant: Grant, cut: Callable[[], None]) -> Iterator[None]:
        """Note an open stream; *cut* is called once when its token stops being good."""
        view = object()
        self._views[view] = grant.digest, cut
        left_s = (grant.expires_at - self._now_ms()) / 1000
        timer = asyncio.get_running_loop().call_later(max(0.0, left_s), self._cut, view)
        if grant.digest not in self._grants:  # revoked on the way here
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
        for view in [view for view, (mine, _) in self._views.items() if mine == digest]:
            self._cut(view)

    def _kept_in(self) -> Store:
        if self._store is None:
            raise NoDatabase(self._why)
        return self._store

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)


class Masked(logging.Filter):
    """Keeps tokens out of the log, wherever in a line they are."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Every record passes, without its tokens."""
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
    logging.getLogger(_name).addFilter(Masked())


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


async def read_grants(store: Store, now_ms: int) -> list[Grant]:
    """What is kept of the tokens that are good at *now_ms*."""
    rows = await store.read(
        lambda reader: reader.rows(
            "SELECT token_hash, session_id, expires_at FROM spectator_tokens"
            " WHERE revoked_at IS NULL AND expires_at > ? ORDER BY token_hash",
            (now_ms,),
        )
    )
    return [Grant(*row) for row in rows]
