"""The first pass: the parser's events to headings, links, images, code and tables."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any, Final

import pyromark

from course.diagnostics import short
from course.read import links
from course.read.files import control
from course.read.markdown import codeblocks
from course.read.markdown.types import INTRO, OPTIONS, CodeBlock, Heading, Outline, Source

ALT_LIMIT: Final = 320
NESTED_LIMIT: Final = 12
# The kinds of link by which the parser asks for a definition that is not there.
_REFERENCES: Final = ("ReferenceUnknown", "CollapsedUnknown", "Reference", "Collapsed")
_FOOTNOTE: Final = re.compile(rb"(?<!\\)\[\^([^\]\s]+)\]")
_NOT_SLUG: Final = re.compile(r"[^\w\- ]")
_NEAR: Final = 0.75
_VAGUE: Final = frozenset({"here", "click here", "link", "this", "this page", "more", "read more"})
_FILE_NAME: Final = re.compile(r"[\w.-]+\.(?:svg|png|webp|jpe?g|gif)\Z", re.IGNORECASE)
_CREDENTIALS: Final = re.compile(r"//[^/@]*@")
_CONTAINERS: Final = ("List", "BlockQuote")
_CELL: Final = {"Start": "TableCell"}
_HEAD_ENDS: Final = {"End": "TableHead"}


def read(source: Source) -> Outline:
    """The outline of *source* with every problem of its text."""
    return _Reader(source).read()


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
        self.headings = Headings(self.out)
        self.captures: list[list[str]] = []
        self.depth = 0
        self.at = 0
        self.numeric = "&#" in source.text

    def read(self) -> Outline:
        """Walk the whole text."""
        try:
            self.walk(None)
        except _TooDeepError:
            hint = "put the inner ones beside each other"
            message = f"links and images nested deeper than {NESTED_LIMIT}"
            self.out.report("MD011", message, self.at, self.at, hint=hint)
        self.headings.finish()
        return self.out

    def walk(self, until: str | None) -> None:
        """Read events up to the end of the element *until*, or all.

        Two thirds of all events are texts and the ends of elements that nobody waits for, so
        these come first.
        """
        body, captures = self.out.body, self.captures
        for event, where in self.stream:
            if type(event) is str:
                self.text(" ")
            elif (text := event.get("Text")) is not None:
                body.prose += len(text)
                if captures:
                    self.text(text)
                if self.numeric or "[^" in text:
                    self.marks(text, where["start"], where["end"])
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
            self.at = where["start"]
            start(self, detail, self.at, where["end"])

    def other(self, event: Mapping[str, str], where: Mapping[str, int]) -> None:
        """A code span counts as text; HTML is refused; the rest says nothing."""
        if (code := event.get("Code")) is not None:
            self.out.body.prose += len(code)
            self.text(code)
        elif "InlineHtml" in event:
            self.raw_html(None, where["start"], where["end"])

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

    def container(self, detail: Any, start: int, end: int) -> None:
        """A list or a quotation begins."""
        self.depth += 1

    def raw_html(self, detail: Any, start: int, end: int) -> None:
        """Raw HTML is refused wherever it stands."""
        got = short(self.out.bytes[start:end].decode(errors="ignore"))
        hint = "write it in Markdown, or put it in backticks to show it"
        self.out.report("MD001", "raw HTML is not allowed", start, end, got=got, hint=hint)

    def heading(self, detail: Any, start: int, end: int) -> None:
        """A heading and its text."""
        text = self.inner("Heading")
        self.headings.add(int(detail["level"][1]), text, start, end, nested=self.depth > 0)

    def link(self, detail: Any, start: int, end: int) -> None:
        """A link: its place among the links comes before those of what stands inside it."""
        out = self.out
        slot, images = len(out.urls), len(out.body.images)
        out.urls.append("")
        text = self.inner("Link")
        raw = detail["dest_url"]
        if detail["link_type"] == "Email":
            raw = f"mailto:{raw}"
        check_link_text(out, text, start, end, pictured=len(out.body.images) > images)
        out.urls[slot] = resolve(out, raw, start, end, image=False)

    def image(self, detail: Any, start: int, end: int) -> None:
        """An image and its alternative text."""
        out = self.out
        slot = len(out.image_urls)
        out.image_urls.append("")
        alt = self.inner("Image")
        check_alternative(out, alt, start, end)
        raw = detail["dest_url"]
        out.image_urls[slot] = resolve(out, raw, start, end, image=True)
        out.body.images.append({"target": links.inside(raw, out.source.folder), "alt": alt})

    def code_block(self, detail: Any, start: int, end: int) -> None:
        """A code block; its text is no prose."""
        parts: list[str] = []
        first = last = start
        for event, where in self.stream:
            if type(event) is not dict or "Text" not in event:
                break
            if not parts:
                first = where["start"]
            last = where["end"]
            parts.append(event["Text"])
        info = None if detail == "Indented" else detail["Fenced"]
        if info is not None and not codeblocks.is_closed(self.out, start, end, last):
            hint = "write the same fence on a line of its own where the code ends"
            self.out.report("MD012", "the code block is never closed", start, end, hint=hint)
            return
        block = CodeBlock({"source": "".join(parts)}, False, start, end)
        codeblocks.add(self.out, block, info, (first, last))

    def table(self, detail: Any, start: int, end: int) -> None:
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
            self.out.report(
                "A11005",
                f"column {empty} of the table has no heading",
                start,
                end,
                hint="name each column in the first row",
            )

    # -- footnotes, references and entities --------------------------------------------------

    def footnote(self, label: Any, start: int, end: int) -> None:
        """A footnote gets a numbered anchor."""
        notes = self.out.footnotes
        notes.setdefault(escape(str(label)), f"fn-{len(notes) + 1}")

    def marks(self, text: str, start: int, end: int) -> None:
        """What stands in a *text* and does not belong there.

        That is a footnote mark that nothing defines, and a character that sources must not hold,
        which can only come from an entity.
        """
        if (char := control(text)) is not None:
            at = max(self.out.bytes.find(b"&#", start, end), start)
            message = f"an entity stands for the control character U+{ord(char):04X}"
            hint = "delete it, or put it in backticks to show the entity"
            self.out.report("SRC004", message, at, end, hint=hint)
        for match in _FOOTNOTE.finditer(self.out.bytes, start, end):
            label = short(match[1].decode(errors="ignore"))
            self.out.report(
                "MD008",
                f'the footnote "{label}" is not defined',
                *match.span(),
                hint=f"add a line [^{label}]: and its text",
            )

    def broken_link(self, link: Any) -> None:
        """A reference that the text does not define; a bare word in brackets is no reference."""
        if link["link_type"] not in _REFERENCES:
            return
        reference, span = short(link["reference"]), link["span"]
        self.out.report(
            "MD008",
            f'the reference "{reference}" is not defined',
            span["start"],
            span["end"],
            hint=f"add a line [{reference}]: URL, or link directly",
        )


_STARTS: Final[dict[str, Callable[[_Reader, Any, int, int], None]]] = {
    "Heading": _Reader.heading,
    "Link": _Reader.link,
    "Image": _Reader.image,
    "CodeBlock": _Reader.code_block,
    "Table": _Reader.table,
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
    """*sign*, or for a number that is no digit (½, ²) its digits: nobody can type it in a link."""
    if unicodedata.category(sign) != "No":
        return sign
    return "".join(filter(str.isdecimal, unicodedata.normalize("NFKD", sign)))


class Headings:
    """The headings of one text, in order."""

    def __init__(self, out: Outline) -> None:
        self.out = out
        self.level = 1
        self.seen: dict[str, int] = {INTRO: 0}

    def add(self, level: int, text: str, start: int, end: int, *, nested: bool) -> None:
        """Check one heading, give it kind and anchor, keep it."""
        head = Heading(level, start, end, text, title=text)
        self._check(head, nested=nested)
        if level == 2 and self.out.source.teaching:
            self._name_kind(head)
        head.id = self._anchor(head)
        self.level = level
        self.out.headings.append(head)

    def finish(self) -> None:
        """Fill what the body says about its headings."""
        body = self.out.body
        for head in self.out.headings:
            if head.level == 1:
                continue
            body.anchors.append(head.id)
            title = head.title or head.text
            body.toc.append({"id": head.id, "level": head.level, "title": title})
            if head.level == 2:
                body.kinds.append((head.kind, self.out.line(head.start)))

    def _check(self, head: Heading, *, nested: bool) -> None:
        report, start, end = self.out.report, head.start, head.end
        if nested:
            report("MD006", "a heading inside a list or quotation", start, end, hint="move it out")
        if not head.text:
            report("A11007", "the heading has no text", start, end, hint="write a title")
        if head.level == 1 and (self.out.source.teaching or self.out.headings):
            hint = "begin with ##: the title is the only H1"
            report("MD002", "the body has a first-level heading", start, end, hint=hint)
        elif head.level > self.level + 1:
            report(
                "A11002",
                f"the heading jumps from level {self.level} to {head.level}",
                start,
                end,
                expected=f"level {self.level + 1} or less",
                got=f"level {head.level}",
                hint=f"use {'#' * (self.level + 1)}",
            )

    def _name_kind(self, head: Heading) -> None:
        """The teaching kind that the word before the colon names; a near miss is reported."""
        words = self.out.source.words
        prefix, colon, rest = head.text.partition(":")
        prefix = prefix.strip()
        kind = words.kind_of(prefix)
        if kind:
            head.kind, head.title, head.prefix = kind, rest.strip(), prefix + colon
            return
        if " " in prefix:
            return
        names = list(words.kinds.values())
        close = difflib.get_close_matches(prefix.title(), names, n=1, cutoff=_NEAR)
        if close:
            self.out.report(
                "LES022",
                f'"{short(prefix)}" is not a kind of block',
                head.start,
                head.end,
                expected=", ".join(names),
                got=short(prefix),
                hint=f'did you mean "{close[0]}"?',
            )

    def _anchor(self, head: Heading) -> str:
        base = slug(head.text) or "section"
        if not head.text.isascii() and base != github_slug(head.text):
            self.out.report(
                "LNK008",
                "the anchor of this heading differs from GitHub's",
                head.start,
                head.end,
                expected=base,
                hint="write numbers as plain digits, and letters with their accents as one sign",
            )
        before = self.seen.get(base)
        self.seen[base] = 0 if before is None else before + 1
        return base if before is None else f"{base}-{before + 1}"


def check_link_text(out: Outline, text: str, start: int, end: int, *, pictured: bool) -> None:
    """A link has words that mean something out of context; a picture's words count."""
    if not text and not pictured:
        out.report("A11003", "the link has no text", start, end, hint="say where it goes")
    elif text.casefold().strip(" .!") in _VAGUE:
        message = f'the link text "{short(text)}" does not say where it goes'
        out.report("A11004", message, start, end, hint="use the title of the target")


def check_alternative(out: Outline, alt: str, start: int, end: int) -> None:
    """An image has an alternative text that says what it shows, at a length one can hear."""
    if not alt:
        hint = "say what it shows: ![brake pressure over time](media/trace.svg)"
        out.report("A11001", "the image has no alternative text", start, end, hint=hint)
    elif _FILE_NAME.match(alt):
        message = "the alternative text is a file name"
        out.report("A11006", message, start, end, hint="say what it shows")
    elif len(alt) > ALT_LIMIT:
        out.report(
            "A11008",
            "the alternative text is too long to listen to",
            start,
            end,
            expected=f"at most {ALT_LIMIT} characters",
            got=f"{len(alt)} characters",
            hint="move the detail into the text",
        )


def resolve(out: Outline, raw: str, start: int, end: int, *, image: bool) -> str:
    """The URL that the page uses; a target that needs the course is noted for the linker."""
    source = out.source
    target = links.read(raw, source.folder, source.media, image=image)
    if target.code:
        got = short(_CREDENTIALS.sub("//…@", raw))
        out.report(target.code, target.message, start, end, got=got, hint=target.hint)
    if target.kind:
        at = list(out.span(start, end))
        entry = {"kind": target.kind, "id": target.id, "anchor": target.anchor, "at": at}
        out.body.links.append(entry)
    return links.url(target, source.file_urls)
