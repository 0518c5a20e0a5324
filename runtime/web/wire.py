"""What crosses the wire: bodies read within their limits, JSON to models, models to JSON."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from functools import cache
from typing import Any, Final, TypeVar

import orjson
from aiohttp import StreamReader, web
from multidict import MultiMapping
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from runtime.web.errors import (
    BadField,
    BadJson,
    BadQuery,
    BadRequest,
    NotFound,
    RequestTimeout,
    TooLarge,
    UnsupportedEncoding,
)

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")
JSON: Final = "application/json"
_LEAST: Final = -(1 << 63)
_MOST: Final = (1 << 64) - 1
"""Up to which integers are written to JSON."""
_LONG: Final = re.compile(rb"[0-9]{19}")
DEADLINE_S: Final = 30.0
"""Seconds in which a body must have arrived completely."""
BODY_DEADLINE_S: Final = web.AppKey("body_deadline_s", float)
"""An application's own deadline; `DEADLINE_S` where it sets none."""
NDJSON: Final = "application/x-ndjson"
LINE_CAP: Final = 1 << 20
"""Bytes of one line of a body that is read line by line."""


class Wire(BaseModel):
    """What crosses the wire: unknown fields are ignored, NaN and infinity never pass.

    Values are taken strictly: ``"1"`` is no number. ``Field(strict=False)`` loosens one field.
    """

    model_config = ConfigDict(
        extra="ignore", frozen=True, allow_inf_nan=False, strict=True, protected_namespaces=()
    )


def absent(description: str = "") -> Any:
    """An optional field that is left out of the answer while it is None."""
    return Field(None, description=description or None, exclude_if=_is_none)


def _is_none(value: object) -> bool:
    return value is None


class Plain(Wire):
    """For large bodies: fields are `Any` and texts only; what was parsed is not copied."""


def json_response(
    model: BaseModel, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """*model* as JSON, by alias; fields may leave themselves out (``Field(exclude_if=…)``)."""
    body = model.__pydantic_serializer__.to_json(model, by_alias=True)
    return json_bytes(body, status, headers)


def json_bytes(
    body: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """An answer that is JSON already."""
    named = {"Content-Type": "application/json; charset=utf-8"}
    if headers:
        named.update(headers)
    return web.Response(body=body, status=status, headers=named)


def parse_body(model: type[M], raw: bytes) -> M:
    """The body as *model*; an empty body counts as ``{}``.

    Raises `BadJson` when *raw* is no JSON object, `BadField` when a field is wrong.
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
            return model.model_validate(whole)
        if _LONG.search(raw):
            raw = orjson.dumps(whole)  # where integers beyond 64 bits are none
        try:
            return model.model_validate_json(raw or b"{}")
        except ValidationError as exc:
            # JSON knows one kind of number, so 2.0 is an integer; the strict mode does not agree.
            if all(error["type"] != "int_type" for error in exc.errors(include_url=False)):
                raise
        return model.model_validate_json(orjson.dumps(_to_integers(whole)))
    except ValidationError as exc:
        param, message = explain(model, exc)
        raise BadField(message, param=param) from exc


def _to_integers(tree: Any) -> Any:
    """*tree* with integers in place of the floats that have no fraction."""
    if isinstance(tree, dict):
        return {name: _to_integers(value) for name, value in tree.items()}
    if isinstance(tree, list):
        return [_to_integers(value) for value in tree]
    if isinstance(tree, float) and tree.is_integer() and _LEAST <= int(tree) <= _MOST:
        return int(tree)
    return tree


def parse_query(model: type[M], query: MultiMapping[str]) -> M:
    """The query as *model*: a names parameter at most once, unknown ones are ignored.

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
    """The variable parts of the path as *model*; raises `NotFound` for an id that cannot exist."""
    try:
        return model.model_validate_strings(dict(parts))
    except ValidationError as exc:
        raise NotFound("there is no such thing") from exc


def explain(model: type[BaseModel], exc: ValidationError) -> tuple[str | None, str]:
    """Name and wording of the first problem; only names that *model* itself has are repeated."""
    first = exc.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in _place(model, first))
    reason = first["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    reason = reason[:1].lower() + reason[1:]
    return (place, f"{place}: {reason}") if place else (None, reason)


_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


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


# --- bodies


async def read_body(request: web.Request, cap: int) -> bytes:
    """The body, at most *cap* bytes of it, whatever its framing claims.

    Raises `UnsupportedEncoding`, `TooLarge`, `RequestTimeout` or, for broken framing, `BadRequest`.
    """
    if not await _begin_body(request, cap):
        return b""
    return await _in_time(request, "the body", _whole(request.content, cap))


async def _whole(content: StreamReader, cap: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := await content.readany():
        size += len(part)
        if size > cap:
            raise _too_large(f"the body is over {cap} bytes")
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def read_lines(request: web.Request, cap: int) -> AsyncIterator[list[bytes]]:
    """The lines of the body without their ends, those that have arrived together as one list.

    Each line must be complete within the deadline that a whole body has elsewhere. What follows
    the last line end is a line too, unless the client has left before the end of the body. Raises
    like `read_body`.
    """
    if not await _begin_body(request, cap):
        return
    rest, size, ended = b"", 0, False

    async def next_lines() -> list[bytes]:
        nonlocal rest, size, ended
        lines: list[bytes] = []
        while not lines and not ended:
            part = await request.content.readany()
            ended = not part
            size += len(part)
            if size > cap:
                raise _too_large(f"the body is over {cap} bytes")
            *lines, rest = (rest + part).split(b"\n")
            if len(rest) > LINE_CAP and not lines:
                raise _too_large(f"a line is over {LINE_CAP} bytes")
        return [*lines, rest] if ended and rest else lines

    while not ended:
        if lines := await _in_time(request, "a line", next_lines()):
            yield lines
        if len(rest) > LINE_CAP:
            raise _too_large(f"a line is over {LINE_CAP} bytes")


async def _begin_body(request: web.Request, cap: int) -> bool:
    """Whether there is a body; checks the encoding and the length that its head declares."""
    headers = request.headers
    if headers.get("Content-Encoding", "identity").strip().lower() not in ("identity", ""):
        raise UnsupportedEncoding("send the body as it is, without Content-Encoding")
    if int(headers.get("Content-Length", "0")) > cap:
        raise _too_large(f"the body is over {cap} bytes")
    if not request.can_read_body:
        return False
    if headers.get("Expect", "").lower() == "100-continue" and request.version >= (1, 1):
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # Those bytes are no part of the answer: without this, aiohttp takes it for half sent.
        request.writer.output_size = 0
    return True


async def _in_time(request: web.Request, awaited: str, reading: Awaitable[T]) -> T:
    """The result of *reading*, for which no longer is waited than the deadline."""
    limit_s = request.app.get(BODY_DEADLINE_S, DEADLINE_S)
    try:
        if request.content.is_eof():  # as with almost every small body: nothing to wait for
            return await reading
        async with asyncio.timeout(limit_s):
            return await reading
    except TimeoutError:
        raise RequestTimeout(
            f"{awaited} did not arrive within {limit_s:g} s", headers={"Connection": "close"}
        ) from None
    except (web.RequestPayloadError, ValueError) as exc:
        raise BadRequest("the body is badly framed", headers={"Connection": "close"}) from exc


def _too_large(message: str) -> TooLarge:
    return TooLarge(message, headers={"Connection": "close"})


async def wait_with_continue(request: web.Request) -> None:
    """Instead of aiohttp's own answer to ``Expect``: the go-ahead is given when a body is read.

    A client that asks first learns of a wrong key or a full queue without sending its body.
    """
