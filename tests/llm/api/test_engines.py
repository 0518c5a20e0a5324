"""Engines behind the API: which are kept, which are refused, and how they come back."""

import asyncio
import os
import shutil
import signal
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.llm.engine.process import Worker
from tests.llm import tinymodel
from tests.llm.conftest import Start
from tests.llm.serverkit import REPLIES, Answer, Json, Server, write_models
from tests.waiting import until

GOLD = REPLIES["<gold>"]


def failed(answer: Answer) -> str:
    """The message of a `LOCAL_INIT_FAILED`, after a look at its envelope."""
    assert answer.status == 503, answer.body
    error = answer.error
    assert set(error) == {"message", "type", "code", "actionable", "next_steps"}
    assert (error["type"], error["code"]) == ("local_engine_failed", "LOCAL_INIT_FAILED")
    assert error["actionable"] is True
    assert len(error["next_steps"]) == 3
    assert answer.headers["x-should-retry"] == "false"
    assert "/" not in error["message"], "a path"
    return str(error["message"])


async def engines(server: Server) -> list[str]:
    return [engine["key"] for engine in (await server.get("/health")).json["engines"]]


async def test_the_two_most_recent_engines_are_kept(server: Server) -> None:
    for model in ("recall", "noise", "recall", "strict"):
        await server.ask(model, max_completion_tokens=1)
    assert await engines(server) == ["strict_model_LOCAL_CPU", "recall_model_LOCAL_CPU"]


async def test_an_engine_in_use_outlives_its_place_in_the_cache(start: Start) -> None:
    async with start(engine_cache_size=1) as server, server.streaming("endless") as running:
        await running.piece()
        waiting = asyncio.ensure_future(server.ask("recall", "<gold>"))
        await until(lambda: server.service.chats.local.waiting == 1)
        await server.request("POST", "/v1/engines/unload")
        for _ in range(5):
            await running.piece()
        running.response.close()
        assert (await waiting).said == GOLD
        await server.idle()
        assert len(await engines(server)) == 1


async def test_idle_engines_are_unloaded_and_loaded_again(start: Start) -> None:
    async with start(idle_evict_ms=100) as server:
        workers = []

        async def noted() -> Worker:
            workers.append(await Worker.start())
            return workers[-1]

        server.service.pool._start_worker = noted
        await server.ask("recall")
        await until(lambda: not server.service.pool.list_engines())
        await until(lambda: not workers[0].alive)
        assert (await server.ask("recall", "<gold>")).said == GOLD


async def test_a_replaced_file_is_loaded_anew(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    tinymodel.write_recall(folder / "m.gguf", [[b"old1 ", b"old2 "], [b"x1", b"x2"]])
    async with start(models=folder) as server:
        old = await server.ask("m", "<red>")
        async with server.streaming("m", "<red>", session_id="s") as events:
            await events.rest()
        tinymodel.write_recall(folder / "new", [[b"new1 ", b"new2 "], [b"x1", b"x2"]])
        os.replace(folder / "new", folder / "m.gguf")  # noqa: PTH105 - as a download does
        new = await server.ask("m", "<red>")
        health = (await server.get("/health")).json
        (folder / "m.gguf").unlink()
        gone = await server.ask("m", "<red>")

    assert (old.said, new.said) == ("old1 old2 ", "new1 new2 ")
    assert (health["engines_loaded"], health["sessions_cached"]) == (1, 0)
    assert gone.status == 404


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty but for a byte": lambda data: b"G",
    "another format": lambda data: b"PK\x03\x04" + data[4:],
    "zeros": lambda data: bytes(len(data)),
    "half a header": lambda data: data[:20],
    "half the metadata": lambda data: data[:2000],
    "half the weights": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "version 1": lambda data: data[:4] + struct.pack("<I", 1) + data[8:],
    "the other byte order": lambda data: data[:4] + struct.pack(">I", 3) + data[8:],
    "endless tensors": lambda data: data[:8] + struct.pack("<Q", 1 << 60) + data[16:],
    "endless metadata": lambda data: data[:16] + struct.pack("<Q", 1 << 60) + data[24:],
    "no tensors": lambda data: data[:8] + struct.pack("<Q", 0) + data[16:],
    "a key without end": lambda data: data[:24] + struct.pack("<Q", 1 << 62) + data[32:],
    "text": lambda data: b"<html>404 Not Found</html>" * 100,
}


async def test_damaged_files_are_refused_in_words_and_the_server_lives(
    start: Start, models: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    good = (models / "recall.gguf").read_bytes()
    for name, damage in DAMAGE.items():
        (folder / f"{name}.gguf").write_bytes(damage(good))
    (folder / "good.gguf").write_bytes(good)
    async with start(models=folder) as server:
        for name in DAMAGE:
            blocking = await server.ask(name)
            assert "recall" not in failed(blocking), name
            failed(await server.ask(name, stream=True))
        listed = await server.get("/v1/models")
        health = (await server.get("/health")).json
        assert (await server.ask("good", "<gold>")).said == GOLD

    assert len(listed.json["data"]) == len(DAMAGE) + 2
    assert len(health["last_failures"]) == 8
    assert all(one["result"].startswith("failed: ") for one in health["last_failures"])


CATALOG = """
[models.npu]
backend = "LOCAL_NPU"
[models.gpu]
backend = "LOCAL_GPU"
[models.chip]
required_soc = "no-such-chip"
[models.broken]
backend = "LOCAL_TPU"
[models.small]
context_tokens = 128
[models.embedder]
kind = "embedding"
"""


async def test_the_catalog_decides_backend_and_budget_and_nothing_falls_back(
    start: Start, models: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    names = ("npu", "gpu", "chip", "broken", "small", "embedder")
    for name in names:
        shutil.copy(models / "recall.gguf", folder / f"{name}.gguf")
    (folder / "catalog.toml").write_text(CATALOG)
    async with start(models=folder) as server:
        refused = {name: await server.ask(name) for name in names if name != "small"}
        small = await server.ask("small", "<gold>")
        over = await server.ask("small", "x" * 128)
        keys = await engines(server)

    words = {"npu": "NPU", "gpu": "GPU", "chip": "no-such-chip", "broken": "backend"}
    for name, word in words.items():
        assert word in failed(refused[name]), name
    assert "embedding" in failed(refused["embedder"])
    assert small.said == GOLD
    assert over.status == 400
    assert keys == ["small_model_LOCAL_CPU"]


@pytest.mark.parametrize("stream", [False, True])
async def test_a_model_whose_chat_template_does_not_compile_cannot_be_loaded(
    start: Start, tmp_path: Path, stream: bool
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    shape = tinymodel.Shape(template="{% nonsense %}")
    tinymodel.write_recall(folder / "m.gguf", [[b"a1 ", b"a2 "], [b"b1", b"b2"]], shape=shape)
    async with start(models=folder) as server:
        said = failed(await server.ask("m", stream=stream))
    assert "the file's chat template does not compile: " in said


async def test_a_load_that_takes_too_long_is_a_503(start: Start) -> None:
    async with start(load_timeout_ms=50) as server:

        async def never() -> Worker:
            await asyncio.Event().wait()
            raise AssertionError

        server.service.pool._start_worker = never
        assert "in time" in failed(await server.ask("recall"))


async def test_an_engine_that_dies_while_it_loads_is_a_503_and_is_started_again(
    server: Server,
) -> None:
    async def doomed() -> Worker:
        worker = await Worker.start()
        os.kill(worker.pid, signal.SIGKILL)
        return worker

    server.service.pool._start_worker = doomed
    failed(await server.ask("recall"))
    server.service.pool._start_worker = Worker.start
    assert (await server.ask("recall", "<gold>")).said == GOLD


async def test_an_engine_that_hangs_is_killed_after_its_client_left(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.llm.engine.process.SETTLE_S", 0.3)
    async with server.streaming("endless") as running:
        await running.piece()
        (engine,) = server.service.pool.list_engines()
        os.kill(engine.worker.pid, signal.SIGSTOP)
    await until(lambda: not engine.worker.alive)
    await server.idle()
    assert (await server.ask("endless", "<gold>", max_completion_tokens=3)).said == GOLD


async def test_a_crash_costs_the_running_reply_only_and_the_next_in_line_is_answered(
    server: Server,
) -> None:
    async with server.streaming("endless") as running:
        await running.piece()
        ask = server.ask("endless", "<gold>", max_completion_tokens=3)
        waiting = asyncio.create_task(ask)
        await until(lambda: server.service.chats.local.waiting == 1)
        (engine,) = server.service.pool.list_engines()
        await until(lambda: engine.users == 2)
        os.kill(engine.worker.pid, signal.SIGKILL)
        last = await running.rest()
    assert '"server_error"' in last[-2]
    assert (await waiting).said == GOLD
    await server.idle()


async def test_unloading_now_leaves_no_process(server: Server) -> None:
    await server.ask("recall")
    await server.ask("noise", max_completion_tokens=1)
    workers = [engine.worker for engine in server.service.pool.list_engines()]
    answer = await server.request("POST", "/v1/engines/unload")
    again = await server.request("POST", "/v1/engines/unload")
    await until(lambda: not any(worker.alive for worker in workers))
    assert (answer.json, again.json) == ({"unloaded": 2}, {"unloaded": 0})


async def test_models_of_the_budget_of_the_settings(start: Start, tmp_path: Path) -> None:
    folder = write_models(tmp_path / "models")
    async with start(models=folder, default_context=300) as server:
        over = await server.ask("endless", "x" * 300)
        (engine,) = server.service.pool.list_engines()
    assert "is 300;" in over.error["message"]
    assert engine.budget == 300


async def test_an_engine_that_is_still_closing_does_not_keep_its_successor_from_loading(
    server: Server,
) -> None:
    await server.ask("endless", max_completion_tokens=1)
    async with server.streaming("endless", max_tokens=20_000) as running:
        await running.piece()
        body: Json = {"max_tokens": 512, "max_completion_tokens": 1}
        pushes = asyncio.ensure_future(server.ask("endless", **body))
        await until(lambda: bool(pushed(server)))
        again = asyncio.ensure_future(server.ask("endless", max_completion_tokens=1))
        await until(lambda: server.service.chats.local.waiting == 2)
    assert [answer.status for answer in await asyncio.gather(pushes, again)] == [200, 200]


def pushed(server: Server) -> list[str]:
    """Keys of loaded engines once the first one has lost its place."""
    keys = [engine.key for engine in server.service.pool.list_engines()]
    return [] if "endless_model_LOCAL_CPU" in keys else keys


async def test_a_catalog_that_changes_is_obeyed_at_the_next_request(
    start: Start, models: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(models / "recall.gguf", folder / "m.gguf")
    async with start(models=folder) as server:
        before = await server.ask("m", "<gold>")
        (folder / "catalog.toml").write_text("[models.m]\ncontext_tokens = 100\n")
        smaller = await server.ask("m", "x" * 100)
        (folder / "catalog.toml").write_text('[models.m]\nbackend = "LOCAL_NPU"\n')
        other = await server.ask("m", "<gold>")
    assert before.status == 200
    assert smaller.status == 400
    assert "is 100;" in smaller.error["message"]
    assert "NPU" in failed(other)


async def test_a_temperature_in_the_catalog_is_for_requests_that_name_none(
    start: Start, models: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    shutil.copy(models / "noise.gguf", folder / "m.gguf")
    (folder / "catalog.toml").write_text("[models.m]\ntemperature = 0.0\n")

    async def text(seed: int, temperature: float | None = None) -> str:
        answer = await server.ask(
            "m", "hi", seed=seed, max_completion_tokens=12, temperature=temperature
        )
        said: str = answer.json["choices"][0]["message"]["content"]
        return said

    async with start(models=folder, temperature=1.5) as server:
        assert await text(1) == await text(2) == await text(3, temperature=0)
        assert await text(1, temperature=1.5) != await text(2, temperature=1.5)
