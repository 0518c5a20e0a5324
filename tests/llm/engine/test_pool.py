"""Which engines are loaded, kept, shared and let go, with processes that only pretend."""

import asyncio
import dataclasses
import os
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from runtime.llm.engine.pool import (
    Engine,
    Pool,
    choose_budget,
)
from runtime.llm.engine.process import ANSWER_S, Answer, ShortOfMemory, Worker, WorkerFailed
from runtime.llm.engine.protocol import ChatLoaded, Close, Command, LoadChat, Ok, Open, Warm
from runtime.llm.engine.sessions import OTHERS, Sessions
from runtime.llm.errors import LocalInitFailed
from runtime.llm.models.catalog import Catalog, Entry
from runtime.llm.models.catalogfile import Declaration
from runtime.llm.settings import LlmSettings
from tests.waiting import until


class Pretender(Worker):
    """A process that says yes to everything, or what it is told to say."""

    def __init__(self, say: Callable[[Command], None]) -> None:
        super().__init__()
        self.asked: list[Command] = []
        self.say = say

    async def ask(
        self, command: Command, kind: type[Answer], limit_s: float | None = ANSWER_S
    ) -> Answer:
        self.asked.append(command)
        await asyncio.sleep(0)
        self.say(command)
        loaded = isinstance(command, LoadChat)
        library = "made up", ["CPU"], 0
        answer = ChatLoaded(512, 1, 2, 1, "measured", *library, "file") if loaded else Ok()
        assert isinstance(answer, kind)
        return answer

    async def close(self) -> None:
        self.kill()

    def count(self, kind: type[Command]) -> int:
        return sum(isinstance(command, kind) for command in self.asked)


class Rig:
    """A pool on the tiny models, its processes, and a clock that is moved by hand."""

    def __init__(self, folder: Path, size: int = 2, load_timeout_s: float = 5.0) -> None:
        self.catalog = Catalog([folder])
        self.workers: list[Pretender] = []
        self.answer: Callable[[Command], None] = lambda command: None
        self.now = 0.0
        limits = {"engine_cache_size": size, "load_timeout_ms": load_timeout_s * 1000}
        settings = LlmSettings(session_ttl_ms=10_000, session_cache_bytes=1 << 20)
        self.pool = Pool(settings.model_copy(update=limits), self._start, clock=lambda: self.now)
        self.sessions = self.pool.sessions

    async def _start(self) -> Worker:
        self.workers.append(Pretender(self._say))
        return self.workers[-1]

    def _say(self, command: Command) -> None:
        self.answer(command)  # what is set at that time

    def entry(self, model: str) -> Entry:
        found = self.catalog.find(model)
        assert found is not None
        return found

    async def use(self, model: str, max_tokens: int | None = None) -> Engine:
        """Take an engine and give it back."""
        engine = await self.pool.acquire(self.entry(model), max_tokens)
        self.pool.release(engine)
        return engine

    @property
    def keys(self) -> list[str]:
        return [engine.key for engine in self.pool.list_engines()]


@pytest.fixture
def rig(models: Path) -> Rig:
    return Rig(models)


@pytest.mark.parametrize(
    ("declared", "trained", "default", "budget"),
    [(None, 2048, 4096, 2048), (None, 8192, 4096, 4096), (100, 8192, 4096, 100), (None, 0, 9, 9)],
)
def test_the_budget_is_the_declared_one_or_the_trained_one_up_to_the_default(
    models: Path, declared: int | None, trained: int, default: int, budget: int
) -> None:
    entry = Rig(models).entry("recall")
    told = replace(entry, declared=Declaration(context_tokens=declared))
    assert choose_budget(told, trained, default) == budget


async def test_a_load_logs_how_it_will_compute(rig: Rig, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        await rig.use("recall")
    assert (
        "recall: threads for a token 1 (measured), for a prompt 2; replies at a time 1"
        in caplog.text
    )
    await rig.pool.close()


async def test_engines_in_use_stay_and_one_more_waits_until_one_of_them_is_free(rig: Rig) -> None:
    held = [await rig.pool.acquire(rig.entry(m)) for m in ("recall", "noise")]
    assert rig.pool.unload_idle(0.0) == 0
    third = asyncio.create_task(rig.pool.acquire(rig.entry("strict")))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(third), 0.1)
    assert rig.keys == ["noise_model_LOCAL_CPU", "recall_model_LOCAL_CPU"]

    rig.pool.release(held[0])
    engine = await third

    assert rig.keys == ["strict_model_LOCAL_CPU", "noise_model_LOCAL_CPU"]
    for one in (engine, held[1]):
        rig.pool.release(one)
    await rig.pool.close()
    assert not any(worker.alive for worker in rig.workers)


@pytest.mark.parametrize(
    "changed",
    [{"backend": "LOCAL_GPU"}, {"chat_template": "{{ messages[0].content }}"}],
)
async def test_a_changed_declaration_is_loaded_anew(rig: Rig, changed: dict[str, str]) -> None:
    before = await rig.use("recall")
    entry = rig.entry("recall")
    declared = entry.declared.model_copy(update=changed)

    after = await rig.pool.acquire(dataclasses.replace(entry, declared=declared))

    assert after.model is not before.model
    load = rig.workers[-1].asked[0]
    assert isinstance(load, LoadChat)
    assert load.gpu_layers == (-1 if "backend" in changed else 0)
    assert load.template == changed.get("chat_template", "")
    rig.pool.release(after)
    await rig.pool.close()


async def test_engines_of_one_file_share_its_process_until_the_last_is_gone(rig: Rig) -> None:
    for tokens in (None, 512, 256):
        await rig.use("recall", tokens)
    (worker,) = rig.workers
    await until(lambda: worker.count(Close) == 1)

    assert (worker.count(LoadChat), worker.count(Open)) == (1, 3)
    assert rig.keys == ["recall_256_LOCAL_CPU", "recall_512_LOCAL_CPU"]
    assert worker.alive
    assert rig.pool.unload_idle(0.0) == 2
    await until(lambda: not worker.alive)
    await rig.pool.close()


async def test_a_load_goes_on_when_the_one_who_asked_leaves(rig: Rig) -> None:
    task = asyncio.ensure_future(rig.use("recall"))
    await until(lambda: bool(rig.workers))
    task.cancel()
    await until(lambda: bool(rig.keys))
    await until(lambda: rig.pool.list_engines()[0].users == 0)
    await rig.pool.close()


@pytest.mark.parametrize("kind", [LoadChat, Open])
async def test_a_step_that_fails_leaves_no_process_and_a_record(
    rig: Rig, kind: type[Command]
) -> None:
    def refuse(command: Command) -> None:
        if isinstance(command, kind):
            raise WorkerFailed("no memory")

    rig.answer = refuse
    with pytest.raises(LocalInitFailed, match="no memory"):
        await rig.use("recall")
    await until(lambda: not any(worker.alive for worker in rig.workers))
    (failure,) = rig.pool.failures
    assert (failure.key, failure.result) == ("recall_model_LOCAL_CPU", "failed: no memory")
    assert rig.keys == []

    rig.answer = lambda command: None
    engine = await rig.use("recall")
    assert (engine.attempt.result, engine.attempt.backend) == ("ok", "LOCAL_CPU")
    await rig.pool.close()


async def test_a_changed_file_is_loaded_beside_the_one_in_use(models: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes((models / "recall.gguf").read_bytes())
    rig = Rig(tmp_path)
    old = await rig.pool.acquire(rig.entry("m"))
    os.utime(path, (1, 1))
    new = await rig.pool.acquire(rig.entry("m"))

    assert old.worker is not new.worker
    assert old.worker.alive
    rig.pool.release(old)
    await until(lambda: not old.worker.alive)
    assert new.worker.alive
    rig.pool.release(new)
    await rig.pool.close()


async def test_idle_means_unused_for_that_long(rig: Rig) -> None:
    await rig.use("recall")
    rig.now = 5.0
    await rig.use("noise")
    rig.now = 10.0
    rig.pool.tick(6.0)
    assert rig.keys == ["noise_model_LOCAL_CPU"]
    rig.pool.tick(0.0)  # never
    assert rig.keys == ["noise_model_LOCAL_CPU"]
    await rig.pool.close()


async def test_a_load_that_fails_is_one_failure_for_all_who_wait_for_it(rig: Rig) -> None:
    def refuse(command: Command) -> None:
        raise WorkerFailed("damaged")

    await rig.use("recall")
    rig.workers[0].kill()
    rig.answer = refuse
    asked = [rig.use("recall") for _ in range(5)]
    found = await asyncio.gather(*asked, return_exceptions=True)
    assert {type(error) for error in found} == {LocalInitFailed}
    assert len(rig.workers) == 2
    await rig.pool.close()


async def test_short_memory_lets_idle_engines_go(
    rig: Rig, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    held = await rig.pool.acquire(rig.entry("recall"))
    await rig.use("noise")
    plenty = SimpleNamespace(available=11, total=100)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: plenty)
    rig.pool.tick(0.0)
    assert len(rig.keys) == 2
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=9, total=100))
    rig.pool.tick(0.0)
    assert rig.keys == ["recall_model_LOCAL_CPU"]
    assert "memory is low" in caplog.text
    rig.pool.release(held)
    await rig.pool.close()


async def test_warming_is_shared_and_done_once_a_file(rig: Rig) -> None:
    await asyncio.gather(*(rig.pool.warm(rig.entry("recall")) for _ in range(5)))
    await rig.pool.warm(rig.entry("recall"))
    assert rig.workers[0].count(Warm) == 1
    assert rig.pool.list_engines()[0].users == 0
    await rig.pool.close()


async def test_an_engine_that_cannot_generate_is_not_warm(rig: Rig) -> None:
    def refuse(command: Command) -> None:
        if isinstance(command, Warm):
            raise WorkerFailed("no token")

    rig.answer = refuse
    with pytest.raises(LocalInitFailed, match="no token"):
        await rig.pool.warm(rig.entry("recall"))
    assert rig.pool.list_engines()[0].users == 0
    await rig.pool.close()


async def test_many_at_once_leave_the_counts_at_zero(rig: Rig) -> None:
    asked = [(model, n) for model in ("recall", "noise", "strict") for n in (None, 256, 512)] * 4
    await asyncio.gather(*(rig.use(model, tokens) for model, tokens in asked))
    assert len(rig.keys) <= 2
    assert Counter(engine.users for engine in rig.pool.list_engines()) == Counter(
        {0: len(rig.keys)}
    )
    await rig.pool.close()
    assert not any(worker.alive for worker in rig.workers)


SHORT = "not enough memory: needs 733 MB, 500 MB are available"


@pytest.fixture
def roomy(models: Path) -> Rig:
    return Rig(models, size=3)


def keys(*models: str) -> list[str]:
    return [f"{model}_model_LOCAL_CPU" for model in models]


def room_for(roomy: Rig, alive: int) -> None:
    """From now on a file is loaded only beside fewer than *alive* other processes."""

    def answer(command: Command) -> None:
        others = sum(worker.alive for worker in roomy.workers) - 1
        if isinstance(command, LoadChat) and others >= alive:
            raise ShortOfMemory(SHORT, 1)

    roomy.answer = answer


async def test_the_least_recently_used_idle_engine_makes_room(roomy: Rig) -> None:
    for model in ("recall", "noise"):
        await roomy.use(model)
    room_for(roomy, alive=2)
    await roomy.use("strict")
    assert roomy.keys == keys("strict", "noise")
    assert not roomy.pool.failures
    await roomy.pool.close()


async def test_only_what_is_in_use_keeps_a_model_out_and_the_message_names_it(roomy: Rig) -> None:
    held = await roomy.pool.acquire(roomy.entry("recall"))
    await roomy.use("noise")
    room_for(roomy, alive=1)
    with pytest.raises(LocalInitFailed) as caught:
        await roomy.use("strict")
    assert caught.value.message.endswith(f"{SHORT}; in use: recall")
    assert not any("GGUF is" in step or "complete" in step for step in caught.value.next_steps)
    assert roomy.keys == keys("recall")
    assert roomy.pool.failures[0].result == f"failed: {SHORT}; in use: recall"

    roomy.pool.release(held)
    await roomy.use("strict")
    assert roomy.keys == keys("strict")
    await roomy.pool.close()


async def test_a_context_makes_another_one_of_its_file_go(roomy: Rig) -> None:
    await roomy.use("recall", 512)
    held = await roomy.pool.acquire(roomy.entry("recall"), 256)
    (worker,) = roomy.workers

    def answer(command: Command) -> None:
        if isinstance(command, Open) and not any(
            isinstance(asked, Close) and asked.engine.startswith("recall_512")
            for asked in worker.asked
        ):
            raise ShortOfMemory(SHORT, 1)

    roomy.answer = answer
    await roomy.use("recall")
    assert roomy.keys == ["recall_model_LOCAL_CPU", "recall_256_LOCAL_CPU"]
    assert roomy.workers == [worker]
    roomy.pool.release(held)
    await roomy.pool.close()


async def test_what_this_machine_can_never_hold_costs_no_engine(roomy: Rig) -> None:
    await roomy.use("recall")

    def answer(command: Command) -> None:
        raise ShortOfMemory(SHORT, 1 << 60)

    roomy.answer = answer
    with pytest.raises(LocalInitFailed, match=f"{SHORT}$"):
        await roomy.use("strict")
    assert roomy.keys == keys("recall")
    await roomy.pool.close()


async def test_a_context_that_is_opened_too_late_is_closed(models: Path) -> None:
    roomy = Rig(models, load_timeout_s=0.05)
    held = await roomy.pool.acquire(roomy.entry("recall"))
    (worker,) = roomy.workers
    ask = worker.ask

    async def slow(
        command: Command, kind: type[Answer], limit_s: float | None = ANSWER_S
    ) -> Answer:
        if isinstance(command, Open):
            await asyncio.Event().wait()
        return await ask(command, kind, limit_s)

    worker.ask = slow  # type: ignore[method-assign]
    with pytest.raises(LocalInitFailed, match="in time"):
        await roomy.use("recall", 256)
    await until(lambda: worker.count(Close) == 1)
    assert worker.alive
    roomy.pool.release(held)
    await roomy.pool.close()


def test_sessions_and_conversations_without_one_never_go_for_each_other() -> None:
    sessions = Sessions(limit=2)
    gone = [sessions.touch(str(n), "e", is_session=False) for n in range(OTHERS + 1)]
    assert gone == [[]] * OTHERS + [[("e", "0")]]
    assert [sessions.touch(name, "e") for name in "abc"] == [[], [], [("e", "a")]]
    assert sessions.touch("z", "e", is_session=False) == [("e", "1")]
    assert (len(sessions), sessions.evictions) == (2, 1)
