"""What a word of driving means, where the course teaches it, and how it looked today; pure."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from runtime.bridge.coach.agents import values
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.glossary import BY_ID
from runtime.bridge.coach.agents.values import Found
from runtime.bridge.coach.warm.findings import Finding
from runtime.bridge.coach.warm.lessons import Entry, Lesson, Lessons
from runtime.bridge.coach.warm.pedagogy import concept_for
from runtime.bridge.coach.warm.problems import evidence_said
from runtime.bridge.cues.concepts import CONCEPTS

TOOL: Final = "concept_facts"
NO_LESSON: Final = "I know no lesson on that."
INSTEAD: Final = (
    "Ask me what trail braking, a late apex or the friction circle is, or about the laps, corners"
    " and pedals of a session."
)


def meaning(topic: Topic, lessons: Lessons, session: Sequence[Finding] = ()) -> Found:
    """A concept of the coach, a term, or a word that only a lesson of the course knows.

    *session* is what a session came to: where it shows what is asked for, that is told behind.
    """
    if topic.corners or topic.sectors:
        return Found(TOOL, _numbered(topic))
    if topic.what and topic.spot:
        first, second = (replace(topic, what=one, spot="") for one in (topic.what, topic.spot))
        one, other = meaning(first, lessons), meaning(second, lessons)
        return replace(one, summary=f"{one.summary} {other.summary}")
    term = BY_ID.get(topic.what)
    if term is not None:
        entry = lessons.named(term.lesson)
        today = (one for one in session if one.cause in term.causes)
        return _told(term.text, entry, next(today, None))
    concept = next((one for one in CONCEPTS if one.id == topic.what), None)
    if concept is None:
        return _looked_up(topic.spot, lessons)
    entry = Entry(lessons.of(concept.id), "")
    today = (one for one in session if concept_for(one) == concept.id)
    return _told(f"{concept.title}: {lessons.said(concept.id)}", entry, next(today, None))


def _numbered(topic: Topic) -> str:
    """What a corner or a sector is called after."""
    if topic.corners:
        name = topic.corners[0]
        label = f"Turn {name}" if name.isdecimal() else name
        return (
            f"{label} is a corner of the circuit: corners are numbered from start and finish on, in"
            " the order in which they come."
        )
    return (
        f"Sector {topic.sectors[0]} is a part of the lap: sectors are numbered from start and"
        " finish on, and each has a time of its own."
    )


def lesson_as_told(one: Lesson) -> values.Lesson:
    """A lesson as answers name it."""
    return values.Lesson(one.id, one.title, one.url)


def _told(text: str, entry: Entry | None, today: Finding | None) -> Found:
    details = [_taught(entry)]
    if today is not None:
        place = f"at {today.corner}" if today.corner else "all around the lap"
        details.append(f"In this session it shows {place}: {evidence_said(today)}.")
    read = entry is not None and entry.authored
    return Found(
        TOOL,
        text,
        tuple(details),
        lesson=lesson_as_told(entry.lesson) if entry is not None and read else None,
    )


def _taught(entry: Entry | None) -> str:
    if entry is None:
        return NO_LESSON
    title = entry.lesson.title
    if not entry.authored:
        return f"The lesson “{title}” is to teach it; it is not written yet."
    return f"The lesson “{title}” teaches it."


def _looked_up(word: str, lessons: Lessons) -> Found:
    """What the course has on a word that nobody else knows."""
    entry = lessons.about(word)
    if entry is None:
        return Found(TOOL, NO_LESSON, (INSTEAD,), empty=True)
    if not entry.authored:
        return Found(TOOL, _taught(entry), (INSTEAD,))
    text = f"The lesson “{entry.lesson.title}” is about that: {entry.summary}"
    return Found(TOOL, text, lesson=lesson_as_told(entry.lesson))
