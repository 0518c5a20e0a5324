"""A program that writes to a store and is cut off, over and over: ``crashkit.py KIND FOLDER N``.

Each trial is a process of its own, made by fork so that nothing has to be loaded anew. It opens the
database that the trial before left behind, checks every frame that was acknowledged then, and has
eight writers append frames until it is killed. Where `powerloss.c` is loaded into this program, the
power fails with each kill. The last line that is printed is the outcome.

A fourth argument, ``unsynced``, has SQLite answer before its files are on disk: what is promised
then survives a kill, and no power cut.
"""

import asyncio
import functools
import json
import os
import random
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import Frames
from runtime.bridge.storage import duck, sqlite
from runtime.bridge.storage.backend import Connection
from runtime.bridge.storage.records import Backend
from runtime.bridge.storage.store import Store
from tests.bridge.storage.storekit import KINDS, frames
from tests.effort import EFFORT
from tests.faults.powerloss import Disk

WRITERS: Final = 8
MOST_FRAMES: Final = 50
LONGEST_S: Final = 0.12
"""From the first acknowledgement to the kill."""
GOLDEN: Final = 0.618034
"""Multiples of it, modulo one, lie evenly between 0 and 1, however many are taken."""
EARLY: Final = 6
"""One of so many trials is killed at any moment of its start."""
ENOUGH_S: Final = 75.0 * EFFORT
"""No further trial begins after this long, on a machine that is busy with other things."""
FEWEST: Final = 10
"""Trials that are made however long they take."""
LOADED: Final = duck.Duck.kind
"""DuckDB is loaded once, before the forks."""
REPORT: Final = 256
"""Bytes of what a trial found when it began."""
ACK: Final = 24
"""Bytes of one acknowledgement: session, first frame, number of frames."""

POWER_FAILS: Final = "LD_PRELOAD" in os.environ

Acknowledged = dict[str, list[tuple[int, int]]]


def stamped(session: int, first: int, count: int) -> Frames:
    """Frames that say in their numbers which they are."""
    return frames(count, t0=first / 100, rpm=float(session), distance_m=1.0)


async def check(store: Store, acknowledged: Acknowledged) -> dict[str, int]:
    """How many acknowledged frames are missing, doubled or wrong, and how many numbers are."""
    found = {"lost": 0, "wrong": 0, "gaps": 0}
    for session, runs in acknowledged.items():
        row = store.session(session)
        read = await store.read_frames(session) if row else None
        count = len(read) if read else 0
        index = await store.read(functools.partial(_indexes, store, session))
        found["gaps"] += int(index.tolist() != list(range(count)))
        found["gaps"] += int(row is None or row.n_frames != count)
        acked = np.zeros(max([count, *(first + n for first, n in runs)]), bool)
        for first, n in runs:
            found["wrong"] += int(acked[first : first + n].any())  # given out twice
            acked[first : first + n] = True
        found["lost"] += int(acked[count:].sum())
        if read is not None:
            found["wrong"] += int((read.columns["rpm"] != float(session[1:])).sum())
    return found


async def ingest(store: Store, trial: int, acks: int, seed: int) -> None:
    """Append until the end; each acknowledged append goes into the pipe at once."""

    async def writer(number: int) -> None:
        chance = random.Random(seed * 100 + number)
        session = trial * 2 + number % 2
        while True:
            n = chance.randint(1, MOST_FRAMES)
            appended = await store.append_frames(f"s{session}", stamped(session, 0, n))
            place = (session, appended.first_idx, appended.last_idx - appended.first_idx + 1)
            os.write(acks, b"".join(number.to_bytes(8, "little") for number in place))

    await asyncio.gather(*(writer(number) for number in range(WRITERS)))


async def child(kind: Backend, path: Path, trial: int, acks: int, before: Acknowledged) -> None:
    """One trial. The first thing it sends is what the check found."""
    started = time.monotonic()
    store = await Store.open(path, kind)
    opened = time.monotonic() - started
    found = await check(store, before)
    found |= {"damaged": int(store.recovered_from is not None), "open_ms": int(opened * 1000)}
    os.write(acks, json.dumps(found).encode().ljust(REPORT))
    if trial >= 0:
        await ingest(store, trial, acks, trial)
    await store.close()


def trials(kind: Backend, folder: Path, count: int) -> dict[str, int]:
    """The sum of what *count* trials, and a last look, found."""
    chance = random.Random(kind)
    total = dict.fromkeys(("lost", "wrong", "gaps", "damaged", "open_ms", "acknowledged"), 0)
    total["trials"] = 0
    disk = Disk(folder)
    last: Acknowledged = {}
    everything: Acknowledged = {}
    started = time.monotonic()
    for trial in [*range(count), -1]:
        if trial > FEWEST and time.monotonic() - started > ENOUGH_S:
            continue
        if POWER_FAILS:
            disk.settle()
        receive, send = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(receive)
            try:
                before = everything if trial < 0 else last
                asyncio.run(child(kind, disk.files / "crash.db", trial, send, before))
            finally:
                os._exit(0)
        os.close(send)
        said = b""
        if trial % EARLY != 1:
            said = _exactly(receive, REPORT + ACK * (trial >= 0))
        if trial >= 0:
            time.sleep(LONGEST_S * (trial * GOLDEN % 1.0))
            os.kill(pid, signal.SIGKILL)
        while part := os.read(receive, 1 << 16):
            said += part
        os.waitpid(pid, 0)
        os.close(receive)
        if POWER_FAILS:
            disk.cut(chance)
        found = json.loads(said[:REPORT] or "{}")
        total["open_ms"] = max(total["open_ms"], found.pop("open_ms", 0))
        for name, number in found.items():
            total[name] += number
        last = _acknowledged(said[REPORT:])
        everything.update(last)
        total["trials"] += 1
    total["acknowledged"] = sum(n for runs in everything.values() for _, n in runs)
    return total


def _acknowledged(acks: bytes) -> Acknowledged:
    """By session, the frames of each acknowledgement."""
    found: Acknowledged = {}
    for start in range(0, len(acks) - ACK + 1, ACK):
        session, first, n = (
            int.from_bytes(acks[at : at + 8], "little") for at in range(start, start + ACK, 8)
        )
        found.setdefault(f"s{session}", []).append((first, n))
    return found


def _indexes(store: Store, session: str, reader: Connection) -> npt.NDArray[np.int64]:
    """The numbers of the frames as they are stored."""
    key = store._require(session).key if store.session(session) else -1
    found = [
        n for (n,) in reader.rows("SELECT frame_idx FROM telemetry WHERE session_key = ?", (key,))
    ]
    if store.backend == "lightweight":
        for first, n in reader.rows(
            "SELECT first_idx, n FROM telemetry_blocks WHERE session_key = ?", (key,)
        ):
            found += range(first, first + n)
    return np.sort(np.array(found, np.int64))


def _exactly(pipe: int, count: int) -> bytes:
    """That many bytes; nothing where the other side has gone before."""
    data = b""
    while len(data) < count:
        part = os.read(pipe, count - len(data))
        if not part:
            return b""
        data += part
    return data


def without_sync(prepared: Callable[[Path], sqlite3.Connection]) -> Callable[..., object]:
    """The same connection, which does not wait for the disk."""

    def prepare(path: Path) -> sqlite3.Connection:
        connection = prepared(path)
        connection.execute("PRAGMA synchronous = OFF")
        return connection

    return prepare


def main(name: str, folder: str, count: str, *options: str) -> None:
    """Print the outcome."""
    kind = next(kind for kind in KINDS if kind == name)
    if "unsynced" in options:
        setattr(sqlite, "_connect_writer", without_sync(sqlite._connect_writer))  # noqa: B010
    sys.stdout.write(json.dumps(trials(kind, Path(folder), int(count))))


if __name__ == "__main__":
    main(*sys.argv[1:])
