"""A served course for tests: a server in a thread of its own, and requests as raw as needed."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from course.build import Options
from course.serve import Server

T = TypeVar("T")
PATIENCE_S = 20.0


class Answer(NamedTuple):
    """Status, headers (lower-case names) and body of an answer."""

    status: int
    headers: dict[str, str]
    body: bytes


def ask(port: int, path: str, method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
    """One request; *path* goes out exactly as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.putrequest(method, path, skip_host=bool(headers and "Host" in headers))
        for name, value in (headers or {}).items():
            connection.putheader(name, value)
        connection.endheaders()
        response = connection.getresponse()
        names = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, names, response.read())
    finally:
        connection.close()


@contextmanager
def stream(port: int, path: str) -> Iterator[Iterator[dict[str, Any]]]:
    """The states that an open page is told of, one after the other."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        assert response.getheader("Content-Type") == "text/event-stream"
        yield _states(response)
    finally:
        connection.close()


def _states(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    for line in iter(response.readline, b""):
        if line.startswith(b"data: "):
            yield json.loads(line.removeprefix(b"data: "))


class Served(NamedTuple):
    """A running server: where it listens, and everything that it said."""

    server: Server
    port: int
    said: list[str]

    def ask(self, path: str, method: str = "GET", headers: dict[str, str] | None = None) -> Answer:
        """One request below no prefix."""
        return ask(self.port, path, method, headers)


@contextmanager
def serving(
    root: Path, prefix: str = "", *, watch: bool = True, wait: bool = True
) -> Iterator[Served]:
    """Serve the course below *root*; with *wait*, from the moment that the first build is done."""
    said: list[str] = []
    ready = threading.Event()
    options = Options(root, root / "site", cache=root / ".course-cache")

    @asynccontextmanager
    async def run() -> AsyncIterator[Served]:
        server = Server(options, "127.0.0.1", 0, prefix, watch=watch, say=said.append)
        async with server:
            work = asyncio.create_task(server.run(ready.set))
            yield Served(server, int(server.url.split(":")[2].split("/")[0]), said)
            work.cancel()

    with in_thread(run) as served:
        assert not wait or ready.wait(PATIENCE_S)
        yield served


@contextmanager
def in_thread(make: Callable[[], AbstractAsyncContextManager[T]]) -> Iterator[T]:
    """What the asynchronous context manager gives, kept open by a thread with its own loop."""
    entered: list[T] = []
    begun = threading.Event()
    loop = asyncio.new_event_loop()
    end = asyncio.Event()

    async def main() -> None:
        try:
            async with make() as value:
                entered.append(value)
                begun.set()
                await end.wait()
        finally:
            begun.set()

    thread = threading.Thread(target=lambda: loop.run_until_complete(main()))
    thread.start()
    try:
        assert begun.wait(PATIENCE_S)
        yield entered[0]
    finally:
        loop.call_soon_threadsafe(end.set)
        thread.join(PATIENCE_S)
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
