"""A chat request from its admission to its text: when it runs, by what, and how it ends."""

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
"""Finished requests that are remembered, and completed ones that the latency is a mean of."""
QUEUE_FULL_RETRY_S: Final = 5
ADDRESS_QUEUES: Final = 2
"""Limits of one client that all clients of one address together may use up in a lane."""
LANE_QUEUES: Final = 8
"""Limits of one client that all clients together may use up in a lane."""

Owner = tuple[str, str]
"""Whom a request belongs to: the address it came from, and the name that its client gave."""


LaneName = Literal["local", "sysmodel", "upstream"]


class State(StrEnum):
    """Where a chat request stands; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    ERRORED = "errored"
    CANCELLED = "cancelled"


class QueueFull(TooMany):
    """As many requests are in flight as the server admits of this client."""

    def __init__(self, depth: int) -> None:
        super().__init__(
            "the queue is full for this client; try again in a few seconds",
            headers={"Retry-After": str(QUEUE_FULL_RETRY_S), "X-Queue-Depth": str(depth)},
        )


class Cancelled(ApiError):
    """Somebody cancelled the request through ``DELETE /v1/requests/{id}``."""

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
        self.position = lane.place_of(self)
        self.depth = 1 + len(lane.unfinished)
        self.wait_ms = lane.wait_ms(self.position)
        self._task = asyncio.current_task()

    @property
    def finished(self) -> bool:
        """Whether the request came to its one final state."""
        return self.ended is not None

    def stop(self, why: ApiError) -> None:
        """End the request with *why*: its task is cancelled and raises the error itself."""
        if not self.finished and self.stopped_by is None and self._task is not None:
            self.stopped_by = why
            self._task.cancel()

    @contextlib.contextmanager
    def stoppable(self) -> Iterator[None]:
        """Turn a cancellation that came from `stop` into its error; others pass as they are."""
        try:
            yield
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self.stopped_by is None or task is None or task.uncancel() > 0:
                raise
            raise self.stopped_by from None

    def headers(self) -> dict[str, str]:
        """The queue as it was at admission."""
        return {
            "X-Queue-Position": str(self.position),
            "X-Queue-Depth": str(self.depth),
            "X-Estimated-Wait-Ms": str(self.wait_ms),
        }


class _Waiter(NamedTuple):
    """A request that waits for a place."""

    place: asyncio.Future[None]
    engine: str
    concurrency: int


class Lane:
    """What serialises generation: one engine at a time, clients in turn, each in its order.

    A request's turn is one after that of its client's last one, and not before those that run
    when it arrives. The ready request of the lowest turn runs next, of equal ones the first to
    arrive. So a single client's requests run as they come, and whoever joins waits for one
    request of each other client, however many those have in line. A request for the engine that
    generates joins it while it has room for one more reply.
    """

    def __init__(self, name: LaneName, concurrency: int = 1) -> None:
        self.name = name
        self.concurrency = concurrency
        """Replies at a time of the engine that generated last."""
        self.unfinished: dict[int, Ticket] = {}
        self.holders: dict[int, str] = {}
        """Requests that hold a place, and the engines for which they do."""
        self._waiting: dict[Ticket, _Waiter] = {}
        self._turn = 0
        """The latest that has come."""
        self._seconds: deque[float] = deque(maxlen=HISTORY)

    @property
    def average_s(self) -> float:
        """Mean generation time of the last completed requests; 0 before the first."""
        return sum(self._seconds) / len(self._seconds) if self._seconds else 0.0

    @property
    def waiting(self) -> int:
        """Requests that were admitted and do not generate yet."""
        return sum(ticket.state is State.QUEUED for ticket in self.unfinished.values())

    @property
    def running(self) -> int:
        """Requests that generate."""
        return sum(ticket.state is State.RUNNING for ticket in self.unfinished.values())

    def next_turn(self, owner: Owner) -> int:
        """The turn of a request that arrives now."""
        own = [ticket.turn for ticket in self.unfinished.values() if ticket.owner == owner]
        return 1 + max(self._turn, *own) if own else 1 + self._turn

    def runs_before(self, ticket: Ticket, other: Ticket) -> bool:
        """Whether a request generates before another one that is not further than it."""
        if ticket.number in self.holders:
            return True
        return (ticket.turn, ticket.number) < (other.turn, other.number)

    def place_of(self, ticket: Ticket) -> int:
        """The place of a request that does not run yet, from 1; those that run count."""
        others = (other for other in self.unfinished.values() if other is not ticket)
        return 1 + sum(self.runs_before(other, ticket) for other in others)

    def wait_ms(self, place: int) -> int:
        """How long a request at that place is likely to wait."""
        return round((place - 1) // self.concurrency * self.average_s * 1000)

    async def take(self, ticket: Ticket, engine: str = "", concurrency: int = 1) -> None:
        """Wait for a place beside at most *concurrency* - 1 others of the same *engine*.

        Whoever gets one must `give` it back.
        """
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[ticket] = _Waiter(place, engine, concurrency)
        self._admit()
        try:
            await place
        except BaseException:
            if place.done() and not place.cancelled():
                self.give(ticket)  # the turn came in the very moment the waiter left
            else:
                del self._waiting[ticket]
                self._admit()  # the next one may have waited for it alone
            raise
        self.concurrency = concurrency

    def give(self, ticket: Ticket) -> None:
        """Give the place back; the waiting request whose turn it is gets it."""
        self.holders.pop(ticket.number, None)
        self._admit()

    def _has_room(self, engine: str, concurrency: int) -> bool:
        others = self.holders.values()
        return not others or (len(others) < concurrency and all(one == engine for one in others))

    def _admit(self) -> None:
        """Give places to those whose turn it is, as far as there are any."""
        for ticket in sorted(self._waiting, key=lambda each: (each.turn, each.number)):
            place, engine, concurrency = self._waiting[ticket]
            if place.done():
                continue  # it leaves
            if not self._has_room(engine, concurrency):
                return
            del self._waiting[ticket]
            self._hold(ticket, engine)
            place.set_result(None)

    def _hold(self, ticket: Ticket, engine: str) -> None:
        self.holders[ticket.number] = engine
        self._turn = max(self._turn, ticket.turn)

    def completed(self, seconds: float) -> None:
        """Take the generation time of a completed request into the mean."""
        self._seconds.append(seconds)


class Totals:
    """What the requests since the start add up to."""

    def __init__(self) -> None:
        self.admitted = 0
        self.completed = 0
        self.errored = 0
        self.cancelled = 0
        self.chunks = 0
        self.completed_chunks = 0
        self.inference_s = 0.0


class Admission:
    """Admits chat requests of all lanes, counts them, and remembers the last ones.

    One client may have *limit* requests in flight in a lane. While others want in as well, room
    beyond that is theirs: see `_has_room`.
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
        """Admit a request, or raise `QueueFull`; nothing is awaited in between."""
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
        """Whether the lane takes one more request of *owner*.

        Up to the limit the lane is for whoever comes first. Beyond, a client may have no more
        than an equal share of the limit, at least one request: so those who hold the places keep
        nobody out. As clients name themselves, those of one address are limited together.
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

    def started(self, ticket: Ticket) -> None:
        """The request holds its lane and begins to generate its first reply, or a further one."""
        ticket.state = State.RUNNING
        if ticket.started is None:
            ticket.started = self._clock()

    def finish(self, ticket: Ticket, state: State) -> None:
        """Bring the request to its final state; the first call counts, later ones do nothing."""
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
            ticket.lane.completed(seconds)
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
        """The unfinished request of that number."""
        return self._unfinished.get(number)

    def refuse(self, why: ApiError) -> None:
        """Admit no more: new and waiting requests end with *why*, running ones go on."""
        self.closed = why
        for ticket in self.unfinished:
            if ticket.state is State.QUEUED:
                ticket.stop(why)

    def stop_all(self, why: ApiError) -> None:
        """End what still runs with *why*."""
        for ticket in self.unfinished:
            ticket.stop(why)


class TimedOut(RequestTimeout):
    """The reply was not finished, or not begun, in its time; a retry would wait as long."""

    def __init__(self, message: str) -> None:
        super().__init__(message, headers={"x-should-retry": "false"})


@dataclass(frozen=True)
class OutsideJob:
    """A call that the system model or an upstream answers.

    It is as a `runtime.llm.engine.pool.Job`, but holds nothing.
    """

    call: ChatCall
    source: str
    """What answers."""
    place: tuple[str, int]
    """What generates, and how many replies of it go side by side."""
    generate: Callable[[ChatCall], Generation]
    load_ms = 0.0
    is_stale = False

    def run(self, on_end: Callable[[], None]) -> Generation:
        """The reply; *on_end* is not called."""
        del on_end
        return self.generate(self.call)

    def release(self) -> None:
        """Nothing to give back."""


PreparedCall = Job | OutsideJob
"""A call whose model is ready; it only waits for its lane."""


def fingerprint(source: str) -> str:
    """A short stable name of what answered."""
    return "fp_" + hashlib.sha256(source.encode()).hexdigest()[:12]


class Chats:
    """Runs chat requests: admission, engine or provider, lane, time limits, clean end.

    Two limits run apart: `queue_s` for waiting in the queue and `request_s` for each wait for the
    next token; 0 is no limit.
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
        """A place in the queue of the model's lane; raises `QueueFull`."""
        lane = self.system if model == SYSTEM_MODEL else self.local
        if await self.is_elsewhere(model):
            lane = self.forwarded
        ticket = self.admission.enter(number, lane, owner, model)
        if self.queue_s:
            late = TimedOut("the request waited too long in the queue")
            asyncio.get_running_loop().call_later(self.queue_s, _stop_queued, ticket, late)
        return ticket

    async def is_elsewhere(self, model: str) -> bool:
        """Whether upstreams answer for the model; one on this machine hides theirs."""
        if not self.upstreams.all:
            return False
        here = await asyncio.to_thread(self.catalog.find, model)
        return here is None and await self.upstreams.lists(model)

    async def prepare(self, call: ChatCall) -> PreparedCall:
        """Make the model ready and the prompt fit; whoever gets the result releases it.

        Raises `ModelNotFound`, `PromptTooLong`, `BadRequest`, `UpstreamsUnavailable` and the rich
        errors.
        """
        if call.model == SYSTEM_MODEL:
            if call.uses_tools and not self.provider.calls_tools:
                text = "what answers as the system model here cannot call tools"
                raise BadRequest(text, param="tools" if call.tools else "messages")
            if call.sampling.grammar and not self.provider.holds_formats:
                text = "what answers as the system model here cannot be held to a format"
                raise BadRequest(text, param="response_format")
            await self._preflight()
            provider = self.provider
            place = (SYSTEM_MODEL, provider.max_concurrency)
            return OutsideJob(call, f"{SYSTEM_MODEL}\x1f{provider.name}", place, provider.generate)
        entry = await asyncio.to_thread(self.catalog.find, call.model)
        if entry is None and not call.is_forwarded and await self.upstreams.lists(call.model):
            if self.upstreams.embeds(call.model):
                raise NotForChat(call.model)
            self.upstreams.order(call.model, "")  # a failure now has a status of its own
            place = ("upstream", self._forwarded)
            answer = partial(generate, self.upstreams)
            return OutsideJob(call, f"upstream\x1f{call.model}", place, answer)
        if entry is None:
            raise ModelNotFound("this machine has no such model; GET /v1/models lists those it has")
        try:
            return await self.pool.prepare(entry, call)
        except EngineDied:  # another request's crash is not this one's failure
            return await self.pool.prepare(entry, call)

    async def _preflight(self) -> None:
        """Return when the system model is available; raise the rich error of its state."""
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
        """Wait for the lane and generate; the lane is free when the engine is, not the reader."""
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

        def settled() -> None:
            ticket.lane.give(ticket)

        try:
            self.admission.started(ticket)
            generation = job.run(settled)
            yield generation
        finally:
            await asyncio.shield(asyncio.ensure_future(_end(generation, job, settled)))


async def timely(generation: Generation, limit_s: float) -> AsyncIterator[Piece]:
    """The pieces of a reply; raises `TimedOut` when no sign of it comes for *limit_s*; 0: never."""
    pieces = aiter(generation)
    while True:
        try:
            async with asyncio.timeout(limit_s or None):
                piece = await anext(pieces)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise TimedOut(f"the inference timed out: no token came for {limit_s:g} s") from None
        yield piece


async def _end(
    generation: Generation | None, job: PreparedCall, settled: Callable[[], None]
) -> None:
    """Stop the work, however it stands, and let everything go; never leaves the lane held."""
    try:
        if generation is not None:
            await generation.aclose()
    finally:
        job.release()
        settled()


def _stop_queued(ticket: Ticket, why: TimedOut) -> None:
    if ticket.started is None:
        ticket.stop(why)
