"""Processes that share the work of a build: each answers requests and remembers what it did."""

from __future__ import annotations

import os
import pickle
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Protocol, Self, TypeVar, cast

# Fewer lessons than this are done before other processes have started.
WORTH_IT: Final = 150
_HEADER: Final = 8  # bytes that say how long a message is
_PIECE: Final = 16  # answers in one message
_ROOM: Final = 1 << 20  # bytes in a pipe; 16 answers take half of them

if sys.platform == "linux":
    import fcntl

T = TypeVar("T")
Handler = Callable[[Any], Iterator[Any]]
# The next request for a member that has answered all others; None when there is none.
More = Callable[[int], object]


def nothing_more(_member: int) -> object:
    """There are no requests but those that are open."""
    return None


def workers(wanted: int, items: int) -> int:
    """How many processes to use for *items*; *wanted* 0 means as many as pay, two at most.

    One where the system cannot fork, or where other threads make a fork unsafe.
    """
    if not hasattr(os, "fork") or threading.active_count() > 1:
        return 1
    if wanted:
        return max(1, min(wanted, items))
    return 2 if items >= WORTH_IT and (os.cpu_count() or 1) > 1 else 1


class Crew(Protocol):
    """Members that work through requests, each with a memory of its own."""

    size: int

    def ask(self, member: int, request: object) -> None:
        """Hand *request* to *member*; all answers to earlier requests must have been taken."""

    def answers(self, more: More = nothing_more) -> Iterator[Any]:
        """Every answer to every open request; an exception of a member is raised here.

        A member that has answered all its requests is handed what *more* has for it.
        """

    def dismiss(self) -> None:
        """Let the members go: there will be no request any more."""

    def close(self) -> None:
        """Let the members go, whatever they do, and wait until they are gone."""


@dataclass(slots=True)
class Alone:
    """The crew of one: this process, which works when its answers are taken."""

    handler: Handler
    size: int = 1
    requests: list[Any] = field(default_factory=list)

    def ask(self, member: int, request: object) -> None:
        """Keep *request* for later."""
        self.requests.append(request)

    def answers(self, more: More = nothing_more) -> Iterator[Any]:
        """Work through the requests."""
        while self.requests:
            yield from self.handler(self.requests.pop(0))
            if not self.requests and (request := more(0)) is not None:
                self.requests.append(request)

    def dismiss(self) -> None:
        """Nobody to let go."""

    def close(self) -> None:
        """Nobody to wait for."""


@dataclass(slots=True)
class _Member:
    process: int
    sink: int
    source: int
    open: int = 0


class Forked:
    """A crew of *size* forked processes, which inherit everything and share nothing later.

    A member that has no request works *ahead*, step by step, until there is nothing left to do.
    """

    def __init__(
        self, handler: Handler, size: int, ahead: Callable[[], bool] = lambda: False
    ) -> None:
        self.size = size
        self._ahead = ahead
        self._members: list[_Member] = []
        for _ in range(size):
            self._members.append(self._start(handler))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: object, trace: TracebackType | None
    ) -> None:
        self.close()

    def _start(self, handler: Handler) -> _Member:
        their_source, our_sink = _pipe()
        our_source, their_sink = _pipe()
        process = os.fork()
        if process:
            os.close(their_source)
            os.close(their_sink)
            return _Member(process, our_sink, our_source)
        status = 1
        try:
            for descriptor in (our_sink, our_source, *self._descriptors()):
                os.close(descriptor)
            _serve(handler, self._ahead, their_source, their_sink)
            status = 0
        finally:
            os._exit(status)

    def _descriptors(self) -> Iterator[int]:
        for member in self._members:
            yield member.sink
            yield member.source

    def ask(self, member: int, request: object) -> None:
        """Send *request*; the member reads it as soon as it has answered what came before."""
        chosen = self._members[member]
        chosen.open += 1
        with suppress(BrokenPipeError):  # it ended early, which its missing answer will tell
            _send(chosen.sink, request)

    def answers(self, more: More = nothing_more) -> Iterator[Any]:
        """Whatever the members send, in the order in which it comes."""
        waiting = {one.source: number for number, one in enumerate(self._members) if one.open}
        while waiting:
            ready, _, _ = select.select(list(waiting), [], [])
            for source in ready:
                message = _receive(source)
                if isinstance(message, BaseException):
                    raise message
                if message is None:
                    raise RuntimeError("a build process ended early")
                yield from message
                if not message and not self._goes_on(waiting[source], more):
                    del waiting[source]

    def _goes_on(self, number: int, more: More) -> bool:
        """Note that a member has answered a request; whether it has another one."""
        member = self._members[number]
        member.open -= 1
        if not member.open and (request := more(number)) is not None:
            self.ask(number, request)
        return member.open > 0

    def dismiss(self) -> None:
        """End the members that have nothing to do."""
        for member in self._members:
            if member.sink >= 0:
                os.close(member.sink)
                member.sink = -1

    def close(self) -> None:
        """End the members; one that still works notices that nobody listens."""
        self.dismiss()
        for member in self._members:
            os.close(member.source)
        for member in self._members:
            os.waitpid(member.process, 0)
        self._members = []


def at_once(function: Callable[[], T]) -> Callable[[], T]:
    """Do *function* here and now; call for its result."""
    result = function()
    return lambda: result


def aside(function: Callable[[], T]) -> Callable[[], T]:
    """Begin *function* in another process, where there is a core for it; call for its result."""
    if (os.cpu_count() or 1) == 1 or workers(2, 2) == 1:
        return at_once(function)
    crew = Forked(lambda _request: iter([function()]), 1)
    crew.ask(0, "the result")

    def wait() -> T:
        with crew:
            (found,) = crew.answers()
        return cast("T", found)

    return wait


def _pipe() -> tuple[int, int]:
    """A pipe that takes a whole message, where the system has such, so that no member waits."""
    source, sink = os.pipe()
    if sys.platform == "linux":
        with suppress(OSError):  # above what this user may have
            fcntl.fcntl(sink, fcntl.F_SETPIPE_SZ, _ROOM)
    return source, sink


def _serve(handler: Handler, ahead: Callable[[], bool], source: int, sink: int) -> None:
    """Answer requests in pieces until there is none; an empty piece ends an answer."""
    while (request := _receive(source)) is not None:
        try:
            piece: list[Any] = []
            for answer in handler(request):
                piece.append(answer)
                if len(piece) == _PIECE:
                    _send(sink, piece)
                    piece = []
            if piece:
                _send(sink, piece)
            _send(sink, [])
        except BrokenPipeError:
            return
        except Exception as error:  # noqa: BLE001  (handed to the parent, which raises it)
            _send(sink, error)
        _use_time(ahead, source)


def _use_time(ahead: Callable[[], bool], source: int) -> None:
    """Work ahead until the next request comes."""
    # What fails here fails again, and is told, when it is asked for.
    with suppress(Exception):
        while not select.select([source], [], [], 0)[0] and ahead():
            pass


def _send(sink: int, message: object) -> None:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    view = memoryview(len(data).to_bytes(_HEADER, "big") + data)
    while view:
        view = view[os.write(sink, view) :]


def _receive(source: int) -> Any:
    """The next message; None when the other end is gone."""
    header = _read(source, _HEADER)
    data = _read(source, int.from_bytes(header, "big")) if header else b""
    return pickle.loads(data) if data else None  # noqa: S301  (our own process wrote it)


def _read(source: int, size: int) -> bytes:
    parts: list[bytes] = []
    while size:
        part = os.read(source, size)
        if not part:
            return b""
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
