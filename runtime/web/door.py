"""The entrance of a server: limits on connections, the checks of every request in one order, and
one envelope for every error."""

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain
from typing import Any, Final

import orjson
from aiohttp import web
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader
from aiohttp.typedefs import Handler
from aiohttp.web_request import BaseRequest

from runtime.web import logs
from runtime.web.access import (
    Bearer,
    HostPolicy,
    cors_headers,
    is_loopback,
    preflight_headers,
    refusal,
    under,
)
from runtime.web.bodies import BUDGET, BUDGET_BYTES, BodyBudget
from runtime.web.errors import (
    ApiError,
    BadRequest,
    Internal,
    MethodNotAllowed,
    NotFound,
    RequestTimeout,
    TooLarge,
)
from runtime.web.lifecycle import LIFECYCLE, Lifecycle
from runtime.web.routes import MOUNTED, Options, Route, json_bytes
from runtime.web.sse import STREAM, ReaderGone

MAX_HEAD_BYTES: Final = 16 * 1024
NAME: Final = "paddock"
CLIENT_LEFT: Final = 499
"""The status logged if the client left; never sent."""
READ_BYTES: Final = 64 * 1024
"""Up to twice as much of a body waits for its handler; a read returns at most four times that."""
TURN_AWAY_S: Final = 1.0
"""Seconds for an excess connection to send its request head, and again to read the answer."""

Render = Callable[[ApiError], Mapping[str, object]]
_LOG: Final = logging.getLogger("paddock.web")
_LOG.addFilter(logs.Throttle(per_s=5, burst=50))  # clients may repeat a failing request quickly
_GUARD_LOG: Final = logging.getLogger("paddock.guard")
_GUARD_LOG.addFilter(logs.Throttle())
_ACCESS: Final = logging.getLogger("paddock.access")


@dataclass(frozen=True, slots=True)
class Door:
    """The options of a server's entrance; the checks and their order are the same for all."""

    render: Render
    """The body of an error answer."""
    hosts: HostPolicy
    auth: Bearer = field(default_factory=Bearer)
    gated_prefixes: tuple[str, ...] = ()
    """Below these, even unknown paths require the key, so routes cannot be probed without it."""
    body_bytes: int = BUDGET_BYTES
    """Memory for the bodies of all requests together."""
    exposed_headers: tuple[str, ...] = ()
    """Response headers readable by pages of listed origins."""
    admit: "Callable[[web.Request, Route | None], web.StreamResponse | None]" = lambda *_: None
    """The server's own check, after the key: raises, answers, or returns None to admit."""


DOOR: Final = web.AppKey("door", Door)


def install(app: web.Application, door: Door) -> Lifecycle:
    """Install *door* in *app*; call once, before the application starts."""
    app[DOOR] = door
    life = app[LIFECYCLE] = Lifecycle()
    app[BUDGET] = BodyBudget(door.body_bytes)
    routes = app.setdefault(MOUNTED, {})

    @web.middleware
    async def enter(request: web.Request, handler: Handler) -> web.StreamResponse:
        """Number, count, answer and log one request."""
        number = life.begin()
        logs.request_id.set(number)  # of the task, which serves this request only
        began = time.monotonic()
        route = routes.get(request.match_info.handler)
        status = CLIENT_LEFT
        try:
            try:
                life.admit()
                response = _check(request, door, route) or await handler(request)
            except ReaderGone:
                return request[STREAM]
            except Exception as exc:  # noqa: BLE001 - whatever broke becomes an answer
                response = _answer(request, door, route, exc)
            status = response.status
            return response
        finally:
            life.end()
            _log_request(request, route, status, time.monotonic() - began)

    async def sign(request: web.Request, response: web.StreamResponse) -> None:
        """Add the headers of every response, streams and errors included."""
        headers = response.headers
        headers["Server"] = NAME  # without version numbers
        if door.hosts.origins:
            origin = request.headers.get("Origin")
            varies = headers.get("Vary")
            headers.update(cors_headers(door.hosts, origin, door.exposed_headers))
            if varies:
                headers["Vary"] = f"{varies}, {headers['Vary']}"
        if (number := logs.request_id.get()) is not None:
            headers["X-Request-Id"] = number

    app.middlewares.insert(0, enter)
    app.on_response_prepare.append(sign)
    return life


def _answer(
    request: web.Request, door: Door, route: Route | None, problem: Exception
) -> web.StreamResponse:
    """Return the response to a failed request."""
    match problem:
        case ApiError():
            error = problem
        case web.HTTPException():
            error = translate(problem)
            if request.method == "OPTIONS" and isinstance(error, MethodNotAllowed):
                allowed = {"Allow": f"{error.headers['Allow']}, OPTIONS"}
                return web.Response(status=204, headers=allowed)
        case _:
            _LOG.error("unexpected failure in %s", request.path, exc_info=problem)
            words = "something went wrong on our side; the log of the server says what"
            failure = route.options.get("failure") if route else None
            number = logs.request_id.get()
            error = failure(words) if failure else Internal(words, request_id=number)
    begun: web.StreamResponse | None = request.get(STREAM)
    if begun is not None:
        # The status line is already sent; only cutting the connection can signal the failure.
        _LOG.error("a stream broke off: %s", error.message)
        if request.transport is not None:
            request.transport.abort()
        return begun
    # The unread rest of the body would be parsed as the next request.
    return error_response(door.render, error, close=not request.content.is_eof())


def _check(request: web.Request, door: Door, route: Route | None) -> web.StreamResponse | None:
    """Check head size, host and origin, preflight, key, and the server's own; in this order."""
    raw = request.raw_headers
    if sum(map(len, chain.from_iterable(raw))) + 4 * len(raw) > MAX_HEAD_BYTES:
        raise BadRequest(f"the request headers are over {MAX_HEAD_BYTES} bytes")
    refused = refusal(
        door.hosts,
        request.headers,
        method=request.method,
        path=request.path,
        target=request.raw_path,
        old_local=request.version < (1, 1) and is_loopback(request.remote or ""),
    )
    if refused is not None:
        raise refused
    if request.method == "OPTIONS":
        preflight = preflight_headers(door.hosts, request.headers)
        if preflight is not None:
            return web.Response(status=204, headers=preflight)
    if not door.auth.open and (route.gated if route else under(request.path, door.gated_prefixes)):
        door.auth.check(request.headers.get("Authorization"))
    return door.admit(request, route)


def error_response(render: Render, error: ApiError, *, close: bool = False) -> web.Response:
    """Return the response for *error*; *close* ends the connection after it."""
    response = json_bytes(_encode(render(error)), error.status, error.headers)
    response.headers["Server"] = NAME
    if close or error.headers.get("Connection") == "close":
        response.force_close()
    return response


def _encode(body: Mapping[str, object]) -> bytes:
    """Encode *body* as JSON, whatever it holds: an error must reach its reader."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:  # a half surrogate, or an integer beyond 64 bits
        return json.dumps(body, default=str).encode()


def translate(exc: web.HTTPException) -> ApiError:
    """Convert aiohttp's errors into ours."""
    match exc.status:
        case 404:
            return NotFound("there is no such route")
        case 405:
            allow = exc.headers.get("Allow", "")
            return MethodNotAllowed(
                f"the method is not allowed here; allowed: {allow.replace(',', ', ')}",
                headers={"Allow": allow.replace(",", ", ")},
            )
        case 408:
            return RequestTimeout("the request did not arrive in time")
        case 413:
            return TooLarge("the body is too large")
        case status if status < 500:
            return BadRequest("the request cannot be understood")
    return ApiError("something went wrong on our side")


def _log_request(request: web.Request, route: Route | None, status: int, seconds: float) -> None:
    options: Options = route.options if route is not None else {}
    level = logging.DEBUG if options.get("quiet") and status < 400 else logging.INFO
    if not _ACCESS.isEnabledFor(level):
        return
    hidden = route is not None and options.get("secret_path")
    fields = {
        "method": request.method,
        "path": route.path if route and hidden else logs.scrub(request.path_qs),
        "status": status,
        "ms": round(seconds * 1000, 1),
        "remote": request.remote,
        "agent": logs.scrub(request.headers.get("User-Agent", ""))[:200],
    }
    extra = {"fields": fields}  # not `log`, which looks for its caller
    _ACCESS.handle(_ACCESS.makeRecord(_ACCESS.name, level, "", 0, "request", (), None, extra=extra))


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits on the connections of a listener."""

    connections: int = 256
    per_peer: int = 64
    head_s: float = 15.0
    """Seconds from the first byte of a request (or the connection) to a complete head."""
    idle_s: float = 75.0
    """Seconds a connection may stay idle before its next request."""
    silent_s: float = 2.0
    """Seconds after which a connection without a complete request may be closed for a new one."""
    stall_s: float = 30.0
    """Seconds within which a client must read some of an answer."""
    line_bytes: int = 8190
    headers: int = 128


class Crowded(ApiError):
    """The listener has reached its limit of connections."""

    status, code, retry_after_s = 503, "server_error", 1
    text = "too many connections; try again soon"


@dataclass(slots=True)
class Guard:
    """Tracks the connections of a listener and closes those that waste resources."""

    limits: Limits
    render: Render
    refused: int = 0
    """Connections refused because there were too many."""
    displaced: int = 0
    """Connections without a complete request that were closed for new ones."""
    slow: int = 0
    """Connections closed because the request head did not arrive or the answer was not read."""
    malformed: int = 0
    """Requests that were not valid HTTP."""
    _open: "set[GuardedConnection]" = field(default_factory=set)
    _leaving: "set[GuardedConnection]" = field(default_factory=set)
    """Refused but still open: their request is read, so no reset overtakes the answer."""
    _peers: Counter[str] = field(default_factory=Counter)
    _timer: asyncio.TimerHandle | None = None

    def factory(self, server: web.Server, loop: asyncio.AbstractEventLoop) -> Callable[[], Any]:
        """Return a factory of protocols for new connections."""
        return lambda: GuardedConnection(self, server, loop)

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._open)

    def admit(self, connection: "GuardedConnection", peer: str) -> bool:
        """Count a new connection; if there are too many, close another or refuse.

        It closes one of the address with the most connections: first one whose request does not
        arrive, then the one idle for longest. A connection with an answer pending stays.
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
        """Whether there are too many refused connections to wait for their requests."""
        return len(self._leaving) > self.limits.connections

    def forget(self, connection: "GuardedConnection") -> None:
        """Remove a closed connection."""
        self._leaving.discard(connection)
        if connection in self._open:
            self._open.discard(connection)
            self._peers[connection.peer] -= 1
            if not self._peers[connection.peer]:
                del self._peers[connection.peer]

    def _sweep(self) -> None:
        # One timer for all connections: 256 checks a second cost less than a timer each.
        loop, limits = asyncio.get_running_loop(), self.limits
        for connection in [*self._open, *self._leaving]:
            if connection.overdue(loop.time()):
                self.slow += 1
        pace = min(TURN_AWAY_S, limits.head_s / 4, limits.stall_s / 4)
        busy = self._open or self._leaving
        self._timer = loop.call_later(pace, self._sweep) if busy else None


class GuardedConnection(web.RequestHandler):
    """aiohttp's connection with time limits and our envelope for malformed requests."""

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
        # Where somebody waits for more, nothing is there; a cancelled reader left its cancellation.
        with suppress(Exception, asyncio.CancelledError):
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
        """Answer a request that reached no handler; a malformed one is not a server error."""
        if request.writer.output_size > 0:
            raise ConnectionError("the answer has begun already")
        if not self._welcome:
            error: ApiError = Crowded()
        elif status == 400:
            self._guard.malformed += 1
            _GUARD_LOG.info("malformed request from %s: %s", self.peer, type(exc).__name__)
            error = BadRequest("the request is not valid HTTP")
        else:
            _GUARD_LOG.error("a request broke outside its handler", exc_info=exc)
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
