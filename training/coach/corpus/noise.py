"""Writes a question the way people type: small letters, slips, no full stop, a word before it."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

# Slots, words, and what is between them; an id such as late_apex is one word.
WORD: Final = re.compile(r"\{[a-z_]+\}|[A-Za-z]+(?:_[A-Za-z]+)*|[^A-Za-z{]+|\{")
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


def reword(
    text: str, rng: random.Random, synonyms: Mapping[str, Sequence[str]], share: float
) -> str:
    """The text with about *share* of the words that have synonyms replaced by one."""
    return "".join(
        rng.choice(synonyms[part.lower()])
        if part.lower() in synonyms and rng.random() < share
        else part
        for part in WORD.findall(text)
    )


def loosen(text: str, rng: random.Random, fillers: Sequence[str]) -> str:
    """The text with one or two words lost or added somewhere; slots are left alone."""
    words = text.split(" ")
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(words))
        if rng.random() < 0.5:
            words.insert(at, rng.choice(fillers))
        elif len(words) > SHORT and "{" not in words[at]:
            del words[at]
    return " ".join(words)


@dataclass(frozen=True)
class Words:
    """What a question is varied with."""

    before: Sequence[str]
    behind: Sequence[str]
    fillers: Sequence[str]
    synonyms: Mapping[str, Sequence[str]]


def disturb(text: str, rng: random.Random, words: Words) -> tuple[str, bool]:
    """The question as somebody types it, and whether it is all in small letters."""
    if rng.random() < 0.3:
        text = reword(text, rng, words.synonyms, 0.35)
    if rng.random() < 0.2:
        text = loosen(text, rng, words.fillers)
    if rng.random() < 0.10:
        text = text.rstrip(".?! ") + rng.choice((".", "?", "!")) + rng.choice(words.behind)
    if rng.random() < 0.10:
        text = rng.choice(words.before) + text[:1].lower() + text[1:]
    if rng.random() < 0.15:
        text = with_slips(text, rng, rng.choice((0.15, 0.3)))
    small = rng.random() < 0.25
    if small:
        text = text.lower()  # slot names are in small letters already
    if rng.random() < 0.25:
        text = text.rstrip(".?!")
    if rng.random() < 0.05 and "{" not in text:
        text = re.sub(r"[,'.?!]", "", text)
    return text, small
