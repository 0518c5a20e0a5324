"""What the lines of a streamed reply add: text, thoughts, calls, probabilities and costs."""

import json
from collections.abc import Sequence

import pytest

from runtime.llm.models.chunks import Chunks
from runtime.llm.models.daemon import DaemonTrouble
from runtime.llm.values import Event, Reasoning, TokenLogprob, ToolArguments, ToolStart


def line(**delta: object) -> str:
    """A line with a chunk of a chat."""
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": delta}]})


def calling(index: int, name: str | None, arguments: str, call_id: str | None = None) -> str:
    """A line with a fragment of a tool call."""
    function = {"arguments": arguments} | ({"name": name} if name else {})
    call = {"index": index, "function": function} | ({"id": call_id} if call_id else {})
    return line(tool_calls=[call])


def events(*lines: str) -> Sequence[Event]:
    chunks = Chunks()
    return [event for each in lines for event in chunks.feed(each).events]


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
    piece = Chunks().feed(line(**{name: "hm", "content": "Brake"}))
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
        piece = Chunks().feed(f"data: {data}")
        assert piece.text == "a"
        assert list(piece.tokens) == expected


def test_calls_without_end_are_cut_off() -> None:
    with pytest.raises(DaemonTrouble, match="calling tools"):
        events(*(calling(number, "brake", "{}", f"id {number}") for number in range(1000)))
