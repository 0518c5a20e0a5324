"""`schemas/v1/index.json`: the published schemas, for hosts that list no folders."""

from __future__ import annotations

from typing import Any, Final

from course.read import schema

FOLDER: Final = "schemas/v1"
INDEX: Final = f"{FOLDER}/index.json"


def schema_url(name: str) -> str:
    """Where the schema called *name* is published, from the site root."""
    return f"{FOLDER}/{name}{schema.SUFFIX}"


def schema_index() -> dict[str, Any]:
    """Name, address and title of every schema, sorted by name."""
    return {
        "schemaVersion": 1,
        "schemas": [
            {"name": name, "url": schema_url(name), "title": schema.schema(name)["title"]}
            for name in schema.names()
        ],
    }
