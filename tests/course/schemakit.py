"""The schemas of the course and valid samples of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs

FOLDER = Path(__file__).parents[2] / "schemas" / "course"
NAMES = sorted(path.name.removesuffix(".schema.json") for path in FOLDER.glob("*.schema.json"))

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


def validator(name: str) -> Any:
    """What holds data against the schema of that name."""
    return jsonschema_rs.validator_for(load(name))


def full_samples(name: str) -> list[Any]:
    """The examples of a schema, and a copy of each with optional keys that it lacks filled in."""
    examples: list[Any] = load(name)["examples"]
    return examples + [example | more for example in examples for more in MORE.get(name, [])]
