"""Briefs and debriefs of a running bridge: the facts gathered, told, and a model's word on them."""

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
from runtime.bridge.storage.coaching import EventRow, driver_events
from runtime.bridge.storage.records import SessionRow

Source: TypeAlias = Literal["local_model", "template"]
SESSIONS: Final = 50
"""Of a driver on a track, the newest, are looked at."""
EMOTIONS: Final[tuple[Emotion, ...]] = get_args(Emotion)
CALM: Final[frozenset[Emotion]] = frozenset({"thinking", "analyzing", "encouraging"})
"""Moods of a model that judge no session."""
_MOOD: Final = re.compile(r"\[\s*emotion\s*:\s*([a-z]+)\s*\]", re.IGNORECASE)
_TAG: Final = re.compile(r"\[\s*emotion\s*:[^\]]*\]", re.IGNORECASE)
_FOCUS: Final = re.compile(r"<FOCUS>(.*?)</FOCUS>", re.IGNORECASE | re.DOTALL)


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


class Teaching(NamedTuple):
    """One thing to learn from a corner."""

    concept: str
    corner: str
    evidence: str
    """What was done, in numbers."""
    tip: str
    lesson: Lesson
    gain_s: float | None
    """Seconds a lap that acting on it is worth."""
    start_m: float | None
    """Metres from start/finish, as is the end."""
    end_m: float | None


class Review(NamedTuple):
    """A session looked back on."""

    story: Story
    scene: Scene
    names: Names
    words: Words
    lesson: Lesson
    taught: tuple[Teaching, ...]
    best_before_s: float | None

    @property
    def next_focus(self) -> str | None:
        """The corner with the most to win."""
        return self.story.next_focus


def strip_moods(text: str) -> str:
    """A text without tags of moods, on one line."""
    return " ".join(_TAG.sub(" ", text).split())


def gathering_of(service: Service) -> Gathering:
    """What facts of a running bridge come from. Raises `NoDatabase`."""
    if service.gathering is None:
        raise service.without_database()
    return service.gathering


def lesson_of(service: Service, concept: str) -> Lesson:
    """The lesson that teaches a concept, by its id."""
    lesson = service.lessons.find(concept)
    assert lesson is not None  # each concept has one
    return lesson


async def look_back(subject: Subject, driver: str, words: Words) -> Review:
    """A session as a debrief looks at it. Raises what `Analyses.of` raises but `NoGeometry`."""
    service, row = subject.service, subject.row
    drive = await subject.drive()
    gathering = gathering_of(service)
    known = await gathering.look(row.session_id, driver)
    session = Session(row.session_id, row.driver or driver, row.car or "", row.started_at)
    scene = replace(known.scene, outing=Outing(session, drive), without_laps=False)
    before = await best_before(service, row, driver)
    story = await asyncio.to_thread(tell_debrief, scene, before)
    taught = tuple(
        Teaching(
            advice.concept or story.concept,
            advice.place.corner if advice.place and advice.place.corner else "",
            words.sentence(problem),
            words.sentence(advice),
            lesson_of(service, advice.concept or story.concept),
            advice.gain_s,
            advice.place.start_m if advice.place else None,
            advice.place.end_m if advice.place else None,
        )
        for problem, advice in zip(story.problems, story.advice, strict=True)
    )
    lesson = lesson_of(service, story.concept)
    return Review(story, scene, known.names, words, lesson, taught, before)


async def prepare(service: Service, driver: str, plan: Plan, hour: int) -> tuple[Story, Names]:
    """The briefing of a driver on the active circuit, from the last session there with a lap."""
    gathering = gathering_of(service)
    for row in await driven_here(service, driver):
        known = await gathering.look(row.session_id, driver, hour=hour)
        if known.scene.outing is not None:
            return tell_brief(known.scene, plan), known.names
    known = await gathering.look("", driver, hour=hour)
    return tell_brief(known.scene, plan), known.names


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
    wanted = _wanted(service, place)
    rows = [
        row
        for row in service.db.sessions(driver=driver)
        if row.n_frames and (not wanted or await service.book.place(row) == wanted)
    ]
    return rows[:SESSIONS]


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
    """The story in words, with what a model adds that its facts bear out.

    *last* is a paragraph before the lesson.
    """
    title = f"[{lesson.title}]({lesson.url})" if lesson.url else f"*{lesson.title}*"
    reading = words.text("read-lesson", {"title": title})
    text = write_story(story, words, last, reading)
    plain = Narrative(text, "template", story.emotion, story.items(words))
    model = service.model
    assert model is not None
    async with model.call(role, mode, _ask(text, words), session_id=session_id) as call:
        try:
            reply = await call.text()
        except ModelFailed as failed:
            call.fell_back(failed.reason, failed.detail)
            return plain
        mood = _read_mood(reply)
        weighed = weigh(_FOCUS.sub("", reply), story.facts, words, names)
        listed = _read_focus(reply)
        focus = [item for item in listed if not weigh(item, story.facts, words, names).dropped]
        if not weighed.remark:
            call.fell_back("ungrounded")
            return plain
        call.felt(mood or story.emotion)
        remark = words.text("coach-model", {"text": weighed.remark})
        return plain._replace(
            text=f"{text}\n\n{remark}",
            source="local_model",
            emotion=mood if mood in CALM and story.emotion != "concerned" else story.emotion,
            focus=tuple(focus) or plain.focus,
            dropped=weighed.dropped,
            kept=len(split_sentences(weighed.remark)),
        )


def _ask(text: str, words: Words) -> list[Message]:
    system = (
        "You are a racing driver's coach. The text below is shown to the driver as it is. Add at "
        f"most two short sentences in {LANGUAGES[words.language]} that help to understand it or to "
        "do it. Copy numbers, units and corner names exactly, and use no others. Name nothing "
        "that the text does not name."
    )
    return [{"role": "system", "content": system}, {"role": "user", "content": text}]


def _read_focus(text: str) -> tuple[str, ...]:
    """The items that a model lists in its tags; empty without any."""
    found = _FOCUS.search(text)
    try:
        given = json.loads(found[1]) if found else ()
    except (ValueError, RecursionError):
        given = ()
    return shorten(
        [one for one in given if isinstance(one, str)] if isinstance(given, list) else []
    )


def _read_mood(text: str) -> Emotion | None:
    """The first mood of the vocabulary that a model's text is tagged with."""
    return next(
        (mood for tag in _MOOD.findall(text) for mood in EMOTIONS if mood == tag.lower()), None
    )


def list_facts(facts: Sequence[Fact], words: Words) -> list[dict[str, object]]:
    """Facts as JSON: kind, place, laps and the sentence."""
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
