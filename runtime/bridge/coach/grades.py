"""Grades from a driver's history: the weakest corner, the most improved one, the use of grip."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from runtime.bridge.analysis.driver import Archetype, classify_limit
from runtime.bridge.storage.coaching import EventRow

GRADE: Final = "grade"
NEWEST: Final = 50
"""The newest grades considered."""
RECENT: Final = 5
"""Grades of a corner whose mean shows its weakness."""
COMPARED: Final = 3
EVEN: Final = 0.005
"""Scores closer than this are alike, and none is the weakest."""
NOTICED: Final = 0.02
"""A smaller gain is within the variation of means of three grades."""


class Score(NamedTuple):
    """A corner in one session."""

    session_id: str
    score: float
    """0 to 1."""


class Grades(NamedTuple):
    """The grades of a driver, summarised."""

    weakest: str | None = None
    """None if every corner has a full score, or all have the same."""
    weakest_score: float | None = None
    """Mean of its last five grades, 0 to 1."""
    improved: str | None = None
    improvement: float | None = None
    """Mean of its last three grades minus that of the three before."""
    recent: int = 0
    archetype: Archetype = "unknown"
    corners: Mapping[str, tuple[Score, ...]] = {}
    """Every grade by corner, oldest first."""

    @property
    def noticed(self) -> tuple[str, float] | None:
        """The most improved corner and its gain of 100 points; None: nothing noticeable."""
        if self.improved is None or self.improvement is None or self.improvement < NOTICED:
            return None
        return self.improved, 100.0 * self.improvement


def grades(events: Sequence[EventRow]) -> Grades:
    """Summarise the newest 50 grades of *events*, given in order of time."""
    every = [event for event in events if event.kind == GRADE and event.corner]
    recent = every[-NEWEST:]
    scores: dict[str, list[float]] = defaultdict(list)
    for event in recent:
        scores[event.corner].append(event.value)
    means = {corner: _mean(values[-RECENT:]) for corner, values in scores.items()}
    weakest = min(means, key=lambda corner: (means[corner], corner), default=None)
    if weakest is not None and _even(tuple(means.values())):
        weakest = None
    gains = {
        corner: _mean(values[-COMPARED:]) - _mean(values[-2 * COMPARED : -COMPARED])
        for corner, values in scores.items()
        if len(values) > COMPARED
    }
    improved = min(gains, key=lambda corner: (-gains[corner], corner), default=None)
    if improved is not None and gains[improved] <= 0:
        improved = None
    history: dict[str, list[Score]] = defaultdict(list)
    for event in every:
        history[event.corner].append(Score(event.session_id, event.value))
    return Grades(
        weakest=weakest,
        weakest_score=means[weakest] if weakest is not None else None,
        improved=improved,
        improvement=gains[improved] if improved is not None else None,
        recent=len(recent),
        archetype=classify_limit(scores),
        corners={corner: tuple(series) for corner, series in sorted(history.items())},
    )


def _even(scores: Sequence[float]) -> bool:
    """Whether no corner is weaker than the others, or than it could be."""
    alike = len(scores) > 1 and max(scores) - min(scores) < EVEN
    return alike or min(scores) > 1.0 - EVEN


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
