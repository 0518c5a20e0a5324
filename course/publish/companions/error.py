"""The JSON body of a missing resource, for hosts that can choose a body for each path."""

from __future__ import annotations

from typing import Final

import orjson

_NOT_FOUND: Final = {
    "schemaVersion": 1,
    "error": {
        "status": 404,
        "code": "not_found",
        "message": "No resource exists for that identifier.",
        "catalog": "api/v1/catalog.json",
    },
}


def not_found() -> bytes:
    """The bytes of `404.json`."""
    return orjson.dumps(
        _NOT_FOUND,
        option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE,
    )
