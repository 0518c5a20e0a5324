"""Writes points as InfluxDB line protocol, whatever a driver or a signal is called."""

import functools
import math
from typing import Final

from runtime.bridge.outlets.points import TAGS, Point, Value

RESERVED: Final = frozenset(("time", *TAGS))
"""What no field may be called: the column of time, and what a tag is called."""
NAMES: Final = 4096
"""Names that are remembered as they are written; they come again with each frame."""
_WORD: Final = str.maketrans({",": r"\,", "=": r"\=", " ": r"\ ", "\\": "/"})
"""A backslash cannot be written: servers differ in what the one behind another means."""
_TEXT: Final = str.maketrans({'"': r"\"", "\\": r"\\"})


def to_line(point: Point) -> bytes:
    """The line of a point, with its line break; empty where it has no field that can be written."""
    tags = "".join(f",{name}={word}" for name in TAGS if (word := _word(point.tags.get(name, ""))))
    fields = ",".join(
        f"{_key(name)}={_value(value)}"
        for name, value in point.fields.items()
        if not isinstance(value, float) or math.isfinite(value)
    )
    return f"{point.table}{tags} {fields} {point.ns}\n".encode() if fields else b""


@functools.lru_cache(maxsize=NAMES)
def _key(name: str) -> str:
    """Names that begin with an underscore are the server's own."""
    word = _word(name).lstrip("_")
    return f"{word}_" if word in RESERVED or not word else word


@functools.lru_cache(maxsize=NAMES)
def _word(text: str) -> str:
    return _plain(text).strip().translate(_WORD)


def _plain(text: str) -> str:
    """Without line breaks, other control characters and halves of surrogate pairs."""
    return text if text.isprintable() else "".join(c if c.isprintable() else " " for c in text)


def _value(value: Value) -> str:
    if isinstance(value, str):
        return f'"{_plain(value).translate(_TEXT)}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(float(value))
