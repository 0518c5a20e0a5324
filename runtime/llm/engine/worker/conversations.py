"""What a conversation keeps between two requests, and whether the next request continues it."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from runtime.llm.engine.worker.quoting import Pairs, Parts


@dataclass(frozen=True)
class Memory:
    """A conversation after a reply: KV cache, `pending` and `tail` together hold all of it."""

    sequence: int
    digest: bytes
    """Of the messages of its last request."""
    seen: int
    """How many those were; the reply is not counted."""
    reply: str
    temperature: float
    top_k: int
    tokens: list[int]
    """In the KV cache, at positions from 0."""
    pending: list[int]
    """Generated, part of the reply, not yet in the KV cache."""
    tail: str
    """End of the reply that is in neither: a token was cut by a stop text."""


class Request(NamedTuple):
    """What a request brings: messages, prompt and how the prompt goes on behind the last reply."""

    messages: Pairs
    tokens: list[int]
    after: Parts | None
    temperature: float
    top_k: int


class Plan(NamedTuple):
    """Keep the first *keep* tokens of the memory, then feed *feed*."""

    kind: Literal["hit", "miss", "rebuilt"]
    reason: str | None
    keep: int
    feed: list[int]


def digest(messages: Pairs) -> bytes:
    """SHA-256 of roles and contents, each behind its length, so that no two lists look alike."""
    running = hashlib.sha256()
    for message in messages:
        for field in message:
            data = field.encode("utf-8", "surrogatepass")
            running.update(len(data).to_bytes(8, "little"))
            running.update(data)
    return running.digest()


def mismatch(memory: Memory, request: Request) -> str | None:
    """Why the request does not continue the conversation, in one word; None: it does."""
    if (memory.temperature, memory.top_k) != (request.temperature, request.top_k):
        return "sampler"
    seen = memory.seen
    if len(request.messages) < seen or digest(request.messages[:seen]) != memory.digest:
        return "history"
    fresh = request.messages[seen:]
    if not fresh:
        return "retry"
    if [role for role, _ in fresh if role != "assistant"] != ["user"] or fresh[-1][0] != "user":
        return "turns"
    echoes = [text.strip() for role, text in fresh if role == "assistant"]
    if echoes not in ([], [memory.reply.strip()]):
        return "edited"
    return None if request.after is not None else "template"


def plan(
    memory: Memory | None,
    request: Request,
    budget: int,
    tokenize: Callable[[str, Parts], list[int]],
) -> Plan:
    """How to serve a request; *budget* is the number of tokens a conversation may hold.

    *tokenize* is given the end of a reply and what follows it in the prompt.
    """
    if memory is None:
        return Plan("miss", None, 0, request.tokens)
    reason = mismatch(memory, request)
    if reason is None:
        feed = memory.pending + tokenize(memory.tail, request.after or ())
        if not feed:
            reason = "template"
        elif len(memory.tokens) + len(feed) < budget:
            return Plan("hit", None, len(memory.tokens), feed)
        else:
            reason = "budget"
    keep = min(common(memory.tokens, request.tokens), len(request.tokens) - 1)
    return Plan("rebuilt", reason, keep, request.tokens[keep:])


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """Length of the longest common beginning."""
    size = min(len(one), len(other))
    if one[:size] == other[:size]:
        return size
    return next(at for at in range(size) if one[at] != other[at])


class Conversations:
    """The conversations of one context, the least recently used first; pure bookkeeping."""

    def __init__(self, sequences: Sequence[int]) -> None:
        self._free = list(sequences)
        self._kept: dict[str, Memory] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._kept

    def get(self, name: str) -> Memory | None:
        """What is known of a conversation."""
        return self._kept.get(name)

    def claim(self) -> int | None:
        """A free sequence, which the caller must `keep` or `release`; None: all are taken."""
        return self._free.pop() if self._free else None

    def keep(self, name: str, memory: Memory) -> None:
        """Remember it as the most recently used."""
        self._kept.pop(name, None)
        self._kept[name] = memory

    def release(self, sequence: int) -> None:
        """Take back a claimed sequence that holds nothing."""
        self._free.append(sequence)

    def take(self, name: str) -> Memory | None:
        """Forget a conversation but not its sequence, which is the caller's now."""
        return self._kept.pop(name, None)

    def oldest(self, but: str | None) -> str | None:
        """The least recently used conversation other than *but*."""
        return next((name for name in self._kept if name != but), None)

    def names(self) -> list[str]:
        """All of them, the least recently used first."""
        return list(self._kept)


def after_reply(
    memory: Memory, prompt: list[int], pieces: Sequence[tuple[int, bytes]], stored: int
) -> Memory:
    """The memory after a reply: *pieces* were generated, the first *stored* are in the KV cache.

    A token belongs to it as far as its text is part of `memory.reply`, which a stop text may have
    cut short.
    """
    whole = len(pieces)
    text = _text(pieces)
    while whole and not memory.reply.startswith(text):
        whole -= 1
        text = _text(pieces[:whole])
    tokens = [token for token, _ in pieces[:whole]]
    inside = min(stored, whole)
    return replace(
        memory,
        tokens=prompt + tokens[:inside],
        pending=tokens[inside:],
        tail=memory.reply[len(text) :],
    )


def _text(pieces: Sequence[tuple[int, bytes]]) -> str:
    return b"".join(piece for _, piece in pieces).decode("utf-8", "replace")
