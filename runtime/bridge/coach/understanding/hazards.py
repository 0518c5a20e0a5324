"""Hazard rules: what sounds like danger is answered with safety first, in any language.

The rules are phrases (see `phrases`) in ``hazards/<language>.yaml``: a sentence speaks of a hazard
where it has one of the phrases of ``says`` and none of ``unless``. What is said to it is the
message ``hazard-<key>``.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.language import WORDS, weigh_languages
from runtime.bridge.coach.understanding.phrases import (
    Pattern,
    compile_phrases,
    read_classes,
    read_yaml,
    split_sentences,
)

FOLDER: Final = Path(__file__).parent / "hazards"
KEYS: Final = (
    "fire",
    "fuel_leak",
    "crash",
    "injury",
    "unwell",
    "alcohol",
    "brakes",
    "throttle_stuck",
    "wheel_loose",
    "tyre",
    "steering",
    "oil",
    "overheating",
    "car",
    "flag",
    "others",
    "track",
    "stranded",
    "wrong_way",
    "safety_gear",
    "passenger",
    "phone",
    "tired",
    "road_speeding",
    "aids_off",
    "aggression",
    "sight",
    "near_miss",
    "rain",
    "flat_out_dare",
    "fear",
    "fit_to_go",
)
"""The gravest first: where a question speaks of two, the first is answered."""
GOES_ON: Final = frozenset({"brakes", "near_miss", "rain", "flat_out_dare", "fear"})
"""Hazards after which a fact may follow."""


class Rule(NamedTuple):
    """When a language speaks of a danger."""

    says: Pattern
    unless: Pattern | None

    def fits(self, sentence: str) -> bool:
        """Whether a sentence speaks of it."""
        spoken = self.says.search(sentence) is not None
        return spoken and (self.unless is None or self.unless.search(sentence) is None)


def find_hazard(text: str) -> str | None:
    """The key of the danger that a question speaks of, in any language; None: none."""
    sentences, weights = split_sentences(text), weigh_languages(text)
    likely = max(weights.values()) - 1  # where few words tell it, more languages are looked at
    rules = [_read_rules(language) for language in WORDS if weights[language] >= likely]
    return next(
        (
            key
            for key in KEYS
            for of_language in rules
            if any(of_language[key].fits(sentence) for sentence in sentences)
        ),
        None,
    )


@cache
def _read_rules(language: Language) -> Mapping[str, Rule]:
    """The rules of a language, read once; every language has every hazard."""
    data = read_yaml(FOLDER / f"{language}.yaml")
    classes, written = read_classes(data["words"]), data["hazards"]
    if written.keys() != set(KEYS):
        raise ValueError(f"{language}: missing or unknown: {written.keys() ^ set(KEYS)}")
    return {
        key: Rule(
            compile_phrases(rule["says"], classes),
            compile_phrases(rule["unless"], classes) if "unless" in rule else None,
        )
        for key, rule in written.items()
    }
