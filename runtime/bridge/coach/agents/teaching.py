"""Which lesson goes with an answer about a session: the one that its debrief names."""

from contextlib import suppress
from dataclasses import replace
from typing import Final

from runtime.bridge.analysis.highlights import highlights
from runtime.bridge.coach.agents.meanings import lesson_as_told
from runtime.bridge.coach.agents.sources import Sources
from runtime.bridge.coach.agents.values import Found, Question
from runtime.bridge.coach.warm.findings import Finding, found_in, tellable
from runtime.bridge.coach.warm.pedagogy import lesson_of
from runtime.bridge.errors import NoCompleteLap, NoGeometry
from runtime.bridge.storage.derived import Scope
from runtime.bridge.storage.errors import NoRows
from runtime.bridge.storage.values import SessionRow

TAUGHT: Final = frozenset(
    {"corner_history", "time_loss", "reference_comparison", "session_overview", "focus_facts"}
)
"""Tools whose answers say what to work on."""


async def findings_of(sources: Sources, row: SessionRow | None) -> tuple[Finding, ...]:
    """What a session came to, and may be told; nothing where nobody can tell."""
    if row is None:
        return ()
    references = sources.references.current()
    active = await sources.active(row.session_id)
    with suppress(NoRows, NoCompleteLap, NoGeometry):
        found = await sources.analyses.of(row, Scope(), found_in, references)
        moments = await sources.analyses.of(row, Scope(), highlights, references, active)
        return tellable(found, moments)
    return ()


async def with_lesson(sources: Sources, question: Question, found: Found) -> Found:
    """An answer that says what to work on, with the lesson on the corner that it is about."""
    if found.tool not in TAUGHT or found.empty or found.lesson is not None:
        return found
    told = await findings_of(sources, sources.session(question.session_id))
    about = (one for one in told if question.corner in (None, one.corner))
    first = next(about, None)
    if first is None:
        return found
    return replace(found, lesson=lesson_as_told(lesson_of(first, sources.lessons)))
