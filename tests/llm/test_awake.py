"""Keeping the machine awake: counting, lingering, and a real child process that never stays."""

import asyncio
import logging
import os
import sys
from pathlib import Path

import pytest

from runtime.llm.awake import Inhibitor, KeepAwake


class Recorder(Inhibitor):
    """An inhibitor that writes down what it was told."""

    def __init__(self) -> None:
        super().__init__(())
        self.calls: list[str] = []
        self.started, self.stopped = asyncio.Event(), asyncio.Event()

    async def start(self) -> None:
        self.stopped.clear()
        self.calls.append("start")
        self.started.set()

    async def stop(self) -> None:
        self.calls.append("stop")
        self.stopped.set()


async def test_the_machine_is_kept_awake_from_the_first_request_to_the_last() -> None:
    recorder = Recorder()
    awake = KeepAwake(recorder, linger_s=0)

    async with awake.hold():
        async with awake.hold():
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert recorder.calls == ["start"]
    await recorder.stopped.wait()

    assert recorder.calls == ["start", "stop"]


async def test_requests_in_quick_succession_are_one_period() -> None:
    recorder = Recorder()
    awake = KeepAwake(recorder, linger_s=30)

    for _ in range(100):
        async with awake.hold():
            await asyncio.sleep(0)
    await awake.close()

    assert recorder.calls == ["start", "stop"]


async def test_a_request_after_a_quiet_time_begins_a_new_period() -> None:
    recorder = Recorder()
    awake = KeepAwake(recorder, linger_s=0)

    for _ in range(2):
        async with awake.hold():
            await asyncio.sleep(0)
        await recorder.stopped.wait()
        recorder.stopped.clear()

    assert recorder.calls == ["start", "stop"] * 2


async def test_a_request_that_comes_while_the_lock_is_given_back_gets_a_new_one() -> None:
    class Slow(Recorder):
        async def stop(self) -> None:
            stopping.set()
            await leave.wait()
            await super().stop()

    stopping, leave = asyncio.Event(), asyncio.Event()
    recorder = Slow()
    awake = KeepAwake(recorder, linger_s=0)
    async with awake.hold():
        await recorder.started.wait()
    await stopping.wait()

    async with awake.hold():
        recorder.started.clear()
        leave.set()
        await recorder.started.wait()
        assert recorder.calls == ["start", "stop", "start"]
    await awake.close()

    assert recorder.calls == ["start", "stop", "start", "stop"]


async def test_closing_ends_the_period_of_a_request_that_still_runs() -> None:
    recorder = Recorder()
    awake = KeepAwake(recorder, linger_s=30)

    async with awake.hold():
        await asyncio.sleep(0)
        await awake.close()
        async with awake.hold():
            await asyncio.sleep(0)
    await awake.close()

    assert recorder.calls == ["start", "stop"]


async def test_a_system_without_a_way_is_named_once_and_serves_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    awake = KeepAwake(None)

    for _ in range(3):
        async with awake.hold():
            pass
    await awake.close()

    assert [record.message for record in caplog.records] == [
        "the machine is not kept awake: this system offers no way"
    ]


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


async def test_the_child_runs_while_requests_run_and_is_gone_afterwards(life: Life) -> None:
    awake = KeepAwake(Inhibitor(child(life)), linger_s=30)

    async with awake.hold():
        assert await life.begun()
    await awake.close()

    assert await life.gone()


async def test_a_child_that_ignores_the_end_of_its_input_is_killed(
    monkeypatch: pytest.MonkeyPatch, life: Life
) -> None:
    monkeypatch.setattr("runtime.llm.awake._EXIT_S", 0.05)
    inhibitor = Inhibitor(child(life, "import time; time.sleep(600)"))
    await inhibitor.start()
    await life.begun()

    await inhibitor.stop()

    assert await life.gone()


@pytest.mark.parametrize("command", [("no-such-tool-anywhere",), (sys.executable, "-c", "exit(1)")])
async def test_a_way_that_does_not_work_is_named_once_and_not_tried_again(
    command: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    inhibitor = Inhibitor(command)

    for _ in range(3):
        await inhibitor.start()
        if inhibitor._child is not None:
            await inhibitor._child.wait()
        await inhibitor.stop()

    said = [r.message for r in caplog.records if r.name == "runtime.llm.awake"]
    assert len(said) == 1
    assert said[0].startswith("the machine is not kept awake")


SERVER = """
import asyncio, sys
from runtime.llm.awake import Inhibitor, KeepAwake

async def main():
    awake = KeepAwake(Inhibitor((sys.executable, "-c", sys.argv[1], sys.argv[2])))
    async with awake.hold():
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
