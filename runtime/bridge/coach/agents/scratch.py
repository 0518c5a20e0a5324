"""Runs a proven query in a database of its own, in memory, which holds the views it names alone.

Neither of the two stores is touched: what a query does to its database ends with it. So both
stores answer alike, the memory of a query has a limit of its own, and no lock of a store waits.
"""

import asyncio
import math
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date, datetime
from types import ModuleType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from runtime.bridge.coach.agents.sql import MOST_ROWS, VIEWS, Refused, checked, views_of
from runtime.bridge.coach.agents.values import Cell

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
View = Mapping[str, npt.NDArray[Any]]


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


def prepared(query: str) -> tuple[str, Sequence[str]]:
    """The query as it may be run, and the views that it reads. Raises `Refused`."""
    safe = checked(query)
    return safe, views_of(safe)


__all__ = ["QueryFailed", "Refused", "Scratch", "Table", "prepared", "run"]
