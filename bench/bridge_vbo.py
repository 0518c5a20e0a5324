"""Reading of VBO files: ours beside a plain Python reader and pandas, in MB/s.

python -m bench.bridge_vbo --mb 50 --rounds 5 --large 530

The other two only turn the rows into numbers; ours also gives positions, times, distance, signs
and doubts. Rounds are interleaved and the best of each counts, for the machine may be busy. A large
file is read once more by a process of its own, which says how much memory that takes.
"""

import argparse
import io
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas  # type: ignore[import-untyped]

from runtime.bridge.formats.formats import read_recording
from runtime.bridge.formats.vbo.read import read
from runtime.bridge.formats.vbo.sections import read_head
from runtime.bridge.formats.vbo.table import read_table

COLUMNS = "sats time lat long velocity heading height vert-vel " + " ".join(
    f"Channel_{number}" for number in range(15)
)


class Figure(NamedTuple):
    """The best round of one reader."""

    name: str
    seconds: float
    rows: int


def rows_of(megabytes: float) -> int:
    """How many rows make a file that large."""
    return max(10, int(megabytes * 1e6 / 291))


def lines_of(rows: int) -> Iterator[str]:
    """A file of 23 columns at 100 Hz in a native logger's dialect."""
    yield f"File created on 15/06/2025 @ 14:25:30\r\n[column names]\r\n{COLUMNS}\r\n[data]\r\n"
    chance = np.random.default_rng(1)
    speed = 0.09 * 0.2 * 1852.0 * 3.6
    for at in range(rows):
        since = at * 0.01
        angle = since * 0.09
        second = 36_000 + since
        clock = f"{int(second // 3600):02d}{int(second // 60 % 60):02d}{second % 60:06.3f}"
        lat = 52.0 * 60 + math.cos(angle) * 0.2
        lon = -4.5 * 60 - math.sin(angle) * 0.2 / math.cos(math.radians(52.0))
        course = math.degrees(-angle + math.pi / 2) % 360
        channels = " ".join([f"{value:+.6E}" for value in chance.standard_normal(15).tolist()])
        yield (
            f"009 {clock} {lat:+015.8f} {lon:+015.8f} {speed:07.3f} {course:07.3f} "
            f"+0012.50 +000.00 {channels}\r\n"
        )


def make(megabytes: float) -> bytes:
    """A file of about that size."""
    return "".join(lines_of(rows_of(megabytes))).encode("ascii")


def plain(data: bytes) -> int:
    """One dictionary a row, as most scripts do it."""
    lines = data.decode("cp1252").splitlines()
    names = lines[lines.index("[column names]") + 1].split()
    start = lines.index("[data]") + 1
    rows = [
        {name: float(cell) for name, cell in zip(names, line.split(), strict=True)}
        for line in lines[start:]
        if line
    ]
    return len(rows)


def with_pandas(data: bytes) -> int:
    """The C reader of pandas, one blank between cells."""
    stream = io.BytesIO(data)
    head = read_head(stream)
    frame = pandas.read_csv(stream, sep=" ", names=list(head.names), dtype=np.float64)
    return len(frame)


def table_only(data: bytes) -> int:
    """Our rows to numbers, nothing more: what compares with the others."""
    stream = io.BytesIO(data)
    head = read_head(stream)
    return len(read_table(stream, len(head.names), commas=False))


def ours(data: bytes) -> int:
    """The whole reader."""
    return len(read(data).frames)


def ragged(data: bytes) -> bytes:
    """The same file with every thousandth row cut."""
    lines = data.split(b"\r\n")
    for at in range(1000, len(lines), 1000):
        lines[at] = lines[at][:50]
    return b"\r\n".join(lines)


def measure(data: bytes, rounds: int) -> list[Figure]:
    """The best of *rounds* interleaved rounds of every reader."""
    damaged = ragged(data)
    readers: dict[str, tuple[Callable[[bytes], int], bytes]] = {
        "plain Python": (plain, data),
        "pandas": (with_pandas, data),
        "ours, numbers only": (table_only, data),
        "ours, whole reading": (ours, data),
        "ours, every 1000th row cut": (ours, damaged),
    }
    best: dict[str, Figure] = {}
    for _ in range(rounds):
        for name, (reader, given) in readers.items():
            started = time.process_time()
            rows = reader(given)
            took = time.process_time() - started
            if name not in best or took < best[name].seconds:
                best[name] = Figure(name, took, rows)
    return list(best.values())


def large(megabytes: float) -> str:
    """What a process of its own needs to read a file of that size from the disk."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.vbo"
        with path.open("w", encoding="ascii", newline="") as file:
            file.writelines(lines_of(rows_of(megabytes)))
        told = subprocess.run(
            [sys.executable, "-m", "bench.bridge_vbo", "--read", str(path)],
            check=True,
            capture_output=True,
            text=True,
        )
    return told.stdout


def read_once(path: Path) -> str:
    """Read a file as an import does; tells time, and the most memory over that at the start."""
    before = memory_mb("VmRSS")
    began = time.process_time()
    with path.open("rb") as file:
        rows = len(read_recording(file, path.name).frames)
    took = time.process_time() - began
    size = path.stat().st_size / 1e6
    peak = memory_mb("VmHWM") - before
    return f"{size:.0f} MB, {rows:,} rows: {size / took:.0f} MB/s, {peak:.0f} MB over the start"


def memory_mb(what: str) -> float:
    """What this process holds now (VmRSS) or held at most (VmHWM, without what started it)."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return float(status.split(f"{what}:")[1].split()[0]) / 1024


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.bridge_vbo", description=__doc__)
    parser.add_argument("--mb", type=float, default=50.0)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", type=float, default=0.0, help="MB of a file read for memory")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(argv)
    if given.read:
        print(read_once(given.read))
        return 0
    data = make(given.mb)
    megabytes = len(data) / 1e6
    figures = measure(data, given.rounds)
    print(f"{megabytes:.1f} MB, best of {given.rounds}, processor time")
    print(f"{'reader':28} {'MB/s':>8} {'rows/s':>10} {'times':>6}")
    for name, seconds, rows in figures:
        times = figures[0].seconds / seconds
        print(f"{name:28} {megabytes / seconds:8.1f} {rows / seconds:10,.0f} {times:6.1f}")
    if given.large:
        print(large(given.large), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
