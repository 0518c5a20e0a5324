"""Python in a lesson: which code enters the script and the notebook, and whether it compiles."""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Final, NamedTuple

from course.diagnostics import short

LANGUAGES: Final = frozenset({"python", "py", "python3"})


class Fault(NamedTuple):
    """Why a code does not compile; line and column count from 1, in characters."""

    line: int
    column: int
    message: str


@lru_cache(maxsize=512)  # lessons share small examples, and each is read once more to be placed
def fault(source: str) -> Fault | None:
    """Why *source* is no Python, or None. It is compiled and never run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as an unknown escape: odd, and it runs
            compile(source, "<lesson>", "exec", dont_inherit=True)
    except SyntaxError as error:
        lines = source.split("\n")
        line = min(max(error.lineno or 1, 1), len(lines))
        column = min(max(error.offset or 1, 1), len(lines[line - 1]) + 1)
        return Fault(line, column, short(error.msg))
    except (ValueError, RecursionError, MemoryError, OverflowError):
        return Fault(1, 1, "it is nested too deeply")
    return None
