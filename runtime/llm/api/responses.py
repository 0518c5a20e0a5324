"""The Responses API over the same replies; no response is kept between requests."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Final, Literal

from aiohttp import web
from pydantic import (
    Discriminator,
    Field,
    StrictBool,
    StrictStr,
    Tag,
    ValidationInfo,
    field_validator,
)

from runtime.llm.api.calls import (
    ERRORS,
    HEADERS,
    Reply,
    admit,
    answer,
    make_sampling,
    sum_outcomes,
)
from runtime.llm.api.completions import begin
from runtime.llm.api.effects import Effects, Under, watch_effects
from runtime.llm.api.formats import TextOutput, convert_format
from runtime.llm.api.wire import (
    MAX_MESSAGES,
    MAX_NAME,
    MAX_TOOLS,
    Alternatives,
    ChosenToken,
    Content,
    Message,
    OfferedFunction,
    SamplingFields,
    Tokens,
    check_turns,
    convert_tokens,
    pick_tools,
)
from runtime.llm.chats import Ticket
from runtime.llm.inference import (
    ChatCall,
    Event,
    Outcome,
    Piece,
    Reasoning,
    TokenLogprob,
    Tool,
    ToolArguments,
    ToolCall,
    ToolStart,
    Turn,
)
from runtime.llm.inference import Content as SpokenText
from runtime.llm.service import SERVICE, body_cap
from runtime.web.errors import NotFound
from runtime.web.routes import Routes
from runtime.web.sse import frame
from runtime.web.wire import Wire, absent

PATH: Final = "/v1/responses"
LOGPROBS: Final = "message.output_text.logprobs"
routes = Routes("responses")
Name = Annotated[StrictStr, Field(min_length=1, max_length=MAX_NAME)]
Status = Literal["in_progress", "completed", "incomplete"]


# --- requests


class InputMessage(Wire):
    """A message of the conversation."""

    type: Literal["message"] = "message"
    role: Literal["system", "developer", "user", "assistant"]
    content: Content = None


class PastCall(Wire):
    """A tool call of an earlier reply."""

    type: Literal["function_call"]
    call_id: Name
    name: Name
    arguments: StrictStr


class CallOutput(Wire):
    """The result of a tool call."""

    type: Literal["function_call_output"]
    call_id: Name
    output: Content


class PastReasoning(Wire):
    """The thought of an earlier reply, which is ignored."""

    type: Literal["reasoning"]


_ITEMS: Final = ("message", "function_call", "function_call_output", "reasoning")


def _kind_of_item(item: object) -> str | None:
    kind = item.get("type") if isinstance(item, dict) else getattr(item, "type", None)
    return kind if kind in _ITEMS else "message" if kind is None else None


InputItem = Annotated[
    Annotated[InputMessage, Tag("message")]
    | Annotated[PastCall, Tag("function_call")]
    | Annotated[CallOutput, Tag("function_call_output")]
    | Annotated[PastReasoning, Tag("reasoning")],
    Discriminator(
        _kind_of_item,
        custom_error_type="item",
        custom_error_message="must be an item of type " + ", ".join(_ITEMS),
    ),
]


def _kind_of_input(value: object) -> str | None:
    return "<text>" if isinstance(value, str) else "<items>" if isinstance(value, list) else None


Input = Annotated[
    Annotated[StrictStr, Tag("<text>")]
    | Annotated[list[InputItem], Field(min_length=1, max_length=MAX_MESSAGES), Tag("<items>")],
    Discriminator(
        _kind_of_input, custom_error_type="input", custom_error_message="must be text or a list"
    ),
]


class FunctionKind(Wire):
    """The only supported kind of tool."""

    type: Literal["function"]


class ResponseTool(OfferedFunction, FunctionKind):
    """A function that the reply may call."""


class ForcedTool(Wire):
    """The function that must be called."""

    type: Literal["function"]
    name: Name


def _kind_of_choice(choice: object) -> str:
    return "<word>" if isinstance(choice, str) else "<tool>"


ToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("<word>")]
    | Annotated[ForcedTool, Tag("<tool>")],
    Discriminator(_kind_of_choice),
]


class TextOptions(Wire):
    """Format of the text."""

    format: Annotated[TextOutput | None, Under("format", usual={"type": "text"})] = None


class ResponseRequest(SamplingFields):
    """A request for a response; unknown fields are ignored."""

    input: Input = Field(description="the user's text, or the whole conversation as items")
    instructions: StrictStr | None = Field(None, description="a system text before the input")
    max_output_tokens: Tokens | None = Field(None, description="budget of the reply")
    text: TextOptions | None = None
    tools: Annotated[
        Annotated[list[ResponseTool], Field(max_length=MAX_TOOLS)] | None, Under("tools")
    ] = None
    tool_choice: Annotated[ToolChoice | None, Under("tools", usual="auto")] = None
    parallel_tool_calls: Annotated[StrictBool | None, Under("tools", usual=True)] = None
    previous_response_id: StrictStr | None = Field(
        None, description="rejected: responses are not kept; send the conversation as items"
    )
    conversation: object = Field(None, description="rejected, as previous_response_id")
    include: Annotated[list[StrictStr] | None, Under("sampling", usual=[])] = Field(
        None, description=f"`{LOGPROBS}` reports log-probabilities; other values have no effect"
    )
    top_logprobs: Alternatives = Field(None, description="likely tokens to report at each position")

    @field_validator("previous_response_id", "conversation")
    @classmethod
    def _nothing_is_kept(cls, value: object) -> object:
        if value is not None:
            raise ValueError("responses are not kept here; send the whole conversation as input")
        return value

    @field_validator("include")
    @classmethod
    def _others_are_ignored(cls, names: list[str] | None, info: ValidationInfo) -> list[str] | None:
        effects: Effects | None = info.context
        if effects is not None and set(names or ()) - {LOGPROBS}:
            effects.ignore("include")
        return names

    def alternatives(self) -> int | None:
        """How many likely tokens to report; None: no probabilities."""
        return (self.top_logprobs or 0) if LOGPROBS in (self.include or ()) else None

    def dump_explicit_fields(self) -> dict[str, object]:
        """As in `SamplingFields`, with the text format in the shape of a chat request."""
        form = self.text.format if self.text else None
        if form is None:
            return super().dump_explicit_fields()
        fields = form.model_dump(exclude_none=True, by_alias=True)
        kind = {"type": fields.pop("type")}
        return super().dump_explicit_fields() | {
            "response_format": kind | ({"json_schema": fields} if fields else {})
        }

    def turns(self) -> list[Turn]:
        """The conversation as turns."""
        turns = [Turn("system", self.instructions)] if self.instructions else []
        if isinstance(self.input, str):
            return [*turns, Turn("user", self.input)]
        for item in self.input:
            match item:
                case InputMessage():
                    turns.append(Message(role=item.role, content=item.content).turn())
                case PastCall():
                    if not turns or turns[-1].role != "assistant":
                        turns.append(Turn("assistant", ""))
                    call = ToolCall(item.call_id, item.name, item.arguments)
                    calls = (*turns[-1].tool_calls, call)
                    turns[-1] = turns[-1]._replace(tool_calls=calls)
                case CallOutput():
                    text = Message(role="user", content=item.output).turn().content
                    turns.append(Turn("tool", text, tool_call_id=item.call_id))
        return turns

    def offer(self, max_chars: int) -> tuple[Sequence[Tool], bool]:
        """The tools that the reply may call, and whether it must call one."""
        tools = [tool.tool() for tool in self.tools or ()]
        choice = self.tool_choice or "auto"
        if isinstance(choice, ForcedTool):
            return pick_tools(tools, "required", choice.name, max_chars)
        return pick_tools(tools, choice, None, max_chars)


# --- answers


class OutputText(Wire):
    """Text of a message, or of a thought."""

    type: Literal["output_text", "reasoning_text"]
    text: str = ""
    annotations: list[str] | None = absent("always empty")
    logprobs: list[ChosenToken] | None = absent("of a message")


class OutputItem(Wire):
    """A message, a thought or a tool call, depending on its type."""

    id: str
    type: Literal["message", "reasoning", "function_call"]
    status: Status
    role: Literal["assistant"] | None = absent("of a message")
    content: list[OutputText] | None = absent("of a message or a thought")
    summary: list[str] | None = absent("of a thought; always empty")
    call_id: str | None = absent("of a tool call")
    name: str | None = absent("of a tool call")
    arguments: str | None = absent("of a tool call: JSON text")


class InputDetails(Wire):
    """How many tokens of the prompt were cached."""

    cached_tokens: int
    cache_write_tokens: int = 0


class OutputDetails(Wire):
    """What the tokens of the reply were used for."""

    reasoning_tokens: int = Field(0, description="not counted separately")


class ResponseUsage(Wire):
    """Tokens of a response."""

    input_tokens: int
    input_tokens_details: InputDetails
    output_tokens: int
    output_tokens_details: OutputDetails
    total_tokens: int


class Incomplete(Wire):
    """Why a response is incomplete."""

    reason: Literal["max_output_tokens"] = "max_output_tokens"


class ResponseObject(Wire):
    """A response."""

    id: str
    object: Literal["response"] = "response"
    created_at: int
    status: Status
    model: str
    output: list[OutputItem]
    usage: ResponseUsage | None = None
    error: None = None
    incomplete_details: Incomplete | None = None
    instructions: str | None = None
    max_output_tokens: int | None = None
    previous_response_id: None = None
    temperature: float
    top_p: float
    parallel_tool_calls: bool
    tool_choice: ToolChoice
    tools: list[ResponseTool]
    text: TextOptions
    store: Literal[False] = False
    truncation: Literal["disabled"] = "disabled"
    metadata: dict[str, str]


class ResponseEvent(Wire):
    """A frame of a stream; its type determines which other fields it has."""

    type: str
    sequence_number: int
    response: ResponseObject | None = absent()
    output_index: int | None = absent()
    item: OutputItem | None = absent()
    item_id: str | None = absent()
    content_index: int | None = absent()
    part: OutputText | None = absent()
    delta: str | None = absent()
    text: str | None = absent()
    arguments: str | None = absent()
    name: str | None = absent()
    logprobs: list[ChosenToken] | None = absent()


_BLANK: Final = ResponseEvent(type="", sequence_number=0)


def make_event(kind: str, **fields: object) -> ResponseEvent:
    """A frame without its number."""
    return _BLANK.model_copy(update={"type": kind, **fields})


@routes.post(
    PATH,
    before=begin,
    body_cap=body_cap,
    context=watch_effects,
    stream=ResponseEvent,
    headers=HEADERS,
    errors=(NotFound, *ERRORS),
)
async def respond(
    request: web.Request, *, body: ResponseRequest
) -> ResponseObject | web.StreamResponse:
    """Answer a text or a conversation of items; requires the setting compat."""
    settings = request.app[SERVICE].settings
    turns = body.turns()
    check_turns(turns, settings.max_prompt_chars)
    tools, must_call = body.offer(settings.max_prompt_chars)
    grammar = convert_format(body.text.format if body.text else None, "text.format")
    call = ChatCall(
        model=body.model_in(settings),
        turns=turns,
        sampling=replace(
            body.sampling(make_sampling(settings)), grammar=grammar, logprobs=body.alternatives()
        ),
        max_completion_tokens=body.max_output_tokens,
        stop=body.stops(),
        tools=tools,
        tools_required=must_call,
        parallel_tools=body.parallel_tool_calls is not False,
        explicit=body.dump_explicit_fields(),
    )
    ticket = await admit(request, call.model)
    form = ResponseForm(ticket, body, call)
    return await answer(request, ticket, [call], form, stream=bool(body.stream))


class Output:
    """The growing items of a response, and the frames that report them."""

    def __init__(self, number: int) -> None:
        self.items: list[OutputItem] = []
        self._number = number

    def take(
        self, events: Sequence[Event], tokens: Sequence[TokenLogprob]
    ) -> Iterator[ResponseEvent]:
        """Add events and yield their frames; the last text gets all *tokens*."""
        last = max(
            (at for at, event in enumerate(events) if isinstance(event, SpokenText)), default=-1
        )
        for at, event in enumerate(events):
            yield from self._take(event, convert_tokens(tokens) if at == last else [])

    def _take(self, event: Event, tokens: list[ChosenToken]) -> Iterator[ResponseEvent]:
        match event:
            case SpokenText(text):
                yield from self._add_text("message", text, tokens)
            case Reasoning(text):
                yield from self._add_text("reasoning", text)
            case ToolStart(_, call_id, name):
                yield from self.close()
                yield from self._open("function_call", call_id=call_id, name=name, arguments="")
            case ToolArguments(_, text):
                last = self.items[-1]
                self._update(arguments=f"{last.arguments}{text}")
                yield self._report("response.function_call_arguments.delta", delta=text)

    def close(self, status: Status = "completed") -> Iterator[ResponseEvent]:
        """Complete the last item if it is in progress."""
        if not self.items or self.items[-1].status != "in_progress":
            return
        item = self.items[-1]
        if item.type == "function_call":
            yield self._report(
                "response.function_call_arguments.done", arguments=item.arguments, name=item.name
            )
        elif item.content:
            (part,) = item.content
            kind = f"response.{part.type}.done"
            yield self._report(kind, content_index=0, text=part.text, logprobs=part.logprobs)
            yield self._report("response.content_part.done", content_index=0, part=part)
        self._update(status=status)
        yield make_event(
            "response.output_item.done", output_index=len(self.items) - 1, item=self.items[-1]
        )

    def _add_text(
        self,
        kind: Literal["message", "reasoning"],
        text: str,
        tokens: list[ChosenToken] | None = None,
    ) -> Iterator[ResponseEvent]:
        is_open = self.items and self.items[-1].status == "in_progress"
        if not is_open or self.items[-1].type != kind:
            yield from self.close()
            yield from self._open_text(kind)
        [old] = self.items[-1].content or [OutputText(type="output_text")]
        logprobs = None if tokens is None else [*(old.logprobs or ()), *tokens]
        part = old.model_copy(update={"text": old.text + text, "logprobs": logprobs})
        self._update(content=[part])
        yield self._report(
            f"response.{part.type}.delta", content_index=0, delta=text, logprobs=tokens
        )

    def _open_text(self, kind: Literal["message", "reasoning"]) -> Iterator[ResponseEvent]:
        if kind == "message":
            part = OutputText(type="output_text", annotations=[], logprobs=[])
            yield from self._open(kind, role="assistant", content=[])
        else:
            part = OutputText(type="reasoning_text")
            yield from self._open(kind, summary=[], content=[])
        self._update(content=[part])
        yield self._report("response.content_part.added", content_index=0, part=part)

    def _open(
        self, kind: Literal["message", "reasoning", "function_call"], **fields: object
    ) -> Iterator[ResponseEvent]:
        prefix = {"message": "msg", "reasoning": "rs", "function_call": "fc"}[kind]
        index = len(self.items)
        empty = OutputItem(id=f"{prefix}_{self._number}_{index}", type=kind, status="in_progress")
        self.items.append(empty.model_copy(update=fields))
        yield make_event("response.output_item.added", output_index=index, item=self.items[-1])

    def _update(self, **fields: object) -> None:
        self.items[-1] = self.items[-1].model_copy(update=fields)

    def _report(self, kind: str, **fields: object) -> ResponseEvent:
        index = len(self.items) - 1
        return make_event(kind, item_id=self.items[-1].id, output_index=index, **fields)


class ResponseForm:
    """A response, or the events of one."""

    choices = 1

    def __init__(self, ticket: Ticket, body: ResponseRequest, call: ChatCall) -> None:
        self._output = Output(ticket.number)
        self._sent = 0
        self._empty = ResponseObject(
            id=f"resp_{ticket.number}",
            created_at=int(ticket.created),
            status="in_progress",
            model=ticket.model,
            output=[],
            instructions=body.instructions,
            max_output_tokens=body.max_output_tokens,
            temperature=call.sampling.temperature,
            top_p=call.sampling.top_p,
            parallel_tool_calls=call.parallel_tools,
            tool_choice=body.tool_choice or "auto",
            tools=body.tools or [],
            text=body.text or TextOptions(),
            metadata={},
        )

    def begin(self, reply: Reply) -> bytes:
        """Return the frames that announce the response."""
        kinds = ("response.created", "response.in_progress")
        return self._frames(make_event(kind, response=self._empty) for kind in kinds)

    def add(self, reply: Reply, piece: Piece) -> bytes:
        """Return the frames for the events that the piece adds."""
        return self._frames(self._output.take(reply.news, piece.tokens))

    def end(self, reply: Reply) -> bytes:
        """Return the frames of the last events and of the completed item."""
        return self.add(reply, Piece("")) + self._frames(self._output.close(_status(reply)))

    def finish(self, replies: Sequence[Reply]) -> bytes:
        """Return the frame with the whole response."""
        response = self._response(replies)
        return self._frames([make_event(f"response.{response.status}", response=response)])

    def whole(self, replies: Sequence[Reply]) -> ResponseObject:
        """Return the response as one object."""
        (reply,) = replies
        list(self._output.take(reply.events, reply.tokens))
        list(self._output.close(_status(reply)))
        return self._response(replies)

    def _response(self, replies: Sequence[Reply]) -> ResponseObject:
        status = _status(replies[0])
        return self._empty.model_copy(
            update={
                "status": status,
                "output": self._output.items,
                "usage": make_response_usage(sum_outcomes(replies)),
                "incomplete_details": Incomplete() if status == "incomplete" else None,
            }
        )

    def _frames(self, events: Iterable[ResponseEvent]) -> bytes:
        frames = []
        for event in events:
            numbered = event.model_copy(update={"sequence_number": self._sent})
            self._sent += 1
            frames.append(frame(numbered.model_dump_json(by_alias=True).encode(), event.type))
        return b"".join(frames)


def _status(reply: Reply) -> Literal["completed", "incomplete"]:
    return "incomplete" if reply.outcome.finish == "length" else "completed"


def make_response_usage(outcome: Outcome) -> ResponseUsage | None:
    """The usage of a finished reply; None if the provider does not count tokens."""
    prompt, completion = outcome.prompt_tokens, outcome.completion_tokens
    if prompt is None or completion is None:
        return None
    return ResponseUsage(
        input_tokens=prompt,
        input_tokens_details=InputDetails(cached_tokens=outcome.cached_tokens),
        output_tokens=completion,
        output_tokens_details=OutputDetails(),
        total_tokens=prompt + completion,
    )
