"""Wall time, processor time and memory of one program run."""

import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Run(NamedTuple):
    """What one run of a program cost; processor time counts its children too."""

    wall_s: float
    cpu_s: float
    peak_mb: float


class Size(NamedTuple):
    """What a folder holds."""

    files: int
    pages: int
    megabytes: float


def run(command: Sequence[str], folder: Path) -> Run:
    """Run a program to its end; raise RuntimeError with its output when it fails."""
    log = folder / ".run.log"
    # Without this variable Python keeps its compiled modules between runs, as it does for users.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    with log.open("wb") as output:
        started = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        tail = log.read_text(errors="replace")[-2000:]
        raise RuntimeError(f"{command[0]} ended with {process.returncode}:\n{tail}")
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def median(runs: Sequence[Run]) -> Run:
    """The median of each figure."""
    columns = zip(*runs, strict=True)
    return Run(*(statistics.median(column) for column in columns))


def size(folder: Path) -> Size:
    """Count and add up the files below a folder."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    pages = sum(path.suffix == ".html" for path in files)
    return Size(len(files), pages, sum(path.stat().st_size for path in files) / 1e6)


def remove(*paths: Path) -> None:
    """Remove folders that may not be there."""
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)
