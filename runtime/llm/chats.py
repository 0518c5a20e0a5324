"""Chat requests from admission to their reply: queueing, running and ending them."""

import asyncio
import contextlib
import hashlib
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Final, Literal, NamedTuple

from runtime.llm.engine.pool import Job, Pool
from runtime.llm.errors import EngineDied, ModelNotFound, NotForChat, SysmodelUnavailable
from runtime.llm.inference import SYSTEM_MODEL, ChatCall, Generation, Piece
from runtime.llm.models.catalog import Catalog
from runtime.llm.models.system.state import CachedProbe, Provider
from runtime.llm.models.upstreams.fleet import Upstreams
from runtime.llm.models.upstreams.forwarding import generate
from runtime.llm.settings import LlmSettings
from runtime.web.errors import ApiError, BadRequest, RequestTimeout, TooMany

HISTORY: Final = 50
"""Number of finished requests kept, and of completed ones in the mean latency."""
QUEUE_FULL_RETRY_S: Final = 5
ADDRESS_QUEUES: Final = 2
"""Limit of all clients of an address together in a lane, in limits of one client."""
LANE_QUEUES: Final = 8
"""Limit of all clients together in a lane, in limits of one client."""

Owner = tuple[str, str]
"""Owner of a request: its network address and the name of its client."""


LaneName = Literal["local", "sysmodel", "upstream"]


class State(StrEnum):
    """State of a chat request; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    ERRORED = "errored"
    CANCELLED = "cancelled"


class QueueFull(TooMany):
    """The client has as many requests in flight as the server admits."""

    def __init__(self, depth: int) -> None:
        super().__init__(
            "the queue is full for this client; try again in a few seconds",
            headers={"Retry-After": str(QUEUE_FULL_RETRY_S), "X-Queue-Depth": str(depth)},
        )


class Cancelled(ApiError):
    """The request was cancelled through ``DELETE /v1/requests/{id}``."""

    status, code = 409, "request_cancelled"

    def __init__(self) -> None:
        super().__init__("the request was cancelled", headers={"x-should-retry": "false"})


class Ticket:
    """A chat request from admission to its end; times are seconds of the monotonic clock."""

    def __init__(self, number: int, lane: "Lane", owner: Owner, model: str, entered: float) -> None:
        self.number = number
        self.lane = lane
        self.owner = owner
        self.client = owner[1]
        self.model = model
        self.state = State.QUEUED
        self.entered = entered
        self.started: float | None = None
        self.ended: float | None = None
        self.created = time.time()
        self.stream = False
        self.chunks = 0
        self.completion_tokens = 0
        self.first_token_ms: float | None = None
        self.stopped_by: ApiError | None = None
        self.turn = lane.next_turn(owner)
        self.position = lane.position_of(self)
        self.depth = 1 + len(lane.unfinished)
        self.wait_ms = lane.wait_ms(self.position)
        self._task = asyncio.current_task()

    @property
    def finished(self) -> bool:
        """Whether the request is in its final state."""
        return self.ended is not None

    def stop(self, why: ApiError) -> None:
        """End the request with the error *why*: its task is cancelled and raises it."""
        if not self.finished and self.stopped_by is None and self._task is not None:
            self.stopped_by = why
            self._task.cancel()

    @contextlib.contextmanager
    def stoppable(self) -> Iterator[None]:
        """Turn a cancellation by `stop` into its error; pass on any other."""
        try:
            yield
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self.stopped_by is None or task is None or task.uncancel() > 0:
                raise
            raise self.stopped_by from None

    def headers(self) -> dict[str, str]:
        """Headers that report the queue at admission."""
        return {
            "X-Queue-Position": str(self.position),
            "X-Queue-Depth": str(self.depth),
            "X-Estimated-Wait-Ms": str(self.wait_ms),
        }


class _Waiter(NamedTuple):
    """A request waiting for a place."""

    place: asyncio.Future[None]
    engine: str
    concurrency: int


class Lane:
    """Serialises generation: one engine at a time, clients in turn, each client in order.

    A request's turn is one after that of its client's previous request, and not before the turns
    that run when it arrives. The ready request with the lowest turn runs next; among equals, the
    first to arrive. So a single client's requests run in order, and a newcomer waits for one
    request of each other client, no matter how many those have queued. A request for the engine
    that is generating joins it while it has room for another reply.
    """

    def __init__(self, name: LaneName, concurrency: int = 1) -> None:
        self.name = name
        self.concurrency = concurrency
        """Concurrent replies of the engine that generated last."""
        self.unfinished: dict[int, Ticket] = {}
        self.holders: dict[int, str] = {}
        """Engine of each request that holds a place, by the request's number."""
        self._waiting: dict[Ticket, _Waiter] = {}
        self._turn = 0
        """The latest turn that has come up."""
        self._seconds: deque[float] = deque(maxlen=HISTORY)

    @property
    def average_s(self) -> float:
        """Mean generation time of the last completed requests; 0 before the first."""
        return sum(self._seconds) / len(self._seconds) if self._seconds else 0.0

    @property
    def waiting(self) -> int:
        """Number of admitted requests that do not generate yet."""
        return sum(ticket.state is State.QUEUED for ticket in self.unfinished.values())

    @property
    def running(self) -> int:
        """Number of requests that are generating."""
        return sum(ticket.state is State.RUNNING for ticket in self.unfinished.values())

    def next_turn(self, owner: Owner) -> int:
        """The turn of a new request of *owner*."""
        own = [ticket.turn for ticket in self.unfinished.values() if ticket.owner == owner]
        return 1 + max(self._turn, *own) if own else 1 + self._turn

    def runs_before(self, ticket: Ticket, other: Ticket) -> bool:
        """Whether a request generates before *other*, which is not ahead of it."""
        if ticket.number in self.holders:
            return True
        return (ticket.turn, ticket.number) < (other.turn, other.number)

    def position_of(self, ticket: Ticket) -> int:
        """Position of a queued request from 1, counting running ones."""
        others = (other for other in self.unfinished.values() if other is not ticket)
        return 1 + sum(self.runs_before(other, ticket) for other in others)

    def wait_ms(self, place: int) -> int:
        """Estimated wait of a request at this position."""
        return round((place - 1) // self.concurrency * self.average_s * 1000)

    async def take(self, ticket: Ticket, engine: str = "", concurrency: int = 1) -> None:
        """Wait for a place next to at most *concurrency* - 1 others of the same *engine*.

        The caller must `give` it back.
        """
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[ticket] = _Waiter(place, engine, concurrency)
        self._admit()
        try:
            await place
        except BaseException:
            if place.done() and not place.cancelled():
                self.give(ticket)  # the turn came just as the waiter left
            else:
                del self._waiting[ticket]
                self._admit()  # the next one may have waited only for this one
            raise
        self.concurrency = concurrency

    def give(self, ticket: Ticket) -> None:
        """Return a place; the next waiting request gets it."""
        self.holders.pop(ticket.number, None)
        self._admit()

    def _has_room(self, engine: str, concurrency: int) -> bool:
        engines = self.holders.values()
        return not engines or (len(engines) < concurrency and set(engines) == {engine})

    def _admit(self) -> None:
        """Give free places to the requests whose turn it is."""
        for ticket in sorted(self._waiting, key=lambda waiter: (waiter.turn, waiter.number)):
            place, engine, concurrency = self._waiting[ticket]
            if place.done():
                continue  # it is leaving
            if not self._has_room(engine, concurrency):
                return
            del self._waiting[ticket]
            self._hold(ticket, engine)
            place.set_result(None)

    def _hold(self, ticket: Ticket, engine: str) -> None:
        self.holders[ticket.number] = engine
        self._turn = max(self._turn, ticket.turn)

    def note_completion(self, seconds: float) -> None:
        """Add the generation time of a completed request to the mean."""
        self._seconds.append(seconds)


class Totals:
    """Totals over all requests since the start."""

    def __init__(self) -> None:
        self.admitted = 0
        self.completed = 0
        self.errored = 0
        self.cancelled = 0
        self.chunks = 0
        self.completed_chunks = 0
        self.inference_s = 0.0


class Admission:
    """Admits chat requests of all lanes, counts them and keeps the last ones.

    A client may have *limit* requests in flight in a lane. When several clients compete, the limit
    is shared: see `_has_room`.
    """

    def __init__(self, limit: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.limit = limit
        self.totals = Totals()
        self.history: deque[Ticket] = deque(maxlen=HISTORY)
        self.closed: ApiError | None = None
        self._clock = clock
        self._unfinished: dict[int, Ticket] = {}
        self.on_finish: Callable[[Ticket], None] | None = None

    @property
    def unfinished(self) -> list[Ticket]:
        """Waiting and running requests in order of arrival."""
        return list(self._unfinished.values())

    def enter(self, number: int, lane: Lane, owner: Owner, model: str) -> Ticket:
        """Admit a request or raise `QueueFull`, without awaiting anything."""
        if self.closed is not None:
            raise self.closed
        if not self._has_room(lane, owner):
            raise QueueFull(len(lane.unfinished))
        ticket = Ticket(number, lane, owner, model, self._clock())
        self._unfinished[number] = ticket
        lane.unfinished[number] = ticket
        self.totals.admitted += 1
        return ticket

    def _has_room(self, lane: Lane, owner: Owner) -> bool:
        """Whether the lane accepts another request of *owner*.

        Up to the limit, requests are admitted in order of arrival. Beyond it, a client may have at
        most an equal share of the limit, but at least one request, so that nobody is kept out.
        Because clients name themselves, those of an address are also limited together.
        """
        held = Counter(ticket.owner for ticket in lane.unfinished.values())
        total, own = held.total(), held[owner]
        if total < self.limit:
            return True
        share = max(1, self.limit // (len(held) + (owner not in held)))
        of_address = sum(count for (address, _), count in held.items() if address == owner[0])
        return (
            own < share
            and of_address < ADDRESS_QUEUES * self.limit
            and total < LANE_QUEUES * self.limit
        )

    def note_start(self, ticket: Ticket) -> None:
        """Mark the request as running when it starts its first or a further reply."""
        ticket.state = State.RUNNING
        if ticket.started is None:
            ticket.started = self._clock()

    def finish(self, ticket: Ticket, state: State) -> None:
        """Set the final state of the request; only the first call has an effect."""
        if ticket.finished:
            return
        ticket.ended = self._clock()
        ticket.state = state
        totals = self.totals
        totals.chunks += ticket.chunks
        if state is State.COMPLETED:
            seconds = ticket.ended - (ticket.started or ticket.ended)
            totals.completed += 1
            totals.completed_chunks += ticket.chunks
            totals.inference_s += seconds
            ticket.lane.note_completion(seconds)
        elif state is State.CANCELLED:
            totals.cancelled += 1
        else:
            totals.errored += 1
        del self._unfinished[ticket.number]
        del ticket.lane.unfinished[ticket.number]
        self.history.appendleft(ticket)
        if self.on_finish is not None:
            self.on_finish(ticket)

    def find(self, number: int) -> Ticket | None:
        """The unfinished request with this number."""
        return self._unfinished.get(number)

    def refuse(self, why: ApiError) -> None:
        """Stop admission: new and waiting requests end with *why*, running ones continue."""
        self.closed = why
        for ticket in self.unfinished:
            if ticket.state is State.QUEUED:
                ticket.stop(why)

    def stop_all(self, why: ApiError) -> None:
        """End all unfinished requests with *why*."""
        for ticket in self.unfinished:
            ticket.stop(why)


class TimedOut(RequestTimeout):
    """The reply did not start or continue in time; a retry would wait as long."""

    def __init__(self, message: str) -> None:
        super().__init__(message, headers={"x-should-retry": "false"})


@dataclass(frozen=True)
class OutsideJob:
    """A call that the system model or an upstream answers.

    It works like a `runtime.llm.engine.pool.Job` but holds no resources.
    """

    call: ChatCall
    source: str
    """Name of what answers."""
    place: tuple[str, int]
    """What generates, and how many concurrent replies it allows."""
    generate: Callable[[ChatCall], Generation]
    load_ms = 0.0
    is_stale = False

    def run(self, on_end: Callable[[], None]) -> Generation:
        """Return the reply; *on_end* is not called."""
        del on_end
        return self.generate(self.call)

    def release(self) -> None:
        """Do nothing: there is nothing to release."""


PreparedCall = Job | OutsideJob
"""A call whose model is ready and that only waits for its lane."""


def fingerprint(source: str) -> str:
    """A short stable name of what answered."""
    return "fp_" + hashlib.sha256(source.encode()).hexdigest()[:12]


class Chats:
    """Runs chat requests: admission, engine or provider, lane, time limits, clean-up.

    `queue_s` limits the time in the queue and `request_s` each wait for the next token; 0 means no
    limit.
    """

    def __init__(
        self,
        catalog: Catalog,
        pool: Pool,
        provider: Provider,
        probing: CachedProbe,
        upstreams: Upstreams,
        admission: Admission,
        settings: LlmSettings,
    ) -> None:
        self.catalog = catalog
        self.pool = pool
        self.provider = provider
        self.upstreams = upstreams
        self.admission = admission
        self.local = Lane("local")
        one_lane = settings.sysmodel.share_cpu_lane
        self.system = self.local if one_lane else Lane("sysmodel", provider.max_concurrency)
        self._forwarded = settings.upstream_parallel * max(1, len(upstreams.all))
        self.forwarded = Lane("upstream", self._forwarded)
        self._probing = probing
        self._auto_download = settings.sysmodel.auto_download
        self.request_s = settings.request_timeout_ms / 1000
        self.queue_s = settings.queue_timeout_ms / 1000

    async def admit(self, number: int, owner: Owner, model: str) -> Ticket:
        """Admit a request to the model's lane. Raises `QueueFull`."""
        lane = self.system if model == SYSTEM_MODEL else self.local
        if await self.is_elsewhere(model):
            lane = self.forwarded
        ticket = self.admission.enter(number, lane, owner, model)
        if self.queue_s:
            late = TimedOut("the request waited too long in the queue")
            asyncio.get_running_loop().call_later(self.queue_s, _stop_queued, ticket, late)
        return ticket

    async def is_elsewhere(self, model: str) -> bool:
        """Whether upstreams serve the model; a local model of the same name takes precedence."""
        if not self.upstreams.all:
            return False
        here = await asyncio.to_thread(self.catalog.find, model)
        return here is None and await self.upstreams.lists(model)

    async def prepare(self, call: ChatCall) -> PreparedCall:
        """Prepare the model and the prompt; the caller must release the result.

        Raises `ModelNotFound`, `PromptTooLong`, `BadRequest`, `UpstreamsUnavailable` and the rich
        errors.
        """
        if call.model == SYSTEM_MODEL:
            if call.uses_tools and not self.provider.calls_tools:
                text = "the system model here cannot call tools"
                raise BadRequest(text, param="tools" if call.tools else "messages")
            if call.sampling.grammar and not self.provider.holds_formats:
                text = "the system model here cannot enforce a response format"
                raise BadRequest(text, param="response_format")
            await self._preflight()
            provider = self.provider
            place = (SYSTEM_MODEL, provider.max_concurrency)
            return OutsideJob(call, f"{SYSTEM_MODEL}\x1f{provider.name}", place, provider.generate)
        entry = await asyncio.to_thread(self.catalog.find, call.model)
        if entry is None and not call.is_forwarded and await self.upstreams.lists(call.model):
            if self.upstreams.embeds(call.model):
                raise NotForChat(call.model)
            self.upstreams.order(call.model, "")  # fails now, while the error still sets the status
            place = ("upstream", self._forwarded)
            answer = partial(generate, self.upstreams)
            return OutsideJob(call, f"upstream\x1f{call.model}", place, answer)
        if entry is None:
            raise ModelNotFound("this machine has no such model; GET /v1/models lists its models")
        try:
            return await self.pool.prepare(entry, call)
        except EngineDied:  # crashed by another request
            return await self.pool.prepare(entry, call)

    async def _preflight(self) -> None:
        """Return if the system model is available, else raise the rich error of its state."""
        try:
            await self._probing.preflight(auto_download=self._auto_download)
        except SysmodelUnavailable as error:
            local = await asyncio.to_thread(self._chat_models)
            raise SysmodelUnavailable(error.message, local_models=local) from None

    def _chat_models(self) -> tuple[str, ...]:
        entries = self.catalog.entries()
        return tuple(entry.id for entry in entries if self.catalog.meta(entry).kind == "chat")

    @contextlib.asynccontextmanager
    async def running(self, ticket: Ticket, job: PreparedCall) -> AsyncIterator[Generation]:
        """Wait for the lane and generate; the lane is freed when the engine is, not the reader."""
        generation: Generation | None = None
        try:
            await ticket.lane.take(ticket, *job.place)
        except BaseException:
            job.release()
            raise
        try:
            if job.is_stale:
                job.release()
                job = await self.prepare(job.call)
        except BaseException:
            ticket.lane.give(ticket)
            raise

        def free_lane() -> None:
            ticket.lane.give(ticket)

        try:
            self.admission.note_start(ticket)
            generation = job.run(free_lane)
            yield generation
        finally:
            await asyncio.shield(asyncio.ensure_future(_end(generation, job, free_lane)))


async def limit_waits(generation: Generation, limit_s: float) -> AsyncIterator[Piece]:
    """Yield the pieces of a reply; raise `TimedOut` after *limit_s* without a sign; 0: never."""
    pieces = aiter(generation)
    while True:
        try:
            async with asyncio.timeout(limit_s or None):
                piece = await anext(pieces)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise TimedOut(f"generation timed out: there was no token for {limit_s:g} s") from None
        yield piece


async def _end(
    generation: Generation | None, job: PreparedCall, free_lane: Callable[[], None]
) -> None:
    """Stop the generation in any state and release everything; always frees the lane."""
    try:
        if generation is not None:
            await generation.aclose()
    finally:
        job.release()
        free_lane()


def _stop_queued(ticket: Ticket, why: TimedOut) -> None:
    if ticket.started is None:
        ticket.stop(why)
