"""Reading a stored session of 360,000 frames over HTTP, beside plain rows out of SQLite."""

import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import orjson

from bench.analytics import PIECE, Columns, drive, fill
from bench.common import BACKENDS, Figure, arguments, bridge, fastest, show

ROUTES = {
    "the session's summary": "/session/hour",
    "laps, read cold": "/session/hour/laps",
    "two channels at 10 Hz": "/session/hour/signals?names=speed_ms,rpm&rate_hz=10",
    "parquet": "/session/hour/export.parquet",
}


def plain_rows(columns: Columns) -> float:
    """Seconds to read the same as rows with the standard library alone."""
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "rows.db")
        connection.execute(f"CREATE TABLE frame ({', '.join(f'{name} REAL' for name in columns)})")
        marks = ",".join("?" * len(columns))
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        connection.executemany(f"INSERT INTO frame VALUES ({marks})", rows)  # noqa: S608
        connection.commit()
        query = partial(connection.execute, "SELECT * FROM frame")
        seconds = fastest(lambda: query().fetchall(), 3, time.perf_counter)
        connection.close()
    return seconds


def measure(name: str, columns: Columns) -> Iterator[Figure]:
    """The rows of one back-end."""
    with bridge(BACKENDS[name]) as server:
        seconds = fastest(lambda: fill(server, columns), 1, time.perf_counter)
        rate = len(columns["timestamp"]) / seconds
        yield Figure(f"{name}: frames a second in columns of {PIECE:,}", f"{rate:,.0f}")
        for what, path in ROUTES.items():
            rounds = 1 if "cold" in what else 3
            took = fastest(partial(server.get, path), rounds, time.perf_counter)
            yield Figure(f"{name}: {what}, ms", f"{took * 1e3:,.0f}")
        laps = orjson.loads(server.get("/session/hour/laps"))
        assert laps, "the session has laps"


def main() -> int:
    """Print the table."""
    options = arguments("store", __doc__).parse_args()
    columns = drive(60_000 if options.quick else 360_000)
    rows = [row for name in BACKENDS for row in measure(name, columns)]
    plain = plain_rows(columns) * 1e3
    rows.append(Figure("the same frames as rows of sqlite3, ms", "", f"{plain:,.0f}"))
    show(f"a session of {len(columns['timestamp']):,} frames", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
