"""Comments and blank lines of a YAML source: each with the entry that it belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode, SequenceNode

Path = tuple[str | int, ...]
_SIGN: Final = re.compile(r"(?:^|(?<=[ ]))#")


class UnsafeError(Exception):
    """A comment stands where no canonical place for it exists."""


class _Entry(NamedTuple):
    """The start of a block mapping key or of a block sequence item."""

    line: int
    column: int
    path: Path


class _Span(NamedTuple):
    """A part of the text that blank lines and signs inside belong to."""

    start: tuple[int, int]
    end: tuple[int, int]
    scalar: bool


@dataclass(slots=True)
class Trivia:
    """What the data does not hold.

    ``before`` maps an entry to the lines above it ("" is a blank one), ``after`` to the comment
    at the end of its line; ``header`` stands above and apart from the first entry.
    """

    header: list[str] = field(default_factory=list)
    footer: list[str] = field(default_factory=list)
    before: dict[Path, list[str]] = field(default_factory=dict)
    after: dict[Path, str] = field(default_factory=dict)

    def comments(self) -> tuple[object, ...]:
        """All comments with their places, without the blank lines: equal when nothing moved."""
        above = {path: found for path, lines in self.before.items() if (found := _words(lines))}
        return _words(self.header), _words(self.footer), above, self.after

    def below(self, path: Path) -> bool:
        """Whether an entry inside *path* has a comment."""
        inner = [*(entry for entry, lines in self.before.items() if _words(lines)), *self.after]
        return any(len(one) > len(path) and one[: len(path)] == path for one in inner)


def read(text: str, root: Node) -> Trivia:
    """The comments and blank lines of *text*, whose nodes are below *root*.

    Raises :class:`UnsafeError` for a comment inside a flow collection, beside the sign of a
    block scalar, or beside a document without entries.
    """
    spans: list[_Span] = []
    entries = list(_entries(root, (), spans))
    found = Trivia()
    waiting: list[str] = []
    upcoming = 0
    lines = text.split("\n")
    for number, line in enumerate(lines[:-1] if lines[-1] == "" else lines):
        if number == root.start_mark.line and not entries:
            found.header, waiting = _opening(waiting), []
        while upcoming < len(entries) and entries[upcoming].line <= number:
            if waiting:
                found.before[entries[upcoming].path] = waiting
                waiting = []
            upcoming += 1
        column = _comment(line, number, spans)
        if column is not None and line[:column].strip():
            found.after[_owner(entries, number, column)] = line[column:].rstrip()
        elif column is not None:
            waiting.append(line[column:].rstrip())
        elif not line.strip() and not _inside((number, 0), spans):
            waiting.append("")
    found.footer = waiting
    if entries:
        _split_header(found, entries[0].path)
    return found


def _entries(node: Node, path: Path, spans: list[_Span]) -> Iterator[_Entry]:
    start = (node.start_mark.line, node.start_mark.column)
    if isinstance(node, ScalarNode):
        spans.append(_Span(start, (node.end_mark.line, node.end_mark.column), scalar=True))
    elif isinstance(node, CollectionNode) and node.flow_style:
        spans.append(_Span(start, (node.end_mark.line, node.end_mark.column), scalar=False))
        for _ in _children(node, path, spans):
            pass
    else:
        yield from _children(node, path, spans)


def _children(node: Node, path: Path, spans: list[_Span]) -> Iterator[_Entry]:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            yield _Entry(key.start_mark.line, key.start_mark.column, (*path, key.value))
            yield from _entries(key, path, spans)
            yield from _entries(value, (*path, key.value), spans)
    elif isinstance(node, SequenceNode):
        for number, item in enumerate(node.value):
            yield _Entry(item.start_mark.line, item.start_mark.column, (*path, number))
            yield from _entries(item, (*path, number), spans)


def _comment(line: str, number: int, spans: list[_Span]) -> int | None:
    """The column at which a comment begins in *line*."""
    for match in _SIGN.finditer(line):
        at = (number, match.start())
        around = [span for span in spans if span.start < at < span.end]
        if any(span.scalar and span.start[0] < number for span in around):
            continue
        if any(span.scalar and not _opens_block(line, span) for span in around):
            continue
        if around:
            raise UnsafeError(f"line {number + 1} holds a comment inside a value")
        return match.start()
    return None


def _opens_block(line: str, span: _Span) -> bool:
    return line[span.start[1]] in "|>"


def _inside(at: tuple[int, int], spans: list[_Span]) -> bool:
    return any(span.start < at < span.end for span in spans)


def _owner(entries: list[_Entry], line: int, column: int) -> Path:
    """The entry that began last before a comment at the end of *line*."""
    for entry in reversed(entries):
        if (entry.line, entry.column) < (line, column):
            return entry.path
    raise UnsafeError(f"line {line + 1} holds a comment beside the whole document")


def _split_header(found: Trivia, first: Path) -> None:
    """Lines above the first entry that a blank line sets apart belong to the file."""
    lines = found.before.get(first, [])
    blank = max((number for number, line in enumerate(lines) if not line), default=-1)
    found.header = _opening(lines[: blank + 1])
    found.before[first] = lines[blank + 1 :]


def _opening(lines: list[str]) -> list[str]:
    """*lines* from the first comment on."""
    first = next((number for number, line in enumerate(lines) if line), len(lines))
    return squeezed(lines[first:])


def squeezed(lines: list[str]) -> list[str]:
    """*lines* with at most one blank line in a row."""
    return [line for line, before in zip(lines, ["x", *lines], strict=False) if line or before]


def _words(lines: list[str]) -> list[str]:
    return [line for line in lines if line]
