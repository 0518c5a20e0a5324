"""Source lines on a terminal: numbered, cut to width, with a mark under the place."""

from __future__ import annotations

import unicodedata
from typing import Final

WIDTH: Final = 96
BEFORE: Final = 2
_LEAD: Final = 32
_TAB: Final = 4
_JOINERS: Final = "\u200c\u200d"


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
