"""Durable frames over HTTP: single frames, compared with a handler that stores nothing, and NDJSON.

Each client waits for the answer before it sends its next request; an acknowledged frame is on disk.
The last rows are a car: one frame every 10 ms, 20 live listeners, and a client that keeps
requesting analytics.
"""

import asyncio
import itertools
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Final, NamedTuple

import orjson
from aiohttp import web

from bench.analytics import ROUTES, drive, fill
from bench.common import (
    BACKENDS,
    Figure,
    Server,
    bridge,
    percentiles,
    request,
    send_all,
    serve_app,
    start_server,
)

CLIENTS: Final = 32
STREAM: Final = 20_000
"""Frames of one NDJSON request."""
SECONDS: Final = 4.0
"""Duration of each load."""
LISTENERS: Final = 20
LIVE_HZ: Final = 100.0


class Load(NamedTuple):
    """What the clients measured."""

    per_s: float
    """Acknowledged frames."""
    p50_ms: float
    p99_ms: float


def frame(at: float) -> bytes:
    """One frame as JSON."""
    return orjson.dumps(
        {
            "timestamp": at,
            "speed_ms": 41.25,
            "g_lat": 0.75,
            "g_long": -0.25,
            "brake_bar": 12.5,
            "throttle_pct": 80.0,
            "steering_deg": -3.5,
            "rpm": 6500.0,
            "lat": 54.5,
            "lon": -3.25,
        }
    )


def requests(session: str, frames: int, end: float) -> Iterator[bytes]:
    """Requests of so many frames each, until a moment of the clock."""
    for first in itertools.count(step=frames):
        if time.perf_counter() > end:
            return
        if frames == 1:
            yield request(f"/session/{session}/frame", frame(first / 100))
        else:
            lines = b"".join(frame(n / 100) + b"\n" for n in range(first, first + frames))
            yield request(f"/session/{session}/frames", lines, "application/x-ndjson")


def measure(port: int, clients: int, frames: int, hz: float) -> Load:
    """Load a server as fast as it answers, or with *hz* requests a second."""
    began = time.perf_counter()
    end = began + SECONDS
    sources = [requests(f"load{number}", frames, end) for number in range(clients)]
    latencies_ms = send_all(port, sources, hz)
    whole_s = time.perf_counter() - began
    return Load(frames * len(latencies_ms) / whole_s, *percentiles(latencies_ms))


def load(server: Server, clients: int, frames: int = 1, hz: float = 0.0) -> Load:
    """Measure in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(measure, server.port, clients, frames, hz).result()


async def serve_bare() -> None:
    """Answer with as much JSON as the bridge does, and store nothing."""

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        body = b'{"saved":true,"session_id":"load0","frame_idx":123456}'
        return web.Response(body=body, content_type="application/json")

    app = web.Application()
    app.router.add_post("/session/{sid}/frame", answer)
    await serve_app(app)


@contextmanager
def keep_busy(server: Server) -> Iterator[None]:
    """Run live listeners and a client of the analytics while the block runs."""
    fill(server, drive(60_000))
    over = threading.Event()

    def listen() -> None:
        with socket.create_connection(("127.0.0.1", server.port)) as wire:
            wire.settimeout(0.2)
            path = "/telemetry/stream?session_id=*"
            wire.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            while not over.is_set():
                try:
                    wire.recv(1 << 16)
                except TimeoutError:
                    continue

    def ask() -> None:
        for route in itertools.cycle(ROUTES):
            if over.wait(0.1):
                return
            server.get(f"/session/hour/{route}")

    with ThreadPoolExecutor(LISTENERS + 1) as pool:
        running = [pool.submit(work) for work in [ask, *[listen] * LISTENERS]]
        try:
            yield
        finally:
            over.set()
    for work in running:
        work.result()


def figures() -> Iterator[Figure]:
    """The rows of both back-ends."""
    with start_server("bench.ingest") as server:
        bare = load(server, CLIENTS).per_s
    for name, backend in BACKENDS.items():
        with bridge(backend) as server:
            single = load(server, CLIENTS)
            what = f"{name}: single, {CLIENTS} clients"
            yield Figure(what, "frames/s", single.per_s, "bare aiohttp, nothing stored", bare)
            yield Figure(f"{what}, p99", "ms", single.p99_ms)
            yield Figure(f"{name}: NDJSON", "frames/s", load(server, 2, STREAM).per_s)
        with bridge(backend) as server, keep_busy(server):
            car = load(server, CLIENTS, hz=LIVE_HZ)
        what = f"{name}: {LIVE_HZ:.0f} Hz, {LISTENERS} listeners, analytics"
        yield Figure(f"{what}, p50", "ms", car.p50_ms)
        yield Figure(f"{what}, p99", "ms", car.p99_ms)


if __name__ == "__main__":
    asyncio.run(serve_bare())
