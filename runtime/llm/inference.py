"""What a model is asked for and what it returns: conversations, sampling, replies, vectors."""

import math
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Protocol

SYSTEM_MODEL = "sysmodel-builtin"
"""The id of the built-in system model."""
MAX_PARALLEL = 32
"""Replies that an engine may generate side by side."""

Role = Literal["system", "user", "assistant", "tool"]
Backend = Literal["LOCAL_CPU", "LOCAL_GPU", "LOCAL_NPU"]
Finish = Literal["stop", "length"]


class ToolCall(NamedTuple):
    """A tool call that the model made."""

    id: str
    name: str
    arguments: str
    """JSON text, as the model wrote it."""


class Tool(NamedTuple):
    """A function that the model may call."""

    name: str
    description: str
    parameters: str
    """JSON Schema of its arguments, as text."""


class Turn(NamedTuple):
    """One message of a conversation, with its content as plain text."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Of an assistant turn."""
    tool_call_id: str = ""
    """Of a tool turn: the id of the call that it answers."""
    reasoning: str = ""
    """The thought of an assistant turn before its content."""


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen; the same for a whole reply."""

    temperature: float
    """0 means greedy."""
    top_k: int
    """0 means off."""
    top_p: float
    seed: int
    """Unsigned 32 bits."""
    frequency_penalty: float = 0.0
    """Subtracted from a token's logit for each time that it occurs in the reply so far."""
    presence_penalty: float = 0.0
    """Subtracted once if a token occurs in the reply so far."""
    repeat_penalty: float = 1.0
    """Divides the logit of a token that occurs in the reply so far; 1 means off."""
    min_p: float = 0.0
    """Least probability of a token as a share of the likeliest token's; 0 means off."""
    logit_bias: Mapping[str, float] = field(default_factory=dict)
    """Added to the logits of tokens; the keys are token ids as text."""
    logprobs: int | None = None
    """How many alternatives to report with each token's probability; None: no probabilities."""
    is_usual: bool = False
    """The request has no temperature, so a model's declared one takes precedence."""
    grammar: str = ""
    """The grammar that the reply must match, from `runtime.llm.grammar`; empty: any text."""
    grammar_trigger: str = ""
    """The grammar applies after this text of the reply; empty: from the first token on."""


GREEDY: Final = Sampling(temperature=0.0, top_k=0, top_p=1.0, seed=0)


@dataclass(frozen=True)
class ChatCall:
    """A checked chat request with every default filled in."""

    turns: Sequence[Turn]
    sampling: Sampling
    max_completion_tokens: int | None = None
    """Cap on generated tokens; None: the model's own limit."""
    max_tokens: int | None = None
    """Cap on prompt and reply together, for models that count prompt tokens beforehand."""
    model: str = SYSTEM_MODEL
    owner: str = ""
    session_id: str | None = None
    """A conversation of *owner* to keep; None: stateless, as the system model always is."""
    client: str = ""
    """Without a session, a prompt may reuse the cache of this client's earlier prompts only.
    Empty: it reuses nothing."""
    stop: Sequence[str] = ()
    tools: Sequence[Tool] = ()
    """The tools that the reply may call; empty: none, and no text is parsed as a call."""
    tools_required: bool = False
    """Whether the reply must be a tool call."""
    parallel_tools: bool = True
    """Whether a reply may have several calls."""
    template_options: Mapping[str, object] = field(default_factory=dict)
    """Extra variables for the chat template; JSON values."""

    prompt: str | None = None
    """A raw text to continue, control tokens included, instead of a chat template's prompt."""
    explicit: Mapping[str, object] = field(default_factory=dict)
    """The sampling and format fields that the request itself sets, under their OpenAI names: for
    upstreams, which have defaults of their own."""
    is_whole: bool = False
    """Whether the client sees nothing before the reply has ended."""
    is_forwarded: bool = False
    """Whether another Paddock server forwarded it; such a request is not forwarded again."""

    @property
    def uses_tools(self) -> bool:
        """Whether tools are offered or were called earlier."""
        called = any(turn.role == "tool" or turn.tool_calls for turn in self.turns)
        return bool(self.tools) or called


Calls = Literal["none", "tagged", "list", "llama", "mistral", "choice"]
"""How a reply writes tool calls: ``<tool_call>{…}</tool_call>``, the same with a list of calls,
``{"name": …, "parameters": …}`` with or without ``<|python_tag|>``, ``[TOOL_CALLS][…]``, or as the
choice between ``{"reply": …}`` and ``{"tool": …, "arguments": …}``.
"""


class ReplyFormat(NamedTuple):
    """How to parse the text of a reply."""

    calls: Calls = "none"
    thinks: bool = False
    """Whether the text may begin with a thought, ``<think>…</think>``."""
    opened: bool = False
    """Whether the text begins inside a thought that the prompt opened."""
    names: tuple[str, ...] = ()
    """The tools that may be called; a call of any other tool is plain content."""


@dataclass(frozen=True)
class Outcome:
    """The cost of a finished reply; counts are tokens, times are milliseconds."""

    finish: Finish | Literal["aborted", "failed"]
    """``length``: the total budget or the output cap ended the text."""
    completion_tokens: int | None = None
    """None: the provider does not count."""
    prompt_tokens: int | None = None
    cached_tokens: int = 0
    """Prompt tokens that were still in the KV cache and were not prefilled again."""
    prompt_ms: float = 0.0
    predicted_ms: float = 0.0
    session: Literal["hit", "miss", "rebuilt"] | None = None
    """How the conversation cache served the request; None for a stateless request."""
    session_reason: str | None = None
    """Why a cached conversation was rebuilt: a single code word."""


@dataclass(frozen=True)
class TokenLogprob:
    """How likely the model considered a token, before penalties, biases and grammar."""

    token: str
    """Its text; a part of a character reads as U+FFFD."""
    data: Sequence[int]
    """Its bytes."""
    logprob: float
    """Natural logarithm of its probability."""
    top: Sequence["TokenLogprob"] = ()
    """The requested number of likeliest tokens at this position, the likeliest first."""


class Content(NamedTuple):
    """Text for the reader."""

    text: str


class Reasoning(NamedTuple):
    """Text of the thought before the content."""

    text: str


class ToolStart(NamedTuple):
    """The start of a tool call; the calls of a reply are numbered from 0."""

    number: int
    id: str
    name: str


class ToolArguments(NamedTuple):
    """The next JSON text of a call's arguments."""

    number: int
    text: str


Event = Content | Reasoning | ToolStart | ToolArguments


class Piece(NamedTuple):
    """The next text of a reply."""

    text: str
    tokens: Sequence[TokenLogprob] = ()
    """The tokens of the text, if their probabilities were requested and are known."""
    events: Sequence[Event] = ()
    """Thoughts and calls, from a source that separates them from the text itself."""


class Generation(Protocol):
    """A reply in progress: iterate for pieces, then read the outcome.

    A piece never splits a character; a piece without text and events is a sign of life. Leaving
    the iteration early, by `aclose` or by cancelling the iterating task, stops the generation
    within one token. The iteration raises failures as an `ApiError` of `runtime.llm.errors`.
    """

    @property
    def outcome(self) -> Outcome:
        """The cost of the reply; available once the iteration has ended by itself."""
        ...

    @property
    def format(self) -> ReplyFormat:
        """How to parse its text; available from the first piece on."""
        ...

    def __aiter__(self) -> AsyncIterator[Piece]: ...

    async def aclose(self) -> None:
        """Stop the generation if it still runs."""
        ...


FLOAT = 4
"""Bytes per number of a vector."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """One unit vector per text, in the order of the texts."""

    width: int
    """Numbers per vector."""
    data: bytes
    """Little-endian float32, row after row: ``len(self) * width * 4`` bytes."""
    tokens: int
    """Of all texts together, with special tokens and without padding."""
    truncated: int = 0
    """How many of the texts were cut at the model's longest input."""

    def __len__(self) -> int:
        return len(self.data) // (self.width * FLOAT)

    def row(self, number: int) -> bytes:
        """The bytes of a vector."""
        size = self.width * FLOAT
        return self.data[number * size : (number + 1) * size]

    def floats(self, number: int) -> list[float]:
        """The numbers of a vector."""
        return list(struct.unpack(f"<{self.width}f", self.row(number)))

    def shorten(self, width: int) -> "Vectors":
        """Cut each vector to its first *width* numbers and rescale it to unit length."""
        rows = []
        for number in range(len(self)):
            numbers = self.floats(number)[:width]
            length = max(math.sqrt(math.fsum(x * x for x in numbers)), 1e-12)
            rows.append(struct.pack(f"<{width}f", *(x / length for x in numbers)))
        return Vectors(width, b"".join(rows), self.tokens, self.truncated)
