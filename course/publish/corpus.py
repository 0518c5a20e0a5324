"""Short passages of a lesson for the on-device document store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyromark

from course.publish.downloads import Section
from course.read.markdown import OPTIONS, Code

SHORTEST: Final = 200
LONGEST: Final = 800
# A piece may follow any passage that is still too short to stand alone.
_PIECE: Final = LONGEST - SHORTEST - len("\n\n")
_FORMULA: Final = 160  # characters up to which a plain text block is read as a formula
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])")
# A mark of a footnote that stands in another part of the text.
_FOOTNOTE: Final = re.compile(r"\[\^[^\]\s]+\]")
# What stands on lines of its own; and of that, what may end without a full stop.
_LINES: Final = ("Paragraph", "Item", "Heading", "TableHead", "TableRow", "CodeBlock")
_ROWS: Final = ("TableHead", "TableRow")
_SENTENCES: Final = ("Heading", *_ROWS)
_FORMULAS: Final = (("InlineMath", "$"), ("DisplayMath", "$$"))


@dataclass(slots=True)
class _Passage:
    anchor: str
    heading: str
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, piece: str) -> None:
        self.size += len(piece) + (2 if self.pieces else 0)
        self.pieces.append(piece)

    @property
    def text(self) -> str:
        return "\n\n".join(self.pieces)


def chunks(lesson: Mapping[str, Any], sections: Sequence[Section]) -> list[dict[str, str]]:
    """Passages of 200 to 800 characters of plain words from the *sections* of an authored lesson.

    A passage begins at a block, paragraph or sentence; short neighbours are joined, and code is
    left out. Only a lesson that is shorter as a whole has a shorter passage. Each passage that
    names a concept of the lesson has the concept's id in its title; a concept that no passage
    names is put into the first title.
    """
    passages = _balance(list(_passages(lesson, sections)))
    names = _concepts(lesson["concepts"], passages)
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


def _passages(lesson: Mapping[str, Any], sections: Sequence[Section]) -> Iterator[_Passage]:
    """Passages in order; only the last may be too short."""
    waiting: _Passage | None = None
    for number, section in enumerate(sections):
        opening = _split(plain_words(lesson["summary"])) if number == 0 else iter(())
        *whole, last = _balance(_pack(section, opening, waiting))
        yield from whole
        waiting = None if last.size >= SHORTEST else last
        if waiting is None:
            yield last
    if waiting is not None and waiting.pieces:
        yield waiting


def _pack(section: Section, opening: Iterator[str], waiting: _Passage | None) -> list[_Passage]:
    """The text of one section, after what waits from the one before, in as few as fit."""
    heading = plain_words(section.heading)
    passage = waiting or _Passage(section.id, heading)
    packed = [passage]
    for piece in [*opening, *_pieces(section, spoken=waiting is not None)]:
        if passage.size >= SHORTEST and passage.size + 2 + len(piece) > LONGEST:
            passage = _Passage(section.id, heading)
            packed.append(passage)
        passage.add(piece)
    return packed


def _pieces(section: Section, *, spoken: bool) -> list[str]:
    """The section's text in pieces that fit; with its heading when *spoken*."""
    pieces: list[str] = []
    silent = bool(section.heading) and not spoken
    for part in section.parts:
        if isinstance(part, Code):
            if part.language == "text" and not part.output and len(part.source) <= _FORMULA:
                pieces.append(" ".join(part.source.split()))
        else:
            for unit in plain_blocks(part.partition("\n")[2] if silent else part):
                if len(unit) <= _PIECE:
                    pieces.append(unit)
                else:
                    pieces.extend(_split(unit))
        silent = False
    return pieces


def _split(text: str) -> Iterator[str]:
    """*text*, cut at lines, else sentences, else words, so that each piece fits."""
    if len(text) <= _PIECE:
        if text:
            yield text
        return
    for cut, glue in ((text.split("\n"), "\n"), (_SENTENCE.split(text), " "), (text.split(), " ")):
        if len(cut) > 1:
            for group in _group(cut, glue):
                yield from _split(group)
            return
    yield from (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))


def _group(parts: list[str], glue: str) -> Iterator[str]:
    group: list[str] = []
    size = 0
    for part in parts:
        if group and size + len(glue) + len(part) > _PIECE:
            yield glue.join(group)
            group, size = [], 0
        size += len(part) + (len(glue) if group else 0)
        group.append(part)
    yield glue.join(group)


def _balance(passages: list[_Passage]) -> list[_Passage]:
    """The same, a last passage that is too short joined to or balanced with the one before."""
    if len(passages) < 2 or passages[-1].size >= SHORTEST:
        return passages
    *rest, before, last = passages
    joined = _Passage(before.anchor, before.heading)
    for piece in before.pieces + last.pieces:
        joined.add(piece)
    if joined.size <= LONGEST:
        return [*rest, joined]
    return [*rest, *_halves(joined, last)]


def _halves(joined: _Passage, last: _Passage) -> tuple[_Passage, _Passage]:
    """Two passages cut at the paragraph, else sentence, else word nearest to the middle."""
    text = joined.text
    for border in (r"\n\n", _SENTENCE.pattern, r"\s+"):
        cuts = [m for m in re.finditer(border, text) if SHORTEST <= m.start() <= LONGEST]
        cuts = [m for m in cuts if SHORTEST <= len(text) - m.end() <= LONGEST]
        if cuts:
            cut = min(cuts, key=lambda match: abs(match.start() - len(text) // 2))
            head, tail = text[: cut.start()], text[cut.end() :]
            break
    else:
        head, tail = text[: len(text) // 2], text[len(text) // 2 :]
    first, second = _Passage(joined.anchor, joined.heading), _Passage(last.anchor, last.heading)
    first.add(head)
    second.add(tail)
    return first, second


def _concepts(concepts: Sequence[str], passages: list[_Passage]) -> list[list[str]]:
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


def plain_blocks(markdown: str) -> list[str]:
    """Each block of *markdown* (no fenced code) without its marks; lists and tables keep lines."""
    blocks: dict[int, list[str]] = {}
    for number, kind, line in _lines(markdown):
        ends = kind not in _SENTENCES or line[-1] in ".!?:"
        blocks.setdefault(number, []).append(line if ends else f"{line}.")
    return ["\n".join(lines) for lines in blocks.values()]


def plain_words(text: str) -> str:
    """One line of text without marks: link texts, alternative texts, code and emphasis stay."""
    return " ".join(line for _, _, line in _lines(f"# {text}"))


def _lines(markdown: str) -> Iterator[tuple[int, str, str]]:
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
            elif name in _LINES and (line := _line(words, name)):
                yield number, name, line
            depth -= 1
            number += not depth
        elif (tag := event.get("Start")) is not None:
            depth += 1
            if type(tag) is str:
                continue
            if "List" in tag and (line := _line(words, "List")):
                yield number, "List", line
            elif alert := tag.get("BlockQuote"):
                words.append(f"{alert}: ")
        else:
            words += [
                sign + event[kind].replace("\\,", " ") + sign  # a thin space
                for kind, sign in _FORMULAS
                if kind in event
            ]


def _line(words: list[str], kind: str) -> str:
    """What the *words* of an element say, which are used up."""
    line = " ".join(_FOOTNOTE.sub("", "".join(words)).split())
    words.clear()
    return line.strip(" ,") if kind in _ROWS else line


def _elsewhere(link: Mapping[str, Any]) -> tuple[str, str] | None:
    """A link whose address another part of the text defines; a word in brackets is none."""
    return None if link["link_type"] == "Shortcut" else ("", "")
