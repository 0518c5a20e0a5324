"""The values that pass between the parts of the language-model server; plain data."""

import math
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, NamedTuple, Protocol

SYSTEM_MODEL = "sysmodel-builtin"
"""The id of the built-in system model."""
MAX_PARALLEL = 32
"""Replies that one engine may generate at a time."""

Role = Literal["system", "user", "assistant", "tool"]
Backend = Literal["LOCAL_CPU", "LOCAL_GPU", "LOCAL_NPU"]
Finish = Literal["stop", "length"]


class ToolCall(NamedTuple):
    """A call of a tool that the model asked for."""

    id: str
    name: str
    arguments: str
    """JSON text, as the model wrote it."""


class Tool(NamedTuple):
    """A function that the model may ask to be called."""

    name: str
    description: str
    parameters: str
    """JSON text of the schema of its arguments."""


class Turn(NamedTuple):
    """One message of a conversation, its content already flattened to text."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    """Of an assistant turn."""
    tool_call_id: str = ""
    """Of a tool turn: the call that its content answers."""
    reasoning: str = ""
    """What an assistant turn thought before its content."""


@dataclass(frozen=True)
class Sampling:
    """How the next token is chosen; fixed for one reply."""

    temperature: float
    """0 means greedy."""
    top_k: int
    """0 means off."""
    top_p: float
    seed: int
    """Unsigned 32 bits."""
    frequency_penalty: float = 0.0
    """Taken off a token's logit for each time it is in the reply so far."""
    presence_penalty: float = 0.0
    """Taken off once a token is in the reply."""
    repeat_penalty: float = 1.0
    """Divides the logit of a token that is in the reply; 1 means off."""
    min_p: float = 0.0
    """Least probability of a token as a share of the likeliest one's; 0 means off."""
    logit_bias: Mapping[str, float] = field(default_factory=dict)
    """Added to the logits of tokens, by their number as text."""
    logprobs: int | None = None
    """Alternatives to be told with the probability of each token; None: no probabilities."""
    is_usual: bool = False
    """Nobody asked for this temperature: where a model declares its own, that one counts."""
    grammar: str = ""
    """What the reply must match, as `runtime.llm.grammar` writes it; empty: anything."""
    grammar_trigger: str = ""
    """Text of the reply behind which the grammar holds; empty: from its first token on."""


GREEDY: Final = Sampling(temperature=0.0, top_k=0, top_p=1.0, seed=0)


@dataclass(frozen=True)
class ChatCall:
    """What a chat asks of a model, checked and with every default filled in."""

    turns: Sequence[Turn]
    sampling: Sampling
    max_completion_tokens: int | None = None
    """Cap on generated tokens; None: the model's own."""
    max_tokens: int | None = None
    """Cap on prompt and reply together, for a model that knows the size of its prompt."""
    model: str = SYSTEM_MODEL
    owner: str = ""
    session_id: str | None = None
    """The conversation to keep, one of *owner*; None: stateless, as the system model always is."""
    client: str = ""
    """Who asks: without a session a prompt may reuse what is cached of this client's prompts, and
    of nobody else's. Empty: it reuses nothing."""
    stop: Sequence[str] = ()
    tools: Sequence[Tool] = ()
    """What the reply may call; empty: nothing, and no text is read as a call."""
    tools_required: bool = False
    """Whether the reply must be a call."""
    parallel_tools: bool = True
    """Whether a reply may have several calls."""
    template_options: Mapping[str, object] = field(default_factory=dict)
    """Further variables of the chat template; JSON values."""

    prompt: str | None = None
    """A text to continue as it stands, control tokens included, in place of any chat template."""
    asked: Mapping[str, object] = field(default_factory=dict)
    """What the request itself says of the choice of tokens and the form of the reply, under the
    names of the OpenAI interface: for an upstream, which has defaults of its own."""
    is_whole: bool = False
    """Whether the client sees nothing before the reply has ended."""
    is_forwarded: bool = False
    """Whether it comes from a server of this kind, which has no further one ask on its behalf."""

    @property
    def uses_tools(self) -> bool:
        """Whether tools are on offer, or were called before."""
        called = any(turn.role == "tool" or turn.tool_calls for turn in self.turns)
        return bool(self.tools) or called


Calls = Literal["none", "tagged", "list", "llama", "mistral", "choice"]
"""How a reply writes tool calls: ``<tool_call>{…}</tool_call>``, the same with a list of calls,
``{"name": …, "parameters": …}`` with or without ``<|python_tag|>``, ``[TOOL_CALLS][…]``, or as the
choice between ``{"reply": …}`` and ``{"tool": …, "arguments": …}``.
"""


class ReplyFormat(NamedTuple):
    """How the text of a reply is to be read."""

    calls: Calls = "none"
    thinks: bool = False
    """Whether it may begin with a thought, ``<think>…</think>``."""
    opened: bool = False
    """Whether it begins within a thought, which the prompt has opened."""
    names: tuple[str, ...] = ()
    """The tools that may be called; what looks like a call of another one is content."""


@dataclass(frozen=True)
class Outcome:
    """What a finished reply cost; counts are tokens, times are milliseconds."""

    finish: Finish | Literal["aborted", "failed"]
    """``length``: the total budget or the output cap ended the text."""
    completion_tokens: int | None = None
    """None: the provider does not count."""
    prompt_tokens: int | None = None
    cached_tokens: int = 0
    """Tokens of the prompt that were still in the KV cache and were not prefilled again."""
    prompt_ms: float = 0.0
    predicted_ms: float = 0.0
    session: Literal["hit", "miss", "rebuilt"] | None = None
    """How the conversation cache served the request; None for a stateless one."""
    session_reason: str | None = None
    """Why a cached conversation was rebuilt, one machine word."""


@dataclass(frozen=True)
class TokenLogprob:
    """How likely a token was, before anything but the model had a say."""

    token: str
    """Its text; a part of a character reads as U+FFFD."""
    data: Sequence[int]
    """Its bytes."""
    logprob: float
    """Natural logarithm of its probability."""
    top: Sequence["TokenLogprob"] = ()
    """The likeliest tokens at its place, as many as were asked for, the likeliest first."""


class Content(NamedTuple):
    """Text for the reader."""

    text: str


class Reasoning(NamedTuple):
    """Text of the thought before the content."""

    text: str


class ToolStart(NamedTuple):
    """A tool call begins; the calls of a reply are numbered from 0."""

    number: int
    id: str
    name: str


class ToolArguments(NamedTuple):
    """JSON text that the arguments of a call go on with."""

    number: int
    text: str


Event = Content | Reasoning | ToolStart | ToolArguments


class Piece(NamedTuple):
    """The next text of a reply."""

    text: str
    tokens: Sequence[TokenLogprob] = ()
    """The tokens that the text covers, where their probabilities were asked for and are known."""
    events: Sequence[Event] = ()
    """What it adds besides the text, from a source that parts thoughts and calls from it itself."""


class Generation(Protocol):
    """A reply under way: iterate for pieces, then read the outcome.

    A piece never splits a character; one without text and events is a sign of work. Leaving the
    iteration early, by `aclose` or by cancelling the task that iterates, stops the work behind it
    within one token.
    Failures are raised from the iteration as an `ApiError` of `runtime.llm.errors`.
    """

    @property
    def outcome(self) -> Outcome:
        """The cost of the reply; only after the iteration has ended by itself."""
        ...

    @property
    def format(self) -> ReplyFormat:
        """How its text is to be read; from its first piece on."""
        ...

    def __aiter__(self) -> AsyncIterator[Piece]: ...

    async def aclose(self) -> None:
        """Stop the work if it still runs."""
        ...


FLOAT = 4
"""Bytes of a number of a vector."""


@dataclass(frozen=True, slots=True)
class Vectors:
    """One unit vector a text, in the order of the texts."""

    width: int
    """Numbers a vector."""
    data: bytes
    """Little-endian float32, row after row: ``len(self) * width * 4`` bytes."""
    tokens: int
    """Of all texts together, as the model saw them: special ones counted, padding not."""
    truncated: int = 0
    """How many of the texts were cut at the model's longest input."""

    def __len__(self) -> int:
        return len(self.data) // (self.width * FLOAT)

    def row(self, number: int) -> bytes:
        """The bytes of one vector."""
        size = self.width * FLOAT
        return self.data[number * size : (number + 1) * size]

    def floats(self, number: int) -> list[float]:
        """The numbers of one vector."""
        return list(struct.unpack(f"<{self.width}f", self.row(number)))

    def shortened(self, width: int) -> "Vectors":
        """The first *width* numbers of each vector, of unit length again."""
        rows = []
        for number in range(len(self)):
            numbers = self.floats(number)[:width]
            length = max(math.sqrt(math.fsum(x * x for x in numbers)), 1e-12)
            rows.append(struct.pack(f"<{width}f", *(x / length for x in numbers)))
        return Vectors(width, b"".join(rows), self.tokens, self.truncated)
