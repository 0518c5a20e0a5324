"""From messages to the tokens of a prompt: quote control markers, render the template, tokenize.

Plain ChatML is rendered here, any other chat template in a process of its own. A chat template of a
model file is untrusted code. Jinja's sandbox keeps it from the system, not from endless loops or
huge strings. In a child process a watchdog that needs no interpreter ends the one, and a cap on
memory the other. A message is a four-byte length and JSON.
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

_OPEN, _SHUT = "\uf8f1", "\uf8f2"  # of the private use area: no template strips or changes them

CHATML: Final = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
"""The template of files that have none."""

TIME_LIMIT_S: Final = 3.0
MEMORY_LIMIT: Final = 768 * 1024 * 1024
_TOO_MUCH: Final = "it takes too much time or memory"
COMMAND: Final = (sys.executable, "-m", "runtime.llm.engine.worker.template")
OVERDUE: Final = 1
"""Exit status of a process that took too long."""
_NEEDED: Final = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
"""Without this variable no program starts on Windows."""
_ROOT: Final = Path(__file__).resolve().parents[4]


class Script(NamedTuple):
    """What a chat template renders."""

    messages: Sequence[ChatMessage]
    tools: Sequence[ToolOffer] = ()
    options: Mapping[str, object] = {}
    """Further variables."""


# --- control markers in what people wrote count as letters

_OURS: Final = ("role", "type")
"""Keys of a message or a tool whose values the server has chosen."""
_JSON: Final = ("arguments", "parameters")
"""Keys whose values are JSON that a model or a client wrote."""


class Quoted(NamedTuple):
    """A script that may be rendered, and the way back."""

    script: Script
    markers: Sequence[str]
    """What the stand-ins stand for, in the order of their numbers."""
    stand_in: str
    """Begins every stand-in; the number and an end follow."""

    def parts(self, text: str) -> Parts:
        """A *text* that was rendered from the script, with the markers in it quoted."""
        if not self.markers:
            return (Part(text, quoted=False),)
        pieces = re.split(f"{self.stand_in}([0-9]{{1,9}}){_SHUT}", text)
        parts = [Part(part, quoted=False) for part in pieces]
        for at in range(1, len(pieces), 2):
            number = int(pieces[at])
            known = number < len(self.markers)
            parts[at] = Part(self.markers[number] if known else pieces[at], quoted=True)
        return join_parts(parts)


class Quoter:
    """Finds the control markers of a vocabulary in what people wrote, the longest first."""

    def __init__(self, markers: Iterable[str]) -> None:
        texts = sorted(filter(None, markers), key=len, reverse=True)
        self._marker: Final = re.compile("|".join(map(re.escape, texts))) if texts else None

    def quote(self, script: Script) -> Quoted:
        """Put a stand-in for each marker: a template passes it on like any word.

        A script without a marker stays as it is.
        """
        pattern = self._marker
        if pattern is None:
            return Quoted(script, (), "")
        numbers: dict[str, int] = {}
        stand_in = f"{_OPEN}{secrets.randbelow(10**9)}{_OPEN}"  # not to be met in a text by chance

        def replace(match: re.Match[str]) -> str:
            return f"{stand_in}{numbers.setdefault(match[0], len(numbers))}{_SHUT}"

        safe = change_texts(script, lambda text: pattern.sub(replace, text))
        return Quoted(safe, list(numbers), stand_in) if numbers else Quoted(script, (), "")

    def parts(self, text: str) -> Parts:
        """A text of a message as it stands."""
        quoted = self.quote(Script([{"role": "user", "content": text}]))
        return quoted.parts(quoted.script.messages[0]["content"]) if text else ()


def change_texts(script: Script, change: Callable[[str], str]) -> Script:
    """The script with every text that people or models wrote changed, also within JSON values."""

    def changed(of: object, *, is_theirs: bool = True) -> Any:
        """*is_theirs*: also the keys are texts of people, not those of `runtime.llm.messages`."""
        match of:
            case str():
                return change(of)
            case list():
                return [changed(item, is_theirs=is_theirs) for item in of]
            case dict() if is_theirs:
                return {change(key): changed(item) for key, item in of.items()}
            case dict():
                return {
                    key: item if key in _OURS else changed(item, is_theirs=key in _JSON)
                    for key, item in of.items()
                }
        return of

    return Script(
        changed(list(script.messages), is_theirs=False),
        changed(list(script.tools), is_theirs=False),
        {name: changed(option) for name, option in script.options.items()},
    )


def join_parts(parts: Iterable[Part]) -> Parts:
    """Without empty parts, and neighbours of a kind as one, so that they are tokenized as one."""
    kinds = groupby((part for part in parts if part.text), key=lambda part: part.quoted)
    return tuple(Part("".join(part.text for part in same), quoted=quoted) for quoted, same in kinds)


def tokens_of(model: "native.Model", parts: Parts, *, whole: bool = False) -> list[int]:
    """Tokens of a prompt, or of a piece of it; *whole* adds the begin token if it must be."""
    tokens: list[int] = []
    if parts and parts[0].quoted:
        tokens, whole = model.tokenize("", whole=whole), False
    for at, part in enumerate(parts):
        if part.quoted:
            tokens += model.letters(part.text)
        else:
            tokens += model.tokenize(part.text, whole=whole and not at)
    return tokens


# --- rendering


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


def is_chatml(source: str) -> bool:
    """Whether a template is, up to spelling, the plain ChatML one."""
    plain = source.strip().replace("m['role']", "m.role").replace("m['content']", "m.content")
    return plain == CHATML


class Turns(NamedTuple):
    """A form of conversations that needs no template engine."""

    begin: Callable[[str], str]
    """The beginning of a turn of that role."""
    end: str

    def render(self, script: Script) -> Rendering:
        """The prompt up to where the reply begins."""
        messages = script.messages
        turns = [f"{self.begin(each['role'])}{each['content']}{self.end}" for each in messages]
        start = self.begin("assistant")
        asked = any(message["role"] == "user" for message in messages[:-1])
        return Rendering("".join(turns) + start, f"{self.end}{turns[-1]}{start}" if asked else None)


CHATML_TURNS: Final = Turns(lambda role: f"<|im_start|>{role}\n", "<|im_end|>\n")
"""Plain ChatML."""
TRANSCRIPT: Final = Turns(lambda role: f"{role.capitalize()}:\n", "\n\n")
"""For a base model: who says what, as plain text that it can continue."""
TRANSCRIPT_STOP: Final = "\n\nUser:"
"""Text at which the model would speak for the user."""


class _Gone(Exception):
    """The process ended; *in_time*: not by its own limit, so a second try may succeed."""

    def __init__(self, *, in_time: bool) -> None:
        super().__init__()
        self.in_time = in_time


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
        except _Gone as error:
            raise TemplateBroken(_TOO_MUCH) from error

    def render(self, script: Script) -> Rendering:
        """The prompt up to where the reply begins; raises TemplateFailed."""
        try:
            answer = self._insist(script)
        except _Gone as error:
            raise unrenderable(_TOO_MUCH) from error
        except TemplateBroken as error:
            raise unrenderable(str(error)) from error
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

    def _insist(self, script: Script | None) -> Any:
        """Ask, and once more if something else than the time limit ended the process."""
        try:
            return self._ask(script)
        except _Gone as error:
            if not error.in_time:
                raise
            return self._ask(script)

    def _ask(self, script: Script | None) -> Any:
        """The answer of the process, which ends by itself when it takes too long."""
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
    """Read a message; raises EOFError where the stream ends, within a message too."""
    head = stream.read(4)
    body = stream.read(struct.unpack("<I", head)[0]) if len(head) == 4 else b""
    if not body:
        raise EOFError
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise EOFError from None
