"""Runs course and both servers together and prints their addresses; Ctrl-C stops all."""

import argparse
import asyncio
import contextlib
import ctypes
import errno
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, NoReturn

from runtime.home.server import Home, Parts
from runtime.places import CHECKOUT, PACKAGES, SHARE, SITE, choose_folder
from runtime.web.instance import AlreadyRunning, address_of, claim, write_address
from runtime.web.serve import ALONE, CannotStart

PARENT: Final = os.getppid()
"""Asked for at once: it may end before anything else is done."""
C_LIBRARY: Final = ctypes.CDLL(None) if sys.platform == "linux" else None
PR_SET_PDEATHSIG: Final = 1
DATA: Final = choose_folder(".demo", "demo")
LAP_S: Final = 105
"""Of the synthetic car: a brisk lap of the circuit that comes along."""
START_S: Final = 120.0
STOP_S: Final = 15.0
LAST_WORDS_S: Final = 2.0
"""Until what a part that ended has written is read; a child of it may hold its end."""
LOOK_S: Final = 0.5
LONGEST_LINE: Final = 2000
BAD_USE: Final = 2
HIGHEST_PORT: Final = 65535
NEIGHBOURS: Final = 20
"""Ports above a taken one that are tried before any other."""


class DidNotStart(Exception):
    """A part ended, or stayed silent, before it was ready."""


@dataclass(frozen=True)
class Part:
    """A program of the demo: its command, and the line that contains its port."""

    name: str
    command: tuple[str, ...]
    ready: re.Pattern[str]
    """Its first group is the port."""


def choose_site(data: Path) -> Path:
    """Where the course is built: the ``site`` of a checkout, else a folder of the demo's data."""
    return SITE if CHECKOUT else data / "site"


def parts(
    data: Path, course_port: int, llm_port: int, bridge_port: int, *, share: bool = False
) -> list[Part]:
    """The parts in the order in which they start; they stop in the reverse one.

    With *share* other devices in the network may watch sessions whose link they have.
    """
    cache = () if CHECKOUT else ("--cache", str(data / "course-cache"))
    ready = re.compile(r'"event":"ready","port":(\d+)')
    return [
        Part(
            "course",
            (
                *("-m", "runtime", "course", "serve", "--port", str(course_port)),
                *("--root", str(SHARE), "--out", str(choose_site(data)), *cache),
            ),
            re.compile(r"the course is at http://[^/]*:(\d+)/"),
        ),
        Part(
            "language-model server",
            (
                *("-m", "runtime", "llm", "--compat", "--port", str(llm_port)),
                *("--data-dir", str(data / "llm")),
            ),
            ready,
        ),
        Part(
            "bridge",
            (
                *("-m", "runtime", "bridge", "--port", str(bridge_port)),
                *("--db", str(data / "bridge")),
                *("--simulate", "--simulate-lap-seconds", str(LAP_S)),
                *("--simulate-apart", "--example"),
                *("--model-url", f"http://127.0.0.1:{llm_port}/v1"),
                *("--course", f"http://127.0.0.1:{course_port}/"),
                *(("--spectator-port", "0") if share else ()),
            ),
            ready,
        ),
    ]


def preparations(data: Path, course: int) -> list[tuple[str, ...]]:
    """The commands that make the lessons searchable, in order."""
    store = ("--data-dir", str(data / "llm"))
    link = f"http://127.0.0.1:{course}/"
    site = str(choose_site(data))
    return [
        ("-m", "runtime", "llm", "pull", "minilm", *store),
        ("-m", "runtime", "llm", "ingest", site, "--base-url", link, *store),
    ]


async def launch(
    command: tuple[str, ...], held: IO[str], *, quiet: bool = False
) -> asyncio.subprocess.Process:
    """Start a program of ours, which keeps *held* open; Linux ends it with us, however we end.

    It gets a session of its own: Ctrl-C of the terminal is ours alone.
    """
    ours = os.getpid()

    def end_with_us() -> None:
        if C_LIBRARY is not None:
            C_LIBRARY.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != ours:  # ended before it was asked
            os._exit(128 + signal.SIGTERM)

    apart: dict[str, Any] = {}
    if sys.platform != "win32":
        apart = {
            "start_new_session": True,
            "pass_fds": (held.fileno(),),
            "preexec_fn": end_with_us,
        }
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *command,
        cwd=PACKAGES,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE if quiet else None,
        **apart,
    )


class Running:
    """A started part."""

    def __init__(self, part: Part, process: asyncio.subprocess.Process) -> None:
        self.part = part
        self.process = process
        self._written = b""
        self._reading = asyncio.create_task(self._keep_written())

    @classmethod
    async def start(cls, part: Part, held: IO[str]) -> "Running":
        """Start the program; only the course writes to the terminal."""
        return cls(part, await launch(part.command, held, quiet=part.name != "course"))

    async def _keep_written(self) -> None:
        """The end of the standard error of the part, if that is not the terminal."""
        if self.process.stderr is not None:
            while piece := await self.process.stderr.read(65536):
                self._written = (self._written + piece)[-LONGEST_LINE:]

    async def last_words(self) -> str:
        """The last line that the part wrote to standard error, after a colon; or nothing."""
        await asyncio.wait([self._reading], timeout=LAST_WORDS_S)
        lines = self._written.decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        return f": {last}" if last else ""

    async def ready(self) -> int:
        """Wait for the part and return its port; raises `DidNotStart`."""
        if self.process.stdout is None:
            raise DidNotStart(self.part.name)
        try:
            async with asyncio.timeout(START_S):
                async for line in self.process.stdout:
                    if match := self.part.ready.search(line.decode(errors="replace")):
                        return int(match[1])
        except TimeoutError:
            raise DidNotStart(
                f"the {self.part.name} was not ready in {START_S:.0f} s{await self.last_words()}"
            ) from None
        raise DidNotStart(f"the {self.part.name} did not start{await self.last_words()}")

    async def read_on(self) -> None:
        """Read the later output of the part, so that it never blocks; ends with the part."""
        if self.process.stdout is not None:
            while await self.process.stdout.read(65536):
                pass
        await self.process.wait()

    async def stop(self) -> None:
        """Terminate the part, and kill it if it does not end."""
        if self.process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        try:
            await asyncio.wait_for(self.process.wait(), STOP_S)
        except TimeoutError:
            self.process.kill()
            await self.process.wait()


def greeting(home: int, course: int, llm: int, bridge: int) -> str:
    """The text shown when everything runs."""
    address = f"http://127.0.0.1:{llm}"
    telemetry = f"http://127.0.0.1:{bridge}"
    question = '{"messages":[{"role":"user","content":"What is trail braking?"}]}'
    return f"""
Paddock runs. Open http://127.0.0.1:{home}/ and see what there is to try. Ctrl-C ends everything.

  course                 http://127.0.0.1:{course}/
  language-model server  {address}/  (a chat page; OpenAI base URL: {address}/v1)
  bridge                 {telemetry}/  (the pit wall: {telemetry}/ui/live)

From another terminal:

  curl {address}/v1/chat/completions -d '{question}'
  curl -N '{telemetry}/telemetry/stream?session_id=SIM'
  curl -N '{telemetry}/cues/stream?session_id=*'
  curl {telemetry}/session/import -d '{{"vbo_path":"/path/of/your.vbo"}}'

Any OpenAI client works with the base URL {address}/v1 and any key. Tools, JSON schemas, stop texts
and /v1/responses are on here; a server of your own needs --compat for them.
"""


def searchable(llm: int) -> str:
    """The text shown once the lessons are searchable."""
    question = '{"model":"all-minilm-l6-v2","k":3,"query":"How do I brake later?"}'
    return f"""
The lessons can be searched by meaning now:

  curl -H 'X-Client-Id: course' http://127.0.0.1:{llm}/v1/search -d '{question}'
"""


async def prepare_search(home: Home, data: Path, course: int, llm: int, held: IO[str]) -> None:
    """Install the embedding model and load the lessons; a failure is only reported."""
    print("Making the lessons searchable; the first time this brings a model of 90 MB.", flush=True)
    home.search = "loading"
    for command in preparations(data, course):
        process = await launch(command, held)
        try:
            await process.communicate()
        finally:
            if process.returncode is None:
                process.terminate()
                await process.wait()
        if process.returncode:
            home.search = "failed"
            print("demo: the search is not ready; everything else runs", flush=True)
            return
    home.search = "ready"
    print(searchable(llm), flush=True)


async def run(
    data: Path,
    ports: Sequence[int],
    lock: IO[str],
    held: IO[str],
    *,
    search: bool = True,
    share: bool = False,
) -> int:
    """Start every part, say where it is, wait for a signal or for a part that ends; stop all.

    *data* is the folder of the parts, *ports* are those of the home page and of the parts; *lock*
    is told where the page is, *held* stays open in every part.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        with contextlib.suppress(AttributeError, NotImplementedError):  # on Windows
            loop.add_signal_handler(getattr(signal, name), stop.set)
    watching = asyncio.create_task(_watch_parent(stop))
    running: list[Running] = []
    own, *others = ports
    home = Home(Parts(*(f"http://127.0.0.1:{port}" for port in others)))
    try:
        own = await home.start(own)
        print(f"demo: open http://127.0.0.1:{own}/ while the rest starts", flush=True)
        open_ports = await _unless(
            stop, asyncio.ensure_future(start(parts(data, *others, share=share), running, held))
        )
        if open_ports is None:
            return 0
        course, llm, bridge = open_ports
        home.ready = True
        write_address(lock, f"http://127.0.0.1:{own}/")
        print(greeting(own, course, llm, bridge), flush=True)
        preparing = [asyncio.create_task(home.try_chat())]
        if search:
            loading = prepare_search(home, data, course, llm, held)
            preparing.append(asyncio.create_task(loading))
        watchers = [asyncio.create_task(program.read_on()) for program in running]
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait([stopping, *watchers], return_when=asyncio.FIRST_COMPLETED)
        for task in preparing:
            task.cancel()
        await asyncio.wait(preparing)
        if stop.is_set():
            return 0
        gone = next(program for program, end in zip(running, watchers, strict=True) if end.done())
        words = await gone.last_words()
        sys.stderr.write(f"demo: the {gone.part.name} ended; stopping the rest{words}\n")
    except (DidNotStart, CannotStart, OSError) as problem:
        sys.stderr.write(f"demo: {problem}\n")
    finally:
        await home.stop()
        for program in reversed(running):
            await program.stop()
        watching.cancel()
    return 1


async def start(wanted: Sequence[Part], running: list[Running], held: IO[str]) -> list[int]:
    """Start the parts, add them to *running*, and return their ports. Raises `DidNotStart`."""
    *first, last = wanted
    for part in first:
        program = await Running.start(part, held)
        running.append(program)
    open_ports = await asyncio.gather(*(program.ready() for program in running))
    # The bridge asks the course for its lessons once, as it starts.
    bridge = await Running.start(last, held)
    running.append(bridge)
    return [*open_ports, await bridge.ready()]


async def _watch_parent(stop: asyncio.Event) -> None:
    """Stop when the shell of make is gone: make tells that shell to end, and not us."""
    while "MAKELEVEL" in os.environ and not stop.is_set():
        await asyncio.sleep(LOOK_S)
        if os.getppid() != PARENT:
            stop.set()


async def _unless(stop: asyncio.Event, work: "asyncio.Future[list[int]]") -> list[int] | None:
    """Return the result of *work*, or None if *stop* is set first."""
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


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[tuple[IO[str], IO[str]]]:
    """The locks of the one demo in *folder*: its own, and the one that its parts inherit.

    Raises `AlreadyRunning` beside another demo, or where the parts of an ended one do not end.
    """
    try:
        own = claim(folder, "")
    except AlreadyRunning:
        where = address_of(folder)
        at = f" at {where}" if where else ""
        raise AlreadyRunning(f"a demo already runs here{at}; end it first") from None
    with own:
        for attempt in range(round(STOP_S / LOOK_S)):
            try:
                held = claim(folder / "parts", "")
            except AlreadyRunning:
                if not attempt:
                    print("demo: the parts of the one before still end", flush=True)
                time.sleep(LOOK_S)
                continue
            with held:
                yield own, held
            return
        raise AlreadyRunning("parts of a demo that was killed still run; end them first")


def port_number(text: str) -> int:
    """Parse a port; raises the error that argparse shows."""
    if not text.isdecimal() or int(text) > HIGHEST_PORT:
        raise argparse.ArgumentTypeError(
            f"{text} is not a port; use 0 to {HIGHEST_PORT}, 0 for any"
        )
    return int(text)


def choose(wanted: Sequence[int]) -> list[int]:
    """A free port for each of *wanted*, no two the same; 0 is any.

    They are chosen here, not by the programs that listen on them, since one is told another's.
    """
    chosen: list[int] = []
    for index, port in enumerate(wanted):
        chosen.append(_free(port, {*chosen, *wanted[index + 1 :]} - {0}))
    return chosen


def _free(port: int, avoided: Collection[int]) -> int:
    """Return *port* if it is free, else another and a line that says so."""
    bound, why = _probe(port)
    why = "is meant for two" if port in avoided else why
    if not why:
        return bound
    nearby = range(port + 1, min(port + NEIGHBOURS, HIGHEST_PORT) + 1)
    usable = (other for other in nearby if other not in avoided and not _probe(other)[1])
    other = next(usable, None) or _probe(0)[0]
    sys.stderr.write(f"demo: port {port} {why}, using {other}\n")
    return other


def _probe(port: int) -> tuple[int, str]:
    """The port that was bound, and why none was; the second is empty where one was."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, ALONE, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            return 0, "is taken" if taken else f"cannot be used ({error.strerror})"
        return probe.getsockname()[1], ""


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line: who typed `make demo` knows none of the flags."""

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_USE, f"demo: {message}\n")


def main(argv: Sequence[str]) -> int:
    """Run the demo; return the exit code."""
    parser = _Parser(prog="python -m runtime.demo" if CHECKOUT else "paddock", description=__doc__)
    parser.add_argument("--home-port", type=port_number, default=8888)
    parser.add_argument("--course-port", type=port_number, default=8000)
    parser.add_argument("--llm-port", type=port_number, default=8080)
    parser.add_argument("--bridge-port", type=port_number, default=8765)
    parser.add_argument("--data-dir", type=Path, default=DATA, help=f"default: {DATA}")
    parser.add_argument("--no-search", action="store_true", help="do not bring the embedding model")
    parser.add_argument(
        "--share", action="store_true", help="let phones in the network watch what is shared"
    )
    chosen = parser.parse_args(argv)
    data: Path = chosen.data_dir.absolute()
    try:
        data.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        sys.stderr.write(f"demo: {data} cannot be used: {problem.strerror}\n")
        return 1
    try:
        with alone(data) as (lock, held):
            ports = choose(
                [chosen.home_port, chosen.course_port, chosen.llm_port, chosen.bridge_port]
            )
            print("demo: building the course, starting the servers", flush=True)
            work = run(data, ports, lock, held, search=not chosen.no_search, share=chosen.share)
            return asyncio.run(work)
    except AlreadyRunning as problem:
        sys.stderr.write(f"demo: {problem}\n")
        return 1
    except OSError as problem:
        sys.stderr.write(f"demo: {data} cannot be used: {problem.strerror}\n")
        return 1
    except KeyboardInterrupt:  # where the event loop takes no signal handlers
        return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
