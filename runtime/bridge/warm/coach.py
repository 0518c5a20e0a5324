"""Briefs and debriefs of a running bridge: the evidence, and the model's words or plain ones."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.analyses import Analyses, Scope
from runtime.bridge.analysis.drive import Drive
from runtime.bridge.analysis.grading import Scorecard, scorecard
from runtime.bridge.analysis.ideal import ideal_lap
from runtime.bridge.analysis.incidents import Active
from runtime.bridge.analysis.lap_times import lap_time_table
from runtime.bridge.analysis.moments import highlights
from runtime.bridge.analysis.passes_quality import Consistency, consistency
from runtime.bridge.analysis.stats import stats
from runtime.bridge.coach.values import Emotion
from runtime.bridge.errors import NoGeometry
from runtime.bridge.service import Service
from runtime.bridge.storage.coaching import EventRow, driver_events
from runtime.bridge.storage.values import SessionRow
from runtime.bridge.tracks.model import Corner, slug
from runtime.bridge.warm.brief import Plan, brief_evidence, plain_brief, weather_line
from runtime.bridge.warm.debrief import debrief
from runtime.bridge.warm.desk import Desk
from runtime.bridge.warm.emotion import felt
from runtime.bridge.warm.model import Message, Mode, ModelFailed, Role
from runtime.bridge.warm.pedagogy import pedagogy
from runtime.bridge.warm.prompts import (
    brief_prompt,
    debrief_prompt,
    small_brief_prompt,
    small_debrief_prompt,
)
from runtime.bridge.warm.review import Fragments, Review, fragments
from runtime.bridge.warm.told import focused, may_say, told_brief, told_comment, told_debrief

Source: TypeAlias = Literal["local_model", "template"]
CALM: Final[Emotion] = "encouraging"


class Narrative(NamedTuple):
    """What the driver is told."""

    text: str
    """Markdown."""
    source: Source
    emotion: Emotion
    focus: tuple[str, ...]
    latency_ms: float
    dropped: int = 0
    """Sentences of the model that no evidence carried."""
    kept: int = 0

    @property
    def fell_back(self) -> bool:
        """Whether the model had no part in it."""
        return self.source == "template"


class Corners(NamedTuple):
    """What analytics of corners say; nothing where nobody knows where they are."""

    card: Scorecard | None = None
    consistency: Consistency | None = None
    places: tuple[Corner, ...] = ()


def desk_of(service: Service) -> Desk:
    """The desk of a bridge that runs."""
    assert service.desk is not None
    return service.desk


async def review_of(
    service: Service,
    analyses: Analyses,
    row: SessionRow,
    scope: Scope,
    *,
    driver: str,
    active: tuple[Active, ...] = (),
) -> Review:
    """A session as a debrief looks at it. Raises what `Analyses.of` raises but `NoGeometry`."""
    references = service.references.current()
    drive = await analyses.drive(row, scope)
    try:
        corners = Corners(
            await analyses.of(row, scope, scorecard, references),
            await analyses.of(row, scope, consistency),
            await analyses.of(row, scope, places_of),
        )
    except NoGeometry:
        corners = Corners()
    lessons = desk_of(service).lessons
    return Review(
        session_id=row.session_id,
        track=drive.track.name if drive.track is not None else row.track or "",
        driver=driver,
        partial=drive.partial,
        stats=await analyses.of(row, scope, stats),
        laps=await analyses.of(row, scope, lap_time_table),
        ideal=await analyses.of(row, scope, ideal_lap),
        moments=await analyses.of(row, scope, highlights, references, active),
        card=corners.card,
        consistency=corners.consistency,
        corners=corners.places,
        taught=pedagogy(corners.card.corners, lessons) if corners.card is not None else (),
        best_before_s=await best_before(service, row, driver),
    )


def places_of(drive: Drive) -> tuple[Corner, ...]:
    """The corners of a session, in lap order. Raises `NoGeometry`."""
    return drive.corners


async def best_before(service: Service, row: SessionRow | None, driver: str) -> float | None:
    """The driver's best remembered lap on the track of a session, the session itself left out.

    Without a session: on the active track.
    """
    own = row.session_id if row is not None else None
    active = service.active_track.name if service.active_track else ""
    track = slug((row.track if row is not None else None) or active)
    bests = []
    for event in await events_of(service, driver):
        if event.kind != "pb_lap_s" or event.session_id == own:
            continue
        there = service.db.session(event.session_id)
        if there is not None and slug(there.track or active) == track:
            bests.append(event.value)
    return min(bests, default=None)


async def events_of(service: Service, driver: str) -> Sequence[EventRow]:
    """What is remembered of a driver; nothing of nobody."""
    if not driver.strip():
        return ()
    return await service.db.read(lambda reader: driver_events(reader, driver))


async def tell_debrief(service: Service, review: Review) -> tuple[Narrative, Fragments]:
    """The debrief of a session, and what it was made from."""
    began = time.monotonic()
    story, given = debrief(review), fragments(review)
    evidence = given.evidence(review)
    small = await desk_of(service).model.is_small()
    prompt = small_debrief_prompt(review) if small else debrief_prompt(given)
    plain = Narrative(story.text, "template", story.emotion, story.items, 0.0)

    def made(text: str) -> Narrative | None:
        mood = felt(text)
        found = focused(mood.text)
        write = told_comment if small else told_debrief
        told = write(found.text, story, evidence)
        if told is None:
            return None
        emotion = mood.emotion if mood.emotion != "neutral" else story.emotion
        items = may_say(found.items, evidence) or story.items
        return Narrative(told.text, "local_model", emotion, items, 0.0, told.dropped, told.kept)

    told = await _asked(service, "debrief", "post_session", prompt, review.session_id, made)
    return _timed(told or plain, began), given


async def tell_brief(service: Service, plan: Plan, session_id: str | None) -> Narrative:
    """The briefing before a session."""
    began = time.monotonic()
    evidence = brief_evidence(plan)
    small = await desk_of(service).model.is_small()
    prompt = small_brief_prompt(plan) if small else brief_prompt(plan)
    plain = Narrative(plain_brief(plan), "template", CALM, plan.focus, 0.0)

    def made(text: str) -> Narrative | None:
        mood = felt(text)
        found = focused(mood.text)
        # A small model adds a word to the plain text, where a larger one writes its own.
        head, least = (plain.text, 1) if small else (weather_line(plan), 2)
        told = told_brief(found.text, head, evidence, least)
        if told is None:
            return None
        emotion = mood.emotion if mood.emotion != "neutral" else CALM
        items = may_say(found.items, evidence) or plan.focus
        return Narrative(told.text, "local_model", emotion, items, 0.0, told.dropped, told.kept)

    told = await _asked(service, "brief", "pre_brief", prompt, session_id, made)
    return _timed(told or plain, began)


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


def _timed(told: Narrative, began: float) -> Narrative:
    return told._replace(latency_ms=round((time.monotonic() - began) * 1000, 1))
