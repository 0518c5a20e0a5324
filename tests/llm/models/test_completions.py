"""Bodies of completion requests, and what the lines of a streamed reply add."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from runtime.llm.inference import (
    GREEDY,
    ChatCall,
    Event,
    Reasoning,
    TokenLogprob,
    Tool,
    ToolArguments,
    ToolCall,
    ToolStart,
    Turn,
)
from runtime.llm.models.completions import ReplyReader, compose_body
from runtime.llm.models.daemon import DaemonTrouble


def line(**delta: object) -> str:
    """A line with a chunk of a chat."""
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]})


def calling(index: int, name: str | None, arguments: str, call_id: str | None = None) -> str:
    """A line with a fragment of a tool call."""
    function = {"arguments": arguments} | ({"name": name} if name else {})
    call = {"index": index, "function": function} | ({"id": call_id} if call_id else {})
    return line(tool_calls=[call])


def events(*lines: str) -> Sequence[Event]:
    reader = ReplyReader()
    return [event for text in lines for event in reader.feed(text).events]


def test_calls_come_in_fragments_side_by_side_or_whole() -> None:
    fragments = events(
        calling(0, "brake", "", "a"),
        calling(0, None, '{"turn"'),
        calling(1, "gear", "{", "b"),
        calling(0, None, ": 9}"),
        calling(1, None, "}"),
    )
    assert fragments == [
        ToolStart(0, "a", "brake"),
        ToolArguments(0, '{"turn"'),
        ToolStart(1, "b", "gear"),
        ToolArguments(1, "{"),
        ToolArguments(0, ": 9}"),
        ToolArguments(1, "}"),
    ]
    whole = events(calling(0, "brake", "{}", "a"), calling(0, "gear", "{}", "b"))
    assert [event for event in whole if isinstance(event, ToolStart)] == [
        ToolStart(0, "a", "brake"),
        ToolStart(1, "b", "gear"),
    ]


def test_a_call_without_an_id_gets_one_and_arguments_without_a_call_are_nothing() -> None:
    start, arguments = events(calling(0, "brake", "{}"))
    assert isinstance(start, ToolStart)
    assert len(start.id) == 9
    assert arguments == ToolArguments(0, "{}")
    assert events(calling(0, None, "{}"), line(tool_calls="x"), line(tool_calls=[5])) == []


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thoughts_are_told_apart_from_text(name: str) -> None:
    piece = ReplyReader().feed(line(**{name: "hm", "content": "Brake"}))
    assert (piece.text, piece.events) == ("Brake", [Reasoning("hm")])


def test_probabilities_are_read_as_chats_and_as_texts_write_them() -> None:
    chat = {
        "content": [
            {
                "token": "a",
                "logprob": -0.5,
                "bytes": None,
                "top_logprobs": [{"token": "b", "logprob": -1, "bytes": [98]}, {"token": "c"}],
            },
            {"token": "d", "logprob": float("-inf")},
            "x",
        ]
    }
    text = {"tokens": ["a"], "token_logprobs": [-0.5], "top_logprobs": [{"b": -1}]}
    expected = [TokenLogprob("a", [97], -0.5, [TokenLogprob("b", [98], -1.0)])]
    for logprobs, choice in ((chat, {"delta": {"content": "a"}}), (text, {"text": "a"})):
        data = json.dumps({"choices": [{**choice, "logprobs": logprobs}]})
        piece = ReplyReader().feed(f"data: {data}")
        assert piece.text == "a"
        assert list(piece.tokens) == expected


def test_calls_without_end_are_cut_off() -> None:
    with pytest.raises(DaemonTrouble, match="calling tools"):
        events(*(calling(number, "brake", "{}", f"id {number}") for number in range(1000)))


def test_a_request_says_what_was_asked_and_the_defaults_only_where_it_is_silent() -> None:
    call = ChatCall(
        turns=[Turn("user", "Hi")],
        sampling=replace(GREEDY, seed=8, repeat_penalty=1.5, logprobs=2),
        model="m",
        explicit={"seed": 7, "repeat_penalty": 1.5},
    )
    common = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}
    common |= {"seed": 8, "repeat_penalty": 1.5, "repetition_penalty": 1.5}

    chat = compose_body(call, {"temperature": 0.5, "seed": 0})
    text = compose_body(replace(call, prompt="Once", max_completion_tokens=9, max_tokens=5))

    messages = [{"role": "user", "content": "Hi"}]
    likely = {"logprobs": True, "top_logprobs": 2}
    assert chat == common | {"temperature": 0.5, "messages": messages} | likely
    assert text == common | {"max_tokens": 5, "prompt": "Once", "logprobs": 2}


def test_a_body_offers_tools_and_gives_the_arguments_of_calls_as_they_were_written() -> None:
    called = Turn("assistant", "", (ToolCall("c1", "brake", '{"turn": 9}'),))
    call = ChatCall(
        turns=[Turn("user", "Hi"), called, Turn("tool", "done", tool_call_id="c1")],
        sampling=GREEDY,
        tools=[Tool("brake", "Brakes", "{}")],
        parallel_tools=False,
    )

    body = compose_body(call)

    function = {"name": "brake", "arguments": '{"turn": 9}'}
    assert body["messages"] == [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        {"role": "tool", "content": "done", "tool_call_id": "c1"},
    ]
    offered = {"name": "brake", "description": "Brakes", "parameters": {}}
    assert body["tools"] == [{"type": "function", "function": offered}]
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("auto", False)
    assert "temperature" not in body
