"""Queries of strangers: what is refused, what is stopped, and what is answered rightly."""

import asyncio
import threading
import time
from typing import Final

import numpy as np
import pytest

from runtime.bridge.coach.sql import (
    MOST_ROWS,
    VIEWS,
    QueryFailed,
    Refused,
    Scratch,
    View,
    check_query,
    run,
)

HOSTILE: Final = (
    "",
    ";",
    "-- nothing",
    "SELECT lap FROM laps; DROP TABLE laps",
    "SELECT lap FROM laps; SELECT lap FROM laps",
    "DROP TABLE laps",
    "DELETE FROM laps",
    "INSERT INTO laps VALUES (1)",
    "UPDATE laps SET time_s = 0",
    "CREATE TABLE x AS SELECT * FROM laps",
    "SELECT * INTO x FROM laps",
    "WITH x AS (DELETE FROM laps RETURNING *) SELECT * FROM x",
    "WITH x AS (INSERT INTO laps VALUES (1) RETURNING *) SELECT * FROM x",
    "WITH x AS (UPDATE laps SET lap = 1 RETURNING *) SELECT * FROM x",
    "PRAGMA table_info('laps')",
    "SELECT * FROM pragma_table_info('laps')",
    "SELECT * FROM pragma_database_list",
    "CALL pragma_version()",
    "DESCRIBE laps",
    "SUMMARIZE laps",
    "SHOW TABLES",
    "EXPLAIN ANALYZE SELECT * FROM laps",
    "ATTACH 'x.db'",
    "ATTACH ':memory:' AS y",
    "DETACH memory",
    "USE memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '1TB'",
    "RESET threads",
    "CHECKPOINT",
    "VACUUM",
    "BEGIN",
    "COMMIT",
    "EXPORT DATABASE 'x'",
    "IMPORT DATABASE 'x'",
    "COPY laps TO 'x.csv'",
    "COPY (SELECT * FROM laps) TO 'x'",
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_csv_auto('/etc/passwd')",
    "SELECT * FROM read_parquet('x')",
    "SELECT * FROM read_json('x')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT content FROM read_text('/etc/passwd')",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM sniff_csv('x')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM 'x.parquet'",
    'SELECT * FROM "x.csv"',
    "SELECT getenv('HOME')",
    "SELECT current_setting('memory_limit')",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM duckdb_tables()",
    "SELECT * FROM sqlite_master",
    "SELECT * FROM information_schema.tables",
    "SELECT * FROM main.laps",
    "SELECT * FROM memory.main.laps",
    "SELECT * FROM telemetry",
    "SELECT * FROM spectator_tokens",
    "SELECT * FROM conversations",
    "SELECT load_extension('x')",
    "SELECT writefile('x', 'y')",
    "SELECT readfile('/etc/passwd')",
    "SELECT repeat('x', 1000000000)",
    "SELECT rpad('x', 1000000000, 'y')",
    "SELECT 'x' || 'y' FROM laps",
    "SELECT printf('%1000000000d', 1)",
    "SELECT zeroblob(1000000000)",
    "SELECT * FROM range(1000000000)",
    "SELECT * FROM generate_series(1, 1000000000)",
    "SELECT unnest([1, 2])",
    "SELECT list(lap) FROM laps",
    "SELECT string_agg(corner, ',') FROM corners",
    "SELECT * FROM laps, LATERAL (SELECT 1)",
    "SELECT random() FROM laps",
    "SELECT sleep(10)",
    "SELECT query('SELECT 1')",
    "SELECT * FROM query('SELECT 1')",
    "SELECT * FROM query_table('laps')",
    "WITH RECURSIVE a AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM a) SELECT * FROM a",
    "WITH a AS (SELECT * FROM a) SELECT * FROM a",
    "WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT * FROM a",
    "WITH laps AS (SELECT 1) SELECT * FROM laps",
    "SELECT lap FROM laps FOR UPDATE",
    "SELECT * FROM laps USING SAMPLE 10",
    "SELECT COLUMNS('.*') FROM laps",
    "SELECT lap::JSON FROM laps",
    "SELECT {'a': lap} FROM laps",
    "SELECT ? FROM laps",
    "SELECT $1 FROM laps",
    "VALUES (1)",
    "SELECT * FROM (VALUES (1)) AS x",
    "SELECT * FROM laps a, laps b, laps c, laps d, laps e, laps f, laps g, laps h, laps i",
    "not sql at all",
    "SELECT \x00 FROM laps",
    "SELECT '\ud800' FROM laps",
    "SELECT " + "(" * 500 + "1" + ")" * 500 + " FROM laps",
    "SELECT " + "-" * 1 + "- " * 900 + "1 FROM laps",
    "SELECT '" + "x" * 100_000 + "' FROM laps",
    "SELECT " + "lap," * 900 + "lap FROM laps",
    "SELECT " + "CASE WHEN lap=1 THEN " * 100 + "1" + " END" * 100 + " FROM laps",
)
BOMB: Final = "WITH " + ", ".join(
    f"t{i} AS (SELECT a.lap FROM {'laps' if i == 0 else f't{i - 1}'} a,"
    f" {'laps' if i == 0 else f't{i - 1}'} b)"
    for i in range(12)
)
SLOW: Final = (
    "SELECT count(*) FROM frames a, frames b, frames c WHERE a.t_s * b.t_s > c.t_s",
    "SELECT a.*, b.* FROM frames a, frames b ORDER BY a.speed_kmh * b.speed_kmh DESC",
)
HUNGRY: Final = (
    "SELECT median(a.t_s * b.t_s) FROM frames a, frames b",
    "SELECT count(DISTINCT a.t_s * b.t_s) FROM frames a, frames b",
)


def views(count: int = 1000) -> dict[str, View]:
    """Frames at 1 Hz whose speed is their number, in laps of a hundred; five laps."""
    number = np.arange(count, dtype=np.float64)
    frames = dict.fromkeys(VIEWS["frames"], number)
    frames["lap"] = np.where(number < 100, np.nan, number // 100)
    frames["g_lat"] = np.full(count, np.nan)
    laps = {name: np.arange(5.0) + 90 for name in VIEWS["laps"]}
    laps["lap"] = np.arange(1, 6)
    return {"frames": frames, "laps": laps}


def asked(query: str, given: dict[str, View] | None = None, limit_s: float = 20.0) -> list[object]:
    safe, names = check_query(query)
    known = given or views()
    return [list(row) for row in run(safe, {name: known[name] for name in names}, limit_s).rows]


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_whatever_is_no_plain_select_over_the_views_is_refused_at_once(query: str) -> None:
    began = time.process_time()
    with pytest.raises(Refused) as refused:
        check_query(query)
    assert time.process_time() - began < 2.0
    assert len(str(refused.value)) < 200
    assert "passwd" not in str(refused.value)


def test_views_that_multiply_behind_names_are_counted() -> None:
    with pytest.raises(Refused, match="at most 8 views"):
        check_query(f"{BOMB} SELECT * FROM t11")


def test_what_is_run_is_written_anew_and_capped() -> None:
    safe, _ = check_query("select /* x */ lap from laps; -- the end")
    assert safe == f"SELECT * FROM (SELECT lap FROM laps) AS answer LIMIT {MOST_ROWS + 1}"


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("select max(speed_kmh) from frames", [[999.0]]),
        ("SELECT lap, time_s FROM laps WHERE time_s = (SELECT min(time_s) FROM laps)", [[1, 90.0]]),
        ("select count(*) from frames where lap is null", [[100]]),
        ("select max(g_lat) from frames", [[None]]),
        ("with a as (select lap from laps limit 2) select sum(lap) from a", [[3]]),
        ("select lap, count(*) from frames where lap > 8 group by 1 order by 1", [[9, 100]]),
        (
            "select l.lap from laps l join frames f on f.lap = l.lap group by 1 having l.lap=3",
            [[3]],
        ),
        ("select round(avg(speed_kmh), 1) from frames where lap = 2", [[249.5]]),
        ("select quantile_cont(speed_kmh, 0.5) from frames", [[499.5]]),
        (
            "select case when lap > 4 then 'late' else 'early' end from laps where lap = 5",
            [["late"]],
        ),
        ("select lap from laps union all select lap from laps order by 1 limit 1", [[1]]),
        ("select lap, row_number() over (order by time_s desc) from laps where lap=5", [[5, 1]]),
        ("from laps select count(*)", [[5]]),
    ],
)
def test_plain_questions_are_answered(query: str, rows: list[object]) -> None:
    assert asked(query) == rows


def test_more_than_two_hundred_rows_are_cut_and_said_to_be() -> None:
    safe, names = check_query("SELECT frame FROM frames ORDER BY frame")
    found = run(safe, {name: views()[name] for name in names})
    assert len(found.rows) == MOST_ROWS
    assert found.cut


@pytest.mark.parametrize("query", SLOW)
def test_a_query_that_does_not_end_is_stopped(query: str) -> None:
    began = time.monotonic()
    with pytest.raises(QueryFailed, match="stopped after"):
        asked(query, views(200_000), limit_s=0.4)
    assert time.monotonic() - began < 20.0  # it ends at all: an hour would be its own time


@pytest.mark.parametrize("query", HUNGRY)
def test_a_query_that_wants_all_memory_fails_alone(query: str) -> None:
    with pytest.raises(QueryFailed, match=r"MB|stopped after"):
        asked(query, views(200_000), limit_s=2.0)
    assert asked("select count(*) from laps") == [[5]]


def test_errors_say_what_there_is_and_repeat_nothing() -> None:
    with pytest.raises(QueryFailed, match="frames: frame, lap"):
        asked("select secret_word from laps")
    with pytest.raises(QueryFailed) as failed:
        asked("select cast('secret_word' as int) from laps")
    assert "secret_word" not in str(failed.value)


async def test_queries_wait_in_a_short_queue_and_a_caller_that_goes_frees_it() -> None:
    scratch = Scratch(limit_s=30.0)
    safe, names = check_query(SLOW[0])
    given = {name: views(200_000)[name] for name in names}
    try:
        tasks = [asyncio.create_task(scratch.run(safe, given)) for _ in range(4)]
        await asyncio.sleep(0)
        with pytest.raises(QueryFailed, match="waiting"):
            await scratch.run(safe, given)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        quick, named = check_query("SELECT count(*) FROM laps")
        rows = None
        while rows is None:
            try:
                rows = (await scratch.run(quick, {name: views()[name] for name in named})).rows
            except QueryFailed:
                await asyncio.sleep(0.01)
        assert rows == ((5,),)
    finally:
        await asyncio.to_thread(scratch.close)
    assert not any(thread.name.startswith("bridge-query") for thread in threading.enumerate())
