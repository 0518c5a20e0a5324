"""Steps of work on many items in several processes, of which this one is the first."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import Any, Final, Generic, NamedTuple, TypeVar

WORTH: Final = 150  # items; fewer are done before a second process has started
_CHUNK: Final = 4  # items that a process takes at once
STUCK_S: Final = 10.0
"""Longer than anybody needs to take the number of the next item."""
_KILLED: Final = "a process of this build was killed"
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


class _Step(NamedTuple):
    """A function of a process's memory and an item, the items by name, and a queue each."""

    function: Callable[[Any, Any], Any]
    items: Mapping[str, Any]
    queues: list[list[str]]


class Crew(Generic[M]):
    """This process and forks of it, which do one step of work after the other.

    Each has a *memory* of its own, where a step leaves what the next one needs. So an item goes
    to the process that had it in the step before; who has none left takes over one of another.
    """

    def __init__(self, memory: M, jobs: int) -> None:
        self.memory = memory
        self._jobs = jobs
        self._context: Any = get_context("fork") if hasattr(os, "fork") else None
        self._others: dict[Connection, Any] = {}  # the processes, in the order of their numbers
        self._turns: Any = None  # by queue, the number of its next item
        self._homes: dict[str, int] = {}  # by name, the number of the process that had the item

    def close(self) -> None:
        """End the other processes."""
        for process in self._others.values():
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
        step = _Step(function, items, [[] for _ in range(count)])
        for number, name in enumerate(items):
            step.queues[self._homes.get(name, number % count)].append(name)
        if self._others:
            self._turns[:] = [0] * count
            for connection in self._others:
                connection.send(step)
        else:
            self._turns = self._context.Array("i", count)
            for number in range(1, count):
                self._fork(number, step)
        return self._in_order(step, meanwhile)

    def _fork(self, number: int, step: _Step) -> None:
        here, there = self._context.Pipe()
        process = self._context.Process(target=self._serve, args=(number, step, there), daemon=True)
        process.start()
        there.close()
        self._others[here] = process

    def _take(self, own: int, step: _Step) -> Iterator[list[str]]:
        """The names of the next few items, of the queue *own* first, until none are left."""
        count = len(step.queues)
        chunk = max(1, min(_CHUNK, len(step.items) // (4 * count)))
        lock = self._turns.get_lock()
        for queue in [*range(own, count), *range(own)]:
            names = step.queues[queue]
            while True:
                if not lock.acquire(timeout=STUCK_S):  # whoever had it was killed
                    raise ChildProcessError(_KILLED)
                try:
                    first = self._turns[queue]
                    self._turns[queue] = first + chunk
                finally:
                    lock.release()
                if first >= len(names):
                    break
                yield names[first : first + chunk]

    def _work(self, own: int, step: _Step) -> Iterator[dict[str, Any]]:
        """The results of the next items by name."""
        for names in self._take(own, step):
            yield {name: step.function(self.memory, step.items[name]) for name in names}

    def _in_order(self, step: _Step, meanwhile: Callable[[], object]) -> Iterator[Any]:
        """The results of this process and the others, when all are there."""
        results: dict[str, Any] = {}
        waiting = {connection: number for number, connection in enumerate(self._others, 1)}

        def receive(connections: list[Any]) -> None:
            for connection in connections:
                made = _receive(connection)
                results.update(made)
                self._homes |= dict.fromkeys(made, waiting[connection])
                if not made:
                    del waiting[connection]

        meanwhile()
        for made in self._work(0, step):
            results |= made
            self._homes |= dict.fromkeys(made, 0)
            receive(wait([*waiting], timeout=0))
        while waiting:
            receive(wait([*waiting]))
        if len(results) < len(step.items):
            raise ChildProcessError(_KILLED)
        yield from (results[name] for name in step.items)

    def _serve(self, number: int, step: _Step, connection: Connection) -> None:
        """Be another process: send the results of *step*, and of each that comes after it.

        An empty answer is the end of a step; an error is the end of the process.
        """
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends this one
        threading.Thread(target=_end_with_parent, daemon=True).start()
        answers: SimpleQueue[bytes] = SimpleQueue()  # a pipe is soon full, and work would wait
        threading.Thread(target=_send, args=(answers, connection)).start()
        try:
            while True:
                for made in self._work(number, step):
                    answers.put(pickle.dumps(made))
                answers.put(pickle.dumps({}))
                step = connection.recv()
        except EOFError:
            pass
        except Exception as error:  # noqa: BLE001  (raised again in the first process)
            error.add_note(traceback.format_exc())  # the place does not travel otherwise
            answers.put(pickle.dumps(error))
        finally:
            answers.put(b"")


def _receive(connection: Connection) -> dict[str, Any]:
    """One answer of another process, empty for the last; an error of it is raised here."""
    try:
        answer = connection.recv()
    except (EOFError, OSError):  # the second for an answer that was cut short
        return {}
    if isinstance(answer, BaseException):
        raise answer
    return dict(answer)


def _send(answers: SimpleQueue[bytes], connection: Connection) -> None:
    """Send each of *answers*, up to an empty one."""
    with suppress(BrokenPipeError):
        while answer := answers.get():
            connection.send_bytes(answer)


def _end_with_parent() -> None:
    """A parent that is killed would leave this process at work for nobody."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
