"""What costs time in several sessions together: at most three habits; pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, NamedTuple

from runtime.bridge.analysis.drive import Drive, NoCorners
from runtime.bridge.analysis.grading import dangers
from runtime.bridge.analysis.losses import (
    losses_between,
    passes_of_lap,
    stand_in,
    usual_passes,
)

MOST: Final = 3
CORNERS: Final = 4
LEAST_S: Final = 0.05
"""A habit, or a corner, that costs less is not worth a word."""
EFFORT: Final[Mapping[str, int]] = {
    **dict.fromkeys(("coasting", "late_brake", "late_throttle"), 1),
    **dict.fromkeys(("early_slowing", "long_brake", "slow_entry", "slow_exit"), 2),
    **dict.fromkeys(("early_brake", "slow_apex"), 3),
}
"""By cause: 1, done at will, to 3, built up over laps."""


class Cost(NamedTuple):
    """What a corner of a session costs, the usual lap beside the best one."""

    corner: str
    cause: str
    """What costs most of it, see `losses.Loss.causes`."""
    amount: float
    """How much of the cause there is, in its own unit."""
    seconds: float


@dataclass(frozen=True)
class Insight:
    """A habit that costs time."""

    id: str
    """The cause."""
    gain_s: float
    """Seconds a lap that it costs, mean of the sessions."""
    corners: tuple[str, ...]
    """What costs most first."""
    metric: float
    """How much of the cause there is in the first of the corners, mean of the sessions there."""
    sessions: int
    """In which it was found."""
    evidence: int
    """Corners of sessions behind it."""

    @property
    def effort(self) -> int:
        """1, little, to 3."""
        return EFFORT[self.id]


def costs(drive: Drive, lap: int | None = None) -> tuple[Cost, ...]:
    """What each corner costs on the usual lap, or on *lap*, beside the best lap.

    None in danger zones, where nobody is asked for more speed. Raises `NoSuchLap`.
    """
    number = (drive.lap(lap).number if lap is not None else stand_in(drive)) or 0
    try:
        own = passes_of_lap(drive, number) if number else usual_passes(drive)
        losses = losses_between(own, passes_of_lap(drive, drive.best.number or 0), drive)
        spared = dangers(drive)
    except NoCorners:
        return ()
    return tuple(
        Cost(loss.corner, *loss.causes[0], loss.seconds)
        for loss in losses
        if loss.seconds >= LEAST_S and loss.causes and loss.corner not in spared
    )


def insights(sessions: Sequence[Iterable[Cost]]) -> tuple[Insight, ...]:
    """The habits that cost most in the sessions: the least effort first, then the largest gain."""
    found: dict[str, list[tuple[int, Cost]]] = defaultdict(list)
    for at, session in enumerate(sessions):
        for cost in session:
            found[cost.cause].append((at, cost))
    habits = [_habit(cause, of, len(sessions)) for cause, of in found.items()]
    dearest = sorted(habits, key=lambda one: -one.gain_s)[:MOST]
    told = (one for one in dearest if one.gain_s >= LEAST_S)
    return tuple(sorted(told, key=lambda one: (one.effort, -one.gain_s, one.id)))


def _habit(cause: str, found: Sequence[tuple[int, Cost]], sessions: int) -> Insight:
    seconds: dict[str, float] = defaultdict(float)
    for _, cost in found:
        seconds[cost.corner] += cost.seconds
    corners = sorted(seconds, key=lambda name: -seconds[name])
    return Insight(
        cause,
        sum(seconds.values()) / sessions,
        tuple(corners[:CORNERS]),
        fmean(cost.amount for _, cost in found if cost.corner == corners[0]),
        len({at for at, _ in found}),
        len(found),
    )
