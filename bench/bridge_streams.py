"""Delivery of live frames to many listeners: ours beside what one would write first.

python -m bench.bridge_streams --listeners 64 --hz 50 --seconds 10

The server has one core and the clients another; both read the same clock. "json per client" makes
the JSON anew for each listener and waits for its socket, as most examples do; "aiohttp-sse" is run
where it is installed. Rounds are interleaved and the best of each counts.
"""

import argparse
import asyncio
import json
import math
import os
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from aiohttp import web

from runtime.bridge.api import streams
from runtime.bridge.errors import render
from runtime.bridge.live.hub import Hub
from runtime.bridge.service import SERVICE, Service
from runtime.bridge.session.recording import WIDE, LiveFrame
from runtime.bridge.settings import BridgeSettings
from runtime.bridge.track.library import Library
from runtime.web.guard import Limits
from runtime.web.hosts import HostPolicy
from runtime.web.middleware import Door, install
from runtime.web.routes import mount
from runtime.web.serve import bind, serving

ROOT: Final = Path(__file__).resolve().parents[1]
METHODS: Final = ("ours", "json per client", "aiohttp-sse")
CORES: Final = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
ASK: Final = b"GET /telemetry/stream?session_id=s HTTP/1.1\r\nHost: localhost\r\n\r\n"
_SENT: Final = re.compile(rb'"sent_s": ?([0-9.]+)')
Frame = dict[str, float | str | None]
Publish = Callable[[float], None]


class Figure(NamedTuple):
    """One round."""

    delivered: float
    """Part of the events that arrived."""
    p50_ms: float
    p99_ms: float
    cpu: float
    """Of one core, by the server."""
    us_per_event: float
    """Processor time of the server for one event to one listener."""


def numbers(at: int) -> dict[str, float]:
    """A frame of the size that a car sends."""
    return {name: round(math.sin(at / 50 + n) * 100, 3) for n, name in enumerate(WIDE)}


def ours(most: int) -> tuple[web.Application, Publish, Callable[[], int]]:
    """The bridge's streams."""
    settings = BridgeSettings.model_validate({"port": 0})
    library = Library.read(settings.tracks_dir)
    service = Service(settings=settings, version="0", library=library, active_track=None)
    service.hub = hub = Hub(most=most)
    app = web.Application()
    app[SERVICE] = service
    mount(app, streams.routes)
    at = 0

    def publish(now: float) -> None:
        nonlocal at
        at += 1
        hub.publish_frame(LiveFrame("s", "can", numbers(at), {"sent_s": now}))

    return app, publish, lambda: hub.figures().listeners


def queued(
    serve: Callable[[web.Request, "asyncio.Queue[Frame]"], Awaitable[web.StreamResponse]],
) -> tuple[web.Application, Publish, Callable[[], int]]:
    """A queue for each client, and a handler that makes the JSON."""
    queues: set[asyncio.Queue[Frame]] = set()

    async def handle(request: web.Request) -> web.StreamResponse:
        queue: asyncio.Queue[Frame] = asyncio.Queue()
        queues.add(queue)
        try:
            return await serve(request, queue)
        finally:
            queues.discard(queue)

    at = 0

    def publish(now: float) -> None:
        nonlocal at
        at += 1
        body: Frame = {**numbers(at), "session_id": "s", "frame_idx": None, "sent_s": now}
        for queue in queues:
            queue.put_nowait(body)

    app = web.Application()
    app.router.add_get("/telemetry/stream", handle)
    return app, publish, lambda: len(queues)


async def plain(request: web.Request, queue: "asyncio.Queue[Frame]") -> web.StreamResponse:
    """What one would write first."""
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    while True:
        body = await queue.get()
        await response.write(f"event: telemetry\ndata: {json.dumps(body)}\n\n".encode())


async def packaged(request: web.Request, queue: "asyncio.Queue[Frame]") -> web.StreamResponse:
    """With aiohttp-sse."""
    from aiohttp_sse import sse_response  # type: ignore[import-not-found,unused-ignore]

    async with sse_response(request) as response:
        while True:
            await response.send(json.dumps(await queue.get()), event="telemetry")


async def serve(method: str, listeners: int, hz: float, seconds: float) -> None:
    """Publish to *listeners*; says on standard output where it is and what it used."""
    if method == "ours":
        app, publish, count = ours(listeners)
    else:
        app, publish, count = queued(plain if method == METHODS[1] else packaged)
    install(app, Door(render=render, hosts=HostPolicy.bound_to("127.0.0.1")))
    limits = Limits(connections=listeners + 8, per_peer=listeners + 8)
    with bind("127.0.0.1", 0) as listener:
        async with serving(app, listener, limits=limits, last_words_s=0.2) as (running, _):
            say({"port": running.port})
            while count() < listeners:  # noqa: ASYNC110 - the clients are another process
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.5)
            cpu, start, frames = time.process_time(), time.monotonic(), int(hz * seconds)
            for at in range(frames):
                await asyncio.sleep(max(0.0, start + at / hz - time.monotonic()))
                publish(time.monotonic())
            await asyncio.sleep(0.2)
            used = time.process_time() - cpu
            say({"cpu_s": used, "frames": frames, "wall_s": time.monotonic() - start})
            await asyncio.sleep(1.0)


def say(what: dict[str, float]) -> None:
    """A line for the process that started this one."""
    print(json.dumps(what), flush=True)


class Client(asyncio.Protocol):
    """Counts events; every *sampled* one also notes how long they took."""

    def __init__(self, delays: list[float] | None) -> None:
        self.delays = delays
        self.events = 0

    def itself(self) -> "Client":
        """For a loop that asks for a factory."""
        return self

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`; an event that comes in two pieces is counted, not timed."""
        now = time.monotonic()
        self.events += data.count(b"event: telemetry")
        if self.delays is not None:
            self.delays += [now - float(sent) for sent in _SENT.findall(data)]


@asynccontextmanager
async def server(arguments: Sequence[str]) -> AsyncIterator[asyncio.StreamReader]:
    """A server in a process of its own; what it says."""
    command = [sys.executable, "-m", "bench.bridge_streams", "--serve", *arguments]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield process.stdout
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def measure(method: str, listeners: int, hz: float, seconds: float) -> Figure:
    """One round of one method."""
    arguments = [method, "--listeners", str(listeners), "--hz", str(hz), "--seconds", str(seconds)]
    async with server([*arguments, "--core", str(CORES[0])]) as said:
        port = json.loads(await said.readline())["port"]
        loop = asyncio.get_running_loop()
        delays: list[float] = []
        step = max(1, listeners // 64)
        clients = [Client(delays if at % step == 0 else None) for at in range(listeners)]
        transports = []
        for client in clients:
            transport, _ = await loop.create_connection(client.itself, "127.0.0.1", port)
            transport.write(ASK)
            transports.append(transport)
        used = json.loads(await said.readline())
        await asyncio.sleep(0.5)
        for transport in transports:
            transport.abort()
    events = sum(client.events for client in clients)
    wanted = used["frames"] * listeners
    p50, p99 = np.percentile(np.array(delays) * 1000, (50, 99))
    return Figure(
        events / wanted,
        float(p50),
        float(p99),
        used["cpu_s"] / used["wall_s"],
        used["cpu_s"] / max(1, events) * 1e6,
    )


def pin(core: int) -> None:
    """Stay on one core, where the system knows of such a thing."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {core})


def main(argv: Sequence[str]) -> int:
    """Run the rounds and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.bridge_streams", description=__doc__)
    parser.add_argument("--listeners", type=int, nargs="+", default=[64, 1000])
    parser.add_argument("--hz", type=float, default=50.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="one short round of 64 listeners")
    parser.add_argument("--serve", choices=METHODS, help=argparse.SUPPRESS)
    parser.add_argument("--core", type=int, default=CORES[-1], help=argparse.SUPPRESS)
    asked = parser.parse_args(argv)
    pin(asked.core)
    if asked.serve:
        with suppress(KeyboardInterrupt):
            asyncio.run(serve(asked.serve, asked.listeners[0], asked.hz, asked.seconds))
        return 0
    if asked.quick:
        asked.listeners, asked.seconds, asked.rounds = [64], 2.0, 1
    names = [name for name in METHODS if name != "aiohttp-sse" or find_spec("aiohttp_sse")]
    print(f"{'':<18}{'listeners':>10}{'arrived':>9}{'p50 ms':>8}{'p99 ms':>8}{'core':>7}{'us':>7}")
    for listeners in asked.listeners:
        found: dict[str, list[Figure]] = {name: [] for name in names}
        for _ in range(asked.rounds):
            for name in names:
                measured = asyncio.run(measure(name, listeners, asked.hz, asked.seconds))
                found[name].append(measured)
        for name, rounds in found.items():
            best = min(rounds, key=lambda figure: figure.us_per_event)
            print(
                f"{name:<18}{listeners:>10}{best.delivered:>9.2%}{best.p50_ms:>8.2f}"
                f"{best.p99_ms:>8.2f}{best.cpu:>7.0%}{best.us_per_event:>7.1f}"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
