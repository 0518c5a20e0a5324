"""Routes that show what the server has and does: health, models, requests, metrics, warm-up."""

import asyncio
from pathlib import Path

import pytest

from runtime import VERSION
from runtime.llm.api import health
from runtime.llm.engine.process import Worker
from tests.llm.conftest import Start
from tests.llm.serverkit import Json, Server
from tests.waiting import until

MODELS = ["embed", "endless", "noise", "recall", "strict", "sysmodel-builtin"]


async def test_health_of_a_new_server(server: Server) -> None:
    answer = await server.get("/health")

    assert answer.status == 200
    body = answer.json
    assert isinstance(body.pop("uptime_s"), int)
    assert body == {
        "status": "ok",
        "service": "llmsvc",
        "version": VERSION,
        "queue_depth": 0,
        "engines_loaded": 0,
        "engines": [],
        "embedding_engines": [],
        "documents": {"tenants": 0, "documents": 0, "chunks": 0, "disk_full": False},
        "inflight": 0,
        "sessions_cached": 0,
        "auth": "open",
        "last_failures": [],
        "sysmodel": {
            "status_code": 0,
            "status": "unavailable",
            "model_id": "sysmodel-builtin",
            "is_default": True,
            "provider": "none",
        },
    }


async def test_health_shows_engines_the_queue_and_conversations(server: Server) -> None:
    await server.ask("recall", "<red>", session_id="a")
    async with server.streaming("endless", max_tokens=20_000) as running:
        await running.piece()
        waiting = asyncio.ensure_future(server.ask("recall"))
        await until(lambda: server.service.chats.local.waiting == 1)
        body = (await server.get("/health")).json
    await waiting

    assert (body["queue_depth"], body["inflight"], body["sessions_cached"]) == (1, 1, 1)
    assert body["engines_loaded"] == 2
    keys = {engine["key"] for engine in body["engines"]}
    assert keys == {"recall_model_LOCAL_CPU", "endless_20000_LOCAL_CPU"}
    for engine in body["engines"]:
        assert set(engine) == {"key", "backend", "attempts", "n_ctx", "compute"}
        compute = engine["compute"]
        chosen = {"threads": 1, "prefill_threads": 1, "parallel": 1, "chosen": "given"}
        assert {**compute, **chosen, "gpu_layers": 0} == compute
        assert "llama-cpp-python" in compute["library"] or "xllamacpp" in compute["library"]
        assert any(device.startswith("CPU") for device in compute["devices"])
        (attempt,) = engine["attempts"]
        assert (attempt["backend"], attempt["result"]) == ("LOCAL_CPU", "ok")
        assert isinstance(attempt["duration_ms"], int)


async def test_a_look_wakes_nobody(server: Server) -> None:
    before = server.service.last_activity
    for path in ("/health", "/metrics", "/v1/models", "/v1/sysmodel/status", "/v1/requests"):
        assert (await server.get(path)).status == 200
    assert server.service.last_activity == before
    assert server.service.pool.list_engines() == []


async def test_the_model_list_has_files_by_name_and_then_the_system_model(
    server: Server, models: Path
) -> None:
    answer = await server.get("/v1/models?limit=1")
    body = answer.json

    assert (answer.status, body["object"]) == (200, "list")
    assert [entry["id"] for entry in body["data"]] == MODELS
    for entry in body["data"]:
        assert {"id", "object", "created", "owned_by"} <= set(entry)
        assert entry["object"] == "model"
        assert isinstance(entry["created"], int)
    files = {entry["id"]: entry for entry in body["data"]}
    assert files["recall"]["created"] == int((models / "recall.gguf").stat().st_mtime)
    assert files["recall"]["owned_by"] == "local"
    assert files["recall"]["meta"]["size"] == (models / "recall.gguf").stat().st_size
    assert files["sysmodel-builtin"]["owned_by"] == "sysmodel"


async def test_one_model_is_the_entry_of_the_list(server: Server) -> None:
    for model in MODELS:
        listed = {entry["id"]: entry for entry in (await server.get("/v1/models")).json["data"]}
        answer = await server.get(f"/v1/models/{model}")
        assert (answer.status, answer.json) == (200, listed[model])


async def test_a_used_model_is_shown_as_loaded(server: Server) -> None:
    await server.ask("recall")
    meta = (await server.get("/v1/models/recall")).json["meta"]
    assert meta["loaded"] is True
    assert (await server.get("/v1/models/noise")).json["meta"]["loaded"] is False


async def warm(server: Server, query: str) -> tuple[int, Json]:
    answer = await server.request("POST", f"/health/warm{query}", data=b"ignored{")
    return answer.status, answer.json


async def test_warming_a_file_loads_it_and_counts_as_no_request(server: Server) -> None:
    before = server.service.last_activity
    status, body = await warm(server, "?model=recall")

    assert status == 200
    assert isinstance(body.pop("ms"), int)
    assert body == {"model": "recall", "status": "warm", "engine_loaded": True}
    assert server.service.last_activity > before
    assert server.service.admission.totals.admitted == 0
    assert [engine.key for engine in server.service.pool.list_engines()] == [
        "recall_model_LOCAL_CPU"
    ]


async def test_warming_does_not_wait_for_the_lane(server: Server) -> None:
    async with server.streaming("endless") as running:
        await running.piece()
        busy, idle = await warm(server, "?model=endless"), await warm(server, "?model=recall")
        await running.piece()
    assert (busy[0], idle[0]) == (200, 200)


@pytest.mark.parametrize("model", ["nothing", "embed"])
async def test_what_cannot_be_warmed_is_a_503_that_says_why(server: Server, model: str) -> None:
    status, body = await warm(server, f"?model={model}")
    assert (status, body["status"], body["model"]) == (503, "error", model)
    assert body["error"]
    assert isinstance(body["ms"], int)


async def test_the_default_of_warming_is_the_selected_model(start: Start) -> None:
    async with start(selected_model_id="recall") as server:
        assert (await warm(server, ""))[1]["model"] == "recall"
        assert (await warm(server, "?model=%20"))[1]["model"] == "recall"
    async with start() as server:
        status, body = await warm(server, "")
    assert isinstance(body.pop("ms"), int)
    expected = {
        "model": "sysmodel-builtin",
        "status": "sysmodel_not_ready",
        "sysmodel_status": "unavailable",
    }
    assert (status, body) == (503, expected)


async def test_a_warm_up_that_takes_too_long_is_a_504_and_the_load_goes_on(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert health.WARM_BUDGET_S == 60
    go_on = asyncio.Event()

    async def later() -> Worker:
        await go_on.wait()
        return await Worker.start()

    server.service.pool._start_worker = later
    status, budget_s, limits = 0, 0.0, iter((0.01, 3.0, 9.0))
    body: Json = {}
    while not server.service.pool._loads:  # where the machine is held, it has not even begun
        budget_s = next(limits)
        monkeypatch.setattr(health, "WARM_BUDGET_S", budget_s)
        status, body = await warm(server, "?model=recall")
    go_on.set()
    await until(lambda: server.service.pool.is_loaded("recall"))

    assert status == 504
    assert body == {
        "model": "recall",
        "status": "timeout",
        "ms": int(budget_s * 1000),
    }  # the whole budget


async def test_the_model_that_is_asked_by_default_is_the_selected_one(start: Start) -> None:
    async with start(selected_model_id="recall") as server:
        for model in (None, "", "  ", "recall"):
            answer = await server.ask(model, "<gold>")
            assert answer.json["model"] == "recall"
