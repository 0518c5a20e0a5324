"""Runs steps of work on many items in several processes, including this one."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from typing import Any, Final, Generic, TypeVar

WORTH: Final = 150  # items; fewer are done before a second process has started
M = TypeVar("M")
T = TypeVar("T")
R = TypeVar("R")
_memory: Any = None  # of a process of a pool


def count_processes(wanted: int, items: int) -> int:
    """Return how many processes to use for *items*; *wanted* 0 means as many as pay, two at most.

    It is 1 where the system cannot fork, or where other threads make a fork unsafe.
    """
    if not hasattr(os, "fork") or threading.active_count() > 1:
        return 1
    if wanted:
        return max(1, min(wanted, items))
    return 2 if items >= WORTH and (os.cpu_count() or 1) > 1 else 1


class Crew(Generic[M]):
    """This process and forks of it, which do one step of work after the other.

    Each has a *memory* of its own, where a step leaves what the next one needs. This process gets
    the items that it had in the step before, and so does the other one of two.
    """

    def __init__(self, memory: M, jobs: int) -> None:
        self.memory = memory
        self._jobs = jobs
        self._count = 1
        self._pool: ProcessPoolExecutor | None = None
        self._homes: dict[str, int] = {}  # by name, the number of the share that has the item

    def close(self) -> None:
        """End the other processes."""
        if self._pool is not None:
            self._pool.shutdown()

    def map(
        self,
        function: Callable[[M, T], R],
        items: Mapping[str, T],
        meanwhile: Callable[[], object] = lambda: None,
    ) -> Iterator[R]:
        """Apply *function* to the memory and each item; the results are in order.

        The other processes begin now, this one when the first result is wanted and *meanwhile* has
        been called. They are forked at the first step that is worth it, and inherit the memory.
        """
        if self._pool is None:
            self._count = count_processes(self._jobs, len(items))
        if self._count == 1:
            meanwhile()
            return (function(self.memory, item) for item in items.values())
        if self._pool is None:
            others = self._count - 1
            self._pool = ProcessPoolExecutor(others, get_context("fork"), _begin, (self.memory,))
        shares: list[dict[str, T]] = [{} for _ in range(self._count)]
        for number, (name, item) in enumerate(items.items()):
            shares[self._homes.setdefault(name, number % self._count)][name] = item
        futures = [self._pool.submit(_map_share, function, share) for share in shares[1:]]
        return self._collect(function, shares[0], items, meanwhile, futures)

    def _collect(
        self,
        function: Callable[[M, T], R],
        share: Mapping[str, T],
        items: Mapping[str, T],
        meanwhile: Callable[[], object],
        futures: list[Future[dict[str, R]]],
    ) -> Iterator[R]:
        """Work on the *share* of this process, and yield all results in the order of *items*."""
        meanwhile()
        results = {name: function(self.memory, item) for name, item in share.items()}
        try:
            for future in futures:
                results |= future.result()
        except BrokenProcessPool:
            raise ChildProcessError("a process of this build was killed") from None
        yield from (results[name] for name in items)


def _begin(memory: Any) -> None:
    """Set up a process of the pool."""
    global _memory  # noqa: PLW0603  (a pool hands its processes nothing else)
    _memory = memory
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a traceback
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _map_share(function: Callable[[Any, T], R], share: Mapping[str, T]) -> dict[str, R]:
    return {name: function(_memory, item) for name, item in share.items()}


def _end_with_parent() -> None:
    """A parent that is killed would leave this process at work for nobody."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
