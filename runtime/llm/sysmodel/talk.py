"""Asks a daemon for a reply, waits while it is busy, turns its events into pieces of text."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import NamedTuple, Protocol

from runtime.llm.sysmodel.daemon import Daemon
from runtime.llm.sysmodel.failures import DaemonTrouble, as_error
from runtime.llm.sysmodel.lines import Cutter
from runtime.llm.sysmodel.replies import Reply
from runtime.llm.values import Finish, Outcome

REPLY_CAP = 1 << 20
"""Characters of one reply."""

Sleep = Callable[[float], Awaitable[None]]


class Cost(NamedTuple):
    """What a daemon told about its reply; None where it told nothing."""

    finish: Finish = "stop"
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int = 0
    prompt_ms: float | None = None
    predicted_ms: float | None = None


class Reader(Protocol):
    """Understands the events of one reply; pure."""

    @property
    def ended(self) -> bool:
        """Whether nothing more is to come."""
        ...

    @property
    def complete(self) -> bool:
        """Whether the reply is whole, should the daemon hang up now."""
        ...

    @property
    def cost(self) -> Cost:
        """What was told so far."""
        ...

    def feed(self, event: str) -> str:
        """The text that *event* adds, often none. Raises `DaemonTrouble`."""
        ...


class Request(NamedTuple):
    """One request for a reply."""

    path: str
    body: Mapping[str, object]


async def talk(
    daemon: Daemon,
    request: Callable[[], Awaitable[Request]],
    fresh: Callable[[], tuple[Cutter, Reader]],
    reply: Reply,
    *,
    sleep: Sleep = asyncio.sleep,
) -> AsyncGenerator[str, None]:
    """The pieces of the reply to *request*; settles *reply* at its end.

    A busy daemon is asked again, after the time it names, until the caller loses patience.
    """
    began = time.monotonic()
    while True:
        cutter, reader = fresh()
        try:
            what = await request()
            async with aclosing(_pieces(daemon, what, cutter, reader, reply)) as pieces:
                async for piece in pieces:
                    yield piece
            return
        except DaemonTrouble as trouble:
            waited = time.monotonic() - began
            if trouble.retry_after_s is None or waited > daemon.patience.busy_s:
                raise as_error(trouble) from trouble
            pause = trouble.retry_after_s
        await sleep(pause)


async def _pieces(
    daemon: Daemon, what: Request, cutter: Cutter, reader: Reader, reply: Reply
) -> AsyncGenerator[str, None]:
    began = time.monotonic()
    first: float | None = None
    size, silent = 0, True
    async with aclosing(daemon.stream(what.path, what.body, cutter)) as events:
        async for event in events:
            silent = False
            text = reader.feed(event)
            size += len(text)
            if size > REPLY_CAP:
                raise DaemonTrouble("the system model's daemon does not stop talking")
            if text:
                first = first or time.monotonic()
                yield text
            if reader.ended:
                break
    if silent:
        raise DaemonTrouble("the system model's daemon did not answer with a stream of text")
    if not reader.complete:
        raise DaemonTrouble("the system model's daemon broke off in the middle of its reply")
    reply.settle(_outcome(reader.cost, began, first))


def _outcome(cost: Cost, began: float, first: float | None) -> Outcome:
    now = time.monotonic()
    start = first or now
    return Outcome(
        finish=cost.finish,
        completion_tokens=cost.completion_tokens,
        prompt_tokens=cost.prompt_tokens,
        cached_tokens=cost.cached_tokens,
        prompt_ms=(start - began) * 1000 if cost.prompt_ms is None else cost.prompt_ms,
        predicted_ms=(now - start) * 1000 if cost.predicted_ms is None else cost.predicted_ms,
    )
