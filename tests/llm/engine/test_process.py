"""An engine process as the server holds it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import psutil
import pytest

from runtime.llm.engine import process
from runtime.llm.engine.process import Worker, WorkerFailed
from runtime.llm.engine.protocol import ChatLoaded, LoadChat, Ok, Open
from runtime.llm.errors import EngineFailed
from runtime.llm.values import Generation, Sampling, Turn
from tests.llm.serverkit import processes_below
from tests.waiting import until

GREEDY = Sampling(temperature=0.0, top_k=40, top_p=0.95, seed=1)
ENGINE = "e"
GOLD = [Turn("user", "<gold>")]


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


async def stop(worker: Worker) -> None:
    """Freeze the process; it takes commands and does nothing with them."""
    os.kill(worker.pid, signal.SIGSTOP)
    frozen = psutil.Process(worker.pid)
    await until(lambda: frozen.status() == psutil.STATUS_STOPPED)


async def texts(reply: Generation) -> str:
    return "".join([piece.text async for piece in reply])


async def test_a_process_that_dies_fails_everything_that_waits_for_it(models: Path) -> None:
    async with opened(models / "endless.gguf", 30_000) as worker:
        prepared = await worker.prepare(ENGINE, GOLD)
        reply = worker.run(await worker.prepare(ENGINE, GOLD), GREEDY)
        await stop(worker)
        asked = asyncio.ensure_future(worker.ask(Open("x", 256, 256, 4), Ok))
        rendered = asyncio.ensure_future(worker.prepare(ENGINE, GOLD))
        await asyncio.sleep(0)
        os.kill(worker.pid, signal.SIGKILL)
        with pytest.raises(EngineFailed, match="ended unexpectedly"):
            await texts(reply)
        with pytest.raises(WorkerFailed, match="ended unexpectedly"):
            await asked
        with pytest.raises(EngineFailed, match="ended unexpectedly"):
            await rendered
        assert not worker.alive
        with pytest.raises(EngineFailed):
            await texts(worker.run(prepared, GREEDY))
        with pytest.raises(WorkerFailed):
            await worker.ask(Open("x", 256, 256, 4), Ok)
        await reply.aclose()


async def test_a_process_that_does_not_answer_is_killed_even_if_nobody_waits_any_more(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "ANSWER_S", 0.2)
    async with opened(models / "recall.gguf") as worker:
        await stop(worker)
        with pytest.raises(EngineFailed):
            await worker.prepare(ENGINE, GOLD)
        assert not worker.alive

    async with opened(models / "recall.gguf") as worker:
        await stop(worker)
        leaver = asyncio.create_task(worker.prepare(ENGINE, GOLD))
        await asyncio.sleep(0)
        leaver.cancel()
        await until(lambda: not worker.alive)


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
    assert 0 < int(environment["GOMP_SPINCOUNT"]) < 1_000_000
