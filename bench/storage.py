"""A stored hour of 25 channels at 100 Hz: read as arrays, and exported as parquet.

The peer reads the same numbers as plain rows of a SQLite table into an array.
"""

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from bench.analytics import FRAMES, drive
from bench.common import BACKENDS, Figure, fastest, make_folder
from runtime.bridge.session.recording import WIDE, Frames, Recording, Samples
from runtime.bridge.storage.records import Backend
from runtime.bridge.storage.store import Store

CHANNELS: Final = 25
SIGNALS: Final = CHANNELS - len(WIDE)
"""Those that are no columns of a frame."""
ROUNDS: Final = 3


def make_recording() -> Recording:
    """The drive with all columns of a frame, and further signals at the same times."""
    columns = drive(FRAMES)
    columns["distance_m"] = columns["timestamp"] * 38.0
    columns["combo_g"] = np.hypot(columns["g_lat"], columns["g_long"])
    t = columns["timestamp"]
    signals = {f"signal_{n}": Samples(t, np.sin(t / (n + 1))) for n in range(SIGNALS)}
    return Recording(Frames(columns), signals)


class Result(NamedTuple):
    """What a back-end took, and its parquet file."""

    read_ms: float
    export_ms: float
    parquet: bytes


async def read(store: Store) -> int:
    """Read all channels; return how many numbers there were."""
    frames = await store.read_frames("hour")
    signals = await store.read_signals("hour", [f"signal_{n}" for n in range(SIGNALS)])
    return len(frames) * len(WIDE) + sum(len(samples.t) for samples in signals.values())


async def export(store: Store) -> bytes:
    """Return the frames as a parquet file."""
    return b"".join([part async for part in (await store.export("hour", "telemetry")).batches])


def measure(backend: Backend, recording: Recording) -> Result:
    """Store the recording, then read and export it."""
    with make_folder() as folder, asyncio.Runner() as runner:
        store = runner.run(Store.open(Path(folder) / "db", backend))
        runner.run(store.import_recording("hour", recording))
        if runner.run(read(store)) != FRAMES * CHANNELS:
            raise RuntimeError(f"{backend}: the hour was not read whole")
        read_s = fastest(lambda: runner.run(read(store)), ROUNDS, time.perf_counter)
        export_s = fastest(lambda: runner.run(export(store)), ROUNDS, time.perf_counter)
        parquet = runner.run(export(store))
        runner.run(store.close())
    return Result(1e3 * read_s, 1e3 * export_s, parquet)


def read_rows_ms(recording: Recording) -> float:
    """Milliseconds to read the same numbers with the standard library's sqlite3."""
    columns = [*recording.frames.columns.values(), *(s.value for s in recording.signals.values())]
    with make_folder() as folder:
        connection = sqlite3.connect(Path(folder) / "rows.db")
        names = ", ".join(f"c{n} REAL" for n in range(CHANNELS))
        connection.execute(f"CREATE TABLE frame ({names})")
        rows = zip(*(values.tolist() for values in columns), strict=True)
        marks = ",".join("?" * CHANNELS)
        connection.executemany(f"INSERT INTO frame VALUES ({marks})", rows)  # noqa: S608
        connection.commit()
        query = partial(connection.execute, "SELECT * FROM frame")
        seconds = fastest(lambda: np.array(query().fetchall()), ROUNDS, time.perf_counter)
        connection.close()
    return seconds * 1e3


def figures() -> Iterator[Figure]:
    """The rows of both back-ends; their parquet files must be equal."""
    recording = make_recording()
    rows_ms = read_rows_ms(recording)
    files = set()
    for name, backend in BACKENDS.items():
        result = measure(backend, recording)
        files.add(result.parquet)
        what = f"{name}: session of {FRAMES:,} frames, {CHANNELS} channels, read"
        yield Figure(what, "ms", result.read_ms, "rows of sqlite3", rows_ms)
        yield Figure(f"{name}: its frames as parquet", "ms", result.export_ms)
    if len(files) > 1:
        raise RuntimeError("the parquet files of the two stores differ")
