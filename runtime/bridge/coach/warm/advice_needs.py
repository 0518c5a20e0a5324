"""What must be known of a corner before a change, or more of the same, is advised there; pure."""

from collections.abc import Callable, Sequence
from typing import Final

from runtime.bridge.coach.warm.evidence import Evidence, Fact

LEAST_M: Final = 3.0
"""Braking that differs by less is no reason to brake elsewhere."""
LEAST_KMH: Final = 1.0
"""A speed that differs by less is no reason for another one."""
LEAST_S: Final = 0.03
"""A loss below this is none to work on."""
LEAST_IDLE_S: Final = 0.5
"""Seconds on no pedal, from which on they are worth a word."""
_EARLY: Final = frozenset({"early_brake"})
_LATE: Final = frozenset({"late_brake"})
_BRAKING: Final = _EARLY | _LATE
_APEX: Final = frozenset({"low_apex_speed", "slow_apex", "unused_grip"})
_EXIT: Final = frozenset({"low_exit_speed", "late_throttle", "early_lift"})
_IDLE: Final = frozenset({"coast_in_corner", "nothing_time", "rolling"})
_WIDE: Final = frozenset({"exit_understeer"})
_NONE: Final[frozenset[str]] = frozenset()
_GOOD: Final = frozenset("AB")
Need = Callable[[Sequence[str], Evidence], bool]


def _told_of(fact: Fact) -> bool:
    """Whether it is known of which pass a difference is, or from what; some are of any two laps."""
    return fact.lap is not None or fact.basis is not None


def found(corner: str, evidence: Evidence) -> frozenset[str]:
    """What was done wrong in a corner."""
    causes = {cause for name, cause in evidence.causes if name == corner}
    for fact in evidence.facts:
        if fact.corner != corner or not _told_of(fact) or fact.which == "lap":
            continue
        if fact.kind == "brake_delta" and abs(fact.value) >= LEAST_M:
            causes.add("early_brake" if fact.value > 0 else "late_brake")
        elif fact.kind in ("apex_delta", "exit_delta") and fact.value <= -LEAST_KMH:
            causes.add(f"low_{fact.kind[:4]}_speed")
        elif fact.kind == "coast" and fact.value >= LEAST_IDLE_S:
            causes.add("coast_in_corner")
    return frozenset(causes)


def loses(corner: str, evidence: Evidence) -> bool:
    """Whether time is lost in a corner, as far as is known, and enough to speak of."""
    losses = [
        fact.value
        for fact in evidence.facts
        if fact.corner == corner and fact.kind == "delta_time" and _told_of(fact)
    ]
    if losses:
        return max(losses) >= LEAST_S
    marked = corner in (evidence.marks.get("weakest"), evidence.marks.get("costs_most"))
    return marked or any(name == corner for name, _ in evidence.causes)


def foremost(corner: str, evidence: Evidence) -> bool:
    """Whether nothing that is known costs more time than a corner."""
    marked = {evidence.marks.get("costs_most"), evidence.marks.get("weakest")} - {None}
    if marked:
        return corner in marked
    lost = {
        fact.value: fact.corner
        for fact in evidence.facts
        if fact.kind == "delta_time" and fact.corner is not None and _told_of(fact)
    }
    return bool(lost) and lost[max(lost)] == corner


def costly(evidence: Evidence) -> list[str]:
    """The corners in which time is lost."""
    named = {fact.corner for fact in evidence.facts if fact.corner is not None}
    named |= {name for name, _ in evidence.causes}
    return sorted(one for one in named if loses(one, evidence))


def _good(corner: str, evidence: Evidence, faults: frozenset[str]) -> bool:
    shown = evidence.marks.get("best_corner") == corner or evidence.grades.get(corner) in _GOOD
    return shown and not loses(corner, evidence) and not faults & found(corner, evidence)


def _every(wanted: frozenset[str], hostile: frozenset[str] = _NONE) -> Need:
    """Each corner, or without one each that costs time, shows one of *wanted*, none *hostile*."""

    def need(corners: Sequence[str], evidence: Evidence) -> bool:
        shown = [found(corner, evidence) for corner in corners or costly(evidence)]
        return bool(shown) and all(wanted & one and not hostile & one for one in shown)

    return need


def _some(wanted: frozenset[str], hostile: frozenset[str] = _NONE) -> Need:
    """As `_every`, and without a corner one that costs time is enough."""

    def need(corners: Sequence[str], evidence: Evidence) -> bool:
        if corners:
            return _every(wanted, hostile)(corners, evidence)
        return any(_every(wanted, hostile)([one], evidence) for one in costly(evidence))

    return need


def _losing(corners: Sequence[str], evidence: Evidence) -> bool:
    return all(loses(corner, evidence) for corner in corners)


def _at_loss(wanted: Need) -> Need:
    """Each corner loses time, and shows what is wanted."""
    return lambda corners, evidence: _losing(corners, evidence) and wanted(corners, evidence)


def _here(wanted: Need) -> Need:
    """Only where there is a corner."""
    return lambda corners, evidence: bool(corners) and wanted(corners, evidence)


def _if_any(wanted: Need) -> Need:
    """Where there is no corner, nothing is needed."""
    return lambda corners, evidence: not corners or wanted(corners, evidence)


def _off_track(corners: Sequence[str], _: Evidence) -> bool:
    return not corners


def _kept(corners: Sequence[str], evidence: Evidence) -> bool:
    every = _BRAKING | _APEX | _EXIT | _IDLE | _WIDE
    return bool(corners) and all(_good(corner, evidence, every) for corner in corners)


def _kept_braking(corners: Sequence[str], evidence: Evidence) -> bool:
    if not corners:
        return not any(_BRAKING & found(corner, evidence) for corner in costly(evidence))
    return all(_good(corner, evidence, _BRAKING) for corner in corners)


def _safe(wanted: Need) -> Need:
    """No corner is one where mistakes are punished; without one none that costs time is."""

    def need(corners: Sequence[str], evidence: Evidence) -> bool:
        risky = {place.name for place in evidence.places if place.danger}
        return risky.isdisjoint(corners or costly(evidence)) and wanted(corners, evidence)

    return need


NEEDS: Final[dict[str, Need]] = {
    "brake_later": _safe(_every(_EARLY, _LATE)),
    "brake_earlier": _every(_LATE, _EARLY),
    "speed_apex": _safe(_every(_APEX)),
    "release_sooner": _safe(_every(frozenset({"slow_apex"}))),
    "softer": _if_any(_every(_APEX)),
    "steering": _if_any(_every(_WIDE)),
    "throttle_earlier": _safe(_some(_IDLE | _EXIT, _WIDE)),
    "exit_safe": _safe(_if_any(_every(_EXIT | _IDLE))),
    "exit_area": _if_any(_every(_EXIT | _IDLE)),
    "coast": _some(_IDLE),
    "keep": _kept,
    "keep_braking": _kept_braking,
    "off_track": _off_track,
    "losing": _losing,
    "losing_here": _here(_losing),
    "first": _here(lambda corners, evidence: all(foremost(one, evidence) for one in corners)),
    "area_braking": _at_loss(_some(_BRAKING)),
    "area_exit": _at_loss(_some(_EXIT)),
    "area_apex": _at_loss(_some(_APEX)),
}
"""Whether advice may be given for corners, by what it asks; no corner means the session."""
