"""Chat requests that are refused: status, envelope and headers of each."""

import json
import logging

import pytest

from runtime.llm.app import drain
from tests.llm.conftest import Start
from tests.llm.serverkit import CHAT, Answer, Json, Server, chat, messages

pytestmark = pytest.mark.asyncio(loop_scope="module")
INVALID = "invalid_request_error"
AT_ONCE = 1e-9
"""Seconds in which no engine makes a token."""


def of(*turns: Json) -> Json:
    return {"model": "recall", "messages": list(turns)}


def check(answer: Answer, status: int, kind: str) -> Json:
    """The error, after a look at what all plain errors of the route have in common."""
    assert answer.status == status, answer.body
    error = answer.error
    assert set(answer.json) == {"error"}
    assert {"message", "type", "code"} <= set(error) <= {"message", "type", "code", "param"}
    assert (error["type"], error["code"]) == (kind, status)
    assert error["message"]
    assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
    assert int(answer.headers["X-Request-Id"]) > 0
    assert answer.headers["X-Client-Id"] == "tester"
    return error


async def test_an_error_repeats_nothing_of_the_input(shared: Server) -> None:
    canary = "canary-of-the-input"
    body = {canary: 1, "messages": [{"role": canary, "content": canary}], "model": canary}
    answer = await shared.request("POST", CHAT, json=body)
    assert canary not in answer.body.decode()


async def test_an_unknown_model_is_a_404_that_says_where_they_are_listed(shared: Server) -> None:
    for model in [
        "nothing",
        "../recall",
        "models/recall",
        "recall.gguf",
        ".recall",
        "a\\b",
        "x" * 256,
    ]:
        for stream in [False, True]:
            answer = await shared.ask(model, stream=stream)

            error = check(answer, 404, "model_not_found")
            assert error["param"] == "model"
            assert "GET /v1/models" in error["message"]
            assert answer.headers["x-should-retry"] == "false"


async def test_a_prompt_that_fills_the_budget_is_a_400_with_both_numbers(shared: Server) -> None:
    for stream in [False, True]:
        for text, max_tokens in [("x" * 3000, None), ("x" * 100, 100), ("x", 1)]:
            answer = await shared.ask("recall", text, max_tokens=max_tokens, stream=stream)

            error = check(answer, 400, INVALID)
            assert f"{len(text) + 19} tokens" in error["message"]
            assert f"is {max_tokens or 2048}" in error["message"]
            assert "max_completion_tokens" in error["message"]
            assert error["param"] == "max_tokens"
            assert answer.headers["X-Queue-Position"] == "1"


async def test_a_template_that_refuses_the_turns_is_a_400_with_its_words(shared: Server) -> None:
    answer = await shared.ask("strict", "forbidden")
    said = "the model's chat template rejected these messages: not that"
    assert check(answer, 400, INVALID)["message"] == said


async def test_the_log_cuts_the_names_that_a_client_chooses(
    shared: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "runtime.llm.app")
    headers = {"User-Agent": "c" * 200}
    body = chat("m" * 200)
    assert (await shared.request("POST", CHAT, json=body, headers=headers)).status == 404
    (fields,) = (one.__dict__["fields"] for one in caplog.records if one.message == "chat")
    assert (fields["client"], fields["model"]) == ("c" * 128, "m" * 128)


async def test_more_characters_than_the_cap_are_a_413_whatever_their_bytes(start: Start) -> None:
    async with start(max_prompt_chars=600) as server:
        wide = "\N{CHEQUERED FLAG}"
        turns = [("user", wide * 100), ("assistant", wide * 200), ("user", wide * 300)]
        fits = await server.ask("endless", turns, max_completion_tokens=1)
        over = await server.ask("recall", [("system", wide), ("user", wide * 600)])
        parts = [
            {"type": "text", "text": "x" * 300},
            {"type": "image_url", "image_url": {}},
            {"type": "text", "text": "x" * 300},
        ]
        split = await server.request(
            "POST", CHAT, json=of({"role": "user", "content": parts}) | {"model": "recall"}
        )

    assert fits.status == 200
    assert check(over, 413, INVALID)["param"] == "messages"
    check(split, 413, INVALID)  # the space that joins the parts counts


async def test_the_body_cap_follows_from_the_prompt_cap(start: Start) -> None:
    async with start(max_prompt_chars=512) as server:
        assert server.service.settings.body_cap == 4 * 512 + 65_536


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.asyncio(loop_scope="function")
async def test_a_reply_that_does_not_come_is_a_408_that_stock_clients_do_not_repeat(
    server: Server, stream: bool
) -> None:
    server.service.chats.request_s = AT_ONCE
    if stream:
        events = await server.stream("endless")
        error = json.loads(events[-2])["error"]
        assert (error["type"], error["code"]) == ("timeout", 408)
        assert events[-1] == "[DONE]"
    else:
        answer = await server.ask("endless")
        assert "timed out" in check(answer, 408, "timeout")["message"]
        assert answer.headers["x-should-retry"] == "false"
    await server.idle()
    assert server.service.admission.totals.errored == 1
    server.service.chats.request_s = 60.0
    again = await server.ask("recall", "<gold>")

    assert again.said == "gold1 gold2 gold3"


async def test_waiting_has_a_clock_of_its_own(start: Start) -> None:
    async with start(queue_timeout_ms=200) as server:
        assert server.service.chats.queue_s == 0.2
        assert (await server.request("POST", "/health/warm?model=endless")).status == 200
        await _waits_too_long(server)


async def _waits_too_long(server: Server) -> None:
    server.service.chats.queue_s = 0.0
    async with server.streaming("endless") as running:
        await running.piece()
        server.service.chats.queue_s = 0.2
        answer = await server.ask("recall")
        assert "queue" in check(answer, 408, "timeout")["message"]
        assert answer.headers["x-should-retry"] == "false"
        assert answer.headers["X-Queue-Position"] == "2"
        await running.piece()  # the one that runs is not touched


async def test_an_empty_bucket_is_a_429_that_names_the_client_and_the_wait(start: Start) -> None:
    async with start(rate_limit_per_sec=0.25, rate_limit_burst=2.0) as server:
        first = [await server.request("POST", CHAT, data=b"{") for _ in range(2)]
        refused = await server.request("POST", CHAT, data=b"x" * 10_000)
        other = await server.request("POST", CHAT, data=b"{", headers={"User-Agent": "other"})

    assert [answer.status for answer in first] == [400, 400]
    check(refused, 429, "rate_limit_error")
    assert refused.headers["Retry-After"] == "4"
    assert refused.headers["X-RateLimit-Client"] == "tester"
    assert other.status == 400
    assert server.service.rejects == {"queue": 0, "rate": 1}
    assert server.service.admission.totals.admitted == 0


@pytest.mark.asyncio(loop_scope="function")
async def test_a_server_that_stops_answers_503_with_the_time_to_come_back(server: Server) -> None:
    await drain(server.app)
    answer = await server.request("POST", CHAT, json={"messages": messages("hi")})
    check(answer, 503, "server_error")
    assert answer.headers["Retry-After"] == "5"
