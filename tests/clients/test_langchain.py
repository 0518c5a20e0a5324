"""`langchain-openai`: history, streams, tools, structured output."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from tests.clients.conftest import CAPITAL, Served

langchain = pytest.importorskip(
    "langchain_openai", reason="the clients are not installed: make test-clients"
)
pytestmark = pytest.mark.filterwarnings("default")


class Place(BaseModel):
    """A city and its country."""

    city: str = Field(max_length=30)
    country: str = Field(max_length=30)


@pytest.fixture
def model(served: Served) -> Any:
    return langchain.ChatOpenAI(
        base_url=served.url,
        api_key="none",
        model=served.model,
        temperature=0,
        max_tokens=60,
        timeout=60,
    )


def test_a_conversation_goes_on(model: Any) -> None:
    first = model.invoke([("system", "You are a helpful assistant."), ("human", CAPITAL)])
    assert "Paris" in first.content
    assert first.usage_metadata["output_tokens"] > 0
    second = model.invoke([("human", CAPITAL), first, ("human", "Say the name of the city again.")])
    assert "Paris" in second.content


def test_a_stream_adds_up(model: Any) -> None:
    pieces = list(model.stream(CAPITAL))
    assert "Paris" in "".join(piece.content for piece in pieces)
    assert len(pieces) > 2


def test_a_batch_is_answered(model: Any) -> None:
    assert all("Paris" in reply.content for reply in model.batch([CAPITAL] * 3))


@pytest.mark.parametrize("method", ["json_schema", "function_calling", "json_mode"])
def test_structured_output_is_an_object_of_the_class(model: Any, method: str) -> None:
    asked = "Paris is the capital of France. Extract city and country as JSON."
    shaped = model.with_structured_output(Place, method=method, include_raw=True)
    answer = shaped.invoke(asked)
    if method == "json_mode":  # any object fits this mode, so only its syntax is certain
        assert answer["raw"].content.lstrip().startswith("{")
    else:
        assert isinstance(answer["parsed"], Place)


def test_a_tool_is_called_and_answered(model: Any) -> None:
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import StructuredTool

    def tell_weather(city: str) -> str:
        """Tell the weather of a city."""
        return f"Sunny in {city}."

    get_weather = StructuredTool.from_function(tell_weather, name="get_weather")

    asked = HumanMessage("What is the weather in Paris?")
    reply = model.bind_tools([get_weather], tool_choice="get_weather").invoke([asked])
    call = reply.tool_calls[0]
    assert call["name"] == "get_weather"
    result = get_weather.invoke(call)
    assert isinstance(result, ToolMessage)
    assert model.invoke([asked, reply, result]).content
