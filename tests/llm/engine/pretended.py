"""An embedder over processes that only pretend, for tests of who is served when and by whom."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from runtime.llm.engine.embedding import Embedder
from runtime.llm.engine.pool import Engine, Pool
from runtime.llm.engine.process import ANSWER_S, Answer, Worker, WorkerGone
from runtime.llm.engine.protocol import Command, Embed, Event, Fit, LoadEncoder, Split
from runtime.llm.inference import Vectors
from runtime.llm.models.catalog import Entry, Fingerprint
from runtime.llm.models.catalogfile import Declaration
from runtime.llm.settings import LlmSettings
from runtime.web.errors import ApiError
from tests.llm.engine import scripted


class Pretender(Worker):
    """A process that answers in a moment, or when the rig lets it."""

    def __init__(self, rig: "Rig") -> None:
        super().__init__()
        self.rig = rig
        self.model = ""
        self.closed = False

    async def ask(
        self, command: Command, kind: type[Answer], limit_s: float | None = ANSWER_S
    ) -> Answer:
        if isinstance(command, LoadEncoder):
            self.model = Path(command.path).stem
            self.rig.loads.append(command)
            await self.rig.load_gate.wait()
        else:
            assert isinstance(command, Embed | Split | Fit)
            self.rig.slices.append(command)
            self.rig.at_work += 1
            self.rig.most_at_work = max(self.rig.most_at_work, self.rig.at_work)
            await asyncio.sleep(0)
            await self.rig.gate.wait()
            self.rig.at_work -= 1
        if not self.alive:
            raise WorkerGone
        return self._check_kind(self.rig.answer(self, command), kind)

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.kill()
        self.closed = True


class Rig:
    """An embedder over pretended processes, and a clock that is moved by hand."""

    def __init__(self, *, encoders: int = 1, waiting: int = 32, load_s: float = 300.0) -> None:
        self.processes: list[Pretender] = []
        self.loads: list[LoadEncoder] = []
        self.slices: list[Embed | Split | Fit] = []
        self.at_work = self.most_at_work = 0
        self.start_gate, self.load_gate, self.gate = (asyncio.Event() for _ in range(3))
        for gate in (self.start_gate, self.load_gate, self.gate):
            gate.set()
        self.now = 0.0
        self.answer: Callable[[Pretender, Command], Event] = lambda _, c: scripted.answer(c)
        size = {"embedding_cache_size": encoders, "load_timeout_ms": load_s * 1000}
        settings = LlmSettings(embedding_threads=1).model_copy(update=size)
        self.pool = Pool(settings, self._start, lambda: self.now)
        self.embedder = Embedder(self.pool, waiting, clock=lambda: self.now)

    async def _start(self) -> Worker:
        await asyncio.sleep(0)
        await self.start_gate.wait()
        self.processes.append(Pretender(self))
        return self.processes[-1]

    @property
    def living(self) -> list[str]:
        return [process.model for process in self.processes if not process.closed]

    @property
    def order(self) -> str:
        """The first letter of each slice's first text."""
        return "".join(c.text[0] if isinstance(c, Split) else c.texts[0][0] for c in self.slices)

    @property
    def encoders(self) -> list[Engine]:
        return self.pool.list_engines("embedding")

    def embed(self, text: str, times: int = 1, model: str = "a") -> "asyncio.Task[Vectors]":
        """A request of as many texts."""
        return asyncio.create_task(self.embedder.embed(entry(model), [text] * times))

    async def close(self) -> None:
        await self.embedder.close()
        await self.pool.close()


def entry(
    model: str = "a", version: int = 1, fault: str | None = None, **declared: object
) -> Entry:
    return Entry(
        model,
        Path(f"{model}.onnx"),
        "onnx",
        Fingerprint(1, 1, version),
        Declaration.model_validate(declared),
        fault,
        vocab=Path(f"{model}-vocab.txt"),
    )


async def settle() -> None:
    """Let everything that is ready run."""
    for _ in range(30):
        await asyncio.sleep(0)


async def failure(work: Coroutine[None, None, object]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await work
    return caught.value
