"""The coach that can be asked: questions under way, conversations in memory, and their end."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from dataclasses import replace
from typing import Any, Final

from runtime.bridge.coach.agents.asked import Topic
from runtime.bridge.coach.agents.errors import TooManyQuestions
from runtime.bridge.coach.agents.history import Histories, key_of
from runtime.bridge.coach.agents.intents import understood
from runtime.bridge.coach.agents.loop import Answering, Event
from runtime.bridge.coach.agents.passages import Passages
from runtime.bridge.coach.agents.safety import hazard
from runtime.bridge.coach.agents.sources import Circuit, Sources
from runtime.bridge.coach.agents.strangers import stranger
from runtime.bridge.coach.agents.values import Answer, Question
from runtime.bridge.coach.agents.words import plain
from runtime.bridge.coach.warm.model import ModelClient
from runtime.bridge.storage.coaching import TurnRow
from runtime.bridge.storage.errors import StoreBusy, StoreFailed, StoreFull

log = logging.getLogger(__name__)

MOST_AT_ONCE: Final = 16
"""Questions under way; the model's own queue is shorter, and what finds no place there is
answered from the facts."""
LEAST_NAME: Final = 2
SWEEP_S: Final = 20.0
STORE_ERRORS: Final = (StoreBusy, StoreFull, StoreFailed)


class Questions:
    """See `coach.Coach`. Made and used on a running loop; `close` writes what is in memory."""

    def __init__(
        self,
        sources: Sources,
        model: ModelClient,
        passages: Passages,
        *,
        timeout_s: float = 45.0,
        char_budget: int = 60_000,
    ) -> None:
        self.sources = sources
        self.histories = Histories(char_budget)
        self.model = model
        self.passages = passages
        self.timeout_s = timeout_s
        self._under_way = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to write, now and then, conversations that nobody goes on with."""
        self._sweeper = asyncio.create_task(self._sweep_for_ever())

    async def close(self) -> None:
        """Write every conversation and end; the database must still be open."""
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.wait([self._sweeper])
        for key in self.histories.known():
            await self.written(self.histories.end(key))
        if self._tasks:
            await asyncio.wait(self._tasks)
        await self.passages.close()
        await asyncio.to_thread(self.sources.scratch.close)

    async def understand(
        self, text: str, driver_id: str = "", session_id: str = "", intent: str | None = None
    ) -> Question:
        """A question, and what it is about."""
        where = await self.sources.circuit_of(self.sources.session(session_id))
        asked = understood(
            text,
            wanted=intent,
            names=where.names,
            session_id=session_id,
            driver_id=driver_id,
            last=self.histories.subject(key_of(driver_id, session_id)) if session_id else None,
        )
        other = self._other_driver(asked, where)
        if not other:
            return asked
        return replace(asked, topic=Topic("other", other), intent="progress", open=False)

    def _other_driver(self, asked: Question, where: Circuit) -> str:
        """Another driver than that of the session, where the question names one by name."""
        row = self.sources.session(asked.session_id)
        if row is None or asked.sql is not None or hazard(asked.text):
            return ""
        own = {(row.driver or "").strip().casefold(), asked.driver_id.strip().casefold()}
        names = {one.driver.strip() for one in self.sources.store.sessions() if one.driver}
        said = plain(asked.text)
        for name in sorted(names, key=lambda one: (-len(one), one)):
            plain_name = plain(name)
            if plain_name in own or len(plain_name) < LEAST_NAME:
                continue
            if re.search(rf"(?<!\w){re.escape(plain_name)}(?:'s)?(?!\w)", said):
                return name
        known = where.names
        track = (where.track.name, where.track.id) if where.track is not None else ()
        called = [name for one in known.corners for name in (one.name, *one.nicknames)]
        places = (*called, *known.sectors, *known.straights, *track, *own, row.car or "")
        return stranger(asked.text, places)

    def admit(self) -> None:
        """Raises `TooManyQuestions` while no further question can be taken."""
        if self._under_way >= MOST_AT_ONCE:
            raise TooManyQuestions

    async def ask(self, question: Question) -> Answer:
        """The whole answer. Raises `TooManyQuestions`."""
        async with aclosing(self.stream(question)) as events:
            async for event in events:
                if isinstance(event, Answer):
                    return event
        raise AssertionError("a stream ends with its answer")

    async def stream(self, question: Question) -> AsyncGenerator[Event, None]:
        """The answer sentence by sentence, then as a whole; closing it cancels what is under way.

        Raises what `ask` raises, behind sentences too.
        """
        self.admit()
        self._under_way += 1
        try:
            answering = Answering(self, question)
            async with aclosing(answering.events()) as events:
                async for event in events:
                    yield event
        finally:
            self._under_way -= 1

    async def end(self, key: str) -> int:
        """Write a conversation and forget it; how many rows were written."""
        return await self.written(self.histories.end(key))

    async def sweep(self, now: float | None = None) -> int:
        """Write what is idle or whose session has ended; how many rows were written."""
        moment = time.monotonic() if now is None else now
        ended: dict[str, int] = {}
        for session_id in self.histories.sessions():
            row = self.sources.session(session_id)
            if row is not None and row.ended_at is not None:
                ended[session_id] = row.ended_at
        keys = [*self.histories.idle(moment), *self.histories.ended(ended)]
        return sum([await self.end(key) for key in dict.fromkeys(keys)])

    def aside(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do *work* without the answer waiting for it."""
        task = asyncio.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settled(self) -> None:
        """Wait for everything that is done aside."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def written(self, rows: list[TurnRow]) -> int:
        """Store rows of a conversation; how many were."""
        if not rows:
            return 0
        try:
            await self.sources.store.add(rows)
        except STORE_ERRORS as problem:
            log.warning("a conversation was not stored: %s", problem)
            return 0
        return len(rows)

    async def _sweep_for_ever(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            await self.sweep()


async def _quietly(work: Coroutine[Any, Any, Any]) -> None:
    try:
        await work
    except STORE_ERRORS as problem:
        log.warning("what was asked was not noted: %s", problem)
