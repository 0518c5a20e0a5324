"""Which encoders are loaded, kept, shared and let go, with processes that only pretend."""

import asyncio
from collections.abc import Callable

import pytest

from runtime.llm.engine.process import GONE, WorkerFailed, WorkerGone
from runtime.llm.engine.protocol import Command, Event, LoadEncoder
from runtime.llm.errors import EmbedBusy, EmbedFailed
from runtime.llm.models.catalog import Entry
from tests.llm.engine import scripted
from tests.llm.engine.pretended import Pretender, Rig, entry, failure, settle

pytestmark = pytest.mark.usefixtures("nothing_blocks_the_loop")


async def test_leaving_at_any_moment_leaves_no_user_behind() -> None:
    for steps in range(30):
        rig = Rig()
        task = rig.embed("x", 20)
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await settle()
        assert [encoder.users for encoder in rig.encoders] in ([0], [])
        await rig.embedder.embed(entry(), ["y"])
        assert len(rig.processes) == 1
        await rig.close()


async def test_an_encoder_in_use_is_not_unloaded_and_another_model_does_not_wait(rig: Rig) -> None:
    rig.gate.clear()
    tasks = [rig.embed("A", 48), rig.embed("B", model="b")]
    await settle()
    assert rig.living == ["a", "b"]
    rig.gate.set()
    await asyncio.gather(*tasks)
    await settle()
    assert rig.order == "ABAA"
    assert rig.living == ["a"]


async def test_short_requests_for_another_model_beside_a_long_one_load_it_once(rig: Rig) -> None:
    long = rig.embed("A", 160)
    for _ in range(4):
        await rig.embed("B", model="b")
    assert not long.done()
    await long
    assert len(rig.loads) == 2


async def test_a_third_model_waits_for_a_place(rig: Rig) -> None:
    rig.gate.clear()
    tasks = [rig.embed(model, model=model) for model in "abc"]
    await settle()
    assert [load.path for load in rig.loads] == ["a.onnx", "b.onnx"]
    rig.gate.set()
    await asyncio.gather(*tasks)
    await settle()
    assert rig.living == ["c"]


async def test_a_place_is_not_waited_for_without_end() -> None:
    rig = Rig(load_s=0.1)
    rig.gate.clear()
    tasks = [rig.embed("x", model=model) for model in "ab"]
    await settle()
    with pytest.raises(EmbedBusy, match="models in memory are in use"):
        await rig.embed("x", model="c")
    rig.gate.set()
    await asyncio.gather(*tasks)
    await rig.embed("x", model="c")


@pytest.mark.parametrize("changed", [entry(version=2), entry(pooling="cls"), entry(max_seq=64)])
async def test_a_model_that_changed_is_loaded_anew(rig: Rig, changed: Entry) -> None:
    await rig.embedder.embed(entry(), ["x"])
    await rig.embedder.embed(changed, ["x"])
    await rig.embedder.embed(changed, ["x"])
    await settle()
    assert len(rig.loads) == 2
    assert len(rig.living) == 1


async def test_a_load_for_older_terms_does_not_replace_the_newer(rig: Rig) -> None:
    rig.load_gate.clear()
    old = rig.embed("o")
    await settle()
    new = asyncio.create_task(rig.embedder.embed(entry(version=2), ["n"]))
    await settle()
    rig.load_gate.set()
    await asyncio.gather(old, new)
    await rig.embedder.embed(entry(version=2), ["x"])
    await settle()
    assert len(rig.loads) == 2
    assert [process.closed for process in rig.processes] == [True, False]


# --- loads that fail


def refuse(error: Exception) -> Callable[[Pretender, Command], Event]:
    def answer(process: Pretender, command: Command) -> Event:
        if isinstance(command, LoadEncoder):
            raise error
        return scripted.answer(command)

    return answer


@pytest.mark.parametrize(
    ("given", "error", "why"),
    [
        (entry(), WorkerFailed("a tensor is missing"), "a tensor is missing"),
        (entry(), WorkerGone(), GONE),
        (entry(), TimeoutError(), "it did not load in time"),
        (entry(fault="no such key"), None, "no such key"),
        (entry(backend="LOCAL_GPU"), None, "embedding models run on the CPU"),
    ],
)
async def test_a_model_that_cannot_be_loaded_says_why(
    rig: Rig, given: Entry, error: Exception | None, why: str
) -> None:
    if error is not None:
        rig.answer = refuse(error)
    found = await failure(rig.embedder.embed(given, ["x"]))
    await settle()
    assert isinstance(found, EmbedFailed)
    assert (found.status, found.code) == (500, "api_error")
    assert found.message.startswith(f"the model a cannot be loaded: {why}")
    assert rig.pool.failures[0].result.startswith(f"failed: {why}")
    assert rig.living == []
    assert (rig.embedder.totals.errors, rig.embedder.waiting) == (1, 0)


async def test_files_that_are_not_a_model_cost_nobody_else_the_model_in_memory(rig: Rig) -> None:
    await rig.embedder.embed(entry("good"), ["x"])
    rig.answer = refuse(WorkerFailed("this is not a model"))
    for _ in range(3):
        await failure(rig.embedder.width(entry("bad")))
        rig.answer = lambda process, command: scripted.answer(command)
        await rig.embedder.embed(entry("good"), ["x"])
    assert [load.path for load in rig.loads].count("bad.onnx") == 1
    await rig.embedder.width(entry("bad", version=2))
    rig.now += 61
    await rig.embedder.width(entry("bad"))
