"""What of an answer code says, and what is left to a model of which size; pure.

A model of a few million parameters answers a plain question about driving, and comments on one
line of numbers, about as it was trained to. Given a page of facts it returns words without sense,
none of them wrong enough to be caught. So such a model is asked for little, and only there.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from runtime.bridge.coach.agents.answers import DATALESS, NOTHING, lead, template
from runtime.bridge.coach.agents.risk_answers import TOOL as RISK
from runtime.bridge.coach.agents.safety import TOOL as SAFETY
from runtime.bridge.coach.agents.safety import careful
from runtime.bridge.coach.agents.values import Found, Lesson, Question
from runtime.bridge.coach.agents.words import plain
from runtime.bridge.coach.warm.grounding import Reader

SMALL_PARAMS: Final = 200_000_000
"""Parameters below which a model is small."""
MODEL_FREE: Final = frozenset({"voice_script", "agent_meta"})
"""Intents whose answer is the facts themselves."""
TRUSTED: Final = frozenset({"corner", "setup"})
"""Intents that a small model adds a sentence to, beside open questions."""
_REFUSAL: Final = re.compile(
    r"(?:sorry|i do not|i don't|i only|i am|i'm|i cannot|i can't|that is outside|not on public)\b",
    re.IGNORECASE,
)


_MATTER: Final = re.compile(
    r"\d|\b(?:brak|throttl|apex|entr|exit|corner|line|speed|steer|wheel|pedal|grip|tyre|tire|gear|kerb"
    r"|look|eyes|straight|trail|coast|weight|late|earl|smooth|sector|turn|balanc|rotat|slid|stud)\w*",
    re.IGNORECASE,
)
_LABEL: Final = re.compile(r"[\w ]{1,20}:|\W*")
LEAST_WORDS: Final = 3


class Voice(NamedTuple):
    """How an answer is put together."""

    begun: str
    """What code says first; a `template` begins with it."""
    asked: str | None
    """What a small model is asked, alone; None: a larger one gets the facts, see *silent*."""
    silent: bool = False
    """Whether no model is asked."""


def voice(
    question: Question, found: Sequence[Found], lessons: Sequence[Lesson], *, small: bool
) -> Voice:
    """Who says what."""
    told = [one for one in found if not one.empty]
    if question.intent in MODEL_FREE or question.sql is not None:
        return Voice("", None, silent=True)
    if careful(question.text):
        return Voice("", None, silent=True)
    meant = question.topic is not None and question.topic.ask == "concept"
    if meant and question.open:
        begun = template(question, found, lessons, advice=False)
        return Voice(begun, question.text if small else None, silent=not told)
    if question.open:
        return Voice("", question.text if small else None)
    if not small:
        known = bool(told) or question.topic is not None
        return Voice(lead(found) if known and found[0].tool != NOTHING else "", None)
    begun = template(question, found, lessons, advice=False) if told else ""
    factual = question.topic is not None and question.topic.ask != "corner"
    if question.intent not in TRUSTED or not told or factual:
        return Voice(begun, None, silent=True)
    if question.intent == "corner":
        line = next((one.line for one in told if one.line), None)
        return Voice(begun, line, silent=line is None)
    return Voice(begun, question.text)


def refused(line: str) -> bool:
    """Whether a sentence of a small model only says that it has none."""
    return _REFUSAL.match(plain(line)) is not None


def hollow(line: str) -> bool:
    """Whether a line has nothing but a label, or nothing at all."""
    return _LABEL.fullmatch(line.strip()) is not None


def cheer(line: str) -> bool:
    """Whether a sentence holds neither a fact nor advice."""
    return len(line.split()) < LEAST_WORDS or _MATTER.search(line) is None


def feeling(question: Question, usual: str, found: Sequence[Found]) -> str:
    """The mood of an answer that is made of the facts; where there are none, no mood."""
    if found and found[0].tool == SAFETY:
        return "concerned"
    if found and found[0].tool == RISK:
        return "serious"
    if found and all(one.empty for one in found) and question.intent not in DATALESS:
        return "neutral"
    return usual


def passes(reader: Reader, said: Voice, line: str) -> bool:
    """Whether a sentence of a model may be shown."""
    empty_words = said.asked is not None and bool(said.begun) and refused(line)
    return not empty_words and not hollow(line) and reader(line)
