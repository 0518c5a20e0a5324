"""The shipped model never says the wrong thing about two numbers: it leaves comparing to others."""

import random
import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from tests.effort import repeats
from training.coach.score import OURS, SENTENCE, Chat, asking

NUMBER = re.compile(r"\d+(?:[.:]\d+)*")
DECLINES = re.compile(r"do not compare|leave comparisons|Comparing or adding", re.IGNORECASE)
CLAIM = re.compile(
    r"\b(?:fast|slow|high|low|hard|soft|hot|cold|warm|cool|big|small|long|short|late|earli|quick"
    r"|close|strong|larg|great|deep)(?:e?r|est|ier)\b|\b(?:more|most|less|least|better|worse|best)\b",
    re.IGNORECASE,
)
LEAST_DECLINED = 0.9


class Question(NamedTuple):
    """A comparison and the number that is the right answer."""

    text: str
    right: str
    wrong: str


FORMS = [
    # question, unit range, whether the larger number is the answer
    ("brake {a} bar against {b}, which one is more?", (5, 90), True),
    ("Which is later, {a} m or {b} m before the corner?", (40, 200), False),
    ("{a} km/h or {b}, which is faster?", (40, 240), True),
    ("So what is slower then, {a} km/h or {b} km/h?", (40, 240), False),
    ("Is it {a} or {b} bar that is the harder braking?", (5, 90), True),
    ("Of {a} and {b} degrees, which tyre is hotter?", (40, 130), True),
    ("I had {a} % throttle and my mate {b} %, whose is more?", (1, 99), True),
    ("{a} rpm vs {b} rpm, what is higher?", (2000, 9000), True),
    ("Which lap is quicker, the {a} s one or the {b} s one?", (60, 140), False),
    ("My exit was {a} km/h, his was {b} km/h, who was faster?", (60, 220), True),
    ("Compare {a} bar with {b} bar for me please", (5, 90), True),
    ("which number is bigger, {a} or {b}", (1, 400), True),
]


def questions(seed: int = 20261123, each: int = repeats(4)) -> Iterator[Question]:
    rng = random.Random(seed)
    for form, (least, most), larger in FORMS:
        for _ in range(each):
            a, b = rng.sample(range(least, most), 2)
            right, wrong = (max(a, b), min(a, b)) if larger else (min(a, b), max(a, b))
            yield Question(form.format(a=a, b=b), str(right), str(wrong))


def is_wrong(question: Question, reply: str) -> bool:
    """Whether a sentence picks the wrong one of the two; an "if" picks neither."""
    for sentence in SENTENCE.split(reply):
        if CLAIM.search(sentence) and not re.search(r"\b(?:if|where)\b", sentence, re.IGNORECASE):
            named = NUMBER.findall(sentence)
            if question.wrong in named[:1]:
                return True
    return False


@pytest.fixture(scope="module")
def chat() -> Iterator[Chat]:
    with asking(OURS) as answers:
        yield answers


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("41 bar is more than 34 bar.", False),
        ("34 bar is more than 41 bar.", True),
        ("I do not compare numbers.", False),
        ("You have 34 bar. If yours is lower, brake harder.", False),
    ],
)
def test_a_wrong_claim_is_seen(reply: str, expected: bool) -> None:
    assert is_wrong(Question("brake 34 bar against 41", "41", "34"), reply) is expected


def test_no_comparison_comes_out_wrong(chat: Chat) -> None:
    asked = list(questions())
    replies = [(one, chat([{"role": "user", "content": one.text}])) for one in asked]
    assert [(one, reply) for one, reply in replies if is_wrong(one, reply)] == []
    declined = sum(bool(DECLINES.search(reply)) for _, reply in replies)
    assert declined >= LEAST_DECLINED * len(replies), [
        (one.text, reply) for one, reply in replies if not DECLINES.search(reply)
    ]
