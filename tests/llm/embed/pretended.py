"""Embedders over processes that only pretend, for tests of who is served when and by whom."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from runtime.llm.embed.embedders import Embedders, EmbedSettings
from runtime.llm.embed.process import GONE, EncoderGone, EncoderProcess
from runtime.llm.embed.protocol import Command, Embed, Event, Fit, Framed, Load, Split
from runtime.llm.embed.values import Vectors
from runtime.llm.models.catalog import Entry, Fingerprint
from runtime.llm.models.catalogfile import Declaration
from runtime.web.errors import ApiError
from tests.llm.embed import scripted

ONE_THREAD = EmbedSettings(threads=1)
Answer = tuple[Event, bytes]


class Pretender(EncoderProcess):
    """A process that answers in a moment, or when the rig lets it."""

    def __init__(self, rig: "Rig") -> None:
        super().__init__()
        self.rig = rig
        self.model = ""
        self.closed = False

    async def ask(self, command: Command, timeout: float) -> Framed:  # noqa: ASYNC109 - as there
        if isinstance(command, Load):
            self.model = Path(command.path).stem
            self.rig.loads.append(command)
            await self.rig.load_gate.wait()
        else:
            self.rig.slices.append(command)
            self.rig.at_work += 1
            self.rig.most_at_work = max(self.rig.most_at_work, self.rig.at_work)
            await asyncio.sleep(0)
            await self.rig.gate.wait()
            self.rig.at_work -= 1
        if not self.alive:
            raise EncoderGone(GONE)
        return Framed(*self.rig.answer(self, command))

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.kill()
        self.closed = True


class Rig:
    """Embedders over pretended processes, and a clock that is moved by hand."""

    def __init__(self, settings: EmbedSettings | None = None) -> None:
        self.processes: list[Pretender] = []
        self.loads: list[Load] = []
        self.slices: list[Embed | Split | Fit] = []
        self.at_work = self.most_at_work = 0
        self.start_gate, self.load_gate, self.gate = (asyncio.Event() for _ in range(3))
        for gate in (self.start_gate, self.load_gate, self.gate):
            gate.set()
        self.now = 0.0
        self.answer: Callable[[Pretender, Command], Answer] = lambda _, c: scripted.answer(c)
        self.embedders = Embedders(
            settings or EmbedSettings(threads=1), self._start, lambda: self.now
        )

    async def _start(self) -> EncoderProcess:
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

    def embed(self, text: str, times: int = 1, model: str = "a") -> "asyncio.Task[Vectors]":
        """A request of as many texts."""
        return asyncio.create_task(self.embedders.embed(entry(model), [text] * times))


def entry(
    model: str = "a", version: int = 1, fault: str | None = None, **declared: object
) -> Entry:
    return Entry(
        model,
        Path(f"{model}.onnx"),
        0,
        "onnx",
        1,
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
