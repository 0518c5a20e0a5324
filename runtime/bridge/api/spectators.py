"""Spectators of a session: their tokens, and the listener that serves only them."""

import asyncio
import io
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Annotated, Final
from urllib.parse import quote

import segno
from aiohttp import web
from pydantic import Field, StrictInt
from yarl import URL

from runtime.bridge.api.pages import PAGES as FILES
from runtime.bridge.api.shapes import WRITE_ERRORS, AnswerModel, SessionId, SessionPath, fields_of
from runtime.bridge.errors import BIND_CODES, render
from runtime.bridge.live.spectators import GRANT, TTL_S, Grant, Issued, TooManyTokens
from runtime.bridge.service import SERVICE, Service
from runtime.web.access import HostPolicy, find_own_address, is_loopback
from runtime.web.door import Door, Limits, install
from runtime.web.errors import Forbidden, Unauthorized
from runtime.web.lifecycle import LIFECYCLE, Lifecycle
from runtime.web.pages import FILE, asks_for_html
from runtime.web.routes import Reply, Route, Routes, mount
from runtime.web.serve import Running, bind, serving
from runtime.web.wire import Wire

PAGE: Final = "/spectator/{sid}"
CODE: Final = "/spectator/{sid}/code.svg"
MANIFEST: Final = "/spectator/{sid}/app.webmanifest"
PAGES: Final = ("/spectator/*",)
"""Pages that links on other sites may open."""
FORWARDED: Final = ("X-Forwarded-For", "Forwarded")
WATCHED: Final = (
    "/stream",
    "/cues/stream",
    "/telemetry/stream",
    "/session/{sid}",
    "/session/{sid}/laps",
    "/session/{sid}/map",
    "/session/{sid}/sync",
    PAGE,
    CODE,
    MANIFEST,
    FILE,
)
"""Path patterns that a spectator may request."""
OPEN: Final = ("/health", "/metrics", "/docs", "/openapi.json")
"""Paths without session data: the main listener ignores tokens on them, because some clients send
the key of another server with every request."""
LIMITS: Final = Limits(connections=128, per_peer=48)
"""Separate from those of the main listener; behind a proxy all spectators share one address."""
PRIVATE: Final = {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
log = logging.getLogger(__name__)
routes = Routes("spectator")


class BadToken(Unauthorized):
    """The token is unknown, has expired or was revoked."""

    code = "bad_token"

    def __init__(self) -> None:
        super().__init__(
            "a valid token is required: ?token=<token> or Authorization: Bearer <token>",
            headers={"WWW-Authenticate": "Bearer"},
        )


class TokenScope(Forbidden):
    """The token is for another session, or does not allow the request."""

    code = "token_scope"
    text = "the token only allows watching one session"


class TokenRequest(Wire):
    """The session, and the lifetime of the token."""

    session_id: SessionId
    ttl_s: Annotated[StrictInt, Field(ge=60, le=86_400, description="seconds")] = TTL_S


@fields_of(Issued)
class TokenAnswer(AnswerModel):
    """A new token, which is never shown again."""

    url: str = Field(description="path and query of the spectator's page")
    address: str = Field(description="url with scheme, host and port, for other devices")


class TokenPath(Wire):
    """A token."""

    token: str


class RevokeAnswer(Wire):
    """Whether the token was valid until now."""

    revoked: bool


@routes.post("/spectator/token", alone=True, errors=(TooManyTokens, *WRITE_ERRORS))
async def issue_token(request: web.Request, *, body: TokenRequest) -> Reply[TokenAnswer]:
    """Issue a token with which others can watch a session for a limited time."""
    issued = await request.app[SERVICE].spectators.issue(body.session_id, body.ttl_s)
    address = _make_address(request, issued.session_id, issued.token)
    answer = TokenAnswer.of(issued, url=address.raw_path_qs, address=str(address))
    return Reply(answer, headers=PRIVATE)


@routes.delete("/spectator/token/{token}", secret_path=True, errors=WRITE_ERRORS)
async def revoke_token(request: web.Request, *, path: TokenPath) -> RevokeAnswer:
    """Revoke a token; streams opened with it end."""
    return RevokeAnswer(revoked=await request.app[SERVICE].spectators.revoke(path.token))


@routes.get(PAGE, text="text/html", errors=(BadToken, TokenScope))
async def watch(
    request: web.Request,
    *,
    path: SessionPath,  # noqa: ARG001 - checked with the token
) -> web.StreamResponse:
    """Show the session live, for the token in the page's address."""
    return _make_page(request, "spectator") if GRANT in request else _answer_refused(request, PAGE)


@routes.get(CODE, text="image/svg+xml", errors=(BadToken, TokenScope))
async def code(request: web.Request, *, path: SessionPath) -> web.StreamResponse:
    """Return the page's address as a QR code, for the camera of another phone."""
    if GRANT not in request:
        raise BadToken
    address = _make_address(request, path.sid, _read_token(request) or "")
    svg = await asyncio.to_thread(_draw_code, str(address))
    return web.Response(body=svg, content_type="image/svg+xml", headers=PRIVATE)


@routes.get(MANIFEST, text="application/manifest+json", errors=(BadToken, TokenScope))
async def manifest(request: web.Request, *, path: SessionPath) -> web.StreamResponse:
    """Return the web app manifest, with which a phone keeps the page on its home screen."""
    if GRANT not in request:
        raise BadToken
    address = _make_address(request, path.sid, _read_token(request) or "")
    about = {
        "name": f"Paddock: {path.sid}",
        "short_name": "Paddock",
        "start_url": address.raw_path_qs,
        "scope": "/spectator/",
        "display": "standalone",
        "icons": [{"src": FILES.address("icon.svg"), "sizes": "any", "type": "image/svg+xml"}],
    }
    return web.json_response(about, content_type="application/manifest+json", headers=PRIVATE)


def make_spectator_app(service: Service, groups: Iterable[Routes], host: str) -> web.Application:
    """Build an application of those routes of *groups* that spectators may request with a token.

    It uses *service* without starting or stopping it. *host* is its listening address.
    """
    app = web.Application()
    app[SERVICE] = service
    settings = service.settings
    hosts = HostPolicy.bound_to(
        host,
        allowed_hosts=settings.allowed_hosts,
        origins=settings.cors_origins,
        pages=PAGES,
    )
    install(app, Door(render=render, hosts=hosts, admit=_admit))
    allowed = Routes(routes.tag)
    allowed.routes = [
        route
        for group in groups
        for route in group.routes
        if route.method == "GET" and route.path in WATCHED
    ]
    mount(app, allowed)
    app.router.add_route("*", "/{rest:.*}", _refuse_path)
    app.on_response_prepare.append(_add_private_headers)
    return app


@asynccontextmanager
async def serve_spectators(
    service: Service, groups: Iterable[Routes], host: str, port: int, main: Lifecycle
) -> AsyncIterator[Running]:
    """Serve spectators on their own listener until the block ends or *main* drains.

    Raises `CannotBind`.
    """
    app = make_spectator_app(service, groups, host)
    with bind(host, port, "spectator_port", BIND_CODES) as listener:
        async with serving(app, listener, limits=LIMITS) as running:
            follower = _Follower(app[LIFECYCLE])
            main.streams.add(follower)
            service.spectators.port = running.port
            service.spectators.lan = not is_loopback(host)
            log.info("spectator listener on port %d", running.port)
            try:
                yield running
            finally:
                service.spectators.port = None
                main.streams.discard(follower)


class _Follower:
    """Ends the spectators' streams when the main listener starts to drain."""

    ends_on_drain = True

    def __init__(self, life: Lifecycle) -> None:
        self._life = life

    def close(self) -> None:
        """See `OpenStream`."""
        self._life.drain()


def _admit(request: web.Request, route: Route | None) -> web.StreamResponse | None:
    """Require a token that allows the request; files of pages hold no data."""
    if route is not None and route.path == FILE:
        return None
    if (grant := _find_grant(request)) is None:
        return _answer_refused(request, route.path if route else None)
    if route is None or route.method != "GET" or route.path not in WATCHED:
        raise TokenScope
    sessions = request.query.getall("session_id", [])
    if (sid := request.match_info.get("sid")) is not None:
        sessions = [*sessions, sid]
    if any(name != grant.session_id for name in sessions):
        raise TokenScope
    request[GRANT] = grant
    return None


def check_token(request: web.Request, route: Route | None) -> web.StreamResponse | None:
    """Check the token of a request on the main listener, which does not require one.

    A token allows the same as on the spectators' listener, and no writes. With
    ``require_token_remote``, requests forwarded by a proxy need one.
    """
    forwarded = any(name in request.headers for name in FORWARDED)
    needed = forwarded and request.app[SERVICE].settings.require_token_remote
    presented = "token" in request.query or _has_bearer(request)
    if needed or (presented and (route is None or route.path not in OPEN)):
        return _admit(request, route)
    return None


def _find_grant(request: web.Request) -> Grant | None:
    """Look up the grant of a request's token; None without a valid one."""
    token = _read_token(request)
    return request.app[SERVICE].spectators.find_grant(token) if token else None


def _answer_refused(request: web.Request, path: str | None) -> web.StreamResponse:
    """Answer a request for a page with one that explains; for any other raise `BadToken`."""
    if path != PAGE or not asks_for_html(request):
        raise BadToken
    return _make_page(request, "refused", BadToken.status)


def _make_page(request: web.Request, name: str, status: int = 200) -> web.Response:
    """Return a page that must not be cached, as its address may contain the token."""
    response = FILES.page(request, f"{name}.html")
    response.headers.update(PRIVATE)
    if status != web.HTTPOk.status_code:
        response.set_status(status)
    return response


def _make_address(request: web.Request, sid: str, token: str) -> URL:
    """Make the page's address for other devices, on the spectators' listener if there is one."""
    page = request.url.with_path(f"/spectator/{quote(sid, safe='')}", encoded=True)
    own = request.app[SERVICE].spectators
    wire = request.get_extra_info("sockname")
    if own.port is not None and wire is not None and wire[1] != own.port:
        page = page.with_port(own.port)
        if own.lan and is_loopback(page.host or "") and (here := find_own_address()):
            page = page.with_host(here)
    return page.with_query(token=token)


def _draw_code(text: str) -> bytes:
    """Draw a QR code as SVG with its quiet zone, black on white in dark mode too."""
    picture = io.BytesIO()
    segno.make(text, micro=False).save(
        picture, kind="svg", xmldecl=False, omitsize=True, light="#fff"
    )
    return picture.getvalue()


def _has_bearer(request: web.Request) -> bool:
    schemes = (value.partition(" ")[0] for value in request.headers.getall("Authorization", []))
    return any(scheme.lower() == "bearer" for scheme in schemes)


def _read_token(request: web.Request) -> str | None:
    """Read the token from the header or, without one, from the query."""
    values = request.headers.getall("Authorization", [])
    if values:
        scheme, _, token = values[0].partition(" ")
        return token.strip() if len(values) == 1 and scheme.lower() == "bearer" else None
    tokens = request.query.getall("token", [])
    return tokens[0] if len(tokens) == 1 else None


async def _refuse_path(_request: web.Request) -> web.StreamResponse:
    """Refuse every other path."""
    raise TokenScope


async def _add_private_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Keep the token, which a page's address may contain, from caches and other sites."""
    for name, value in PRIVATE.items():
        response.headers.setdefault(name, value)
