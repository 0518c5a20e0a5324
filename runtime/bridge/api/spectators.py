"""Lets others watch a session: tokens for them, and the listener that takes nothing else."""

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
"""Links on other sites may open these."""
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
"""What a spectator may see, by path pattern."""
OPEN: Final = ("/health", "/metrics", "/docs", "/openapi.json")
"""Of no session: on the main listener no token closes these, for a client may send the key of
another server everywhere."""
LIMITS: Final = Limits(connections=128, per_peer=48)
"""Apart from those of the main listener; behind a proxy all spectators have one address."""
CAREFUL: Final = {"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
log = logging.getLogger(__name__)
routes = Routes("spectator")


class BadToken(Unauthorized):
    """The token was never good, has expired or was revoked."""

    code = "bad_token"

    def __init__(self) -> None:
        super().__init__(
            "a valid token is needed: ?token=<token> or Authorization: Bearer <token>",
            headers={"WWW-Authenticate": "Bearer"},
        )


class TokenScope(Forbidden):
    """The token is for another session, or for less than this."""

    code = "token_scope"
    text = "the token is for one session, and for watching it only"


class TokenRequest(Wire):
    """Which session, and for how long."""

    session_id: SessionId
    ttl_s: Annotated[StrictInt, Field(ge=60, le=86_400, description="seconds")] = TTL_S


@fields_of(Issued)
class TokenAnswer(AnswerModel):
    """A token; it is shown this once."""

    url: str = Field(description="path and query of a spectator's page")
    address: str = Field(description="the same with scheme, host and port, for other devices")


class TokenPath(Wire):
    """A token."""

    token: str


class RevokeAnswer(Wire):
    """Whether the token was good until now."""

    revoked: bool


@routes.post("/spectator/token", alone=True, errors=(TooManyTokens, *WRITE_ERRORS))
async def issue_token(request: web.Request, *, body: TokenRequest) -> Reply[TokenAnswer]:
    """Make a token with which others can watch a session, for a while."""
    made = await request.app[SERVICE].spectators.issue(body.session_id, body.ttl_s)
    address = _address(request, made.session_id, made.token)
    made_url = address.raw_path_qs
    return Reply(TokenAnswer.of(made, url=made_url, address=str(address)), headers=CAREFUL)


@routes.delete("/spectator/token/{token}", secret_path=True, errors=WRITE_ERRORS)
async def revoke_token(request: web.Request, *, path: TokenPath) -> RevokeAnswer:
    """Make a token useless; streams that are open with it end."""
    return RevokeAnswer(revoked=await request.app[SERVICE].spectators.revoke(path.token))


@routes.get(PAGE, text="text/html", errors=(BadToken, TokenScope))
async def watch(
    request: web.Request,
    *,
    path: SessionPath,  # noqa: ARG001 - judged with the token
) -> web.StreamResponse:
    """A page that shows the session live, for the token in its address."""
    return _page(request, "spectator") if GRANT in request else _refused(request, PAGE)


@routes.get(CODE, text="image/svg+xml", errors=(BadToken, TokenScope))
async def code(request: web.Request, *, path: SessionPath) -> web.StreamResponse:
    """The address of the page as a QR code, for the camera of another phone."""
    if GRANT not in request:
        raise BadToken
    address = _address(request, path.sid, _offered(request) or "")
    svg = await asyncio.to_thread(_draw_code, str(address))
    return web.Response(body=svg, content_type="image/svg+xml", headers=CAREFUL)


@routes.get(MANIFEST, text="application/manifest+json", errors=(BadToken, TokenScope))
async def manifest(request: web.Request, *, path: SessionPath) -> web.StreamResponse:
    """What a phone needs to keep the page on its home screen."""
    if GRANT not in request:
        raise BadToken
    address = _address(request, path.sid, _offered(request) or "")
    about = {
        "name": f"Paddock: {path.sid}",
        "short_name": "Paddock",
        "start_url": address.raw_path_qs,
        "scope": "/spectator/",
        "display": "standalone",
        "icons": [{"src": FILES.address("icon.svg"), "sizes": "any", "type": "image/svg+xml"}],
    }
    return web.json_response(about, content_type="application/manifest+json", headers=CAREFUL)


def make_spectator_app(service: Service, groups: Iterable[Routes], host: str) -> web.Application:
    """An application of those routes of *groups* that spectators may see, behind tokens.

    It uses *service* and neither starts nor stops it. *host* is where it will listen.
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
    seen = Routes(routes.tag)
    seen.routes = [
        route
        for group in groups
        for route in group.routes
        if route.method == "GET" and route.path in WATCHED
    ]
    mount(app, seen)
    app.router.add_route("*", "/{rest:.*}", _nothing)
    app.on_response_prepare.append(_careful)
    return app


@asynccontextmanager
async def spectating(
    service: Service, groups: Iterable[Routes], host: str, port: int, main: Lifecycle
) -> AsyncIterator[Running]:
    """Spectators are let in on a listener of their own until the block ends or *main* drains.

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
    """Ends the spectators' streams when the main listener begins to end."""

    ends_on_drain = True

    def __init__(self, life: Lifecycle) -> None:
        self._life = life

    def close(self) -> None:
        """See `OpenStream`."""
        self._life.drain()


def _admit(request: web.Request, route: Route | None) -> web.StreamResponse | None:
    """Ask for a token, and see that it is for what is asked for; files of pages hold no data."""
    if route is not None and route.path == FILE:
        return None
    if (grant := _granted(request)) is None:
        return _refused(request, route.path if route else None)
    if route is None or route.method != "GET" or route.path not in WATCHED:
        raise TokenScope
    asked = request.query.getall("session_id", [])
    if (sid := request.match_info.get("sid")) is not None:
        asked = [*asked, sid]
    if any(name != grant.session_id for name in asked):
        raise TokenScope
    request[GRANT] = grant
    return None


def check_token(request: web.Request, route: Route | None) -> web.StreamResponse | None:
    """On the main listener: no token is needed, but one that is presented is judged.

    It opens what it opens on the spectators' listener, and nothing is written with it. With
    ``require_token_remote`` what a proxy forwards needs one.
    """
    forwarded = any(name in request.headers for name in FORWARDED)
    needed = forwarded and request.app[SERVICE].settings.require_token_remote
    presented = "token" in request.query or _has_bearer(request)
    if needed or (presented and (route is None or route.path not in OPEN)):
        return _admit(request, route)
    return None


def _granted(request: web.Request) -> Grant | None:
    """What the token of a request allows; None where it has none that is good."""
    offered = _offered(request)
    return request.app[SERVICE].spectators.grant(offered) if offered else None


def _refused(request: web.Request, path: str | None) -> web.StreamResponse:
    """A page that says so, to who asked for one; to programs `BadToken` is raised."""
    if path != PAGE or not asks_for_html(request):
        raise BadToken
    return _page(request, "refused", BadToken.status)


def _page(request: web.Request, name: str, status: int = 200) -> web.Response:
    """A page of ours; its address may hold the token, so nobody keeps it."""
    response = FILES.page(request, f"{name}.html")
    response.headers.update(CAREFUL)
    if status != web.HTTPOk.status_code:
        response.set_status(status)
    return response


def _address(request: web.Request, sid: str, token: str) -> URL:
    """Where others open the page: on the spectators' listener, where there is one."""
    page = request.url.with_path(f"/spectator/{quote(sid, safe='')}", encoded=True)
    own = request.app[SERVICE].spectators
    wire = request.get_extra_info("sockname")
    if own.port is not None and wire is not None and wire[1] != own.port:
        page = page.with_port(own.port)
        if own.lan and is_loopback(page.host or "") and (here := find_own_address()):
            page = page.with_host(here)
    return page.with_query(token=token)


def _draw_code(text: str) -> bytes:
    """A QR code as SVG, with the quiet zone around it; black on white in dark rooms too."""
    picture = io.BytesIO()
    segno.make(text, micro=False).save(
        picture, kind="svg", xmldecl=False, omitsize=True, light="#fff"
    )
    return picture.getvalue()


def _has_bearer(request: web.Request) -> bool:
    schemes = (given.partition(" ")[0] for given in request.headers.getall("Authorization", []))
    return any(scheme.lower() == "bearer" for scheme in schemes)


def _offered(request: web.Request) -> str | None:
    """The token of the header or, where there is none, of the query."""
    given = request.headers.getall("Authorization", [])
    if given:
        scheme, _, token = given[0].partition(" ")
        return token.strip() if len(given) == 1 and scheme.lower() == "bearer" else None
    tokens = request.query.getall("token", [])
    return tokens[0] if len(tokens) == 1 else None


async def _nothing(_request: web.Request) -> web.StreamResponse:
    """Whatever spectators have no business with."""
    raise TokenScope


async def _careful(_request: web.Request, response: web.StreamResponse) -> None:
    """The address of a page may hold the token, which other sites shall not see."""
    for name, value in CAREFUL.items():
        response.headers.setdefault(name, value)
