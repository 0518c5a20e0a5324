"""Says what a pass through a corner lost, and what to do about it; pure."""

from typing import Final, NamedTuple

from runtime.bridge.analysis.grading import ADVICE, BOLD, STEADY, TimeLoss, attribution
from runtime.bridge.analysis.passes import Pass
from runtime.bridge.analysis.reference import Taken
from runtime.bridge.coach.agents.words import joined
from runtime.bridge.coach.warm.findings import LEAST_MORE, MORE_SHARE

BY_ITSELF: Final = frozenset({"coast_in_corner", "nothing_time", "exit_understeer"})
"""Causes that a pass shows without another beside it."""


def advice_of(cause: TimeLoss, *, danger: bool = False) -> str:
    """What to do about a cause; where mistakes are punished nobody is asked for more speed."""
    if danger and cause.cause in BOLD:
        return STEADY
    return ADVICE[cause.cause].removesuffix(": {}")


class Reason(NamedTuple):
    """A cause of a loss, as it is told."""

    was: str
    """What was done, and on which lap or beside what; begins small."""
    advice: str


def reasons(own: Pass, target: Taken, beside: str, *, danger: bool = False) -> list[Reason]:
    """What the loss against *target* is made of, each cause once.

    The largest comes first; what the target did as well is no reason, and told only where there
    is no other. *beside* is what the target is called. With *danger* a zone lies there in which
    mistakes are punished: what asks for more speed comes last.
    """
    causes = attribution(own, target)
    apart = [one for one in causes if _apart(one, own, target)]
    found = []
    ordered = sorted(apart or causes, key=lambda one: danger and one.cause in BOLD)
    for one in ordered:
        where = f"on lap {own.lap}" if one.cause in BY_ITSELF else f"against {beside}"
        inner = one.cause not in BY_ITSELF and "," in beside
        comma = "," if inner or one.detail[:1].isdigit() else ""
        shared = "" if apart else ", hardly less on the quickest"
        found.append(
            Reason(
                f"{where.rstrip(',')}{comma} {one.detail}{shared}", advice_of(one, danger=danger)
            )
        )
    return found


def _apart(cause: TimeLoss, own: Pass, target: Taken) -> bool:
    """Whether a cause lies between the two, and not in both."""
    pairs = {
        "coast_in_corner": (own.coast_seconds, target.coast_seconds),
        "nothing_time": (own.nothing_time_s, target.nothing_time_s),
        "exit_understeer": (own.steering_corrections, target.steering_corrections),
    }
    if cause.cause not in pairs:
        return True
    mine, other = pairs[cause.cause]
    if mine is None or other is None:
        return True
    return mine - other >= max(LEAST_MORE[cause.cause], MORE_SHARE * mine)


def why_slow(own: Pass, target: Taken, beside: str, *, danger: bool = False) -> list[str]:
    """The first reasons as sentences."""
    found = reasons(own, target, beside, danger=danger)
    told = [f"{one.was[:1].upper()}{one.was[1:]}" for one in found[:2]]
    if told:
        told[0] = f"{told[0]}: {found[0].advice}."
    return [*told[:1], *(f"{one}, too." for one in told[1:])]


def speeds_of(own: Pass) -> list[str]:
    """The three speeds of a pass."""
    speeds = [
        f"{value:.0f} km/h {where}"
        for value, where in (
            (own.entry_speed_kmh, "at the entry"),
            (own.min_speed_kmh, "at the slowest point"),
            (own.exit_speed_kmh, "at the exit"),
        )
        if value is not None
    ]
    return [f"That pass had {joined(speeds)}."] if speeds else []
