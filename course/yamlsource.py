"""Strict YAML: a small profile of the format, with a line and a column for every value."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import yaml
from yaml._yaml import CParser

from course.diagnostics import TOP, Problem, Span, shorten, span_at

MAX_DEPTH: Final = 24
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(\.[0-9]{1,15}(?:[eE][-+]?[0-9]{1,2})?)?\Z")
_WORDS: Final[dict[str, object]] = {"true": True, "false": False, "null": None, "": None}
# What a double-quoted text can spell with an escape and no page, feed or terminal can hold.
_CONTROL: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ufffe\uffff]")
_SINGLE_DOCUMENT: Final = "a file holds one document: remove the line that ends the first"
_CURES: Final = {
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
    "expected alphabetic or numeric": "begin an item with -, not *; quote a text that begins so",
    "cannot start any token": "quote the value: it starts with a reserved character",
}
"""Hints for the most frequent syntax errors, by a part of libyaml's message."""


_KEY: Final = re.compile(r"[ ]*(?:- )?[A-Za-z][\w-]*:(?:$| (?P<rest>.*))")
_COMMENT: Final = re.compile(r"#[^\n]*")
_CUT: Final = re.compile(r"[ ]+#[^\s#].*")


class _RefusedError(Exception):
    """The profile forbids something in the text, so it has no usable data."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def parse(text: str, file: str, first_line: int = 1) -> tuple[Any, list[Problem]]:
    """The data of one YAML document and what is wrong with it.

    The data is None when the text has no usable tree. *first_line* is the line of the file
    at which *text* begins (2 for front matter).
    """
    if "\t" in text:
        at = text.index("\t")
        span = span_at(text, at, at + 1, first_line)
        return None, [Problem("YML002", file, "a tab in YAML", span=span)]
    builder = _Builder(text, file, first_line)
    try:
        data = builder.build()
    except _RefusedError as refused:
        return None, [refused.problem]
    except yaml.MarkedYAMLError as error:
        return None, [_report_syntax(error, file, first_line, text)]
    except yaml.YAMLError as error:
        message = f"not readable as YAML: {shorten(str(error))}"
        return None, [Problem("YML001", file, message, hint=_suggest_cure(""))]
    return (data if builder.complete else None), builder.problems


def locate(
    text: str, path: Sequence[str | int], *, on_key: bool = False, first_line: int = 1
) -> Span:
    """Return the place of the value at *path*; a missing key has that of its mapping."""
    node = _root(text)
    if node is None:
        return TOP
    key = None
    for step in path:
        entry = _entry_of(node, step)
        if entry is None:
            return _head(node, first_line)
        key, node = entry
    if on_key and key is not None:
        return _span(key, first_line)
    if isinstance(node, yaml.ScalarNode) or node.start_mark.line == node.end_mark.line:
        return _span(node, first_line)
    return _head(node, first_line)


def find_comments(text: str) -> list[str]:
    """Return the comments of a readable *text*: those between its tokens, and after | or >."""
    comments: list[str] = []
    last = 0
    for token in yaml.scan(text, yaml.CSafeLoader):
        start, end = token.start_mark.index, token.end_mark.index
        if isinstance(token, yaml.ScalarToken) and token.style in ("|", ">"):
            start = text.index("\n", start)
        comments += _COMMENT.findall(text, last, start)
        last = max(last, end)
    return [comment.rstrip() for comment in (*comments, *_COMMENT.findall(text, last))]


@lru_cache(maxsize=1)
def _root(text: str) -> yaml.Node | None:
    """The nodes of *text*, kept, since problems of a file come in a row; None without usable data.

    Only a text that was read before may be given to the library, which follows any depth.
    """
    if parse(text, "")[0] is None:
        return None
    return yaml.compose(text, yaml.CSafeLoader)


def _entry_of(node: yaml.Node, step: str | int) -> tuple[yaml.Node | None, yaml.Node] | None:
    """Key and value at *step* of a mapping or list; of a key that appears twice the first."""
    if isinstance(node, yaml.MappingNode):
        return next((pair for pair in node.value if pair[0].value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return None, node.value[step]
    return None


def _head(node: yaml.Node, first_line: int) -> Span:
    """The first key of a block, else the first character."""
    line, column = node.start_mark.line + first_line, node.start_mark.column + 1
    block = isinstance(node, yaml.MappingNode) and node.value and not node.flow_style
    width = len(node.value[0][0].value) if block else 1
    return Span(line, column, line, column + max(1, width))


def _span(place: Any, first_line: int) -> Span:
    """From the start to the end of a node or an event."""
    begin, stop = place.start_mark, place.end_mark
    return Span(begin.line + first_line, begin.column + 1, stop.line + first_line, stop.column + 1)


def scalar(text: str) -> Any:
    """Return the value of a YAML 1.2 core scalar; everything else stays text."""
    first = text[:1]
    if first in "-0123456789" and (match := _NUMBER.match(text)):
        return float(text) if match[1] else int(text)
    if first in "tfn" and text in _WORDS:
        return _WORDS[text]
    return text or None


class _Builder:
    """Builds the data from libyaml's events, which come one by one: depth is known in time."""

    def __init__(self, text: str, file: str, first_line: int) -> None:
        self.parser = CParser(text)
        self.lines = text.split("\n") if " #" in text else []
        self.next: Callable[[], Any] = self.parser.get_event
        self.file = file
        self.first_line = first_line
        self.problems: list[Problem] = []
        self.complete = True

    def build(self) -> Any:
        """The data of the only document."""
        try:
            self.next()  # the stream begins
            start = self.next()
            if isinstance(start, yaml.StreamEndEvent):
                raise self._empty()
            if start.version or start.tags:
                hint = "remove the % line"
                raise self._refuse("YML006", "directives are not allowed", start, hint)
            event = self.next()
            data = self._value(event, 0)
            self.next()  # the document ends
            after = self.next()
            if not isinstance(after, yaml.StreamEndEvent):
                message = "a second document begins here"
                raise self._refuse("YML006", message, after, _SINGLE_DOCUMENT)
            if data is None:
                raise self._empty()
            return data
        finally:
            self.parser.dispose()

    def _value(self, event: Any, depth: int) -> Any:
        """The value that begins with *event*."""
        if event.anchor or event.tag:
            raise self._refuse_mark(event)
        kind = type(event)
        if kind is yaml.ScalarEvent:
            return self._scalar(event)
        if depth > MAX_DEPTH:
            hint = "close the brackets, or write the value as plain text"
            raise self._refuse("YML009", f"nested deeper than {MAX_DEPTH}", event, hint)
        if kind is yaml.SequenceStartEvent:
            items: list[Any] = []
            while type(item := self.next()) is not yaml.SequenceEndEvent:
                items.append(self._value(item, depth + 1))
            return items
        data: dict[str, Any] = {}
        while type(key := self.next()) is not yaml.MappingEndEvent:
            name = self._key(key, depth + 1)
            value = self._value(self.next(), depth + 1)
            if name not in data:
                data[name] = value
            elif name is not None:
                message = f'the key "{shorten(name)}" appears twice in this mapping'
                self.problems.append(Problem("YML003", self.file, message, span=self._span(key)))
        return data

    def _key(self, event: Any, depth: int) -> Any:
        """The key that begins with *event*; None for one that is no word."""
        if type(event) is yaml.ScalarEvent and not (event.style or event.anchor or event.tag):
            return event.value
        self._value(event, depth)
        if type(event) is yaml.ScalarEvent:
            return event.value
        self.complete = False
        message = "a key must be a plain word"
        self.problems.append(Problem("YML007", self.file, message, span=self._span(event)))
        return None

    def _scalar(self, event: Any) -> Any:
        text = event.value
        if not event.style:
            data = scalar(text)
            if self.lines and isinstance(data, str):
                self._cut(event)
            return data
        if event.style == '"' and (match := _CONTROL.search(text)):
            self.problems.append(self._control(match[0], event))
        return text

    def _span(self, event: Any) -> Span:
        return _span(event, self.first_line)

    # -- problems ---------------------------------------------------------------------------

    def _refuse(self, code: str, message: str, event: Any, hint: str) -> _RefusedError:
        span = _at(event.start_mark, self.first_line)
        return _RefusedError(Problem(code, self.file, message, span=span, hint=hint))

    def _refuse_mark(self, event: Any) -> _RefusedError:
        """Return the refusal of an alias, an anchor or a tag."""
        if event.anchor:
            what = "aliases" if type(event) is yaml.AliasEvent else "anchors"
            return self._refuse("YML004", f"{what} are not allowed", event, "write the value out")
        tag = shorten(event.tag.replace("tag:yaml.org,2002:", "!!"))
        return self._refuse("YML005", f"tags are not allowed: {tag}", event, "remove the tag")

    def _empty(self) -> _RefusedError:
        hint, first = "add the data, or remove the file", self.first_line
        span = Span(first, 1, first, 1)
        problem = Problem("YML007", self.file, "the document is empty", span=span, hint=hint)
        return _RefusedError(problem)

    def _cut(self, event: Any) -> None:
        """Report a text without quotes that ends at a hash: "no. #2" is "no." and a comment."""
        mark = event.end_mark
        line = self.lines[mark.line] if mark.line < len(self.lines) else ""
        if match := _CUT.match(line, mark.column):
            span = self._span(event)
            hint = f'put the text in quotes: "{shorten(event.value)}{match[0]}"'
            message = "the text ends before the #, which begins a comment"
            self.problems.append(Problem("YML010", self.file, message, span=span, hint=hint))

    def _control(self, char: str, event: Any) -> Problem:
        message = f"the text contains the control character U+{ord(char):04X}"
        hint = "remove the escape, or double its backslash to show it"
        return Problem("SRC004", self.file, message, span=self._span(event), hint=hint)


def _at(mark: Any, first: int) -> Span:
    """The character at *mark* of a text whose first line is *first* of its file."""
    line, column = (mark.line + first, mark.column + 1) if mark else (first, 1)
    return Span(line, column, line, column + 1)


def _report_syntax(error: yaml.MarkedYAMLError, file: str, first: int, text: str) -> Problem:
    mark = _find_beginning(error) or error.problem_mark or error.context_mark
    what = str(error.problem or error.context or "syntax error")
    hint = (mark and _suggest_column(what, text, mark.line, first)) or _suggest_cure(what)
    return Problem("YML001", file, what, span=_at(mark, first), hint=hint)


def _suggest_column(what: str, text: str, number: int, first: int) -> str | None:
    """Return a hint for a key that begins in another column than the keys before it."""
    if "expected key" not in what and "mapping values" not in what:
        return None
    lines = text.split("\n")
    key = _KEY.match(lines[number]) if number < len(lines) else None
    before = range(min(number, len(lines)) - 1, -1, -1)  # YAML ends lines where we do not, too
    above = next((row for row in before if _KEY.match(lines[row])), None)
    if key is None or above is None or ": " in (key["rest"] or ""):
        return None
    if _column(lines[above]) == _column(lines[number]):
        return None
    return f"begin the line in the column of line {above + first}, or in that of a key above it"


def _column(line: str) -> int:
    """In which column the key of *line* begins, counted from 0."""
    return len(line) - len(line.lstrip(" -"))


def _find_beginning(error: yaml.MarkedYAMLError) -> Any:
    """The place where an unfinished element begins; None for other errors."""
    context, what, begin = str(error.context), str(error.problem), error.context_mark
    if begin is None or error.problem_mark is None:
        return None
    quoted = "quoted scalar" in context and "unexpected" in what
    key = "could not find expected ':'" in what
    flow = "parsing a flow" in context and error.problem_mark.line > begin.line
    return begin if quoted or key or flow else None


def _suggest_cure(what: str) -> str:
    """Return a hint for a syntax error of libyaml."""
    matches = (cure for part, cure in _CURES.items() if part in what)
    return next(matches, "check this line and the one above it")
