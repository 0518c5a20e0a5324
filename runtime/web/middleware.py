"""The door of a server: one order of checks for every request, one envelope for every error."""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

import orjson
from aiohttp import web
from aiohttp.typedefs import Handler

from runtime.web import logs
from runtime.web.auth import Bearer, under
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
from runtime.web.routes import route_of
from runtime.web.sse import STREAM, ReaderGone
from runtime.web.wire import json_bytes

REQUEST_ID: Final = web.RequestKey("request_id", str)
"""The number of the request since the start, in decimal."""
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
    exposed_headers: tuple[str, ...] = ()
    """Response headers that pages of listed origins may read."""


DOOR: Final = web.AppKey("door", Door)


LEFT: Final = web.RequestKey("left", bool)
"""Set where the reader of a stream left before its end."""


def install(app: web.Application, door: Door) -> Lifecycle:
    """Put *door* in front of *app*; call once, before the application starts."""
    app[DOOR] = door
    life = app[LIFECYCLE] = Lifecycle()
    app.middlewares.insert(0, _pass)
    app.on_response_prepare.append(_sign)
    return life


@web.middleware
async def _pass(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Number, count, answer and log one request."""
    app = request.app
    door, life = app[DOOR], app[LIFECYCLE]
    request[REQUEST_ID] = number = life.number()
    token = logs.request_id.set(number)
    started = time.monotonic()
    status = 500
    try:
        with life.request():
            response = await _answer(request, handler, door, life)
        status = CLIENT_LEFT if request.get(LEFT) else response.status
        return response
    except asyncio.CancelledError:
        status = CLIENT_LEFT
        raise
    finally:
        _log_request(request, status, time.monotonic() - started)
        logs.request_id.reset(token)


async def _answer(
    request: web.Request, handler: Handler, door: Door, life: Lifecycle
) -> web.StreamResponse:
    try:
        life.admit()
        preflight = _check(request, door)
        return preflight if preflight is not None else await handler(request)
    except ApiError as exc:
        error: ApiError = exc
    except web.HTTPException as exc:
        if exc.status < 400:
            raise
        error = translate(exc)
        if request.method == "OPTIONS" and isinstance(error, MethodNotAllowed):
            allowed = {"Allow": f"{error.headers['Allow']}, OPTIONS"}
            return web.Response(status=204, headers=allowed)
    except ReaderGone:
        request[LEFT] = True
        return request[STREAM]
    except Exception:  # noqa: BLE001 - the one place where whatever broke becomes an answer
        _LOG.exception("unexpected failure in %s", request.path)
        error = Internal(request[REQUEST_ID])
    begun: web.StreamResponse | None = request.get(STREAM)
    if begun is not None:
        # The status line is out: a cut connection is the only way left to say that it failed.
        _LOG.error("a stream broke off: %s", error.message)
        if request.transport is not None:
            request.transport.abort()
        return begun
    return error_response(door.render, error, close=not _is_body_read(request))


def _check(request: web.Request, door: Door) -> web.Response | None:
    """Size of the head, host and origin, preflight, key; in this order."""
    if sum(len(name) + len(value) + 4 for name, value in request.raw_headers) > MAX_HEAD_BYTES:
        raise BadRequest(f"the request headers are over {MAX_HEAD_BYTES} bytes")
    headers = request.headers
    refused = refusal(
        door.hosts,
        headers,
        method=request.method,
        path=request.path,
        old_local=request.version < (1, 1) and is_loopback(request.remote or ""),
    )
    if refused is not None:
        raise refused
    if request.method == "OPTIONS":
        preflight = preflight_headers(door.hosts, headers)
        if preflight is not None:
            return web.Response(status=204, headers=preflight)
    if not door.auth.open:
        route = route_of(request)
        gated = route.gated if route is not None else under(request.path, door.gated_prefixes)
        if gated:
            door.auth.check(headers.get("Authorization"))
    return None


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


def _is_body_read(request: web.Request) -> bool:
    """Whether the whole body was read; an unread rest would be taken for the next request."""
    return request.content.is_eof()


async def _sign(request: web.Request, response: web.StreamResponse) -> None:
    """Headers that every answer carries, streams and errors included."""
    door, headers = request.app[DOOR], response.headers
    headers["Server"] = NAME  # without the versions that aiohttp names
    if door.hosts.origins:
        origin = request.headers.get("Origin")
        headers.update(cors_headers(door.hosts, origin, door.exposed_headers))
    if (number := request.get(REQUEST_ID)) is not None:
        headers["X-Request-Id"] = number


def _log_request(request: web.Request, status: int, seconds: float) -> None:
    route = route_of(request)
    options = {} if route is None else route.options
    level = logging.DEBUG if options.get("quiet") and status < 400 else logging.INFO
    if not _ACCESS.isEnabledFor(level):
        return
    hidden = route is not None and options.get("secret_path")
    _ACCESS.log(
        level,
        "request",
        extra={
            "fields": {
                "method": request.method,
                "path": route.path if route and hidden else logs.scrub(request.path_qs),
                "status": status,
                "ms": round(seconds * 1000, 1),
                "remote": request.remote,
                "agent": logs.scrub(request.headers.get("User-Agent", ""))[:200],
            }
        },
    )
