"""The OpenAPI 3.1 description of a server, generated from its routes."""

import ast
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from typing import Any, Final, Literal

from aiohttp import web
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, models_json_schema

from runtime.web.bodies import NoRoom
from runtime.web.door import Render
from runtime.web.errors import (
    ApiError,
    BadRequest,
    Forbidden,
    NotFound,
    RequestTimeout,
    ShuttingDown,
    TooLarge,
    Unauthorized,
    UnsupportedEncoding,
)
from runtime.web.routes import NDJSON, Route, Routes, json_bytes, mount

Json = dict[str, Any]
Mode = Literal["validation", "serialization"]
Key = tuple[type[BaseModel], Mode]
_REF: Final = "#/components/schemas/{model}"
_PHRASES: Final = {200: "OK", 201: "Created", 202: "Accepted", 204: "No content"}
_NEEDING: Final = ("required", "anyOf", "oneOf")
"""Schema keys that make a request body required."""
_RETRY: Final = {"schema": {"type": "string"}, "description": "Seconds to wait"}
_CHALLENGE: Final = {"schema": {"type": "string"}, "description": "Always `Bearer`"}


def describe(
    title: str,
    version: str,
    groups: Iterable[Routes],
    *,
    error_model: type[BaseModel],
    render: Render,
    description: str = "",
) -> Json:
    """Return the whole document; the same routes always give the same bytes."""
    routes = [route for group in (*groups, REFERENCE) for route in group.routes]
    refs, schemas = _schemas(routes, error_model)
    paths: Json = {}
    seen: set[str] = set()
    for route in routes:
        operation = _operation(route, refs, schemas, _failures(route, refs, error_model, render))
        if operation["operationId"] in seen:
            raise ValueError(f"two handlers are called {operation['operationId']}")
        seen.add(operation["operationId"])
        path = re.sub(r"\{(\w+):[^{}]*\}", r"{\1}", route.path)
        paths.setdefault(path, {})[route.method.lower()] = operation
    info = {"title": title, "version": version}
    if description:
        info["description"] = description
    tags = sorted({route.tag for route in routes})
    document: Json = {
        "openapi": "3.1.0",
        "info": info,
        "tags": [{"name": tag} for tag in tags],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }
    document["components"]["schemas"] = _select_used_schemas(document, schemas)
    return document


def dump(document: Json) -> str:
    """Format the document as a file: sorted, indented, one line break at the end."""
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


REFERENCE: Final = Routes("reference")


_DOCUMENT: Final[web.AppKey[Callable[[], bytes]]] = web.AppKey("openapi")


@REFERENCE.get("/openapi.json", text="application/json")
async def openapi_document(request: web.Request) -> web.StreamResponse:
    """This description."""
    return json_bytes(request.app[_DOCUMENT]())


def publish(app: web.Application, description: Callable[[], Json]) -> None:
    """Serve the result of *description* at ``/openapi.json``.

    It is generated at the first request, since that takes longer than the rest of a start.
    """
    document: Callable[[], bytes] = cache(lambda: dump(description()).encode())
    app[_DOCUMENT] = document
    mount(app, REFERENCE)


def common_errors(route: Route) -> Iterator[type[ApiError]]:
    """Yield the errors that the framework itself may answer on *route*."""
    yield BadRequest
    if route.gated:
        yield Unauthorized
    yield Forbidden
    if "path" in route.inputs:
        yield NotFound
    if "body" in route.inputs or "file" in route.options:
        yield from (RequestTimeout, TooLarge, UnsupportedEncoding, NoRoom)
    yield ApiError
    yield ShuttingDown


def _schemas(routes: list[Route], error_model: type[BaseModel]) -> tuple[dict[Key, Json], Json]:
    """Return references by model and direction, and the components they point to."""
    wanted: dict[Key, None] = {(error_model, "serialization"): None}
    for route in routes:
        for model in route.inputs.values():
            wanted[model, "validation"] = None
        for answer in (*route.answers.values(), route.options.get("stream")):
            if answer is not None:
                wanted[answer, "serialization"] = None
    refs, top = models_json_schema(
        list(wanted), ref_template=_REF, schema_generator=_WithDocstrings
    )
    return {key: refs[key] for key in wanted}, top.get("$defs", {})


class _WithDocstrings(GenerateJsonSchema):
    """Describes a property by the docstring below its field.

    pydantic can do this itself (`use_attribute_docstrings`), but reads the sources when a model is
    first used, which costs 20 ms for each response model.
    """

    def model_schema(self, schema: Any) -> Json:
        """Return the schema of a model."""
        made = super().model_schema(schema)
        fields = schema["cls"].model_fields
        names = {name: field.serialization_alias or name for name, field in fields.items()}
        return _add_descriptions(made, schema["cls"], names)

    def default_schema(self, schema: Any) -> Json:
        """Return the schema of a field with a default, without null if the field cannot be null."""
        made = super().default_schema(schema)
        if made.get("default", "") is None and made.get("type", "null") != "null":
            del made["default"]
        return made

    def dataclass_schema(self, schema: Any) -> Json:
        """Return the schema of a dataclass."""
        return _add_descriptions(super().dataclass_schema(schema), schema["cls"], {})


def _add_descriptions(schema: Json, of: type, names: dict[str, str]) -> Json:
    properties = schema.get("properties", {})
    for part in of.__mro__:
        for name, text in docstrings(part).items():
            if (entry := properties.get(names.get(name, name))) is not None:
                entry.setdefault("description", text)
    return schema


@cache
def docstrings(value: type) -> dict[str, str]:
    """Return the docstring below each field of a class, as one line."""
    of = _classes(value.__module__).get(value.__name__)
    return {
        field.target.id: " ".join(text.value.value.split())
        for field, text in pairwise(of.body if of else ())
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(text, ast.Expr)
        and isinstance(text.value, ast.Constant)
        and isinstance(text.value.value, str)
    }


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    try:
        tree = ast.parse(inspect.getsource(sys.modules[module]))
    except (OSError, TypeError):  # built in, or without sources
        return {}
    return {part.name: part for part in tree.body if isinstance(part, ast.ClassDef)}


def _operation(route: Route, refs: dict[Key, Json], schemas: Json, failures: Json) -> Json:
    summary, _, rest = inspect.cleandoc(route.handler.__doc__ or "").partition("\n\n")
    operation: Json = {
        "operationId": getattr(route.handler, "__name__", route.path),
        "tags": [route.tag],
        "summary": route.options.get("summary", " ".join(summary.split())),
        "responses": _join(_answers(route, refs), failures),
    }
    if rest:
        operation["description"] = rest
    if parameters := list(_parameters(route, refs, schemas)):
        operation["parameters"] = parameters
    if model := route.inputs.get("body"):
        ref = refs[model, "validation"]
        operation["requestBody"] = {
            "required": not _component(ref, schemas).keys().isdisjoint(_NEEDING),
            "content": {"application/json": {"schema": ref}},
        }
        if lines := route.options.get("lines"):
            text = inspect.cleandoc(lines.__doc__ or "")
            operation["requestBody"]["content"][NDJSON] = {
                "schema": {"type": "string", "description": text}
            }
        if route.options.get("lenient_body"):
            text = "A body that is empty or no JSON object counts as `{}`."
            operation["requestBody"]["description"] = text
    if part := route.options.get("file"):
        file = {"type": "string", "format": "binary"}
        more = {name: {"type": "array", "items": file} for name in route.options.get("beside", ())}
        form = {"type": "object", "properties": {part: file} | more, "required": [part]}
        operation["requestBody"] = {
            "required": True,
            "content": {
                "application/octet-stream": {"schema": file},
                "multipart/form-data": {"schema": form},
            },
        }
    if route.gated:
        # Without a key in the settings everything is open; hence the second entry.
        operation["security"] = [{"bearer": []}, {}]
    return operation


def _component(ref: Json, schemas: Json) -> Json:
    component: Json = schemas[ref["$ref"].rpartition("/")[2]]
    return component


def _parameters(route: Route, refs: dict[Key, Json], schemas: Json) -> Iterator[Json]:
    for where in ("path", "query"):
        if (model := route.inputs.get(where)) is None:
            continue
        schema = _component(refs[model, "validation"], schemas)
        for name, entry in schema.get("properties", {}).items():
            shape = {key: entry[key] for key in entry if key not in ("description", "title")}
            parameter: Json = {"name": name, "in": where, "schema": shape}
            parameter["required"] = where == "path" or name in schema.get("required", ())
            if "description" in entry:
                parameter["description"] = entry["description"]
            yield parameter


def _answers(route: Route, refs: dict[Key, Json]) -> Json:
    answers: Json = {}
    for status, model in (route.answers or {200: None}).items():
        answer = answers[str(status)] = _bare(status)
        if model is not None:
            answer["content"] = {"application/json": {"schema": refs[model, "serialization"]}}
    if stream := route.options.get("stream"):
        # Before OpenAPI 3.2 the schema of an event stream is that of one event.
        data = {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": refs[stream, "serialization"],
        }
        shape = {"type": "object", "properties": {"data": data}, "required": ["data"]}
        content = answers.setdefault("200", _bare(200)).setdefault("content", {})
        content["text/event-stream"] = {"schema": shape}
    text = route.options.get("text", ())
    for kind in (text,) if isinstance(text, str) else text:
        shape = {} if kind == "application/json" else {"type": "string"}
        answers.setdefault("200", _bare(200)).setdefault("content", {})[kind] = {"schema": shape}
    headers = {
        name: {"schema": {"type": "string"}, "description": text}
        for name, text in route.options.get("headers", {}).items()
    }
    return {
        status: answer | ({"headers": headers} if headers else {})
        for status, answer in answers.items()
    }


def _bare(status: int) -> Json:
    return {"description": _PHRASES.get(status, "Answer")}


def _join(answers: Json, failures: Json) -> Json:
    """Merge both; a status in both has either of the two bodies."""
    both = {**answers, **failures}
    for status in answers.keys() & failures.keys():
        own, error = (
            part[status].get("content", {}).get("application/json") for part in (answers, failures)
        )
        if own is not None and error is not None:
            schema = {"anyOf": [own["schema"], error["schema"]]}
            content = {"application/json": {**error, "schema": schema}}
            both[status] = {**failures[status], "content": content}
    return both


def _failures(
    route: Route, refs: dict[Key, Json], error_model: type[BaseModel], render: Render
) -> Json:
    by_status: dict[int, list[type[ApiError]]] = {}
    for error in (*common_errors(route), *route.options.get("errors", ())):
        same = by_status.setdefault(error.status, [])
        if error not in same:
            same.append(error)
    failures: Json = {}
    for status, classes in sorted(by_status.items()):
        content: Json = {"schema": refs[error_model, "serialization"]}
        examples = {c.__name__: {"value": e} for c in classes if (e := _example(c, render))}
        if examples:
            content["examples"] = examples
        failure: Json = {
            "description": " ".join(_first_line(c) for c in classes),
            "content": {"application/json": content},
        }
        if status in (429, 503):
            failure["headers"] = {"Retry-After": _RETRY}
        if status == 401:
            failure["headers"] = {"WWW-Authenticate": _CHALLENGE}
        failures[str(status)] = failure
    return failures


def _first_line(error: type[ApiError]) -> str:
    if error is ApiError:
        return "Something broke on the server's side; the log says what."
    return inspect.cleandoc(error.__doc__ or error.__name__).partition("\n")[0]


def _example(error: type[ApiError], render: Render) -> Json | None:
    """Return an example body of an error that needs nothing but a message."""
    parameters = inspect.signature(error).parameters
    needed = {
        name
        for name, parameter in parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    message = parameters.get("message")
    has_own = error.text or message is None or message.default not in ("", message.empty)
    if has_own or needed - {"message"}:
        return None
    return dict(render(error(_first_line(error).rstrip(".").lower())))


def _select_used_schemas(document: Json, schemas: Json) -> Json:
    """Select the components that are referenced, directly or through others."""
    prefix = _REF.partition("{")[0]
    used: dict[str, None] = {}
    waiting: list[object] = [document["paths"]]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, dict):
            ref = part.get("$ref")
            if isinstance(ref, str) and (name := ref.removeprefix(prefix)) not in used:
                used[name] = None
                waiting.append(schemas[name])
            waiting.extend(part.values())
    return {name: schemas[name] for name in sorted(used)}
