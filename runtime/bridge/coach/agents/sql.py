"""Proves that a query is one plain SELECT over the documented views; pure.

Nothing is forbidden by name: what is not on the lists of this module is refused, so that a new
function or statement of the engine is refused too. The query is then written anew from its syntax
tree, and only that text is run.
"""

import logging
from collections.abc import Iterator
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

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


class Refused(ValueError):
    """The query will not be run; the text says why, without repeating it."""


def checked(query: str) -> str:
    """The query as it may be run: capped at one row more than `MOST_ROWS`. Raises `Refused`."""
    tree = _parsed(query)
    names = _common(tree)
    for node in tree.walk():
        _permitted(node)
    for table in tree.find_all(exp.Table):
        _known(table, names)
    _affordable(tree)
    inner = tree.sql(dialect=DIALECT, comments=False)
    return f"SELECT * FROM ({inner}) AS answer LIMIT {MOST_ROWS + 1}"  # noqa: S608 - proven above


def views_of(query: str) -> tuple[str, ...]:
    """The views that a checked query reads."""
    tree = sqlglot.parse_one(query, dialect=DIALECT)
    named = {table.name.lower() for table in tree.find_all(exp.Table)}
    return tuple(name for name in VIEWS if name in named)


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
