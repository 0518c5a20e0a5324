"""Text completions under the setting compat."""

import json

import pytest

from tests.llm.conftest import Start
from tests.llm.serverkit import DONE, Answer, Json, Server, chunks

pytestmark = pytest.mark.asyncio(loop_scope="module")
PATH = "/v1/completions"
RED = "<|im_start|>user\n<red><|im_end|>\n<|im_start|>assistant\n"
SAID = "red1 red2 red3"


async def complete(server: Server, prompt: Json = RED, **fields: Json) -> Answer:
    body = {"model": "recall", "prompt": prompt, "temperature": 0, **fields}
    return await server.request("POST", PATH, json=body)


async def events(server: Server, prompt: Json = RED, **fields: Json) -> list[str]:
    answer = await complete(server, prompt, stream=True, **fields)
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    return [line.removeprefix("data: ") for line in answer.body.decode().split("\n\n") if line]


@pytest.mark.asyncio(loop_scope="function")
async def test_a_plain_start_does_not_have_the_route_and_names_the_setting(server: Server) -> None:
    answer = await complete(server)
    assert answer.status == 404
    assert "compat" in answer.error["message"]


async def test_a_prompt_is_continued_as_it_stands(compat: Server) -> None:
    answer = await complete(compat)
    body = answer.json
    assert answer.status == 200
    assert body["object"] == "text_completion"
    assert body["id"] == f"cmpl-{answer.headers['X-Request-Id']}"
    assert body["choices"] == [{"index": 0, "text": SAID, "finish_reason": "stop"}]
    assert body["usage"]["completion_tokens"] == 3
    asked = await compat.ask("recall", "<red>")
    assert body["usage"]["prompt_tokens"] == asked.json["usage"]["prompt_tokens"]


async def test_the_prompt_is_repeated_when_asked_for(compat: Server) -> None:
    assert (await complete(compat, echo=True)).json["choices"][0]["text"] == RED + SAID
    frames = chunks(await events(compat, echo=True))
    assert "".join(frame["choices"][0]["text"] for frame in frames) == RED + SAID


async def test_several_prompts_and_choices_are_numbered_through(compat: Server) -> None:
    other = RED.replace("red", "gold")
    body = (await complete(compat, [RED, other], n=2)).json
    texts = [(choice["index"], choice["text"]) for choice in body["choices"]]
    gold = "gold1 gold2 gold3"
    assert texts == [(0, SAID), (1, SAID), (2, gold), (3, gold)]
    one = (await complete(compat)).json["usage"]
    assert body["usage"]["completion_tokens"] == 4 * one["completion_tokens"]
    assert body["usage"]["prompt_tokens"] == 2 * one["prompt_tokens"]
    frames = chunks(await events(compat, [RED, other]))
    by_index: dict[int, str] = {}
    for frame in frames:
        choice = frame["choices"][0]
        by_index[choice["index"]] = by_index.get(choice["index"], "") + choice["text"]
    assert by_index == {0: SAID, 1: gold}


async def test_a_stream_ends_in_reasons_usage_and_sentinel(compat: Server) -> None:
    received = await events(compat, stream_options={"include_usage": True})
    *_, last, usage = chunks(received)
    assert last["choices"][0]["finish_reason"] == "stop"
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 3
    assert received[-1] == DONE


async def test_sixteen_tokens_are_made_unless_more_are_asked_for(compat: Server) -> None:
    async def made(**fields: Json) -> Json:
        body = (await complete(compat, model="endless", **fields)).json
        return body["usage"]["completion_tokens"], body["choices"][0]["finish_reason"]

    assert await made() == (16, "length")
    assert await made(max_tokens=20) == (20, "length")


async def test_stop_texts_end_a_completion(compat: Server) -> None:
    assert (await complete(compat, stop=[" red2"])).json["choices"][0]["text"] == "red1"


async def test_what_cannot_be_done_is_a_400_that_names_the_field(compat: Server) -> None:
    cases: list[tuple[Json, str | None]] = [
        ({"prompt": [1, 2]}, "prompt"),
        ({"prompt": [[1, 2]]}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": None}, "prompt"),
        ({"prompt": ["a"] * 65}, "prompt"),
        ({"prompt": ["a"] * 5, "n": 16}, "n"),
        ({"suffix": "end"}, "suffix"),
        ({"n": 0}, "n"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"logit_bias": {"x": 1}}, None),
        ({"frequency_penalty": 3}, "frequency_penalty"),
    ]
    for fields, param in cases:
        body = {"model": "recall", "prompt": RED, **fields}
        answer = await compat.request("POST", PATH, json=body)
        assert answer.status == 400
        if param is not None:
            assert answer.error["param"] == param


@pytest.mark.asyncio(loop_scope="function")
async def test_a_prompt_beyond_the_cap_or_the_budget_is_refused(start: Start) -> None:
    async with start(compat=True, max_prompt_chars=512, default_context=256) as server:
        assert (await complete(server, "x" * 513)).status == 413
        long = await complete(server, ["a", "x" * 500])
        assert long.status == 400
        assert "tokens" in long.error["message"]
        await server.idle()
        assert server.totals_add_up()


async def test_several_chats_are_streamed_with_their_numbers(compat: Server) -> None:
    body = (await compat.ask("recall", "<red>", n=3)).json
    assert [choice["index"] for choice in body["choices"]] == [0, 1, 2]
    assert {choice["message"]["content"] for choice in body["choices"]} == {SAID}
    assert body["usage"]["completion_tokens"] == 9
    assert body["usage"]["prompt_tokens"] == 20
    texts = ["", ""]
    finishes = []
    for line in await compat.stream("recall", "<red>", n=2):
        if line.startswith("{"):
            choice = json.loads(line)["choices"][0]
            texts[choice["index"]] += choice["delta"].get("content", "")
            finishes += [choice["index"]] if "finish_reason" in choice else []
    assert texts == [SAID, SAID]
    assert finishes == [0, 1]


async def test_choices_differ_and_repeat_with_their_seed(compat: Server) -> None:
    async def texts() -> list[str]:
        answer = await compat.ask(
            "noise", "go", n=3, seed=5, temperature=2, max_completion_tokens=12
        )
        return [choice["message"]["content"] for choice in answer.json["choices"]]

    once = await texts()
    assert len(set(once)) == 3
    assert await texts() == once


async def test_a_chat_tells_how_likely_its_tokens_were(compat: Server) -> None:
    answer = await compat.ask("recall", "<red>", logprobs=True, top_logprobs=2)
    tokens = answer.json["choices"][0]["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens) == SAID
    for token in tokens:
        assert bytes(token["bytes"]).decode() == token["token"]
        first, second = token["top_logprobs"]
        assert first["token"] == token["token"]  # greedy
        assert second["logprob"] <= first["logprob"] == token["logprob"] <= 0
    streamed = [
        token
        for frame in chunks(await compat.stream("recall", "<red>", logprobs=True))
        for choice in frame["choices"]
        if "logprobs" in choice
        for token in choice["logprobs"]["content"]
    ]
    assert [token["token"] for token in streamed] == [token["token"] for token in tokens]
    plain = await compat.ask("recall", "<red>")
    assert "logprobs" not in plain.json["choices"][0]
    refused = await compat.ask("recall", "<red>", top_logprobs=2)
    assert (refused.status, refused.error["param"]) == (400, "top_logprobs")


@pytest.mark.parametrize("echo", [False, True])
async def test_a_completion_tells_where_its_likely_tokens_begin(compat: Server, echo: bool) -> None:
    choice = (await complete(compat, logprobs=1, echo=echo)).json["choices"][0]
    told = choice["logprobs"]
    assert len({len(values) for values in told.values()}) == 1
    for token, offset in zip(told["tokens"], told["text_offset"], strict=True):
        assert choice["text"][offset:].startswith(token)
    assert [list(top) for top in told["top_logprobs"]] == [[token] for token in told["tokens"]]
    frames = chunks(await events(compat, logprobs=1, echo=echo))
    offsets = [
        offset
        for frame in frames
        for offset in (frame["choices"][0]["logprobs"] or {}).get("text_offset", [])
    ]
    assert offsets == told["text_offset"]
