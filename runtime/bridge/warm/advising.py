"""Whether a part of a sentence is advice that may be given; pure."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from runtime.bridge.warm.advice_words import (
    BESIDE,
    CLAUSES,
    FRAMES,
    FREE,
    GERUNDS,
    HARMS,
    HINTS,
    NEGATED,
    OPENERS,
    UNSAFE,
)
from runtime.bridge.warm.evidence import Evidence
from runtime.bridge.warm.segments import Segment

_UNSAFE: Final = re.compile("|".join(f"(?:{one})" for one in UNSAFE))
_LATER: Final = re.compile(
    r"\b(?:brake|brakes|braking)\b[^,;.]*\blater\b|\blater\b[^,;.]*\b(?:brake|brakes|braking)\b"
    r"|\b(?:marker|board|point|start|begin|move|go)\b[^,;.]*\blater\b"
)
_SOONER: Final = re.compile(
    r"\b(?:brake|brakes|braking)\b[^,;.]*\b(?:earlier|sooner)\b"
    r"|\b(?:earlier|sooner)\b[^,;.]*\b(?:brake|brakes|braking)\b"
    r"|\b(?:marker|board|point)\b[^,;.]*\b(?:earlier|sooner)\b"
)
_SPEED: Final = re.compile(r"\b(?:carry|roll|add)\b[^,;.]*\bspeed\b|\bmore speed\b")
_POWER: Final = re.compile(
    r"\b(?:throttle|power|gas)\b[^,;.]*\b(?:early|earlier|sooner)\b"
    r"|\b(?:early|earlier|sooner)\b[^,;.]*\b(?:throttle|power|gas)\b"
)
LONGEST_HINT: Final = 4
LEAST_M: Final = 2.0
"""Braking that differs by less is no reason to brake elsewhere."""
_AGAIN: Final = re.compile(r"\b(?:repeat|exactly|doing|worked|as it is)\b")
_NEVER_LAST: Final = frozenset("the a an to at of from with for into and or your by".split())
_NEVER_FOLLOWS: Final = frozenset("to at of from with for into and or by".split())
_WEAK: Final = re.compile(r"\b(?:focus|work|concentrate)\b")
_NOUNS_FOLLOW: Final = frozenset("a an the your is was are it this these each every same".split())
_EARLY: Final = frozenset({"early_brake"})
_LATE: Final = frozenset({"late_brake"})
_SLOW: Final = frozenset({"low_apex_speed", "low_exit_speed"})


def verb_of(words: Sequence[str]) -> tuple[int, str] | None:
    """Where the verb of an instruction stands, and its plain form; None where there is none."""
    for at, word in enumerate(words):
        plain = GERUNDS.get(word, word)
        if at and words[at - 1] in _NOUNS_FOLLOW:
            return None
        if plain in FRAMES and not (word in OPENERS and _another(words[at + 1 :])):
            return at, plain
        if word not in OPENERS and word not in ("not", "never", "do", "avoid"):
            return None
    return None


def _another(rest: Sequence[str]) -> bool:
    """Whether a further verb follows, so that the first one only begins."""
    return bool(rest) and verb_of(rest) is not None


def is_advice(part: Segment, before: str | None) -> str | None:
    """The verb of a part that advises, with only words that may stand there; else None.

    *before* is the verb of the part before, which a part without one goes on with.
    """
    if (
        part.measures
        or part.laps not in ([], [1])
        or part.versus
        or part.sectors
        or part.letters
        or part.bad
    ):
        return None
    words = part.words
    if "not" in words or "never" in words:
        return "not" if _warns(words) else None
    found = verb_of(words)
    if found is not None:
        at, verb = found
        rest = words[at + 1 :]
        cut = next((i for i, word in enumerate(rest) if word in CLAUSES), len(rest))
        fits = _in_frame(rest[:cut], verb) and all(word in BESIDE for word in rest[cut + 1 :])
        return verb if fits and not _garbled(part) else None
    return _hint(part) if before is None else _goes_on(part, before)


def _hint(part: Segment) -> str | None:
    """Of *calm hands*, or another reminder that is no sentence, that it is one."""
    hint = 0 < len(part.words) <= LONGEST_HINT and all(word in HINTS for word in part.words)
    return "hint" if hint and not part.corners and not part.lead else None


def _goes_on(part: Segment, before: str) -> str | None:
    """The verb *before*, where a part without one goes on with it."""
    words = part.words
    if part.lead in CLAUSES or (words and words[0] in CLAUSES):
        inside = words[1:] if words and words[0] in CLAUSES else words
        return before if all(word in BESIDE for word in inside) else None
    if before in FRAMES and _in_frame(words, before):
        return before
    return None


def _garbled(part: Segment) -> bool:
    """Whether words stand together that never do."""
    if part.corners or part.named:  # of which nothing stands in the words
        return False
    words = part.words
    pairs = pairwise(words)
    return words[-1] in _NEVER_LAST or any(
        one == other or (one in _NEVER_LAST and other in _NEVER_FOLLOWS) for one, other in pairs
    )


def _warns(words: Sequence[str]) -> bool:
    """Whether words are *do not rush the turn-in*, or the like."""
    begins = 2 if words[:2] == ["do", "not"] else 1 if words[:1] == ["never"] else 0
    rest = words[begins:]
    harm = bool(begins and rest) and rest[0] in HARMS
    return harm and all(word in NEGATED for word in rest[1:])


def is_clause(part: Segment) -> bool:
    """Whether a part is a clause like *when the car is settled*, which waits for advice."""
    words = [part.lead, *part.words] if part.lead else part.words
    bare = not (part.measures or part.laps or part.letters or part.bad or part.sectors)
    begins = len(words) > 1 and words[0] in ("when", "as", "once", "before", "after", "if", "while")
    return bare and begins and all(word in BESIDE for word in words[1:])


def is_opening(part: Segment) -> bool:
    """Whether a part only leads to advice, like *next time* or *one thing*."""
    bare = not (part.measures or part.laps or part.letters or part.bad or part.sectors)
    return bare and bool(part.words) and all(word in OPENERS for word in part.words)


def _in_frame(words: Sequence[str], verb: str) -> bool:
    allowed = FRAMES[verb]
    known = allowed | FREE
    return all(word in known or word.removesuffix("s") in known for word in words)


def unwise(text: str, corners: Sequence[str], evidence: Evidence) -> str | None:
    """Why advice in these words may not be given; None: it may.

    *text* has names and numbers left out. Without *corners* it is about the session as a whole.
    """
    if _UNSAFE.search(text):
        return "unsafe"
    if _LATER.search(text) and not _needs(corners, evidence, _EARLY, _LATE):
        return "later braking"
    if _SOONER.search(text) and _any(corners, evidence, _EARLY):
        return "earlier braking"
    if _SPEED.search(text) and not _needs(corners, evidence, _SLOW, frozenset()):
        return "more speed"
    if _POWER.search(text) and _any(corners, evidence, frozenset({"exit_understeer"})):
        return "earlier throttle"
    if _AGAIN.search(text) and any(_loses(one, evidence) for one in corners):
        return "praise of a loss"
    if _WEAK.search(text) and corners and not all(_loses(one, evidence) for one in corners):
        return "focus"
    return None


def contrary(text: str, corners: Sequence[str], evidence: Evidence) -> bool:
    """Whether advice that is true as such tells the opposite of what was done."""
    if _LATER.search(text) and _any(corners, evidence, _LATE):
        return True
    return bool(_SOONER.search(text)) and _any(corners, evidence, _EARLY)


def _found(corner: str, evidence: Evidence) -> set[str]:
    """What was done wrong in a corner."""
    causes = {cause for name, cause in evidence.causes if name == corner}
    for fact in evidence.facts:
        if fact.corner != corner or fact.value == 0:
            continue
        if fact.kind == "brake_delta" and abs(fact.value) >= LEAST_M:
            causes.add("early_brake" if fact.value > 0 else "late_brake")
        if fact.kind in ("apex_delta", "exit_delta") and fact.value < 0:
            causes.add(f"low_{fact.kind[:4]}_speed")
    return causes


def _any(corners: Sequence[str], evidence: Evidence, causes: frozenset[str]) -> bool:
    return any(causes & _found(corner, evidence) for corner in corners)


def _needs(
    corners: Sequence[str], evidence: Evidence, wanted: frozenset[str], hostile: frozenset[str]
) -> bool:
    """Whether each corner shows one of *wanted*, and no *hostile*; of no corner: that of none."""
    if not corners:
        return False
    found = [_found(corner, evidence) for corner in corners]
    return all(wanted & one and not hostile & one for one in found)


def _loses(corner: str, evidence: Evidence) -> bool:
    if corner == evidence.marks.get("weakest") or _found(corner, evidence):
        return True
    return any(
        fact.corner == corner and fact.kind == "delta_time" and fact.value > 0
        for fact in evidence.facts
    )
