"""The evaluation set asks what the corpus never asks, and expects what can be checked."""

from itertools import islice

import pytest

from tests.training.leaks import masked, produced
from training.coach.corpus.dialogue import conversations
from training.coach.score import CASES as DEVELOPMENT
from training.coach.score import HELD_OUT, holds, read_cases

SETS = {path.stem: read_cases(path) for path in (DEVELOPMENT, HELD_OUT)}
CASES = [case for cases in SETS.values() for case in cases]


def test_what_a_reply_must_copy_stands_in_the_question() -> None:
    lacking = [
        (case.id, wanted)
        for case in CASES
        for wanted in case.all
        if not holds(" ".join(case.turns), wanted)
    ]
    assert lacking == []
    assert [case.id for case in CASES if not (case.refuse or case.all or case.any)] == []


def test_no_template_of_the_corpus_asks_a_question_of_the_set() -> None:
    leaked = [turn for case in CASES for turn in case.turns if produced(turn)]
    assert leaked == []


def test_no_question_of_the_set_is_among_many_generated_ones() -> None:
    asked = {masked(turn) for case in CASES for turn in case.turns}
    generated = {
        masked(message.content)
        for messages in islice(conversations(2026), 2_500)
        for message in messages
        if message.role == "user"
    }
    assert asked & generated == set()


@pytest.mark.parametrize(
    "text",
    [
        "What is trail braking?",
        "why should i trail the brake into turn 7",
        "Why is that?",
        "And at T5?",
        "My last lap was 1:42.318. My best is 1:41.905.",
        "What is the capital of Mongolia?",
        "The front left tyre is at 104 degrees.",
    ],
)
def test_a_question_of_a_template_is_found(text: str) -> None:
    assert produced(text)
