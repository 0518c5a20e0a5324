"""The Responses interface under the setting compat."""

import json

import pytest

from tests.llm.serverkit import DONE, Answer, Json, Server

pytestmark = pytest.mark.asyncio(loop_scope="module")
PATH = "/v1/responses"
SAID = "red1 red2 red3"


async def respond(server: Server, given: Json = "<red>", **fields: Json) -> Answer:
    body = {"model": "recall", "input": given, "temperature": 0, **fields}
    return await server.request("POST", PATH, json=body)


async def events(server: Server, given: Json = "<red>", **fields: Json) -> list[Json]:
    """The data of each event, whose name must be its type."""
    answer = await respond(server, given, stream=True, **fields)
    *told, last, nothing = answer.body.decode().split("\n\n")
    assert (last, nothing) == (f"data: {DONE}", "")
    read = []
    for text in told:
        name, _, data = text.partition("\n")
        read.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {read[-1]['type']}"
    return read


@pytest.mark.asyncio(loop_scope="function")
async def test_a_plain_start_does_not_have_the_route_and_names_the_setting(server: Server) -> None:
    answer = await respond(server)
    assert answer.status == 404
    assert "compat" in answer.error["message"]


async def test_a_text_gets_one_message(compat: Server) -> None:
    answer = await respond(compat, instructions="Be brief.")
    body = answer.json
    assert body["object"] == "response"
    assert body["status"] == "completed"
    assert body["id"] == f"resp_{answer.headers['X-Request-Id']}"
    (item,) = body["output"]
    assert (item["type"], item["role"], item["status"]) == ("message", "assistant", "completed")
    (part,) = item["content"]
    assert (part["type"], part["text"]) == ("output_text", SAID)
    usage = body["usage"]
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    chat = await compat.ask("recall", [("system", "Be brief."), ("user", "<red>")])
    assert usage["input_tokens"] == chat.json["usage"]["prompt_tokens"]


async def test_items_are_read_as_a_conversation(compat: Server) -> None:
    given = [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "input_text", "text": "<gold>"}]},
        {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "gold1", "annotations": []}],
        },
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "role": "user", "content": "<red>"},
    ]
    body = (await respond(compat, given)).json
    turns = [("system", "Be brief."), ("user", "<gold>"), ("assistant", "gold1"), ("user", "<red>")]
    chat = await compat.ask("recall", turns)
    assert body["output"][0]["content"][0]["text"] == SAID
    assert body["usage"]["input_tokens"] == chat.json["usage"]["prompt_tokens"]


async def test_the_events_of_a_stream_build_the_response(compat: Server) -> None:
    told = await events(compat)
    kinds = [event["type"] for event in told]
    assert kinds[:4] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
    ]
    assert kinds[-4:] == [
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    deltas = [e["delta"] for e in told if e["type"] == "response.output_text.delta"]
    assert "".join(deltas) == SAID
    last = told[-1]["response"]
    assert told[-2]["item"] == last["output"][0]
    assert last["output"][0]["content"][0]["text"] == SAID
    assert last["usage"]["output_tokens"] == 3


async def test_a_response_that_its_budget_ends_is_incomplete(compat: Server) -> None:
    body = (await respond(compat, model="endless", max_output_tokens=4)).json
    assert body["status"] == "incomplete"
    assert body["incomplete_details"] == {"reason": "max_output_tokens"}
    assert body["usage"]["output_tokens"] == 4
    told = await events(compat, model="endless", max_output_tokens=4)
    assert told[-1]["type"] == "response.incomplete"


async def test_a_tool_that_must_be_called_becomes_an_item(compat: Server) -> None:
    tool = {
        "type": "function",
        "name": "brake",
        "parameters": {
            "type": "object",
            "properties": {"bar": {"type": "integer", "minimum": 0, "maximum": 9}},
            "required": ["bar"],
        },
    }
    asked: Json = {"model": "noise", "tools": [tool], "tool_choice": "required"}
    body = (await respond(compat, "go", **asked)).json
    (item,) = body["output"]
    assert (item["type"], item["name"], item["status"]) == ("function_call", "brake", "completed")
    assert set(json.loads(item["arguments"])) == {"bar"}
    told = await events(compat, "go", **asked)
    deltas = [e["delta"] for e in told if e["type"] == "response.function_call_arguments.delta"]
    assert "".join(deltas) == told[-1]["response"]["output"][0]["arguments"]
    history = [
        {"role": "user", "content": "go"},
        {k: item[k] for k in ("type", "call_id", "name", "arguments")},
        {"type": "function_call_output", "call_id": item["call_id"], "output": "done"},
    ]
    assert (await respond(compat, history, max_output_tokens=3)).status == 200


async def test_a_schema_holds_the_text(compat: Server) -> None:
    schema = {
        "type": "object",
        "properties": {"turn": {"enum": [1, 2]}},
        "required": ["turn"],
        "additionalProperties": False,
    }
    shape = {"format": {"type": "json_schema", "name": "turn", "schema": schema}}
    body = (await respond(compat, "go", model="noise", text=shape)).json
    assert json.loads(body["output"][0]["content"][0]["text"])["turn"] in (1, 2)
    assert body["text"]["format"]["schema"] == schema


async def test_what_cannot_be_done_is_a_400_that_names_the_field(compat: Server) -> None:
    cases: list[tuple[Json, str]] = [
        ({"input": []}, "input"),
        ({"input": 5}, "input"),
        ({"input": None}, "input"),
        ({"input": [{"type": "item_reference", "id": "msg_1"}]}, "input.0"),
        ({"input": [{"role": "user", "content": [{"type": "input_image"}]}]}, "input.0.content"),
        ({"input": [{"role": "assistant", "content": "a"}]}, "messages"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"conversation": {"id": "conv_1"}}, "conversation"),
        ({"tools": [{"type": "web_search"}]}, "tools.0.type"),
        ({"tool_choice": {"type": "function", "name": "x"}}, "tool_choice"),
        ({"text": {"format": {"type": "xml"}}}, "text.format"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
    ]
    for fields, param in cases:
        body = {"model": "recall", "input": "<red>", **fields}
        answer = await compat.request("POST", PATH, json=body)
        assert answer.status == 400, answer.body
        assert answer.error["param"] == param


async def test_a_failure_after_the_begin_is_an_error_frame(
    compat: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compat.service.chats, "request_s", 1e-9)
    answer = await respond(compat, stream=True)
    *_, error, last, _ = answer.body.decode().split("\n\n")
    assert json.loads(error.removeprefix("data: "))["error"]["code"] == 408
    assert last == f"data: {DONE}"


async def test_a_response_tells_how_likely_its_tokens_were(compat: Server) -> None:
    asked: Json = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}
    answer = await respond(compat, **asked)
    tokens = answer.json["output"][0]["content"][0]["logprobs"]
    assert "".join(token["token"] for token in tokens) == SAID
    assert all(len(token["top_logprobs"]) == 2 for token in tokens)
    assert "X-Ignored-Fields" not in answer.headers
    told = await events(compat, **asked)
    deltas = [event for event in told if event["type"] == "response.output_text.delta"]
    streamed = [token["token"] for event in deltas for token in event["logprobs"]]
    assert streamed == [token["token"] for token in tokens]
    (done,) = [event for event in told if event["type"] == "response.output_text.done"]
    assert [token["token"] for token in done["logprobs"]] == streamed


async def test_what_else_a_response_could_include_is_named_as_ignored(compat: Server) -> None:
    answer = await respond(compat, include=["reasoning.encrypted_content"])
    assert answer.headers["X-Ignored-Fields"] == "include"
    assert answer.json["output"][0]["content"][0]["logprobs"] == []
