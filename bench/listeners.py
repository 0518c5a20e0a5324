"""Live frames to many listeners, compared with a server that encodes JSON for each of them.

A client sends frames over HTTP at a fixed rate. Each frame carries the time when it was sent, and
the listeners note its age on arrival.
"""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import aiohttp
from aiohttp import web

from bench.common import BACKENDS, Figure, Server, bridge, percentiles, serve_app, start_server

SENT: Final = re.compile(rb'"oil_temp_c": ?([0-9.]+)')
"""This channel carries the time of sending."""
LISTENERS: Final = 64
HZ: Final = 50.0
SECONDS: Final = 5.0


class Result(NamedTuple):
    """What the listeners measured."""

    p99_ms: float
    arrived: float
    """Share of the events."""
    core: float
    """Cores used by the server."""


async def listen(url: str, ages: list[float]) -> None:
    """Note the age of each frame until cancelled."""
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{url}/telemetry/stream?session_id=*") as stream,
    ):
        async for line in stream.content:
            if match := SENT.search(line):
                age_s = time.monotonic() - float(match[1])
                ages.append(age_s * 1e3)


@asynccontextmanager
async def run_listeners(url: str, count: int) -> AsyncIterator[list[float]]:
    """Run listeners for the duration of the block; yield the ages in milliseconds."""
    ages: list[float] = []
    tasks = [asyncio.create_task(listen(url, ages)) for _ in range(count)]
    await asyncio.sleep(1.0)
    yield ages
    await asyncio.sleep(0.5)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def publish(server: Server, listeners: int) -> Result:
    """Send frames and collect the ages."""
    count = int(HZ * SECONDS)
    async with run_listeners(server.url, listeners) as ages, aiohttp.ClientSession() as http:
        cpu, began = server.cpu_s(), time.monotonic()
        for number in range(count):
            await asyncio.sleep(max(0.0, began + number / HZ - time.monotonic()))
            body = {"timestamp": number / HZ, "speed_ms": 30.0, "oil_temp_c": time.monotonic()}
            async with http.post(f"{server.url}/session/s/frame", json=body) as answer:
                answer.raise_for_status()
        core = (server.cpu_s() - cpu) / (time.monotonic() - began)
    return Result(percentiles(ages)[1], len(ages) / count / listeners, core)


async def measure(server: Server) -> Result:
    """Measure; the share of a core is what the listeners add to a single listener."""
    alone = await publish(server, 1)
    result = await publish(server, LISTENERS)
    return result._replace(core=result.core - alone.core)


async def serve_plain() -> None:
    """Serve with the obvious design: a queue for each listener, which encodes its own JSON."""
    queues: set[asyncio.Queue[dict[str, float]]] = set()

    async def stream(request: web.Request) -> web.StreamResponse:
        queue: asyncio.Queue[dict[str, float]] = asyncio.Queue()
        queues.add(queue)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            while True:
                body = json.dumps(await queue.get())
                await response.write(f"event: telemetry\ndata: {body}\n\n".encode())
        finally:
            queues.discard(queue)

    async def receive(request: web.Request) -> web.Response:
        body = await request.json()
        for queue in queues:
            queue.put_nowait(body)
        return web.json_response({"saved": True})

    app = web.Application()
    app.router.add_get("/telemetry/stream", stream)
    app.router.add_post("/session/s/frame", receive)
    await serve_app(app)


def figures() -> Iterator[Figure]:
    """The bridge, which stores each frame first, and the plain server."""
    with bridge(BACKENDS["SQLite"]) as server:
        ours = asyncio.run(measure(server))
    with start_server("bench.listeners") as server:
        plain = asyncio.run(measure(server))
    what, peer = f"{LISTENERS} at {HZ:.0f} Hz", "JSON for each"
    yield Figure(f"{what}, age of a frame, p99", "ms", ours.p99_ms, peer, plain.p99_ms)
    yield Figure(what, "cores", ours.core, peer, plain.core)
    yield Figure(f"{what}, arrived", "share", ours.arrived, peer, plain.arrived)


if __name__ == "__main__":
    asyncio.run(serve_plain())
