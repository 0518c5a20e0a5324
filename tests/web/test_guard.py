"""Connections that are too many, too slow or never read."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from runtime.web.guard import Limits
from runtime.web.serve import started
from tests.web.raw import Wire, connected, exchange, head
from tests.web.sample import make_app

HEALTH = head("GET /health HTTP/1.1")
SHORT = Limits(head_s=0.2, stall_s=0.2)


@pytest.mark.parametrize(
    "limits", [Limits(connections=5), Limits(per_peer=5)], ids=["in all", "of a peer"]
)
async def test_a_connection_too_many_is_turned_away_and_counted(limits: Limits) -> None:
    async with started(make_app(), limits=limits) as server, AsyncExitStack() as stack:
        wires = [await stack.enter_async_context(connected(server)) for _ in range(5)]
        for wire in wires:
            await wire.send(HEALTH)
            assert (await wire.answer()).status == 200
        extra = await stack.enter_async_context(connected(server))
        refused = await extra.answer()
        assert refused.status == 503
        assert refused.headers["retry-after"] == "1"
        assert await extra.end() == b""
        assert server.guard.refused == 1
        wires[0].writer.close()
        await wires[0].writer.wait_closed()
        await until(lambda: server.guard.connections == 4)
        assert (await exchange(server, HEALTH)).status == 200


async def test_a_thousand_connections_do_not_stop_the_server() -> None:
    async with started(make_app(), limits=Limits(per_peer=1000)) as server:
        async with AsyncExitStack() as stack:
            wires = [await stack.enter_async_context(connected(server)) for _ in range(1000)]
            await wires[0].send(HEALTH)
            assert (await wires[0].answer()).status == 200
            assert server.guard.refused == 1000 - 256
        await until(lambda: server.guard.connections == 0)


SLOW = {
    "says nothing": b"",
    "half a line": b"GET /hea",
    "half a head": b"GET /health HTTP/1.1\r\nHost: localhost\r\n",
    "half of its second request": HEALTH + b"GET /health HT",
}


@pytest.mark.parametrize("sent", SLOW.values(), ids=SLOW)
async def test_a_head_that_does_not_come_ends_the_connection(sent: bytes) -> None:
    async with started(make_app(), limits=SHORT) as server, connected(server) as wire:
        await wire.send(sent)
        async with asyncio.timeout(5):
            await wire.end()
        assert server.guard.connections == 0


async def test_a_head_that_drips_is_not_saved_by_its_drops() -> None:
    async with started(make_app(), limits=SHORT) as server, connected(server) as wire:

        async def drip() -> None:
            for byte in head("GET /health HTTP/1.1", "X-Long: " + "a" * 500):
                await wire.send(bytes([byte]))
                await asyncio.sleep(0.01)

        with pytest.raises(ConnectionError):
            await drip()
        assert server.guard.slow == 1


async def test_an_idle_connection_is_closed_after_its_time() -> None:
    limits = Limits(idle_s=0.1, head_s=60)
    async with started(make_app(), limits=limits) as server, connected(server) as wire:
        await wire.send(HEALTH)
        assert (await wire.answer()).status == 200
        async with asyncio.timeout(5):
            assert await wire.end() == b""


async def test_a_slow_handler_is_not_taken_for_a_slow_client() -> None:
    async with started(make_app(), limits=SHORT) as server, connected(server) as wire:
        await wire.send(head("GET /slow HTTP/1.1"))
        assert (await wire.answer()).body == b"done"
        assert server.guard.slow == 0


async def test_a_head_without_end_is_refused_before_it_fills_memory() -> None:
    async with started(make_app()) as server, connected(server) as wire:
        lines = b"".join(b"X-%d: %s\r\n" % (n, b"a" * 900) for n in range(19))
        await wire.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        await wire.send(lines)
        answer = await wire.answer()
        assert answer.status == 400
        assert b"16384" in answer.body
        assert server.guard.malformed == 1


async def test_an_answer_that_nobody_reads_ends_the_connection() -> None:
    async with started(make_app(), limits=SHORT) as server, connected(server) as wire:
        never_read(wire)
        await wire.send(head("GET /big HTTP/1.1"))
        await until(lambda: server.guard.slow == 1)
        await until(lambda: server.guard.connections == 0)


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what the loop does by itself; there is nothing to await for it."""
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0)


def never_read(wire: Wire) -> None:
    """Stop taking bytes from the socket."""
    transport = wire.writer.transport
    assert isinstance(transport, asyncio.Transport)
    transport.pause_reading()


FLOODS = {
    "no HTTP": b"nonsense\r\n\r\n",
    "bad chunks": head("POST /v1/items HTTP/1.1", "Transfer-Encoding: chunked") + b"zz\r\n",
    "bad chunks on a route without a body": head(
        "GET /health HTTP/1.1", "Transfer-Encoding: chunked", "Connection: close"
    )
    + b"zz\r\n",
}


@pytest.mark.parametrize("sent", FLOODS.values(), ids=FLOODS)
async def test_a_flood_of_malformed_requests_does_not_flood_the_log(
    sent: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    caplog.set_level("WARNING", "paddock.access")
    async with started(make_app()) as server:
        for _ in range(200):
            await exchange(server, sent)
    assert len(caplog.records) < 20
    assert all(record.exc_info is None for record in caplog.records)
