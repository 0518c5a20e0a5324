"""Runs a program many times from a process that has loaded it: ``forker.py MODULE PRELOADED…``.

Each line of JSON on standard input, a list of arguments, has ``MODULE.main`` called with it in a
fork. Its process id is printed before its own output, and ``ended`` behind all of it.
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
ENDED: Final = "ended\n"


def command(*modules: str) -> list[str]:
    """What starts this program for the first of *modules*; the others are loaded too."""
    return [sys.executable, "-m", "tests.forker", *modules]


class Forker:
    """Such a process, for a test that waits for each program."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout

    def start(self, arguments: Sequence[str]) -> int:
        """The process id of the program."""
        self._stdin.write(json.dumps(arguments) + "\n")
        self._stdin.flush()
        return int(self._stdout.readline())

    def wait(self) -> None:
        """Until the program has ended."""
        while self._stdout.readline() not in (ENDED, ""):
            pass


@contextmanager
def forking(*modules: str) -> Iterator[Forker]:
    """A process that has loaded *modules*."""
    with subprocess.Popen(
        command(*modules), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield Forker(process)


def main(name: str, *others: str) -> None:
    """Fork for each line until there are no more."""
    module = importlib.import_module(name)
    for other in others:
        importlib.import_module(other)
    for line in sys.stdin:
        receive, send = os.pipe()
        pid = os.fork()
        if not pid:
            code = 1
            try:
                os.read(receive, 1)
                code = module.main(json.loads(line)) or 0
                sys.stdout.flush()
            finally:
                os._exit(code)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
        os.write(send, b"!")
        os.close(send)
        os.close(receive)
        os.waitpid(pid, 0)
        sys.stdout.write(ENDED)
        sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
