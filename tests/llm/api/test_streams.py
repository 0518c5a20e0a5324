"""The frames of a chat stream, and what a client sees while it waits for them."""

import asyncio
import json
import os
import signal

import pytest

from runtime.llm.engine.process import Worker
from tests.llm.conftest import Start
from tests.llm.serverkit import CHAT, DONE, KA, REPLIES, Json, Server, chat, chunks, joined
from tests.waiting import until

FIELDS = {"id", "object", "created", "model", "choices"}
pytestmark = pytest.mark.asyncio(loop_scope="module")
QUICK = {"heartbeat_ms": 20}


async def test_a_stream_begins_with_the_role_and_ends_with_a_reason_and_the_sentinel(
    shared: Server,
) -> None:
    events = await shared.stream("recall", "<green>")

    first, *texts, last = chunks(events)
    assert events[-1] == DONE
    assert first["choices"] == [{"index": 0, "delta": {"role": "assistant"}}]
    assert last["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    for frame in texts:
        (choice,) = frame["choices"]
        assert set(choice) == {"index", "delta"}
        assert set(choice["delta"]) == {"content"}
        assert choice["delta"]["content"]
    assert joined(events) == REPLIES["<green>"]


async def test_every_frame_has_the_same_id_time_and_model(shared: Server) -> None:
    async with shared.streaming("recall", "<red>") as events:
        number = events.response.headers["X-Request-Id"]
        frames = chunks(await events.rest())

    assert all(set(frame) == FIELDS for frame in frames)
    assert {frame["id"] for frame in frames} == {f"chatcmpl-{number}"}
    assert {frame["object"] for frame in frames} == {"chat.completion.chunk"}
    assert {frame["model"] for frame in frames} == {"recall"}
    assert len({frame["created"] for frame in frames}) == 1
    assert isinstance(frames[0]["created"], int)


async def test_a_stream_is_one_line_a_frame_and_ends_cleanly(shared: Server) -> None:
    async with shared.streaming("recall", "<red>") as events:
        await events.rest()
        headers = events.response.headers

    assert headers["Content-Type"].startswith("text/event-stream")
    assert headers["Cache-Control"] == "no-cache, no-transform"
    assert headers["X-Accel-Buffering"] == "no"
    assert "Content-Encoding" not in headers
    assert b"\r" not in events.raw
    assert events.raw.endswith(b"\n\ndata: [DONE]\n\n")
    assert all(
        block.startswith((b"data: {", b": ka", b"data: [D")) or not block
        for block in events.raw.split(b"\n\n")
    )


@pytest.mark.asyncio(loop_scope="function")
async def test_the_usage_comes_behind_the_finish_and_only_if_asked_for(server: Server) -> None:
    for options, told in [
        ({"include_usage": True}, True),
        ({"include_usage": False}, False),
        ({}, False),
        (None, False),
    ]:
        events = await server.stream("recall", "<red>", stream_options=options)
        whole = await server.ask("recall", "<red>", headers={"X-Client-Id": "another"})

        frames = chunks(events)
        if told:
            *frames, usage = frames
            assert usage["choices"] == []
            assert usage["usage"] == whole.json["usage"]
            assert set(usage) == FIELDS | {"usage"}
        assert frames[-1]["choices"][0]["finish_reason"] == "stop"
        assert all("usage" not in frame for frame in frames)


async def test_the_stream_adds_up_to_the_blocking_text_of_the_same_seed(shared: Server) -> None:
    for temperature in [0, 0.8, 2]:
        texts = set()
        for seed in (0, 1, 2**32 - 1, -1, 7):
            fields: Json = {"seed": seed, "temperature": temperature, "max_completion_tokens": 60}
            events = await shared.stream("noise", "tell me", **fields)
            whole = await shared.ask("noise", "tell me", **fields)
            assert joined(events) == whole.said
            texts.add(whole.said)

        assert len(texts) == (1 if temperature == 0 else 3)  # of 32 set bits, as in 0 or -1, one


async def test_a_character_of_several_bytes_never_splits(shared: Server) -> None:
    events = await shared.stream("recall", "<blue>")

    pieces = [c["choices"][0]["delta"].get("content", "") for c in chunks(events)]
    assert "".join(pieces) == "bl\N{LATIN SMALL LETTER U WITH DIAERESIS}e \N{CHEQUERED FLAG}"
    assert not any("\ufffd" in piece for piece in pieces)


async def test_the_queue_is_told_in_the_head_before_the_first_event(start: Start) -> None:
    async with start(**QUICK) as server, server.streaming("endless") as running:
        await running.piece()
        async with server.streaming("recall", "<red>") as waiting:
            headers = waiting.response.headers  # they are here while nothing has been generated
            assert headers["X-Queue-Position"] == "2"
            assert headers["X-Queue-Depth"] == "2"
            assert headers["X-Estimated-Wait-Ms"] == "0"  # nothing has completed yet
            assert [await waiting.next() for _ in range(3)] == [KA] * 3
            running.response.close()
            assert joined(await waiting.rest()) == REPLIES["<red>"]


async def test_a_stream_that_waits_for_its_model_begins_when_the_patience_is_over(
    start: Start,
) -> None:
    async with start(**QUICK, stream_commit_ms=50) as server:
        go_on = asyncio.Event()

        async def later() -> Worker:
            await go_on.wait()
            return await Worker.start()

        server.service.pool._start_worker = later
        async with server.streaming("recall", "<red>") as events:
            assert events.response.status == 200
            assert events.response.headers["X-Queue-Position"] == "1"
            assert [await events.next() for _ in range(3)] == [KA] * 3
            go_on.set()
            assert joined(await events.rest()) == REPLIES["<red>"]


async def test_heartbeats_go_on_while_the_prompt_is_prefilled(start: Start) -> None:
    async with start(**QUICK) as server:
        assert (await server.ask("endless", max_completion_tokens=1)).status == 200
        long = "x" * 30_000  # takes many seconds, unless its client leaves
        async with server.streaming("endless", long, max_completion_tokens=2) as events:
            assert '"role"' in await events.data()
            assert [await events.next() for _ in range(3)] == [KA] * 3


@pytest.mark.parametrize("commit_ms", [0, 10_000])
async def test_a_failure_has_a_status_before_the_commit_and_is_a_frame_after_it(
    start: Start, commit_ms: int
) -> None:
    async with start(stream_commit_ms=commit_ms) as server:
        body = chat("embed", stream=True)
        answer = await server.request("POST", CHAT, json=body)

    assert answer.headers["X-Queue-Position"] == "1"
    if commit_ms:
        assert answer.status == 503
        error = answer.error
    else:
        assert answer.status == 200
        *_, frame, sentinel, end = answer.body.decode().split("\n\n")
        assert (sentinel, end) == ("data: [DONE]", "")
        error = json.loads(frame.removeprefix("data: "))["error"]
        assert answer.body.count(b"data: ") == 2
    assert error["code"] == "LOCAL_INIT_FAILED"
    assert error["next_steps"]


@pytest.mark.asyncio(loop_scope="function")
async def test_an_engine_that_dies_in_mid_stream_is_an_error_frame_and_the_next_request_works(
    server: Server,
) -> None:
    async with server.streaming("endless") as events:
        await events.piece()
        (engine,) = server.service.pool.list_engines()
        os.kill(engine.worker.pid, signal.SIGKILL)
        *_, failure, sentinel = await events.rest()
    again = await server.ask("endless", "<gold>", max_completion_tokens=3)

    error = json.loads(failure)["error"]
    assert sentinel == DONE
    assert (error["type"], error["code"]) == ("server_error", 500)
    assert "process ended" in error["message"]
    assert again.said == REPLIES["<gold>"]
    totals = server.service.admission.totals
    assert (totals.errored, totals.completed) == (1, 1)


@pytest.mark.asyncio(loop_scope="function")
async def test_an_engine_that_dies_is_a_500_for_a_blocking_request(server: Server) -> None:
    waiting = asyncio.ensure_future(server.ask("endless"))
    await until(lambda: server.service.chats.local.running == 1)
    (engine,) = server.service.pool.list_engines()
    os.kill(engine.worker.pid, signal.SIGKILL)
    answer = await waiting

    assert answer.status == 500
    assert answer.error["type"] == "server_error"
    assert (await server.ask("recall", "<gold>")).said == REPLIES["<gold>"]


@pytest.mark.parametrize(("report", "reason"), [(False, "stop"), (True, "length")])
async def test_a_cut_by_the_budget_is_a_marked_stop_unless_the_settings_say_length(
    start: Start, report: bool, reason: str
) -> None:
    async with start(report_length=report) as server:
        events = await server.stream("endless", max_completion_tokens=2)
        whole = await server.ask("endless", max_completion_tokens=2)
        ended = await server.ask("recall", "<red>")

    cut = {"index": 0, "delta": {}, "finish_reason": reason, "truncated": True}
    assert chunks(events)[-1]["choices"] == [cut]
    assert whole.json["choices"][0]["truncated"] is True
    assert whole.json["choices"][0]["finish_reason"] == reason
    assert "truncated" not in ended.json["choices"][0]
