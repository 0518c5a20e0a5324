"""The Markdown of a lesson cut into sections, and code kept apart from text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from course.read import links

_FENCE: Final = re.compile(r"\n[ \t]*[`~]{3}[^\n]*")
_HEADING: Final = re.compile(r"\n(?= {0,3}##(?:[ \t\n]|\Z))")
_MARKS: Final = ("```", "~~~")
_TARGET: Final = re.compile(r"(\]\([ \t]*<?)([^)\s>]+)")
_ANY_TARGET: Final = re.compile(r"(\]\([ \t]*<?|^\[[^\]\n]+\]:[ \t]+<?)([^)\s>]+)", re.MULTILINE)
# Relative links are written from a lesson folder; its names do not matter for where they go.
_FOLDER: Final = "content/phases/00-phase/00-lesson"
_UP: Final = "../../"
ROOT: Final = "\x1e"  # stands for the way to the site root; no source file holds this character
_AWAY: Final = ("https:", "mailto:", "#")


class Code(NamedTuple):
    """One fenced block; `output` marks what the code before it prints."""

    language: str
    source: str
    output: bool


class Section(NamedTuple):
    """The text before the first H2 (`heading` is empty), or one H2 with what follows it.

    `parts` holds Markdown without surrounding blank lines (the heading line is in the first
    one) and code, in order.
    """

    id: str
    kind: str
    heading: str
    parts: tuple[str | Code, ...]


class _Cut(NamedTuple):
    """Headings (empty for the text before the first one), what follows each, and where code is.

    `fences` holds the start and end of each fenced block in the Markdown; `defines` says whether
    the text may define references (`[name]: address`).
    """

    heads: tuple[str, ...]
    bodies: tuple[tuple[str | Code, ...], ...]
    fences: tuple[tuple[int, int], ...]
    defines: bool


def sections(lesson: Mapping[str, Any], root: str | None = None) -> Sequence[Section]:
    """The sections of an authored lesson, in the order of its blocks.

    With *root* (a prefix such as ``../`` or an absolute base address), links to the course and
    its images are rewritten to start with it.
    """
    content = lesson["content"]
    names = tuple([(block["id"], block["kind"]) for block in content["blocks"]])
    if root is None:
        return _sections(content["markdown"], names)
    cut = _cut(content["markdown"])
    move = _Rewriter([entry["url"] for entry in content["media"]], root, defines=cut.defines)
    bodies = tuple(
        [
            tuple([part if isinstance(part, Code) else move(part) for part in body])
            for body in cut.bodies
        ]
    )
    return _named(names, cut.heads, bodies)


@lru_cache(maxsize=1)  # the companions of one lesson are made one after the other
def _sections(markdown: str, names: tuple[tuple[str, str], ...]) -> tuple[Section, ...]:
    """The sections as they are written."""
    cut = _cut(markdown)
    return _named(names, cut.heads, cut.bodies)


def readdressed(
    markdown: str, media: Iterable[Mapping[str, Any]], root: str, index: str = ""
) -> str:
    """The Markdown of a lesson with its links starting at *root*; code is untouched.

    *media* are the lesson's entries; *index* goes behind the folder of a page.
    """
    return _marked(markdown, tuple([entry["url"] for entry in media]), index).replace(ROOT, root)


@lru_cache(maxsize=1)  # the same
def _marked(markdown: str, media: tuple[str, ...], index: str) -> str:
    """The Markdown with ``ROOT`` where its links have to start."""
    cut = _cut(markdown)
    return _Rewriter(media, ROOT, defines=cut.defines, index=index)(markdown, cut.fences)


@lru_cache(maxsize=1)  # the same
def _cut(markdown: str) -> _Cut:
    text = f"\n{markdown}"
    heads: list[str] = [""]
    bodies: list[list[str | Code]] = [[]]
    fences: list[tuple[int, int]] = []
    last = 0
    for start, end, code in _code_in(text):
        _add_text(text[last:start], heads, bodies)
        bodies[-1].append(code)
        fences.append((start - 1, end - 1))
        last = end
    _add_text(text[last:], heads, bodies)
    if not bodies[0]:
        del heads[0], bodies[0]
    return _Cut(tuple(heads), tuple(map(tuple, bodies)), tuple(fences), "\n[" in text)


def _code_in(text: str) -> Iterator[tuple[int, int, Code]]:
    """Start, end and content of each fenced block; *text* begins with a line break."""
    opening: re.Match[str] | None = None
    fence = info = ""
    for line in _FENCE.finditer(text):
        bare = line[0].strip()
        if not bare.startswith(_MARKS):
            continue
        if opening is None:
            info = bare.lstrip(bare[0])
            if bare[0] == "~" or "`" not in info:
                opening, fence = line, bare[: len(bare) - len(info)]
        elif bare.startswith(fence) and not bare.strip(fence[0]):
            source = text[opening.end() + 1 : line.start() + 1]
            yield opening.start(), line.end(), _code(opening[0], info, source)
            opening = None
    if opening is not None:
        source = text[opening.end() + 1 :]
        yield opening.start(), len(text), _code(opening[0], info, source)


def _code(opening: str, info: str, source: str) -> Code:
    indent = opening[1 : len(opening) - len(opening[1:].lstrip(" \t"))]
    if indent:
        source = source.replace(f"\n{indent}", "\n").removeprefix(indent)
    language, *options = info.split() or [""]
    return Code(language, source, "expected" in options)


def _add_text(text: str, heads: list[str], bodies: list[list[str | Code]]) -> None:
    """Put *text* behind what is there, beginning a body at each second-level heading."""
    first, *rest = _HEADING.split(text)
    if stripped := first.strip():
        bodies[-1].append(stripped)
    for part in rest:
        body = part.strip()
        heads.append(body.partition("\n")[0].strip(" \t#"))
        bodies.append([body])


def _named(
    names: tuple[tuple[str, str], ...],
    heads: tuple[str, ...],
    bodies: tuple[tuple[str | Code, ...], ...],
) -> tuple[Section, ...]:
    """Sections with the ids and kinds of the blocks; one section when they do not line up."""
    if len(names) == len(heads):
        named = zip(names, heads, bodies, strict=True)
        return tuple([Section(name, kind, head, body) for (name, kind), head, body in named])
    whole = tuple(part for body in bodies for part in body)
    return (Section(names[0][0], "text", "", whole),)


class _Rewriter:
    """Rewrites the links of one lesson's Markdown."""

    def __init__(self, media: Iterable[str], root: str, *, defines: bool, index: str = "") -> None:
        self.root = root
        self.file_urls = bool(index)
        self.defines = defines
        self.media: dict[str, str] = {}
        for url in media:
            stem, _, suffix = url.rpartition("/")[2].rpartition(".")
            self.media[f"media/{stem.rpartition('.')[0]}.{suffix}"] = _UP + url

    def __call__(self, text: str, fences: tuple[tuple[int, int], ...] = ()) -> str:
        """*text* with new addresses, except between the offsets of *fences*."""
        if "](" not in text and not self.defines:
            return text

        def replaced(found: re.Match[str]) -> str:
            at = found.start()
            inside = fences and any(start <= at < end for start, end in fences)
            return found[0] if inside else f"{found[1]}{self.address(found[2])}"

        return (_ANY_TARGET if self.defines else _TARGET).sub(replaced, text)

    def address(self, raw: str) -> str:
        """Where *raw*, written in a lesson folder, leads from the new place."""
        if raw.startswith(_AWAY):
            return raw
        if raw in self.media:
            return f"{self.root}{self.media[raw].removeprefix(_UP)}"
        address = links.url(links.read(raw, _FOLDER, self.media), file_urls=self.file_urls)
        if not address.startswith(_UP):
            return raw
        return f"{self.root}{address.removeprefix(_UP)}"
