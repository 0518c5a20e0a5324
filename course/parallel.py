"""Map a function over many items with forked processes, in order, without copying the inputs."""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeVar

T = TypeVar("T")
R = TypeVar("R")

# Fewer items than this are done before a second process has started.
WORTH_IT: Final = 150
PIECE: Final = 64


def workers(wanted: int, items: int) -> int:
    """How many processes to use for *items*; *wanted* 0 means as many as pay, two at most.

    One where the system cannot fork, or where other threads make a fork unsafe.
    """
    if not hasattr(os, "fork") or threading.active_count() > 1:
        return 1
    if wanted:
        return max(1, min(wanted, items))
    return 2 if items >= WORTH_IT and (os.cpu_count() or 1) > 1 else 1


def fork_map(function: Callable[[T], R], items: Sequence[T], jobs: int) -> list[R]:
    """``list(map(function, items))`` on *jobs* processes; an exception is raised as it would be.

    The children inherit everything by fork and send pickled results back; what else they change
    in memory is lost.
    """
    if jobs <= 1:
        return [function(item) for item in items]
    size = -(-len(items) // jobs)
    shares = [items[at : at + size] for at in range(0, len(items), size)]
    children = [_start(function, share) for share in shares[1:]]
    results: list[R] = []
    answers: list[list[R] | BaseException] = []
    try:
        results.extend(function(item) for item in shares[0])
    finally:
        answers = [_finish(*child) for child in children]
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
        results.extend(answer)
    return results


def _start(function: Callable[[T], R], share: Sequence[T]) -> tuple[int, int]:
    source, sink = os.pipe()
    child = os.fork()
    if child:
        os.close(sink)
        return child, source
    status = 1
    try:
        os.close(source)
        try:
            answer: object = [function(item) for item in share]
        except Exception as error:  # noqa: BLE001  (handed to the parent, which raises it)
            answer = error
        with os.fdopen(sink, "wb") as pipe:
            for part in _parts(answer):
                pickle.dump(part, pipe, pickle.HIGHEST_PROTOCOL)
        status = 0
    finally:
        os._exit(status)


def _parts(answer: object) -> Iterator[object]:
    """An answer in pieces, so that the parent never holds all of its bytes; None ends it."""
    if isinstance(answer, list):
        for at in range(0, len(answer), PIECE):
            yield answer[at : at + PIECE]
        yield None
    else:
        yield answer


def _finish(child: int, source: int) -> list[R] | BaseException:
    results: list[R] = []
    failure: BaseException | None = None
    with os.fdopen(source, "rb") as pipe:
        try:
            while (part := pickle.load(pipe)) is not None:  # noqa: S301  (our own child wrote it)
                if isinstance(part, BaseException):
                    failure = part
                    break
                results += part
        except EOFError:
            failure = RuntimeError("a build process ended early")
    _, status = os.waitpid(child, 0)
    if failure is None and status:
        failure = RuntimeError(f"a build process ended with status {status}")
    return failure or results
