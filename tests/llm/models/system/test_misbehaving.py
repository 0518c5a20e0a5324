"""Daemons that babble, drip, stall, lie or die: each ends in a clear error, and soon."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from runtime.llm.errors import SysmodelRuntimeError
from runtime.llm.models import daemon as client_module
from runtime.llm.models.system.state import Provider
from tests.llm.models.daemons import (
    GROWING_S,
    HASTY,
    PATIENT,
    Asked,
    Script,
    answer,
    chat,
    collect,
    delta,
    head,
    says,
    silent,
    sse,
    upstream,
)


@pytest.fixture(autouse=True)
def _small_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "STREAM_CAP", 1 << 18)


def repeating(first: bytes, again: bytes) -> Script:
    """Says *first*, then *again* as often as the client takes it."""

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while True:
            writer.write(again)
            await writer.drain()
            await asyncio.sleep(0)  # the client runs in this very loop

    return script


def then_silent(first: bytes) -> Script:
    """Says *first* and then nothing, the connection open."""

    async def script(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        await asyncio.Event().wait()

    return script


async def drip(asked: Asked, writer: asyncio.StreamWriter) -> None:
    """A byte now and then, never an event."""
    writer.write(head())
    while True:
        writer.write(b"d")
        await writer.drain()
        await asyncio.sleep(0.02)


async def into(got: list[str], model: Provider) -> None:
    """Keep each piece, so that what came before a failure can be seen."""
    async for piece in model.generate(chat()):
        got.append(piece.text)  # noqa: PERF401 -- a comprehension would lose them


LINE = json.dumps(delta("x")).encode()
PIECE = b"data: " + LINE + b"\n\n"


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        (says(head(kind="text/html") + b"<html>hello</html>"), "not JSON|stream of text"),
        (says(head()), "stream of text"),
        (says(head() + b'data: {"choi'), "not JSON|stream of text"),
        (says(head() + b"data: nonsense\n\n"), "not JSON"),
        (says(head() + b"data: [[[[\n\n"), "not JSON"),
        (says(head() + b"data: 5\n\n"), "not JSON|not a chunk"),
        (says(answer({"error": "boom"}, "500 Oops")), "HTTP status 500: boom"),
        (says(answer({"error": "no model"}, "404 Not Found")), "HTTP status 404"),
        (says(answer({}, "401 Unauthorized")), "refused the key"),
        (says(b""), "broke off"),
        (
            says(head("200 OK", "text/event-stream", "Transfer-Encoding: chunked") + b"zz\r\n"),
            "broke",
        ),
        (repeating(head(), b": ka\n\n" * 100 + b"\n" * 100), "end its reply|not JSON"),
        (repeating(head(), b"x" * 4096), "end its reply|overlong"),
        (repeating(head() + b"data: ", b"x" * 4096), "end its reply|overlong"),
        (
            repeating(b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"),
            "fell silent",
        ),
        (repeating(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 4096), "broke off"),
        (silent, "fell silent"),
        (then_silent(b"HTTP/1.1 200"), "fell silent"),
        (then_silent(head()), "fell silent"),
        (drip, "fell silent"),
    ],
)
async def test_a_daemon_that_is_none_ends_in_a_clear_error(script: Script, complaint: str) -> None:
    patience = HASTY if complaint == "fell silent" else PATIENT
    async with asyncio.timeout(40), upstream(script, patience) as (model, _):
        with pytest.raises(SysmodelRuntimeError, match=complaint) as failure:
            await collect(model.generate(chat()))

    for private in ("127.0.0.1", "Error", "Exception", "aiohttp"):
        assert private not in failure.value.message


@pytest.mark.parametrize(
    ("ending", "complaint"),
    [
        (says(head() + PIECE * 2), "broke off in the middle"),
        (then_silent(head() + PIECE * 2), "fell silent"),
        (repeating(head() + PIECE * 2, PIECE * 50), "end its reply"),
        (repeating(head() + PIECE * 2, b"x" * 4096), "end its reply|overlong"),
        (
            says(head("200 OK", "text/plain", "Content-Length: 99999") + PIECE * 2),
            "broke off",
        ),
    ],
)
async def test_a_daemon_that_fails_in_mid_reply_keeps_what_it_said(
    ending: Script, complaint: str
) -> None:
    got: list[str] = []
    patience = PATIENT._replace(stall_s=0.3) if complaint == "fell silent" else PATIENT
    async with asyncio.timeout(40), upstream(ending, patience) as (model, _):
        with pytest.raises(SysmodelRuntimeError, match=complaint):
            await into(got, model)

    assert got[:2] == ["x", "x"]


async def test_a_reply_without_end_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.llm.models.completions.REPLY_CAP", 10)
    async with upstream(says(sse(*[delta("four")] * 3))) as (model, _):
        with pytest.raises(SysmodelRuntimeError, match="end its reply"):
            await collect(model.generate(chat()))


async def test_the_listeners_own_pace_is_not_held_against_the_daemon() -> None:
    """Between two pieces the consumer takes longer than the daemon may be silent."""

    async def took_its_time(stall_s: float) -> list[str]:
        patience = PATIENT._replace(stall_s=stall_s)
        async with upstream(says(sse(*map(delta, "abc"))), patience) as (model, _):
            got: list[str] = []
            with suppress(SysmodelRuntimeError):
                async for piece in model.generate(chat()):
                    got.append(piece.text)
                    await asyncio.sleep(stall_s * 1.2)
                got.append("the end")
        return got

    assert await any_of(took_its_time, ["a", "b", "c", "the end"])


async def test_a_daemon_that_keeps_talking_may_take_longer_than_one_wait() -> None:
    async def talked(stall_s: float) -> list[str]:
        async def slow(asked: Asked, writer: asyncio.StreamWriter) -> None:
            writer.write(head())
            for _ in range(5):
                writer.write(b"data: " + LINE + b"\n\n")
                await writer.drain()
                await asyncio.sleep(stall_s / 3)
            writer.write(b"data: [DONE]\n\n")

        got: list[str] = []
        patience = PATIENT._replace(first_s=stall_s, stall_s=stall_s)
        async with upstream(slow, patience) as (model, _):
            with suppress(SysmodelRuntimeError):
                await into(got, model)
                got.append("the end")
        return got

    assert await any_of(talked, ["x"] * 5 + ["the end"])


async def any_of(reply: Callable[[float], Awaitable[list[str]]], right: list[str]) -> bool:
    """Whether the reply is right with one of the growing limits."""
    for stall_s in GROWING_S:
        if await reply(stall_s) == right:
            return True
    return False
