"""Connections that are too many, too slow or never read."""

import asyncio
import socket
import sys
import time
from contextlib import AsyncExitStack
from dataclasses import replace

import pytest

from runtime.web.door import Limits
from runtime.web.lifecycle import LIFECYCLE
from runtime.web.serve import Running, run_app
from tests.waiting import until
from tests.web.raw import Wire, connected, exchange, head
from tests.web.sample import make_app

HEALTH = head("GET /health HTTP/1.1")
SHORT = Limits(head_s=0.2, stall_s=0.2)


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere loopback is one address")
FIVE = pytest.mark.parametrize(
    "limits", [Limits(connections=5), Limits(per_peer=5)], ids=["in all", "of a peer"]
)
SLOWLY = head("GET /wait HTTP/1.1")


async def busy(stack: AsyncExitStack, server: Running, count: int) -> list[Wire]:
    """Connections in the middle of an answer."""
    wires = [await stack.enter_async_context(connected(server)) for _ in range(count)]
    for wire in wires:
        await wire.send(SLOWLY)
        await wire.reader.readuntil(b"data: ")
    return wires


@FIVE
async def test_a_connection_too_many_is_turned_away_and_counted(limits: Limits) -> None:
    async with run_app(make_app(), limits=limits) as server, AsyncExitStack() as stack:
        wires = await busy(stack, server, 5)
        extra = await stack.enter_async_context(connected(server))
        await extra.send(HEALTH)
        refused = await extra.answer()
        assert refused.status == 503
        assert refused.headers["retry-after"] == "1"
        assert await extra.end() == b""
        assert server.guard.refused == 1
        wires[0].writer.close()
        await wires[0].writer.wait_closed()
        await until(lambda: server.guard.connections == 4)
        assert (await exchange(server, HEALTH)).status == 200


@FIVE
async def test_the_connection_longest_at_rest_gives_way_to_a_new_one(limits: Limits) -> None:
    async with run_app(make_app(), limits=limits) as server, AsyncExitStack() as stack:
        await busy(stack, server, 2)
        wires = [await stack.enter_async_context(connected(server)) for _ in range(3)]
        for wire in (wires[1], wires[0], wires[2]):
            await wire.send(HEALTH)
            assert (await wire.answer()).status == 200
        assert (await exchange(server, HEALTH)).status == 200
        assert await wires[1].end() == b""
        for wire in (wires[0], wires[2]):
            await wire.send(HEALTH)
            assert (await wire.answer()).status == 200
        assert (server.guard.displaced, server.guard.refused) == (1, 0)


@LINUX
async def test_the_connections_of_one_peer_do_not_displace_those_of_others() -> None:
    async with (
        run_app(make_app(), limits=Limits(per_peer=1)) as server,
        connected(server) as mine,
        connected(server, "127.0.0.2") as first,
        connected(server, "127.0.0.2") as second,
    ):
        await mine.send(HEALTH)
        assert (await mine.answer()).status == 200
        await first.send(SLOWLY)
        await first.reader.readuntil(b"data: ")
        await second.send(HEALTH)
        assert (await second.answer()).status == 503
        await mine.send(HEALTH)
        assert (await mine.answer()).status == 200
        assert (server.guard.displaced, server.guard.refused) == (0, 1)


async def test_connections_that_never_speak_give_way_too() -> None:
    limits = Limits(connections=5, silent_s=0.05)
    async with run_app(make_app(), limits=limits) as server, AsyncExitStack() as stack:
        for _ in range(5):
            await stack.enter_async_context(connected(server))
        await until(lambda: server.guard.connections == 5)
        await asyncio.sleep(0.1)  # what is measured is that they say nothing for this long
        assert (await exchange(server, HEALTH)).status == 200
        assert (server.guard.displaced, server.guard.refused) == (1, 0)


HALVES = {
    "half a head": b"GET /hea",
    "half a body": head("POST /v1/items HTTP/1.1", "Content-Length: 500") + b"{",
    "drops of a body": head("POST /v1/items HTTP/1.1", "Transfer-Encoding: chunked") + b"1\r\n{",
}


@FIVE
@pytest.mark.parametrize("sent", HALVES.values(), ids=HALVES)
async def test_a_request_that_does_not_come_gives_way_and_is_told(
    limits: Limits, sent: bytes
) -> None:
    limits = replace(limits, silent_s=0.05)
    async with run_app(make_app(), limits=limits) as server, AsyncExitStack() as stack:
        (reading,) = await busy(stack, server, 1)
        wires = [await stack.enter_async_context(connected(server)) for _ in range(4)]
        for wire in wires:
            await wire.send(sent)
        await until(lambda: server.guard.connections == 5)
        await asyncio.sleep(0.1)  # what is measured is that the rest does not come for this long
        assert (await exchange(server, HEALTH)).status == 200
        assert (await wires[0].answer()).status == 503
        assert (server.guard.displaced, server.guard.refused) == (1, 0)
        assert not reading.reader.at_eof()


@LINUX
async def test_the_address_with_most_connections_makes_room() -> None:
    limits = Limits(connections=5, silent_s=0.05)
    async with run_app(make_app(), limits=limits) as server, AsyncExitStack() as stack:
        few = [await stack.enter_async_context(connected(server, "127.0.0.2")) for _ in range(2)]
        for wire in few:
            await wire.send(HEALTH)
            assert (await wire.answer()).status == 200
        for _ in range(3):
            wire = await stack.enter_async_context(connected(server))
            await wire.send(HEALTH)
            assert (await wire.answer()).status == 200
        async with connected(server, "127.0.0.3") as newcomer:
            await newcomer.send(HEALTH)
            assert (await newcomer.answer()).status == 200
        for wire in few:  # though they have rested longest
            await wire.send(HEALTH)
            assert (await wire.answer()).status == 200


async def test_a_client_turned_away_reads_its_answer_also_behind_a_body() -> None:
    async with run_app(make_app(), limits=Limits(connections=1)) as server:
        async with AsyncExitStack() as stack:
            await busy(stack, server, 1)
            body = b"x" * 400_000
            sent = head("POST /v1/items HTTP/1.1", f"Content-Length: {len(body)}") + body
            for _ in range(20):
                wire = await stack.enter_async_context(connected(server))
                await wire.send(sent)
                assert (await wire.answer()).status == 503
        assert server.guard.refused == 20


@pytest.mark.parametrize("sent", [b"", b"GET /hea", b"GET / HTTP/1.1\r\nX: " + b"a" * 20_000])
async def test_a_client_turned_away_is_answered_also_without_a_head(sent: bytes) -> None:
    limits = Limits(connections=1)
    async with run_app(make_app(), limits=limits) as server, AsyncExitStack() as stack:
        await busy(stack, server, 1)
        wire = await stack.enter_async_context(connected(server))
        await wire.send(sent)
        assert (await wire.answer()).status == 503
        assert await wire.end() == b""


async def test_what_is_left_to_send_to_a_deaf_client_does_not_keep_its_place() -> None:
    async with run_app(make_app()) as server:
        with socket.socket() as deaf:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect((server.host, server.port))
            await until(lambda: server.guard.connections == 1)
            (connection,) = server.guard._open
            assert connection.transport is not None
            taken = connection.transport.get_extra_info("socket")
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
            deaf.setblocking(False)
            sent = 0
            while not connection.transport.get_write_buffer_size():
                deaf.send(HEALTH)
                sent += 1
                await until(lambda sent=sent: connection._request_count == sent)  # type: ignore[misc]
                await until(lambda: connection._waiter is not None)
            deaf.send(b"GET /hea")
            await until(lambda: connection._head_bytes > 0)
            limits = server.guard.limits
            later = asyncio.get_running_loop().time() + 2 * limits.head_s
            assert connection.overdue(later)
            assert server.guard.connections == 1
            assert not connection.overdue(later)
            assert connection.overdue(later + 2 * limits.stall_s)
            await until(lambda: server.guard.connections == 0)


async def test_a_thousand_connections_do_not_stop_the_server() -> None:
    async with run_app(make_app(), limits=Limits(per_peer=1000, silent_s=60)) as server:
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
    async with run_app(make_app(), limits=SHORT) as server, connected(server) as wire:
        await wire.send(sent)
        async with asyncio.timeout(20):
            await wire.end()
        assert server.guard.connections == 0


async def test_a_head_that_drips_is_not_saved_by_its_drops() -> None:
    async with run_app(make_app(), limits=SHORT) as server, connected(server) as wire:

        async def drip() -> None:
            for byte in head("GET /health HTTP/1.1", "X-Long: " + "a" * 500):
                await wire.send(bytes([byte]))
                await asyncio.sleep(0.01)

        with pytest.raises(ConnectionError):
            await drip()
        assert server.guard.slow == 1


async def test_an_idle_connection_is_closed_after_its_time() -> None:
    limits = Limits(idle_s=0.1, head_s=60)
    async with run_app(make_app(), limits=limits) as server, connected(server) as wire:
        await wire.send(HEALTH)
        async with asyncio.timeout(20):
            told = await wire.end()
        # Nothing where the machine was held before the request: that was its idle time.
        assert told == b"" or told.startswith(b"HTTP/1.1 200")


async def test_a_slow_handler_is_not_taken_for_a_slow_client() -> None:
    async with run_app(make_app()) as server, connected(server) as wire:
        await wire.send(head("GET /slow HTTP/1.1"))
        await until(lambda: server.app[LIFECYCLE].in_flight == 1)
        (connection,) = server.guard._open
        limits = server.guard.limits
        later = asyncio.get_running_loop().time() + 2 * max(limits.head_s, limits.stall_s)
        assert not connection.overdue(later)
        assert (await wire.answer()).body == b"done"


async def test_a_head_without_end_is_refused_before_it_fills_memory() -> None:
    async with run_app(make_app()) as server, connected(server) as wire:
        lines = b"".join(b"X-%d: %s\r\n" % (n, b"a" * 900) for n in range(19))
        await wire.send(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        await wire.send(lines)
        answer = await wire.answer()
        assert answer.status == 400
        assert b"16384" in answer.body
        assert server.guard.malformed == 1


async def test_an_answer_that_nobody_reads_ends_the_connection() -> None:
    async with run_app(make_app(), limits=Limits(stall_s=0.2)) as server, connected(server) as wire:
        never_read(wire)
        await wire.send(head("GET /big HTTP/1.1"))
        await until(lambda: server.guard.slow == 1)
        await until(lambda: server.guard.connections == 0)


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
    began = time.monotonic()
    async with run_app(make_app()) as server:
        for _ in range(200):
            await exchange(server, sent)
    seconds = time.monotonic() - began
    assert len(caplog.records) < 20 + seconds  # a burst of ten, then one a second
    assert all(record.exc_info is None for record in caplog.records)
