"""The built-in system model as clients see it, whatever plays it."""

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from runtime.llm.models.system.settings import SysmodelSettings
from tests.llm.conftest import Start
from tests.llm.models.daemons import (
    Script,
    answer,
    by_path,
    delta,
    head,
    scripted,
    silent,
    sse,
)
from tests.llm.serverkit import (
    CHAT,
    DONE,
    KA,
    REPLIES,
    Answer,
    Json,
    Server,
    chat,
    declared,
    joined,
    managed,
)
from tests.waiting import until

SYSTEM = "sysmodel-builtin"
GOLD = REPLIES["<gold>"]
CELLS = ["stable/fast", "stable/full", "preview/fast", "preview/full"]


def daemon_at(address: str, **changes: Json) -> SysmodelSettings:
    return SysmodelSettings(provider="openai_http", url=address, model="coach", **changes)


def rich(found: Answer, status: int, code: str, state: str, *, actionable: bool) -> Json:
    """The error, after a look at its rich envelope."""
    assert found.status == status, found.body
    error = found.error
    assert set(error) == {
        *("message", "type", "code"),
        *("sysmodel_status", "actionable", "next_steps"),
    }
    assert (error["code"], error["sysmodel_status"]) == (code, state)
    assert error["actionable"] is actionable
    assert all(isinstance(step, str) for step in error["next_steps"])
    return error


async def status(server: Server, query: str = "") -> Json:
    found = await server.get(f"/v1/sysmodel/status{query}")
    assert found.status == 200
    return found.json


async def available(server: Server) -> None:
    """Wait until a file has been checked."""

    async def look() -> bool:
        server.service.probing.forget()
        return bool((await status(server))["available"])

    async with asyncio.timeout(20):
        while not await look():  # noqa: ASYNC110 - the state is asked for, it tells nobody
            await asyncio.sleep(0.01)


# --- nothing configured


async def test_without_a_provider_it_is_unavailable_and_says_what_to_use(server: Server) -> None:
    for stream in (False, True):
        found = await server.ask(SYSTEM, stream=stream)
        error = rich(found, 503, "SYSMODEL_UNAVAILABLE", "unavailable", actionable=False)
        assert error["type"] == "sysmodel_unavailable"
        (step,) = error["next_steps"]
        assert "recall" in step
        assert "noise" in step
        assert "embed" not in step
        assert "sysmodel" not in step
        assert found.headers["x-should-retry"] == "false"
        assert found.headers["X-Queue-Position"] == "1"
    by_default = await server.ask(None)
    assert by_default.error["code"] == "SYSMODEL_UNAVAILABLE"


async def test_the_status_has_every_field_on_any_machine(server: Server) -> None:
    plain, full, other = [await status(server, q) for q in ("", "?probe=all", "?probe=none")]

    assert plain.pop("reason") == "not_configured"
    for name in ("soc_model", "device", "manufacturer"):
        assert isinstance(plain.pop(name), str)
    assert plain == {
        "model_id": SYSTEM,
        "status_code": 0,
        "status": "unavailable",
        "available": False,
        "provider": "none",
    }
    assert full["configs"] == {cell: {"code": 0, "label": "unavailable"} for cell in CELLS}
    assert "configs" not in other


async def test_there_is_nothing_to_download_or_to_measure_without_a_provider(
    server: Server,
) -> None:
    download = await server.request("POST", "/v1/sysmodel/download")
    measured = await server.request("POST", "/v1/sysmodel/benchmark", data=b"")
    last = await server.get("/v1/sysmodel/benchmark")

    rich(download, 503, "SYSMODEL_UNAVAILABLE", "unavailable", actionable=False)
    assert (measured.status, measured.error["type"]) == (503, "sysmodel_unavailable")
    assert measured.error["status"] == "unavailable"
    assert measured.error["code"] == "SYSMODEL_UNAVAILABLE"
    assert last.status == 404
    assert (last.error["type"], last.error["code"]) == ("no_benchmark", 404)


# --- a file of our own


async def test_a_managed_file_answers_blocking_and_streaming(start: Start, models: Path) -> None:
    async with start(sysmodel=managed(models / "recall.gguf")) as server:
        await available(server)
        blocking = await server.ask(SYSTEM, "<gold>", session_id="ignored")
        default = await server.ask(None, "<red>")
        events = await server.stream(SYSTEM, "<gold>", stream_options={"include_usage": True})
        health = (await server.get("/health")).json
        found = await server.metrics()

    assert blocking.said == joined(events) == GOLD
    assert (default.said, default.json["model"]) == (REPLIES["<red>"], SYSTEM)
    assert blocking.json["usage"]["completion_tokens"] == 3
    assert '"usage"' in events[-2]
    assert events[-1] == DONE
    assert health["engines"] == []
    assert health["sessions_cached"] == 0
    assert health["sysmodel"]["status_code"] == 3
    assert health["sysmodel"]["provider"] == "managed_gguf"
    assert found["llmsvc_sysmodel_status"] == 3
    assert found["llmsvc_requests_completed_total"] == 3


async def test_history_and_budgets_reach_the_system_model(start: Start, models: Path) -> None:
    async with start(sysmodel=managed(models / "endless.gguf", context_tokens=256)) as server:
        await available(server)
        turns = [("user", "<gold>"), ("assistant", "x"), ("user", "y")]
        capped = await server.ask(SYSTEM, turns, max_completion_tokens=3)
        total = await server.ask(SYSTEM, "xx", max_tokens=25)
        long = await server.ask(SYSTEM, "x" * 300)
        stream = await server.stream(SYSTEM, "x" * 300)
    assert capped.said == GOLD
    assert total.json["usage"]["completion_tokens"] == 4
    assert (long.status, long.error["code"]) == (400, 400)
    assert json.loads(stream[-2])["error"]["code"] == 400


async def test_the_lanes_do_not_wait_for_each_other(start: Start, models: Path) -> None:
    async with start(sysmodel=managed(models / "endless.gguf", context_tokens=30_000)) as server:
        await available(server)
        async with server.streaming("endless") as local:
            await local.piece()
            assert (await server.ask(SYSTEM, "<gold>", max_completion_tokens=3)).said == GOLD
            async with server.streaming(SYSTEM) as system:
                await system.piece()
                assert system.response.headers["X-Queue-Position"] == "1"
                assert (await server.metrics())["llmsvc_sysmodel_inflight"] == 1
                await local.piece()
                body = (await server.get("/health")).json
        await server.idle()
    assert (body["inflight"], body["queue_depth"]) == (1, 0)


async def test_each_lane_has_the_limit_of_the_queue(start: Start, models: Path) -> None:
    settings = managed(models / "endless.gguf", context_tokens=30_000)
    async with start(sysmodel=settings, max_queue_depth=1) as server:
        await available(server)
        async with server.streaming("endless") as local, server.streaming(SYSTEM) as system:
            await local.piece()
            await system.piece()
            assert [(await server.ask(model)).status for model in ("recall", SYSTEM)] == [429, 429]


async def test_leaving_the_system_model_frees_its_lane(start: Start, models: Path) -> None:
    async with start(sysmodel=managed(models / "endless.gguf", context_tokens=30_000)) as server:
        await available(server)
        async with server.streaming(SYSTEM) as running:
            await running.piece()
        await server.idle()
        again = await server.ask(SYSTEM, "<gold>", max_completion_tokens=3)
        assert again.said == GOLD
        assert server.service.admission.totals.cancelled == 1
        assert server.totals_add_up()


async def test_an_engine_of_the_system_model_that_dies_is_a_rich_500_and_comes_back(
    start: Start, models: Path
) -> None:
    async with start(sysmodel=managed(models / "endless.gguf", context_tokens=30_000)) as server:
        await available(server)
        async with server.streaming(SYSTEM) as running:
            await running.piece()
            os.kill(system_worker(server), signal.SIGKILL)
            *_, failure, sentinel = await running.rest()
        again = await server.ask(SYSTEM, "<gold>", max_completion_tokens=3)
    error = json.loads(failure)["error"]
    assert (error["code"], sentinel) == ("SYSMODEL_RUNTIME_ERROR", DONE)
    assert error["next_steps"]
    assert again.said == GOLD


def system_worker(server: Server) -> int:
    """The process id of the system model's engine."""
    (engine,) = server.service.pool.list_engines("system")
    return engine.worker.pid


async def test_warming_asks_for_the_state_and_with_deep_for_a_token(
    start: Start, models: Path
) -> None:
    async with start(sysmodel=managed(models / "recall.gguf")) as server:
        await available(server)
        shallow = await server.request("POST", "/health/warm")
        assert server.service.pool.list_engines("system") == []
        deep = await server.request("POST", f"/health/warm?model={SYSTEM}&deep=1")
        assert server.service.pool.list_engines("system") != []
        unloaded = await server.request("POST", "/v1/engines/unload")
        await until(lambda: not server.service.pool.list_engines("system"))
    for found in (shallow, deep):
        body = found.json
        assert isinstance(body.pop("ms"), int)
        assert body == {"model": SYSTEM, "status": "warm", "engine_loaded": True}
    assert unloaded.status == 200


async def test_a_measured_run_is_kept_until_the_next(start: Start, models: Path) -> None:
    async with start(sysmodel=managed(models / "recall.gguf")) as server:
        await available(server)
        body = {"prompts": ["<gold>", "  ", "<red>"], "warmup": 99}
        ran = await server.request("POST", "/v1/sysmodel/benchmark", json=body)
        last = await server.get("/v1/sysmodel/benchmark")
        defaults = await server.request("POST", "/v1/sysmodel/benchmark", data=b"no json")

    record = ran.json
    assert ran.status == 200
    assert last.json == record
    assert (record["model_id"], record["status"]) == (SYSTEM, "available")
    assert record["warmup_runs"] == 5
    assert [result["prompt"] for result in record["results"]] == ["<gold>", "<red>"]
    assert [result["output_tokens"] for result in record["results"]] == [3, 3]
    assert record["total_tokens"] == 6
    assert record["total_ms"] == sum(result["inference_ms"] for result in record["results"])
    rates = [result["tokens_per_sec"] for result in record["results"]]
    assert record["avg_tokens_per_sec"] == pytest.approx(sum(rates) / 2, abs=0.02)
    assert defaults.status == 200
    assert len(defaults.json["results"]) == 4
    assert defaults.json["warmup_runs"] == 1


async def test_a_measurement_that_makes_no_sense_is_refused(start: Start, models: Path) -> None:
    settings = managed(models / "recall.gguf")
    async with start(sysmodel=settings, max_prompt_chars=512) as server:
        for body, code in (
            ({"prompts": ["x"] * 33}, 400),
            ({"prompts": "x"}, 400),
            ({"warmup": "1"}, 400),
            ({"prompts": ["x" * 600]}, 413),
        ):
            found = await server.request("POST", "/v1/sysmodel/benchmark", json=body)
            assert (found.status, found.error["type"]) == (code, "invalid_request_error")


async def test_two_measurements_never_overlap(start: Start, models: Path) -> None:
    settings = managed(models / "endless.gguf", context_tokens=30_000)
    async with start(sysmodel=settings) as server:
        await available(server)
        body = {"prompts": ["a", "b", "c"]}
        first = asyncio.ensure_future(server.request("POST", "/v1/sysmodel/benchmark", json=body))
        await until(lambda: server.service.benchmark._running)
        second = await server.request("POST", "/v1/sysmodel/benchmark", json=body)
        assert (await first).status == 200
    assert (second.status, second.error["type"]) == (429, "rate_limit_error")
    assert second.headers["Retry-After"] == "5"


# --- a download


async def test_a_model_that_can_be_downloaded_is_not_downloaded_by_a_chat(
    start: Start, models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.llm.models.system.state.WAIT_S", 30)
    async with start(sysmodel=declared(models / "recall.gguf")) as server:
        found = await server.ask(SYSTEM)
        later = await status(server)
        warm = await server.request("POST", "/health/warm")
        measured = await server.request("POST", "/v1/sysmodel/benchmark", data=b"")
    error = rich(found, 503, "SYSMODEL_DOWNLOADABLE", "downloadable", actionable=True)
    assert len(error["next_steps"]) == 3
    assert (later["status_code"], later["status"]) == (2, "downloadable")
    assert (warm.status, warm.json["sysmodel_status"]) == (503, "downloadable")
    assert (measured.status, measured.error["code"]) == (503, "SYSMODEL_DOWNLOADABLE")


async def test_a_download_runs_from_2_over_1_to_3_and_then_it_answers(
    start: Start, models: Path
) -> None:
    settings = declared(models / "noise.gguf", download_bytes_per_s=200_000)
    async with start(sysmodel=settings) as server:
        begun = await server.request("POST", "/v1/sysmodel/download")
        joined_in = await server.request("POST", "/v1/sysmodel/download")
        during = await server.ask(SYSTEM)
        health = (await server.get("/health")).json["sysmodel"]
        measured = await server.request("POST", "/v1/sysmodel/benchmark", data=b"")
        await available(server)
        again = await server.request("POST", "/v1/sysmodel/download")
        answered = await server.ask(SYSTEM, max_completion_tokens=2)

    for found in (begun, joined_in):
        assert (found.status, found.json["status"]) == (202, "downloading")
    error = rich(during, 425, "SYSMODEL_DOWNLOADING", "downloading", actionable=True)
    assert len(error["next_steps"]) == 2
    assert during.headers["x-should-retry"] == "true"
    assert int(during.headers["Retry-After"]) > 0
    assert health["status_code"] == 1
    assert 0 <= health["progress"] < 1
    assert (measured.status, measured.error["code"]) == (503, "SYSMODEL_DOWNLOADING")
    assert (again.status, again.error["type"]) == (409, "already_available")
    assert answered.status == 200


async def test_a_file_that_is_not_the_declared_one_is_never_used(
    start: Start, models: Path
) -> None:
    async with start(sysmodel=declared(models / "recall.gguf", sha256="0" * 64)) as server:
        assert (await server.request("POST", "/v1/sysmodel/download")).status == 202
        provider = server.service.provider
        await until(lambda: getattr(provider, "_download") is None)  # noqa: B009
        server.service.probing.forget()
        after = await status(server)
        found = await server.ask(SYSTEM)
    assert (after["status"], after["reason"]) == ("downloadable", "checksum_mismatch")
    assert found.error["code"] == "SYSMODEL_DOWNLOADABLE"


async def test_a_chat_starts_the_download_where_the_settings_say_so(
    start: Start, models: Path
) -> None:
    settings = declared(models / "recall.gguf", auto_download=True)
    async with start(sysmodel=settings) as server:
        first = await server.ask(SYSTEM)
        await available(server)
        second = await server.ask(SYSTEM, "<gold>")
    assert first.error["code"] == "SYSMODEL_DOWNLOADING"
    assert second.said == GOLD


# --- a daemon

LIST = answer({"object": "list", "data": [{"id": "coach"}]})


async def with_daemon(start: Start, script: Script, *asked: Json) -> list[Answer]:
    """The answers to chat requests while a daemon that follows *script* is the system model."""
    async with scripted(script) as daemon, start(sysmodel=daemon_at(daemon.address)) as server:
        return [await server.request("POST", CHAT, json=body) for body in asked]


async def test_a_daemon_answers_in_pieces(start: Start) -> None:
    said = sse(delta("Brake "), delta("late"), delta(finish="stop"))
    script = by_path(models=LIST, completions=said)
    body = chat(SYSTEM)
    blocking, stream = await with_daemon(start, script, body, body | {"stream": True})

    assert blocking.said == "Brake late"
    assert blocking.json["model"] == SYSTEM
    assert blocking.json["choices"][0]["finish_reason"] == "stop"
    assert b"Brake " in stream.body
    assert stream.body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("usage", [None, 7, {"prompt_tokens": -1, "completion_tokens": "3"}])
async def test_what_a_daemon_did_not_count_is_absent_and_not_zero(
    start: Start, usage: Json
) -> None:
    said = sse(delta("late"), delta(finish="stop"), {"choices": [], "usage": usage})
    script = by_path(models=LIST, completions=said)
    streamed = chat(SYSTEM, stream=True, stream_options={"include_usage": True})
    blocking, stream = await with_daemon(start, script, chat(SYSTEM), streamed)

    assert blocking.said == "late"
    assert "usage" not in blocking.json
    assert {"prompt_n", "predicted_n"} & set(blocking.json["timings"]) == set()
    assert b"usage" not in stream.body
    assert stream.body.endswith(b"data: [DONE]\n\n")


REFUSED = answer({"error": {"code": 30, "message": "background"}}, "403 Forbidden")


async def test_a_daemon_in_the_background_is_a_403_with_what_to_do(start: Start) -> None:
    script = by_path(models=LIST, completions=REFUSED)
    body = chat(SYSTEM)
    blocking, stream = await with_daemon(start, script, body, body | {"stream": True})
    error = rich(blocking, 403, "SYSMODEL_BACKGROUND_BLOCKED", "available", actionable=True)
    assert error["type"] == "sysmodel_background_blocked"
    assert len(error["next_steps"]) == 3
    assert b"SYSMODEL_BACKGROUND_BLOCKED" in stream.body
    assert stream.body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize(
    "reply",
    [
        answer({"error": "it broke"}, "500 Internal Server Error"),
        answer({"error": "no"}, "400 Bad Request"),
    ],
)
async def test_a_daemon_that_fails_is_a_rich_500(start: Start, reply: bytes) -> None:
    (found,) = await with_daemon(start, by_path(models=LIST, completions=reply), chat(SYSTEM))
    error = rich(found, 500, "SYSMODEL_RUNTIME_ERROR", "unknown", actionable=False)
    assert error["type"] == "sysmodel_runtime_error"
    assert len(error["next_steps"]) == 1
    assert found.headers["x-should-retry"] == "false"
    assert "127.0.0.1" not in error["message"]


async def test_a_daemon_that_is_not_there_cannot_be_known(start: Start) -> None:
    async with scripted(silent) as daemon:
        address = daemon.address
    async with start(sysmodel=daemon_at(address)) as server:
        found = await server.ask(SYSTEM)
        plain = await status(server, "?probe=all")
        health = (await server.get("/health")).json["sysmodel"]
        measured = await server.request("POST", "/v1/sysmodel/benchmark", data=b"")
        gauge = (await server.metrics())["llmsvc_sysmodel_status"]

    rich(found, 503, "SYSMODEL_UNAVAILABLE", "unavailable", actionable=False)
    assert (plain["status_code"], plain["status"], plain["available"]) == (-1, "unavailable", False)
    assert plain["error"]
    assert plain["configs"]["stable/fast"]["code"] == -1
    assert (health["status_code"], health["status"]) == (None, "unavailable")
    assert health["error"]
    assert (measured.status, measured.error["status"]) == (503, "error")
    assert gauge == -1


async def test_a_state_that_nobody_knows_is_named(start: Start) -> None:
    listed = answer({"data": [{"id": "coach", "status": 7}]})
    (found,) = await with_daemon(start, by_path(models=listed), chat(SYSTEM))
    error = rich(found, 503, "SYSMODEL_UNKNOWN", "unknown(7)", actionable=False)
    assert error["next_steps"] == []


async def test_a_silent_reply_is_a_408_with_heartbeats_before(start: Start) -> None:
    script = by_path(models=LIST, completions=silent)
    async with (
        scripted(script) as daemon,
        start(
            sysmodel=daemon_at(daemon.address), request_timeout_ms=1000, heartbeat_ms=20
        ) as server,
    ):
        blocking = await server.ask(SYSTEM)
        beats = 0
        while beats < 2:  # as a rule at once; none where the machine is held meanwhile
            events = await server.stream(SYSTEM)
            assert json.loads(events[-2])["error"]["code"] == 408
            beats += events.count(KA)
    assert (blocking.status, blocking.error["type"]) == (408, "timeout")


async def test_leaving_ends_the_request_to_the_daemon(start: Start) -> None:
    async def drips(asked: object, writer: asyncio.StreamWriter) -> None:
        writer.write(head() + b"data: " + json.dumps(delta("a")).encode() + b"\n\n")
        await writer.drain()
        await asyncio.Event().wait()

    script = by_path(models=LIST, completions=drips)
    async with scripted(script) as daemon, start(sysmodel=daemon_at(daemon.address)) as server:
        async with server.streaming(SYSTEM) as running:
            assert await running.piece() == "a"
        async with asyncio.timeout(10):
            await daemon.gone.wait()
        await server.idle()
        assert server.service.admission.totals.cancelled == 1
