"""Valid samples of each schema, and damaged copies of them, for the tests of schemas and models."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import jsonschema.validators

FOLDER = Path(__file__).parents[2] / "schemas" / "course"
NAMES = sorted(path.name.removesuffix(".schema.json") for path in FOLDER.glob("*.schema.json"))

STRINGS = ["", "x", "no spaces", "two\nlines", "UPPER", "-lead", "trail-", "a" * 65, "b" * 700]
STRINGS += ["c" * 2001, "http://example.org/", "https://user@example.org/", "https://example.org"]
STRINGS += [
    "https://example.org/?q=1",
    "/rooted",
    "../up",
    "snow_case",
    "été",
    "\u2028 line",
    "1.0",
]
OTHERS: list[Any] = [None, True, False, 0, 1, -1, 2.0, 1.5, 7, 10**6, 10**30, [], {}, ["x"]]

LINKS = [{"title": "A standard", "url": "https://www.rfc-editor.org/rfc/rfc8259"}]
MORE: dict[str, list[dict[str, Any]]] = {
    "course": [
        {
            "repository": "https://example.org/paddock",
            "baseUrl": "https://example.org:8443/course/",
            "languages": ["fr", "zh-Hant-TW", "es-419"],
            "limits": {"lessonKiB": 64, "mediaKiB": 512, "pageKiB": 256},
        }
    ],
    "phase": [
        {
            "prerequisites": ["first-laps"],
            "equipment": ["laptop", "car"],
            "projects": ["lap-review-kit"],
            "references": LINKS,
        }
    ],
    "lesson": [
        {
            "minutes": 240,
            "level": "intro",
            "equipment": ["none"],
            "concepts": ["trail_brake", "late_apex"],
            "tags": ["brake", "trace"],
            "evidence": ["One plot."],
            "check": {"prompt": "Why?", "answer": "Because\nof the release."},
            "references": LINKS,
            "aliases": ["brake-curve"],
            "interfaces": ["bridge GET /session/<sid>/laps", "llm POST /v1/search"],
            "review": "editorial",
            "tracking": "https://example.org/plan/1",
        }
    ],
    "quiz": [
        {
            "questions": [
                {
                    "id": "which-two",
                    "stage": "during",
                    "kind": "multiple",
                    "prompt": "Which two?",
                    "options": [{"text": "One", "correct": True}, {"text": "Two", "why": "No."}],
                    "explanation": "Both of them shorten the stop.",
                    "objective": 6,
                    "shuffle": False,
                }
            ]
        }
    ],
    "pathway": [{"requires": ["track-coach"]}],
    "role": [
        {
            "milestones": [
                {
                    "title": "Both",
                    "lessons": ["brake-trace"],
                    "phases": ["braking"],
                    "deliverable": "A report.",
                    "criteria": ["It is short."],
                }
            ]
        }
    ],
    "project": [{"prepare": [{"label": "Unpack", "command": "unzip kit.zip\ncd kit"}]}],
    "lesson.v1": [
        {
            "previous": {"id": "read-a-lap", "title": "Read a lap", "status": "authored"},
            "next": {"id": "tyre-window", "title": "Tyre window", "status": "planned"},
            "revision": "1.0.0-rc.1",
            "minutes": 20,
            "level": "advanced",
            "evidence": ["One plot."],
            "references": LINKS,
            "tags": ["brake"],
            "aliases": ["brake-curve"],
        }
    ],
}


def load(name: str) -> dict[str, Any]:
    """The schema of that name."""
    schema: dict[str, Any] = json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8"))
    return schema


def reference(name: str) -> Any:
    """The reference validator, with `$` at the end of the text only, as JSON Schema means it."""

    def pattern(_: Any, expression: str, value: object, __: Any) -> Iterator[Any]:
        if isinstance(value, str) and not re.search(_python(expression), value):
            yield jsonschema.ValidationError(f"{value!r} does not match {expression!r}")

    cls = jsonschema.validators.extend(jsonschema.Draft202012Validator, {"pattern": pattern})
    return cls(load(name))


def _python(expression: str) -> str:
    return expression.removesuffix("$") + r"\Z" if expression.endswith("$") else expression


def full_samples(name: str) -> list[Any]:
    """The examples of a schema, and a copy of each with optional keys that it lacks filled in."""
    examples: list[Any] = load(name)["examples"]
    return examples + [example | more for example in examples for more in MORE.get(name, [])]


def mutants(name: str, count: int) -> Iterator[Any]:
    """Damaged copies of the samples of *name*, the same in every run."""
    chance = random.Random(name)
    samples = full_samples(name)
    for index in range(count):
        data = [copy.deepcopy(samples[index % len(samples)])]
        for _ in range(chance.choice([1, 1, 1, 2])):
            _damage(data, chance)
        yield data[0]


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    pairs = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in list(pairs):
        yield node, key
        if isinstance(value, dict | list):
            yield from _places(value)


def _damage(data: list[Any], chance: random.Random) -> None:
    parent, key = chance.choice(list(_places(data)))
    value = parent[key]
    options = ["replace", "replace", "string"]
    if isinstance(parent, dict):
        options += ["drop", "drop", "rename"]
    if isinstance(value, dict):
        options += ["extra", "extra"]
    if isinstance(value, list):
        options += ["empty", "repeat", "many"]
    if isinstance(value, str):
        options += ["newline", "upper", "long", "string", "swap"]
    if isinstance(value, int | float):
        options += ["number", "number", "number"]
    _apply(chance.choice(options), parent, key, chance)


def _apply(action: str, parent: Any, key: Any, chance: random.Random) -> None:
    value = parent[key]
    if action == "drop":
        del parent[key]
    elif action == "rename":
        parent[f"{key}s"] = parent.pop(key)
    elif action == "extra":
        value[chance.choice(["note", "minutes", "review", "x_y", "bundle"])] = 1
    else:
        changes: dict[str, Callable[[], Any]] = {
            "replace": lambda: copy.deepcopy(chance.choice(OTHERS)),
            "string": lambda: chance.choice(STRINGS),
            "empty": list,
            "repeat": lambda: value + value,
            "many": lambda: value * chance.choice([3, 13, 61]),
            "newline": lambda: value + chance.choice(["\n", "\r", " ", "\u2028"]),
            "upper": lambda: str(value).upper(),
            "long": lambda: value * chance.choice([2, 4, 10]),
            "swap": lambda: chance.choice(["planned", "authored", "numeric", "single", "multiple"]),
            "number": lambda: chance.choice(
                [value + 1, -value, value * 100, float(value), 0, 0.5, True, str(value)]
            ),
        }
        parent[key] = changes[action]()
