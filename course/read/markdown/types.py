"""What the Markdown step takes and gives, and what its two passes hand to one another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pyromark

from course.diagnostics import Problem, Span
from course.rules import severity

OPTIONS: Final = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_GFM
)
INTRO: Final = "intro"
TEXT_KIND: Final = "text"
ERROR_LIMIT: Final = 500
ALERTS: Final = ("note", "tip", "important", "warning", "caution")


@dataclass(frozen=True, slots=True)
class Words:
    """The interface words that the body step needs, of one language.

    ``alerts`` has a word for each of ``ALERTS``.
    """

    kinds: Mapping[str, str]
    output: str
    table: str
    done: str
    to_do: str
    alerts: Mapping[str, str]

    def kind_of(self, word: str) -> str | None:
        """The block kind that *word* names, ignoring case."""
        folded = word.casefold()
        return next((kind for kind, name in self.kinds.items() if name.casefold() == folded), None)


@dataclass(frozen=True, slots=True)
class Source:
    """One Markdown text and what it may refer to.

    ``code`` maps names below ``code/`` to text, ``media`` paths below ``folder`` to URLs from
    the page, ``sizes`` such a URL to width and height. A text that is not ``teaching`` (a
    README) has free headings and a title of its own.
    """

    text: str
    file: str
    first_line: int
    folder: str
    words: Words
    code: Mapping[str, str] = field(default_factory=dict)
    media: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    teaching: bool = True
    file_urls: bool = False


@dataclass(slots=True)
class Body:
    """What became of a Markdown text; the lists hold JSON-able values only.

    ``kinds`` names the kind of each block and its line. A link has its place as ``at``.
    """

    markdown: str = ""
    blocks: list[dict[str, Any]] = field(default_factory=list)
    toc: list[dict[str, Any]] = field(default_factory=list)
    code: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    images: list[dict[str, str]] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    kinds: list[tuple[str, int]] = field(default_factory=list)
    prose: int = 0
    problems: list[Problem] = field(default_factory=list)


@dataclass(slots=True)
class Heading:
    """One heading; ``prefix`` is the written word of its kind with the colon."""

    level: int
    start: int
    end: int
    text: str
    id: str = ""
    kind: str = TEXT_KIND
    title: str = ""
    prefix: str = ""


@dataclass(slots=True)
class CodeBlock:
    """One code block: its resource entry, whether it is program output, and its byte range."""

    entry: dict[str, Any]
    output: bool
    start: int
    end: int


class Outline:
    """The structure of one text: what the first pass finds and the second one writes."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.bytes = source.text.encode()
        self.body = Body()
        self.headings: list[Heading] = []
        self.codes: list[CodeBlock] = []
        self.urls: list[str] = []
        self.image_urls: list[str] = []
        self.footnotes: dict[str, str] = {}
        self.errors = 0

    def line(self, start: int) -> int:
        """The line of the file in which the byte *start* lies."""
        return self.bytes.count(b"\n", 0, start) + self.source.first_line

    def span(self, start: int, end: int) -> Span:
        """The place of a byte range, cut at the end of its first line."""
        line = self.line(start)
        begin = self.bytes.rfind(b"\n", 0, start) + 1
        column = len(self.bytes[begin:start].decode(errors="ignore")) + 1
        piece = self.bytes[start:end].split(b"\n", 1)[0].decode(errors="ignore")
        return Span(line, column, line, column + max(1, len(piece)))

    def report(
        self,
        code: str,
        message: str,
        start: int,
        end: int,
        *,
        expected: str | None = None,
        got: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Record a problem at a byte range; after very many errors the rest may wait."""
        if self.errors < ERROR_LIMIT:
            span, file = self.span(start, end), self.source.file
            self.keep(Problem(code, file, message, None, False, span, expected, got, hint))

    def keep(self, problem: Problem) -> None:
        """Record a problem that has its place already, here or in an included file."""
        if self.errors < ERROR_LIMIT:
            self.errors += severity(problem.code) == "error"
            self.body.problems.append(problem)
