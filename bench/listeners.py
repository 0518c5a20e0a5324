"""Live frames to many listeners, beside a server that makes the JSON anew for each of them.

The publisher sends frames over HTTP at a fixed rate; each frame carries its time of sending, and
the listeners note how old it is when it arrives.
"""

import asyncio
import json
import re
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final, NamedTuple

import aiohttp
from aiohttp import web

from bench.common import Figure, Server, answer_with, arguments, bridge, percentiles, serving, show

SENT: Final = re.compile(rb'"oil_temp_c": ?([0-9.]+)')
"""A channel that carries the time of sending."""


class Result(NamedTuple):
    """What the listeners saw."""

    p50_ms: float
    p99_ms: float
    arrived: float
    """Part of the events."""
    core: float
    """Share of a core that the server used."""


async def listen(url: str, ages: list[float]) -> None:
    """Note the age of every frame until cancelled."""
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{url}/telemetry/stream?session_id=*") as stream,
    ):
        async for line in stream.content:
            if match := SENT.search(line):
                age_s = time.monotonic() - float(match[1])
                ages.append(age_s * 1e3)


@asynccontextmanager
async def audience(url: str, count: int) -> AsyncIterator[list[float]]:
    """Listeners for as long as the block runs, and the ages they noted, in milliseconds."""
    ages: list[float] = []
    tasks = [asyncio.create_task(listen(url, ages)) for _ in range(count)]
    await asyncio.sleep(1.0)
    yield ages
    await asyncio.sleep(0.5)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def publish(server: Server, listeners: int, hz: float, seconds: float) -> Result:
    """Send frames and gather what the listeners noted."""
    count = int(hz * seconds)
    async with audience(server.url, listeners) as ages, aiohttp.ClientSession() as http:
        cpu, began = server.cpu_s(), time.monotonic()
        for number in range(count):
            await asyncio.sleep(max(0.0, began + number / hz - time.monotonic()))
            body = {"timestamp": number / hz, "speed_ms": 30.0, "oil_temp_c": time.monotonic()}
            async with http.post(f"{server.url}/session/s/frame", json=body) as answer:
                answer.raise_for_status()
        core = (server.cpu_s() - cpu) / (time.monotonic() - began)
    return Result(*percentiles(ages), len(ages) / count / listeners, core)


async def measure(server: Server, listeners: int, hz: float, seconds: float) -> Result:
    """The share of a core is what the listeners add to a single one."""
    alone = await publish(server, 1, hz, seconds)
    result = await publish(server, listeners, hz, seconds)
    return result._replace(core=result.core - alone.core)


async def serve_plain() -> None:
    """What one would write first: a queue and a JSON text for each listener."""
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

    async def take(request: web.Request) -> web.Response:
        body = await request.json()
        for queue in queues:
            queue.put_nowait(body)
        return web.json_response({"saved": True})

    app = web.Application()
    app.router.add_get("/telemetry/stream", stream)
    app.router.add_post("/session/s/frame", take)
    await answer_with(app)


def main() -> int:
    """Print the table."""
    parser = arguments("listeners", __doc__)
    parser.add_argument("--listeners", type=int, default=64)
    parser.add_argument("--hz", type=float, default=50.0)
    parser.add_argument("--plain", action="store_true", help="only the server beside it")
    options = parser.parse_args()
    if options.plain:
        asyncio.run(serve_plain())
        return 0
    seconds = 3.0 if options.quick else 10.0
    with bridge("lightweight") as server:
        ours = asyncio.run(measure(server, options.listeners, options.hz, seconds))
    with serving("bench.listeners", "--plain") as server:
        plain = asyncio.run(measure(server, options.listeners, options.hz, seconds))
    both = (ours, plain)
    rows = [
        (
            "age of a frame, p50 / p99 ms",
            [f"{r.p50_ms:.1f} / {r.p99_ms:.1f}" for r in both],
        ),
        ("share of a core for the listeners", [f"{r.core:.0%}" for r in both]),
        ("events that arrived", [f"{r.arrived:.1%}" for r in both]),
    ]
    show(
        f"{options.listeners} listeners at {options.hz:.0f} Hz; ours stores each frame first",
        [Figure(what, mine, f"JSON a listener: {theirs}") for what, (mine, theirs) in rows],
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
