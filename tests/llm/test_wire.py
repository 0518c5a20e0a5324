"""What a chat request says once it is parsed, and the frames of a streamed reply."""

import json

import pytest

from runtime.llm.api.wire import (
    ChatRequest,
    Chunk,
    ChunkChoice,
    Delta,
    make_error_frame,
    make_usage,
)
from runtime.llm.errors import EngineFailed, LocalInitFailed, SysmodelBackgroundBlocked
from runtime.llm.inference import Outcome, Turn
from runtime.web.errors import ApiError, BadRequest
from runtime.web.routes import parse_body
from runtime.web.sse import frame


def request(*messages: str, rest: str = "") -> ChatRequest:
    """A request of messages written as JSON."""
    return parse_body(ChatRequest, f'{{"messages": [{",".join(messages)}]{rest}}}'.encode())


@pytest.mark.parametrize(
    ("message", "turn"),
    [
        ('{"role": "user", "content": "a"}', Turn("user", "a")),
        ('{"role": "developer", "content": "a"}', Turn("system", "a")),
        ('{"role": "assistant", "content": null}', Turn("assistant", "")),
        ('{"role": "assistant"}', Turn("assistant", "")),
        ('{"role": "user", "content": []}', Turn("user", "")),
        (
            (
                '{"role": "user", "content": [{"type": "text", "text": "a"},'
                ' {"type": "image_url"}, {"type": "text", "text": "b"}]}'
            ),
            Turn("user", "a b"),
        ),
        (
            (
                '{"role": "user", "content": [{"type": "image_url", "text": "x"},'
                ' {"type": "input_text", "text": "a"}]}'
            ),
            Turn("user", "a"),
        ),
        ('{"role": "user", "content": "a", "name": 5, "audio": {}}', Turn("user", "a")),
    ],
)
def test_a_message_becomes_plain_text(message: str, turn: Turn) -> None:
    assert request(message).turns() == [turn]


USER = '{"role": "user", "content": "a"}'


def test_too_many_stop_texts_are_refused_with_the_number_that_is_allowed() -> None:
    with pytest.raises(BadRequest, match=r"^stop: at most 4 texts$"):
        request(USER, rest=', "stop": ["a", "b", "c", "d", "e"]')


@pytest.mark.parametrize("value", ["true", '"1"', "NaN", "1e999", "[1]"])
def test_other_things_are_no_numbers(value: str) -> None:
    with pytest.raises(BadRequest):
        request(USER, rest=f', "temperature": {value}')


@pytest.mark.parametrize(
    "outcome",
    [
        Outcome("stop"),
        Outcome("stop", completion_tokens=3),
        Outcome("stop", prompt_tokens=3, cached_tokens=2),
    ],
)
def test_what_was_not_counted_is_no_usage_of_zeros(outcome: Outcome) -> None:
    assert make_usage(outcome) is None


# --- frames

SHARED = {
    "id": "chatcmpl-7",
    "object": "chat.completion.chunk",
    "created": 1_700_000_000,
    "model": 'odd "name"',
}


def parsed(sent: bytes) -> dict[str, object]:
    """The JSON of a frame, after a look at its outside."""
    assert sent.startswith(b"data: {")
    assert sent.endswith(b"}\n\n")
    assert sent.count(b"\n") == 2
    value = json.loads(sent[6:])
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    "text",
    ["a", " ", "\n\n", '"', "\\", "\r\n\t", "\x00\x1f", "\u2028", "\N{CHEQUERED FLAG}", "data: x"],
)
def test_any_text_stays_one_line_and_comes_back_as_it_was(text: str) -> None:
    choice = ChunkChoice(delta=Delta(content=text))
    chunk = Chunk(id="chatcmpl-7", created=1_700_000_000, model='odd "name"', choices=[choice])

    sent = frame(chunk.model_dump_json(exclude_none=True).encode())

    assert parsed(sent) == SHARED | {"choices": [{"index": 0, "delta": {"content": text}}]}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (EngineFailed("it broke"), {"type": "server_error", "code": 500}),
        (BadRequest("no", param="messages"), {"type": "invalid_request_error", "code": 400}),
        (LocalInitFailed("no"), {"code": "LOCAL_INIT_FAILED", "actionable": True}),
        (
            SysmodelBackgroundBlocked("no"),
            {"code": "SYSMODEL_BACKGROUND_BLOCKED", "sysmodel_status": "available"},
        ),
    ],
)
def test_an_error_frame_carries_the_error_of_the_envelope(
    error: ApiError, expected: dict[str, object]
) -> None:
    sent = parsed(make_error_frame(error))
    assert set(sent) == {"error"}
    found = sent["error"]
    assert isinstance(found, dict)
    assert {"message", "type", "code"} <= set(found)
    assert found.items() >= expected.items()
