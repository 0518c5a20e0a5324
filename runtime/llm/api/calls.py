"""Every generated answer: admit the request, queue it, run it, send the reply whole or streamed.

A `Form` writes the answer for the wire; everything else is the same for every route.
"""

import asyncio
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol

from aiohttp import web
from pydantic import BaseModel

from runtime.llm.api.effects import HEADER
from runtime.llm.api.wire import DONE, make_error_frame
from runtime.llm.chats import Cancelled, PreparedCall, QueueFull, State, Ticket, limit_waits
from runtime.llm.errors import (
    EngineFailed,
    LocalInitFailed,
    ModelNotFound,
    PromptTooLong,
    SysmodelBackgroundBlocked,
    SysmodelDownloadable,
    SysmodelDownloading,
    SysmodelRuntimeError,
    SysmodelUnavailable,
    SysmodelUnknown,
)
from runtime.llm.identity import client_id, escape_header, identify_client
from runtime.llm.inference import (
    ChatCall,
    Content,
    Event,
    Outcome,
    Piece,
    Reasoning,
    ReplyFormat,
    Sampling,
    TokenLogprob,
    ToolArguments,
    ToolCall,
    ToolStart,
)
from runtime.llm.models.upstreams.fleet import UpstreamsUnavailable
from runtime.llm.models.upstreams.forwarding import VIA, UpstreamFailed
from runtime.llm.replies import ReplyParser
from runtime.llm.service import SERVICE, Service
from runtime.llm.settings import LlmSettings
from runtime.web import logs
from runtime.web.errors import ApiError, RequestTimeout, ShuttingDown, TooMany
from runtime.web.sse import EventStream, ReaderGone

QUEUE: Final = web.RequestKey("queue", dict[str, str])
"""Headers that the answer to an admitted request has, whether it is a reply or an error."""
HEADERS: Final[Mapping[str, str]] = {
    "X-Request-Id": "number of the request",
    "X-Client-Id": "name of the client, from its User-Agent",
    "X-Queue-Position": "1-based position at admission, counting running requests",
    "X-Queue-Depth": "unfinished requests in the queue at admission, including this one",
    "X-Estimated-Wait-Ms": "(position - 1) x mean of the last 50 completed requests",
    HEADER: "comma-separated fields of the request that have no effect",
}
"""Headers of every generated answer, for OpenAPI."""
_SEEDS: Final = 0xFFFFFFFF


class RateLimited(TooMany):
    """The client's bucket is empty."""


ERRORS: Final[tuple[type[ApiError], ...]] = (
    Cancelled,
    PromptTooLong,
    ModelNotFound,
    RateLimited,
    RequestTimeout,
    QueueFull,
    EngineFailed,
    LocalInitFailed,
    SysmodelBackgroundBlocked,
    SysmodelDownloadable,
    SysmodelDownloading,
    SysmodelRuntimeError,
    SysmodelUnavailable,
    SysmodelUnknown,
    UpstreamFailed,
    UpstreamsUnavailable,
)


async def take_token(request: web.Request) -> None:
    """Charge the client's rate limit; runs before the body is read."""
    service = request.app[SERVICE]
    service.touch()
    client = client_id(request.headers.get("User-Agent"))
    wait = service.limiter.take(client, request.remote)
    if wait is not None:
        service.count_rejection("rate")
        raise RateLimited(
            "this client sends too many requests; try again later",
            headers={"Retry-After": str(wait), "X-RateLimit-Client": escape_header(client)},
        )


class Reply:
    """A growing reply of an answer; *number* counts the replies of an answer from 0."""

    def __init__(self, number: int, job: PreparedCall) -> None:
        self.number = number
        self.source = job.source
        self.load_ms = job.load_ms
        self.outcome = Outcome("stop")
        self.news: list[Event] = []
        """The events that the last piece, or the end, added."""
        self._pieces: list[Piece] = []
        self.chars = 0
        """Characters of the text so far."""
        self.events: list[Event] = []
        """The events of all pieces so far."""
        self._parser: ReplyParser | None = None

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(piece.text for piece in self._pieces)

    @property
    def tokens(self) -> list[TokenLogprob]:
        """The tokens so far, if their probabilities were requested and are known."""
        return [token for piece in self._pieces for token in piece.tokens]

    @property
    def content(self) -> str:
        """The text for the reader so far, without thoughts and calls."""
        return "".join(event.text for event in self.events if isinstance(event, Content))

    @property
    def reasoning(self) -> str:
        """The thought so far."""
        return "".join(event.text for event in self.events if isinstance(event, Reasoning))

    @property
    def calls(self) -> list[ToolCall]:
        """The tool calls so far."""
        starts = [event for event in self.events if isinstance(event, ToolStart)]
        texts = dict.fromkeys((start.number for start in starts), "")
        for event in self.events:
            if isinstance(event, ToolArguments):
                texts[event.number] += event.text
        return [ToolCall(start.id, start.name, texts[start.number]) for start in starts]

    def add(self, piece: Piece, form: ReplyFormat) -> None:
        """Add the next piece of the model's text and parse it as *form*."""
        self._pieces.append(piece)
        self.chars += len(piece.text)
        self._parser = self._parser or ReplyParser(form)
        self._note([*piece.events, *self._parser.feed(piece.text)])

    def end(self, outcome: Outcome) -> None:
        """Close the text and keep its cost."""
        self.outcome = outcome
        self._note(self._parser.end() if self._parser else [])

    def _note(self, events: list[Event]) -> None:
        self.news = events
        self.events += events


class Form(Protocol):
    """Writes an answer for the wire: as frames of a stream, each a whole event, or as one model."""

    choices: int
    """Number of consecutive replies that share a prompt."""

    def begin(self, reply: Reply) -> bytes:
        """The frames when the model begins to read the prompt of a reply."""
        ...

    def add(self, reply: Reply, piece: Piece) -> bytes:
        """The frames for a further piece of the reply."""
        ...

    def end(self, reply: Reply) -> bytes:
        """The frames at the end of a reply."""
        ...

    def finish(self, replies: Sequence[Reply]) -> bytes:
        """The frames after the last reply; only the end of the stream follows."""
        ...

    def whole(self, replies: Sequence[Reply]) -> BaseModel:
        """The answer as one object."""
        ...


async def answer(
    request: web.Request, ticket: Ticket, calls: Sequence[ChatCall], form: Form, *, stream: bool
) -> web.StreamResponse:
    """Run the *calls* of an admitted request one after the other and send their replies."""
    service = request.app[SERVICE]
    ticket.stream = stream
    client = ""
    if service.settings.prefix_cache:
        client = identify_client(request.headers, request.remote)
    forwarded = VIA in request.headers.get("Via", "")
    calls = [
        replace(call, client=client, is_whole=not stream, is_forwarded=forwarded) for call in calls
    ]
    try:
        with service.awake.hold():
            if stream:
                return await _stream(request, service, ticket, calls, form)
            return await _whole(service, ticket, calls, form)
    except (asyncio.CancelledError, ReaderGone):
        service.admission.finish(ticket, State.CANCELLED)
        raise
    except ApiError as error:
        service.admission.finish(ticket, choose_final_state(error))
        raise
    finally:
        service.admission.finish(ticket, State.ERRORED)  # no effect if it is already finished
        service.touch()


async def admit(request: web.Request, model: str) -> Ticket:
    """A place in the queue of *model*, which the answer's headers report; raises `QueueFull`.

    The caller must pass the ticket to `answer` at once.
    """
    service = request.app[SERVICE]
    client = client_id(request.headers.get("User-Agent"))
    number, owner = int(logs.request_id.get() or 0), (request.remote or "", client)
    try:
        ticket = await service.chats.admit(number, owner, model)
    except QueueFull:
        service.count_rejection("queue")
        raise
    service.client(client).admitted += 1
    request[QUEUE] = ticket.headers()
    return ticket


def make_sampling(settings: LlmSettings) -> Sampling:
    """The sampling of a request without sampling fields, with a random seed."""
    return Sampling(
        temperature=settings.temperature,
        top_k=settings.top_k,
        top_p=settings.top_p,
        seed=secrets.randbits(32),
    )


def repeat_call(call: ChatCall, count: int) -> list[ChatCall]:
    """*count* copies of the call, each with its own seed; only the first may have a session."""
    first = call.sampling
    return [call] + [
        replace(call, session_id=None, sampling=replace(first, seed=(first.seed + number) % _SEEDS))
        for number in range(1, count)
    ]


def choose_final_state(error: ApiError) -> State:
    """The final state of a request that ended with *error*; a deliberate stop is no failure."""
    return State.CANCELLED if isinstance(error, Cancelled | ShuttingDown) else State.ERRORED


async def _whole(
    service: Service, ticket: Ticket, calls: Sequence[ChatCall], form: Form
) -> web.Response:
    """Send the answer as one JSON object."""
    with ticket.stoppable():
        job = await service.chats.prepare(calls[0])
        replies = await _run(service, ticket, calls, job, form, None)
    return web.Response(
        body=form.whole(replies).model_dump_json(exclude_none=True, by_alias=True).encode(),
        content_type="application/json",
        charset="utf-8",
    )


async def _stream(
    request: web.Request, service: Service, ticket: Ticket, calls: Sequence[ChatCall], form: Form
) -> web.StreamResponse:
    """Send the answer as events; a failure before the commit is an ordinary error answer."""
    preparing = asyncio.ensure_future(service.chats.prepare(calls[0]))
    try:
        with ticket.stoppable():
            done, _ = await asyncio.wait(
                {preparing}, timeout=service.settings.stream_commit_ms / 1000
            )
            if done:
                preparing.result()  # raises a failure, which then has its own status
        settings = service.settings
        heartbeat_s, stall_s = settings.heartbeat_ms / 1000, settings.stall_ms / 1000
        async with EventStream(request, heartbeat_s=heartbeat_s, stall_s=stall_s) as stream:
            try:
                with ticket.stoppable():
                    replies = await _run(service, ticket, calls, await preparing, form, stream)
                    await stream.send(form.finish(replies))
            except ApiError as error:
                service.admission.finish(ticket, choose_final_state(error))
                await stream.send(make_error_frame(error))
            await stream.send(DONE)
        return stream.response
    finally:
        _abandon(preparing)


async def _run(
    service: Service,
    ticket: Ticket,
    calls: Sequence[ChatCall],
    job: PreparedCall,
    form: Form,
    stream: EventStream | None,
) -> list[Reply]:
    """Run the calls, the first prepared as *job*; a stream gets the replies as they grow."""
    replies: list[Reply] = []
    for number, call in enumerate(calls):
        if number:
            job = await service.chats.prepare(call)
        reply = Reply(number, job)
        replies.append(reply)
        async with service.chats.running(ticket, job) as generation:
            if stream is not None:
                await stream.send(form.begin(reply))
            async for piece in limit_waits(generation, service.chats.request_s):
                if not (piece.text or piece.events):  # only a sign of life
                    continue
                if ticket.first_token_ms is None and ticket.started is not None:
                    ticket.first_token_ms = (time.monotonic() - ticket.started) * 1000
                reply.add(piece, generation.format)
                if stream is not None:
                    ticket.chunks += 1
                    await stream.send(form.add(reply, piece))
        reply.end(generation.outcome)
        if number == len(calls) - 1:
            ticket.chunks = ticket.chunks or 1
            service.admission.finish(ticket, State.COMPLETED)
            service.count(ticket, sum_outcomes(replies, form.choices))
        if stream is not None:
            await stream.send(form.end(reply))
    return replies


def sum_outcomes(replies: Sequence[Reply], choices: int = 1) -> Outcome:
    """The total cost of the replies; a prompt shared by several *choices* counts once."""
    outcomes = [reply.outcome for reply in replies]
    prompts = outcomes[::choices]
    return Outcome(
        outcomes[-1].finish,
        completion_tokens=_sum(outcome.completion_tokens for outcome in outcomes),
        prompt_tokens=_sum(outcome.prompt_tokens for outcome in prompts),
        cached_tokens=sum(outcome.cached_tokens for outcome in prompts),
        prompt_ms=sum(outcome.prompt_ms for outcome in outcomes),
        predicted_ms=sum(outcome.predicted_ms for outcome in outcomes),
    )


def _sum(counts: Iterable[int | None]) -> int | None:
    """The sum; None if a count is unknown."""
    numbers = list(counts)
    return None if None in numbers else sum(count or 0 for count in numbers)


def _abandon(preparing: asyncio.Future[PreparedCall]) -> None:
    """Release the model that was prepared for a request that is over."""

    def release(done: asyncio.Future[PreparedCall]) -> None:
        if not done.cancelled() and done.exception() is None:
            done.result().release()

    preparing.cancel()
    preparing.add_done_callback(release)
