"""The first pass: the parser's events to headings, links, images, code and tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any, Final

import pyromark

from course.diagnostics import short
from course.read.files import control
from course.read.markdown import codeblocks, headings, targets
from course.read.markdown.types import OPTIONS, REFERENCES, CodeBlock, Outline, Source

_FOOTNOTE: Final = re.compile(rb"(?<!\\)\[\^([^\]\s]+)\]")
_CONTAINERS: Final = ("List", "BlockQuote")
_CELL: Final = {"Start": "TableCell"}
_HEAD_ENDS: Final = {"End": "TableHead"}
NESTED_LIMIT: Final = 12


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
        self.headings = headings.Headings(self.out)
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
        targets.check_link_text(out, text, start, end, pictured=len(out.body.images) > images)
        out.urls[slot] = targets.resolve(out, raw, start, end, image=False)

    def image(self, detail: Any, start: int, end: int) -> None:
        """An image and its alternative text."""
        out = self.out
        slot = len(out.image_urls)
        out.image_urls.append("")
        alt = self.inner("Image")
        targets.check_alternative(out, alt, start, end)
        raw = detail["dest_url"]
        out.image_urls[slot] = targets.resolve(out, raw, start, end, image=True)
        out.body.images.append({"target": targets.inside(out, raw), "alt": alt})

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
        if link["link_type"] not in REFERENCES:
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
