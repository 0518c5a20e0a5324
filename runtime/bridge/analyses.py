"""Analytics of stored sessions: computed once for each state of a session, then remembered."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Concatenate, Final, NamedTuple, ParamSpec, TypeVar, cast

from runtime.bridge import errors
from runtime.bridge.analysis import drive as pure
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.lapping import LapBook
from runtime.bridge.storage.errors import NoRows
from runtime.bridge.storage.values import SessionRow

DRIVES: Final = 3
"""Sessions whose arrays are kept: some 40 MB for an hour at 100 Hz."""
RESULTS: Final = 512
T = TypeVar("T")
P = ParamSpec("P")


class Scope(NamedTuple):
    """Which part of a session an analytic is about."""

    partial: bool = False
    """Whether a session without a complete lap counts as one."""
    lap: int | None = None
    """The only complete lap to look at."""


class _Key(NamedTuple):
    session_id: str
    version: int
    scope: Scope


class Analyses:
    """Computes analytics in a thread, one at a time, and keeps what it computed."""

    def __init__(self, book: LapBook) -> None:
        self._book = book
        self._drives: OrderedDict[_Key, Drive] = OrderedDict()
        self._results: OrderedDict[Hashable, object] = OrderedDict()
        self._turn = asyncio.Lock()

    async def of(
        self,
        row: SessionRow,
        scope: Scope,
        compute: Callable[Concatenate[Drive, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """What *compute* gives for the session as it stands in *row*.

        *compute* is a pure function of a module; what else it is given is hashable. Raises
        `NoRows`, `NoCompleteLap`, `UnknownLap`, `NoGeometry`.
        """
        if not row.n_frames:
            raise NoRows("the session has no telemetry", session_id=row.session_id)
        key = _Key(row.session_id, row.version, scope)
        function = (compute.__module__, compute.__qualname__)
        name = (key, function, args, tuple(sorted(kwargs.items())))
        if name not in self._results:
            async with self._turn:
                if name not in self._results:
                    drive = await self.drive(row, scope)
                    self._results[name] = await _aside(
                        row, scope, lambda: compute(drive, *args, **kwargs)
                    )
        return cast(T, self._asked_for(name))

    async def once(self, row: SessionRow, name: Hashable, find: Callable[[], Awaitable[T]]) -> T:
        """What *find* finds out about the session as it stands in *row*.

        *name* holds all that it depends on besides the telemetry. Raises what *find* raises.
        """
        key = _Key(row.session_id, row.version, Scope()), name
        if key not in self._results:
            self._results[key] = await find()
        return cast(T, self._asked_for(key))

    async def drive(self, row: SessionRow, scope: Scope) -> Drive:
        """The session on its circuit. Raises what `of` raises."""
        key = _Key(row.session_id, row.version, scope)
        if key not in self._drives:
            made = await self._made(row, scope)
            for old in [old for old in self._drives if old[:2] != key[:2] and old[0] == key[0]]:
                del self._drives[old]
            self._drives[key] = made
            while len(self._drives) > DRIVES:
                self._drives.popitem(last=False)
        self._drives.move_to_end(key)
        return self._drives[key]

    def _asked_for(self, name: Hashable) -> object:
        """A result that is kept, and that outlives those that nobody asks for."""
        self._results.move_to_end(name)
        while len(self._results) > RESULTS:
            self._results.popitem(last=False)
        return self._results[name]

    async def _made(self, row: SessionRow, scope: Scope) -> Drive:
        if scope.lap is not None:
            whole = await self.drive(row, Scope(scope.partial))
            return await _aside(row, scope, lambda: pure.only(whole, scope.lap or 0))
        laps, track = await self._book.found(row)
        return await _aside(row, scope, lambda: pure.drive_of(laps, track, partial=scope.partial))


async def _aside(row: SessionRow, scope: Scope, work: Callable[[], T]) -> T:
    """Do pure work in a thread; its errors as those of the bridge."""
    try:
        return await asyncio.to_thread(work)
    except pure.NoCompleteLap as problem:
        raise errors.NoCompleteLap(row.session_id, partial=scope.partial) from problem
    except pure.UnknownLap as problem:
        raise errors.UnknownLap(row.session_id) from problem
    except pure.NoGeometry as problem:
        raise errors.NoGeometry(row.session_id) from problem
