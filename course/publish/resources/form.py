"""What all resources share: their bytes, their hash, their addresses."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

import orjson

from course.read.graph import LessonNode

JSON_FORM: Final = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
API: Final = "api/v1"


def json_bytes(data: object) -> bytes:
    """*data* as it is published: sorted keys, two spaces, one line end at the end."""
    return orjson.dumps(data, option=JSON_FORM)


def content_hash(resource: Mapping[str, Any]) -> str:
    """``sha256:`` and the hex digest of *resource* without its hash and revision."""
    left = {key: resource[key] for key in resource if key not in ("contentHash", "revision")}
    canonical = orjson.dumps(left, option=orjson.OPT_SORT_KEYS)
    return f"sha256:{hashlib.sha256(canonical).hexdigest()}"


def page(kind: str, name: str) -> str:
    """The address of a page from the site root, with final slash."""
    return f"{kind}/{name}/"


def lesson_ref(node: LessonNode) -> dict[str, str]:
    """A lesson as other resources name it."""
    return {"id": node.id, "title": node.view.title, "status": node.view.status}
