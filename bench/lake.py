"""A lake of sessions: queries over all of it, and its season.

DuckDB answers the same queries as pandas, which reads the files with pyarrow.
"""

import contextlib
import io
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import duckdb
import pandas as pd  # type: ignore[import-untyped]

from bench.common import ROOT, Figure, fastest
from runtime.bridge.commands import seasons
from runtime.bridge.track.library import Library
from tools.lake import fill_lake

SESSIONS: Final = 50
ROUNDS: Final = 5
FASTEST_LAPS: Final = """
    SELECT driver, track, min(lap_time_s) AS best
    FROM read_parquet('{}/*/*/*/laps.parquet', hive_partitioning = true)
    WHERE kind = 'lap' AND valid GROUP BY ALL ORDER BY ALL
"""
TOP_SPEEDS: Final = """
    SELECT session_id, max(speed_ms) * 3.6 AS kmh
    FROM read_parquet('{}/*/*/*/telemetry.parquet', hive_partitioning = true)
    WHERE lap IS NOT NULL GROUP BY ALL ORDER BY ALL
"""


def ask_duckdb(question: str, lake: Path) -> "pd.DataFrame":
    """Run a query in DuckDB."""
    with duckdb.connect() as connection:
        return connection.execute(question.format(lake)).df()


def find_fastest_laps(lake: Path) -> "pd.DataFrame":
    """The same as `FASTEST_LAPS` in pandas."""
    laps = pd.read_parquet(sorted(lake.glob("*/*/*/laps.parquet")))
    laps = laps[(laps["kind"] == "lap") & laps["valid"]]
    return laps.groupby(["driver", "track"])["lap_time_s"].min().reset_index()


def find_top_speeds(lake: Path) -> "pd.DataFrame":
    """The same as `TOP_SPEEDS` in pandas."""
    wanted = ["session_id", "speed_ms", "lap"]
    frames = pd.read_parquet(sorted(lake.glob("*/*/*/telemetry.parquet")), columns=wanted)
    speeds = frames[frames["lap"].notna()].groupby("session_id")["speed_ms"].max() * 3.6
    return speeds.reset_index()


def compare(name: str, question: str, peer: Callable[[Path], "pd.DataFrame"], lake: Path) -> Figure:
    """Time a query in DuckDB and in pandas; their answers must agree."""
    ours, theirs = ask_duckdb(question, lake), peer(lake)
    if not (ours.iloc[:, -1] == theirs.iloc[:, -1]).all():
        raise RuntimeError(f"{name}: the answers differ")
    both = (lambda: ask_duckdb(question, lake), lambda: peer(lake))
    ours_ms, pandas_ms = (1e3 * fastest(work, ROUNDS, time.perf_counter) for work in both)
    return Figure(f"{name}, {SESSIONS} sessions", "ms", ours_ms, "pandas", pandas_ms)


def season_s(lake: Path) -> float:
    """Seconds that the season command takes."""
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        if seasons.main(["--lake", str(lake)]):
            raise RuntimeError("the season is incomplete")
    return time.perf_counter() - began


def figures() -> Iterator[Figure]:
    """The rows of a lake of 50 sessions."""
    track = Library.read(ROOT / "data" / "tracks").tracks["larkfell"]
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder)
        fill_lake(folder, track, SESSIONS, laps=6, hz=20.0)
        yield compare("fastest lap of each driver", FASTEST_LAPS, find_fastest_laps, lake)
        yield compare("top speed of each session", TOP_SPEEDS, find_top_speeds, lake)
        yield Figure(f"season of {SESSIONS} sessions", "s", season_s(lake))
        yield Figure("the same, nothing changed", "s", season_s(lake))
