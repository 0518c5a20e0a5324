"""Durable frames over HTTP: single ones beside a handler that stores nothing, batches and streams.

Clients send their next request when the answer to the last one is there; an answered frame is on
disk. The last row is a car: one frame every 10 ms, 20 live listeners, analytics asked all the time.
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
    answer_with,
    arguments,
    bridge,
    percentiles,
    serving,
    show,
)

CLIENTS: Final = 32
BATCH: Final = 50
STREAM: Final = 20_000
"""Frames of one NDJSON request."""
FRAMES: Final = {"frame": 1, "batch": BATCH, "stream": STREAM}
LISTENERS: Final = 20
LIVE_HZ: Final = 100.0


class Load(NamedTuple):
    """What a client program reached."""

    per_s: float
    """Frames that were acknowledged."""
    p50_ms: float
    p99_ms: float


def frame(at: float) -> dict[str, float]:
    """A frame of a drive."""
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
    """One request: a single frame, a batch or a stream of lines."""
    path, content = "frames", "application/json"
    if kind == "frame":
        path, body = "frame", orjson.dumps(frame(at))
    elif kind == "batch":
        body = orjson.dumps({"frames": [frame(at + n / 100) for n in range(BATCH)]})
    else:
        content = "application/x-ndjson"
        body = b"".join(orjson.dumps(frame(at + n / 100)) + b"\n" for n in range(STREAM))
    return (
        f"POST /session/{session}/{path} HTTP/1.1\r\nHost: localhost\r\n"
        f"Content-Type: {content}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body


class Client:
    """One connection that is kept."""

    def __init__(self, port: int, session: str, kind: str) -> None:
        self.wire = socket.create_connection(("127.0.0.1", port))
        self.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.session, self.kind = session, kind
        self.at = 0.0  # of the next frame: those of a session follow each other, as a car's do
        self.sent = 0.0
        self.answer = b""
        self.taken: list[float] = []

    def send(self, now: float) -> None:
        """Send the request; *now* is when it was due."""
        request = message(self.session, self.kind, self.at)
        self.at += FRAMES[self.kind] / 100
        self.sent = now
        self.wire.sendall(request)

    def receive(self) -> bool:
        """Read; tell whether the answer is complete."""
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
        self.taken.append(time.perf_counter() - self.sent)
        return True


def client(port: int, kind: str, seconds: float, hz: float) -> Load:
    """Load a server: as fast as it answers, or with *hz* requests a second."""
    count = {"frame": CLIENTS, "batch": CLIENTS, "stream": 2}[kind]
    clients = [Client(port, f"load{number}", kind) for number in range(count)]
    waiting = selectors.DefaultSelector()
    for sender in clients:
        waiting.register(sender.wire, selectors.EVENT_READ, sender)
    began = time.perf_counter()
    free, number, open_requests = list(clients), 0, 0
    while open_requests or time.perf_counter() < began + seconds:
        now = time.perf_counter()
        due = began + number / hz if hz else now
        if free and due <= now < began + seconds:
            free.pop().send(due)
            number += 1
            open_requests += 1
            continue
        for key, _ in waiting.select(max(0.0, due - now) if free and hz else 0.5):
            if key.data.receive():
                free.append(key.data)
                open_requests -= 1
    whole = time.perf_counter() - began
    taken = [second * 1e3 for sender in clients for second in sender.taken]
    return Load(FRAMES[kind] * len(taken) / whole, *percentiles(taken))


def load(server: Server, kind: str, seconds: float, hz: float = 0.0) -> Load:
    """The same in a process of its own."""
    words = [str(server.port), kind, str(seconds), str(hz)]
    command = [sys.executable, "-m", "bench.ingest", "--client", *words]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    return Load(*json.loads(done.stdout))


async def serve_bare() -> None:
    """Answer as long a JSON as the bridge does, and store nothing."""

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        body = b'{"saved":true,"session_id":"load0","frame_idx":123456}'
        return web.Response(body=body, content_type="application/json")

    app = web.Application()
    app.router.add_post("/session/{sid}/frame", answer)
    await answer_with(app)


@contextmanager
def busy(server: Server) -> Iterator[None]:
    """Live listeners and a reader of analytics while the block runs."""
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


def measure(name: str, seconds: float) -> Iterator[Figure]:
    """The rows of one back-end."""
    with serving("bench.ingest", "--bare") as server:
        bare = load(server, "frame", seconds)
    with bridge(BACKENDS[name]) as server:
        single = load(server, "frame", seconds)
        yield Figure(
            f"{name}: single frames a second, {CLIENTS} clients",
            f"{single.per_s:,.0f}",
            f"bare aiohttp, nothing stored: {bare.per_s:,.0f} ({single.per_s / bare.per_s:.2f})",
        )
        wait = f"{single.p50_ms:.1f} / {single.p99_ms:.1f}"
        yield Figure(f"{name}: the same, p50 / p99 ms", wait)
        for kind, what in (("batch", f"batches of {BATCH}"), ("stream", "NDJSON")):
            per_s = load(server, kind, seconds).per_s
            yield Figure(f"{name}: frames a second, {what}", f"{per_s:,.0f}")
    with bridge(BACKENDS[name]) as server:
        load(server, "frame", 0.5)
        with busy(server):
            car = load(server, "frame", seconds, LIVE_HZ)
        yield Figure(
            f"{name}: {LIVE_HZ:.0f} Hz, {LISTENERS} listeners, analytics, p50 / p99 ms",
            f"{car.p50_ms:.1f} / {car.p99_ms:.1f}",
        )


def main() -> int:
    """Print the table; the two hidden options are the processes that it starts."""
    parser = arguments("ingest", __doc__)
    parser.add_argument("--bare", action="store_true", help="only the server beside it")
    parser.add_argument("--client", nargs=4, metavar=("PORT", "KIND", "SECONDS", "HZ"))
    options = parser.parse_args()
    if options.bare:
        asyncio.run(serve_bare())
    elif options.client:
        port, kind, seconds, hz = options.client
        print(json.dumps(client(int(port), kind, float(seconds), float(hz))))
    else:
        seconds = 2.0 if options.quick else 8.0
        rows = [row for name in BACKENDS for row in measure(name, seconds)]
        show("durable frames over HTTP", rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
