"""Bodies that never end, from one program or many: what they cost, and who is served meanwhile."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import psutil
import pytest

from tests.llm.faults.program import Program, running
from tests.llm.serverkit import REPLIES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

HALF_SENT = 50
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
    assert set(answers) <= {None, 503}
    assert (status, health["status"]) == (200, "ok")
    assert REPLIES["<gold>"].encode() in said


async def _status(reader: asyncio.StreamReader) -> int | None:
    """The status that a client was answered with, None if the server still takes its body."""
    try:
        async with asyncio.timeout(0.2):
            line = await reader.readline()
    except TimeoutError:
        return None
    return int(line.split()[1])


async def _settled(program: Program, wanted: int) -> int:
    """The memory of the server, once it is below *wanted* or has had some seconds for it."""
    for _ in range(50):
        if memory(program) < wanted:
            break
        await asyncio.sleep(0.1)
    return memory(program)
