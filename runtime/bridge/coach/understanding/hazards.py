"""Finds what sounds like danger in a question: it is answered with safety first, in any language.

Example sentences decide (``hazards/examples/<language>.yaml``): the classifier of the needs says
how much likelier the nearest danger of a clause is than ordinary racing talk. Where a phrase of
``hazards/phrases/<language>.yaml`` speaks of a hazard (it has one of ``says`` and none of
``unless``), or words of ``hazards/phrases/signs.yaml`` do, the examples only have to leave it
possible. What is said to it is the message ``hazard-<key>``.
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
"""Words unknown to ordinary questions that make a remark strange; a question needs one more."""
_LONGEST: Final = 24
"""Letters; what is longer is no word."""
_LONG: Final = 6
"""Letters of a word that is known with one letter wrong."""


class Signs:
    """Words that tell of a danger wherever they stand, alone or where two meet, by their classes;
    ``!key`` is a class of hazard words.

    They find what the phrases do not know yet: "the helmet fell on concrete yesterday" has a word
    for the kit and one for what is wrong with it.
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
        """Those that are known with a letter wrong."""
        classes = {f"!{key}": entries for key, entries in alone.items()}
        for name, entries in {**classes, **read_classes(written)}.items():
            for entry in entries:
                self._index.add(entry, name)
                if len(entry.rstrip("*")) > _LONG and " " not in entry:
                    self._long.add(entry, name)

    def find(self, sentence: str) -> set[str]:
        """The hazards of a sentence of `phrases.split_sentences`."""
        classes = self.classes_of(sentence.split())
        found = {name[1:] for name in classes if name[0] == "!"}
        if "defines" in classes and "permits" not in classes:
            return set()
        if "asks" not in classes:
            found.update(
                key
                for key, pairs in self._pairs.items()
                if any(classes.issuperset(p) for p in pairs)
            )
        return found

    def classes_of(self, words: list[str]) -> set[str]:
        """The classes whose words stand in a sentence."""
        found: set[str] = set()
        for start in range(len(words)):
            for length in (1, 2, 3, 4):
                run = " ".join(words[start : start + length])[: 4 * _LONGEST]
                found |= self._index.find(run)
            if _LONG <= len(words[start]) <= _LONGEST:
                found |= self._mistyped(words[start])
        return found

    def is_strange(self, text: str) -> bool:
        """Whether a text that was not understood speaks of something else; its names are masked.

        It is then likelier a danger in words that nobody foresaw than a question about laps.
        """
        words = fold(text).split()
        known = load_classifier().words(self._language)
        unknown = [word for word in words if len(word) > 2 and word.isalpha() and word not in known]
        asks = "opens" in self.classes_of(words[:2])
        return len(unknown) >= _STRANGE + asks

    def _mistyped(self, word: str) -> set[str]:
        """The classes of words of which *word* has a letter more, less, changed or swapped."""
        if word in load_classifier().words(self._language):
            return set()
        return set[str]().union(*map(self._long.find, slips(word)))


@cache
def load_signs(language: Language) -> Signs:
    """The signs of a language, read once."""
    return Signs(language)


@cache
def _read() -> dict[str, Any]:
    return read_yaml(_FILE)


FOLDER: Final = Path(__file__).parent / "hazards" / "phrases"
_ENGLISH: Final = read_yaml(FOLDER / "en.yaml")["hazards"]
KEYS: Final = (*_ENGLISH, "unsure")
"""The gravest first, as the files have them: where a question speaks of two, the first is answered;
`unsure`, which no phrase tells, comes last."""
LONGEST: Final = 500
"""Characters of which examples say what they speak of."""
LIKELY: Final = 0.5
"""By how much a danger has to be likelier than ordinary talk, told by examples alone."""
RULED: Final = -1.2
"""The same where a phrase tells of one: only what is certainly ordinary is none."""
SIGNED: Final = -0.8
"""The same where its words do."""
POSSIBLE: Final = -0.5
"""The same where nothing else of the text was understood."""
UNLESS: Final = "unless"
CLAUSE: Final = 3
"""Words of a clause from which on examples alone tell what it speaks of."""
_CLAUSES: Final = re.compile(r"[.,!?;:\n]+\s")
GOES_ON: Final = frozenset("crash brakes near_miss rain heat flat_out_dare fear".split())
"""Hazards after which a fact may follow."""


def find_hazard(text: str, names: Names) -> str | None:
    """The key of the danger that a question speaks of, in any language; None: none."""
    sentences, languages = split_sentences(text), likely_languages(text)
    near, margin = _weigh(text[:LONGEST], languages[0], names, CLAUSE)
    ruled = {key for each in languages for one in sentences for key in _find_by_rules(each, one)}
    if ruled:
        told = _weigh(text[:LONGEST], languages[0], names, 1)[1]
        return min(ruled, key=KEYS.index) if told > RULED else None
    if margin > LIKELY:
        return near
    signed = {key for each in languages for one in sentences for key in load_signs(each).find(one)}
    return min(signed, key=KEYS.index) if signed and margin > SIGNED else None


def may_be_danger(text: str, masked: str, language: Language, names: Names) -> bool:
    """Whether a text that was not understood has strange words and is not certainly ordinary."""
    strange = load_signs(language).is_strange(masked)
    return strange and _weigh(text[:LONGEST], language, names, 1)[1] > POSSIBLE


def _weigh(text: str, language: Language, names: Names, least: int) -> tuple[str, float]:
    """The likeliest danger of the text or of one of its clauses of *least* words, which an ordinary
    question beside it makes no less likely, and by how much it is likelier than ordinary talk.
    """
    clauses = [each for each in _CLAUSES.split(text) if len(each.split()) >= least]
    plain = (tidy(each, language) for each in (text, *clauses))
    weigh = load_classifier().weigh_danger
    weighed = (weigh(one, language, read_slots(one, language, names)) for one in plain)
    return max(weighed, key=lambda each: each[1])


def _find_by_rules(language: Language, sentence: str) -> set[str]:
    found = _read_rules(language).find(sentence)
    return {key for key in KEYS if key in found and f"{key} {UNLESS}" not in found}


@cache
def _read_rules(language: Language) -> PhraseBook:
    """The rules of a language, read once; every language has every hazard but the last."""
    data = read_yaml(FOLDER / f"{language}.yaml")
    book, written = PhraseBook(read_classes(data["words"])), data["hazards"]
    if written.keys() != _ENGLISH.keys():
        raise ValueError(f"{language}: missing or unknown: {written.keys() ^ _ENGLISH.keys()}")
    for key, rule in written.items():
        book.add(key, rule["says"])
        book.add(f"{key} {UNLESS}", rule.get("unless", ()))
    return book
