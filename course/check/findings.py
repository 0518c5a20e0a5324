"""What a check found: problems, counts and source lines, in words that every report uses."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from course.diagnostics import Diagnostic, short
from course.read.files import TEXT_LIMIT, is_regular

Source = Callable[[str], list[str] | None]
"""The lines of a file, named by its POSIX path from the root; None when it has none to show."""

_LESSON: Final = re.compile(r"content/phases/[^/]+/[^/]+(?=/)")
WIDTH: Final = 96
BEFORE: Final = 2
_LEAD: Final = 32
_TAB: Final = 4
_JOINERS: Final = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of one check; ``files`` are the POSIX paths that were read, sorted."""

    errors: int
    warnings: int
    infos: int
    files: tuple[str, ...]
    lessons: int
    authored: int

    @property
    def planned(self) -> int:
        """Lessons that are announced and not yet written."""
        return self.lessons - self.authored

    @staticmethod
    def of(
        found: Iterable[Diagnostic], files: Iterable[str], lessons: int, authored: int
    ) -> Summary:
        """The summary of a check that read *files* and *found* this."""
        count = Counter(one.severity for one in found)
        return Summary(
            count["error"],
            count["warning"],
            count["info"],
            tuple(sorted(files)),
            lessons,
            authored,
        )

    def counts(self) -> str:
        """``2 errors, 1 warning``; the empty string when nothing was found."""
        pairs = ((self.errors, "error"), (self.warnings, "warning"), (self.infos, "info"))
        return ", ".join(plural(number, word) for number, word in pairs if number)


@dataclass(frozen=True, slots=True)
class Findings:
    """What a check found, sorted, and how to show it; every format takes what concerns it.

    ``limit`` is the number of problems that ``text`` prints in full (None: all), ``changed``
    the files that ``github`` puts first; ``strict`` lets warnings fail a ``junit`` case.
    """

    found: Sequence[Diagnostic]
    summary: Summary
    source: Source
    colour: bool = False
    limit: int | None = 50
    changed: frozenset[str] = frozenset()
    strict: bool = False


def plural(number: int, word: str) -> str:
    """``1 error``, ``1,200 errors``."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def family(code: str) -> str:
    """The family of a rule code: ``QUZ`` of ``QUZ004``, ``A11`` of ``A11002``."""
    return code[:-3]


def lesson_of(file: str) -> str:
    """The lesson folder that *file* belongs to; empty when it is no lesson's file."""
    match = _LESSON.match(file)
    return match[0] if match else ""


def requirement(one: Diagnostic) -> str:
    """``expected X, got Y`` as far as the two are known."""
    expected = f"expected {one.expected}" if one.expected else ""
    got = f"got {one.got}" if one.got else ""
    return ", ".join(filter(None, (expected, got)))


def sentences(one: Diagnostic) -> list[str]:
    """What a reader is told about *one*: message, requirement, hint; nothing twice."""
    wanted = requirement(one)
    told = [] if one.message == wanted else [one.message]
    told += [wanted] if wanted else []
    return told + ([f"hint: {one.hint}"] if one.hint else [])


def sendable(one: Diagnostic) -> Diagnostic:
    """*one* with texts that UTF-8 can hold and ``got`` within its limit.

    A file name that is not UTF-8 reaches us with lone surrogates, which no format can store.
    """
    fields = ("file", "message", "pointer", "expected", "got", "hint")
    texts = {name: value for name in fields if (value := getattr(one, name)) is not None}
    clean: dict[str, Any] = {name: _utf8(value) for name, value in texts.items()}
    if "got" in clean:
        clean["got"] = short(clean["got"])
    return one if clean == texts else replace(one, **clean)


def _utf8(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def reader(root: Path) -> Source:
    """Lines of the files below *root*, each file read once.

    Links, devices and files above 1 MiB have no lines; bytes that are not UTF-8 show as U+FFFD.
    """
    known: dict[str, list[str] | None] = {}

    def read(file: str) -> list[str] | None:
        if file not in known:
            known[file] = _lines(root / file)
        return known[file]

    return read


def _lines(path: Path) -> list[str] | None:
    try:
        if not is_regular(path) or path.stat().st_size > TEXT_LIMIT:
            return None
        return path.read_bytes().decode("utf-8", "replace").split("\n")
    except OSError:
        return None


# -- source lines on a terminal -------------------------------------------------------------------


def visible(text: str) -> str:
    """*text* on one line, with what a terminal would obey or hide written as escapes."""
    return "".join(map(_seen, text))


def _seen(char: str) -> str:
    if char.isprintable() or char in _JOINERS:
        return char
    return char.encode("unicode_escape").decode("ascii")


def cells(text: str) -> list[str]:
    """*text* by terminal column: a wide character takes two (the second is empty)."""
    found: list[str] = []
    for char in text:
        if char == "\t":
            found += " " * (_TAB - len(found) % _TAB)
        elif not char.isprintable() and char not in _JOINERS:
            found += _seen(char)
        elif found and (char in _JOINERS or unicodedata.category(char) in ("Mn", "Me")):
            found[-1] += char
        elif unicodedata.east_asian_width(char) in "WF":
            found += [char, ""]
        else:
            found.append(char)
    return found


def excerpt(lines: list[str], line: int, column: int, end_column: int | None) -> list[str]:
    """Up to three of *lines* that end with *line*, and the mark; empty when there is none.

    Lines and columns count from 1; without *end_column* the mark goes to the end of the line.
    Long lines are cut so that the column stays in sight.
    """
    if line > len(lines):
        return []
    marked = lines[line - 1]
    column = min(column, len(marked) + 1)
    stop = len(marked.rstrip()) if end_column is None else end_column - 1
    start = _start(marked, column)
    gutter = max(5, len(str(line)))
    shown = [
        f"{number:>{gutter}} | {_cut(lines[number - 1], start)}".rstrip()
        for number in range(max(1, line - BEFORE), line + 1)
    ]
    left = len(cells(marked[start : column - 1])) + (1 if start else 0)
    width = len(cells(marked[column - 1 : stop][:WIDTH]))
    mark = "^" * max(1, min(width, WIDTH - left))
    return [*shown, f"{'':>{gutter}} | {' ' * left}{mark}"]


def _start(text: str, column: int) -> int:
    """How many characters to leave out on the left."""
    if len(text) <= WIDTH and len(cells(text)) <= WIDTH:
        return 0
    start, room = column - 1, _LEAD
    while start > 0 and (room := room - len(cells(text[start - 1]))) >= 0:
        start -= 1
    return start


def _cut(text: str, start: int) -> str:
    part = cells(text[start : start + 2 * WIDTH])
    whole = len(part) <= WIDTH and len(text) <= start + 2 * WIDTH
    if start:
        part.insert(0, "…")
    return "".join(part) if whole else "".join(part[: WIDTH - 1]) + "…"
