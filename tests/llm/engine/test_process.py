"""An engine process as the server holds it."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtime.llm.engine import process
from runtime.llm.engine.process import Worker
from runtime.llm.engine.protocol import ChatLoaded, LoadChat, Ok, Open
from runtime.llm.inference import Generation, Sampling
from tests.llm.serverkit import processes_below

GREEDY = Sampling(temperature=0.0, top_k=40, top_p=0.95, seed=1)
ENGINE = "e"


@asynccontextmanager
async def opened(path: Path, budget: int = 2048) -> AsyncIterator[Worker]:
    """A process with a model and a context."""
    worker = await Worker.start()
    try:
        await worker.ask(LoadChat(str(path), 0, 1), ChatLoaded)
        await worker.ask(Open(ENGINE, budget, budget, 4), Ok)
        yield worker
    finally:
        await worker.close()
        assert worker.pid not in processes_below(os.getpid())


async def texts(reply: Generation) -> str:
    return "".join([piece.text async for piece in reply])


async def test_a_start_that_is_given_up_leaves_no_process() -> None:
    before = processes_below(os.getpid())
    for steps in (0, 1, 2, 5, 20, 100):
        task = asyncio.ensure_future(Worker.start())
        for _ in range(steps):
            await asyncio.sleep(0.0005)
        task.cancel()
        (found,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(found, Worker):
            await found.close()
    assert processes_below(os.getpid()) == before


async def test_settings_of_the_server_do_not_reach_the_engine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LLMSVC_API_KEY", "secret")
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    environment = process.environment()
    assert "secret" not in environment.values()
    assert environment["OMP_WAIT_POLICY"] == "PASSIVE"
    assert 0 < int(environment["GOMP_SPINCOUNT"]) < 10_000
