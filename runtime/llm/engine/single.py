"""One model file in a process of its own, started when needed: the engine of a system model."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

from runtime.llm.engine.process import Worker, WorkerFailed
from runtime.llm.engine.protocol import Load, Open
from runtime.llm.engine.records import cells_of, failure_text
from runtime.llm.errors import LocalInitFailed, PromptTooLong
from runtime.llm.models.gguf import BadModelFile
from runtime.llm.models.gguf import read as read_header
from runtime.llm.values import Generation, Sampling, Turn

ENGINE: Final = "system"
LOAD_TIMEOUT_S: Final = 300.0


class SingleEngine:
    """A context of *context_tokens* on the file at *path*; stateless, one reply at a time."""

    def __init__(
        self,
        path: Path,
        context_tokens: int,
        threads: int = 0,
        start_worker: Callable[[], Awaitable[Worker]] = Worker.start,
    ) -> None:
        self._path = path
        self._budget = context_tokens
        self._threads = threads
        self._start_worker = start_worker
        self._worker: Worker | None = None
        self._lock = asyncio.Lock()

    async def start(self) -> None:
        """Load the file unless it is loaded; raises `LocalInitFailed`."""
        async with self._lock:
            if self._worker is not None and self._worker.alive:
                return
            await self.close()
            try:
                await asyncio.to_thread(read_header, self._path)
                async with asyncio.timeout(LOAD_TIMEOUT_S):
                    await self._load()
            except (BadModelFile, WorkerFailed, OSError, TimeoutError) as error:
                await self.close()
                text = failure_text(error)
                raise LocalInitFailed(f"the model cannot be loaded: {text}") from error

    async def _load(self) -> None:
        self._worker = worker = await self._start_worker()
        await worker.ask(Load(worker.next_id(), str(self._path), 0, self._threads))
        cells = cells_of(self._budget, 1, 0)
        await worker.ask(Open(worker.next_id(), ENGINE, self._budget, cells))

    async def generate(
        self,
        turns: Sequence[Turn],
        sampling: Sampling,
        max_output: int | None = None,
        max_total: int | None = None,
    ) -> Generation:
        """Tokenize and start the reply; raises `PromptTooLong` and the errors of `start`."""
        await self.start()
        worker = self._worker
        if worker is None:
            raise LocalInitFailed("the model was unloaded while it was asked")
        prepared = await worker.prepare(ENGINE, turns)
        budget = min(self._budget, max_total or self._budget)
        if prepared.prompt_tokens >= budget:
            worker.drop(prepared.job)
            raise too_long(prepared.prompt_tokens, budget)
        room = budget - prepared.prompt_tokens
        return worker.run(prepared, sampling, max_output=min(room, max_output or room))

    async def close(self) -> None:
        """Give the memory back; the next `generate` loads again."""
        worker, self._worker = self._worker, None
        if worker is not None:
            await worker.close()


def too_long(prompt_tokens: int, budget: int) -> PromptTooLong:
    """The error of a prompt that leaves no room for a reply."""
    return PromptTooLong(
        f"the prompt has {prompt_tokens} tokens and the total budget of prompt and reply is "
        f"{budget}; max_tokens counts both, max_completion_tokens counts the reply only",
        param="max_tokens",
    )
