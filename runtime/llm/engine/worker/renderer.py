"""Keeps the chat template in a process of its own, so that a hostile one meets real limits.

Jinja's sandbox keeps a template from the system, not from endless loops or huge strings. There the
kernel ends both: an alarm whose default action is the end of the process, and a cap on memory.
A message is a four-byte length and JSON.
"""

import contextlib
import os
import select
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import orjson

from runtime.llm.engine.worker.prompts import (
    Pairs,
    Rendering,
    TemplateBroken,
    TemplateFailed,
    unrenderable,
)

TIME_LIMIT_S: Final = 3.0
MEMORY_LIMIT: Final = 768 * 1024 * 1024
_ANSWER_LIMIT: Final = 128 * 1024 * 1024
_GRACE_S: Final = 5.0  # for a start on a busy machine, and for the pipes
_TOO_MUCH: Final = "it takes too much time or memory"
_ROOT: Final = Path(__file__).resolve().parents[4]


class _Gone(Exception):
    """The process ended, or does not answer."""


class _OutOfTime(Exception):
    """The process reached its time limit."""


class Renderer:
    """Renders by a child process, which is started again after it ended.

    The process starts at once, so that its start overlaps with the load of the weights.
    """

    def __init__(self, source: str, time_limit_s: float = TIME_LIMIT_S) -> None:
        self._time_limit_s = time_limit_s
        self._source = source
        self._specials = ("", "")
        self._is_set_up = False
        self._child: subprocess.Popen[bytes] | None = self._start()

    def compile(self, bos: str, eos: str) -> None:
        """Compile with the texts of the begin and end tokens; raises TemplateBroken."""
        self._specials = (bos, eos)
        try:
            self._insist(None)
        except (_Gone, _OutOfTime) as error:
            raise TemplateBroken(_TOO_MUCH) from error

    def render(self, messages: Pairs) -> Rendering:
        """The prompt up to where the reply begins; raises TemplateFailed."""
        try:
            answer = orjson.loads(self._insist(orjson.dumps(messages)))
        except (_Gone, _OutOfTime) as error:
            raise unrenderable(_TOO_MUCH) from error
        except TemplateBroken as error:
            raise unrenderable(str(error)) from error
        if isinstance(answer, str):
            raise TemplateFailed(answer)
        text, after = answer
        return Rendering(text, after)

    def _insist(self, question: bytes | None) -> bytes:
        """Ask, and once more if the process ended: something else may have ended it."""
        try:
            return self._ask(question)
        except _Gone:
            return self._ask(question)

    def _ask(self, question: bytes | None) -> bytes:
        until = time.monotonic() + 2 * self._time_limit_s + _GRACE_S
        child = self._child or self._start()
        self._child = child
        try:
            if not self._is_set_up:
                self._set_up(child, until)
            return b"" if question is None else _exchange(child, question, until)
        except TemplateBroken:
            self.close()
            raise
        except _Gone as error:
            self.close()
            if child.returncode == -signal.SIGALRM:  # its own limit: a second try would meet it too
                raise _OutOfTime from error
            raise

    def _set_up(self, child: subprocess.Popen[bytes], until: float) -> None:
        setup = [self._source, *self._specials, str(self._time_limit_s)]
        if broken := orjson.loads(_exchange(child, orjson.dumps(setup), until)):
            raise TemplateBroken(broken)
        self._is_set_up = True

    def _start(self) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            [sys.executable, "-m", "runtime.llm.engine.worker.render_child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": str(_ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
            cwd=_ROOT,
        )
        assert child.stdin is not None
        assert child.stdout is not None
        os.set_blocking(child.stdin.fileno(), False)
        os.set_blocking(child.stdout.fileno(), False)
        self._is_set_up = False
        return child

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        child.wait()
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def _frame(body: bytes) -> bytes:
    return struct.pack("<I", len(body)) + body


def _exchange(child: subprocess.Popen[bytes], question: bytes, until: float) -> bytes:
    _write(child, _frame(question), until)
    size = struct.unpack("<I", _read(child, 4, until))[0]
    if size > _ANSWER_LIMIT:
        raise _Gone
    return _read(child, size, until)


def _wait(fd: int, *, to_write: bool, until: float) -> None:
    left = max(0.0, until - time.monotonic())
    reads, writes = ([], [fd]) if to_write else ([fd], [])
    if not any(select.select(reads, writes, [], left)):
        raise _Gone


def _write(child: subprocess.Popen[bytes], data: bytes, until: float) -> None:
    assert child.stdin is not None
    fd = child.stdin.fileno()
    view = memoryview(data)
    while view:
        _wait(fd, to_write=True, until=until)
        try:
            view = view[os.write(fd, view) :]
        except OSError as error:
            raise _Gone from error


def _read(child: subprocess.Popen[bytes], size: int, until: float) -> bytes:
    assert child.stdout is not None
    fd = child.stdout.fileno()
    parts: list[bytes] = []
    while size:
        _wait(fd, to_write=False, until=until)
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            raise _Gone
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
