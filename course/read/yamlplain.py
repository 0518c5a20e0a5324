"""The short way through YAML: what nearly every source is made of, read line by line.

Mappings and lists in block form whose values stand on one line or are literal text (``|``), and
comments that fill a line. A text that holds anything else is left to the full parser, which alone
knows what is wrong with it and where.
"""

from __future__ import annotations

import re
from typing import Any, Final

MAX_DEPTH: Final = 24
_SHALLOW: Final = MAX_DEPTH - 3  # an entry of a list with brackets in it is deeper than its list
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(\.[0-9]{1,15}(?:[eE][-+]?[0-9]{1,2})?)?\Z")
_WORDS: Final[dict[str, object]] = {"true": True, "false": False, "null": None, "": None}
# A plain value begins with no indicator and ends with neither blank nor colon.
_LINE: Final = re.compile(
    r"^(?:#.*+)?+( *+)(- )?+(?:([A-Za-z_][\w-]{0,99}+):(?: (?=\S)|$))?+"
    r"((?:[^\s\-?:,\[\]{}#&*!|>'\"%@`]|-(?=\S)|[\"'\[{])(?:.*[^\s:])?)?+$",
    re.MULTILINE,
)
_SPECIAL: Final = frozenset("\"'[{-0123456789tfn\0")  # how a value begins that may be no text
_LITERAL: Final = re.compile(
    r"^( *+(?:- )?+[A-Za-z_][\w-]{0,99}+: )\|\n( ++)(\S.*+\n(?:\2.*+\n|\n)*+)", re.MULTILINE
)
_BLANKS: Final = re.compile(r"\n +\n")
_BREAK: Final = "\0"  # ends each line of a literal text, and begins the first; no source has it
_NOTHING: Final = "[]\n"
_VISIBLE: Final = bytes([10, *range(32, 127)])
_NOWHERE: Final = -2  # no line begins there
_ATOM: Final = r"(?:https:)?[A-Za-z0-9/](?:[^,?:#\\\[\]{}]*[^,?:#\\\[\]{}\s])?"
_WORD: Final = rf"(?:{_ATOM}|\"[^\"\\]*\"|'[^']*')"
_FLOW_LIST: Final = re.compile(rf"\[(?:{_WORD}(?:, {_WORD})*)?\]")
_FLOW_WORDS: Final = re.compile(_WORD)
_FLOW_PAIR: Final = rf"[A-Za-z_]\w{{0,99}}: {_WORD}"
_FLOW_MAPPING: Final = re.compile(rf"\{{{_FLOW_PAIR}(?:, {_FLOW_PAIR})*\}}")
_FLOW_PAIRS: Final = re.compile(rf"(\w+): ({_WORD})")


class _OtherFormError(Exception):
    """The text is not of the short form."""


def scalar(text: str) -> Any:
    """YAML 1.2 core scalars only; everything else stays the string that the author sees."""
    first = text[:1]
    if first in "-0123456789" and (match := _NUMBER.match(text)):
        return float(text) if match[1] else int(text)
    if first in "tfn" and text in _WORDS:
        return _WORDS[text]
    return text or None


def read(text: str) -> Any:
    """The data of *text*, or None when the full parser has to look at it."""
    if " #" in text or not text.endswith("\n") or not _printable(text):
        return None
    if text == _NOTHING:
        return []
    if ": |\n" in text:
        if _BLANKS.search(text):  # lines of blanks may belong to a literal text, or not
            return None
        text = _LITERAL.sub(_on_one_line, text)
    lines = _LINE.findall(text)
    if len(lines) != text.count("\n") + 1:
        return None
    try:
        return _tree(lines)
    except _OtherFormError:
        return None


def _printable(text: str) -> bool:
    """Whether *text* holds nothing invisible but line ends."""
    if text.isascii():
        return not text.encode().translate(None, _VISIBLE)
    return text.replace("\n", "").isprintable()


def _on_one_line(found: re.Match[str]) -> str:
    """A literal text behind its key."""
    head, indent, text = found.groups()
    if len(indent) <= len(head) - len(head.lstrip(" -")):
        return found[0]
    lines = f"\n{text.rstrip(chr(10))}\n".replace(f"\n{indent}", "\n")
    return f"{head}{lines.replace(chr(10), _BREAK)}\n"


def _tree(lines: list[tuple[str, str, str, str]]) -> Any:
    root: Any = {}
    stack = [(-1, root)]  # column and container, outermost first
    column, inner = -1, root
    name: str | None = ""  # the key whose value begins on the next line
    for indent, dash, key, value in lines:
        at = len(indent)
        if name is not None or at != column or dash:
            if not key and not value:
                if dash:
                    raise _OtherFormError
                continue
            inner = _container(stack, at, bool(dash), name)
            column, name = at, None
            if dash and not key:
                inner.append(_value(value))
                column = _NOWHERE
                continue
            if dash:
                inner.append({})
                inner, column = inner[-1], at + len(dash)
                stack.append((column, inner))
        if not key and not value:
            continue
        if not key or key in inner:
            raise _OtherFormError
        if not value:
            name = key
        elif value[0] in _SPECIAL or ": " in value:
            inner[key] = _value(value)
        else:
            inner[key] = value
    if name is not None:
        raise _OtherFormError
    return root[""]


def _container(stack: list[tuple[int, Any]], at: int, dash: bool, name: str | None) -> Any:
    """The mapping or list that a line at column *at* belongs to; *name* is still without value."""
    column, inner = stack[-1]
    if name is not None:
        if at <= column or len(stack) > _SHALLOW:
            raise _OtherFormError
        inner[name] = [] if dash else {}
        stack.append((at, inner[name]))
        return inner[name]
    while at < column:
        stack.pop()
        column, inner = stack[-1]
    if at != column or isinstance(inner, list) != dash:
        raise _OtherFormError
    return inner


def _value(text: str) -> Any:
    """A value that stands on one line."""
    first = text[0]
    if first == _BREAK:
        return text[1:].replace(_BREAK, "\n")
    if first in "\"'":
        if len(text) < 2 or text[-1] != first or text.count(first) != 2 or "\\" in text:
            raise _OtherFormError
        return text[1:-1]
    if first == "[":
        if not _FLOW_LIST.fullmatch(text):
            raise _OtherFormError
        return [_word(word) for word in _FLOW_WORDS.findall(text)]
    if first == "{":
        return _mapping(text)
    if ": " in text:
        raise _OtherFormError
    return scalar(text)


def _mapping(text: str) -> dict[str, Any]:
    if not _FLOW_MAPPING.fullmatch(text):
        raise _OtherFormError
    pairs = _FLOW_PAIRS.findall(text)
    found = {key: _word(word) for key, word in pairs}
    if len(found) != len(pairs):
        raise _OtherFormError
    return found


def _word(text: str) -> Any:
    """A value inside brackets or braces."""
    return text[1:-1] if text[0] in "\"'" else scalar(text)
