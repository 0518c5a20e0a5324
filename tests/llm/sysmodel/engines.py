"""An engine without a model: says what it is told to, and keeps book of what was asked."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from runtime.llm.sysmodel.replies import Reply
from runtime.llm.values import Generation, Outcome, Sampling, Turn


@dataclass
class Workshop:
    """Makes engines; the exceptions in it are raised when their time comes."""

    pieces: Sequence[str] = ("Brake ", "late.")
    start_fails: Exception | None = None
    prompt_fails: Exception | None = None
    breaks: Exception | None = None
    """Raised after the first piece."""
    may_start: asyncio.Event = field(default_factory=asyncio.Event)
    may_speak: asyncio.Event = field(default_factory=asyncio.Event)
    made: list[tuple[Path, int]] = field(default_factory=list)
    asked: list[tuple[Sequence[Turn], int | None, int | None]] = field(default_factory=list)
    running: int = 0
    most_running: int = 0
    closed: int = 0
    stopped_early: int = 0

    def __post_init__(self) -> None:
        self.may_start.set()
        self.may_speak.set()

    def __call__(self, path: Path, context_tokens: int) -> "PlayedEngine":
        self.made.append((path, context_tokens))
        return PlayedEngine(self)


class PlayedEngine:
    """One engine out of the workshop."""

    def __init__(self, shop: Workshop) -> None:
        self._shop = shop

    async def start(self) -> None:
        await self._shop.may_start.wait()
        if self._shop.start_fails is not None:
            raise self._shop.start_fails

    async def generate(
        self,
        turns: Sequence[Turn],
        sampling: Sampling,
        max_output: int | None,
        max_total: int | None,
    ) -> Generation:
        self._shop.asked.append((turns, max_output, max_total))
        if self._shop.prompt_fails is not None:
            raise self._shop.prompt_fails
        return Reply(self._run)

    async def close(self) -> None:
        self._shop.closed += 1

    async def _run(self, reply: Reply) -> AsyncGenerator[str, None]:
        shop = self._shop
        shop.running += 1
        shop.most_running = max(shop.most_running, shop.running)
        ended = False
        try:
            for piece in shop.pieces:
                await shop.may_speak.wait()
                yield piece
                if shop.breaks is not None:
                    raise shop.breaks
            ended = True
        finally:
            shop.running -= 1
            shop.stopped_early += not ended
        reply.settle(Outcome("stop", completion_tokens=len(shop.pieces), prompt_tokens=4))
