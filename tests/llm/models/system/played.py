"""Providers and engines that play any state and any reply, for what stands around them."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

from runtime.llm.errors import SysmodelUnavailable
from runtime.llm.inference import ChatCall, Generation, Outcome, Piece
from runtime.llm.models.catalog import Entry
from runtime.llm.models.system.state import (
    Availability,
    Provider,
    RelayedReply,
    Status,
)

READY = Availability(Status.AVAILABLE)


class Played(Provider):
    """Gives the states one after the other, the last one for ever."""

    name = "played"

    def __init__(
        self, *states: Availability, pieces: Sequence[str] = ("one two", " three")
    ) -> None:
        self.states = list(states) or [READY]
        self.pieces = pieces
        self.counted: int | None = None
        self.fails_at: dict[int, Exception] = {}
        self.before_piece: Callable[[], None] = lambda: None
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.may_probe = asyncio.Event()
        self.may_probe.set()
        self.probes = 0
        self.downloads = 0
        self.chats: list[ChatCall] = []

    async def probe(self) -> Availability:
        self.probes += 1
        state = self.states.pop(0) if len(self.states) > 1 else self.states[0]
        await self.may_probe.wait()
        return state

    async def download(self) -> Availability:
        self.downloads += 1
        if self.states[0] != Availability(Status.DOWNLOADABLE):
            raise SysmodelUnavailable("nothing to download")
        started = Availability(Status.DOWNLOADING, progress=0.0)
        self.states = [started]
        return started

    def generate(self, call: ChatCall) -> Generation:
        return RelayedReply(lambda reply: self._run(call, reply))

    async def _run(self, call: ChatCall, reply: RelayedReply) -> AsyncGenerator[Piece, None]:
        self.chats.append(call)
        if (failure := self.fails_at.get(len(self.chats))) is not None:
            raise failure
        await self.may_answer.wait()
        for piece in self.pieces:
            self.before_piece()
            yield Piece(piece)
        reply.settle(Outcome("stop", completion_tokens=self.counted))


@dataclass
class Workshop:
    """Starts replies; the exceptions in it are raised when their time comes."""

    pieces: Sequence[str] = ("Brake ", "late.")
    start_fails: Exception | None = None
    breaks: Exception | None = None
    """Raised after the first piece."""
    asked: list[tuple[Entry, ChatCall]] = field(default_factory=list)
    running: int = 0
    most_running: int = 0

    async def __call__(self, entry: Entry, chat: ChatCall) -> Generation:
        self.asked.append((entry, chat))
        if self.start_fails is not None:
            raise self.start_fails
        return RelayedReply(self._run)

    async def _run(self, reply: RelayedReply) -> AsyncGenerator[Piece, None]:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        try:
            for piece in self.pieces:
                yield Piece(piece)
                if self.breaks is not None:
                    raise self.breaks
        finally:
            self.running -= 1
        reply.settle(Outcome("stop", completion_tokens=len(self.pieces), prompt_tokens=4))
