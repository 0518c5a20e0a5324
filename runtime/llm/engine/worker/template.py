"""The process that renders chat templates, which are untrusted code, in Jinja's sandbox.

`prompt.Renderer` starts it as ``python -m runtime.llm.engine.worker.template`` and uses its
standard streams.
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
    blame_messages,
    blame_template,
    receive,
    send,
)
from runtime.llm.messages import ChatMessage, MessageCall, MessageFunction

SOURCE_LIMIT: Final = 256 * 1024  # characters of a template
OUTPUT_LIMIT: Final = 8_000_000  # characters of a prompt
_SENTINEL: Final = "7f3a9c51e2d84b60"  # stands for a reply; no template would change it
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
    """`{% generation %}` marks replies for training; it prints its content."""

    tags = {"generation"}  # noqa: RUF012 - as declared by the base class

    def parse(self, parser: Parser) -> list[nodes.Node]:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def _raise(message: object) -> NoReturn:
    raise blame_messages(str(message)[:200])


def _to_json(value: object, indent: int | None = None, **_ignored: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


class Template:
    """A compiled chat template with its capabilities, which are found by trying.

    Raises TemplateBroken if the source does not compile.
    """

    def __init__(
        self, source: str, bos: str, eos: str, now: Callable[[], datetime] = datetime.now
    ) -> None:
        if len(source) > SOURCE_LIMIT:
            raise TemplateBroken("it is longer than 256 KiB")
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=False,  # a prompt is not HTML
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
            raise TemplateBroken("it needs too much") from error
        self._in_parts = self._calls_as_text = False
        self._in_parts = not self._shows([_make_message("user", "U1f")], "U1f")
        if not self._shows(_CALLING, "C2f"):
            self._calls_as_text = True
            self._calls_as_text = self._shows(_CALLING, "C2f")
        self._system = self._shows(
            [_make_message("system", "S2f"), _make_message("user", "U1f")], "S2f", "U1f"
        )
        spoken = [("system", "S2f"), ("system", "S3f"), ("user", "U1f"), ("assistant", "A4f")]
        spoken += [("system", "S5f"), ("user", "U6f")]
        talk = [_make_message(role, text) for role, text in spoken]
        self._systems = self._system and self._shows(talk, "S2f", "S3f", "S5f", "U6f")

    def _shows(self, messages: Sequence[ChatMessage], *marks: str) -> bool:
        try:
            text = self._text(Script(messages))
        except TemplateFailed:
            return False
        places = [text.find(mark) for mark in marks]
        return places[0] >= 0 and places == sorted(places)

    def render(self, script: Script) -> Rendering:
        """Render the prompt up to the beginning of the reply. Raises TemplateFailed."""
        return Rendering(self._text(self._fit_system(script)), self._after(script))

    def _after(self, script: Script) -> str | None:
        """Render with a sentinel as the last reply, which also works if replies are trimmed."""
        history = list(script.messages)
        fresh = [history.pop()]
        while history and fresh[0]["role"] == history[-1]["role"] == "tool":
            fresh.insert(0, history.pop())
        if not any(message["role"] == "user" for message in history):
            return None
        if history[-1]["role"] == "assistant":
            history.pop()
        marked = [*history, _make_message("assistant", _SENTINEL), *fresh]
        try:
            text = self._text(self._fit_system(script._replace(messages=marked)))
        except TemplateFailed:
            return None
        before, mark, after = text.rpartition(_SENTINEL)
        is_unique = bool(mark) and _SENTINEL not in before
        is_complete = all(message["content"].strip() in after for message in fresh)
        return after if is_unique and is_complete else None

    def _fit_system(self, script: Script) -> Script:
        """Merge system turns if the template requires it, so that no instruction is lost."""
        if self._systems:
            return script
        return script._replace(messages=merge_system(script.messages, keep_role=self._system))

    def _text(self, script: Script) -> str:
        parts: list[str] = []
        size = 0
        try:
            for part in self._template.generate(
                {
                    **script.options,
                    **self._fixed,
                    "messages": [self._convert(message) for message in script.messages],
                    "tools": list(script.tools) or None,
                    "documents": None,
                    "add_generation_prompt": True,
                }
            ):
                parts.append(part)
                size += len(part)
                if size > OUTPUT_LIMIT:
                    raise blame_template("the prompt becomes too long")
        except _FAULTS as error:
            raise blame_template(_first_line(error)) from error
        except _TOO_MUCH as error:
            raise blame_template("it needs too much") from error
        if not size:
            raise blame_template("the prompt is empty")
        return "".join(parts)

    def _convert(self, message: ChatMessage) -> dict[str, object]:
        """Convert a message to the form that this template expects."""
        turn: dict[str, object] = {**message}
        if self._in_parts:
            turn["content"] = [{"type": "text", "text": message["content"]}]
        if self._calls_as_text and "tool_calls" in message:
            turn["tool_calls"] = [_dump_arguments(call) for call in message["tool_calls"]]
        return turn


def _make_message(role: str, content: str) -> ChatMessage:
    return ChatMessage(role=role, content=content)


def _dump_arguments(call: MessageCall) -> MessageCall:
    """Convert the arguments of a call to JSON text."""
    name, arguments = call["function"]["name"], call["function"]["arguments"]
    text = arguments if isinstance(arguments, str) else _to_json(arguments)
    return {**call, "function": MessageFunction(name=name, arguments=text)}


def merge_system(messages: Sequence[ChatMessage], *, keep_role: bool) -> Sequence[ChatMessage]:
    """Merge all system texts into a first system turn, or into the first user turn."""
    texts = [message["content"] for message in messages if message["role"] == "system"]
    rest = [message for message in messages if message["role"] != "system"]
    if not texts:
        return messages
    instruction = "\n\n".join(texts)
    if keep_role:
        return [_make_message("system", instruction), *rest]
    for at, message in enumerate(rest):
        if message["role"] == "user":
            first = _make_message("user", f"{instruction}\n\n{message['content']}")
            return [*rest[:at], first, *rest[at + 1 :]]
    return [_make_message("user", instruction), *rest]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or ["it fails"])[0][:200]


def _limit_resources() -> None:
    """Forbid memory beyond the limit, writing files and core dumps; best effort."""
    for kind, most in {"CORE": 0, "FSIZE": 0, "AS": MEMORY_LIMIT}.items():
        resources.set_limit(kind, most)


@contextlib.contextmanager
def _limit_time(limit_s: float) -> Iterator[None]:
    """Exit this process with status `OVERDUE` if the block takes longer, whatever it does."""
    faulthandler.dump_traceback_later(limit_s, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def main() -> None:
    """Answer the first message with the template's error, if any, and others with prompts."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _limit_resources()
    questions, answers = sys.stdin.buffer, sys.stdout.buffer
    with contextlib.suppress(EOFError):
        source, bos, eos, limit_s = receive(questions)
        try:
            with _limit_time(limit_s):
                template = Template(source, bos, eos)
        except TemplateBroken as error:
            send(answers, str(error))
            return
        send(answers, "")
        while True:
            script = Script(*receive(questions))
            try:
                with _limit_time(limit_s):
                    rendered: object = list(template.render(script))
            except TemplateFailed as error:
                rendered = str(error)
            send(answers, rendered)


if __name__ == "__main__":
    main()
