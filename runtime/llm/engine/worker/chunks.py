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

_WHOLE: Final = 1 << 62  # as the place of a cut: behind any text
_BLANK_LINE: Final = regex.compile(r"\n\s*\n")
_GRAPHEME: Final = regex.compile(
    # Flags first: at each letter of a row of them, \X counts all those before it again.
    r"\p{Regional_Indicator}{2}[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]*|\X"
)
_WORD: Final = regex.compile(r"\S+")


def chunk(text: str, *, limit: int = LIMIT, overlap: int = OVERLAP) -> list[str]:
    """The chunks of a text in order; none for a blank one.

    Paragraphs that are no longer than *limit* together share a chunk. The next chunk begins with
    the last *overlap* code points of the one before, so it may have ``overlap + 2 + limit`` of
    them. A longer paragraph becomes windows of *limit*, each *overlap* into the one before.
    Raises ValueError for a *limit* below 1 and for an *overlap* below 0 or not below *limit*.
    """
    if limit < 1:
        raise ValueError("the size of a chunk must be at least 1")
    if not 0 <= overlap < limit:
        raise ValueError("the overlap must be at least 0 and less than the size of a chunk")
    text = text.strip()
    if len(text) <= limit:
        return [text] if text else []
    pieces = _pieces(_paragraphs(text), limit, overlap)
    return [piece for piece in map(str.strip, pieces) if piece]


def fitted(chunks: Iterable[str], fits: Callable[[str], bool]) -> list[str]:
    """The chunks, with those that do not fit the model cut into as few that do.

    The cut is behind a word where a word fits, else behind a character; a single character that
    does not fit is passed on whole. Nothing but the white space at a cut is lost.
    """
    pieces: list[str] = []
    near = _WHOLE
    for text in map(str.strip, chunks):
        at = 0
        while at < len(text):
            rest = text[at:].lstrip()
            cut = _cut(rest, fits, near)
            if cut < len(rest):
                near = cut  # the next cut is likely to be about there
            elif not at:
                near = _WHOLE
            pieces.append(rest[:cut].rstrip())
            at = len(text) - len(rest) + cut
    return pieces


def _paragraphs(text: str) -> Iterator[str]:
    at = 0
    for gap in _BLANK_LINE.finditer(text):
        yield text[at : gap.start()].strip()
        at = gap.end()
    yield text[at:].strip()


def _pieces(paragraphs: Iterable[str], limit: int, overlap: int) -> Iterator[str]:
    current = ""
    for paragraph in filter(None, paragraphs):
        if len(paragraph) > limit:
            yield current
            current = ""
            yield from _windows(paragraph, limit, overlap)
        elif not current:
            current = paragraph
        elif len(current) + len(JOINT) + len(paragraph) <= limit:
            current += JOINT + paragraph
        else:
            yield current
            carried = _tail(current, overlap)
            current = carried + JOINT + paragraph if carried else paragraph
    yield current


def _windows(text: str, limit: int, overlap: int) -> Iterator[str]:
    borders = _borders(text)
    start = 0
    while len(text) - start > limit:
        end = borders[bisect_right(borders, start + limit) - 1]
        if end <= start:  # one character longer than a whole window
            end = start + limit
        yield text[start:end]
        following = borders[bisect_right(borders, start + limit - overlap) - 1]
        start = following if following > start else end
    yield text[start:]


def _tail(text: str, size: int) -> str:
    """The last *size* code points, less those of a character that begins before them."""
    borders = _borders(text)
    return text[borders[bisect_left(borders, max(len(text) - size, 0))] :]


def _borders(text: str) -> "array[int]":
    """Where characters begin, and the end of the text."""
    return array("Q", [0, *(character.end() for character in _GRAPHEME.finditer(text))])


def _cut(text: str, fits: Callable[[str], bool], near: int) -> int:
    """Where to cut a text so that what comes before fits; its end where all of it does."""
    words = [word.end() for word in _WORD.finditer(text)]
    if near < words[0]:
        cut = _cut_word(text, words[0], fits, near)
        if cut < words[0]:
            return cut
    return _longest(text, words, fits, near) or _cut_word(text, words[0], fits, near)


def _cut_word(text: str, end: int, fits: Callable[[str], bool], near: int) -> int:
    """Where to cut the first word, which ends at *end*; behind one character at least."""
    characters = [character.end() for character in _GRAPHEME.finditer(text[:end])]
    return _longest(text, characters, fits, near) or characters[0]


def _longest(text: str, ends: list[int], fits: Callable[[str], bool], near: int) -> int:
    """The last of *ends* up to which the text fits, taking it that a longer text is no smaller.

    0 where none fits. The search begins at *near* and looks ever further away.
    """
    low, high = 0, len(ends)  # those before the first fit, those from the second on do not
    at, step = bisect_right(ends, near) - 1, 1
    while low < high:
        if not low <= at < high:
            at = (low + high) // 2
        if fits(text[: ends[at]]):
            low, at = at + 1, at + step
        else:
            high, at = at, at - step
        step *= 2
    return ends[low - 1] if low else 0
