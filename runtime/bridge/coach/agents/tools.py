"""The tools by name: each reads the sources and brings facts; none is ever chosen by a model."""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Final

from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import costliest, scorecard
from runtime.bridge.analysis.reference import References
from runtime.bridge.coach.agents import (
    corner_tools,
    danger_words,
    driver_tools,
    lap_answers,
    lap_tools,
    pass_answers,
)
from runtime.bridge.coach.agents.caution import cautioned
from runtime.bridge.coach.agents.fact_tools import (
    FACT_TOOLS,
    FACTS_OF_SESSION,
    driven_sessions,
    row_of,
)
from runtime.bridge.coach.agents.meanings import lesson_as_told
from runtime.bridge.coach.agents.sources import Sources
from runtime.bridge.coach.agents.sql_tool import query
from runtime.bridge.coach.agents.teaching import findings_of, with_lesson
from runtime.bridge.coach.agents.values import Fact, Found, Question
from runtime.bridge.coach.agents.words import plain
from runtime.bridge.coach.warm.emotion import felt
from runtime.bridge.coach.warm.findings import chosen
from runtime.bridge.coach.warm.pedagogy import lesson_of, tip_of
from runtime.bridge.errors import NoCompleteLap, NoGeometry
from runtime.bridge.storage import coaching
from runtime.bridge.storage.derived import Scope
from runtime.bridge.storage.errors import NoRows, StoreBusy, StoreFailed, StoreFull
from runtime.bridge.storage.values import NoteRow, SessionRow

MOST_SESSIONS: Final = 200
MOST_TRACES: Final = 1000
SCRIPT: Final = "voice_script"
_TYRES: Final = re.compile(r"\b(?:tyre|tire)s?\b")
SHOWN: Final = 6
"""Rows of a query that are told in words."""
Tool = Callable[[Sources, Question, Mapping[str, object]], Awaitable[Found]]
WHY: Final = {
    NoRows: "This session has no telemetry yet.",
    NoCompleteLap: "This session has no complete lap yet.",
    NoGeometry: "Neither a track file nor the positions tell where the corners are.",
}
"""What is said in place of facts."""


async def use(
    sources: Sources, question: Question, name: str, arguments: Mapping[str, object]
) -> Found:
    """What a tool brings; where there is nothing to look at, that is what it brings."""
    if name in OF_SESSION and sources.session(question.session_id) is None:
        text = "There is no session of that id." if question.session_id else "No session is chosen."
        return Found(name, text, empty=True)
    try:
        found = untagged(await TOOLS[name](sources, question, arguments))
        where = await sources.circuit_of(sources.session(question.session_id))
        found = await with_lesson(sources, question, found)
        return cautioned(found, question, where.corners, where.track)
    except (NoRows, NoCompleteLap, NoGeometry) as nothing:
        return Found(name, WHY[type(nothing)], empty=True)


def untagged(found: Found) -> Found:
    """Without what looks like the tag of a mood: names and results of queries are anybody's."""
    return replace(
        found,
        summary=felt(found.summary).text,
        details=tuple(felt(one).text for one in found.details),
        rows=tuple(
            {
                felt(name).text: felt(cell).text if isinstance(cell, str) else cell
                for name, cell in row.items()
            }
            for row in found.rows
        ),
    )


async def _overview(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    return await sources.analyses.of(row_of(sources, question), Scope(), lap_tools.overview)


async def _highlights(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    active = await sources.active(question.session_id)
    references = sources.references.current()
    return await sources.analyses.of(
        row_of(sources, question), Scope(), lap_tools.session_highlights, references, active
    )


async def _corner(sources: Sources, question: Question, given: Mapping[str, object]) -> Found:
    name, topic = given.get("corner", question.corner), question.topic
    advise = topic is not None and (topic.should or topic.why)
    if topic is not None and topic.corners and topic.laps:
        return await sources.analyses.of(
            row_of(sources, question),
            Scope(),
            pass_answers.on_lap,
            topic,
            sources.references.current(),
        )
    if topic is not None and len(topic.corners) > 1:
        return await sources.analyses.of(
            row_of(sources, question),
            Scope(),
            corner_tools.side_by_side,
            sources.references.current(),
            topic.corners,
        )
    return await sources.analyses.of(
        row_of(sources, question),
        Scope(),
        corner_tools.corner_history,
        sources.references.current(),
        None if name is None else str(name),
        await findings_of(sources, sources.session(question.session_id)) if advise else (),
        advise=advise,
    )


async def _reference(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    references = sources.references.current()
    return await sources.analyses.of(
        row_of(sources, question), Scope(), corner_tools.reference_comparison, references
    )


async def _delta(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    row, topic = row_of(sources, question), question.topic
    if topic is not None and topic.ask == "versus":
        return await sources.analyses.of(row, Scope(), lap_answers.versus, topic)
    return await sources.analyses.of(row, Scope(), lap_tools.lap_delta, question.laps)


async def _incidents(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    active = await sources.active(question.session_id)
    return await sources.analyses.of(
        row_of(sources, question), Scope(), lap_tools.incident_moments, active
    )


async def _pace(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    found = await sources.analyses.of(row_of(sources, question), Scope(), lap_tools.race_pace)
    if found.empty or _TYRES.search(plain(question.text)) is None:
        return found
    told = f"The wear of the tyres is not recorded, lap times alone are: {found.summary}"
    return replace(found, summary=told.replace(": Over", ": over"))


async def _goal(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    return await sources.analyses.of(
        row_of(sources, question), Scope(), lap_tools.goal_targets, question.target_s
    )


async def _variance(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    return await sources.analyses.of(
        row_of(sources, question), Scope(), corner_tools.corner_variance
    )


async def _setup(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    references = sources.references.current()
    return await sources.analyses.of(
        row_of(sources, question), Scope(), driver_tools.setup_indicators, references
    )


async def _progress(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    return driver_tools.progress_report(*await driven_sessions(sources, question))


async def _weather(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    track = (await sources.circuit_of(sources.session(question.session_id))).track
    wet = danger_words.FOUL.search(plain(question.text)) is not None
    return driver_tools.weather_context(track, sources.hour(), wet=wet)


async def _plan(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    return driver_tools.session_plan_context(question.count, await _weak(sources, question))


async def _brief(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    track = (await sources.circuit_of(sources.session(question.session_id))).track
    row, weak = await _work(sources, question)
    told = await findings_of(sources, row)
    first = next((one for one in told if weak and one.corner == weak[0]), None)
    if first is None:
        return driver_tools.day_brief(track, weak)
    lesson = lesson_as_told(lesson_of(first, sources.lessons))
    return replace(driver_tools.day_brief(track, weak, tip_of(first)), lesson=lesson)


async def _weak(sources: Sources, question: Question) -> tuple[str, ...]:
    return (await _work(sources, question))[1]


async def _work(sources: Sources, question: Question) -> tuple[SessionRow | None, tuple[str, ...]]:
    """The focus, then what costs most: in the session, else in the last that has a grade."""
    row = sources.session(question.session_id)
    tried = [row] if row is not None else sources.driven_by(question.driver_id)[:-4:-1]
    for one in tried:
        try:
            found = await sources.analyses.of(one, Scope(), _costly, sources.references.current())
        except (NoRows, NoCompleteLap, NoGeometry):
            continue
        if found:
            return one, found
    return None, ()


def _costly(drive: Drive, references: References) -> tuple[str, ...]:
    first = chosen(drive, references)  # the focus of its debrief
    lead = (first.corner,) if first is not None else ()
    costly = (one.corner for one in costliest(scorecard(drive, references).corners))
    return tuple(dict.fromkeys((*lead, *costly)))


async def _script(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    track = (await sources.circuit_of(sources.session(question.session_id))).track
    return driver_tools.audio_script_context(track, question.corner)


async def _save_script(sources: Sources, question: Question, given: Mapping[str, object]) -> Found:
    """Keep the phrases as notes of the session, where the player of cues finds them."""
    found = await _script(sources, question, given)
    if found.empty:
        return Found("save_voice_scripts", "There was nothing to keep.", empty=True)
    now = int(time.time() * 1000)
    try:
        for line in found.details:
            note = NoteRow(question.session_id, line, now, source=SCRIPT)
            await sources.store.add_note(note)
    except (StoreBusy, StoreFull, StoreFailed):
        return Found("save_voice_scripts", "The phrases could not be kept.", empty=True)
    kept = len(found.details)
    text = f"{kept} phrase{'s are' if kept != 1 else ' is'} kept among the notes of the session."
    return Found("save_voice_scripts", text, facts=(Fact("phrases kept", kept),))


async def _traces(sources: Sources, _question: Question, _: Mapping[str, object]) -> Found:
    rows = await sources.store.read(lambda inner: coaching.traces(inner, None, None, MOST_TRACES))
    return driver_tools.agent_telemetry(rows)


TOOLS: Final[Mapping[str, Tool]] = {
    "sql_query": query,
    "lap_delta": _delta,
    "corner_history": _corner,
    "progress_report": _progress,
    "setup_indicators": _setup,
    "session_highlights": _highlights,
    "reference_comparison": _reference,
    "weather_context": _weather,
    "session_plan_context": _plan,
    "incident_moments": _incidents,
    "race_pace": _pace,
    "goal_targets": _goal,
    "corner_variance": _variance,
    "agent_telemetry": _traces,
    "audio_script_context": _script,
    "save_voice_scripts": _save_script,
    "session_overview": _overview,
    "day_brief": _brief,
    **FACT_TOOLS,
}
OF_SESSION: Final = frozenset(
    {
        *("lap_delta", "corner_history", "setup_indicators", "session_highlights"),
        *("reference_comparison", "incident_moments", "race_pace", "goal_targets"),
        *("corner_variance", "save_voice_scripts", "session_overview"),
        *FACTS_OF_SESSION,
    }
)
"""Tools that look at the session of the question."""
