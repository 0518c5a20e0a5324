"""What an application knows about its own life: requests in flight, open streams, draining."""

import asyncio
from typing import Final, Protocol

from aiohttp import web

from runtime.web.errors import ShuttingDown


class OpenStream(Protocol):
    """A stream, in or out, that can be ended from outside."""

    ends_on_drain: bool

    def close(self) -> None:
        """End the stream; what is done with it next raises."""


class Lifecycle:
    """Counts requests in flight and holds the open streams of one application."""

    def __init__(self) -> None:
        self.draining = False
        self.in_flight = 0
        self.accepted = 0
        """Requests since the start; the number of a request is its id."""
        self.streams: set[OpenStream] = set()
        self._idle = asyncio.Event()

    def begin(self) -> str:
        """Count a request as in flight; its id."""
        self.in_flight += 1
        self.accepted += 1
        return str(self.accepted)

    def end(self) -> None:
        """A request is over."""
        self.in_flight -= 1
        if not self.in_flight:
            self._idle.set()

    def admit(self) -> None:
        """Raise `ShuttingDown` once the server is draining."""
        if self.draining:
            raise ShuttingDown(
                "the server is shutting down", headers={"Retry-After": "5", "Connection": "close"}
            )

    def drain(self) -> None:
        """Take no new requests; end the streams that have no end of their own."""
        self.draining = True
        for stream in [s for s in self.streams if s.ends_on_drain]:
            stream.close()

    async def wait_idle(self, timeout_s: float) -> bool:
        """Whether no request was in flight within *timeout_s* seconds."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.in_flight:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            return False
        return True

    def close_streams(self) -> None:
        """End every stream that is still open, and take no new requests."""
        self.draining = True
        for stream in list(self.streams):
            stream.close()


LIFECYCLE: Final = web.AppKey("lifecycle", Lifecycle)
