"""The process that renders a chat template, which is untrusted code, in Jinja's sandbox.

`prompt.Renderer` starts it as ``python -m runtime.llm.engine.worker.template`` and talks to
it over its standard streams.
"""

import contextlib
import json
import resource
import signal
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Final, NoReturn

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from runtime.llm.engine.worker.conversations import Pairs
from runtime.llm.engine.worker.prompt import (
    MEMORY_LIMIT,
    Rendering,
    TemplateBroken,
    TemplateFailed,
    receive,
    refused,
    send,
    unrenderable,
)

SOURCE_LIMIT: Final = 256 * 1024  # characters of a template
OUTPUT_LIMIT: Final = 8_000_000  # characters of a prompt
_SENTINEL: Final = "7f3a9c51e2d84b60"  # stands for a reply; no template has a reason to touch it
_FAULTS: Final = (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, SyntaxError)
_TOO_MUCH: Final = (AttributeError, RuntimeError, MemoryError)


class _Generation(Extension):
    """`{% generation %}` marks replies for training; it prints what it encloses."""

    tags = {"generation"}  # noqa: RUF012 - the base class declares it so

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _raise(message: object) -> NoReturn:
    raise refused(str(message)[:200])


def _to_json(value: object, indent: int | None = None, **_ignored: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


class Template:
    """A compiled chat template with what it can do, found by trying it.

    Raises TemplateBroken for a source that does not compile.
    """

    def __init__(
        self, source: str, bos: str, eos: str, now: Callable[[], datetime] = datetime.now
    ) -> None:
        if len(source) > SOURCE_LIMIT:
            raise TemplateBroken("it is longer than 256 KiB")
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,  # a prompt is no HTML
            extensions=[loopcontrols, _Generation],
        )
        environment.filters["tojson"] = _to_json
        environment.globals.update(
            raise_exception=_raise,
            strftime_now=lambda form: now().strftime(str(form)),
            bos_token=bos,
            eos_token=eos,
        )
        try:
            self._template = environment.from_string(source)
        except _FAULTS as error:
            raise TemplateBroken(_first_line(error)) from error
        except _TOO_MUCH as error:
            raise TemplateBroken("it asks for too much") from error
        self._in_parts = False
        self._in_parts = not self._shows([("user", "U1f")], "U1f")
        self._system = self._shows([("system", "S2f"), ("user", "U1f")], "S2f", "U1f")
        self._systems = self._system and self._shows(
            [
                *(("system", "S2f"), ("system", "S3f"), ("user", "U1f")),
                *(("assistant", "A4f"), ("system", "S5f"), ("user", "U6f")),
            ],
            *("S2f", "S3f", "S5f", "U6f"),
        )

    def _shows(self, messages: Pairs, *marks: str) -> bool:
        try:
            text = self._text(messages)
        except TemplateFailed:
            return False
        places = [text.find(mark) for mark in marks]
        return places[0] >= 0 and places == sorted(places)

    def render(self, messages: Pairs) -> Rendering:
        """The prompt up to where the reply begins; raises TemplateFailed."""
        text = self._text(self._fitting(messages))
        return Rendering(text, self._after(messages))

    def _after(self, messages: Pairs) -> str | None:
        """Render with a sentinel for the last reply, which also finds a reply that is trimmed."""
        *history, last = messages
        if not any(role == "user" for role, _ in history):
            return None
        if history[-1][0] == "assistant":
            history.pop()
        try:
            text = self._text(self._fitting([*history, ("assistant", _SENTINEL), last]))
        except TemplateFailed:
            return None
        before, mark, after = text.rpartition(_SENTINEL)
        sole = bool(mark) and _SENTINEL not in before
        return after if sole and last[1].strip() in after else None

    def _fitting(self, messages: Pairs) -> Pairs:
        """Merge system turns as far as the template asks for it, so that no instruction is lost."""
        return messages if self._systems else merged(messages, keep_role=self._system)

    def _text(self, messages: Pairs) -> str:
        turns = [{"role": role, "content": self._content(text)} for role, text in messages]
        parts: list[str] = []
        size = 0
        try:
            for part in self._template.generate(
                messages=turns, add_generation_prompt=True, tools=None, documents=None
            ):
                parts.append(part)
                size += len(part)
                if size > OUTPUT_LIMIT:
                    raise unrenderable("the prompt becomes too long")
        except _FAULTS as error:
            raise unrenderable(_first_line(error)) from error
        except _TOO_MUCH as error:
            raise unrenderable("it asks for too much") from error
        if not size:
            raise unrenderable("the prompt is empty")
        return "".join(parts)

    def _content(self, text: str) -> object:
        return [{"type": "text", "text": text}] if self._in_parts else text


def merged(messages: Pairs, *, keep_role: bool) -> Pairs:
    """All system texts, in order, in a first system turn or at the head of the first user turn."""
    texts = [text for role, text in messages if role == "system"]
    rest = [(role, text) for role, text in messages if role != "system"]
    if not texts:
        return messages
    instruction = "\n\n".join(texts)
    if keep_role:
        return [("system", instruction), *rest]
    for at, (role, text) in enumerate(rest):
        if role == "user":
            return [*rest[:at], ("user", f"{instruction}\n\n{text}"), *rest[at + 1 :]]
    return [("user", instruction), *rest]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["it fails"])[0][:200]


def _limit() -> None:
    """No memory beyond the cap, no file written, no core; each is best effort."""
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_AS: MEMORY_LIMIT,
    }
    for kind, value in wanted.items():
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(kind, (value, value))


def main() -> None:
    """Answer the first message with what is wrong with the template, others with a prompt."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit()
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    with contextlib.suppress(EOFError):
        source, bos, eos, limit = receive(questions)
        signal.setitimer(signal.ITIMER_REAL, float(limit))  # its signal ends the process
        try:
            template = Template(source, bos, eos)
        except TemplateBroken as error:
            send(answers, str(error))
            return
        signal.setitimer(signal.ITIMER_REAL, 0)
        send(answers, "")
        while True:
            messages = receive(questions)
            signal.setitimer(signal.ITIMER_REAL, float(limit))
            try:
                send(answers, list(template.render(messages)))
            except TemplateFailed as error:
                send(answers, str(error))
            signal.setitimer(signal.ITIMER_REAL, 0)


if __name__ == "__main__":
    main()
