"""What a conversation keeps between two requests, and whether the next request continues it."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import orjson

from runtime.llm.inference import Content, ReplyFormat, ToolArguments, ToolStart
from runtime.llm.messages import ChatMessage, MessageCall
from runtime.llm.replies import THOUGHT, ReplyParser


class Part(NamedTuple):
    """A stretch of a prompt."""

    text: str
    quoted: bool
    """Whether a control marker in it is letters like any other."""


Parts = tuple[Part, ...]


class Prompt(NamedTuple):
    """What a request brings: messages, prompt and how the prompt goes on behind the last reply."""

    messages: Sequence[ChatMessage]
    tokens: list[int]
    after: Parts | None
    thinks: bool = False
    """Whether it ends within a thought that it has opened."""
    format: ReplyFormat = ReplyFormat()
    """How replies to its template are written."""


@dataclass(frozen=True)
class Memory:
    """A conversation after a reply: KV cache, `pending` and `tail` together hold all of it."""

    sequence: int
    digest: bytes
    """Of the messages of its last request."""
    seen: int
    """How many those were; the reply is not counted."""
    reply: str
    sampler: tuple[float, int]
    """Temperature and top-k."""
    tokens: list[int]
    """In the KV cache, at positions from 0."""
    pending: list[int]
    """Generated, part of the reply, not yet in the KV cache."""
    tail: str
    """End of the reply that is in neither: a token was cut by a stop text."""
    prompted: int = 0
    """How many of the tokens its last prompt had."""
    client: str = ""
    """Whose it is: nobody else's prompt may begin with a copy of it."""
    is_session: bool = True
    """Whether the client named it; else it only lends its beginning."""


class Plan(NamedTuple):
    """Keep the first *keep* tokens of the memory, then feed *feed*."""

    kind: Literal["hit", "miss", "rebuilt"]
    reason: str | None
    keep: int
    feed: list[int]


def digest(messages: Sequence[ChatMessage]) -> bytes:
    """SHA-256 of all that the messages say, so that no two lists look alike."""
    return hashlib.sha256(orjson.dumps(messages, option=orjson.OPT_SORT_KEYS)).digest()


def mismatch(memory: Memory, prompt: Prompt, sampler: tuple[float, int]) -> str | None:
    """Why the request does not continue the conversation, in one word; None: it does."""
    if memory.sampler != sampler:
        return "sampler"
    seen = memory.seen
    if len(prompt.messages) < seen or digest(prompt.messages[:seen]) != memory.digest:
        return "history"
    fresh = prompt.messages[seen:]
    if not fresh:
        return "retry"
    roles = [message["role"] for message in fresh]
    asked = [role for role in roles if role != "assistant"]
    if (asked != ["user"] and set(asked) != {"tool"}) or roles[-1] == "assistant":
        return "turns"
    echoes = [message for message in fresh if message["role"] == "assistant"]
    if len(echoes) > 1 or (echoes and not is_echo(echoes[0], memory.reply, prompt.format)):
        return "edited"
    if THOUGHT in memory.reply:
        return "thought"  # many templates leave the thoughts of earlier turns out
    return None if prompt.after is not None else "template"


def is_echo(message: ChatMessage, reply: str, form: ReplyFormat) -> bool:
    """Whether the client says again what it was told of a *reply*; thoughts may be left out."""
    if message["content"].strip() == reply.strip() and "tool_calls" not in message:
        return True
    said = [(call["function"]["name"], call["function"]["arguments"]) for call in calls_of(message)]
    parser = ReplyParser(form._replace(names=tuple(name for name, _ in said)), str)
    events = parser.feed(reply) + parser.end()
    content = "".join(event.text for event in events if isinstance(event, Content))
    names = [event.name for event in events if isinstance(event, ToolStart)]
    values = [orjson.loads(event.text) for event in events if isinstance(event, ToolArguments)]
    calls = list(zip(names, values, strict=True))
    return content.strip() == message["content"].strip() and calls == said


def calls_of(message: ChatMessage) -> Sequence[MessageCall]:
    """The tool calls of a message."""
    return message.get("tool_calls", ())


def plan(
    memory: Memory | None,
    prompt: Prompt,
    sampler: tuple[float, int],
    budget: int,
    tokenize: Callable[[str, Parts], list[int]],
) -> Plan:
    """How to serve a request; *budget* is the number of tokens a conversation may hold.

    *tokenize* is given the end of a reply and what follows it in the prompt.
    """
    if memory is None:
        return Plan("miss", None, 0, prompt.tokens)
    reason = mismatch(memory, prompt, sampler)
    if reason is None:
        feed = memory.pending + tokenize(memory.tail, prompt.after or ())
        if feed and len(memory.tokens) + len(feed) < budget:
            return Plan("hit", None, len(memory.tokens), feed)
        reason = "budget" if feed else "template"
    keep = min(common(memory.tokens, prompt.tokens), len(prompt.tokens) - 1)
    return Plan("rebuilt", reason, keep, prompt.tokens[keep:])


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the longest common beginning."""
    size = min(len(one), len(other))
    return next((at for at in range(size) if one[at] != other[at]), size)


def cut_behind(reply: str, pieces: Sequence[tuple[int, bytes]]) -> tuple[list[int], str]:
    """The generated tokens whose text is part of a *reply*, and what of it is in none of them.

    A stop text may have cut the reply short in the middle of a token.
    """
    whole = len(pieces)
    while not reply.startswith(text := _text(pieces[:whole])):
        whole -= 1
    return [token for token, _ in pieces[:whole]], reply[len(text) :]


def _text(pieces: Sequence[tuple[int, bytes]]) -> str:
    return b"".join(piece for _, piece in pieces).decode("utf-8", "replace")
