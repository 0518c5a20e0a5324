"""Keeps control markers in messages from counting as the chat template's own."""

import re
import secrets
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

Pairs = Sequence[Sequence[str]]
"""Role and content of each turn."""

_OPEN, _SHUT = "\uf8f1", "\uf8f2"  # of the private use area: no template strips or changes them


class Part(NamedTuple):
    """A stretch of a prompt."""

    text: str
    quoted: bool
    """Whether a control marker in it is letters like any other."""


Parts = tuple[Part, ...]


class Quoted(NamedTuple):
    """Messages that may be rendered, and the way back."""

    messages: Pairs
    markers: Sequence[str]
    """What the stand-ins stand for, in the order of their numbers."""
    stand_in: str
    """Begins every stand-in; the number and an end follow."""

    def parts(self, text: str) -> Parts:
        """A *text* that was rendered from the messages, with the markers in it quoted."""
        if not self.markers:
            return (Part(text, quoted=False),)
        pieces = re.split(f"{self.stand_in}([0-9]{{1,9}}){_SHUT}", text)
        parts = [Part(part, quoted=False) for part in pieces]
        for at in range(1, len(pieces), 2):
            number = int(pieces[at])
            known = number < len(self.markers)
            parts[at] = Part(self.markers[number] if known else pieces[at], quoted=True)
        return joined(parts)


class Quoter:
    """Finds the control markers of a vocabulary in what people wrote, the longest first."""

    def __init__(self, markers: Iterable[str]) -> None:
        texts = sorted(filter(None, markers), key=len, reverse=True)
        self._marker: Final = re.compile("|".join(map(re.escape, texts))) if texts else None

    def quote(self, messages: Pairs) -> Quoted:
        """Put a stand-in for each marker: a template passes it on like any word.

        Messages without a marker stay as they are.
        """
        pattern = self._marker
        if pattern is None or not any(pattern.search(text) for _, text in messages):
            return Quoted(messages, (), "")
        numbers: dict[str, int] = {}
        stand_in = f"{_OPEN}{secrets.randbelow(10**9)}{_OPEN}"  # not to be met in a text by chance

        def replace(match: re.Match[str]) -> str:
            return f"{stand_in}{numbers.setdefault(match[0], len(numbers))}{_SHUT}"

        safe = [(role, pattern.sub(replace, text)) for role, text in messages]
        return Quoted(safe, list(numbers), stand_in)

    def parts(self, text: str) -> Parts:
        """A text of a message as it stands."""
        quoted = self.quote([("", text)])
        return quoted.parts(quoted.messages[0][1]) if text else ()


def joined(parts: Iterable[Part]) -> Parts:
    """Without empty parts, and neighbours of a kind as one, so that they are tokenized as one."""
    kinds = groupby((part for part in parts if part.text), key=lambda part: part.quoted)
    return tuple(Part("".join(part.text for part in same), quoted=quoted) for quoted, same in kinds)
