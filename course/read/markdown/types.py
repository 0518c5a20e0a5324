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
# The kinds of link by which the parser asks for a definition that is not there.
REFERENCES: Final = ("ReferenceUnknown", "CollapsedUnknown", "Reference", "Collapsed")
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
    _folded: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for kind, name in self.kinds.items():
            self._folded.setdefault(name.casefold(), kind)

    def kind_of(self, word: str) -> str | None:
        """The block kind that *word* names, ignoring case."""
        return self._folded.get(word.casefold())


@dataclass(frozen=True, slots=True)
class Source:
    """One Markdown text and what it may refer to.

    ``code`` maps names below ``code/`` to text, ``media`` paths below ``folder`` to URLs from
    the page, ``sizes`` such a URL to width and height. A text that is not ``teaching`` (a
    README) has free headings and a title of its own. ``placed`` asks for the place of every
    heading and link, which takes longer; where there is a problem they are known anyhow.
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
    placed: bool = False


@dataclass(slots=True)
class Body:
    """What became of a Markdown text; the lists hold JSON-able values only.

    ``kinds`` names the kind of each block and its line. Where places were not asked for, the
    lines may be 0, ``links`` may be without ``at`` and ``prose`` may be less than there is.
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
    """The structure of one text: what the first pass finds and the second one writes.

    One that is not ``placed`` is ``lost`` when there is anything to report.
    """

    def __init__(self, source: Source, *, placed: bool = True) -> None:
        self.source = source
        self.placed = placed
        self.bytes = source.text.encode()
        self.body = Body()
        self.headings: list[Heading] = []
        self.codes: list[CodeBlock] = []
        self.urls: list[str] = []
        self.image_urls: list[str] = []
        self.footnotes: dict[str, str] = {}
        self.errors = 0
        self.lost = False
        self._place = (0, 1)

    def line(self, start: int) -> int:
        """The line of the file in which the byte *start* lies; 0 when places are unknown."""
        if not self.placed:
            return 0
        return self.bytes.count(b"\n", 0, start) + self.source.first_line

    def _column(self, begin: int, start: int) -> int:
        """The column of a byte in the line from *begin*, counted on from the place before."""
        known, column = self._place if begin <= self._place[0] <= start else (begin, 1)
        column += len(self.bytes[known:start].decode(errors="ignore"))
        self._place = (start, column)
        return column

    def span(self, start: int, end: int) -> Span:
        """The place of a byte range, cut at the end of its first line."""
        line = self.line(start)
        column = self._column(self.bytes.rfind(b"\n", 0, start) + 1, start)
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
        self.lost = not self.placed
        if self.lost or self.errors >= ERROR_LIMIT:
            return
        place = self.span(start, end)
        file = self.source.file
        self.keep(Problem(code, file, message, span=place, expected=expected, got=got, hint=hint))

    def keep(self, problem: Problem) -> None:
        """Record a problem that has its place already, here or in an included file."""
        self.lost = not self.placed
        if self.lost or self.errors >= ERROR_LIMIT:
            return
        self.errors += severity(problem.code) == "error"
        self.body.problems.append(problem)

    def has_errors(self) -> bool:
        """Whether a problem stops the build."""
        return self.errors > 0
