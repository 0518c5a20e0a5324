"""The client library `openai`: sync, async, streams, parsing, tools, embeddings, responses."""

import json
from typing import Any

import pytest
from pydantic import BaseModel

from tests.clients.conftest import CAPITAL, Served

openai = pytest.importorskip("openai", reason="the clients are not installed: make test-clients")
pytestmark = pytest.mark.filterwarnings("default")

ASKED: Any = [{"role": "user", "content": CAPITAL}]
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tell the weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 30}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


class Place(BaseModel):
    """A city."""

    city: str
    country: str


@pytest.fixture
def client(served: Served) -> Any:
    with openai.OpenAI(base_url=served.url, api_key="none", timeout=60) as opened:
        yield opened


def test_a_stream_adds_up_to_the_whole(client: Any, served: Served) -> None:
    options = {"model": served.model, "messages": ASKED, "max_tokens": 20, "temperature": 0}
    whole = client.chat.completions.create(**options).choices[0].message.content
    chunks = list(
        client.chat.completions.create(
            **options, stream=True, stream_options={"include_usage": True}
        )
    )
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(pieces) == whole
    assert len(pieces) > 3
    assert chunks[-1].usage.completion_tokens > 0


def test_the_stream_helper_gathers_a_completion(client: Any, served: Served) -> None:
    with client.chat.completions.stream(
        model=served.model, messages=ASKED, max_tokens=20, temperature=0
    ) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    assert {"chunk", "content.delta", "content.done"} <= kinds
    assert "Paris" in final.choices[0].message.content


def test_a_model_is_parsed_from_a_reply(client: Any, served: Served) -> None:
    reply = client.chat.completions.parse(
        model=served.model,
        messages=[{"role": "user", "content": "Paris is the capital of France. Extract it."}],
        response_format=Place,
        max_tokens=60,
        temperature=0,
    )
    place = reply.choices[0].message.parsed
    assert isinstance(place, Place)
    assert place.city


def test_json_mode_gives_an_object(client: Any, served: Served) -> None:
    reply = client.chat.completions.create(
        model=served.model,
        messages=[{"role": "user", "content": "Give a JSON object with the key city."}],
        response_format={"type": "json_object"},
        max_tokens=200,
        temperature=0,
    )
    if reply.choices[0].finish_reason == "stop":
        assert isinstance(json.loads(reply.choices[0].message.content), dict)
    else:
        assert reply.choices[0].message.content.lstrip().startswith("{")


@pytest.mark.parametrize("stream", [False, True])
def test_a_tool_is_called_and_its_result_goes_back(
    client: Any, served: Served, stream: bool
) -> None:
    turns: Any = [{"role": "user", "content": "What is the weather in Paris?"}]
    options = {
        "model": served.model,
        "tools": [WEATHER],
        "tool_choice": "required",
        "temperature": 0,
        "max_tokens": 80,
    }
    if stream:
        with client.chat.completions.stream(messages=turns, **options) as events:
            for _ in events:
                pass
            choice = events.get_final_completion().choices[0]
    else:
        choice = client.chat.completions.create(messages=turns, **options).choices[0]
    assert choice.finish_reason == "tool_calls"
    call = choice.message.tool_calls[0]
    assert call.function.name == "get_weather"
    assert set(json.loads(call.function.arguments)) == {"city"}
    turns += [
        {
            "role": "assistant",
            "tool_calls": [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": call.function.arguments},
                }
            ],
        },
        {"role": "tool", "tool_call_id": call.id, "content": "Sunny, 24 degrees."},
    ]
    last = client.chat.completions.create(
        model=served.model, messages=turns, max_tokens=40, temperature=0
    )
    assert last.choices[0].message.content


def test_likely_tokens_are_told(client: Any, served: Served) -> None:
    reply = client.chat.completions.create(
        model=served.model,
        messages=ASKED,
        max_tokens=5,
        temperature=0,
        logprobs=True,
        top_logprobs=3,
    )
    tokens = reply.choices[0].logprobs.content
    assert len(tokens) == reply.usage.completion_tokens
    assert all(len(token.top_logprobs) == 3 for token in tokens)


@pytest.mark.parametrize("stream", [False, True])
def test_a_text_is_completed(client: Any, served: Served, stream: bool) -> None:
    reply = client.completions.create(
        model=served.model,
        prompt="The capital of France is",
        max_tokens=8,
        temperature=0,
        stream=stream,
    )
    parts = list(reply) if stream else [reply]
    assert "Paris" in "".join(part.choices[0].text for part in parts)


def test_a_response_is_made_of_a_text(client: Any, served: Served) -> None:
    made = client.responses.create(
        model=served.model,
        instructions="You are a helpful assistant.",
        input=CAPITAL,
        max_output_tokens=20,
        temperature=0,
    )
    assert made.status in ("completed", "incomplete")
    assert "Paris" in made.output_text
    assert made.usage.output_tokens <= 20


def test_a_response_streams_the_events_that_the_client_gathers(client: Any, served: Served) -> None:
    with client.responses.stream(
        model=served.model, input=ASKED, max_output_tokens=20, temperature=0
    ) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    assert kinds[0] == "response.created"
    assert kinds[-1] in ("response.completed", "response.incomplete")
    assert "response.output_text.delta" in kinds
    assert "Paris" in final.output_text


def test_a_response_is_parsed_into_a_model(client: Any, served: Served) -> None:
    made = client.responses.parse(
        model=served.model,
        input="Paris is the capital of France. Extract it.",
        text_format=Place,
        max_output_tokens=60,
        temperature=0,
    )
    assert isinstance(made.output_parsed, Place)


@pytest.mark.parametrize("stream", [False, True])
def test_a_response_calls_a_tool_and_takes_its_result(
    client: Any, served: Served, stream: bool
) -> None:
    tool: Any = {"type": "function", **WEATHER["function"], "strict": True}
    asked: Any = [{"role": "user", "content": "What is the weather in Paris?"}]
    options = {
        "model": served.model,
        "tools": [tool],
        "tool_choice": "required",
        "temperature": 0,
        "max_output_tokens": 80,
    }
    if stream:
        with client.responses.stream(input=asked, **options) as events:
            kinds = {event.type for event in events}
            made = events.get_final_response()
        assert "response.function_call_arguments.delta" in kinds
    else:
        made = client.responses.create(input=asked, **options)
    call = next(item for item in made.output if item.type == "function_call")
    assert set(json.loads(call.arguments)) == {"city"}
    asked += [
        {
            "type": "function_call",
            "call_id": call.call_id,
            "name": call.name,
            "arguments": call.arguments,
        },
        {"type": "function_call_output", "call_id": call.call_id, "output": "Sunny."},
    ]
    last = client.responses.create(
        model=served.model, input=asked, max_output_tokens=40, temperature=0
    )
    assert last.output_text
