"""Divides a sentence into parts that each say one thing; pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from runtime.bridge.coach.warm.bidding import goes_on, orders
from runtime.bridge.coach.warm.claims import Measure, Token
from runtime.bridge.coach.warm.lexicon import (
    COMPARED,
    CONCEPTS,
    FUNCTION,
    JOINING,
    PHRASE_CONCEPTS,
    POINTING,
)
from runtime.bridge.coach.warm.order import BESIDE, jumbled, meaning

DIRECTIONS: Final = frozenset(
    "lose gain slower faster slow more less early late togain improve".split()
)
_PLACING: Final = frozenset("at in on of the your from for into through to is was".split())
_TRAILING: Final = frozenset({"", ",", "(", ")", ",(", "-"})
"""What may stand between a statement and the place that narrows it."""
_NO_VOCATIVE: Final = frozenset(
    "to for of by with than like and in on from the a your against is was".split()
)
_VERDICTS: Final = frozenset(
    "good bad best worst most least fastest slowest focus second not left right".split()
)
"""They are said of one part alone."""
_NEAR: Final = frozenset({"there", "here"})
_IDLE: Final = frozenset({"coast", "nopedal"})
"""Of these no direction is said."""
_CUTS: Final = BESIDE | {"with", "by", "to", "in", "at", "within"}


@dataclass(slots=True)
class Segment:
    """A part of a sentence."""

    lead: str = ""
    """The word that joins it to what stands before."""
    glue: str = ""
    """The marks between it and what stands before."""
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
    order: str = ""
    """The verb by which it orders what it does not state."""
    bad: str = ""
    """Why it cannot be understood at all."""

    @property
    def place_only(self) -> bool:
        """Whether it names a place, and says nothing."""
        said = self.concepts or self.unknown or self.measures or self.letters or self.bad
        if said or self.pointing or self.named or self.versus:
            return False
        place = self.corners or self.laps or self.sectors
        return bool(place) and all(word in _PLACING for word in self.words)

    @property
    def basis(self) -> frozenset[str]:
        """With what it compares."""
        return COMPARED & self.concepts


def segments(tokens: Sequence[Token], numbered: Mapping[str, str]) -> list[Segment]:
    """The parts in their order; what one leaves out is taken from the one before.

    *numbered* holds the names of corners by their numbers.
    """
    made = _placed(list(_made(tokens, numbered)))
    corners = {corner for one in made for corner in one.corners}
    for before, one in zip([None, *made], made, strict=False):
        if before is not None:
            inherit(one, before)
    if len(corners) == 1:
        for one in made:
            if not (one.words or one.measures or one.letters or one.laps or one.versus):
                continue  # a name that is called
            if not one.corners and not one.pointing:
                one.corners = list(corners)
            elif one.pointing and not one.corners:
                one.corners = list(corners)
                one.pointing = False
    return made


def inherit(one: Segment, before: Segment) -> None:
    """Complete a segment that only adds a number or a place to the one before."""
    if one.order and goes_on(before.words, one.lead, one.glue):
        one.order = ""
    adds = bool(one.measures) or (one.lead == "and" and bool(one.concepts) and not one.unknown)
    if adds:
        own, rest = one.concepts - COMPARED, before.concepts - COMPARED
        if not own & (DIRECTIONS | _IDLE):
            one.concepts |= rest & DIRECTIONS
        if not own - DIRECTIONS - {"refpass"}:
            one.concepts |= rest - DIRECTIONS - _VERDICTS
        one.unsure = not own and not one.words and (before.pointing or bool(before.basis))
        two = bool(before.measures) or bool(one.corners and before.corners)
        if two and not one.measures and not own & (DIRECTIONS | _IDLE):
            one.bad = one.bad or "one claim for two"
    if not one.laps and before.laps:
        one.laps = list(before.laps)


def _made(tokens: Sequence[Token], numbered: Mapping[str, str]) -> Iterable[Segment]:
    glue = ""
    for marks, whole in _split(tokens):
        glue += marks
        for part in _cut(whole):
            one = _segment(part, numbered)
            if one is not None:
                one.glue, glue = glue, ""
                yield one


def _placed(made: Sequence[Segment]) -> list[Segment]:
    """With each place that stands alone in the one part that it belongs to.

    A place leads to the next part, or narrows the one before; any other is bad.
    """
    placed: list[Segment] = []
    leading: Segment | None = None
    for at, one in enumerate(made):
        if not one.place_only:
            if leading is not None:
                if one.lead and not one.glue and not (one.lead == "where" and leading.words):
                    one.bad = "stray word"
                _lend(leading, one)
                one.glue, one.lead = leading.glue, one.lead or leading.lead
                leading = None
            placed.append(one)
            continue
        after = made[at + 1].glue if at + 1 < len(made) else None
        ahead = after is not None and (not placed or bool(one.lead) or ":" in after)
        if leading is not None:
            _lend(leading, one)
            one.glue, one.lead = leading.glue, one.lead or leading.lead
            leading = one
        elif {"is", "was"} & {*one.words} and (at + 1 == len(made) or made[at + 1].lead != "where"):
            one.bad = "says nothing"
            placed.append(one)
        elif ahead:
            leading = one
        elif placed and not one.lead and one.glue in _TRAILING:
            _lend(one, placed[-1])
        else:
            one.bad = "stray place"
            placed.append(one)
    if leading is not None:
        leading.bad = "stray place"
        placed.append(leading)
    return placed


def _lend(place: Segment, one: Segment) -> None:
    """Complete a part by a place, which must say nothing that the part says itself."""
    twice = (place.corners and one.corners) or (place.laps and one.laps)
    if twice or place.bad:
        one.bad = one.bad or "stray place"
    one.corners += [corner for corner in place.corners if corner not in one.corners]
    one.laps += place.laps
    one.sectors += place.sectors


def _split(tokens: Sequence[Token]) -> Iterable[tuple[str, list[Token]]]:
    """The marks before each part, and the part."""
    glue, part = "", list[Token]()
    for token in tokens:
        if token.kind == "break":
            yield glue, part
            glue, part = token.text.strip(), []
        elif token.kind == "word" and token.text in JOINING:
            yield glue, part
            glue, part = "", [token]
        else:
            part.append(token)
    yield glue, part


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
        else:
            if token.kind == "corner" and one.corners:
                one.bad = "two places"
            _other(one, token, numbered)
            if token.kind == "name":
                _name(one, part, at)
    if (word := jumbled(part)) is not None:
        one.unknown.append(word)
    one.order = orders(part) or ""
    if one.lead and len(part) == 1:
        one.bad = "stray word"
    empty = not (one.words or one.measures or one.corners or one.laps or one.sectors)
    if empty and not (one.letters or one.named or one.bad or one.versus):
        return None
    return one


def _name(one: Segment, part: Sequence[Token], at: int) -> None:
    """A proper name, which may only be called, or stand behind *at*."""
    one.named = True
    before = part[at - 1] if at else None
    if " is " in part[at].text or (before is None and len(part) == 1):
        return
    last = at + 1 == len(part) and before is not None and before.text not in _NO_VOCATIVE
    if not last and not (before is not None and before.text == "at"):
        one.bad = "name"


def _word(one: Segment, word: str) -> None:
    one.words.append(word)
    if word in PHRASE_CONCEPTS:
        one.concepts.add(meaning(word))
    elif (concept := CONCEPTS.get(word)) is not None:
        one.concepts.add(concept)
    elif word in POINTING:
        one.pointing = True
        if len(one.words) > 1 and word not in _NEAR:
            one.unknown.append(word)
    elif word not in FUNCTION:
        one.unknown.append(word)


def _other(one: Segment, token: Token, numbered: Mapping[str, str]) -> None:
    if token.kind == "measure" and token.measure is not None:
        one.measures.append(token.measure)
        if one.words and one.words[0] in BESIDE and not one.basis:
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
    elif token.kind != "name":
        one.bad = f"unreadable {token.text}"
