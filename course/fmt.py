"""`build.py fmt`: YAML sources in one canonical form; prose is never touched.

Keys come in the order of the schema, quotes only where the strict profile needs them, short lists
on one line. Comments and blank lines stay beside their entries.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import yaml
from yaml.nodes import MappingNode, Node, SequenceNode

from course.diagnostics import Problem
from course.read import schema, yamlsource
from course.read.files import TEXT_LIMIT, Entry, read_bytes, replace_file, scan, text_of
from course.read.lesson import split_front
from course.read.sources import CONTENT

Place = tuple[str | int, ...]
WIDTH: Final = 100
# What may not stand in YAML as it is, or not in this profile; a line feed has its own rules.
_AWKWARD: Final = re.compile(
    r"[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_COMMENT: Final = re.compile(r"#[^\n]*")
_SCHEMAS: Final = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"course\.yaml\Z", "course"),
        (r"concepts\.yaml\Z", "concepts"),
        (r"retired\.yaml\Z", "retired"),
        (r"synonyms\.yaml\Z", "synonyms"),
        (r"ui/[^/]+\.yaml\Z", "ui"),
        (r"phases/[^/]+/phase\.yaml\Z", "phase"),
        (r"phases/[^/]+/[^/]+/lesson(?:\.[A-Za-z0-9-]+)?\.md\Z", "lesson"),
        (r"phases/[^/]+/[^/]+/quiz(?:\.[A-Za-z0-9-]+)?\.yaml\Z", "quiz"),
        (r"pathways/[^/]+\.yaml\Z", "pathway"),
        (r"roles/[^/]+\.yaml\Z", "role"),
        (r"domains/[^/]+\.yaml\Z", "domain"),
        (r"projects/[^/]+/project\.yaml\Z", "project"),
    )
)
SOURCES: Final = tuple(name for _, name in _SCHEMAS)


@dataclass(slots=True)
class Formatted:
    """What a run found: POSIX paths of files that change, and of those left alone, with why."""

    changed: list[str] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)
    files: int = 0


class LeftAloneError(Exception):
    """A text that cannot be rewritten without a loss; the message says why."""


def fmt(root: Path, *, check: bool = False) -> int:
    """The command: format, or with *check* only name the files that would change.

    Returns 1 when *check* found such files or a file had to be left alone, else 0.
    """
    result = run(root, check=check)
    sys.stdout.write("".join(f"{file}\n" for file in result.changed))
    for file, why in result.left:
        sys.stderr.write(f"{file}: left alone: {why}\n")
    what = "would change" if check else "changed"
    sys.stderr.write(f"{len(result.changed):,} of {result.files:,} files {what}\n")
    return 1 if result.left or (check and result.changed) else 0


def run(root: Path, *, check: bool = False) -> Formatted:
    """Bring every YAML source below *root* into its form; with *check* only say which differ.

    A file is replaced only when the new text holds equal data and the same comments.
    """
    result = Formatted()
    problems: list[Problem] = []
    if not (root / CONTENT).is_dir():
        return result
    for entry, name in _sources(root):
        result.files += 1
        data = read_bytes(entry, TEXT_LIMIT, problems)
        text = None if data is None else text_of(data, entry.file, problems)
        if text is None:
            result.left.append((entry.file, problems[-1].message))
            continue
        try:
            new = format_text(text, name, front_matter=entry.file.endswith(".md"))
        except LeftAloneError as why:
            result.left.append((entry.file, str(why)))
            continue
        if new != text:
            result.changed.append(entry.file)
            if not check:
                replace_file(Path(entry.path), new.encode())
    return result


def format_text(text: str, name: str, *, front_matter: bool = False) -> str:
    """The canonical form of *text*, a source of the schema *name*.

    Raises :class:`LeftAloneError` when the text breaks the YAML profile or a comment has no
    place in the new form.
    """
    if not front_matter:
        return _canonical(text, name)
    split = split_front(text)
    if split is None:
        raise LeftAloneError("the file does not begin with front matter")
    front = split[0]
    return text[:4] + _canonical(front, name) + text[4 + len(front) :]


def _canonical(text: str, name: str) -> str:
    data, problems = yamlsource.parse(text, "")
    if problems:
        raise LeftAloneError(problems[0].message)
    if not isinstance(data, dict | list):
        raise LeftAloneError("the document is neither a mapping nor a list")
    node = _compose(text)
    comments = read_comments(text, node)
    new = _write_document(_order(_keep_spelling(node, data), schema.schema(name)), comments)
    same = yamlsource.parse(new, "") == (data, [])
    if not same or not comments.same(read_comments(new, _compose(new))):
        raise LeftAloneError("its comments have no safe place in the canonical form")
    return new


def _compose(text: str) -> Node:
    node: Node | None = yaml.compose(text, Loader=yaml.CSafeLoader)
    if node is None:
        raise LeftAloneError("the document is empty")
    return node


def _keep_spelling(node: Any, data: Any) -> Any:
    """*data* with numbers, booleans and nulls as their author spelled them."""
    if isinstance(node, MappingNode):
        return {key.value: _keep_spelling(value, data[key.value]) for key, value in node.value}
    if isinstance(node, SequenceNode):
        return [_keep_spelling(item, plain) for item, plain in zip(node.value, data, strict=True)]
    return data if isinstance(data, str) else Verbatim(node.value or "null")


def _order(data: Any, part: Mapping[str, Any], root: Mapping[str, Any] | None = None) -> Any:
    """*data* with the keys of every mapping in schema order; unknown ones last, as they came."""
    root = part if root is None else root
    if "$ref" in part:
        part = root["$defs"][part["$ref"].rpartition("/")[2]]
    if isinstance(data, list):
        return [_order(item, part.get("items", {}), root) for item in data]
    if not isinstance(data, dict):
        return data
    known = part.get("properties", {})
    place = {key: number for number, key in enumerate(known)}
    keys = sorted(data, key=lambda key: place.get(key, len(place)))
    return {key: _order(data[key], known.get(key, {}), root) for key in keys}


# -- comments ---------------------------------------------------------------------------------


@dataclass(slots=True)
class Comments:
    """The comments and blank lines of a text, each with the entry that it belongs to.

    ``above`` maps an entry to the lines before it ("" is a blank one), ``beside`` to the comment
    at the end of its line; ``header`` stands above and apart from the first entry.
    """

    header: list[str] = field(default_factory=list)
    footer: list[str] = field(default_factory=list)
    above: dict[Place, list[str]] = field(default_factory=dict)
    beside: dict[Place, str] = field(default_factory=dict)

    def same(self, other: Comments) -> bool:
        """Whether both hold the same comments beside the same entries, blank lines apart."""
        return self._words() == other._words()

    def _words(self) -> tuple[object, ...]:
        above = {place: words for place, lines in self.above.items() if (words := _words(lines))}
        return _words(self.header), _words(self.footer), above, self.beside

    def below(self, place: Place) -> bool:
        """Whether an entry inside *place* has a comment."""
        entries = [*(entry for entry, lines in self.above.items() if _words(lines)), *self.beside]
        return any(len(entry) > len(place) and entry[: len(place)] == place for entry in entries)


def _words(lines: list[str]) -> list[str]:
    return [line for line in lines if line]


def read_comments(text: str, root: Node) -> Comments:
    """The comments and blank lines of *text*, whose nodes are below *root*.

    They are what stands between the tokens of YAML. Raises :class:`LeftAloneError` for a comment
    inside a value, or beside a document without entries.
    """
    entries = sorted(_entries(root, ()))
    comments = Comments()
    waiting: list[str] = []
    upcoming = 0
    for start, end in _gaps(text):
        begins = start == 0 or text[start - 1] == "\n"
        lines = text[start:end].split("\n")
        at = text.count("\n", 0, start)
        column = start - text.rfind("\n", 0, start) - 1
        while upcoming < len(entries) and entries[upcoming][:2] < (at, column):
            upcoming += 1
        for number, line in enumerate(lines, at):
            comment = _COMMENT.search(line)
            if comment and number == at and not begins:
                owner = [entry for entry in entries if entry[:2] <= (number, column)]
                if not owner:
                    message = f"line {number + 1} holds a comment beside the whole document"
                    raise LeftAloneError(message)
                comments.beside[owner[-1][2]] = comment[0].rstrip()
            elif comment:
                waiting.append(comment[0].rstrip())
            elif (number > at or begins) and number - at < len(lines) - 1:
                waiting.append("")
        here = text.count("\n", 0, end)
        while upcoming < len(entries) and entries[upcoming][0] <= here:
            if waiting:
                comments.above[entries[upcoming][2]], waiting = waiting, []
            upcoming += 1
        if not entries and end < len(text) and not comments.header:
            comments.header, waiting = _opening(waiting), []
    comments.footer = waiting
    if entries:  # what a blank line sets apart from the first entry belongs to the file
        lines = comments.above.get(entries[0][2], [])
        blank = max((number for number, line in enumerate(lines) if not line), default=-1)
        comments.header, comments.above[entries[0][2]] = (
            _opening(lines[: blank + 1]),
            lines[blank + 1 :],
        )
    return comments


def _gaps(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of *text* between its tokens."""
    last = inside = 0
    for token in yaml.scan(text, Loader=yaml.CSafeLoader):
        start, end = token.start_mark.index, token.end_mark.index
        if start > last:
            if inside and "#" in text[last:start]:
                line = token.start_mark.line
                raise LeftAloneError(f"line {line} holds a comment inside a value")
            yield last, start
        block = isinstance(token, yaml.ScalarToken) and token.style in ("|", ">")
        if block and "#" in text[start : text.index("\n", start)]:
            line = token.start_mark.line + 1
            raise LeftAloneError(f"line {line} holds a comment inside a value")
        inside += isinstance(token, yaml.FlowSequenceStartToken | yaml.FlowMappingStartToken)
        inside -= isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken)
        last = max(last, end)
    if last < len(text):
        yield last, len(text)


def _entries(node: Node, place: Place) -> Iterator[tuple[int, int, Place]]:
    """Line, column and place of each key of a block mapping and each item of a block list."""
    if isinstance(node, MappingNode | SequenceNode) and not node.flow_style:
        pairs: list[tuple[Node, str | int, Node]]
        if isinstance(node, MappingNode):
            pairs = [(key, key.value, value) for key, value in node.value]
        else:
            pairs = [(item, number, item) for number, item in enumerate(node.value)]
        for start, name, value in pairs:
            yield start.start_mark.line, start.start_mark.column, (*place, name)
            yield from _entries(value, (*place, name))


def _opening(lines: list[str]) -> list[str]:
    """*lines* from the first comment on."""
    first = next((number for number, line in enumerate(lines) if line), len(lines))
    return _squeeze(lines[first:])


def _squeeze(lines: list[str]) -> list[str]:
    """*lines* with at most one blank line in a row."""
    return [line for line, before in zip(lines, ["x", *lines], strict=False) if line or before]


# -- data to text -----------------------------------------------------------------------------


class Verbatim(str):
    """A scalar that is not text (number, boolean, null), in the spelling of its author."""

    __slots__ = ()


def _write_document(data: Any, comments: Comments) -> str:
    """The text of *data* in the order that it has, with its comments."""
    lines = _block(data, comments, (), 0) if data else [_flat(data)]
    text = "\n".join([*comments.header, *lines, *_squeeze(comments.footer)])
    return text.rstrip("\n") + "\n"


def _block(data: Any, comments: Comments, place: Place, indent: int) -> Iterator[str]:
    """The lines of a mapping or list in block style."""
    pad, keyed = " " * indent, isinstance(data, dict)
    flat = not keyed and _all_short(data, comments, place, indent)
    for number, (key, value) in enumerate(data.items() if keyed else enumerate(data)):
        at = (*place, key)
        above = _squeeze(comments.above.get(at, []))
        if not number and above and not above[0]:
            del above[0]
        yield from (f"{pad}{line}" if line else "" for line in above)
        head = f"{pad}{_quote(key)}:" if keyed else f"{pad}-"
        beside = f"  {comments.beside[at]}" if at in comments.beside else ""
        if isinstance(value, dict | list):
            if not value or flat or _fits(value, comments, at, len(head)):
                yield f"{head} {_flat(value)}{beside}"
                continue
            lines = _block(value, comments, at, indent + 2)
        elif not isinstance(value, Verbatim) and _literal(value):
            body = value.removesuffix("\n").split("\n")
            lines = iter([f"{pad}  {line}" if line else "" for line in body])
            head += " |" if value.endswith("\n") else " |-"
        else:
            yield f"{head} {_quote(value)}{beside}"
            continue
        nested = not keyed and isinstance(value, dict | list)
        yield f"{head} {next(lines).lstrip()}" if nested else f"{head}{beside}"
        yield from lines


def _fits(items: Any, comments: Comments, place: Place, before: int) -> bool:
    """Whether a list of scalars stands well on one line, after *before* characters."""
    if not isinstance(items, list) or comments.below(place):
        return False
    return all(map(_flows, items)) and before + 1 + len(_flat(items)) <= WIDTH


def _all_short(items: list[Any], comments: Comments, place: Place, indent: int) -> bool:
    """Whether each item is a mapping of two or more scalars that stands well on one line."""
    return not comments.below(place) and all(
        isinstance(item, dict)
        and len(item) > 1
        and all(map(_flows, item.values()))
        and indent + 2 + len(_flat(item)) <= WIDTH
        for item in items
    )


def _flat(data: Any) -> str:
    """A list or mapping of scalars on one line."""
    if isinstance(data, dict):
        pairs = (f"{_quote(key)}: {_quote(value)}" for key, value in data.items())
        return f"{{{', '.join(pairs)}}}"
    return f"[{', '.join(map(_quote, data))}]"


def _quote(value: str) -> str:
    """A scalar on one line, in quotes where it needs them."""
    if isinstance(value, Verbatim) or _plain(value, flow=False):
        return value
    awkward = _AWKWARD.search(value) or "\n" in value
    if not awkward and ('"' in value or "\\" in value):
        return "'" + value.replace("'", "''") + "'"
    text = json.dumps(value, ensure_ascii=False)
    return _AWKWARD.sub(lambda sign: f"\\u{ord(sign[0]):04X}", text)


def _flows(value: Any) -> bool:
    """Whether a value is a scalar that looks the same inside brackets."""
    if not isinstance(value, str) or "\n" in value:
        return False
    return isinstance(value, Verbatim) or _plain(value, flow=True) == _plain(value, flow=False)


@lru_cache(maxsize=4096)
def _plain(value: str, *, flow: bool) -> bool:
    """Whether the strict profile reads *value* back equal without quotes."""
    if "\n" in value or value != value.strip() or _AWKWARD.search(value):
        return False
    around = "[{}]" if flow else "- {}\n"
    return yamlsource.parse(around.format(value), "") == ([value], [])


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


# -- files ------------------------------------------------------------------------------------


def _sources(root: Path) -> Iterator[tuple[Entry, str]]:
    """Every YAML source with the name of its schema."""
    for entry in scan(root / CONTENT, CONTENT, []).walk():
        place = entry.file.removeprefix(f"{CONTENT}/")
        yield from ((entry, name) for pattern, name in _SCHEMAS if pattern.match(place))
