"""Work on many items in several processes, of which this one is the first."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import Any, Final, TypeVar

WORTH: Final = 150  # items; fewer are done before a second process has started
_CHUNK: Final = 4  # items that a process takes at once
STUCK_S: Final = 10.0
"""Longer than anybody needs to take the number of the next item."""
_KILLED: Final = "a process of this build was killed"
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


def in_processes(
    function: Callable[[T], R],
    items: Sequence[T],
    jobs: int,
    meanwhile: Callable[[], object] = lambda: None,
) -> Iterator[R]:
    """*function* of each item, in order; other processes begin now, this one when it is asked.

    They are forked: they inherit the function and the items, and only results are handed over.
    Each takes the next few items as soon as it is ready for them; this one calls *meanwhile* first.
    """
    count = processes(jobs, len(items))
    if count == 1:
        meanwhile()
        return map(function, items)
    context = get_context("fork")
    turn = context.Value("i", 0)
    lock = turn.get_lock()
    chunk = max(1, min(_CHUNK, len(items) // (4 * count)))

    def work() -> Iterator[dict[int, R]]:
        """The results of the next items by their number, until none are left."""
        while True:
            if not lock.acquire(timeout=STUCK_S):  # whoever had it was killed
                raise ChildProcessError(_KILLED)
            try:
                first = turn.value
                turn.value = first + chunk
            finally:
                lock.release()
            numbers = range(first, min(first + chunk, len(items)))
            if not numbers:
                return
            yield {number: function(items[number]) for number in numbers}

    others = {}
    for _ in range(count - 1):
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=_answer, args=(work, sender), daemon=True)
        process.start()
        sender.close()
        others[receiver] = process
    return _in_order(meanwhile, work(), others, len(items))


def _in_order(
    meanwhile: Callable[[], object],
    own: Iterator[dict[int, R]],
    others: dict[Connection, Any],
    count: int,
) -> Iterator[R]:
    """The *count* results of this process and the *others*, when all are there."""
    results: dict[int, R] = {}
    waiting: list[Any] = list(others)
    try:
        meanwhile()
        for made in own:
            results |= made
            for receiver in wait(waiting, timeout=0):
                _receive(receiver, results, waiting)
        while waiting:
            for receiver in wait(waiting):
                _receive(receiver, results, waiting)
        if len(results) < count:
            raise ChildProcessError(_KILLED)
    finally:
        for process in others.values():
            process.terminate()
            process.join()
    yield from (results[number] for number in range(count))


def _receive(receiver: Any, results: dict[int, R], waiting: list[Any]) -> None:
    """Take one answer of another process; an error of it is raised here."""
    try:
        answer = receiver.recv()
    except (EOFError, OSError):  # the second for an answer that was cut short
        waiting.remove(receiver)
        return
    if isinstance(answer, BaseException):
        raise answer
    results |= answer


def _answer(work: Callable[[], Iterator[dict[int, Any]]], sender: Connection) -> None:
    """Send what *work* yields, or the error that ends it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends this one
    threading.Thread(target=_end_with_parent, daemon=True).start()
    answers: SimpleQueue[bytes] = SimpleQueue()  # a pipe is soon full, and work would wait
    sending = threading.Thread(target=_send, args=(answers, sender))
    sending.start()
    try:
        for made in work():
            answers.put(pickle.dumps(made))
    except Exception as error:  # noqa: BLE001  (raised again in the first process)
        error.add_note(traceback.format_exc())  # the place does not travel otherwise
        answers.put(pickle.dumps(error))
    finally:
        answers.put(b"")
        sending.join()


def _send(answers: SimpleQueue[bytes], sender: Connection) -> None:
    """Send each of *answers*, up to an empty one."""
    with suppress(BrokenPipeError):
        while answer := answers.get():
            sender.send_bytes(answer)


def _end_with_parent() -> None:
    """A parent that is killed would leave this process at work for nobody."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
