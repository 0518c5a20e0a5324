"""An engine without a model: says what it is told to, and keeps book of what was asked."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from runtime.llm.models.catalog import Entry
from runtime.llm.models.system.reply import Reply, SystemChat
from runtime.llm.values import Generation, Outcome


@dataclass
class Workshop:
    """Starts replies; the exceptions in it are raised when their time comes."""

    pieces: Sequence[str] = ("Brake ", "late.")
    start_fails: Exception | None = None
    breaks: Exception | None = None
    """Raised after the first piece."""
    may_speak: asyncio.Event = field(default_factory=asyncio.Event)
    asked: list[tuple[Entry, SystemChat]] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    stopped_early: int = 0

    def __post_init__(self) -> None:
        self.may_speak.set()

    async def __call__(self, entry: Entry, chat: SystemChat) -> Generation:
        self.asked.append((entry, chat))
        if self.start_fails is not None:
            raise self.start_fails
        return Reply(self._run)

    async def _run(self, reply: Reply) -> AsyncGenerator[str, None]:
        self.running += 1
        self.most_running = max(self.most_running, self.running)
        ended = False
        try:
            for piece in self.pieces:
                await self.may_speak.wait()
                yield piece
                if self.breaks is not None:
                    raise self.breaks
            ended = True
        finally:
            self.running -= 1
            self.stopped_early += not ended
        reply.settle(Outcome("stop", completion_tokens=len(self.pieces), prompt_tokens=4))
