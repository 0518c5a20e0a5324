"""From messages to a prompt: plain ChatML here, any other chat template in a process of its own.

A chat template of a model file is untrusted code. Jinja's sandbox keeps it from the system, not
from endless loops or huge strings. In a child process the kernel ends both: an alarm whose default
action is the end of the process, and a cap on memory. A message is a four-byte length and JSON.
"""

import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import Final, NamedTuple, Protocol

import orjson

from runtime.llm.engine.worker.quoting import Pairs

CHATML: Final = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The template of files that have none."""

TIME_LIMIT_S: Final = 3.0
MEMORY_LIMIT: Final = 768 * 1024 * 1024
GRACE_S: Final = 5.0
"""For the start of the child on a busy machine, and for the pipes."""
_ANSWER_LIMIT: Final = 128 * 1024 * 1024
_TOO_MUCH: Final = "it takes too much time or memory"
_ROOT: Final = Path(__file__).resolve().parents[4]


class TemplateBroken(Exception):
    """The template does not compile; the text says why."""


class TemplateFailed(Exception):
    """The template cannot render these messages; the text is for a client."""


def refused(words: str) -> TemplateFailed:
    """The template itself raised an error over the messages, in its own *words*."""
    return TemplateFailed(f"the model's chat template refused these messages: {words}")


def unrenderable(why: str) -> TemplateFailed:
    """The fault lies in the template, or in what it needs."""
    return TemplateFailed(f"the model's chat template cannot be rendered: {why}")


class Rendering(NamedTuple):
    """A prompt, and how it goes on behind the last reply."""

    text: str
    after: str | None
    """What follows the content of the last assistant turn; None: it cannot be told apart."""


class Prompter(Protocol):
    """Turns messages into a prompt."""

    def render(self, messages: Pairs) -> Rendering:
        """The prompt up to where the reply begins; raises TemplateFailed."""
        ...


def is_chatml(source: str) -> bool:
    """Whether a template is, up to spelling, the plain ChatML one."""
    plain = source.strip().replace("m['role']", "m.role").replace("m['content']", "m.content")
    return plain == CHATML


class Chatml:
    """Plain ChatML, without a template engine."""

    def render(self, messages: Pairs) -> Rendering:
        """The prompt up to where the reply begins."""
        turns = [f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in messages]
        start = "<|im_start|>assistant\n"
        asked = any(role == "user" for role, _ in messages[:-1])
        return Rendering(
            "".join(turns) + start, f"<|im_end|>\n{turns[-1]}{start}" if asked else None
        )


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
        self._socket = socket.socket()
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
        until = time.monotonic() + 2 * self._time_limit_s + GRACE_S
        child = self._child or self._start()
        self._child = child
        try:
            if not self._is_set_up:
                setup = [self._source, *self._specials, str(self._time_limit_s)]
                if broken := orjson.loads(self._exchange(orjson.dumps(setup), until)):
                    raise TemplateBroken(broken)
                self._is_set_up = True
            return b"" if question is None else self._exchange(question, until)
        except TemplateBroken:
            self.close()
            raise
        except _Gone as error:
            self.close()
            if child.returncode == -signal.SIGALRM:  # its own limit: a second try would meet it too
                raise _OutOfTime from error
            raise

    def _exchange(self, question: bytes, until: float) -> bytes:
        """Send a message and receive one; raises _Gone where that does not work out in time."""
        try:
            self._socket.settimeout(max(0.01, until - time.monotonic()))
            self._socket.sendall(struct.pack("<I", len(question)) + question)
            size = struct.unpack("<I", self._receive(4, until))[0]
            return self._receive(size, until)
        except OSError as error:
            raise _Gone from error

    def _receive(self, size: int, until: float) -> bytes:
        if size > _ANSWER_LIMIT:
            raise _Gone
        data = bytearray()
        while len(data) < size:
            self._socket.settimeout(max(0.01, until - time.monotonic()))
            part = self._socket.recv(min(size - len(data), 1 << 20))
            if not part:
                raise _Gone
            data += part
        return bytes(data)

    def _start(self) -> subprocess.Popen[bytes]:
        self._socket.close()
        self._socket, theirs = socket.socketpair()
        with theirs:
            child = subprocess.Popen(
                [sys.executable, "-m", "runtime.llm.engine.worker.template"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                env={"PYTHONPATH": str(_ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
                cwd=_ROOT,
            )
        self._is_set_up = False
        return child

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is not None:
            self._socket.close()
            child.kill()
            child.wait()
