"""Starts the processes that are compared, talks with them in JSON lines, reads their memory."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final, Self, cast

import psutil

ROOT: Final = Path(__file__).resolve().parent.parent
LIMIT_S: Final = 600.0
STOP_S: Final = 10.0
ONE_THREAD: Final = {"OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
OFFLINE: Final = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"}


class Failed(Exception):
    """A process ended, was silent for too long, or said what it should not."""


class Child:
    """A process that answers each command with one line; leaving the block ends it."""

    def __init__(
        self,
        module: str,
        *words: str,
        log: Path,
        python: Path | None = None,
        limit_s: float = LIMIT_S,
    ) -> None:
        self._log = log
        self._limit_s = limit_s
        self._name = words[0] if words else module
        self.started = time.perf_counter()
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                [str(python or sys.executable), "-m", module, *words],
                cwd=ROOT,
                env={**_environment(), **ONE_THREAD, **OFFLINE},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                encoding="utf-8",
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        with contextlib.suppress(OSError):
            self._pipes()[0].close()  # the end of its input ends it
        self._end()
        self._pipes()[1].close()

    def ask(self, do: str, **fields: object) -> "Answer":
        """The answer to a command; raises `Failed`."""
        orders, answers = self._pipes()
        alarm = threading.Timer(self._limit_s, self._process.kill)
        alarm.daemon = True
        alarm.start()
        try:
            orders.write(json.dumps({"do": do, **fields}) + "\n")
            orders.flush()
            line = answers.readline()
        except (OSError, ValueError):  # it has ended, or the block has
            line = ""
        finally:
            alarm.cancel()
        if not line:
            code = self._end()
            tail = self._log.read_text("utf-8", "replace")[-800:]
            raise Failed(f"{self._name} did not answer to {do} (exit status {code}):\n{tail}")
        return Answer(json.loads(line))

    def memory_mb(self) -> float:
        """Resident memory now."""
        return float(psutil.Process(self._process.pid).memory_info().rss) / 1e6

    def _end(self) -> int:
        """Wait for the process to end, and end it where that takes too long; how it ended."""
        try:
            return self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout


class Answer:
    """What a child said, read with the types that are expected."""

    def __init__(self, fields: dict[str, object]) -> None:
        self._fields = fields

    def number(self, name: str) -> float:
        """A number; raises `Failed`."""
        value = self._fields.get(name)
        if not isinstance(value, int | float):
            raise Failed(f"no number {name} in an answer")
        return float(value)

    def text(self, name: str) -> str:
        """A text; raises `Failed`."""
        value = self._fields.get(name)
        if not isinstance(value, str):
            raise Failed(f"no text {name} in an answer")
        return value

    def numbers(self, name: str) -> list[float]:
        """A list of numbers; raises `Failed`."""
        return cast("list[float]", self._list(name))

    def lists(self, name: str) -> list[list[int]]:
        """Lists of whole numbers; raises `Failed`."""
        return cast("list[list[int]]", self._list(name))

    def _list(self, name: str) -> list[object]:
        value = self._fields.get(name)
        if not isinstance(value, list):
            raise Failed(f"no list {name} in an answer")
        return value


@contextlib.contextmanager
def several(children: dict[str, Child]) -> Iterator[dict[str, Child]]:
    """Children that all end with the block."""
    with contextlib.ExitStack() as stack:
        for child in children.values():
            stack.enter_context(child)
        yield children


def _environment() -> dict[str, str]:
    """Ours without what would change a process: settings, thread policies, compiled modules off."""
    dropped = ("LLMSVC", "OMP_", "GOMP_", "MKL_", "OPENBLAS_", "PYTHONDONTWRITEBYTECODE")
    return {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
