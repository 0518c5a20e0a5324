"""Analytics of the stored sessions: computed once, and kept for as long as there is room."""

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
"""Sessions whose arrays are kept: some 40 MB for an hour at 100 Hz."""
RESULTS: Final = 512
T = TypeVar("T")
P = ParamSpec("P")


class Scope(NamedTuple):
    """Which part of a session an analytic is about."""

    partial: bool | None = None
    """Whether a session without a complete lap counts as one; None: nobody could ask for that."""
    lap: int | None = None
    """The only complete lap to look at."""


class _Key(NamedTuple):
    session_id: str
    session_key: int
    version: int
    is_open: bool
    scope: Scope

    def is_outdated_by(self, other: "_Key") -> bool:
        """Whether it is of an earlier state of the session, which nobody asks for again."""
        earlier = (self.version, not self.is_open) < (other.version, not other.is_open)
        return self.session_id == other.session_id and (
            earlier or self.session_key != other.session_key
        )


_Name: TypeAlias = tuple[_Key, *tuple[Hashable, ...]]
"""Of what was computed of a session."""


def _key(row: SessionRow, scope: Scope) -> _Key:
    scope = scope._replace(partial=bool(scope.partial))  # the same, whoever asks
    return _Key(*state_of(row), scope)


class Analyses:
    """Computes analytics in a thread, one at a time, and keeps what it computed."""

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
        """What *compute* gives for the session as it stands in *row*.

        *compute* is a pure function of a module; what else it is given is hashable. Raises
        `NoRows`, `NoCompleteLap`, `UnknownLap`, `NoGeometry`.
        """
        if not row.n_frames:
            raise NoRows("the session has no telemetry", session_id=row.session_id)
        scope = await self._settled(row, scope)
        key = _key(row, scope)
        function = (compute.__module__, compute.__qualname__)
        name = (key, function, args, tuple(sorted(kwargs.items())))
        if name not in self._results:
            async with self._turn:
                if name not in self._results:
                    drive = await self.drive(row, scope)
                    result = await _aside(row, scope, lambda: compute(drive, *args, **kwargs))
                    self._keep(name, result)
        return cast(T, self._asked_for(name))

    async def once(self, row: SessionRow, name: Hashable, find: Callable[[], Awaitable[T]]) -> T:
        """What *find* finds out about the session as it stands in *row*.

        *name* holds all that it depends on besides the telemetry. Raises what *find* raises.
        """
        key = _key(row, Scope()), name
        if key not in self._results:
            self._keep(key, await find())
        return cast(T, self._asked_for(key))

    async def drive(self, row: SessionRow, scope: Scope) -> Drive:
        """The session on its circuit. Raises what `of` raises."""
        scope = await self._settled(row, scope)
        key = _key(row, scope)
        if key not in self._drives:
            made = await self._made(row, scope)
            for old in [old for old in self._drives if old.is_outdated_by(key)]:
                del self._drives[old]
            self._drives[key] = made
            while len(self._drives) > DRIVES:
                self._drives.popitem(last=False)
        self._drives.move_to_end(key)
        return self._drives[key]

    def forget(self, session_id: str) -> None:
        """Drop what was computed of a session that was deleted."""
        for key in [key for key in self._drives if key.session_id == session_id]:
            del self._drives[key]
        for name in [name for name in self._results if name[0].session_id == session_id]:
            del self._results[name]

    def _keep(self, name: _Name, result: object) -> None:
        """Keep a result in place of those of earlier states: a session that goes on has many."""
        for old in [old for old in self._results if old[0].is_outdated_by(name[0])]:
            del self._results[old]
        self._results[name] = result

    def _asked_for(self, name: _Name) -> object:
        """A result that is kept, and that outlives those that nobody asks for."""
        self._results.move_to_end(name)
        while len(self._results) > RESULTS:
            self._results.popitem(last=False)
        return self._results[name]

    async def _settled(self, row: SessionRow, scope: Scope) -> Scope:
        """The same part: a session that has a complete lap counts as it is, whoever asks."""
        if scope.partial:
            summary = await self._book.summary(row)
            if summary is not None and summary.laps:
                return scope._replace(partial=False)
        return scope

    async def _made(self, row: SessionRow, scope: Scope) -> Drive:
        if scope.lap is not None:
            whole = await self.drive(row, Scope(scope.partial))
            return await _aside(row, scope, lambda: pure.restrict_to_lap(whole, scope.lap or 0))
        laps, where = await self._book.found(row)
        return await _aside(
            row,
            scope,
            lambda: pure.drive_of(laps, where.track, words=where.name, partial=bool(scope.partial)),
        )


async def _aside(row: SessionRow, scope: Scope, work: Callable[[], T]) -> T:
    """Do pure work in a thread; its errors as those of the bridge."""
    try:
        return await asyncio.to_thread(work)
    except pure.NoLaps as problem:
        why = errors.NoCompleteLap.text
        if scope.partial:
            why = "the session's frames cover no time, so it does not count as one lap either"
        elif scope.partial is not None:
            why += "; partial=true takes it as one"
        raise errors.NoCompleteLap(why, session_id=row.session_id) from problem
    except pure.NoSuchLap as problem:
        raise errors.UnknownLap(session_id=row.session_id) from problem
    except pure.NoCorners as problem:
        raise errors.NoGeometry(session_id=row.session_id) from problem
