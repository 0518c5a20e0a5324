"""A client that writes bytes, for requests that no HTTP library would send."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple

from runtime.web.serve import Running


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Wire(NamedTuple):
    """An open connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> Answer:
        """The next answer of a fixed length."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines[1:] if line)
        body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return Answer(int(lines[0].split()[1]), headers, body)

    async def end(self) -> bytes:
        """Everything up to the end of the connection, however it ends."""
        try:
            return await self.reader.read()
        except ConnectionError:
            return b""


@asynccontextmanager
async def connected(server: Running, source: str | None = None) -> AsyncIterator[Wire]:
    """An open connection, where asked for from the address *source* of this machine."""
    reader, writer = await asyncio.open_connection(
        server.host, server.port, limit=1 << 25, local_addr=(source, 0) if source else None
    )
    try:
        yield Wire(reader, writer)
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def exchange(server: Running, data: bytes) -> Answer:
    """One request, one answer."""
    async with connected(server) as wire:
        await wire.send(data)
        return await wire.answer()


def head(line: str, *headers: str) -> bytes:
    """A request head with a good Host."""
    return "\r\n".join([line, "Host: localhost", *headers, "", ""]).encode("latin-1")
