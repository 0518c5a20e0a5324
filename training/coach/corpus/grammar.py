"""Expands text templates: [a|b] is a choice that may nest, {name} a slot that is filled later."""

import random
import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import product
from typing import Final

SLOT: Final = re.compile(r"\{([a-z_]+)\}")

Node = str | tuple["Sequence", ...]  # a text, or the options of a choice
Sequence = tuple[Node, ...]


class TemplateError(ValueError):
    """A template has a bracket without its partner."""


@cache
def parse(text: str) -> Sequence:
    """The template as a sequence of texts and choices; raises TemplateError."""
    sequence, end = _sequence(text, 0, nested=False)
    if end != len(text):
        raise TemplateError(f"bracket closed but never opened: {text!r}")
    return sequence


def _sequence(text: str, at: int, *, nested: bool) -> tuple[Sequence, int]:
    nodes: list[Node] = []
    start = at
    while at < len(text) and not (text[at] == "]" or (nested and text[at] == "|")):
        if text[at] == "[":
            nodes.append(text[start:at])
            choice, at = _choice(text, at + 1)
            nodes.append(choice)
            start = at
        else:
            at += 1
    nodes.append(text[start:at])
    return tuple(node for node in nodes if node != ""), at


def _choice(text: str, at: int) -> tuple[tuple[Sequence, ...], int]:
    options: list[Sequence] = []
    while True:
        option, at = _sequence(text, at, nested=True)
        options.append(option)
        if at == len(text):
            raise TemplateError(f"bracket opened but never closed: {text!r}")
        at += 1
        if text[at - 1] == "]":
            return tuple(options), at


def expand(text: str, rng: random.Random) -> str:
    """One text of the template; its slots stay."""
    return _expand(parse(text), rng)


def _expand(sequence: Sequence, rng: random.Random) -> str:
    return "".join(
        node if isinstance(node, str) else _expand(rng.choice(node), rng) for node in sequence
    )


def every(text: str) -> Iterator[str]:
    """Every text of the template."""
    return _every(parse(text))


def _every(sequence: Sequence) -> Iterator[str]:
    parts = [
        [node] if isinstance(node, str) else [text for option in node for text in _every(option)]
        for node in sequence
    ]
    return ("".join(chosen) for chosen in product(*parts))


def pattern(text: str, slots: Mapping[str, str], escape: re.Pattern[str] | None = None) -> str:
    """A regular expression of every text of the template.

    *slots* gives the expression of a slot, `.+` when it is not named; characters that match
    *escape* are left out of the literal texts.
    """
    return _pattern(parse(text), slots, escape)


def _pattern(sequence: Sequence, slots: Mapping[str, str], escape: re.Pattern[str] | None) -> str:
    parts = []
    for node in sequence:
        if isinstance(node, str):
            pieces = SLOT.split(node)  # text, slot, text, slot, … text
            for place, piece in enumerate(pieces):
                if place % 2:
                    parts.append(slots.get(piece, ".+"))
                else:
                    parts.append(re.escape(escape.sub("", piece) if escape else piece))
        else:
            options = "|".join(_pattern(option, slots, escape) for option in node)
            parts.append(f"(?:{options})")
    return "".join(parts)


def slots(text: str) -> set[str]:
    """Names of the slots of a template."""
    return set(SLOT.findall(text))


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with its slots filled; a slot without a value raises KeyError."""
    return SLOT.sub(lambda match: values[match[1]], text)


def tidy(text: str) -> str:
    """One space between words and a capital letter at the start."""
    text = " ".join(text.split())
    return text[:1].upper() + text[1:]
