"""How a driver develops over sessions, and what each session adds to the history."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import linear_regression, median
from typing import Final, Literal, NamedTuple, TypeAlias

from runtime.bridge.analysis.grading import Scorecard
from runtime.bridge.analysis.highlights import Moment
from runtime.bridge.analysis.summary import Summary
from runtime.bridge.session.stats import deviation

ENOUGH: Final = 5
"""The least number of sessions for a statement."""
CORNER_SESSIONS: Final = 3
PLATEAU_S: Final = 0.1
"""Best laps of the last sessions that lie this close show no progress."""
RECENT: Final = 3
_SECTORS: Final = 3
EventKind: TypeAlias = Literal["grade", "pb_lap_s", "improvement", "mistake"]
Archetype: TypeAlias = Literal["under_limit", "oscillating", "at_limit", "unknown"]
UNDER_LIMIT: Final = 0.75
OSCILLATING: Final = 0.10


class DriverSession(NamedTuple):
    """A session of the driver, with the summary of its telemetry."""

    session_id: str
    started_at: int
    """Unix milliseconds."""
    summary: Summary


@dataclass(frozen=True)
class Step:
    """One session in the series."""

    session_id: str
    started_at: int
    index: int
    """From 1."""
    best_s: float | None
    median_s: float | None
    laps: int
    sectors: tuple[float | None, ...]
    """Best time of each sector."""


class CornerGain(NamedTuple):
    """The corner whose apex speed rises fastest."""

    corner: str
    delta_kmh: float
    """On the fitted line, from its first session to its last."""
    first: int
    last: int
    """Indexes of those sessions."""
    slope: float
    """km/h a session."""


@dataclass(frozen=True)
class Progress:
    """The series at a glance; best laps in seconds."""

    first_s: float
    latest_s: float
    best_s: float
    plateau: bool
    gain: CornerGain | None


def list_steps(sessions: Sequence[DriverSession]) -> list[Step]:
    """List the sessions by their start."""
    ordered = sorted(sessions, key=lambda session: (session.started_at, session.session_id))
    return [_step(at, session) for at, session in enumerate(ordered, start=1)]


def summarise_progress(sessions: Sequence[DriverSession]) -> Progress | None:
    """Summarise the sessions; None if none has a lap."""
    ordered = sorted(sessions, key=lambda session: (session.started_at, session.session_id))
    bests = [best for session in ordered if (best := session.summary.best_s) is not None]
    if not bests:
        return None
    recent = bests[-RECENT:]
    return Progress(
        first_s=bests[0],
        latest_s=bests[-1],
        best_s=min(bests),
        plateau=len(recent) == RECENT and max(recent) - min(recent) < PLATEAU_S,
        gain=find_biggest_gain([dict(session.summary.apexes) for session in ordered]),
    )


def find_biggest_gain(apexes: Sequence[dict[str, float]]) -> CornerGain | None:
    """Find the corner with the steepest rising least-squares line; None if none rises.

    *apexes* are apex speeds in km/h by corner, one entry a session. A corner counts if it was
    driven in at least `CORNER_SESSIONS` of them.
    """
    points: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for index, speeds in enumerate(apexes, start=1):
        for corner, speed in speeds.items():
            points[corner].append((index, speed))
    gains = []
    for corner, speeds_by_session in sorted(points.items()):
        if len(speeds_by_session) < CORNER_SESSIONS:
            continue
        slope = linear_regression(*zip(*speeds_by_session, strict=True)).slope
        first, last = speeds_by_session[0][0], speeds_by_session[-1][0]
        gains.append(CornerGain(corner, slope * (last - first), first, last, slope))
    best = max(gains, key=lambda gain: gain.slope, default=None)
    return best if best is not None and best.slope > 0 else None


def _step(index: int, session: DriverSession) -> Step:
    times = [lap.time_s for lap in session.summary.laps]
    return Step(
        session_id=session.session_id,
        started_at=session.started_at,
        index=index,
        best_s=min(times, default=None),
        median_s=median(times) if times else None,
        laps=len(times),
        sectors=tuple(_best_sector(session.summary, at) for at in range(_SECTORS)),
    )


def _best_sector(summary: Summary, at: int) -> float | None:
    times = [lap.sectors[at] for lap in summary.laps if at < len(lap.sectors)]
    return min((time for time in times if time is not None), default=None)


class DriverEvent(NamedTuple):
    """An event in a driver's history; unique by session, kind and corner."""

    kind: EventKind
    corner: str | None
    value: float
    """For a grade the score from 0 to 1, for a best lap seconds, else the moment's magnitude."""
    text: str
    """For a grade the letter, for a best lap its time, else what happened."""


def list_events(
    card: Scorecard, moments: Sequence[Moment] = (), best_before_s: float | None = None
) -> tuple[DriverEvent, ...]:
    """List the events that a session adds to a driver's history; deterministic.

    A grade for each graded corner in lap order; a best lap if it is faster than *best_before_s*,
    or the first; then an improvement for each positive moment and a mistake for each of high
    severity, at most one of a kind for each corner (and one without a corner), the more important
    one.
    """
    events = [
        DriverEvent("grade", grade.corner, grade.score.total, grade.letter or "")
        for grade in card.corners
        if grade.score is not None
    ]
    if best_before_s is None or card.best_lap_s < best_before_s:
        events.append(DriverEvent("pb_lap_s", None, card.best_lap_s, f"{card.best_lap_s:.3f}"))
    kinds: dict[str, EventKind] = {"positive": "improvement", "high": "mistake"}
    recorded: set[tuple[EventKind, str | None]] = set()
    for moment in moments:
        kind = kinds.get(moment.severity)
        if kind is not None and (kind, moment.corner) not in recorded:
            recorded.add((kind, moment.corner))
            events.append(DriverEvent(kind, moment.corner, moment.magnitude, moment.narrative_seed))
    return tuple(events)


def classify_limit(scores: Mapping[str, Sequence[float]]) -> Archetype:
    """Classify how a driver uses the grip, from the scores (0 to 1) of each corner over sessions.

    A mean below 0.75: under the limit; scores of a corner that vary by more than 0.10 (sample
    standard deviation, mean of the corners): oscillating; else at the limit.
    """
    all_scores = [score for row in scores.values() for score in row]
    if not all_scores:
        return "unknown"
    if sum(all_scores) / len(all_scores) < UNDER_LIMIT:
        return "under_limit"
    spread = [deviation(row, sample=True) or 0.0 for row in scores.values() if row]
    return "oscillating" if sum(spread) / len(spread) > OSCILLATING else "at_limit"
