"""Lesson bodies as HTML: blocks with anchors, page URLs and highlighted code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from itertools import count
from typing import Final

import pyromark

from course.read import images, plot
from course.read.code import highlight
from course.read.markdown import (
    INTRO,
    OPTIONS,
    TEXT_KIND,
    Body,
    Code,
    CodeBlock,
    Heading,
    Outline,
    Piece,
    Source,
    read,
)

_FENCE: Final = re.compile(r"(?P<indent>[ ]{0,3})(?P<fence>`{3,}|~{3,})[^\n]*\n")
# One "<" in front of all alternatives: the engine then skips from tag to tag (20 times faster);
# and a letter at the beginning of each, so that it enters one only (twice as fast again).
_TAGS: Final = re.compile(
    r'<(?:a href="([^"]*)"'
    r"|h([1-6])>(.*?)</h\2>"
    r'|sup class="footnote-reference"><a href="#([^"]*)"'
    r'|div class="footnote-definition" id="([^"]*)"'
    r'|img src="([^"]*)"'
    r"|table()>"
    r"|/table()>"
    r'|blockquote class="markdown-alert-([a-z]+)">'
    r'|input disabled="" type="checkbox"((?: checked="")?)/>'
    r'|(span) class="math math-(?:inline|display)">.*?</span>)',
    re.DOTALL,
)
_VIDEO: Final = re.compile(r'<video([^<>]*?) alt="([^"]*)"(?: title="[^"]*")? ?/>')
_BREAK: Final = "\x1d"  # no source file holds this character


def render(source: Source, *, draft: bool = False) -> Body:
    """The blocks, contents, code, links and problems of *source*; with errors no blocks.

    With errors a *draft* has blocks as well, in the worst case one without code and links.
    """
    out = read(source)
    if not out.errors:
        _Writer(out).write()
        out.body.pieces = [*pieces(out)]
    elif draft:
        _write_draft(out)
    return out.body


def _write_draft(out: Outline) -> None:
    body = out.body
    try:
        if not any(problem.code == "MD001" for problem in body.problems):
            _Writer(out).write()
    except (RuntimeError, LookupError, TypeError, ValueError):
        body.blocks.clear()
    if not body.blocks:
        html = pyromark.html(out.source.text.replace("<", "&lt;"), options=OPTIONS)
        body.blocks.append({"id": INTRO, "kind": TEXT_KIND, "html": html})


class _Writer:
    """Walks headings, links, images, code and formulas of the outline in step with the HTML."""

    def __init__(self, out: Outline) -> None:
        self.out = out
        self.words = out.source.words
        self.headings = iter(out.headings)
        self.codes = iter(out.codes)
        self.urls = iter(out.urls)
        self.image_urls = iter(out.image_urls)
        self.formulas = iter(out.formulas)
        self.traces = count(1)

    def write(self) -> None:
        """Cut the HTML at its second-level headings."""
        html = pyromark.html(self.out.source.text, options=OPTIONS, highlight=self.code)
        html = html.replace(' style="text-align: ', ' class="')
        html = _TAGS.sub(self.tag, html)
        if "<video" in html:
            html = _VIDEO.sub(r'<video\1 aria-label="\2"></video>', html)
        first, *rest = html.split(_BREAK)
        blocks = self.out.body.blocks
        if first.strip():
            blocks.append({"id": INTRO, "kind": TEXT_KIND, "html": first})
        tops = [head for head in self.out.headings if head.level == 2]
        for head, piece in zip(tops, rest, strict=True):
            block = {"id": head.id, "kind": head.kind, "html": piece}
            if head.title:
                block["title"] = head.title
            if head.kind == "solution":
                heading, _, body = piece.partition("</h2>")
                block["html"] = (
                    f'<details class="solution"><summary>{heading}</h2></summary>'
                    f'<div class="folded">{body}</div></details>\n'
                )
            blocks.append(block)

    def code(self, language: str | None, text: str) -> str:
        """The next code block with its name, or as the output of the one before it."""
        block = next(self.codes)
        if block.plot is not None:
            return plot.draw_figure(block.plot, f"trace-{next(self.traces)}", self.words)
        entry = block.entry
        html = highlight(entry["source"], "text" if block.output else entry["language"])
        if block.output:
            return (
                f'<div class="code output"><p class="code-name">{escape(self.words["output"])}</p>'
                f'<pre tabindex="0"><samp>{html}</samp></pre></div>\n'
            )
        name = entry.get("file")
        caption = f'<p class="code-name">{name.removeprefix("code/")}</p>' if name else ""
        return (
            f'<div class="code" id="{entry["id"]}">{caption}<pre tabindex="0">'
            f'<code class="language-{escape(entry["language"])}">{html}</code></pre></div>\n'
        )

    def tag(self, match: re.Match[str]) -> str:
        """The page's form of one tag that the parser wrote."""
        match match.lastindex:
            case 1:
                return f'<a href="{escape(next(self.urls))}"'
            case 3:
                return self.heading(match[2], match[3])
            case 4:
                note = self.out.footnotes.get(match[4], "")
                return f'<sup class="footnote-reference"><a href="#{note}"'
            case 5:
                return f'<div class="footnote-definition" id="{self.out.footnotes[match[5]]}"'
            case 6:
                return self.image()
            case 7 | 8:
                return self.table(opens=match.lastindex == 7)
            case 9:
                return self.alert(match[0], match[9])
            case 11:
                return next(self.formulas)
            case _:
                return self.check_box(done=match[10] != "")

    def heading(self, level: str, inner: str) -> str:
        """A heading with its anchor; its kind has a span of its own."""
        head = next(self.headings)
        if "<" in inner:
            inner = _TAGS.sub(self.tag, inner)
        if level == "1":
            return ""
        if head.prefix:
            inner = inner.removeprefix(escape(head.prefix, quote=False)).strip()
            kind = escape(self.words["kinds"][head.kind])
            inner = f'<span class="kind">{kind}</span> {inner}'.rstrip()
        lead = _BREAK if level == "2" else ""
        return f'{lead}<h{level} id="{head.id}">{inner}</h{level}>'

    def image(self) -> str:
        """An image that keeps its room on the page before it is loaded; or a video."""
        url = next(self.image_urls)
        if url.endswith(tuple(f".{suffix}" for suffix in images.VIDEOS)):
            return f'<video controls preload="metadata" src="{escape(url)}"'
        size = self.out.source.sizes.get(url)
        room = f' width="{size[0]}" height="{size[1]}"' if size else ""
        look = ' class="themed"' if url in self.out.source.themed else ""
        return f'<img src="{escape(url)}"{look}{room} loading="lazy"'

    def table(self, *, opens: bool) -> str:
        """A table that scrolls by keyboard when it is wider than the page."""
        if not opens:
            return "</table></div>"
        label = escape(self.words["table"])
        return f'<div class="table" tabindex="0" role="group" aria-label="{label}"><table>'

    def alert(self, tag: str, name: str) -> str:
        """An alert with its word, since colour alone is not enough."""
        return f'{tag}<p class="alert">{escape(self.words["alert_" + name])}</p>'

    def check_box(self, *, done: bool) -> str:
        """The mark of a task; a disabled input would have no label."""
        name, sign = ("done", "☑") if done else ("to_do", "☐")
        return f'<span role="img" aria-label="{escape(self.words[name])}">{sign}</span>'


def pieces(out: Outline) -> Iterator[Piece]:
    """The text as written, cut at its blocks and fences, every included file in its fence."""
    marks: list[Heading | CodeBlock] = [head for head in out.headings if head.level == 2]
    last, head = 0, None
    for mark in sorted([*marks, *out.codes], key=lambda mark: mark.at):
        start, end = mark.at
        first = out.is_first(start)
        if isinstance(mark, CodeBlock) and not first and "file" not in mark.entry:
            continue  # its lines have marks of a list or a quotation in front
        if last < start:
            yield Piece(out.bytes[last:start].decode(), None, head)
            head = None
        if isinstance(mark, Heading):
            last, head = start, (mark.id, mark.kind)
        elif mark.plot is not None:
            yield Piece(plot.markdown(mark.plot), None, head)
            last, head = end, None
        else:
            entry, text = mark.entry, out.bytes[start:end].decode()
            code = Code(entry["language"].strip(), entry["source"], mark.output)
            yield Piece(
                _with_code(text, mark) if "file" in entry else text, code if first else None
            )
            last = end
    yield Piece(out.bytes[last:].decode(), None, head)


def _with_code(text: str, block: CodeBlock) -> str:
    """*text* (an empty fenced block) with its code inside, the fence long enough."""
    match = _FENCE.match(text)
    if match is None:
        return text
    code: str = block.entry["source"]
    head, fence, indent = match[0], match["fence"], match["indent"]
    longest = max((len(run) for run in re.findall(re.escape(fence[0]) + "+", code)), default=0)
    if longest >= len(fence):
        wider = fence[0] * (longest + 1)
        head, fence = head.replace(fence, wider, 1), wider
    tail = "\n" if text.endswith("\n") else ""
    lines = "".join(f"{indent}{line}" for line in code.splitlines(keepends=True))
    return f"{head}{lines}{'' if lines.endswith(chr(10)) else chr(10)}{indent}{fence}{tail}"
