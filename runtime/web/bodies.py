"""Reads request bodies, each within its size and time limits, all within one memory budget."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable
from typing import Final, TypeVar

from aiohttp import web

from runtime.web.errors import (
    ApiError,
    BadRequest,
    RequestTimeout,
    TooLarge,
    UnsupportedEncoding,
)
from runtime.web.lifecycle import LIFECYCLE

T = TypeVar("T")
LINE_CAP: Final = 1 << 20
"""Maximum bytes of a line in a body that is read line by line."""
DEADLINE_S: Final = 30.0
"""Seconds within which a body must arrive completely."""
BODY_DEADLINE_S: Final = web.AppKey("body_deadline_s", float)
"""An application's own deadline; the default is `DEADLINE_S`."""
BUDGET_BYTES: Final = 64 << 20
FREE_BYTES: Final = 64 * 1024
"""This much of every body is not counted, so small requests pass even if the budget is used up;
the limit on connections bounds their sum."""
PATIENCE_S: Final = 2.0
"""Seconds after which a stalled body is dropped in favour of one that makes progress."""
_STEP: Final = 64 * 1024
"""Bytes that must arrive to count as progress."""


class NoRoom(ApiError):
    """The bodies of other requests take the memory that there is for bodies."""

    status, code = 503, "server_error"

    def __init__(self, whose: str = "") -> None:
        super().__init__(
            f"the bodies of other requests{whose} take all the memory there is for bodies;"
            " try again soon",
            headers={"Retry-After": "2", "Connection": "close"},
        )


class BodyBudget:
    """The bytes of request bodies in memory, in total and by peer address.

    They count from their arrival until the request is answered. One address may hold half of the
    budget; a body within its route's cap always fits into an empty budget. If the budget is used
    up, stalled bodies are dropped.
    """

    def __init__(self, size: int = BUDGET_BYTES) -> None:
        self.size = size
        self.held = 0
        self.arriving: set[Portion] = set()
        """Bodies that are still arriving and may be dropped."""
        self._peers: Counter[str] = Counter()

    def add(self, portion: "Portion", more: int) -> None:
        """Count *more* bytes of a body, which may be negative. Raises `NoRoom`."""
        if more > 0:
            share = max(self.size // 2, portion.cap)
            if self._peers[portion.peer] + more > share:
                self._make_room(portion, portion.peer, self._peers[portion.peer] + more - share)
            if self._peers[portion.peer] + more > share:
                raise NoRoom(" from this address")
            whole = max(self.size, portion.cap)
            if self.held + more > whole:
                self._make_room(portion, None, self.held + more - whole)
            if self.held + more > whole:
                raise NoRoom
        self.held += more
        self._peers[portion.peer] += more
        if not self._peers[portion.peer]:
            del self._peers[portion.peer]

    def _make_room(self, wanting: "Portion", peer: str | None, needed: int) -> None:
        """Drop the bodies stalled for longest, only those of *peer* if given."""
        now = asyncio.get_running_loop().time()
        still = [
            portion
            for portion in self.arriving
            if portion is not wanting
            and portion.counted
            and peer in (None, portion.peer)
            and now - portion.moved_at > PATIENCE_S
        ]
        for portion in sorted(still, key=lambda idle: idle.moved_at):
            if needed <= 0:
                return
            needed -= portion.counted
            portion.give_way()


class Portion:
    """The share of the budget that a body uses; while it arrives, an `OpenStream`."""

    __slots__ = (
        "_budget",
        "_marked",
        "body",
        "cap",
        "counted",
        "ends_on_drain",
        "gave_way",
        "moved_at",
        "peer",
        "timer",
    )

    def __init__(self, budget: BodyBudget, peer: str, cap: int) -> None:
        self.peer = peer
        self.cap = cap
        self.body = bytearray()
        """The bytes so far, held only here: an exception may keep the reader's frame alive."""
        self.counted = 0
        self.ends_on_drain = False
        """Whether the body may be endless."""
        self.gave_way = False
        self.moved_at = asyncio.get_running_loop().time()
        self._budget = budget
        self.timer: asyncio.Timeout | None = None
        """Ends the wait for the body."""
        self._marked = 0

    def hold(self, size: int, received: int) -> None:
        """Note *size* bytes in memory of *received* bytes in total. Raises `NoRoom`."""
        counted = max(0, size - FREE_BYTES)
        if counted != self.counted:
            self._budget.add(self, counted - self.counted)
            self.counted = counted
        if received - self._marked >= _STEP:
            self._marked, self.moved_at = received, asyncio.get_running_loop().time()

    def give_way(self) -> None:
        """Free the memory and end the wait for the body."""
        self.gave_way = True
        self.release()
        self.close()

    def close(self) -> None:
        """End the wait for the body."""
        if self.timer is not None and not self.timer.expired():
            self.timer.reschedule(asyncio.get_running_loop().time())

    def release(self) -> None:
        """Free the memory of the body."""
        self.body = bytearray()
        self._budget.arriving.discard(self)
        self._budget.add(self, -self.counted)
        self.counted = 0


BUDGET: Final = web.AppKey("body_budget", BodyBudget)
_PORTION: Final = web.RequestKey("body_portion", Portion)


def end_body(request: web.Request) -> None:
    """Release the body of a finished request."""
    portion = request.get(_PORTION)
    if portion is not None:
        portion.release()


async def read_body(request: web.Request, cap: int) -> bytes | bytearray:
    """Read the body, at most *cap* bytes, whatever its framing claims.

    Raises `UnsupportedEncoding`, `TooLarge`, `NoRoom`, `RequestTimeout` or, for broken framing,
    `BadRequest`. Its bytes count in the application's budget until `end_body`.
    """
    if not await begin_body(request, cap):
        return b""
    return await in_time(request, cap, "the body", _whole(request, cap))


async def _whole(request: web.Request, cap: int) -> bytes | bytearray:
    content = request.content
    part = await content.readany()
    if len(part) <= min(cap, FREE_BYTES) and content.at_eof():  # as almost every body
        return part
    portion = _portion(request, cap)
    while part:
        size = len(portion.body) + len(part)
        if size > cap:
            raise too_large(f"the body is over {cap} bytes")
        portion.hold(size, size)
        portion.body += part
        part = b""
        part = await content.readany()
    return portion.body


async def read_lines(request: web.Request, cap: int) -> AsyncIterator[list[bytes]]:
    """Yield the lines of the body without line ends, in lists of lines that arrived together.

    Each line must be complete within the deadline of a whole body. Text after the last line end is
    a line too, unless the client left before the end of the body. Only the incomplete line counts
    in the budget. Raises like `read_body`, and `ShuttingDown` when the server drains, because the
    body may be endless.
    """
    if not await begin_body(request, cap):
        return
    rest, size, ended = b"", 0, False
    portion = _portion(request, cap)
    portion.ends_on_drain = True

    async def next_lines() -> list[bytes]:
        nonlocal rest, size, ended
        lines: list[bytes] = []
        while not lines and not ended:
            part = await request.content.readany()
            ended = not part
            size += len(part)
            if size > cap:
                raise too_large(f"the body is over {cap} bytes")
            *lines, rest = (rest + part).split(b"\n")
            if len(rest) > LINE_CAP and not lines:
                raise too_large(f"a line is over {LINE_CAP} bytes")
            portion.hold(len(rest), size)
        return [*lines, rest] if ended and rest else lines

    while not ended:
        if not request.content.is_eof():
            request.app[LIFECYCLE].admit()
        if lines := await in_time(request, cap, "a line", next_lines()):
            yield lines
        if len(rest) > LINE_CAP:
            raise too_large(f"a line is over {LINE_CAP} bytes")


def _portion(request: web.Request, cap: int) -> Portion:
    portion = request.get(_PORTION)
    if portion is None:
        portion = Portion(request.app[BUDGET], request.remote or "", cap)
        request[_PORTION] = portion
    return portion


async def begin_body(request: web.Request, cap: int) -> bool:
    """Check encoding and declared length; return whether there is a body.

    Raises `UnsupportedEncoding` and `TooLarge`.
    """
    headers = request.headers
    if headers.get("Content-Encoding", "identity").strip().lower() not in ("identity", ""):
        raise UnsupportedEncoding("send the body as it is, without Content-Encoding")
    if int(headers.get("Content-Length", "0")) > cap:
        raise too_large(f"the body is over {cap} bytes")
    if not request.can_read_body:
        return False
    if headers.get("Expect", "").lower() == "100-continue" and request.version >= (1, 1):
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # Those bytes are not part of the response; otherwise aiohttp considers it started.
        request.writer.output_size = 0
    return True


async def in_time(request: web.Request, cap: int, awaited: str, reading: Awaitable[T]) -> T:
    """Await *reading* within the deadline and return its result.

    Raises `RequestTimeout`, `ShuttingDown` and, for broken framing, `BadRequest`.
    """
    limit_s = request.app.get(BODY_DEADLINE_S, DEADLINE_S)
    try:
        if request.content.is_eof():  # usual for small bodies: there is nothing to wait for
            return await reading
        portion, life, budget = _portion(request, cap), request.app[LIFECYCLE], request.app[BUDGET]
        portion.moved_at = asyncio.get_running_loop().time()
        life.streams.add(portion)
        budget.arriving.add(portion)
        try:
            async with asyncio.timeout(limit_s) as portion.timer:
                return await reading
        finally:
            portion.timer = None
            budget.arriving.discard(portion)
            life.streams.discard(portion)
    except TimeoutError:
        request.app[LIFECYCLE].admit()  # when the server shuts down, say so
        why = f"did not arrive within {limit_s:g} s"
        if _portion(request, cap).gave_way:
            why = "stood still while others needed its room"
        raise RequestTimeout(f"{awaited} {why}", headers={"Connection": "close"}) from None
    except (web.RequestPayloadError, ValueError) as exc:
        raise BadRequest("the body is badly framed", headers={"Connection": "close"}) from exc


def too_large(message: str) -> TooLarge:
    """Return the error for a body over its cap; it closes the connection."""
    return TooLarge(message, headers={"Connection": "close"})
