"""Bodies that never end, from one program or many: what they cost, and who is served meanwhile."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import psutil
import pytest

from runtime.web.serve import TRIM_S
from tests.llm.faults.program import Program, running
from tests.llm.serverkit import CHAT, REPLIES, chat

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

BODY_BYTES = 20_000_000
SENT_BYTES = 19_000_000
PIECE = b"x" * 1_000_000
MAX_RSS = 150 << 20


@asynccontextmanager
async def half_sent(program: Program, sent: int) -> AsyncIterator[asyncio.StreamReader]:
    """A connection with a large document under way of which *sent* bytes have been offered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", program.ready["port"])
    try:
        writer.write(
            b"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
            % BODY_BYTES
        )
        with suppress(ConnectionError):  # the server may refuse it on the way
            for _ in range(sent // len(PIECE)):
                writer.write(PIECE)
                await writer.drain()
        yield reader
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


def memory(program: Program) -> int:
    """Resident bytes of the server process."""
    rss: int = psutil.Process(program.process.pid).memory_info().rss
    return rss


async def test_fifty_half_sent_bodies_cost_little_and_all_of_it_is_given_back(
    tmp_path: Path, models: Path
) -> None:
    async with running(tmp_path, models) as program:
        await program.ask("recall", "<gold>")  # what a first request loads is not counted
        before = highest = memory(program)
        async with AsyncExitStack() as stack:
            coming = [stack.enter_async_context(half_sent(program, SENT_BYTES)) for _ in range(50)]
            sending = asyncio.gather(*coming)
            while not sending.done():
                highest = max(highest, memory(program))
                await asyncio.sleep(0.05)
            readers = await sending
            answers = [await _status(reader) for reader in readers]
            status, said = await program.ask("recall", "<gold>")
            health = await program.get("/health")
            highest = max(highest, memory(program))
        after = await _settled(program, before + (32 << 20))

    assert highest < MAX_RSS, f"{highest >> 20} MiB"
    assert after < before + (32 << 20), f"{before >> 20} MiB before, {after >> 20} MiB after"
    assert 503 in answers  # most of them found the room taken
    assert set(answers) <= {None, 408, 503}  # where the machine is held, the time of a body ends
    assert (status, health["status"]) == (200, "ok")
    assert REPLIES["<gold>"].encode() in said


LORISES = (
    b"",
    b"GET /hea",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 400000\r\n\r\n{",
    b"POST /v1/documents HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
)


async def drip(program: Program, begun: bytes) -> None:
    """A connection that sends a byte now and then, and begins anew when it is closed."""
    while True:
        with suppress(ConnectionError):
            reader, writer = await asyncio.open_connection("127.0.0.1", program.ready["port"])
            try:
                writer.write(begun)
                while not reader.at_eof() and begun:
                    await asyncio.sleep(0.3)
                    writer.write(b"1\r\n1\r\n" if begun.endswith(b"\r\n") else b"1")
                    await writer.drain()
                await reader.read()
            finally:
                writer.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere loopback is one address")
async def test_two_hundred_slow_connections_of_one_address_stop_nobody(
    tmp_path: Path, models: Path
) -> None:
    async with running(tmp_path, models) as program, asyncio.TaskGroup() as group:
        flood = [group.create_task(drip(program, LORISES[n % 4])) for n in range(200)]
        await asyncio.sleep(1)  # it may take hold
        elsewhere = aiohttp.TCPConnector(local_addr=("127.0.0.2", 0), force_close=True)
        async with aiohttp.ClientSession(program.url, connector=elsewhere) as other:
            for _ in range(20):
                async with other.get("/health") as health, other.post(CHAT, json=ASK) as reply:
                    assert (health.status, reply.status) == (200, 200)
        # Its own address may find all places taken for the two seconds that half a request gets.
        same = aiohttp.TCPConnector(force_close=True)
        async with aiohttp.ClientSession(program.url, connector=same) as own:
            for _ in range(20):
                assert await _patiently(own) == 200
        for task in flood:
            task.cancel()


ASK = chat("recall", "<gold>")


async def _patiently(client: aiohttp.ClientSession) -> int:
    """The status of a chat, which is asked again as long as Retry-After invites to it."""
    for _ in range(20):
        async with client.post(CHAT, json=ASK) as reply:
            if reply.status != 503:
                return reply.status
            await asyncio.sleep(int(reply.headers["Retry-After"]))
    return 503


async def _status(reader: asyncio.StreamReader) -> int | None:
    """The status that a client was answered with, None if the server still takes its body."""
    try:
        async with asyncio.timeout(0.2):
            line = await reader.readline()
    except TimeoutError:
        return None
    return int(line.split()[1])


async def _settled(program: Program, wanted: int) -> int:
    """The memory of the server, once it is below *wanted* or was given back once more."""
    for _ in range(int(10 * TRIM_S) + 50):
        if memory(program) < wanted:
            break
        await asyncio.sleep(0.1)
    return memory(program)
