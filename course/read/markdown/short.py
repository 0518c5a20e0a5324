"""The short way through Markdown: structure and blocks of a plain text from its HTML alone.

The parser's events with their places cost eight times its HTML. A text that holds anything rare,
or anything to report, is left to the long way, which alone knows what is wrong with it and where.
"""

from __future__ import annotations

import re
from html import unescape
from typing import Any, Final

import pyromark

from course.read.markdown import codeblocks, targets
from course.read.markdown.headings import Headings
from course.read.markdown.output import Writer, filled
from course.read.markdown.types import OPTIONS, REFERENCES, Body, CodeBlock, Outline, Source

_DEFINITION: Final = re.compile(r"\n[ \t>*+.)0-9-]*\[(?:[^\n]*|[^\[\]]*)\]:")
_MARKUP: Final = re.compile(r"<[A-Za-z/!?]")
_FENCE: Final = re.compile(r"\n(?:`{3,}([^`\n]*)|~{3,}([^\n]*))(?=\n|\Z)")
_HEADING: Final = re.compile(r"\n#{1,6}(?=[ \t\n]|\Z)")
_TAG: Final = re.compile(r"<[^>]*>")
_HEAD: Final = re.compile(r"<th(?: [^>]*)?>(.*?)</th>", re.DOTALL)
_ALTERNATIVE: Final = re.compile(r' alt="([^"]*)"')
_ENOUGH: Final = 1000
_ENTITY: Final = len("&quot;")
_CHANGED: Final = frozenset("&%")  # the parser has, or may have, written another address
_FENCES: Final = ("```", "~~~")


def attempt(source: Source) -> Body | None:
    """What became of a text without any problem; None when the long way has to be taken."""
    text = source.text
    if "[^" in text or "&#" in text or ("]:" in text and _DEFINITION.search(f"\n{text}")):
        return None
    out = Outline(source, placed=False)
    _Short(out).write()
    if out.lost:
        return None
    out.body.markdown = filled(out)
    return out.body


class _Short(Writer):
    """Notes each element in the moment in which it is written.

    The text is counted against the HTML: where every mark of Markdown that was found became an
    element, no element hides in another one, and each begins where its mark stands.
    """

    def __init__(self, out: Outline) -> None:
        super().__init__(out)
        self.text = f"\n{out.source.text}"
        self.notes = Headings(out)
        self.fences = list(_FENCE.finditer(self.text))
        self.blocks = 0
        self.found = 0  # links and images
        self.shown = 0  # images
        self.coded = 0  # what looks like a heading in code
        self.angles = 0  # what looks like HTML in code

    def write(self) -> None:
        """Read and write the whole text, and say if the short way was wrong."""
        html = pyromark.html(
            self.out.source.text,
            options=OPTIONS,
            broken_link_callback=self.broken,
            highlight=self.code,
        )
        text, out = self.text, self.out
        if 2 * self.blocks != len(self.fences) or len(_MARKUP.findall(text)) != self.angles:
            out.lost = True
        if out.lost or any(not _words(head).strip() for head in _HEAD.findall(html)):
            out.lost = True
            return
        out.body.prose = _prose(html)
        self.cut(html)
        self.notes.finish()
        if (
            self.found != text.count("](")
            or self.shown != text.count("![")
            or len(out.headings) + self.coded != len(_HEADING.findall(text))
        ):
            out.lost = True

    def broken(self, link: Any) -> None:
        """A reference that the text does not define."""
        if link["link_type"] in REFERENCES:
            self.out.lost = True

    def code(self, language: str | None, text: str) -> str:
        """A code block; the line of its fence says the rest."""
        out, number = self.out, 2 * self.blocks
        self.blocks += 1
        self.angles += len(_MARKUP.findall(text))
        if "#" in text:
            self.coded += len(_HEADING.findall(f"\n{text}"))
        if number + 1 >= len(self.fences) or any(fence in text for fence in _FENCES):
            out.lost = True
            return ""
        opening, closing = self.fences[number], self.fences[number + 1]
        info = (opening[1] or opening[2] or "").strip()
        if info.partition(" ")[0] != (language or "") or "\\" in info or "&" in info:
            out.lost = True
            return ""
        block = CodeBlock({"source": text}, False, 0, 0)
        codeblocks.add(out, block, info, (0, 0))
        if out.lost:
            return ""
        if "file" in block.entry:
            block.start = len(self.text[1 : opening.start() + 1].encode())
            block.end = len(self.text[1 : closing.end()].encode())
        return self.framed(block)

    def heading(self, level: str, inner: str) -> str:
        """A heading: its words, then its form on the page."""
        if "<img" in inner:
            self.out.lost = True
        self.notes.add(int(level), _words(inner).strip(), 0, 0, nested=False)
        self.headings = iter(self.out.headings[-1:])
        return super().heading(level, inner)

    def link(self, match: re.Match[str]) -> str:
        """A link: its words and where it goes."""
        out, html = self.out, match.string
        self.found += 1
        raw = match[1]
        inner = html[html.index(">", match.end()) + 1 : html.index("</a>", match.end())]
        if "<img" in inner or not _CHANGED.isdisjoint(raw):
            out.lost = True
        targets.check_link_text(out, _words(inner).strip(), 0, 0, pictured=False)
        self.urls = iter([targets.resolve(out, raw, 0, 0, image=False)])
        return super().link(match)

    def image(self, match: re.Match[str]) -> str:
        """An image: its alternative text and its file."""
        out = self.out
        self.found += 1
        self.shown += 1
        raw = match[6]
        words = _ALTERNATIVE.match(match.string, match.end())
        alt = unescape(words[1]).strip() if words else ""
        if not _CHANGED.isdisjoint(raw):
            out.lost = True
        targets.check_alternative(out, alt, 0, 0)
        self.image_urls = iter([targets.resolve(out, raw, 0, 0, image=True)])
        out.body.images.append({"target": targets.inside(out, raw), "alt": alt})
        return super().image(match)


def _words(html: str) -> str:
    """The text of an element; a line break is a blank."""
    text = _TAG.sub("", html) if "<" in html else html
    return (unescape(text) if "&" in text else text).replace("\n", " ")


def _prose(html: str) -> int:
    """How much text begins the paragraphs, at least; the rest of a long text is not counted."""
    total = end = 0
    while total < _ENOUGH and (start := html.find("<p>", end)) >= 0:
        end = html.find("<", start + 1)
        text = html[start + 3 : end]
        total += len(text) - text.count("\n") - (_ENTITY - 1) * text.count("&")
    return total
