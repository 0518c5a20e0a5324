"""Blocking replies: their shape, and what the fields of a request do."""

import time

import pytest

from tests.llm.conftest import Start
from tests.llm.serverkit import CHAT, REPLIES, Json, Server, chat

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_reply_has_the_shape_that_clients_parse(shared: Server) -> None:
    before = int(time.time())
    answer = await shared.ask("recall", "<green>")

    body = answer.json
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert body["id"] == f"chatcmpl-{answer.headers['X-Request-Id']}"
    assert body["object"] == "chat.completion"
    assert before <= body["created"] <= time.time()
    assert body["model"] == "recall"
    reply = {"role": "assistant", "content": REPLIES["<green>"]}
    assert body["choices"] == [{"index": 0, "message": reply, "finish_reason": "stop"}]
    assert body["system_fingerprint"].startswith("fp_")
    assert set(body) == {
        *("id", "object", "created", "model", "choices"),
        *("usage", "system_fingerprint", "timings"),
    }


@pytest.mark.asyncio(loop_scope="function")
async def test_usage_and_timings_count_the_same_tokens(server: Server) -> None:
    body = (await server.ask("recall", "<green>")).json

    usage, timings = body["usage"], body["timings"]
    assert usage == {
        "prompt_tokens": 20,
        "completion_tokens": 3,
        "total_tokens": 23,
        "prompt_tokens_details": {"cached_tokens": 0},
    }
    assert (timings["prompt_n"], timings["cache_n"], timings["predicted_n"]) == (20, 0, 3)
    for name in ("queue_ms", "load_ms", "prompt_ms", "first_token_ms", "predicted_ms"):
        assert timings[name] >= 0
    assert timings["load_ms"] > 0


async def test_instructions_reach_the_model_wherever_they_stand(shared: Server) -> None:
    for role in ["system", "developer"]:
        first = await shared.ask("recall", [(role, "<blue>"), ("user", "hi")])
        later = await shared.ask(
            "recall",
            [(role, "a"), ("user", "b"), ("assistant", "c"), (role, "<gold>"), ("user", "d")],
        )
        assert (first.said, later.said) == (REPLIES["<blue>"], REPLIES["<gold>"])


async def test_null_is_as_good_as_absent(shared: Server) -> None:
    optional = (
        *("stream", "stream_options", "session_id", "temperature", "top_k", "top_p"),
        *("max_tokens", "max_completion_tokens", "seed", "stop"),
    )
    answer = await shared.ask("recall", "<red>", **dict.fromkeys(optional))
    assert answer.status == 200


async def test_the_last_of_two_equal_keys_wins(shared: Server) -> None:
    body = (
        b'{"model": "nothing", "model": "recall", "temperature": 0,'
        b' "messages": [{"role": "user", "content": "<red>", "content": "<gold>"}]}'
    )
    assert (await shared.request("POST", CHAT, data=body)).said == REPLIES["<gold>"]


async def test_the_stricter_budget_ends_the_reply(shared: Server) -> None:
    cases: list[tuple[Json, int]] = [
        ({"max_completion_tokens": 2}, 2),
        ({"max_tokens": 25}, 4),
        ({"max_tokens": 25, "max_completion_tokens": 2}, 2),
        ({"max_tokens": 22, "max_completion_tokens": 9}, 1),
    ]
    for fields, tokens in cases:
        usage = (await shared.ask("endless", "xx", **fields)).json["usage"]
        assert (usage["prompt_tokens"], usage["completion_tokens"]) == (21, tokens)


@pytest.mark.asyncio(loop_scope="function")
async def test_a_budget_above_the_models_own_is_pulled_to_it(server: Server) -> None:
    for wanted in (2048, 2049, 1 << 31):
        assert (await server.ask("recall", "<red>", max_tokens=wanted)).status == 200
    keys = [engine.key for engine in server.service.pool.list_engines()]
    assert keys == ["recall_2048_LOCAL_CPU"]


async def test_stop_texts_end_the_reply_where_the_settings_honour_them(start: Start) -> None:
    async with start(honor_stop=True) as server:
        one = await server.ask("recall", "<red>", stop="red2")
        many = await server.ask("recall", "<red>", stop=["nothing", "d3", ""])
        none = await server.ask("recall", "<red>", stop=[])
        events = await server.stream("recall", "<red>", stop=["red2"])
    assert (one.said, many.said, none.said) == ("red1 ", "red1 red2 re", REPLIES["<red>"])
    assert not any("red2" in event for event in events)


async def test_the_defaults_of_the_sampler_are_those_of_the_settings(start: Start) -> None:
    plain: Json = {"temperature": None, "seed": 5, "max_completion_tokens": 30}
    async with start(temperature=0.0) as server:
        greedy = {(await server.ask("noise", **plain | {"seed": s})).said for s in (1, 2, 3)}
    async with start(temperature=1.5, top_k=1) as server:
        only_one = {(await server.ask("noise", **plain | {"seed": s})).said for s in (1, 2, 3)}
    async with start(temperature=1.5) as server:
        free = {(await server.ask("noise", **plain | {"seed": s})).said for s in (1, 2, 3)}
        unseeded = {
            (await server.ask("noise", temperature=1.5, max_completion_tokens=30)).said
            for _ in range(3)
        }
    assert greedy == only_one
    assert len(greedy) == 1
    assert len(free) == len(unseeded) == 3


@pytest.mark.asyncio(loop_scope="function")
async def test_the_head_says_who_waits_and_the_estimate_follows_the_mean(server: Server) -> None:
    for seconds in (1.0, 3.0):
        server.service.chats.local.note_completion(seconds)
    async with server.streaming("endless") as first, server.streaming("endless") as second:
        third = await server.request("POST", CHAT, json=chat("embed"))
        heads = [first.response.headers, second.response.headers, third.headers]
    assert [head["X-Queue-Position"] for head in heads] == ["1", "2", "3"]
    assert [head["X-Queue-Depth"] for head in heads] == ["1", "2", "3"]
    assert [head["X-Estimated-Wait-Ms"] for head in heads] == ["0", "2000", "4000"]
