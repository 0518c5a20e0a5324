"""Chooses the number of threads by timing decode steps."""

import time
from collections.abc import Callable
from typing import Final

STEPS: Final = 8
LIMIT_S: Final = 1.0
_GAIN: Final = 1.1  # more threads must be this much faster: on shared cores a tie is noise


def fastest(cores: int, step: Callable[[int], None], clock: Callable[[], float]) -> int:
    """The best thread count of 1 to *cores*; *step* runs one decode with that many.

    Ends after about a second, however slow a step is; the best so far is the answer then.
    """
    start = clock()
    best, chosen = float("inf"), 1
    for threads in _candidates(cores):
        step(threads)  # the first step with new threads starts them
        shortest = float("inf")
        for _ in range(STEPS):
            before = clock()
            step(threads)
            now = clock()
            shortest = min(shortest, now - before)
            if now - start > LIMIT_S:
                break
        if shortest * _GAIN < best:
            best, chosen = shortest, threads
        if clock() - start > LIMIT_S:
            break
    return chosen


def _candidates(cores: int) -> list[int]:
    """Every count up to 4, then steps of 2: a second does not last for all."""
    return [n for n in range(1, cores + 1) if n <= 4 or n % 2 == 0 or n == cores]


def now() -> float:
    """The clock of `fastest`: seconds."""
    return time.perf_counter()
