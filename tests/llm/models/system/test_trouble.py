"""What a client reads of the failures of the system model's daemon."""

import pytest

from runtime.llm.errors import PromptTooLong, SysmodelBackgroundBlocked, SysmodelRuntimeError
from runtime.llm.models.daemon import DaemonTrouble
from runtime.llm.models.system.openai import as_error, is_background_block


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


def test_a_prompt_over_the_context_carries_both_numbers() -> None:
    body = {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 900, "n_ctx": 512}}

    error = as_error(DaemonTrouble("failed", 400, body))

    assert isinstance(error, PromptTooLong)
    assert "900" in error.message
    assert "512" in error.message
