"""What sounds like danger is found in four languages, and ordinary questions are none."""

from pathlib import Path
from typing import Final, get_args

import pytest

from runtime.bridge.coach.need import Language
from runtime.bridge.coach.understanding.hazards import GOES_ON, KEYS, find_hazard, load_signs
from runtime.bridge.coach.understanding.slots import Names
from runtime.bridge.coach.wording.words import words_of

TABLE: Final = tuple(
    (key, text)
    for line in Path(__file__).with_name("hazards.tsv").read_text("utf-8").splitlines()
    for key, text in [line.split("\t")]
)
"""Sentences that are no examples: the key of their hazard, a plus for any hazard, or a dash."""


def test_dangers_are_found_and_ordinary_questions_are_none() -> None:
    dangers = [(key, text) for key, text in TABLE if key != "-"]
    ordinary = [text for key, text in TABLE if key == "-"]

    missed = [text for _, text in dangers if find_hazard(text, Names()) is None]
    false = [text for text in ordinary if find_hazard(text, Names()) is not None]

    assert len(dangers) > 250
    assert len(missed) <= 0.02 * len(dangers), missed
    assert len(false) <= 0.02 * len(ordinary), false


def test_most_dangers_get_the_answer_of_their_kind() -> None:
    dangers = [(key, text) for key, text in TABLE if key not in "+-"]

    others = [
        (text, found) for key, text in dangers if (found := find_hazard(text, Names())) != key
    ]

    assert len(others) <= 0.05 * len(dangers), others


def test_a_word_of_danger_is_known_with_a_letter_wrong() -> None:
    assert find_hazard("im pergnant, a few laps", Names()) == find_hazard(
        "im pregnant, a few laps", Names()
    )
    assert find_hazard("im pergnant, a few laps", Names()) == "unwell"


def test_a_remark_in_unknown_words_is_strange_and_a_question_is_not() -> None:
    signs = load_signs("en")

    assert signs.is_strange("gizzards wobbling underneath")
    assert not signs.is_strange("where do i lose the most time")


@pytest.mark.parametrize(
    "text", ["I spun in turn 3", "Dreher in Kurve 3", "tête-à-queue au virage 3", "trompo en la 3"]
)
def test_a_spin_is_an_event_of_the_drive_and_no_emergency(text: str) -> None:
    assert find_hazard(text, Names()) is None


@pytest.mark.parametrize("language", get_args(Language))
def test_every_hazard_has_an_answer_that_says_no_number(language: Language) -> None:
    words = words_of(language, "metric")

    texts = [words.text(f"hazard-{key}") for key in KEYS]

    assert len(set(texts)) == len(KEYS)
    assert not any(character.isdigit() for text in texts for character in text)


def test_after_pain_drink_or_fire_no_fact_follows() -> None:
    assert set(KEYS) >= GOES_ON
    assert not GOES_ON & {"injury", "unwell", "alcohol", "fire", "tired", "phone", "fit_to_go"}


def test_a_long_text_is_read() -> None:
    assert find_hazard("my brake " * 1000, Names()) is None
