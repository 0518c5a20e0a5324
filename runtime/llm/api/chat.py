"""Chat completions: one reply as JSON, or as a stream of events."""

import asyncio
import secrets
import time
from collections.abc import Mapping
from typing import Final

from aiohttp import web

from runtime.llm.api.effects import EFFECTS, HEADER, watch_effects
from runtime.llm.api.wire import (
    DONE,
    ChatCompletion,
    ChatRequest,
    Choice,
    Chunk,
    Frames,
    ReplyMessage,
    Timings,
    check_turns,
    error_frame,
    usage_of,
)
from runtime.llm.chats import Cancelled, PreparedCall, QueueFull, State, Ticket, fingerprint
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
from runtime.llm.identity import client_id, header_safe, tenant_id
from runtime.llm.service import SERVICE, Service, body_cap
from runtime.llm.values import SYSTEM_MODEL, ChatCall, Finish, Outcome, Sampling
from runtime.web import logs
from runtime.web.errors import ApiError, RequestTimeout, ShuttingDown, TooMany
from runtime.web.routes import Routes
from runtime.web.sse import EventStream, ReaderGone

PATH: Final = "/v1/chat/completions"
QUEUE: Final = web.RequestKey("queue", dict[str, str])
"""Headers of an admitted request, which its answer carries whether it is a reply or an error."""
routes = Routes("chat")

HEADERS: Final[Mapping[str, str]] = {
    "X-Request-Id": "number of the request",
    "X-Client-Id": "the client, from its User-Agent",
    "X-Queue-Position": "1-based position at admission, the running request counts",
    "X-Queue-Depth": "unfinished requests in the lane at admission, this one included",
    "X-Estimated-Wait-Ms": "(position - 1) x mean of the last 50 completed requests",
    HEADER: "fields of the request that have no effect here, with commas between them",
}


class RateLimited(TooMany):
    """The client's bucket is empty."""


async def take_token(request: web.Request) -> None:
    """Charge the client's bucket; it runs before the body is read."""
    service = request.app[SERVICE]
    service.touch()
    client = client_id(request.headers.get("User-Agent"))
    wait = service.limiter.take(client, request.remote)
    if wait is not None:
        service.rejected("rate")
        raise RateLimited(
            "too many requests of this client; try again later",
            headers={"Retry-After": str(wait), "X-RateLimit-Client": header_safe(client)},
        )


@routes.post(
    PATH,
    before=take_token,
    body_cap=body_cap,
    context=watch_effects,
    stream=Chunk,
    headers=HEADERS,
    errors=(
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
    ),
)
async def chat_completions(
    request: web.Request, *, body: ChatRequest
) -> ChatCompletion | web.StreamResponse:
    """Answer a conversation, as one JSON object or as Server-Sent Events."""
    service = request.app[SERVICE]
    turns = body.turns()
    check_turns(turns, service.settings.max_prompt_chars)
    call = call_of(body, service, request.headers)
    if call.model == SYSTEM_MODEL and body.stop:
        request[EFFECTS].ignore("stop")
    client = client_id(request.headers.get("User-Agent"))
    number = int(logs.request_id.get() or 0)
    try:
        ticket = service.chats.admit(number, client, call.model)
    except QueueFull:
        service.rejected("queue")
        raise
    service.client(client).admitted += 1
    ticket.stream = bool(body.stream)
    request[QUEUE] = ticket.headers()
    try:
        async with service.awake.hold():
            if body.stream:
                usage = body.stream_options is not None and bool(body.stream_options.include_usage)
                return await _stream(request, service, ticket, call, with_usage=usage)
            return await _whole(service, ticket, call)
    except (asyncio.CancelledError, ReaderGone):
        service.admission.finish(ticket, State.CANCELLED)
        raise
    except ApiError as error:
        service.admission.finish(ticket, state_after(error))
        raise
    finally:
        service.admission.finish(ticket, State.ERRORED)  # unless it came to another end before
        service.touch()


def state_after(error: ApiError) -> State:
    """How a request that ended with *error* is counted: stopping it on purpose is no failure."""
    return State.CANCELLED if isinstance(error, Cancelled | ShuttingDown) else State.ERRORED


def call_of(body: ChatRequest, service: Service, headers: Mapping[str, str]) -> ChatCall:
    """The request with every default filled in."""
    settings = service.settings
    owner = ""
    if settings.session_scope == "client":
        owner = tenant_id(headers.get("X-Client-Id"), headers.get("User-Agent"))
    seed = body.seed if body.seed is not None else secrets.randbits(32)
    sampling = Sampling(
        temperature=settings.temperature if body.temperature is None else body.temperature,
        top_k=settings.top_k if body.top_k is None else body.top_k,
        top_p=settings.top_p if body.top_p is None else body.top_p,
        seed=(seed & 0xFFFFFFFF) % 0xFFFFFFFF,  # the engine takes 32 set bits for a random seed
    )
    reply_only = settings.honors("max_tokens")
    caps = [body.max_completion_tokens, body.max_tokens if reply_only else None]
    model = (body.model or "").strip() or settings.selected_model_id
    is_local = model != SYSTEM_MODEL  # the system model knows neither conversations nor stops
    return ChatCall(
        model=model,
        turns=body.turns(),
        sampling=sampling,
        max_tokens=None if reply_only else body.max_tokens,
        max_completion_tokens=min((cap for cap in caps if cap is not None), default=None),
        owner=owner,
        session_id=(body.session_id or None) if is_local else None,
        stop=body.stops() if is_local else (),
    )


async def _whole(service: Service, ticket: Ticket, call: ChatCall) -> web.Response:
    """The reply as one JSON object."""
    pieces: list[str] = []
    with ticket.stoppable():
        job = await service.chats.prepare(call)
        async with service.chats.running(ticket, job) as generation:
            async for piece in generation:
                _note_first(ticket)
                pieces.append(piece)
        outcome = generation.outcome
        ticket.chunks = 1
        _complete(service, ticket, outcome)
    finish, truncated = finish_of(outcome, report_length=service.settings.honors("length"))
    completion = ChatCompletion(
        id=_name(ticket),
        created=int(ticket.created),
        model=ticket.model,
        choices=[
            Choice(
                message=ReplyMessage(content="".join(pieces)),
                finish_reason=finish,
                truncated=True if truncated else None,
            )
        ],
        usage=usage_of(outcome),
        system_fingerprint=fingerprint(job.source),
        timings=_timings(ticket, job, outcome),
    )
    return web.Response(
        body=completion.model_dump_json(exclude_none=True).encode(),
        content_type="application/json",
        charset="utf-8",
    )


async def _stream(
    request: web.Request, service: Service, ticket: Ticket, call: ChatCall, *, with_usage: bool
) -> web.StreamResponse:
    """The reply as events; a failure before the commit is an ordinary error answer."""
    preparing = asyncio.ensure_future(service.chats.prepare(call))
    try:
        with ticket.stoppable():
            done, _ = await asyncio.wait({preparing}, timeout=service.settings.stream_commit_s)
            if done:
                preparing.result()  # a failure is raised here and has its own status
        settings = service.settings
        heartbeat_s, stall_s = settings.heartbeat_ms / 1000, settings.stall_ms / 1000
        async with EventStream(request, heartbeat_s=heartbeat_s, stall_s=stall_s) as stream:
            try:
                with ticket.stoppable():
                    await _send_reply(stream, service, ticket, await preparing, with_usage)
            except ApiError as error:
                service.admission.finish(ticket, state_after(error))
                await stream.send(error_frame(error))
            await stream.send(DONE)
        return stream.response
    finally:
        _abandon(preparing)


async def _send_reply(
    stream: EventStream, service: Service, ticket: Ticket, job: PreparedCall, with_usage: bool
) -> None:
    frames = Frames(_name(ticket), int(ticket.created), ticket.model)
    async with service.chats.running(ticket, job) as generation:
        await stream.send(frames.delta(role="assistant"))
        async for piece in generation:
            _note_first(ticket)
            ticket.chunks += 1
            await stream.send(frames.delta(content=piece))
    outcome = generation.outcome
    _complete(service, ticket, outcome)
    finish, truncated = finish_of(outcome, report_length=service.settings.honors("length"))
    await stream.send(frames.delta(finish=finish, truncated=truncated))
    usage = usage_of(outcome)
    if with_usage and usage is not None:
        await stream.send(frames.usage(usage))


def finish_of(outcome: Outcome, *, report_length: bool) -> tuple[Finish, bool]:
    """The finish reason for the client, and whether a budget cut the text.

    A cut is reported as ``stop`` with a mark, unless the settings ask for ``length``.
    """
    cut = outcome.finish == "length"
    return ("length" if cut and report_length else "stop"), cut


def _name(ticket: Ticket) -> str:
    return f"chatcmpl-{ticket.number}"


def _note_first(ticket: Ticket) -> None:
    if ticket.first_token_ms is None and ticket.started is not None:
        ticket.first_token_ms = (time.monotonic() - ticket.started) * 1000


def _complete(service: Service, ticket: Ticket, outcome: Outcome) -> None:
    service.admission.finish(ticket, State.COMPLETED)
    service.count(ticket, outcome)


def _timings(ticket: Ticket, job: PreparedCall, outcome: Outcome) -> Timings:
    waited = (ticket.started or ticket.entered) - ticket.entered
    prompt, first = outcome.prompt_tokens, ticket.first_token_ms
    return Timings(
        queue_ms=round(waited * 1000, 3),
        load_ms=round(job.load_ms, 3),
        prompt_ms=round(outcome.prompt_ms, 3),
        first_token_ms=None if first is None else round(first, 3),
        predicted_ms=round(outcome.predicted_ms, 3),
        prompt_n=None if prompt is None else max(0, prompt - outcome.cached_tokens),
        cache_n=outcome.cached_tokens,
        predicted_n=outcome.completion_tokens,
    )


def _abandon(preparing: asyncio.Future[PreparedCall]) -> None:
    """Let go of a model that was made ready for a request that is over."""

    def release(done: asyncio.Future[PreparedCall]) -> None:
        if not done.cancelled() and done.exception() is None:
            done.result().release()

    preparing.cancel()
    preparing.add_done_callback(release)
