"""Words for what is wrong in a file of data: where it stands, and what was expected there."""

from collections.abc import Sequence
from typing import Final

from pydantic import ValidationError

_WORDS: Final = {
    "extra_forbidden": "unknown key",
    "missing": "is missing",
    "model_type": "must be a mapping",
    "dict_type": "must be a mapping",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
}


def place(path: Sequence[str | int]) -> str:
    """A path into the data as ``a.b[0].c``; empty for the whole."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif "[" not in part:  # what pydantic adds for keys and for the branches of a union
            text += f".{part}" if text else part
    return text


def first_fault(error: ValidationError, inside: Sequence[str | int] = ()) -> str:
    """The first problem in words, with its place."""
    problem = error.errors(include_url=False, include_input=False)[0]
    words = _WORDS.get(problem["type"])
    if words is None:
        words = problem["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    where = place((*inside, *problem["loc"]))
    return f"{where}: {words}" if where else words
