"""The memory of a conversation between requests, and whether a request continues it."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import orjson

from runtime.llm.inference import Content, ReplyFormat, ToolArguments, ToolStart
from runtime.llm.messages import ChatMessage
from runtime.llm.replies import THOUGHT, ReplyParser


class Part(NamedTuple):
    """A part of a prompt."""

    text: str
    quoted: bool
    """Whether control markers in it are ordinary text."""


Parts = tuple[Part, ...]


class Prompt(NamedTuple):
    """A request's messages, its prompt, and the part of the prompt after the last reply."""

    messages: Sequence[ChatMessage]
    tokens: list[int]
    after: Parts | None
    thinks: bool = False
    """Whether it ends inside a thought that it opened."""
    format: ReplyFormat = ReplyFormat()
    """Format of replies to its template."""


@dataclass(frozen=True)
class Memory:
    """A conversation after a reply, fully contained in the KV cache, `pending` and `tail`."""

    sequence: int
    digest: bytes
    """Digest of the messages of its last request."""
    seen: int
    """Number of those messages, without the reply."""
    reply: str
    sampler: tuple[float, int]
    """Temperature and top-k."""
    tokens: list[int]
    """The tokens in the KV cache, at positions from 0."""
    pending: list[int]
    """Generated tokens of the reply that are not yet in the KV cache."""
    tail: str
    """End of the reply that is in neither, because a stop text cut a token."""
    prompted: int = 0
    """Number of tokens of its last prompt."""
    client: str = ""
    """Its owner: only prompts of this client may reuse its prefix."""
    is_session: bool = True
    """Whether the client named it; else only its prefix is reused."""


class Plan(NamedTuple):
    """Keep the first *keep* tokens of the memory, then compute the tokens *feed*."""

    kind: Literal["hit", "miss", "rebuilt"]
    reason: str | None
    keep: int
    feed: list[int]


def hash_messages(messages: Sequence[ChatMessage]) -> bytes:
    """SHA-256 of the messages with all their fields."""
    return hashlib.sha256(orjson.dumps(messages, option=orjson.OPT_SORT_KEYS)).digest()


def find_mismatch(memory: Memory, prompt: Prompt, sampler: tuple[float, int]) -> str | None:
    """Code word for why the request does not continue the conversation; None if it does."""
    if memory.sampler != sampler:
        return "sampler"
    seen = memory.seen
    if len(prompt.messages) < seen or hash_messages(prompt.messages[:seen]) != memory.digest:
        return "history"
    fresh = prompt.messages[seen:]
    if not fresh:
        return "retry"
    roles = [message["role"] for message in fresh]
    others = [role for role in roles if role != "assistant"]
    if (others != ["user"] and set(others) != {"tool"}) or roles[-1] == "assistant":
        return "turns"
    echoes = [message for message in fresh if message["role"] == "assistant"]
    if len(echoes) > 1 or (echoes and not is_echo(echoes[0], memory.reply, prompt.format)):
        return "edited"
    if THOUGHT in memory.reply:
        return "thought"  # many templates omit the thoughts of earlier turns
    return None if prompt.after is not None else "template"


def is_echo(message: ChatMessage, reply: str, form: ReplyFormat) -> bool:
    """Whether a message repeats the *reply* that the client got; thoughts may be omitted."""
    if message["content"].strip() == reply.strip() and "tool_calls" not in message:
        return True
    functions = [call["function"] for call in message.get("tool_calls", ())]
    repeated = [(function["name"], function["arguments"]) for function in functions]
    parser = ReplyParser(form._replace(names=tuple(name for name, _ in repeated)), str)
    events = parser.feed(reply) + parser.end()
    content = "".join(event.text for event in events if isinstance(event, Content))
    names = [event.name for event in events if isinstance(event, ToolStart)]
    values = [orjson.loads(event.text) for event in events if isinstance(event, ToolArguments)]
    calls = list(zip(names, values, strict=True))
    return content.strip() == message["content"].strip() and calls == repeated


def make_plan(
    memory: Memory | None,
    prompt: Prompt,
    sampler: tuple[float, int],
    budget: int,
    tokenize: Callable[[str, Parts], list[int]],
) -> Plan:
    """Plan how to serve a request; *budget* is the maximum number of tokens of a conversation.

    *tokenize* gets the end of a reply and the parts of the prompt that follow it.
    """
    if memory is None:
        return Plan("miss", None, 0, prompt.tokens)
    reason = find_mismatch(memory, prompt, sampler)
    if reason is None:
        feed = memory.pending + tokenize(memory.tail, prompt.after or ())
        if feed and len(memory.tokens) + len(feed) < budget:
            return Plan("hit", None, len(memory.tokens), feed)
        reason = "budget" if feed else "template"
    keep = min(count_shared(memory.tokens, prompt.tokens), len(prompt.tokens) - 1)
    return Plan("rebuilt", reason, keep, prompt.tokens[keep:])


def count_shared(tokens: Sequence[int], others: Sequence[int]) -> int:
    """Length of the longest common prefix."""
    size = min(len(tokens), len(others))
    return next((at for at in range(size) if tokens[at] != others[at]), size)


def split_generated(reply: str, pieces: Sequence[tuple[int, bytes]]) -> tuple[list[int], str]:
    """Split a *reply* into the generated tokens that it fully contains, and the remaining text.

    A stop text may have cut the reply in the middle of a token.
    """
    parts, whole = [piece for _, piece in pieces], len(pieces)
    while not reply.startswith(text := b"".join(parts[:whole]).decode("utf-8", "replace")):
        whole -= 1
    return [token for token, _ in pieces[:whole]], reply[len(text) :]
