"""A connection to SQLite whose thread runs whole transactions, not statement by statement."""

import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

import aiosqlite

P = ParamSpec("P")
T = TypeVar("T")


class Connection(aiosqlite.Connection):
    """`run` hands a function the plain connection.

    A transaction is one function, so a caller that goes away can never leave half of one behind.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        super().__init__(connect, iter_chunk_size=64)

    async def run(
        self,
        work: Callable[Concatenate[sqlite3.Connection, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """The result of *work* on the connection's thread; calls run one after another.

        A cancelled caller stops waiting and the call runs to its end. Raises what *work* raises.
        """
        call: Callable[[sqlite3.Connection], T] = partial(_in_order, work, args, kwargs)
        result: T = await self._execute(call, self._conn)  # type: ignore[no-untyped-call]
        return result


def _in_order(
    work: Callable[..., T],
    args: tuple[object, ...],
    kwargs: dict[str, object],
    connection: sqlite3.Connection,
) -> T:
    return work(connection, *args, **kwargs)
