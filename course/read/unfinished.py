"""Marks of unfinished work: TODO, TBD and FIXME in what is about to be published."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from course.diagnostics import Problem
from course.read.files import span_at

MOST: Final = 20
_WORDS: Final = ("TODO", "TBD", "FIXME")  # three searches for a word cost less than one pattern
_MARK: Final = re.compile(rf"\b(?:{'|'.join(_WORDS)})\b")


def problems(text: str, file: str, what: str, *, may_wait: bool) -> Iterator[Problem]:
    """The first :data:`MOST` marks in the *text* of *file*; *what* says whose text it is.

    *may_wait* says that its author may set ``status: planned`` instead of finishing it.
    """
    if not any(word in text for word in _WORDS):
        return
    hint = "finish the passage, or set status: planned" if may_wait else "finish the passage"
    for match in islice(_MARK.finditer(text), MOST):
        yield Problem(
            "LES018",
            file,
            f"{what} says {match[0]}",
            span=span_at(text, match.start(), match.end()),
            hint=hint,
        )
