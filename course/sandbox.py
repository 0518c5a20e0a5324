"""The child that runs the programs of one lesson, or the tests of a project.

It is started by `course.execution`, for tests with the argument ``tests``, and then runs those
of ``../tests`` beside the files of its folder; they may start other processes.

Reads ``[[name, source], …]`` from its input, runs them one after the other in one namespace, as
a notebook does, and writes ``[{"printed": …}, …]``; the last one has an ``error`` when it failed.
A program may use processor time, memory and its own folder, within limits; no network, no other
process, and no file elsewhere. This keeps a mistake from doing harm; a program that wants to get
out can: what strangers have written is run in a container or a virtual machine.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
import traceback
from typing import Any

CPU_S = 20
MEMORY_BYTES = 2 << 30
FILE_BYTES = 16 << 20
PRINTED = 1 << 20  # characters of one program that are handed back
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000  # of Linux: flags of unshare
_REFUSED = (
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "socket.sendmsg"),
    *("subprocess.Popen", "os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn"),
    *("os.spawn", "os.kill", "os.killpg", "pty.spawn", "ctypes.dlopen", "signal.pthread_kill"),
)
_CHANGES = (
    *("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.chmod"),
    *("os.chown", "os.truncate", "os.utime", "sqlite3.connect"),
)
_FRAME = re.compile(r'File ".*/tests/(.+)", line ([0-9]+)')
_TWO_PLACES = ("os.rename", "os.link", "os.symlink")


def limit() -> None:
    """Bound processor time, memory and files, and leave the network, where the system can."""
    if sys.platform == "win32":
        return
    import ctypes
    import resource

    if sys.platform == "linux":
        ctypes.CDLL(None).unshare(_NEW_USER | _NEW_NETWORK)
    for kind, most in (
        (resource.RLIMIT_CPU, CPU_S),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):  # a lower limit is set already
            resource.setrlimit(kind, (most, most))


def watch(folder: str) -> None:
    """Refuse from here on what a program of a lesson has no business with."""

    def is_own(path: Any) -> bool:
        if isinstance(path, int):
            return True
        full = os.path.realpath(os.fsdecode(path))
        return full == os.devnull or full.startswith(folder + os.sep)

    def check(event: str, args: tuple[Any, ...]) -> None:
        if event in _REFUSED:
            raise PermissionError(f"a program of a lesson must not use {event}")
        writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        opened = event == "open" and args[0] is not None and (args[2] or 0) & writes
        if not (opened or event in _CHANGES):
            return
        for place in args[: 2 if event in _TWO_PLACES else 1]:
            if not is_own(place):
                raise PermissionError(
                    f"a program of a lesson writes into its own folder, not {place}"
                )

    sys.addaudithook(check)


class Printed(io.StringIO):
    """The output of a program, up to a limit."""

    def write(self, text: str) -> int:
        """Raises RuntimeError for a program that does not stop."""
        if self.tell() > PRINTED:
            raise RuntimeError(f"the program prints more than {PRINTED:,} characters")
        return super().write(text)


def fault(name: str) -> dict[str, Any]:
    """The present error, and the line of the program *name* in which it came up."""
    error = sys.exc_info()[1]
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    lines = [frame.lineno for frame in frames if frame.filename == name]
    number = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else None
    line = number if isinstance(number, int) else None
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001  (an error may be unable to say what it is)
        text = type(error).__name__
    return {"error": text, "line": line or (lines or [1])[-1]}


def run(programs: list[list[str]]) -> list[dict[str, Any]]:
    """Run *programs* up to the first that fails; return the output of each."""
    space: dict[str, Any] = {"__name__": "__main__"}
    results: list[dict[str, Any]] = []
    for name, source in programs:
        output = Printed()
        failed: dict[str, Any] = {}
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
            try:
                exec(compile(source, name, "exec"), space)  # noqa: S102  (this is what it is for)
            except BaseException:  # noqa: BLE001  (a program may raise anything)
                failed = fault(name)
        results.append({"printed": output.getvalue()[:PRINTED], **failed})
        if failed:
            break
    return results


def test() -> list[dict[str, Any]]:
    """How many tests ran, then for each that failed its name, its last words and its lines."""
    import unittest

    sys.path.insert(0, os.path.realpath("."))  # where the files are that the tests import
    result = unittest.TestResult()
    unittest.defaultTestLoader.discover("../tests").run(result)
    failed = [
        {"test": case.id(), "error": text.strip().splitlines()[-1], "lines": _FRAME.findall(text)}
        for case, text in [*result.errors, *result.failures]
    ]
    return [{"ran": result.testsRun}, *failed]


def main() -> None:
    """Run what the input holds; the answer goes where no program can print."""
    programs = json.load(sys.stdin)
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    limit()
    if sys.argv[1:] == ["tests"]:
        json.dump(test(), answer)
    else:
        watch(os.path.realpath("."))
        json.dump(run(programs), answer)
    answer.flush()
    os._exit(0)  # no thread, handler or finaliser of a program runs on


if __name__ == "__main__":
    main()
