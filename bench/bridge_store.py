"""Measures the bridge's storage, alone and over HTTP: `python -m bench.bridge_store --quick`."""

import argparse
import asyncio
import gc
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from bench import bridge_store_http
from runtime.bridge.session.recording import WIDE, Frames, Recording, Samples
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import Backend

KINDS: Final[tuple[Backend, ...]] = ("lightweight", "analytical")
SLEEPS_MS: Final = (0.0, 5.0, 25.0)
"""Added to each commit: a disk as it is, an SSD without a cache, a memory card."""
CALLERS: Final = 32
BATCH: Final = 50
TALL: Final = 5_000
FIVE: Final = ("timestamp", "speed_ms", "g_lat", "g_long", "brake_bar")


class Load(NamedTuple):
    """How much is measured."""

    seconds: float
    """Of each kind of write."""
    frames: int
    """Of the session that is read."""
    rounds: int
    """Of each read; the best one counts."""


class Ingest(NamedTuple):
    """What a kind of write reached."""

    per_s: float
    p50_ms: float
    p99_ms: float


def frames(n: int, t0: float = 0.0) -> Frames:
    """A drive at 100 Hz."""
    t = t0 + np.arange(n) / 100.0
    columns = {name: np.sin(t * (1.0 + row)) for row, name in enumerate(WIDE)}
    return Frames({**columns, "timestamp": t, "distance_m": t * 30.0})


def slowed(store: Store, sleep_ms: float) -> None:
    """Have each commit take that much longer, as on a slower disk."""
    connection = store._opened.engine.writer  # noqa: SLF001 - the bench stands in for a disk
    commit = connection.commit

    def slow() -> None:
        commit()
        time.sleep(sleep_ms / 1000.0)

    connection.commit = slow  # type: ignore[method-assign]


async def ingest(
    write: Callable[[int, int], Awaitable[object]], rows: int, seconds: float
) -> Ingest:
    """*write* by `CALLERS` callers at once, each waiting for its answer; rows of one call."""
    taken: list[float] = []
    started = time.perf_counter()

    async def caller(number: int) -> None:
        call = 0
        while time.perf_counter() - started < seconds:
            before = time.perf_counter()
            await write(number, call)
            taken.append(time.perf_counter() - before)
            call += 1

    await asyncio.gather(*(caller(number) for number in range(CALLERS)))
    whole = time.perf_counter() - started
    p50, p99 = np.percentile(np.array(taken) * 1000.0, (50, 99))
    return Ingest(rows * len(taken) / whole, float(p50), float(p99))


async def writes(kind: Backend, folder: Path, sleep_ms: float, load: Load) -> list[str]:
    """Rows of the table of writes."""
    store = await Store.open(folder / f"{kind}-{sleep_ms}.db", kind)
    slowed(store, sleep_ms)
    one, fifty = frames(1), frames(BATCH)
    t = np.arange(TALL) / 100.0

    async def tall(number: int, call: int) -> None:
        samples = Samples(t + call * TALL / 100.0, t)
        await store.append_signals(f"tall{number}", {"oil_temp_c": samples})

    found = [
        (
            "1 frame",
            await ingest(lambda n, _: store.append_frames(f"s{n % 4}", one), 1, load.seconds),
        ),
        (
            f"{BATCH} frames",
            await ingest(lambda n, _: store.append_frames(f"b{n % 4}", fifty), BATCH, load.seconds),
        ),
        (f"{TALL} samples", await ingest(tall, TALL, load.seconds)),
    ]
    await store.close()
    return [
        f"{kind:12} +{sleep_ms:>4.0f} ms  {name:>13}  {got.per_s:>11,.0f} rows/s"
        f"  {got.p50_ms:>7.2f} / {got.p99_ms:>8.2f} ms"
        for name, got in found
    ]


async def best(rounds: int, work: Callable[[], Awaitable[object]]) -> float:
    """Milliseconds of the best round."""
    times = []
    for _ in range(rounds):
        gc.collect()
        started = time.perf_counter()
        await work()
        times.append(time.perf_counter() - started)
    return min(times) * 1000.0


async def reads(kind: Backend, folder: Path, load: Load) -> list[str]:
    """Rows of the table of imports, reads and exports, live frames beside the import included."""
    path = folder / f"{kind}-read.db"
    store = await Store.open(path, kind)
    t = np.arange(load.frames) / 100.0
    signals = {f"signal_{n}": Samples(t, np.cos(t * n)) for n in range(13)}
    waited: list[float] = []
    started = time.perf_counter()
    importing = asyncio.create_task(
        store.import_recording("s", Recording(frames(load.frames), signals))
    )
    while not importing.done():
        before = time.perf_counter()
        await store.append_frames("live", frames(1, before))
        waited.append(time.perf_counter() - before)
        await asyncio.sleep(0.01)
    import_ms = (time.perf_counter() - started) * 1000.0
    await importing

    async def parquet(table: str) -> None:
        export = await store.export("s", table)
        async for _ in export.batches:
            pass

    await parquet("signal_registry")  # loads pyarrow
    found = [
        ("import, 25 columns", import_ms),
        ("live frame beside it, median", float(np.median(waited)) * 1000.0),
        ("live frame beside it, longest", max(waited) * 1000.0),
        ("read 12 columns", await best(load.rounds, lambda: store.read_frames("s"))),
        ("read 5 columns", await best(load.rounds, lambda: store.read_frames("s", FIVE))),
        (
            "read 1 signal of 13",
            await best(load.rounds, lambda: store.read_signals("s", ["signal_3"])),
        ),
        ("parquet, telemetry", await best(load.rounds, lambda: parquet("telemetry"))),
        ("parquet, signals", await best(1, lambda: parquet("telemetry_signals"))),
    ]
    await store.close()
    size = _nbytes(path)
    lines = [f"{kind:12} {load.frames:,} frames: {name:<30} {ms:>9,.1f} ms" for name, ms in found]
    return [*lines, f"{kind:12} {load.frames:,} frames: {'file':<30} {size / 1e6:>9,.1f} MB"]


def _nbytes(path: Path) -> int:
    """Of a database and its log."""
    files = path.parent.glob(f"{path.name}*")
    return sum(file.stat().st_size for file in files if file.is_file())


def table(load: Load, sleeps_ms: tuple[float, ...]) -> Iterator[str]:
    """All lines, each as soon as it is measured."""
    yield f"{os.cpu_count()} cores; acknowledged means on disk; p50 / p99 of {CALLERS} callers"
    with tempfile.TemporaryDirectory() as name:
        for sleep_ms in sleeps_ms:
            for kind in KINDS:
                yield from asyncio.run(writes(kind, Path(name), sleep_ms, load))
        for kind in KINDS:
            yield from asyncio.run(reads(kind, Path(name), load))
    for sleep_ms in sleeps_ms:
        for kind in KINDS:
            yield from bridge_store_http.writes(kind, sleep_ms, load.seconds)
    for kind in KINDS:
        yield from bridge_store_http.reads(kind, load.frames)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a minute instead of some")
    quick = parser.parse_args().quick
    load = Load(1.5, 360_000, 2) if quick else Load(5.0, 360_000, 5)
    for line in table(load, SLEEPS_MS):
        print(line, flush=True)


if __name__ == "__main__":
    main()
