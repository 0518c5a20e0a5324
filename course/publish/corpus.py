"""Short passages of a lesson for the on-device document store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyromark

from course.publish.downloads import Section
from course.read.markdown import OPTIONS, Code

SHORTEST: Final = 200
LONGEST: Final = 800
_FORMULA: Final = 160  # characters up to which a plain text block is read as a formula
# Where a passage may end, the best place first: after a paragraph, line, sentence, word, anywhere.
_BORDERS: Final = tuple(map(re.compile, (r"\n\n", r"\n", r"(?<=[.!?])\s+(?=[^a-z\s])", r"\s+", "")))
# A mark of a footnote that stands in another part of the text.
_FOOTNOTE: Final = re.compile(r"\[\^[^\]\s]+\]")
# What stands on lines of its own; and of that, what may end without a full stop.
_LINES: Final = ("Paragraph", "Item", "Heading", "TableHead", "TableRow", "CodeBlock")
_ROWS: Final = ("TableHead", "TableRow")
_SENTENCES: Final = ("Heading", *_ROWS)
_FORMULAS: Final = (("InlineMath", "$"), ("DisplayMath", "$$"))


class _Passage(NamedTuple):
    anchor: str
    heading: str
    text: str


def split_passages(lesson: Mapping[str, Any], sections: Sequence[Section]) -> list[dict[str, str]]:
    """Passages of 200 to 800 characters of plain words from the *sections* of an authored lesson.

    A passage begins at a block, paragraph or sentence; short neighbours are joined, and code is
    left out. Only a lesson that is shorter as a whole has a shorter passage. Each passage that
    names a concept of the lesson has the concept's id in its title; a concept that no passage
    names is put into the first title.
    """
    passages = _join_passages(lesson, sections)
    names = _find_concepts(lesson["concepts"], passages)
    seen: dict[str, int] = {}
    rows = []
    for passage, concepts in zip(passages, names, strict=True):
        number = seen[passage.anchor] = seen.get(passage.anchor, 0) + 1
        tail = f".{number}" if number > 1 else ""
        title = f"{lesson['title']}: {passage.heading}" if passage.heading else lesson["title"]
        rows.append(
            {
                "id": f"{lesson['id']}.{passage.anchor}{tail}",
                "lessonId": lesson["id"],
                "url": f"{lesson['url']}#{passage.anchor}" if passage.heading else lesson["url"],
                "title": f"{title} ({', '.join(concepts)})" if concepts else title,
                "text": passage.text,
            }
        )
    return rows


def _join_passages(lesson: Mapping[str, Any], sections: Sequence[Section]) -> list[_Passage]:
    """Passages in order; one that is too short goes with the next, the last with the one before."""
    passages: list[_Passage] = []
    for number, section in enumerate(sections):
        short = bool(passages) and len(passages[-1].text) < SHORTEST
        units = [] if number else [strip_words(lesson["summary"])]
        units += _units(section, spoken=short)
        own = _Passage(section.id, strip_words(section.heading), "\n\n".join(filter(None, units)))
        passages += _join(passages.pop() if short else own._replace(text=""), own)
    if len(passages) > 1 and len(passages[-1].text) < SHORTEST:
        last = passages.pop()
        passages += _join(passages.pop(), last)
    return [passage for passage in passages if passage.text]


def _join(before: _Passage, own: _Passage) -> list[_Passage]:
    """The text of both in as many passages as it takes; the first one stays where *before* is."""
    first, *rest = _cut("\n\n".join(filter(None, (before.text, own.text))))
    return [before._replace(text=first), *(own._replace(text=text) for text in rest)]


def _cut(text: str) -> Iterator[str]:
    """*text* in pieces that fit, cut near the middle: at a paragraph, else line, sentence, word."""
    if len(text) <= LONGEST:
        yield text
        return
    for border in _BORDERS:
        cuts = [cut for cut in border.finditer(text) if cut.start() >= SHORTEST]
        cuts = [cut for cut in cuts if cut.end() <= len(text) - SHORTEST]
        if cuts:
            cut = min(cuts, key=lambda cut: abs(cut.start() - len(text) // 2))
            yield from _cut(text[: cut.start()])
            yield from _cut(text[cut.end() :])
            return


def _units(section: Section, *, spoken: bool) -> Iterator[str]:
    """The paragraphs of a section; with its heading when *spoken*."""
    silent = bool(section.heading) and not spoken
    for part in section.parts:
        if not isinstance(part, Code):
            yield from strip_blocks(part.partition("\n")[2] if silent else part)
        elif part.language == "text" and not part.output and len(part.source) <= _FORMULA:
            yield " ".join(part.source.split())
        silent = False


def _find_concepts(concepts: Sequence[str], passages: Sequence[_Passage]) -> list[list[str]]:
    """For each passage, the concept ids that its title has to name."""
    named: list[list[str]] = [[] for _ in passages]
    if not concepts or not passages:
        return named
    texts = [f"{passage.heading} {passage.text}".lower() for passage in passages]
    for concept in concepts:
        spoken = concept.replace("_", " ")
        hits = [n for n, text in enumerate(texts) if spoken in text or concept in text]
        for number in hits or [0]:
            named[number].append(concept)
    return named


def strip_blocks(markdown: str) -> list[str]:
    """Each block of *markdown* (no fenced code) without its marks; lists and tables keep lines."""
    blocks: dict[int, list[str]] = {}
    for number, kind, line in _read_lines(markdown):
        ends = kind not in _SENTENCES or line[-1] in ".!?:"
        blocks.setdefault(number, []).append(line if ends else f"{line}.")
    return ["\n".join(lines) for lines in blocks.values()]


def strip_words(text: str) -> str:
    """One line of text without marks: link texts, alternative texts, code and emphasis stay."""
    return " ".join(line for _, _, line in _read_lines(f"# {text}"))


def _read_lines(markdown: str) -> Iterator[tuple[int, str, str]]:
    """Each line that *markdown* says, with the number of its block and the element it is."""
    number = depth = 0
    words: list[str] = []
    events: Iterator[Any] = pyromark.events(
        markdown, options=OPTIONS, broken_link_callback=_elsewhere
    )
    for event in events:
        if type(event) is str:
            words.append(" ")
        elif (text := event.get("Text") or event.get("Code")) is not None:
            words.append(text)
        elif (tag := event.get("End")) is not None:
            name = tag if type(tag) is str else next(iter(tag))
            if name == "TableCell":
                words.append(", ")
            elif name in _LINES and (line := _join_words(words, name)):
                yield number, name, line
            depth -= 1
            number += not depth
        elif (tag := event.get("Start")) is not None:
            depth += 1
            if type(tag) is str:
                continue
            if "List" in tag and (line := _join_words(words, "List")):
                yield number, "List", line
            elif alert := tag.get("BlockQuote"):
                words.append(f"{alert}: ")
        else:
            words += [
                sign + event[kind].replace("\\,", " ") + sign  # a thin space
                for kind, sign in _FORMULAS
                if kind in event
            ]


def _join_words(words: list[str], kind: str) -> str:
    """Join and clear the *words* of an element."""
    line = " ".join(_FOOTNOTE.sub("", "".join(words)).split())
    words.clear()
    return line.strip(" ,") if kind in _ROWS else line


def _elsewhere(link: Mapping[str, Any]) -> tuple[str, str] | None:
    """Accept a link whose address another part of the text defines, but not a word in brackets."""
    return None if link["link_type"] == "Shortcut" else ("", "")
