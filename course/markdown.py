"""Lesson bodies: CommonMark + GFM to teaching blocks, with every problem at its place."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import Any, Final

import pyromark

from course import links
from course.diagnostics import Problem, Span, nearest, short
from course.highlight import highlight, is_known
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
ALT_LIMIT: Final = 320
_VAGUE: Final = frozenset({"here", "click here", "link", "this", "this page", "more", "read more"})
_FILE_NAME: Final = re.compile(r"[\w.-]+\.(?:svg|png|webp|jpe?g|gif)\Z", re.IGNORECASE)
_CREDENTIALS: Final = re.compile(r"//[^/@]*@")
_NOT_SLUG: Final = re.compile(r"[^\w\- ]")
_FENCE: Final = re.compile(r"(?P<indent>[ ]{0,3})(?P<fence>`{3,}|~{3,})[^\n]*\n")
# One "<" in front of all alternatives: the engine then skips from tag to tag (20 times faster).
_TAGS: Final = re.compile(
    r"<(?:h([1-6])>(.*?)</h\1>"
    r'|(sup class="footnote-reference"><a href=)"#([^"]*)"'
    r'|(div class="footnote-definition" id=)"([^"]*)"'
    r'|(a href=)"[^"]*"'
    r'|(img src=)"[^"]*"'
    r"|(/?table>)"
    r'|(input disabled="" type="checkbox"(?: checked="")?/>))',
    re.DOTALL,
)
_BREAK: Final = "\x1d"


@dataclass(frozen=True, slots=True)
class Words:
    """The interface words that the body step needs, of one language."""

    kinds: Mapping[str, str]
    output: str
    table: str
    done: str
    to_do: str

    def kind_of(self, word: str) -> str | None:
        """The block kind that *word* names, ignoring case."""
        folded = word.casefold()
        return next((kind for kind, name in self.kinds.items() if name.casefold() == folded), None)


@dataclass(frozen=True, slots=True)
class Source:
    """One Markdown text and what it may refer to."""

    text: str
    file: str
    first_line: int
    folder: str
    words: Words
    code: Mapping[str, str] = field(default_factory=dict)
    media: Mapping[str, str] = field(default_factory=dict)
    teaching: bool = True
    file_urls: bool = False


@dataclass(slots=True)
class Body:
    """What became of a Markdown text; the lists hold JSON-able values only."""

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


def slug(text: str) -> str:
    """The anchor of a heading: GitHub's rule for ASCII text, accents folded."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _NOT_SLUG.sub("", plain.lower()).strip().replace(" ", "-")


def render(source: Source) -> Body:
    """The blocks, contents, code, links and problems of *source*."""
    return _Reader(source).read()


@dataclass(slots=True)
class _Heading:
    level: int
    start: int
    end: int
    text: str = ""
    id: str = ""
    kind: str = TEXT_KIND
    title: str = ""
    prefix: str = ""


class _Reader:
    """One pass over the parser's events for structure, one over its HTML for output."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.bytes = source.text.encode()
        self.body = Body()
        self.headings: list[_Heading] = []
        self.urls: list[str] = []
        self.image_urls: list[str] = []
        self.codes: list[tuple[dict[str, Any], bool]] = []
        self.fills: list[tuple[int, int, str]] = []
        self.footnotes: dict[str, str] = {}
        self.open: list[list[str]] = []
        self.depth = 0
        self.slugs: dict[str, int] = {INTRO: 0}
        self.previous_level = 1

    # -- problems ---------------------------------------------------------------------------

    def report(self, code: str, message: str, start: int, end: int, **more: str | None) -> None:
        """Record a problem at the byte range of the text."""
        before = self.bytes[:start].decode(errors="ignore")
        piece = self.bytes[start:end].decode(errors="ignore").split("\n", 1)[0]
        line = before.count("\n") + self.source.first_line
        column = len(before) - before.rfind("\n")
        span = Span(line, column, line, column + max(1, len(piece)))
        self.body.problems.append(Problem(code, self.source.file, message, span=span, **more))

    # -- structure --------------------------------------------------------------------------

    def read(self) -> Body:
        """Run both passes; a body with errors has no HTML."""
        events = pyromark.events_with_range(
            self.source.text, options=OPTIONS, broken_link_callback=self.broken_link
        )
        starts: dict[str, Callable[[Any, int, int, Iterator[Any]], None]] = {
            "Heading": self.heading,
            "Link": self.link,
            "Image": self.image,
            "CodeBlock": self.code_block,
            "Table": self.table,
            "FootnoteDefinition": self.footnote,
        }
        stream = iter(events)
        for event, where in stream:
            if type(event) is str:
                for capture in self.open:
                    capture.append(" ")
                continue
            ((name, value),) = event.items()
            if name == "Text":
                self.body.prose += len(value)
                for capture in self.open:
                    capture.append(value)
                if value[0] == "^":
                    self.lost_footnote(value, where["start"], where["end"])
            elif name == "Start":
                tag, detail = (value, None) if type(value) is str else next(iter(value.items()))
                if tag in starts:
                    starts[tag](detail, where["start"], where["end"], stream)
                elif tag in ("List", "BlockQuote"):
                    self.depth += 1
                elif tag == "HtmlBlock":
                    self.raw_html(where["start"], where["end"])
            elif name == "End":
                if value != "Paragraph" and type(value) is dict and _closes(value):
                    self.depth -= 1
            elif name == "Code":
                self.body.prose += len(value)
                for capture in self.open:
                    capture.append(value)
            elif name == "InlineHtml":
                self.raw_html(where["start"], where["end"])
        self.finish()
        return self.body

    def inner(self, stream: Iterator[Any], end: str) -> str:
        """The plain text up to the end of the element; nested links and images are read too."""
        capture: list[str] = []
        self.open.append(capture)
        for event, where in stream:
            if type(event) is str:
                for text in self.open:
                    text.append(" ")
                continue
            ((name, value),) = event.items()
            if name in ("Text", "Code"):
                self.body.prose += len(value)
                for text in self.open:
                    text.append(value)
            elif name == "InlineHtml":
                self.raw_html(where["start"], where["end"])
            elif name == "Start" and type(value) is dict:
                if "Link" in value:
                    self.link(value["Link"], where["start"], where["end"], stream)
                elif "Image" in value:
                    self.image(value["Image"], where["start"], where["end"], stream)
            elif name == "End" and (value == end or (type(value) is dict and end in value)):
                break
        self.open.pop()
        return "".join(capture).strip()

    def raw_html(self, start: int, end: int) -> None:
        """Raw HTML is refused wherever it stands."""
        got = short(self.bytes[start:end].decode(errors="ignore"))
        hint = "write it in Markdown, or put it in backticks to show it"
        self.report("MD001", "raw HTML is not allowed", start, end, got=got, hint=hint)

    def broken_link(self, link: Any) -> None:
        """A reference that the text does not define."""
        reference = link["reference"]
        if link["link_type"] in ("ReferenceUnknown", "CollapsedUnknown", "Reference", "Collapsed"):
            start = link["span"]["start"]
            self.report(
                "MD008",
                f'the reference "{short(reference)}" is not defined',
                start,
                link["span"]["end"],
                hint=f"add a line [{short(reference)}]: URL, or link directly",
            )

    def lost_footnote(self, text: str, start: int, end: int) -> None:
        """A footnote mark that stayed text because nothing defines it."""
        if self.bytes[start - 1 : start] == b"[" and self.bytes[end : end + 1] == b"]":
            self.report(
                "MD008",
                f'the footnote "{short(text[1:])}" is not defined',
                start - 1,
                end + 1,
                hint=f"add a line [{short(text)}]: and its text",
            )

    def heading(self, detail: Any, start: int, end: int, stream: Iterator[Any]) -> None:
        """A heading: level, kind, anchor."""
        head = _Heading(int(detail["level"][1]), start, end)
        head.text = self.inner(stream, "Heading")
        report = self.report
        if self.depth:
            report("MD006", "a heading inside a list or quotation", start, end, hint="move it out")
        if not head.text:
            report("A11007", "the heading has no text", start, end, hint="write a title")
        if head.level == 1 and (self.source.teaching or self.headings):
            report(
                "MD002",
                "the body has a first-level heading",
                start,
                end,
                hint="begin with ##: the title is the only H1",
            )
        elif head.level > self.previous_level + 1:
            report(
                "A11002",
                f"the heading jumps from level {self.previous_level} to {head.level}",
                start,
                end,
                expected=f"level {self.previous_level + 1} or less",
                got=f"level {head.level}",
                hint=f"use {'#' * (self.previous_level + 1)}",
            )
        self.previous_level = head.level
        self.name_kind(head)
        head.id = self.anchor(head)
        self.headings.append(head)

    def anchor(self, head: _Heading) -> str:
        """A unique anchor for the heading."""
        base = slug(head.text) or "section"
        if not head.text.isascii() and base != _NOT_SLUG.sub("", head.text.lower()).strip().replace(
            " ", "-"
        ):
            self.report(
                "LNK008",
                "the anchor of this heading differs from GitHub's",
                head.start,
                head.end,
                expected=base,
                hint="use ASCII letters in headings that are linked to",
            )
        seen = self.slugs.get(base)
        self.slugs[base] = 0 if seen is None else seen + 1
        return base if seen is None else f"{base}-{seen + 1}"

    def name_kind(self, head: _Heading) -> None:
        """The teaching kind that the words before the colon name."""
        head.title = head.text
        if head.level != 2 or not self.source.teaching:
            return
        words = self.source.words
        prefix, colon, rest = head.text.partition(":")
        prefix = prefix.strip()
        kind = words.kind_of(prefix)
        if kind:
            head.kind, head.title, head.prefix = kind, rest.strip(), prefix + colon
            return
        names = list(words.kinds.values())
        close = difflib.get_close_matches(prefix.title(), names, n=1, cutoff=0.75)
        if close and " " not in prefix:
            self.report(
                "LES022",
                f'"{short(prefix)}" is not a kind of block',
                head.start,
                head.end,
                expected=", ".join(names),
                got=short(prefix),
                hint=f'did you mean "{close[0]}"?',
            )

    def link(self, detail: Any, start: int, end: int, stream: Iterator[Any]) -> None:
        """A link: its text and its target."""
        before = len(self.body.images)
        slot = len(self.urls)
        self.urls.append("")
        text = self.inner(stream, "Link")
        raw = detail["dest_url"]
        if detail["link_type"] == "Email":
            raw = f"mailto:{raw}"
        if not text and len(self.body.images) == before:
            self.report("A11003", "the link has no text", start, end, hint="say where it goes")
        elif text.casefold().strip(" .!") in _VAGUE:
            self.report(
                "A11004",
                f'the link text "{short(text)}" does not say where it goes',
                start,
                end,
                hint="use the title of the target",
            )
        self.urls[slot] = self.resolve(raw, start, end, image=False)

    def image(self, detail: Any, start: int, end: int, stream: Iterator[Any]) -> None:
        """An image: its alternative text and its file."""
        slot = len(self.image_urls)
        self.image_urls.append("")
        alt = self.inner(stream, "Image")
        if not alt:
            self.report(
                "A11001",
                "the image has no alternative text",
                start,
                end,
                hint="say what it shows: ![brake pressure over time](media/trace.svg)",
            )
        elif _FILE_NAME.match(alt):
            self.report(
                "A11006",
                "the alternative text is a file name",
                start,
                end,
                hint="say what it shows",
            )
        elif len(alt) > ALT_LIMIT:
            self.report(
                "A11008",
                "the alternative text is too long to listen to",
                start,
                end,
                expected=f"at most {ALT_LIMIT} characters",
                got=f"{len(alt)} characters",
                hint="move the detail into the text",
            )
        self.image_urls[slot] = self.resolve(detail["dest_url"], start, end, image=True)
        inside = links.inside(detail["dest_url"], self.source.folder)
        self.body.images.append({"target": inside, "alt": alt})

    def resolve(self, raw: str, start: int, end: int, *, image: bool) -> str:
        """The URL that the page uses; a target that needs the course is noted for the linker."""
        source = self.source
        target = links.read(raw, source.folder, source.media, image=image)
        if target.code:
            message, hint = target.message, target.hint
            got = short(_CREDENTIALS.sub("//…@", raw))
            self.report(target.code, message, start, end, got=got, hint=hint)
        if target.kind:
            line = self.bytes.count(b"\n", 0, start) + source.first_line
            begin = self.bytes.rfind(b"\n", 0, start) + 1
            column = len(self.bytes[begin:start].decode(errors="ignore")) + 1
            width = len(self.bytes[start:end].decode(errors="ignore").split("\n", 1)[0])
            self.body.links.append(
                {
                    "kind": target.kind,
                    "id": target.id,
                    "anchor": target.anchor,
                    "at": [line, column, line, column + width],
                }
            )
        return links.url(target, source.file_urls)

    def code_block(self, detail: Any, start: int, end: int, stream: Iterator[Any]) -> None:
        """A code block: language, included file, or the output of the one before."""
        text: list[str] = []
        first = last = start
        for event, where in stream:
            if type(event) is dict and "Text" in event:
                if not text:
                    first = where["start"]
                last = where["end"]
                text.append(event["Text"])
            else:
                break
        info = "" if detail == "Indented" else detail["Fenced"]
        language, _, rest = info.partition(" ")
        options = rest.split()
        if not language:
            self.report(
                "MD003",
                "an indented code block" if detail == "Indented" else "the code has no language",
                start,
                end,
                hint='write ```python, ```json, ```text … after the fence, "text" for plain text',
            )
        elif not is_known(language):
            self.report(
                "MD003",
                f'"{short(language)}" is not a known language',
                start,
                end,
                hint=nearest(language, ["python", "json", "sql", "bash", "console", "yaml", "text"])
                or 'use "text" for plain text',
            )
        code = "".join(text)
        if "expected" in options:
            self.output_block(code, start, end)
            return
        entry: dict[str, Any] = {
            "id": f"code-{len(self.body.code) + 1}",
            "language": language,
            "source": code,
        }
        self.option_block(options, entry, start, end, (first, last))
        self.body.code.append(entry)
        self.codes.append((entry, False))

    def output_block(self, code: str, start: int, end: int) -> None:
        """What the code block before prints."""
        if not self.codes or self.codes[-1][1]:
            self.report(
                "MD007",
                "an expected output without code before it",
                start,
                end,
                hint="put it right after the code block that prints it",
            )
            return
        self.codes[-1][0]["expected"] = code
        self.codes.append(({"language": "text", "source": code}, True))

    def option_block(
        self,
        options: list[str],
        entry: dict[str, Any],
        start: int,
        end: int,
        inside: tuple[int, int],
    ) -> None:
        """The words after the language of a fence."""
        for option in options:
            name, equals, value = option.partition("=")
            if name != "file" or not equals:
                self.report(
                    "MD009",
                    f'"{short(option)}" means nothing after a fence',
                    start,
                    end,
                    expected="file=code/NAME or expected",
                    hint=nearest(name, ["file", "expected"]),
                )
                continue
            code = self.source.code.get(value.removeprefix("code/"))
            if code is None or not value.startswith("code/"):
                known = [f"code/{known}" for known in self.source.code]
                self.report(
                    "MD004",
                    f'the included file "{short(value)}" does not exist',
                    start,
                    end,
                    expected="a file in the code folder of this lesson",
                    hint=nearest(value, known) or "create it beside lesson.md",
                )
                continue
            if entry["source"].strip():
                self.report(
                    "MD005",
                    "a block that includes a file must be empty",
                    *inside,
                    hint="delete the lines inside the fence",
                )
            entry["file"], entry["source"] = value, code
            self.fills.append((start, end, code))

    def table(self, detail: Any, start: int, end: int, stream: Iterator[Any]) -> None:
        """A table: each column needs a heading."""
        cells: list[str] = []
        for event, where in stream:
            if type(event) is str:
                continue
            ((name, value),) = event.items()
            if name == "Start" and value == "TableCell":
                cells.append(self.inner(stream, "TableCell"))
            elif name == "End" and value == "TableHead":
                break
        empty = next((n for n, text in enumerate(cells, 1) if not text), None)
        if empty is not None and not (empty == 1 and len(cells) > 1 and all(cells[1:])):
            self.report(
                "A11005",
                f"column {empty} of the table has no heading",
                start,
                end,
                hint="name each column in the first row",
            )

    def footnote(self, label: Any, start: int, end: int, stream: Iterator[Any]) -> None:
        """A footnote gets a numbered anchor."""
        key = escape(str(label))
        self.footnotes.setdefault(key, f"fn-{len(self.footnotes) + 1}")

    # -- output -----------------------------------------------------------------------------

    def finish(self) -> None:
        """Fill the included files in, then cut the HTML into blocks."""
        body = self.body
        body.anchors = [head.id for head in self.headings]
        body.kinds = [
            (head.kind, self.bytes.count(b"\n", 0, head.start) + self.source.first_line)
            for head in self.headings
            if head.level == 2
        ]
        body.toc = [
            {"id": head.id, "level": head.level, "title": head.title or head.text}
            for head in self.headings
        ]
        if any(severity(problem.code) == "error" for problem in body.problems):
            return
        body.markdown = self.filled()
        self.code_iterator = iter(self.codes)
        html = pyromark.html(self.source.text, options=OPTIONS, highlight=self.code_html)
        self.head_iterator = iter(self.headings)
        self.url_iterator = iter(self.urls)
        self.image_iterator = iter(self.image_urls)
        html = html.replace(' style="text-align: ', ' class="')
        pieces = _TAGS.sub(self.tag, html).split(_BREAK)
        tops = [head for head in self.headings if head.level == 2]
        if pieces[0].strip():
            body.blocks.append({"id": INTRO, "kind": TEXT_KIND, "html": pieces[0]})
        for head, piece in zip(tops, pieces[1:], strict=True):
            block = {"id": head.id, "kind": head.kind, "html": piece}
            if head.title:
                block["title"] = head.title
            if head.kind == "solution":
                heading, _, rest = piece.partition("</h2>")
                block["html"] = (
                    f'<details class="solution"><summary>{heading}</h2></summary>'
                    f'<div class="folded">{rest}</div></details>\n'
                )
            body.blocks.append(block)

    def filled(self) -> str:
        """The text as written, with the code of every included file inside its fence."""
        if not self.fills:
            return self.source.text
        parts: list[str] = []
        last = 0
        for start, end, code in self.fills:
            parts.append(self.bytes[last:start].decode())
            parts.append(_fence(self.bytes[start:end].decode(), code))
            last = end
        parts.append(self.bytes[last:].decode())
        return "".join(parts)

    def code_html(self, language: str | None, text: str) -> str:
        """The HTML of the next code block."""
        entry, output = next(self.code_iterator)
        html = highlight(entry["source"], entry["language"])
        if output:
            label = escape(self.source.words.output)
            return (
                f'<div class="code output"><p class="code-name">{label}</p>'
                f'<pre tabindex="0"><samp>{html}</samp></pre></div>\n'
            )
        name = entry.get("file")
        caption = f'<p class="code-name">{name.removeprefix("code/")}</p>' if name else ""
        return (
            f'<div class="code" id="{entry["id"]}">{caption}<pre tabindex="0">'
            f'<code class="language-{escape(entry["language"])}">{html}</code></pre></div>\n'
        )

    def tag(self, match: re.Match[str]) -> str:
        """The page's form of one HTML tag that the parser wrote."""
        kind = match.lastindex
        if kind == 2:
            return self.heading_html(match[1], match[2])
        if kind == 7:
            return f'<{match[7]}"{escape(next(self.url_iterator))}"'
        if kind == 9:
            if match[9] == "/table>":
                return "</table></div>"
            label = escape(self.source.words.table)
            return f'<div class="table" tabindex="0" role="group" aria-label="{label}"><table>'
        if kind == 8:
            return f'<{match[8]}"{escape(next(self.image_iterator))}" loading="lazy"'
        if kind == 4:
            return f'<{match[3]}"#{self.footnotes.get(match[4], "")}"'
        if kind == 6:
            return f'<{match[5]}"{self.footnotes[match[6]]}"'
        words = self.source.words
        done = "checked" in match[0]
        name, sign = (words.done, "☑") if done else (words.to_do, "☐")
        return f'<span role="img" aria-label="{escape(name)}">{sign}</span>'

    def heading_html(self, level: str, inner: str) -> str:
        """A heading with its anchor; its kind stands in a span of its own."""
        head = next(self.head_iterator)
        inner = _TAGS.sub(self.tag, inner)
        if level == "1":
            return ""
        if head.prefix:
            inner = inner.removeprefix(escape(head.prefix, quote=False)).strip()
            kind = escape(self.source.words.kinds[head.kind])
            inner = f'<span class="kind">{kind}</span> {inner}'.rstrip()
        lead = _BREAK if level == "2" else ""
        return f'{lead}<h{level} id="{head.id}">{inner}</h{level}>'


def _closes(value: dict[str, Any]) -> bool:
    return "List" in value or "BlockQuote" in value


def _fence(block: str, code: str) -> str:
    """*block* (an empty fenced block) with *code* inside, its fence long enough."""
    match = _FENCE.match(block)
    if match is None:
        return block
    head, fence, indent = match[0], match["fence"], match["indent"]
    longest = max((len(run) for run in re.findall(re.escape(fence[0]) + "+", code)), default=0)
    if longest >= len(fence):
        wider = fence[0] * (longest + 1)
        head, fence = head.replace(fence, wider, 1), wider
    tail = "\n" if block.endswith("\n") else ""
    lines = "".join(f"{indent}{line}" for line in code.splitlines(keepends=True))
    return f"{head}{lines}{'' if lines.endswith(chr(10)) else chr(10)}{indent}{fence}{tail}"
