"""A loopback file server for tests of downloads, well behaved or not."""

import asyncio
import hashlib

from tests.llm.models.daemons import Asked, head

MODEL = bytes(range(256)) * 4096  # 1 MiB
SHA = hashlib.sha256(MODEL).hexdigest()
HALF = len(MODEL) // 2
KIND = "application/octet-stream"


class Origin:
    """A file server with ranges, which can be told to misbehave."""

    def __init__(self, data: bytes = MODEL, tag: str | None = '"v1"') -> None:
        self.data = data
        self.tag = tag
        self.cut_at: int | None = None
        """Hang up after so many bytes of the body."""
        self.stall = False
        """Do not hang up at `cut_at` but fall silent."""
        self.heard = asyncio.Event()
        """Set when the client has taken everything up to `cut_at`."""
        self.ranges = True

    async def __call__(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        start = self._start(asked.headers)
        end = len(self.data)
        tag = [] if self.tag is None else [f"ETag: {self.tag}"]
        if start is None:
            writer.write(head("416 Range Not Satisfiable", KIND, "Content-Length: 0"))
            return
        size = [f"Content-Length: {end - start}", *tag]
        if start:
            size.append(f"Content-Range: bytes {start}-{end - 1}/{end}")
        writer.write(head("206 Partial Content" if start else "200 OK", KIND, *size))
        writer.write(self.data[start : end if self.cut_at is None else start + self.cut_at])
        await writer.drain()
        if self.stall:
            await asyncio.Event().wait()
        if self.cut_at is not None:
            await self.heard.wait()

    def _start(self, headers: dict[str, str]) -> int | None:
        if "range" not in headers or headers.get("if-range") != self.tag:
            return 0
        if not self.ranges:
            return None
        return int(headers["range"].removeprefix("bytes=").removesuffix("-"))
