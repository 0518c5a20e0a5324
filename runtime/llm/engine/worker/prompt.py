"""From messages to tokens of a prompt: quote control markers, render the template, tokenize.

Plain ChatML is rendered here, any other chat template in a child process. The chat template of a
model file is untrusted code. Jinja's sandbox protects the system, but not from endless loops or
huge strings. In a child process, a watchdog that needs no interpreter ends the former, and a memory
limit the latter. A message to the child is a four-byte length and JSON.
"""

import contextlib
import os
import re
import secrets
import struct
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from runtime.llm.engine.worker.conversations import Part, Parts
from runtime.llm.messages import (
    ChatMessage,
    ToolOffer,
)

if TYPE_CHECKING:  # the process of a template imports no engine
    from runtime.llm.engine.worker import native

_OPEN, _SHUT = "\uf8f1", "\uf8f2"  # private use area: no template strips or changes them

CHATML: Final = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The template for files without one."""

TIME_LIMIT_S: Final = 3.0
MEMORY_LIMIT: Final = 768 * 1024 * 1024
_TOO_MUCH: Final = "it needs too much time or memory"
COMMAND: Final = (sys.executable, "-m", "runtime.llm.engine.worker.template")
OVERDUE: Final = 1
"""Exit status of a process that exceeded its time limit."""
_NEEDED: Final = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
"""Windows starts no program without this variable."""
_ROOT: Final = Path(__file__).resolve().parents[4]


class Script(NamedTuple):
    """The input of a chat template."""

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolOffer] = ()
    options: Mapping[str, object] = {}
    """Extra variables."""


# --- quoting: control markers in people's texts are ordinary text

_OURS: Final = ("role", "type")
"""Keys of a message or tool whose values come from the server."""
_JSON: Final = ("arguments", "parameters")
"""Keys whose values are JSON written by a model or client."""


class Quoted(NamedTuple):
    """A script that is safe to render, and the way to restore its markers."""

    script: Script
    markers: Sequence[str]
    """The replaced markers, in the order of their numbers."""
    stand_in: str
    """Start of every stand-in, before its number and end."""

    def split(self, text: str) -> Parts:
        """Split a *text* rendered from the script into parts, with its markers quoted."""
        if not self.markers:
            return (Part(text, quoted=False),)
        pieces = re.split(f"{self.stand_in}([0-9]{{1,9}}){_SHUT}", text)
        parts = [Part(part, quoted=False) for part in pieces]
        for at in range(1, len(pieces), 2):
            number = int(pieces[at])
            is_valid = number < len(self.markers)
            parts[at] = Part(self.markers[number] if is_valid else pieces[at], quoted=True)
        return join_parts(parts)


class Quoter:
    """Finds the control markers of a vocabulary in people's texts, the longest first."""

    def __init__(self, markers: Iterable[str]) -> None:
        texts = sorted(filter(None, markers), key=len, reverse=True)
        self._marker: Final = re.compile("|".join(map(re.escape, texts))) if texts else None

    def quote(self, script: Script) -> Quoted:
        """Replace each marker by a stand-in, which templates treat like any word.

        A script without markers is unchanged.
        """
        pattern = self._marker
        if pattern is None:
            return Quoted(script, (), "")
        numbers: dict[str, int] = {}
        stand_in = f"{_OPEN}{secrets.randbelow(10**9)}{_OPEN}"  # does not occur in a text by chance

        def replace(match: re.Match[str]) -> str:
            return f"{stand_in}{numbers.setdefault(match[0], len(numbers))}{_SHUT}"

        safe = change_texts(script, lambda text: pattern.sub(replace, text))
        return Quoted(safe, list(numbers), stand_in) if numbers else Quoted(script, (), "")

    def split(self, text: str) -> Parts:
        """Split a message's text into parts, with its markers quoted."""
        quoted = self.quote(Script([{"role": "user", "content": text}]))
        return quoted.split(quoted.script.messages[0]["content"]) if text else ()


def change_texts(script: Script, change: Callable[[str], str]) -> Script:
    """Apply *change* to every text written by people or models, also within JSON values."""

    def apply(value: object, *, is_theirs: bool = True) -> Any:
        """*is_theirs*: the keys are texts of people too, not those of `runtime.llm.messages`."""
        match value:
            case str():
                return change(value)
            case list():
                return [apply(item, is_theirs=is_theirs) for item in value]
            case dict() if is_theirs:
                return {change(key): apply(item) for key, item in value.items()}
            case dict():
                return {
                    key: item if key in _OURS else apply(item, is_theirs=key in _JSON)
                    for key, item in value.items()
                }
        return value

    return Script(
        apply(list(script.messages), is_theirs=False),
        apply(list(script.tools), is_theirs=False),
        {name: apply(option) for name, option in script.options.items()},
    )


def join_parts(parts: Iterable[Part]) -> Parts:
    """Drop empty parts and join neighbours of a kind, so that they are tokenized together."""
    kinds = groupby((part for part in parts if part.text), key=lambda part: part.quoted)
    return tuple(Part("".join(part.text for part in same), quoted=quoted) for quoted, same in kinds)


def tokenize_parts(model: "native.Model", parts: Parts, *, whole: bool = False) -> list[int]:
    """Tokenize a prompt or a piece of it; *whole* adds the begin token if required."""
    tokens: list[int] = []
    if parts and parts[0].quoted:
        tokens, whole = model.tokenize("", whole=whole), False
    for at, part in enumerate(parts):
        if part.quoted:
            tokens += model.tokenize_quoted(part.text)
        else:
            tokens += model.tokenize(part.text, whole=whole and not at)
    return tokens


# --- rendering


class TemplateBroken(Exception):
    """The template does not compile; the text says why."""


class TemplateFailed(Exception):
    """The template cannot render these messages; the text is for a client."""


def blame_messages(words: str) -> TemplateFailed:
    """The error if the template itself rejected the messages, in its own *words*."""
    return TemplateFailed(f"the model's chat template rejected these messages: {words}")


def blame_template(why: str) -> TemplateFailed:
    """The error if the template or its requirements are at fault."""
    return TemplateFailed(f"the model's chat template cannot be rendered: {why}")


class Rendering(NamedTuple):
    """A prompt, and its part after the last reply."""

    text: str
    after: str | None
    """The text after the last assistant turn's content; None if it cannot be determined."""


def is_chatml(source: str) -> bool:
    """Whether a template is plain ChatML, apart from spelling."""
    plain = source.strip().replace("m['role']", "m.role").replace("m['content']", "m.content")
    return plain == CHATML


class Turns(NamedTuple):
    """A conversation format that needs no template engine."""

    begin: Callable[[str], str]
    """Returns the beginning of a turn of a role."""
    end: str

    def render(self, script: Script) -> Rendering:
        """Render the prompt up to the beginning of the reply."""
        messages = script.messages
        turns = [f"{self.begin(turn['role'])}{turn['content']}{self.end}" for turn in messages]
        start = self.begin("assistant")
        goes_on = any(message["role"] == "user" for message in messages[:-1])
        after = f"{self.end}{turns[-1]}{start}" if goes_on else None
        return Rendering("".join(turns) + start, after)


CHATML_TURNS: Final = Turns(lambda role: f"<|im_start|>{role}\n", "<|im_end|>\n")
"""Plain ChatML."""
TRANSCRIPT: Final = Turns(lambda role: f"{role.capitalize()}:\n", "\n\n")
"""For a base model: plain text with the speakers, which it can continue."""
TRANSCRIPT_STOP: Final = "\n\nUser:"
"""Text with which the model would start to speak for the user."""


class _Gone(Exception):
    """The process ended; *in_time*: not by its time limit, so a retry may succeed."""

    def __init__(self, *, in_time: bool) -> None:
        super().__init__()
        self.in_time = in_time


class Renderer:
    """Renders in a child process, which is restarted after it ends.

    The process starts at once, in parallel with the loading of the weights.
    """

    def __init__(self, source: str, time_limit_s: float = TIME_LIMIT_S) -> None:
        self._time_limit_s = time_limit_s
        self._source = source
        self._specials = ("", "")
        self._is_set_up = False
        self._child: subprocess.Popen[bytes] | None = self._start()

    def compile(self, bos: str, eos: str) -> None:
        """Compile with the texts of the begin and end tokens. Raises TemplateBroken."""
        self._specials = (bos, eos)
        try:
            self._ask_twice(None)
        except _Gone as error:
            raise TemplateBroken(_TOO_MUCH) from error

    def render(self, script: Script) -> Rendering:
        """Render the prompt up to the beginning of the reply. Raises TemplateFailed."""
        try:
            answer = self._ask_twice(script)
        except _Gone as error:
            raise blame_template(_TOO_MUCH) from error
        except TemplateBroken as error:
            raise blame_template(str(error)) from error
        if isinstance(answer, str):
            raise TemplateFailed(answer)
        return Rendering(*answer)

    def close(self) -> None:
        """End the process."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            for stream in (child.stdin, child.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            child.wait()

    def _ask_twice(self, script: Script | None) -> Any:
        """Ask the process; retry once unless its time limit ended it."""
        try:
            return self._ask(script)
        except _Gone as error:
            if not error.in_time:
                raise
            return self._ask(script)

    def _ask(self, script: Script | None) -> Any:
        """Return the answer of the process, which exits if it exceeds its time limit."""
        child = self._child or self._start()
        try:
            if not self._is_set_up:
                setup = [self._source, *self._specials, self._time_limit_s]
                if broken := _exchange(child, setup):
                    raise TemplateBroken(broken)
                self._is_set_up = True
            return None if script is None else _exchange(child, list(script))
        except (OSError, EOFError) as error:
            self.close()
            raise _Gone(in_time=child.returncode != OVERDUE) from error
        except TemplateBroken:
            self.close()
            raise

    def _start(self) -> subprocess.Popen[bytes]:
        self._is_set_up = False
        self._child = subprocess.Popen(
            COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"PYTHONPATH": str(_ROOT), "PYTHONDONTWRITEBYTECODE": "1", **_NEEDED},
            cwd=_ROOT,
        )
        return self._child


def _exchange(child: subprocess.Popen[bytes], question: object) -> Any:
    assert child.stdin is not None
    assert child.stdout is not None
    send(child.stdin, question)
    return receive(child.stdout)


def send(stream: IO[bytes], value: object) -> None:
    """Write a message."""
    body = orjson.dumps(value)
    stream.write(struct.pack("<I", len(body)) + body)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read a message. Raises EOFError if the stream ends, even within a message."""
    head = stream.read(4)
    body = stream.read(struct.unpack("<I", head)[0]) if len(head) == 4 else b""
    if not body:
        raise EOFError
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise EOFError from None
