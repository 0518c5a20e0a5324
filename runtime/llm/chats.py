"""A chat request from its model to its text: which path it takes, when it runs, how it ends."""

import asyncio
import contextlib
import hashlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from runtime.llm.admission import Admission, Lane, Ticket
from runtime.llm.engine.pool import Engine, Pool, too_long
from runtime.llm.engine.protocol import Ended, Prepared
from runtime.llm.engine.sessions import Sessions, conversation_name
from runtime.llm.errors import EngineDied, ModelNotFound
from runtime.llm.models.catalog import Catalog, Entry
from runtime.llm.models.system.reply import SystemChat
from runtime.llm.models.system.state import Provider
from runtime.llm.values import SYSTEM_MODEL, Generation, Sampling, Turn
from runtime.web.errors import RequestTimeout


@dataclass(frozen=True)
class Ask:
    """What a client asks for, checked and with every default filled in."""

    model: str
    turns: Sequence[Turn]
    sampling: Sampling
    max_tokens: int | None = None
    """Total budget of prompt and reply."""
    max_completion_tokens: int | None = None
    owner: str = ""
    session_id: str | None = None
    stop: Sequence[str] = ()


class TimedOut(RequestTimeout):
    """The reply was not finished, or not begun, in its time; a retry would wait as long."""

    def __init__(self, message: str) -> None:
        super().__init__(message, headers={"x-should-retry": "false"})


class LocalReady:
    """A prepared prompt on a local engine; it only waits for its lane."""

    def __init__(
        self, pool: Pool, engine: Engine, prepared: Prepared, ask: Ask, load_ms: float
    ) -> None:
        self.load_ms = load_ms
        self.fingerprint = fingerprint(engine.key)
        self._pool = pool
        self._engine = engine
        self._prepared = prepared
        self.ask = ask
        self._started = False
        self._released = False

    def start(self, on_settled: Callable[[], None]) -> Generation:
        """Run the job in the engine's process; the lane is held.

        *on_settled* is called once, when the lane is free again.
        """
        ask, engine = self.ask, self._engine
        name = None
        if ask.session_id:
            name = conversation_name(ask.owner, ask.session_id, engine.key)
            self._make_room(name)
        self._started = True

        def end(ended: Ended) -> None:
            _count(self._pool.sessions, name, ended)
            on_settled()

        return engine.worker.run(
            self._prepared,
            ask.sampling,
            max_output=ask.max_completion_tokens,
            conversation=name,
            stop=ask.stop,
            on_end=end,
        )

    @property
    def stale(self) -> bool:
        """Whether the engine's process ended while the request waited for its turn."""
        return not self._engine.worker.alive

    def release(self) -> None:
        """Give the engine back; later calls do nothing."""
        if self._released:
            return
        self._released = True
        if not self._started:
            self._engine.worker.drop(self._prepared.job)
        self._pool.release(self._engine)

    def _make_room(self, name: str) -> None:
        for key, oldest in self._pool.sessions.touch(name, self._engine.key):
            for engine in self._pool.loaded():
                if engine.key == key:
                    engine.worker.forget([oldest])


def _count(sessions: Sessions, name: str | None, ended: Ended) -> None:
    sessions.count(ended.session, ended.session_reason)
    sessions.evict(ended.evicted)
    if name is not None and not ended.kept:
        sessions.drop(name)


class SystemReady:
    """A request to the system model, which has reported that it is available."""

    load_ms = 0.0
    stale = False

    def __init__(self, provider: Provider, ask: Ask) -> None:
        self.fingerprint = fingerprint(SYSTEM_MODEL, provider.name)
        self._provider = provider
        self.ask = ask
        self._on_settled: Callable[[], None] | None = None

    def start(self, on_settled: Callable[[], None]) -> Generation:
        """Ask the provider; its place is free when the request is released."""
        self._on_settled = on_settled
        ask = self.ask
        chat = SystemChat(ask.turns, ask.sampling, ask.max_completion_tokens, ask.max_tokens)
        return self._provider.generate(chat)

    def release(self) -> None:
        """Free the place in the system lane."""
        if self._on_settled is not None:
            self._on_settled()


Ready = LocalReady | SystemReady


def fingerprint(*parts: str) -> str:
    """A short stable name of what answered."""
    return "fp_" + hashlib.sha256("\x1f".join(parts).encode()).hexdigest()[:12]


Preflight = Callable[[], Awaitable[None]]
"""Returns when the system model is available, else raises the rich error of its state."""


@dataclass(frozen=True)
class Clocks:
    """Two limits that run apart: waiting for the lane, and generating."""

    request_s: float = 120.0
    queue_s: float = 0.0
    """0: as long as the client waits."""


class Chats:
    """Runs chat requests: admission, engine or provider, lane, clocks, clean end."""

    def __init__(
        self,
        catalog: Catalog,
        pool: Pool,
        provider: Provider,
        preflight: Preflight,
        admission: Admission,
        clocks: Clocks,
        *,
        one_lane: bool = False,
    ) -> None:
        self.catalog = catalog
        self.pool = pool
        self.provider = provider
        self.admission = admission
        self.local = Lane("local")
        self.system = self.local if one_lane else Lane("sysmodel", provider.max_concurrency)
        self._preflight = preflight
        self._clocks = clocks

    def admit(self, number: int, client: str, model: str) -> Ticket:
        """A place in the queue of the model's lane; raises `QueueFull`."""
        lane = self.system if model == SYSTEM_MODEL else self.local
        ticket = self.admission.enter(number, lane, client, model)
        if self._clocks.queue_s:
            late = TimedOut("the request waited too long in the queue")
            asyncio.get_running_loop().call_later(self._clocks.queue_s, _stop_queued, ticket, late)
        return ticket

    async def ready(self, ask: Ask) -> Ready:
        """Make the model ready and the prompt fit; whoever gets the result releases it.

        Raises `ModelNotFound`, `PromptTooLong`, `BadRequest` and the rich errors.
        """
        if ask.model == SYSTEM_MODEL:
            await self._preflight()
            return SystemReady(self.provider, ask)
        entry = await asyncio.to_thread(self.catalog.find, ask.model)
        if entry is None:
            raise ModelNotFound(
                "there is no such model on this machine; GET /v1/models lists them all"
            )
        try:
            return await self._on_engine(entry, ask)
        except EngineDied:  # another request's crash is not this one's failure
            return await self._on_engine(entry, ask)

    async def _on_engine(self, entry: Entry, ask: Ask) -> LocalReady:
        began = time.monotonic()
        engine = await self.pool.acquire(entry, ask.max_tokens)
        load_ms = (time.monotonic() - began) * 1000
        try:
            prepared = await engine.worker.prepare(engine.context, ask.turns)
            if prepared.prompt_tokens >= engine.budget:
                engine.worker.drop(prepared.job)
                raise too_long(prepared.prompt_tokens, engine.budget)
        except BaseException:
            self.pool.release(engine)
            raise
        return LocalReady(self.pool, engine, prepared, ask, load_ms)

    @contextlib.asynccontextmanager
    async def running(self, ticket: Ticket, ready: Ready) -> AsyncIterator[Generation]:
        """Wait for the lane and generate; the lane is free when the engine is, not the reader."""
        generation: Generation | None = None
        clock: asyncio.TimerHandle | None = None
        try:
            await ticket.lane.take(ticket)
        except BaseException:
            ready.release()
            raise
        try:
            if ready.stale:
                ready.release()
                ready = await self.ready(ready.ask)
        except BaseException:
            ticket.lane.give(ticket)
            raise
        late = TimedOut("the inference timed out; the partial reply is discarded")
        clock = asyncio.get_running_loop().call_later(self._clocks.request_s, ticket.stop, late)

        def settled() -> None:
            clock.cancel()
            ticket.lane.give(ticket)

        try:
            self.admission.started(ticket)
            generation = ready.start(settled)
            yield generation
        finally:
            await asyncio.shield(asyncio.ensure_future(_end(generation, ready, settled)))


async def _end(generation: Generation | None, ready: Ready, settled: Callable[[], None]) -> None:
    """Stop the work, however it stands, and let everything go; never leaves the lane held."""
    try:
        if generation is not None:
            await generation.aclose()
    finally:
        ready.release()
        settled()


def _stop_queued(ticket: Ticket, why: TimedOut) -> None:
    if ticket.started is None:
        ticket.stop(why)
