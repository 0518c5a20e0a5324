"""What is sent to an upstream, and which vectors are taken from it."""

import base64
import json

import numpy as np
import pytest

from runtime.llm.models.daemon import DaemonTrouble
from runtime.llm.models.upstreams.forwarding import (
    conversation_of,
    read_vectors,
    request_of,
)
from runtime.llm.values import ChatCall, Sampling, Tool, ToolCall, Turn

PLAIN = Sampling(temperature=0.8, top_k=40, top_p=0.95, seed=7)
SYSTEM = Turn("system", "Be short.")


def call(*texts: str, **fields: object) -> ChatCall:
    """A chat in which user and assistant take turns after a system text."""
    turns = [
        Turn("user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(texts or "x")
    ]
    return ChatCall([SYSTEM, *turns], PLAIN, model="m", **fields)  # type: ignore[arg-type]


def test_what_the_request_does_not_say_is_left_to_the_upstream() -> None:
    path, body = request_of(call("Hi", max_completion_tokens=9, max_tokens=50))

    assert path == "/chat/completions"
    assert body == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be short."},
            {"role": "user", "content": "Hi"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 9,
    }


def test_tools_and_their_history_go_along() -> None:
    tool = Tool("brake", "Pressure", '{"type": "object"}')
    turns = [
        Turn("user", "Hi"),
        Turn("assistant", "", (ToolCall("c1", "brake", '{"turn": 9}'),), reasoning="hm"),
        Turn("tool", "34 bar", tool_call_id="c1"),
    ]
    asked = {"seed": 1, "repeat_penalty": 1.1, "response_format": {"type": "json_object"}}
    sampling = Sampling(temperature=0.8, top_k=40, top_p=0.95, seed=8, repeat_penalty=1.1)
    _, body = request_of(
        ChatCall(
            turns,
            sampling,
            model="m",
            tools=[tool],
            tools_required=True,
            parallel_tools=False,
            stop=["END"],
            template_options={"enable_thinking": False},
            asked=asked,
        )
    )

    assert body["messages"] == [
        {"role": "user", "content": "Hi"},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "brake", "arguments": '{"turn": 9}'},
                }
            ],
            "reasoning_content": "hm",
        },
        {"role": "tool", "content": "34 bar", "tool_call_id": "c1"},
    ]
    function = {"name": "brake", "description": "Pressure", "parameters": {"type": "object"}}
    assert body["tools"] == [{"type": "function", "function": function}]
    assert (body["tool_choice"], body["parallel_tool_calls"]) == ("required", False)
    assert (body["seed"], body["repetition_penalty"], body["stop"]) == (8, 1.1, ["END"])
    assert body["response_format"] == {"type": "json_object"}
    assert body["chat_template_kwargs"] == {"enable_thinking": False}


def test_a_conversation_is_known_again_when_it_has_grown() -> None:
    short, grown = call("Hi", client="a"), call("Hi", "Hello", "Why?", client="a")

    assert conversation_of(short) == conversation_of(grown)
    others = [
        call("Ho", client="a"),
        call("Hi", client="b"),
        call("Hi", owner="a", session_id="s"),
        call("Hi", prompt="Hi", client="a"),
    ]
    assert len({conversation_of(each) for each in (short, *others)}) == 5
    session = call("Other", owner="a", session_id="s")
    assert conversation_of(session) == conversation_of(others[2])
    text = "Once upon a time " * 100
    assert conversation_of(call(prompt=text)) == conversation_of(call(prompt=text + "more"))


def test_vectors_are_read_in_either_form_in_order_and_made_unit_length() -> None:
    half = base64.b64encode(np.array([0, 2], "<f4").tobytes()).decode()
    answer: dict[str, object] = {
        "data": [{"index": 1, "embedding": half}, {"index": 0, "embedding": [3, 4]}],
        "usage": {"prompt_tokens": 7},
    }
    made = read_vectors(json.dumps(answer).encode(), 2)

    assert [made.floats(at) for at in (0, 1)] == [pytest.approx([0.6, 0.8]), [0, 1]]
    assert made.tokens == 7


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        ([], "vector of each"),
        ([{"index": 0, "embedding": [1]}], "vector of each"),
        ([{"index": 0, "embedding": [1]}] * 2, "vector of each"),
        ([{"index": at, "embedding": [1] * (at + 1)} for at in (0, 1)], "vector of each"),
        ([{"index": at, "embedding": "!!"} for at in (0, 1)], "vector of each"),
        ([{"index": at, "embedding": [[1]]} for at in (0, 1)], "vector of each"),
        ([{"index": at, "embedding": ["a"]} for at in (0, 1)], "vector of each"),
        ([{"index": [at], "embedding": [1]} for at in (0, 1)], "vector of each"),
        ([{"index": at, "embedding": [1e300]} for at in (0, 1)], "not numbers|vector of each"),
        ("x", "vector of each"),
    ],
)
def test_what_is_no_vector_of_each_text_is_refused(data: object, complaint: str) -> None:
    with pytest.raises(DaemonTrouble, match=complaint):
        read_vectors(json.dumps({"data": data}).encode(), 2)
    with pytest.raises(DaemonTrouble, match="not JSON"):
        read_vectors(b"{", 2)
