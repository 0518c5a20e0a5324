"""The life of a server process: ready line, signals, refusals to start."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import aiohttp
import pytest

from runtime.web.serve import CannotBind, bind


class Process(NamedTuple):
    child: asyncio.subprocess.Process
    url: str
    ready: dict[str, object]

    async def ended(self) -> int:
        """The exit code; well before the times that the server has unless its mode is brief."""
        async with asyncio.timeout(30):
            return await self.child.wait()

    async def stopped(self, number: int = signal.SIGTERM) -> int:
        """Send a signal; exit code."""
        self.child.send_signal(number)
        return await self.ended()


@asynccontextmanager
async def process(root: Path, mode: str = "ready") -> AsyncIterator[Process]:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.web.tiny_server",
        "0",
        mode,
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert child.stdout is not None
    try:
        async with asyncio.timeout(20):
            line = await child.stdout.readline()
        ready = json.loads(line)
        yield Process(child, f"http://127.0.0.1:{ready['port']}", ready)
    finally:
        if child.returncode is None:
            child.kill()
        await child.communicate()


async def test_one_line_says_that_the_server_is_ready(root: Path) -> None:
    async with process(root) as server, aiohttp.ClientSession(server.url) as client:
        async with client.get("/health") as answer:
            assert answer.status == 200
        assert set(server.ready) == {"event", "port", "pid"}
        assert (server.ready["event"], server.ready["pid"]) == ("ready", server.child.pid)
        await server.stopped()
        assert server.child.stdout is not None
        assert await server.child.stdout.read() == b""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_an_idle_server_ends_at_once_with_code_0(root: Path, number: int) -> None:
    async with process(root) as server:
        assert await server.stopped(number) == 0


async def test_open_connections_and_listeners_do_not_hold_the_end_up(root: Path) -> None:
    async with (
        process(root) as server,
        aiohttp.ClientSession(server.url) as client,
        client.get("/wait") as stream,
        client.get("/health") as answer,
    ):
        assert answer.status == 200
        assert await stream.content.readuntil(b"\n\n") == b'data: {"n":0}\n\n'
        assert await server.stopped() == 0
        assert await stream.content.read() == b""  # a proper end, not a cut


async def test_what_runs_is_finished_and_what_is_new_is_refused(root: Path) -> None:
    async with process(root) as server, aiohttp.ClientSession(server.url) as client:
        running = asyncio.create_task(fetch(client, "/longer"))
        held = asyncio.create_task(fetch(client, "/hold"))
        await arrived(client, 2)
        server.child.send_signal(signal.SIGTERM)
        assert await running == (200, "done")
        assert await held == (200, "drained")
        assert await server.ended() == 0
        with pytest.raises(aiohttp.ClientError):
            await fetch(client, "/health")


async def fetch(client: aiohttp.ClientSession, path: str) -> tuple[int, str]:
    async with client.get(path) as answer:
        return answer.status, await answer.text()


async def arrived(client: aiohttp.ClientSession, count: int) -> None:
    """Wait until so many requests run."""
    async with asyncio.timeout(20):
        while await fetch(client, "/running") != (200, str(count)):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)


async def test_what_never_ends_is_cut_when_the_grace_is_over(root: Path) -> None:
    async with process(root, "brief") as server, aiohttp.ClientSession(server.url) as client:
        stuck = asyncio.create_task(fetch(client, "/stuck"))
        await arrived(client, 1)
        assert await server.stopped() == 0
        with pytest.raises(aiohttp.ClientError):
            await stuck


async def test_what_still_runs_after_the_grace_can_say_a_last_word(root: Path) -> None:
    async with process(root, "late") as server, aiohttp.ClientSession(server.url) as client:
        late = asyncio.create_task(fetch(client, "/late"))
        await arrived(client, 1)
        server.child.send_signal(signal.SIGTERM)
        assert await late == (200, "cut short")
        assert await server.ended() == 0


async def test_half_a_body_is_told_that_the_server_ends(root: Path) -> None:
    async with process(root, "brief") as server, aiohttp.ClientSession(server.url) as client:
        host, port = server.url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"POST /v1/items HTTP/1.1\r\nHost: localhost\r\n")
        writer.write(b'Content-Length: 99\r\n\r\n{"name": "a"')
        await arrived(client, 1)
        assert await server.stopped() == 0
        assert (await reader.read()).startswith(b"HTTP/1.1 503 ")
        writer.close()
        assert server.child.stderr is not None
        assert b"Traceback" not in await server.child.stderr.read()


async def test_a_hook_that_fails_does_not_keep_the_server_alive(root: Path) -> None:
    async with process(root, "failing") as server:
        assert await server.stopped() == 0
        assert server.child.stderr is not None
        text = await server.child.stderr.read()
    assert b"a hook of the shutdown failed" in text


async def test_a_thread_that_never_ends_does_not_keep_the_process_alive(root: Path) -> None:
    async with process(root, "talking") as server, aiohttp.ClientSession(server.url) as client:
        async with client.get("/thread") as answer:
            assert await answer.content.readexactly(7) == b"started"
            assert await server.stopped() == 0
        assert server.child.stderr is not None
        text = await server.child.stderr.read()
    assert b"ending threads that still run" in text
    assert (
        b"ended with code 0" in text
    )  # the caller of run could still do its part, and its log is whole


async def test_a_cleanup_that_never_ends_does_not_keep_the_process_alive(root: Path) -> None:
    async with process(root, "clinging") as server:
        assert await server.stopped() == 0
        assert server.child.stderr is not None
        assert b"the server did not end in time" in await server.child.stderr.read()


def start(root: Path, port: int, mode: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.web.tiny_server", str(port), mode]
    return subprocess.run(
        command, cwd=root, capture_output=True, check=False, text=True, timeout=30
    )


def test_a_taken_port_costs_one_line_and_exit_code_1(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = start(root, port, "ready")
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"cannot listen on 127.0.0.1 port {port}" in done.stderr
    assert "server_port" in done.stderr


def test_a_refusal_to_start_costs_one_line_and_its_exit_code(root: Path) -> None:
    done = start(root, 0, "refused")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "another server uses this data directory\n"


def test_a_refusal_to_start_keeps_its_exit_code_though_a_thread_is_left(root: Path) -> None:
    done = start(root, 0, "refused late")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("another server uses this data directory\n")


@pytest.mark.parametrize(
    ("host", "port"), [("127.0.0.1", 70000), ("::1%nosuch", 0), ("203.0.113.1", 0)]
)
def test_an_impossible_address_is_named(host: str, port: int) -> None:
    with pytest.raises(CannotBind, match="cannot listen on"):
        bind(host, port)
