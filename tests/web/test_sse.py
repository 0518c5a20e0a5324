"""Streams of events: heartbeats, readers that leave or sleep, and the server's own end."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
from aiohttp import web

from runtime.web.access import HostPolicy
from runtime.web.door import Door, install
from runtime.web.lifecycle import LIFECYCLE
from runtime.web.serve import Running, run_app
from runtime.web.sse import EventStream, ReaderGone, StreamClosed, frame
from tests.web.raw import Wire, connected, head
from tests.web.sample import render

ASK = head("GET /stream HTTP/1.1")
Body = Callable[[EventStream], Awaitable[None]]


class Ended:
    """How the handler's block ended."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.error: BaseException | None = None
        self.entered = asyncio.Event()

    async def wait(self) -> BaseException | None:
        async with asyncio.timeout(30):
            await self.event.wait()
        return self.error


@asynccontextmanager
async def streaming(
    body: Body, *, heartbeat_s: float = 60, stall_s: float = 60, ends_on_drain: bool = False
) -> AsyncIterator[tuple[Running, Ended]]:
    ended = Ended()

    async def handle(request: web.Request) -> web.StreamResponse:
        stream = EventStream(
            request, heartbeat_s=heartbeat_s, stall_s=stall_s, ends_on_drain=ends_on_drain
        )
        try:
            async with stream:
                ended.entered.set()
                await body(stream)
        except BaseException as exc:
            ended.error = exc
            raise
        finally:
            ended.event.set()
        return stream.response

    app = web.Application()
    install(app, Door(render=render, hosts=HostPolicy.bound_to("127.0.0.1")))
    app.router.add_get("/stream", handle)
    async with run_app(app) as server:
        yield server, ended


async def forever(stream: EventStream) -> None:
    await asyncio.Event().wait()


async def three(stream: EventStream) -> None:
    for n in range(3):
        await stream.send(frame(b"%d" % n))


async def flood(stream: EventStream) -> None:
    while True:
        await stream.send(frame(bytes(1000)))


async def head_of(wire: Wire) -> str:
    return (await wire.reader.readuntil(b"\r\n\r\n")).decode().lower()


def test_an_event_may_have_a_name_and_a_number() -> None:
    assert frame(b"{}") == b"data: {}\n\n"
    assert frame(b"\xc3\xa9", "cue", 7) == b"id: 7\nevent: cue\ndata: \xc3\xa9\n\n"


async def test_headers_go_out_before_the_first_event() -> None:
    async with streaming(forever) as (server, _), connected(server) as wire:
        await wire.send(ASK)
        text = await head_of(wire)
    assert text.startswith("http/1.1 200 ok")
    assert "content-type: text/event-stream" in text
    assert "cache-control: no-cache, no-transform" in text
    assert "x-accel-buffering: no" in text


async def test_a_stream_ends_and_leaves_the_connection_usable() -> None:
    async with streaming(three) as (server, ended), connected(server) as wire:
        for _ in range(2):
            await wire.send(ASK)
            await head_of(wire)
            body = await wire.reader.readuntil(b"0\r\n\r\n")
            assert body.count(b"data: ") == 3
        assert await ended.wait() is None
        assert server.app[LIFECYCLE].streams == set()


async def test_heartbeats_come_while_nothing_happens_and_between_events() -> None:
    async def slowly(stream: EventStream) -> None:
        for _ in range(40):
            await stream.send(frame(b"x"))
            await asyncio.sleep(0.005)

    async with streaming(slowly, heartbeat_s=0.03) as (server, _), connected(server) as wire:
        await wire.send(ASK)
        await head_of(wire)
        body = await wire.reader.readuntil(b"0\r\n\r\n")
    events = b"".join(body.split(b"\r\n")[1::2])
    assert events.count(b": ka\n\n") >= 3
    assert set(events.split(b"\n\n")) == {b"data: x", b": ka", b""}


async def test_the_first_heartbeat_waits_for_its_time() -> None:
    async with streaming(three, heartbeat_s=30) as (server, _), connected(server) as wire:
        await wire.send(ASK)
        assert b": ka" not in await wire.reader.readuntil(b"0\r\n\r\n")


@pytest.mark.parametrize("body", [forever, flood], ids=["while waiting", "while sending"])
async def test_a_reader_that_leaves_ends_the_block(body: Body) -> None:
    async with streaming(body) as (server, ended):
        async with connected(server) as wire:
            await wire.send(ASK)
            await head_of(wire)
        assert isinstance(await ended.wait(), ReaderGone)
        assert await server.app[LIFECYCLE].wait_idle(5)
        assert server.app[LIFECYCLE].streams == set()


async def test_a_reader_that_takes_nothing_is_cut_off() -> None:
    async with streaming(flood, stall_s=0.2) as (server, ended), connected(server) as wire:
        sleep(wire)
        await wire.send(ASK)
        error = await ended.wait()
        assert isinstance(error, ReaderGone)
        assert "took nothing for 0.2 s" in str(error)


async def test_a_sleeping_reader_is_cut_off_while_its_sender_waits_for_something_else() -> None:
    async def burst(stream: EventStream) -> None:
        await stream.send(frame(bytes(8_000_000)))
        await asyncio.Event().wait()

    running = streaming(burst, stall_s=0.2, heartbeat_s=0.05)
    async with running as (server, ended), connected(server) as wire:
        sleep(wire)
        await wire.send(ASK)
        assert isinstance(await ended.wait(), ReaderGone)


async def test_a_slow_reader_that_takes_something_is_not_cut_off() -> None:
    stall_s = 0.8
    for _ in range(20):
        async with streaming(flood, stall_s=stall_s) as (server, ended), connected(server) as wire:
            await small_buffers(server, wire)
            await wire.send(ASK)
            longest = await taking_a_little(wire, 2 * stall_s)
            if longest < stall_s / 2:  # else the machine was held: of that nothing follows
                assert not ended.event.is_set()
                break
        await ended.wait()
    else:
        pytest.skip("the machine was held again and again")


async def small_buffers(server: Running, wire: Wire) -> None:
    """Let the system keep little of what is under way: else it tells late that some was taken."""
    async with asyncio.timeout(20):
        while not server.guard.connections:  # noqa: ASYNC110 - what is looked at has no event
            await asyncio.sleep(0)
    (connection,) = server.guard._open
    for transport in (connection.transport, wire.writer.transport):
        assert transport is not None
        for buffer in (socket.SO_SNDBUF, socket.SO_RCVBUF):
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, buffer, 1 << 17)


async def taking_a_little(wire: Wire, seconds: float) -> float:
    """Take something now and then, for so long; the longest time without, in seconds."""
    loop = asyncio.get_running_loop()
    last = began = loop.time()
    longest = 0.0
    while last - began < seconds:
        wake(wire)
        with suppress(ConnectionError):
            await wire.reader.read(1 << 20)
        sleep(wire)
        await asyncio.sleep(0.05)
        longest, last = max(longest, loop.time() - last), loop.time()
    return longest


def wake(wire: Wire) -> None:
    transport = wire.writer.transport
    assert isinstance(transport, asyncio.Transport)
    transport.resume_reading()


def sleep(wire: Wire) -> None:
    transport = wire.writer.transport
    assert isinstance(transport, asyncio.Transport)
    transport.pause_reading()


@pytest.mark.parametrize("body", [forever, flood], ids=["while waiting", "while sending"])
async def test_a_stream_that_the_server_closes_ends_properly(body: Body) -> None:
    async with streaming(body) as (server, ended), connected(server) as wire:
        await wire.send(ASK)
        await ended.entered.wait()
        server.app[LIFECYCLE].close_streams()
        text = await wire.reader.readuntil(b"\r\n0\r\n\r\n") if body is flood else await tail(wire)
        assert text.endswith(b"0\r\n\r\n")
        assert await ended.wait() is None


async def tail(wire: Wire) -> bytes:
    await head_of(wire)
    return await wire.reader.readexactly(5)


async def test_a_block_that_ends_as_the_server_closes_it_ends_once() -> None:
    async def closes_itself(stream: EventStream) -> None:
        stream.close()
        with pytest.raises(StreamClosed):
            await stream.send(frame(b"late"))

    async with streaming(closes_itself) as (server, ended), connected(server) as wire:
        await wire.send(ASK)
        assert await tail(wire) == b"0\r\n\r\n"
        assert await ended.wait() is None
        await wire.send(ASK)
        assert await tail(wire) == b"0\r\n\r\n"


@pytest.mark.parametrize(("ends_on_drain", "finishes"), [(True, False), (False, True)])
async def test_draining_ends_only_the_streams_that_have_no_end_of_their_own(
    ends_on_drain: bool, finishes: bool
) -> None:
    async def one_more(stream: EventStream) -> None:
        await asyncio.sleep(0.05)
        await stream.send(frame(b"last"))

    running = streaming(one_more, ends_on_drain=ends_on_drain)
    async with running as (server, ended), connected(server) as wire:
        await wire.send(ASK)
        await ended.entered.wait()
        server.app[LIFECYCLE].drain()
        await head_of(wire)
        body = await wire.reader.readuntil(b"0\r\n\r\n")
        assert (b"data: last" in body) is finishes


async def test_a_failure_inside_a_stream_cuts_it_short() -> None:
    async def fails(stream: EventStream) -> None:
        await stream.send(frame(b"one"))
        raise ValueError("inside")

    async with streaming(fails) as (server, ended), connected(server) as wire:
        await wire.send(ASK)
        body = await wire.end()
        assert not body.endswith(b"0\r\n\r\n")
        assert isinstance(await ended.wait(), ValueError)


async def test_other_streams_go_on_beside_a_reader_that_sleeps() -> None:
    async with (
        streaming(flood, stall_s=30) as (server, _),
        connected(server) as asleep,
        connected(server) as awake,
    ):
        sleep(asleep)
        await asleep.send(ASK)
        await awake.send(ASK)
        size = 0
        async with asyncio.timeout(50):
            while size < 20_000_000:
                size += len(await awake.reader.read(1 << 20))


async def test_a_send_that_was_given_up_does_not_spoil_the_next() -> None:
    gave_up = asyncio.Event()

    async def gives_up(stream: EventStream) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await stream.send(frame(bytes(16_000_000)))
        gave_up.set()
        await stream.send(frame(b"after"))

    async with streaming(gives_up) as (server, ended), connected(server) as wire:
        sleep(wire)
        await wire.send(ASK)
        await gave_up.wait()
        wake(wire)
        body = await wire.reader.readuntil(b"\r\n0\r\n\r\n")
        assert b"data: after\n\n" in body
        assert await ended.wait() is None
