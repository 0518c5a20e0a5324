"""Engines in use are left alone, and a refusal fits its reason."""

import asyncio
import os
import signal

import psutil
import pytest

from tests.llm.conftest import Start
from tests.llm.serverkit import Server
from tests.waiting import until


@pytest.mark.parametrize("by", ["unload", "eviction"])
async def test_an_idle_context_goes_while_another_of_its_file_is_in_the_middle_of_a_reply(
    start: Start, by: str
) -> None:
    async with start() as server:
        pool = server.service.pool
        await server.ask("endless", max_tokens=512, max_completion_tokens=1)
        async with server.streaming("endless") as running:
            await running.piece()
            (engine, idle) = pool.list_engines()
            assert engine.worker is idle.worker
            other = asyncio.create_task(
                server.request("POST", "/v1/engines/unload")
                if by == "unload"
                else server.ask("recall")
            )
            await until(lambda: idle not in pool.list_engines())
            await until(lambda: not pool._tasks)
            assert engine.worker.busy, "it was freed only behind the reply"
            await running.piece()
        assert (await other).status == 200
        assert engine.worker.alive


async def test_warming_has_its_own_time_and_the_next_call_warms_the_same_engine(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await server.ask("recall", max_completion_tokens=1)
    (engine,) = server.service.pool.list_engines()
    os.kill(engine.worker.pid, signal.SIGSTOP)
    frozen = psutil.Process(engine.worker.pid)
    await until(lambda: frozen.status() == psutil.STATUS_STOPPED)
    monkeypatch.setattr("runtime.llm.api.health.WARM_BUDGET_S", 0.2)

    late = await server.request("POST", "/health/warm?model=recall")
    assert (late.status, late.json["status"]) == (504, "timeout")
    assert engine.worker.alive
    os.kill(engine.worker.pid, signal.SIGCONT)
    monkeypatch.undo()
    again = await server.request("POST", "/health/warm?model=recall")
    assert again.json["status"] == "warm"
    assert server.service.pool.list_engines() == [engine]


async def test_an_embedding_model_asked_to_chat_is_told_so_and_nothing_failed(
    server: Server,
) -> None:
    answer = await server.ask("embed")
    error = answer.error
    assert (answer.status, error["code"]) == (503, "LOCAL_INIT_FAILED")
    assert error["message"] == "embed is an embedding model; chat needs a chat model"
    assert "chat model" in error["next_steps"][0]
    assert not any("complete GGUF" in step for step in error["next_steps"])
    assert (await server.get("/health")).json["last_failures"] == []
