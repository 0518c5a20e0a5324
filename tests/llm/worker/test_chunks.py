"""Chunks: the sizes, the overlap and the cuts, worked out by hand and for any text."""

import math
import time
from collections.abc import Callable

import pytest
import regex  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from runtime.llm.engine.worker.splitting import JOINT, LIMIT, OVERLAP, chunk, fit_chunks

LETTERS = "abcdefghij"


def run(size: int, letters: str = LETTERS) -> str:
    """A text of that size without a space, in which each place can be told."""
    return (letters * (size // len(letters) + 1))[:size]


A, B, C, D = (
    run(size, letters) for size, letters in ((300, "ab"), (200, "cd"), (90, "ef"), (9, "gh"))
)
LONG = run(1000)

GOLDEN: dict[str, tuple[str, list[str]]] = {
    "nothing": ("", []),
    "white space": (" \n\t\u3000 ", []),
    "a short text": ("  lap one \n", ["lap one"]),
    "exactly the limit": (run(400), [run(400)]),
    "blank lines of a short text stay": ("a\n\n\n\nb", ["a\n\n\n\nb"]),
    "one more than the limit": (run(401), [run(401)[:400], run(401)[340:]]),
    "two that do not fit together": (A + "\n\n" + B, [A, A[-60:] + JOINT + B]),
    "two that do, then one": (
        "\n\n".join((A, C, B)),
        [A + JOINT + C, C[-60:] + JOINT + B],
    ),
    "the carry-over is counted": (
        # 60 + 2 + 200 leaves room for 2 + 90, and 354 for 2 + 9, but not for 2 + 90
        "\n\n".join((A, B, C, C)),
        [A, JOINT.join((A[-60:], B, C)), JOINT.join((C[-60:], C))],
    ),
    "a carried text may be longer than the limit": (
        run(400) + "\n\n" + run(400, "xy"),
        [run(400), run(400)[-60:] + JOINT + run(400, "xy")],
    ),
    "a chunk over the limit takes no more": (
        "\n\n".join((run(400), run(390, "xy"), D)),
        [
            run(400),
            run(400)[-60:] + JOINT + run(390, "xy"),
            run(390, "xy")[-60:] + JOINT + D,
        ],
    ),
    "a short chunk is carried whole": (
        D + "\n\n" + run(395, "xy"),
        [D, D + JOINT + run(395, "xy")],
    ),
    "windows of a long paragraph": (LONG, [LONG[0:400], LONG[340:740], LONG[680:1000]]),
    "windows end with the paragraph": (LONG[:740], [LONG[:400], LONG[340:740]]),
    "a long paragraph between two": (
        "\n\n".join((D, LONG[:740], C)),
        [D, LONG[:400], LONG[340:740], C],
    ),
    "blank lines with spaces, and of Windows": (
        A + "\n \t\n" + B + "\r\n\r\n" + C,
        [A, JOINT.join((A[-60:], B, C))],
    ),
    "single line ends join": (
        A + "\n" + D + "\n\n" + B,
        [A + "\n" + D, (A + "\n" + D)[-60:] + JOINT + B],
    ),
    "chunks are trimmed": (
        run(340) + " " * 30 + run(100),
        [run(340) + " " * 30 + run(30), run(100)],
    ),
}


@pytest.mark.parametrize(("text", "expected"), GOLDEN.values(), ids=GOLDEN)
def test_a_text_becomes_these_chunks(text: str, expected: list[str]) -> None:
    assert chunk(text) == expected


CHARACTERS = ["e\u0301\u0323", "🇩🇪", "👨‍👩‍👧‍👦", "각", "กำ", "क्षि", "👍🏽", "a\u0300"]


@pytest.mark.parametrize("character", CHARACTERS)
def test_no_cut_lies_inside_a_character(character: str) -> None:
    for before in range(8):
        chunks = chunk("x" * before + character * 600)
        assert len(chunks) > 1
        for piece in chunks:
            whole = piece.lstrip("x")
            assert whole == character * (len(whole) // len(character)), before
            assert len(piece) <= LIMIT


@pytest.mark.parametrize("character", CHARACTERS)
def test_no_carry_over_begins_inside_a_character(character: str) -> None:
    first, second = "x" + character * (390 // len(character)), "y" * 300

    _, carried = chunk(first + "\n\n" + second)

    kept = carried.removesuffix(JOINT + second)
    assert OVERLAP - len(character) < len(kept) <= OVERLAP
    assert kept == character * (len(kept) // len(character))


def test_a_character_longer_than_a_chunk_is_cut_all_the_same() -> None:
    text = "a" + "\u0301" * 1000

    chunks = chunk(text)

    assert max(map(len, chunks)) <= LIMIT
    assert sum(map(len, chunks)) >= len(text)


TEXTS = st.text(
    st.one_of(
        st.sampled_from(" \n\n\n\t\rab,é\u0301\u200d🇩🇪👩漢각ᄀก\u0e33\u093f\u094dक"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=400,
)


def covered(text: str, chunks: list[str]) -> bool:
    """Whether the chunks, one behind the other, show every character of the text but white space.

    Each begins no later than where the one before ended; what it repeats it may show again.
    """
    flat = [c for c in text if not c.isspace()]
    at = 0
    for piece in chunks:
        shown = [c for c in piece if not c.isspace()]
        starts = [s for s in range(at + 1) if flat[s : s + len(shown)] == shown]
        if not starts:
            return False
        at = max(at, max(starts) + len(shown))
    return at == len(flat)


@given(TEXTS.map(lambda text: text * 9))
def test_every_character_of_any_text_appears_in_order(text: str) -> None:
    chunks = chunk(text)

    assert covered(text, chunks)
    assert all(piece and piece == piece.strip() for piece in chunks)
    assert all(len(piece) <= LIMIT + OVERLAP + len(JOINT) for piece in chunks)


def words(limit: int) -> Callable[[str], bool]:
    """Fits as many words as that, where a long word counts as one for every three code points."""
    return lambda text: sum(math.ceil(len(word) / 3) for word in text.split()) <= limit


FITTED: dict[str, tuple[list[str], int, list[str]]] = {
    "what fits stays": (["a b c", "d"], 3, ["a b c", "d"]),
    "cut behind words": (["a b c d e"], 2, ["a b", "c d", "e"]),
    "a word too long is cut behind letters": (["abcdefghijklm"], 2, ["abcdef", "ghijkl", "m"]),
    "the words before it stand alone": (["a abcdefghijk"], 2, ["a", "abcdef", "ghijk"]),
    "a character is never cut": (["e\u0301" * 5], 1, ["e\u0301"] * 5),
    "line ends are white space": (["a\n\nb  c"], 1, ["a", "b", "c"]),
    "what fits nowhere goes on whole": (["ab cd"], 0, ["a", "b", "c", "d"]),
    "nothing": (["", " "], 3, []),
}


@pytest.mark.parametrize(("chunks", "limit", "expected"), FITTED.values(), ids=FITTED)
def test_chunks_are_cut_until_they_fit(chunks: list[str], limit: int, expected: list[str]) -> None:
    assert fit_chunks(chunks, words(limit)) == expected


@given(st.lists(TEXTS, max_size=3), st.integers(0, 12))
def test_fitting_loses_nothing_and_ends(chunks: list[str], limit: int) -> None:
    def fits(text: str) -> bool:
        return len(text.encode()) <= limit

    pieces = fit_chunks(chunks, fits)

    shown = "".join(c for piece in pieces for c in piece if not c.isspace())
    assert shown == "".join(c for text in chunks for c in text if not c.isspace())
    for piece in pieces:
        assert fits(piece) or len(regex.findall(r"\X", piece)) == 1


GROWING = {
    "paragraphs": "Some text of a paragraph. " * 5 + "\n\n",
    "marks on one letter": "\u0301",
    "flags": "🇩🇪",
    "lines": "a\n \t",
}


@pytest.mark.parametrize("unit", GROWING.values(), ids=GROWING)
def test_time_grows_with_the_length_of_the_text(unit: str) -> None:
    def seconds(size: int) -> float:
        text = "a" + unit * (size // len(unit)) + "b"
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            chunk(text)
            best = min(best, time.process_time() - start)
        return best

    seconds(10_000)
    assert seconds(640_000) < 40 * seconds(80_000) + 0.05  # 8 times the text
