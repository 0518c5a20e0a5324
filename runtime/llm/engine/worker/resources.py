"""How much memory is free and how many cores there are, for the size of a context."""

import contextlib
import os
from pathlib import Path
from typing import Final

import psutil

_MIB: Final = 1024 * 1024
_MARGIN: Final = 0.9  # of the free memory that may be taken
_NICE: Final = 5


def free_bytes() -> int:
    """Memory that can be taken without swapping."""
    return int(psutil.virtual_memory().available)


def shortage(needed: int, free: int) -> str | None:
    """The text for a client when *needed* bytes do not fit; None when they do."""
    if needed <= free * _MARGIN:
        return None
    room = int(free * _MARGIN)
    return f"not enough memory: needs {-(-needed // _MIB)} MB, {room // _MIB} MB can be taken"


def usable_cores() -> int:
    """Logical cores that this process may use; a timing says how many of them help a decode.

    Two hyper-threads are reported as one physical core on some virtual machines and still double
    the rate there.
    """
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    return min(cores, usable)


def give_way() -> None:
    """Let the server's loop run first where cores are short: a health check takes 1 ms of it."""
    with contextlib.suppress(OSError):
        os.nice(_NICE)


def take_blame() -> None:
    """Ask the out-of-memory killer to end this process before the server; best effort."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")
