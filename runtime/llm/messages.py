"""Messages and tools in the shapes that chat templates and OpenAI-compatible servers expect."""

from collections.abc import Sequence
from typing import Final, Literal, NotRequired, TypedDict

import orjson

from runtime.llm.inference import Tool, Turn


class MessageFunction(TypedDict):
    """The function of a `MessageCall`."""

    name: str
    arguments: object
    """The parsed JSON object, or the text itself if it is not one."""


class MessageCall(TypedDict):
    """A tool call of an assistant message."""

    id: str
    type: Literal["function"]
    function: MessageFunction


class ChatMessage(TypedDict):
    """A message in the shape that chat templates expect."""

    role: str
    content: str
    tool_calls: NotRequired[Sequence[MessageCall]]
    tool_call_id: NotRequired[str]
    reasoning_content: NotRequired[str]


class FunctionOffer(TypedDict):
    """The function of a `ToolOffer`."""

    name: str
    description: str
    parameters: object
    """JSON Schema of the arguments."""


class ToolOffer(TypedDict):
    """A tool in the shape that chat templates expect."""

    type: Literal["function"]
    function: FunctionOffer


MAX_DEPTH: Final = 64
"""Maximum nesting of a call's arguments that a template gets as values."""


def make_message(turn: Turn) -> ChatMessage:
    """Convert a turn to a message."""
    message = ChatMessage(role=turn.role, content=turn.content)
    if turn.tool_calls:
        message["tool_calls"] = [
            MessageCall(
                id=call.id,
                type="function",
                function=MessageFunction(
                    name=call.name, arguments=_parse_arguments(call.arguments)
                ),
            )
            for call in turn.tool_calls
        ]
    if turn.tool_call_id:
        message["tool_call_id"] = turn.tool_call_id
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    return message


def make_offer(tool: Tool) -> ToolOffer:
    """Convert a tool to an offer."""
    parameters = orjson.loads(tool.parameters)
    return ToolOffer(
        type="function",
        function=FunctionOffer(name=tool.name, description=tool.description, parameters=parameters),
    )


def _parse_arguments(arguments: str) -> object:
    try:
        value = orjson.loads(arguments or "{}")
    except orjson.JSONDecodeError:
        return arguments
    return value if isinstance(value, dict) and not is_deeper(value, MAX_DEPTH) else arguments


def is_deeper(value: object, levels: int) -> bool:
    """Whether JSON is nested more than *levels* deep."""
    within = [value]
    for _ in range(levels):
        below: list[object] = []
        for item in within:
            if isinstance(item, dict):
                below += item.values()
            elif isinstance(item, list):
                below += item
        if not below:
            return False
        within = below
    return any(isinstance(item, dict | list) for item in within)
