"""An encoder process as the server holds it, with a child that plays tricks."""

import asyncio
import logging
import os
import signal
import sys
from collections.abc import AsyncIterator, Iterator

import psutil
import pytest
from blockbuster import blockbuster_ctx
from hypothesis import given
from hypothesis import strategies as st

from runtime.llm.embed import process as module
from runtime.llm.embed.errors import BadText
from runtime.llm.embed.process import (
    EncoderFailed,
    EncoderGone,
    EncoderProcess,
    EncoderSilent,
    Unpacker,
)
from runtime.llm.embed.protocol import (
    LENGTHS,
    MAX_BODY,
    MAX_HEAD,
    Chunks,
    Embed,
    Embedded,
    Load,
    Loaded,
    Split,
    encode,
)
from tests.llm.embed import scripted
from tests.llm.serverkit import processes_below, until

ANSWER_S = 30.0


@pytest.fixture(autouse=True)
def nothing_blocks_the_loop() -> Iterator[None]:
    with blockbuster_ctx("runtime"):
        yield


@pytest.fixture
async def process() -> AsyncIterator[EncoderProcess]:
    """A child that is gone afterwards, and everything that belonged to it."""
    descriptors = psutil.Process().num_fds()
    tasks = len(asyncio.all_tasks())
    started = await scripted.start()
    yield started
    await started.close()
    assert started.pid not in processes_below(os.getpid())
    await until(lambda: psutil.Process().num_fds() <= descriptors)
    await until(lambda: len(asyncio.all_tasks()) <= tasks)


def embed(process: EncoderProcess, *texts: str) -> Embed:
    return Embed(process.next_id(), list(texts))


async def test_commands_are_answered_with_their_bytes(process: EncoderProcess) -> None:
    load = Load(process.next_id(), "model.onnx", None, 1, None, None)
    assert await process.ask(load, ANSWER_S) == (Loaded(1, scripted.WIDTH, 128), b"")

    framed = await process.ask(embed(process, "one two", "x"), ANSWER_S)
    assert framed.message == Embedded(2, 4, [4, 3], 0)
    assert framed.body == scripted.row("one two") + scripted.row("x")

    framed = await process.ask(Split(process.next_id(), "a\n\nb"), ANSWER_S)
    assert framed == (Chunks(3, ["a", "b"]), b"")
    assert process.alive


async def test_answers_come_in_order_to_those_who_asked(process: EncoderProcess) -> None:
    asked = [process.ask(embed(process, "x" * n), ANSWER_S) for n in range(1, 20)]
    answers = await asyncio.gather(*asked)
    assert [framed.body for framed in answers] == [scripted.row("x" * n) for n in range(1, 20)]


async def test_large_texts_go_both_ways(process: EncoderProcess) -> None:
    text = "\n\n".join(["word " * 80] * 3000)
    framed = await process.ask(Split(process.next_id(), text), ANSWER_S)
    assert isinstance(framed.message, Chunks)
    assert "\n\n".join(framed.message.texts) == text


async def test_an_answer_in_tiny_bits_is_put_together(process: EncoderProcess) -> None:
    framed = await process.ask(embed(process, "!slow"), ANSWER_S)
    assert framed.body == scripted.row("!slow")


async def test_a_command_that_fails_leaves_the_process_alive(process: EncoderProcess) -> None:
    with pytest.raises(EncoderFailed, match=r"^it is too difficult$"):
        await process.ask(embed(process, "!fails"), ANSWER_S)
    assert (await process.ask(embed(process, "x"), ANSWER_S)).body == scripted.row("x")


async def test_half_a_surrogate_pair_is_refused_before_it_is_sent(process: EncoderProcess) -> None:
    with pytest.raises(BadText):
        await process.ask(embed(process, "\ud800"), ANSWER_S)
    with pytest.raises(BadText):
        await process.ask(Split(process.next_id(), "\udfff" * 200_000), ANSWER_S)
    assert (await process.ask(embed(process, "x"), ANSWER_S)).body == scripted.row("x")


@pytest.mark.parametrize(
    "trick",
    ["crash", "garbage", "junk", "number", "kindless", "huge", "half", "other-id"],
)
async def test_a_process_that_fails_is_gone_for_all_who_wait(
    process: EncoderProcess, trick: str
) -> None:
    asked = [process.ask(embed(process, text), ANSWER_S) for text in (f"!{trick}", "!silent")]
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(error) for error in found] == [EncoderGone, EncoderGone]
    assert str(found[0]) == "the embedding process ended unexpectedly"
    assert not process.alive
    with pytest.raises(EncoderGone):
        await process.ask(embed(process, "x"), ANSWER_S)
    await until(lambda: process.pid not in processes_below(os.getpid()))


async def test_an_answer_that_nobody_asked_for_ends_the_process(process: EncoderProcess) -> None:
    await process.ask(embed(process, "!twice"), ANSWER_S)
    await until(lambda: not process.alive)


async def test_a_silent_process_is_killed(process: EncoderProcess) -> None:
    with pytest.raises(EncoderSilent):
        await process.ask(embed(process, "!silent"), 0.2)
    assert not process.alive


async def test_a_silent_process_is_killed_even_if_nobody_waits_any_more(
    process: EncoderProcess,
) -> None:
    leaver = asyncio.create_task(process.ask(embed(process, "!silent"), 0.2))
    await asyncio.sleep(0)
    leaver.cancel()
    await asyncio.gather(leaver, return_exceptions=True)
    await until(lambda: not process.alive)


async def test_the_answer_to_one_who_left_is_not_given_to_the_next(
    process: EncoderProcess,
) -> None:
    leaver = asyncio.create_task(process.ask(embed(process, "!slow"), ANSWER_S))
    await asyncio.sleep(0)
    leaver.cancel()
    assert (await process.ask(embed(process, "x"), ANSWER_S)).body == scripted.row("x")
    await asyncio.gather(leaver, return_exceptions=True)


@pytest.mark.parametrize("text", ["x", "!crash"])
async def test_the_time_limit_ends_with_the_answer_or_the_process(
    process: EncoderProcess, text: str
) -> None:
    task = asyncio.create_task(process.ask(embed(process, text), ANSWER_S))
    await asyncio.sleep(0)
    (asked,) = process._asked
    await asyncio.gather(task, return_exceptions=True)
    assert asked.overdue.cancelled()


async def test_a_killed_process_is_gone_at_once(process: EncoderProcess) -> None:
    asked = asyncio.create_task(process.ask(embed(process, "!silent"), ANSWER_S))
    await asyncio.sleep(0)
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(EncoderGone):
        await asked


async def test_a_process_that_ignores_the_end_of_its_socket_is_killed(
    process: EncoderProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STOP_S", 0.2)
    asked = asyncio.create_task(process.ask(embed(process, "!stubborn"), ANSWER_S))
    await asyncio.sleep(0)
    await process.close()
    with pytest.raises(EncoderGone):
        await asked
    assert process.pid not in processes_below(os.getpid())


async def test_a_frozen_process_is_killed(
    process: EncoderProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "STOP_S", 0.2)
    os.kill(process.pid, signal.SIGSTOP)
    large = asyncio.create_task(process.ask(Split(process.next_id(), "x" * 5_000_000), ANSWER_S))
    await asyncio.sleep(0)
    await process.close()
    with pytest.raises(EncoderGone):
        await large


async def test_the_last_words_of_a_process_are_logged(
    process: EncoderProcess, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(EncoderGone):
        await process.ask(embed(process, "!crash"), ANSWER_S)
    await process.close()
    assert "status 3: something broke" in caplog.text


async def test_a_process_that_is_told_to_end_has_no_last_words(
    process: EncoderProcess, caplog: pytest.LogCaptureFixture
) -> None:
    await process.close()
    await process.close()
    assert not process.alive
    assert caplog.text == ""


async def test_a_process_that_cannot_start_is_an_os_error() -> None:
    with pytest.raises(OSError, match="No such file"):
        await EncoderProcess.start(["nowhere/python"])


async def test_a_process_that_ends_at_once_is_gone() -> None:
    process = await EncoderProcess.start([sys.executable, "-c", "raise SystemExit(4)"])
    with pytest.raises(EncoderGone):
        await process.ask(embed(process, "x"), ANSWER_S)
    await process.close()


async def test_a_start_that_is_given_up_leaves_no_process() -> None:
    before = processes_below(os.getpid())
    for steps in (0, 1, 2, 5, 20, 100):
        task = asyncio.ensure_future(scripted.start())
        for _ in range(steps):
            await asyncio.sleep(0.0005)
        task.cancel()
        (found,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(found, EncoderProcess):
            await found.close()
    assert processes_below(os.getpid()) == before


@given(
    st.lists(st.tuples(st.text(max_size=50), st.binary(max_size=80)), max_size=6),
    st.lists(st.integers(1, 40), min_size=1),
)
def test_messages_are_found_however_the_stream_is_cut(
    messages: list[tuple[str, bytes]], steps: list[int]
) -> None:
    framed = [encode(Split(number, text), body) for number, (text, body) in enumerate(messages)]
    stream = b"".join(framed)
    unpacker, found, at, turn = Unpacker(), [], 0, 0
    while at < len(stream):
        step = steps[turn % len(steps)]
        found += unpacker.feed(stream[at : at + step])
        at, turn = at + step, turn + 1
    again = [LENGTHS.pack(len(head), len(body)) + head + body for head, body in found]
    assert again == framed


@pytest.mark.parametrize("sizes", [(MAX_HEAD + 1, 0), (0, MAX_BODY + 1), (2**32 - 1, 2**32 - 1)])
def test_a_length_that_no_message_has_is_refused_before_its_bytes_come(
    sizes: tuple[int, int],
) -> None:
    with pytest.raises(ValueError, match="too long"):
        Unpacker().feed(LENGTHS.pack(*sizes))
