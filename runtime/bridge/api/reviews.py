"""Briefs and debriefs: collect the facts, put them into words, let a model add a remark."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from runtime.bridge.api.analysis import Subject
from runtime.bridge.coach.fact import Fact
from runtime.bridge.coach.facts.stories import (
    Plan,
    Story,
    shorten,
    tell_brief,
    tell_debrief,
    write_story,
)
from runtime.bridge.coach.gather import Gathering
from runtime.bridge.coach.model import Message, Mode, ModelFailed, Role
from runtime.bridge.coach.narration import LANGUAGES, split_sentences, weigh
from runtime.bridge.coach.scene import Outing, Scene, Session
from runtime.bridge.coach.understanding.slots import Names
from runtime.bridge.coach.wording.words import Words
from runtime.bridge.cues.concepts import Lesson
from runtime.bridge.cues.model import Emotion
from runtime.bridge.service import Service
from runtime.bridge.storage.coaching import EventRow, read_driver_events
from runtime.bridge.storage.records import SessionRow

Source: TypeAlias = Literal["local_model", "template"]
SESSIONS: Final = 50
"""Newest sessions of a driver on a track that are considered."""
EMOTIONS: Final[tuple[Emotion, ...]] = get_args(Emotion)
CALM: Final[frozenset[Emotion]] = frozenset({"thinking", "analyzing", "encouraging"})
"""Moods that express no verdict on a session."""
_MOOD: Final = re.compile(r"\[\s*emotion\s*:\s*([a-z]+)\s*\]", re.IGNORECASE)
_TAG: Final = re.compile(r"\[\s*emotion\s*:[^\]]*\]", re.IGNORECASE)
_FOCUS: Final = re.compile(r"<FOCUS>(.*?)</FOCUS>", re.IGNORECASE | re.DOTALL)


class Narrative(NamedTuple):
    """The text of a brief or debrief."""

    text: str
    """Markdown."""
    source: Source
    emotion: Emotion
    focus: tuple[str, ...]
    dropped: int = 0
    """Sentences of the model that were rejected."""
    kept: int = 0

    @property
    def fell_back(self) -> bool:
        """Whether the text is without a word of the model."""
        return self.source == "template"


class Teaching(NamedTuple):
    """A lesson to learn from a corner."""

    concept: str
    corner: str
    evidence: str
    """What was done, in numbers."""
    tip: str
    lesson: Lesson
    gain_s: float | None
    """Seconds a lap that the advice is worth."""
    start_m: float | None
    """Metres from start/finish, like *end_m*."""
    end_m: float | None


class Review(NamedTuple):
    """A session in retrospect."""

    story: Story
    scene: Scene
    names: Names
    words: Words
    lesson: Lesson
    taught: tuple[Teaching, ...]
    best_before_s: float | None

    @property
    def next_focus(self) -> str | None:
        """The corner with the most time to gain."""
        return self.story.next_focus


def strip_moods(text: str) -> str:
    """Remove mood tags and line breaks from a text."""
    return " ".join(_TAG.sub(" ", text).split())


def require_gathering(service: Service) -> Gathering:
    """Return the source of all facts. Raises `NoDatabase`."""
    if service.gathering is None:
        raise service.without_database()
    return service.gathering


def find_lesson(service: Service, concept: str) -> Lesson:
    """Find the lesson that teaches a concept, by the concept's id."""
    lesson = service.lessons.find(concept)
    assert lesson is not None  # every concept has a lesson
    return lesson


async def look_back(subject: Subject, driver: str, words: Words) -> Review:
    """Review a session for its debrief. Raises the errors of `Analyses.of` except `NoGeometry`."""
    service, row = subject.service, subject.row
    drive = await subject.drive()
    gathering = require_gathering(service)
    view = await gathering.look(row.session_id, driver)
    session = Session(row.session_id, row.driver or driver, row.car or "", row.started_at)
    scene = replace(view.scene, outing=Outing(session, drive), without_laps=False)
    before = await find_best_before(service, row, driver)
    story = await asyncio.to_thread(tell_debrief, scene, before)
    taught = tuple(
        Teaching(
            advice.concept or story.concept,
            advice.place.corner if advice.place and advice.place.corner else "",
            words.sentence(problem),
            words.sentence(advice),
            find_lesson(service, advice.concept or story.concept),
            advice.gain_s,
            advice.place.start_m if advice.place else None,
            advice.place.end_m if advice.place else None,
        )
        for problem, advice in zip(story.problems, story.advice, strict=True)
    )
    lesson = find_lesson(service, story.concept)
    return Review(story, scene, view.names, words, lesson, taught, before)


async def prepare(service: Service, driver: str, plan: Plan, hour: int) -> tuple[Story, Names]:
    """Brief a driver on the active circuit, from the last session there with a complete lap."""
    gathering = require_gathering(service)
    for row in await list_sessions_here(service, driver):
        view = await gathering.look(row.session_id, driver, hour=hour)
        if view.scene.outing is not None:
            return tell_brief(view.scene, plan), view.names
    view = await gathering.look("", driver, hour=hour)
    return tell_brief(view.scene, plan), view.names


async def find_best_before(service: Service, row: SessionRow | None, driver: str) -> float | None:
    """Find the driver's best lap time on a session's circuit before that session.

    None where its circuit is unknown. Without a session: the best ever on the active circuit.
    """
    own = row.session_id if row is not None else None
    place = None if row is None else await service.book.place(row)
    if place == "":
        return None
    times = [
        event.value
        for event in await list_events_here(service, driver, place)
        if event.kind == "pb_lap_s" and event.session_id != own
    ]
    for other in await list_sessions_here(service, driver, place):
        earlier = row is None or other.started_at < row.started_at
        if earlier and other.session_id != own:
            summary = await service.book.find_recent(other)
            if summary is not None and summary.best_s is not None:
                times.append(summary.best_s)
    return min(times, default=None)


async def list_sessions_here(
    service: Service, driver: str, place: str | None = None
) -> list[SessionRow]:
    """List a driver's sessions with telemetry at a place of `LapBook`, the newest first.

    Without a place: on the active track, or everywhere if there is none. No driver, no sessions.
    """
    if not driver.strip():
        return []
    wanted = _choose_place(service, place)
    rows = [
        row
        for row in service.db.sessions(driver=driver)
        if row.n_frames and (not wanted or await service.book.place(row) == wanted)
    ]
    return rows[:SESSIONS]


async def list_events_here(
    service: Service, driver: str, place: str | None = None
) -> Sequence[EventRow]:
    """List a driver's history at a place of `LapBook`.

    Without a place: on the active track, or everywhere if there is none. No driver, no history.
    """
    if not driver.strip():
        return ()
    events = await service.db.read(lambda reader: read_driver_events(reader, driver))
    wanted = _choose_place(service, place)
    if not wanted:
        return events
    sessions = {event.session_id for event in events}
    there = {name: service.db.session(name) for name in sessions}
    return [
        event
        for event in events
        if (row := there[event.session_id]) is not None and await service.book.place(row) == wanted
    ]


def _choose_place(service: Service, place: str | None) -> str:
    """Return *place*, else the active track's; empty: any place."""
    if place is not None:
        return place
    return service.active_track.id if service.active_track is not None else ""


async def narrate_story(
    service: Service,
    story: Story,
    names: Names,
    words: Words,
    lesson: Lesson,
    *,
    role: Role,
    mode: Mode,
    session_id: str | None,
    last: str = "",
) -> Narrative:
    """Write the story, with the remarks of a model that its facts bear out.

    *last* is a paragraph before the lesson.
    """
    title = f"[{lesson.title}]({lesson.url})" if lesson.url else f"*{lesson.title}*"
    reading = words.text("read-lesson", {"title": title})
    text = write_story(story, words, last, reading)
    plain = Narrative(text, "template", story.emotion, story.items(words))
    model = service.model
    assert model is not None
    async with model.call(role, mode, _make_prompt(text, words), session_id=session_id) as call:
        try:
            reply = await call.text()
        except ModelFailed as failed:
            call.record_fallback(failed.reason, failed.detail)
            return plain
        mood = _read_mood(reply)
        weighed = weigh(_FOCUS.sub("", reply), story.facts, words, names)
        listed = _read_focus(reply)
        focus = [item for item in listed if not weigh(item, story.facts, words, names).dropped]
        if not weighed.remark:
            call.record_fallback("ungrounded")
            return plain
        call.record_emotion(mood or story.emotion)
        remark = words.text("coach-model", {"text": weighed.remark})
        return plain._replace(
            text=f"{text}\n\n{remark}",
            source="local_model",
            emotion=mood if mood in CALM and story.emotion != "concerned" else story.emotion,
            focus=tuple(focus) or plain.focus,
            dropped=weighed.dropped,
            kept=len(split_sentences(weighed.remark)),
        )


def _make_prompt(text: str, words: Words) -> list[Message]:
    system = (
        "You are a racing driver's coach. The text below is shown to the driver as it is. Add at "
        f"most two short sentences in {LANGUAGES[words.language]} that help to understand it or to "
        "do it. Copy numbers, units and corner names exactly, and use no others. Name nothing "
        "that the text does not name."
    )
    return [{"role": "system", "content": system}, {"role": "user", "content": text}]


def _read_focus(text: str) -> tuple[str, ...]:
    """Read the items that a model lists in its focus tag; empty without one."""
    tag = _FOCUS.search(text)
    try:
        items = json.loads(tag[1]) if tag else ()
    except (ValueError, RecursionError):
        items = ()
    return shorten(
        [item for item in items if isinstance(item, str)] if isinstance(items, list) else []
    )


def _read_mood(text: str) -> Emotion | None:
    """Read the first tag of a model's text that names a mood of the vocabulary."""
    return next(
        (mood for tag in _MOOD.findall(text) for mood in EMOTIONS if mood == tag.lower()), None
    )


def list_facts(facts: Sequence[Fact], words: Words) -> list[dict[str, object]]:
    """Convert facts to JSON: kind, corner, laps and the sentence."""
    return [
        {
            "id": fact.id,
            "kind": fact.kind,
            "corner": fact.place.corner if fact.place else None,
            "laps": list(fact.laps),
            "text": words.sentence(fact),
        }
        for fact in facts
    ]
