"""Tracks the cached conversations of all engines and decides which ones to evict.

Sessions, which clients name, and conversations without a session, whose prefix may serve another
prompt, have separate limits: neither evicts the other.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from runtime.llm.engine.protocol import Ended

OTHERS: Final = 8
"""Cached conversations without a session: the expected number of concurrent clients."""


def name_conversation(owner: str, session_id: str, engine_key: str) -> str:
    """Name a session, distinct for each owner and engine."""
    return "\x1f".join((engine_key, owner, session_id))


class _Cached(NamedTuple):
    engine: str
    used: float
    is_session: bool


class Sessions:
    """Names of the conversations that engines cache; the engines have their content.

    *limit* bounds the sessions over all engines; *ttl_s* is how long an unused conversation is
    kept, 0 for ever.
    """

    def __init__(
        self, limit: int = 4, ttl_s: float = 0.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._ttl_s = ttl_s
        self._clock = clock
        self._cached: OrderedDict[str, _Cached] = OrderedDict()
        self.hits = 0
        self.misses = 0
        self.evictions = 0
        self.rebuilds: dict[str, int] = {}

    def __len__(self) -> int:
        """Number of sessions."""
        return len(self._names(is_session=True))

    def _names(self, *, is_session: bool) -> list[str]:
        return [name for name, c in self._cached.items() if c.is_session == is_session]

    def touch(self, name: str, engine: str, *, is_session: bool = True) -> list[tuple[str, str]]:
        """Make *name* the most recent one; return (engine, name) of those evicted for it."""
        self._cached[name] = _Cached(engine, self._clock(), is_session)
        self._cached.move_to_end(name)
        sessions, others = self._names(is_session=True), self._names(is_session=False)
        gone = (
            sessions[: max(0, len(sessions) - self._limit)] + others[: max(0, len(others) - OTHERS)]
        )
        evicted = [(self._cached[name].engine, name) for name in gone]
        self.evict(gone)
        return evicted

    def settle(self, name: str | None, ended: Ended) -> None:
        """Count how the cache served a reply, and forget what its engine evicted."""
        self.evict(ended.evicted)
        if name is not None and not ended.kept:
            self._cached.pop(name, None)
        if ended.session == "hit":
            self.hits += 1
        elif ended.session == "miss":
            self.misses += 1
        elif ended.session == "rebuilt":
            word = ended.session_reason or "other"
            self.rebuilds[word] = self.rebuilds.get(word, 0) + 1

    def evict(self, names: Iterable[str]) -> None:
        """Forget conversations that left the cache, and count the sessions among them."""
        for name in names:
            cached = self._cached.pop(name, None)
            if cached is not None and cached.is_session:
                self.evictions += 1

    def drop_engine(self, engine: str) -> None:
        """Forget all conversations of an unloaded engine; they count as evicted."""
        self.evict([name for name, cached in self._cached.items() if cached.engine == engine])

    def evict_expired(self) -> list[tuple[str, str]]:
        """Evict conversations that were unused for too long; return their (engine, name)."""
        limit = self._clock() - self._ttl_s
        expired = [
            (cached.engine, name)
            for name, cached in self._cached.items()
            if self._ttl_s and cached.used < limit
        ]
        self.evict([name for _, name in expired])
        return expired
