"""The schemas of the course."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs

FOLDER = Path(__file__).parents[2] / "schemas" / "course"
NAMES = sorted(path.name.removesuffix(".schema.json") for path in FOLDER.glob("*.schema.json"))


def load(name: str) -> dict[str, Any]:
    """The schema of that name."""
    schema: dict[str, Any] = json.loads((FOLDER / f"{name}.schema.json").read_text("utf-8"))
    return schema


def validator(name: str) -> Any:
    """What holds data against the schema of that name."""
    return jsonschema_rs.validator_for(load(name))
