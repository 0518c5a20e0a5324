"""The door of a server: one order of checks for every request, one envelope for every error."""

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from runtime.web import logs
from runtime.web.auth import Bearer, under
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
from runtime.web.hosts import HostPolicy, cors_headers, is_loopback, preflight_headers, refusal
from runtime.web.lifecycle import LIFECYCLE, Lifecycle
from runtime.web.routes import MOUNTED, Options, Route, json_bytes
from runtime.web.sse import STREAM, ReaderGone

MAX_HEAD_BYTES: Final = 16 * 1024
NAME: Final = "paddock"
CLIENT_LEFT: Final = 499
"""The status that is logged for a request whose client left; never sent."""

Render = Callable[[ApiError], Mapping[str, object]]
_LOG: Final = logging.getLogger("paddock.web")
_LOG.addFilter(logs.Throttle(per_s=5, burst=50))  # whoever finds a fault may repeat it quickly
_ACCESS: Final = logging.getLogger("paddock.access")


@dataclass(frozen=True, slots=True)
class Door:
    """What a server decides about its door; the checks and their order are the same for all."""

    render: Render
    """The body of an error answer."""
    hosts: HostPolicy
    auth: Bearer = field(default_factory=Bearer)
    gated_prefixes: tuple[str, ...] = ()
    """Below these even unknown paths ask for the key, so that nobody maps routes without it."""
    body_bytes: int = BUDGET_BYTES
    """Memory for the bodies of all requests together."""
    exposed_headers: tuple[str, ...] = ()
    """Response headers that pages of listed origins may read."""
    admit: "Callable[[web.Request, Route | None], web.StreamResponse | None]" = lambda *_: None
    """The server's own check, after the key: it raises, answers itself or lets the request in."""


DOOR: Final = web.AppKey("door", Door)


def install(app: web.Application, door: Door) -> Lifecycle:
    """Put *door* in front of *app*; call once, before the application starts."""
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
        """Headers that every answer carries, streams and errors included."""
        headers = response.headers
        headers["Server"] = NAME  # without the versions that aiohttp names
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
    """What the client of a request that failed gets."""
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
            error = failure(words) if failure else Internal(words, logs.request_id.get())
    begun: web.StreamResponse | None = request.get(STREAM)
    if begun is not None:
        # The status line is out: a cut connection is the only way left to say that it failed.
        _LOG.error("a stream broke off: %s", error.message)
        if request.transport is not None:
            request.transport.abort()
        return begun
    # An unread rest of the body would be taken for the next request.
    return error_response(door.render, error, close=not request.content.is_eof())


def _check(request: web.Request, door: Door, route: Route | None) -> web.StreamResponse | None:
    """Size of the head, host and origin, preflight, key, the server's own; in this order."""
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
    """The answer for *error*; *close* ends the connection after it."""
    response = json_bytes(_encode(render(error)), error.status, error.headers)
    response.headers["Server"] = NAME
    if close or error.headers.get("Connection") == "close":
        response.force_close()
    return response


def _encode(body: Mapping[str, object]) -> bytes:
    """*body* as JSON, whatever it holds: an error must reach its reader."""
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError:  # a half surrogate, or an integer beyond 64 bits
        return json.dumps(body, default=str).encode()


def translate(exc: web.HTTPException) -> ApiError:
    """aiohttp's own refusals as ours."""
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
