"""Runs everything side by side and prints where it is; Ctrl-C ends all of it."""

import argparse
import asyncio
import contextlib
import re
import signal
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
DATA: Final = ROOT / ".demo"
LLM_DATA: Final = DATA / "llm"
LAP_S: Final = 105
"""Of the synthetic car: a brisk lap of the circuit that comes along."""
START_S: Final = 120.0
STOP_S: Final = 15.0


class DidNotStart(Exception):
    """A part ended, or said nothing, before it was ready."""


@dataclass(frozen=True)
class Part:
    """A program of the demo: its command, and the line by which it says where it is."""

    name: str
    command: tuple[str, ...]
    ready: re.Pattern[str]
    """The first group is the port."""


def parts(course_port: int, llm_port: int, bridge_port: int) -> list[Part]:
    """The parts in the order in which they start; they stop in the reverse one."""
    return [
        Part(
            "bridge",
            (
                *("-m", "runtime.bridge", "--port", str(bridge_port), "--db", str(DATA / "bridge")),
                *("--simulate", "--simulate-lap-seconds", str(LAP_S)),
                *("--model-url", f"http://127.0.0.1:{llm_port}/v1"),
            ),
            re.compile(r'"event":"ready","port":(\d+)'),
        ),
        Part(
            "language-model server",
            ("-m", "runtime.llm", "--port", str(llm_port), "--data-dir", str(LLM_DATA)),
            re.compile(r'"event":"ready","port":(\d+)'),
        ),
        Part(
            "course",
            ("build.py", "serve", "--port", str(course_port)),
            re.compile(r"the course is at http://[^/]*:(\d+)/"),
        ),
    ]


def preparations(course: int) -> list[tuple[str, ...]]:
    """What makes the lessons searchable, once everything runs: commands in their order."""
    data = ("--data-dir", str(LLM_DATA))
    link = f"http://127.0.0.1:{course}/"
    return [
        ("-m", "runtime.llm", "pull", "minilm", *data),
        ("-m", "runtime.llm", "ingest", "site", "--base-url", link, *data),
    ]


def free(port: int) -> int:
    """*port* where nothing listens on it, else another; one program is told another's port."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            probe.bind(("127.0.0.1", 0))
        chosen: int = probe.getsockname()[1]
    return chosen


async def launch(command: tuple[str, ...], *, quiet: bool = False) -> asyncio.subprocess.Process:
    """Start a program of ours in a session of its own: Ctrl-C of the terminal is ours alone."""
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        cwd=ROOT,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL if quiet else None,
        start_new_session=True,
    )


class Running:
    """A started part."""

    def __init__(self, part: Part, process: asyncio.subprocess.Process) -> None:
        self.part = part
        self.process = process

    @classmethod
    async def start(cls, part: Part) -> "Running":
        """Start the program."""
        return cls(part, await launch(part.command, quiet=part.name != "course"))

    async def ready(self) -> int:
        """The port, once the part says it; raises `DidNotStart`."""
        if self.process.stdout is None:
            raise DidNotStart(self.part.name)
        try:
            async with asyncio.timeout(START_S):
                async for line in self.process.stdout:
                    if found := self.part.ready.search(line.decode(errors="replace")):
                        return int(found[1])
        except TimeoutError:
            pass
        raise DidNotStart(f"the {self.part.name} did not start: {' '.join(self.part.command)}")

    async def read_on(self) -> None:
        """Take what the part prints later, so that it never waits for us; ends with the part."""
        if self.process.stdout is not None:
            while await self.process.stdout.read(65536):
                pass
        await self.process.wait()

    async def stop(self) -> None:
        """Ask it to end, and end it if it does not."""
        if self.process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGINT)
        try:
            await asyncio.wait_for(self.process.wait(), STOP_S)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


def greeting(course: int, llm: int, bridge: int) -> str:
    """What a newcomer reads when everything runs."""
    address = f"http://127.0.0.1:{llm}"
    telemetry = f"http://127.0.0.1:{bridge}"
    question = '{"messages":[{"role":"user","content":"What is trail braking?"}]}'
    return f"""
Paddock runs. Ctrl-C ends it.

  course                 http://127.0.0.1:{course}/
  language-model server  {address}/  (OpenAI base URL: {address}/v1)
  bridge                 {telemetry}/health

Ask the coach:

  curl {address}/v1/chat/completions -d '{question}'

A car drives laps of {LAP_S} s; follow it, and hear its coach:

  curl -N '{telemetry}/telemetry/stream?session_id=SIM'
  curl -N '{telemetry}/cues/stream?session_id=*'

After a lap or two, see what the bridge makes of it, ask about it, or bring a lap of your own:

  curl {telemetry}/sessions
  curl {telemetry}/coach/ask -d '{{"session_id":"sim-…","question":"Where do I lose time?"}}'
  curl {telemetry}/session/import -d '{{"vbo_path":"/path/of/your.vbo"}}'
"""


def searchable(llm: int) -> str:
    """What a newcomer reads once the lessons can be searched."""
    question = '{"model":"all-minilm-l6-v2","k":3,"query":"How do I brake later?"}'
    return f"""
The lessons can be searched by meaning now:

  curl -H 'X-Client-Id: course' http://127.0.0.1:{llm}/v1/search -d '{question}'
"""


async def prepare_search(course: int, llm: int) -> None:
    """Bring the embedding model and load the lessons; a failure says so and harms nothing else."""
    print("Making the lessons searchable; the first time this brings a model of 90 MB.", flush=True)
    for command in preparations(course):
        process = await launch(command)
        try:
            await process.communicate()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()
        if process.returncode:
            print("demo: the search is not ready; everything else runs", flush=True)
            return
    print(searchable(llm), flush=True)


async def run(course_port: int, llm_port: int, bridge_port: int, *, search: bool = True) -> int:
    """Start every part, say where it is, wait for a signal or for a part that ends; stop all."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stop.set)
    running: list[Running] = []
    try:
        for part in parts(free(course_port), free(llm_port), free(bridge_port)):
            one = await Running.start(part)
            running.append(one)
        ports = await _unless(stop, asyncio.gather(*(one.ready() for one in running)))
        if ports is None:
            return 0
        bridge, llm, course = ports
        print(greeting(course, llm, bridge), flush=True)
        preparing = asyncio.create_task(prepare_search(course, llm)) if search else None
        watchers = [asyncio.create_task(one.read_on()) for one in running]
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([stopping, *watchers], return_when=asyncio.FIRST_COMPLETED)
        if preparing is not None:
            preparing.cancel()
            await asyncio.wait([preparing])
        if stop.is_set():
            return 0
        gone = [one.part.name for one, end in zip(running, watchers, strict=True) if end.done()]
        sys.stderr.write(f"demo: the {gone[0]} ended; stopping the rest\n")
    except DidNotStart as problem:
        sys.stderr.write(f"demo: {problem}\n")
    finally:
        for one in reversed(running):
            await one.stop()
    return 1


async def _unless(stop: asyncio.Event, work: "asyncio.Future[list[int]]") -> list[int] | None:
    """The result of *work*, or None when *stop* comes first."""
    stopping = asyncio.create_task(stop.wait())
    stopping.add_done_callback(lambda _: work.cancel())
    try:
        return await work
    except asyncio.CancelledError:
        if not stop.is_set():
            raise
        return None
    finally:
        stopping.cancel()


def main(argv: Sequence[str]) -> int:
    """Run the demo; the exit code of the process."""
    parser = argparse.ArgumentParser(prog="python -m runtime.demo", description=__doc__)
    parser.add_argument("--course-port", type=int, default=8000)
    parser.add_argument("--llm-port", type=int, default=8080)
    parser.add_argument("--bridge-port", type=int, default=8765)
    parser.add_argument("--no-search", action="store_true", help="do not bring the embedding model")
    chosen = parser.parse_args(argv)
    DATA.mkdir(exist_ok=True)
    print("demo: building the course, starting the servers", flush=True)
    return asyncio.run(
        run(
            chosen.course_port,
            chosen.llm_port,
            chosen.bridge_port,
            search=not chosen.no_search,
        )
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
