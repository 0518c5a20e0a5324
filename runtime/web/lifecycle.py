"""The state of a running application: requests in flight, open streams, draining."""

import asyncio
from typing import Final, Protocol

from aiohttp import web

from runtime.web.errors import ShuttingDown


class OpenStream(Protocol):
    """A stream, incoming or outgoing, that the server can end."""

    ends_on_drain: bool

    def close(self) -> None:
        """End the stream; its next use raises."""


class Lifecycle:
    """Counts requests in flight and holds the open streams of one application."""

    def __init__(self) -> None:
        self.draining = False
        self.in_flight = 0
        self.accepted = 0
        """Requests since the start; the id of a request is its number."""
        self.streams: set[OpenStream] = set()
        self._idle = asyncio.Event()

    def begin(self) -> str:
        """Count a request as in flight and return its id."""
        self.in_flight += 1
        self.accepted += 1
        return str(self.accepted)

    def end(self) -> None:
        """Count a request as finished."""
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
        """Accept no new requests; close the streams that would not end by themselves."""
        self.draining = True
        for stream in [s for s in self.streams if s.ends_on_drain]:
            stream.close()

    async def wait_idle(self, timeout_s: float) -> bool:
        """Wait up to *timeout_s* seconds; return whether no request is in flight."""
        try:
            async with asyncio.timeout(timeout_s):
                while self.in_flight:
                    self._idle.clear()
                    await self._idle.wait()
        except TimeoutError:
            return False
        return True

    def close_streams(self) -> None:
        """Accept no new requests and close every open stream."""
        self.draining = True
        for stream in list(self.streams):
            stream.close()


LIFECYCLE: Final = web.AppKey("lifecycle", Lifecycle)
