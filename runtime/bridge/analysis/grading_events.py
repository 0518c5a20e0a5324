"""What a session says about its driver for good, and what many sessions say together."""

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.analysis.grading import Scorecard
from runtime.bridge.analysis.moments import Moment
from runtime.bridge.session.stats import deviation

EventKind: TypeAlias = Literal["grade", "pb_lap_s", "improvement", "mistake"]
Archetype: TypeAlias = Literal["under_limit", "oscillating", "at_limit", "unknown"]

UNDER_LIMIT: Final = 0.75
OSCILLATING: Final = 0.10
LEVEL_S: Final = 0.10
STREAK: Final = 3


class DriverEvent(NamedTuple):
    """One thing to remember of a driver; unique by session, kind and corner."""

    kind: EventKind
    corner: str | None
    value: float
    """Of a grade the score from 0 to 1, of a best lap seconds, else the moment's magnitude."""
    text: str
    """Of a grade the letter, of a best lap its time, else what happened."""


def driver_events(
    card: Scorecard, moments: Sequence[Moment] = (), best_before_s: float | None = None
) -> tuple[DriverEvent, ...]:
    """What a session adds to a driver's history: the same for the same session every time.

    A grade for each graded corner in lap order; a best lap where it is faster than
    *best_before_s*, or the first; then an improvement for each positive moment and a mistake for
    each of high severity, at most one of a kind for each corner (and one without a corner), the
    more important one.
    """
    events = [
        DriverEvent("grade", one.corner, one.score.total, one.letter or "")
        for one in card.corners
        if one.score is not None
    ]
    if best_before_s is None or card.best_lap_s < best_before_s:
        events.append(DriverEvent("pb_lap_s", None, card.best_lap_s, f"{card.best_lap_s:.3f}"))
    kinds: dict[str, EventKind] = {"positive": "improvement", "high": "mistake"}
    told: set[tuple[EventKind, str | None]] = set()
    for one in moments:
        kind = kinds.get(one.severity)
        if kind is not None and (kind, one.corner) not in told:
            told.add((kind, one.corner))
            events.append(DriverEvent(kind, one.corner, one.magnitude, one.narrative_seed))
    return tuple(events)


def limit_archetype(scores: Mapping[str, Sequence[float]]) -> Archetype:
    """How a driver uses the grip, from the scores (0 to 1) of each corner over the sessions.

    Below 0.75 in the mean: under the limit; scores of a corner that differ by more than 0.10
    (standard deviation of a sample, mean of the corners): to and fro; else at the limit.
    """
    every = [score for known in scores.values() for score in known]
    if not every:
        return "unknown"
    if sum(every) / len(every) < UNDER_LIMIT:
        return "under_limit"
    spread = [deviation(known, sample=True) or 0.0 for known in scores.values() if known]
    return "oscillating" if sum(spread) / len(spread) > OSCILLATING else "at_limit"


class Plateau(NamedTuple):
    """Whether a driver has stopped getting faster."""

    plateau: bool
    streak_length: int
    """Sessions up to the latest that are all within 0.10 s of the best ever."""
    best_lap_s: float | None
    started_after: str | None
    """The session before the streak; None where the streak holds them all."""
    reason: str


def plateau(sessions: Sequence[tuple[str, float]]) -> Plateau:
    """Whether the latest three sessions or more are level with the best ever, which is theirs.

    *sessions* are ids with best laps in seconds, the oldest first.
    """
    if not sessions:
        return Plateau(False, 0, None, None, "There is no session with a lap.")
    best = min(seconds for _, seconds in sessions)
    streak = 0
    for _, seconds in reversed(sessions):
        if seconds - best > LEVEL_S:
            break
        streak += 1
    older, latest = sessions[: len(sessions) - streak], sessions[len(sessions) - streak :]
    after = older[-1][0] if older else None
    if streak < STREAK:
        reason = f"Only {streak} of the latest sessions are within {LEVEL_S:.2f} s of the best."
        return Plateau(False, streak, best, after, reason)
    if older and min(seconds for _, seconds in older) < min(seconds for _, seconds in latest):
        reason = "An older session was faster: the pace was lost, it is not level."
        return Plateau(False, streak, best, after, reason)
    reason = f"The latest {streak} sessions are within {LEVEL_S:.2f} s of the best lap ever."
    return Plateau(True, streak, best, after, reason)
