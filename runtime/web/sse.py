"""Server-sent events: a stream to one reader, with heartbeats and a stall limit."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Final, Self, cast

from aiohttp import web
from aiohttp.http import StreamWriter

from runtime.web.lifecycle import LIFECYCLE

HEARTBEAT: Final = b": ka\n\n"
STREAM: Final = web.RequestKey("stream", web.StreamResponse)
"""The response of a request that became a stream."""


class ReaderGone(Exception):
    """The reader left, or stalled for too long and was disconnected."""


class StreamClosed(Exception):
    """The server ended the stream."""


def frame(data: bytes, name: str = "", number: int | None = None) -> bytes:
    """Encode *data*, one line of JSON, as an event with an optional name and id."""
    head = b"" if number is None else b"id: %d\n" % number
    if name:
        head += b"event: %b\n" % name.encode()
    return head + b"data: " + data + b"\n\n"


class EventStream:
    """A ``text/event-stream`` response that starts when the block is entered and ends with it.

    If the reader leaves, the block raises `ReaderGone`, whatever it was waiting for; if the server
    closes the stream, the block ends quietly. The comment *heartbeat* is sent every *heartbeat_s*
    seconds. A reader that takes nothing for *stall_s* seconds is disconnected.
    """

    def __init__(
        self,
        request: web.Request,
        *,
        headers: Mapping[str, str] | None = None,
        heartbeat_s: float = 10.0,
        heartbeat: bytes = HEARTBEAT,
        stall_s: float = 30.0,
        ends_on_drain: bool = False,
    ) -> None:
        named = {
            "Content-Type": "text/event-stream; charset=utf-8",
            "Cache-Control": "no-cache, no-transform",
            "X-Accel-Buffering": "no",
        }
        self.response = web.StreamResponse(headers={**named, **(headers or {})})
        self.ends_on_drain = ends_on_drain
        self.closed = False
        """Whether the server has ended the stream."""
        self._request = request
        self._writer = cast(StreamWriter, request.writer)
        self._heartbeat_s = heartbeat_s
        self._heartbeat = heartbeat
        self._stall_s = stall_s
        self._stalled = False
        self._owner: asyncio.Task[object] | None = None
        self._ticker: asyncio.Task[None] | None = None
        life = request.app.get(LIFECYCLE)
        self._streams = life.streams if life is not None else set()

    async def __aenter__(self) -> Self:
        self._request[STREAM] = self.response
        try:
            await self.response.prepare(self._request)
        except ConnectionError as exc:
            raise ReaderGone("the reader left before the stream began") from exc
        self._owner = asyncio.current_task()
        self._ticker = asyncio.create_task(self._tick())
        self._streams.add(self)
        return self

    async def send(self, data: bytes) -> None:
        """Send whole events; returns once they are on their way or the reader is slow but alive.

        Raises `ReaderGone` when nobody reads any more, `StreamClosed` after `close`.
        """
        if self.closed:
            raise StreamClosed("the server has ended this stream")
        try:
            await self._writer.write(data, drain=False)
            if self._request.protocol.writing_paused:
                # Shielded: aiohttp keeps a cancelled wait and fails every later one with it.
                await asyncio.shield(self._writer.drain())
        except ConnectionError as exc:
            raise self._gone() from exc

    def close(self) -> None:
        """End the stream from outside: its sender is interrupted wherever it waits."""
        if self.closed or self._owner is None or self._ticker is None:
            return
        self.closed = True
        self._owner.cancel()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        self._streams.discard(self)
        interrupted = isinstance(error, asyncio.CancelledError)
        lost = self._stalled or self._request.transport is None
        try:
            if self.closed:
                await self._settle(interrupted)
            elif interrupted and not lost:
                return False  # somebody else's cancellation, such as the end of the server
            elif interrupted and self._owner is not None:
                self._owner.uncancel()
            if lost:
                if error is None or interrupted:
                    raise self._gone() from None
                return False
            quiet = self.closed and (interrupted or isinstance(error, StreamClosed))
            if error is None or quiet:
                with suppress(ConnectionError):  # the events are out, only the end mark is not
                    await self.response.write_eof()
            return quiet
        finally:
            await self._stop()

    async def _settle(self, interrupted: bool) -> None:
        """Take back the interruption of `close`, which may not have arrived yet."""
        if not interrupted:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0)
        if self._owner is not None:
            self._owner.uncancel()

    def _gone(self) -> ReaderGone:
        if self._stalled:
            return ReaderGone(f"the reader took nothing for {self._stall_s:g} s")
        return ReaderGone("the reader left")

    async def _stop(self) -> None:
        if self._ticker is not None:
            self._ticker.cancel()
            await asyncio.wait([self._ticker])
            self._ticker = None

    async def _tick(self) -> None:
        """One timer a stream: heartbeats when due, and a look at whether the reader reads."""
        loop = asyncio.get_running_loop()
        pace = min(self._heartbeat_s, self._stall_s / 4)
        beat = loop.time() + self._heartbeat_s
        taken, progress = 0, loop.time()
        while (transport := self._request.transport) is not None:
            await asyncio.sleep(max(0.0, min(pace, beat - loop.time())))
            now = loop.time()
            waiting = transport.get_write_buffer_size()
            so_far = self._writer.output_size - waiting
            if not waiting or so_far > taken:
                taken, progress = so_far, now
            elif now - progress >= self._stall_s:
                self._stalled = True
                transport.abort()
                return
            if now >= beat:
                beat = now + self._heartbeat_s
                with suppress(ConnectionError):  # its owner hears of it in its own way
                    await self._writer.write(self._heartbeat, drain=False)
