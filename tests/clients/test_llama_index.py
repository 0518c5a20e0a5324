"""`llama-index`, by the class that it has for servers of this kind."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from tests.clients.conftest import CAPITAL, Served

like = pytest.importorskip(
    "llama_index.llms.openai_like", reason="the clients are not installed: make test-clients"
)
pytestmark = pytest.mark.filterwarnings("default")


class Place(BaseModel):
    """A city and its country."""

    city: str = Field(max_length=30)
    country: str = Field(max_length=30)


def model(served: Served, **options: Any) -> Any:
    asked: dict[str, Any] = {
        "model": served.model,
        "api_base": served.url,
        "api_key": "none",
        "temperature": 0,
        "max_tokens": 60,
        "context_window": 2048,
        "is_chat_model": True,
        "timeout": 60,
    }
    return like.OpenAILike(**asked | options)


def test_a_chat_answers_and_goes_on(served: Served) -> None:
    from llama_index.core.llms import ChatMessage

    turns = [ChatMessage(role="user", content=CAPITAL)]
    first = model(served).chat(turns)
    assert "Paris" in first.message.content
    turns += [first.message, ChatMessage(role="user", content="Say the name again.")]
    assert model(served).chat(turns).message.content


def test_a_stream_adds_up(served: Served) -> None:
    from llama_index.core.llms import ChatMessage

    *_, last = model(served).stream_chat([ChatMessage(role="user", content=CAPITAL)])
    assert "Paris" in last.message.content


def test_a_text_is_completed(served: Served) -> None:
    text = model(served, is_chat_model=False).complete("The capital of France is").text
    assert "Paris" in text


def test_a_tool_is_called(served: Served) -> None:
    from llama_index.core.tools import FunctionTool

    def get_weather(city: str) -> str:
        """Tell the weather of a city."""
        return f"Sunny in {city}."

    llm = model(served, is_function_calling_model=True)
    reply = llm.chat_with_tools(
        [FunctionTool.from_defaults(get_weather)],
        user_msg="What is the weather in Paris?",
        tool_required=True,
    )
    (call,) = llm.get_tool_calls_from_response(reply)
    assert call.tool_name == "get_weather"
    assert "city" in call.tool_kwargs


def test_an_object_is_extracted(served: Served) -> None:
    from llama_index.core.prompts import PromptTemplate

    llm = model(served, is_function_calling_model=True, should_use_structured_outputs=True)
    place = llm.structured_predict(
        Place, PromptTemplate("{text} Extract it."), text="Paris is the capital of France."
    )
    assert isinstance(place, Place)
