"""A program that writes to a store and kills itself, over and over: ``crashkit.py KIND FOLDER N``.

Each trial is a process of its own, made by fork so that nothing has to be loaded anew. It opens the
database that the trial before left behind, checks every frame that was ever acknowledged, then has
eight writers append frames until it is killed. The last line that is printed is the outcome.
"""

import asyncio
import functools
import json
import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from runtime.bridge.session.recording import Frames
from runtime.bridge.storage import duck
from runtime.bridge.storage.backend import Connection
from runtime.bridge.storage.store import Store
from runtime.bridge.storage.values import Backend
from tests.bridge.storage.storekit import KINDS, frames

WRITERS: Final = 8
MOST_FRAMES: Final = 50
LONGEST_S: Final = 0.12
"""From the first acknowledgement to the kill."""
ENOUGH_S: Final = 75.0
"""No further trial begins after this long, on a machine that is busy with other things."""
FEWEST: Final = 20
"""Trials that are made however long they take."""
LOADED: Final = duck.Duck.kind
"""DuckDB is loaded once, before the forks."""
ACK: Final = 24
"""Bytes of one acknowledgement: session, first frame, number of frames."""

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
    report = json.dumps({**found, "open_ms": int(opened * 1000)}).encode()
    os.write(acks, report.ljust(256))
    if trial >= 0:
        await ingest(store, trial, acks, trial)
    await store.close()


def trials(kind: Backend, path: Path, count: int) -> dict[str, int]:
    """The sum of what *count* trials, and a last look, found."""
    chance = random.Random(kind)
    total = {"lost": 0, "wrong": 0, "gaps": 0, "acknowledged": 0, "trials": 0, "open_ms": 0}
    last: Acknowledged = {}
    everything: Acknowledged = {}
    started = time.monotonic()
    for trial in [*range(count), -1]:
        if trial > FEWEST and time.monotonic() - started > ENOUGH_S:
            continue
        receive, send = os.pipe()
        pid = os.fork()
        if not pid:
            os.close(receive)
            try:
                asyncio.run(child(kind, path, trial, send, everything if trial < 0 else last))
            finally:
                os._exit(0)
        os.close(send)
        report = _exactly(receive, 256)
        ack = _exactly(receive, ACK)
        if trial >= 0:
            time.sleep(chance.uniform(0.0, LONGEST_S))
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        found = json.loads(report)
        for name in ("lost", "wrong", "gaps"):
            total[name] += found[name]
        total["open_ms"] = max(total["open_ms"], found["open_ms"])
        last = _acknowledged(receive, ack)
        total["acknowledged"] += sum(n for runs in last.values() for _, n in runs)
        os.close(receive)
        everything.update(last)
        total["trials"] += 1
    return total


def _acknowledged(receive: int, ack: bytes) -> Acknowledged:
    """*ack* and everything behind it in the pipe."""
    found: Acknowledged = {}
    while ack:
        session, first, n = (int.from_bytes(ack[at : at + 8], "little") for at in (0, 8, 16))
        found.setdefault(f"s{session}", []).append((first, n))
        ack = _exactly(receive, ACK)
    return found


def _indexes(store: Store, session: str, reader: Connection) -> npt.NDArray[np.int64]:
    """The numbers of the frames as they are stored."""
    key = store._known(session).key if store.session(session) else -1
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


if __name__ == "__main__":
    chosen = next(kind for kind in KINDS if kind == sys.argv[1])
    sys.stdout.write(json.dumps(trials(chosen, Path(sys.argv[2]) / "crash.db", int(sys.argv[3]))))
