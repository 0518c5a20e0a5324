"""Whether a part of a sentence that states something follows from the evidence; pure."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from runtime.bridge.coach.warm.advice_needs import foremost, loses
from runtime.bridge.coach.warm.claims import UNKNOWN, Measure
from runtime.bridge.coach.warm.evidence import Evidence, Fact, speaks_of
from runtime.bridge.coach.warm.segments import Segment

_FAR: Final = 0.12
"""A number that is rounded is no farther from the truth than this share of it."""
_UNSURE: Final = frozenset({"vsbest", "vsref", "vsany"})
"""With what a difference is only said to be compared where that is known."""
_TINY: Final = 1e-6
_BARE: Final = frozenset("corner lapword session pass usualpass time drive".split())
"""Words that say nothing further of a corner or lap that something was said of."""
_AREAS: Final = {"exit": "exit_delta", "apex": "apex_delta", "entry": "entry_delta"}
_TRIFLES: Final = {"s": 0.03, "km/h": 1.0, "m": 2.0}
"""Smaller differences are none."""
_VAGUE: Final = frozenset("then per every always each".split())
"""Words that say more of a fact than it holds."""
_COUNTS: Final = frozenset("laps corners times passes".split())
_ROUGH: Final = frozenset("about around roughly approximately".split())
_IDLE: Final = frozenset({"coast", "roll", "nopedal"})
_TURNS: Final = re.compile(
    r"(?:(?:it|this|that|the|corner|turn|bend) )*(?:(?:is|turns|goes) )?"
    r"(?:a (?:right|left)(?:-hander|-hand|-handed)?(?: (?:corner|turn|bend))?"
    r"|(?:right|left)-(?:hander|handed)|(?<=goes )(?:right|left)|(?<=turns )(?:right|left))"
)
"""How a corner is said to go to a side."""
_RANKED: Final = frozenset("corner session drive".split())
_COSTS: Final = _RANKED | {"lose", "togain", "slower", "time"}
_SUPER: Final = frozenset({"max", "most", "topspeed", "average"})
_GOOD: Final = frozenset("AB")
_BAD: Final = frozenset("DEF")


def untrue(part: Segment, evidence: Evidence, context: Sequence[str] | None = ()) -> str | None:
    """Why a statement may not be made; None: it may.

    *context* are the corners that *it* and *there* mean; None: nobody can tell.
    """
    if (why := _unreadable(part, evidence)) is not None:
        return why
    corners = _about(part, evidence, context)
    if corners is None:
        return "unclear subject"
    if not part.measures and not part.letters and not part.concepts - _BARE and not part.versus:
        return "says nothing"
    for settle in (_personal, _best, _rank, _graded, _judged, _turned, _compared):
        why, done = settle(part, corners, evidence)
        if why is not None:
            return why
        if done:
            return None
    if part.measures:
        return _number(part, corners, evidence)
    if part.concepts - _BARE:
        return _untold(part, corners, evidence)
    return None


def _unreadable(part: Segment, evidence: Evidence) -> str | None:
    if part.bad or part.unknown:
        return part.bad or f"unknown word {part.unknown[0]}"
    faults = (
        (bool({*part.laps, *part.versus} - evidence.laps), "unknown lap"),
        (bool(part.sectors), "sector"),
        ("not" in part.concepts, "negated"),
        (bool(_VAGUE.intersection(part.words)), "vague"),
        ("corner" in part.concepts and bool(part.laps) and not part.corners, "lap and corner"),
        (bool(part.corners) and part.concepts - _BARE == {"bestlap"}, "lap and corner"),
        ("most of" in " ".join(part.words), "a share"),
        (bool({"second", "least"} & part.concepts), "rank"),
        (any(one.unit == UNKNOWN for one in part.measures), "number without a unit"),
        ("car" in part.words and not _IDLE & part.concepts, "the car"),
        (_counted(part), "about a count"),
        ("into" in part.words and "brake" not in part.concepts, "no measured place"),
        (len(_AREAS.keys() & part.concepts) > 1, "two places"),
    )
    return next((why for fault, why in faults if fault), None)


def _counted(part: Segment) -> bool:
    """Whether something that was counted is told as if it had been measured."""
    counts = any(one.unit in _COUNTS for one in part.measures)
    return counts and not _ROUGH.isdisjoint(part.words)


def _about(part: Segment, evidence: Evidence, context: Sequence[str] | None) -> list[str] | None:
    """The corners that a part is about; None where that is not clear."""
    if part.corners or not part.pointing:
        return part.corners
    if context is None:
        return None
    if context:
        return list(context) if len(context) == 1 else None
    return [evidence.only] if evidence.only is not None else None


Settled = tuple[str | None, bool]
"""Why not, and whether nothing of the rest is to be looked at."""


def _personal(part: Segment, corners: list[str], evidence: Evidence) -> Settled:
    """The best lap of all sessions is the best of this one where that is faster than before."""
    if "personal" not in part.concepts:
        return None, False
    part.concepts.discard("personal")
    gained = any(fact.kind == "improvement" and fact.value > 0 for fact in evidence.facts)
    known = gained and not corners and "bestlap" in part.concepts
    return (None if known else "personal best"), False


def _best(part: Segment, corners: list[str], evidence: Evidence) -> Settled:
    """Best and slowest laps; what is left is about that lap."""
    best = evidence.marks.get("best_lap")
    number = int(best) if best is not None else None
    if part.laps and not corners and {"best", "fastest"} & part.concepts:
        part.concepts -= {"best", "fastest"}
        part.concepts.add("bestlap")
    if part.laps and not corners and {"worst", "slowest"} & part.concepts:
        part.concepts -= {"worst", "slowest"}
        part.concepts.add("worstlap")
    if "vsbestlap" in part.concepts:
        part.concepts.discard("vsbestlap")
        if number is None:
            return "unknown best lap", False
        part.versus.append(number)
    if "bestlap" in part.concepts:
        if part.laps and part.laps != [number]:
            return "best lap", False
        times = [one.value for one in part.measures if one.unit == "s"]
        known = evidence.marks.get("best_time")
        if part.laps:
            part.concepts.discard("bestlap")
        elif number is not None and _names_lap(part):
            part.laps = [number]
            part.concepts.discard("bestlap")
        elif number is None and known is not None and times and not corners:
            equal = _equal(part.measures[0], float(known))
            return (None, True) if equal and not _more(part) else ("best lap", False)
    if "worstlap" in part.concepts:
        slowest = _slowest(evidence)
        if slowest is None or (part.laps and part.laps != [slowest]):
            return "slowest lap", False
        part.laps = [slowest]
        part.concepts.discard("worstlap")
        part.concepts.add("lapword")
    return None, False


def _names_lap(part: Segment) -> bool:
    return not {"ideal", "sector", "togain", "vsbefore", "vsref"} & part.concepts


def _more(part: Segment) -> bool:
    return bool(part.concepts - _BARE - {"bestlap", "laptime", "took"})


def _slowest(evidence: Evidence) -> int | None:
    """The slowest lap, where the times of all laps are known."""
    times = evidence.lap_times
    counts = {int(fact.value) for fact in evidence.facts if fact.kind == "n_laps"}
    if len(times) < 2 or counts != {len(times)}:
        return None
    return max(times, key=lambda lap: times[lap])


def _rank(part: Segment, corners: list[str], evidence: Evidence) -> Settled:
    """What is said to be the best, the weakest, or to have cost most."""
    said = {"best", "worst", "most", "fastest", "slowest", "focus"} & part.concepts
    if said == {"most"} and not {"lose", "togain", "slower"} & part.concepts:
        return None, False  # of a quantity: the most grip
    if not said:
        return None, False
    if len(corners) != 1 or part.laps or len(said) > 1 or {"fastest", "slowest"} & said:
        return "rank", False
    corner, rest = corners[0], part.concepts - said
    if rest - (_COSTS if said == {"most"} else _RANKED) or (part.measures and said != {"most"}):
        return "rank", False  # of something else of the corner
    if said == {"focus"}:
        true = loses(corner, evidence) and foremost(corner, evidence)
    elif said == {"best"}:
        true = corner == (evidence.marks.get("best_corner") or _most(evidence, "score"))
    else:
        weakest = evidence.marks.get("weakest") if said == {"worst"} else None
        top = evidence.marks.get("costs_most") or _most(evidence, "delta_time")
        true = corner in (weakest, top)
    part.concepts -= said
    if "most" in said and not part.measures:
        part.concepts -= {"lose", "togain", "slower", "time"}
    return (None if true else "rank"), False


def _most(evidence: Evidence, kind: str) -> str | None:
    """The corner with the most of something, where it is known of every corner."""
    values = {f.corner: f.value for f in evidence.facts if f.kind == kind and f.corner}
    if len(values) < max(2, len(evidence.places)):
        return None
    most = max(values.values())
    named = [corner for corner, value in values.items() if value == most]
    return named[0] if len(named) == 1 else None


def _graded(part: Segment, corners: list[str], evidence: Evidence) -> Settled:
    if not part.letters:
        return None, False
    if len(part.letters) > 1 or len(corners) > 1 or part.laps or part.measures:
        return "grade", False
    known = evidence.grades.get(corners[0] if corners else "")
    free = {"score", "corner"} if corners else {"score", "session"}
    if known != part.letters[0] or part.concepts - free:
        return "grade", False
    return None, True


def _judged(part: Segment, corners: list[str], evidence: Evidence) -> Settled:
    """*Good* and *bad*."""
    said = {"good", "bad"} & part.concepts
    if not said:
        return None, False
    area = _AREAS.keys() & part.concepts
    if len(said) > 1 or len(area) > 1 or part.measures or part.concepts - _BARE - said - area:
        return "verdict", False
    if part.laps and not corners:
        best = [evidence.marks.get("best_lap")] == [str(lap) for lap in part.laps]
        best = best and evidence.grades.get("", "A") in _GOOD
        return (None if best and said == {"good"} and not area else "verdict"), True
    if part.laps or not corners:
        return "verdict", False
    true = all(_verdict(one, said == {"good"}, area, evidence) for one in corners)
    return (None if true else "verdict"), True


def _verdict(corner: str, good: bool, area: Iterable[str], evidence: Evidence) -> bool:
    if evidence.grades.get(corner) is None:
        return False
    for one in area:
        facts = [f for f in evidence.facts if f.corner == corner and f.kind == _AREAS[one]]
        signs = all(fact.value > 0 if good else fact.value < 0 for fact in facts)
        return bool(facts) and signs and all(_tells(fact) for fact in facts)
    if good:
        return evidence.grades[corner] in _GOOD and not loses(corner, evidence)
    return evidence.grades[corner] in _BAD


def _turned(part: Segment, corners: list[str], evidence: Evidence) -> Settled:
    """Whether a corner goes left or right."""
    said = {"left", "right"} & part.concepts
    if not said:
        return None, False
    known = {place.name: place.direction for place in evidence.places}
    if len(said) > 1 or part.measures or part.concepts - said - {"corner"} or not corners:
        return "direction", False
    if _TURNS.fullmatch(" ".join(part.words)) is None:
        return "direction", False
    true = all(known.get(corner) in said for corner in corners)
    return (None if true else "direction"), True


def _compared(part: Segment, corners: list[str], evidence: Evidence) -> Settled:
    """Two laps beside each other."""
    if not part.versus:
        return None, False
    times, measure = evidence.lap_times, part.measures[0] if part.measures else None
    said = part.concepts - _BARE - {"bestlap", "laptime"}
    two = len(part.laps) == 1 and len(part.versus) == 1 and not corners
    if not two or len(said) != 1 or not said <= {"slower", "faster", "lose", "gain"}:
        return "comparison", False
    one, other = times.get(part.laps[0]), times.get(part.versus[0])
    if one is None or other is None or one == other:
        return "comparison", False
    if (one > other) != bool(said & {"slower", "lose"}):
        return "comparison", False
    if measure is not None and not (measure.unit == "s" and _equal(measure, one - other)):
        return "comparison", False
    return None, True


def _number(part: Segment, corners: list[str], evidence: Evidence) -> str | None:
    measure = part.measures[0]
    if measure.sign or len(corners) > 1 or len(part.laps) > 1:
        return "number"
    for fact in evidence.by_unit.get(measure.unit, ()):
        if _fits(part, corners, fact) and _equal(measure, fact.value):
            return None
    return "number"


def _untold(part: Segment, corners: list[str], evidence: Evidence) -> str | None:
    """A claim without a number: each corner has a fact of that kind and direction."""
    if {"lose", "gain"} & part.concepts and not {"time", "speed"} & part.concepts:
        return "claim"  # what was lost may be the car
    for about in [[corner] for corner in corners] or [[]]:
        facts = (fact for fact in evidence.facts if _tells(fact))
        if not any(_fits(part, about, fact) for fact in facts):
            return "claim"
    return None


def _tells(fact: Fact) -> bool:
    """Whether something may be said of a fact without its number: it is no trifle."""
    return fact.quantity.untold and abs(fact.value) >= _TRIFLES.get(fact.quantity.unit, 0.0)


def _fits(part: Segment, corners: list[str], fact: Fact) -> bool:
    """Whether a part speaks of a fact, its number aside."""
    if (fact.corner is None) == bool(corners) or (corners and fact.corner not in corners):
        return False
    if not _of_that_pass(part, fact) or (not corners and not _of_that_lap(part, fact)):
        return False
    known = fact.basis if fact.basis is not None else fact.quantity.basis - _UNSURE
    if not part.basis - {"vsany"} <= known or (fact.quantity.plus and fact.value == 0):
        return False
    return speaks_of(part, fact.quantity, -1 if fact.value < 0 else 1, bool(corners))


def _of_that_pass(part: Segment, fact: Fact) -> bool:
    """Whether a part speaks of no other pass or lap than a fact does."""
    if part.laps and (fact.lap is None or [fact.lap] != part.laps):
        return False
    if fact.which == "lap" and not part.laps:
        return False
    if fact.which == "best" and not {"atbest", "refpass", "vsbest"} & part.concepts:
        return False
    return "usualpass" not in part.concepts or fact.which == "usual"


def _of_that_lap(part: Segment, fact: Fact) -> bool:
    """As `_of_that_pass`, where no corner is spoken of."""
    if not part.laps and fact.lap is not None and _SUPER & part.concepts:
        return False
    return fact.kind != "lap_time" or bool(part.laps) or "bestlap" in part.concepts


def _equal(number: Measure, value: float) -> bool:
    """Whether a number is a value, rounded at its last digit."""
    away = abs(abs(value) - number.value)
    return away <= _FAR * abs(value) and away <= (0.5 + _TINY) * 10.0**-number.digits
