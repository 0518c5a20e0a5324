"""Engines that nobody uses go where memory is short, and those in use stay."""

import asyncio
from pathlib import Path

import pytest

from runtime.llm.engine.process import ANSWER_S, Answer, ShortOfMemory, WorkerFailed
from runtime.llm.engine.protocol import Close, Command, LoadChat, Open, Warm
from runtime.llm.errors import LocalInitFailed
from tests.llm.engine.test_pool import Rig
from tests.llm.serverkit import until

SHORT = "not enough memory: needs 733 MB, 500 MB can be taken"


@pytest.fixture
def rig(models: Path) -> Rig:
    return Rig(models, size=3)


def keys(*models: str) -> list[str]:
    return [f"{model}_model_LOCAL_CPU" for model in models]


def room_for(rig: Rig, alive: int) -> None:
    """From now on a file is loaded only beside fewer than *alive* other processes."""

    def answer(command: Command) -> None:
        others = sum(worker.alive for worker in rig.workers) - 1
        if isinstance(command, LoadChat) and others >= alive:
            raise ShortOfMemory(SHORT, 1)

    rig.answer = answer


async def test_the_least_recently_used_idle_engine_makes_room(rig: Rig) -> None:
    for model in ("recall", "noise"):
        await rig.use(model)
    room_for(rig, alive=2)
    await rig.use("strict")
    assert rig.keys == keys("strict", "noise")
    assert not rig.pool.failures
    await rig.pool.close()


async def test_as_many_idle_engines_go_as_it_takes_and_those_in_use_stay(rig: Rig) -> None:
    held = await rig.pool.acquire(rig.entry("recall"))
    await rig.use("noise")
    await rig.use("noise", 512)
    room_for(rig, alive=2)
    await rig.use("strict")
    assert rig.keys == keys("strict", "recall")
    assert held.worker.alive
    rig.pool.release(held)
    await rig.pool.close()


async def test_only_what_is_in_use_keeps_a_model_out_and_the_message_names_it(rig: Rig) -> None:
    held = await rig.pool.acquire(rig.entry("recall"))
    await rig.use("noise")
    room_for(rig, alive=1)
    with pytest.raises(LocalInitFailed) as caught:
        await rig.use("strict")
    assert caught.value.message.endswith(f"{SHORT}; in use: recall")
    assert not any("GGUF is" in step or "complete" in step for step in caught.value.next_steps)
    assert rig.keys == keys("recall")
    assert rig.pool.failures[0].result == f"failed: {SHORT}; in use: recall"

    rig.pool.release(held)
    await rig.use("strict")
    assert rig.keys == keys("strict")
    await rig.pool.close()


async def test_a_lack_of_memory_with_nothing_in_use_is_said_as_it_is(rig: Rig) -> None:
    room_for(rig, alive=0)
    with pytest.raises(LocalInitFailed, match=f"{SHORT}$"):
        await rig.use("strict")
    await rig.pool.close()


async def test_a_context_makes_another_one_of_its_file_go(rig: Rig) -> None:
    await rig.use("recall", 512)
    held = await rig.pool.acquire(rig.entry("recall"), 256)
    (worker,) = rig.workers

    def answer(command: Command) -> None:
        if isinstance(command, Open) and not any(
            isinstance(asked, Close) and asked.engine.startswith("recall_512")
            for asked in worker.asked
        ):
            raise ShortOfMemory(SHORT, 1)

    rig.answer = answer
    await rig.use("recall")
    assert rig.keys == ["recall_model_LOCAL_CPU", "recall_256_LOCAL_CPU"]
    assert rig.workers == [worker]
    rig.pool.release(held)
    await rig.pool.close()


async def test_what_this_machine_can_never_hold_costs_no_engine(rig: Rig) -> None:
    await rig.use("recall")

    def answer(command: Command) -> None:
        raise ShortOfMemory(SHORT, 1 << 60)

    rig.answer = answer
    with pytest.raises(LocalInitFailed, match=f"{SHORT}$"):
        await rig.use("strict")
    assert rig.keys == keys("recall")
    await rig.pool.close()


async def test_another_failure_costs_no_engine(rig: Rig) -> None:
    await rig.use("recall")

    def answer(command: Command) -> None:
        raise WorkerFailed("no")

    rig.answer = answer
    with pytest.raises(LocalInitFailed):
        await rig.use("strict")
    assert rig.keys == keys("recall")
    await rig.pool.close()


async def test_a_context_that_is_opened_too_late_is_closed(models: Path) -> None:
    rig = Rig(models, load_timeout_s=0.05)
    held = await rig.pool.acquire(rig.entry("recall"))
    (worker,) = rig.workers
    ask = worker.ask

    async def slow(
        command: Command, kind: type[Answer], limit_s: float | None = ANSWER_S
    ) -> Answer:
        if isinstance(command, Open):
            await asyncio.Event().wait()
        return await ask(command, kind, limit_s)

    worker.ask = slow  # type: ignore[method-assign]
    with pytest.raises(LocalInitFailed, match="in time"):
        await rig.use("recall", 256)
    await until(lambda: worker.count(Close) == 1)
    assert worker.alive
    rig.pool.release(held)
    await rig.pool.close()


async def test_an_engine_is_in_use_until_its_warm_up_is_done_though_the_asker_left(
    rig: Rig,
) -> None:
    engine = await rig.use("recall")
    (worker,) = rig.workers
    ask, go_on = worker.ask, asyncio.Event()

    async def slow(
        command: Command, kind: type[Answer], limit_s: float | None = ANSWER_S
    ) -> Answer:
        if isinstance(command, Warm):
            await go_on.wait()
        return await ask(command, kind, limit_s)

    worker.ask = slow  # type: ignore[method-assign]
    asker = asyncio.create_task(rig.pool.warm(rig.entry("recall")))
    await until(lambda: engine.users == 2)
    asker.cancel()
    await asyncio.gather(asker, return_exceptions=True)

    assert rig.pool.unload_idle(0.0) == 0
    go_on.set()
    await until(lambda: engine.users == 0)
    assert engine.model.warm
    await rig.pool.close()
