"""The schemas of the course: well formed, documented and closed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import pytest

from tests.course import schemakit


def subschemas(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
        for key, value in node.items():
            if key not in {"examples", "const", "enum"}:
                yield from subschemas(value)
    elif isinstance(node, list):
        for value in node:
            yield from subschemas(value)


@pytest.mark.parametrize("name", schemakit.NAMES)
def test_a_schema_is_a_named_2020_12_document_with_valid_examples(name: str) -> None:
    schema = schemakit.load(name)
    assert jsonschema_rs.meta.is_valid(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"https://paddock.example/schemas/v1/{name}.schema.json"
    assert schema["title"]
    assert schema["description"]
    assert schema["examples"]
    for sample in schema["examples"]:
        schemakit.validator(name).validate(sample)


@pytest.mark.parametrize("name", schemakit.NAMES)
def test_a_schema_works_alone_and_describes_and_closes_every_object(name: str) -> None:
    schema = schemakit.load(name)
    for part in subschemas(schema):
        if isinstance(part.get("$ref"), str):
            assert part["$ref"].removeprefix("#/$defs/") in schema["$defs"]
        if part.get("type") == "object":
            assert "additionalProperties" in part
            for key, value in part.get("properties", {}).items():
                assert value["description"], key
    for title, part in schema.get("$defs", {}).items():
        assert part["title"], title
        assert part["description"], title


@pytest.mark.parametrize("name", schemakit.NAMES)
def test_a_schema_has_no_definition_that_nothing_uses(name: str) -> None:
    schema = schemakit.load(name)
    used = {part["$ref"] for part in subschemas(schema) if isinstance(part.get("$ref"), str)}
    assert used == {f"#/$defs/{title}" for title in schema.get("$defs", {})}


REFUSED = [
    ("lesson", {"minutes": 0}),
    ("lesson", {"minutes": 241}),
    ("lesson", {"minutes": "35"}),
    ("lesson", {"minutes": None}),
    ("lesson", {"id": "Brake-trace"}),
    ("lesson", {"id": "brake--trace"}),
    ("lesson", {"id": "br"}),
    ("lesson", {"id": "brake-trace\n"}),
    ("lesson", {"summary": "Two lines are not\none line of text."}),
    ("lesson", {"concepts": ["trail-brake"]}),
    ("lesson", {"equipment": ["laptop", "laptop"]}),
    ("lesson", {"interfaces": ["GET /sessions"]}),
    ("lesson", {"tracking": "https://user:word@example.org/"}),
    ("lesson", {"references": [{"title": "A", "url": "http://example.org/"}]}),
    ("lesson", {"titel": "Typo"}),
    ("pathway", {"steps": [{"phase": "braking", "lessons": ["brake-trace"]}]}),
    ("pathway", {"steps": [{}]}),
    ("pathway", {"steps": [{"phase": "braking", "note": "No."}]}),
    ("course", {"baseUrl": "https://example.org/?q=1"}),
    ("course", {"version": "1.0"}),
    ("course", {"updated": "2026-13-01"}),
    ("course", {"schemaVersion": True}),
    ("course", {"schemaVersion": 2}),
    ("lesson.v1", {"notice": "Planned. No lesson material exists yet."}),
    ("lesson.v1", {"status": "planned"}),
    ("lesson.v1", {"url": "/lessons/brake-trace/"}),
    ("lesson.v1", {"url": "https://example.org/"}),
]


@pytest.mark.parametrize(("name", "change"), REFUSED)
def test_a_value_outside_the_contract_is_refused(name: str, change: dict[str, Any]) -> None:
    sample = schemakit.load(name)["examples"][0]
    validator = schemakit.validator(name)
    assert validator.is_valid(sample)
    assert not validator.is_valid(sample | change)


@pytest.mark.parametrize("key", ["content", "quiz", "artifacts", "contentHash", "check", "review"])
def test_a_planned_lesson_resource_holds_no_lesson_material(key: str) -> None:
    authored, planned = schemakit.load("lesson.v1")["examples"]
    validator = schemakit.validator("lesson.v1")
    assert not validator.is_valid(planned | {key: authored[key]})


@pytest.mark.parametrize(
    "key", ["content", "quiz", "artifacts", "contentHash", "check", "minutes", "level", "evidence"]
)
def test_an_authored_lesson_resource_holds_all_its_material(key: str) -> None:
    authored = dict(schemakit.load("lesson.v1")["examples"][0])
    del authored[key]
    assert not schemakit.validator("lesson.v1").is_valid(authored)
