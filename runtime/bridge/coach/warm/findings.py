"""What of a session is worth telling its driver: a few corners, one cause each; pure."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.analysis.drive import Drive, NoGeometry
from runtime.bridge.analysis.grading import (
    BOLD,
    LEAST_S,
    CornerGrade,
    Scorecard,
    TimeLoss,
    costliest,
    scorecard,
)
from runtime.bridge.analysis.highlights import Moment
from runtime.bridge.analysis.reference import NONE, References
from runtime.bridge.coach.warm.room import Room, coasting, held, rooms

Basis: TypeAlias = Literal["own_best", "reference", "pass"]

MOST: Final = 4
WORTH_SHARE: Final = 0.3
"""A second cause is told when it costs so much of the first one's time."""
OTHER_SHARE: Final = 0.4
"""Another fault is told rather than the same one again when there is so much in it."""
LEAST_MORE: Final = {"coast_in_corner": 0.15, "nothing_time": 0.15, "exit_understeer": 2.0}
"""A pass is told to have wasted more than another when the difference is so large, and so large a
share of what it wasted."""
MORE_SHARE: Final = 0.15
CALMING: Final = frozenset({"late_brake", "exit_understeer"})
"""Causes whose advice makes a corner calmer."""
DARING: Final = frozenset({"early_brake", "low_apex_speed", "slow_apex", "unused_grip"})
"""Causes whose advice asks for more at the way in."""
OFF: Final = frozenset({"Spin", "Off the line", "Standing in a lap"})
FAMILIES: Final[Mapping[str, str]] = {
    "early_brake": "braking",
    "late_brake": "braking",
    "low_apex_speed": "apex",
    "slow_apex": "apex",
    "unused_grip": "apex",
    "low_exit_speed": "exit",
    "early_lift": "exit",
    "coast_in_corner": "pedals",
    "nothing_time": "pedals",
    "rolling": "pedals",
    "late_throttle": "pedals",
    "exit_understeer": "hands",
    "uneven": "lines",
}
"""Causes that are the same fault in other words."""


class Finding(NamedTuple):
    """A corner with something to win."""

    corner: str
    """Empty: all over the lap."""
    cause: str
    """The largest that can be told, one of `pedagogy.ADVICE`."""
    basis: Basis
    """What the pass is measured by: the best one, a reference, or nothing but itself."""
    grade: CornerGrade | None = None
    causes: tuple[TimeLoss, ...] = ()
    """Of a loss, those that are told: at most two, of two families."""
    room: Room | None = None
    """What is there to win, where it is no loss."""

    @property
    def family(self) -> str:
        """The fault, whatever it is called."""
        return FAMILIES[self.cause]

    @property
    def lost_s(self) -> float:
        """Seconds lost against the basis; 0 where there is none."""
        return self.grade.delta_time_s or 0.0 if self.causes and self.grade else 0.0


def chosen(drive: Drive, references: References = NONE) -> Finding | None:
    """The corner of a session to work on first: what its debrief begins with, and briefings and
    insights name; None where none stands out, or nobody knows where corners are."""
    try:
        found = found_in(drive, references)
    except NoGeometry:
        return None
    return found[0] if found and found[0].corner else None


def found_in(drive: Drive, references: References = NONE) -> tuple[Finding, ...]:
    """What of a session is worth telling, see `findings`. Raises `NoGeometry`."""
    card, won = scorecard(drive, references), rooms(drive, references)
    return findings(card, won, coasting(drive), held(drive, references))


def scare(moments: Sequence[Moment]) -> Moment | None:
    """The worst moment of a session, where the car got away."""
    return next((one for one in moments if one.category == "incident" and one.title in OFF), None)


def tellable(found: Sequence[Finding], moments: Sequence[Moment]) -> tuple[Finding, ...]:
    """The findings that may be told: after a scare nobody is asked to go in faster or later."""
    scared = scare(moments)
    if scared is None:
        return tuple(found)
    return tuple(
        one
        for one in found
        if one.cause in CALMING or (one.corner != scared.corner and one.cause not in DARING)
    )


def findings(
    card: Scorecard | None,
    rooms: Sequence[Room],
    lap: Room | None = None,
    held: frozenset[str] = frozenset(),
) -> tuple[Finding, ...]:
    """What to tell, the most important first: four corners at most, each once.

    The corner that costs most time comes first, as a loss where it is one. Then come losses by
    their time, then what is there to win by what may be in it, there another fault rather than the
    same one again. Where mistakes are punished nobody is asked for more speed. *lap* counts where
    there is nothing else. In the corners *held* the speed is kept between the pedals, so that
    nothing is said of them there.
    """
    grades = card.corners if card is not None else ()
    lost = (_loss(one, pedals=one.corner not in held) for one in grades)
    losses = sorted(filter(None, lost), key=lambda one: -one.lost_s)
    wins = _wins(grades, rooms)
    focus = next((one.corner for one in costliest(grades)), None)
    first = next((one for one in (*losses, *wins) if one.corner == focus), None)
    found = [first] if first is not None else []
    told = {one.corner for one in found}
    found += [one for one in losses if one.corner not in told][: MOST - len(found)]
    while len(found) < MOST and (one := _next(wins, found)) is not None:
        found.append(one)
    if not found and lap is not None:
        found = [Finding("", lap.cause, "pass", room=lap)]
    return tuple(found[:MOST])


def _loss(grade: CornerGrade, *, pedals: bool) -> Finding | None:
    """The causes of a loss that the pass differs in; None where hardly any time was lost."""
    told = [
        cause
        for cause in grade.causes
        if more(cause.cause, grade) is not None
        and (pedals or FAMILIES[cause.cause] != "pedals")
        and not (grade.danger and cause.cause in BOLD)
    ]
    lost = grade.delta_time_s or 0.0
    if not told and lost > LEAST_S:  # it costs time, whatever the reason
        bold = [cause.detail for cause in grade.causes if cause.cause in BOLD]
        told = [TimeLoss("uneven", lost, bold[0] if bold else "")]
    if not told:
        return None
    first, *others = told
    second = [
        cause
        for cause in others
        if cause.seconds_lost >= WORTH_SHARE * first.seconds_lost
        and FAMILIES[cause.cause] != FAMILIES[first.cause]
    ]
    basis: Basis = "reference" if grade.basis == "reference_file" else "own_best"
    return Finding(grade.corner, first.cause, basis, grade, (first, *second[:1]))


def more(cause: str, grade: CornerGrade) -> float | None:
    """How much more of it there is than in the pass that is compared with; None: as good as none.

    0 for what is a difference by itself.
    """
    least = LEAST_MORE.get(cause)
    if least is None:
        return 0.0
    own, target = grade.own, grade.target
    name = {"coast_in_corner": "coast_seconds", "nothing_time": "nothing_time_s"}.get(
        cause, "steering_corrections"
    )
    here, there = getattr(own, name, None), getattr(target, name, None)
    if here is None or there is None:
        return None
    difference = float(here) - float(there)
    return difference if difference >= max(least, MORE_SHARE * float(here)) else None


def _wins(grades: Sequence[CornerGrade], rooms: Sequence[Room]) -> list[Finding]:
    """What is there to win, that with most in it first."""
    graded = {one.corner: one for one in grades}
    ordered = sorted(rooms, key=lambda one: -one.worth)
    return [
        Finding(room.corner, room.cause, "pass", graded.get(room.corner), room=room)
        for room in ordered
    ]


def _next(some: Sequence[Finding], told: Sequence[Finding]) -> Finding | None:
    """Of a corner that was not told yet; rather a fault that was not, if there is enough in it."""
    corners, families = {one.corner for one in told}, {one.family for one in told}
    left = [one for one in some if one.corner not in corners]
    if not left:
        return None
    enough = OTHER_SHARE * _worth(left[0])
    fresh = (one for one in left if one.family not in families and _worth(one) >= enough)
    return next(fresh, left[0])


def _worth(one: Finding) -> float:
    return one.room.worth if one.room is not None else one.lost_s
