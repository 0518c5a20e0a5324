"""Lesson bodies: CommonMark + GFM to teaching blocks, with every problem at its place.

The first pass walks the parser's events and finds headings, links, images, code and problems;
`course.read.blocks` is the second pass, which writes the HTML.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from html import escape
from typing import Any, Final, NamedTuple

import pyromark

from course import rules
from course.diagnostics import Problem, Span, did_you_mean, nearest, shorten
from course.read import links, trace
from course.read.code import PYTHON, find_python_fault, is_known
from course.read.files import find_control

OPTIONS: Final = (
    pyromark.Options.ENABLE_TABLES
    | pyromark.Options.ENABLE_FOOTNOTES
    | pyromark.Options.ENABLE_STRIKETHROUGH
    | pyromark.Options.ENABLE_TASKLISTS
    | pyromark.Options.ENABLE_GFM
    | pyromark.Options.ENABLE_MATH
)
INTRO: Final = "intro"
TEXT_KIND: Final = "text"
ERROR_LIMIT: Final = 500
Range = tuple[int, int]  # of bytes: start and end
ALT_LIMIT: Final = 320
NESTED_LIMIT: Final = 12
_TARGET_LIMIT: Final = 300  # bytes after a bracket in which a target may end
_FOOTNOTE: Final = re.compile(rb"(?<!\\)\[\^([^\]\s]+)\]")
_OPEN_FORMULA: Final = re.compile(rb"(?<!\\)\$(?:\$|(?=\S)[^$\n]*?\\[a-zA-Z])")
_NOT_SLUG: Final = re.compile(r"[^\w\- ]")
_NEAR: Final = 0.75
_VAGUE: Final = frozenset({"here", "click here", "link", "this", "this page", "more", "read more"})
_FILE_NAME: Final = re.compile(r"[\w.-]+\.(?:svg|png|webp|jpe?g|gif)\Z", re.IGNORECASE)
_CREDENTIALS: Final = re.compile(r"//[^/@]*@")
_CONTAINERS: Final = ("List", "BlockQuote")
_ALIGN: Final = re.compile(r'(<m[a-z]+) style="text-align: (left|right)[^"]*"')
_WORDS_IN_FORMULA: Final = re.compile(r"(?<=[\w.,] )[a-z]{2,}(?= \w)")
_INLINE_STYLE: Final = re.compile(r'(<m[a-z]+[^<>]*?) style="[^"]*"')
TAUGHT: Final = ("python", "json", "sql", "bash", "console", "yaml", "text", trace.TRACE)
EXPECTED: Final = "expected"
_CELL: Final = {"Start": "TableCell"}
_HEAD_ENDS: Final = {"End": "TableHead"}
_ROW_ENDS: Final = {"End": "TableRow"}


@dataclass(frozen=True, slots=True)
class Source:
    """One Markdown text and what it may refer to.

    ``words`` are the interface words for lessons, and under ``kinds`` the names of the blocks.
    ``code`` maps paths (``code/x.py``) to text, ``data`` those of ``data/x.csv``, ``media`` paths
    below ``folder`` to URLs from the page, ``sizes`` such a URL to width and height; ``themed``
    are those of pictures that follow the theme of the page. A text that is not ``teaching`` (a
    README) has free headings and a title of its own.
    """

    text: str
    file: str
    first_line: int
    folder: str
    words: Mapping[str, Any]
    code: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    media: Mapping[str, str] = field(default_factory=dict)
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    themed: frozenset[str] = frozenset()
    teaching: bool = True
    file_urls: bool = False


class Code(NamedTuple):
    """One fenced block; ``output`` marks what the code before it prints."""

    language: str
    source: str
    output: bool


class Piece(NamedTuple):
    """A part of a text as it was written: a fenced block with its ``code``, or what is between.

    ``head`` has id and kind of the block that begins with this piece.
    """

    text: str
    code: Code | None = None
    head: tuple[str, str] | None = None


@dataclass(slots=True)
class Body:
    """The result of reading a Markdown text; all lists hold JSON-able values.

    ``prose`` holds what is read, without code blocks; ``kinds`` the kind of each block and its
    line, ``data`` the files that traces use. A link has its place as ``at``.
    """

    pieces: list[Piece] = field(default_factory=list)
    blocks: list[dict[str, Any]] = field(default_factory=list)
    toc: list[dict[str, Any]] = field(default_factory=list)
    code: list[dict[str, Any]] = field(default_factory=list)
    links: list[dict[str, Any]] = field(default_factory=list)
    images: list[dict[str, str]] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    kinds: list[tuple[str, int]] = field(default_factory=list)
    prose: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @property
    def anchors(self) -> list[str]:
        """The anchors that links can point to."""
        return [entry["id"] for entry in self.toc]


@dataclass(slots=True)
class Heading:
    """One heading; ``prefix`` is the written word of its kind with the colon."""

    level: int
    at: Range
    text: str
    id: str = ""
    kind: str = TEXT_KIND
    title: str = ""
    prefix: str = ""


@dataclass(slots=True)
class CodeBlock:
    """One code block: its resource entry, whether it is program output, and its byte range.

    A block trace has its ``plot``.
    """

    entry: dict[str, Any]
    output: bool
    at: Range
    plot: trace.Plot | None = None


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
        self.formulas: list[str] = []
        self.footnotes: dict[str, str] = {}
        self.errors = 0

    def line(self, start: int) -> int:
        """The line of the file in which the byte *start* lies."""
        return self.bytes.count(b"\n", 0, start) + self.source.first_line

    def is_first(self, start: int) -> bool:
        """Whether only spaces precede the byte *start* on its line."""
        return not self.bytes[self.bytes.rfind(b"\n", 0, start) + 1 : start].strip()

    def span(self, at: Range) -> Span:
        """The place of a byte range, cut at the end of its first line."""
        start, end = at
        line = self.line(start)
        begin = self.bytes.rfind(b"\n", 0, start) + 1
        column = len(self.bytes[begin:start].decode(errors="ignore")) + 1
        piece = self.bytes[start:end].split(b"\n", 1)[0].decode(errors="ignore")
        return Span(line, column, line, column + max(1, len(piece)))

    def report(
        self,
        code: str,
        message: str,
        at: Range,
        expected: str | None = None,
        got: str | None = None,
        hint: str | None = None,
    ) -> None:
        """Record a problem at a byte range."""
        if self.errors < ERROR_LIMIT:
            span, file = self.span(at), self.source.file
            self.keep(Problem(code, file, message, None, False, span, expected, got, hint))

    def keep(self, problem: Problem) -> None:
        """Record a problem with its place; after very many errors the rest may wait."""
        if self.errors < ERROR_LIMIT:
            self.errors += rules.book()[problem.code].severity == "error"
            self.body.problems.append(problem)


def read(source: Source) -> Outline:
    """The outline of *source* with every problem of its text."""
    return _Reader(source).read()


# What other tools turn into a box, a tab or a picture, and CommonMark into nothing; addresses; and
# what begins a heading or a table but for a slip.
_FOREIGN: Final = re.compile(
    r"(?P<box>!!! ?\w+|\?\?\?\+? ?\w+|:{3,} ?\{?\w+)|(?P<alert>\[![A-Za-z]+\])"
    r"|(?P<code>\{\{[<%]|\{%)"
    r"|(?P<address>(?<![(<\w])(?:https?://|www\.)[^\s)>]+)"
    r"|(?P<heading>#{2,6}(?=[^\s#]))|(?P<table>\A[-:| ]*-[-:| ]*\Z)"
)


_MARKS: Final = (  # one is in each of them
    *("!!!", "???", ":::", "[!", "{{", "{%", "://", "www.", "##", "|"),
)


class _TooDeepError(Exception):
    """Elements with a text stand in one another without an end."""


class _Reader:
    """Walks the events once; an element that has a text is read by a walk of its own."""

    def __init__(self, source: Source) -> None:
        self.out = Outline(source)
        self.stream: Iterator[Any] = iter(
            pyromark.events_with_range(
                source.text,
                options=OPTIONS,
                merge_text=True,
                broken_link_callback=self.broken_link,
            )
        )
        self.level = 1
        self.seen: dict[str, int] = {INTRO: 0}
        self.captures: list[list[str]] = []
        self.depth = 0
        self.at: Range = (0, 0)
        text = source.text  # one sign is found twenty times as fast as two
        self.numeric = "&" in text and "&#" in text
        self.foreign = [mark for mark in _MARKS if mark[0] in text and mark in text]
        self.links = 0

    def read(self) -> Outline:
        """Walk the whole text."""
        try:
            self.walk(None)
        except _TooDeepError:
            message = f"links and images nested deeper than {NESTED_LIMIT}"
            self.out.report("MD011", message, (self.at[0], self.at[0]))
        body = self.out.body
        for head in self.out.headings:
            if head.level > 1:
                body.toc.append(
                    {"id": head.id, "level": head.level, "title": head.title or head.text}
                )
            if head.level == 2:
                body.kinds.append((head.kind, self.out.line(head.at[0])))
        return self.out

    def walk(self, until: str | None) -> None:
        """Read events up to the end of the element *until*, or all.

        Two thirds of all events are texts and the ends of elements that are not collected, so
        these come first.
        """
        prose, captures = self.out.body.prose, self.captures
        for event, where in self.stream:
            if type(event) is str:
                self.text(" ")
            elif (text := event.get("Text")) is not None:
                prose.append(text)
                if captures:
                    self.text(text)
                if self.numeric or "[^" in text or "$" in text:
                    self.marks(text, where["start"], where["end"])
                for mark in self.foreign:
                    if mark in text and (match := _FOREIGN.search(text)):
                        self.as_it_stands(match, where["start"])
                        break
            elif (tag := event.get("End")) is not None:
                if type(tag) is not str:
                    (tag,) = tag
                    if tag in _CONTAINERS:
                        self.depth -= 1
                if tag == until:
                    break
            elif (tag := event.get("Start")) is not None:
                if type(tag) is not str or tag in _STARTS:
                    self.begin(tag, where)
            else:
                self.other(event, where)

    def begin(self, tag: Any, where: Mapping[str, int]) -> None:
        """An element begins; *tag* is its name, or a mapping from the name to details."""
        detail = None
        if type(tag) is not str:
            ((tag, detail),) = tag.items()
        if (start := _STARTS.get(tag)) is not None:
            self.at = where["start"], where["end"]
            start(self, detail, self.at)

    def other(self, event: Mapping[str, str], where: Mapping[str, int]) -> None:
        """Handle other events: code and formulas count as text, HTML is refused."""
        if (code := event.get("Code")) is not None:
            self.out.body.prose.append(code)
            self.text(code)
        elif (tex := event.get("InlineMath")) is not None:
            self.formula(tex, (where["start"], where["end"]), display=False)
        elif (tex := event.get("DisplayMath")) is not None:
            self.formula(tex, (where["start"], where["end"]), display=True)
        elif "InlineHtml" in event:
            self.raw_html(None, (where["start"], where["end"]))

    def formula(self, tex: str, at: Range, *, display: bool) -> None:
        """A formula between dollar signs; two amounts of money are none."""
        out, (start, end) = self.out, at
        out.body.prose.append(tex)
        self.text(tex)
        if not display and out.bytes[end : end + 1].isdigit():
            message, hint = "a dollar sign before a number ends a formula", "write \\$ for a dollar"
            out.report("MTH001", message, at, hint=hint)
            return
        try:
            out.formulas.append(convert_formula(tex, display=display))
        except MathsError as error:
            fault = start + 1 + display + len(tex[: error.offset].encode())
            out.report("MTH001", error.message, (min(fault, end - 1), end), got=shorten(tex))

    def text(self, value: str) -> None:
        """Add *value* to every element that is being read."""
        for capture in self.captures:
            capture.append(value)

    def inner(self, until: str) -> str:
        """The plain text of the element that has just begun."""
        if len(self.captures) >= NESTED_LIMIT:
            raise _TooDeepError
        self.captures.append([])
        self.walk(until)
        return "".join(self.captures.pop()).strip()

    # -- elements ---------------------------------------------------------------------------

    def container(self, detail: Any, at: Range) -> None:
        """A list or a quotation begins."""
        self.depth += 1

    def raw_html(self, detail: Any, at: Range) -> None:
        """Report raw HTML, which is not allowed anywhere."""
        source = shorten(self.out.bytes[slice(*at)].decode(errors="ignore"))
        if source.startswith("</") and any(
            problem.code == "MD001" for problem in self.out.body.problems
        ):
            return  # it closes what was reported
        self.out.report("MD001", "raw HTML is not allowed", at, got=source)

    def heading(self, detail: Any, at: Range) -> None:
        """A heading and its text."""
        text = self.inner("Heading")
        head = Heading(int(detail["level"][1]), at, text, title=text)
        self.check_heading(head)
        if head.level == 2 and self.out.source.teaching:
            self.name_kind(head)
        head.id = self.anchor(head)
        self.level = head.level
        self.out.headings.append(head)

    def check_heading(self, head: Heading) -> None:
        """Check that a heading is not nested, has a text and skips no level."""
        report, at = self.out.report, head.at
        if self.depth:
            report("MD006", "a heading inside a list or quotation", at)
        if not head.text:
            report("A11007", "the heading has no text", at)
        if head.level == 1 and (self.out.source.teaching or self.out.headings):
            report("MD002", "the body has a first-level heading", at)
        elif head.level > self.level + 1:
            report(
                "A11002",
                f"the heading jumps from level {self.level} to {head.level}",
                at,
                expected=f"level {self.level + 1} or less",
                got=f"level {head.level}",
                hint=f"use {'#' * (self.level + 1)}",
            )

    def name_kind(self, head: Heading) -> None:
        """Set the teaching kind that the word before the colon names; report a near miss."""
        kinds = self.out.source.words["kinds"]
        prefix, colon, rest = head.text.partition(":")
        prefix = prefix.strip()
        for kind, name in kinds.items():
            if name.casefold() == prefix.casefold():
                head.kind, head.title, head.prefix = kind, rest.strip(), prefix + colon
                return
        names = list(kinds.values())
        close = difflib.get_close_matches(prefix.title(), names, n=1, cutoff=_NEAR)
        if close and " " not in prefix:
            self.out.report(
                "LES022",
                f'"{shorten(prefix)}" is not a kind of block',
                head.at,
                expected=", ".join(names),
                got=shorten(prefix),
                hint=did_you_mean(close[0]),
            )

    def anchor(self, head: Heading) -> str:
        """Return the anchor of a heading; repeated ones are numbered, as on GitHub."""
        base = slug(head.text) or "section"
        if not head.text.isascii() and base != github_slug(head.text):
            message = "the anchor of this heading differs from GitHub's"
            self.out.report("LNK008", message, head.at, expected=base)
        before = self.seen.get(base)
        self.seen[base] = 0 if before is None else before + 1
        return base if before is None else f"{base}-{before + 1}"

    def link(self, detail: Any, at: Range) -> None:
        """Read a link; its URL comes before those of the elements inside it."""
        out = self.out
        slot, images = len(out.urls), len(out.body.images)
        out.urls.append("")
        self.links += 1
        text = self.inner("Link")
        self.links -= 1
        raw = detail["dest_url"]
        if detail["link_type"] == "Email":
            raw = f"mailto:{raw}"
        check_link_text(out, text, at, pictured=len(out.body.images) > images)
        out.urls[slot] = resolve(out, raw, at, image=False)

    def image(self, detail: Any, at: Range) -> None:
        """An image and its alternative text."""
        out = self.out
        slot = len(out.image_urls)
        out.image_urls.append("")
        alt = self.inner("Image")
        check_alternative(out, alt, at)
        raw = detail["dest_url"]
        out.image_urls[slot] = resolve(out, raw, at, image=True)
        out.body.images.append({"target": links.resolve_inside(raw, out.source.folder), "alt": alt})

    def code_block(self, detail: Any, at: Range) -> None:
        """A code block; its text is not prose."""
        parts: list[str] = []
        first = last = at[0]
        for event, where in self.stream:
            if type(event) is not dict or "Text" not in event:
                break
            if not parts:
                first = where["start"]
            last = where["end"]
            parts.append(event["Text"])
        info, code = None if detail == "Indented" else detail["Fenced"], "".join(parts)
        if info is not None and not is_closed(self.out, at, last):
            self.out.report("MD012", "the code block is never closed", at)
            return
        if info is not None and (lines := lines_before_fence(self.out, at[0], code)) is not None:
            line = self.out.line(first) + lines
            message = f"the code block is not closed before the next one begins in line {line}"
            hint = (
                "close it where its code ends; to show a fence, begin and end the block with ````"
            )
            self.out.report("MD012", message, at, hint=hint)
            return
        block = CodeBlock({"source": code}, False, at)
        add_code(self.out, block, info, (first, last))

    def table(self, detail: Any, at: Range) -> None:
        """A table: each column needs a heading, but for the corner above row headings."""
        cells: list[str] = []
        for event, _ in self.stream:
            if event == _CELL:
                cells.append(self.inner("TableCell"))
            elif event == _HEAD_ENDS:
                break
        empty = next((n for n, text in enumerate(cells, 1) if not text), None)
        corner = empty == 1 and len(cells) > 1 and all(cells[1:])
        if empty is not None and not corner:
            self.out.report("A11005", f"column {empty} of the table has no heading", at)

    def row(self, detail: Any, at: Range) -> None:
        """Read a row of a table; the parser drops what follows the last column."""
        end = at[0]
        for event, where in self.stream:
            if event == _ROW_ENDS:
                break
            end = where["end"]
            self.walk("TableCell")
        if self.out.bytes[end : at[1]].strip() not in (b"", b"|"):
            message = "the row has more cells than the table has columns"
            self.out.report("MD018", message, (end, at[1]))

    # -- footnotes, references and entities --------------------------------------------------

    def footnote(self, label: Any, at: Range) -> None:
        """A footnote gets a numbered anchor."""
        notes = self.out.footnotes
        notes.setdefault(escape(str(label)), f"fn-{len(notes) + 1}")

    def marks(self, text: str, start: int, end: int) -> None:
        """Report what does not belong into *text*.

        That is a footnote mark that nothing defines, a formula that never ends, and a character
        that sources must not hold, which can only come from an entity.
        """
        report = self.out.report
        if (char := find_control(text)) is not None:
            entity = max(self.out.bytes.find(b"&#", start, end), start)
            message = f"this entity is the control character U+{ord(char):04X}"
            hint = "delete it, or put it in backticks to show the entity"
            report("SRC004", message, (entity, end), hint=hint)
        for match in _FOOTNOTE.finditer(self.out.bytes, start, end):
            label = shorten(match[1].decode(errors="ignore"))
            hint = f"add a line [^{label}]: and its text"
            report("MD008", f'the footnote "{label}" is not defined', match.span(), hint=hint)
        if "$" in text and (formula := _OPEN_FORMULA.search(self.out.bytes, start, end)):
            message = "the formula that starts here never ends"
            hint = "close every brace, leave no line empty, and end it with the same dollar signs"
            report("MTH001", message, formula.span(), hint=hint)

    def as_it_stands(self, match: re.Match[str], start: int) -> None:
        """Report what would appear as plain text: an address, markup of other tools, a slip."""
        at = start + len(match.string[: match.start()].encode())
        report, place = self.out.report, (at, at + len(match[0].encode()))
        match match.lastgroup:
            case "address" if not self.links:
                address = match[0].rstrip(".,;:!?'\"")
                hint = f"write [what is there]({shorten(address)})"
                report("MD015", "this address does not become a link", (at, at + 1), hint=hint)
            case "heading" if self.out.is_first(at):
                report("MD016", "this heading needs a space after its number signs", place)
            case "table" if self.out.is_first(at):
                message = "this row of dashes does not turn the row above it into a table"
                report("MD018", message, place, hint="write as many --- as that row has cells")
            case "code" | "alert" | "box" as kind if kind != "box" or self.out.is_first(at):
                hint = "write it in Markdown; to show the braces, put them in backticks"
                if kind != "code":
                    hint = "write > [!NOTE], and > before each line of the text"
                message = "this markup of another tool would appear as plain text"
                source = shorten(match.string[match.start() :].strip())
                report("MD014", message, place, got=source, hint=hint)

    def broken_link(self, link: Any) -> None:
        """A reference that the text does not define, or a link that cannot be read."""
        reference, at = shorten(link["reference"]), (link["span"]["start"], link["span"]["end"])
        if "Shortcut" not in link["link_type"]:
            message = f'the reference "{reference}" is not defined'
            hint = f"add a line [{reference}]: URL, or link directly"
            self.out.report("MD008", message, at, hint=hint)
        elif self.is_meant_as_link(*at):
            what = "picture" if self.out.bytes[at[0] : at[0] + 1] == b"!" else "link"
            self.out.report("MD017", f"this {what} would appear as plain text", at)

    def is_meant_as_link(self, start: int, end: int) -> bool:
        """Whether the brackets from *start* to *end* are more than a word in brackets."""
        out, before = self.out, self.out.bytes[start - 1 : start]
        after = out.bytes[end : end + _TARGET_LIMIT].decode(errors="ignore")
        if after[:1] == "(" or (before == b"[" and after[:1] == "]"):
            return True
        opening, _, rest = after.lstrip().partition("(")
        raw = rest.partition(")")[0]
        target = links.read(raw, out.source.folder, out.source.media)
        return not (opening or target.code or " " in raw)


_STARTS: Final[dict[str, Callable[[_Reader, Any, Range], None]]] = {
    "Heading": _Reader.heading,
    "Link": _Reader.link,
    "Image": _Reader.image,
    "CodeBlock": _Reader.code_block,
    "Table": _Reader.table,
    "TableRow": _Reader.row,
    "FootnoteDefinition": _Reader.footnote,
    "HtmlBlock": _Reader.raw_html,
    "List": _Reader.container,
    "BlockQuote": _Reader.container,
}


def slug(text: str) -> str:
    """The anchor of a heading: GitHub's, with letters composed and signs like ² as digits."""
    if not text.isascii():
        text = "".join(map(_plain_number, unicodedata.normalize("NFC", text)))
    return github_slug(text)


def github_slug(text: str) -> str:
    """The anchor that GitHub gives a heading: letters and digits of any script, marks, - and _."""
    lower = text.lower()
    kept = _NOT_SLUG.sub("", lower) if lower.isascii() else "".join(filter(_in_slug, lower))
    return kept.strip().replace(" ", "-")


def _in_slug(sign: str) -> bool:
    return sign in " -" or sign.isalnum() or unicodedata.category(sign)[0] == "M" or sign == "_"


def _plain_number(sign: str) -> str:
    """*sign*, or for a number that is no digit (½, ²) its digits, which can be typed in a link."""
    if unicodedata.category(sign) != "No":
        return sign
    return "".join(filter(str.isdecimal, unicodedata.normalize("NFKD", sign)))


def check_link_text(out: Outline, text: str, at: Range, *, pictured: bool) -> None:
    """Check that a link text has meaning out of context; the text of a picture counts."""
    if not text and not pictured:
        out.report("A11003", "the link has no text", at)
    elif text.casefold().strip(" .!") in _VAGUE:
        message = f'the link text "{shorten(text)}" does not say where it leads'
        out.report("A11004", message, at)


def check_alternative(out: Outline, alt: str, at: Range) -> None:
    """An image has an alternative text that says what it shows, at a length one can hear."""
    if not alt:
        out.report("A11001", "the image has no alternative text", at)
    elif _FILE_NAME.match(alt):
        message = "the alternative text is a file name"
        out.report("A11006", message, at)
    elif len(alt) > ALT_LIMIT:
        out.report(
            "A11008",
            "the alternative text is too long to listen to",
            at,
            expected=f"at most {ALT_LIMIT} characters",
            got=f"{len(alt)} characters",
        )


def resolve(out: Outline, raw: str, at: Range, *, image: bool) -> str:
    """The URL that the page uses; a target that needs the course is noted for the linker."""
    source = out.source
    target = links.read(raw, source.folder, source.media, image=image)
    if target.code and image and not source.teaching:
        message, hint = "a project page cannot show pictures", "show it in a lesson"
        out.report(target.code, message, at, got=shorten(raw), hint=hint)
    elif target.code == "LNK001" and image:
        hint = target.hint or ""
        hint = hint if hint.startswith("did you") else "put the file into media/ next to lesson.md"
        out.report("LNK001", "there is no such picture", at, got=shorten(raw), hint=hint)
    elif target.code:
        shown = shorten(_CREDENTIALS.sub("//…@", raw))
        out.report(target.code, target.message, at, got=shown, hint=target.hint)
    if target.kind:
        place = list(out.span(at))
        entry = {"kind": target.kind, "id": target.id, "anchor": target.anchor, "at": place}
        if target.folder:
            entry["folder"] = target.folder
        out.body.links.append(entry)
    return links.resolve_url(target, source.file_urls)


# -- code blocks: their language, the file that fills them, the output that follows them --------


def is_closed(out: Outline, at: Range, last: int) -> bool:
    """Whether a closing fence ends the block *at*, whose code ends at *last*.

    *last* is the start of a block without code. An unclosed block takes in the rest of
    the text.
    """
    start, end = at
    opening = out.bytes.find(b"\n", start, end) + 1 or end
    return out.bytes[start : start + 3] in out.bytes[max(opening, last) : end]


def lines_before_fence(out: Outline, start: int, code: str) -> int | None:
    """After how many lines of its *code* the block at *start* holds a fence that names a language.

    None without such a line. It cannot close the block, so that this one was left open before it.
    """
    sign = chr(out.bytes[start])
    opening = out.bytes[start : start + _TARGET_LIMIT].decode(errors="ignore")
    fence = sign * (len(opening) - len(opening.lstrip(sign)))
    for number, line in enumerate(code.split("\n") if fence in code else ()):
        language = line.strip().lstrip(sign)
        if line.strip().startswith(fence) and language and sign not in language:
            return number
    return None


def add_code(out: Outline, block: CodeBlock, info: str | None, inside: Range) -> None:
    """Check *block* and keep it; *info* is the text after the fence (None without a fence).

    *inside* is the byte range of the lines between the fences.
    """
    language, _, rest = (info or "").partition(" ")
    if language == trace.TRACE and out.source.teaching:
        _add_trace(out, block, rest, inside[0])
        return
    _check_language(out, block, language, fenced=info is not None)
    options = rest.split()
    block.entry["language"] = language
    if EXPECTED in options:
        _add_output(out, block)
        return
    block.entry["id"] = f"code-{len(out.body.code) + 1}"
    for option in options:
        _read_option(out, block, option, inside)
    out.body.code.append(block.entry)
    out.codes.append(block)
    if language in PYTHON and out.source.teaching:
        _check_python(out, block, inside[0])


def _add_trace(out: Outline, block: CodeBlock, rest: str, start: int) -> None:
    """Read a plot; problems of its YAML or its file are placed there, not at the fence."""
    if rest.strip():
        message = f'"{shorten(rest)}" has no meaning after trace'
        out.report("MD009", message, block.at, hint="write file: data/NAME.csv inside the block")
        return
    if not out.is_first(block.at[0]):
        message, hint = "a trace inside a list or quotation", "move it out, without indentation"
        out.report("TRC004", message, block.at, hint=hint)
        return
    source, text = out.source, block.entry["source"]
    line = out.line(start)
    plot, problems = trace.read_trace(text, source.file, line, source.folder, source.data)
    for problem in problems:
        out.keep(problem)
    out.body.data += source.data if plot is None else [plot.file]
    if plot is not None:
        out.body.prose += [plot.caption, *(number.label for number in plot.numbers)]
    block.plot = plot
    out.codes.append(block)


def _check_python(out: Outline, block: CodeBlock, start: int) -> None:
    """Check that the code of a lesson compiles, since it goes into its script and notebook."""
    fault = find_python_fault(block.entry["source"])
    if fault is None:
        return
    line, column, file = fault.line, fault.column, out.source.file
    if included := block.entry.get("file"):
        file = f"{out.source.folder}/{included}"
    else:
        place = out.span((start, start))
        line, column = line + place.line - 1, column + place.column - 1
    out.keep(
        Problem(
            "MD013",
            file,
            f"not valid Python: {fault.message}",
            span=Span(line, column, line, column + 1),
        )
    )


def _check_language(out: Outline, block: CodeBlock, language: str, *, fenced: bool) -> None:
    if not language:
        out.report(
            "MD003",
            "the code has no language" if fenced else "an indented code block",
            block.at,
        )
    elif not is_known(language):
        out.report(
            "MD003",
            f'"{shorten(language)}" is not a known language',
            block.at,
            hint=nearest(language, TAUGHT) or 'use "text" for plain text',
        )


def _add_output(out: Outline, block: CodeBlock) -> None:
    """Add the expected output of the code block before it."""
    if not out.codes or out.codes[-1].output:
        out.report("MD007", "an expected output without code before it", block.at)
        return
    out.codes[-1].entry[EXPECTED] = block.entry["source"]
    block.output = True
    out.codes.append(block)


def _read_option(out: Outline, block: CodeBlock, option: str, inside: Range) -> None:
    """One word after the language of a fence."""
    name, equals, value = option.partition("=")
    if name != "file" or not equals:
        out.report(
            "MD009",
            f'"{shorten(option)}" has no meaning after a fence',
            block.at,
            expected="file=code/NAME or expected",
            hint=nearest(name, ["file", EXPECTED]),
        )
        return
    if ".." in value.split("/") or value.startswith("/"):
        out.report(
            "MD004",
            "an included file must lie in the code folder",
            block.at,
            expected="file=code/NAME",
            got=shorten(value),
        )
        return
    code = out.source.code.get(value)
    if code is None:
        out.report(
            "MD004",
            f'the included file "{shorten(value)}" does not exist',
            block.at,
            expected="a file in the code folder of this lesson",
            hint=nearest(value, out.source.code) or "create it beside lesson.md",
        )
        return
    if block.entry["source"].strip():
        message = "a block that includes a file must be empty"
        out.report("MD005", message, inside)
    block.entry["file"], block.entry["source"] = value, code


# -- formulas: LaTeX to MathML, strictly --------------------------------------------------------


class MathsError(Exception):
    """LaTeX that cannot be read; ``offset`` is the character at fault."""

    def __init__(self, message: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset


@lru_cache(maxsize=1024)
def convert_formula(tex: str, *, display: bool) -> str:
    """Return the LaTeX formula *tex* as a ``math`` element; with *display* on its own line.

    The site allows no inline styles, so an alignment becomes a class. Raises MathsError.
    """
    from math_core import LatexError, LatexToMathML  # only a text with a formula asks for it

    if not tex.strip():
        raise MathsError("the formula is empty", 0)
    if "\\color" in tex:
        raise MathsError("a formula cannot set colours", tex.index("\\color"))
    if words := _WORDS_IN_FORMULA.search(tex):
        message = f'"{words[0]}" is not a name in a formula; mark words with \\text{{{words[0]}}}'
        raise MathsError(message, words.start())
    try:
        html = LatexToMathML(fancy_error=False).convert_with_local_state(tex, displaystyle=display)
    except LatexError as error:
        offset, _, message = str(error).partition(": ")
        message = message.rstrip(".")
        raise MathsError(message[:1].lower() + message[1:], int(offset)) from error
    return _INLINE_STYLE.sub(r"\1", _ALIGN.sub(r'\1 class="\2"', html))
