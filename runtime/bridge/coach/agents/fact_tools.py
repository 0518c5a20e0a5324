"""The tools that answer a question's topic: each reads what one fact needs."""

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

from runtime.bridge.analysis import drive as pure
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.driver import DriverSession
from runtime.bridge.analysis.highlights import highlights
from runtime.bridge.analysis.incidents import ASSISTS
from runtime.bridge.analysis.stats import stats
from runtime.bridge.coach.agents import (
    amount_answers,
    circuit_answers,
    claim_answers,
    corner_answers,
    focus_answers,
    lap_answers,
    loss_answers,
    mishap_answers,
    pass_answers,
    place_answers,
    rank_answers,
    risk_answers,
    safety,
    sector_answers,
    series_answers,
    session_answers,
)
from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.channels import BY_ID, signals_of
from runtime.bridge.coach.agents.meanings import meaning
from runtime.bridge.coach.agents.measured import SHORT
from runtime.bridge.coach.agents.sources import Sources
from runtime.bridge.coach.agents.teaching import findings_of
from runtime.bridge.coach.agents.topic_words import GREETING
from runtime.bridge.coach.agents.values import Found, Question
from runtime.bridge.coach.agents.words import plain
from runtime.bridge.errors import NoCompleteLap, NoGeometry
from runtime.bridge.storage.derived import Scope
from runtime.bridge.storage.errors import NoRows
from runtime.bridge.storage.values import SessionRow

Tool = Callable[[Sources, Question, Mapping[str, object]], Awaitable[Found]]
FASTER: Final = re.compile(r"(?:am|was|is|were) (?:i|we|my \w+)\b.{0,20}\b(?:faster|quicker|ahead)")
BEATEN: Final = re.compile(r"(?:did|have|has|was|is) (?:i|we|this|that|it)\b")
LAPS: Final = {
    "count": lap_answers.lap_count,
    "lap": lap_answers.lap_fact,
    "versus": lap_answers.versus,
    "usual_lap": lap_answers.usual_lap,
    "ideal_lap": lap_answers.ideal,
    "rank": rank_answers.lap_rank,
}
SECTORS: Final = {
    "sector": sector_answers.sector_fact,
    "sector_rank": sector_answers.sector_rank,
}
CORNERS: Final = {
    "spread": pass_answers.spread,
    "balance": pass_answers.balance,
}


def row_of(sources: Sources, question: Question) -> SessionRow:
    """The session of a question that is known to have one."""
    row = sources.session(question.session_id)
    assert row is not None  # `tools.use` has looked
    return row


def _topic(question: Question) -> Topic:
    assert question.topic is not None  # the plan chose the tool by it
    return question.topic


async def _laps(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    topic = _topic(question)
    return await sources.analyses.of(row_of(sources, question), Scope(), LAPS[topic.ask], topic)


async def _sectors(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    topic = _topic(question)
    return await sources.analyses.of(row_of(sources, question), Scope(), SECTORS[topic.ask], topic)


async def _corners(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    topic, row = _topic(question), row_of(sources, question)
    if topic.ask == "measure":
        references = sources.references.current()
        return await sources.analyses.of(row, Scope(), corner_answers.measure, topic, references)
    return await sources.analyses.of(row, Scope(), CORNERS[topic.ask], topic)


async def _loss(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    topic = (
        question.topic
        if question.topic and question.topic.ask in ("loss", "improved")
        else Topic("loss")
    )
    references = sources.references.current()
    row = row_of(sources, question)
    return await sources.analyses.of(row, Scope(), loss_answers.loss, topic, references)


async def _strength(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    references = sources.references.current()
    row = row_of(sources, question)
    topic = question.topic
    asked = topic if topic is not None and topic.ask == "strength" else Topic("strength")
    return await sources.analyses.of(row, Scope(), loss_answers.strength, asked, references)


async def _series(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    topic, row = _topic(question), row_of(sources, question)
    scope = Scope(partial=not topic.corners)
    if topic.ask == "extreme":
        return await sources.analyses.of(row, scope, series_answers.extreme, topic)
    asked = BY_ID[topic.what]
    names = signals_of(asked, await sources.store.signal_names(row.session_id))
    if not names:
        return Found("channel_facts", series_answers.absent(asked), empty=True)
    samples = await sources.store.read_signals(row.session_id, names)
    units = {one.name: one.units or "" for one in sources.store.registry()}
    drive = await sources.analyses.drive(row, scope)
    try:
        return series_answers.channel(drive, topic, samples, units)
    except pure.NoGeometry as problem:
        raise NoGeometry(row.session_id) from problem


async def _mishap(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    topic, row = _topic(question), row_of(sources, question)
    active = await sources.active(question.session_id)
    names = frozenset(await sources.store.signal_names(row.session_id)) & frozenset(ASSISTS)
    return await sources.analyses.of(row, Scope(), mishap_answers.mishap, topic, active, names)


async def _risk(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    row = sources.session(question.session_id)
    where = await sources.circuit_of(row)
    drive = None
    if row is not None:
        with suppress(NoRows, NoCompleteLap, NoGeometry):
            drive = await sources.analyses.drive(row, Scope())
    try:
        return risk_answers.risk(_topic(question), drive, where.track, where.corners)
    except pure.NoGeometry:
        return risk_answers.risk(_topic(question), None, where.track, where.corners)


async def _claim(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    row, references = row_of(sources, question), sources.references.current()
    return await sources.analyses.of(
        row, Scope(), claim_answers.claim, _topic(question), references
    )


async def _focus(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    row, references = row_of(sources, question), sources.references.current()
    active = await sources.active(row.session_id)
    moments = await sources.analyses.of(row, Scope(), highlights, references, active)
    return await sources.analyses.of(
        row, Scope(), focus_answers.focus, _topic(question), references, moments
    )


async def _amount(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    topic, row = _topic(question), row_of(sources, question)
    if topic.what == "corrections":
        return await sources.analyses.of(row, Scope(), amount_answers.corrections, topic)
    if topic.what != "gears":
        return await sources.analyses.of(row, Scope(), amount_answers.amount, topic)
    asked = BY_ID["gear_position"]
    names = signals_of(asked, await sources.store.signal_names(row.session_id))
    if not names:
        return Found("amount_facts", series_answers.absent(asked), empty=True)
    samples = await sources.store.read_signals(row.session_id, names[:1])
    drive = await sources.analyses.drive(row, Scope())
    return amount_answers.gear_changes(drive, topic, samples[names[0]])


async def _other(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    """What is known here of another driver: the best lap on the same circuit."""
    row, name = row_of(sources, question), _topic(question).what
    best = []
    for one in await sources.driven_there(name, row):
        summary = await sources.book.seen(one)
        if summary is not None and summary.best_s is not None:
            best.append(summary.best_s)
    own = await sources.book.summary(row)
    return session_answers.beside_driver(
        row.driver or "",
        name,
        min(best, default=None),
        own.best_s if own else None,
        faster=FASTER.match(plain(question.text)) is not None,
    )


async def _place(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    row = row_of(sources, question)
    return await sources.analyses.of(row, Scope(), place_answers.at_place, _topic(question))


async def _safety(_: Sources, question: Question, __: Mapping[str, object]) -> Found:
    return safety.first_of_all(question.text)


async def driven_sessions(sources: Sources, question: Question) -> tuple[str, list[DriverSession]]:
    """The driver of a question, and their sessions on its circuit, in the order of time."""
    row = sources.session(question.session_id)
    driver = (row.driver if row else None) or question.driver_id
    own = sources.driven_by(driver)
    about = row or (own[-1] if own else None)
    if about is None:
        return driver, []
    there = await sources.driven_there(driver, about)
    if all(one.session_id != about.session_id for one in there):
        there = sorted([*there, about], key=lambda one: (one.started_at, one.session_id))
    driven = []
    for one in there:
        summary = await sources.book.seen(one)
        if summary is not None:
            driven.append(DriverSession(one.session_id, one.started_at, summary))
    return driver, driven


async def _before(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    driver, driven = await driven_sessions(sources, question)
    if not driver:
        text = "Name a driver, or a session that has one: then I compare with the one before."
        return Found("last_session", text, empty=True)
    if _topic(question).what != "ever":
        return session_answers.before(driver, driven, question.session_id)
    beaten = BEATEN.match(plain(question.text)) is not None
    return session_answers.ever(driver, driven, question.session_id, beaten=beaten)


async def _circuit(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    topic = _topic(question)
    where = await sources.circuit_of(sources.session(question.session_id))
    if topic.ask == "shape":
        return circuit_answers.shape(topic, where.corners)
    if topic.ask == "count":
        return circuit_answers.counted(
            topic, where.corners, where.sectors, where.straights, where.track
        )
    return circuit_answers.circuit(topic, where.track, where.corners, where.length_m)


async def _session(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    topic, row = _topic(question), sources.session(question.session_id)
    if topic.ask == "count":
        driver = question.driver_id or (row.driver if row else None) or ""
        return session_answers.session_count(driver, len(sources.driven_by(driver)))
    if row is None:
        text = "There is no session of that id." if question.session_id else "No session is chosen."
        return Found("session_facts", text, empty=True)
    driven = None
    if topic.what == "distance" and row.n_frames:
        driven = await sources.analyses.of(row, Scope(partial=True), _distance)
    return session_answers.session_fact(topic, row, driven)


def _distance(drive: Drive) -> float | None:
    return stats(drive).distance_m


async def _concept(sources: Sources, question: Question, _: Mapping[str, object]) -> Found:
    told = await findings_of(sources, sources.session(question.session_id))
    return meaning(_topic(question), sources.lessons, told)


async def _unknown(_: Sources, question: Question, __: Mapping[str, object]) -> Found:
    text = plain(question.text)
    greeted = len(text.split()) <= SHORT and GREETING.search(text) is not None
    return circuit_answers.unknown(greeted=greeted, other_language=circuit_answers.foreign(text))


FACT_TOOLS: Final[Mapping[str, Tool]] = {
    "lap_facts": _laps,
    "sector_facts": _sectors,
    "corner_facts": _corners,
    "channel_facts": _series,
    "time_loss": _loss,
    "corner_strength": _strength,
    "incident_facts": _mishap,
    "last_session": _before,
    "circuit_facts": _circuit,
    "session_facts": _session,
    "concept_facts": _concept,
    "no_answer": _unknown,
    "place_facts": _place,
    "claim_facts": _claim,
    "amount_facts": _amount,
    "focus_facts": _focus,
    "other_driver": _other,
    "risk_facts": _risk,
    safety.TOOL: _safety,
}
FACTS_OF_SESSION: Final = frozenset(
    {
        *("place_facts", "lap_facts", "sector_facts", "corner_facts", "channel_facts", "time_loss"),
        *("corner_strength", "incident_facts", "claim_facts", "amount_facts", "focus_facts"),
        "other_driver",
    }
)
"""Those that look at the session of the question."""
