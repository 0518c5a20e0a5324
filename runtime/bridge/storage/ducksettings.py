"""How a DuckDB database is opened."""

import os


def settings(*, read_only: bool = False) -> dict[str, str | bool | int | float | list[str]]:
    """How every database is opened: nothing but its own file is ever touched."""
    made: dict[str, str | bool | int | float | list[str]] = {
        "threads": "2",
        "memory_limit": f"{_memory_mb()}MB",
        "enable_external_access": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    # A checkpoint that finds no room makes the whole instance unusable, so none runs by itself.
    return made if read_only else {**made, "checkpoint_threshold": "1TB"}


def _memory_mb() -> int:
    """A quarter of the machine's memory, between 256 MB and 1 GB."""
    try:
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    except (AttributeError, OSError, ValueError):  # not on Windows
        whole = 4096
    return max(256, min(1024, whole // 4))
