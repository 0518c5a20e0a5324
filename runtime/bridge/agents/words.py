"""Reads words as they were meant, and puts them together; pure."""

from collections.abc import Sequence

from runtime.bridge.agents.values import Fact


def plain(text: str) -> str:
    """Small letters, straight apostrophes, single blanks."""
    return " ".join(text.casefold().replace("\u2019", "'").split())


def joined(words: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def known(
    label: str, value: float | None, unit: str, *, digits: int = 1, scale: float = 1.0
) -> list[Fact]:
    """A fact about a value that may not have been recorded."""
    return [] if value is None else [Fact(label, value * scale, unit, digits)]
