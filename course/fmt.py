"""`build.py fmt`: YAML sources in one canonical form; prose is never touched."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml
from yaml.nodes import MappingNode, Node, SequenceNode

from course import fmt_trivia
from course.diagnostics import Problem
from course.fmt_emit import Verbatim, emit, ordered
from course.read import schema, yamlsource
from course.read.files import TEXT_LIMIT, Entry, read_bytes, scan, text_of
from course.read.lesson import split_front
from course.read.sources import CONTENT

_LESSON: Final = re.compile(r"phases/[^/]+/[^/]+/lesson(?:\.[A-Za-z0-9-]+)?\.md\Z")
_SCHEMAS: Final = tuple(
    (re.compile(pattern), name)
    for pattern, name in (
        (r"course\.yaml\Z", "course"),
        (r"concepts\.yaml\Z", "concepts"),
        (r"retired\.yaml\Z", "retired"),
        (r"ui/[^/]+\.yaml\Z", "ui"),
        (r"phases/[^/]+/phase\.yaml\Z", "phase"),
        (r"phases/[^/]+/[^/]+/quiz(?:\.[A-Za-z0-9-]+)?\.yaml\Z", "quiz"),
        (r"pathways/[^/]+\.yaml\Z", "pathway"),
        (r"roles/[^/]+\.yaml\Z", "role"),
        (r"domains/[^/]+\.yaml\Z", "domain"),
        (r"projects/[^/]+/project\.yaml\Z", "project"),
    )
)
SOURCES: Final = ("lesson", *(name for _, name in _SCHEMAS))


@dataclass(slots=True)
class Formatted:
    """What a run found: POSIX paths of files that change, and of those left alone, with why."""

    changed: list[str] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)
    files: int = 0


class LeftAloneError(Exception):
    """A text that cannot be written anew without a loss; the message says why."""


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
            new = formatted(text, name, front_matter=entry.file.endswith(".md"))
        except LeftAloneError as why:
            result.left.append((entry.file, str(why)))
            continue
        if new != text:
            result.changed.append(entry.file)
            if not check:
                _replace(Path(entry.path), new)
    return result


def formatted(text: str, name: str, *, front_matter: bool = False) -> str:
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
    try:
        trivia = fmt_trivia.read(text, node)
        new = emit(ordered(_spelled(node, data), schema.schema(name)), trivia)
        same = yamlsource.parse(new, "") == (data, [])
        kept = same and fmt_trivia.read(new, _compose(new)).comments() == trivia.comments()
    except fmt_trivia.UnsafeError as error:
        raise LeftAloneError(str(error)) from error
    if not kept:
        raise LeftAloneError("its comments have no safe place in the canonical form")
    return new


def _compose(text: str) -> Node:
    node = yaml.compose(text, Loader=yaml.CSafeLoader)
    if node is None:
        raise LeftAloneError("the document is empty")
    return node


def _spelled(node: Node, data: Any) -> Any:
    """*data* with numbers, booleans and nulls as their author spelled them."""
    if isinstance(node, MappingNode):
        return {key.value: _spelled(value, data[key.value]) for key, value in node.value}
    if isinstance(node, SequenceNode):
        return [_spelled(item, one) for item, one in zip(node.value, data, strict=True)]
    return data if isinstance(data, str) else Verbatim(node.value or "null")


def _sources(root: Path) -> Iterator[tuple[Entry, str]]:
    """Every YAML source with the name of its schema."""
    for entry in scan(root / CONTENT, CONTENT, []).walk():
        place = entry.file.removeprefix(f"{CONTENT}/")
        if _LESSON.match(place):
            yield entry, "lesson"
        else:
            for pattern, name in _SCHEMAS:
                if pattern.match(place):
                    yield entry, name


def _replace(path: Path, text: str) -> None:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_bytes(text.encode())
        beside.chmod(path.stat().st_mode & 0o777)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
