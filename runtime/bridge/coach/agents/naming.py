"""Finds the corners, laps, sectors and straights that a question names; pure."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from runtime.bridge.coach.agents.asked import Lap, LapWord
from runtime.bridge.coach.agents.reading import read
from runtime.bridge.coach.agents.words import plain
from runtime.bridge.track.model import Corner

CORNER, LAP, SECTOR, STRAIGHT = "CORNER", "LAP", "SECTOR", "STRAIGHT"
"""What stands in a question in place of a name."""
SHARPEST, FLATTEST = 1, 6
"""Severities of a hairpin and of a kink."""
_JOIN: Final = r"(?:,| and| or| vs\.?| versus| with| to| against| than| ?&| ?-)+"
_UNIT: Final = r"(?![\d:.]\d| ?(?:s|sec\w*|m|km\w*|bar|g|laps|times|minutes)\b)"
_LAPS: Final = re.compile(rf"\blaps? (\d{{1,3}}\b(?:{_JOIN} ?(?:lap )?\d{{1,3}}\b{_UNIT})*)")
_CORNERS: Final = re.compile(
    rf"(?<!')\b(?:t ?|(?:turn|corner)s? )(\d{{1,2}}\b"
    rf"(?:{_JOIN} ?(?:t ?|turn |corner )?\d{{1,2}}\b{_UNIT})*)"
)
_SECTORS: Final = re.compile(rf"\bsectors? (\d\b(?:{_JOIN} ?(?:sector )?\d\b{_UNIT})*)")
_WORDS: Final[dict[LapWord, str]] = {
    "best": "best|fastest|quickest|record|personal best|pb",
    "slowest": "slowest|worst|weakest",
    "last": "last|final|latest|most recent",
}
_BY_WORD: Final = re.compile(
    r"\b(?:my |the )?(?:single |very )?(?:"
    + "|".join(f"(?P<{word}>{words})" for word, words in _WORDS.items())
    + r")(?: flying| complete| timed)? (?:lap\b(?! (?:time )?goal)|one\b)(?! of)"
)
_WHICH: Final = re.compile(
    r"\b(?:which|what)(?: of (?:my|the))? laps? (?:was|is|were|did i do|took) (?:my |the )?(?:"
    + "|".join(f"(?P<{word}>{words})" for word, words in _WORDS.items())
    + r"|(?P<slow>longest))\b(?! (?:in|at|on|through)\b)"
)
_ALONE: Final = re.compile(
    "(?:" + "|".join(f"(?P<{word}>{words})" for word, words in _WORDS.items()) + r")\W*"
)
_MAIN: Final = re.compile(
    r"\b(?:the )?(?:main|home|start(?:[-/ ](?:and[- ])?finish)?|pit|front) straight\b"
)
_BEST_SHORT: Final = re.compile(r"\b(?:my|the) (?:best|fastest|quickest|pb|personal best)$")
_OF_PARTS: Final = re.compile(r"\b(?:which|what) (?:sector|corner|turn|straight|bend)s?\b")
_FINAL_CORNER: Final = re.compile(r"\b(?:the )?(?:last|final) (?:turn|corner)\b")
_NUMBER: Final = re.compile(r"\d+")


class Names(NamedTuple):
    """What parts of a circuit are called."""

    corners: Sequence[Corner] = ()
    sectors: Sequence[str] = ()
    straights: Sequence[str] = ()
    main: str = ""
    """The straight with start and finish."""


class Named(NamedTuple):
    """A question in its one form, with every name replaced by what it is the name of."""

    text: str
    corners: tuple[str, ...] = ()
    """Names, in their order; the bare number of one that there is not."""
    laps: tuple[Lap, ...] = ()
    """In their order; one that is named twice stands twice."""
    sectors: tuple[int, ...] = ()
    """From 1."""
    straights: tuple[str, ...] = ()


class _Found(NamedTuple):
    begin: int
    end: int
    kind: str
    what: tuple[str | int, ...]


def named(question: str, names: Names) -> Named:
    """What a question names, and the rest of it."""
    text = read(question, _spelled(names))
    taken: list[_Found] = []
    for one in (*_by_number(text, names), *_by_name(text, names), *_by_word(text)):
        if all(one.end <= other.begin or other.end <= one.begin for other in taken):
            taken.append(one)
    taken.sort()
    parts, at = [], 0
    for one in taken:
        parts += [text[at : one.begin], one.kind]
        at = one.end
    parts.append(text[at:])
    by_kind = {
        kind: [item for one in taken if one.kind == kind for item in one.what]
        for kind in (CORNER, LAP, SECTOR, STRAIGHT)
    }
    return Named(
        " ".join("".join(parts).split()),
        tuple(dict.fromkeys(str(name) for name in by_kind[CORNER])),
        tuple(by_kind[LAP]),  # type: ignore[arg-type]
        tuple(dict.fromkeys(int(number) for number in by_kind[SECTOR])),
        tuple(dict.fromkeys(str(name) for name in by_kind[STRAIGHT])),
    )


def _spelled(names: Names) -> Iterator[str]:
    for corner in names.corners:
        yield from (corner.name, *corner.nicknames)
    yield from names.sectors
    yield from names.straights


def _by_number(text: str, names: Names) -> Iterator[_Found]:
    for found in _LAPS.finditer(text):
        numbers = tuple(int(number) for number in _NUMBER.findall(found[1]))
        yield _Found(*found.span(), LAP, numbers)
    for found in _CORNERS.finditer(text):
        told = tuple(_numbered(number, names.corners) for number in _NUMBER.findall(found[1]))
        yield _Found(*found.span(), CORNER, told)
    for found in _SECTORS.finditer(text):
        yield _Found(*found.span(), SECTOR, tuple(int(n) for n in _NUMBER.findall(found[1])))


def _numbered(number: str, corners: Iterable[Corner]) -> str:
    return next((one.name for one in corners if one.number == int(number)), str(int(number)))


def _by_name(text: str, names: Names) -> Iterator[_Found]:
    """Names of the circuit, the longest first; a corner before a sector of the same name."""
    known: list[tuple[str, str, str | int]] = [
        *((plain(name), STRAIGHT, name) for name in names.straights),
        *((f"{plain(name)} sector", SECTOR, at) for at, name in enumerate(names.sectors, 1)),
        *((f"sector {plain(name)}", SECTOR, at) for at, name in enumerate(names.sectors, 1)),
        *(
            (plain(name).removeprefix("the "), CORNER, one.name)
            for one in names.corners
            for name in (one.name, *one.nicknames)
        ),
        *((plain(name), SECTOR, at) for at, name in enumerate(names.sectors, 1)),
        *_shapes(names.corners),
    ]
    for name, kind, what in sorted(known, key=lambda one: -len(one[0])):
        if not name:
            continue
        for found in re.finditer(rf"(?<!\w)(?:the )?{re.escape(name)}(?!\w)", text):
            yield _Found(*found.span(), kind, (what,))
    if names.main and (main := _MAIN.search(text)) is not None:
        yield _Found(*main.span(), STRAIGHT, (names.main,))
    if names.corners and (final := _FINAL_CORNER.search(text)) is not None:
        yield _Found(*final.span(), CORNER, (names.corners[-1].name,))


def _shapes(corners: Sequence[Corner]) -> Iterator[tuple[str, str, str]]:
    """What the only hairpin and the only kink of a circuit are called."""
    for word, severity in (("hairpin", SHARPEST), ("kink", FLATTEST)):
        fitting = [one.name for one in corners if one.severity == severity]
        if len(fitting) == 1:
            yield word, CORNER, fitting[0]


def _by_word(text: str) -> Iterator[_Found]:
    for found in _BY_WORD.finditer(text):
        yield _Found(*found.span(), LAP, (found.lastgroup or "best",))
    if (alone := _ALONE.fullmatch(text)) is not None:
        yield _Found(0, len(text), LAP, (alone.lastgroup or "best",))
    for found in _WHICH.finditer(text):
        word = found.lastgroup or "best"
        yield _Found(*found.span(), LAP, ("slowest" if word == "slow" else word,))
    short = None if _OF_PARTS.search(text) else _BEST_SHORT.search(text.rstrip(" ?.!"))
    if short is not None:
        yield _Found(*short.span(), LAP, ("best",))
