"""Resources for a model: memory, cores, the fastest number of threads, process priority."""

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
"""Lower priority than the server, and than the replies that people wait for."""
TIMED_STEPS: Final = 8
TIMING_S: Final = 0.25
"""Time limit for the steps of a thread count, of which at least two are timed."""
WIDTHS: Final = (1, 2, 4, 8)
"""Numbers of concurrent replies to try."""
_MIB: Final = 1024 * 1024
_MARGIN: Final = 0.9  # fraction of the free memory that may be used
_LEAST_STEPS: Final = 2
_TIE: Final = 1.1
_CLEARLY: Final = 1.2
_ENOUGH: Final = 2
_ENCODER_THREADS: Final = 4


class Refused(Exception):
    """A command cannot be executed; the text is for a client, without paths and class names."""

    def __init__(self, reason: str, short_of: int = 0) -> None:
        super().__init__(reason)
        self.short_of = short_of
        """Bytes that did not fit into memory; 0: it is refused for another reason."""


def refuse_shortage(needed: int) -> None:
    """Raise `Refused` if *needed* bytes cannot be allocated without swapping."""
    free = int(psutil.virtual_memory().available * _MARGIN)
    if needed > free:
        text = f"not enough memory: needs {-(-needed // _MIB)} MB, {free // _MIB} MB are available"
        raise Refused(text, short_of=needed)


def count_usable_cores() -> int:
    """Count the logical cores that this process may use; a timing shows how many are worth using.

    Some virtual machines report two hyper-threads as one physical core, although both together
    double the rate.
    """
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    return min(cores, usable)


def choose_encoder_threads() -> int:
    """Choose the threads of an encoder: the usable physical cores, at most 4."""
    physical = psutil.cpu_count(logical=False) or 1
    return max(1, min(_ENCODER_THREADS, physical, count_usable_cores()))


def list_thread_counts(cores: int) -> list[int]:
    """List the thread counts worth timing, from all cores down to one."""
    counts = {cores * share // 8 for share in (2, 3, 4, 5, 6, 7, 8)} | {1, 2, 3, 4}
    return sorted((count for count in counts if 0 < count <= cores), reverse=True)


def find_fastest_threads(
    counts: Sequence[int],
    step: Callable[[int], None],
    clock: Callable[[], float] = time.perf_counter,
) -> int:
    """Find the thread count with which *step* is fastest; *counts* must be descending.

    The first step is not timed, because it reads the model's file into memory. Then each count has
    its own budget. After two consecutive counts that are clearly slower than the best, fewer
    threads cannot be faster. A tie goes to fewer threads, because on shared cores it is noise.
    """
    step(counts[0])
    times: dict[int, float] = {}
    slower = 0
    for count in counts:
        times[count] = _time_step(step, count, clock)
        slower = slower + 1 if times[count] > min(times.values()) * _CLEARLY else 0
        if slower == _ENOUGH:
            break
    best = min(times.values())
    return min(count for count, seconds in times.items() if seconds <= best * _TIE)


def find_best_width(
    widths: Sequence[int],
    step: Callable[[int], None],
    clock: Callable[[], float] = time.perf_counter,
) -> int:
    """Find how many sequences per step give the most tokens per second; a tie goes to fewer.

    *step* computes a token for each of that many sequences. The first step is not timed.
    """
    step(widths[0])
    rates = {width: width / _time_step(step, width, clock) for width in widths}
    best = max(rates.values())
    return min(width for width, rate in rates.items() if rate * _TIE >= best)


def _time_step(step: Callable[[int], None], count: int, clock: Callable[[], float]) -> float:
    """Seconds of the shortest step; at least two steps are timed."""
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
    """Lower the priority of this process, so that the server's event loop runs first."""
    if hasattr(os, "nice"):  # not on Windows
        with contextlib.suppress(OSError):
            os.nice(nice)


def set_limit(kind: str, most: int) -> None:
    """Set a limit of this process, by its name in `resource`, if the system supports it."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # not on Windows
        resource = importlib.import_module("resource")
        resource.setrlimit(getattr(resource, f"RLIMIT_{kind}"), (most, most))


def prefer_oom_kill() -> None:
    """Make the out-of-memory killer prefer this process to the server; best effort."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")
