"""`litellm`: chats, streams, tools, text completions, embeddings."""

import json
from typing import Any

import pytest

from tests.clients.conftest import CAPITAL, Served

litellm = pytest.importorskip("litellm", reason="the clients are not installed: make test-clients")
pytestmark = pytest.mark.filterwarnings("default")

ASKED: Any = [{"role": "user", "content": CAPITAL}]
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 30}},
            "required": ["city"],
        },
    },
}


def options(served: Served) -> dict[str, Any]:
    return {
        "model": f"openai/{served.model}",
        "api_base": served.url,
        "api_key": "none",
        "temperature": 0,
        "max_tokens": 60,
        "timeout": 60,
    }


def test_a_chat_answers(served: Served) -> None:
    reply = litellm.completion(messages=ASKED, **options(served))
    assert "Paris" in reply.choices[0].message.content
    assert reply.usage.total_tokens > 0


def test_a_stream_adds_up(served: Served) -> None:
    chunks = list(litellm.completion(messages=ASKED, stream=True, **options(served)))
    assert "Paris" in "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
    rebuilt = litellm.stream_chunk_builder(chunks)
    assert "Paris" in rebuilt.choices[0].message.content


def test_a_tool_is_called(served: Served) -> None:
    reply = litellm.completion(
        messages=[{"role": "user", "content": "What is the weather in Paris?"}],
        tools=[TOOL],
        tool_choice="required",
        **options(served),
    )
    call = reply.choices[0].message.tool_calls[0]
    assert "city" in json.loads(call.function.arguments)


def test_a_text_is_completed(served: Served) -> None:
    reply = litellm.text_completion(
        prompt="The capital of France is",
        **{**options(served), "model": f"text-completion-openai/{served.model}"},
    )
    assert "Paris" in reply.choices[0].text


def test_a_response_is_made(served: Served) -> None:
    asked = options(served)
    asked["max_output_tokens"] = asked.pop("max_tokens")
    made = litellm.responses(input=CAPITAL, **asked)
    assert "Paris" in json.dumps(made.model_dump(), default=str)


def test_texts_become_vectors(served: Served, embedder: str) -> None:
    made = litellm.embedding(
        model=f"openai/{embedder}", input=["brake"], api_base=served.url, api_key="none"
    )
    assert len(made.data[0]["embedding"]) == 384


def test_an_error_is_the_one_of_its_kind(served: Served) -> None:
    asked = {**options(served), "model": "openai/nothing"}
    with pytest.raises(litellm.NotFoundError):
        litellm.completion(messages=ASKED, **asked)
