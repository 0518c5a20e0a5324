"""Kills a bridge that takes frames over HTTP, over and over: ``killkit.py KIND FOLDER N``.

The bridge of each trial is a fork of this program, which has loaded everything once. It finds the
database that the trial before left behind; what was acknowledged then is asked for over HTTP, and
eight clients send frames until the bridge is killed. The last line that is printed is the outcome.
"""

import asyncio
import io
import json
import os
import random
import shutil
import signal
import socket
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow  # type: ignore[import-untyped]
from aiohttp import web
from pyarrow import parquet

from runtime.bridge.app import make_app
from runtime.bridge.service import SERVICE
from runtime.bridge.startup import assemble
from runtime.bridge.storage import duck
from runtime.web.serve import bind, serving
from tests.bridge.bridgekit import settings_for

CLIENTS: Final = 8
MOST_FRAMES: Final = 50
ONE_DATABASE: Final = 20
"""Trials on one database, which grows with each."""
LONGEST_S: Final = 0.06
"""From the first acknowledgement to the kill."""
EARLY: Final = 8
"""One bridge of so many is killed at any moment of its start."""
LOADED: Final = (duck.Duck.kind, parquet.ParquetFile)
"""Loaded once, before the forks."""

Marks = dict[str, dict[int, float]]
"""By session: the mark that each acknowledged frame carries, by its index."""


class Connection:
    """One connection that is kept alive, with as little around it as possible."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def to(cls, port: int) -> "Connection":
        """A connection to the bridge; it is taken as soon as the bridge accepts any."""
        return cls(*await asyncio.open_connection("127.0.0.1", port, limit=1 << 24))

    async def ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        """The body of an answer that is 200. Raises OSError or EOFError once the bridge is gone."""
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        if answer.startswith(b"http/1.1 503 "):  # busy: nothing was taken
            await self._reader.readexactly(_length(answer))
            await asyncio.sleep(0.05)
            return await self.ask(method, path, body)
        assert answer.startswith(b"http/1.1 200 "), answer
        if b"transfer-encoding: chunked" not in answer:
            return await self._reader.readexactly(_length(answer))
        parts = []
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            parts.append((await self._reader.readexactly(size + 2))[:-2])
        await self._reader.readexactly(2)
        return b"".join(parts)

    def close(self) -> None:
        self._writer.close()


def _length(head: bytes) -> int:
    """Bytes of the body behind a head in small letters."""
    return int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])


async def send(port: int, number: int, trial: int, known: Marks, begun: asyncio.Event) -> None:
    """Send frames, one or some at a time, each with a mark of its own, until the bridge is gone."""
    chance = random.Random(trial * 100 + number)
    sid, mark = f"t{trial}-{number % 3}", trial * 1e6 + number * 1e5
    connection = await Connection.to(port)
    with suppress(OSError, EOFError):
        while True:
            count = chance.choice((1, chance.randint(1, MOST_FRAMES)))
            marks = [mark + at for at in range(count)]
            mark += count
            frames = [{"timestamp": mark, "rpm": mark} for mark in marks]
            if count == 1:
                body = json.dumps(frames[0]).encode()
                answer = await connection.ask("POST", f"/session/{sid}/frame", body)
                first = json.loads(answer)["frame_idx"]
            else:
                body = json.dumps({"frames": frames}).encode()
                answer = await connection.ask("POST", f"/session/{sid}/frames", body)
                first = json.loads(answer)["first_frame_idx"]
            for at, sent in enumerate(marks, first):
                assert at not in known[sid], "an index was given out twice"
                known[sid][at] = sent
            begun.set()
    begun.set()
    connection.close()


async def flood(port: int, pid: int, trial: int, known: Marks) -> None:
    """Let the clients send, and kill the bridge at any moment behind the first acknowledgement."""
    begun = asyncio.Event()
    clients = [asyncio.create_task(send(port, n, trial, known, begun)) for n in range(CLIENTS)]
    await begun.wait()
    await asyncio.sleep(random.Random(trial).uniform(0.0, LONGEST_S))
    os.kill(pid, signal.SIGKILL)
    await asyncio.gather(*clients)


async def faults(port: int, known: Marks) -> dict[str, int]:
    """How many acknowledged frames are lost or wrong, how many are doubled, gaps, false alarms."""
    found = {"lost": 0, "doubled": 0, "gaps": 0, "alarms": 0}
    connection = await Connection.to(port)
    health = json.loads(await connection.ask("GET", "/health"))
    found["alarms"] += health["db"]["recovered_from"] is not None
    for sid, marks in known.items():
        file = await connection.ask("GET", f"/session/{sid}/export.parquet")
        read = parquet.read_table(io.BytesIO(file), columns=["frame_idx", "rpm"], use_threads=False)
        index, rpm = (read[name].to_numpy() for name in ("frame_idx", "rpm"))
        found["gaps"] += int(index.tolist() != list(range(len(rpm))))
        found["doubled"] += len(rpm) - len(np.unique(rpm))
        found["lost"] += len(marks) - sum(
            at < len(rpm) and bool(rpm[at] == mark) for at, mark in marks.items()
        )
    connection.close()
    return found


async def serve(app: web.Application, listener: socket.socket) -> None:
    """The bridge, until it is killed or told to end."""
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    async with serving(app, listener):
        await told.wait()


def launch(app: web.Application, listener: socket.socket) -> int:
    """Its process id."""
    pid = os.fork()
    if not pid:
        try:
            asyncio.run(serve(app, listener))
        finally:
            os._exit(0)
    return pid


def trials(app: web.Application, numbers: Iterable[int]) -> dict[str, int]:
    """The sum of what these trials on one database, and a last look at all of it, found."""
    total = dict.fromkeys(("lost", "doubled", "gaps", "alarms", "acknowledged", "kills"), 0)
    last: Marks = {}
    everything: Marks = {}
    with bind("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        for trial in numbers:
            pid = launch(app, listener)
            if trial % EARLY == 1:
                time.sleep(random.Random(trial).uniform(0.0, LONGEST_S))
                os.kill(pid, signal.SIGKILL)
            else:
                _add(total, asyncio.run(faults(port, last)))
                last = defaultdict(dict)
                asyncio.run(flood(port, pid, trial, last))
                everything.update(last)
            os.waitpid(pid, 0)
            total["kills"] += 1
        pid = launch(app, listener)
        _add(total, asyncio.run(faults(port, everything)))
        os.kill(pid, signal.SIGTERM)
        assert os.waitpid(pid, 0)[1] == 0
    total["acknowledged"] = sum(map(len, everything.values()))
    return total


def _add(total: dict[str, int], found: dict[str, int]) -> None:
    for name, number in found.items():
        total[name] = total.get(name, 0) + number


def main(kind: str, folder: str, count: str) -> None:
    """Print the outcome."""
    settings: dict[str, Any] = {"db_backend": kind, "log_level": "error"}
    app = make_app(assemble(settings_for(Path(folder), **settings)))
    parquet.write_table(pyarrow.table({"loaded": np.zeros(1)}), io.BytesIO())
    total: dict[str, int] = {}
    for first in range(0, int(count), ONE_DATABASE):
        path = Path(folder) / str(first)
        app[SERVICE].settings = settings_for(path, **settings)
        numbers = range(first, min(first + ONE_DATABASE, int(count)))
        _add(total, trials(app, numbers))
        shutil.rmtree(path, ignore_errors=True)
    sys.stdout.write(json.dumps(total))


if __name__ == "__main__":
    main(*sys.argv[1:])
