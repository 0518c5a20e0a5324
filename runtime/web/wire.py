"""What crosses the wire: bodies read within their limits, JSON to models, models to JSON."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

import orjson
from aiohttp import web
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
JSON: Final = "application/json"
_INTEGERS: Final = (-(1 << 63), (1 << 64) - 1)
"""What a JSON number that is an integer may be, here as in the library that writes answers."""
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
        return _validate(model, raw or b"{}", whole)
    except ValidationError as exc:
        param, message = explain(model, exc)
        raise BadField(message, param=param) from exc


def _validate(model: type[M], raw: bytes, whole: dict[str, object]) -> M:
    if _LONG.search(raw):
        raw = orjson.dumps(whole)  # where integers beyond 64 bits are none
    try:
        return model.model_validate_json(raw)
    except ValidationError as exc:
        # JSON knows one kind of number, so 2.0 is an integer; the strict mode does not think so.
        if not _floats_to_integers(whole, exc):
            raise
    return model.model_validate_json(orjson.dumps(whole))


def _floats_to_integers(tree: dict[str, object], exc: ValidationError) -> bool:
    """Turn floats without a fraction into integers where those are required; whether any was."""
    changed = False
    for error in exc.errors(include_url=False):
        value = error["input"]
        if error["type"] != "int_type" or not isinstance(value, float) or not value.is_integer():
            continue
        if not _INTEGERS[0] <= int(value) <= _INTEGERS[1]:
            continue
        *path, last = error["loc"]
        at: object = tree
        for part in path:
            if isinstance(at, dict | list):
                at = _child(at, part)
        if isinstance(at, dict | list) and _child(at, last) == value:
            at[last] = int(value)  # type: ignore[index] # the loc fits the tree
            changed = True
    return changed


def _child(at: dict[str, object] | list[object], part: str | int) -> object:
    """What lies under *part*; a part that only names a branch of a union leads nowhere else."""
    if isinstance(at, dict):
        return at.get(part, at) if isinstance(part, str) else at
    return at[part] if isinstance(part, int) and part < len(at) else at


def parse_query(model: type[M], query: MultiMapping[str]) -> M:
    """The query as *model*: a names parameter at most once, unknown ones are ignored.

    Raises `BadQuery`, which names the parameter.
    """
    names = {field.alias or name for name, field in model.model_fields.items()}
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
_NAMES: Final[dict[type[BaseModel], frozenset[str]]] = {}


def _place(model: type[BaseModel], error: ErrorDetails) -> Iterator[str | int]:
    if model not in _NAMES:
        _NAMES[model] = frozenset(_names(model.model_json_schema()))
    for part in error["loc"]:
        if isinstance(part, int) or (part in _NAMES[model] and _PLAIN.fullmatch(part)):
            yield part


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
    content = request.content
    parts: list[bytes] = []
    size = 0
    async with _body_deadline(request, "the body"):
        while part := await content.readany():
            size += len(part)
            if size > cap:
                raise _too_large(cap)
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
    content = request.content
    rest = b""
    size, ended = 0, False
    while not ended:
        lines: list[bytes] = []
        async with _body_deadline(request, "a line"):
            while not lines and not ended:
                part = await content.readany()
                ended = not part
                size += len(part)
                if size > cap:
                    raise _too_large(cap)
                *lines, rest = (rest + part).split(b"\n")
                if len(rest) > LINE_CAP and not lines:
                    raise _line_too_large()
        if ended and rest:
            lines.append(rest)
        if lines:
            yield lines
        if len(rest) > LINE_CAP:
            raise _line_too_large()


async def _begin_body(request: web.Request, cap: int) -> bool:
    """Whether there is a body; checks the encoding and the length that its head declares."""
    if request.headers.get("Content-Encoding", "identity").strip().lower() not in ("identity", ""):
        raise UnsupportedEncoding("send the body as it is, without Content-Encoding")
    declared = request.content_length
    if declared is not None and declared > cap:
        raise _too_large(cap)
    if not request.can_read_body:
        return False
    await _ask_for_it(request)
    return True


@asynccontextmanager
async def _body_deadline(request: web.Request, awaited: str) -> AsyncIterator[None]:
    """Wait no longer than the deadline for what is read within, and name what is wrong with it."""
    limit_s = request.app.get(BODY_DEADLINE_S, DEADLINE_S)
    try:
        if request.content.is_eof():  # as with almost every small body: nothing to wait for
            yield
        else:
            async with asyncio.timeout(limit_s):
                yield
    except TimeoutError:
        raise RequestTimeout(
            f"{awaited} did not arrive within {limit_s:g} s", headers={"Connection": "close"}
        ) from None
    except (web.RequestPayloadError, ValueError) as exc:
        raise BadRequest("the body is badly framed", headers={"Connection": "close"}) from exc


def _too_large(cap: int) -> TooLarge:
    return TooLarge(f"the body is over {cap} bytes", headers={"Connection": "close"})


def _line_too_large() -> TooLarge:
    return TooLarge(f"a line is over {LINE_CAP} bytes", headers={"Connection": "close"})


async def wait_with_continue(request: web.Request) -> None:
    """Instead of aiohttp's own answer to ``Expect``: the go-ahead is given when a body is read.

    A client that asks first learns of a wrong key or a full queue without sending its body.
    """


async def _ask_for_it(request: web.Request) -> None:
    if request.headers.get("Expect", "").lower() == "100-continue" and request.version >= (1, 1):
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # Those bytes are no part of the answer: without this, aiohttp takes it for half sent.
        request.writer.output_size = 0
