"""The coach that answers questions: those under way, conversations in memory, and their end."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeAlias
from uuid import uuid4

from runtime.bridge.coach.asking import Answer, Question, Row, TooManyQuestions, WordedFact
from runtime.bridge.coach.fact import Cell, Corner, Fact, Term
from runtime.bridge.coach.facts.measures import SAYS
from runtime.bridge.coach.facts.tellers import tell
from runtime.bridge.coach.facts.view import corners_of
from runtime.bridge.coach.gather import Context, Gathering
from runtime.bridge.coach.lessons import Passage
from runtime.bridge.coach.memory import Memory, Trace, Turn, key_of
from runtime.bridge.coach.model import ModelClient
from runtime.bridge.coach.narration import Narration, narrate
from runtime.bridge.coach.need import Need, NeedKind, Reading, Slots
from runtime.bridge.coach.roles import OF_INTENT, emotion_of, intent_of
from runtime.bridge.coach.scene import Scene
from runtime.bridge.coach.sql import Queries, statement_in
from runtime.bridge.coach.understanding.classify import (
    Classifier,
    load_classifier,
    read_weights,
    write_weights,
)
from runtime.bridge.coach.understanding.hazards import KEYS
from runtime.bridge.coach.understanding.read import (
    USUAL,
    asks_to_keep,
    read_question,
    text_to_embed,
)
from runtime.bridge.coach.wording.words import Words, words_of
from runtime.bridge.cues.concepts import CONCEPTS, Lesson
from runtime.bridge.storage.coaching import TurnRow
from runtime.bridge.storage.errors import StoreBusy, StoreFailed, StoreFull
from runtime.bridge.storage.records import NoteRow, unix_ms

log = logging.getLogger(__name__)

MOST_AT_ONCE: Final = 16
"""Questions under way; the model's own queue is shorter, and what does not fit there is answered
from the facts."""
MOST_FACTS: Final = 4
"""Three sentences and one thing to do."""
SWEEP_S: Final = 20.0
AGAIN_S: Final = 30.0
EXAMPLES_S: Final = 120.0
"""Time limit for the vectors of all example sentences."""
STORE_ERRORS: Final = (StoreBusy, StoreFull, StoreFailed)
AFTER_HAZARD: Final[frozenset[NeedKind]] = frozenset(
    {
        *("measure", "wet", "conditions", "danger"),
        *("incidents", "incident_explain", "corner_review", "corner_explain", "lap_explain"),
        *("lap_trend", "unrecorded", "grip", "balance"),
    }
)
"""Needs answered after a safety message: what the data show, no advice."""
UNSAFE: Final = frozenset("incidents-none danger-do wet-do".split())
"""Facts left out after a safety message: a driver who reports an incident is not told that there
was none, and advice was given."""
TALK: Final[frozenset[NeedKind]] = frozenset({"thanks", "greeting", "who", "style", "abilities"})
"""Needs that end the talk of a danger if nothing else is said."""
SHORT: Final = 3
"""The most words of that."""
EVENTS: Final[frozenset[NeedKind]] = frozenset({"incidents", "incident_explain", "balance"})
"""Needs that ask whether the data show something of a danger."""
MILD: Final = frozenset("near_miss rain heat flat_out_dare fear unsure".split())
"""Dangers that do not keep a driver off the track."""
DRIVING: Final[frozenset[NeedKind]] = frozenset({"run_plan", "lap_goal"})
"""Needs of a driver who wants to go on in spite of a danger."""
FADING: Final = (Need("lap_trend", Slots(quantity="brake_pressure")),)
PLAIN: Final = frozenset({"thanks", "greeting", "who", "style", "off_topic", "query", "unrecorded"})
"""Needs whose answer no model can improve."""
Event: TypeAlias = str | Answer
"""A piece of the answer, or at the end the whole."""


class Conversations:
    """Answers questions. Made and used on a running loop; `close` writes what is in memory."""

    def __init__(
        self,
        gathering: Gathering,
        model: ModelClient,
        queries: Queries,
        *,
        weights: Path,
        timeout_s: float = 45.0,
        char_budget: int = 60_000,
    ) -> None:
        self.gathering = gathering
        self.model = model
        self.queries = queries
        self.weights = weights
        """The file of weights learnt from the example sentences' vectors."""
        self.memory = Memory(char_budget)
        self.timeout_s = timeout_s
        self.classifier = load_classifier()
        self.embeds = False
        """Whether the examples have vectors, so that a question needs one."""
        self.times: deque[float] = deque(maxlen=100)
        """Seconds taken by the last answers."""
        self._under_way = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._running: list[asyncio.Task[None]] = []
        self.learning: asyncio.Task[None] | None = None
        """Learns the vectors of the example sentences."""

    def start(self) -> None:
        """Start to write abandoned conversations now and then, and to learn the example sentences'
        vectors if the model's server makes them."""
        self.learning = asyncio.create_task(self._embed_examples())
        self._running = [asyncio.create_task(self._sweep_for_ever()), self.learning]

    async def close(self) -> None:
        """Write every conversation and end; the database must still be open."""
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)
        for key in self.memory.list_keys():
            await self.write(self.memory.end(key))
        await self.settle()
        await asyncio.to_thread(self.queries.close)

    def admit(self) -> None:
        """Raise `TooManyQuestions` if no further question can be taken."""
        if self._under_way >= MOST_AT_ONCE:
            raise TooManyQuestions

    async def ask(self, question: Question) -> Answer:
        """Return the whole answer. Raises `TooManyQuestions`."""
        async with aclosing(self.stream(question)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    return event
        raise AssertionError("a stream ends with its answer")

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """Yield the answer sentence by sentence, then as a whole; closing it cancels the work.

        Raises what `ask` raises, even after sentences.
        """
        self.admit()
        self._under_way += 1
        try:
            async with aclosing(_Answering(self, question).events()) as events:
                async for event in events:
                    yield event
        finally:
            self._under_way -= 1

    async def end(self, key: str) -> int:
        """Write a conversation and forget it; return the number of rows written."""
        return await self.write(self.memory.end(key))

    async def sweep(self, now: float | None = None) -> int:
        """Write idle conversations and those whose session has ended; return the rows written."""
        moment = time.monotonic() if now is None else now
        ends: dict[str, int] = {}
        for session_id in self.memory.sessions():
            row = self.gathering.store.session(session_id)
            if row is not None and row.ended_at is not None:
                ends[session_id] = row.ended_at
        keys = [*self.memory.list_idle(moment), *self.memory.list_ended(ends)]
        return sum([await self.end(key) for key in dict.fromkeys(keys)])

    def run_aside(self, work: Coroutine[Any, Any, Any]) -> None:
        """Run *work* without delaying the answer."""
        task = asyncio.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settle(self) -> None:
        """Wait for all work run aside."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def write(self, rows: list[TurnRow]) -> int:
        """Store rows of a conversation; return how many were stored."""
        if not rows:
            return 0
        try:
            await self.gathering.store.add(rows)
        except STORE_ERRORS as problem:
            log.warning("a conversation was not stored: %s", problem)
            return 0
        return len(rows)

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            await self.sweep()

    async def _embed_examples(self) -> None:
        """Learn the examples' meaning, or read what was stored of it; the model's server may start
        later."""
        if not self.model.endpoint.url:
            return
        while not self.embeds:
            if await self.model.probe() and (name := self.model.embedder):
                weights = await asyncio.to_thread(read_weights, self.weights, name)
                if weights is None:
                    texts = [example.text for example in self.classifier.questions]
                    vectors = await self.model.embeddings(texts, EXAMPLES_S)
                    if vectors is not None:
                        weights = await asyncio.to_thread(self.classifier.learn_vectors, vectors)
                        await asyncio.to_thread(write_weights, self.weights, name, weights)
                if weights is not None:
                    self.classifier = Classifier(self.classifier.examples, weights)
                    self.embeds = True
                    return
            await asyncio.sleep(AGAIN_S)


class _Answering:
    """A question being answered."""

    def __init__(self, owner: Conversations, question: Question) -> None:
        self._owner = owner
        self._question = question
        self._talk = owner.memory.talk(question.driver_id, question.session_id)
        self._trace = Trace(uuid4().hex[:16], question.session_id)
        self._began = time.monotonic()
        self._asked_at = unix_ms()
        self._pieces: list[str] = []
        self._rows: tuple[Row, ...] | None = None
        self._unused: list[str] = []

    async def events(self) -> AsyncGenerator[Event, None]:
        """See `Conversations.stream`."""
        owner, question = self._owner, self._question
        context = await owner.gathering.look(question.about, question.driver_id)
        reading = await self._understand(context)
        intent = intent_of(reading.needs)
        self._trace.agent = OF_INTENT[intent].name
        self._trace.add("intent", intent)
        succeeded = False
        try:
            words = words_of(reading.language, reading.units or "metric", reading.speeds)
            facts, suggestions = await self._look_up(context, reading, words)
            yield self._add_piece(words.sentence(facts[0]))
            narration = await self._narrate(context, reading, facts, words)
            for link, at in zip(narration.links, narration.order, strict=True):
                sentence = words.sentence(facts[at])
                yield self._add_piece(
                    words.text(f"link-{link}", {"text": sentence}) if link else sentence
                )
            if narration.remark:
                yield self._add_piece(words.text("coach-model", {"text": narration.remark}))
            lesson = self._lesson(facts)
            if lesson is not None and not any(fact.kind == "lesson" for fact in facts):
                yield self._add_piece(words.text("more-in-lesson", {"title": lesson.title}))
            succeeded = True
            facts = (facts[0], *(facts[at] for at in narration.order))
            yield self._answer(reading, intent, facts, words, narration, lesson, suggestions)
        finally:
            self._trace.add("agent", intent, self._age_s() * 1000, success=succeeded)
            owner.run_aside(owner.gathering.store.add(self._trace.rows))

    async def _understand(self, context: Context) -> Reading:
        owner, question, last = self._owner, self._question, self._talk.reading
        if statement_in(question.text) is not None:
            return Reading(question.text, "en", None, None, (Need("query"),))
        vector = None
        if owner.embeds:
            text = text_to_embed(question.text, context.names, last)
            vectors = await owner.model.embeddings([text])
            vector = vectors[0] if vectors is not None else None
        if vector is None:
            self._unused.append("embeddings")
        reading = await asyncio.to_thread(
            read_question,
            question.text,
            context.names,
            last,
            intent=question.intent,
            classifier=owner.classifier,
            vector=vector,
        )
        units = reading.units or self._talk.units or question.units
        speeds = reading.speeds or (None if reading.units else self._talk.speeds)
        language = question.language or reading.language
        hazard = self._find_open_hazard(reading)
        return replace(reading, language=language, units=units, speeds=speeds, hazard=hazard)

    async def _look_up(
        self, context: Context, reading: Reading, words: Words
    ) -> tuple[tuple[Fact, ...], tuple[str, ...]]:
        """Return the facts of an answer, at least one, and questions to ask instead."""
        facts: list[Fact] = []
        hazard = reading.hazard
        if hazard is not None:
            facts.append(Fact(f"hazard-{hazard}"))
        # a driver who mentions the brakes asks whether the data show it
        bare = all(need.slots.quantity is None for need in reading.needs)
        needs = FADING if hazard == "brakes" and bare else reading.needs
        for need in needs:
            if hazard is not None and (need.kind not in AFTER_HAZARD or need.slots.order in SAYS):
                continue  # nobody is asked for more speed
            self._trace.add("tool_start", need.kind)
            began = time.monotonic()
            most = 2 if len(reading.needs) > 1 or hazard else MOST_FACTS
            most = 1 if reading.brief and need.kind != "style" else most
            answers = (await self._tell(context, reading, need))[:most]
            passed = (time.monotonic() - began) * 1000
            self._trace.add("tool", need.kind, passed, success=bool(answers))
            for fact in answers:
                if fact not in facts and not (hazard and fact.kind in UNSAFE):
                    facts.append(fact)
        offers = reading.needs and reading.needs[0].kind in ("abilities", "greeting")
        answered = any(fact.kind != "hazard-unsure" for fact in facts)
        if answered and not offers:
            return tuple(facts[:MOST_FACTS]), ()
        wanted = reading.suggestions or tuple(Need(kind) for kind in USUAL)
        texts = tuple(dict.fromkeys(_suggest(words, context.scene, need) for need in wanted))
        if answered:
            return tuple(facts), texts
        choices = words.join([words.text("quoted", {"text": text}) for text in texts], style="or")
        lead = [*facts, Fact("ask-otherwise")] if facts else [Fact("not-understood")]
        return (*lead, Fact("did-you-mean", {"choices": choices})), texts

    def _find_open_hazard(self, reading: Reading) -> str | None:
        """Return the danger of the question, or of the one before while it is played down: until
        something else is asked."""
        before = self._talk.reading.hazard if self._talk.reading is not None else None
        if before is None or before in MILD:
            return reading.hazard or (before if not reading.needs else None)
        if reading.hazard is not None or not reading.needs:
            return min((before, reading.hazard or before), key=KEYS.index)
        quantities = {need.slots.quantity for need in reading.needs}
        about = any(quantity and quantity.startswith(before[:5]) for quantity in quantities)
        about |= any(need.kind in EVENTS | DRIVING for need in reading.needs)
        talks = len(reading.text.split()) <= SHORT and reading.needs[0].kind in TALK
        asks = any(need.slots.open or need.slots.where for need in reading.needs)
        return before if about or not (talks or asks) else None

    async def _tell(self, context: Context, reading: Reading, need: Need) -> tuple[Fact, ...]:
        owner = self._owner
        if need.kind == "query":
            self._rows, facts = await owner.queries.answer(self._question.text, context)
            return facts
        try:
            async with asyncio.timeout(self._rest_s()):
                scene = await owner.gathering.meet(context, [need])
                scene = replace(scene, answer_times=tuple(owner.times))
                facts = await asyncio.to_thread(tell, scene, need)
        except TimeoutError:
            self._trace.add("error", "timeout", success=False)
            return (Fact("took-too-long"),)
        if need.kind == "style" and self._talk.facts:
            return (*facts, *self._talk.facts[:1])
        if need.kind == "voice_script" and context.row and asks_to_keep(reading):
            return await self._keep_script(context.row.session_id, facts, reading)
        return facts

    async def _keep_script(
        self, session_id: str, facts: Sequence[Fact], reading: Reading
    ) -> tuple[Fact, ...]:
        """Store the phrases as notes of the session, where the player of cues finds them."""
        words = words_of(reading.language, reading.units or "metric", reading.speeds)
        store = self._owner.gathering.store
        try:
            for fact in facts:
                text = words.sentence(fact)
                await store.add_note(NoteRow(session_id, text, unix_ms(), source="voice_script"))
        except STORE_ERRORS:
            return (Fact("script-not-kept"), *facts)
        return (Fact("script-kept", {"count": len(facts)}), *facts)

    async def _narrate(
        self, context: Context, reading: Reading, facts: tuple[Fact, ...], words: Words
    ) -> Narration:
        """Let a model work on the facts; they stay as they are if it has no part."""
        plain = reading.hazard is not None or not reading.needs or reading.needs[0].kind in PLAIN
        if plain:
            return Narration.plain(len(facts))
        model = self._owner.model
        turns = self._owner.memory.recent(self._talk)
        narration = await narrate(
            model, self._question, facts, words, context.names, turns, timeout_s=self._rest_s()
        )
        if narration.reason is not None:
            self._unused.append("model")
        if narration.reason == "timeout":
            self._trace.add("error", "timeout", success=False)
        return narration

    def _lesson(self, facts: Sequence[Fact]) -> Lesson | None:
        keys = (fact.concept for fact in facts if fact.concept)
        return next(filter(None, map(self._owner.gathering.lessons.find, keys)), None)

    def _quote(self, lesson: Lesson, facts: Sequence[Fact]) -> Passage | None:
        """Return what the lesson says about the facts that name it; the course is in English."""
        lessons, english = self._owner.gathering.lessons, words_of("en", "metric")
        taught = [fact for fact in facts if fact.concept and lessons.find(fact.concept) == lesson]
        descriptions = [
            concept.description for concept in CONCEPTS if concept.id == taught[0].concept
        ]
        return lessons.quote(lesson, " ".join([*descriptions, *map(english.sentence, taught)]))

    def _answer(
        self,
        reading: Reading,
        intent: str,
        facts: tuple[Fact, ...],
        words: Words,
        narration: Narration,
        lesson: Lesson | None,
        suggestions: tuple[str, ...],
    ) -> Answer:
        owner, question, text = self._owner, self._question, "".join(self._pieces)
        emotion = emotion_of(facts, intent)
        turn = Turn(question.text, text, emotion, self._asked_at, unix_ms())
        talk, left = owner.memory.add(self._talk, turn, time.monotonic())
        talk.units, talk.speeds = reading.units, reading.speeds
        if reading.hazard or (reading.needs and reading.needs[0].kind != "style"):
            talk.reading, talk.facts = replace(reading, place=facts[0].place), facts
        if left:
            owner.run_aside(owner.write(left))
        owner.times.append(self._age_s())
        worded = tuple(
            WordedFact(
                fact,
                words.sentence(fact),
                {name: words.write(cell) for name, cell in fact.values.items()},
            )
            for fact in facts
        )
        spoken = [words.say(fact) for fact in facts]
        nothing = "hazard" if reading.hazard else "no_answer"
        return Answer(
            text=text,
            say=" ".join(spoken + ([narration.remark] if narration.remark else [])),
            language=reading.language,
            emotion=emotion,
            intent=intent,
            agent=OF_INTENT[intent].name,
            qa_key=key_of(question.driver_id, question.session_id),
            turn=len(talk.turns),
            trace_id=self._trace.trace_id,
            latency_ms=self._age_s() * 1000,
            source="local_model" if narration.used else "template",
            reason=narration.reason,
            model_said=narration.remark or None,
            dropped=narration.dropped,
            unused=tuple(self._unused),
            facts=worded,
            tool=reading.needs[0].kind if reading.needs else nothing,
            rows=self._rows,
            lessons=(lesson,) if lesson is not None else (),
            passage=self._quote(lesson, facts) if lesson is not None else None,
            suggestions=suggestions,
        )

    def _add_piece(self, sentence: str) -> str:
        """Add a sentence, with the blank before it, and return it."""
        piece = f" {sentence}" if self._pieces else sentence
        self._pieces.append(piece)
        return piece

    def _age_s(self) -> float:
        return time.monotonic() - self._began

    def _rest_s(self) -> float:
        return max(self._owner.timeout_s - self._age_s(), 0.05)


def _suggest(words: Words, scene: Scene, need: Need) -> str:
    """Word a need as a question that can be sent back."""
    slots, corners = need.slots, corners_of(scene)
    corner = slots.corners[0] if slots.corners else corners[0].name if corners else ""
    values: dict[str, Cell] = {
        "corner": Corner(corner),
        "lap": next((lap for lap in slots.laps if isinstance(lap, int)), 1),
        "sector": slots.sectors[0] if slots.sectors else 1,
        "driver": next(iter((*slots.drivers, *scene.rivals)), ""),
        "quantity": Term("quantity", slots.quantity or "speed"),
    }
    return words.text(f"suggest-{need.kind}", values)


async def _quietly(work: Coroutine[Any, Any, Any]) -> None:
    try:
        await work
    except STORE_ERRORS as problem:
        log.warning("the records of a question were not stored: %s", problem)
