"""Analytics of the stored sessions, computed once and cached."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Concatenate, Final, NamedTuple, ParamSpec, TypeAlias, TypeVar, cast

from runtime.bridge import errors
from runtime.bridge.analysis import drive as pure
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.storage.errors import NoRows
from runtime.bridge.storage.lapbook import LapBook, state_of
from runtime.bridge.storage.records import SessionRow

DRIVES: Final = 3
"""Sessions whose arrays are cached: some 40 MB for an hour at 100 Hz."""
RESULTS: Final = 512
T = TypeVar("T")
P = ParamSpec("P")


class Scope(NamedTuple):
    """The part of a session to analyse."""

    partial: bool | None = None
    """Whether a session without a complete lap counts as one; None: the caller has no choice."""
    lap: int | None = None
    """The only complete lap to analyse."""


class _Key(NamedTuple):
    session_id: str
    session_key: int
    version: int
    is_open: bool
    scope: Scope

    def is_outdated_by(self, other: "_Key") -> bool:
        """Whether it belongs to an earlier state of the session, which is not needed again."""
        earlier = (self.version, not self.is_open) < (other.version, not other.is_open)
        return self.session_id == other.session_id and (
            earlier or self.session_key != other.session_key
        )


_Name: TypeAlias = tuple[_Key, *tuple[Hashable, ...]]
"""The name of a result of a session."""


def _make_key(row: SessionRow, scope: Scope) -> _Key:
    scope = scope._replace(partial=bool(scope.partial))  # equal for None and False
    return _Key(*state_of(row), scope)


class Analyses:
    """Computes analytics in a thread, one at a time, and caches the results."""

    def __init__(self, book: LapBook) -> None:
        self._book = book
        self._drives: OrderedDict[_Key, Drive] = OrderedDict()
        self._results: OrderedDict[_Name, object] = OrderedDict()
        self._turn = asyncio.Lock()

    async def of(
        self,
        row: SessionRow,
        scope: Scope,
        compute: Callable[Concatenate[Drive, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """Return the result of *compute* for the session in *row*.

        *compute* is a pure function of a module, with hashable further arguments. Raises `NoRows`,
        `NoCompleteLap`, `UnknownLap`, `NoGeometry`.
        """
        if not row.n_frames:
            raise NoRows("the session has no telemetry", session_id=row.session_id)
        scope = await self._settle(row, scope)
        key = _make_key(row, scope)
        function = (compute.__module__, compute.__qualname__)
        name = (key, function, args, tuple(sorted(kwargs.items())))
        if name not in self._results:
            async with self._turn:
                if name not in self._results:
                    drive = await self.drive(row, scope)
                    result = await _compute(row, scope, lambda: compute(drive, *args, **kwargs))
                    self._keep(name, result)
        return cast(T, self._use(name))

    async def once(self, row: SessionRow, name: Hashable, find: Callable[[], Awaitable[T]]) -> T:
        """Return the result of *find* for the session in *row*.

        *name* contains everything it depends on besides the telemetry. Raises the errors of *find*.
        """
        key = _make_key(row, Scope()), name
        if key not in self._results:
            self._keep(key, await find())
        return cast(T, self._use(key))

    async def drive(self, row: SessionRow, scope: Scope) -> Drive:
        """Load the session on its circuit. Raises the errors of `of`."""
        scope = await self._settle(row, scope)
        key = _make_key(row, scope)
        if key not in self._drives:
            drive = await self._make_drive(row, scope)
            for old in [old for old in self._drives if old.is_outdated_by(key)]:
                del self._drives[old]
            self._drives[key] = drive
            while len(self._drives) > DRIVES:
                self._drives.popitem(last=False)
        self._drives.move_to_end(key)
        return self._drives[key]

    def forget(self, session_id: str) -> None:
        """Drop the results of a deleted session."""
        for key in [key for key in self._drives if key.session_id == session_id]:
            del self._drives[key]
        for name in [name for name in self._results if name[0].session_id == session_id]:
            del self._results[name]

    def _keep(self, name: _Name, result: object) -> None:
        """Cache a result and drop those of earlier states, of which an open session has many."""
        for old in [old for old in self._results if old[0].is_outdated_by(name[0])]:
            del self._results[old]
        self._results[name] = result

    def _use(self, name: _Name) -> object:
        """Return a cached result, which now outlives less recently used ones."""
        self._results.move_to_end(name)
        while len(self._results) > RESULTS:
            self._results.popitem(last=False)
        return self._results[name]

    async def _settle(self, row: SessionRow, scope: Scope) -> Scope:
        """Drop *partial* from the scope if the session has a complete lap."""
        if scope.partial:
            summary = await self._book.summary(row)
            if summary is not None and summary.laps:
                return scope._replace(partial=False)
        return scope

    async def _make_drive(self, row: SessionRow, scope: Scope) -> Drive:
        if scope.lap is not None:
            whole = await self.drive(row, Scope(scope.partial))
            return await _compute(row, scope, lambda: pure.restrict_to_lap(whole, scope.lap or 0))
        laps, where = await self._book.load_laps(row)
        return await _compute(
            row,
            scope,
            lambda: pure.drive_of(laps, where.track, words=where.name, partial=bool(scope.partial)),
        )


async def _compute(row: SessionRow, scope: Scope, work: Callable[[], T]) -> T:
    """Do pure work in a thread, and convert its errors to those of the bridge."""
    try:
        return await asyncio.to_thread(work)
    except pure.NoLaps as problem:
        why = errors.NoCompleteLap.text
        if scope.partial:
            why = "the session's frames cover no time, so it cannot be treated as one lap either"
        elif scope.partial is not None:
            why += "; partial=true treats it as one"
        raise errors.NoCompleteLap(why, session_id=row.session_id) from problem
    except pure.NoSuchLap as problem:
        raise errors.UnknownLap(session_id=row.session_id) from problem
    except pure.NoCorners as problem:
        raise errors.NoGeometry(session_id=row.session_id) from problem
