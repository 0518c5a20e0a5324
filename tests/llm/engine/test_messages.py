"""A worker process as the server holds it, with a child that plays tricks."""

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator

import psutil
import pytest

from runtime.llm.engine import process as module
from runtime.llm.engine.process import Worker, WorkerFailed, WorkerGone
from runtime.llm.engine.protocol import (
    Chunks,
    Embed,
    Embedded,
    EncoderLoaded,
    LoadEncoder,
    Split,
)
from tests.llm.engine import scripted
from tests.llm.serverkit import processes_below
from tests.waiting import until

pytestmark = pytest.mark.usefixtures("nothing_blocks_the_loop")

LOAD = LoadEncoder("model.onnx", None, 1, None, None)


@pytest.fixture
async def process() -> AsyncIterator[Worker]:
    """A child that is gone afterwards, and everything that belonged to it."""
    descriptors = psutil.Process().num_fds()
    tasks = len(asyncio.all_tasks())
    started = await scripted.start()
    yield started
    await started.close()
    assert started.pid not in processes_below(os.getpid())
    await until(lambda: psutil.Process().num_fds() <= descriptors)
    await until(lambda: len(asyncio.all_tasks()) <= tasks)


async def embed(process: Worker, *texts: str, limit_s: float = 30.0) -> Embedded:
    return await process.ask(Embed(list(texts)), Embedded, limit_s)


async def test_commands_are_answered_with_their_bytes(process: Worker) -> None:
    assert await process.ask(LOAD, EncoderLoaded) == EncoderLoaded(scripted.WIDTH, 128)
    vectors = scripted.row("one two") + scripted.row("x")
    assert await embed(process, "one two", "x") == Embedded(4, [4, 3], 0, vectors)
    assert await process.ask(Split("a\n\nb"), Chunks) == Chunks(["a", "b"])
    assert process.alive


async def test_large_texts_go_both_ways(process: Worker) -> None:
    text = "\n\n".join(["word " * 80] * 3000)
    chunks = await process.ask(Split(text), Chunks)
    assert "\n\n".join(chunks.texts) == text


async def test_an_answer_in_tiny_bits_is_put_together(process: Worker) -> None:
    framed = await embed(process, "!slow")
    assert framed.vectors == scripted.row("!slow")


async def test_a_command_that_fails_leaves_the_process_alive(process: Worker) -> None:
    with pytest.raises(WorkerFailed, match=r"^it is too difficult$"):
        await embed(process, "!fails")
    assert (await embed(process, "x")).vectors == scripted.row("x")


async def test_half_a_surrogate_pair_is_refused_before_it_is_sent(process: Worker) -> None:
    with pytest.raises(TypeError):
        await embed(process, "\ud800")
    with pytest.raises(TypeError):
        await process.ask(Split("\udfff" * 200_000), Chunks)
    assert (await embed(process, "x")).vectors == scripted.row("x")


@pytest.mark.parametrize(
    "trick",
    ["crash", "garbage", "junk", "number", "kindless", "huge", "half", "other-id", "other-kind"],
)
async def test_a_process_that_fails_is_gone_for_all_who_wait(process: Worker, trick: str) -> None:
    asked = [embed(process, text) for text in (f"!{trick}", "!silent")]
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(error) for error in found] == [WorkerGone, WorkerGone]
    assert "ended unexpectedly" in str(found[0])
    assert not process.alive
    with pytest.raises(WorkerGone):
        await embed(process, "x")
    await until(lambda: process.pid not in processes_below(os.getpid()))


async def test_an_answer_that_nobody_asked_for_ends_the_process(process: Worker) -> None:
    await embed(process, "!twice")
    await until(lambda: not process.alive)


async def test_the_answer_to_one_who_left_is_not_given_to_the_next(
    process: Worker,
) -> None:
    leaver = asyncio.create_task(embed(process, "!slow"))
    await asyncio.sleep(0)
    leaver.cancel()
    assert (await embed(process, "x")).vectors == scripted.row("x")
    await asyncio.gather(leaver, return_exceptions=True)


async def test_the_time_of_a_command_runs_only_while_it_is_at_work(process: Worker) -> None:
    slow = asyncio.create_task(process.ask(Embed(["!slow"]), Embedded, None))
    await asyncio.sleep(0)
    hasty = asyncio.create_task(embed(process, "x", limit_s=5.0))
    await asyncio.gather(slow, hasty)
    assert process._overdue is None
    assert process.alive


async def test_a_frozen_process_is_killed(process: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STOP_S", 0.2)
    os.kill(process.pid, signal.SIGSTOP)
    large = asyncio.create_task(process.ask(Split("x" * 5_000_000), Chunks))
    await asyncio.sleep(0)
    await process.close()
    with pytest.raises(WorkerGone):
        await large


async def test_the_last_words_of_a_process_are_logged(
    process: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(WorkerGone):
        await embed(process, "!crash")
    await process.close()
    assert "status 3: something broke" in caplog.text


async def test_a_process_that_cannot_start_is_an_os_error() -> None:
    with pytest.raises(OSError, match="No such file"):
        await Worker.start(["nowhere/python"])
