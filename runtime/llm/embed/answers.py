"""Checks what an encoder process answers before anything is made of it; all raise ValueError."""

from collections.abc import Callable
from typing import Final, TypeVar

from runtime.llm.embed.protocol import Chunks, Embedded, Failed, Framed, Loaded
from runtime.llm.embed.values import FLOAT, Vectors

_Value = TypeVar("_Value")

MAX_WIDTH: Final = 65_536
MAX_REASON: Final = 300
"""Characters of a reason that go on to a client."""


def loaded_of(framed: Framed) -> Loaded:
    """The facts of a loaded model."""
    message, body = framed
    if not isinstance(message, Loaded) or body:
        raise ValueError("this is no answer to a load")
    if not (_is_count(message.width) and 1 <= message.width <= MAX_WIDTH):
        raise ValueError("a model has no such width")
    if not (_is_count(message.max_tokens) and message.max_tokens >= 1):
        raise ValueError("a model has no such longest input")
    return message


def vectors_of(framed: Framed, rows: int, width: int) -> Vectors:
    """The vectors of *rows* texts by a model of that width."""
    message, body = framed
    if not isinstance(message, Embedded):
        raise ValueError("this is no answer to texts")
    tokens = _list_of(message.tokens, _is_count)
    if message.width != width or len(tokens) != rows or len(body) != rows * width * FLOAT:
        raise ValueError("the vectors are of another size than asked for")
    if not (_is_count(message.truncated) and message.truncated <= rows):
        raise ValueError("more texts were cut than sent")
    return Vectors(width, body, tuple(tokens), message.truncated)


def chunks_of(framed: Framed) -> tuple[str, ...]:
    """The chunks of a document."""
    message, body = framed
    if not isinstance(message, Chunks) or body:
        raise ValueError("this is no answer to a document")
    return tuple(_list_of(message.texts, _is_chunk))


def reason_of(failed: Failed) -> str:
    """Why a command failed, short enough to be passed on."""
    if not isinstance(failed.reason, str):
        raise ValueError("the reason is no text")
    return failed.reason[:MAX_REASON] or "no reason was given"


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_chunk(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _list_of(values: list[_Value], fits: Callable[[object], bool]) -> list[_Value]:
    """The list, which is only said to be one of that kind."""
    found: object = values
    if not isinstance(found, list) or not all(map(fits, found)):
        raise ValueError("this is no list of what was asked for")
    return values
