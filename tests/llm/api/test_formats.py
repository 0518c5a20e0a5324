"""Replies held to a schema or a grammar over HTTP, and requests that cannot be held to theirs."""

import re

import jsonschema
import orjson
import pytest

from tests.llm.conftest import Start
from tests.llm.serverkit import Json, Server

pytestmark = pytest.mark.asyncio(loop_scope="module")
SCHEMA: Json = {
    "type": "object",
    "properties": {
        "gear": {"type": "integer", "minimum": 1, "maximum": 6},
        "kind": {"enum": ["fast", "slow"]},
    },
    "required": ["gear", "kind"],
    "additionalProperties": False,
}
HOT: Json = {"temperature": 1.5, "top_k": 0, "top_p": 1.0}


def schema_format(schema: Json, **more: object) -> Json:
    named = {"name": "corner", "strict": True, "schema": schema}
    return {"response_format": {"type": "json_schema", "json_schema": named}, **more}


async def test_a_reply_is_json_of_the_schema(compat: Server) -> None:
    for seed in range(5):
        answer = await compat.ask("noise", "hi", **schema_format(SCHEMA, seed=seed), **HOT)
        assert answer.status == 200, answer.json
        jsonschema.validate(orjson.loads(answer.said), SCHEMA)
        assert answer.json["choices"][0]["finish_reason"] == "stop"


async def test_each_of_several_choices_is_held(compat: Server) -> None:
    answer = await compat.ask("noise", "hi", n=2, **schema_format(SCHEMA), **HOT)
    texts = [choice["message"]["content"] for choice in answer.json["choices"]]
    assert len(texts) == 2
    for text in texts:
        jsonschema.validate(orjson.loads(text), SCHEMA)


async def test_a_reply_that_the_budget_cuts_says_length(compat: Server) -> None:
    fields = schema_format({"type": "string", "minLength": 100}, max_completion_tokens=5)
    choice = (await compat.ask("noise", "hi", **fields, **HOT)).json["choices"][0]
    assert (choice["finish_reason"], choice["truncated"]) == ("length", True)


async def test_a_reply_is_held_to_a_grammar(compat: Server) -> None:
    grammar = 'root ::= "gear " [1-6] ("!" | "?")'
    answer = await compat.ask("noise", "hi", grammar=grammar, **HOT)
    assert re.fullmatch("gear [1-6][!?]", answer.said)


async def test_what_cannot_be_held_is_a_bad_request(compat: Server) -> None:
    for fields, words in [
        (schema_format({"not": {}}), "not"),
        (schema_format({"type": "array", "uniqueItems": True}), "uniqueItems"),
        (schema_format({"$ref": "http://127.0.0.1:9/x"}), "$ref"),
        ({"grammar": "root ::= ("}, "bracket"),
        ({"grammar": "a ::= b"}, "root"),
        ({"response_format": {"type": "xml"}}, "response_format"),
    ]:
        answer = await compat.ask("noise", "hi", **fields)
        assert answer.status == 400
        assert words in answer.error["message"]


@pytest.mark.asyncio(loop_scope="function")
async def test_a_daemon_as_the_system_model_cannot_be_held(start: Start) -> None:
    fields = schema_format(SCHEMA)
    async with start(compat=True) as server:
        answer = await server.ask("sysmodel-builtin", "hi", **fields)
    assert answer.status == 400
    assert answer.error["param"] == "response_format"


@pytest.mark.asyncio(loop_scope="function")
async def test_without_the_setting_a_format_has_no_effect(server: Server) -> None:
    answer = await server.ask("recall", "<red>", **schema_format({"not": {}}))
    assert answer.status == 200
    assert answer.headers["X-Ignored-Fields"] == "response_format"
