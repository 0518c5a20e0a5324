"""Words that sources may or must use and that no source declares: routes and interface words."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def interfaces() -> frozenset[str]:
    """The product routes that lessons may name."""
    return _lines("interfaces.txt")


@cache
def page_words() -> frozenset[str]:
    """The interface words that the pages use."""
    return _lines("words.txt")


def _lines(name: str) -> frozenset[str]:
    text = (Path(__file__).parent / name).read_text("utf-8")
    return frozenset(line for line in text.splitlines() if line and not line.startswith("#"))
