"""The OpenAPI 3.1 description of the five resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from course.read import schema

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_COMPONENTS: Final = "#/components/schemas/"
_CONDITIONS: Final = frozenset({"if", "then", "else", "anyOf"})
_RESOURCES: Final = {
    "catalog": ("getCatalog", "All phases and lesson metadata"),
    "pathways": ("getPathways", "Ordered learning pathways"),
    "roles": ("getRoles", "Career routes and core domains"),
    "lesson": ("getLesson", "One authored lesson or one explicitly planned brief"),
    "projects": ("getProjects", "Project stages, required lessons and evidence rubric"),
}
_TEXT: Final = (
    "Read-only JSON resources that describe a learning course. The service is static: it has no "
    "accounts, no write access and no learner data. Every address is relative to the site root. "
    "Quiz answers are part of the resources: they are for practice, not for exams."
)
_MISSING: Final = (
    "No resource exists for that identifier. The body depends on the host; test the status only."
)
_HEADERS: Final = {
    "ETag": {
        "description": "Set by the host; equal bytes have equal tags.",
        "schema": {"type": "string"},
    },
    "Cache-Control": {
        "description": "Set by the host where it allows: one minute, then revalidate.",
        "schema": {"type": "string"},
    },
}


def openapi(examples: Mapping[str, Any]) -> dict[str, Any]:
    """The description; *examples* maps catalog, pathways, roles, lesson, projects to a resource.

    Long lists in an example are cut; a resource without example is described without one.
    """
    return {
        "openapi": "3.1.0",
        "jsonSchemaDialect": _DIALECT,
        "info": {"title": "Static Course Resources", "version": "1.0.0", "description": _TEXT},
        "servers": [{"url": "./", "description": "The root of the deployed site"}],
        "paths": {_path(name): {"get": _operation(name, examples)} for name in _RESOURCES},
        "components": {"headers": _HEADERS, "schemas": _schemas()},
    }


def _path(name: str) -> str:
    return f"/api/v1/{'lessons/{lessonId}' if name == 'lesson' else name}.json"


def _operation(name: str, examples: Mapping[str, Any]) -> dict[str, Any]:
    operation_id, summary = _RESOURCES[name]
    media: dict[str, Any] = {"schema": _schema(name)}
    if name in examples:
        media["example"] = _shorten(name, examples[name])
    responses: dict[str, Any] = {
        "200": {
            "description": summary,
            "headers": {key: {"$ref": f"#/components/headers/{key}"} for key in _HEADERS},
            "content": {"application/json": media},
        }
    }
    if name != "projects":
        responses["404"] = {"description": _MISSING}
    operation: dict[str, Any] = {"operationId": operation_id, "summary": summary}
    if name == "lesson":
        operation["parameters"] = [_parameter(examples)]
    return {**operation, "responses": responses}


def _schema(name: str) -> dict[str, Any]:
    if name != "lesson":
        return {"$ref": f"{_COMPONENTS}{_component(name)}"}
    kinds = {kind: f"{_COMPONENTS}{_component(kind)}" for kind in ("authored", "planned")}
    return {
        "oneOf": [{"$ref": address} for address in kinds.values()],
        "discriminator": {"propertyName": "status", "mapping": kinds},
    }


def _schemas() -> dict[str, Any]:
    """Every object of the resources by name, as a generator of models takes it."""
    named: dict[str, Any] = {}
    for resource in _RESOURCES:
        whole = schema.open_schema(f"{resource}.v1")
        parts = {key: part for key, part in whole["$defs"].items() if part.get("type") == "object"}
        if "type" in whole:
            parts[resource] = {key: whole[key] for key in whole if key[0] != "$"}
        texts = {key: part for key, part in whole["$defs"].items() if key not in parts}
        named |= {_component(key): _embed(part, texts) for key, part in parts.items()}
    return named


def _embed(node: Any, texts: Mapping[str, Any]) -> Any:
    """*node* with its objects in the components, and its *texts* and numbers written out.

    Conditions between fields are left out: they hold, and no generator of models knows them.
    """
    if isinstance(node, list):
        return [_embed(item, texts) for item in node]
    if not isinstance(node, dict):
        return node
    name = str(node.get("$ref", "")).rpartition("/")[2]
    if name in texts:
        own = {key: value for key, value in node.items() if key != "$ref"}
        return _embed({**texts[name], **own}, texts)
    if name:
        return {**node, "$ref": _COMPONENTS + _component(name)}
    return {key: _embed(value, texts) for key, value in node.items() if key not in _CONDITIONS}


def _component(name: str) -> str:
    """The name of a definition among the components: ``Check``; ``authored`` says of what."""
    of = f"{name}Lesson" if name in ("authored", "planned") else name
    return of[0].upper() + of[1:]


def _parameter(examples: Mapping[str, Any]) -> dict[str, Any]:
    parameter: dict[str, Any] = {
        "name": "lessonId",
        "in": "path",
        "required": True,
        "description": "Canonical lesson id from the catalog; an alias answers the same resource.",
        "schema": {"type": "string"},
    }
    if "lesson" in examples:
        parameter["example"] = examples["lesson"]["id"]
    return parameter


def _shorten(name: str, resource: Mapping[str, Any]) -> dict[str, Any]:
    """The resource with at most one item in its long lists, still valid by its schema."""
    short = dict(resource)
    if name == "catalog":
        short["phases"] = [
            {**phase, "lessons": phase["lessons"][:1]} for phase in short["phases"][:1]
        ]
        short["concepts"] = short["concepts"][:1]
    elif name == "lesson":
        if "content" in short:
            short["content"] = _short_content(short["content"])
            short["quiz"] = {**short["quiz"], "questions": short["quiz"]["questions"][:1]}
    else:
        for key in ("pathways", "roles", "domains", "projects"):
            if key in short:
                short[key] = short[key][:1]
    return short


def _short_content(content: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "markdown": content["markdown"].strip().partition("\n\n")[0] + "\n",
        "blocks": content["blocks"][:1],
        "toc": content["toc"][:1],
        "code": content["code"][:1],
        "media": content["media"][:1],
    }
