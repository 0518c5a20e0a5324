"""Whether two statements may stand in one sentence as they are joined; pure."""

from collections.abc import Sequence
from typing import Final

from runtime.bridge.coach.warm.evidence import Evidence
from runtime.bridge.coach.warm.lexicon import CONCEPTS
from runtime.bridge.coach.warm.segments import Segment

_PLAIN: Final = frozenset({"", "and", "but", "while", "whereas", "where"})
_BESIDE: Final = frozenset({"and", "but", "whereas"})
_SIDE: Final = frozenset({"", ","})
"""Marks that claim nothing."""
_NUMBER: Final = frozenset({":", "(", "-", ",", ""})
"""Marks before a bare number of what stands before it."""
_MEANT: Final = frozenset("it that this these those they".split())
_BARE: Final = frozenset("by with about around roughly approximately".split())
"""Words before a number that say nothing."""
_SUBJECTS: Final = frozenset("you your the".split())
_SLOW: Final = frozenset({"lose", "slower", "slow", "less"})
_FAULTS: Final = (
    (frozenset({"brake", "early"}), ("early_brake",)),
    (frozenset({"brake", "late"}), ("late_brake",)),
    (frozenset({"coast"}), ("coast_in_corner", "nothing_time")),
    (frozenset({"roll"}), ("coast_in_corner", "nothing_time")),
    (frozenset({"nopedal"}), ("coast_in_corner", "nothing_time")),
    (frozenset({"throttle", "less"}), ("early_lift",)),
    (frozenset({"correct", "steering"}), ("exit_understeer",)),
)
_AREAS: Final = {"apex": "low_apex_speed", "exit": "low_exit_speed"}


def joined(before: Segment, after: Segment, evidence: Evidence) -> bool:
    """Whether two true statements may follow each other in their sentence.

    What joins them may say that one is the cause of the other, which must be known then.
    """
    same = bool(after.corners) and after.corners == before.corners
    if after.lead == "where" and not (same and (_lost(before) or _ranked(before))):
        return False
    if after.lead in ("while", "whereas") and (same or not (after.corners or after.laps)):
        return False
    meant = after.words and after.words[0] in _MEANT and _SLOW & _said(after)
    if meant or before.lead in ("because", "so"):
        return _caused(before, after, evidence)
    if after.lead in _PLAIN and after.glue in _SIDE:
        own = not after.lead and after.glue == "," and bool(_SUBJECTS.intersection(after.words))
        if after.lead in _BESIDE or own or not (_implied(after, before) or _implied(before, after)):
            return True
        return _caused(after, before, evidence) or _caused(before, after, evidence)
    if after.lead == "" and after.measures and _BARE.issuperset(after.words):
        if after.glue not in _NUMBER:
            return False
        return not before.measures or after.glue == ","
    later = after.lead in ("", "because") and _caused(after, before, evidence)
    return later or (after.lead in ("", "so", "which") and _caused(before, after, evidence))


def blamed(
    before: Sequence[Segment], after: Segment, corners: Sequence[str], evidence: Evidence
) -> bool:
    """Whether *That cost you 0.2 s* blames a fault that the sentence before tells, and wrongly."""
    if not (after.words and after.words[0] in _MEANT and _lost(after)):
        return False
    faults = {fault for part in before for fault in _faults(part)}
    if faults and _seconds(after):
        return True
    if not faults and not any(_lost(part) or _ranked(part) for part in before):
        return True
    known = {fault for corner, fault in evidence.causes if [corner] == [*corners]}
    return not faults <= known


def _said(part: Segment) -> set[str]:
    """What the words of a part say, without what it took from the one before."""
    return {
        CONCEPTS.get(word, {"midcorner": "apex", "turnin": "entry"}.get(word, word))
        for word in part.words
        if word in CONCEPTS or word in ("midcorner", "nopedal", "turnin", "togain")
    }


def _caused(cause: Segment, effect: Segment, evidence: Evidence) -> bool:
    """Whether a fault of a corner is known as what cost the time that was lost there."""
    if len(effect.corners) != 1 or cause.corners not in ([], effect.corners):
        return False
    whole = _seconds(effect) or "most" in _said(effect)  # of which one cause has a share
    faults = _faults(cause) if _lost(effect) and not whole else []
    return any((effect.corners[0], fault) in evidence.causes for fault in faults)


def _implied(cause: Segment, effect: Segment) -> bool:
    """Whether a loss is told beside a fault, as *with late braking* is."""
    return _lost(effect) and bool(_faults(cause))


def _lost(part: Segment) -> bool:
    """Whether a part tells of time that was lost in a corner as a whole."""
    said = _said(part)
    lost = {"lose", "slower", "togain"} & said and ("time" in said or _seconds(part))
    return bool(lost) and not {"apex", "exit", "entry", "coast", "brake", "throttle"} & said


def _faults(part: Segment) -> list[str]:
    """The causes of lost time that a part may speak of."""
    said = _said(part)
    faults = [name for words, names in _FAULTS if words <= said for name in names]
    if _SLOW & said and "time" not in said and not _seconds(part):
        faults += [name for area, name in _AREAS.items() if area in said]
    return faults


def _ranked(part: Segment) -> bool:
    """Whether a part only says which corner it is about, and that it matters."""
    return bool({"most", "worst", "focus"} & _said(part)) or (not part.measures and not _said(part))


def _seconds(part: Segment) -> bool:
    return any(one.unit == "s" for one in part.measures)
