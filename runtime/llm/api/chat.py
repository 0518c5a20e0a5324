"""Chat completions: one reply as JSON, or as a stream of events."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from aiohttp import web

from runtime.llm.api.calls import (
    ERRORS,
    HEADERS,
    Reply,
    admit,
    answer,
    make_sampling,
    repeat_call,
    sum_outcomes,
    take_token,
)
from runtime.llm.api.effects import watch_effects
from runtime.llm.api.wire import (
    CallDelta,
    CalledFunction,
    CalledTool,
    ChatCompletion,
    ChatFinish,
    ChatRequest,
    Choice,
    Chunk,
    ChunkChoice,
    Delta,
    FunctionDelta,
    Logprobs,
    ReplyMessage,
    Timings,
    check_length,
    check_turns,
    choose_finish,
    convert_tokens,
    make_usage,
)
from runtime.llm.chats import Ticket, fingerprint
from runtime.llm.identity import tenant_id
from runtime.llm.inference import (
    SYSTEM_MODEL,
    ChatCall,
    Content,
    Event,
    Outcome,
    Piece,
    Reasoning,
    ToolArguments,
    ToolStart,
)
from runtime.llm.service import SERVICE, Service, body_cap
from runtime.web.routes import Routes
from runtime.web.sse import frame

PATH: Final = "/v1/chat/completions"
routes = Routes("chat")


@routes.post(
    PATH,
    before=take_token,
    body_cap=body_cap,
    context=watch_effects,
    stream=Chunk,
    headers=HEADERS,
    errors=ERRORS,
)
async def chat_completions(
    request: web.Request, *, body: ChatRequest
) -> ChatCompletion | web.StreamResponse:
    """Answer a conversation, as one JSON object or as Server-Sent Events."""
    service = request.app[SERVICE]
    check_turns(body.turns(), service.settings.max_prompt_chars)
    calls = make_calls(body, service, request.headers)
    ticket = await admit(request, calls[0].model)
    usage = body.stream_options is not None and bool(body.stream_options.include_usage)
    form = ChatForm(
        ticket,
        choices=len(calls),
        with_usage=usage,
        report_length=service.settings.honors("length"),
    )
    return await answer(request, ticket, calls, form, stream=bool(body.stream))


class ChatForm:
    """A chat completion, or its chunks."""

    def __init__(
        self, ticket: Ticket, *, choices: int, with_usage: bool, report_length: bool
    ) -> None:
        self.choices = choices
        self._ticket = ticket
        self._with_usage = with_usage
        self._report_length = report_length
        self._chunk = Chunk(
            id=f"chatcmpl-{ticket.number}",
            created=int(ticket.created),
            model=ticket.model,
            choices=[],
        )

    def begin(self, reply: Reply) -> bytes:
        """Return the frame with the role."""
        return self._delta(reply, Delta(role="assistant"))

    def add(self, reply: Reply, piece: Piece) -> bytes:
        """Return a frame for each event that the piece adds."""
        deltas = [make_delta(event) for event in reply.news]
        if not piece.tokens:
            return b"".join(self._delta(reply, delta) for delta in deltas)
        *others, last = deltas or [Delta(content="")]
        frames = [self._delta(reply, delta) for delta in others]
        logprobs = Logprobs(content=convert_tokens(piece.tokens))
        return b"".join([*frames, self._delta(reply, last, logprobs=logprobs)])

    def end(self, reply: Reply) -> bytes:
        """Return the frame with the finish reason."""
        frames = [self._delta(reply, make_delta(event)) for event in reply.news]
        finish, truncated = self._finish(reply)
        frames.append(self._delta(reply, Delta(), finish=finish, truncated=truncated))
        return b"".join(frames)

    def finish(self, replies: Sequence[Reply]) -> bytes:
        """Return the frame with the usage if the client requested it."""
        usage = make_usage(sum_outcomes(replies, self.choices))
        return self._frame(usage=usage) if self._with_usage and usage is not None else b""

    def whole(self, replies: Sequence[Reply]) -> ChatCompletion:
        """Return the completion as one object."""
        total = sum_outcomes(replies, self.choices)
        return ChatCompletion(
            id=self._chunk.id,
            created=self._chunk.created,
            model=self._chunk.model,
            choices=[self._choice(reply) for reply in replies],
            usage=make_usage(total),
            system_fingerprint=fingerprint(replies[0].source),
            timings=make_timings(self._ticket, replies[0].load_ms, total),
        )

    def _delta(
        self,
        reply: Reply,
        delta: Delta,
        *,
        logprobs: Logprobs | None = None,
        finish: ChatFinish | None = None,
        truncated: bool = False,
    ) -> bytes:
        """Return a frame with the role (the first), text, or the finish reason (the last)."""
        choice = ChunkChoice(
            index=reply.number,
            delta=delta,
            logprobs=logprobs,
            finish_reason=finish,
            truncated=True if truncated else None,
        )
        return self._frame(choices=[choice])

    def _frame(self, **fields: object) -> bytes:
        chunk = self._chunk.model_copy(update=fields)
        return frame(chunk.model_dump_json(exclude_none=True).encode())

    def _choice(self, reply: Reply) -> Choice:
        finish, truncated = self._finish(reply)
        calls = [
            CalledTool(
                id=call.id, function=CalledFunction(name=call.name, arguments=call.arguments)
            )
            for call in reply.calls
        ]
        message = ReplyMessage(
            content=reply.content,
            reasoning_content=reply.reasoning or None,
            tool_calls=calls or None,
        )
        return Choice(
            index=reply.number,
            message=message,
            logprobs=Logprobs(content=convert_tokens(reply.tokens)) if reply.tokens else None,
            finish_reason=finish,
            truncated=True if truncated else None,
        )

    def _finish(self, reply: Reply) -> tuple[ChatFinish, bool]:
        finish, truncated = choose_finish(reply.outcome, report_length=self._report_length)
        return "tool_calls" if reply.calls and not truncated else finish, truncated


def make_delta(event: Event) -> Delta:
    """The delta that adds an event to the message."""
    match event:
        case Content(text):
            return Delta(content=text)
        case Reasoning(text):
            return Delta(reasoning_content=text)
        case ToolStart(number, call_id, name):
            function = FunctionDelta(name=name, arguments="")
            call = CallDelta(index=number, id=call_id, type="function", function=function)
            return Delta(tool_calls=[call])
        case ToolArguments(number, text):
            call = CallDelta(index=number, function=FunctionDelta(arguments=text))
            return Delta(tool_calls=[call])


def make_calls(body: ChatRequest, service: Service, headers: Mapping[str, str]) -> list[ChatCall]:
    """A call for each requested reply, with every default filled in."""
    settings = service.settings
    owner = ""
    if settings.session_scope == "client":
        owner = tenant_id(headers.get("X-Client-Id"), headers.get("User-Agent"))
    reply_only = settings.honors("max_tokens")
    caps = [body.max_completion_tokens, body.max_tokens if reply_only else None]
    model = body.model_in(settings)
    tools, must_call = body.offer(settings.max_prompt_chars)
    options = body.chat_template_kwargs or {}
    check_length([json.dumps(options)], settings.max_prompt_chars, "chat_template_kwargs")
    call = ChatCall(
        model=model,
        turns=body.turns(),
        sampling=replace(
            body.sampling(make_sampling(settings)),
            logprobs=body.alternatives(),
            grammar=body.write_grammar(),
        ),
        max_tokens=None if reply_only else body.max_tokens,
        max_completion_tokens=min((cap for cap in caps if cap is not None), default=None),
        owner=owner,
        session_id=(body.session_id or None) if model != SYSTEM_MODEL else None,
        stop=body.stops(),
        tools=tools,
        tools_required=must_call,
        parallel_tools=body.parallel_tool_calls is not False,
        template_options=options,
        explicit=body.dump_explicit_fields(),
    )
    return repeat_call(call, body.n or 1)


def make_timings(ticket: Ticket, load_ms: float, outcome: Outcome) -> Timings:
    """Durations of an answer's phases."""
    waited = (ticket.started or ticket.entered) - ticket.entered
    prompt, first = outcome.prompt_tokens, ticket.first_token_ms
    return Timings(
        queue_ms=round(waited * 1000, 3),
        load_ms=round(load_ms, 3),
        prompt_ms=round(outcome.prompt_ms, 3),
        first_token_ms=None if first is None else round(first, 3),
        predicted_ms=round(outcome.predicted_ms, 3),
        prompt_n=None if prompt is None else max(0, prompt - outcome.cached_tokens),
        cache_n=outcome.cached_tokens,
        predicted_n=outcome.completion_tokens,
    )
