"""Limits on connections: how many there are, and how long each may keep the server waiting."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
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

READ_BYTES: Final = 64 * 1024
"""Twice as much of a body may wait for its handler; four times that comes in one read at most."""
TURN_AWAY_S: Final = 1.0
"""Seconds that a connection too many gets for its request head, and again to take the answer."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one listener grants its connections."""

    connections: int = 256
    per_peer: int = 64
    head_s: float = 15.0
    """Seconds from the first byte of a request (or the connection) to a complete head."""
    idle_s: float = 75.0
    """Seconds that a connection may wait for its next request."""
    silent_s: float = 2.0
    """Seconds after which a connection that has not sent a whole request gives way to a new one."""
    stall_s: float = 30.0
    """Seconds in which a reader must take something of an answer."""
    line_bytes: int = 8190
    headers: int = 128


class Crowded(ApiError):
    """The listener has as many connections as it takes."""

    status, code, retry_after_s = 503, "server_error", 1
    text = "too many connections; try again soon"


@dataclass(slots=True)
class Guard:
    """Holds the connections of one listener and closes those that cost more than they ask."""

    limits: Limits
    render: Render
    refused: int = 0
    """Connections turned away because there were too many."""
    displaced: int = 0
    """Connections without a whole request that were closed to make room for new ones."""
    slow: int = 0
    """Connections closed because a request head did not come, or an answer was not taken."""
    malformed: int = 0
    """Requests that were no HTTP."""
    _open: "set[GuardedConnection]" = field(default_factory=set)
    _leaving: "set[GuardedConnection]" = field(default_factory=set)
    """Turned away, but not gone: their request is read, so that no reset overtakes the answer."""
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
        """Count a new connection; where there are too many, another one may have to give way.

        Of the address that has most, one whose request does not come goes first, then the one
        longest at rest. Whoever waits for an answer, or reads one, stays.
        """
        of_peer = self._peers[peer] >= self.limits.per_peer
        if of_peer or len(self._open) >= self.limits.connections:
            now = asyncio.get_running_loop().time()
            among = [c for c in self._open if not of_peer or c.peer == peer]
            idle = {c: rank for c in among if (rank := c.idleness(now)) is not None}
            if not idle:
                self.refused += 1
                self._leaving.add(connection)
                return False
            leaver = max(idle, key=lambda c: (self._peers[c.peer], *idle[c]))
            self.displaced += 1
            leaver.give_way()
            self.forget(leaver)
        self._open.add(connection)
        self._peers[peer] += 1
        if self._timer is None:
            self._sweep()
        return True

    @property
    def overrun(self) -> bool:
        """Whether even those that are turned away are too many to wait for their requests."""
        return len(self._leaving) > self.limits.connections

    def forget(self, connection: "GuardedConnection") -> None:
        """A connection has ended."""
        self._leaving.discard(connection)
        if connection in self._open:
            self._open.discard(connection)
            self._peers[connection.peer] -= 1
            if not self._peers[connection.peer]:
                del self._peers[connection.peer]

    def _sweep(self) -> None:
        # One timer for all connections: 256 looks a second cost less than a timer each.
        loop, limits = asyncio.get_running_loop(), self.limits
        for connection in [*self._open, *self._leaving]:
            if connection.overdue(loop.time()):
                self.slow += 1
        pace = min(TURN_AWAY_S, limits.head_s / 4, limits.stall_s / 4)
        busy = self._open or self._leaving
        self._timer = loop.call_later(pace, self._sweep) if busy else None


class GuardedConnection(web.RequestHandler):
    """aiohttp's connection with an end to its patience and our envelope for what is no HTTP."""

    __slots__ = (
        "_body_since",
        "_guard",
        "_head_bytes",
        "_head_since",
        "_payload",
        "_stuck",
        "_stuck_at",
        "_welcome",
        "_wire",
        "peer",
    )

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
            read_bufsize=READ_BYTES,
        )
        self.peer = ""
        self._guard = guard
        self._welcome = True
        self._wire: asyncio.Transport | None = None
        self._payload: StreamReader = EMPTY_PAYLOAD
        self._body_since = 0.0
        self._head_bytes = 0
        self._head_since: float | None = None
        self._stuck = 0
        self._stuck_at = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection, or turn it away with a 503, if possible after its request."""
        assert isinstance(transport, asyncio.Transport)
        name = transport.get_extra_info("peername")
        self.peer = name[0] if isinstance(name, tuple) else "local"
        self._wire = transport
        self._welcome = self._guard.admit(self, self.peer)
        super().connection_made(transport)
        self._head_since = self._loop.time()
        if not self._welcome:
            self._request_handler = self._turn_away
            self._lingering_time = TURN_AWAY_S
            if self._guard.overrun:
                self._hang_up(Crowded())

    async def _turn_away(self, _request: BaseRequest) -> web.StreamResponse:
        return error_response(self._guard.render, Crowded(), close=True)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Free its place."""
        self._guard.forget(self)
        with suppress(Exception):  # somebody waits for more: then nothing is there
            self._payload.read_nowait()  # nobody will, and an exception may keep it alive
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
            self._body_since = self._loop.time()
        elif data and not in_body:
            self._head_bytes += len(data)
            if self._head_since is None:
                self._head_since = self._loop.time()
            if self._head_bytes > MAX_HEAD_BYTES:
                self._guard.malformed += self._welcome
                long = BadRequest(f"the request headers are over {MAX_HEAD_BYTES} bytes")
                self._hang_up(long if self._welcome else Crowded())

    def _hang_up(self, error: ApiError) -> None:
        """Answer without a request, unless an answer is under way, and close."""
        if self.transport is not None and not self._request_in_progress:
            self.transport.write(_raw(self._guard.render, error))
        self.force_close()

    def idleness(self, now: float) -> tuple[bool, float] | None:
        """Whether half a request has come, and for how long not the rest; None while it is busy."""
        patience = self._guard.limits.silent_s
        if not self._payload.is_eof():
            since: float | None = self._body_since
        elif self._request_in_progress or self._messages:
            since = None
        else:
            since = self._head_since if self._head_bytes else None
        if since is not None:
            return (True, now - since) if now - since > patience else None
        rest = self._rest_s(now)
        return None if rest is None else (False, rest)

    def give_way(self) -> None:
        """Close for the sake of another; a client whose request was coming is told so."""
        current = self._current_request
        coming = self._head_bytes or not self._payload.is_eof()
        begun = current is not None and current.writer.output_size > 0
        if coming and not begun and self.transport is not None:
            self.transport.write(_raw(self._guard.render, Crowded()))
        self.force_close()

    def _rest_s(self, now: float) -> float | None:
        """Seconds that this connection has waited for a request; None while it does not rest."""
        transport, limits = self.transport, self._guard.limits
        if transport is None or self._head_bytes or self._messages or self._request_in_progress:
            return None
        rest = now - (self._next_keepalive_close_time - limits.idle_s)
        if not self._request_count:
            # A client that has only just connected is about to send its first request.
            return rest if rest > limits.silent_s else None
        waits = self._waiter is not None and not self._waiter.done()
        if not waits or self._head_since is not None or transport.get_write_buffer_size():
            return None
        return rest

    def overdue(self, now: float) -> bool:
        """Close this connection if its head or its reader is late; say whether it was."""
        # Not `self.transport`: that is gone once the connection is closed, though what is left to
        # send may wait for a reader that never takes it.
        transport, limits = self._wire, self._guard.limits
        if transport is None:
            return False
        patience = limits.head_s if self._welcome else TURN_AWAY_S
        late = self._head_since is not None and now - self._head_since > patience
        if (
            late
            and self.transport is not None
            and not self._request_in_progress
            and not self._messages
        ):
            if self._welcome:
                self.force_close()
            else:
                self._hang_up(Crowded())
            return self._welcome
        waiting = transport.get_write_buffer_size()
        if not waiting or waiting != self._stuck:
            self._stuck, self._stuck_at = waiting, now
        elif now - self._stuck_at > (limits.stall_s if self._welcome else TURN_AWAY_S):
            transport.abort()
            return self._welcome
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
        if not self._welcome:
            error: ApiError = Crowded()
        elif status == 400:
            self._guard.malformed += 1
            _LOG.info("malformed request from %s: %s", self.peer, type(exc).__name__)
            error = BadRequest("the request is not valid HTTP")
        else:
            _LOG.error("a request broke outside its handler", exc_info=exc)
            error = ApiError("something went wrong on our side")
        return error_response(self._guard.render, error, close=True)


def _raw(render: Render, error: ApiError) -> bytes:
    body = orjson.dumps(render(error))
    extra = "".join(f"{name}: {value}\r\n" for name, value in error.headers.items())
    return (
        f"HTTP/1.1 {error.status} {HTTPStatus(error.status).phrase}\r\n"
        f"Content-Type: application/json; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        f"Connection: close\r\n{extra}\r\n"
    ).encode() + body
