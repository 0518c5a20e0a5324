"""What an OpenAI-compatible server says, read with suspicion; pure."""

import json
from collections.abc import Iterator
from typing import Final, NamedTuple

LONGEST_LINE: Final = 256 * 1024
"""Bytes of one event; a longer one is no answer."""


class BadReply(ValueError):
    """What came is no answer; the text says why."""


class Said(NamedTuple):
    """A whole answer."""

    text: str
    truncated: bool
    """Whether the server stopped it for its length."""


class Piece(NamedTuple):
    """A part of a streamed answer."""

    text: str
    truncated: bool = False
    last: bool = False


def whole_reply(body: bytes) -> Said:
    """The text of an answer that came in one. Raises `BadReply`."""
    choice = _choice(_object(body))
    message = choice.get("message")
    text = message.get("content") if isinstance(message, dict) else None
    if not isinstance(text, str):
        raise BadReply("the answer has no text")
    return Said(_clean(text), choice.get("finish_reason") == "length")


class Listed(NamedTuple):
    """A model that a server offers."""

    id: str
    params: int | None
    """How many numbers it is made of; None where the server does not say."""


def models(body: bytes) -> list[Listed]:
    """The chat models that a server lists, in its order. Raises `BadReply`."""
    data = _object(body).get("data")
    if not isinstance(data, list):
        raise BadReply("the server lists no models")
    found = []
    for one in data:
        if not isinstance(one, dict) or not isinstance(one.get("id"), str):
            continue
        meta = one.get("meta")
        known = meta if isinstance(meta, dict) else {}
        params = known.get("n_params")
        if known.get("kind") != "embedding":
            found.append(Listed(one["id"], params if isinstance(params, int) else None))
    return found


class EventReader:
    """Cuts a stream of events into the pieces of its text. Raises `BadReply`."""

    def __init__(self) -> None:
        self._waiting = b""

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """The pieces that are complete with *chunk*."""
        self._waiting += chunk
        *lines, self._waiting = self._waiting.split(b"\n")
        if len(self._waiting) > LONGEST_LINE or any(len(line) > LONGEST_LINE for line in lines):
            raise BadReply("the server sent an endless line")
        for line in lines:
            if (piece := _piece(line.strip())) is not None:
                yield piece


def _piece(line: bytes) -> Piece | None:
    if not line or line.startswith((b":", b"event:", b"id:", b"retry:")):
        return None
    if not line.startswith(b"data:"):
        raise BadReply("the stream holds something that is no event")
    data = line[len(b"data:") :].strip()
    if data == b"[DONE]":
        return Piece("", last=True)
    event = _object(data)
    if "error" in event:
        raise BadReply("the server broke off")
    if event.get("choices") == []:  # figures of use, behind the text
        return None
    choice = _choice(event)
    delta = choice.get("delta")
    text = delta.get("content") if isinstance(delta, dict) else None
    cut = choice.get("finish_reason") == "length"
    return Piece(_clean(text) if isinstance(text, str) else "", truncated=cut)


def _object(body: bytes) -> dict[str, object]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadReply("the answer is no JSON") from error
    if not isinstance(found, dict):
        raise BadReply("the answer is no JSON object")
    return found


def _choice(found: dict[str, object]) -> dict[str, object]:
    choices = found.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(first, dict):
        raise BadReply("the answer has no choice")
    return first


def _clean(text: str) -> str:
    """Without half surrogates and control characters, which no client could show."""
    kept = text.encode("utf-8", "ignore").decode()
    return "".join(letter for letter in kept if letter.isprintable() or letter in "\n\t")
