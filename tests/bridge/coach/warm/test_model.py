"""The model client: every call ends, and is noted."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from runtime.bridge.coach.warm.model import Endpoint, Message, ModelClient, ModelFailed
from runtime.bridge.storage.coaching import ModelCall
from tests.bridge.coach.warm.modelkit import (
    Behaviour,
    babbles,
    breaks_off,
    closed_port,
    drips,
    hangs,
    lines_of,
    raw,
    says,
    serving,
)

HELLO: list[Message] = [{"role": "user", "content": "hello"}]


@asynccontextmanager
async def asking(
    url: str, timeout_s: float = 30.0, prompt_log: Path | None = None
) -> AsyncIterator[tuple[ModelClient, list[ModelCall]]]:
    noted: list[ModelCall] = []

    async def record(row: ModelCall) -> None:
        noted.append(row)

    client = ModelClient(Endpoint(url, timeout_s=timeout_s), record, prompt_log=prompt_log)
    try:
        yield client, noted
    finally:
        await client.close()


def limit_s(reason: str) -> float:
    """Little for a server that never answers; else more than a busy machine takes."""
    return 0.4 if reason == "timeout" else 30.0


async def whole(client: ModelClient) -> str:
    async with client.call("ask", "post_session", HELLO) as call:
        return await call.text()


async def streamed(client: ModelClient) -> str:
    async with client.call("ask", "post_session", HELLO) as call:
        return "".join([piece async for piece in call.stream()])


async def test_an_answer_comes_whole_and_in_pieces() -> None:
    async with serving(says("Brake later.")) as server, asking(server.url) as (client, noted):
        assert await whole(client) == "Brake later."
        assert await streamed(client) == "Brake later."
        assert [row.completion_chars for row in noted] == [12, 12]
        assert not any(row.fell_back for row in noted)
        assert server.seen[0]["model"] == "scripted"
        assert client.state.up
        assert client.state.model == "scripted"


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (hangs, "timeout"),
        (drips, "timeout"),
        (babbles, "too_long"),
        (says("   "), "empty"),
        (raw(b"<html>"), "bad_reply"),
        (raw(b"[" * 100_000), "bad_reply"),
        (raw(b'{"choices": []}'), "bad_reply"),
        (raw(b'{"choices": [{"message": {"content": 7}}]}'), "bad_reply"),
        (raw(b"busy", 503), "bad_reply"),
        (says("x" * 7000), "too_long"),
    ],
)
async def test_whatever_the_server_does_the_call_ends_and_is_noted(
    behaviour: Behaviour, reason: str
) -> None:
    async with serving(behaviour) as server, asking(server.url, limit_s(reason)) as (client, noted):
        with pytest.raises(ModelFailed) as failed:
            await whole(client)
        assert failed.value.reason == reason
        assert [(row.reason, row.fell_back) for row in noted] == [(reason, True)]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (hangs, "timeout"),
        (drips, "timeout"),
        (babbles, "too_long"),
        (breaks_off, "bad_reply"),
        (raw(b"<html>\n"), "bad_reply"),
        (raw(b'data: {"error": "no"}\n\n'), "bad_reply"),
        (raw(b"data: [DONE]\n\n"), "empty"),
    ],
)
async def test_a_stream_ends_too(behaviour: Behaviour, reason: str) -> None:
    async with serving(behaviour) as server, asking(server.url, limit_s(reason)) as (client, noted):
        with pytest.raises(ModelFailed) as failed:
            await streamed(client)
        assert failed.value.reason == reason
        assert [row.reason for row in noted] == [reason]


@pytest.mark.parametrize(("url", "reason"), [("", "off"), (closed_port(), "model_unreachable")])
async def test_a_call_that_never_left_is_noted(url: str, reason: str) -> None:
    async with asking(url) as (client, noted):
        with pytest.raises(ModelFailed) as failed:
            await whole(client)
        assert failed.value.reason == reason
        assert noted[0].reason == reason
        assert noted[0].prompt_chars == 5
        assert not client.state.up


async def test_one_is_at_work_four_wait_and_the_next_is_refused_at_once() -> None:
    release = asyncio.Event()

    async def waits(request):  # type: ignore[no-untyped-def]
        await release.wait()
        return await says("Good.")(request)

    async with serving(waits) as server, asking(server.url) as (client, noted):
        calls = [asyncio.create_task(whole(client)) for _ in range(5)]
        await server.busy.wait()
        with pytest.raises(ModelFailed) as refused:
            await whole(client)
        assert refused.value.reason == "busy"
        release.set()
        assert await asyncio.gather(*calls) == ["Good."] * 5
        assert server.most == 1
        assert sorted(row.reason or "" for row in noted) == ["", "", "", "", "", "busy"]


async def test_waiting_for_the_turn_ends_with_the_time_of_the_call() -> None:
    async with serving(hangs) as server, asking(server.url, 0.3) as (client, _):
        results = await asyncio.gather(*(whole(client) for _ in range(3)), return_exceptions=True)
        assert {one.reason for one in results if isinstance(one, ModelFailed)} <= {
            "busy",
            "timeout",
        }
        assert len(results) == 3


@pytest.mark.parametrize("way", [whole, streamed])
async def test_a_cancelled_call_leaves_the_server_and_is_noted(way) -> None:  # type: ignore[no-untyped-def]
    async with serving(hangs) as server, asking(server.url, 60.0) as (client, noted):
        task = asyncio.create_task(way(client))
        await server.busy.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(30):
            await server.gone.wait()
        await client.close()
        assert noted[0].error == "cancelled"


async def test_a_reader_that_is_slow_costs_no_answer() -> None:
    async with serving(says("Look far ahead.")) as server, asking(server.url) as (client, _):
        async with client.call("ask", "post_session", HELLO) as call:
            pieces = []
            async for piece in call.stream():
                await asyncio.sleep(0.01)
                pieces.append(piece)
        assert "".join(pieces) == "Look far ahead."


async def test_prompts_are_written_down_where_that_is_asked_for(tmp_path: Path) -> None:
    log = tmp_path / "prompts.jsonl"
    async with serving(says("Good.")) as server, asking(server.url, 30.0, log) as (client, _):
        await whole(client)
        await streamed(client)
    written = lines_of(log)
    assert len(written) == 2
    assert written[0]["messages"] == HELLO
    assert written[1]["answer"] == "Good."
