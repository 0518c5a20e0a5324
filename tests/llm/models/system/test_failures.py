"""What a daemon said about its failure, and what a client gets to read of it."""

import pytest

from runtime.llm.errors import PromptTooLong, SysmodelBackgroundBlocked, SysmodelRuntimeError
from runtime.llm.models.system.daemon import (
    DaemonTrouble,
    as_error,
    cleaned,
    is_background_block,
    is_busy,
)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": 30, "message": "no"}},
        {"error": {"errorCode": 30}},
        {"error": {"error_code": "30"}},
        {"code": 30},
        {"error": {"code": "SYSMODEL_BACKGROUND_BLOCKED", "message": "no"}},
        {"error": "failed with ErrorCode 30"},
        {"error": {"message": "ERROR CODE 30: background"}},
        {"error": "Background usage is blocked for this app"},
        "the app is not in foreground",
        {"error": {"message": "The System Model wants the Foreground"}},
    ],
)
def test_code_30_is_found_in_every_form(body: object) -> None:
    error = as_error(DaemonTrouble("failed", 500, body))

    assert isinstance(error, SysmodelBackgroundBlocked)
    assert (error.status, error.rich_code) == (403, "SYSMODEL_BACKGROUND_BLOCKED")


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"code": 3}},
        {"error": {"code": 300, "message": "error code 300"}},
        {"error": {"code": True}},
        {"error": "the foreground colour is missing"},
        {"error": "too busy"},
        {"error": None},
        ["error code 30"],
        30,
    ],
)
def test_other_failures_are_no_background_block(body: object) -> None:
    assert not is_background_block(body)
    assert isinstance(as_error(DaemonTrouble("failed", 500, body)), SysmodelRuntimeError)


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("needs more memory (5.5 GiB)", "needs more memory (5.5 GiB)"),
        ("cannot open /srv/models/a.gguf: gone", "cannot open … gone"),
        ("dial 10.0.0.7:1234 refused", "dial … refused"),
        ("see http://127.0.0.1:9/x?y=1 now", "see … now"),
        ("at localhost:8080", "at …"),
        ("at [::1]:8080", "at …"),
        (r"in C:\models\a.gguf", "in …"),
        ("java.lang.IllegalStateException: x", "…: x"),
        ("ValueError: x", "…: x"),
        ("one\nTraceback of all", "one"),
        ("a\x1b[31mb\x00", "a[31mb"),
    ],
)
def test_addresses_paths_and_class_names_are_removed(said: str, read: str) -> None:
    assert cleaned(said) == read


def test_a_long_complaint_is_cut() -> None:
    assert len(cleaned("x " * 5000)) == 200


@pytest.mark.parametrize(
    ("status", "body", "header", "busy"),
    [
        (429, None, False, True),
        (503, {"error": {"type": "unavailable_error", "message": "Loading model"}}, False, True),
        (503, {"error": "server busy, please try again"}, False, True),
        (503, {"error": "gone for good"}, False, False),
        (503, {"error": "gone"}, True, True),
        (500, {"error": "busy"}, True, False),
    ],
)
def test_a_busy_daemon_is_told_from_a_broken_one(
    status: int, body: object, header: bool, busy: bool
) -> None:
    assert is_busy(status, body, has_retry_after=header) is busy


def test_a_prompt_over_the_context_carries_both_numbers() -> None:
    body = {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 900, "n_ctx": 512}}

    error = as_error(DaemonTrouble("failed", 400, body))

    assert isinstance(error, PromptTooLong)
    assert "900" in error.message
    assert "512" in error.message
