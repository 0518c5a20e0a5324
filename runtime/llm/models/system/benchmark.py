"""Measure how fast the system model answers, and keep the last record."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from statistics import fmean
from time import monotonic
from typing import Literal

from runtime.llm.errors import (
    BenchmarkFailed,
    BenchmarkMissing,
    JsonObject,
    RichError,
    make_error_object,
)
from runtime.llm.inference import GREEDY, ChatCall, Turn
from runtime.llm.models.system.state import CachedProbe, Provider, refusal
from runtime.web.errors import ApiError, BadRequest, TooLarge, TooMany
from runtime.web.wire import Wire

DEFAULT_PROMPTS = (
    "How much is seventeen plus twenty-five?",
    "In one paragraph, explain how TCP and UDP differ and when you would choose each.",
    "Write a haiku about the first lap on cold tyres.",
    "Name five cities that have held a Grand Prix, as a JSON array of strings.",
)
MAX_PROMPTS = 32
MAX_WARMUP = 5
MAX_OUTPUT = 512
RUN_S = 120.0
_BUSY_RETRY_S = 5


class BenchmarkRefused(ApiError):
    """No system model is ready to be measured; `cause` is the error that a chat would get."""

    status, code = 503, "sysmodel_unavailable"

    def __init__(self, cause: RichError, state: str) -> None:
        super().__init__(cause.message, headers=cause.headers)
        self.cause = cause
        self.state = state
        """The label of the state, or ``error`` if it could not be read."""


class BenchmarkResult(Wire):
    """Figures of a prompt."""

    prompt: str
    output_tokens: int
    inference_ms: int
    tokens_per_sec: float
    ttft_ms: int
    token_source: Literal["usage", "words"]


class BenchmarkRecord(Wire):
    """Figures of a benchmark run."""

    model_id: Literal["sysmodel-builtin"] = "sysmodel-builtin"
    status: str
    warmup_runs: int
    results: list[BenchmarkResult]
    total_tokens: int
    total_ms: int
    avg_tokens_per_sec: float
    ran_at: str
    provider: str


class Benchmark:
    """Runs one benchmark at a time; a failed run keeps the last record."""

    def __init__(
        self,
        provider: Provider,
        probe: CachedProbe,
        *,
        max_chars: int = 100_000,
    ) -> None:
        self._provider = provider
        self._probe = probe
        self._max_chars = max_chars
        self._running = False
        self._last: BenchmarkRecord | None = None

    @property
    def last(self) -> BenchmarkRecord:
        """The latest record. Raises `BenchmarkMissing` before the first."""
        if self._last is None:
            raise BenchmarkMissing("no benchmark has run since the server started")
        return self._last

    async def run(self, prompts: Sequence[str] = (), warmup: int = 1) -> BenchmarkRecord:
        """Measure *prompts* after *warmup* unmeasured runs of the first, and keep the record.

        Raises `BadRequest`, `TooLarge`, `TooMany`, `BenchmarkRefused` or `BenchmarkFailed`.
        """
        chosen = choose_prompts(prompts, self._max_chars)
        warmup = min(max(warmup, 0), MAX_WARMUP)
        if self._running:
            headers = {"Retry-After": str(_BUSY_RETRY_S)}
            raise TooMany("another benchmark is running", headers=headers)
        self._running = True
        try:
            await self._require()
            for _ in range(warmup):
                with suppress(ApiError, TimeoutError):  # the measured runs report failures
                    await self._answer(chosen[0])
            results = [await self._measure(prompt, n) for n, prompt in enumerate(chosen, 1)]
        finally:
            self._running = False
        self._last = BenchmarkRecord(
            status="available",
            warmup_runs=warmup,
            results=results,
            total_tokens=sum(result.output_tokens for result in results),
            total_ms=sum(result.inference_ms for result in results),
            avg_tokens_per_sec=round(fmean(result.tokens_per_sec for result in results), 2),
            ran_at=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            provider=self._provider.name,
        )
        return self._last

    async def _require(self) -> None:
        state = await self._probe.state()
        refused = refusal(state)
        if refused is not None:
            raise BenchmarkRefused(refused, state.label if state.error is None else "error")

    async def _measure(self, prompt: str, number: int) -> BenchmarkResult:
        try:
            return await self._answer(prompt)
        except ApiError as failure:
            raise BenchmarkFailed(f"prompt {number} failed: {failure.message}") from failure
        except TimeoutError:
            text = f"prompt {number} was not answered within {RUN_S:g} s"
            raise BenchmarkFailed(text) from None

    async def _answer(self, prompt: str) -> BenchmarkResult:
        call = ChatCall((Turn("user", prompt),), GREEDY, MAX_OUTPUT)
        began, first, text = monotonic(), None, ""
        reply = self._provider.generate(call)
        async with asyncio.timeout(RUN_S), aclosing(reply):
            async for piece in reply:
                first = monotonic() if first is None else first
                text += piece.text
        ended = monotonic()
        counted = reply.outcome.completion_tokens
        tokens = len(text.split()) if counted is None else counted
        inference_ms = round((ended - began) * 1000)
        return BenchmarkResult(
            prompt=prompt,
            output_tokens=tokens,
            inference_ms=inference_ms,
            tokens_per_sec=round(tokens * 1000 / inference_ms, 2) if inference_ms else 0.0,
            ttft_ms=round(((ended if first is None else first) - began) * 1000),
            token_source="words" if counted is None else "usage",
        )


def choose_prompts(prompts: Sequence[str], max_chars: int) -> tuple[str, ...]:
    """The non-blank prompts, or the built-in ones. Raises `BadRequest`, `TooLarge`."""
    own = tuple(prompt for prompt in prompts if prompt.strip())
    if len(own) > MAX_PROMPTS:
        raise BadRequest(f"a benchmark may have at most {MAX_PROMPTS} prompts", param="prompts")
    if sum(map(len, own)) > max_chars:
        raise TooLarge(f"the prompts have more than {max_chars} characters", param="prompts")
    return own or DEFAULT_PROMPTS


def error_body(error: BenchmarkRefused | BenchmarkFailed) -> JsonObject:
    """The body of a benchmark's error answer: the usual object and ``status``."""
    if isinstance(error, BenchmarkRefused):
        return {"error": make_error_object(error.cause) | {"status": error.state}}
    return {"error": make_error_object(error) | {"status": "available"}}
