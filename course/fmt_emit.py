"""The canonical YAML of data: key order of its schema, few quotes, short lists on one line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from course.fmt_trivia import Path, Trivia, squeezed
from course.read import schema, yamlsource

WIDTH: Final = 100
_INDENT: Final = "  "
# What may not stand in YAML as it is, or not in this profile; a line feed has its own rules.
_AWKWARD: Final = re.compile(
    r"[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_ESCAPES: Final = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}


class Verbatim(str):
    """A scalar that is no text (number, boolean, null), in the spelling of its author."""

    __slots__ = ()


def dump(data: object, name: str) -> str:
    """*data* as canonical YAML, its keys in the order of the schema *name*.

    Raises ValueError for a number that the YAML profile cannot hold.
    """
    return emit(ordered(data, schema.schema(name)), Trivia())


def ordered(data: Any, part: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """*data* with the keys of every mapping in schema order; unknown ones last, as they came."""
    root = part if root is None else root
    if "$ref" in part:
        found: Any = root
        for step in str(part["$ref"]).removeprefix("#/").split("/"):
            found = found[step]
        part = {**found, **part}
    if isinstance(data, list):
        items = part.get("items", {})
        return [ordered(item, items, root) for item in data]
    if not isinstance(data, dict):
        return data
    known = part.get("properties", {})
    place = {key: number for number, key in enumerate(known)}
    keys = sorted(data, key=lambda key: place.get(key, len(place)))
    return {key: ordered(data[key], known.get(key, {}), root) for key in keys}


def emit(data: Any, trivia: Trivia) -> str:
    """The text of *data* in the order that it has, with its comments."""
    writer = _Writer(trivia)
    lines = writer.collection(data, (), 0) if data else [_flow(data)]
    parts = [*trivia.header, *lines, *squeezed(trivia.footer)]
    return "\n".join(parts).rstrip("\n") + "\n"


class _Writer:
    def __init__(self, trivia: Trivia) -> None:
        self.trivia = trivia

    def collection(self, data: Any, path: Path, indent: int) -> list[str]:
        """The lines of a mapping or list in block style."""
        if isinstance(data, dict):
            return self.mapping(data, path, indent)
        return self.sequence(data, path, indent)

    def mapping(self, data: dict[str, Any], path: Path, indent: int) -> list[str]:
        """One entry after the other."""
        lines: list[str] = []
        for key, value in data.items():
            at = (*path, key)
            lines += self.above(at, indent, first=not lines)
            head = f"{' ' * indent}{_key(key)}:"
            lines += self.value(head, value, at, indent + 2)
        return lines

    def sequence(self, data: list[Any], path: Path, indent: int) -> list[str]:
        """One item after the other."""
        lines: list[str] = []
        short = self.all_short(data, path, indent)
        for number, item in enumerate(data):
            at = (*path, number)
            lines += self.above(at, indent, first=not lines)
            head = f"{' ' * indent}-"
            if item and isinstance(item, dict | list) and not short:
                inner = self.collection(item, at, indent + 2)
                inner[0] = f"{head} {inner[0][indent + 2 :]}"
                lines += inner
            elif short:
                lines.append(f"{head} {_flow(item)}{self.beside(at)}")
            else:
                lines += self.value(head, item, at, indent + 2)
        return lines

    def value(self, head: str, value: Any, path: Path, indent: int) -> list[str]:
        """*head* (a key or a dash) with its value, on one line or on several."""
        comment = self.beside(path)
        if isinstance(value, dict | list) and value:
            if isinstance(value, list) and self.fits(head, value, path):
                return [f"{head} {_flow(value)}{comment}"]
            return [f"{head}{comment}", *self.collection(value, path, indent)]
        if isinstance(value, str) and not comment and _literal(value):
            chomp = "" if value.endswith("\n") else "-"
            body = [f"{' ' * indent}{line}".rstrip() for line in value.rstrip("\n").split("\n")]
            return [f"{head} |{chomp}", *body]
        return [f"{head} {_scalar(value, flow=False)}{comment}"]

    def fits(self, head: str, value: list[Any], path: Path) -> bool:
        """Whether a list of scalars stands well on one line after *head*."""
        if any(isinstance(item, dict | list) for item in value) or self.trivia.below(path):
            return False
        same = all(_scalar(item, flow=True) == _scalar(item, flow=False) for item in value)
        return same and len(head) + 1 + len(_flow(value)) <= WIDTH

    def all_short(self, items: list[Any], path: Path, indent: int) -> bool:
        """Whether each item is a mapping of two or more scalars that stands well on one line."""
        if not all(isinstance(item, dict) and len(item) > 1 for item in items):
            return False
        values = [value for item in items for value in item.values()]
        if any(isinstance(value, dict | list) for value in values) or self.trivia.below(path):
            return False
        same = all(_scalar(value, flow=True) == _scalar(value, flow=False) for value in values)
        return same and all(indent + 2 + len(_flow(item)) <= WIDTH for item in items)

    def above(self, path: Path, indent: int, *, first: bool) -> list[str]:
        """Comments and blank lines before an entry; the first of a collection has no blank."""
        lines = squeezed(self.trivia.before.get(path, []))
        if first and lines and not lines[0]:
            lines = lines[1:]
        return [f"{' ' * indent}{line}" if line else "" for line in lines]

    def beside(self, path: Path) -> str:
        """The comment at the end of the first line of an entry."""
        comment = self.trivia.after.get(path)
        return f"  {comment}" if comment else ""


def _flow(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(key)}: {_flow(one)}" for key, one in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    return _scalar(value, flow=True)


def _scalar(value: Any, *, flow: bool) -> str:
    if isinstance(value, Verbatim):
        return str(value)
    if isinstance(value, str):
        return _text(value, flow)
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else None
    return text or _number(value)


def _number(value: float) -> str:
    text = repr(value)
    if "e" in text and "." not in text:
        text = text.replace("e", ".0e")
    if yamlsource.parse(f"[{text}]", "")[0] != [value]:
        raise ValueError(f"the YAML profile cannot hold the number {value!r}")
    return text


@lru_cache(maxsize=4096)
def _text(value: str, flow: bool) -> str:
    """*value* without quotes where the strict profile reads it back equal, else quoted."""
    around = "[{}]" if flow else "- {}\n"
    if _writable(value) and yamlsource.parse(around.format(value), "") == ([value], []):
        return value
    return _quoted(value)


@lru_cache(maxsize=512)
def _key(value: str) -> str:
    around = "{{{}: 1}}"
    if _writable(value) and yamlsource.parse(around.format(value), "") == ({value: 1}, []):
        return value
    return _quoted(value)


def _writable(value: str) -> bool:
    return "\n" not in value and value == value.strip() and not _AWKWARD.search(value)


def _quoted(value: str) -> str:
    if _AWKWARD.search(value) or "\n" in value or not ('"' in value or "\\" in value):
        return '"' + "".join(map(_escaped, value)) + '"'
    return "'" + value.replace("'", "''") + "'"


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if not _AWKWARD.match(char):
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def _literal(value: str) -> bool:
    """Whether a text of several lines can stand as it is, indented below its key."""
    lines = value.removesuffix("\n").split("\n")
    return (
        "\n" in value
        and not _AWKWARD.search(value)
        and lines[0][:1] not in ("", " ")
        and lines[-1] != ""
        and all(line == line.rstrip() for line in lines)
    )
