"""Parse what a model writes: split the text of a reply into content, reasoning and tool calls."""

import json
import re
import secrets
import string
from collections.abc import Callable, Generator, Sequence
from typing import Final, NoReturn, TypeVar

from runtime.llm.inference import (
    Calls,
    Content,
    Event,
    Reasoning,
    ReplyFormat,
    ToolArguments,
    ToolStart,
)

THINK: Final = "<think>"
THOUGHT: Final = "</think>"
TRIGGERS: Final[dict[Calls, str]] = {
    "tagged": "<tool_call>",
    "list": "<tool_call>",
    "llama": "<|python_tag|>",
    "mistral": "[TOOL_CALLS]",
}
"""The text before the calls of a format."""
ENDS: Final[dict[Calls, str]] = {"tagged": "</tool_call>", "list": "</tool_call>", "llama": ";"}
"""The text that may follow a call."""
MARKS: Final = frozenset((THINK, THOUGHT, *TRIGGERS.values(), *ENDS.values()))
"""The marks that structure a reply, even if they are control tokens."""
_SPACE: Final = " \t\r\n"
_ID_LETTERS: Final = string.ascii_letters + string.digits
_LIST: Final = re.compile(r"<tool_call>(?:\s|\\n)*\[")
_REPLY: Final = re.compile(r'\s*\{\s*"reply"\s*:\s*"')
_PLAIN: Final = re.compile(r'[^"\\]+')
_ESCAPE: Final = re.compile(
    r'\\(?:["\\/bfnrt]|u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4})'
)
_HALF_ESCAPE: Final = re.compile(
    r"\\(?:u[0-9a-fA-F]{0,3})?|\\u[dD][89abAB][0-9a-fA-F]{2}(?:\\(?:u[0-9a-fA-F]{0,3})?)?"
)
_CLOSED: Final = re.compile(r'"\s*\}?\s*')


_Answer = TypeVar("_Answer")
_Reading = Generator[None, None, _Answer]
"""Reads from the buffer and yields when it needs more text, unless the reply has ended."""


def detect_format(template: str | None) -> ReplyFormat:
    """Determine how a model with this chat template writes its replies.

    Unknown formats of calls count as none.
    """
    source = template or ""
    return ReplyFormat(_detect_calls(source), thinks=THINK in source or THOUGHT in source)


def _detect_calls(source: str) -> Calls:
    if not re.search(r"\btools\b", source):
        return "none"
    if "<tool_call>" in source:
        if "<function=" in source or "<arg_key>" in source:
            return "none"
        return "list" if _LIST.search(source) else "tagged"
    if "[TOOL_CALLS]" in source:
        return "none" if "[ARGS]" in source or "[CALL_ID]" in source else "mistral"
    if "<|python_tag|>" in source or ("ipython" in source and '"parameters"' in source):
        return "llama"
    return "none"


def create_call_id() -> str:
    """Create an id of a tool call: nine letters and digits, as Mistral's templates require."""
    return "".join(secrets.choice(_ID_LETTERS) for _ in range(9))


class ReplyParser:
    """Turns the text of a reply, fed in pieces, into events.

    The joined events do not depend on the pieces. Only marks and the space around them are lost: a
    call that is incomplete, not JSON or of an unknown tool is content.
    """

    def __init__(self, form: ReplyFormat, make_id: Callable[[], str] = create_call_id) -> None:
        self._form = form
        self._make_id = make_id
        self._text = ""
        """Text that has not been read yet."""
        self._ended = False
        self._events: list[Event] = []
        self._calls = 0
        self._held = ""
        """Space that is kept only if text of the same kind follows."""
        self._reading: _Reading[None] | None = self._read()

    def feed(self, text: str) -> list[Event]:
        """Add text and return the events that it completes."""
        self._text += text
        return self._advance()

    def end(self) -> list[Event]:
        """Return the last events at the end of the reply."""
        self._ended = True
        return self._advance()

    def _advance(self) -> list[Event]:
        if self._reading is not None:
            try:
                next(self._reading)
            except StopIteration:
                self._reading = None
        events, self._events = self._events, []
        return events

    # --- the parts of a reply, in order

    def _read(self) -> _Reading[None]:
        form = self._form
        thinks = (form.thinks or form.opened) and (yield from self._take(THINK))
        if thinks or form.opened:
            thinks = yield from self._emit_until(Reasoning, THOUGHT, trimmed=True)
        is_choice = form.calls == "choice" and (yield from self._read_choice())
        yield from self._read_content(trimmed=thinks or is_choice)

    def _read_content(self, *, trimmed: bool) -> _Reading[None]:
        """Read content with calls; *trimmed*: drop the space before it."""
        calls = self._form.calls
        mark = TRIGGERS.get(calls, "")
        bare = calls in ("llama", "mistral")  # calls may appear without a mark where content begins
        while True:
            while bare and (yield from self._take_calls()):
                trimmed = True
            if not (yield from self._emit_until(Content, mark, trimmed=trimmed)):
                return
            held = self._held
            trimmed = bare = yield from self._take_calls()
            bare = bare and calls == "llama"
            if not trimmed:
                self._events.append(Content(held + mark))

    def _read_choice(self) -> _Reading[bool]:
        """Read ``{"reply": "…"}``, whose string is content, or ``{"tool": …, "arguments": …}``.

        Returns False if it is neither or incomplete.
        """
        while not (match := _REPLY.match(self._text)):
            squeezed = "".join(self._text.split())
            if self._ended or not '{"reply":"'.startswith(squeezed):
                return (yield from self._take_calls())
            yield
        self._text = self._text[match.end() :]
        while True:
            text = self._text
            if not text and not self._ended:
                yield
            elif plain := _PLAIN.match(text):
                self._events.append(Content(plain[0]))
                self._text = text[plain.end() :]
            elif escape := _ESCAPE.match(text):
                yield from self._await_escape()
                escape = _ESCAPE.match(self._text) or escape
                letters = json.loads(f'"{escape[0]}"').encode("utf-16", "surrogatepass")
                self._events.append(Content(letters.decode("utf-16", "replace")))
                self._text = self._text[escape.end() :]
            elif text.startswith('"') and _CLOSED.fullmatch(text):
                if self._ended:
                    self._text = ""
                    return True
                yield
            elif text.startswith('"') or self._ended or not _HALF_ESCAPE.fullmatch(text):
                return False
            else:
                yield

    def _await_escape(self) -> _Reading[None]:
        """Wait for the second half of an escaped character beyond 16 bits."""
        while not self._ended and _HALF_ESCAPE.fullmatch(self._text):
            yield

    # --- helpers

    def _take(self, mark: str) -> _Reading[bool]:
        """Read *mark* and the space before it if the buffer begins with them."""
        while True:
            rest = self._text.lstrip(_SPACE)
            if rest.startswith(mark):
                self._text = rest[len(mark) :]
                return True
            if self._ended or not mark.startswith(rest):
                return False
            yield

    def _emit_until(
        self, kind: type[Content] | type[Reasoning], mark: str, *, trimmed: bool
    ) -> _Reading[bool]:
        """Emit text up to *mark*; return whether it was found. The space before it is dropped.

        *trimmed*: drop the space at the start. Without a mark, emit everything.
        """
        self._held = ""
        while True:
            at = self._text.find(mark) if mark else -1
            here = at >= 0
            if not here:
                at = len(self._text) - (0 if self._ended else measure_overlap(self._text, mark))
            text, self._text = self._text[:at], self._text[at + (len(mark) if here else 0) :]
            if trimmed:
                text = text.lstrip(_SPACE)
                trimmed = not text
            shown = text.rstrip(_SPACE) if mark and not (self._ended and not here) else text
            if shown:
                self._events.append(kind(self._held + shown))
                self._held = ""
            self._held += text[len(shown) :]
            if here:
                return True
            if self._ended:
                if self._held:
                    self._events.append(kind(self._held))
                return False
            yield

    def _take_calls(self) -> _Reading[bool]:
        """Read the JSON calls at the start of the buffer and the mark after them, if any."""
        end = _JsonEnd()
        while (size := end.find(self._text)) is None:
            if self._ended:
                return False
            yield
        calls = self._parse_calls(self._text[:size])
        if not calls:
            return False
        self._text = self._text[size:]
        for name, arguments in calls:
            self._events.append(ToolStart(self._calls, self._make_id(), name))
            self._events.append(ToolArguments(self._calls, arguments))
            self._calls += 1
        if self._form.calls in ENDS:
            yield from self._take(ENDS[self._form.calls])
        return True

    def _parse_calls(self, text: str) -> Sequence[tuple[str, str]]:
        """Parse name and arguments of the calls in a JSON text; none if it is anything else."""
        try:
            value = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError):
            return ()
        calls = []
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, dict):
                return ()
            name = item.get("tool" if self._form.calls == "choice" else "name")
            arguments = item.get("arguments", item.get("parameters", {}))
            if name not in self._form.names or not isinstance(arguments, dict):
                return ()
            calls.append((name, _dump_json(arguments)))
        return calls


class _JsonEnd:
    """Finds the end of the JSON object or list at the start of a growing text."""

    def __init__(self) -> None:
        self._at = self._depth = 0
        self._quoted = self._escaped = False

    def find(self, text: str) -> int | None:
        """Length of the value with the space before it; 0 if there is none; None if incomplete."""
        for at in range(self._at, len(text)):
            letter = text[at]
            if self._quoted:
                self._quoted = self._escaped or letter != '"'
                self._escaped = letter == "\\" and not self._escaped
            elif letter in "{[":
                self._depth += 1
            elif not self._depth:
                if letter not in _SPACE:
                    return 0
            elif letter == '"':
                self._quoted = True
            elif letter in "}]":
                self._depth -= 1
                if not self._depth:
                    return at + 1
        self._at = len(text)
        return None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def _dump_json(value: object) -> str:
    """Dump JSON that is valid Unicode, even if the model wrote lone surrogates."""
    text = json.dumps(value, ensure_ascii=False)
    has_surrogate = any("\ud800" <= letter <= "\udfff" for letter in text)
    return json.dumps(value) if has_surrogate else text


def measure_overlap(text: str, mark: str) -> int:
    """Length of the longest end of *text* that is a proper prefix of *mark*."""
    sizes = range(min(len(text), len(mark) - 1), 0, -1)
    return next((size for size in sizes if text.endswith(mark[:size])), 0)
