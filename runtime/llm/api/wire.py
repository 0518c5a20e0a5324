"""Wire models of chats: requests, replies and the frames of a stream."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Final, Literal

import orjson
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    Tag,
    ValidationInfo,
    field_serializer,
    field_validator,
)
from pydantic_core import PydanticCustomError

from runtime.llm.api.effects import Effects, Under, Watched
from runtime.llm.api.formats import Grammar, ResponseFormat, convert_format, convert_gbnf
from runtime.llm.errors import make_error_object
from runtime.llm.inference import (
    Finish,
    Outcome,
    Role,
    Sampling,
    TokenLogprob,
    Tool,
    ToolCall,
    Turn,
)
from runtime.llm.messages import MAX_DEPTH, is_deeper
from runtime.llm.settings import LlmSettings
from runtime.web.errors import ApiError, BadField, BadRequest, TooLarge
from runtime.web.sse import frame
from runtime.web.wire import Wire

MAX_MESSAGES = 2048
TEXTS = ("text", "input_text", "output_text")
"""Types of message parts that are read."""
MAX_STOPS = 4
MAX_NAME = 256
MAX_TOOLS = 128
ChatFinish = Literal["stop", "length", "tool_calls"]
MAX_CHOICES = 16
MAX_BIASES = 1024
SAMPLING_FIELDS: Final = (
    "temperature",
    "top_k",
    "top_p",
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "repeat_penalty",
    "min_p",
    "logit_bias",
)
"""Request fields that are also fields of `Sampling`."""
FORWARDED_FIELDS: Final = (*SAMPLING_FIELDS, "response_format", "grammar")
"""Request fields that are forwarded to an upstream unchanged."""
ModelName = Annotated[StrictStr, Field(max_length=MAX_NAME)]


def _check_template_value(value: dict[str, object]) -> dict[str, object]:
    """Return JSON that a chat template can take: of limited depth and with finite numbers."""
    if is_deeper(value, MAX_DEPTH):
        raise ValueError(f"must not be nested more than {MAX_DEPTH} levels deep")
    plain: dict[str, object] = orjson.loads(json.dumps(value, allow_nan=False))
    return plain


TemplateObject = Annotated[dict[str, object], AfterValidator(_check_template_value)]


def _clamp_float(value: object) -> object:
    """Replace an integer beyond 64 bits, which is parsed as a float, by one that can be clamped."""
    if isinstance(value, float) and abs(value) >= 1 << 63 and value.is_integer():
        return (1 << 62) if value > 0 else -(1 << 62)
    return value


Clamped = Annotated[int, BeforeValidator(_clamp_float)]
"""An integer of any size for a field whose value is clamped."""


class Part(Wire):
    """A part of a message; only those of type ``text`` are read."""

    type: StrictStr
    text: StrictStr | None = Field(None, validate_default=True)

    @field_validator("text")
    @classmethod
    def _text_has_text(cls, text: str | None, info: ValidationInfo) -> str | None:
        if text is None and info.data.get("type") in TEXTS:
            raise ValueError("is required in a part of type text")
        return text

    @field_validator("type")
    @classmethod
    def _others_are_ignored(cls, kind: str, info: ValidationInfo) -> str:
        effects: Effects | None = info.context
        if kind not in TEXTS and effects is not None:
            effects.ignore("messages.content")
        return kind


def _branch(content: object) -> str | None:
    """The kind of a message's content, so that errors refer to that kind only."""
    if isinstance(content, list):
        return "<parts>"
    return "<text>" if content is None or isinstance(content, str) else None


def _require_text(parts: list[Part]) -> list[Part]:
    if parts and not any(part.type in TEXTS for part in parts):
        raise ValueError("has no part of type text; images and audio are not supported")
    return parts


Content = Annotated[
    Annotated[StrictStr | None, Tag("<text>")]
    | Annotated[list[Part], AfterValidator(_require_text), Tag("<parts>")],
    Discriminator(
        _branch,
        custom_error_type="content",
        custom_error_message="must be text, a list of parts or null",
    ),
]


class CalledFunction(Wire):
    """The function of a tool call."""

    name: Annotated[StrictStr, Field(min_length=1, max_length=MAX_NAME)]
    arguments: StrictStr = Field(description="JSON text")


class CalledTool(Wire):
    """A tool call of an assistant message."""

    id: Annotated[StrictStr, Field(min_length=1, max_length=MAX_NAME)]
    type: Literal["function"] = "function"
    function: CalledFunction


class Message(Wire):
    """One message of the conversation."""

    role: Literal["system", "user", "assistant", "developer", "tool"] = Field(
        description="developer is read as system; tool requires the setting honor_tools"
    )
    content: Content = Field(None, description="text, or parts whose texts are joined by spaces")
    tool_calls: Annotated[
        Annotated[list[CalledTool], Field(max_length=MAX_TOOLS)] | None, Under("tools")
    ] = Field(None, description="of an assistant message")
    tool_call_id: Annotated[
        Annotated[StrictStr, Field(max_length=MAX_NAME)] | None, Under("tools")
    ] = Field(None, description="of a tool message: id of the call that it answers")
    reasoning_content: Annotated[StrictStr | None, Under("tools")] = Field(
        None, description="of an assistant message: the thought before its content"
    )

    @field_validator("role")
    @classmethod
    def _tool_is_honored(cls, role: str, info: ValidationInfo) -> str:
        effects: Effects | None = info.context
        if role == "tool" and effects is not None and "tools" not in effects.honored:
            expected = "'system', 'user', 'assistant' or 'developer'"
            raise PydanticCustomError("literal_error", f"Input should be {expected}")
        return role

    def turn(self) -> Turn:
        """The message as plain text."""
        role: Role = "system" if self.role == "developer" else self.role
        content = self.content or ""
        if not isinstance(content, str):
            content = " ".join(part.text or "" for part in content if part.type in TEXTS)
        if role == "tool":
            return Turn(role, content, tool_call_id=self.tool_call_id or "")
        if role != "assistant":
            return Turn(role, content)
        calls = [
            ToolCall(call.id, call.function.name, call.function.arguments)
            for call in self.tool_calls or ()
        ]
        return Turn(role, content, tuple(calls), reasoning=self.reasoning_content or "")


class OfferedFunction(Wire):
    """A function that a tool offers."""

    name: Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]
    description: StrictStr | None = None
    parameters: TemplateObject | None = Field(
        None, description="JSON Schema of the arguments object"
    )
    strict: StrictBool | None = Field(None, description="arguments always match the schema")

    def tool(self) -> Tool:
        """The tool with its schema as JSON text."""
        schema = self.parameters or {"type": "object", "properties": {}}
        return Tool(self.name, self.description or "", json.dumps(schema, ensure_ascii=False))


class OfferedTool(Wire):
    """A tool that the reply may call."""

    type: Literal["function"]
    function: OfferedFunction


class NamedFunction(Wire):
    """The function that must be called."""

    name: StrictStr


class NamedTool(Wire):
    """The tool that must be called."""

    type: Literal["function"]
    function: NamedFunction


def _kind_of_choice(choice: object) -> str | None:
    return "<word>" if isinstance(choice, str) else "<tool>" if choice is not None else None


ToolChoice = Annotated[
    Annotated[Literal["none", "auto", "required"], Tag("<word>")]
    | Annotated[NamedTool, Tag("<tool>")],
    Discriminator(
        _kind_of_choice,
        custom_error_type="tool_choice",
        custom_error_message="must be none, auto, required or a function",
    ),
]


def pick_tools(
    tools: Sequence[Tool], word: str, name: str | None, max_chars: int
) -> tuple[Sequence[Tool], bool]:
    """The tools that a reply may call, and whether it must call one.

    *word* is none, auto or required; *name* is the only tool, which must be called. Raises
    `BadRequest` and `TooLarge` for an invalid offer or choice.
    """
    if len({tool.name for tool in tools}) < len(tools):
        raise BadRequest("two tools have the same name", param="tools")
    check_length([text for tool in tools for text in tool], max_chars, "tools")
    if name is not None:
        tools = [tool for tool in tools if tool.name == name]
    if not tools and (name is not None or word == "required"):
        raise BadRequest("tool_choice requires a tool that is not offered", param="tool_choice")
    return () if word == "none" else tools, name is not None or word == "required"


class StreamOptions(Wire):
    """Options of a stream."""

    include_usage: StrictBool | None = Field(
        None, description="end with a chunk that reports the usage"
    )


Number = StrictFloat | StrictInt
Penalty = Annotated[Number, Field(ge=-2, le=2)]
Tokens = Annotated[StrictInt, Field(ge=1, le=1 << 31)]
Alternatives = Annotated[Annotated[StrictInt, Field(ge=0, le=20)] | None, Under("sampling")]
"""How many likely tokens to report at each position."""


class SamplingFields(Watched):
    """Fields of every generating route: which model replies, how, and what ends the reply."""

    model: ModelName | None = Field(
        None, description="an id of GET /v1/models; absent: the model selected by the settings"
    )
    stream: StrictBool | None = Field(None, description="true: answer with Server-Sent Events")
    temperature: Annotated[Number, Field(ge=0, le=2)] | None = None
    top_k: Annotated[StrictInt, Field(ge=0, le=1000)] | None = Field(None, description="0: off")
    top_p: Annotated[Number, Field(gt=0, le=1)] | None = None
    seed: Annotated[StrictInt, Field(ge=-(1 << 63), lt=1 << 64)] | None = None
    stop: Annotated[
        StrictStr | Annotated[list[StrictStr], Field(max_length=MAX_STOPS)] | None,
        Under("stop", checked=True),
    ] = Field(
        None, description="at most four texts that end the reply; requires the setting honor_stop"
    )
    frequency_penalty: Annotated[Penalty | None, Under("sampling")] = None
    presence_penalty: Annotated[Penalty | None, Under("sampling")] = None
    repeat_penalty: Annotated[
        Annotated[Number, Field(gt=0, le=10)] | None, Under("sampling", usual=1)
    ] = Field(None, description="divides the logits of tokens that already occurred; 1: off")
    min_p: Annotated[Annotated[Number, Field(ge=0, le=1)] | None, Under("sampling")] = Field(
        None, description="minimum probability relative to the likeliest token's; 0: off"
    )
    logit_bias: Annotated[
        Annotated[
            dict[
                Annotated[str, Field(pattern="^[0-9]{1,9}$")],
                Annotated[Number, Field(ge=-100, le=100)],
            ],
            Field(max_length=MAX_BIASES),
        ]
        | None,
        Under("sampling"),
    ] = Field(None, description="added to the logits of tokens, by token id")
    n: Annotated[
        Annotated[StrictInt, Field(ge=1, le=MAX_CHOICES)] | None, Under("sampling", usual=1)
    ] = Field(None, description="number of replies, generated one after the other")

    @field_validator("stop", mode="before")
    @classmethod
    def _stops_are_few(cls, value: object) -> object:
        """Check the length first: the union would only complain that a list is not text."""
        if isinstance(value, list) and len(value) > MAX_STOPS:
            raise ValueError(f"at most {MAX_STOPS} texts")
        return value

    def model_in(self, settings: LlmSettings) -> str:
        """The id of the model that replies."""
        return (self.model or "").strip() or settings.selected_model_id

    def stops(self) -> list[str]:
        """The stop texts that are not empty."""
        texts = [self.stop] if isinstance(self.stop, str) else self.stop or []
        return [text for text in texts if text]

    def sampling(self, usual: Sampling) -> Sampling:
        """The sampling; absent fields are as in *usual*."""
        values = {name: getattr(self, name) for name in SAMPLING_FIELDS}
        fields = {name: value for name, value in values.items() if value is not None}
        # The engine takes 0xFFFFFFFF for a random seed.
        seed = (fields.pop("seed", usual.seed) & 0xFFFFFFFF) % 0xFFFFFFFF
        return replace(usual, seed=seed, is_usual=self.temperature is None, **fields)

    def dump_explicit_fields(self) -> dict[str, object]:
        """The sampling and format fields that the request sets, without `stop` and `n`."""
        return self.model_dump(include=set(FORWARDED_FIELDS), exclude_none=True, by_alias=True)


class ChatRequest(SamplingFields):
    """A chat request; unknown fields are ignored."""

    messages: list[Message] = Field(
        min_length=1,
        max_length=MAX_MESSAGES,
        description="the conversation; the last message is the user's",
    )
    stream_options: StreamOptions | None = None
    session_id: Annotated[StrictStr, Field(max_length=MAX_NAME)] | None = Field(
        None,
        description="keeps the conversation in the KV cache, so that only new turns are prefilled",
    )
    max_tokens: Tokens | None = Field(
        None,
        description="total budget of prompt and reply; with the setting output_max_tokens, "
        "of the reply only",
    )
    max_completion_tokens: Tokens | None = Field(None, description="budget of the reply only")
    logprobs: Annotated[StrictBool | None, Under("sampling")] = Field(
        None, description="report the log-probability of each token of the reply"
    )
    top_logprobs: Alternatives = Field(
        None, description="number of likely tokens to report at each position; requires logprobs"
    )
    response_format: Annotated[ResponseFormat | None, Under("format", usual={"type": "text"})] = (
        Field(None, description="format of the text; requires the setting honor_format")
    )
    grammar: Annotated[Grammar | None, Under("format")] = Field(
        None, description="GBNF grammar that the text must match, with the rule root"
    )
    tools: Annotated[
        Annotated[list[OfferedTool], Field(max_length=MAX_TOOLS)] | None, Under("tools")
    ] = Field(
        None, description="functions that the reply may call; requires the setting honor_tools"
    )
    tool_choice: Annotated[ToolChoice | None, Under("tools", usual="auto")] = Field(
        None, description="whether a function must be called, and which"
    )
    parallel_tool_calls: Annotated[StrictBool | None, Under("tools", usual=True)] = Field(
        None, description="whether a reply may contain several calls"
    )
    chat_template_kwargs: Annotated[TemplateObject | None, Under("tools")] = Field(
        None, description="extra variables for the chat template"
    )

    def write_grammar(self) -> str:
        """The grammar that the reply must match; empty: any text. Raises `BadField`."""
        own = convert_gbnf(self.grammar)
        of_format = convert_format(self.response_format, "response_format")
        if own and of_format:
            raise BadField("grammar: cannot be combined with response_format", param="grammar")
        return own or of_format

    def alternatives(self) -> int | None:
        """How many likely tokens to report; None: no probabilities. Raises `BadField`."""
        if self.top_logprobs and not self.logprobs:
            raise BadField("top_logprobs: requires logprobs: true", param="top_logprobs")
        return (self.top_logprobs or 0) if self.logprobs else None

    def turns(self) -> list[Turn]:
        """The conversation as plain text."""
        return [message.turn() for message in self.messages]

    def offer(self, max_chars: int) -> tuple[Sequence[Tool], bool]:
        """The tools that the reply may call, and whether it must call one."""
        tools = [tool.function.tool() for tool in self.tools or ()]
        choice = self.tool_choice or "auto"
        if isinstance(choice, NamedTool):
            return pick_tools(tools, "required", choice.function.name, max_chars)
        return pick_tools(tools, choice, None, max_chars)


class TokenDetails(Wire):
    """How many tokens of the prompt were cached."""

    cached_tokens: int = Field(description="still in the KV cache, not prefilled again")


class Usage(Wire):
    """Tokens of a reply."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: TokenDetails


class Timings(Wire):
    """Durations of a reply's phases in milliseconds, and token counts."""

    queue_ms: float
    load_ms: float
    prompt_ms: float
    first_token_ms: float | None = None
    predicted_ms: float
    prompt_n: int | None = None
    cache_n: int
    predicted_n: int | None = None


class LikelyToken(Wire):
    """A token and the natural logarithm of its probability."""

    token: str
    logprob: float
    bytes: list[int]


class ChosenToken(LikelyToken):
    """A token of the reply."""

    top_logprobs: list[LikelyToken]


class Logprobs(Wire):
    """Log-probabilities of a text's tokens."""

    content: list[ChosenToken]


def convert_tokens(tokens: Sequence[TokenLogprob]) -> list[ChosenToken]:
    """The tokens as chats and responses report them."""

    def likely(token: TokenLogprob) -> dict[str, object]:
        return {"token": token.token, "logprob": token.logprob, "bytes": list(token.data)}

    return [
        ChosenToken.model_validate(
            {**likely(token), "top_logprobs": [likely(other) for other in token.top]}
        )
        for token in tokens
    ]


class ReplyMessage(Wire):
    """The answer."""

    role: Literal["assistant"] = "assistant"
    content: str
    reasoning_content: str | None = Field(
        None, description="the model's thought before the content"
    )
    tool_calls: list[CalledTool] | None = None

    @field_serializer("content")
    def _empty_beside_calls(self, content: str) -> str | None:
        """Null for a reply that consists of calls only."""
        return None if self.tool_calls and not content else content


class Choice(Wire):
    """One of the replies of a completion."""

    index: int = 0
    message: ReplyMessage
    logprobs: Logprobs | None = None
    finish_reason: ChatFinish
    truncated: Literal[True] | None = Field(None, description="present when a budget cut the text")


class ChatCompletion(Wire):
    """A whole reply."""

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: Usage | None = Field(None, description="absent when the provider does not count tokens")
    system_fingerprint: str
    timings: Timings


class FunctionDelta(Wire):
    """What a frame adds to a call's function."""

    name: str | None = None
    arguments: str


class CallDelta(Wire):
    """What a frame adds to a call; the first frame of a call has its id and name."""

    index: int
    id: str | None = None
    type: Literal["function"] | None = None
    function: FunctionDelta


class Delta(Wire):
    """What a frame adds to the message."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[CallDelta] | None = None


class ChunkChoice(Wire):
    """What a frame adds to one of the replies."""

    index: int = 0
    delta: Delta
    logprobs: Logprobs | None = None
    finish_reason: ChatFinish | None = None
    truncated: Literal[True] | None = None


class Chunk(Wire):
    """A frame of a stream; the last one before ``[DONE]`` may have the usage and no choice."""

    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: list[ChunkChoice]
    usage: Usage | None = None


class PlainError(Wire):
    """An error, with extra fields for errors that programs can act on."""

    message: str
    type: str
    code: int | str = Field(description="the HTTP status, or the code word of an actionable error")
    param: str | None = None
    sysmodel_status: str | None = None
    actionable: bool | None = None
    next_steps: list[str] | None = None
    retry_after: int | None = Field(None, description="in a stream: seconds to wait before a retry")


class ErrorAnswer(Wire):
    """The envelope of every error."""

    error: PlainError


DONE: Final = b"data: [DONE]\n\n"
"""The last frame of every stream."""


def make_error_frame(error: ApiError) -> bytes:
    """The frame that reports a failure after the stream began; only `DONE` follows it."""
    body = make_error_object(error)
    if "Retry-After" in error.headers:  # the headers of the answer have been sent
        body["retry_after"] = int(error.headers["Retry-After"])
    return frame(orjson.dumps({"error": body}))


def check_turns(turns: Sequence[Turn], max_chars: int) -> None:
    """Raise `TooLarge` or `BadRequest` for a conversation that cannot be answered.

    The limit counts code points over all messages.
    """
    arguments = [call.arguments for turn in turns for call in turn.tool_calls]
    texts = [text for turn in turns for text in (turn.content, turn.reasoning)]
    check_length([*texts, *arguments], max_chars, "messages")
    if all(turn.role == "system" for turn in turns):
        raise BadRequest("all messages are system messages", param="messages")
    if turns[-1].role not in ("user", "tool"):
        raise BadRequest("the last message must have the role user", param="messages")
    called: set[str] = set()
    for turn in turns:
        called |= {call.id for call in turn.tool_calls}
        if turn.role == "tool" and turn.tool_call_id not in called:
            text = "the tool_call_id of a tool message must name a call of an earlier message"
            raise BadRequest(text, param="messages")


def check_length(texts: Sequence[str], max_chars: int, field: str) -> None:
    """Raise `TooLarge` if the texts of *field* together have too many code points."""
    if sum(map(len, texts)) > max_chars:
        raise TooLarge(f"the {field} together have more than {max_chars} characters", param=field)


def make_usage(outcome: Outcome) -> Usage | None:
    """The usage of a finished reply; None if the provider does not count tokens."""
    prompt, completion = outcome.prompt_tokens, outcome.completion_tokens
    if prompt is None or completion is None:
        return None
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        prompt_tokens_details=TokenDetails(cached_tokens=outcome.cached_tokens),
    )


def choose_finish(outcome: Outcome, *, report_length: bool) -> tuple[Finish, bool]:
    """The finish reason for the client, and whether a budget cut the text.

    A cut is reported as ``stop`` with a mark unless *report_length* is set.
    """
    cut = outcome.finish == "length"
    return ("length" if cut and report_length else "stop"), cut
