"""Requests that are malformed, too large or badly framed, sent as bytes."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from runtime.web.bodies import BODY_DEADLINE_S
from runtime.web.lifecycle import LIFECYCLE
from runtime.web.serve import Running, run_app
from tests.web.raw import connected, exchange, head
from tests.web.sample import BUSY, CAP, make_app


@pytest.fixture
async def server() -> AsyncIterator[Running]:
    async with run_app(make_app()) as running:
        yield running


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


POST = "POST /v1/items HTTP/1.1"
CHUNKED = "Transfer-Encoding: chunked"


BODIES = {
    "one byte over, by length": (head(POST, f"Content-Length: {CAP + 1}") + bytes(CAP + 1), 413),
    "one byte over, in chunks": (head(POST, CHUNKED) + chunked(bytes(CAP), b"x"), 413),
    "far over, in chunks": (head(POST, CHUNKED) + chunked(*[bytes(60_000)] * 30), 413),
    "at its cap": (head(POST, f"Content-Length: {CAP}") + b'{"name":"a"}'.ljust(CAP), 201),
    "chunks": (head(POST, CHUNKED) + chunked(b'{"na', b'me":"a"}'), 201),
    "identity": (
        head(POST, "Content-Encoding: identity", "Content-Length: 12") + b'{"name":"a"}',
        201,
    ),
}


@pytest.mark.parametrize(("data", "status"), BODIES.values(), ids=BODIES)
async def test_a_body_gets_the_status_of_its_fault(
    server: Running, data: bytes, status: int
) -> None:
    answer = await exchange(server, data)
    assert answer.status == status, answer.body


async def test_a_client_that_sends_far_too_much_can_still_read_why(server: Running) -> None:
    async with connected(server) as wire:
        await wire.send(head(POST, "Content-Length: 3000000"))
        answer, _ = await asyncio.gather(wire.answer(), wire.send(bytes(3_000_000)))
        assert answer.status == 413
        assert answer.headers["connection"] == "close"
        assert await wire.end() == b""


async def test_a_body_that_drips_is_answered_408_and_cut() -> None:
    app = make_app()
    app[BODY_DEADLINE_S] = 0.2
    async with run_app(app) as server, connected(server) as wire:
        await wire.send(head(POST, "Content-Length: 100") + b'{"name"')
        answer = await wire.answer()
        assert answer.status == 408
        assert answer.headers["connection"] == "close"


async def test_the_go_ahead_is_given_only_when_the_body_is_wanted(server: Running) -> None:
    asking = ("Content-Length: 12", "Expect: 100-continue")
    async with connected(server) as wire:
        await wire.send(head(POST, *asking))
        assert await wire.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        await wire.send(b'{"name":"a"}')
        assert (await wire.answer()).status == 201
    async with connected(server) as wire:
        await wire.send(head(POST, *asking, "X-Full: yes"))
        assert (await wire.answer()).status == 429


async def test_two_thousand_pipelined_requests_are_all_answered(server: Running) -> None:
    async with connected(server) as wire:
        asked = wire.send(head("GET /health HTTP/1.1") * 2000)
        answers, _ = await asyncio.gather(read_many(wire.reader, 2000), asked)
        assert answers == [b"HTTP/1.1 200 OK"] * 2000


async def read_many(reader: asyncio.StreamReader, count: int) -> list[bytes]:
    lines: list[bytes] = []
    for _ in range(count):
        lines.append((await reader.readuntil(b"\r\n")).strip())
        await reader.readuntil(b'{"n":1}')
    return lines


async def test_a_client_that_has_closed_its_side_counts_as_gone(server: Running) -> None:
    async with connected(server) as wire:
        await wire.send(head("GET /slow HTTP/1.1"))
        wire.writer.write_eof()
        assert await wire.end() == b""
    assert await server.app[LIFECYCLE].wait_idle(20)
    assert server.guard.connections == 0


async def test_a_body_cut_short_reaches_no_handler(server: Running) -> None:
    async with connected(server) as wire:
        await wire.send(head(POST, "Content-Length: 100") + b'{"name":"a"}')
    async with connected(server) as wire:
        await wire.send(head("GET /health HTTP/1.1"))
        assert (await wire.answer()).status == 200
    assert server.app[BUSY] == []


async def test_a_foreign_host_is_told_which_setting_would_let_it_in(server: Running) -> None:
    answer = await exchange(server, b"GET /health HTTP/1.1\r\nHost: evil\r\n\r\n")
    assert b"allowed_hosts" in answer.body
