"""The frames of a chat stream as bytes."""

import json

import pytest

from runtime.llm.api.frames import DONE, Frames, error_frame
from runtime.llm.api.wire import TokenDetails, Usage
from runtime.llm.errors import EngineFailed, LocalInitFailed, SysmodelBackgroundBlocked
from runtime.web.errors import ApiError, BadRequest

SHARED = {
    "id": "chatcmpl-7",
    "object": "chat.completion.chunk",
    "created": 1_700_000_000,
    "model": 'odd "name"',
}


@pytest.fixture
def frames() -> Frames:
    return Frames("chatcmpl-7", 1_700_000_000, 'odd "name"')


def parsed(frame: bytes) -> dict[str, object]:
    """The JSON of a frame, after a look at its outside."""
    assert frame.startswith(b"data: {")
    assert frame.endswith(b"}\n\n")
    assert frame.count(b"\n") == 2
    value = json.loads(frame[6:])
    assert isinstance(value, dict)
    return value


def test_the_role_stands_alone_in_the_first_frame(frames: Frames) -> None:
    choices = [{"index": 0, "delta": {"role": "assistant"}}]
    assert parsed(frames.role()) == SHARED | {"choices": choices}


@pytest.mark.parametrize(
    "text",
    ["a", " ", "\n\n", '"', "\\", "\r\n\t", "\x00\x1f", "\u2028", "\N{CHEQUERED FLAG}", "data: x"],
)
def test_any_text_stays_one_line_and_comes_back_as_it_was(frames: Frames, text: str) -> None:
    choices = [{"index": 0, "delta": {"content": text}}]
    assert parsed(frames.content(text)) == SHARED | {"choices": choices}


@pytest.mark.parametrize(
    ("reason", "truncated", "mark"),
    [
        ("stop", False, {}),
        ("stop", True, {"truncated": True}),
        ("length", True, {"truncated": True}),
    ],
)
def test_the_last_frame_has_an_empty_delta_and_the_reason(
    frames: Frames, reason: str, truncated: bool, mark: dict[str, bool]
) -> None:
    choice = {"index": 0, "delta": {}, "finish_reason": reason} | mark
    assert parsed(frames.finish(reason, truncated=truncated)) == SHARED | {"choices": [choice]}


def test_the_usage_has_a_frame_without_choices(frames: Frames) -> None:
    details = TokenDetails(cached_tokens=2)
    usage = Usage(
        prompt_tokens=5, completion_tokens=3, total_tokens=8, prompt_tokens_details=details
    )
    expected = {
        "prompt_tokens": 5,
        "completion_tokens": 3,
        "total_tokens": 8,
        "prompt_tokens_details": {"cached_tokens": 2},
    }
    assert parsed(frames.usage(usage.model_dump_json().encode())) == SHARED | {
        "choices": [],
        "usage": expected,
    }


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
    frame = parsed(error_frame(error))
    assert set(frame) == {"error"}
    found = frame["error"]
    assert isinstance(found, dict)
    assert {"message", "type", "code"} <= set(found)
    assert found.items() >= expected.items()


def test_the_sentinel_is_no_json() -> None:
    assert DONE == b"data: [DONE]\n\n"
