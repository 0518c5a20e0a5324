"""The process that renders a chat template, which is untrusted code, in Jinja's sandbox.

`prompt.Renderer` starts it as ``python -m runtime.llm.engine.worker.template`` and talks to
it over its standard streams.
"""

import contextlib
import faulthandler
import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final, NoReturn

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from runtime.llm.engine.worker import resources
from runtime.llm.engine.worker.prompt import (
    MEMORY_LIMIT,
    Rendering,
    Script,
    TemplateBroken,
    TemplateFailed,
    receive,
    refused,
    send,
    unrenderable,
)
from runtime.llm.messages import ChatMessage, MessageCall, MessageFunction

SOURCE_LIMIT: Final = 256 * 1024  # characters of a template
OUTPUT_LIMIT: Final = 8_000_000  # characters of a prompt
_SENTINEL: Final = "7f3a9c51e2d84b60"  # stands for a reply; no template has a reason to touch it
_CALLING: Final[Sequence[ChatMessage]] = (
    ChatMessage(role="user", content="U1f"),
    ChatMessage(
        role="assistant",
        content="",
        tool_calls=[
            MessageCall(
                id="call00001",
                type="function",
                function=MessageFunction(name="f", arguments={"a": "C2f"}),
            )
        ],
    ),
    ChatMessage(role="tool", content="T3f", tool_call_id="call00001"),
)
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
        self._fixed: Final = {
            "raise_exception": _raise,
            "strftime_now": lambda form: now().strftime(str(form)),
            "bos_token": bos,
            "eos_token": eos,
        }
        environment.globals.update(self._fixed)  # for macros
        try:
            self._template = environment.from_string(source)
        except _FAULTS as error:
            raise TemplateBroken(_first_line(error)) from error
        except _TOO_MUCH as error:
            raise TemplateBroken("it asks for too much") from error
        self._in_parts = self._calls_as_text = False
        self._in_parts = not self._shows([_said("user", "U1f")], "U1f")
        if not self._shows(_CALLING, "C2f"):
            self._calls_as_text = True
            self._calls_as_text = self._shows(_CALLING, "C2f")
        self._system = self._shows([_said("system", "S2f"), _said("user", "U1f")], "S2f", "U1f")
        spoken = [("system", "S2f"), ("system", "S3f"), ("user", "U1f"), ("assistant", "A4f")]
        spoken += [("system", "S5f"), ("user", "U6f")]
        talk = [_said(role, text) for role, text in spoken]
        self._systems = self._system and self._shows(talk, "S2f", "S3f", "S5f", "U6f")

    def _shows(self, messages: Sequence[ChatMessage], *marks: str) -> bool:
        try:
            text = self._text(Script(messages))
        except TemplateFailed:
            return False
        places = [text.find(mark) for mark in marks]
        return places[0] >= 0 and places == sorted(places)

    def render(self, script: Script) -> Rendering:
        """The prompt up to where the reply begins; raises TemplateFailed."""
        return Rendering(self._text(self._fitting(script)), self._after(script))

    def _after(self, script: Script) -> str | None:
        """Render with a sentinel for the last reply, which also finds a reply that is trimmed."""
        history = list(script.messages)
        fresh = [history.pop()]
        while history and fresh[0]["role"] == history[-1]["role"] == "tool":
            fresh.insert(0, history.pop())
        if not any(message["role"] == "user" for message in history):
            return None
        if history[-1]["role"] == "assistant":
            history.pop()
        marked = [*history, _said("assistant", _SENTINEL), *fresh]
        try:
            text = self._text(self._fitting(script._replace(messages=marked)))
        except TemplateFailed:
            return None
        before, mark, after = text.rpartition(_SENTINEL)
        sole = bool(mark) and _SENTINEL not in before
        whole = all(message["content"].strip() in after for message in fresh)
        return after if sole and whole else None

    def _fitting(self, script: Script) -> Script:
        """Merge system turns as far as the template asks for it, so that no instruction is lost."""
        if self._systems:
            return script
        return script._replace(messages=merged(script.messages, keep_role=self._system))

    def _text(self, script: Script) -> str:
        parts: list[str] = []
        size = 0
        try:
            for part in self._template.generate(
                {
                    **script.options,
                    **self._fixed,
                    "messages": [self._turn(message) for message in script.messages],
                    "tools": list(script.tools) or None,
                    "documents": None,
                    "add_generation_prompt": True,
                }
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

    def _turn(self, message: ChatMessage) -> dict[str, object]:
        """The message as this template wants it."""
        turn: dict[str, object] = {**message}
        if self._in_parts:
            turn["content"] = [{"type": "text", "text": message["content"]}]
        if self._calls_as_text and "tool_calls" in message:
            turn["tool_calls"] = [_with_text(call) for call in message["tool_calls"]]
        return turn


def _said(role: str, content: str) -> ChatMessage:
    return ChatMessage(role=role, content=content)


def _with_text(call: MessageCall) -> MessageCall:
    """The call with its arguments as JSON text."""
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    text = arguments if isinstance(arguments, str) else _to_json(arguments)
    return {**call, "function": MessageFunction(name=name, arguments=text)}


def merged(messages: Sequence[ChatMessage], *, keep_role: bool) -> Sequence[ChatMessage]:
    """All system texts, in order, in a first system turn or at the head of the first user turn."""
    texts = [message["content"] for message in messages if message["role"] == "system"]
    rest = [message for message in messages if message["role"] != "system"]
    if not texts:
        return messages
    instruction = "\n\n".join(texts)
    if keep_role:
        return [_said("system", instruction), *rest]
    for at, message in enumerate(rest):
        if message["role"] == "user":
            first = _said("user", f"{instruction}\n\n{message['content']}")
            return [*rest[:at], first, *rest[at + 1 :]]
    return [_said("user", instruction), *rest]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["it fails"])[0][:200]


def _limit() -> None:
    """No memory beyond the cap, no file written, no core; each is best effort."""
    for kind, most in {"CORE": 0, "FSIZE": 0, "AS": MEMORY_LIMIT}.items():
        resources.limit(kind, most)


@contextlib.contextmanager
def _within(limit_s: float) -> Iterator[None]:
    """End this process, with status `OVERDUE`, where the block takes longer, whatever it does."""
    faulthandler.dump_traceback_later(limit_s, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def main() -> None:
    """Answer the first message with what is wrong with the template, others with a prompt."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit()
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    with contextlib.suppress(EOFError):
        source, bos, eos, limit_s = receive(questions)
        try:
            with _within(limit_s):
                template = Template(source, bos, eos)
        except TemplateBroken as error:
            send(answers, str(error))
            return
        send(answers, "")
        while True:
            script = Script(*receive(questions))
            try:
                with _within(limit_s):
                    rendered: object = list(template.render(script))
            except TemplateFailed as error:
                rendered = str(error)
            send(answers, rendered)


if __name__ == "__main__":
    main()
