"""The full YAML parser: libyaml's, with the profile kept and a place for every value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import yaml
from yaml._yaml import CParser
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from course.diagnostics import TOP, Problem, Span, short
from course.read.yamlplain import MAX_DEPTH, scalar

# Supersets of anchors, aliases, tags, directives and deep nesting, cheap to look for. A text
# that may hold one has its events read before the tree is built: libyaml's composer recurses,
# so the depth must be known first.
_SUSPECT: Final = ("&", "*", "!", "%", "\n---", "\n...", "\n" + " " * 48)
_SUSPECT_START: Final = ("---", "...", " " * 48)
_RUN: Final = re.compile(r"[-?:][ \t]+[-?:][ \t]+[-?:][ \t]")
_BRACKETS: Final = 100
_ONE: Final = "a file holds one document: remove the line that ends the first"
# What a double-quoted text can spell with an escape and no page, feed or terminal can hold.
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")


class _Composer(CParser):
    """libyaml's composer with a resolver that leaves every scalar as written."""

    def resolve(self, kind: type[Node], value: object, implicit: object) -> str:
        return "!"

    def descend_resolver(self, current: object, index: object) -> None:
        return None

    def ascend_resolver(self) -> None:
        return None


def parse(text: str, file: str, first_line: int) -> tuple[Any, list[Problem]]:
    """The data of one YAML document and what is wrong with it; see ``yamlsource.parse``."""
    problems: list[Problem] = []
    if "\t" in text:
        return None, [_tab(text, file, first_line)]
    if _suspect(text) and (problem := _outside_profile(text, file, first_line)):
        return None, [problem]
    try:
        node = _compose(text)
    except yaml.MarkedYAMLError as error:
        return None, [_syntax(error, file, first_line)]
    except yaml.YAMLError as error:
        return None, [
            Problem("YML001", file, f"not readable as YAML: {short(str(error))}", hint=_cure(""))
        ]
    if node is None or _is_null(node):
        return None, [
            Problem(
                "YML007",
                file,
                "the document is empty",
                span=Span(first_line, 1, first_line, 1),
                hint="write the data, or remove the file",
            )
        ]
    data = _build(node, file, first_line, problems, 0)
    whole = all(problem.code in ("YML003", "SRC004") for problem in problems)
    return (data if whole else None), problems


def locate(
    text: str, path: Sequence[str | int], *, on_key: bool = False, first_line: int = 1
) -> Span:
    """Where the value at *path* stands; a missing key points to the mapping that lacks it."""
    try:
        node = _kept(text)
    except yaml.YAMLError:
        return TOP
    if node is None:
        return TOP
    best = node
    for depth, part in enumerate(path):
        found = _child(best, part)
        if found is None:
            return _head(best, first_line)
        if on_key and depth == len(path) - 1 and isinstance(found[0], Node):
            return _span(found[0], first_line)
        best = found[1]
    return _span(best, first_line)


def _suspect(text: str) -> bool:
    return (
        any(mark in text for mark in _SUSPECT)
        or text.startswith(_SUSPECT_START)
        or text.count("[") + text.count("{") > _BRACKETS
        or _RUN.search(text) is not None
    )


@lru_cache(maxsize=1)
def _kept(text: str) -> Node | None:
    """The tree of the text that was placed last: its problems come in a row."""
    return _compose(text)


def _compose(text: str) -> Node | None:
    parser = _Composer(text)
    try:
        node: Node | None = parser.get_single_node()
        return node
    finally:
        parser.dispose()


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and not node.style and scalar(node.value) is None


def _build(node: Node, file: str, first: int, problems: list[Problem], depth: int) -> Any:
    if isinstance(node, ScalarNode):
        if node.style == '"' and (match := _CONTROL.search(node.value)):
            problems.append(_control(match[0], file, _span(node, first)))
        return node.value if node.style else scalar(node.value)
    if depth > MAX_DEPTH:
        problems.append(_too_deep(file, _span(node, first)))
        return None
    if isinstance(node, SequenceNode):
        return [_build(item, file, first, problems, depth + 1) for item in node.value]
    data: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, ScalarNode):
            problems.append(
                Problem(
                    "YML007",
                    file,
                    "a key must be a plain word",
                    span=_span(key, first),
                    hint="write the key as one word before the colon",
                )
            )
            continue
        name = key.value
        if key.style == '"' and (match := _CONTROL.search(name)):
            problems.append(_control(match[0], file, _span(key, first)))
        if name in data:
            problems.append(
                Problem(
                    "YML003",
                    file,
                    f'the key "{short(name)}" stands twice in this mapping',
                    span=_span(key, first),
                    hint="keep one of the two",
                )
            )
            continue
        data[name] = _build(value, file, first, problems, depth + 1)
    return data


def _child(node: Node, part: str | int) -> tuple[Node | None, Node] | None:
    if isinstance(node, MappingNode):
        for key, value in node.value:
            if isinstance(key, ScalarNode) and key.value == part:
                return key, value
    elif isinstance(node, SequenceNode) and isinstance(part, int) and part < len(node.value):
        return None, node.value[part]
    return None


def _span(node: Node, first_line: int) -> Span:
    start, end = node.start_mark, node.end_mark
    if isinstance(node, ScalarNode) or start.line == end.line:
        return Span(
            start.line + first_line, start.column + 1, end.line + first_line, end.column + 1
        )
    return _head(node, first_line)


def _head(node: Node, first_line: int) -> Span:
    """The first line of a mapping or sequence: its first key, or its opening bracket."""
    start = node.start_mark
    width = 1
    if isinstance(node, MappingNode) and node.value and not node.flow_style:
        width = max(1, len(str(node.value[0][0].value)))
    line, column = start.line + first_line, start.column + 1
    return Span(line, column, line, column + width)


def _outside_profile(text: str, file: str, first: int) -> Problem | None:
    """The first event that the profile forbids; runs only on texts that might hold one."""
    depth = documents = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CLoader):
            found = _forbidden(event, file)
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    found = Problem("YML006", file, "a second document begins here", hint=_ONE)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                depth += 1
                if depth > MAX_DEPTH:
                    found = _too_deep(file, None)
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                depth -= 1
            if found is not None:
                mark = event.start_mark
                line, column = (mark.line + first, mark.column + 1) if mark else (first, 1)
                return Problem(
                    found.code,
                    file,
                    found.message,
                    span=Span(line, column, line, column + 1),
                    hint=found.hint or None,
                )
    except yaml.YAMLError:
        return None  # the composer meets the same error and words it
    return None


def _forbidden(event: yaml.Event, file: str) -> Problem | None:
    if isinstance(event, yaml.AliasEvent):
        return Problem("YML004", file, "aliases are not allowed", hint="write the value out")
    if isinstance(event, yaml.DocumentStartEvent) and (event.version or event.tags):
        return Problem("YML006", file, "directives are not allowed", hint="remove the % line")
    if isinstance(event, yaml.NodeEvent) and event.anchor:
        return Problem("YML004", file, "anchors are not allowed", hint="write the value out")
    tag = getattr(event, "tag", None)
    if tag:
        tag = short(tag.replace("tag:yaml.org,2002:", "!!"))
        return Problem("YML005", file, f"tags are not allowed: {tag}", hint="remove the tag")
    return None


def _too_deep(file: str, span: Span | None) -> Problem:
    hint = "close the brackets, or write the value as plain text"
    return Problem("YML009", file, f"nested deeper than {MAX_DEPTH}", span=span, hint=hint)


def _control(char: str, file: str, span: Span) -> Problem:
    message = f"the text holds the control character U+{ord(char):04X}"
    hint = "remove the escape, or double its backslash to show it"
    return Problem("SRC004", file, message, span=span, hint=hint)


def _tab(text: str, file: str, first: int) -> Problem:
    before = text[: text.index("\t")]
    line = before.count("\n") + first
    column = len(before) - before.rfind("\n")
    span = Span(line, column, line, column + 1)
    return Problem("YML002", file, "a tab in YAML", span=span, hint="use spaces")


def _syntax(error: yaml.MarkedYAMLError, file: str, first: int) -> Problem:
    mark = _begin(error) or error.problem_mark or error.context_mark
    what = str(error.problem or error.context or "syntax error")
    line, column = (mark.line + first, mark.column + 1) if mark else (first, 1)
    span = Span(line, column, line, column + 1)
    if "single document" in f"{error.context} {what}":
        return Problem("YML006", file, "a second document begins here", span=span, hint=_ONE)
    hint = _cure(what)
    return Problem("YML001", file, what, span=span, hint=hint)


def _begin(error: yaml.MarkedYAMLError) -> Any:
    """The place where the thing began that was never ended; None for other errors."""
    context, what, begin = str(error.context), str(error.problem), error.context_mark
    if begin is None or error.problem_mark is None:
        return None
    quoted = "quoted scalar" in context and "unexpected" in what
    key = "could not find expected ':'" in what
    flow = "parsing a flow" in context and error.problem_mark.line > begin.line
    return begin if quoted or key or flow else None


def _cure(what: str) -> str:
    """What to type for the syntax errors that authors meet most."""
    cures = {
        "mapping values are not allowed": 'quote the value: a ": " inside it starts a new mapping',
        "could not find expected ':'": "write a colon and a space after this key; indent it if it "
        "continues the line above",
        "did not find expected <block end>": "check the indentation against the lines above",
        "did not find expected ',' or ']'": "close the list with ], or quote the item",
        "did not find expected ',' or '}'": "close the mapping with }, or quote the value",
        "did not find expected node content": "write the value, or close the bracket before it",
        "found unexpected end of stream": "close the quotation mark",
        "invalid Unicode character": "write the character itself instead of its code",
        "unknown escape character": "double the backslash, or use single quotes",
        "<document start>": "the data ends before this place: remove what follows",
        "expected '-' indicator": "indent the line like the list, or give it its own key",
        "block sequence entries": "begin a list on the line below its key",
        "did not find expected key": "check the indentation and the quotation marks",
        "expected comment or line break": "begin the text on the line after | or >",
        "cannot start any token": "quote the value: it starts with a reserved character",
    }
    found = (cure for part, cure in cures.items() if part in what)
    return next(found, "check this line and the one above it")
