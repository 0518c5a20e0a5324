"""The language of a question, by its words and their letters."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from math import log
from typing import Final, get_args

from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.classify import read_examples
from runtime.bridge.coach.understanding.mentions import words_of
from runtime.bridge.coach.understanding.tidy import fold

LANGUAGES: Final[tuple[Language, ...]] = get_args(Language)
_APOSTROPHES: Final = "'\u2019"
_WORD: Final = re.compile(rf"[^\W\d_][{_APOSTROPHES}](?=[^\W\d_])|[^\W\d_]+")
_CONTRACTED: Final = re.compile(r"['\u2019](?=(?:t|s|m|re|ve|ll)\b)")
_MASK: Final = re.compile(r"\b(?:corner|lap|time|driver|sector|straight|amount)x\b")
SURE: Final = 2.0
"""How much likelier than the last question's language (or English) another must be, as the
logarithm of a ratio."""
NEAR: Final = 3.0
"""A language less likely by at most this may be meant."""
WORD_WEIGHT: Final = 1.5
SMALL_WORDS: Final = 4
"""How many examples a small word counts as."""
MOST: Final = 3.0
"""The most that a word, or part of one, counts for a language."""


def find_language(text: str, last: Language | None) -> Language:
    """Find the language of *text*; if its words are inconclusive, that of *last*, else English."""
    usual = last or "en"
    scores = _measure(text)
    best = max(scores, key=lambda language: (scores[language], language == usual))
    least = SURE if last is None else SURE * 2.5
    return best if scores[best] > scores[usual] + least else usual


def likely_languages(text: str) -> list[Language]:
    """Return the languages that *text* may be in, the likeliest first."""
    scores = _measure(text)
    ranked = sorted(LANGUAGES, key=lambda language: -scores[language])
    return [language for language in ranked if scores[language] >= scores[ranked[0]] - NEAR]


def _measure(text: str) -> dict[Language, float]:
    """Score how much the words of *text* and their parts suggest each language."""
    parts = _read_parts()
    scores = dict.fromkeys(LANGUAGES, 0.0)
    for part in _parts(text):
        weight = WORD_WEIGHT if part[0] == "=" else 0.5
        for language, score in parts.get(part, {}).items():
            scores[language] += weight * score
    return scores


@cache
def _read_parts() -> Mapping[str, Mapping[Language, float]]:
    """Return how much each part of a word suggests each language: logarithms that average 0."""
    counts: dict[Language, Counter[str]] = {language: Counter() for language in LANGUAGES}
    for example in read_examples():
        counts[example.language].update(_parts(_MASK.sub(" ", example.text)))
    for language in LANGUAGES:
        for word in words_of(language).lists["small"]:
            counts[language].update(list(_parts(word)) * SMALL_WORDS)
    totals = {language: sum(count.values()) / 1e5 for language, count in counts.items()}
    scores: dict[str, Mapping[Language, float]] = {}
    for part in set().union(*counts.values()):
        logs = {
            language: log(count[part] / totals[language] + 1) for language, count in counts.items()
        }
        middle = sum(logs.values()) / len(logs)
        scores[part] = {
            language: max(-MOST, min(MOST, value - middle)) for language, value in logs.items()
        }
    return scores


def _parts(text: str) -> Iterator[str]:
    """Split into words, with and without accents, and their runs of three letters."""
    for word in _WORD.findall(_CONTRACTED.sub("", text.casefold())):
        yield from _parts_of_word(word)


@lru_cache(8192)
def _parts_of_word(word: str) -> tuple[str, ...]:
    bare = fold(word)
    if word[-1] in _APOSTROPHES:
        return (f"={bare}'",)
    if bare in words_of("en").lists["any_language"]:
        return ()
    padded = f" {bare} "
    runs = [padded[at : at + 3] for at in range(len(padded) - 2)]
    accents = [f"={word}", *(letter for letter in word if letter not in bare)]
    return (f"={bare}", *runs, *(accents if word != bare else ()))
