"""Starts and stops the servers that are compared, and reads their processor time and memory."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

import psutil

from bench.llm_client import Ask, Message, Meter, get

ROOT: Final = Path(__file__).resolve().parent.parent
START_LIMIT_S: Final = 60.0
STOP_LIMIT_S: Final = 5.0
LOOK_S: Final = 0.002


Note = Callable[[str], None]
"""Takes a line about what is going on or went wrong."""


class Launch(NamedTuple):
    """What a server is started with."""

    model: Path
    port: int
    folder: Path
    threads: int


class Kind(NamedTuple):
    """A server with one set of settings."""

    name: str
    command: Callable[[Launch], list[str]]
    settings: Sequence[str] = ()
    """Further words of the command; ``{threads}`` stands for their number."""
    environment: Mapping[str, str] = MappingProxyType({})
    health: str = "/health"
    limit_field: str = "max_completion_tokens"
    keeps_by_name: bool = False
    """Whether a conversation is kept under a ``session_id``."""
    tuned: bool = True
    """Whether it runs with the settings that are the same for all."""


class Memory(NamedTuple):
    """Megabytes of a process tree: resident, and with shared pages counted once."""

    resident: float
    proportional: float


class Server:
    """A running server; `stop` ends its whole tree."""

    def __init__(self, kind: Kind, launch: Launch) -> None:
        self.kind = kind
        self.port = launch.port
        self.model = launch.model.stem
        self.log = launch.folder / "server.log"
        self.started = time.perf_counter()
        with self.log.open("wb") as output:
            self._process = subprocess.Popen(
                _command(kind, launch),
                cwd=ROOT,
                env=_environment(kind.environment),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def wait_ready(self) -> float:
        """Seconds from the start to the first answer of the health route."""
        while time.perf_counter() - self.started < START_LIMIT_S:
            if self._process.poll() is not None:
                break
            with contextlib.suppress(OSError):
                if get(self.port, self.kind.health)[0] == 200:
                    return time.perf_counter() - self.started
            time.sleep(LOOK_S)
        tail = self.log.read_text(errors="replace")[-600:]
        raise RuntimeError(f"{self.kind.name} did not start ({self.state}):\n{tail}")

    def ask(self, messages: Sequence[Message], tokens: int, session: str | None = None) -> Ask:
        """A request in the words of this server."""
        named = session if self.kind.keeps_by_name else None
        return Ask(self.model, messages, tokens, named, self.kind.limit_field)

    @property
    def state(self) -> str:
        """Whether it runs, or how it ended."""
        code = self._process.poll()
        if code is None:
            return "running"
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"

    def meter(self) -> Meter:
        """Reads the processor time of the processes that the tree has now."""
        processes = self.tree()
        return lambda: sum(_cpu_s(process) for process in processes)

    def memory(self) -> Memory:
        """Memory of the tree."""
        resident = proportional = 0.0
        for process in self.tree():
            with contextlib.suppress(psutil.Error):
                info = process.memory_full_info()
                resident += info.rss / 1e6
                proportional += getattr(info, "pss", info.rss) / 1e6
        return Memory(resident, proportional)

    def stop(self, patience_s: float = STOP_LIMIT_S) -> None:
        """Ask it to stop, and end what is left of its tree after that time."""
        tree = self.tree()
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(patience_s)
        for process in tree:
            with contextlib.suppress(psutil.Error):
                process.kill()
        self._process.wait()
        psutil.wait_procs(tree, STOP_LIMIT_S)

    def tree(self) -> list[psutil.Process]:
        """The server's process and all below it; empty once it has ended."""
        try:
            first = psutil.Process(self._process.pid)
            return [first, *first.children(recursive=True)]
        except psutil.Error:
            return []


@contextlib.contextmanager
def running(
    kinds: Sequence[Kind], model: Path, folder: Callable[[Kind], Path], threads: int, note: Note
) -> Iterator[list[Server]]:
    """Servers that start side by side, stopped whatever happens; a note for one that does not."""
    with contextlib.ExitStack() as stack:
        started: list[Server] = []
        for kind in kinds:
            server = Server(kind, Launch(model, free_port(), folder(kind), threads))
            stack.callback(server.stop)
            started.append(server)
        ready: list[Server] = []
        for server in started:
            try:
                server.wait_ready()
                ready.append(server)
            except RuntimeError as error:
                note(str(error))
        yield ready


def free_port() -> int:
    """A port of the loopback address that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _cpu_s(process: psutil.Process) -> float:
    """Processor time of one process, in nanoseconds where the system has a clock of it."""
    with contextlib.suppress(OSError, AttributeError):
        return time.clock_gettime((~process.pid << 3) | 2)  # Linux: CLOCK of a process
    with contextlib.suppress(psutil.Error):
        times = process.cpu_times()
        return float(times.user + times.system)
    return 0.0


def _command(kind: Kind, launch: Launch) -> list[str]:
    settings = [word.replace("{threads}", str(launch.threads)) for word in kind.settings]
    return [*_dying_with_us(), *kind.command(launch), *settings]


def _dying_with_us() -> list[str]:
    """Words before a command that end it when the bench is killed; none where there is no such."""
    found = shutil.which("setpriv")
    return [found, "--pdeathsig", "KILL", "--"] if found else []


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Ours without what would change a server: settings, thread policies, compiled modules off."""
    dropped = ("LLMSVC", "OMP_", "GOMP_", "LLAMA_", "GGML_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, **extra}
