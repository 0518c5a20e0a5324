"""What the coach says out of the facts alone; pure."""

from collections.abc import Sequence
from typing import Final

from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.roster import BY_INTENT
from runtime.bridge.coach.agents.safety import TOOL as SAFETY
from runtime.bridge.coach.agents.values import Found, Lesson, Question

QUERY_ROWS: Final = 12
"""Rows of somebody's own query that are told."""
DATALESS: Final = frozenset({"mindset", "weather", "brief"})
EVERY: Final = frozenset({"voice_script"})
"""Intents whose answer is the details themselves, all of them."""
NOTHING: Final = "no_answer"
SUPPORTING: Final = 2
"""Facts that are told behind the one that was asked for."""
NOTHING_KNOWN: Final[dict[str, str]] = {
    "corner": "Name a session, and I look at how you took that corner.",
    "telemetry": "Ask about a session with a complete lap, and I answer with its numbers.",
}


def lead(found: Sequence[Found]) -> str:
    """The sentence that an answer begins with."""
    return found[0].summary if found else ""


def template(
    question: Question,
    found: Sequence[Found],
    lessons: Sequence[Lesson] = (),
    *,
    advice: bool = True,
) -> str:
    """An answer out of the facts: what is known, what follows, and with *advice* what to do."""
    agent = BY_INTENT[question.intent]
    asked = question.sql is not None
    advice = advice and not (found and found[0].tool == SAFETY)
    told = [one for one in found if not one.empty]
    parts = [one.summary for one in told]
    if question.topic is not None:
        parts = _interleaved(found, (SUPPORTING,))
        if not told and not question.session_id and question.intent in NOTHING_KNOWN:
            parts.append(NOTHING_KNOWN[question.intent])
    elif found and found[0].tool == NOTHING:
        parts = [found[0].summary, *found[0].details, *(one.summary for one in told)]
    elif question.intent in EVERY:
        parts = [line for one in told for line in (one.summary, *one.details)]
    elif told or len(found) > 1:
        parts = _interleaved(found, (QUERY_ROWS,) if asked else agent.details)
    else:
        parts = list(dict.fromkeys(one.summary for one in found))
        if question.intent in NOTHING_KNOWN and not asked:
            parts.append(NOTHING_KNOWN[question.intent])
    if advice and agent.advice and not asked and _follows(question, told):
        parts.append(agent.advice)
    said = " ".join(dict.fromkeys(part for part in parts if part))
    more = cited(lessons, said) if advice else ""
    return f"{said} {more}".strip()


def cited(lessons: Sequence[Lesson], said: str = "") -> str:
    """Where to read on; empty where there is nothing, or where what was *said* named it."""
    if not lessons or f"“{lessons[0].title}”" in said:
        return ""
    return f"More in the lesson “{lessons[0].title}”."


def _follows(question: Question, told: Sequence[Found]) -> bool:
    """Whether advice has something to follow from; moods and the day need no data."""
    if question.topic is not None and question.topic != Topic(
        "corner", corners=question.topic.corners
    ):
        return False  # who asks for a fact gets that
    if question.intent == "corner":
        return any(one.line for one in told)  # what went well needs no advice
    return question.intent in DATALESS or any(one.details for one in told)


def _interleaved(found: Sequence[Found], details: Sequence[int]) -> list[str]:
    """Each summary with so many of its details; the first says why, where it has nothing."""
    parts: list[str] = []
    for at, one in enumerate(found):
        if at == 0 or not one.empty:
            parts += [one.summary, *one.details[: details[at] if at < len(details) else 1]]
    return parts
