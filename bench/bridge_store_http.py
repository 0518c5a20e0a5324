"""The bridge as its clients see it, each back-end in a process of its own, over HTTP."""

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from bench.bridge_store_client import Figures
from runtime.bridge.storage.values import Backend

ROOT: Final = Path(__file__).resolve().parent.parent
CLIENTS: Final = 32
BATCH: Final = 50
LIVE_HZ: Final = 100
PIECE: Final = 20_000
"""Frames of one request that fills the session to read."""


class Bridge(NamedTuple):
    """A bridge that runs."""

    process: "subprocess.Popen[str]"
    port: int

    def cpu_s(self) -> float:
        """Seconds of processor that it has used."""
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system

    def get(self, path: str) -> bytes:
        """The body of an answer."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as answer:
            body: bytes = answer.read()
        return body

    def post(self, path: str, body: object) -> bytes:
        """The body of an answer."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            json.dumps(body).encode(),
            {"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            found: bytes = answer.read()
        return found


@contextmanager
def started(module: str, *flags: str) -> Iterator[Bridge]:
    """A server that tells its port on its first line."""
    words = [sys.executable, "-m", module, *flags]
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield Bridge(process, json.loads(process.stdout.readline())["port"])
        finally:
            process.terminate()


@contextmanager
def running(kind: Backend, sleep_ms: float) -> Iterator[Bridge]:
    """A bridge whose commits take *sleep_ms* longer."""
    with tempfile.TemporaryDirectory() as folder:
        flags = [str(sleep_ms), "--port", "0", "--db", f"{folder}/db", "--db-backend", kind]
        with started("bench.bridge_store_server", *flags) as bridge:
            yield bridge


def load(
    bridge: Bridge, seconds: float, clients: int, frames: int, hz: float = 0.0
) -> tuple[Figures, float]:
    """What a client program of its own reached, and processor time of the bridge a request, us."""
    words = [sys.executable, "-m", "bench.bridge_store_client", str(bridge.port), str(seconds)]
    words += [str(clients), str(frames), *([str(hz)] if hz else [])]
    before = bridge.cpu_s()
    done = subprocess.run(words, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    found = Figures(**json.loads(done.stdout))
    requests = max(1.0, found.per_s * seconds / frames)
    return found, (bridge.cpu_s() - before) / requests * 1e6


def writes(kind: Backend, sleep_ms: float, seconds: float) -> Iterator[str]:
    """Lines of the table of writes, beside a bare handler of the same moment."""
    with started("bench.bridge_store_bare") as server:
        bare, cpu_us = load(server, seconds, CLIENTS, 1)
    yield _line("bare aiohttp, nothing stored", "1 frame", bare, cpu_us)
    with running(kind, sleep_ms) as bridge:
        for name, clients, frames, hz in (
            ("1 frame", CLIENTS, 1, 0),
            (f"{BATCH} frames", CLIENTS, BATCH, 0),
            (f"1 frame, {LIVE_HZ} Hz", CLIENTS, 1, LIVE_HZ),
        ):
            got, cpu_us = load(bridge, seconds, clients, frames, hz)
            line = _line(f"{kind:12} +{sleep_ms:>4.0f} ms  HTTP", name, got, cpu_us)
            flooded = frames == 1 and not hz
            yield line + (f"  {got.per_s / bare.per_s:.2f} of bare aiohttp" if flooded else "")


def _line(who: str, name: str, got: Figures, cpu_us: float) -> str:
    return (
        f"{who:<28}{name:>17}  {got.per_s:>9,.0f} rows/s"
        f"  {got.p50_ms:>7.2f} / {got.p99_ms:>7.2f} ms  {cpu_us:>6,.0f} us a request"
        f"  client {got.client_cpu:.0%} of a core"
        + (f"  {got.refused} refused" if got.refused else "")
    )


def reads(kind: Backend, frames: int) -> Iterator[str]:
    """Lines of the table of reads, of one session of *frames* frames."""
    with running(kind, 0.0) as bridge:
        names = ("speed_ms", "g_lat", "g_long", "brake_bar", "throttle_pct", "rpm")
        for first in range(0, frames, PIECE):
            t = [at / 100.0 for at in range(first, min(first + PIECE, frames))]
            columns = {"timestamp": t, **{name: [x % 50.0 for x in t] for name in names}}
            bridge.post("/session/long/frames", {"columns": columns})
        for path in (
            "/session/long",
            "/session/long/capabilities",
            "/session/long/signals?names=speed_ms,rpm&rate_hz=10",
            "/session/long/signals?names=speed_ms,rpm&t_from=100&t_to=190",
            "/session/long/export.parquet",
        ):
            taken = []
            body = b""
            for _ in range(3):
                started = time.perf_counter()
                body = bridge.get(path)
                taken.append((time.perf_counter() - started) * 1000.0)
            shown = path.removeprefix("/session/long") or "the session"
            yield (
                f"{kind:12} {frames:,} frames, HTTP: {shown:<45} {min(taken):>9,.1f} ms"
                f"  {len(body) / 1e6:>7.2f} MB"
            )
