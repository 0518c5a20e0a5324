"""Cuts a document into chunks for search: by paragraphs, with an overlap, never inside a character.

A character is a grapheme cluster: what a reader sees as one, such as a letter with its accents.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import regex  # type: ignore[import-untyped]

LIMIT: Final = 400
"""Code points of a chunk, the carry-over of the one before not counted."""
OVERLAP: Final = 60
"""Code points at the end of a chunk that the next one repeats."""
JOINT: Final = "\n\n"

_BLANK_LINE: Final = regex.compile(r"\n\s*\n")
_GRAPHEME: Final = regex.compile(
    # Flags first: at each letter of a row of them, \X counts all those before it again.
    r"\p{Regional_Indicator}{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*|\X"
)
_WORD: Final = regex.compile(r"\S+")


def chunk(text: str) -> list[str]:
    """The chunks of a text in order; none for a blank one.

    Paragraphs that are no longer than `LIMIT` together share a chunk. The next chunk begins with
    the last `OVERLAP` code points of the one before, so it may have ``OVERLAP + 2 + LIMIT`` of
    them. A longer paragraph becomes windows of `LIMIT`, each `OVERLAP` into the one before.
    """
    text = text.strip()
    if len(text) <= LIMIT:
        return [text] if text else []
    paragraphs = map(str.strip, _BLANK_LINE.split(text))
    return [piece for piece in map(str.strip, _pieces(paragraphs)) if piece]


def fitted(chunks: Iterable[str], fits: Callable[[str], bool]) -> list[str]:
    """The chunks, with those that do not fit the model cut into as few that do.

    The cut is behind a word where a word fits, else behind a character; a single character that
    does not fit is passed on whole. Nothing but the white space at a cut is lost.
    """
    pieces: list[str] = []
    for rest in map(str.strip, chunks):
        while rest:
            cut = len(rest) if fits(rest) else _cut(rest, fits)
            pieces.append(rest[:cut].rstrip())
            rest = rest[cut:].lstrip()
    return pieces


def _pieces(paragraphs: Iterable[str]) -> Iterator[str]:
    current = ""
    for paragraph in filter(None, paragraphs):
        if len(paragraph) > LIMIT:
            yield current
            current = ""
            yield from _windows(paragraph)
        elif not current:
            current = paragraph
        elif len(current) + len(JOINT) + len(paragraph) <= LIMIT:
            current += JOINT + paragraph
        else:
            yield current
            carried = _tail(current)
            current = carried + JOINT + paragraph if carried else paragraph
    yield current


def _windows(text: str) -> Iterator[str]:
    borders = _borders(text)
    start = 0
    while len(text) - start > LIMIT:
        end = borders[bisect_right(borders, start + LIMIT) - 1]
        if end <= start:  # one character longer than a whole window
            end = start + LIMIT
        yield text[start:end]
        following = borders[bisect_right(borders, start + LIMIT - OVERLAP) - 1]
        start = following if following > start else end
    yield text[start:]


def _tail(text: str) -> str:
    """The last `OVERLAP` code points, less those of a character that begins before them."""
    borders = _borders(text)
    return text[borders[bisect_left(borders, max(len(text) - OVERLAP, 0))] :]


def _borders(text: str) -> "array[int]":
    """Where characters begin, and the end of the text."""
    return array("Q", [0, *(character.end() for character in _GRAPHEME.finditer(text))])


def _cut(text: str, fits: Callable[[str], bool]) -> int:
    """The end of the last word up to which the text fits, else of the last character.

    It is taken that a longer text fits no better.
    """
    for pattern in (_WORD, _GRAPHEME):
        ends: list[int] = [match.end() for match in pattern.finditer(text)]
        fitting = bisect_left(ends, True, key=lambda end: not fits(text[:end]))
        if fitting:
            return ends[fitting - 1]
    return _borders(text)[1]
