"""A lake of 100 sessions: a question to all of it, and its season, alone and on two processes.

DuckDB and pandas, which reads the same files with pyarrow, answer the same question.
"""

import contextlib
import io
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pandas as pd  # type: ignore[import-untyped]

from bench.common import ROOT, Figure, arguments, fastest, show
from runtime.bridge.commands import seasons
from runtime.bridge.track.library import Library
from tools.lake import fill_lake

ROUNDS = 5
FASTEST_LAPS = """
    SELECT driver, track, min(lap_time_s) AS best
    FROM read_parquet('{}/*/*/*/laps.parquet', hive_partitioning = true)
    WHERE kind = 'lap' AND valid GROUP BY ALL ORDER BY ALL
"""
TOP_SPEEDS = """
    SELECT session_id, max(speed_ms) * 3.6 AS kmh
    FROM read_parquet('{}/*/*/*/telemetry.parquet', hive_partitioning = true)
    WHERE lap IS NOT NULL GROUP BY ALL ORDER BY ALL
"""


def ask_duckdb(question: str, lake: Path) -> "pd.DataFrame":
    """The answer of DuckDB as a frame."""
    with duckdb.connect() as connection:
        return connection.execute(question.format(lake)).df()


def find_fastest_laps(lake: Path) -> "pd.DataFrame":
    """The same in pandas."""
    laps = pd.read_parquet(sorted(lake.glob("*/*/*/laps.parquet")))
    laps = laps[(laps["kind"] == "lap") & laps["valid"]]
    return laps.groupby(["driver", "track"])["lap_time_s"].min().reset_index()


def find_top_speeds(lake: Path) -> "pd.DataFrame":
    """The same in pandas."""
    wanted = ["session_id", "speed_ms", "lap"]
    frames = pd.read_parquet(sorted(lake.glob("*/*/*/telemetry.parquet")), columns=wanted)
    speeds = frames[frames["lap"].notna()].groupby("session_id")["speed_ms"].max() * 3.6
    return speeds.reset_index()


def compare(name: str, question: str, peer: Callable[[Path], "pd.DataFrame"], lake: Path) -> Figure:
    """A question to DuckDB and to pandas, which must agree."""
    ours, theirs = ask_duckdb(question, lake), peer(lake)
    if not (ours.iloc[:, -1] == theirs.iloc[:, -1]).all():
        raise RuntimeError(f"{name}: the answers differ")
    both = (lambda: ask_duckdb(question, lake), lambda: peer(lake))
    a, b = (1e3 * fastest(work, ROUNDS, time.perf_counter) for work in both)
    return Figure(f"{name}, ms", f"{a:.0f}", f"pandas: {b:.0f}")


def time_season(lake: Path, *flags: str) -> float:
    """Seconds of a season."""
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        if seasons.main(["--lake", str(lake), *flags]):
            raise RuntimeError("the season is not whole")
    return time.perf_counter() - began


def main() -> int:
    """Print the table."""
    options = arguments("lake", __doc__).parse_args()
    count, laps, hz = (20, 3, 10.0) if options.quick else (100, 6, 20.0)
    track = Library.read(ROOT / "data" / "tracks").tracks["larkfell"]
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder)
        fill_lake(folder, track, count, laps=laps, hz=hz)
        size = sum(path.stat().st_size for path in lake.rglob("*.parquet"))
        alone = time_season(lake)
        again = time_season(lake)
        many = time_season(lake, "--out", str(lake / "many"), "--workers", "2")
        figures = [
            compare("fastest lap of each driver", FASTEST_LAPS, find_fastest_laps, lake),
            compare(
                "top speed of each session, from all frames", TOP_SPEEDS, find_top_speeds, lake
            ),
            Figure("its season, s", f"{alone:.1f}", f"on two processes of Dask: {many:.1f}"),
            Figure("the same, nothing changed, s", f"{again:.1f}"),
        ]
        show(f"a lake of {count} sessions, {size / 1e6:.0f} MB", figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
