"""Servers that outlets send to: real ones where they are installed, and one that misbehaves."""

import asyncio
import os
import random
import shutil
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import aiohttp
import pytest
from aiohttp import web

from runtime.bridge.live.timing import LapDone, LapSector, SectorDone

PLACES: Final = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))
LAP: Final = LapDone(
    3, 91.5, -0.25, True, 91.5, (LapSector(1, 30.5, True), LapSector(2, None, False)), None
)
SECTOR: Final = SectorDone(3, 2, 31.25, -0.125, "own")


def find(program: str) -> str:
    """The path of a server; the test is skipped where there is none."""
    path = shutil.which(program, path=PLACES)
    if path is None:
        pytest.skip(f"no {program} here; `make test-deps` installs it")
    return path


def free_port() -> int:
    """A port that nobody has, below those that the system gives to other servers meanwhile."""
    while True:
        port = random.randrange(20_000, 30_000)
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port


@asynccontextmanager
async def running(*command: str, port: int) -> AsyncIterator[asyncio.subprocess.Process]:
    """A server from the moment at which it accepts connections."""
    process = await asyncio.create_subprocess_exec(
        *command, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        async with asyncio.timeout(30):
            while not await accepts(port):
                assert process.returncode is None, f"{command[0]} has ended"
                await asyncio.sleep(0.02)
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def accepts(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return False
    writer.close()
    return True


@dataclass
class Influxd:
    """A real InfluxDB 1 with a database."""

    port: int
    http: aiohttp.ClientSession

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/write?db=paddock"

    async def query(self, text: str) -> list[dict[str, Any]]:
        """The rows of a SELECT, whatever series they are of."""
        asked = {"db": "paddock", "q": text, "epoch": "ns"}
        async with self.http.post("/query", data=asked) as response:
            answer = await response.json(content_type=None)
        (result,) = answer["results"]
        assert "error" not in result, result
        return [
            {**series.get("tags", {}), **dict(zip(series["columns"], values, strict=True))}
            for series in result.get("series", ())
            for values in series["values"]
        ]


OPENED: Final = ("writer", "pass:word")


@asynccontextmanager
async def influxdb(folder: Path) -> AsyncIterator[Influxd]:
    """InfluxDB with a user and a password, `OPENED`."""
    program, port = find("influxd"), free_port()
    config = folder / "influxdb.conf"
    config.write_text(f"""
reporting-disabled = true
bind-address = "127.0.0.1:{free_port()}"
[meta]
dir = "{folder}/meta"
[data]
dir = "{folder}/data"
wal-dir = "{folder}/wal"
[http]
bind-address = "127.0.0.1:{port}"
auth-enabled = true
[monitor]
store-enabled = false
""")
    async with (
        running(program, "-config", str(config), port=port),
        aiohttp.ClientSession(
            f"http://127.0.0.1:{port}",
            headers={"Authorization": aiohttp.encode_basic_auth(*OPENED)},
        ) as http,
    ):
        server = Influxd(port, http)
        user, password = OPENED
        await server.query(f"CREATE USER {user} WITH PASSWORD '{password}' WITH ALL PRIVILEGES")
        await server.query("CREATE DATABASE paddock")
        yield server


@dataclass
class Pretender:
    """Says that it is InfluxDB and answers as a test wishes; *bodies* are what it took."""

    answer: web.Response | asyncio.Event = field(default_factory=lambda: web.Response(status=204))
    bodies: list[bytes] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    asked: int = 0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v2/write?org=team&bucket=paddock"

    @property
    def lines(self) -> list[str]:
        return b"".join(self.bodies).decode().splitlines()

    def refuse(self, status: int, body: str = "", **headers: str) -> None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answer = web.Response(status=status, text=body, headers=named)

    async def take(self, request: web.Request) -> web.Response:
        self.asked += 1
        self.headers.append(request.headers.get("Authorization", ""))
        body, answer = await request.read(), self.answer
        if isinstance(answer, asyncio.Event):
            await answer.wait()
            answer = web.Response(status=503)
        if answer.status < 300:
            self.bodies.append(body)
        return web.Response(status=answer.status, body=answer.body, headers=answer.headers)


@asynccontextmanager
async def pretending() -> AsyncIterator[Pretender]:
    server = Pretender()
    app = web.Application()
    app.router.add_post("/api/v2/write", server.take)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.port = runner.addresses[0][1]
    try:
        yield server
    finally:
        if isinstance(server.answer, asyncio.Event):
            server.answer.set()
        await runner.cleanup()
