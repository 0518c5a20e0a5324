"""Keeps the chat template in a process of its own, so that a hostile one meets real limits.

Jinja's sandbox keeps a template from the system, not from endless loops or huge strings. There the
kernel ends both: an alarm whose default action is the end of the process, and a cap on memory.
A message is a four-byte length and JSON.
"""

import contextlib
import os
import select
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import orjson

from runtime.llm.engine.worker.prompts import Pairs, Rendering, TemplateFailed

TIME_LIMIT_S: Final = 3.0
MEMORY_LIMIT: Final = 768 * 1024 * 1024
_ANSWER_LIMIT: Final = 128 * 1024 * 1024
_GRACE_S: Final = 5.0  # for a start on a busy machine, and for the pipes
_ROOT: Final = Path(__file__).resolve().parents[4]


class _Gone(Exception):
    """The process ended, or does not answer."""


class Renderer:
    """Renders by a child process, which is started again after it had to be ended.

    The process starts at once, so that its start overlaps with the load of the weights.
    """

    def __init__(self, source: str, time_limit_s: float = TIME_LIMIT_S) -> None:
        self._time_limit_s = time_limit_s
        self._source = source
        self._specials = ("", "")
        self._is_set_up = False
        self._has_worked = False
        self._failures = 0
        self._child: subprocess.Popen[bytes] | None = self._start()

    def set_special_texts(self, bos: str, eos: str) -> None:
        """Texts of the begin and end tokens; before the first prompt."""
        self._specials = (bos, eos)

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

    def render(self, messages: Pairs) -> Rendering:
        """The prompt up to where the reply begins; raises TemplateFailed."""
        try:
            if not self._has_worked and self._failures > 1:
                raise _Gone  # it does not even compile: no more time for it
            answer = orjson.loads(self._ask(orjson.dumps(messages)))
        except _Gone as error:
            self._failures += 1
            self.close()
            raise TemplateFailed("template: it takes too much time or memory") from error
        self._has_worked = True
        if isinstance(answer, str):
            raise TemplateFailed(answer)
        text, after = answer
        return Rendering(text, after)

    def _ask(self, question: bytes) -> bytes:
        until = time.monotonic() + 2 * self._time_limit_s + _GRACE_S
        if self._child is None:
            self._child = self._start()
        if not self._is_set_up:
            setup = [self._source, *self._specials, str(self._time_limit_s)]
            _write(self._child, _frame(orjson.dumps(setup)), until)
            self._is_set_up = True
        _write(self._child, _frame(question), until)
        size = struct.unpack("<I", _read(self._child, 4, until))[0]
        if size > _ANSWER_LIMIT:
            raise _Gone
        return _read(self._child, size, until)

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
