"""JSON files of the cache: read without trust, replaced in one step."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson


def read_json(path: Path) -> dict[str, Any] | None:
    """The mapping that *path* holds; None when there is none."""
    try:
        data = orjson.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return data if isinstance(data, dict) else None


def write_json(path: Path, data: object) -> None:
    """Replace *path* by *data* in one step."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_bytes(orjson.dumps(data))
    os.replace(beside, path)
