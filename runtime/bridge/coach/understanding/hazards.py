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
from typing import Final

from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.classify import load_classifier
from runtime.bridge.coach.understanding.language import likely_languages
from runtime.bridge.coach.understanding.phrases import (
    PhraseBook,
    read_classes,
    read_yaml,
    split_sentences,
)
from runtime.bridge.coach.understanding.signs import load_signs

FOLDER: Final = Path(__file__).parent / "hazards" / "phrases"
_ENGLISH: Final = read_yaml(FOLDER / "en.yaml")["hazards"]
KEYS: Final = (*_ENGLISH, "unsure")
"""The gravest first, as the files have them: where a question speaks of two, the first is answered;
`unsure`, which no phrase tells, comes last."""
LONGEST: Final = 500
"""Characters of which examples say what they speak of."""
LIKELY: Final = 0.03
"""By how much a danger has to be likelier than ordinary talk, told by examples alone."""
RULED: Final = -0.7
"""The same where a phrase tells of one: only what is certainly ordinary is none."""
SIGNED: Final = -0.45
"""The same where its words do."""
UNLESS: Final = "unless"
CLAUSE: Final = 3
"""Words of a clause from which on examples alone tell what it speaks of."""
_CLAUSES: Final = re.compile(r"[.,!?;:\n]+\s")
GOES_ON: Final = frozenset("crash brakes near_miss rain heat flat_out_dare fear".split())
"""Hazards after which a fact may follow."""


def find_hazard(text: str) -> str | None:
    """The key of the danger that a question speaks of, in any language; None: none."""
    sentences, languages = split_sentences(text), likely_languages(text)
    near, margin = _weigh(text[:LONGEST], languages[0], CLAUSE)
    ruled = {key for each in languages for one in sentences for key in _find_by_rules(each, one)}
    if ruled:
        told = _weigh(text[:LONGEST], languages[0], 1)[1]
        return min(ruled, key=KEYS.index) if told > RULED else None
    if margin > LIKELY:
        return near
    signed = {key for each in languages for one in sentences for key in _find_by_signs(each, one)}
    return min(signed, key=KEYS.index) if signed and margin > SIGNED else None


def _weigh(text: str, language: Language, least: int) -> tuple[str, float]:
    """The likeliest danger of the text or of one of its clauses of *least* words, which an ordinary
    question beside it makes no less likely, and by how much it is likelier than ordinary talk.
    """
    clauses = [each for each in _CLAUSES.split(text) if len(each.split()) >= least]
    weighed = (load_classifier().weigh_danger(each, language) for each in (text, *clauses))
    return max(weighed, key=lambda each: each[1])


def _find_by_rules(language: Language, sentence: str) -> set[str]:
    found = _read_rules(language).find(sentence)
    return {key for key in KEYS if key in found and f"{key} {UNLESS}" not in found}


def _find_by_signs(language: Language, sentence: str) -> set[str]:
    return load_signs(language).find(sentence)


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
