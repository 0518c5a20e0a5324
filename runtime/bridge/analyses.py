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
WRITTEN_BYTES: Final = 32 << 20
"""Of answers that are kept as they are sent …"""
LONGEST_WRITTEN: Final = WRITTEN_BYTES // 4
"""… and of one of them; a longer one is made each time."""
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


class Written:
    """Answers as bytes, those that were asked for last; together no more than *most* bytes.

    Of a session only answers of its newest version are kept.
    """

    def __init__(self, most: int = WRITTEN_BYTES, longest: int = LONGEST_WRITTEN) -> None:
        self._most = most
        self._longest = longest
        self._kept: OrderedDict[tuple[_Key, Hashable], bytes] = OrderedDict()
        self.size = 0
        """Bytes of all that is kept."""

    def get(self, key: _Key, name: Hashable) -> bytes | None:
        """The answer of that name, if it is kept."""
        body = self._kept.get((key, name))
        if body is not None:
            self._kept.move_to_end((key, name))
        return body

    def put(self, key: _Key, name: Hashable, body: bytes) -> None:
        """Keep an answer, if it is not too long."""
        for old in [old for old in self._kept if _is_older(old[0], key) or old == (key, name)]:
            self.size -= len(self._kept.pop(old))
        if len(body) > self._longest:
            return
        self._kept[key, name] = body
        self.size += len(body)
        while self.size > self._most:
            self.size -= len(self._kept.popitem(last=False)[1])


def _is_older(one: _Key, other: _Key) -> bool:
    """Whether it belongs to an earlier version of the same session."""
    return one.session_id == other.session_id and one.version < other.version


class Analyses:
    """Computes analytics in a thread, one at a time, and keeps what it computed."""

    def __init__(self, book: LapBook) -> None:
        self._book = book
        self._drives: OrderedDict[_Key, Drive] = OrderedDict()
        self._results: OrderedDict[Hashable, object] = OrderedDict()
        self._written = Written()
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

    async def written(
        self, row: SessionRow, scope: Scope, name: Hashable, write: Callable[[], Awaitable[bytes]]
    ) -> bytes:
        """The answer that *write* makes of the session as it stands in *row*, as it is sent.

        *name* holds all that it depends on besides the telemetry. Raises what *write* raises.
        """
        key = _Key(row.session_id, row.version, scope)
        body = self._written.get(key, name)
        if body is None:
            body = await write()
            self._written.put(key, name, body)
        return body

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
