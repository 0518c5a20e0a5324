"""The short way for requests that come all the time: a head that was let in once is known again.

A route may have a `Shortcut`. When a request for it has passed every check and was answered with
200, the bytes of its head are kept: method, path, host and every other header are in them, and only
heads of the plainest headers are kept, none that carries a key, an origin or a proxy's word. A
request of the very same bytes, on a connection at rest, then needs neither parser nor task nor
router. What can change from one request to the next is looked at each time, and whatever is out of
the ordinary goes the common way.
"""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from aiohttp import web
from aiohttp.helpers import rfc822_formatted_time
from aiohttp.http import HttpVersion11, RawRequestMessage
from aiohttp.web_request import BaseRequest

from runtime.web import logs
from runtime.web.errors import ApiError, Internal
from runtime.web.lifecycle import LIFECYCLE, Lifecycle
from runtime.web.middleware import (
    DOOR,
    Door,
    Seen,
    access_is_logged,
    error_response,
    log_access,
    shown_path,
    signed,
)
from runtime.web.routes import Route, Take, matched

MOST_HEADS: Final = 1024
"""Heads that are kept for one listener; the length of the body is part of a head."""
MOST_HEAD_BYTES: Final = 1024
MOST_BODY_BYTES: Final = 16 * 1024
HELD_S: Final = 1.0
"""Seconds after which a known head whose body does not come goes the common way."""
DATE_S: Final = 0.1
_PLAIN: Final = frozenset(
    {
        "accept",
        "accept-encoding",
        "accept-language",
        "connection",
        "content-length",
        "content-type",
        "host",
        "user-agent",
    }
)
"""Headers that say nothing of who asks or of how the body is sent."""
_VARYING: Final = frozenset({"content-length", "date", "x-request-id"})
_END: Final = b"\r\n\r\n"
_LOST: Final = -1
_LOG: Final = logging.getLogger("paddock.web")


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A head that was let in."""

    length: int
    """Of the body, in bytes."""
    take: Take
    answer: bytes
    """The answer, with places for the number, the length, the date and the body."""
    door: Door
    life: Lifecycle
    route: Route
    path: str
    """As the log shows it."""
    agent: str


class Passage:
    """A request on the short way; answered once."""

    __slots__ = ("_connection", "_known", "_number", "_started")

    def __init__(self, connection: "ExpressConnection", known: Known) -> None:
        self._connection = connection
        self._known = known
        self._number = b""
        self._started = 0.0

    def begin(self) -> None:
        """Count it as in flight."""
        life = self._known.life
        self._number = life.number().encode()
        self._started = time.monotonic()
        life.begin()

    def answer(self, body: bytes) -> None:
        """Send *body*, which is JSON."""
        now = time.monotonic()
        self._end(200, self._known.answer % (self._number, len(body), _date(now), body), now)

    def fail(self, error: Exception) -> None:
        """Send what *error* says, as the common way does."""
        known, number = self._known, self._number.decode()
        token = logs.request_id.set(number)
        try:
            if not isinstance(error, ApiError):
                _LOG.error("unexpected failure in %s", known.route.path, exc_info=error)
                error = Internal(number)
            response = error_response(known.door.render, error)
            signed(response.headers, known.door, None, number)
            close = response.keep_alive is False
            if close:
                response.headers["Connection"] = "close"
            body = response.body
            assert isinstance(body, bytes)
            response.headers["Content-Length"] = str(len(body))
            response.headers["Date"] = rfc822_formatted_time()
            answer = _head(error.status, response.headers) + body
            self._end(error.status, answer, time.monotonic(), close=close)
        finally:
            logs.request_id.reset(token)

    def _end(self, status: int, answer: bytes, now: float, *, close: bool = False) -> None:
        known, connection = self._known, self._connection
        if connection.transport is not None:
            connection.transport.write(answer)
        known.life.end()
        seconds, method = now - self._started, known.route.method
        if status >= 400:
            peer, agent = connection.peer, known.agent
            log_access(logging.INFO, method, known.path, status, seconds, peer, agent)
        if known.door.observe is not None:
            known.door.observe(Seen(known.route.path, method, status, seconds))
        if close:
            connection.force_close()
        connection.passed(now)


class ExpressConnection(web.RequestHandler):
    """A connection that knows heads again; what it cannot shorten is for aiohttp."""

    __slots__ = ("_heads", "_held", "_held_since", "_left", "_met", "_passing", "peer")

    def __init__(self, heads: dict[bytes, Known], *arguments: object, **named: object) -> None:
        super().__init__(*arguments, **named)  # type: ignore[arg-type]
        self.peer = ""
        self._heads = heads
        self._held = b""
        """A head that waits for its body, or what came behind the request that is answered."""
        self._held_since = 0.0
        self._left = 0
        """Bytes to the end of the request that is being received; `_LOST` where nobody knows."""
        self._met: tuple[object, bytes] = (None, b"")
        """The last request that came the common way, and its head."""
        self._passing = False

    def shortened(self, data: bytes) -> bytes | None:
        """What is left to do the common way; None where nothing is."""
        if self._passing:
            self._held += data
            if len(self._held) > MOST_BODY_BYTES and not self._buffer_paused:
                self._pause_reading_for_buffer()
            return None
        since = self._held_since if self._held else 0.0
        if self._held:
            data, self._held = self._held + data, b""
        waiter = self._waiter
        if self._left or waiter is None or waiter.done() or self._paused:
            return data
        end = data.find(_END) + len(_END)
        known = self._heads.get(data[:end])
        if known is None:
            return data
        missing = end + known.length - len(data)
        if missing > 0:
            self._held, self._held_since = data, since or self._loop.time()
            return None
        return data if missing or not self._begun(known, data[end:]) else None

    def _begun(self, known: Known, body: bytes) -> bool:
        if known.life.draining or access_is_logged(logging.DEBUG):
            return False
        passage = Passage(self, known)
        if not known.take(body, passage):
            return False
        passage.begin()
        self._passing = self._request_in_progress = True
        self._request_count += 1
        if self._manager is not None:
            self._manager.requests_count += 1
        return True

    def passed(self, now: float) -> None:
        """The request on the short way was answered."""
        self._passing = self._request_in_progress = False
        self._next_keepalive_close_time = now + self._keepalive_timeout
        if self._handler_waiter is not None and not self._handler_waiter.done():
            self._handler_waiter.set_result(None)
        if self._held and self.transport is not None:
            held, self._held = self._held, b""
            if self._buffer_paused:
                self._resume_reading_for_buffer()
            self.data_received(held)

    @property
    def passes(self) -> bool:
        """Whether a request is on the short way, or about to be."""
        return self._passing or bool(self._held)

    def overheld(self, now: float) -> bytes:
        """A head whose body does not come; it must go the common way."""
        if self._passing or not self._held or now - self._held_since < HELD_S:
            return b""
        held, self._held = self._held, b""
        return held

    def counted(self, data: bytes, requests: int) -> None:
        """Find where the next request begins, behind *data* that went the common way."""
        if self._left > 0:
            self._left = self._left - len(data) if not requests else _LOST
        elif self._left == 0 and data:
            self._left = self._behind(data) if requests == 1 else _LOST
        if self._left < 0:
            self._left, self._met = _LOST, (None, b"")

    def _behind(self, data: bytes) -> int:
        message = self._messages[-1][0] if self._messages else None
        if not isinstance(message, RawRequestMessage) or message.chunked or message.upgrade:
            return _LOST
        end = data.find(_END) + len(_END)
        head = data[:end]
        # Of line ends that only a lenient parser takes, nobody knows where the head has ended.
        if not head[:1].isalpha() or head.count(b"\n") != head.count(b"\r\n"):
            return _LOST
        left = end + int(message.headers.get("Content-Length", "0")) - len(data)
        if (left == 0) != self._messages[-1][1].is_eof():
            return _LOST
        self._met = (message, head)
        return left

    async def finish_response(
        self, request: BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Answer, and keep the head of a request that may take the short way next time."""
        finished = await super().finish_response(request, resp, start_time)
        message, head = self._met
        if request._message is message and isinstance(request, web.Request):  # noqa: SLF001
            self._learn(request, resp, head)
        return finished

    def _learn(self, request: web.Request, response: web.StreamResponse, head: bytes) -> None:
        route = matched(request)
        if route is None or (shortcut := route.options.get("express")) is None:
            return
        length = request.content_length or 0
        if (
            len(head) > MOST_HEAD_BYTES
            or not 0 < length <= MOST_BODY_BYTES
            or head in self._heads
            or not _is_plain(request)
            or response.status != 200
            or not response.keep_alive
        ):
            return
        headers = {n: v for n, v in response.headers.items() if n.lower() not in _VARYING}
        while len(self._heads) >= MOST_HEADS:
            del self._heads[next(iter(self._heads))]
        self._heads[head] = Known(
            length=length,
            take=shortcut(request.app, dict(request.match_info)),
            answer=_answer(headers, numbered="X-Request-Id" in response.headers),
            door=request.app[DOOR],
            life=request.app[LIFECYCLE],
            route=route,
            path=shown_path(request),
            agent=request.headers.get("User-Agent", ""),
        )

    def _process_keepalive(self) -> None:
        if self._passing:
            self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        super()._process_keepalive()


def _is_plain(request: web.Request) -> bool:
    """Whether the head says nothing but what is asked."""
    names = [name.decode("latin-1").lower() for name, _ in request.raw_headers]
    return (
        request.version == HttpVersion11
        and not request.query_string
        and len(names) == len(set(names))
        and _PLAIN.issuperset(names)
        and request.headers.get("Connection", "keep-alive").lower() == "keep-alive"
    )


def _answer(headers: Mapping[str, str], *, numbered: bool) -> bytes:
    fixed = _head(200, headers).removesuffix(b"\r\n").replace(b"%", b"%%")
    number = b"X-Request-Id: %b\r\n" if numbered else b"%.0b"
    return fixed + number + b"Content-Length: %d\r\nDate: %b\r\n\r\n%b"


_said: tuple[float, bytes] = (0.0, b"")


def _date(now: float) -> bytes:
    """The time of day, for answers; made anew ten times a second."""
    global _said  # noqa: PLW0603 - one clock
    if now - _said[0] > DATE_S:
        _said = (now, rfc822_formatted_time().encode())
    return _said[1]


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{lines}\r\n".encode()
