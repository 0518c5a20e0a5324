"""Answers one question: facts by code, words by a model where there is one, every number checked.

The loop is our own, and short, because nothing in it is open: code chooses the tools before the
model speaks, so that what libraries for agents bring (tool calls out of a model's text, retries,
plans) has no place here, and their dependencies would outweigh the recorder.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from functools import partial
from typing import Any, Final, Protocol, TypeAlias
from uuid import uuid4

from runtime.bridge.coach.agents.answers import NOTHING, cited, template
from runtime.bridge.coach.agents.followups import Subject
from runtime.bridge.coach.agents.history import Histories, key_of
from runtime.bridge.coach.agents.passages import Passages
from runtime.bridge.coach.agents.prompt import bare, evidence, messages, recent
from runtime.bridge.coach.agents.roster import BY_INTENT, plan
from runtime.bridge.coach.agents.sieve import Sieve
from runtime.bridge.coach.agents.sources import Sources
from runtime.bridge.coach.agents.tools import use
from runtime.bridge.coach.agents.traces import Trace
from runtime.bridge.coach.agents.values import Answer, Found, Lesson, Question, Turn
from runtime.bridge.coach.agents.voice import (
    MODEL_FREE,
    SMALL_PARAMS,
    Voice,
    cheer,
    feeling,
    passes,
    voice,
)
from runtime.bridge.coach.warm.emotion import Strainer, fitting
from runtime.bridge.coach.warm.grounding import Reader, sentences
from runtime.bridge.coach.warm.model import Message, ModelClient, ModelFailed, Reason
from runtime.bridge.storage.coaching import TurnRow

TOO_LONG: Final = "That took too long to look up."
Event: TypeAlias = str | Answer
"""A piece of the answer, then the whole of it."""


class Owner(Protocol):
    """What an answer needs of the coach."""

    sources: Sources
    model: ModelClient
    passages: Passages
    histories: Histories
    timeout_s: float

    def aside(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do *work* without the answer waiting for it."""

    async def written(self, rows: list[TurnRow]) -> int:
        """Store rows of a conversation; how many were."""


class Answering:
    """One question on its way."""

    def __init__(self, owner: Owner, question: Question) -> None:
        self._owner = owner
        self._question = question
        self._agent = BY_INTENT[question.intent]
        self._trace = Trace(uuid4().hex[:16], question.session_id, self._agent.name)
        self._began = time.monotonic()
        self._asked_at = _now_ms()
        self._said: list[str] = []
        self._dropped = 0
        self._emotion = "neutral"
        self._modelled_it = False
        self._reason: Reason | None = None

    async def events(self) -> AsyncGenerator[Event, None]:
        """See `Questions.stream`."""
        self._trace.add("intent", self._question.intent)
        succeeded = False
        try:
            found = await self._gathered()
            lessons = _own_first(found, await self._passages())
            async with aclosing(self._worded(found, lessons)) as pieces:
                async for piece in pieces:
                    yield piece
            succeeded = True
            yield self._answer(found, lessons)
        finally:
            self._trace.add("agent", self._question.intent, self._passed_ms(), success=succeeded)
            rows = self._trace.rows
            self._owner.aside(self._owner.sources.store.add(rows))

    async def _gathered(self) -> tuple[Found, ...]:
        found = []
        for call in plan(self._question):
            self._trace.add("tool_start", call.tool)
            began = time.monotonic()
            try:
                async with asyncio.timeout(self._left_s()):
                    one = await use(self._owner.sources, self._question, call.tool, call.arguments)
            except TimeoutError:
                one = Found(call.tool, TOO_LONG, empty=True)
            passed = (time.monotonic() - began) * 1000
            self._trace.add("tool", call.tool, passed, success=not one.empty)
            found.append(one)
        return tuple(found)

    async def _passages(self) -> tuple[Lesson, ...]:
        if not self._open:
            return ()
        try:
            async with asyncio.timeout(self._left_s()):
                return await self._owner.passages.find(self._question.text)
        except TimeoutError:
            return ()

    async def _worded(
        self, found: tuple[Found, ...], lessons: tuple[Lesson, ...]
    ) -> AsyncGenerator[str, None]:
        """The pieces of the answer: what code says, then what the model may say.

        Where the model fails, or breaks off, code says the rest.
        """
        said = voice(self._question, found, lessons, small=await self._small())
        for line in sentences(said.begun):
            yield self._next(line)
        if not said.silent:
            try:
                async with aclosing(self._modelled(found, lessons, said)) as pieces:
                    async for piece in pieces:
                        self._modelled_it = True
                        yield piece
            except ModelFailed as failed:
                self._reason = failed.reason
                if failed.reason == "timeout":
                    self._trace.add("error", failed.reason, success=False)
        if self._modelled_it and not self._question.open:
            self._emotion = feeling(self._question, self._emotion, found)
        if self._modelled_it and self._reason is None:
            if more := cited(lessons, "".join(self._said)):
                yield self._next(more)
            return
        if not self._modelled_it:
            self._emotion = feeling(self._question, self._agent.emotion, found)
        whole = template(self._question, found, lessons)
        told = {line.strip() for line in self._said}
        for line in sentences(whole.removeprefix(said.begun)):
            if line not in told:
                yield self._next(line)

    async def _small(self) -> bool:
        """Whether the model is one that is asked for little."""
        if not self._open:
            return False
        try:
            async with asyncio.timeout(self._left_s()):
                return await self._counted()
        except TimeoutError:
            return False

    async def _counted(self) -> bool:
        client = self._owner.model
        if client.endpoint.url and client.state.model is None:
            await client.probe()
        model = client.state.model
        count = await self._owner.passages.params(model) if model else None
        return count is not None and count < SMALL_PARAMS

    @property
    def _open(self) -> bool:
        """Whether words may add anything to the facts."""
        return self._question.intent not in MODEL_FREE and self._question.sql is None

    async def _modelled(
        self, found: tuple[Found, ...], lessons: tuple[Lesson, ...], said: Voice
    ) -> AsyncGenerator[str, None]:
        """What the model says and the facts bear out. Raises `ModelFailed`, behind pieces too."""
        sources = self._owner.sources
        where = await sources.circuit_of(sources.session(self._question.session_id))
        truth = evidence(found, lessons, where)
        chats = self._chats(found, lessons, said)
        for at, chat in enumerate(chats):
            reader = Reader(truth, self._question.corner if said.begun else None)
            sieve = Sieve(partial(passes, reader, said), *sentences(said.begun))
            try:
                async with aclosing(self._called(chat, sieve)) as pieces:
                    async for piece in pieces:
                        yield piece
                return
            except ModelFailed as failed:
                too_long = failed.detail is not None and failed.detail.startswith("status 4")
                if self._modelled_it or not too_long or at + 1 == len(chats):
                    raise

    def _chats(
        self, found: tuple[Found, ...], lessons: tuple[Lesson, ...], said: Voice
    ) -> list[list[Message]]:
        """What is sent; the second where a model has no room for what was said before."""
        if said.asked is not None:
            return [bare(said.asked)]
        key = key_of(self._question.driver_id, self._question.session_id)
        turns = recent(self._owner.histories.turns(key), self._owner.histories.budget)
        tries = [turns, []] if turns else [[]]
        return [messages(self._agent, self._question, found, lessons, some) for some in tries]

    async def _called(self, chat: list[Message], sieve: Sieve) -> AsyncGenerator[str, None]:
        strainer, shown = Strainer(), 0
        held: list[str] = []
        async with self._owner.model.call(
            "ask",
            "post_session",
            chat,
            session_id=self._question.session_id or None,
            timeout_s=self._left_s(),
        ) as call:
            try:
                async with aclosing(call.stream()) as pieces:  # type: ignore[type-var]
                    async for piece in pieces:
                        for line in self._weighed(sieve.feed(strainer.feed(piece)), held):
                            shown += 1
                            yield self._next(line)
                last = sieve.finish(strainer.finish(), cut=call.row.truncated)
                for line in self._weighed(last, held):
                    shown += 1
                    yield self._next(line)
            except ModelFailed as failed:
                call.fell_back(failed.reason, failed.detail)
                raise
            finally:
                self._dropped += sieve.dropped + len(held)
            if not shown:
                self._reason = "ungrounded"
                call.fell_back("ungrounded")
                return
            self._emotion = fitting(strainer.emotion, self._agent.emotion)
            call.felt(strainer.emotion)

    def _weighed(self, lines: list[str], held: list[str]) -> list[str]:
        """The sentences that may be said; *held* waits for the first one with something in it."""
        ready: list[str] = []
        for line in lines:
            held.append(line)
            if self._said or ready or not cheer(line):
                ready += held
                held.clear()
        return ready

    def _next(self, line: str) -> str:
        """A further sentence, with the blank before it."""
        piece = f" {line}" if self._said else line
        self._said.append(piece)
        return piece

    def _left_s(self) -> float:
        return max(self._owner.timeout_s - self._passed_ms() / 1000, 0.05)

    def _passed_ms(self) -> float:
        return (time.monotonic() - self._began) * 1000

    def _answer(self, found: tuple[Found, ...], lessons: tuple[Lesson, ...]) -> Answer:
        question, text = self._question, "".join(self._said)
        subject = Subject(question.topic, question.intent) if question.topic is not None else None
        turn = Turn(question.text, text, self._emotion, self._asked_at, _now_ms())
        count, left = self._owner.histories.add(
            question.driver_id,
            question.session_id,
            turn,
            time.monotonic(),
            subject,
            keep=bool(found) and found[0].tool == NOTHING,
        )
        if left:
            self._owner.aside(self._owner.written(left))
        return Answer(
            text=text,
            emotion=self._emotion,
            intent=question.intent,
            agent=self._agent.name,
            qa_key=key_of(question.driver_id, question.session_id),
            turn=count,
            trace_id=self._trace.trace_id,
            latency_ms=self._passed_ms(),
            source="local_model" if self._modelled_it else "template",
            reason=self._reason,
            dropped=self._dropped,
            found=found,
            lessons=lessons,
        )


def _own_first(found: tuple[Found, ...], near: tuple[Lesson, ...]) -> tuple[Lesson, ...]:
    """The lesson that goes with the facts, as the debrief names it, before those *near* the words;
    these alone where no fact has one."""
    own = next((one.lesson for one in found if one.lesson is not None), None)
    if own is None or found[0].tool == NOTHING:
        return near
    same = next((one for one in near if one.id == own.id), None)
    if same is not None:
        own = own._replace(url=own.url or same.url, text=same.text)
    return (own, *(one for one in near if one.id != own.id))


def _now_ms() -> int:
    return int(time.time() * 1000)
