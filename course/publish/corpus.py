"""Short passages of a lesson for the on-device document store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from course.publish.downloads import Section
from course.read.markdown import Code

SHORTEST: Final = 200
LONGEST: Final = 800
# A piece may follow any passage that is still too short to stand alone.
_PIECE: Final = LONGEST - SHORTEST - len("\n\n")
_FORMULA: Final = 160  # characters up to which a plain text block is read as a formula
_SENTENCE: Final = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])")

_LINK: Final = re.compile(r"\[([^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*)\](?:\([^)]*\)|\[[^\]\n]*\])")
_DEFINITION: Final = re.compile(r"^ {0,3}\[(?!\^)[^\]\n]+\]:[^\n]*", re.MULTILINE)
_FOOTNOTE: Final = re.compile(r"\[\^[^\]\n]+\]:?")
_ALERT: Final = re.compile(r"\[!([A-Z]+)\]")
# A star is emphasis unless it stands between two blanks or inside a word, as in 2*3.
_STAR: Final = re.compile(r"\*(?<!\\\*)(?!(?<=\s\*)\s)(?!(?<=\w\*)\w)")
_UNDERSCORE: Final = re.compile(r"_(?<!\\_)(?!(?<=\w_)\w)(?!(?<=\s_)\s)")
_ESCAPE: Final = re.compile(r"\\([!-/:-@\[-`{-~])")
_ITEM: Final = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_LONG_SPAN: Final = re.compile(r"(`{2,})\s?(.+?)\s?\1", re.DOTALL)
_CODE_SPAN: Final = "\x00"  # stands for a code span; no source file holds this character
_STRUCTURED: Final = frozenset("|>#-*+0123456789")


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
    texts: list[str] = []
    for raw in plain_words(markdown).split("\n\n"):
        block = raw.strip()
        if not block:
            continue
        if block[0] not in _STRUCTURED:
            texts.append(" ".join(block.split()) if "\n" in block else block)
        elif _is_plain_list(block):
            texts.append(block[2:].replace("\n- ", "\n"))
        elif text := "\n".join(_lines(block)):
            texts.append(text)
    return texts


def _is_plain_list(block: str) -> bool:
    """Whether each line is an item of its own, without a box to tick."""
    return (
        block.startswith("- ") and block.count("\n- ") == block.count("\n") and "- [" not in block
    )


def plain_words(text: str) -> str:
    """*text* without inline marks: link texts, alternative texts, code and emphasis stay."""
    if "``" in text:
        text = _LONG_SPAN.sub(lambda match: f"`{match[2].replace('`', '')}`", text)
    if "[" in text:
        text = _without_links(text)
    if "`" not in text:
        return _bare(text)
    parts = text.split("`")
    parts[::2] = _bare(_CODE_SPAN.join(parts[::2])).split(_CODE_SPAN)
    return "".join(parts)


def _without_links(text: str) -> str:
    """*text* with links, images, footnotes and alerts cut down to their words."""
    if "[!" in text:
        text = _ALERT.sub(lambda match: f"{match[1].capitalize()}:", text)
    if "[^" in text:
        text = _FOOTNOTE.sub("", text)
    if "]:" in text:
        text = _DEFINITION.sub("", text)
    return _LINK.sub(r"\1", text.replace("![", "["))


def _bare(text: str) -> str:
    """Text between code spans without emphasis and escapes."""
    if "*" in text:
        text = _STAR.sub("", text)
    if "_" in text:
        text = _UNDERSCORE.sub("", text)
    if "\\" in text:
        text = text.replace("\\,", " ")  # the thin space of a formula
        text = _ESCAPE.sub(r"\1", text)
    return text


def _lines(block: str) -> Iterator[str]:
    """The lines of a list, table, quotation or heading; wrapped lines of one item are joined."""
    current: list[str] = []
    for raw in block.split("\n"):
        line = raw.strip().lstrip("> ")
        whole = _whole(line)
        item = None if whole is not None else _ITEM.match(line)
        if current and (item or whole is not None):
            yield " ".join(current)
            current = []
        if whole:
            yield whole
        elif whole is None:
            current.append(line[item.end() :] if item else line)
    if current:
        yield " ".join(current)


def _whole(line: str) -> str | None:
    """What a line that stands for itself says (a heading, a table row, a rule), else None."""
    mark = line[:1]
    if mark == "|":
        row = line.strip("| \t")
        if not row.strip("|:- \t"):
            return ""
        return _sentence(row.replace(" | ", ", ").replace("|", ", "))
    if mark == "#":
        return _sentence(line.strip("# \t"))
    return None if line.strip("-_ \t") else ""


def _sentence(text: str) -> str:
    return text if not text or text[-1] in ".!?:" else f"{text}."
