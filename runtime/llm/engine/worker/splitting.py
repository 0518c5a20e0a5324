"""Split a document into chunks for search: by paragraphs, with overlap, never inside a character.

A character is a grapheme cluster, such as a letter with its accents.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from typing import Final

import regex  # type: ignore[import-untyped]

LIMIT: Final = 400
"""Code points of a chunk, without the overlap with the previous one."""
OVERLAP: Final = 60
"""Code points at the end of a chunk that the next one repeats."""
JOINT: Final = "\n\n"

_BLANK_LINE: Final = regex.compile(r"\n\s*\n")
_GRAPHEME: Final = regex.compile(
    # Flags first: in a run of them, \X would recount the previous ones at each letter.
    r"\p{Regional_Indicator}{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*|\X"
)
_WORD: Final = regex.compile(r"\S+")


def chunk(text: str) -> list[str]:
    """Split a text into chunks; none for a blank text.

    Paragraphs of up to `LIMIT` code points in total share a chunk. The next chunk begins with the
    last `OVERLAP` code points of the previous one, so it may have ``OVERLAP + 2 + LIMIT``. A longer
    paragraph becomes windows of `LIMIT` that overlap by `OVERLAP`.
    """
    text = text.strip()
    if len(text) <= LIMIT:
        return [text] if text else []
    paragraphs = map(str.strip, _BLANK_LINE.split(text))
    return [piece for piece in map(str.strip, _split_paragraphs(paragraphs)) if piece]


def fit_chunks(chunks: Iterable[str], fits: Callable[[str], bool]) -> list[str]:
    """Split the chunks that do not fit the model into as few as possible.

    Cuts are after words if a word fits, else after characters; a single character that does not
    fit is kept whole. Only the white space at a cut is lost.
    """
    pieces: list[str] = []
    for rest in map(str.strip, chunks):
        while rest:
            cut = len(rest) if fits(rest) else _find_cut(rest, fits)
            pieces.append(rest[:cut].rstrip())
            rest = rest[cut:].lstrip()
    return pieces


def _split_paragraphs(paragraphs: Iterable[str]) -> Iterator[str]:
    current = ""
    for paragraph in filter(None, paragraphs):
        if len(paragraph) > LIMIT:
            yield current
            current = ""
            yield from _split_windows(paragraph)
        elif not current:
            current = paragraph
        elif len(current) + len(JOINT) + len(paragraph) <= LIMIT:
            current += JOINT + paragraph
        else:
            yield current
            carried = _cut_tail(current)
            current = carried + JOINT + paragraph if carried else paragraph
    yield current


def _split_windows(text: str) -> Iterator[str]:
    borders = _find_borders(text)
    start = 0
    while len(text) - start > LIMIT:
        end = borders[bisect_right(borders, start + LIMIT) - 1]
        if end <= start:  # a character longer than a window
            end = start + LIMIT
        yield text[start:end]
        following = borders[bisect_right(borders, start + LIMIT - OVERLAP) - 1]
        start = following if following > start else end
    yield text[start:]


def _cut_tail(text: str) -> str:
    """The last `OVERLAP` code points without a partial character at the start."""
    borders = _find_borders(text)
    return text[borders[bisect_left(borders, max(len(text) - OVERLAP, 0))] :]


def _find_borders(text: str) -> "array[int]":
    """The starts of all characters, and the end of the text."""
    return array("Q", [0, *(character.end() for character in _GRAPHEME.finditer(text))])


def _find_cut(text: str, fits: Callable[[str], bool]) -> int:
    """Find the end of the last word up to which the text fits, else of the last character.

    Assumes that a longer text never fits better.
    """
    for pattern in (_WORD, _GRAPHEME):
        ends: list[int] = [match.end() for match in pattern.finditer(text)]
        fitting = bisect_left(ends, True, key=lambda end: not fits(text[:end]))
        if fitting:
            return ends[fitting - 1]
    return _find_borders(text)[1]
