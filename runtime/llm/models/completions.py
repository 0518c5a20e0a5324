"""Completion requests for OpenAI-compatible servers, and their streamed replies."""

import math
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from itertools import zip_longest
from types import MappingProxyType
from typing import Final

from runtime.llm.inference import (
    ChatCall,
    Event,
    Outcome,
    Piece,
    Reasoning,
    TokenLogprob,
    ToolArguments,
    ToolStart,
    Turn,
)
from runtime.llm.messages import ChatMessage, make_message, make_offer
from runtime.llm.models.daemon import (
    Daemon,
    DaemonTrouble,
    Headers,
    JsonObject,
    count,
    member,
    parse_json,
)
from runtime.llm.replies import create_call_id

REPLY_CAP: Final = 1 << 20
"""Characters of one reply, its thoughts and calls included."""
MAX_CALLS: Final = 128
_NOTHING: Final = Piece("")


def compose_body(
    call: ChatCall, defaults: Mapping[str, object] = MappingProxyType({})
) -> dict[str, object]:
    """The body of a streamed request for *call*: a text completion if it has a prompt, else a chat.

    *defaults* are the sampling fields of a request that leaves them out.
    """
    body: dict[str, object] = {
        "model": call.model,
        "stream": True,
        "stream_options": {"include_usage": True},
        **defaults,
        **call.explicit,
    }
    if "seed" in body:  # each choice of a request has its own
        body["seed"] = call.sampling.seed
    if "repeat_penalty" in body:  # vLLM's name for it
        body["repetition_penalty"] = call.sampling.repeat_penalty
    if call.stop:
        body["stop"] = list(call.stop)
    caps = [cap for cap in (call.max_completion_tokens, call.max_tokens) if cap is not None]
    if caps:
        body["max_tokens"] = min(caps)
    alternatives = call.sampling.logprobs
    if call.prompt is not None:
        body["prompt"] = call.prompt
        if alternatives is not None:
            body["logprobs"] = alternatives
        return body
    body["messages"] = [_compose_message(turn) for turn in call.turns]
    if alternatives is not None:
        body |= {"logprobs": True, "top_logprobs": alternatives}
    if call.template_options:
        body["chat_template_kwargs"] = dict(call.template_options)
    if call.tools:
        body["tools"] = [make_offer(tool) for tool in call.tools]
        body["tool_choice"] = "required" if call.tools_required else "auto"
        if not call.parallel_tools:
            body["parallel_tool_calls"] = False
    return body


def _compose_message(turn: Turn) -> ChatMessage:
    """The message of a turn, with the arguments of its calls as JSON text."""
    message = make_message(turn)
    for call, sent in zip(turn.tool_calls, message.get("tool_calls", ()), strict=True):
        sent["function"]["arguments"] = call.arguments
    return message


class ReplyReader:
    """Reads the lines of a streamed chat or text completion."""

    def __init__(self) -> None:
        self.closed = False
        """Whether ``[DONE]`` has been received."""
        self.cost = Outcome("stop")
        self._finished = False
        self._silent = True
        self._half = ""
        self._size = 0
        self._calls: list[tuple[object, object]] = []
        """Index and id of each call so far, as received."""

    def check_end(self) -> None:
        """Raise `DaemonTrouble` unless the reply is complete."""
        if self._silent:
            raise DaemonTrouble("did not answer with a stream of text")
        if not (self.closed or self._finished):
            raise DaemonTrouble("broke off in the middle of its reply", away=True)

    def feed(self, line: str) -> Piece:
        """Return what a line adds. Raises `DaemonTrouble` for an error or an invalid chunk."""
        name, _, data = line.partition(":")
        if name != "data":
            return _NOTHING
        self._silent = False
        if data.strip() == "[DONE]":
            self.closed = True
            return _NOTHING
        chunk = parse_json(data)
        if not isinstance(chunk, dict):
            raise DaemonTrouble("sent something that is not a chunk")
        if chunk.get("error"):
            raise DaemonTrouble("failed while answering", body=chunk)
        self._count(chunk.get("usage"))
        choices = chunk.get("choices")
        piece = self._piece(choices[0]) if isinstance(choices, list) and choices else _NOTHING
        self._size += len(piece.text) + sum(len(event[-1]) for event in piece.events)
        if self._size > REPLY_CAP:
            raise DaemonTrouble("does not end its reply")
        return piece

    def _count(self, usage: object) -> None:
        if usage is not None:
            self.cost = replace(
                self.cost,
                prompt_tokens=count(member(usage, "prompt_tokens")),
                completion_tokens=count(member(usage, "completion_tokens")),
                cached_tokens=count(member(usage, "prompt_tokens_details", "cached_tokens")) or 0,
            )

    def _piece(self, choice: object) -> Piece:
        reason = member(choice, "finish_reason")
        if reason is not None:
            self._finished = True
            self.cost = replace(self.cost, finish="length" if reason == "length" else "stop")
        delta = member(choice, "delta")
        text = member(choice, "text") if delta is None else member(delta, "content")
        events: list[Event] = []
        thought = member(delta, "reasoning_content") or member(delta, "reasoning")
        if isinstance(thought, str):
            events.append(Reasoning(_clean(thought)))
        calls = member(delta, "tool_calls")
        for call in calls if isinstance(calls, list) else ():
            events += self._call(call)
        content = self._join_halves(text) if isinstance(text, str) else ""
        return Piece(content, read_logprobs(member(choice, "logprobs")), events)

    def _call(self, call: object) -> list[Event]:
        """Return what a fragment adds; a named fragment of no call in progress starts a call."""
        index, sent_id = member(call, "index"), member(call, "id")
        name, arguments = member(call, "function", "name"), member(call, "function", "arguments")
        places = [at for at, (other, _) in enumerate(self._calls) if other == index]
        begins = not places or sent_id not in (None, self._calls[places[-1]][1])
        events: list[Event] = []
        if isinstance(name, str) and name and begins:
            if len(self._calls) == MAX_CALLS:
                raise DaemonTrouble("does not stop calling tools")
            places.append(len(self._calls))
            self._calls.append((index, sent_id))
            call_id = sent_id if isinstance(sent_id, str) and sent_id else create_call_id()
            events.append(ToolStart(places[-1], _clean(call_id), _clean(name)))
        if isinstance(arguments, str) and arguments and places:
            events.append(ToolArguments(places[-1], _clean(arguments)))
        return events

    def _join_halves(self, text: str) -> str:
        """Join the halves of a character that arrive in two pieces."""
        text = self._half + text
        self._half = text[-1] if text and "\ud800" <= text[-1] <= "\udbff" else ""
        return _clean(text[: len(text) - len(self._half)])


async def read_reply(
    daemon: Daemon,
    path: str,
    body: JsonObject,
    settle: Callable[[Outcome], None],
    headers: Headers = MappingProxyType({}),
) -> AsyncGenerator[Piece, None]:
    """Post *body*, yield the pieces of the reply, then *settle* its cost.

    Raises `DaemonTrouble`.
    """
    began, first = time.monotonic(), None
    reader = ReplyReader()
    async with aclosing(daemon.stream(path, body, headers)) as lines:
        async for line in lines:
            piece = reader.feed(line)
            if piece.text or piece.events:
                first = first or time.monotonic()
                yield piece
            if reader.closed:
                break
    reader.check_end()
    now = time.monotonic()
    first = first or now
    settle(
        replace(reader.cost, prompt_ms=(first - began) * 1000, predicted_ms=(now - first) * 1000)
    )


def read_logprobs(logprobs: object) -> Sequence[TokenLogprob]:
    """Read log-probabilities in the form of a chat or a text completion; else return none."""
    content = member(logprobs, "content")
    if isinstance(content, list):
        return _read_tokens(content)
    lists = [member(logprobs, name) for name in ("tokens", "token_logprobs", "top_logprobs")]
    tokens, chances, tops = (part if isinstance(part, list) else [] for part in lists)
    return _read_tokens(
        {"token": token, "logprob": chance, "top_logprobs": _list_top(top)}
        for token, chance, top in zip_longest(tokens, chances, tops)
    )


def _list_top(top: object) -> list[object]:
    pairs = top.items() if isinstance(top, dict) else ()
    return [{"token": token, "logprob": chance} for token, chance in pairs]


def _read_tokens(entries: Iterable[object], *, with_others: bool = True) -> list[TokenLogprob]:
    """Read the valid entries, with the other likely tokens at their positions."""
    read = []
    for entry in entries:
        token, chance = member(entry, "token"), member(entry, "logprob")
        if not isinstance(token, str) or not isinstance(chance, int | float):
            continue
        if not math.isfinite(chance):
            continue
        token, data = _clean(token), member(entry, "bytes")
        if not isinstance(data, list) or not all(isinstance(b, int) and 0 <= b < 256 for b in data):
            data = list(token.encode())
        others = member(entry, "top_logprobs") if with_others else None
        read.append(
            TokenLogprob(
                token,
                data,
                float(chance),
                _read_tokens(others, with_others=False) if isinstance(others, list) else (),
            )
        )
    return read


def _clean(text: str) -> str:
    """Replace lone surrogates, which cannot be encoded in an answer."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
