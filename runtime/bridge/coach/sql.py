"""Runs a driver's queries: proves that each is one plain SELECT over the documented views, and runs
it in its own database in memory, which holds only the views it names.

Nothing is forbidden by name: what is not on the lists of this module is refused, so a new function
or statement of the engine is refused too. The query is then rewritten from its syntax tree, and
only that text is run. Neither store is touched: a query's effects end with its database, its memory
has its own limit, and no lock of a store waits.
"""

import asyncio
import logging
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, date, datetime
from types import ModuleType
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from runtime.bridge.analysis.drive import Drive, NoCorners
from runtime.bridge.analysis.passes import Pass, list_passes
from runtime.bridge.analysis.summary import summarise
from runtime.bridge.coach.asking import Row
from runtime.bridge.coach.fact import Fact
from runtime.bridge.coach.facts.view import NO_CORNERS, need_outing
from runtime.bridge.coach.gather import Context, Gathering
from runtime.bridge.errors import NoCompleteLap
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.units import KMH
from runtime.bridge.storage.analyses import Scope
from runtime.bridge.storage.errors import NoRows
from runtime.bridge.storage.records import SessionRow

logging.getLogger("sqlglot").disabled = True  # it would write the query to the log

DIALECT: Final = "duckdb"
MOST_CHARS: Final = 4000
MOST_NODES: Final = 600
MOST_DEPTH: Final = 12
"""Depth of nested brackets."""
MOST_SCANS: Final = 8
"""Reads of views, with common tables counted as often as they are used."""
MOST_ROWS: Final = 200

VIEWS: Final[dict[str, tuple[str, ...]]] = {
    "frames": (
        *("frame", "lap", "t_s", "lap_distance_m", "speed_kmh", "brake_bar", "throttle_pct"),
        *("steering_deg", "g_lat", "g_long", "combo_g", "rpm"),
    ),
    "laps": (
        *("lap", "time_s", "sector_1_s", "sector_2_s", "sector_3_s", "avg_speed_kmh"),
        *("max_combo_g", "coast_pct", "best"),
    ),
    "corners": (
        *("corner", "lap", "time_s", "entry_speed_kmh", "apex_speed_kmh", "exit_speed_kmh"),
        *("min_speed_kmh", "peak_brake_bar", "brake_point_m", "max_g_lat", "coast_s"),
        "nothing_time_s",
    ),
    "sessions": (
        *("session_id", "driver", "track", "car", "started_at", "laps", "best_lap_s", "frames"),
    ),
}
"""The views that can be queried, with their columns; the first three hold the question's
session."""

_NODES: Final = frozenset(
    (
        *(exp.Select, exp.Subquery, exp.CTE, exp.With, exp.TableAlias, exp.Union, exp.Except),
        *(exp.Intersect, exp.From, exp.Join, exp.Where, exp.Group, exp.Having, exp.Order),
        *(exp.Ordered, exp.Limit, exp.Offset, exp.Distinct, exp.Table, exp.Column, exp.Star),
        *(exp.Identifier, exp.Alias, exp.Literal, exp.Boolean, exp.Null, exp.Paren, exp.Tuple),
        *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is),
        *(exp.In, exp.Between, exp.Like, exp.ILike, exp.Exists, exp.Add, exp.Sub, exp.Mul),
        *(exp.Div, exp.Mod, exp.Neg, exp.Case, exp.If, exp.Coalesce, exp.Nullif, exp.Cast),
        *(exp.DataType, exp.DataTypeParam, exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max),
        *(exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.Median, exp.PercentileCont),
        *(exp.Corr, exp.ArgMax, exp.ArgMin, exp.Abs, exp.Round, exp.Floor, exp.Ceil, exp.Sqrt),
        *(exp.Pow, exp.Greatest, exp.Least, exp.Sign, exp.Lower, exp.Upper, exp.Window),
        *(exp.WindowSpec, exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead),
        *(exp.FirstValue, exp.LastValue, exp.Var, exp.Filter, exp.Interval),
    )
)
_TYPES: Final = frozenset(
    {
        *(exp.DataType.Type.INT, exp.DataType.Type.BIGINT, exp.DataType.Type.DOUBLE),
        *(exp.DataType.Type.FLOAT, exp.DataType.Type.VARCHAR, exp.DataType.Type.TEXT),
        *(exp.DataType.Type.BOOLEAN, exp.DataType.Type.DATE, exp.DataType.Type.TIMESTAMP),
    }
)


_STATEMENT: Final = re.compile(
    r"select\b.*\bfrom\b.*|with\b.*\bas\s*\(.*|select\s+(?:\*|\d|count\s*\(|max\s*\(|min\s*\(|avg\s*\().*"
    r"|insert\s+into\b.*|delete\s+from\b.*|update\s+\w+\s+set\b.*|explain\s+select\b.*"
    r"|(?:drop|create|alter|truncate)\s+(?:(?:or\s+replace|temp|temporary|unique)\s+)*"
    r"(?:table|view|index|schema|database|macro|function|sequence|type)\b.*"
    r"|pragma\s+\w+.*|(?:attach|detach|install|load|import|export)\s+(?:database\b.*|['\"].*)"
    r"|copy\s+.*\b(?:to|from)\s*['\"].*|show\s+(?:all\s+)?tables\W*"
    r"|(?:describe|truncate|summarize)\s+(?:frames|laps|corners|sessions)\W*|vacuum\W*|from\s+\w+\s+select\b.*",
    re.DOTALL | re.IGNORECASE,
)
_FENCE: Final = "```"


def statement_in(question: str) -> str | None:
    """Return the statement if a question is nothing else."""
    _, fence, rest = question.partition(_FENCE)
    if fence and _FENCE in rest:
        return rest.partition(_FENCE)[0].strip().removeprefix("sql").strip()
    text = question.strip()
    return text if _STATEMENT.fullmatch(text) else None


class Refused(ValueError):
    """The query will not be run; the text says why, without repeating it."""


def check_query(query: str) -> tuple[str, tuple[str, ...]]:
    """Check a query; return it as it may run, capped at one row more than `MOST_ROWS`, and the
    views it reads. Raises `Refused`."""
    tree = _parse_query(query)
    names = _list_common_tables(tree)
    for node in tree.walk():
        _check_node(node)
    tables = list(tree.find_all(exp.Table))
    for table in tables:
        _check_table(table, names)
    _check_cost(tree)
    inner = tree.sql(dialect=DIALECT, comments=False)
    safe = f"SELECT * FROM ({inner}) AS answer LIMIT {MOST_ROWS + 1}"  # noqa: S608 - proven above
    named = {table.name.lower() for table in tables}
    return safe, tuple(name for name in VIEWS if name in named)


def _parse_query(query: str) -> exp.Expr:
    if len(query) > MOST_CHARS:
        raise Refused(f"a query has at most {MOST_CHARS} characters")
    if not all(letter.isprintable() or letter in "\n\r\t" for letter in query):
        raise Refused("a query has no control characters")
    if _depth(query) > MOST_DEPTH:
        raise Refused(f"a query has at most {MOST_DEPTH} brackets inside each other")
    try:
        whole = sqlglot.parse(query, dialect=DIALECT)
    except (SqlglotError, RecursionError, ValueError) as problem:
        raise Refused("this is no SQL that can be read") from problem
    statements = [
        statement
        for statement in whole
        if statement is not None and not isinstance(statement, exp.Semicolon)
    ]
    if len(statements) != 1:
        raise Refused("exactly one statement is run")
    if not isinstance(statements[0], exp.Select | exp.SetOperation):
        raise Refused("only SELECT and WITH … SELECT are run, which read and change nothing")
    if sum(1 for _ in statements[0].walk()) > MOST_NODES:
        raise Refused("the query is too large")
    return statements[0]


def _depth(query: str) -> int:
    depth = most = 0
    for letter in query:
        depth += (letter in "([{") - (letter in ")]}")
        most = max(most, depth)
    return most


def _check_node(node: exp.Expr) -> None:
    kind = type(node)
    if kind not in _NODES:
        word = getattr(node, "name", "") if isinstance(node, exp.Anonymous) else kind.__name__
        what = "a function" if isinstance(node, exp.Func) else "a part of SQL"
        raise Refused(f"{what} that is not on the list: {word[:40].lower()}")
    if kind is exp.With and node.args.get("recursive"):
        raise Refused("no query calls itself")
    if kind is exp.Select and not node.expressions:
        raise Refused("a SELECT names columns")
    if kind is exp.CTE and not isinstance(node.this, exp.Select | exp.SetOperation):
        raise Refused("a common table is a SELECT")
    if kind is exp.DataType and node.this not in _TYPES:
        raise Refused("a type that is not on the list")


def _list_common_tables(tree: exp.Expr) -> frozenset[str]:
    names = [cte.alias.lower() for cte in tree.find_all(exp.CTE)]
    if len(set(names)) < len(names) or set(names) & set(VIEWS):
        raise Refused("every common table has a name of its own")
    return frozenset(names)


def _check_table(table: exp.Table, names: frozenset[str]) -> None:
    if table.args.get("db") or table.args.get("catalog"):
        raise Refused("a table is named without a schema")
    if not isinstance(table.this, exp.Identifier) or table.args.get("joins"):
        raise Refused("only tables are read, no functions")
    if table.name.lower() not in (*VIEWS, *names):
        raise Refused(f"there are the views {', '.join(VIEWS)}, and no others")


def _check_cost(tree: exp.Expr) -> None:
    """Refuse queries that read the views too often: planning alone could take the query's time."""
    bodies = {cte.alias.lower(): cte for cte in tree.find_all(exp.CTE)}
    scans: dict[str, int] = {}

    def cost(body: exp.Expr, behind: frozenset[str]) -> int:
        return sum(cost_of(name, behind) for name in _list_tables(body))

    def cost_of(name: str, behind: frozenset[str]) -> int:
        if name not in bodies:
            return 1
        if name in behind:
            raise Refused("no query calls itself")
        if name not in scans:
            scans[name] = cost(bodies[name].this, behind | {name})
        return scans[name]

    whole = sum(
        cost_of(table.name.lower(), frozenset())
        for table in tree.find_all(exp.Table)
        if table.find_ancestor(exp.CTE) is None
    )
    if whole > MOST_SCANS:
        raise Refused(f"a query reads at most {MOST_SCANS} views")


def _list_tables(body: exp.Expr) -> Iterator[str]:
    for table in body.find_all(exp.Table):
        yield table.name.lower()


LIMIT_S: Final = 2.0
STEP_S: Final = 0.05
"""How long a query may outlive its caller."""
MEMORY_MB: Final = 192
WHOLE: Final = frozenset({"lap"})
"""Columns of whole numbers that may be null."""
MOST_WAITING: Final = 4
LONGEST_CELL: Final = 200
SETTINGS: Final = {
    "threads": "1",
    "memory_limit": f"{MEMORY_MB}MB",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}
CLOSED: Final = (
    "SET temp_directory = ''",  # what does not fit into memory fails and never goes to disk
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
Cell: TypeAlias = float | int | str | bool | None
View: TypeAlias = Mapping[str, npt.NDArray[Any]]


class QueryFailed(ValueError):
    """The query was run and gave no result; the text says why."""


@dataclass(frozen=True)
class Table:
    """The result of a query."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    cut: bool
    """Whether there were more rows."""


class Scratch:
    """Runs queries, one at a time."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._pool = ThreadPoolExecutor(1, "bridge-query")
        self._waiting = 0

    def close(self) -> None:
        """Stop; a running query is interrupted by its own limit."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    async def run(self, query: str, views: Mapping[str, View]) -> Table:
        """Run a checked query over *views* and return its table.

        A cancelled caller interrupts it. Raises `QueryFailed`.
        """
        if self._waiting >= MOST_WAITING:
            raise QueryFailed("other queries are waiting; try again")
        self._waiting += 1
        stop = threading.Event()
        future = asyncio.get_running_loop().run_in_executor(
            self._pool, run, query, views, self._limit_s, stop
        )
        future.add_done_callback(self._done)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            stop.set()
            raise

    def _done(self, future: "asyncio.Future[Table]") -> None:
        self._waiting -= 1
        if not future.cancelled():
            future.exception()  # seen even if its caller has gone


def run(
    query: str,
    views: Mapping[str, View],
    limit_s: float = LIMIT_S,
    stop: threading.Event | None = None,
) -> Table:
    """Run a checked query and return its table; blocks. Raises `QueryFailed`."""
    duckdb = _engine()
    if stop is not None and stop.is_set():
        raise QueryFailed("nobody waits for the query any more")
    inner = duckdb.connect(":memory:", config=SETTINGS)
    over = threading.Event()
    late = threading.Event()
    watch = threading.Thread(
        target=_watch, args=(inner, limit_s, over, late, stop or threading.Event()), daemon=True
    )
    watch.start()
    try:
        for setting in CLOSED:
            inner.execute(setting)
        for name, columns in views.items():
            _fill(inner, name, columns)
        result = inner.execute(query)
        names = tuple(str(column[0]) for column in result.description)
        rows = result.fetchmany(MOST_ROWS + 1)
    except duckdb.Error as problem:
        raise QueryFailed(_why(duckdb, problem, limit_s, late.is_set())) from problem
    finally:
        over.set()
        watch.join()
        inner.close()
    shown = tuple(tuple(_cell(cell) for cell in row) for row in rows[:MOST_ROWS])
    return Table(names, shown, len(rows) > MOST_ROWS)


def _watch(
    inner: Any, limit_s: float, over: threading.Event, late: threading.Event, stop: threading.Event
) -> None:
    """Interrupt the query at its limit, or once nobody waits for it."""
    ends = time.monotonic() + limit_s
    while time.monotonic() < ends and not stop.is_set():
        if over.wait(min(STEP_S, limit_s)):
            return
    late.set()
    while not over.wait(STEP_S):  # again and again: the first one may come between two steps
        inner.interrupt()


def _engine() -> ModuleType:
    try:
        import duckdb
    except ImportError as problem:
        raise QueryFailed("queries need the package duckdb, which is not installed") from problem
    return duckdb


def _fill(inner: Any, name: str, columns: View) -> None:
    """Make a table of arrays; NaN becomes null."""
    inner.register("incoming", dict(columns))
    chosen = ", ".join(_select_column(column, values.dtype) for column, values in columns.items())
    inner.execute(f'CREATE TABLE "{name}" AS SELECT {chosen} FROM incoming')  # noqa: S608 - our own names
    inner.unregister("incoming")


def _select_column(column: str, kind: np.dtype[Any]) -> str:
    if kind != np.float64:
        return f'"{column}"'
    number = f"nullif(\"{column}\", 'NaN'::DOUBLE)"
    return (
        f'CAST({number} AS BIGINT) AS "{column}"' if column in WHOLE else f'{number} AS "{column}"'
    )


def _why(duckdb: ModuleType, problem: Exception, limit_s: float, late: bool) -> str:
    if late or isinstance(problem, duckdb.InterruptException):
        return f"the query was stopped after {limit_s:g} s"
    if isinstance(problem, duckdb.OutOfMemoryException):
        return f"the query needs more than {MEMORY_MB} MB"
    if isinstance(problem, duckdb.BinderException | duckdb.CatalogException):
        listed = "; ".join(f"{view}: {', '.join(columns)}" for view, columns in VIEWS.items())
        return f"the query names what is not there; there is {listed}"
    return "the query could not be run"


def _cell(value: object) -> Cell:
    match value:
        case None | bool() | int():
            return value
        case float():
            return round(value, 6) if math.isfinite(value) else None
        case datetime() | date():
            return value.isoformat()
        case _:
            return str(value)[:LONGEST_CELL]


def views_of_drive(drive: Drive, names: Sequence[str]) -> dict[str, View]:
    """Make the views *names* of one session; every number as in analytics.

    Raises `NoCorners`.
    """
    made = {"frames": _frames, "laps": _laps, "corners": _corners}
    return {name: made[name](drive) for name in names if name in made}


def _frames(drive: Drive) -> View:
    series = drive.series
    lap = np.where(drive.lap_of > 0, drive.lap_of, np.nan)
    columns = {
        "frame": np.asarray(series.index, dtype=np.int64),
        "lap": lap,
        "t_s": series.t - series.t[0],
        "lap_distance_m": drive.progress.p,
        "speed_kmh": series["speed_ms"] * KMH,
        "combo_g": series.combo_g,
    }
    same = ("brake_bar", "throttle_pct", "steering_deg", "g_lat", "g_long", "rpm")
    columns |= {name: series[name] for name in same}
    return {name: np.ascontiguousarray(columns[name]) for name in VIEWS["frames"]}


def _laps(drive: Drive) -> View:
    laps = summarise(drive.laps, drive.track).laps
    sectors = [[lap.sectors[i] if i < len(lap.sectors) else None for lap in laps] for i in range(3)]
    return {
        "lap": np.array([lap.number for lap in laps], dtype=np.int64),
        "time_s": reals([lap.time_s for lap in laps]),
        **{f"sector_{i + 1}_s": reals(times) for i, times in enumerate(sectors)},
        "avg_speed_kmh": reals([lap.avg_speed_kmh for lap in laps]),
        "max_combo_g": reals([lap.max_combo_g for lap in laps]),
        "coast_pct": reals([lap.coast_pct for lap in laps]),
        "best": np.array([lap.best for lap in laps], dtype=bool),
    }


def _corners(drive: Drive) -> View:
    passes = [pass_ for group in list_passes(drive).values() for pass_ in group]
    fields: dict[str, Callable[[Pass], float | None]] = {
        "time_s": lambda pass_: pass_.corner_time_s,
        "coast_s": lambda pass_: pass_.coast_seconds,
    }
    same = [name for name in VIEWS["corners"][2:] if name not in fields]
    return {
        "corner": np.array([pass_.corner for pass_ in passes], dtype=object),
        "lap": np.array([pass_.lap for pass_ in passes], dtype=np.int64),
        **{name: reals([field(pass_) for pass_ in passes]) for name, field in fields.items()},
        **{name: reals([getattr(pass_, name) for pass_ in passes]) for name in same},
    }


def reals(values: Sequence[float | None]) -> Numbers:
    """Make a column of numbers; None becomes NaN, which is null in a query."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


MOST_SESSIONS: Final = 200
SHOWN: Final = 12
"""Rows of a result that the text lists."""


class Queries:
    """Runs the statements of drivers, one at a time."""

    def __init__(self, gathering: Gathering) -> None:
        self._gathering = gathering
        self._scratch = Scratch()

    def close(self) -> None:
        """Stop; a running query is interrupted by its own limit. Blocks."""
        self._scratch.close()

    async def answer(
        self, question: str, context: Context
    ) -> tuple[tuple[Row, ...] | None, tuple[Fact, ...]]:
        """Run a statement; return its rows, None if it was not run, and the facts about it."""
        row = context.row
        try:
            safe, names = check_query(statement_in(question) or question)
            of_session = [name for name in names if name != "sessions"]
            if of_session and row is None:
                return None, need_outing(context.scene)
            views = await self._views(row, of_session) if row is not None and of_session else {}
            if "sessions" in names:
                views["sessions"] = await self._sessions()
            table = await self._scratch.run(safe, views)
        except Refused as no:
            return None, (Fact("query-refused", {"why": str(no)}),)
        except QueryFailed as no:
            return None, (Fact("query-failed", {"why": str(no)}),)
        except (NoCompleteLap, NoRows):
            return None, (Fact("query-empty"),)
        except NoCorners:
            return None, (NO_CORNERS,)
        return _tell(table)

    async def _views(self, row: SessionRow, names: Sequence[str]) -> dict[str, View]:
        """Make the views of a session; they are large, so they are not cached."""
        drive = await self._gathering.analyses.drive(row, Scope(partial=True))
        return await asyncio.to_thread(views_of_drive, drive, names)

    async def _sessions(self) -> View:
        """Make the view of the newest sessions and their laps."""
        book = self._gathering.book
        rows = self._gathering.store.sessions()[:MOST_SESSIONS]
        seen = [await book.find_recent(row) for row in rows]
        return {
            "session_id": _words([row.session_id for row in rows]),
            "driver": _words([row.driver for row in rows]),
            "track": _words([(await book.circuit(row)).name for row in rows]),
            "car": _words([row.car for row in rows]),
            "started_at": _words([_iso(row.started_at) for row in rows]),
            "laps": np.array(
                [len(summary.laps) if summary else 0 for summary in seen], dtype=np.int64
            ),
            "best_lap_s": reals([summary.best_s if summary else None for summary in seen]),
            "frames": np.array([row.n_frames for row in rows], dtype=np.int64),
        }


def _tell(table: Table) -> tuple[tuple[Row, ...], tuple[Fact, ...]]:
    rows = tuple(dict(zip(table.columns, row, strict=False)) for row in table.rows)
    if not rows or all(cell is None for row in rows for cell in row.values()):
        return rows, (Fact("query-empty"),)
    lines = [
        ", ".join(f"{name.replace('_', ' ')} {_write(cell)}" for name, cell in row.items())
        for row in rows[:SHOWN]
    ]
    text = "; ".join(lines)
    count = {"count": len(rows), "more": "yes" if table.cut else "no", "text": text}
    return rows, (Fact("query-found", count),)


def _write(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:.3f}".rstrip("0").rstrip(".")
    return "unknown" if cell is None else str(cell)


def _iso(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="seconds")


def _words(values: Sequence[str | None]) -> npt.NDArray[np.object_]:
    return np.array([value or "" for value in values], dtype=object)
