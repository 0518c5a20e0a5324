"""Installs the wheel into empty environments, and runs the commands that it brings."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final
from urllib.request import Request, urlopen

import psutil

ROOT: Final = Path(__file__).resolve().parents[2]
UV: Final = str(ROOT / ".venv/tools/bin/uv") if (ROOT / ".venv/tools/bin/uv").exists() else "uv"
COMPILERS: Final = ("cc", "c++", "gcc", "g++", "clang", "clang++", "cmake", "ninja", "make")
READY: Final = re.compile(r'"event":"ready","port":(\d+)|the course is at http://[^/]*:(\d+)/')
MEASURED: Final[list[tuple[str, ...]]] = []
"""Rows of the table that the run ends with: what, packages, MB, processor seconds until ready."""


def environment(home: Path, **more: str) -> dict[str, str]:
    """That of a user who has nothing of this project, and keeps data in *home*."""
    ours = ("PYTHONPATH", "VIRTUAL_ENV", "BRIDGE_", "LLMSVC_", "MAKELEVEL", "PYTEST_", "UV_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**kept, "XDG_DATA_HOME": str(home), **more}


def pretend_compilers(folder: Path) -> Path:
    """Programs in the place of a compiler, which fail and leave a note that they were called."""
    folder.mkdir()
    for name in COMPILERS:
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "{name} $*" >> "{folder}/called"\nexit 1\n', "utf-8")
        program.chmod(0o755)
    return folder


def run(*words: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """The output of a command that must succeed."""
    command = [str(word) for word in words]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    run(UV, "build", "--wheel", "--quiet", "--out-dir", folder, ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


@dataclass
class Installed:
    """An environment with a part of Paddock."""

    folder: Path
    home: Path

    @classmethod
    def make(cls, folder: Path, wheel: Path, extras: str, *options: str, **env: str) -> "Installed":
        """A new environment in *folder*; *extras* such as ``[bridge]``."""
        run(UV, "venv", "--quiet", "--python", sys.executable, folder / "venv")
        made = cls(folder / "venv", folder / "home")
        install = (UV, "pip", "install", "--quiet", "--python", str(made.program("python")))
        wanted = f"paddock{extras} @ {wheel.as_uri()}"
        run(*install, *options, wanted, env={**os.environ, **env})
        return made

    def program(self, name: str) -> Path:
        """The path of a command."""
        return self.folder / ("Scripts" if os.name == "nt" else "bin") / name

    def run(self, name: str, *words: str | Path) -> str:
        """The output of a command that must succeed, started in an empty folder."""
        self.home.mkdir(exist_ok=True)
        return run(self.program(name), *words, cwd=self.home, env=environment(self.home))

    def packages(self) -> set[str]:
        """The names of what is installed."""
        listed = run(UV, "pip", "list", "--python", self.program("python"), "--format", "json")
        return {one["name"] for one in json.loads(listed)}

    def size_mb(self) -> float:
        """Of all packages on disk."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        return sum(path.lstat().st_size for path in files) / 1e6

    @contextmanager
    def started(self, name: str, *words: str | Path) -> Iterator["Program"]:
        """A command that serves, ready; it ends with Ctrl-C, in order, when the block ends."""
        self.home.mkdir(exist_ok=True)
        with (self.home / f"{name}.log").open("w") as log_file:
            process = subprocess.Popen(
                [str(self.program(name)), *(str(word) for word in words)],
                cwd=self.home,
                env=environment(self.home),
                stdout=subprocess.PIPE,
                stderr=log_file,
                text=True,
                start_new_session=True,
            )
        try:
            program = Program(process)
            yield program
            process.send_signal(signal.SIGINT)
            rest = process.communicate(timeout=60)[0]
            log = (self.home / f"{name}.log").read_text("utf-8")
            assert process.returncode == 0, f"{program.shown}{rest}{log}"
            assert "Traceback" not in log
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()


def processor_seconds(pid: int) -> float:
    """What a process and its children have computed so far."""
    parent = psutil.Process(pid)
    times = [one.cpu_times() for one in (parent, *parent.children(recursive=True))]
    return sum(one.user + one.system for one in times)


@dataclass
class Program:
    """A running command."""

    process: "subprocess.Popen[str]"
    shown: str = ""
    seconds: float = 0.0
    """Of processor time, until it was ready; its children's too."""

    def read_until(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """What it prints, up to the first match."""
        stream: IO[str] | None = self.process.stdout
        assert stream is not None
        while not (found := pattern.search(self.shown)):
            line = stream.readline()
            assert line, self.shown
            self.shown += line
        self.seconds = processor_seconds(self.process.pid)
        return found

    def address(self) -> str:
        """Where it answers, once it says so."""
        found = self.read_until(READY)
        return f"http://127.0.0.1:{found[1] or found[2]}"


def ask(address: str, body: Mapping[str, object] | None = None) -> Any:
    """The JSON that a server answers."""
    data = None if body is None else json.dumps(body).encode()
    with urlopen(Request(address, data)) as answer:
        assert answer.status in (200, 201)
        return json.load(answer)
