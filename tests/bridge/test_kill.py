"""A bridge that is killed while eight clients send frames has every frame that it acknowledged."""

import asyncio
import json
import random
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final

import aiohttp
import duckdb
import numpy as np
import pytest

ROOT: Final = Path(__file__).resolve().parents[2]
KILLS: Final = 4
CLIENTS: Final = 8

Acknowledged = dict[str, dict[int, float]]
"""By session: the mark that each acknowledged frame carries, by its index."""


def launch(folder: Path, backend: str) -> tuple[subprocess.Popen[bytes], str]:
    """A bridge in a process of its own, and its address."""
    flags = ["--port", "0", "--db", str(folder / "db"), "--db-backend", backend]
    process = subprocess.Popen(
        [sys.executable, "-m", "runtime.bridge", *flags],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    ready = json.loads(process.stdout.readline())
    return process, f"http://127.0.0.1:{ready['port']}"


async def send(http: aiohttp.ClientSession, number: int, seed: int, known: Acknowledged) -> None:
    """Send batches until the bridge is gone, each frame with a mark of its own."""
    sid = f"s{number % 3}"
    chance = random.Random(seed * 10 + number)
    with_mark = seed * 1e8 + number * 1e6
    while True:
        count = chance.randint(1, 50)
        marks = [with_mark + at for at in range(count)]
        with_mark += count
        frames = [{"timestamp": mark, "rpm": mark} for mark in marks]
        try:
            async with http.post(f"/session/{sid}/frames", json={"frames": frames}) as response:
                answer = await response.json()
        except (aiohttp.ClientError, ConnectionError, json.JSONDecodeError):
            return
        first = answer["first_frame_idx"]
        known[sid].update(zip(range(first, first + count), marks, strict=True))


async def flood(url: str, process: subprocess.Popen[bytes], seed: int, known: Acknowledged) -> None:
    chance = random.Random(seed)
    async with aiohttp.ClientSession(url) as http:
        clients = [
            asyncio.create_task(send(http, number, seed, known)) for number in range(CLIENTS)
        ]
        await asyncio.sleep(chance.uniform(0.05, 0.6))
        process.kill()
        await asyncio.gather(*clients)


async def check(url: str, known: Acknowledged, folder: Path) -> None:
    async with aiohttp.ClientSession(url) as http:
        for sid, marks in known.items():
            async with http.get(f"/session/{sid}/export.parquet") as response:
                assert response.status == 200
                (folder / "read.parquet").write_bytes(await response.read())
            path = folder / "read.parquet"
            found = duckdb.sql(f"SELECT frame_idx, rpm FROM '{path}'")
            assert found is not None
            read = found.fetchnumpy()
            assert read["frame_idx"].tolist() == list(range(len(read["rpm"])))
            assert len(np.unique(read["rpm"])) == len(read["rpm"]), "a frame is there twice"
            assert {at: read["rpm"][at] for at in marks} == marks


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("backend", ["analytical", "lightweight"])
def test_no_acknowledged_frame_is_lost_or_doubled(tmp_path: Path, backend: str) -> None:
    known: Acknowledged = defaultdict(dict)
    for seed in range(KILLS):
        process, url = launch(tmp_path, backend)
        with process:
            try:
                if known:
                    asyncio.run(check(url, known, tmp_path))
                asyncio.run(flood(url, process, seed, known))
            finally:
                process.kill()
    process, url = launch(tmp_path, backend)
    with process:
        asyncio.run(check(url, known, tmp_path))
        process.terminate()
        assert process.wait(15) == 0
    assert sum(map(len, known.values())) > 100
