"""Measures /analyze beside frames, on both databases: `python -m bench.bridge_analyze --quick`."""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import aiohttp
import numpy as np

from runtime.bridge.cues.engine import CueEngine
from runtime.bridge.session.recording import TIMESTAMP, WIDE, LiveFrame
from runtime.bridge.track.library import read_track
from tools.drive import USUAL, drive

ROOT: Final = Path(__file__).resolve().parent.parent
TRACK: Final = ROOT / "data" / "tracks" / "larkfell.json"
KINDS: Final = ("lightweight", "analytical")
CLIENTS: Final = 8
PER_SECOND: Final = 350
BATCHES: Final = 10
"""Requests a second that bring the frames."""


class Row(NamedTuple):
    """What one run reached."""

    what: str
    per_s: float
    p50_ms: float
    p99_ms: float
    worst_ms: float

    def __str__(self) -> str:
        times = f"{self.p50_ms:>7.2f} {self.p99_ms:>8.2f} {self.worst_ms:>8.2f} ms"
        return f"{self.what:36} {self.per_s:>8,.0f}/s  {times}"


def frames() -> list[dict[str, float]]:
    """Some laps of Larkfell at 100 Hz, as a client sends them."""
    driven = drive(read_track(TRACK)[0], 3, hz=100.0, seed=1, noise=USUAL)
    columns = {name: driven.frames.columns[name].tolist() for name in WIDE}
    count = len(columns[TIMESTAMP])
    return [{name: values[at] for name, values in columns.items()} for at in range(count)]


@contextmanager
def bridge(kind: str, folder: Path) -> Iterator[str]:
    """A bridge in a process of its own; its address."""
    command = [
        *(sys.executable, "-m", "runtime.bridge", "--port", "0", "--db-backend", kind),
        *("--db", str(folder / kind), "--log-level", "error"),
    ]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        ready = json.loads(process.stdout.readline())
        yield f"http://127.0.0.1:{ready['port']}"
    finally:
        process.terminate()
        process.wait(30)


async def ingest(http: aiohttp.ClientSession, sent: list[dict[str, float]], until: float) -> int:
    """Send frames at their pace; how many."""
    begin, done = time.perf_counter(), 0
    size = PER_SECOND // BATCHES
    while time.perf_counter() < until:
        batch = [sent[(done + i) % len(sent)] for i in range(size)]
        async with http.post("/session/drive/frames", json={"frames": batch}) as answer:
            answer.raise_for_status()
            await answer.read()
        done += size
        await asyncio.sleep(max(0.0, begin + done / PER_SECOND - time.perf_counter()))
    return done


async def ask(
    http: aiohttp.ClientSession, number: int, until: float, pace_s: float, taken: list[float]
) -> None:
    """One client's bursts, one after another, *pace_s* apart."""
    burst = 0
    while time.perf_counter() < until:
        body = {
            "session_id": f"car{number}",
            "burst_id": burst,
            "avg_speed_kmh": 120.0,
            "max_combo_g": 1.1,
            "max_brake_bar": 0.0,
            "avg_throttle_pct": 90.0,
            "frame_count": 10,
            "distance_m": burst * 33.0,
        }
        before = time.perf_counter()
        async with http.post("/analyze", json=body) as answer:
            answer.raise_for_status()
            await answer.read()
        taken.append(time.perf_counter() - before)
        burst += 1
        if pace_s:
            await asyncio.sleep(pace_s)


async def measure(
    url: str, what: str, sent: list[dict[str, float]], seconds: float, pace_s: float
) -> Row:
    """All clients at once, with frames beside them where there are any."""
    taken: list[float] = []
    async with aiohttp.ClientSession(url) as http:
        await ask(http, 0, time.perf_counter() + 0.3, 0.0, [])
        begin = time.perf_counter()
        until = begin + seconds
        work = [ask(http, number, until, pace_s, taken) for number in range(CLIENTS)]
        beside = [ingest(http, sent, until)] if sent else []
        await asyncio.gather(*work, *beside)
    whole = time.perf_counter() - begin
    p50, p99, worst = np.percentile(np.array(taken) * 1000.0, (50, 99, 100))
    return Row(what, len(taken) / whole, float(p50), float(p99), float(worst))


def engine_us(sent: list[dict[str, float]], rounds: int) -> float:
    """Microseconds of processor time that the engine needs for a frame; the best round."""
    track = read_track(TRACK)[0]
    live = [LiveFrame("drive", "can", one) for one in sent[:5000]]
    best = float("inf")
    for _ in range(rounds):
        engine = CueEngine(lambda _: track)
        begin = time.process_time()
        for one in live:
            engine.feed(one, one.t)
        best = min(best, time.process_time() - begin)
    return best / len(live) * 1e6


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="seconds instead of a minute")
    quick = parser.parse_args().quick
    seconds = 3.0 if quick else 15.0
    sent = frames()
    print(f"{os.cpu_count()} cores, {CLIENTS} clients, {PER_SECOND} frames/s beside them")
    print(f"engine: {engine_us(sent, 3 if quick else 10):.1f} us a frame")
    print(f"{'':36} {'':>10}  {'p50':>7} {'p99':>8} {'worst':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            with bridge(kind, Path(folder)) as url:
                for what, beside, pace in (
                    ("alone, flat out", [], 0.0),
                    ("with frames, 10 bursts/s each", sent, 0.1),
                    ("with frames, flat out", sent, 0.0),
                ):
                    row = asyncio.run(measure(url, f"{kind}, {what}", beside, seconds, pace))
                    print(row, flush=True)


if __name__ == "__main__":
    main()
