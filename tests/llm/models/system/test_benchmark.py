"""The benchmark: what is run, how it is counted, and what happens when it cannot be."""

import asyncio
import re
from itertools import count

import pytest

from runtime.llm.errors import BenchmarkFailed, SysmodelRuntimeError
from runtime.llm.models.system import benchmark as module
from runtime.llm.models.system.benchmark import (
    Benchmark,
    error_body,
)
from runtime.llm.models.system.state import CachedProbe
from tests.llm.models.system.played import Played


class Ticking:
    """A clock that only the provider's pieces move."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def tick(self) -> None:
        self.now += 0.25


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Ticking:
    clock = Ticking()
    monkeypatch.setattr(module, "monotonic", clock)
    return clock


def made(provider: Played, clock: Ticking | None = None, *, max_chars: int = 1000) -> Benchmark:
    if clock is not None:
        provider.before_piece = clock.tick
    return Benchmark(provider, CachedProbe(provider), max_chars=max_chars)


async def test_a_record_has_every_field_and_adds_up(clock: Ticking) -> None:
    provider = Played(pieces=("one two", " three"))
    benchmark = made(provider, clock)

    found = await benchmark.run(["a", "b"], warmup=2)

    one = {"output_tokens": 3, "inference_ms": 500, "tokens_per_sec": 6.0, "ttft_ms": 250}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", found.ran_at)
    assert found.model_dump(exclude={"ran_at"}) == {
        "model_id": "sysmodel-builtin",
        "status": "available",
        "warmup_runs": 2,
        "results": [
            {"prompt": "a", **one, "token_source": "words"},
            {"prompt": "b", **one, "token_source": "words"},
        ],
        "total_tokens": 6,
        "total_ms": 1000,
        "avg_tokens_per_sec": 6.0,
        "provider": "played",
    }
    assert benchmark.last == found
    assert [asked.turns[0].content for asked in provider.chats] == ["a", "a", "a", "b"]


async def test_the_providers_own_count_is_preferred(clock: Ticking) -> None:
    provider = Played()
    provider.counted = 41

    found = await made(provider, clock).run(["a"], warmup=0)

    assert [result.model_dump() for result in found.results] == [
        {
            "prompt": "a",
            "output_tokens": 41,
            "inference_ms": 500,
            "tokens_per_sec": 82.0,
            "ttft_ms": 250,
            "token_source": "usage",
        }
    ]


async def test_a_failed_warm_up_does_not_matter_and_a_failed_run_keeps_the_last_record() -> None:
    provider = Played()
    benchmark = made(provider)
    provider.fails_at = {1: SysmodelRuntimeError("cold"), 5: SysmodelRuntimeError("it broke")}
    first = await benchmark.run(["a"])

    with pytest.raises(BenchmarkFailed, match="prompt 2 failed: it broke") as failure:
        await benchmark.run(["a", "b"])

    assert benchmark.last == first
    assert error_body(failure.value) == {
        "error": {
            "message": "prompt 2 failed: it broke",
            "type": "benchmark_failed",
            "code": 500,
            "status": "available",
        }
    }


async def test_an_answer_that_does_not_come_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RUN_S", 0.01)
    provider = Played()
    provider.may_answer.clear()
    with pytest.raises(BenchmarkFailed, match="not answered"):
        await made(provider).run(["a"])


async def test_a_cancelled_benchmark_frees_the_way() -> None:
    provider = Played()
    benchmark = made(provider)
    provider.may_answer.clear()
    first = asyncio.create_task(benchmark.run(["a"]))
    for _ in count():
        if provider.chats:
            break
        await asyncio.sleep(0)
    first.cancel()
    await asyncio.wait({first})
    provider.may_answer.set()

    assert (await benchmark.run(["a"])).total_tokens == 3
