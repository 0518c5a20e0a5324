"""Runs queries of a driver: proves that each is one plain SELECT over the documented views, and
runs it in a database of its own, in memory, which holds the views it names alone.

Nothing is forbidden by name: what is not on the lists of this module is refused, so that a new
function or statement of the engine is refused too. The query is then written anew from its syntax
tree, and only that text is run. Neither of the two stores is touched: what a query does to its
database ends with it, its memory has a limit of its own, and no lock of a store waits.
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
from runtime.bridge.coach.gather import Gathering, Known
from runtime.bridge.errors import NoCompleteLap
from runtime.bridge.session.recording import Numbers
from runtime.bridge.session.units import KMH
from runtime.bridge.storage.analyses import Scope
from runtime.bridge.storage.errors import NoRows
from runtime.bridge.storage.records import SessionRow

logging.getLogger("sqlglot").disabled = True  # it would write what was asked into the log

DIALECT: Final = "duckdb"
MOST_CHARS: Final = 4000
MOST_NODES: Final = 600
MOST_DEPTH: Final = 12
"""Brackets inside brackets."""
MOST_SCANS: Final = 8
"""Times that a view is read, with common tables counted as often as they are used."""
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
"""What can be asked of, with the columns; the first three hold the session of the question."""

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
    """The statement, where a question is nothing but one."""
    _, fence, rest = question.partition(_FENCE)
    if fence and _FENCE in rest:
        return rest.partition(_FENCE)[0].strip().removeprefix("sql").strip()
    text = question.strip()
    return text if _STATEMENT.fullmatch(text) else None


class Refused(ValueError):
    """The query will not be run; the text says why, without repeating it."""


def checked(query: str) -> tuple[str, tuple[str, ...]]:
    """The query as it may be run, capped at one row more than `MOST_ROWS`, and the views that it
    reads. Raises `Refused`."""
    tree = _parsed(query)
    names = _common(tree)
    for node in tree.walk():
        _permitted(node)
    tables = list(tree.find_all(exp.Table))
    for table in tables:
        _known(table, names)
    _affordable(tree)
    inner = tree.sql(dialect=DIALECT, comments=False)
    safe = f"SELECT * FROM ({inner}) AS answer LIMIT {MOST_ROWS + 1}"  # noqa: S608 - proven above
    named = {table.name.lower() for table in tables}
    return safe, tuple(name for name in VIEWS if name in named)


def _parsed(query: str) -> exp.Expr:
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
    found = [one for one in whole if one is not None and not isinstance(one, exp.Semicolon)]
    if len(found) != 1:
        raise Refused("exactly one statement is run")
    if not isinstance(found[0], exp.Select | exp.SetOperation):
        raise Refused("only SELECT and WITH … SELECT are run, which read and change nothing")
    if sum(1 for _ in found[0].walk()) > MOST_NODES:
        raise Refused("the query is too large")
    return found[0]


def _depth(query: str) -> int:
    depth = most = 0
    for letter in query:
        depth += (letter in "([{") - (letter in ")]}")
        most = max(most, depth)
    return most


def _permitted(node: exp.Expr) -> None:
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


def _common(tree: exp.Expr) -> frozenset[str]:
    names = [cte.alias.lower() for cte in tree.find_all(exp.CTE)]
    if len(set(names)) < len(names) or set(names) & set(VIEWS):
        raise Refused("every common table has a name of its own")
    return frozenset(names)


def _known(table: exp.Table, names: frozenset[str]) -> None:
    if table.args.get("db") or table.args.get("catalog"):
        raise Refused("a table is named without a schema")
    if not isinstance(table.this, exp.Identifier) or table.args.get("joins"):
        raise Refused("only tables are read, no functions")
    if table.name.lower() not in (*VIEWS, *names):
        raise Refused(f"there are the views {', '.join(VIEWS)}, and no others")


def _affordable(tree: exp.Expr) -> None:
    """Refuse what reads the views too often: planning alone could take the time of the query."""
    bodies = {cte.alias.lower(): cte for cte in tree.find_all(exp.CTE)}
    scans: dict[str, int] = {}

    def cost(body: exp.Expr, behind: frozenset[str]) -> int:
        return sum(cost_of(name, behind) for name in _read(body))

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


def _read(body: exp.Expr) -> Iterator[str]:
    for table in body.find_all(exp.Table):
        yield table.name.lower()


LIMIT_S: Final = 2.0
STEP_S: Final = 0.05
"""So long after its caller has gone a query goes on at most."""
MEMORY_MB: Final = 192
WHOLE: Final = frozenset({"lap"})
"""Columns of whole numbers, that may be null."""
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
    "SET temp_directory = ''",  # what does not fit into memory fails, and never goes to disk
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
    """Whether there would have been more rows."""


class Scratch:
    """Runs queries, one at a time."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self._limit_s = limit_s
        self._pool = ThreadPoolExecutor(1, "bridge-query")
        self._waiting = 0

    def close(self) -> None:
        """End; a query that runs is interrupted by its own limit."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    async def run(self, query: str, views: Mapping[str, View]) -> Table:
        """The result of a `checked` query over *views*, of which it names some.

        A caller that is cancelled interrupts it. Raises `QueryFailed`.
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
    """The result of a `checked` query; blocks. Raises `QueryFailed`."""
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
        found = inner.execute(query)
        names = tuple(str(column[0]) for column in found.description)
        rows = found.fetchmany(MOST_ROWS + 1)
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
    """Interrupt the query at its limit, or once nobody waits for it any more."""
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
    chosen = ", ".join(_chosen(column, values.dtype) for column, values in columns.items())
    inner.execute(f'CREATE TABLE "{name}" AS SELECT {chosen} FROM incoming')  # noqa: S608 - our own names
    inner.unregister("incoming")


def _chosen(column: str, kind: np.dtype[Any]) -> str:
    if kind != np.float64:
        return f'"{column}"'
    known = f"nullif(\"{column}\", 'NaN'::DOUBLE)"
    return f'CAST({known} AS BIGINT) AS "{column}"' if column in WHOLE else f'{known} AS "{column}"'


def _why(duckdb: ModuleType, problem: Exception, limit_s: float, late: bool) -> str:
    if late or isinstance(problem, duckdb.InterruptException):
        return f"the query was stopped after {limit_s:g} s"
    if isinstance(problem, duckdb.OutOfMemoryException):
        return f"the query needs more than {MEMORY_MB} MB"
    if isinstance(problem, duckdb.BinderException | duckdb.CatalogException):
        known = "; ".join(f"{view}: {', '.join(columns)}" for view, columns in VIEWS.items())
        return f"the query names what is not there; there is {known}"
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
    """The views of one session, of those *names*; every number as it is in analytics.

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
    sectors = [[one.sectors[i] if i < len(one.sectors) else None for one in laps] for i in range(3)]
    return {
        "lap": np.array([one.number for one in laps], dtype=np.int64),
        "time_s": reals([one.time_s for one in laps]),
        **{f"sector_{i + 1}_s": reals(times) for i, times in enumerate(sectors)},
        "avg_speed_kmh": reals([one.avg_speed_kmh for one in laps]),
        "max_combo_g": reals([one.max_combo_g for one in laps]),
        "coast_pct": reals([one.coast_pct for one in laps]),
        "best": np.array([one.best for one in laps], dtype=bool),
    }


def _corners(drive: Drive) -> View:
    passes = [one for found in list_passes(drive).values() for one in found]
    fields: dict[str, Callable[[Pass], float | None]] = {
        "time_s": lambda one: one.corner_time_s,
        "coast_s": lambda one: one.coast_seconds,
    }
    same = [name for name in VIEWS["corners"][2:] if name not in fields]
    return {
        "corner": np.array([one.corner for one in passes], dtype=object),
        "lap": np.array([one.lap for one in passes], dtype=np.int64),
        **{name: reals([field(one) for one in passes]) for name, field in fields.items()},
        **{name: reals([getattr(one, name) for one in passes]) for name in same},
    }


def reals(values: Sequence[float | None]) -> Numbers:
    """A column of numbers; None becomes NaN, which is null in a query."""
    return np.array([np.nan if one is None else one for one in values], dtype=np.float64)


MOST_SESSIONS: Final = 200
SHOWN: Final = 12
"""Rows of a result that are told in words."""


class Queries:
    """Runs the statements of drivers, one at a time."""

    def __init__(self, gathering: Gathering) -> None:
        self._gathering = gathering
        self._scratch = Scratch()

    def close(self) -> None:
        """End; a query that runs is interrupted by its own limit. Blocks."""
        self._scratch.close()

    async def answer(
        self, question: str, known: Known
    ) -> tuple[tuple[Row, ...] | None, tuple[Fact, ...]]:
        """The rows that a statement finds, None for one that is not run, and what says so."""
        row = known.row
        try:
            safe, names = checked(statement_in(question) or question)
            of_session = [name for name in names if name != "sessions"]
            if of_session and row is None:
                return None, need_outing(known.scene)
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
        """The views of a session; they are large, so that nobody remembers them."""
        drive = await self._gathering.analyses.drive(row, Scope(partial=True))
        return await asyncio.to_thread(views_of_drive, drive, names)

    async def _sessions(self) -> View:
        """The newest sessions, with what their laps show."""
        book = self._gathering.book
        rows = self._gathering.store.sessions()[:MOST_SESSIONS]
        seen = [await book.seen(row) for row in rows]
        return {
            "session_id": _words([row.session_id for row in rows]),
            "driver": _words([row.driver for row in rows]),
            "track": _words([(await book.circuit(row)).name for row in rows]),
            "car": _words([row.car for row in rows]),
            "started_at": _words([_iso(row.started_at) for row in rows]),
            "laps": np.array([len(one.laps) if one else 0 for one in seen], dtype=np.int64),
            "best_lap_s": reals([one.best_s if one else None for one in seen]),
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
    return np.array([one or "" for one in values], dtype=object)
