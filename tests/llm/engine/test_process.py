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
from runtime.llm.engine.protocol import ChatLoaded, Ended, LoadChat, Ok, Open
from runtime.llm.errors import EngineFailed
from runtime.llm.values import Generation, Sampling, Turn
from tests.llm.serverkit import REPLIES, processes_below, until

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


async def test_a_reply_is_read_piece_by_piece_and_then_counted(models: Path) -> None:
    ends: list[Ended] = []
    async with opened(models / "recall.gguf") as worker:
        prepared = await worker.prepare(ENGINE, GOLD)
        reply = worker.run(prepared, GREEDY, on_end=ends.append)
        assert worker.busy
        with pytest.raises(RuntimeError, match="no outcome"):
            _ = reply.outcome
        text = await texts(reply)
        await reply.aclose()

    assert text == REPLIES["<gold>"]
    assert (reply.outcome.finish, reply.outcome.completion_tokens) == ("stop", 3)
    assert reply.outcome.prompt_tokens == prepared.prompt_tokens == 20
    assert len(ends) == 1
    assert not worker.busy


async def test_only_one_job_runs_at_a_time(models: Path) -> None:
    async with opened(models / "endless.gguf", 30_000) as worker:
        first, second = [await worker.prepare(ENGINE, GOLD) for _ in range(2)]
        reply = worker.run(first, GREEDY)
        with pytest.raises(RuntimeError, match="already generating"):
            worker.run(second, GREEDY)
        await reply.aclose()
        assert await texts(worker.run(second, GREEDY, max_output=3)) == REPLIES["<gold>"]


async def test_closing_a_reply_stops_the_work_and_the_next_one_is_whole(models: Path) -> None:
    async with opened(models / "endless.gguf", 30_000) as worker:
        reply = worker.run(await worker.prepare(ENGINE, GOLD), GREEDY)
        assert await anext(reply)
        await reply.aclose()
        assert reply.ended is not None
        assert reply.ended.finish == "aborted"
        assert reply.ended.completion_tokens < 20_000
        again = worker.run(await worker.prepare(ENGINE, GOLD), GREEDY, max_output=3)
        assert await texts(again) == REPLIES["<gold>"]


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


async def test_a_process_that_does_not_stop_is_killed(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "SETTLE_S", 0.2)
    async with opened(models / "endless.gguf", 30_000) as worker:
        reply = worker.run(await worker.prepare(ENGINE, GOLD), GREEDY)
        await stop(worker)
        await reply.aclose()
        async with asyncio.timeout(10):
            await worker._gone.wait()
        assert reply.ended is not None
        assert reply.ended.finish == "failed"


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
    assert 0 < int(environment["GOMP_SPINCOUNT"]) < 10_000
