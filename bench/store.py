"""Reading a stored session of 360,000 frames over HTTP, beside plain rows out of SQLite."""

import math
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import orjson

from bench.common import BACKENDS, Figure, Server, arguments, bridge, show

CHANNELS = ("speed_ms", "g_lat", "g_long", "brake_bar", "throttle_pct", "steering_deg", "rpm")
PIECE = 20_000
ROUTES = {
    "the session's summary": "/session/long",
    "laps, read cold": "/session/long/laps",
    "two channels at 10 Hz": "/session/long/signals?names=speed_ms,rpm&rate_hz=10",
    "parquet": "/session/long/export.parquet",
}


def drive(first: int, count: int) -> dict[str, list[float]]:
    """Columns of a drive at 100 Hz."""
    times = [number / 100 for number in range(first, first + count)]
    waves = {
        name: [math.sin(t * (1 + row)) * 20 + 25 for t in times]
        for row, name in enumerate(CHANNELS)
    }
    return {"timestamp": times, **waves}


def fill(server: Server, frames: int) -> float:
    """Send the drive in columns; seconds taken."""
    began = time.perf_counter()
    for first in range(0, frames, PIECE):
        columns = drive(first, min(PIECE, frames - first))
        server.post("/session/long/frames", {"columns": columns})
    return time.perf_counter() - began


def milliseconds(work: Callable[[], object], rounds: int) -> float:
    """Wall time of the best round."""
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times) * 1e3


def plain_rows(frames: int) -> float:
    """Milliseconds to read the same as rows with the standard library alone."""
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "rows.db")
        names = ("timestamp", *CHANNELS)
        marks = ",".join("?" * len(names))
        connection.execute(f"CREATE TABLE frame ({', '.join(f'{name} REAL' for name in names)})")
        rows = zip(*drive(0, frames).values(), strict=True)
        connection.executemany(f"INSERT INTO frame VALUES ({marks})", rows)  # noqa: S608
        connection.commit()
        found = milliseconds(lambda: connection.execute("SELECT * FROM frame").fetchall(), 3)
        connection.close()
    return found


def measure(name: str, frames: int) -> Iterator[Figure]:
    """The rows of one back-end."""
    with bridge(BACKENDS[name]) as server:
        seconds = fill(server, frames)
        yield Figure(f"{name}: frames a second in columns of {PIECE:,}", f"{frames / seconds:,.0f}")
        for what, path in ROUTES.items():
            rounds = 1 if "cold" in what else 3
            took = milliseconds(partial(server.get, path), rounds)
            yield Figure(f"{name}: {what}, ms", f"{took:,.0f}")
        laps = orjson.loads(server.get("/session/long/laps"))
        assert laps, "the session has laps"


def main() -> int:
    """Print the table."""
    given = arguments("store", __doc__).parse_args()
    frames = 60_000 if given.quick else 360_000
    rows = [row for name in BACKENDS for row in measure(name, frames)]
    rows.append(Figure("eight columns as rows of sqlite3, ms", "", f"{plain_rows(frames):,.0f}"))
    show(f"a session of {frames:,} frames", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
