"""Steps of work on many items in several processes, of which this one is the first."""

from __future__ import annotations

import os
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection
from typing import Any, Final, Generic, TypeVar

WORTH: Final = 150  # items; fewer are done before a second process has started
M = TypeVar("M")
T = TypeVar("T")
R = TypeVar("R")


def processes(wanted: int, items: int) -> int:
    """How many processes to use for *items*; *wanted* 0 means as many as pay, two at most.

    One where the system cannot fork, or where other threads make a fork unsafe.
    """
    if not hasattr(os, "fork") or threading.active_count() > 1:
        return 1
    if wanted:
        return max(1, min(wanted, items))
    return 2 if items >= WORTH and (os.cpu_count() or 1) > 1 else 1


class Crew(Generic[M]):
    """This process and forks of it, which do one step of work after the other.

    Each has a *memory* of its own, where a step leaves what the next one needs. So an item goes
    to the process that had it in the step before.
    """

    def __init__(self, memory: M, jobs: int) -> None:
        self.memory = memory
        self._jobs = jobs
        self._others: list[tuple[Any, Connection]] = []  # the processes, by number from 1
        self._homes: dict[str, int] = {}  # by name, the number of the process that has the item

    def close(self) -> None:
        """End the other processes."""
        for process, _ in self._others:
            process.terminate()
            process.join()
        self._others.clear()

    def map(
        self,
        function: Callable[[M, T], R],
        items: Mapping[str, T],
        meanwhile: Callable[[], object] = lambda: None,
    ) -> Iterator[R]:
        """*function* of the memory and each item, in order.

        Other processes begin now, this one when it is asked and has called *meanwhile*. They are
        forked at the first step that is worth it and inherit it; a later step is sent to them,
        and so are all results.
        """
        count = len(self._others) + 1 if self._others else processes(self._jobs, len(items))
        if count == 1:
            meanwhile()
            return (function(self.memory, item) for item in items.values())
        shares: list[dict[str, T]] = [{} for _ in range(count)]
        for number, (name, item) in enumerate(items.items()):
            shares[self._homes.setdefault(name, number % count)][name] = item
        if self._others:
            for (_, connection), share in zip(self._others, shares[1:], strict=True):
                connection.send((function, share))
        else:
            self._others = [self._fork(function, share) for share in shares[1:]]
        return self._in_order(function, shares[0], items, meanwhile)

    def _fork(
        self, function: Callable[[M, T], R], share: Mapping[str, T]
    ) -> tuple[Any, Connection]:
        context: Any = get_context("fork")
        here, there = context.Pipe()
        process = context.Process(target=self._serve, args=(there, function, share), daemon=True)
        process.start()
        there.close()
        return process, here

    def _in_order(
        self,
        function: Callable[[M, T], R],
        share: Mapping[str, T],
        items: Mapping[str, T],
        meanwhile: Callable[[], object],
    ) -> Iterator[R]:
        """The results of this process and the others, when all are there."""
        meanwhile()
        results = {name: function(self.memory, item) for name, item in share.items()}
        for _, connection in self._others:
            try:
                answer = connection.recv()
            except (EOFError, OSError):  # the second for an answer that was cut short
                raise ChildProcessError("a process of this build was killed") from None
            if isinstance(answer, BaseException):
                raise answer
            results |= answer
        yield from (results[name] for name in items)

    def _serve(
        self, connection: Connection, function: Callable[[M, T], R], share: Mapping[str, T]
    ) -> None:
        """Be another process: send the results of each step; an error is the end of it."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends this one
        threading.Thread(target=_end_with_parent, daemon=True).start()
        try:
            while True:
                connection.send({name: function(self.memory, share[name]) for name in share})
                function, share = connection.recv()
        except (EOFError, BrokenPipeError):
            pass
        except Exception as error:  # noqa: BLE001  (raised again in the first process)
            error.add_note(traceback.format_exc())  # the place does not travel otherwise
            connection.send(error)


def _end_with_parent() -> None:
    """A parent that is killed would leave this process at work for nobody."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
