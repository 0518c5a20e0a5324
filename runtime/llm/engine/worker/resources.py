"""What this machine has left for a model: memory, cores, and how many threads are fastest."""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import psutil

CHAT_NICE: Final = 5
ENCODER_NICE: Final = 10
"""Behind the server, and behind the replies that people wait for."""
TIMED_STEPS: Final = 8
TIMING_S: Final = 1.0
_MIB: Final = 1024 * 1024
_MARGIN: Final = 0.9  # of the free memory that may be taken
_GAIN: Final = 1.1  # more threads must be this much faster: on shared cores a tie is noise
_ENCODER_THREADS: Final = 4


class Refused(Exception):
    """A command cannot be done; the text is for a client: no path, no class name."""

    def __init__(self, reason: str, short_of: int = 0) -> None:
        super().__init__(reason)
        self.short_of = short_of
        """Bytes for which there is no room now; 0: it is refused for another reason."""


def refuse_shortage(needed: int) -> None:
    """Raise `Refused` when *needed* bytes cannot be taken without swapping."""
    free = int(psutil.virtual_memory().available * _MARGIN)
    if needed > free:
        text = f"not enough memory: needs {-(-needed // _MIB)} MB, {free // _MIB} MB can be taken"
        raise Refused(text, short_of=needed)


def usable_cores() -> int:
    """Logical cores that this process may use; a timing says how many of them help a decode.

    Two hyper-threads are reported as one physical core on some virtual machines and still double
    the rate there.
    """
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    return min(cores, usable)


def encoder_threads() -> int:
    """Physical cores that this process may use, 4 at most."""
    physical = psutil.cpu_count(logical=False) or 1
    return max(1, min(_ENCODER_THREADS, physical, usable_cores()))


def fastest_threads(
    cores: int, step: Callable[[int], None], clock: Callable[[], float] = time.perf_counter
) -> int:
    """The best thread count of 1 to *cores*; *step* runs one decode with that many.

    Ends after about a second, however slow a step is; the best so far is the answer then.
    """
    start = clock()
    best, chosen = float("inf"), 1
    # every count up to 4, then steps of 2: a second is not enough for all
    for threads in [n for n in range(1, cores + 1) if n <= 4 or n % 2 == 0 or n == cores]:
        step(threads)  # the first step with new threads starts them
        shortest = float("inf")
        for _ in range(TIMED_STEPS):
            before = clock()
            step(threads)
            now = clock()
            shortest = min(shortest, now - before)
            if now - start > TIMING_S:
                break
        if shortest * _GAIN < best:
            best, chosen = shortest, threads
        if clock() - start > TIMING_S:
            break
    return chosen


def lower_priority(nice: int) -> None:
    """Let the server's loop run first where cores are short: a health check takes 1 ms of it."""
    with contextlib.suppress(OSError):
        os.nice(nice)


def prefer_oom_kill() -> None:
    """Ask the out-of-memory killer to end this process before the server; best effort."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")
