"""Keeping the machine awake: one child process a period, which never stays behind."""

import asyncio
import logging
import os
import sys
from pathlib import Path

import pytest

from runtime.llm.awake import KeepAwake
from tests.waiting import until

# Writes its process id into a pipe that stays open as long as it lives, then reads its input.
CHILD = """
import os, sys
note = open(sys.argv[1], "w")
print(os.getpid(), file=note, flush=True)
sys.stdin.read()
"""


class Life:
    """A named pipe that tells when a child has begun and, by its end, that it is gone."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "life"
        os.mkfifo(self.path)
        self._reader = asyncio.StreamReader()

    async def begun(self) -> int:
        file = os.fdopen(os.open(self.path, os.O_RDONLY | os.O_NONBLOCK), "rb")
        loop = asyncio.get_running_loop()
        protocol = asyncio.StreamReaderProtocol(self._reader)
        self.transport, _ = await loop.connect_read_pipe(lambda: protocol, file)
        return int(await self._reader.readline())

    async def gone(self) -> bool:
        rest = await self._reader.read()
        self.transport.close()
        return rest == b""


@pytest.fixture
async def life(tmp_path: Path) -> Life:
    return Life(tmp_path)


def child(life: Life, more: str = "") -> tuple[str, ...]:
    return (sys.executable, "-c", CHILD + more, str(life.path))


@pytest.fixture
def periods(tmp_path: Path) -> Path:
    """A file to which every child adds a line."""
    return tmp_path / "periods"


def counting(periods: Path) -> tuple[str, ...]:
    return ("sh", "-c", f"echo period >> {periods}; exec cat")


def lines(periods: Path) -> int:
    return len(periods.read_text().split()) if periods.exists() else 0


async def test_requests_in_quick_succession_are_one_period(periods: Path) -> None:
    awake = KeepAwake(counting(periods), linger_s=30)
    for _ in range(100):
        with awake.hold(), awake.hold():
            await asyncio.sleep(0)
    await until(lambda: lines(periods) == 1)
    await awake.close()
    with awake.hold():
        await asyncio.sleep(0)
    assert lines(periods) == 1


async def test_a_request_after_a_quiet_time_begins_a_new_period(periods: Path) -> None:
    awake = KeepAwake(counting(periods), linger_s=0)
    for count in (1, 2):
        with awake.hold():
            await until(lambda count=count: lines(periods) == count)  # type: ignore[misc]
        await until(lambda: awake._task is None or awake._task.done())
    await awake.close()


async def test_the_child_runs_while_requests_run_and_is_gone_afterwards(life: Life) -> None:
    awake = KeepAwake(child(life), linger_s=30)
    with awake.hold():
        assert await life.begun()
    await awake.close()
    assert await life.gone()


async def test_a_child_that_ignores_the_end_of_its_input_is_killed(
    monkeypatch: pytest.MonkeyPatch, life: Life
) -> None:
    monkeypatch.setattr("runtime.llm.awake.EXIT_S", 0.05)
    awake = KeepAwake(child(life, "import time; time.sleep(600)"))
    with awake.hold():
        await life.begun()
    await awake.close()
    assert await life.gone()


@pytest.mark.parametrize(
    "command", [None, ("no-such-tool-anywhere",), (sys.executable, "-c", "exit(1)")]
)
async def test_a_way_that_does_not_work_is_named_once_and_not_tried_again(
    command: tuple[str, ...] | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    awake = KeepAwake(command, linger_s=0)

    def said() -> list[str]:
        return [r.message for r in caplog.records if r.name == "runtime.llm.awake"]

    with awake.hold():
        await asyncio.sleep(0.5 if command and "-c" in command else 0.01)
    await until(lambda: len(said()) == 1)
    with awake.hold():
        await asyncio.sleep(0)
    await awake.close()
    assert len(said()) == 1
    assert said()[0].startswith("the machine is not kept awake")


SERVER = """
import asyncio, sys
from runtime.llm.awake import KeepAwake

async def main():
    awake = KeepAwake((sys.executable, "-c", sys.argv[1], sys.argv[2]))
    with awake.hold():
        await asyncio.sleep(600)

asyncio.run(main())
"""


async def test_the_child_does_not_outlive_a_server_that_is_killed(root: Path, life: Life) -> None:
    command = (sys.executable, "-c", SERVER, CHILD, str(life.path))
    server = await asyncio.create_subprocess_exec(*command, cwd=root)
    assert await life.begun() != server.pid

    server.kill()
    await server.wait()

    assert await life.gone()
