"""Rewrites a question in plainer words before it is understood: slang, fillers, misspellings."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable
from functools import cache
from typing import Final

from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.mentions import FOLDER, Names
from runtime.bridge.coach.understanding.phrases import read_yaml, strip_accents

SHORTEST: Final = 5
"""The least letters of an unknown word that counts as misspelt."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
_SHORT_LAP: Final = re.compile(r"\bl(?=\d{1,2}\b)", re.IGNORECASE)
_APOSTROPHE: Final = re.compile("['\u2019`\u00b4]")
_OTHER: Final = re.compile(r"[^a-z0-9]+")
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"


def fold(text: str) -> str:
    """Return lower case without accents, apostrophes and punctuation, which some people leave
    out."""
    text = _APOSTROPHE.sub("", text.casefold())
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return _OTHER.sub(" ", plain).strip()


def tidy(text: str, language: Language) -> str:
    """Remove fillers and replace slang by terms of the trade; `L3` is lap 3."""
    plain = _SHORT_LAP.sub("lap ", text)
    for pattern, word in _replacements(language):
        plain = pattern.sub(word, plain)
    return " ".join(plain.split()) or text


def spell(
    text: str,
    vocabulary: "Counter[str]",
    names: Names,
    kept: Iterable[str] = (),
    nouns: Collection[str] = (),
) -> str:
    """Replace unknown words by those of *vocabulary* that are one slip away; keep the words of
    names, those of *kept*, and words before *nouns*."""
    own = {
        word
        for corner in names.corners
        for name in (*corner.nicknames, *names.straights, *names.sectors, *names.drivers)
        for word in strip_accents(name).split()
    }.union(kept)

    def correct(match: re.Match[str]) -> str:
        word = strip_accents(match[0])
        behind = _WORD.search(text, match.end())
        if behind and strip_accents(behind[0]) in nouns:  # a name: the macker straight
            return match[0]
        if len(word) < SHORTEST or "'" in word or word in vocabulary or word in own:
            return match[0]
        near = [other for other in slips(word) if vocabulary[other] > 1 and len(other) >= SHORTEST]
        return max(near, key=lambda other: vocabulary[other], default=match[0])

    return _WORD.sub(correct, text)


@cache
def _replacements(language: Language) -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return patterns and their replacements."""
    table = read_yaml(FOLDER / f"{language}.yaml").get("plain", {})
    return tuple(
        (
            re.compile(
                rf"(?<![\w'])(?:{phrases})(?![\w']){' *' if plain else '[, ]*'}", re.IGNORECASE
            ),
            f"{plain} ".lstrip(),
        )
        for plain, phrases in table.items()
    )


def slips(word: str) -> Iterable[str]:
    """Yield words one slip away: a letter left out, doubled, changed or swapped."""
    halves = [(word[:i], word[i:]) for i in range(len(word) + 1)]
    yield from (a + b[1:] for a, b in halves if b)
    yield from (a + b[1] + b[0] + b[2:] for a, b in halves if len(b) > 1)
    yield from (a + c + b for a, b in halves for c in _LETTERS)
    yield from (a + c + b[1:] for a, b in halves if b for c in _LETTERS)
