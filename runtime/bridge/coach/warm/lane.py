"""The one queue of everything that asks the language model: one at work, a few waiting."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

WAITING: Final = 4


class LaneFull(Exception):
    """Too many are waiting already, or the wait was too long."""


class Lane:
    """Lets one in at a time; *waiting* more stand behind it in order, and no further one."""

    def __init__(self, waiting: int = WAITING) -> None:
        self._most = waiting
        self._lock = asyncio.Lock()
        self._inside = 0
        """At work and waiting."""

    @property
    def depth(self) -> int:
        """How many wait."""
        return max(0, self._inside - 1)

    @asynccontextmanager
    async def turn(self, patience_s: float) -> AsyncIterator[None]:
        """Wait for the turn, *patience_s* at most. Raises `LaneFull`."""
        if self._inside > self._most:
            raise LaneFull
        self._inside += 1
        try:
            try:
                async with asyncio.timeout(patience_s):
                    await self._lock.acquire()
            except TimeoutError as late:
                raise LaneFull from late
            try:
                yield
            finally:
                self._lock.release()
        finally:
            self._inside -= 1
