"""Strict YAML: a small profile of the format, with a line and a column for every value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from course.diagnostics import Problem, Span
from course.read import yamlplain

_LOOSE_BOOLEANS: Final = {"yes", "no", "on", "off", "True", "False", "TRUE", "FALSE"}


def parse(text: str, file: str, first_line: int = 1) -> tuple[Any, list[Problem]]:
    """The data of one YAML document and what is wrong with it.

    The data is None when the text has no usable tree. *first_line* is the line of the file
    at which *text* begins (2 for front matter).
    """
    if (plain := yamlplain.read(text)) is not None:
        return plain, []
    from course.read import yamlfull  # many a course needs it for no file

    return yamlfull.parse(text, file, first_line)


def locate(
    text: str, path: Sequence[str | int], *, on_key: bool = False, first_line: int = 1
) -> Span:
    """Where the value at *path* stands; a missing key points to the mapping that lacks it."""
    from course.read import yamlfull

    return yamlfull.locate(text, path, on_key=on_key, first_line=first_line)


def loose_boolean_hint(value: object) -> str | None:
    """A hint when *value* is a word that older YAML loaders would turn into a boolean."""
    if isinstance(value, str) and value in _LOOSE_BOOLEANS:
        return "write true or false"
    return None
