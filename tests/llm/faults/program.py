"""Runs ``python -m runtime.llm`` as a process of its own and asks it over HTTP."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from tests.llm.serverkit import CHAT, Json, chat, processes_below
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[3]
START_S = 100.0


@dataclass
class Program:
    """A server process that accepts connections, with a client."""

    process: asyncio.subprocess.Process
    ready: Json
    http: aiohttp.ClientSession

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ready['port']}"

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    async def ended(self, limit_s: float = 100.0) -> int:
        """The exit code."""
        async with asyncio.timeout(limit_s):
            return await self.process.wait()

    def children(self) -> list[int]:
        return processes_below(self.process.pid)

    async def get(self, path: str) -> Json:
        async with self.http.get(path) as response:
            assert response.status == 200
            return await response.json()

    def ask(self, model: str, text: str = "hi", **fields: Json) -> asyncio.Task[tuple[int, bytes]]:
        """A chat request under way: status and body."""
        return asyncio.ensure_future(self._ask(chat(model, text, **fields)))

    async def _ask(self, body: Json) -> tuple[int, bytes]:
        async with self.http.post(CHAT, json=body) as response:
            return response.status, await response.read()

    async def until_running(
        self, running: int, waiting: int = 0, unless: asyncio.Task[tuple[int, bytes]] | None = None
    ) -> None:
        """Wait until so many requests generate and wait, unless the one named is over already."""
        async with asyncio.timeout(100):
            while unless is None or not unless.done():
                view = await self.get("/v1/requests")
                if (len(view["running"]), len(view["waiting"])) == (running, waiting):
                    return


def command(data_dir: Path, models: Path, *arguments: str) -> Sequence[str]:
    return [
        *(sys.executable, "-W", "error", "-m", "runtime.llm", "--port", "0"),
        *("--data-dir", str(data_dir), "--models-dir", str(models), "--threads", "1"),
        *("--default-context", "32768", "--no-keep-awake", "--sysmodel.provider", "none"),
        *arguments,
    ]


async def run(*words: str, **environment: str) -> tuple[int, str, str]:
    """Exit code, output and errors of a start that fails."""
    process = await asyncio.create_subprocess_exec(
        *words,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(START_S):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


@asynccontextmanager
async def running(data_dir: Path, models: Path, *arguments: str) -> AsyncIterator[Program]:
    """A server process; it and its engines have ended afterwards."""
    log = await asyncio.to_thread((data_dir / "log").open, "wb")
    process = await asyncio.create_subprocess_exec(
        *command(data_dir, models, *arguments),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=log,
    )
    log.close()
    children: list[int] = []
    try:
        assert process.stdout is not None
        async with asyncio.timeout(START_S):
            line = await process.stdout.readline()
        assert line, (data_dir / "log").read_text()
        ready = json.loads(line)
        async with aiohttp.ClientSession(f"http://127.0.0.1:{ready['port']}") as http:
            yield Program(process, ready, http)
    finally:
        children = processes_below(process.pid)
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        await until(lambda: not [pid for pid in children if alive(pid)])


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return False
    return state != "Z"
