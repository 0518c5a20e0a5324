"""Divides a sentence into parts that each say one thing; pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from runtime.bridge.warm.claims import Measure, Token
from runtime.bridge.warm.lexicon import (
    COMPARED,
    CONCEPTS,
    FUNCTION,
    JOINING,
    PHRASE_CONCEPTS,
    POINTING,
)

DIRECTIONS: Final = frozenset(
    "lose gain slower faster slow more less early late togain improve".split()
)
_PLACING: Final = frozenset(
    "at in on of the your from for into through to and then by out is was".split()
)
_BOUNDS: Final = frozenset("over off up out between among than".split())
"""Words before a number that make another of it."""
_VERDICTS: Final = frozenset(
    "good bad best worst most least fastest slowest focus second not left right".split()
)
"""They are said of one part alone."""
_IDLE: Final = frozenset({"coast", "nopedal"})
"""Of these no direction is said."""
_BESIDE: Final = frozenset({"against", "versus", "vs", "instead"})
_CUTS: Final = _BESIDE | {"with", "by", "to", "in", "at"}


@dataclass(slots=True)
class Segment:
    """A part of a sentence."""

    lead: str = ""
    """The word that joins it to what stands before."""
    words: list[str] = field(default_factory=list)
    concepts: set[str] = field(default_factory=set)
    unknown: list[str] = field(default_factory=list)
    """Words that say nothing in a statement."""
    measures: list[Measure] = field(default_factory=list)
    corners: list[str] = field(default_factory=list)
    laps: list[int] = field(default_factory=list)
    versus: list[int] = field(default_factory=list)
    """Laps that it compares with."""
    sectors: list[str] = field(default_factory=list)
    letters: list[str] = field(default_factory=list)
    """Grades."""
    pointing: bool = False
    """Whether it speaks of something that another part names."""
    named: bool = False
    """Whether it has a proper name."""
    unsure: bool = False
    """Whether it is a bare number behind a part that compares, and nobody can tell what it is."""
    bad: str = ""
    """Why it cannot be understood at all."""

    @property
    def place_only(self) -> bool:
        """Whether it names a place, and says nothing."""
        said = self.concepts or self.unknown or self.measures or self.letters or self.bad
        return not said and not self.pointing and all(word in _PLACING for word in self.words)

    @property
    def basis(self) -> frozenset[str]:
        """With what it compares."""
        return COMPARED & self.concepts


def segments(tokens: Sequence[Token], numbered: Mapping[str, str]) -> list[Segment]:
    """The parts in their order; what one leaves out is taken from the one before.

    *numbered* holds the names of corners by their numbers.
    """
    parts = [part for whole in _split(tokens) for part in _cut(whole)]
    made = [one for one in (_segment(part, numbered) for part in parts) if one is not None]
    corners = {corner for one in made for corner in one.corners}
    for before, one in zip([None, *made], made, strict=False):
        if before is not None:
            inherit(one, before)
    if len(corners) == 1:
        for one in made:
            if not one.corners and not one.pointing:
                one.corners = list(corners)
            elif one.pointing and not one.corners:
                one.corners = list(corners)
                one.pointing = False
    return made


def inherit(one: Segment, before: Segment) -> None:
    """Complete a segment that only adds a number or a place to the one before."""
    adds = bool(one.measures) or (one.lead == "and" and bool(one.concepts) and not one.unknown)
    if adds:
        own, rest = one.concepts - COMPARED, before.concepts - COMPARED
        if not own & (DIRECTIONS | _IDLE):
            one.concepts |= rest & DIRECTIONS
        if not own - DIRECTIONS - {"refpass"}:
            one.concepts |= rest - DIRECTIONS - _VERDICTS
        one.unsure = not own and not one.words and (before.pointing or bool(before.basis))
    if not one.laps and before.laps:
        one.laps = list(before.laps)
    if not one.sectors and before.place_only and before.sectors:
        one.sectors = list(before.sectors)
    if not one.corners and before.place_only and before.corners:
        one.corners = list(before.corners)


def _split(tokens: Sequence[Token]) -> Iterable[list[Token]]:
    part: list[Token] = []
    for token in tokens:
        if token.kind == "break":
            yield part
            part = []
        elif token.kind == "word" and token.text in JOINING:
            yield part
            part = [token]
        else:
            part.append(token)
    yield part


def _cut(part: list[Token]) -> Iterable[list[Token]]:
    """Parts with one number each at most."""
    while True:
        at = [i for i, token in enumerate(part) if token.kind == "measure"]
        if len(at) < 2:
            yield part
            return
        end = at[1]
        for i in range(at[1] - 1, at[0], -1):
            if part[i].kind == "word" and part[i].text in _CUTS:
                end = i
                break
        yield part[:end]
        part = part[end:]


def _segment(part: Sequence[Token], numbered: Mapping[str, str]) -> Segment | None:
    one = Segment()
    for at, token in enumerate(part):
        if token.kind == "word":
            if at == 0 and token.text in JOINING:
                one.lead = token.text
            else:
                _word(one, token.text)
            follows = part[at + 1].kind if at + 1 < len(part) else ""
            if token.text in _BOUNDS and follows == "measure":
                one.bad = f"bound {token.text}"
        else:
            _other(one, token, numbered)
    empty = not (one.words or one.measures or one.corners or one.laps or one.sectors)
    if empty and not (one.letters or one.named or one.bad or one.versus):
        return None
    return one


def _word(one: Segment, word: str) -> None:
    one.words.append(word)
    if word in PHRASE_CONCEPTS:
        usual = {"midcorner": "apex", "turnin": "entry"}
        one.concepts.add(usual.get(word, word))
    elif (concept := CONCEPTS.get(word)) is not None:
        one.concepts.add(concept)
    elif word in POINTING:
        one.pointing = True
    elif word not in FUNCTION:
        one.unknown.append(word)


def _other(one: Segment, token: Token, numbered: Mapping[str, str]) -> None:
    if token.kind == "measure" and token.measure is not None:
        one.measures.append(token.measure)
        if one.words and one.words[0] in _BESIDE and not one.basis:
            one.concepts.add("vsany")
    elif token.kind == "corner":
        for name in token.inside:
            corner = name[1:] if name.startswith("=") else numbered.get(name)
            if corner is None:
                one.bad = f"unknown corner {name}"
            elif corner not in one.corners:
                one.corners.append(corner)
    elif token.kind == "lap":
        one.laps += [int(digits) for digits in token.inside]
    elif token.kind == "versus":
        one.versus += [int(digits) for digits in token.inside]
    elif token.kind == "sector":
        one.sectors += token.inside
    elif token.kind == "letter":
        one.letters.append(token.text.upper())
    elif token.kind == "name":
        one.named = True
    else:
        one.bad = f"unreadable {token.text}"
