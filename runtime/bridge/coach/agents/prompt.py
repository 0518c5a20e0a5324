"""What a model is told: who it is, what is known, what was said, what is asked; pure."""

from collections.abc import Sequence
from typing import Final

from runtime.bridge.coach.agents.roster import Agent
from runtime.bridge.coach.agents.sources import Circuit
from runtime.bridge.coach.agents.values import Found, Lesson, Question, Turn
from runtime.bridge.coach.warm.brief import place
from runtime.bridge.coach.warm.emotion import EMOTIONS
from runtime.bridge.coach.warm.evidence import Evidence, evidence_of
from runtime.bridge.coach.warm.model import Message

SENT_TURNS: Final = 6
MOST_FACTS: Final = 24
PASSAGE: Final = 400
"""Characters of a lesson's passage that are told."""
BASE: Final = (
    "You are a driving coach for closed tracks. Answer in two or three short sentences."
    " Use only the facts below; never invent a number."
)
MOODS: Final = f"End with [EMOTION: word], one of: {', '.join(EMOTIONS)}."


def messages(
    agent: Agent,
    question: Question,
    found: Sequence[Found],
    lessons: Sequence[Lesson] = (),
    turns: Sequence[Turn] = (),
) -> list[Message]:
    """The chat that is sent: facts stand right before the question, where small models look."""
    made: list[Message] = [
        {"role": "system", "content": f"{BASE} Your part: {agent.role}. {MOODS}"}
    ]
    for turn in turns:
        made.append({"role": "user", "content": turn.question})
        made.append({"role": "assistant", "content": turn.answer})
    made.append({"role": "user", "content": f"{sheet(found, lessons)}\n\n{question.text}".strip()})
    return made


def bare(text: str) -> list[Message]:
    """A chat for a small model: a system prompt or a page of facts would be the end of it."""
    return [{"role": "user", "content": text}]


def sheet(found: Sequence[Found], lessons: Sequence[Lesson] = ()) -> str:
    """Everything that is known, one thing a line."""
    lines = [line for one in found for line in (one.summary, *one.details)]
    facts = [fact.line for one in found for fact in one.facts]
    lines += facts[:MOST_FACTS]
    lines += [f"{one.title}: {one.text[:PASSAGE]}" for one in lessons if one.text]
    return "\n".join(dict.fromkeys(lines))


def recent(turns: Sequence[Turn], budget: int) -> list[Turn]:
    """The last turns, as many as are sent and as fit into *budget* characters."""
    chosen: list[Turn] = []
    left = budget
    for turn in reversed(turns[-SENT_TURNS:]):
        left -= len(turn.question) + len(turn.answer)
        if left < 0:
            break
        chosen.append(turn)
    return chosen[::-1]


def evidence(found: Sequence[Found], lessons: Sequence[Lesson], where: Circuit) -> Evidence:
    """What a model may say: the facts of the tools, and the names of the circuit.

    Numbers of the question are no evidence, and neither are those of lessons.
    """
    known: list[object] = []
    for one in found:
        if one.tool == "lap_delta":  # what lies between two laps is true of these two alone
            known += [one.summary, *(f"{fact.line}." for fact in one.facts if fact.unit == "lap")]
            continue
        known += [one.summary, *one.details, f"{one.line}."]
        known += [f"{fact.line}." for fact in one.facts]
        known += [dict(row) for row in (*one.rows, *one.known)]
    track = where.track
    places = [place(one, track) for one in where.corners]
    names = [*([track.name] if track else []), *(one.title for one in lessons)]
    areas = [one.name for one in track.straights] if track else []
    areas += [one.name for one in track.sectors] if track else []
    return evidence_of(known, places, names, areas=areas)
