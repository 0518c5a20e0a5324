"""Typed handlers on paths: the signature of a handler is its contract with the client."""

import asyncio
import inspect
import types
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import (
    Any,
    Final,
    Generic,
    TypedDict,
    TypeGuard,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
)

from aiohttp import web
from pydantic import BaseModel

from runtime.web.errors import ApiError, BadJson
from runtime.web.wire import (
    NDJSON,
    json_response,
    parse_body,
    parse_path,
    parse_query,
    read_body,
    wait_with_continue,
)

R = TypeVar("R", bound=BaseModel | None)
SMALL_BODY: Final = 64 * 1024
"""Body cap in bytes of a route that names none."""
_LARGE_BODY: Final = 256 * 1024
"""Bytes from which a body is parsed off the event loop."""


@dataclass(frozen=True, slots=True)
class Reply(Generic[R]):
    """A model with a status and headers of its own; ``Reply[None]`` has no body."""

    model: R
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Result = BaseModel | Reply[Any] | web.StreamResponse
Handler = Callable[..., Awaitable[Result]]
H = TypeVar("H", bound=Handler)
Hook = Callable[[web.Request], Awaitable[None]]
Cap = int | Callable[[web.Application], int]


class Options(TypedDict, total=False):
    """What a decorator may say about a route beyond the handler's signature."""

    errors: tuple[type[ApiError], ...]
    """Errors of the domain that the handler raises; the common ones need no mention."""
    status: int
    """Status of the model that the signature names; 200 if absent."""
    answers: Mapping[int, type[BaseModel] | None]
    """Further answers that are no errors, by status."""
    stream: type[BaseModel]
    """Shape of the ``data:`` of each event; the route may answer ``text/event-stream``."""
    text: str
    """Media type of an answer that is neither JSON nor events, such as ``text/plain``."""
    failure: type[ApiError]
    """Class of the answer to an unexpected failure; `Internal` if absent."""
    gated: bool
    """Whether the key is asked for; true if absent."""
    body_cap: Cap
    """Bytes a body may have; a function is asked at each request."""
    lenient_body: bool
    """An empty or malformed body counts as ``{}``."""
    lines: Handler
    """Takes the request in place of the handler, and reads its body, where that is NDJSON."""
    headers: Mapping[str, str]
    """Names of response headers of this route with what they say."""
    before: Hook
    """Runs after authentication and before the body is read; may raise an `ApiError`."""
    secret_path: bool
    """Whether the path carries a secret: the log then shows its pattern."""
    quiet: bool
    """Whether requests that succeed are logged at debug only: for those that come all the time."""
    alone: bool
    """Whether other methods on a fixed path are refused, though a pattern would fit it too."""
    summary: str
    """One line for the reference; the docstring's first line if absent."""


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """One method on one path, with everything that the reference states about it."""

    method: str
    path: str
    handler: Handler
    tag: str
    options: Options
    inputs: Mapping[str, type[BaseModel]]
    """Models by where they are read from: ``path``, ``query``, ``body``."""
    answers: Mapping[int, type[BaseModel] | None]
    """Models of the answers that are no errors, by status."""

    @property
    def gated(self) -> bool:
        """Whether the route asks for the key."""
        return self.options.get("gated", True)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Read what the handler asks for, run it, turn its result into an answer."""
        if before := self.options.get("before"):
            await before(request)
        values: dict[str, BaseModel] = {}
        # The cheap checks come first: a wrong id needs no body.
        if model := self.inputs.get("path"):
            values["path"] = parse_path(model, request.match_info)
        if model := self.inputs.get("query"):
            values["query"] = parse_query(model, request.query)
        handler = self.handler
        if "lines" in self.options and request.content_type == NDJSON:
            handler = self.options["lines"]
        elif model := self.inputs.get("body"):
            values["body"] = await self._body(model, request)
        if request.method == "HEAD" and "stream" in self.options:
            return web.Response(headers={"Content-Type": "text/event-stream"})
        result = await handler(request, **values)
        if isinstance(result, web.StreamResponse):
            return result
        if isinstance(result, Reply):
            if result.model is None:
                return web.Response(status=result.status, headers=result.headers)
            return json_response(result.model, result.status, result.headers)
        return json_response(result, self.options.get("status", 200))

    async def _body(self, model: type[BaseModel], request: web.Request) -> BaseModel:
        cap = self.options.get("body_cap", SMALL_BODY)
        raw = await read_body(request, cap if isinstance(cap, int) else cap(request.app))
        try:
            if len(raw) > _LARGE_BODY:
                return await asyncio.to_thread(parse_body, model, raw)
            return parse_body(model, raw)
        except BadJson:
            if self.options.get("lenient_body"):
                return parse_body(model, b"")
            raise


class Routes:
    """Routes that belong together; *tag* is their heading in the reference."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.routes: list[Route] = []

    def get(self, path: str, **options: Unpack[Options]) -> Callable[[H], H]:
        """Answer GET, and HEAD without a body."""
        return self._add("GET", path, options)

    def post(self, path: str, **options: Unpack[Options]) -> Callable[[H], H]:
        """Answer POST."""
        return self._add("POST", path, options)

    def put(self, path: str, **options: Unpack[Options]) -> Callable[[H], H]:
        """Answer PUT."""
        return self._add("PUT", path, options)

    def delete(self, path: str, **options: Unpack[Options]) -> Callable[[H], H]:
        """Answer DELETE."""
        return self._add("DELETE", path, options)

    def _add(self, method: str, path: str, options: Options) -> Callable[[H], H]:
        def register(handler: H) -> H:
            self.routes.append(_route(self.tag, method, path, handler, options))
            return handler

        return register


MOUNTED: Final = web.AppKey("mounted", dict[object, Route])
"""The routes of an application by the function that aiohttp calls."""


def mount(app: web.Application, *groups: Routes) -> None:
    """Register every route of *groups*; GET routes answer HEAD too."""
    mounted = app.setdefault(MOUNTED, {})
    for route in (route for group in groups for route in group.routes):
        handle = route.handle
        mounted[handle] = route
        methods = ("GET", "HEAD") if route.method == "GET" else (route.method,)
        for method in methods:
            app.router.add_route(method, route.path, handle, expect_handler=wait_with_continue)
        if route.options.get("alone"):
            refuse = _refusing(methods)
            app.router.add_route("*", route.path, refuse, expect_handler=wait_with_continue)


def _refusing(allowed: tuple[str, ...]) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def refuse(request: web.Request) -> web.StreamResponse:
        raise web.HTTPMethodNotAllowed(request.method, allowed)

    return refuse


def _route(tag: str, method: str, path: str, handler: Handler, options: Options) -> Route:
    hints = get_type_hints(handler)
    inputs: dict[str, type[BaseModel]] = {}
    for name in list(inspect.signature(handler).parameters)[1:]:
        model = hints.get(name)
        if name not in ("path", "query", "body") or not _is_model(model):
            raise TypeError(f"{handler.__qualname__}: {name} must be path, query or body: a model")
        inputs[name] = model
    answers: dict[int, type[BaseModel] | None] = {}
    for part in _parts(hints.get("return")):
        model = get_args(part)[0] if get_origin(part) is Reply else part
        if _is_model(model):
            answers[options.get("status", 200)] = model
        elif get_origin(part) is Reply:
            answers[options.get("status", 204)] = None
    answers.update(options.get("answers", {}))
    return Route(method, path, handler, tag, options, inputs, answers)


def _parts(hint: object) -> tuple[object, ...]:
    return get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)


def _is_model(hint: object) -> TypeGuard[type[BaseModel]]:
    return isinstance(hint, type) and issubclass(hint, BaseModel)
