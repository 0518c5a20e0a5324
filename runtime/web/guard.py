"""Limits on connections: how many there are, and how long each may keep the server waiting."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import orjson
from aiohttp import web
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.web_request import BaseRequest

from runtime.web.errors import ApiError, BadRequest
from runtime.web.logs import Throttle
from runtime.web.middleware import MAX_HEAD_BYTES, Render, error_response

_LOG: Final = logging.getLogger("paddock.guard")
_LOG.addFilter(Throttle())


@dataclass(frozen=True, slots=True)
class Limits:
    """What one listener grants its connections."""

    connections: int = 256
    per_peer: int = 64
    head_s: float = 15.0
    """Seconds from the first byte of a request (or the connection) to a complete head."""
    idle_s: float = 75.0
    """Seconds that a connection may wait for its next request."""
    stall_s: float = 30.0
    """Seconds in which a reader must take something of an answer."""
    line_bytes: int = 8190
    headers: int = 128


@dataclass(slots=True)
class Guard:
    """Holds the connections of one listener and closes those that cost more than they ask."""

    limits: Limits
    render: Render
    refused: int = 0
    """Connections turned away because there were too many."""
    slow: int = 0
    """Connections closed because a request head did not come, or an answer was not taken."""
    malformed: int = 0
    """Requests that were no HTTP."""
    _open: "set[GuardedConnection]" = field(default_factory=set)
    _peers: Counter[str] = field(default_factory=Counter)
    _timer: asyncio.TimerHandle | None = None

    def factory(self, server: web.Server, loop: asyncio.AbstractEventLoop) -> Callable[[], Any]:
        """Makes the protocol of a new connection."""
        return lambda: GuardedConnection(self, server, loop)

    @property
    def connections(self) -> int:
        """Connections that are open now."""
        return len(self._open)

    def admit(self, connection: "GuardedConnection", peer: str) -> bool:
        """Count a new connection, unless there are too many."""
        if len(self._open) >= self.limits.connections or self._peers[peer] >= self.limits.per_peer:
            self.refused += 1
            return False
        self._open.add(connection)
        self._peers[peer] += 1
        self._watch()
        return True

    def forget(self, connection: "GuardedConnection", peer: str) -> None:
        """A connection has ended."""
        if connection in self._open:
            self._open.discard(connection)
            self._peers[peer] -= 1
            if not self._peers[peer]:
                del self._peers[peer]

    def _watch(self) -> None:
        # One timer for all connections: 256 looks a second cost less than a timer each.
        if self._timer is None and self._open:
            pace = min(1.0, self.limits.head_s / 4, self.limits.stall_s / 4)
            self._timer = asyncio.get_running_loop().call_later(pace, self._sweep)

    def _sweep(self) -> None:
        self._timer = None
        now = asyncio.get_running_loop().time()
        for connection in list(self._open):
            if connection.overdue(now):
                self.slow += 1
        self._watch()


class GuardedConnection(web.RequestHandler):
    """aiohttp's connection with an end to its patience and our envelope for what is no HTTP."""

    __slots__ = ("_guard", "_head_bytes", "_head_since", "_payload", "_peer", "_stuck", "_stuck_at")

    def __init__(self, guard: Guard, server: web.Server, loop: asyncio.AbstractEventLoop) -> None:
        limits = guard.limits
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type] # None turns it off
            keepalive_timeout=limits.idle_s,
            max_line_size=limits.line_bytes,
            max_field_size=limits.line_bytes,
            max_headers=limits.headers,
            auto_decompress=False,
        )
        self._guard = guard
        self._peer = ""
        self._payload: StreamReader = EMPTY_PAYLOAD
        self._head_bytes = 0
        self._head_since: float | None = None
        self._stuck = 0
        self._stuck_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, or turn it away with a 503."""
        assert isinstance(transport, asyncio.Transport)
        name = transport.get_extra_info("peername")
        self._peer = name[0] if isinstance(name, tuple) else "local"
        super().connection_made(transport)
        self._head_since = self._loop.time()
        if not self._guard.admit(self, self._peer):
            transport.write(_busy(self._guard.render))
            self.force_close()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Free its place."""
        self._guard.forget(self, self._peer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse, and keep account of a head that is not complete yet."""
        in_body = not self._payload.is_eof()
        before = self._request_count
        super().data_received(data)
        if self._request_count != before:
            if self._messages:
                self._payload = self._messages[-1][1]
            # A head without a body that is not the end of the data has the next one behind it.
            more = self._payload is EMPTY_PAYLOAD and not data.endswith(b"\n\r\n")
            self._head_bytes, self._head_since = 0, self._loop.time() if more and data else None
        elif data and not in_body:
            self._head_bytes += len(data)
            if self._head_since is None:
                self._head_since = self._loop.time()
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse_head()

    def _refuse_head(self) -> None:
        self._guard.malformed += 1
        transport = self.transport
        if transport is not None and not self._request_in_progress:
            error = BadRequest(f"the request headers are over {MAX_HEAD_BYTES} bytes")
            transport.write(_raw(self._guard.render, error))
        self.force_close()

    def overdue(self, now: float) -> bool:
        """Close this connection if its head or its reader is late; say whether it was."""
        transport, limits = self.transport, self._guard.limits
        if transport is None:
            return False
        late = self._head_since is not None and now - self._head_since > limits.head_s
        if late and not self._request_in_progress and not self._messages:
            self.force_close()
            return True
        waiting = transport.get_write_buffer_size()
        if not waiting or waiting != self._stuck:
            self._stuck, self._stuck_at = waiting, now
        elif now - self._stuck_at > limits.stall_s:
            transport.abort()
            return True
        return False

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what never reached a handler; a malformed request is no fault of ours."""
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun already")
        if status == 400:
            self._guard.malformed += 1
            _LOG.info("malformed request from %s: %s", self._peer, type(exc).__name__)
            error: ApiError = BadRequest("the request is not valid HTTP")
        else:
            _LOG.error("a request broke outside its handler", exc_info=exc)
            error = ApiError("something went wrong on our side")
        return error_response(self._guard.render, error, close=True)


def _busy(render: Render) -> bytes:
    error = _Crowded("too many connections; try again soon", headers={"Retry-After": "1"})
    return _raw(render, error)


class _Crowded(ApiError):
    """The listener has as many connections as it takes."""

    status, code = 503, "server_error"


def _raw(render: Render, error: ApiError) -> bytes:
    body = orjson.dumps(render(error))
    phrase = {400: "Bad Request", 503: "Service Unavailable"}[error.status]
    extra = "".join(f"{name}: {value}\r\n" for name, value in error.headers.items())
    return (
        f"HTTP/1.1 {error.status} {phrase}\r\nContent-Type: application/json; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n{extra}\r\n"
    ).encode() + body
