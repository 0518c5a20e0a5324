"""Durable frames over HTTP: single frames, compared with a handler that stores nothing, and NDJSON.

Each client waits for the answer before it sends its next request; an acknowledged frame is on disk.
The last rows are a car: one frame every 10 ms, 20 live listeners, and a client that keeps
requesting analytics.
"""

import asyncio
import itertools
import json
import selectors
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final, NamedTuple

import orjson
from aiohttp import web

from bench.analytics import ROUTES, drive, fill
from bench.common import (
    BACKENDS,
    ROOT,
    Figure,
    Server,
    bridge,
    percentiles,
    serve_app,
    start_server,
)

CLIENTS: Final = 32
STREAM: Final = 20_000
"""Frames of one NDJSON request."""
FRAMES: Final = {"frame": 1, "stream": STREAM}
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


def frame(at: float) -> dict[str, float]:
    """One frame."""
    return {
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


def message(session: str, kind: str, at: float) -> bytes:
    """A request with a single frame or with a stream of lines."""
    if kind == "frame":
        path, content, body = "frame", "application/json", orjson.dumps(frame(at))
    else:
        path, content = "frames", "application/x-ndjson"
        body = b"".join(orjson.dumps(frame(at + n / 100)) + b"\n" for n in range(STREAM))
    return (
        f"POST /session/{session}/{path} HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: {content}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


class Client:
    """A client with one persistent connection."""

    def __init__(self, port: int, session: str, kind: str) -> None:
        self.wire = socket.create_connection(("127.0.0.1", port))
        self.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.session, self.kind = session, kind
        self.at = 0.0  # timestamp of the next frame
        self.sent = 0.0
        self.answer = b""
        self.latencies_s: list[float] = []

    def send(self, now: float) -> None:
        """Send the next request, which was due at *now*."""
        request = message(self.session, self.kind, self.at)
        self.at += FRAMES[self.kind] / 100
        self.sent = now
        self.wire.sendall(request)

    def receive(self) -> bool:
        """Read what has arrived; return whether the answer is complete."""
        self.answer += self.wire.recv(65536)
        head, end, body = self.answer.partition(b"\r\n\r\n")
        if not end:
            return False
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return False
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(self.answer.decode(errors="replace"))
        self.answer = b""
        self.latencies_s.append(time.perf_counter() - self.sent)
        return True


def send_all(port: int, kind: str, hz: float) -> Load:
    """Load a server as fast as it answers, or with *hz* requests a second."""
    count = {"frame": CLIENTS, "stream": 2}[kind]
    clients = [Client(port, f"load{number}", kind) for number in range(count)]
    waiting = selectors.DefaultSelector()
    for sender in clients:
        waiting.register(sender.wire, selectors.EVENT_READ, sender)
    began = time.perf_counter()
    free, number, open_requests = list(clients), 0, 0
    while open_requests or time.perf_counter() < began + SECONDS:
        now = time.perf_counter()
        due = began + number / hz if hz else now
        if free and due <= now < began + SECONDS:
            free.pop().send(due)
            number += 1
            open_requests += 1
            continue
        for key, _ in waiting.select(max(0.0, due - now) if free and hz else 0.5):
            if key.data.receive():
                free.append(key.data)
                open_requests -= 1
    whole = time.perf_counter() - began
    latencies_ms = [second * 1e3 for sender in clients for second in sender.latencies_s]
    return Load(FRAMES[kind] * len(latencies_ms) / whole, *percentiles(latencies_ms))


def load(server: Server, kind: str, hz: float = 0.0) -> Load:
    """Run `send_all` in a process of its own."""
    command = [sys.executable, "-m", "bench.ingest", str(server.port), kind, str(hz)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return Load(*json.loads(done.stdout))


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
        bare = load(server, "frame").per_s
    for name, backend in BACKENDS.items():
        with bridge(backend) as server:
            single = load(server, "frame")
            what = f"{name}: single, {CLIENTS} clients"
            yield Figure(what, "frames/s", single.per_s, "bare aiohttp, nothing stored", bare)
            yield Figure(f"{what}, p99", "ms", single.p99_ms)
            yield Figure(f"{name}: NDJSON", "frames/s", load(server, "stream").per_s)
        with bridge(backend) as server, keep_busy(server):
            car = load(server, "frame", LIVE_HZ)
        what = f"{name}: {LIVE_HZ:.0f} Hz, {LISTENERS} listeners, analytics"
        yield Figure(f"{what}, p50", "ms", car.p50_ms)
        yield Figure(f"{what}, p99", "ms", car.p99_ms)


def main(port: str = "", kind: str = "", hz: str = "") -> None:
    """Run the clients when arguments are given, otherwise the bare server."""
    if port:
        print(json.dumps(send_all(int(port), kind, float(hz))))
    else:
        asyncio.run(serve_bare())


if __name__ == "__main__":
    main(*sys.argv[1:])
