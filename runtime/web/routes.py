"""Typed handlers on paths: the signature of a handler is its contract with the client.

A route reads and validates the inputs of its handler and turns its result into a response.
"""

import asyncio
import inspect
import re
import types
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
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

import orjson
from aiohttp import web
from multidict import MultiMapping
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from runtime.web.bodies import end_body, read_body
from runtime.web.errors import (
    ApiError,
    BadField,
    BadJson,
    BadQuery,
    NotFound,
)
from runtime.web.wire import Plain

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
R = TypeVar("R", bound=BaseModel | None)
SMALL_BODY: Final = 64 * 1024
"""Default body cap of a route, in bytes."""
_LARGE_BODY: Final = 256 * 1024
"""Larger bodies are parsed off the event loop; in bytes."""
NDJSON: Final = "application/x-ndjson"
_LEAST: Final = -(1 << 63)
_MOST: Final = (1 << 64) - 1
"""The range of integers that JSON output supports."""
_LONG: Final = re.compile(rb"[0-9]{19}")
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Reply(Generic[R]):
    """A model with its own status and headers; ``Reply[None]`` has no body."""

    model: R
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


Result = BaseModel | Reply[Any] | web.StreamResponse
Handler = Callable[..., Awaitable[Result]]
H = TypeVar("H", bound=Handler)
Hook = Callable[[web.Request], Awaitable[None]]
Cap = int | Callable[[web.Application], int]


class Options(TypedDict, total=False):
    """Options of a route beyond the signature of its handler."""

    errors: tuple[type[ApiError], ...]
    """Domain errors that the handler raises; the common ones are implied."""
    status: int
    """Status of the model in the signature; 200 if absent."""
    answers: Mapping[int, type[BaseModel] | None]
    """Further successful responses, by status."""
    stream: type[BaseModel]
    """Shape of the ``data:`` of each event; the route may answer ``text/event-stream``."""
    text: str | tuple[str, ...]
    """Media types of a response other than JSON and events, such as ``text/plain``."""
    failure: type[ApiError]
    """Error class for an unexpected failure; `Internal` if absent."""
    gated: bool
    """Whether the route requires the key; true if absent."""
    body_cap: Cap
    """Maximum bytes of a body, or a function called for each request."""
    context: Callable[[web.Request], object]
    """Returns the context for the validators of the body's model."""
    lenient_body: bool
    """An empty or malformed body counts as ``{}``."""
    lines: Handler
    """Handles requests with an NDJSON body, and reads it, instead of the handler."""
    file: str
    """The body is a file, plain or as the form part of this name; see `uploads`."""
    beside: tuple[str, ...]
    """Names of form parts that are files too, any number of each."""
    headers: Mapping[str, str]
    """Response headers of this route with their descriptions."""
    before: Hook
    """Runs after authentication and before the body is read; may raise an `ApiError`."""
    secret_path: bool
    """Whether the path contains a secret; the log then shows only its pattern."""
    quiet: bool
    """Whether successful requests are logged at debug level only, for frequent ones."""
    alone: bool
    """Whether other methods on a fixed path are refused even if a pattern also matches it."""
    summary: str
    """One line for the reference; the docstring's first line if absent."""


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """A method on a path, with everything that the reference states about it."""

    method: str
    path: str
    handler: Handler
    tag: str
    options: Options
    inputs: Mapping[str, type[BaseModel]]
    """Models by their source: ``path``, ``query``, ``body``."""
    answers: Mapping[int, type[BaseModel] | None]
    """Models of the successful responses, by status."""

    @property
    def gated(self) -> bool:
        """Whether the route requires the key."""
        return self.options.get("gated", True)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Read the inputs, run the handler, and turn its result into a response."""
        try:
            return await self._handle(request)
        finally:
            end_body(request)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        if before := self.options.get("before"):
            await before(request)
        values: dict[str, BaseModel] = {}
        # Cheap checks come first: a wrong id needs no body.
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
        make_context = self.options.get("context")
        context = make_context(request) if make_context else None
        try:
            if len(raw) > _LARGE_BODY:
                return await asyncio.to_thread(parse_body, model, raw, context)
            return parse_body(model, raw, context)
        except BadJson:
            if self.options.get("lenient_body"):
                return parse_body(model, b"")
            raise


class Routes:
    """A group of routes; *tag* is its heading in the reference."""

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

    def patch(self, path: str, **options: Unpack[Options]) -> Callable[[H], H]:
        """Answer PATCH."""
        return self._add("PATCH", path, options)

    def delete(self, path: str, **options: Unpack[Options]) -> Callable[[H], H]:
        """Answer DELETE."""
        return self._add("DELETE", path, options)

    def _add(self, method: str, path: str, options: Options) -> Callable[[H], H]:
        def register(handler: H) -> H:
            self.routes.append(_route(self.tag, method, path, handler, options))
            return handler

        return register


MOUNTED: Final = web.AppKey("mounted", dict[object, Route])
"""The routes of an application by the handler that aiohttp calls."""


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


async def wait_with_continue(request: web.Request) -> None:
    """Replace aiohttp's answer to ``Expect``: 100 Continue is sent when the body is read.

    So a client learns of a wrong key or a full queue without sending its body.
    """


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


def json_response(
    model: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """Return *model* as JSON, by alias; fields may be omitted (``Field(exclude_if=…)``)."""
    body = model.__pydantic_serializer__.to_json(model, by_alias=True)
    return json_bytes(body, status, headers)


def json_bytes(
    body: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """Return a response with a body that is already JSON."""
    named = {"Content-Type": "application/json; charset=utf-8"}
    if headers:
        named.update(headers)
    return web.Response(body=body, status=status, headers=named)


def parse_body(model: type[M], raw: bytes | bytearray, context: object = None) -> M:
    """Parse the body as *model*, whose validators get *context*; an empty body counts as ``{}``.

    Raises `BadJson` if *raw* is not a JSON object, `BadField` if a field is wrong.
    """
    try:
        whole = orjson.loads(raw) if raw else {}
    except orjson.JSONDecodeError as exc:
        # pydantic alone would let NaN, deep nesting and half surrogates pass in ignored fields.
        raise BadJson("the body is not valid JSON") from exc
    if not isinstance(whole, dict):
        raise BadJson("the body must be a JSON object")
    try:
        if issubclass(model, Plain):
            return model.model_validate(whole, context=context)
        if _LONG.search(raw):
            raw = orjson.dumps(whole)  # integers beyond 64 bits become floats
        try:
            return model.model_validate_json(raw or b"{}", context=context)
        except ValidationError as exc:
            # JSON has one kind of number, so 2.0 is an integer; strict mode disagrees.
            if all(error["type"] != "int_type" for error in exc.errors(include_url=False)):
                raise
        return model.model_validate_json(orjson.dumps(_to_integers(whole)), context=context)
    except ValidationError as exc:
        param, message = explain(model, exc)
        raise BadField(message, param=param) from exc


def _to_integers(tree: Any) -> Any:
    """Replace floats without a fraction in *tree* by integers."""
    if isinstance(tree, dict):
        return {name: _to_integers(value) for name, value in tree.items()}
    if isinstance(tree, list):
        return [_to_integers(value) for value in tree]
    if isinstance(tree, float) and tree.is_integer() and _LEAST <= int(tree) <= _MOST:
        return int(tree)
    return tree


def parse_query(model: type[M], query: MultiMapping[str]) -> M:
    """Parse the query as *model*; a repeated parameter is an error, unknown ones are ignored.

    Raises `BadQuery`, which names the parameter.
    """
    names = _parameters(model)
    values: dict[str, str] = {}
    for name, value in query.items():
        if name not in names:
            continue
        if name in values:
            raise BadQuery(f"{name}: the parameter was given more than once", param=name)
        values[name] = value
    try:
        return model.model_validate_strings(values)
    except ValidationError as exc:
        param, message = explain(model, exc)
        raise BadQuery(message, param=param) from exc


@cache
def _parameters(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(field.alias or name for name, field in model.model_fields.items())


def parse_path(model: type[M], parts: Mapping[str, str]) -> M:
    """Parse the variable parts of the path as *model*; raises `NotFound` for an impossible id."""
    try:
        return model.model_validate_strings(dict(parts))
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_input=False)[0]
        own = first["type"] == "value_error"  # the words of a validator of the model
        reason = first["msg"].removeprefix("Value error, ") if own else "no such resource"
        raise NotFound(reason) from exc


def explain(model: type[BaseModel], exc: ValidationError) -> tuple[str | None, str]:
    """Return name and message of the first problem; only names of *model* itself are repeated."""
    first = exc.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in _place(model, first))
    reason = first["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    reason = reason[:1].lower() + reason[1:]
    return (place, f"{place}: {reason}") if place else (None, reason)


def _place(model: type[BaseModel], error: ErrorDetails) -> Iterator[str | int]:
    for part in error["loc"]:
        if isinstance(part, int) or (part in _own_names(model) and _PLAIN.fullmatch(part)):
            yield part


@cache
def _own_names(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(_names(model.model_json_schema()))


def _names(schema: object) -> Iterator[str]:
    """Every property name anywhere in a JSON Schema."""
    if isinstance(schema, list):
        for item in schema:
            yield from _names(item)
    elif isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            yield from properties
        for item in schema.values():
            yield from _names(item)
