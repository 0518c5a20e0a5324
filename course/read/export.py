"""Write the JSON Schemas of the sources, which editors use and builds check against.

    python -m course.read.export [--check]

They are made from the models and lie in schemas/course. With --check nothing is written, and the
exit status is 1 when a file is not what the models say.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import WithDefaultSchema

from course import yamlsource
from course.read import models, schema

EXAMPLES: Final = Path(__file__).with_name("examples.yaml")
WIDTH: Final = 100
_ORDER: Final = (
    *("$schema", "$id", "$ref", "title", "description", "type", "const", "enum", "format"),
    *("minLength", "maxLength", "minimum", "maximum", "exclusiveMinimum", "pattern", "required"),
    *("additionalProperties", "properties", "items", "minItems", "maxItems", "uniqueItems"),
    *("oneOf", "anyOf", "dependentRequired", "examples", "$defs"),
)


class _Generator(GenerateJsonSchema):
    """Leaves out what the schemas of sources do not say: defaults, and titles of fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """No field has a title."""
        return False

    def default_schema(self, schema: WithDefaultSchema) -> dict[str, Any]:
        """Leave out the default, which the description states."""
        return self.generate_inner(schema["schema"])


def export(name: str) -> dict[str, Any]:
    """The JSON Schema of the source kind *name*."""
    return _Export(name).whole


@cache
def _collect_shared_types() -> dict[str, tuple[str, dict[str, Any]]]:
    """Name and schema of each shared type of the models, by title."""
    shared: dict[str, tuple[str, dict[str, Any]]] = {}
    for name, value in vars(models).items():
        facts = getattr(value, "__metadata__", (None,))[0]
        if isinstance(facts, FieldInfo) and facts.title and value not in models.SOURCES.values():
            json_schema = TypeAdapter(value).json_schema(schema_generator=_Generator)
            shared[facts.title] = (_name(name), json_schema)
    return shared


class _Export:
    """Collects the definitions that one schema uses."""

    def __init__(self, name: str) -> None:
        raw = TypeAdapter(models.SOURCES[name]).json_schema(schema_generator=_Generator)
        self.classes: dict[str, Any] = raw.pop("$defs", {})
        self.used: dict[str, Any] = {}
        top = self.convert(raw, keep_title=True)
        top["description"] = top["description"].partition("\n\n")[0]
        top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
        top["$id"] = f"https://paddock.example/schemas/v1/{name}{schema.SUFFIX}"
        top["examples"] = yamlsource.parse(EXAMPLES.read_text("utf-8"), "")[0][name]
        order = [_name(entry) for entry in vars(models)]
        order.sort(key=lambda entry: self.used.get(entry, {}).get("type") == "object")
        top["$defs"] = {entry: self.used[entry] for entry in order if entry in self.used}
        self.whole = _order_keys(top)

    def convert(self, node: dict[str, Any], *, keep_title: bool = False) -> dict[str, Any]:
        """*node* of pydantic's schema in the form of ours."""
        if "$ref" in node:
            return self.reference(node)
        if not keep_title and node.get("title") in _collect_shared_types():
            name, shared = _collect_shared_types()[node["title"]]
            self.used[name] = self.convert(shared, keep_title=True)
            return {"$ref": f"#/$defs/{name}"}
        result = dict(node)
        if not keep_title:
            result.pop("title", None)
        if "enum" in result or "const" in result:
            del result["type"]
        if "properties" in result:
            fields = result["properties"].items()
            result["properties"] = {key: self.describe(field) for key, field in fields}
        for key in ("items", "additionalProperties"):
            if isinstance(result.get(key), dict):
                result[key] = self.convert(result[key])
        match result.get("anyOf"):
            case [{"type": kind} as value, {"type": "null"}]:
                del result["anyOf"]
                result = {**value, **result, "type": [kind, "null"]}
                result.pop("title", None)
        return _order_keys(result)

    def describe(self, node: dict[str, Any]) -> dict[str, Any]:
        """A field; one without a description of its own has that of its model."""
        text = node.get("description") or self.classes[_class_of(node)]["description"]
        return _order_keys({**self.convert(node), "description": text})

    def reference(self, node: dict[str, Any]) -> dict[str, Any]:
        """A model: a shared definition when it has a title, else written out."""
        name = _class_of(node)
        model: type[BaseModel] = getattr(models, name)
        whole = self.classes[name]
        if "title" in model.model_config:
            self.used[_name(name)] = {}  # it may refer to itself
            self.used[_name(name)] = self.convert(whole, keep_title=True)
            return {"$ref": f"#/$defs/{_name(name)}"}
        result = self.convert(whole)
        del result["description"]
        return result


def _class_of(node: dict[str, Any]) -> str:
    return str(node["$ref"]).rpartition("/")[2]


def _name(of: str) -> str:
    """A definition is named after its model or type, and begins with a small letter."""
    return of[0].lower() + of[1:]


def _order_keys(node: dict[str, Any]) -> dict[str, Any]:
    return {key: node[key] for key in sorted(node, key=_ORDER.index)}


def format_json(value: Any, indent: int = 0, before: int = 0) -> str:
    """*value* as JSON, with on one line what fits there; *before* is the width of its key."""
    line = json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict | list) or not value:
        return line
    if indent and indent + before + len(line) <= WIDTH and "\n" not in line:
        return line
    inner = indent + 2
    if isinstance(value, dict):
        keys = {key: f"{json.dumps(key, ensure_ascii=False)}: " for key in value}
        parts = [keys[key] + format_json(value[key], inner, len(keys[key])) for key in value]
    else:
        parts = [format_json(item, inner) for item in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    pad = " " * inner
    return f"{opening}\n{pad}" + f",\n{pad}".join(parts) + f"\n{' ' * indent}{closing}"


def main(arguments: list[str]) -> int:
    """Write or check the schemas of all sources."""
    stale = []
    for name in models.SOURCES:
        path = schema.FOLDER / f"{name}{schema.SUFFIX}"
        text = format_json(export(name)) + "\n"
        if not path.exists() or path.read_text("utf-8") != text:
            stale.append(path.name)
            if "--check" not in arguments:
                path.write_text(text, encoding="utf-8")
    if stale and "--check" in arguments:
        names = ", ".join(stale)
        sys.stderr.write(f"not as the models say: {names}; run python -m course.read.export\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
