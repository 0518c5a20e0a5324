"""Briefs and debriefs of a running bridge: the evidence, and the model's words or plain ones."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

import numpy as np

from runtime.bridge.analysis.corners import consistency
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import dangers, scorecard
from runtime.bridge.analysis.highlights import highlights
from runtime.bridge.analysis.laps import ideal_lap, lap_time_table
from runtime.bridge.analysis.stats import stats
from runtime.bridge.api.analysis import Subject
from runtime.bridge.coach.warm.brief import Plan, brief_evidence, brief_parts
from runtime.bridge.coach.warm.debrief import debrief
from runtime.bridge.coach.warm.desk import Desk
from runtime.bridge.coach.warm.emotion import felt, fitting
from runtime.bridge.coach.warm.findings import Finding, chosen, findings
from runtime.bridge.coach.warm.model import Message, Mode, ModelFailed, Role
from runtime.bridge.coach.warm.pedagogy import lesson_of, pedagogy
from runtime.bridge.coach.warm.prompts import (
    brief_prompt,
    debrief_prompt,
    small_brief_prompt,
    small_debrief_prompt,
)
from runtime.bridge.coach.warm.review import Fragments, Review, fragments
from runtime.bridge.coach.warm.room import coasting, held, rooms
from runtime.bridge.coach.warm.told import focused, may_say, spoken, told_brief, told_debrief
from runtime.bridge.cues.model import Emotion
from runtime.bridge.errors import NoCompleteLap
from runtime.bridge.service import Service
from runtime.bridge.storage.coaching import EventRow, driver_events
from runtime.bridge.storage.derived import Scope
from runtime.bridge.storage.errors import NoRows, StoreDamaged
from runtime.bridge.storage.values import SessionRow
from runtime.bridge.track.model import Corner

Source: TypeAlias = Literal["local_model", "template"]
CALM: Final[Emotion] = "encouraging"
SESSIONS: Final = 50
"""Of a driver on a track, the newest, are looked at."""


class Narrative(NamedTuple):
    """What the driver is told."""

    text: str
    """Markdown."""
    source: Source
    emotion: Emotion
    focus: tuple[str, ...]
    dropped: int = 0
    """Sentences of the model that were left out."""
    kept: int = 0

    @property
    def fell_back(self) -> bool:
        """Whether the model had no part in it."""
        return self.source == "template"


def desk_of(service: Service) -> Desk:
    """The desk of a bridge that runs."""
    assert service.desk is not None
    return service.desk


async def review_of(subject: Subject, driver: str) -> Review:
    """A session as a debrief looks at it. Raises what `Analyses.of` raises but `NoGeometry`."""
    service, row, references = subject.service, subject.row, subject.references
    drive = await subject.drive()
    card = await subject.cornering(scorecard, references)
    known_rooms = await subject.cornering(rooms, references) or ()
    held_back = await subject.cornering(held, references) or frozenset()
    lessons = desk_of(service).lessons
    found = findings(card, known_rooms, await subject.compute(coasting), held_back)
    return Review(
        session_id=row.session_id,
        track=drive.place,
        driver=driver,
        partial=drive.partial,
        stats=await subject.compute(stats),
        laps=await subject.compute(lap_time_table),
        ideal=await subject.compute(ideal_lap),
        moments=await subject.compute(highlights, references, await subject.assisted()),
        card=card,
        consistency=await subject.cornering(consistency),
        corners=await subject.cornering(places_of) or (),
        found=found,
        taught=pedagogy(found, lessons),
        lesson=lesson_of(found[0] if found else None, lessons),
        best_before_s=await best_before(service, row, driver),
        dangers=frozenset(await subject.cornering(dangers) or ()),
        placed=bool(np.isfinite(drive.series["lat"]).any()),
    )


def places_of(drive: Drive) -> tuple[Corner, ...]:
    """The corners of a session, in lap order. Raises `NoGeometry`."""
    return drive.corners


async def best_before(service: Service, row: SessionRow | None, driver: str) -> float | None:
    """The driver's best lap on the circuit of a session, of those that are remembered and those of
    earlier sessions, the session itself left out; None where its circuit is not known.

    Without a session: on the active circuit, in any session.
    """
    own = row.session_id if row is not None else None
    place = None if row is None else await service.book.place(row)
    if place == "":
        return None
    times = [
        event.value
        for event in await events_here(service, driver, place)
        if event.kind == "pb_lap_s" and event.session_id != own
    ]
    for one in await driven_here(service, driver, place):
        earlier = row is None or one.started_at < row.started_at
        if earlier and one.session_id != own:
            summary = await service.book.seen(one)
            if summary is not None and summary.best_s is not None:
                times.append(summary.best_s)
    return min(times, default=None)


async def driven_here(service: Service, driver: str, place: str | None = None) -> list[SessionRow]:
    """A driver's newest sessions with telemetry at a place of `LapBook`, else on the active track.

    The newest comes first; of nobody there are none. Where there is no active track, all are.
    """
    if not driver.strip():
        return []
    wanted, name = _wanted(service, place), driver.strip().casefold()
    rows = [
        row
        for row in service.db.sessions()
        if row.n_frames
        and (row.driver or "").strip().casefold() == name
        and (not wanted or await service.book.place(row) == wanted)
    ]
    rows.sort(key=lambda row: (row.started_at, row.session_id), reverse=True)
    return rows[:SESSIONS]


async def first_finding(
    service: Service, rows: Iterable[SessionRow]
) -> tuple[bool, Finding | None]:
    """Whether one of the sessions has a complete lap, and what the first such came to first of
    all: the same that its debrief begins with."""
    references = service.references.current()
    for row in rows:
        try:
            return True, await service.analytics.of(row, Scope(), chosen, references)
        except (NoCompleteLap, NoRows, StoreDamaged):
            continue
    return False, None


async def events_here(
    service: Service, driver: str, place: str | None = None
) -> Sequence[EventRow]:
    """What is remembered of a driver at a place of `LapBook`, else on the active track.

    Of nobody that is nothing. Where there is no active track, it is everything.
    """
    if not driver.strip():
        return ()
    events = await service.db.read(lambda reader: driver_events(reader, driver))
    wanted = _wanted(service, place)
    if not wanted:
        return events
    sessions = {event.session_id for event in events}
    there = {name: service.db.session(name) for name in sessions}
    return [
        event
        for event in events
        if (row := there[event.session_id]) is not None and await service.book.place(row) == wanted
    ]


def _wanted(service: Service, place: str | None) -> str:
    """The place that is asked for; empty: any."""
    if place is not None:
        return place
    return service.active_track.id if service.active_track is not None else ""


async def tell_debrief(service: Service, review: Review) -> tuple[Narrative, Fragments]:
    """The debrief of a session, and what it was made from."""
    story, given = debrief(review), fragments(review)
    names = spoken(review.corners, [one.corner for one in review.found])
    small = await desk_of(service).model.is_small()
    prompt = small_debrief_prompt(review) if small else debrief_prompt(given, story.text)
    plain = Narrative(story.text, "template", story.emotion, story.items)

    def made(text: str) -> Narrative | None:
        mood = felt(text)
        evidence = given.evidence(review, story.text)
        told = told_debrief(focused(mood.text).text, story, evidence, names)
        if told is None:
            return None
        letter = review.card.letter if review.card is not None else None
        return plain._replace(
            text=told.text,
            source="local_model",
            emotion=fitting(mood.emotion, story.emotion, letter),
            dropped=told.dropped,
            kept=told.kept,
        )

    told = await _asked(service, "debrief", "post_session", prompt, review.session_id, made)
    return told or plain, given


async def tell_brief(service: Service, plan: Plan, session_id: str | None) -> Narrative:
    """The briefing before a session."""
    parts = brief_parts(plan)
    corners = plan.track.corners if plan.track is not None else ()
    names = spoken(corners)
    plain = Narrative("\n\n".join(parts), "template", CALM, plan.focus)
    small = await desk_of(service).model.is_small()
    prompt = small_brief_prompt(plan) if small else brief_prompt(plan, plain.text)

    def made(text: str) -> Narrative | None:
        mood = felt(text)
        found = focused(mood.text)
        evidence = brief_evidence(plan)
        told = told_brief(found.text, parts, plan.grades.weakest, evidence, names)
        if told is None:
            return None
        items = plan.focus if plan.asked else may_say(found.items, names)
        return Narrative(
            text=told.text,
            source="local_model",
            emotion=fitting(mood.emotion, CALM),
            focus=items or plan.focus,
            dropped=told.dropped,
            kept=told.kept,
        )

    return await _asked(service, "brief", "pre_brief", prompt, session_id, made) or plain


async def _asked(
    service: Service,
    role: Role,
    mode: Mode,
    messages: Sequence[Message],
    session_id: str | None,
    made: Callable[[str], Narrative | None],
) -> Narrative | None:
    """The model's narrative; None where it gave none that may be shown."""
    async with desk_of(service).model.call(role, mode, messages, session_id=session_id) as call:
        try:
            text = await call.text()
        except ModelFailed as failed:
            call.fell_back(failed.reason, failed.detail)
            return None
        told = await asyncio.to_thread(made, text)
        if told is None:
            call.fell_back("ungrounded")
        else:
            call.felt(told.emotion)
        return told
