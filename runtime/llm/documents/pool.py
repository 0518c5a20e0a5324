"""A few threads for work that would block the event loop, and a bound on what waits for them."""

import asyncio
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from runtime.llm.documents.errors import StoreFailed
from runtime.web.errors import TooMany

P = ParamSpec("P")
T = TypeVar("T")

_NEVER: Final = 1 << 20
"""Room for work that something else bounds: a load a collection, a change a write."""
_GIVES_WAY: Final = 10
"""Added to the niceness of a background thread."""


class Stopped(Exception):
    """The store closes; the work was not finished."""


class Unclear(Exception):
    """Candidates from a graph are so alike that there may be others that are as good."""


class Pool:
    """Threads that start when they are needed; *most* calls may run or wait at a time."""

    def __init__(self, name: str, threads: int, most: int, background: bool = False) -> None:
        self._executor = ThreadPoolExecutor(
            threads, thread_name_prefix=name, initializer=_give_way if background else None
        )
        self._room = threading.Semaphore(most)

    async def run(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The result of *work*; a cancelled caller stops waiting. Raises `TooMany`.

        After `close` it raises `StoreFailed`.
        """
        if not self._room.acquire(blocking=False):
            raise TooMany("the document store is busy", headers={"Retry-After": "1"})
        try:
            future = self._executor.submit(work, *args, **kwargs)
        except RuntimeError as error:  # it takes nothing after its end
            self._room.release()
            raise StoreFailed("the document store is closed") from error
        future.add_done_callback(lambda _: self._room.release())
        return await asyncio.wrap_future(future)

    async def close(self) -> None:
        """Wait for what runs; what only waits is dropped."""
        await asyncio.to_thread(self._executor.shutdown, wait=True, cancel_futures=True)


class Pools:
    """One pool for each kind of work, so that none waits behind another kind."""

    def __init__(self, most: int) -> None:
        self.search = Pool("document-search", 4, most)
        self.load = Pool("document-load", 2, _NEVER)
        self.build = Pool("document-build", 1, _NEVER, background=True)
        self.apply = Pool("document-apply", 1, _NEVER)
        """For whoever holds the database's lock: at most one call at a time."""

    async def close(self) -> None:
        """Wait for what runs."""
        for pool in (self.search, self.load, self.build, self.apply):
            await pool.close()


def _give_way() -> None:
    if sys.platform == "linux":  # where the priority of a process is that of one thread
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _GIVES_WAY)
