"""How much memory is free, and what a context takes of it."""

import os
from pathlib import Path
from typing import Final

_MIB: Final = 1024 * 1024
_MARGIN: Final = 0.9  # of the free memory that may be taken


def free_bytes() -> int | None:
    """Memory that can be taken without swapping; None where the system does not say."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def shortage(needed: int, free: int | None) -> str | None:
    """The text for a client when *needed* bytes do not fit; None when they do."""
    if free is None or needed <= free * _MARGIN:
        return None
    return f"not enough memory: needs {-(-needed // _MIB)} MB, {free // _MIB} MB free"


def physical_cores() -> int:
    """Cores that this process may use, hyper-threads counted once where the system tells."""
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    cores: set[tuple[str, str]] = set()
    for cpu in usable:
        topology = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology")
        try:
            package = (topology / "physical_package_id").read_text(encoding="ascii")
            cores.add((package, (topology / "core_id").read_text(encoding="ascii")))
        except OSError:
            return len(usable)
    return len(cores) or os.cpu_count() or 1


def take_blame() -> None:
    """Ask the out-of-memory killer to end this process before the server; best effort."""
    try:
        Path("/proc/self/oom_score_adj").write_text("800", encoding="ascii")
    except OSError:
        return
