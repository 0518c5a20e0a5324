"""`build.py fmt`: YAML sources in one canonical form; prose is never touched.

ruamel.yaml dumps each source as it was loaded: comments, block scalars and the style of lists stay.
Indentation becomes even, quotes remain only where they are needed, and the keys of a source without
comments come in the order of its schema.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.emitter import Emitter
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.resolver import VersionedResolver

from course import yamlsource
from course.diagnostics import Problem, shorten
from course.read import schema
from course.read.files import TEXT_LIMIT, Entry, decode_text, read_bytes, replace_file, scan
from course.read.lesson import split_front
from course.read.sources import CONTENT

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
    """POSIX paths of the files that change, and of those left alone with the reason."""

    changed: list[str] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)
    files: int = 0


class LeftAloneError(Exception):
    """The text cannot be rewritten without a loss; the message says why."""


def fmt(root: Path, *, check: bool = False) -> int:
    """Run the command: format the files, or with *check* only list those that would change.

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
    """Format every YAML source below *root*; with *check* only find those that would change.

    A file is replaced only when the new text has equal data and the same comments.
    """
    result = Formatted()
    problems: list[Problem] = []
    if not (root / CONTENT).is_dir():
        return result
    for entry, name in _list_sources(root):
        result.files += 1
        data = read_bytes(entry, TEXT_LIMIT, problems)
        text = None if data is None else decode_text(data, entry.file, problems)
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
    """Return the canonical form of *text*, a source of the schema *name*.

    Raises :class:`LeftAloneError` when the text breaks the YAML profile, or when the new text
    would differ in its data or comments.
    """
    if not front_matter:
        return _rewrite(text, name)
    split = split_front(text)
    if split is None:
        raise LeftAloneError("the file does not begin with front matter")
    front = split[0]
    return text[:4] + _rewrite(front, name) + text[4 + len(front) :]


def _rewrite(text: str, name: str) -> str:
    data, problems = yamlsource.parse(text, "")
    if problems:
        raise LeftAloneError(problems[0].message)
    if not isinstance(data, dict | list):
        raise LeftAloneError("the document is neither a mapping nor a list")
    if not data:
        return text
    comments = yamlsource.find_comments(text)
    dumper = YAML()
    dumper.Emitter, dumper.Resolver = _Emitter, _Resolver
    dumper.width = 1 << 30  # a long text stays on its line
    dumper.brace_single_entry_mapping_in_flow_sequence = True
    if isinstance(data, dict):
        dumper.indent(mapping=2, sequence=4, offset=2)
    stream = io.StringIO()
    try:
        tree = dumper.load(text)
        tree.fa.set_block_style()
        if not comments:
            _order(tree, schema.schema(name), schema.schema(name))
        dumper.dump(tree, stream)
    except YAMLError as error:  # its parser is not libyaml
        raise LeftAloneError(f"ruamel.yaml cannot rewrite it: {shorten(str(error))}") from error
    new = stream.getvalue().rstrip("\n") + "\n"
    if yamlsource.parse(new, "") != (data, []) or yamlsource.find_comments(new) != comments:
        raise LeftAloneError("it cannot be rewritten without losing data or a comment")
    return new


def _order(data: Any, part: Mapping[str, Any], root: Mapping[str, Any]) -> None:
    """Put the keys of every mapping of *data* in schema order, and unknown ones after them."""
    if "$ref" in part:
        part = root["$defs"][part["$ref"].rpartition("/")[2]]
    if isinstance(data, CommentedSeq):
        for item in data:
            _order(item, part.get("items", {}), root)
    elif isinstance(data, CommentedMap):
        fields = part.get("properties", {})
        for key in sorted(data, key=[*fields, *data].index):
            data.move_to_end(key)
            _order(data[key], fields.get(key, {}), root)


class _Resolver(VersionedResolver):
    """A plain scalar is text wherever the strict profile reads it as text."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        """The tag of a node."""
        plain = kind is ScalarNode and implicit[0]
        if plain and isinstance(yamlsource.scalar(value), str):
            return self.DEFAULT_SCALAR_TAG
        return super().resolve(kind, value, implicit)


class _Emitter(Emitter):
    """Prefers double quotation marks, and quotes what would begin a key inside brackets."""

    def choose_scalar_style(self) -> Any:
        """The style of the current scalar."""
        style, text = super().choose_scalar_style(), self.event.value
        if style == "'" or (not style and text.startswith(("?", ":"))):
            return "'" if '"' in text or "\\" in text else '"'
        return style


# -- files ------------------------------------------------------------------------------------


def _list_sources(root: Path) -> Iterator[tuple[Entry, str]]:
    """Yield every YAML source with the name of its schema."""
    for entry in scan(root / CONTENT, CONTENT, []).walk():
        place = entry.file.removeprefix(f"{CONTENT}/")
        yield from ((entry, name) for pattern, name in _SCHEMAS if pattern.match(place))
