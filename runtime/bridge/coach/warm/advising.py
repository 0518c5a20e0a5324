"""Whether a part of a sentence is advice that may be given, and the whole of it fits; pure.

Advice is read as a row of whole instructions: what is done, and in which phase of a corner. A
sentence with a word outside of these is none.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from runtime.bridge.coach.warm.advice_moves import (
    CLAUSES,
    GERUNDS,
    MOVES,
    NEXT,
    OPENER,
    SETTLED,
    Move,
)
from runtime.bridge.coach.warm.advice_needs import NEEDS
from runtime.bridge.coach.warm.advice_words import FRAMES, NOUNS, OPENERS
from runtime.bridge.coach.warm.evidence import Evidence
from runtime.bridge.coach.warm.segments import Segment

_TRYING: Final = re.compile(rf"\b(try|remember) ({'|'.join(GERUNDS)})\b")
_JOIN: Final = re.compile(r"(?:(?:and then|and|then)(?: |$))?")
_LATER_ON: Final = re.compile(rf"{NEXT}(?= |$)")
_ADDED: Final = frozenset(
    """ahead up calm relaxed quiet smooth steady light loose focused patient precise throttle hands
    shoulders the your keep stays stay open""".split()
)
"""Words of a part that only goes on with the instruction before."""
_TAILS: Final = re.compile(
    r"(?:so )?(?:that )?(?:the throttle opens onetime|the throttle can go down"
    r"|you can open the exit|the exit opens(?: up)?)|(?:and )?(?:stays? (?:open|down)|onetime)"
    r"|instead of (?:coasting|rolling(?: through)?)|onepedal|in small steps|with calm hands"
    r"|where braking should end"
    r"|as long as the car holds its line|and let the car roll in faster|(?:the|your) exit(?: of)?"
)
"""What may go on with an instruction, where the whole sentence has it so."""
_PLACED: Final = frozenset("at in of for into through from to".split())
_CHEERED: Final = (
    r"(?:(?:(?:very )?(?:good|great|nice|solid|super) (?:work|job|drive|session|effort|run|start)"
    r"|well done|bravo|thanks|thank you|okay|ok)(?: (?:today|out there|so far))?"
    r"|keep going|keep it up|enjoy)"
)
_CHEER_FIRST: Final = re.compile(rf"^{_CHEERED}(?: and)? ")
_CHEER_LAST: Final = re.compile(rf" (?:and )?{_CHEERED}$")
MOST: Final = 5
"""Instructions of one sentence."""


def verb_of(words: Sequence[str]) -> tuple[int, str] | None:
    """Where the verb of an instruction stands, and its plain form; None where there is none."""
    for at, word in enumerate(words):
        plain = GERUNDS.get(word, word)
        if plain in FRAMES and plain not in NOUNS and word not in OPENERS:
            return at, plain
        if word not in OPENERS and word not in ("not", "never", "do", "avoid"):
            return None
    return None


def is_advice(part: Segment, before: str | None) -> str | None:
    """The verb of a part that advises; None of one that does not.

    *before* is the verb of the part before, which a part without one goes on with. Whether the
    whole sentence may be said is told by `unwise`.
    """
    if not _bare(part):
        return None
    text = " ".join(part.words)
    if not text or (_dangles(part) and not (part.corners or part.named)):
        return None
    if part.lead in ("", "and", "so") and (moves := _moves(text)):
        return moves[0].verb
    if before is None:
        return None
    whole = f"{part.lead} {text}".strip()
    goes_on = SETTLED.fullmatch(whole) or any(one.fullmatch(whole) for one, _, _ in CLAUSES)
    if goes_on or (part.lead in ("", "and") and _ADDED.issuperset(part.words)):
        return before
    return before if _TAILS.fullmatch(whole) else None


def is_clause(part: Segment) -> bool:
    """Whether a part is a clause like *as you turn in*, which waits for advice."""
    whole = f"{part.lead} {' '.join(part.words)}".strip()
    return _bare(part) and any(c.fullmatch(whole) for c, _, _ in CLAUSES)


def is_opening(part: Segment) -> bool:
    """Whether a part only leads to advice, like *next time* or *one thing*."""
    if not _bare(part) or not part.words or part.lead not in ("", "so", "and"):
        return False
    return _opened(" ".join(part.words))


def unwise(text: str, corners: Sequence[str], evidence: Evidence) -> str | None:
    """Why a sentence with advice may not be said; None: it may.

    *text* is the whole of it with names and numbers left out; commas in it say nothing.
    Without *corners* it is about the session.
    """
    moves = _whole(text)
    if moves is None:
        return "advice that is not known"
    return next((m.need for m in moves if m.need and not NEEDS[m.need](corners, evidence)), None)


def _bare(part: Segment) -> bool:
    """Whether a part claims nothing beside its words and corners."""
    claims = part.measures or part.laps or part.versus or part.sectors or part.letters or part.bad
    return not claims


def _dangles(part: Segment) -> bool:
    """Whether a word of place stands at an end, without a place."""
    return part.words[-1] in _PLACED or part.words[0] in _PLACED - {"from"}


def _whole(text: str) -> tuple[Move, ...] | None:
    """The instructions of a whole sentence, with encouragement around; None: it has other words."""
    whole = " ".join(text.replace(",", " ").split())
    if moves := _moves(whole):
        return moves
    bare = _CHEER_LAST.sub("", _CHEER_FIRST.sub("", whole))
    return _moves(bare) if bare != whole else None


def _opened(text: str) -> bool:
    """Whether nothing but openers stand in a text."""
    while found := OPENER.match(text):
        text = text[found.end() :].lstrip()
        if not text:
            return True
    return False


@lru_cache(maxsize=4096)
def _moves(text: str) -> tuple[Move, ...] | None:
    """The instructions that a text without punctuation consists of; None where of more."""
    usual = _TRYING.sub(lambda one: f"{one.group(1)} {GERUNDS[one.group(2)]}", text)
    return next(_begun(usual.strip(), 0), None)


def _begun(text: str, phase: int, clause: int | None = None) -> Iterator[tuple[Move, ...]]:
    """Ways to read a text that begins with openers or a clause, at a phase or later."""
    for move, rest in _first(text):
        if clause is not None:
            _, phases, verbs = CLAUSES[clause]
            if not (move.phase in phases or move.verb in verbs):
                continue
        if move.phase is None or move.phase >= phase:
            yield from _followed(move, rest, max(phase, move.phase or 0), clause)
    if found := OPENER.match(text):
        yield from _begun(text[found.end() :].lstrip(), phase, clause)
    if clause is None:
        for at, (pattern, _, _) in enumerate(CLAUSES):
            if found := pattern.match(text):
                yield from _begun(text[found.end() :].lstrip(), phase, at)


def _first(text: str) -> Iterator[tuple[Move, str]]:
    """Each instruction that a text may begin with, and the rest; the longest one first."""
    ends = [(found.end(), move) for move in MOVES if (found := move.pattern.match(text))]
    for end, move in sorted(ends, key=lambda one: -one[0]):
        yield move, text[end:].lstrip()


def _followed(move: Move, rest: str, phase: int, clause: int | None) -> Iterator[tuple[Move, ...]]:
    """Ways to go on behind an instruction; a clause holds for all that follow it."""
    if move.verb == "brake" and (found := SETTLED.match(rest)):
        rest = rest[found.end() :].lstrip()
        if rest.split(" ")[0] in ("at", "for", "into"):
            rest = rest.partition(" ")[2]
    if found := _LATER_ON.match(rest):
        rest = rest[found.end() :].lstrip()
    if not rest:
        yield (move,)
        return
    if move.alone:
        return
    found = _JOIN.match(rest)
    behind = rest[found.end() :] if found else rest
    for others in _begun(behind, phase, clause):
        if len(others) < MOST and not any(one.alone for one in others):
            yield (move, *others)
