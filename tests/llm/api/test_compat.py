"""What the compat settings switch on, and how a client learns of fields without effect."""

import pytest

from tests.llm.conftest import Start
from tests.llm.serverkit import Json, Server

HEADER = "X-Ignored-Fields"


async def test_fields_without_effect_are_named_in_one_header(server: Server) -> None:
    fields: Json = {"n": 2, "tools": [{"bad": 1}], "logit_bias": "no object", "user": "me"}
    answer = await server.ask("recall", "<red>", stop="never", **fields)
    assert answer.status == 200
    assert set(answer.headers[HEADER].split(", ")) == {*fields, "stop"}
    async with server.streaming("recall", "<red>", n=2) as events:
        assert events.response.headers[HEADER] == "n"


async def test_fields_that_ask_for_nothing_are_not_named(server: Server) -> None:
    answer = await server.ask(
        "recall",
        "<red>",
        n=1,
        stop=[],
        logprobs=False,
        tools=[],
        frequency_penalty=0,
        response_format={"type": "text"},
        modalities=["text"],
        somebodys_own=1,
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
async def test_max_tokens_limits_the_reply_alone_under_compat(start: Start, field: str) -> None:
    async with start(compat=True) as server:
        limit: Json = {field: 4}
        answer = await server.ask("endless", "a prompt of more than four tokens", **limit)
        assert answer.json["usage"]["completion_tokens"] == 4
        assert answer.json["choices"][0]["finish_reason"] == "length"
        assert answer.json["usage"]["prompt_tokens"] > 4
