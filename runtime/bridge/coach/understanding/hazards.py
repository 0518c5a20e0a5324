"""Finds danger in a question, in any language; the answer puts safety first.

Example sentences decide (``hazards/examples/<language>.yaml``): the classifier says how much
likelier the nearest danger is than ordinary racing talk, of the whole text, or, if much likelier,
of one clause. If a phrase of
``hazards/phrases/<language>.yaml`` matches (one of ``says`` and none of ``unless``), or words of
``hazards/phrases/signs.yaml`` do, the examples only have to leave the danger possible; which one it
is the phrase or the words say. The answer
is the message ``hazard-<key>``.
"""

import re
from functools import cache
from pathlib import Path
from typing import Any, Final

from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.classify import load_classifier
from runtime.bridge.coach.understanding.language import likely_languages
from runtime.bridge.coach.understanding.phrases import (
    PhraseBook,
    WordIndex,
    read_classes,
    read_yaml,
    split_sentences,
)
from runtime.bridge.coach.understanding.slots import Names, read_slots
from runtime.bridge.coach.understanding.tidy import fold, slips, tidy

_FILE: Final = Path(__file__).parent / "hazards" / "phrases" / "signs.yaml"
_STRANGE: Final = 2
"""Unknown words that make a remark strange; a question needs one more."""
_LONGEST: Final = 24
"""The most letters of a word."""
_LONG: Final = 6
"""The least letters of a word recognised with one letter wrong."""


class Signs:
    """Words that show a danger wherever they stand, alone or in pairs, by class; ``!key`` is a
    class of hazard words.

    They catch what no phrase covers yet: "the helmet fell on concrete yesterday" has a word for the
    kit and one for its fault.
    """

    def __init__(self, language: Language) -> None:
        data, self._language = _read(), language
        written = dict(data[language])
        alone = read_classes(written.pop("alone"))
        self._pairs = {
            key: [tuple(pair.split()) for pair in pairs] for key, pairs in data["pairs"].items()
        }
        self._index = WordIndex()
        self._long = WordIndex()
        """Words recognised with one letter wrong."""
        classes = {f"!{key}": entries for key, entries in alone.items()}
        for name, entries in {**classes, **read_classes(written)}.items():
            for entry in entries:
                self._index.add(entry, name)
                if len(entry.rstrip("*")) > _LONG and " " not in entry:
                    self._long.add(entry, name)

    def find(self, sentence: str) -> set[str]:
        """Return the hazards of a sentence of `phrases.split_sentences`."""
        classes = self.classes_of(sentence.split())
        hazards = {name[1:] for name in classes if name[0] == "!"}
        if "defines" in classes and "permits" not in classes:
            return set()
        if "asks" not in classes:
            hazards.update(
                key
                for key, pairs in self._pairs.items()
                if any(classes.issuperset(p) for p in pairs)
            )
        return hazards

    def classes_of(self, words: list[str]) -> set[str]:
        """Return the classes whose words stand in a sentence."""
        classes: set[str] = set()
        for start in range(len(words)):
            for length in (1, 2, 3, 4):
                run = " ".join(words[start : start + length])[: 4 * _LONGEST]
                classes |= self._index.find(run)
            if _LONG <= len(words[start]) <= _LONGEST:
                classes |= self._find_mistyped(words[start])
        return classes

    def is_strange(self, text: str) -> bool:
        """Whether a text that was not understood is about something else; its names are masked.

        It is then more likely an unforeseen danger than a question about laps.
        """
        words = fold(text).split()
        vocabulary = load_classifier().words(self._language)
        unknown = [
            word for word in words if len(word) > 2 and word.isalpha() and word not in vocabulary
        ]
        asks = "opens" in self.classes_of(words[:2])
        return len(unknown) >= _STRANGE + asks

    def _find_mistyped(self, word: str) -> set[str]:
        """Return the classes of words that differ from *word* by one letter more, less, changed or
        swapped."""
        if word in load_classifier().words(self._language):
            return set()
        return set[str]().union(*map(self._long.find, slips(word)))


@cache
def load_signs(language: Language) -> Signs:
    """Return the signs of a language, read once."""
    return Signs(language)


@cache
def _read() -> dict[str, Any]:
    return read_yaml(_FILE)


FOLDER: Final = Path(__file__).parent / "hazards" / "phrases"
_ENGLISH: Final = read_yaml(FOLDER / "en.yaml")["hazards"]
KEYS: Final = (*_ENGLISH, "unsure")
"""The gravest first, as in the files: if a question mentions two, the first is answered; `unsure`,
which no phrase matches, comes last."""
LONGEST: Final = 500
"""The most characters that examples judge."""
LIKELY: Final = 0.5
"""How much likelier than ordinary talk a danger must be by examples alone."""
CLEARLY: Final = 2.0
"""The same of a single clause: half a sentence soon resembles something."""
RULED: Final = -1.2
"""The same if a phrase matches: only what is certainly ordinary is excluded."""
SIGNED: Final = -0.8
"""The same if sign words match."""
POSSIBLE: Final = -0.5
"""The same if nothing else of the text was understood."""
UNLESS: Final = "unless"
CLAUSE: Final = 3
"""The least words of a clause that examples alone judge."""
_CLAUSES: Final = re.compile(r"[.,!?;:\n]+\s")
GOES_ON: Final = frozenset("crash brakes near_miss rain heat flat_out_dare fear".split())
"""Hazards after which a fact may follow."""


def find_hazard(text: str, names: Names) -> str | None:
    """Return the key of the danger in a question, in any language; None: none."""
    sentences, languages = split_sentences(text), likely_languages(text)
    near, margin, whole = _weigh(text[:LONGEST], languages[0], names, CLAUSE)
    ruled = {
        key
        for language in languages
        for sentence in sentences
        for key in _find_by_rules(language, sentence)
    }
    if ruled:
        loose_margin = _weigh(text[:LONGEST], languages[0], names, 1)[1]
        return min(ruled, key=KEYS.index) if loose_margin > RULED else None
    signed = {
        key
        for language in languages
        for sentence in sentences
        for key in load_signs(language).find(sentence)
    }
    if (whole > LIKELY or margin > CLEARLY) and (near in signed or not signed):
        return near
    return min(signed, key=KEYS.index) if signed and margin > SIGNED else None


def may_be_danger(text: str, masked: str, language: Language, names: Names) -> bool:
    """Whether a text that was not understood has strange words and is not certainly ordinary."""
    strange = load_signs(language).is_strange(masked)
    return strange and _weigh(text[:LONGEST], language, names, 1)[1] > POSSIBLE


def _weigh(text: str, language: Language, names: Names, least: int) -> tuple[str, float, float]:
    """Return the likeliest danger of the text or of a clause of at least *least* words, and how
    much likelier it is than ordinary talk; an ordinary question next to it does not reduce that.

    Last, how much likelier than ordinary talk a danger is by the whole text.
    """
    clauses = [clause for clause in _CLAUSES.split(text) if len(clause.split()) >= least]
    plain = (tidy(part, language) for part in (text, *clauses))
    weigh = load_classifier().weigh_danger
    weighed = [weigh(part, language, read_slots(part, language, names)) for part in plain]
    return (*max(weighed, key=lambda pair: pair[1]), weighed[0][1])


def _find_by_rules(language: Language, sentence: str) -> set[str]:
    names = _read_rules(language).find(sentence)
    return {key for key in KEYS if key in names and f"{key} {UNLESS}" not in names}


@cache
def _read_rules(language: Language) -> PhraseBook:
    """Return the rules of a language, read once; every language has every hazard but the last."""
    data = read_yaml(FOLDER / f"{language}.yaml")
    book, written = PhraseBook(read_classes(data["words"])), data["hazards"]
    if written.keys() != _ENGLISH.keys():
        raise ValueError(f"{language}: missing or unknown: {written.keys() ^ _ENGLISH.keys()}")
    for key, rule in written.items():
        book.add(key, rule["says"])
        book.add(f"{key} {UNLESS}", rule.get("unless", ()))
    return book
