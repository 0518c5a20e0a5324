"""Few rows at a time into DuckDB: collected, and handed over by its appender."""

from collections.abc import Iterable, Sequence
from typing import Any

import duckdb
import numpy as np

from runtime.bridge.storage.backend import Column, Row


class Appenders:
    """The rows that wait for one connection, and what hands them over."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[Row]] = {}
        self._appenders: dict[tuple[str, bool], Any] = {}
        self._quick: duckdb.DuckDBPyConnection | None = None

    @property
    def tables(self) -> int:
        """For how many tables rows are waiting."""
        return len(self._waiting)

    def add(self, table: str, rows: Iterable[Row]) -> None:
        """Rows, each with every column of *table* in its order."""
        self._waiting.setdefault(table, []).extend(rows)

    def forget(self) -> None:
        """Nothing waits any more."""
        self._waiting.clear()

    def flush(self, inner: duckdb.DuckDBPyConnection, *, alone: bool = False) -> None:
        """Hand over what waits, to the transaction that is open on *inner*.

        *alone*: as a transaction of its own. That costs half of what one of three statements does,
        and needs a connection of its own, which holds nothing else.
        """
        waiting, self._waiting = self._waiting, {}
        for table, rows in waiting.items():
            appender = self._appenders.get((table, alone))
            if appender is None:
                appender = (self._alone(inner) if alone else inner).appender(table)
                self._appenders[table, alone] = appender
            try:
                appender.append_rows(rows)
                appender.flush()
            except BaseException:
                del self._appenders[table, alone]  # what it still holds must never come back
                appender.clear()
                raise

    def close(self) -> None:
        """Let go of the connections."""
        self._appenders.clear()
        if self._quick is not None:
            self._quick.close()
            self._quick = None

    def _alone(self, inner: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
        if self._quick is None:
            self._quick = inner.cursor()
        return self._quick


def nulled(column: Sequence[Any]) -> Sequence[Any]:
    """Numbers with None in place of NaN."""
    total = sum(column)
    return column if total == total else [None if cell != cell else cell for cell in column]


def has_nan(column: Column) -> bool:
    """Whether a column has a number that is none."""
    return column.dtype == np.float64 and bool(np.isnan(column).any())
