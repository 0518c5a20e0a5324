"""Shared by the benchmarks: figures and their table, timing, and starting servers."""

import asyncio
import json
import math
import os
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import psutil
from aiohttp import web

from runtime.bridge.storage.records import Backend

ROOT: Final = Path(__file__).resolve().parents[1]
BACKENDS: Final[dict[str, Backend]] = {"SQLite": "lightweight", "DuckDB": "analytical"}
TOOLS: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paddock-bench"
"""The programs to compare with are installed here."""
COSTS: Final = frozenset({"s", "ms", "cores", "%"})
"""Units in which less is better."""


class Figure(NamedTuple):
    """One row of the table: our figure, and that of a peer in the same run if there is one."""

    what: str
    unit: str
    ours: float
    peer: str = ""
    theirs: float = math.nan

    @property
    def ratio(self) -> float:
        """How many times better ours is; NaN without a peer."""
        better, worse = self.ours, self.theirs
        if self.unit in COSTS:
            better, worse = worse, better
        return better / worse if worse else math.nan


def show(area: str, figures: Iterator[Figure]) -> None:
    """Print the rows of a Markdown table, each as soon as it is measured."""
    for figure in figures:
        peer = f"{figure.peer}: {_format(figure.theirs)}" if figure.peer else ""
        ratio = "" if math.isnan(figure.ratio) else f"{figure.ratio:.2f}"
        what = f"{area}: {figure.what}, {figure.unit}"
        print(f"| {what} | {_format(figure.ours)} | {peer} | {ratio} |", flush=True)


def show_head() -> None:
    """Print the head of the table."""
    print("| | Paddock | compared with | ratio |\n| --- | ---: | --- | ---: |", flush=True)


def _format(value: float) -> str:
    """Format with three significant digits."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def fastest(
    work: Callable[[], object], rounds: int, clock: Callable[[], float] = time.process_time
) -> float:
    """Seconds of the best round; processor time by default."""
    times = []
    for _ in range(rounds):
        began = clock()
        work()
        times.append(clock() - began)
    return min(times)


def percentiles(values: Sequence[float]) -> tuple[float, float]:
    """The median and the 99th percentile."""
    ordered = sorted(values)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, len(ordered) * 99 // 100)]


class Cost(NamedTuple):
    """What a run of a program took; processor time includes its children."""

    wall_s: float
    cpu_s: float


def run(command: Sequence[str], folder: Path) -> Cost:
    """Run a program to its end; raise RuntimeError with its output when it fails."""
    # Without this variable Python keeps its compiled modules between runs, as it does for users.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    wall_s, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        text = (done.stdout + done.stderr)[-2000:]
        raise RuntimeError(f"{command[0]} ended with {done.returncode}:\n{text}")
    return Cost(wall_s, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


class Server:
    """A server in a process of its own."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.pid = process.pid
        self._process = psutil.Process(process.pid)

    def cpu_s(self) -> float:
        """Processor time used so far, with its children, in seconds."""
        tree = [self._process, *self._process.children(recursive=True)]
        return sum(sum(process.cpu_times()[:2]) for process in tree)

    def get(self, path: str) -> bytes:
        """The body of the response."""
        return self._answer(urllib.request.Request(self.url + path))

    def post(self, path: str, body: object) -> bytes:
        """The body of the response to a JSON request."""
        headers = {"Content-Type": "application/json"}
        data = json.dumps(body).encode()
        return self._answer(urllib.request.Request(self.url + path, data, headers))

    @staticmethod
    def _answer(request: urllib.request.Request) -> bytes:
        with urllib.request.urlopen(request, timeout=600) as answer:
            body: bytes = answer.read()
        return body


def start_server(module: str, *flags: str) -> AbstractContextManager[Server]:
    """Run one of our servers for the duration of the block."""
    return start_program([sys.executable, "-m", module, *flags])


@contextmanager
def start_program(command: Sequence[str]) -> Iterator[Server]:
    """Run a program that prints its port in its first line; stop it at the end."""
    with subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            assert process.stdout is not None
            yield Server(process, json.loads(process.stdout.readline())["port"])
        finally:
            process.terminate()


async def serve_app(app: web.Application) -> None:
    """Serve *app* until killed; print its port as our servers do."""
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(json.dumps({"port": runner.addresses[0][1]}), flush=True)
    await asyncio.Event().wait()


def request(path: str, body: bytes, content: str = "application/json") -> bytes:
    """A POST request as bytes."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nX-Client-Id: bench\r\n"
    head += f"Content-Type: {content}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Client:
    """A client with one persistent connection, and the requests that it sends."""

    def __init__(self, port: int, source: Iterator[bytes]) -> None:
        self.source = source
        self.wire = socket.create_connection(("127.0.0.1", port))
        self.wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.due = 0.0
        self._answer = b""

    def receive(self) -> bool:
        """Read what has arrived; return whether the answer is complete."""
        self._answer += self.wire.recv(65536)
        head, end, body = self._answer.partition(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        if not end or len(body) < int(length):
            return False
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(self._answer.decode(errors="replace"))
        self._answer = b""
        return True


def send_all(port: int, sources: Sequence[Iterator[bytes]], hz: float = 0.0) -> list[float]:
    """Milliseconds until each answer to the requests of *sources*, one for each client.

    A client waits for an answer before it sends its next request. With *hz* all clients together
    send that many requests a second, and the time counts from when a request was due.
    """
    waiting, latencies_ms = selectors.DefaultSelector(), list[float]()
    free = [Client(port, source) for source in sources]
    for client in free:
        waiting.register(client.wire, selectors.EVENT_READ, client)
    began, number = time.perf_counter(), 0
    while free or number > len(latencies_ms):
        now = time.perf_counter()
        due = began + number / hz if hz else now
        if free and due <= now:
            client = free.pop()
            client.due = due
            if (data := next(client.source, None)) is not None:
                client.wire.sendall(data)
                number += 1
            continue
        for key, _ in waiting.select(due - now if free else None):
            if key.data.receive():
                latencies_ms.append((time.perf_counter() - key.data.due) * 1e3)
                free.append(key.data)
    return latencies_ms


@contextmanager
def bridge(backend: str, *flags: str) -> Iterator[Server]:
    """Run a bridge on a database of its own."""
    with make_folder() as folder:
        where = ("--port", "0", "--db", f"{folder}/db", "--db-backend", backend)
        with start_server("runtime.bridge", *where, *flags) as server:
            yield server


def make_folder() -> "tempfile.TemporaryDirectory[str]":
    """A temporary folder on a disk: the usual place may be memory, where nothing is durable."""
    TOOLS.mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(dir=TOOLS)
