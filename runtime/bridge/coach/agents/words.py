"""Reads words as they were meant, and puts them together; pure."""

from collections.abc import Iterable, Sequence
from typing import Final
from unicodedata import category

from runtime.bridge.coach.agents.values import Fact

_ORDINALS: Final = ("fastest", "second fastest", "third fastest")


def plain(text: str) -> str:
    """Small letters, straight apostrophes, single blanks, nothing that takes no room."""
    if not text.isascii():
        text = "".join(one for one in text if category(one) != "Cf")
    return " ".join(text.casefold().replace("\u2019", "'").split())


def joined(words: Sequence[str]) -> str:
    """Words as a list in a sentence."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def listed(told: Sequence[str], most: int, what: str = "laps") -> str:
    """A list in the order of time; of a longer one its two ends, and how many there are."""
    if len(told) <= most:
        return joined(told)
    half = most // 2
    first, last = joined(told[:half]), joined(told[-half:])
    return f"the first {half} of {len(told)} {what}: {first}; the last {half}: {last}"


def known(
    label: str, value: float | None, unit: str, *, digits: int = 1, scale: float = 1.0
) -> list[Fact]:
    """A fact about a value that may not have been recorded."""
    return [] if value is None else [Fact(label, value * scale, unit, digits)]


def numbered(numbers: Iterable[int | None]) -> str:
    """Which laps there are, as few words as tell it."""
    own = sorted(number for number in numbers if number is not None)
    if len(own) == 1:
        return f"lap {own[0]} only"
    if own == list(range(own[0], own[-1] + 1)):
        return f"laps {own[0]} to {own[-1]}"
    return f"laps {joined([str(number) for number in own])}"


def ordinal(rank: int) -> str:
    """A place by time, 1 being the fastest."""
    return _ORDINALS[rank - 1] if rank <= len(_ORDINALS) else f"{rank}th fastest"


def no_corner(corners: Iterable[str]) -> str:
    """What is said of a corner that there is not."""
    return f"There is no such corner here; known are {', '.join(corners) or 'none'}."
