"""Writes a question the way people type: small letters, slips, no full stop, a word before it."""

import random
import re
from collections.abc import Sequence
from typing import Final

WORD: Final = re.compile(r"\{[a-z_]+\}|[A-Za-z]+|[^A-Za-z{]+|\{")
SHORT: Final = 4  # shorter words are not touched by a slip


def slip(word: str, rng: random.Random) -> str:
    """The word with one letter lost, doubled or swapped with its neighbour."""
    at = rng.randrange(1, len(word) - 1)
    kind = rng.random()
    if kind < 0.4:
        return word[:at] + word[at + 1 :]
    if kind < 0.6:
        return word[:at] + word[at] + word[at:]
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def with_slips(text: str, rng: random.Random, share: float) -> str:
    """The text with slips in about *share* of its longer words; slots are left alone."""
    return "".join(
        slip(part, rng) if part.isalpha() and len(part) >= SHORT and rng.random() < share else part
        for part in WORD.findall(text)
    )


def lowered(text: str) -> str:
    """The text in small letters; slot names are in small letters already."""
    return text.lower()


def disturb(
    text: str, rng: random.Random, before: Sequence[str], behind: Sequence[str]
) -> tuple[str, bool]:
    """The question as somebody types it, and whether it is all in small letters."""
    if rng.random() < 0.10:
        text = text.rstrip(".?! ") + rng.choice((".", "?", "!")) + rng.choice(behind)
    if rng.random() < 0.10:
        text = rng.choice(before) + text[:1].lower() + text[1:]
    if rng.random() < 0.15:
        text = with_slips(text, rng, rng.choice((0.15, 0.3)))
    small = rng.random() < 0.22
    if small:
        text = lowered(text)
    if rng.random() < 0.22:
        text = text.rstrip(".?!")
    if rng.random() < 0.05:
        text = re.sub(r"[,'.?!]", "", text) if "{" not in text else text
    return text, small
