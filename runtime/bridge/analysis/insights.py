"""The habits that cost a driver time again and again on a circuit, at most three."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final, NamedTuple

from runtime.bridge.analysis.drive import Drive, NoCorners
from runtime.bridge.analysis.grading import cause_to_mend
from runtime.bridge.analysis.losses import WORTH_S, measure_losses_to_best

MOST: Final = 3
CORNERS: Final = 4
EFFORT: Final[Mapping[str, int]] = {
    **dict.fromkeys(("coasting", "late_brake", "late_throttle", "part_throttle"), 1),
    **dict.fromkeys(("early_slowing", "long_brake", "slow_entry", "slow_exit"), 2),
    **dict.fromkeys(("early_brake", "slow_apex", "match", "steady"), 3),
}
"""By cause: 1, changed at will, to 3, built up over laps."""


class Cost(NamedTuple):
    """The time that a corner costs in a session, the usual lap compared with the best one."""

    corner: str
    cause: str
    """The cause to fix, see `cause_to_mend`."""
    amount: float
    """The amount of the cause in its own unit; in seconds if it has none."""
    seconds: float


class Driven(NamedTuple):
    """A driver's sessions on one circuit."""

    driver: str
    track: str
    sessions: list[tuple[Cost, ...]]
    """The sessions that could show a loss."""


@dataclass(frozen=True)
class Insight:
    """A habit that costs time."""

    driver: str
    track: str
    id: str
    """The cause."""
    gain_s: float
    """Seconds a lap that it costs on the circuit, mean of the sessions that show it."""
    corners: tuple[str, ...]
    """The costliest first."""
    metric: float
    """The amount of the cause in the first of the corners, mean of the sessions there."""
    sessions: int
    """The number of sessions that show it."""
    looked_at: int
    """Sessions of the driver on the circuit that could show it."""
    evidence: int
    """The number of corners, over all sessions, that show it."""

    @property
    def effort(self) -> int:
        """From 1, little, to 3."""
        return EFFORT[self.id]


def measure_costs(drive: Drive, lap: int | None = None) -> tuple[Cost, ...] | None:
    """Return what each corner costs on the usual lap, or on *lap*, compared with the best lap; None
    if there is nothing to compare. Raises `NoSuchLap`."""
    try:
        losses = measure_losses_to_best(drive, lap)
    except NoCorners:
        return None
    if not losses:
        return None
    causes = [(loss, cause_to_mend(drive, loss)) for loss in losses if loss.seconds >= WORTH_S]
    return tuple(
        Cost(loss.corner, cause, dict(loss.causes).get(cause, loss.seconds), loss.seconds)
        for loss, cause in causes
    )


def find_insights(seasons: Iterable[Driven]) -> tuple[Insight, ...]:
    """Find the habits that cost most in all sessions: the least effort first, then the largest gain
    a lap."""
    habits: list[Insight] = []
    for driven in seasons:
        costs_by_cause: dict[str, list[tuple[int, Cost]]] = defaultdict(list)
        for at, session in enumerate(driven.sessions):
            for cost in session:
                costs_by_cause[cost.cause].append((at, cost))
        habits += [_habit(driven, cause, costs_of) for cause, costs_of in costs_by_cause.items()]
    dearest = sorted(habits, key=lambda habit: -habit.gain_s * habit.sessions)[:MOST]
    return tuple(sorted(dearest, key=lambda habit: (habit.effort, -habit.gain_s, habit.id)))


def _habit(driven: Driven, cause: str, costs_found: Sequence[tuple[int, Cost]]) -> Insight:
    sessions = len({at for at, _ in costs_found})
    seconds: dict[str, float] = defaultdict(float)
    for _, cost in costs_found:
        seconds[cost.corner] += cost.seconds
    corners = sorted(seconds, key=lambda name: -seconds[name])
    return Insight(
        driven.driver,
        driven.track,
        cause,
        sum(seconds.values()) / sessions,
        tuple(corners[:CORNERS]),
        fmean(cost.amount for _, cost in costs_found if cost.corner == corners[0]),
        sessions,
        len(driven.sessions),
        len(costs_found),
    )
