"""Models of other servers behind the same API: relayed, kept together, failed over, refused."""

import asyncio
import base64
import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr
from yarl import URL

from tests.llm.conftest import Start
from tests.llm.models.daemons import (
    Asked,
    Script,
    Scripted,
    answer,
    by_path,
    delta,
    head,
    says,
    scripted,
    silent,
    sse,
)
from tests.llm.serverkit import CHAT, DONE, REPLIES, Json, Server, chat, chunks, joined
from tests.waiting import until

Fleet = tuple[Server, Server, Server]
"""A server without models of its own, and the two upstreams that have them."""
LIST = answer({"data": [{"id": "m", "max_model_len": 4096}]})
USAGE = {
    "choices": [],
    "usage": {
        "prompt_tokens": 12,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 5},
    },
}
GOOD = sse(delta("Brake "), delta("late"), delta(finish="stop"), USAGE)
NO_MODELS = Path("nowhere")
MANY = 40
"""So many conversations never belong to the same one of two upstreams."""


def behaves(completions: bytes | Script = GOOD) -> Script:
    """An upstream with the model ``m``."""
    return by_path(models=LIST, completions=completions)


async def looked(server: Server) -> None:
    """Wait for the first look at every upstream."""
    await asyncio.gather(*(each.probed.wait() for each in server.service.upstreams.all))


@asynccontextmanager
async def before(
    start: Start, *scripts: Script, **settings: Json
) -> AsyncIterator[tuple[Server, list[Scripted]]]:
    """A server before upstreams that follow scripts."""
    async with AsyncExitStack() as stack:
        daemons = [await stack.enter_async_context(scripted(script)) for script in scripts]
        urls = [daemon.address for daemon in daemons]
        yield await stack.enter_async_context(start(upstreams=urls, **settings)), daemons


@pytest.fixture
async def fleet(start: Start, tmp_path: Path) -> AsyncIterator[Fleet]:
    async with AsyncExitStack() as stack:
        behind = []
        for name in ("a", "b"):
            upstream = await stack.enter_async_context(start(data_dir=tmp_path / name, compat=True))
            await upstream.ask("recall")  # its engine outlives the servers that start later
            behind.append(upstream)
        urls = [f"{upstream.url}/v1" for upstream in behind]
        front = await stack.enter_async_context(
            start(
                data_dir=tmp_path / "front", models=tmp_path / "none", compat=True, upstreams=urls
            )
        )
        await looked(front)
        yield front, behind[0], behind[1]


async def test_the_list_says_where_a_model_runs_and_own_models_come_first(
    fleet: Fleet, start: Start, tmp_path: Path
) -> None:
    front, *behind = fleet
    urls = [f"{upstream.url}/v1" for upstream in behind]
    listed = {entry["id"]: entry for entry in (await front.get("/v1/models")).json["data"]}
    assert listed["recall"]["owned_by"] == "upstream"
    assert listed["recall"]["meta"]["upstreams"] == [{"url": url, "state": "up"} for url in urls]
    assert listed["recall"]["meta"]["loaded"]
    assert listed["embed"]["meta"]["kind"] == "embedding"
    assert listed["sysmodel-builtin"]["owned_by"] == "sysmodel"
    assert (await front.get("/v1/models/recall")).json == listed["recall"]

    async with start(data_dir=tmp_path / "own", upstreams=urls) as own:
        await looked(own)
        served = [upstream.service.admission.totals.admitted for upstream in behind]
        entries = [entry["id"] for entry in (await own.get("/v1/models")).json["data"]]
        assert len(entries) == len(set(entries))
        assert (await own.get("/v1/models/recall")).json["owned_by"] == "local"
        assert (await own.ask("recall", "<red>")).said == REPLIES["<red>"]
        assert [upstream.service.admission.totals.admitted for upstream in behind] == served


async def test_a_stream_is_relayed_with_the_headers_and_frames_of_a_local_one(
    fleet: Fleet,
) -> None:
    front = fleet[0]
    options = {"include_usage": True}
    async with front.streaming("recall", "<blue>", stream_options=options) as events:
        headers = events.response.headers
        frames = await events.rest()

    assert joined(frames) == REPLIES["<blue>"]
    first, *texts, last, usage = chunks(frames)
    assert first["choices"] == [{"index": 0, "delta": {"role": "assistant"}}]
    assert last["choices"] == [{"index": 0, "delta": {}, "finish_reason": "stop"}]
    assert {frame["id"] for frame in texts} == {f"chatcmpl-{headers['X-Request-Id']}"}
    assert usage["usage"]["completion_tokens"] > 0
    assert frames[-1] == DONE
    for name in ("X-Client-Id", "X-Queue-Position", "X-Queue-Depth", "X-Estimated-Wait-Ms"):
        assert headers[name]
    (record,) = (await front.get("/v1/requests")).json["last"]
    assert (record["lane"], record["state"], record["model"]) == ("upstream", "completed", "recall")
    metrics = await front.metrics()
    assert metrics["llmsvc_requests_completed_total"] == 1
    assert metrics["llmsvc_completion_tokens_total"] == usage["usage"]["completion_tokens"]


async def test_every_route_that_generates_reaches_an_upstream(fleet: Fleet) -> None:
    front = fleet[0]
    said = await front.ask("recall", "<gold>", n=2)
    text = await front.request(
        "POST", "/v1/completions", json={"model": "recall", "prompt": "<red>", "temperature": 0}
    )
    response = await front.request(
        "POST", "/v1/responses", json={"model": "recall", "input": "<green>", "temperature": 0}
    )
    warm = await front.request("POST", "/health/warm?model=recall")

    contents = [choice["message"]["content"] for choice in said.json["choices"]]
    assert contents == [REPLIES["<gold>"]] * 2
    assert text.json["choices"][0]["text"] == REPLIES["<red>"]
    assert response.json["output"][0]["content"][0]["text"] == REPLIES["<green>"]
    assert warm.json["status"] == "warm"


@pytest.mark.parametrize("named", [True, False])
async def test_a_conversation_stays_on_its_upstream_whose_cache_is_warm(
    fleet: Fleet, named: bool
) -> None:
    front, *behind = fleet
    homes: list[int] = []
    for number in range(MANY):
        if number > 4 and len(set(homes)) == 2:
            break
        turns = [("user", f"<red> {number}")]
        counts, cached = [], 0
        for _ in range(3):
            session = f"s{number}" if named else None
            before = [upstream.service.admission.totals.completed for upstream in behind]
            reply = await front.ask("recall", turns, session_id=session)
            after = [upstream.service.admission.totals.completed for upstream in behind]
            counts.append([new - old for new, old in zip(after, before, strict=True)])
            cached = reply.cached
            turns += [("assistant", reply.said), ("user", "and then?")]
        assert cached > 0
        assert counts in ([[1, 0]] * 3, [[0, 1]] * 3)
        homes.append(counts[0].index(1))

    assert set(homes) == {0, 1}


# --- upstreams that follow a script


async def test_a_request_of_a_server_of_this_kind_is_not_forwarded_again(start: Start) -> None:
    via = {"Via": "1.1 paddock"}
    body = {"model": "m", "input": "x"}
    async with before(start, behaves(), models=NO_MODELS) as (front, _):
        await looked(front)
        listed = (await front.get("/v1/models", headers=via)).json["data"]
        reply = await front.ask("m", headers=via)
        vectors = await front.request("POST", "/v1/embeddings", json=body, headers=via)

    assert [entry["id"] for entry in listed] == ["sysmodel-builtin"]
    assert (reply.status, vectors.status) == (404, 404)


async def test_an_unknown_model_is_not_found_once_every_upstream_has_told_its_list(
    start: Start,
) -> None:
    async with before(start, behaves()) as (front, _):
        unknown = await front.ask("nothing")
    async with before(start, behaves(), by_path()) as (front, _):
        unsure = await front.ask("nothing")

    assert unknown.status == 404
    assert (unsure.status, unsure.error["type"]) == (503, "upstreams_unavailable")


async def test_an_upstream_gets_the_request_its_own_key_and_no_name_of_the_client(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    keys = [SecretStr("geheim"), SecretStr("")]
    scripts = behaves(), says(answer({"data": []}))
    async with before(start, *scripts, compat=True, upstream_keys=keys) as (front, [daemon, other]):
        reply = await front.ask(
            "m", "Hi", top_p=0.5, stop=["END"], max_tokens=9, headers={"X-Client-Id": "jane"}
        )
        shown = [(await front.get(path)).body for path in ("/health", "/metrics", "/v1/models")]

    assert reply.said == "Brake late"
    assert reply.cached == 5
    asked = daemon.asked[-1]
    assert asked.path == "/chat/completions"
    assert asked.headers["authorization"] == "Bearer geheim"
    assert asked.headers["via"] == "1.1 paddock"
    assert "jane" not in str(asked)
    assert asked.json == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
        "top_p": 0.5,
        "stop": ["END"],
        "max_tokens": 9,
    }
    assert all("authorization" not in each.headers for each in other.asked)
    assert not any(b"geheim" in body for body in shown)
    assert "geheim" not in caplog.text + repr(front.service.settings)


async def test_calls_thoughts_and_schemas_pass_in_both_interfaces(start: Start) -> None:
    call = {"index": 0, "id": "c1", "type": "function"}
    parts = [
        {"reasoning_content": "hm"},
        {"tool_calls": [{**call, "function": {"name": "brake", "arguments": '{"turn"'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ": 9}"}}]},
    ]
    stream = sse(*({"choices": [{"delta": part}]} for part in parts), delta(finish="tool_calls"))
    function = {"name": "brake", "parameters": {"type": "object"}}
    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    async with before(start, behaves(stream), compat=True) as (front, [daemon]):
        tools = [{"type": "function", "function": function}]
        message = (await front.ask("m", tools=tools)).json["choices"][0]
        body = {"model": "m", "input": "Hi", "tools": [{"type": "function", **function}]}
        response = (await front.request("POST", "/v1/responses", json=body)).json
        form = {"type": "json_schema", "name": "f", "schema": schema}
        held = {"model": "m", "input": "Hi", "text": {"format": form}}
        await front.request("POST", "/v1/responses", json=held)

    assert message["finish_reason"] == "tool_calls"
    assert message["message"]["reasoning_content"] == "hm"
    (called,) = message["message"]["tool_calls"]
    assert (called["id"], called["function"]["arguments"]) == ("c1", '{"turn": 9}')
    assert [item["type"] for item in response["output"]] == ["reasoning", "function_call"]
    assert response["output"][1]["arguments"] == '{"turn": 9}'
    assert daemon.asked[-1].json["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "f", "schema": schema},
    }


async def test_embeddings_come_from_an_upstream_in_the_form_that_was_asked_for(
    start: Start,
) -> None:
    data = [{"index": at, "embedding": [3.0, 4.0]} for at in range(2)]
    good = answer({"data": data, "usage": {"prompt_tokens": 7}})
    script = by_path(models=LIST, embeddings=good)
    async with before(start, script) as (front, [daemon]):
        body = {"model": "m", "input": ["a", "b"], "dimensions": 2}
        plain = await front.request("POST", "/v1/embeddings", json=body)
        packed = await front.request(
            "POST", "/v1/embeddings", json={**body, "encoding_format": "base64"}
        )
        wrong = await front.request("POST", "/v1/embeddings", json={**body, "dimensions": 3})

    assert np.allclose([each["embedding"] for each in plain.json["data"]], [[0.6, 0.8]] * 2)
    assert plain.json["usage"] == {"prompt_tokens": 7, "total_tokens": 7}
    raw = base64.b64decode(packed.json["data"][1]["embedding"])
    assert np.allclose(np.frombuffer(raw, "<f4"), [0.6, 0.8])
    assert daemon.asked[-1].json["dimensions"] == 3
    assert wrong.status == 500


def endless(first: bytes, again: bytes, sent: list[int]) -> Script:
    """Says *first*, then *again* for as long as the client takes it; counts the bytes."""

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(again)
            await writer.drain()
            sent[0] += len(again)
            await asyncio.sleep(0)  # the client runs in this very loop

    return script


NEST = b"data: " + b"[" * 100_000 + b"\n\n"
HOSTILE = {
    "a bomb of brackets": (says(head() + NEST), "not JSON"),
    "one object": (says(answer({"choices": [{"message": {"content": "Hi"}}]})), "stream of text"),
    "elsewhere": (
        says(head("302 Found", "text/html", "Location: http://127.0.0.1:1/")),
        "redirect",
    ),
    "packed": (says(head("200 OK", "text/event-stream", "Content-Encoding: gzip")), "compressed"),
    "a failure": (says(answer({"error": "boom in /srv/x.py"}, "500 Oops")), "HTTP status 500"),
    "an error event": (says(sse({"error": {"message": "boom"}})), "failed while answering: boom"),
}


@pytest.mark.parametrize("case", HOSTILE)
async def test_an_upstream_that_answers_nonsense_is_a_bad_gateway(case: str, start: Start) -> None:
    script, words = HOSTILE[case]
    async with before(start, behaves(script)) as (front, _):
        whole = await front.ask("m")
        *_, failure, sentinel = await front.stream("m")

    assert (whole.status, whole.error["type"], whole.error["code"]) == (502, "upstream_failed", 502)
    assert words in whole.error["message"]
    assert "127.0.0.1" not in whole.error["message"]
    assert "/srv" not in whole.error["message"]
    assert json.loads(failure)["error"]["code"] == 502
    assert sentinel == DONE


async def test_a_model_that_an_upstream_cannot_run_takes_no_other_model_away(start: Start) -> None:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        failed = {"error": {"message": "the file is damaged", "code": "LOCAL_INIT_FAILED"}}
        broken = answer(failed, "503 Service Unavailable")
        await says(broken if asked.json["model"] == "broken" else GOOD)(asked, writer)

    listed = answer({"data": [{"id": "m"}, {"id": "broken"}]})
    scripts = [by_path(models=listed, completions=script)] * 2
    async with before(start, *scripts) as (front, _):
        for _ in range(3):
            bad = await front.ask("broken")
            assert (bad.status, bad.error["type"]) == (502, "upstream_failed")
            assert "the file is damaged" in bad.error["message"]
            assert (await front.ask("m")).said == "Brake late"
        health = (await front.get("/health")).json["upstreams"]

    assert [record["state"] for record in health] == ["up", "up"]


async def test_an_embedding_model_of_an_upstream_is_not_asked_to_chat(fleet: Fleet) -> None:
    front, *behind = fleet
    asked = [upstream.service.admission.totals.admitted for upstream in behind]
    reply = await front.ask("embed")

    assert (reply.status, reply.error["code"]) == (503, "LOCAL_INIT_FAILED")
    assert "embedding model" in reply.error["message"]
    assert [upstream.service.admission.totals.admitted for upstream in behind] == asked


async def test_a_list_without_end_is_a_fault_of_the_upstream(start: Start) -> None:
    sent = [0]
    script = endless(head("200 OK", "application/json") + b'{"data": [', b" " * 65_536, sent)
    async with before(start, script) as (front, _):
        await looked(front)
        (record,) = (await front.get("/health")).json["upstreams"]

    assert (record["state"], record["error"]) == ("down", "sent too long an answer")
    assert sent[0] < 1 << 25


async def test_a_request_that_an_upstream_refuses_is_refused_at_once(start: Start) -> None:
    refusal = {"error": {"message": "This model's maximum context length is 4096 tokens"}}
    refusing = behaves(answer(refusal, "400 Bad Request"))
    async with before(start, refusing, behaves()) as (front, _):
        replies = [await front.ask("m", f"text {number}") for number in range(MANY)]
        health = (await front.get("/health")).json["upstreams"]

    assert {reply.status for reply in replies} == {200, 400}
    refused = next(reply for reply in replies if reply.status == 400)
    assert "maximum context length is 4096" in refused.error["message"]
    assert [record["state"] for record in health] == ["up", "up"]


async def test_the_id_of_a_model_may_have_a_slash(start: Start) -> None:
    listed = answer({"data": [{"id": "Qwen/Qwen2.5"}]})
    async with before(start, by_path(models=listed, completions=GOOD)) as (front, _):
        await looked(front)
        for name in ("Qwen/Qwen2.5", "Qwen%2FQwen2.5"):
            entry = await front.get(URL(f"{front.url}/v1/models/{name}", encoded=True))
            assert entry.json["id"] == "Qwen/Qwen2.5"
        assert (await front.ask("Qwen/Qwen2.5")).said == "Brake late"


# --- fail-over


HALF = sse(delta("Brake "), done=False)
FAILING: dict[str, bytes | Script] = {
    "hangs up": b"",
    "says only who speaks": sse({"choices": [{"delta": {"role": "assistant"}}]}, done=False),
    "is silent": silent,
    "is busy": answer({"error": "busy"}, "503 Busy", "Retry-After: 7"),
    "lost the model": answer({"error": "no such model"}, "404 Not Found"),
    "talks nonsense": head() + b"data: nonsense\n\n",
}


@pytest.mark.parametrize("case", FAILING)
async def test_before_the_first_token_the_next_upstream_answers_unnoticed(
    case: str, start: Start
) -> None:
    scripts = behaves(FAILING[case]), behaves()
    wait_ms = 2_000 if case == "is silent" else 60_000
    async with before(start, *scripts, upstream_wait_ms=wait_ms) as (front, [bad, _]):
        replies = []
        for number in range(MANY):
            replies.append(await front.stream("m", f"text {number}"))
            if front.service.upstreams.failovers:
                break
        metrics = await front.metrics()

    for events in replies:
        assert joined(events) == "Brake late"
        assert not any("error" in frame for frame in chunks(events))
    asked = metrics[f'llmsvc_upstream_requests_total{{upstream="{bad.address}"}}']
    assert asked >= 1
    assert metrics["llmsvc_upstream_failovers_total"] == asked
    assert metrics[f'llmsvc_upstream_errors_total{{upstream="{bad.address}"}}'] == asked
    assert metrics["llmsvc_requests_errored_total"] == 0


async def test_a_reply_that_breaks_off_ends_with_an_error_and_a_whole_one_begins_anew(
    start: Start,
) -> None:
    async with before(start, behaves(HALF), behaves()) as (front, [bad, _]):
        upstreams = front.service.upstreams
        await looked(front)
        text = next(
            text
            for text in map(str, range(50))
            if upstreams.order("m", f"127.0.0.1 tester\0{text}")[0].url == bad.address
        )
        events = await front.stream("m", text)
        upstreams.all[0].fault = None
        whole = await front.ask("m", text)
        metrics = await front.metrics()

    assert joined(events[:-2]) == "Brake "
    error = json.loads(events[-2])["error"]
    assert (error["type"], error["code"], error["retry_after"]) == ("upstream_failed", 502, 1)
    assert "send the request again" in error["message"]
    assert events[-1] == DONE
    assert whole.said == "Brake late"
    assert metrics["llmsvc_upstream_broken_replies_total"] == 1
    assert metrics["llmsvc_upstream_failovers_total"] == 1


async def test_with_every_upstream_down_the_answer_is_503_until_one_is_back(
    start: Start,
) -> None:
    answers: dict[str, bytes] = {}

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await says(answers[asked.path])(asked, writer)

    answers |= {"/models": LIST, "/chat/completions": b""}
    async with before(start, script) as (front, [daemon]):
        first = await front.ask("m")
        answers["/models"] = b""
        second = await front.request("POST", CHAT, json=chat("m", stream=True))
        (down,) = (await front.get("/health")).json["upstreams"]
        listed = (await front.get("/v1/models/m")).json
        metrics = await front.metrics()
        answers |= {"/models": LIST, "/chat/completions": GOOD}
        await until(lambda: front.service.upstreams.all[0].up)
        third = await front.ask("m")

    for refused in (first, second):
        assert (refused.status, refused.error["type"]) == (503, "upstreams_unavailable")
        assert "broke off" in refused.error["message"]
        assert int(refused.headers["Retry-After"]) >= 1
    assert (down["state"], down["error"]) == ("down", "broke off")
    assert down["next_look_s"] <= 1
    assert (listed["meta"]["loaded"], listed["meta"]["upstreams"][0]["state"]) == (False, "down")
    assert metrics[f'llmsvc_upstream_up{{upstream="{daemon.address}"}}'] == 0
    assert third.said == "Brake late"


async def test_a_client_that_leaves_ends_the_work_of_the_upstream(start: Start) -> None:
    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(HALF)
        await asyncio.Event().wait()

    async with before(start, behaves(script)) as (front, [daemon]):
        async with front.streaming("m") as events:
            await events.piece()
            assert front.service.upstreams.all[0].running == 1
        async with asyncio.timeout(30):
            await daemon.gone.wait()
        await until(lambda: not front.service.upstreams.all[0].running)
        assert (await front.get("/health")).json["upstreams"][0]["state"] == "up"
        assert front.service.admission.totals.cancelled == 1


async def test_a_full_queue_counts_for_forwarded_requests_too(start: Start) -> None:
    settings = {"max_queue_depth": 2, "upstream_parallel": 1}
    async with before(start, behaves(silent), **settings) as (front, _):
        waiting: list[asyncio.Task[Json]] = [asyncio.create_task(front.ask("m")) for _ in range(2)]
        await until(lambda: front.service.chats.forwarded.waiting == 1)
        refused = await front.ask("m")
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    assert refused.status == 429
