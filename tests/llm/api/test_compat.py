"""What the compat settings switch on, and how a client learns of fields without effect."""

from pathlib import Path

import pytest

from tests.llm import tinymodel
from tests.llm.conftest import Start
from tests.llm.serverkit import CHAT, REPLIES, WORDS, Json, Server

pytestmark = pytest.mark.asyncio(loop_scope="module")
HEADER = "X-Ignored-Fields"


async def test_fields_without_effect_are_named_in_one_header(shared: Server) -> None:
    fields: Json = {"n": 2, "tools": [{"bad": 1}], "logit_bias": "no object", "user": "me"}
    fields |= {"logprobs": True, "tool_choice": "required", "frequency_penalty": "loud"}
    fields |= {"response_format": {"type": "json_object"}, "functions": [{}]}
    strange: Json = {"somebodys_own": 1, "X-Evil\r\nA": 1, "ü": 1, "long" * 20: 1}
    answer = await shared.ask("recall", "<red>", stop="never", **fields, **strange)
    assert answer.said == REPLIES["<red>"]
    assert set(answer.json["choices"][0]) == {"index", "message", "finish_reason"}
    fields["somebodys_own"] = 1  # the others could not stand in a header
    assert set(answer.headers[HEADER].split(", ")) == {*fields, "stop"}
    async with shared.streaming("recall", "<red>", n=2) as events:
        assert events.response.headers[HEADER] == "n"


async def test_fields_that_ask_for_nothing_are_not_named(shared: Server) -> None:
    answer = await shared.ask(
        "recall",
        "<red>",
        n=1,
        stop=[],
        logprobs=False,
        tools=[],
        frequency_penalty=0,
        response_format={"type": "text"},
        somebodys_own=[],
        store=False,
    )
    assert answer.status == 200
    assert HEADER not in answer.headers


@pytest.mark.parametrize(
    ("settings", "truncated"),
    [({"compat": True}, "red1"), ({"compat": True, "honor_stop": False}, None)],
)
async def test_one_switch_turns_all_on_and_single_ones_win(
    start: Start, settings: Json, truncated: str | None
) -> None:
    async with start(**settings) as server:
        answer = await server.ask("recall", "<red>", stop=" red2")
        assert (answer.said == truncated) is (truncated is not None)
        assert (HEADER in answer.headers) is (truncated is None)


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
async def test_max_tokens_limits_the_reply_alone_under_compat(compat: Server, field: str) -> None:
    limit: Json = {field: 4}
    answer = await compat.ask("endless", "a prompt of more than four tokens", **limit)
    assert answer.json["usage"]["completion_tokens"] == 4
    assert answer.json["choices"][0]["finish_reason"] == "length"
    assert answer.json["usage"]["prompt_tokens"] > 4


async def test_a_model_list_says_where_chat_templates_come_from_and_what_is_served(
    start: Start, tmp_path: Path
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    tinymodel.write_recall(folder / "own.gguf", WORDS)
    tinymodel.write_recall(folder / "chatml.gguf", WORDS, shape=tinymodel.Shape(template=None))
    base = folder / "base.gguf"
    tinymodel.write_recall(base, WORDS, shape=tinymodel.Shape(template=None))
    base.write_bytes(base.read_bytes().replace(b"<|im_start|>", b"<|no_start|>"))
    async with start(models=folder, default_context=512, compat=True) as server:
        models = (await server.get("/v1/models")).json["data"]
        meta = {model["id"]: model["meta"] for model in models}
        told = {name: meta[name]["chat_template"] for name in ("own", "chatml", "base")}
        assert told == {"own": "file", "chatml": "chatml", "base": "none"}
        assert meta["own"]["n_ctx"] == 512
        turns = [("system", "Be brief."), ("user", "hi"), ("assistant", "yes"), ("user", "on")]
        transcript = (
            "System:\nBe brief.\n\nUser:\nhi\n\nAssistant:\nyes\n\nUser:\non\n\nAssistant:\n"
        )
        chat = await server.ask("base", turns, max_completion_tokens=2)
        body = {"model": "base", "prompt": transcript, "max_tokens": 2, "temperature": 0}
        text = (await server.request("POST", "/v1/completions", json=body)).json
        assert chat.json["usage"]["prompt_tokens"] == text["usage"]["prompt_tokens"]
        assert chat.said == text["choices"][0]["text"]
        (engine,) = (await server.get("/health")).json["engines"]
        assert engine["n_ctx"] == 512


async def test_a_message_of_images_alone_is_refused(shared: Server) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    for parts, status in [([image], 400), ([image, {"type": "text", "text": "<red>"}], 200)]:
        body = {"model": "recall", "messages": [{"role": "user", "content": parts}]}
        answer = await shared.request("POST", CHAT, json=body)
        assert answer.status == status
        if status == 400:
            assert answer.error["param"] == "messages.0.content"
            assert "images" in answer.error["message"]


async def test_an_unknown_architecture_is_named(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    tinymodel.write_random(folder / "new.gguf")
    data = (folder / "new.gguf").read_bytes()
    name = next(name for name in (b"llama", b"qwen2") if name + b".block_count" in data)
    (folder / "new.gguf").write_bytes(data.replace(name, b"zebra"[: len(name)]))
    async with start(models=folder) as server:
        answer = await server.ask("new")
        assert answer.status == 503
        assert "zebra" in answer.error["message"]


async def test_an_image_beside_a_text_is_named_as_ignored(shared: Server) -> None:
    parts = [{"type": "text", "text": "<red>"}, {"type": "image_url", "image_url": {"url": "a:,"}}]
    message: Json = {"role": "user", "content": parts}
    answer = await shared.request("POST", CHAT, json={"model": "recall", "messages": [message]})
    assert answer.status == 200
    assert answer.headers[HEADER] == "messages.content"
