"""What this machine has left for a model: memory, cores, and how many threads are fastest."""

import contextlib
import importlib
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import psutil

CHAT_NICE: Final = 5
ENCODER_NICE: Final = 10
"""Behind the server, and behind the replies that people wait for."""
TIMED_STEPS: Final = 8
TIMING_S: Final = 0.25
"""What the steps of one thread count may take together, if they are not fewer than two."""
WIDTHS: Final = (1, 2, 4, 8)
"""Numbers of replies side by side that are tried."""
_MIB: Final = 1024 * 1024
_MARGIN: Final = 0.9  # of the free memory that may be taken
_LEAST_STEPS: Final = 2
_TIE: Final = 1.1
_CLEARLY: Final = 1.2
_ENOUGH: Final = 2
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


def thread_counts(cores: int) -> list[int]:
    """The thread counts that are worth a timing, from all cores down to one."""
    counts = {cores * share // 8 for share in (2, 3, 4, 5, 6, 7, 8)} | {1, 2, 3, 4}
    return sorted((count for count in counts if 0 < count <= cores), reverse=True)


def fastest_threads(
    counts: Sequence[int],
    step: Callable[[int], None],
    clock: Callable[[], float] = time.perf_counter,
) -> int:
    """The thread count with which *step* is fastest; *counts* are in falling order.

    The first step is not timed: it reads the model's file into memory. Each count then has a budget
    of its own. After two counts in a row that are clearly slower than the best, fewer threads
    cannot be faster. A tie goes to fewer threads: on shared cores it is noise.
    """
    step(counts[0])
    times: dict[int, float] = {}
    slower = 0
    for count in counts:
        times[count] = _shortest(step, count, clock)
        slower = slower + 1 if times[count] > min(times.values()) * _CLEARLY else 0
        if slower == _ENOUGH:
            break
    best = min(times.values())
    return min(count for count, seconds in times.items() if seconds <= best * _TIE)


def best_width(
    widths: Sequence[int],
    step: Callable[[int], None],
    clock: Callable[[], float] = time.perf_counter,
) -> int:
    """How many sequences in one step give the most tokens a second together; a tie goes to fewer.

    *step* computes a token of each of so many sequences. The first one is not timed.
    """
    step(widths[0])
    rates = {width: width / _shortest(step, width, clock) for width in widths}
    best = max(rates.values())
    return min(width for width, rate in rates.items() if rate * _TIE >= best)


def _shortest(step: Callable[[int], None], count: int, clock: Callable[[], float]) -> float:
    """Seconds of the shortest step; at least two are timed, however long they take."""
    step(count)  # starts the threads
    began = before = clock()
    shortest = float("inf")
    for done in range(1, TIMED_STEPS + 1):
        step(count)
        now = clock()
        shortest, before = min(shortest, now - before), now
        if done >= _LEAST_STEPS and now - began > TIMING_S:
            break
    return shortest


def lower_priority(nice: int) -> None:
    """Let the server's loop run first where cores are short: a health check takes 1 ms of it."""
    if hasattr(os, "nice"):  # not on Windows
        with contextlib.suppress(OSError):
            os.nice(nice)


def limit(kind: str, most: int) -> None:
    """Set a limit of this process, by its name in `resource`; where the system can."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # not on Windows
        resource = importlib.import_module("resource")
        resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (most, most))


def prefer_oom_kill() -> None:
    """Ask the out-of-memory killer to end this process before the server; best effort."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")
